/* Generation on the tape against transformers' generate(): the peak and the end of prefill and decoding in requested
 * bytes, and the size of the key-value cache, case by case.
 *
 * The other side is peers/pytorch/shadow-generate-*.jsonl: the real models and the real loop on the meta device, every
 * storage watched. cuBLAS workspaces, which cannot be seen there, are taken off here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "models/find/catalogue.h"
#include "models/find/config_file.h"
#include "models/workload/workload_tape.h"
#include "tests/models/shadow_lines.h"

#define SHADOW_PATH "peers/pytorch/shadow-generate-torch-2.11.0-transformers-5.23.0"
static const char quantized_path[] =
    "peers/pytorch/shadow-generate-torch-2.11.0-transformers-5.23.0-optimum-quanto-0.2.7.jsonl";
static const char decoders_path[] = "peers/pytorch/shadow-generate-decoders-torch-2.11.0-transformers-5.23.0.jsonl";

/* What the layers kept at the end: the last of the cache's tensors to be given back, two for each layer. */
static int64_t cache_bytes_of(const struct tape_view *view, int64_t layers)
{
    int64_t bytes = 0, left = 2 * layers;
    for (int i = view->event_count - 1; i >= 0 && left > 0; i--) {
        struct event event = view->events[i];
        const struct storage *storage = event.kind == EVENT_FREE ? &view->storages[event.index] : NULL;
        if (storage != NULL && storage->category == CATEGORY_KV_CACHE && strstr(storage->label, "cache") != NULL) {
            bytes += storage->bytes;
            left--;
        }
    }
    return bytes;
}

/* The same of a quantised cache, whose tensors a layer has more of, and not always: what goes at the end in one run. */
static int64_t quantized_bytes_of(const struct tape_view *view)
{
    int64_t bytes = 0;
    bool found = false;
    for (int i = view->event_count - 1; i >= 0; i--) {
        struct event event = view->events[i];
        bool is_cache = event.kind == EVENT_FREE && view->storages[event.index].category == CATEGORY_KV_CACHE;
        if (found && !is_cache) {
            break;
        }
        found = found || is_cache;
        bytes += is_cache ? view->storages[event.index].bytes : 0;
    }
    return bytes;
}

static void config_take(const char *model, struct config *config)
{
    static const struct {
        const char *shadow, *catalogue;
    } models[] = {
        {"gpt2", "gpt2"},
        {"llama-3.2-1b", "meta-llama/Llama-3.2-1B"},
        {"qwen2.5-0.5b", "Qwen/Qwen2.5-0.5B"},
    };
    struct status error = {0};
    char path[128];
    enum status_code code = config_find("models/catalogue", model, config, &error);
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        if (strcmp(models[i].shadow, model) == 0) {
            code = config_find("models/catalogue", models[i].catalogue, config, &error);
        }
    }
    if (strncmp(model, "tiny/", 5) == 0) {
        snprintf(path, sizeof path, "peers/pytorch/%s/config.json", model);
        code = config_read(path, model, config, &error);
    } else if (code != STATUS_OK) {
        code = config_find("models/catalogue", model, config, &error);
    }
    if (code != STATUS_OK) {
        fail_msg("%s: %s", model, error.text);
    }
}

/* The skeleton, which the tape's labels belong to, is the caller's to release. */
static struct tape *tape_of(const char *model, const struct workload *workload, struct skeleton *skeleton)
{
    struct status error = {0};
    struct config config;
    struct tape *tape = NULL;
    const struct target *target = NULL;
    config_take(model, &config);
    if (target_find("sm_90", &target, &error) != STATUS_OK ||
        skeleton_build(&config, workload_head(workload), skeleton, &error) != STATUS_OK ||
        workload_tape(&config, skeleton, workload, target, &tape, &error) != STATUS_OK) {
        fail_msg("%s: %s", model, error.text);
    }
    return tape;
}

static int cases_exact, cases_all;

/* A beam's flags and the indices of its next step live a little differently: two integers for each. A model whose keys
 * are float32 under autocast casts its cache while attention runs, which here makes its log-sum-exp and PyTorch its
 * seeds. Beside an encoder the ids that a step was fed wait a little longer, or their flags: an integer for each row.
 * The order of beams that each layer of integers waits with is int64 here and int32 there. */
static int64_t slack_of(const struct workload *workload, int64_t layers, bool beside_encoder)
{
    bool amp = workload->precision == PRECISION_AMP_BFLOAT16;
    bool waits = workload->cache_dtype == CACHE_DTYPE_INT4 || workload->cache_dtype == CACHE_DTYPE_INT2;
    int64_t rows = workload->batch * workload->beams;
    int64_t flags = beside_encoder ? 8 * rows : 0;
    return amp ? 512 : workload->beams > 1 ? 16 * rows + (waits ? 4 * rows * layers : 0) : flags;
}

static void stage_check(const char *id, const struct json *line, enum stage stage, const struct stage_figures *figures,
                        int64_t slack)
{
    const struct json *shadow = json_get(json_get(line, "stages"), stage_name(stage));
    int64_t peak = json_integer_or(json_get(shadow, "requested_bytes_peak"), -1);
    int64_t end = json_integer_or(json_get(shadow, "requested_bytes"), -1);
    if (llabs(figures->peak[stage] - peak) > slack || figures->end[stage] != end) {
        fail_msg("%s: %s: peak %lld, PyTorch %lld (allowed %lld); end %lld, PyTorch %lld", id, stage_name(stage),
                 (long long)figures->peak[stage], (long long)peak, (long long)slack, (long long)figures->end[stage],
                 (long long)end);
    }
    cases_exact += figures->peak[stage] == peak;
    cases_all++;
}

static bool line_check(const struct json *line)
{
    if (strcmp(shadow_text(line, "mode"), "generate") != 0) {
        return false;
    }
    struct config config;
    struct skeleton skeleton;
    const char *id = shadow_text(line, "id");
    config_take(shadow_text(line, "model"), &config);
    struct workload workload = shadow_workload(line);
    struct tape *tape = tape_of(shadow_text(line, "model"), &workload, &skeleton);
    struct tape_view view = tape_view(tape);
    struct stage_figures figures;
    stage_figures_take(&view, &figures);
    stage_check(id, line, STAGE_FORWARD, &figures, slack_of(&workload, config.layers, config.decoder_layers > 0));
    stage_check(id, line, STAGE_GENERATE, &figures, slack_of(&workload, config.layers, config.decoder_layers > 0));
    bool cut =
        config.sliding_window > 0 && workload.seq >= config.sliding_window; /* there it was largest after the prompt */
    bool quantized = workload.cache_dtype != CACHE_DTYPE_AUTO;
    if (!cut) {
        int64_t layers = config.layers + config.decoder_layers; /* there are as many of each */
        int64_t kept = quantized ? quantized_bytes_of(&view) : cache_bytes_of(&view, layers);
        assert_int_equal(kept, json_integer_or(json_get(line, "kv_cache_bytes"), -1));
    }
    tape_release(tape);
    skeleton_release(&skeleton);
    return true;
}

/* share: how many of a hundred are equal at least; the others are within what slack_of names. */
static void list_check(const char *path, int cases_minimum, int share)
{
    cases_exact = cases_all = 0;
    shadow_lines_each(path, line_check);
    print_message("the peaks of %d of %d stages equal to the byte\n", cases_exact, cases_all);
    assert_true(cases_all >= cases_minimum);
    assert_true(cases_exact * 100 >= cases_all * share);
}

static void tape_and_pytorch_agree(void **state)
{
    (void)state;
    list_check(SHADOW_PATH ".jsonl", 150, 95);
    list_check(SHADOW_PATH "-opt-bloom.jsonl", 20, 100);
    list_check(SHADOW_PATH "-falcon.jsonl", 40, 100);
    list_check(SHADOW_PATH "-t5.jsonl", 16, 50);
    list_check(SHADOW_PATH "-gpt-neo.jsonl", 24, 100);
}

/* Qwen3, Phi-3, Gemma, GPT-NeoX and Mistral: windows that the prompt fills, that decoding fills, and none. */
static void decoders_with_windows_agree(void **state)
{
    (void)state;
    list_check(decoders_path, 100, 100);
}

/* The worked numbers of docs/NUMBERS.md, section 9, which also say how they come about. */
static void caches_of_the_documents(void **state)
{
    static const struct {
        const char *model;
        enum precision precision;
        int64_t seq, new_tokens;
        enum cache cache;
        enum cache_dtype dtype;
        int64_t beams, bytes;
    } rows[] = {
        {"meta-llama/Llama-3.1-8B", PRECISION_BFLOAT16, 2048, 256, CACHE_DYNAMIC, CACHE_DTYPE_AUTO, 1, 301858816},
        {"meta-llama/Llama-3.1-8B", PRECISION_BFLOAT16, 2048, 256, CACHE_STATIC, CACHE_DTYPE_AUTO, 1, 301859072},
        {"meta-llama/Llama-3.1-8B", PRECISION_BFLOAT16, 2048, 256, CACHE_DYNAMIC, CACHE_DTYPE_FP8, 1, 150929664},
        {"meta-llama/Llama-3.1-8B", PRECISION_BFLOAT16, 2048, 256, CACHE_DYNAMIC, CACHE_DTYPE_INT4, 1, 96862208},
        {"meta-llama/Llama-3.1-8B", PRECISION_BFLOAT16, 2048, 256, CACHE_DYNAMIC, CACHE_DTYPE_INT2, 1, 61210624},
        {"gpt2", PRECISION_BFLOAT16, 512, 17, CACHE_DYNAMIC, CACHE_DTYPE_AUTO, 1, 19464192},
        {"google/gemma-3-1b-pt", PRECISION_FLOAT32, 600, 16, CACHE_DYNAMIC, CACHE_DTYPE_AUTO, 1, 28106752 + 22 * 8},
        {"meta-llama/Llama-3.2-1B", PRECISION_BFLOAT16, 512, 17, CACHE_DYNAMIC, CACHE_DTYPE_AUTO, 4, 69206016},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct workload workload = workload_default(MODE_GENERATE);
        workload.precision = rows[i].precision;
        workload.seq = rows[i].seq;
        workload.new_tokens = rows[i].new_tokens;
        workload.cache = rows[i].cache;
        workload.cache_dtype = rows[i].dtype;
        workload.beams = rows[i].beams;
        struct skeleton skeleton;
        struct tape *tape = tape_of(rows[i].model, &workload, &skeleton);
        struct tape_view view = tape_view(tape);
        int64_t bytes = quantized_bytes_of(&view);
        if (bytes != rows[i].bytes) {
            fail_msg("row %zu, %s: %lld bytes, not %lld", i, rows[i].model, (long long)bytes, (long long)rows[i].bytes);
        }
        tape_release(tape);
        skeleton_release(&skeleton);
    }
}

/* Caches of transformers' QuantizedCache with quanto and fp8: in the residual, beyond it, beyond it again. */
static void quantized_caches_agree(void **state)
{
    (void)state;
    list_check(quantized_path, 250, 94);
}

/* A mixture's experts are copied for each row while it decodes; DeepSeek's caches are latent. */
static void mixtures_agree(void **state)
{
    (void)state;
    list_check("peers/pytorch/shadow-generate-experts-torch-2.11.0-transformers-5.23.0.jsonl", 60, 100);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(tape_and_pytorch_agree),
                                       cmocka_unit_test(decoders_with_windows_agree), cmocka_unit_test(mixtures_agree),
                                       cmocka_unit_test(quantized_caches_agree),
                                       cmocka_unit_test(caches_of_the_documents)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
