/* assay synth: what it writes our own reader finds, the same seed gives the same bytes, and nothing of the user's is
 * touched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/base/hash.h"
#include "harness/base/json.h"
#include "harness/checkpoint/checkpoint.h"
#include "harness/kernels/convert.h"
#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/whole_file.h"

static char scratch[40];

static int scratch_make(void **state)
{
    (void)state;
    snprintf(scratch, sizeof scratch, "/tmp/assay-synth-XXXXXX");
    return mkdtemp(scratch) != NULL ? 0 : -1;
}

static int scratch_remove(void **state)
{
    (void)state;
    return scratch_folder_remove(scratch);
}

enum { PATH_BYTES = 160 };

static const char *path_of(char path[PATH_BYTES], const char *folder, const char *name)
{
    snprintf(path, PATH_BYTES, "%s/%s%s%s", scratch, folder, name != NULL ? "/" : "", name != NULL ? name : "");
    return path;
}

/* synth MODEL --out SCRATCH/FOLDER and up to four more words. */
static struct command_result synth(const char *model, const char *folder, const char *const more[4])
{
    char path[PATH_BYTES];
    const char *const words[] = {program_path(), "synth", model,   "--out", path_of(path, folder, NULL),
                                 more[0],        more[1], more[2], more[3], NULL};
    return command_run(words, NULL);
}

#define MORE(...) ((const char *const[4]){__VA_ARGS__})

static void synth_expect(const char *model, const char *folder, const char *const more[4])
{
    struct command_result result = synth(model, folder, more);
    if (result.exit_code != 0) {
        fail_msg("synth %s: exit code %d: %s", model, result.exit_code, text_string(&result.error));
    }
    assert_string_equal(text_string(&result.error), "");
    command_result_release(&result);
}

/* Refused with this text, of which one %s is the folder; nothing of it is left. */
static void refusal_expect(const char *model, const char *folder, const char *const more[4], const char *format)
{
    char path[PATH_BYTES], expected[1024];
    struct command_result result = synth(model, folder, more);
    path_of(path, folder, NULL);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(expected, sizeof expected, format, path);
#pragma GCC diagnostic pop
    assert_string_equal(text_string(&result.error), expected);
    assert_string_equal(text_string(&result.output), "");
    assert_int_equal(result.exit_code, 2);
    command_result_release(&result);
}

static void reader_finds_all_of(const char *folder)
{
    char path[PATH_BYTES];
    const char *const words[] = {program_path(), "weights", path_of(path, folder, NULL), "--json", NULL};
    struct command_result result = command_run(words, NULL);
    struct json *document = NULL;
    if (result.exit_code != 0) {
        fail_msg("%s: exit code %d: %s%s", folder, result.exit_code, text_string(&result.output),
                 text_string(&result.error));
    }
    assert_int_equal(json_parse_text("out", text_string(&result.output), result.output.length, &document, NULL),
                     STATUS_OK);
    const struct json *comparison = json_get(document, "comparison");
    assert_int_equal(json_integer_or(json_get(comparison, "disagreement_count"), -1), 0);
    assert_int_equal(json_count(json_get(comparison, "remarks")), 0);
    json_release(document);
    command_result_release(&result);
}

static const char *const models[] = {
    "tiny-bert",   "tiny-bloom",   "tiny-convnext", "tiny-deepseek-v2", "tiny-deepseek-v3", "tiny-falcon-grouped",
    "tiny-gemma3", "tiny-gpt-neo", "tiny-gpt-neox", "tiny-gpt2",        "tiny-llama",       "tiny-mixtral",
    "tiny-opt",    "tiny-phi3",    "tiny-qwen2",    "tiny-qwen2-moe",   "tiny-qwen3-moe",   "tiny-roberta",
    "tiny-t5",     "tiny-vit",     "tiny-resnet",   "tiny-vgg",
};

static void our_reader_finds_every_tensor(void **state)
{
    static const char *const precisions[] = {"float32", "float16", "bf16"};
    (void)state;
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        char folder[64];
        bool is_timm = strcmp(models[i], "tiny-resnet") == 0 || strcmp(models[i], "tiny-vgg") == 0;
        snprintf(folder, sizeof folder, "%s-lm", models[i]);
        synth_expect(models[i], folder, MORE("--precision", precisions[i % 3]));
        reader_finds_all_of(folder);
        if (!is_timm) { /* it has no configuration without the head */
            snprintf(folder, sizeof folder, "%s-bare", models[i]);
            synth_expect(models[i], folder, MORE("--head", "bare", "--max-shard-size", "20KB"));
            reader_finds_all_of(folder);
        }
    }
    synth_expect("tiny-t5", "t5-half", MORE("--precision", "float16"));
    reader_finds_all_of("t5-half");
}

/* The bytes of a tensor, behind what is stored before it. */
static char *tensor_bytes(const struct checkpoint_tensor *tensor, const struct checkpoint *checkpoint)
{
    char *bytes = malloc((size_t)tensor->bytes + 1);
    FILE *file = fopen(checkpoint->files[tensor->file].name, "r");
    assert_non_null(bytes);
    assert_non_null(file);
    assert_int_equal(fseek(file, (long)tensor->offset, SEEK_SET), 0);
    assert_int_equal(fread(bytes, 1, (size_t)tensor->bytes, file), (size_t)tensor->bytes);
    assert_int_equal(fclose(file), 0);
    return bytes;
}

static struct checkpoint *checkpoint_of(const char *folder, const char *name)
{
    char path[PATH_BYTES];
    struct checkpoint *checkpoint = NULL;
    struct status error = {0};
    if (checkpoint_open(path_of(path, folder, name), &checkpoint, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return checkpoint;
}

static const struct checkpoint_tensor *tensor_named(const struct checkpoint *checkpoint, const char *name)
{
    for (int i = 0; i < checkpoint->tensor_count; i++) {
        if (strcmp(checkpoint->tensors[i].name, name) == 0) {
            return &checkpoint->tensors[i];
        }
    }
    fail_msg("there is no tensor %s", name);
    return NULL;
}

/* Every tensor of one checkpoint is in the other, byte for byte. */
static void tensors_are_equal(const struct checkpoint *a, const struct checkpoint *b)
{
    assert_int_equal(a->tensor_count, b->tensor_count);
    for (int i = 0; i < a->tensor_count; i++) {
        const struct checkpoint_tensor *tensor = &a->tensors[i];
        char *left = tensor_bytes(tensor, a), *right = tensor_bytes(tensor_named(b, tensor->name), b);
        assert_memory_equal(left, right, (size_t)tensor->bytes);
        free(left);
        free(right);
    }
}

static void numbers_depend_on_the_seed_alone(void **state)
{
    (void)state;
    synth_expect("tiny-mixtral", "whole", MORE("--seed", "7"));
    synth_expect("tiny-mixtral", "pieces", MORE("--seed", "7", "--max-shard-size", "5KB"));
    synth_expect("tiny-mixtral", "other", MORE("--seed", "8"));
    struct checkpoint *whole = checkpoint_of("whole", "model.safetensors");
    struct checkpoint *pieces = checkpoint_of("pieces", "model.safetensors.index.json");
    struct checkpoint *other = checkpoint_of("other", "model.safetensors");
    assert_true(pieces->file_count > 10);
    tensors_are_equal(whole, pieces);
    for (int i = 0; i < whole->tensor_count; i++) {
        const struct checkpoint_tensor *tensor = &whole->tensors[i];
        char *a = tensor_bytes(tensor, whole);
        char *c = tensor_bytes(tensor_named(other, tensor->name), other);
        bool is_norm = tensor->rank == 1;
        assert_int_equal(memcmp(a, c, (size_t)tensor->bytes) == 0, is_norm);
        free(a);
        free(c);
    }
    checkpoint_release(whole);
    checkpoint_release(pieces);
    checkpoint_release(other);
}

/* Half a million numbers, from more than one piece of work: a normal distribution of deviation 0.02, and what is known
 * to be constant. Two tensors, and two halves of one, have nothing in common. */
static void numbers_are_those_of_the_initialisation(void **state)
{
    (void)state;
    char config[PATH_BYTES];
    mkdir(path_of(config, "wide", NULL), 0777);
    FILE *file = fopen(path_of(config, "wide", "config.json"), "w");
    assert_non_null(file);
    fputs(
        "{\"model_type\": \"llama\", \"vocab_size\": 2001, \"hidden_size\": 256, \"num_hidden_layers\": 1, "
        "\"num_attention_heads\": 2, \"num_key_value_heads\": 2, \"intermediate_size\": 64, "
        "\"max_position_embeddings\": 64, "
        "\"rms_norm_eps\": 1e-05, \"rope_theta\": 10000.0, \"hidden_act\": \"silu\", \"tie_word_embeddings\": false}\n",
        file);
    assert_int_equal(fclose(file), 0);
    synth_expect(config, "wide-made", MORE("--precision", "float32"));
    synth_expect(config, "wide-pieces", MORE("--precision", "float32", "--max-shard-size", "1KiB"));
    struct checkpoint *checkpoint = checkpoint_of("wide-made", "model.safetensors");
    struct checkpoint *pieces = checkpoint_of("wide-pieces", "model.safetensors.index.json");
    tensors_are_equal(checkpoint, pieces);
    checkpoint_release(pieces);
    const struct checkpoint_tensor *words = tensor_named(checkpoint, "model.embed_tokens.weight");
    float *numbers = (float *)(void *)tensor_bytes(words, checkpoint);
    float *head = (float *)(void *)tensor_bytes(tensor_named(checkpoint, "lm_head.weight"), checkpoint);
    float *norm = (float *)(void *)tensor_bytes(tensor_named(checkpoint, "model.norm.weight"), checkpoint);
    double sum = 0, squares = 0, beside = 0, behind = 0, with_head = 0;
    int64_t count = words->bytes / (int64_t)sizeof(float), far = 0;
    assert_int_equal(count, 2001 * 256);
    for (int64_t k = 0; k < count; k++) {
        double z = (double)numbers[k] / 0.02;
        sum += z;
        squares += z * z;
        far += z > 2 || z < -2 ? 1 : 0;
        beside += k > 0 ? z * (double)numbers[k - 1] / 0.02 : 0;
        behind += k >= count / 2 ? z * (double)numbers[k - count / 2] / 0.02 : 0;
        with_head += z * (double)head[k] / 0.02;
    }
    double n = (double)count;
    assert_true(sum / n < 0.01 && sum / n > -0.01);
    assert_true(squares / n > 0.99 && squares / n < 1.01);
    assert_true((double)far / n > 0.0445 && (double)far / n < 0.0465); /* 0.0455 */
    assert_true(beside / n < 0.01 && beside / n > -0.01);
    assert_true(behind / n < 0.01 && behind / n > -0.01);
    assert_true(with_head / n < 0.01 && with_head / n > -0.01);
    for (int k = 0; k < 256; k++) {
        assert_true(norm[k] == 1.0f);
    }
    free(numbers);
    free(head);
    free(norm);
    checkpoint_release(checkpoint);
}

/* The same number in each precision, rounded. */
static void precisions_round_the_same_numbers(void **state)
{
    (void)state;
    synth_expect("tiny-gpt2", "wide32", MORE("--precision", "float32"));
    synth_expect("tiny-gpt2", "wide16", MORE("--precision", "bfloat16"));
    struct checkpoint *full = checkpoint_of("wide32", "model.safetensors");
    struct checkpoint *half = checkpoint_of("wide16", "model.safetensors");
    const char *name = "transformer.h.0.mlp.c_fc.weight";
    const struct checkpoint_tensor *tensor = tensor_named(full, name);
    char *a = tensor_bytes(tensor, full);
    char *b = tensor_bytes(tensor_named(half, name), half);
    for (int64_t k = 0; k < tensor->bytes / 4; k++) {
        float number;
        uint16_t rounded;
        memcpy(&number, a + 4 * k, sizeof number);
        memcpy(&rounded, b + 2 * k, sizeof rounded);
        assert_int_equal(float_to_bfloat16(number), rounded);
    }
    free(a);
    free(b);
    checkpoint_release(full);
    checkpoint_release(half);
}

/* These very bytes: other processors, compilers and releases must give them too. */
static void numbers_are_the_same_on_every_machine(void **state)
{
    (void)state;
    synth_expect("tiny-llama", "fixed", MORE("--seed", "42", "--precision", "float32"));
    struct checkpoint *checkpoint = checkpoint_of("fixed", "model.safetensors");
    uint64_t hash = HASH_START; /* over all tensors, in the file's order */
    for (int i = 0; i < checkpoint->tensor_count; i++) {
        char *bytes = tensor_bytes(&checkpoint->tensors[i], checkpoint);
        hash = hash_bytes(hash, bytes, (size_t)checkpoint->tensors[i].bytes);
        free(bytes);
    }
    if (hash != UINT64_C(0x52df360b9da227b5)) {
        fail_msg("other numbers: 0x%016llx", (unsigned long long)hash);
    }
    checkpoint_release(checkpoint);
}

static void zeros_take_no_room(void **state)
{
    char path[PATH_BYTES];
    struct stat facts;
    (void)state;
    synth_expect("gpt2", "zeros", MORE("--zero"));
    reader_finds_all_of("zeros");
    assert_int_equal(stat(path_of(path, "zeros", "model.safetensors"), &facts), 0);
    assert_true(facts.st_size > 497759232 && facts.st_size < 497759232 + 65536);
    assert_true(facts.st_blocks * 512 < facts.st_size / 2);
    struct checkpoint *checkpoint = checkpoint_of("zeros", "model.safetensors");
    char *bytes = tensor_bytes(tensor_named(checkpoint, "transformer.ln_f.weight"), checkpoint);
    for (int k = 0; k < 768 * 4; k++) {
        assert_int_equal(bytes[k], 0);
    }
    free(bytes);
    checkpoint_release(checkpoint);
}

/* config.json is the model's own but for its type and its class; timm's has no class. */
static void configuration_says_what_is_stored(void **state)
{
    char path[PATH_BYTES];
    struct json *document = NULL, *own = NULL;
    (void)state;
    synth_expect("tiny-llama", "configured", MORE("--precision", "float16", "--head", "bare"));
    assert_int_equal(json_parse_file(path_of(path, "configured", "config.json"), 65536, &document, NULL), STATUS_OK);
    assert_int_equal(json_parse_file("models/catalogue/tiny-llama/config.json", 65536, &own, NULL), STATUS_OK);
    assert_string_equal(json_string_or(json_at(json_get(document, "architectures"), 0), ""), "LlamaModel");
    bool says = strcmp(json_string_or(json_get(document, "dtype"), ""), "float16") == 0 ||
                strcmp(json_string_or(json_get(document, "torch_dtype"), ""), "float16") == 0;
    assert_true(says);
    for (const char *key = json_key_after(own, NULL); key != NULL; key = json_key_after(own, key)) {
        struct text a = {0}, b = {0};
        if (strcmp(key, "architectures") != 0 && strstr(key, "dtype") == NULL) {
            json_write(json_get(own, key), 0, &a, NULL);
            json_write(json_get(document, key), 0, &b, NULL);
            assert_string_equal(text_string(&a), text_string(&b));
        }
        text_release(&a);
        text_release(&b);
    }
    json_release(document);
    json_release(own);
}

static void nothing_of_the_users_is_touched(void **state)
{
    char path[PATH_BYTES];
    (void)state;
    mkdir(path_of(path, "mine", NULL), 0777);
    FILE *file = fopen(path_of(path, "mine", "notes"), "w");
    assert_non_null(file);
    fputs("precious", file);
    fclose(file);
    refusal_expect(
        "tiny-gpt2", "mine", MORE(NULL),
        "assay: synth: %s: is not empty ('notes' is there); choose another folder with --out, or write beside "
        "what is there with --force: files of the same names are replaced\n");
    synth_expect("tiny-gpt2", "mine", MORE("--force"));
    reader_finds_all_of("mine");
    refusal_expect(
        "tiny-gpt2", "mine", MORE("--force", "--max-shard-size", "40KB"),
        "assay: synth: %s: has a model.safetensors, which readers take before 4 shards; move it away, choose "
        "another folder, or allow larger files with --max-shard-size\n");
    assert_int_equal(remove(path_of(path, "mine", "model.safetensors")), 0);
    synth_expect("tiny-gpt2", "mine", MORE("--force", "--max-shard-size", "40KB"));
    reader_finds_all_of("mine");
    struct command_result result = synth("tiny-gpt2", "mine", MORE("--force"));
    assert_int_equal(result.exit_code, 0);
    assert_non_null(strstr(text_string(&result.error), "5 files of another checkpoint stay there, 'model"));
    command_result_release(&result);
    reader_finds_all_of("mine");
    char *kept = whole_file_read(path_of(path, "mine", "notes"));
    assert_string_equal(kept, "precious");
    free(kept);
    /* A model of the user's is not written over, not even by force. */
    char model[PATH_BYTES];
    const char *const words[] = {program_path(), "synth", path_of(model, "mine", NULL), "--out", model,
                                 "--force",      NULL};
    result = command_run(words, NULL);
    assert_int_equal(result.exit_code, 2);
    assert_non_null(strstr(text_string(&result.error), "is the folder of the model itself"));
    command_result_release(&result);
}

static void options_are_refused_with_a_remedy(void **state)
{
    char path[PATH_BYTES];
    (void)state;
    refusal_expect(
        "tiny-gpt2", "none", MORE("--precision", "int8"),
        "assay: synth: --precision int8 is no type that a new model is stored in: it is made of one when it is "
        "loaded; write float32, float16 or bfloat16\n");
    refusal_expect("tiny-gpt2", "none", MORE("--max-shard-size", "0"),
                   "assay: synth: --max-shard-size: no tensor fits into files of 0 bytes; write 5GB\n");
    refusal_expect("tiny-gpt2", "none", MORE("--zero", "--seed", "3"),
                   "assay: synth: --seed says nothing about --zero; keep one\n");
    refusal_expect("tiny-resnet", "none", MORE("--max-shard-size", "100KB"),
                   "assay: synth: timm reads one file, and 4 would be written; allow a larger one with "
                   "--max-shard-size\n");
    refusal_expect(
        "deepseek-ai/DeepSeek-V3", "none", MORE("--max-shard-size", "1"),
        "assay: synth: deepseek-ai/DeepSeek-V3 is published with quantized weights; these are in bfloat16, and "
        "config.json says nothing of quantization\n"
        "assay: synth: files of at most 1 bytes would be 1025, and a checkpoint has at most 1000; allow larger "
        "ones\n");
    refusal_expect(
        "tests/models/saved/qwen2-moe", "none", MORE(NULL),
        "assay: synth: tests/models/saved/qwen2-moe has no config.json, from which a checkpoint is made; name "
        "a model of the "
        "catalogue or of the hub that has one, or a config.json\n");
    FILE *file = fopen(path_of(path, "typed.json", NULL), "w");
    assert_non_null(file);
    fputs("{\"model_type\": \"mine\"}\n", file);
    assert_int_equal(fclose(file), 0);
    memcpy(path + strlen(path), "#gpt2", sizeof "#gpt2");
    struct command_result typed = synth(path, "none", MORE(NULL));
    assert_int_equal(typed.exit_code, 2);
    assert_non_null(
        strstr(text_string(&typed.error), "#gpt2 says the type 'mine', and its readers would not take it for gpt2;"));
    command_result_release(&typed);
    assert_int_equal(access(path_of(path, "none", NULL), F_OK), -1);
    const char *const words[] = {program_path(), "synth", "tiny-gpt2", NULL};
    struct command_result result = command_run(words, NULL);
    assert_string_equal(text_string(&result.error), "assay: synth: --out is missing; name the folder to write into\n");
    assert_int_equal(result.exit_code, 2);
    command_result_release(&result);
}

static void json_tells_every_file(void **state)
{
    struct json *document = NULL;
    (void)state;
    struct command_result result =
        synth("tiny-llama", "deep/er/and/deeper/", MORE("--json", "--max-shard-size", "50KB"));
    assert_int_equal(result.exit_code, 0);
    assert_int_equal(json_parse_text("out", text_string(&result.output), result.output.length, &document, NULL),
                     STATUS_OK);
    const struct json *files = json_get(document, "files");
    assert_string_equal(json_string_or(json_get(document, "precision"), ""), "float32");
    assert_int_equal(json_integer_or(json_get(document, "tensor_bytes"), 0), 100224);
    assert_int_equal(json_integer_or(json_get(document, "parameter_count"), 0), 25056);
    assert_int_equal(json_integer_or(json_get(document, "max_shard_bytes"), 0), 50000);
    assert_int_equal(json_count(files), 3);
    for (size_t i = 0; i < json_count(files); i++) {
        char path[PATH_BYTES], name[96];
        struct stat facts;
        const struct json *row = json_at(files, i);
        snprintf(name, sizeof name, "er/and/deeper/%s", json_string_or(json_get(row, "name"), ""));
        assert_int_equal(stat(path_of(path, "deep", name), &facts), 0);
        assert_int_equal(facts.st_size, json_integer_or(json_get(row, "bytes"), -1));
    }
    json_release(document);
    command_result_release(&result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(our_reader_finds_every_tensor),           cmocka_unit_test(numbers_depend_on_the_seed_alone),
        cmocka_unit_test(numbers_are_those_of_the_initialisation), cmocka_unit_test(precisions_round_the_same_numbers),
        cmocka_unit_test(numbers_are_the_same_on_every_machine),   cmocka_unit_test(zeros_take_no_room),
        cmocka_unit_test(configuration_says_what_is_stored),       cmocka_unit_test(nothing_of_the_users_is_touched),
        cmocka_unit_test(options_are_refused_with_a_remedy),       cmocka_unit_test(json_tells_every_file),
    };
    return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
