/* What commands say of a model beside its figures: keys of its configuration, and where its precision comes from. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/base/json.h"
#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"

static char folder[40];

static int folder_make(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/assay-notes-XXXXXX");
    return mkdtemp(folder) == NULL ? -1 : 0;
}

static int folder_remove(void **state)
{
    (void)state;
    return scratch_folder_remove(folder);
}

static const char *file_write(const char *name, const char *bytes, size_t count)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    assert_int_equal(fclose(file), 0);
    return path;
}

/* A safetensors file of this header, whose tensors have data_bytes. */
static void safetensors_write(const char *header, size_t data_bytes)
{
    size_t length = strlen(header);
    char bytes[4096] = {0};
    assert_true(8 + length + data_bytes <= sizeof bytes && length < 65536);
    bytes[0] = (char)(unsigned char)(length & 0xFF);
    bytes[1] = (char)(unsigned char)(length >> 8);
    memcpy(bytes + 8, header, length);
    file_write("model.safetensors", bytes, 8 + length + data_bytes);
}

static struct command_result assay_words(const char *const *words)
{
    const char *all[12] = {program_path()};
    for (int i = 0; words[i] != NULL; i++) {
        assert_true(i < 10);
        all[i + 1] = words[i];
    }
    return command_run(all, NULL);
}

#define ASSAY(...) assay_words((const char *const[]){__VA_ARGS__, NULL})

static struct json *document_of(const struct command_result *result)
{
    struct json *document = NULL;
    assert_int_equal(json_parse_text("out", text_string(&result->output), result->output.length, &document, NULL),
                     STATUS_OK);
    return document;
}

#define SIZES "\"vocab_size\": 16, \"hidden_size\": 8, \"num_hidden_layers\": 1, \"num_attention_heads\": 2, "
static const char slip[] = "{\"model_type\": \"llama\", " SIZES "\"intermediate_sise\": 8}";
static const char foreign[] = "{\"model_type\": \"llama\", " SIZES "\"intermediate_size\": 8, \"colour\": \"blue\"}";
static const char plain[] = "{\"model_type\": \"llama\", " SIZES "\"intermediate_size\": 8, \"use_cache\": true}";

/* Every command that reads a model warns, and with --strict refuses. */
static void slips_warn_and_are_refused_when_strict(void **state)
{
    char path[128], suite_path[128], suite[256], expected[512];
    static const char *const commands[][7] = {
        {"estimate", "%", "--mode", "infer", NULL},
        {"estimate", "%", NULL},
        {"fit", "%", "--mode", "infer", "--memory", "1GiB", NULL},
        {"explain", "%", "--mode", "infer", NULL},
        {"peaks", "%", "--mode", "infer", "--over", "batch=1..2", NULL},
        {"plan", "suite", NULL},
        {"models", "%", NULL},
        {"weights", "%", NULL},
    };
    (void)state;
    snprintf(path, sizeof path, "%s", file_write("config.json", slip, sizeof slip - 1));
    snprintf(suite, sizeof suite, "version: 1\nname: n\ncases:\n  - {model: %s, mode: load}\n", path);
    snprintf(suite_path, sizeof suite_path, "%s", file_write("suite.yaml", suite, strlen(suite)));
    safetensors_write("{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4);
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        const char *words[10] = {NULL};
        bool is_weights = strcmp(commands[i][0], "weights") == 0;
        int count = 0;
        for (; commands[i][count] != NULL; count++) {
            words[count] = commands[i][count][0] == '%'               ? (is_weights ? folder : path)
                           : strcmp(commands[i][count], "suite") == 0 ? suite_path
                                                                      : commands[i][count];
        }
        struct command_result result = assay_words(words);
        assert_int_equal(result.exit_code, is_weights ? 1 : 0);
        snprintf(expected, sizeof expected,
                 "assay: %s: %s:1:132: unknown key 'intermediate_sise'; did you mean 'intermediate_size'?\n"
                 "assay: %s: %s: intermediate_size is missing; 11008 is taken, the default of LlamaConfig\n",
                 words[0], path, words[0], path);
        assert_non_null(strstr(text_string(&result.error), expected));
        command_result_release(&result);
        words[count] = "--strict";
        result = assay_words(words);
        assert_int_equal(result.exit_code, 2);
        assert_string_equal(text_string(&result.output), "");
        assert_non_null(strstr(text_string(&result.error), ": --strict: 2 keys of the configuration of "));
        command_result_release(&result);
    }
    struct command_result result =
        ASSAY("limit", path, "--mode", "infer", "--of", "batch", "--memory", "1GiB", "--strict");
    assert_int_equal(result.exit_code, 2);
    command_result_release(&result);
    result = ASSAY("run", suite_path, "--device", "meta", "--strict");
    assert_int_equal(result.exit_code, 2);
    command_result_release(&result);
}

static void notes_are_in_json(void **state)
{
    char path[128];
    (void)state;
    snprintf(path, sizeof path, "%s", file_write("config.json", slip, sizeof slip - 1));
    struct command_result result = ASSAY("fit", path, "--mode", "load", "--memory", "1GiB", "--json");
    struct json *document = document_of(&result);
    const struct json *notes = json_get(document, "notes");
    assert_int_equal(json_count(notes), 2);
    assert_non_null(strstr(json_string_or(json_at(notes, 0), ""), "did you mean 'intermediate_size'?"));
    json_release(document);
    command_result_release(&result);
    /* the table has them where there are any, and nothing else is new in it */
    result = ASSAY("estimate", path, "--json");
    document = document_of(&result);
    assert_int_equal(json_count(json_get(document, "notes")), 2);
    json_release(document);
    command_result_release(&result);
    result = ASSAY("estimate", "tiny-llama", "--json");
    document = document_of(&result);
    assert_null(json_get(document, "notes"));
    assert_string_equal(text_string(&result.error), "");
    json_release(document);
    command_result_release(&result);
}

/* What resembles nothing is left alone, but not by --strict; what the class knows is left alone by both. */
static void foreign_keys_are_named_when_strict(void **state)
{
    char path[128];
    (void)state;
    snprintf(path, sizeof path, "%s", file_write("config.json", foreign, sizeof foreign - 1));
    struct command_result result = ASSAY("explain", path, "--mode", "load");
    assert_int_equal(result.exit_code, 0);
    assert_string_equal(text_string(&result.error), "");
    command_result_release(&result);
    result = ASSAY("explain", path, "--mode", "load", "--strict");
    assert_int_equal(result.exit_code, 2);
    assert_non_null(
        strstr(text_string(&result.error), "unknown key 'colour'; neither LlamaConfig nor assay reads it\n"));
    command_result_release(&result);
    static const char near[] = "{\"model_type\": \"llama\", " SIZES "\"intermediate_size\": 8, \"use_cach\": true}";
    file_write("config.json", near, sizeof near - 1);
    result = ASSAY("explain", path, "--mode", "load");
    assert_int_equal(result.exit_code, 0); /* a slip of a key that decides nothing is told all the same */
    assert_non_null(strstr(text_string(&result.error), "unknown key 'use_cach'; did you mean 'use_cache'?\n"));
    command_result_release(&result);
    result = ASSAY("explain", path, "--mode", "load", "--strict");
    assert_int_equal(result.exit_code, 2);
    assert_non_null(strstr(text_string(&result.error), "unknown key 'use_cach'; did you mean 'use_cache'?\n"));
    command_result_release(&result);
    file_write("config.json", plain, sizeof plain - 1);
    result = ASSAY("explain", path, "--mode", "load", "--strict");
    assert_int_equal(result.exit_code, 0);
    assert_string_equal(text_string(&result.error), "");
    command_result_release(&result);
}

#define TENSOR(name, dtype, size, begin, end)                                                                          \
    "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":[" size "],\"data_offsets\":[" begin "," end "]}"

static void precision_check(const char *header, size_t bytes, const char *option, const char *precision,
                            const char *source, const char *stored)
{
    safetensors_write(header, bytes);
    struct command_result result = option != NULL
                                       ? ASSAY("explain", folder, "--mode", "load", "--json", "--precision", option)
                                       : ASSAY("explain", folder, "--mode", "load", "--json");
    struct json *document = document_of(&result);
    const struct json *origin = json_get(document, "precision");
    assert_string_equal(json_string_or(json_get(json_get(document, "case"), "precision"), ""), precision);
    assert_string_equal(json_string_or(json_get(origin, "source"), ""), source);
    assert_string_equal(json_string_or(json_get(origin, "stored"), "none"), stored);
    json_release(document);
    command_result_release(&result);
}

static void precision_is_that_of_the_file(void **state)
{
    static const char halves[] = "{" TENSOR("model.norm.weight", "BF16", "8", "0", "16") "}";
    static const char mixed[] = "{" TENSOR("model.norm.weight", "BF16", "8", "0",
                                           "16") "," TENSOR("lm_head.weight", "F16", "16,8", "16", "272") "}";
    static const char quantised[] = "{" TENSOR("model.norm.weight", "BF16", "8", "0",
                                               "16") "," TENSOR("lm_head.weight", "I8", "16,8", "16", "144") "}";
    (void)state;
    file_write("config.json", plain, sizeof plain - 1);
    precision_check(halves, 16, NULL, "bfloat16", "stored", "BF16");
    precision_check(halves, 16, "float32", "float32", "given", "BF16");
    precision_check(mixed, 272, NULL, "float16", "stored", "F16");
    precision_check(quantised, 144, NULL, "float32", "default", "I8");
    static const char stated[] =
        "{\"model_type\": \"llama\", " SIZES "\"intermediate_size\": 8, \"torch_dtype\": \"bfloat16\"}";
    file_write("config.json", stated, sizeof stated - 1);
    precision_check(quantised, 144, NULL, "bfloat16", "configuration", "I8");
}

static void precision_is_said(void **state)
{
    static const char mixed[] = "{" TENSOR("model.norm.weight", "F32", "8", "0",
                                           "32") "," TENSOR("lm_head.weight", "BF16", "16,8", "32", "288") "}";
    static const char stated[] =
        "{\"model_type\": \"llama\", " SIZES "\"intermediate_size\": 8, \"torch_dtype\": \"float16\"}";
    char path[128];
    (void)state;
    safetensors_write(mixed, 288);
    file_write("config.json", stated, sizeof stated - 1);
    /* what from_pretrained of transformers 5 takes by itself: the type that the configuration states */
    struct command_result result = ASSAY("explain", folder, "--mode", "load");
    assert_non_null(strstr(text_string(&result.output),
                           "/load/float16, predicted for sm_90\nfloat16, as the configuration says; "
                           "--precision float32 for another\n\n"));
    assert_non_null(strstr(text_string(&result.error),
                           "most bytes are stored as bfloat16, and float16 is estimated, as the configuration says, "
                           "which is what from_pretrained follows; --precision bfloat16 for what is stored\n"));
    command_result_release(&result);
    file_write("config.json", plain, sizeof plain - 1);
    result = ASSAY("estimate", folder, "--mode", "load"); /* and if it states none, the type that is stored */
    assert_non_null(strstr(text_string(&result.output), "\nbfloat16, as 88.9 % of the bytes are stored; "));
    command_result_release(&result);
    file_write("config.json", stated, sizeof stated - 1);
    snprintf(path, sizeof path, "%s/config.json", folder); /* a configuration alone */
    result = ASSAY("estimate", path, "--mode", "load");
    assert_non_null(strstr(text_string(&result.output),
                           "/load/float16, predicted for sm_90\nfloat16, as the configuration says; "));
    assert_string_equal(text_string(&result.error), "");
    command_result_release(&result);
    result = ASSAY("estimate", "meta-llama/Meta-Llama-3-8B", "--mode", "load");
    assert_non_null(strstr(text_string(&result.output), "/load/bfloat16, predicted for sm_90\nbfloat16, as the "
                                                        "configuration says; --precision float32 for another\n"));
    command_result_release(&result);
    result = ASSAY("explain", "tiny-gemma2", "--mode", "infer", "--seq", "8");
    assert_int_equal(result.exit_code, 0);
    assert_non_null(strstr(text_string(&result.error), "the class of tiny-gemma2 has no fused attention, because its "
                                                       "scores are capped: the eager form is counted, "));
    command_result_release(&result);
    result = ASSAY("estimate", path, "--mode", "load", "--precision", "bfloat16");
    assert_string_equal(text_string(&result.error), "");
    assert_non_null(
        strstr(text_string(&result.output),
               "/load/bfloat16, predicted for sm_90\nbfloat16, as asked for; the configuration says float16\n"));
    command_result_release(&result);
    result = ASSAY("estimate", path, "--mode", "load", "--precision", "int8");
    assert_non_null(strstr(text_string(&result.output), "/load/int8, predicted for sm_90\n\n"));
    command_result_release(&result);
}

/* Of tensors that nobody knows: what is stored, by type, and accelerate's table, without a layer where no modules are
 * numbered. */
static void unknown_tensors_are_weighed(void **state)
{
    static const char flat[] =
        "{" TENSOR("a.weight", "BF16", "8", "0", "16") "," TENSOR("b", "I64", "2", "16", "32") "}";
    static const char numbered[] =
        "{" TENSOR("top.weight", "F32", "3", "0", "12") "," TENSOR("x.0.a", "F32", "2", "12", "20") "," TENSOR(
            "x.1.a", "F32", "2", "20", "28") "," TENSOR("x.1.b.c", "F16", "3", "28", "34") "}";
    char path[128];
    (void)state;
    safetensors_write(flat, 32);
    snprintf(path, sizeof path, "%s/config.json", folder);
    unlink(path);
    struct command_result result = ASSAY("estimate", folder);
    assert_int_equal(result.exit_code, 0);
    assert_non_null(strstr(text_string(&result.output), ": 32 B, 32 bytes in 2 tensors\n"));
    assert_non_null(strstr(text_string(&result.output), "  BF16 "));
    assert_non_null(strstr(text_string(&result.output), "│float32│      -      │ 48 bytes │"));
    assert_non_null(strstr(text_string(&result.error), "its tensors do not tell what the model is; "));
    command_result_release(&result);
    result = ASSAY("estimate", folder, "--json");
    struct json *document = document_of(&result);
    const struct json *row = json_at(json_get(document, "rows"), 0);
    assert_int_equal(json_integer_or(json_get(row, "total_bytes"), -1), 8 * 4 + 16);
    assert_non_null(json_get(row, "largest_layer_bytes"));
    assert_int_equal(json_kind(json_get(row, "largest_layer_bytes")), JSON_KIND_NULL);
    assert_int_equal(json_kind(json_get(document, "family")), JSON_KIND_NULL);
    assert_int_equal(json_integer_or(json_get(document, "stored_bytes"), -1), 32);
    assert_int_equal(json_count(json_get(document, "dtypes")), 2);
    json_release(document);
    command_result_release(&result);
    static const char unknown[] = "{\"model_type\": \"xyz\"}";
    file_write("config.json", unknown, sizeof unknown - 1); /* the same with a configuration that nobody here knows */
    result = ASSAY("estimate", folder);
    assert_int_equal(result.exit_code, 0);
    assert_non_null(strstr(text_string(&result.output), ": 32 B, 32 bytes in 2 tensors\n"));
    assert_non_null(strstr(text_string(&result.error), "config.json:1:16: model_type: 'xyz' is not known; known are "));
    assert_null(strchr(text_string(&result.error), '#')); /* it is of no family, and none is proposed */
    command_result_release(&result);
    result = ASSAY("estimate", folder, "--mode", "load");
    assert_int_equal(result.exit_code, 2);
    assert_non_null(strstr(text_string(&result.error), "config.json:1:16: model_type: 'xyz' is not known; "));
    command_result_release(&result);
    unlink(path);
    safetensors_write(numbered, 34); /* x.1 has 2 + 3 elements, top has 3 */
    result = ASSAY("estimate", folder, "--json");
    document = document_of(&result);
    row = json_at(json_get(document, "rows"), 0);
    assert_int_equal(json_integer_or(json_get(row, "largest_layer_bytes"), -1), 20);
    assert_int_equal(json_integer_or(json_get(row, "total_bytes"), -1), 40);
    json_release(document);
    command_result_release(&result);
    static const char *const options[][2] = {{"--mode", "load"}, {"--strict", NULL}, {"--transformers", "4.31"}};
    for (int i = 0; i < 3; i++) {
        result = ASSAY("estimate", folder, options[i][0], options[i][1]);
        assert_int_equal(result.exit_code, 2);
        assert_string_equal(text_string(&result.output), "");
        command_result_release(&result);
    }
    result = ASSAY("weights", folder);
    assert_int_equal(result.exit_code, 3);
    command_result_release(&result);
}

/* A GPT-2 of one layer, eight wide; a tensor in a line. */
/* clang-format off */
#define GPT2_TENSORS \
    "{" TENSOR("wte.weight", "BF16", "16,8", "0", "256") \
    "," TENSOR("wpe.weight", "BF16", "4,8", "256", "320") \
    "," TENSOR("h.0.ln_1.weight", "BF16", "8", "320", "336") \
    "," TENSOR("h.0.ln_1.bias", "BF16", "8", "336", "352") \
    "," TENSOR("h.0.attn.c_attn.weight", "BF16", "8,24", "352", "736") \
    "," TENSOR("h.0.attn.c_attn.bias", "BF16", "24", "736", "784") \
    "," TENSOR("h.0.attn.c_proj.weight", "BF16", "8,8", "784", "912") \
    "," TENSOR("h.0.attn.c_proj.bias", "BF16", "8", "912", "928") \
    "," TENSOR("h.0.ln_2.weight", "BF16", "8", "928", "944") \
    "," TENSOR("h.0.ln_2.bias", "BF16", "8", "944", "960") \
    "," TENSOR("h.0.mlp.c_fc.weight", "BF16", "8,16", "960", "1216") \
    "," TENSOR("h.0.mlp.c_fc.bias", "BF16", "16", "1216", "1248") \
    "," TENSOR("h.0.mlp.c_proj.weight", "BF16", "16,8", "1248", "1504") \
    "," TENSOR("h.0.mlp.c_proj.bias", "BF16", "8", "1504", "1520") \
    "," TENSOR("ln_f.weight", "BF16", "8", "1520", "1536") \
    "," TENSOR("ln_f.bias", "BF16", "8", "1536", "1552") "}"
/* clang-format on */

static void tensors_tell_a_model(void **state)
{
    char path[128];
    (void)state;
    safetensors_write(GPT2_TENSORS, 1552);
    snprintf(path, sizeof path, "%s/model.safetensors", folder);
    const char *const names[] = {folder, path};
    for (int i = 0; i < 2; i++) {
        struct command_result result = ASSAY("explain", names[i], "--mode", "infer", "--seq", "4", "--json");
        assert_int_equal(result.exit_code, 0);
        struct json *document = document_of(&result);
        const struct json *notes = json_get(document, "notes");
        assert_int_equal(json_count(notes), 2);
        assert_non_null(
            strstr(json_string_or(json_at(notes, 0), ""),
                   " has no config.json; read from its tensors: wte.weight, h.0.attn.c_attn.weight: gpt2; 1 layer, "
                   "8 wide, 16 tokens"));
        assert_string_equal(json_string_or(json_at(notes, 1), ""),
                            "assumed, because no tensor tells it: 1 head of 8; what else a config.json says, as "
                            "GPT2Config has it by default");
        assert_string_equal(json_string_or(json_get(json_get(document, "case"), "precision"), ""), "bfloat16");
        json_release(document);
        command_result_release(&result);
    }
    struct command_result result = ASSAY("explain", folder, "--mode", "load", "--strict");
    assert_int_equal(result.exit_code, 2);
    assert_non_null(strstr(text_string(&result.error), ": --strict: "));
    command_result_release(&result);
    result = ASSAY("weights", folder);
    assert_int_equal(result.exit_code, 3); /* there is nothing to hold them against */
    command_result_release(&result);
    result = ASSAY("estimate", folder);
    assert_int_equal(result.exit_code, 0);
    assert_non_null(strstr(text_string(&result.output), "│float32│"));
    command_result_release(&result);
}

/* What limit calls bounded by the model runs, but not without a word. */
static void sequences_beyond_the_positions_are_told(void **state)
{
    static const char few[] =
        "{\"model_type\": \"llama\", " SIZES "\"intermediate_size\": 8, \"max_position_embeddings\": 64}";
    char path[128], suite_path[128], suite[256], expected[256];
    static const char *const commands[][10] = {
        {"estimate", "%", "--mode", "infer", "--seq", "80", NULL},
        {"estimate", "%", "--mode", "infer", "--seq", "8,80", NULL},
        {"fit", "%", "--mode", "infer", "--memory", "1GiB", "--seq", "80", NULL},
        {"explain", "%", "--mode", "generate", "--seq", "60", "--new-tokens", "21", NULL},
        {"peaks", "%", "--mode", "infer", "--over", "seq=16..80", NULL},
        {"limit", "%", "--mode", "infer", "--of", "batch", "--memory", "64MiB", "--seq=80", NULL},
        {"plan", "suite", NULL},
    };
    (void)state;
    snprintf(path, sizeof path, "%s", file_write("few.json", few, sizeof few - 1));
    snprintf(suite, sizeof suite, "version: 1\nname: n\ncases:\n  - {model: %s, mode: infer, seq: [16, 80, 8]}\n",
             path);
    snprintf(suite_path, sizeof suite_path, "%s", file_write("suite.yaml", suite, strlen(suite)));
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        const char *words[10] = {NULL};
        for (int k = 0; commands[i][k] != NULL; k++) {
            words[k] = commands[i][k][0] == '%'               ? path
                       : strcmp(commands[i][k], "suite") == 0 ? suite_path
                                                              : commands[i][k];
        }
        struct command_result result = assay_words(words);
        assert_int_equal(result.exit_code, 0);
        snprintf(expected, sizeof expected,
                 "assay: %s: 80 tokens are more than the 64 positions that %s was made for; it runs, but it was not "
                 "trained for them\n",
                 words[0], path);
        const char *found = strstr(text_string(&result.error), expected);
        assert_non_null(found);
        assert_null(strstr(found + strlen(expected), "tokens are more than"));
        command_result_release(&result);
    }
    struct command_result result =
        ASSAY("explain", path, "--mode", "generate", "--seq", "60", "--new-tokens", "5"); /* the last is not read */
    assert_int_equal(result.exit_code, 0);
    assert_string_equal(text_string(&result.error), "");
    command_result_release(&result);
    result = ASSAY("explain", path, "--mode", "infer", "--seq", "65", "--json");
    struct json *document = document_of(&result);
    assert_int_equal(json_count(json_get(document, "notes")), 1);
    json_release(document);
    command_result_release(&result);
}

/* The table is today's. A note says what the release that wrote the configuration printed. */
static void release_of_the_file_is_told(void **state)
{
    static const char told[] =
        "with transformers 4.40.1, which wrote this configuration, the float32 total was 9.25 GB, "
        "not 5.75 GB (+60.9 %): its class registered other tensors; --transformers file prints "
        "that table";
    struct command_result result = ASSAY("estimate", "Qwen/Qwen2.5-1.5B");
    (void)state;
    assert_non_null(strstr(text_string(&result.output), "│float32│  890.25 MB  │ 5.75 GB  │      23.0 GB      │"));
    assert_non_null(strstr(text_string(&result.error), told));
    command_result_release(&result);
    result = ASSAY("estimate", "Qwen/Qwen2.5-1.5B", "--json");
    struct json *document = document_of(&result);
    assert_int_equal(json_count(json_get(document, "notes")), 1);
    assert_string_equal(json_string_or(json_at(json_get(document, "notes"), 0), ""), told);
    json_release(document);
    command_result_release(&result);
    result = ASSAY("estimate", "Qwen/Qwen2.5-1.5B", "--transformers", "file");
    assert_non_null(strstr(text_string(&result.output), "│float32│  890.25 MB  │ 9.25 GB  │      37.0 GB      │"));
    assert_string_equal(text_string(&result.error), "");
    command_result_release(&result);
    result = ASSAY("estimate", "meta-llama/Llama-3.1-8B"); /* 256 bytes apart: no figure changes */
    assert_string_equal(text_string(&result.error), "");
    command_result_release(&result);
    result = ASSAY("estimate", "google-t5/t5-small", "--transformers", "file");
    assert_int_equal(result.exit_code, 2);
    assert_non_null(strstr(text_string(&result.error), "does not say which release of transformers wrote it"));
    command_result_release(&result);
    result = ASSAY("estimate", "google-t5/t5-small");
    assert_non_null(strstr(text_string(&result.error), "125.5 MB of the float32 total are such copies"));
    command_result_release(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(slips_warn_and_are_refused_when_strict),
        cmocka_unit_test(notes_are_in_json),
        cmocka_unit_test(release_of_the_file_is_told),
        cmocka_unit_test(foreign_keys_are_named_when_strict),
        cmocka_unit_test(precision_is_that_of_the_file),
        cmocka_unit_test(precision_is_said),
        cmocka_unit_test(unknown_tensors_are_weighed),
        cmocka_unit_test(tensors_tell_a_model),
        cmocka_unit_test(sequences_beyond_the_positions_are_told),
    };
    return cmocka_run_group_tests(tests, folder_make, folder_remove);
}
