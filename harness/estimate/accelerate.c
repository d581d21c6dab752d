/* accelerate: the sizes and the rows. Its box of text is drawn in accelerate_table.c. Not an improvement of it: where
 * it errs (the head is missing, integers are divided with the rest, a boolean is an eighth of a byte), so does this. */
#include "harness/estimate/accelerate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/case/workload_alias.h"
#include "harness/estimate/estimate.h"
#include "harness/estimate/framework_buffers.h"
#include "harness/estimate/rule_terms.h"
#include "models/config/family.h"
#include "models/skeleton/skeleton.h"

static const char *const dtype_names[ACCELERATE_DTYPE_COUNT] = {"float32", "float16", "int8", "int4"};
static const double dtype_divisors[ACCELERATE_DTYPE_COUNT] = {1, 2, 4, 8};

const char *accelerate_dtype_name(enum accelerate_dtype dtype)
{
    return dtype_names[dtype];
}

enum status_code accelerate_dtype_find(const char *name, enum accelerate_dtype *dtype, struct status *error)
{
    const char *meant = workload_alias(FIELD_PRECISION, name);
    for (int i = 0; i < ACCELERATE_DTYPE_COUNT; i++) {
        if (strcmp(meant, dtype_names[i]) == 0) {
            *dtype = (enum accelerate_dtype)i;
            return STATUS_OK;
        }
    }
    if (strcmp(meant, "bfloat16") == 0) {
        return status_set(error, STATUS_INVALID,
                          "accelerate's table has no row for '%.80s'; write float16, which takes as many bytes", name);
    }
    return status_set(error, STATUS_INVALID, "dtype '%.80s' is not known; write one of: float32, float16, int8, int4",
                      name);
}

enum status_code accelerate_rule_find(const char *name, enum accelerate_rule *rule, struct status *error)
{
    static const char *const names[ACCELERATE_RULE_COUNT] = {"current", "0.23"};
    for (int i = 0; i < ACCELERATE_RULE_COUNT; i++) {
        if (strcmp(name, names[i]) == 0) {
            *rule = (enum accelerate_rule)i;
            return STATUS_OK;
        }
    }
    return status_set(error, STATUS_INVALID, "rule '%.80s' is not known; write one of: current, 0.23", name);
}

static int64_t tensor_bytes_of(const struct skeleton_tensor *tensor, const void *context)
{
    const struct framework_buffers *buffers = context;
    bool counts = (tensor->tied_to < 0 || buffers->counts_tied) && (!tensor->is_buffer || buffers->as_skeleton);
    int64_t bytes = counts ? tensor->element_count * dtype_bytes(tensor->dtype) : 0; /* the builder has checked it */
    return tensor->dtype == DTYPE_BOOL ? bytes / 8 : bytes;
}

/* Bytes below each module, itself included. bytes has module_count entries. Children have higher indices than their
 * parents, so one walk from the end adds everything up. */
static bool module_sizes(const struct accelerate_sizing *sizing, int64_t *bytes)
{
    const struct skeleton *skeleton = sizing->skeleton;
    bool fits = true;
    for (int i = 0; i < skeleton->tensor_count && fits; i++) {
        const struct skeleton_tensor *tensor = &skeleton->tensors[i];
        fits = size_add(bytes[tensor->module], sizing->tensor_bytes(tensor, sizing->context), &bytes[tensor->module]);
    }
    for (int i = skeleton->module_count - 1; i >= 0 && fits; i--) {
        int parent = skeleton->modules[i].parent;
        if (skeleton->modules[i].no_split) {
            fits = size_add(bytes[i], sizing->block_bytes, &bytes[i]);
        }
        if (parent >= 0) {
            fits = fits && size_add(bytes[parent], bytes[i], &bytes[parent]);
        }
    }
    return fits && size_add(bytes[0], sizing->model_bytes, &bytes[0]);
}

/* A module is atomic when it is never split or has no children; what lies below an atomic one is not looked at. */
static int64_t largest_layer(const struct accelerate_sizing *sizing, const int64_t *bytes)
{
    const struct skeleton *skeleton = sizing->skeleton;
    int64_t largest = sizing->model_bytes; /* a module, or a tensor of the root, of its own */
    int inside = -1;                       /* the atomic module that the walk is in */
    for (int i = 1; i < skeleton->module_count; i++) {
        int up = skeleton->modules[i].parent;
        while (up > inside) {
            up = skeleton->modules[up].parent;
        }
        if (inside >= 0 && up == inside) {
            continue;
        }
        bool leaf = i + 1 == skeleton->module_count || skeleton->modules[i + 1].parent != i;
        bool atomic = leaf || (skeleton->modules[i].no_split && !sizing->splits_blocks);
        inside = atomic ? i : inside;
        largest = atomic && bytes[i] > largest ? bytes[i] : largest;
    }
    return sizing->splits_blocks && sizing->block_bytes > largest ? sizing->block_bytes : largest;
}

enum status_code accelerate_measure(const struct accelerate_sizing *sizing, int64_t *total_bytes,
                                    int64_t *largest_layer_bytes, struct status *error)
{
    const struct skeleton *skeleton = sizing->skeleton;
    int64_t *bytes = calloc((size_t)skeleton->module_count, sizeof *bytes);
    if (bytes == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no host memory for the sizes of %d modules",
                          skeleton->module_count);
    }
    enum status_code code = STATUS_OK;
    if (module_sizes(sizing, bytes) && bytes[0] <= INT64_MAX / 8) { /* 4 B is printed; keep room */
        *total_bytes = bytes[0];
        *largest_layer_bytes = largest_layer(sizing, bytes);
    } else {
        code = status_set(error, STATUS_OVERFLOW, "%s: its bytes do not fit 63 bits", skeleton->config->name);
    }
    free(bytes);
    return code;
}

static int64_t tied_bytes_of(const struct skeleton *skeleton, const struct framework_buffers *buffers)
{
    int64_t bytes = 0;
    for (int i = 0; i < skeleton->tensor_count; i++) {
        const struct skeleton_tensor *tensor = &skeleton->tensors[i];
        bytes += tensor->tied_to >= 0 ? tensor_bytes_of(tensor, buffers) : 0;
    }
    return bytes; /* a part of a sum that has been checked */
}

/* The skeleton of the model without a head, whatever the case has: accelerate builds that. */
static enum status_code sizes_of_skeleton(const struct skeleton *skeleton, const struct framework_buffers *buffers,
                                          bool splits_blocks, struct accelerate_sizes *sizes, struct status *error)
{
    struct accelerate_sizing sizing = {.skeleton = skeleton,
                                       .tensor_bytes = tensor_bytes_of,
                                       .context = buffers,
                                       .block_bytes = buffers->block_bytes,
                                       .model_bytes = buffers->model_bytes,
                                       .splits_blocks = splits_blocks};
    int64_t total = 0;
    int64_t largest = 0;
    enum status_code code = accelerate_measure(&sizing, &total, &largest, error);
    if (code == STATUS_OK) {
        int64_t tied = tied_bytes_of(skeleton, buffers);
        *sizes = (struct accelerate_sizes){
            .parameter_count = skeleton->parameter_count,
            .buffer_bytes = total - tied - skeleton->parameter_bytes,
            .tied_bytes = tied,
            .total_bytes = total,
            .largest_layer_bytes = largest,
        };
    }
    return code;
}

static enum status_code release_find(const struct config *config, const char *text, int *release, struct status *error)
{
    if (text == NULL || strcmp(text, ACCELERATE_RELEASE_OF_FILE) != 0) {
        return framework_release_parse(text != NULL ? text : "current", release, error);
    }
    if (config->transformers_version[0] == '\0' ||
        framework_release_parse(config->transformers_version, release, NULL) != STATUS_OK) {
        return status_set(error, STATUS_INVALID,
                          "the configuration of %s does not say which release of transformers wrote it; write a "
                          "release like 4.31, or current",
                          config->name);
    }
    return STATUS_OK;
}

enum status_code accelerate_sizes_of(const struct config *config, const struct accelerate_options *options,
                                     struct accelerate_sizes *sizes, struct status *error)
{
    int release = FRAMEWORK_RELEASE_CURRENT;
    struct framework_buffers buffers;
    struct skeleton skeleton = {0};
    enum status_code code = release_find(config, options->transformers, &release, error);
    if (code == STATUS_OK) {
        code = framework_buffers_of(config, release, &buffers, error);
    }
    if (code == STATUS_OK) {
        code = options->bare != NULL ? STATUS_OK : skeleton_build(config, HEAD_BARE, &skeleton, error);
    }
    if (code == STATUS_OK) {
        code = sizes_of_skeleton(options->bare != NULL ? options->bare : &skeleton, &buffers, options->splits_blocks,
                                 sizes, error);
    }
    skeleton_release(&skeleton);
    return code;
}

struct accelerate_row accelerate_row_of(const struct accelerate_sizes *sizes, enum accelerate_dtype dtype,
                                        enum accelerate_rule rule)
{
    struct accelerate_row row = {
        .dtype = dtype,
        .rule = rule,
        .largest_layer_bytes = (double)sizes->largest_layer_bytes / dtype_divisors[dtype],
        .total_bytes = (double)sizes->total_bytes / dtype_divisors[dtype],
        .layer_is_unknown = sizes->layer_is_unknown,
    };
    if (rule == ACCELERATE_RULE_0_23) {
        row.training_known = true;
        row.training_bytes = 4 * row.total_bytes;
        return row;
    }
    if (dtype == ACCELERATE_INT8 || dtype == ACCELERATE_INT4) {
        return row;
    }
    int64_t total = sizes->total_bytes;
    row.training_known = true;
    row.model_bytes = total;
    row.gradients_bytes = dtype == ACCELERATE_FLOAT32 ? total : total + total / 2;
    row.optimizer_bytes = 2 * total;
    row.step_bytes = dtype == ACCELERATE_FLOAT32 ? 4 * total : 2 * total;
    row.training_bytes = (double)row.step_bytes; /* the highest of the four */
    return row;
}

struct json *accelerate_to_json(const char *model, const struct config *config, const struct accelerate_sizes *sizes,
                                const struct accelerate_row *rows, int count)
{
    struct json *document = json_object_new();
    struct json *list = json_array_new();
    bool done =
        json_set(document, "model", json_string_new(model)) &&
        json_set(document, "family", config != NULL ? json_string_new(config->family->name) : json_null_new()) &&
        json_set(document, "parameter_count", json_integer_new(sizes->parameter_count)) &&
        json_set(document, "buffer_bytes", config != NULL ? json_integer_new(sizes->buffer_bytes) : json_null_new());
    for (int i = 0; i < count && done; i++) {
        struct json *row = json_object_new();
        done = json_set(row, "dtype", json_string_new(dtype_names[rows[i].dtype])) &&
               json_set(row, "largest_layer_bytes",
                        rows[i].layer_is_unknown ? json_null_new()
                                                 : json_integer_new(llround(rows[i].largest_layer_bytes))) &&
               json_set(row, "total_bytes", json_integer_new(llround(rows[i].total_bytes))) &&
               json_set(row, "training_adam_bytes",
                        rows[i].training_known ? json_integer_new(llround(rows[i].training_bytes)) : json_null_new());
        done = json_append(list, row) && done;
    }
    done = json_set(document, "rows", list) && done;
    return json_made(document, done);
}

bool accelerate_has_case(const struct workload *workload)
{
    return workload->precision != PRECISION_FP8 && /* it has no row for it */
           (workload->mode != MODE_TRAIN || (rule_optimizer_is_adam(workload->optimizer) && workload->lora_rank == 0));
}

static bool accelerate_applies(const struct estimate_input *input)
{
    return accelerate_has_case(input->workload);
}

enum accelerate_dtype accelerate_storage_of(enum precision precision)
{
    switch (precision) {
    case PRECISION_FLOAT16:
    case PRECISION_BFLOAT16:
        return ACCELERATE_FLOAT16;
    case PRECISION_INT8:
        return ACCELERATE_INT8;
    case PRECISION_INT4:
        return ACCELERATE_INT4;
    default:
        return ACCELERATE_FLOAT32;
    }
}

/* It sizes loading and training, and says of inference only that loading is not all of it: there total_bytes is
 * loading. */
static enum status_code accelerate_compute(const struct estimate_input *input, struct estimate *estimate,
                                           struct status *error)
{
    struct accelerate_options options = {.rule = ACCELERATE_RULE_CURRENT, .bare = input->bare};
    struct accelerate_sizes sizes;
    enum status_code code = accelerate_sizes_of(input->config, &options, &sizes, error);
    if (code != STATUS_OK) {
        return code;
    }
    enum precision precision = input->workload->precision;
    bool half_training = precision != PRECISION_FLOAT32;
    if (input->workload->mode != MODE_TRAIN) {
        struct accelerate_row row = accelerate_row_of(&sizes, accelerate_storage_of(precision), options.rule);
        if (input->workload->mode == MODE_GENERATE) {
            estimate_add_unknown(estimate, "total_bytes");
            estimate_note(estimate, true, "accelerate has no rule for keys and values");
        } else {
            estimate_add(estimate, "total_bytes", llround(row.total_bytes));
        }
        estimate_add(estimate, "largest_layer_bytes", llround(row.largest_layer_bytes));
        return STATUS_OK;
    }
    struct accelerate_row row =
        accelerate_row_of(&sizes, half_training ? ACCELERATE_FLOAT16 : ACCELERATE_FLOAT32, options.rule);
    estimate_add(estimate, "total_bytes", row.step_bytes);
    estimate_add(estimate, "stages.model_bytes", row.model_bytes);
    estimate_add(estimate, "stages.gradients_bytes", row.gradients_bytes);
    estimate_add(estimate, "stages.optimizer_bytes", row.optimizer_bytes);
    estimate_add(estimate, "stages.step_bytes", row.step_bytes);
    return STATUS_OK;
}

const struct estimator estimator_accelerate = {
    .name = "accelerate",
    .what = "the table of accelerate estimate-memory: loading, and training with Adam",
    .source = "huggingface/accelerate 1.15, commands/estimate.py",
    .applies = accelerate_applies,
    .compute = accelerate_compute,
};
