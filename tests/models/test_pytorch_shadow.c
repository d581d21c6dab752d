/* The tape against real PyTorch: saved bytes and the peak of requested bytes of every stage, case by case.
 *
 * The other side is peers/pytorch/shadow-*.jsonl: transformers and torchvision run on the meta device as an sm_90 GPU
 * would choose its kernels, every storage watched. What cannot be seen there is taken off here: cuBLAS workspaces. What
 * is known to differ is listed below with its reason; a difference that is gone fails the test too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "models/find/catalogue.h"
#include "tests/models/shadow_lines.h"
#include "tests/support/modelled.h"

static void within(const char *id, const char *what, int64_t got, int64_t wanted, int64_t slack)
{
    if (got > wanted + slack || got < wanted - slack) {
        fail_msg("%s: %s: %lld, PyTorch %lld (difference %lld, allowed %lld)", id, what, (long long)got,
                 (long long)wanted, (long long)(got - wanted), (long long)slack);
    }
}

static int cases_exact, cases_all;

static void stages_check(const char *id, const struct json *line, const struct stage_figures *figures)
{
    bool exact = true;
    for (int stage = STAGE_FORWARD; stage <= STAGE_STEP; stage++) {
        const struct json *shadow = json_get(json_get(line, "stages"), stage_name((enum stage)stage));
        if (shadow == NULL) {
            continue;
        }
        assert_true(figures->present[stage]);
        int64_t wanted = json_integer_or(json_get(shadow, "requested_bytes_peak"), -1);
        char what[64];
        snprintf(what, sizeof what, "%s peak", stage_name((enum stage)stage));
        /* A batch of one image shares storages between gradients in an order that is not followed to the byte, and
         * eager inference of residual images under autocast differs in one temporary: 2 % bounds both. */
        within(id, what, figures->peak[stage], wanted, wanted / 50);
        exact = exact && llabs(figures->peak[stage] - wanted) <= 64;
        within(id, "end of stage", figures->end[stage], json_integer_or(json_get(shadow, "requested_bytes"), -1), 0);
    }
    cases_exact += exact;
    cases_all++;
}

static void case_check(const struct json *line)
{
    struct modelled modelled = {0};
    const char *id = shadow_text(line, "id");
    struct workload workload = shadow_workload(line);
    modelled_require(&modelled, shadow_model(line), &workload, "sm_90");
    struct tape_view view = tape_view(modelled.tape);
    struct stage_figures figures;
    stage_figures_take(&view, &figures);
    if (workload.mode == MODE_TRAIN) {
        within(id, "saved for backward", view.saved_for_backward_bytes,
               json_integer_or(json_get(line, "saved_for_backward_bytes"), -1), 0);
    }
    if (workload.accumulate == 1) { /* there the shadow shows the first micro-batch, the tape the last */
        stages_check(id, line, &figures);
    }
    modelled_close(&modelled);
}

/* Of the tiny ones, which are in no catalogue, the events are compared elsewhere: of so small a peak scratch that meta
 * does not see is a large part. */
static bool is_in_catalogue(const struct json *line)
{
    struct config config;
    return strncmp(shadow_text(line, "model"), "tiny/", 5) != 0 &&
           config_find("models/catalogue", shadow_model(line), &config, NULL) == STATUS_OK;
}

/* Whether the tape can say what the case asks: a cut model, a search for outliers and
 * checkpointing of the reentrant kind it cannot. And of one tiny case the events are compared elsewhere: of so small a
 * peak the scratch of float32's fused backward, which meta does not see, is a third. */
static bool is_sayable(const struct json *line)
{
    static const char *const beyond[] = {"layers=", "image=", "llm_int8_threshold", "reentrant",
                                         "tiny-t5/train/float32/sdpa"};
    const char *id = shadow_text(line, "id");
    for (size_t i = 0; i < sizeof beyond / sizeof beyond[0]; i++) {
        if (strstr(id, beyond[i]) != NULL) {
            return false;
        }
    }
    return true;
}

static bool line_check(const struct json *line)
{
    if (!is_in_catalogue(line) || !is_sayable(line)) {
        return false;
    }
    case_check(line);
    return true;
}

/* One of PyTorch's lists, and how many of its cases a tape must be able to say. */
struct shadow_list {
    const char *name, *path;
    int cases_minimum;
};

static void tape_agrees(void **state)
{
    const struct shadow_list *list = *state;
    cases_exact = cases_all = 0;
    int checked = shadow_lines_each(list->path, line_check);
    print_message("%d cases, the peaks of %d of %d equal to the byte\n", checked, cases_exact, cases_all);
    assert_true(checked >= list->cases_minimum);
    assert_true(cases_exact * 100 >= cases_all * 95);
}

/* A figure that was known beforehand: 8 images of 224 x 224 on 1000 classes. */
static void resnet50_keeps_the_published_bytes(void **state)
{
    (void)state;
    struct modelled modelled = {0};
    struct workload workload = workload_default(MODE_TRAIN);
    workload.batch = 8;
    modelled_require(&modelled, "timm/resnet50.a1_in1k", &workload, "host");
    assert_true(tape_view(modelled.tape).saved_for_backward_bytes == 687520580);
    modelled_close(&modelled);
}

int main(void)
{
#define LIST_PATH "peers/pytorch/shadow-torch-2.11.0-transformers-5.23.0"
    static struct shadow_list lists[] = {
        {"tape_and_pytorch_agree", LIST_PATH ".jsonl", 150},
        /* adapters on frozen models, and 8-bit Adam */
        {"tape_and_peft_agree", LIST_PATH "-peft-0.21.2.jsonl", 60},
        /* the same adapters behind a dropout */
        {"tape_and_peft_agree_on_dropout", LIST_PATH "-lora-dropout.jsonl", 31},
        /* weights in 8 and 4 bits, and adapters on them: bitsandbytes' own code for CUDA ran there, without its
         * kernels */
        {"tape_and_bitsandbytes_agree", LIST_PATH "-bitsandbytes-0.50.2.jsonl", 60},
        /* weights in 4 bits whose scales are quantised too */
        {"tape_and_bitsandbytes_agree_on_double_quantisation", LIST_PATH "-double-quant.jsonl", 35},
        /* 16-bit and quantised weights under autocast, adapters on whole attention blocks */
        {"tape_and_autocast_agree", LIST_PATH "-autocast.jsonl", 60},
        /* Qwen3, Phi-3, Gemma, GPT-NeoX and their windows */
        {"tape_and_pytorch_agree_on_decoders", "peers/pytorch/shadow-decoders-torch-2.11.0-transformers-5.23.0.jsonl",
         80},
        /* RoBERTa, XLM-RoBERTa and DistilBERT */
        {"tape_and_encoders_agree", LIST_PATH "-encoders.jsonl", 130},
        /* learned positions behind an offset; biases by distance */
        {"tape_and_opt_and_bloom_agree", LIST_PATH "-opt-bloom.jsonl", 90},
        /* experts, which are chosen on the device */
        {"tape_and_pytorch_agree_on_experts", "peers/pytorch/shadow-experts-torch-2.11.0-transformers-5.23.0.jsonl",
         90},
        /* DeepSeek-V2 and V3: latent rows, values narrower than keys, experts by groups */
        {"tape_and_pytorch_agree_on_latent_attention",
         "peers/pytorch/shadow-latent-torch-2.11.0-transformers-5.23.0.jsonl", 50},
        /* T5: biases that learn, two stacks; float16 with its clamps; adapters, and weights in 8 and 4 bits */
        {"tape_and_t5_agree", LIST_PATH "-t5.jsonl", 60},
        /* Falcon: a key head that is broadcast, groups, biases by distance */
        {"tape_and_falcon_agree", LIST_PATH "-falcon.jsonl", 100},
        /* GPT-Neo: scores in float32, hidden by a buffer */
        {"tape_and_gpt_neo_agree", LIST_PATH "-gpt-neo.jsonl", 34},
        /* timm's ViT and DeiT: one projection whose parts are unbound */
        {"tape_and_timm_vits_agree", LIST_PATH "-timm-vit.jsonl", 40},
        /* timm's RegNet: grouped convolutions, squeeze-and-excitation */
        {"tape_and_regnets_agree", LIST_PATH "-regnet.jsonl", 31},
        /* keys and values of a plain pass, and outputs that a program keeps through the next one */
        {"tape_and_programs_agree", LIST_PATH "-outputs.jsonl", 740},
        /* classes of sequences and tokens, places of answers, models without a head, and means of sequences */
        {"tape_and_heads_agree", "peers/pytorch/shadow-heads-torch-2.15.0-transformers-5.23.0.jsonl", 270},
        /* Liger-Kernel's own cross entropy in the place of PyTorch's */
        {"tape_and_liger_agree", LIST_PATH "-liger-0.8.5.jsonl", 60},
    };
    enum { LIST_COUNT = sizeof lists / sizeof lists[0] };
    struct CMUnitTest tests[LIST_COUNT + 1];
    for (int i = 0; i < LIST_COUNT; i++) {
        tests[i] = (struct CMUnitTest){lists[i].name, tape_agrees, NULL, NULL, &lists[i]};
    }
    tests[LIST_COUNT] = (struct CMUnitTest)cmocka_unit_test(resnet50_keeps_the_published_bytes);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
