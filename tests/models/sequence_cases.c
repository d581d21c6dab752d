/* Sequence cases: the list, by loops, and one comparison. That the figures are right is for other tests; here they are
 * the same. */
#include "tests/models/sequence_cases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "models/config/family.h"
#include "models/find/catalogue.h"
#include "tests/support/device_use.h"
#include "tests/support/modelled.h"

enum { MODELS_MAXIMUM = 96, NAME_BYTES = 48 };

/* The toys of the catalogue, and what their configurations and the rows of their families say of them. */
static struct sequence_model {
    char name[NAME_BYTES];
    bool whole; /* with every precision and optimizer; those differ by what all families share */
    bool is_text, generates, attends;
    bool caps_scores; /* transformers runs it in the eager form alone */
    bool has_encoder; /* generation beside an encoder is modelled for a dynamic cache without beams */
    bool has_static_cache;
    bool adapts_all; /* peft has no list of targets for it */
} models[MODELS_MAXIMUM];

static bool is_whole(const char *name)
{
    static const char *const names[] = {"tiny-bert", "tiny-gpt2", "tiny-llama", "tiny-vit", "tiny-resnet"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

static struct sequence_model model_of(const char *name, const struct config *config)
{
    bool has_encoder = config->decoder_layers > 0;
    struct sequence_model model = {.whole = is_whole(name),
                                   .is_text = !config->family->is_image,
                                   .generates = config->family->generates,
                                   .attends = config->family->has_attention,
                                   .caps_scores = config->score_cap > 0,
                                   .has_encoder = has_encoder,
                                   .has_static_cache = !config->dynamic_cache_only && !has_encoder,
                                   .adapts_all = config->family->lora_targets == NULL};
    assert_true(strlen(name) < NAME_BYTES);
    memcpy(model.name, name, strlen(name));
    return model;
}

static int models_read(void)
{
    struct catalogue catalogue;
    struct config config;
    int count = 0;
    assert_int_equal(catalogue_read("models/catalogue", &catalogue, NULL), STATUS_OK);
    for (int i = 0; i < catalogue.count; i++) {
        if (strncmp(catalogue.names[i], "tiny-", 5) == 0) {
            assert_int_equal(config_find("models/catalogue", catalogue.names[i], &config, NULL), STATUS_OK);
            assert_true(count < MODELS_MAXIMUM);
            models[count++] = model_of(catalogue.names[i], &config);
        }
    }
    catalogue_release(&catalogue);
    return count;
}

static bool is_quantised(enum precision precision)
{
    return precision == PRECISION_INT8 || precision == PRECISION_INT4 || precision == PRECISION_FP8;
}

/* Whether there is such a case in the list. Quantised weights train adapters, which image models have not. Forms of
 * attention differ by the dtype they compute in: one precision for each of float32, bfloat16 and float16. */
static bool has_case(int model, enum mode mode, enum precision precision, enum attention attention)
{
    bool makes = attention == ATTENTION_EAGER || mode == MODE_LOAD || !models[model].caps_scores;
    bool few = precision == PRECISION_FLOAT32 || precision == PRECISION_BFLOAT16 || precision == PRECISION_AMP_FLOAT16;
    return makes && (models[model].whole || (few && attention != ATTENTION_NATIVE)) &&
           (mode != MODE_GENERATE || models[model].generates) &&
           (attention == ATTENTION_SDPA || (mode != MODE_LOAD && models[model].attends && few)) &&
           (mode != MODE_TRAIN || !is_quantised(precision) || models[model].is_text);
}

static struct workload workload_of(int model, enum mode mode, enum precision precision, enum attention attention)
{
    struct workload workload = workload_default(mode);
    workload.precision = precision;
    workload.attention = attention;
    workload.batch = 1;
    workload.seq = models[model].is_text ? 4 : 0;
    workload.new_tokens = 2;
    workload.lora_rank = mode == MODE_TRAIN && is_quantised(precision) ? 2 : 0;
    workload.lora_targets = models[model].adapts_all ? LORA_TARGETS_LINEAR : LORA_TARGETS_ATTENTION;
    return workload;
}

static void case_add(struct sequence_case *cases, int *count, int model, const struct workload *workload)
{
    assert_true(*count < SEQUENCE_CASES_MAXIMUM);
    cases[(*count)++] = (struct sequence_case){models[model].name, *workload};
}

/* Weights of 16 bits under autocast, all of them trained, and adapters alone. */
static void autocast_add(struct sequence_case *cases, int *count, int model, enum attention attention)
{
    struct workload workload = workload_of(model, MODE_TRAIN, PRECISION_BFLOAT16, attention);
    workload.autocast = true;
    case_add(cases, count, model, &workload);
    workload.lora_rank = 4;
    workload.lora_targets = LORA_TARGETS_PROJECTIONS;
    case_add(cases, count, model, &workload);
}

/* What programs do besides a plain step. */
static void habits_add(struct sequence_case *cases, int *count, int model, const struct workload *train)
{
    struct workload workload = *train;
    workload.zero_grad = ZERO_GRAD_BEFORE_BACKWARD;
    workload.zero_grad_to = ZERO_GRAD_TO_ZEROS;
    workload.clip_grad = CLIP_GRAD_FOREACH;
    case_add(cases, count, model, &workload);
    workload = *train;
    workload.optimizer_in_backward = true;
    case_add(cases, count, model, &workload);
    workload = *train;
    workload.precision = PRECISION_AMP_FLOAT16;
    workload.grad_scaler = GRAD_SCALER_TORCH;
    workload.accumulate = 2;
    workload.accumulated_loss = ACCUMULATED_LOSS_WHOLE;
    case_add(cases, count, model, &workload);
    for (int average = WEIGHT_AVERAGE_NONE + 1; average < WEIGHT_AVERAGE_COUNT; average++) {
        workload = *train;
        workload.precision = average == WEIGHT_AVERAGE_TIMM_EMA ? PRECISION_BFLOAT16 : PRECISION_AMP_BFLOAT16;
        workload.weight_average = (enum weight_average)average;
        case_add(cases, count, model, &workload);
    }
}

/* Beside the grid: what changes the sequence in another way. */
static void variants_add(struct sequence_case *cases, int *count, int model)
{
    enum attention attention = models[model].caps_scores ? ATTENTION_EAGER : ATTENTION_SDPA;
    struct workload train = workload_of(model, MODE_TRAIN, PRECISION_AMP_BFLOAT16, attention);
    int optimizers = models[model].whole ? OPTIMIZER_COUNT : OPTIMIZER_NONE + 2;
    for (int optimizer = OPTIMIZER_NONE + 1; optimizer < optimizers; optimizer++) {
        struct workload workload = train;
        if (optimizer >= OPTIMIZER_ADAFACTOR_TORCH) { /* which no device runs */
            continue;
        }
        workload.optimizer = (enum optimizer)optimizer;
        workload.accumulate = 1 + optimizer % 2;
        case_add(cases, count, model, &workload);
    }
    if (models[model].whole) {
        habits_add(cases, count, model, &train);
    }
    if (models[model].whole && models[model].is_text) {
        autocast_add(cases, count, model, attention);
    }
    struct workload returned = train;
    returned.use_cache = models[model].generates;
    returned.outputs = OUTPUTS_KEPT;
    returned.float32_outputs = true;
    case_add(cases, count, model, &returned);
    returned = workload_of(model, MODE_INFER, PRECISION_AMP_BFLOAT16, attention);
    returned.use_cache = models[model].generates;
    returned.outputs = OUTPUTS_KEPT;
    case_add(cases, count, model, &returned);
    if (models[model].attends) {
        train.checkpointing = true;
        case_add(cases, count, model, &train);
    }
    if (models[model].is_text) {
        train.padding = true;
        train.loss = LOSS_FUSED;
        case_add(cases, count, model, &train);
    }
    if (models[model].generates) {
        struct workload generate = workload_of(model, MODE_GENERATE, PRECISION_BFLOAT16, attention);
        generate.cache = models[model].has_static_cache ? CACHE_STATIC : CACHE_DYNAMIC;
        case_add(cases, count, model, &generate);
        generate.beams = models[model].has_encoder ? 1 : 2;
        case_add(cases, count, model, &generate);
        generate.cache = CACHE_DYNAMIC;
        generate.seq = 8; /* two groups of 64 */
        for (int dtype = CACHE_DTYPE_FP8; dtype < CACHE_DTYPE_COUNT && models[model].whole; dtype++) {
            generate.cache_dtype = (enum cache_dtype)dtype;
            generate.beams = dtype == CACHE_DTYPE_INT2 ? 1 : 2;
            case_add(cases, count, model, &generate);
        }
    }
}

int sequence_cases_make(struct sequence_case cases[SEQUENCE_CASES_MAXIMUM])
{
    int count = 0, model_count = models_read();
    for (int model = 0; model < model_count; model++) {
        for (int mode = 0; mode < MODE_COUNT; mode++) {
            for (int precision = 0; precision < PRECISION_COUNT; precision++) {
                for (int attention = 0; attention < ATTENTION_COUNT; attention++) {
                    if (has_case(model, (enum mode)mode, (enum precision)precision, (enum attention)attention)) {
                        struct workload workload =
                            workload_of(model, (enum mode)mode, (enum precision)precision, (enum attention)attention);
                        case_add(cases, &count, model, &workload);
                    }
                }
            }
        }
        variants_add(cases, &count, model);
    }
    return count;
}

static void bytes_equal(const struct sequence_case *one, enum stage stage, const char *what, int64_t predicted,
                        int64_t got)
{
    if (predicted != got) {
        fail_msg("%s %s %s %s: %s: %s: %lld, predicted %lld", one->model, mode_name(one->workload.mode),
                 precision_name(one->workload.precision), attention_name(one->workload.attention), stage_name(stage),
                 what, (long long)got, (long long)predicted);
    }
}

static void results_equal(const struct sequence_case *one, const struct replay_result *predicted,
                          const struct replay_result *got)
{
    for (int i = 0; i < STAGE_COUNT; i++) {
        const struct replay_stage *a = &predicted->stages[i], *b = &got->stages[i];
        enum stage stage = (enum stage)i;
        bytes_equal(one, stage, "present", a->present, b->present);
        bytes_equal(one, stage, "requested bytes", a->requested_bytes, b->requested_bytes);
        bytes_equal(one, stage, "requested peak", a->requested_bytes_peak, b->requested_bytes_peak);
        bytes_equal(one, stage, "allocated bytes", a->allocated_bytes, b->allocated_bytes);
        bytes_equal(one, stage, "allocated peak", a->allocated_bytes_peak, b->allocated_bytes_peak);
        bytes_equal(one, stage, "reserved bytes", a->reserved_bytes, b->reserved_bytes);
        bytes_equal(one, stage, "reserved peak", a->reserved_bytes_peak, b->reserved_bytes_peak);
    }
    bytes_equal(one, STAGE_CONTEXT, "allocations", predicted->alloc_count, got->alloc_count);
    bytes_equal(one, STAGE_CONTEXT, "hash of the sequence", (int64_t)predicted->sequence_hash,
                (int64_t)got->sequence_hash);
}

void sequence_case_check(const struct sequence_case *one, const char *device, const char *target)
{
    struct modelled modelled = {0};
    modelled_require(&modelled, one->model, &one->workload, target);
    struct tape_view view = tape_view(modelled.tape);
    struct replay_result predicted = replay_on(&view, "meta"), got = replay_on(&view, device);
    assert_true(predicted.alloc_count > 0);
    results_equal(one, &predicted, &got);
    modelled_close(&modelled);
}
