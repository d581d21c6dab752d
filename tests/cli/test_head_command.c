/* The head that questions answer with, where the configuration names one, and what is said if it cannot serve. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/command_run.h"
#include "tests/support/scratch_file.h"

static struct command_result assay_words(const char *const *words)
{
    const char *all[16] = {program_path()};
    for (int i = 0; words[i] != NULL; i++) {
        assert_true(i < 14);
        all[i + 1] = words[i];
    }
    return command_run(all, NULL);
}

#define ASSAY(...) assay_words((const char *const[]){__VA_ARGS__, NULL})

/* A sentence encoder: 229,338,624 bytes of PyTorch's tensors (shadow_truth.py) and 34,603,008 of cuBLAS. It
 * was given a head over 30,522 words. */
static void a_model_without_a_head_is_given_none(void **state)
{
    (void)state;
    static const char minilm[] = "{\"architectures\": [\"BertModel\"], \"model_type\": \"bert\", \"hidden_size\": 384, "
                                 "\"num_hidden_layers\": 6, \"num_attention_heads\": 12, "
                                 "\"intermediate_size\": 1536, \"vocab_size\": 30522}";
    FILE *file = fopen(scratch_file_path, "w");
    assert_non_null(file);
    fputs(minilm, file);
    fclose(file);
    const char *path = scratch_file_path;
    struct command_result result =
        ASSAY("estimate", path, "--mode", "infer", "--batch", "32", "--seq", "256", "--program", "lean-loop");
    assert_int_equal(result.exit_code, 0);
    assert_non_null(strstr(text_string(&result.output), "/head-bare, predicted for sm_90"));
    assert_non_null(strstr(text_string(&result.output), " 263941632 bytes"));
    assert_null(strstr(text_string(&result.error), "names BertModel"));
    command_result_release(&result);
    result = ASSAY("estimate", path, "--mode", "train", "--seq", "16");
    assert_int_equal(result.exit_code, 0);
    assert_non_null(strstr(text_string(&result.error),
                           "assay: estimate: the configuration names BertModel, which has no loss; estimate answers "
                           "with the head masked-lm (see --head)\n"));
    command_result_release(&result);
    result = ASSAY("estimate", path, "--mode", "train", "--seq", "16", "--head", "sequence");
    assert_int_equal(result.exit_code, 0);
    assert_null(strstr(text_string(&result.error), "names BertModel"));
    command_result_release(&result);
}

/* The encoder of FLUX and of Stable Diffusion 3: transformers' T5EncoderModel has 4,762,310,656 parameters, 17.74 GB,
 * and the table, which AutoModel's class decides, is of more than twice as much. */
static void the_table_says_that_an_encoder_alone_is_smaller(void **state)
{
    (void)state;
    static const char shared[] =
        "\"model_type\": \"t5\", \"d_model\": 4096, \"d_kv\": 64, \"d_ff\": 10240, \"num_layers\": 24, "
        "\"num_heads\": 64, \"feed_forward_proj\": \"gated-gelu\", \"tie_word_embeddings\": false, "
        "\"vocab_size\": 32128}";
    static const char *const classes[] = {"T5EncoderModel", "T5ForConditionalGeneration"};
    for (int i = 0; i < 2; i++) {
        FILE *file = fopen(scratch_file_path, "w");
        assert_non_null(file);
        fprintf(file, "{\"architectures\": [\"%s\"], %s", classes[i], shared);
        fclose(file);
        struct command_result result = ASSAY("estimate", scratch_file_path);
        assert_int_equal(result.exit_code, 0);
        const char *note =
            strstr(text_string(&result.error),
                   "assay: estimate: accelerate's table is of the model with its decoder, 41.97 GB in float32; "
                   "T5EncoderModel, which the configuration names, has 17.74 GB: --mode load weighs that\n");
        assert_true((note != NULL) == (i == 0));
        command_result_release(&result);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_model_without_a_head_is_given_none),
        cmocka_unit_test(the_table_says_that_an_encoder_alone_is_smaller),
    };
    return cmocka_run_group_tests(tests, scratch_file_make, scratch_file_remove);
}
