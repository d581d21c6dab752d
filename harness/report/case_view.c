/* Case view: JSON lines turned into structures. Reads with fallbacks only: a record of another minor version, or one
 * that somebody edited, gives unknown figures and no failure. Nothing is rendered here. */
#include "harness/report/case_view.h"

#include <string.h>

static const char *const end_keys[LEVEL_COUNT] = {"requested_bytes", "allocated_bytes", "reserved_bytes",
                                                  "device_bytes", "process_bytes"};
static const char *const peak_keys[LEVEL_COUNT] = {"requested_bytes_peak", "allocated_bytes_peak",
                                                   "reserved_bytes_peak", "device_bytes", "process_bytes_peak"};

#define NAME_ENTRY(name, text) text,
static const char *const stage_names[STAGE_COUNT] = {STAGE_TABLE(NAME_ENTRY)};
static const char *const category_names[CATEGORY_COUNT] = {CATEGORY_TABLE(NAME_ENTRY)};
#undef NAME_ENTRY

const char *report_stage_name(int stage)
{
    return stage_names[stage];
}

const char *report_category_name(int category)
{
    return category_names[category];
}

static int64_t bytes_read(const struct json *object, const char *key)
{
    int64_t bytes = json_integer_or(json_get(object, key), BYTES_UNKNOWN);
    return bytes < 0 ? BYTES_UNKNOWN : bytes;
}

static void categories_read(const struct json *object, struct footprint_view *footprint)
{
    if (json_kind(object) != JSON_KIND_OBJECT) {
        return;
    }
    footprint->categories_known = true;
    for (int category = 0; category < CATEGORY_COUNT; category++) {
        int64_t bytes = bytes_read(object, category_names[category]);
        footprint->category_bytes[category] = bytes == BYTES_UNKNOWN ? 0 : bytes;
    }
}

void stage_view_read(const struct json *object, struct stage_view *stage)
{
    stage->present = json_kind(object) == JSON_KIND_OBJECT;
    for (int level = 0; level < LEVEL_COUNT; level++) {
        stage->end_bytes[level] = bytes_read(object, end_keys[level]);
        stage->peak_bytes[level] = bytes_read(object, peak_keys[level]);
        if (stage->peak_bytes[level] == BYTES_UNKNOWN) {
            stage->peak_bytes[level] = stage->end_bytes[level];
        }
    }
}

/* stages and peaks; the member "stages" of object, and the totals beside it where the record has them. Where the case
 * did not end, the stages are there but the highest of them is no peak: nobody knows how much it would have taken. */
static void footprint_read(const struct json *object, bool is_whole, struct footprint_view *footprint)
{
    const struct json *stages = json_get(object, "stages");
    footprint->present = json_count(stages) > 0;
    footprint->peak_stage = json_string_or(json_get(object, "peak_stage"), NULL);
    footprint->saved_for_backward_bytes = bytes_read(object, "saved_for_backward_bytes");
    for (int level = 0; level < LEVEL_COUNT; level++) {
        footprint->peak_bytes[level] = bytes_read(object, peak_keys[level]);
        footprint->present = footprint->present || footprint->peak_bytes[level] != BYTES_UNKNOWN;
    }
    for (int stage = 0; stage < STAGE_COUNT; stage++) {
        struct stage_view *view = &footprint->stages[stage];
        stage_view_read(json_get(stages, stage_names[stage]), view);
        for (int level = 0; level < LEVEL_COUNT && stage != STAGE_CONTEXT && is_whole; level++) {
            if (view->peak_bytes[level] > footprint->peak_bytes[level]) {
                footprint->peak_bytes[level] = view->peak_bytes[level];
            }
        }
    }
    categories_read(json_get(object, "categories_at_peak"), footprint);
}

static void causes_read(const struct json *object, struct causes_view *causes)
{
    causes->present = json_kind(object) == JSON_KIND_OBJECT;
    causes->rounding_bytes = bytes_read(object, "rounding_bytes");
    causes->remainder_bytes = bytes_read(object, "unsplit_remainder_bytes");
    causes->remainder_count = bytes_read(object, "unsplit_remainder_count");
    causes->cached_bytes = bytes_read(object, "cached_bytes");
}

static void identity_read(const struct json *identity, struct case_view *view)
{
    view->model = json_string_or(json_get(identity, "model"), NULL);
    view->mode = json_string_or(json_get(identity, "mode"), NULL);
    view->precision = json_string_or(json_get(identity, "precision"), NULL);
    view->quantize = json_string_or(json_get(identity, "quantize"), NULL);
    view->attention = json_string_or(json_get(identity, "attention"), NULL);
    view->optimizer = json_string_or(json_get(identity, "optimizer"), NULL);
    view->loss = json_string_or(json_get(identity, "loss"), NULL);
    view->lora_rank = json_integer_or(json_get(identity, "lora_rank"), -1);
    view->lora_targets = json_string_or(json_get(identity, "lora_targets"), NULL);
    view->logits = json_string_or(json_get(identity, "logits"), NULL);
    view->head = json_string_or(json_get(identity, "head"), NULL);
    view->cache = json_string_or(json_get(identity, "cache"), NULL);
    view->cache_dtype = json_string_or(json_get(identity, "cache_dtype"), NULL);
    view->batch = json_integer_or(json_get(identity, "batch"), -1);
    view->seq = json_integer_or(json_get(identity, "seq"), -1);
    view->accumulate = json_integer_or(json_get(identity, "accumulate"), -1);
    view->new_tokens = json_integer_or(json_get(identity, "new_tokens"), -1);
    view->beams = json_integer_or(json_get(identity, "beams"), -1);
    view->tf32 = json_boolean_or(json_get(identity, "tf32"), false);
    view->tf32_convolutions = json_boolean_or(json_get(identity, "tf32_convolutions"), false);
    view->padding = json_boolean_or(json_get(identity, "padding"), false);
    view->prepare_kbit = json_boolean_or(json_get(identity, "prepare_kbit"), false);
    view->checkpointing = json_boolean_or(json_get(identity, "checkpointing"), false);
}

/* A row that is invalid says why, also where somebody took the reasons out of the record. */
static bool validity_read(struct report *report, struct case_view *view)
{
    const struct json *validity = json_get(view->line, "validity"), *reasons = json_get(validity, "reasons");
    struct text words = {0};
    view->validity_known = json_kind(json_get(validity, "valid")) == JSON_KIND_BOOLEAN;
    view->invalid = view->validity_known && !json_boolean_or(json_get(validity, "valid"), true);
    for (size_t index = 0; view->invalid && index < json_count(reasons); index++) {
        text_append(&words, index > 0 ? "; " : "");
        text_append(&words, json_string_or(json_at(reasons, index), "?"));
    }
    text_append(&words, view->invalid && words.length == 0 ? "no reason is recorded" : "");
    view->disturbance = words.failed ? NULL : arena_copy(&report->arena, text_string(&words));
    text_release(&words);
    return view->disturbance != NULL;
}

static bool mode_is(const struct case_view *view, const char *mode)
{
    return view->mode != NULL && strcmp(view->mode, mode) == 0;
}

static void label_append(struct text *label, const char *word)
{
    if (word != NULL) {
        text_append(label, label->length > 0 ? " " : "");
        text_append(label, word);
    }
}

static const char *unless(const char *word, const char *usual)
{
    return word != NULL && strcmp(word, usual) != 0 ? word : NULL;
}

static bool label_make(struct report *report, struct case_view *view)
{
    struct text label = {0};
    label_append(&label, view->model);
    label_append(&label, view->mode);
    label_append(&label, view->precision);
    label_append(&label, unless(view->quantize, "linear"));
    if (!mode_is(view, "load")) {
        if (view->batch >= 0) {
            text_format(&label, " b%lld", (long long)view->batch);
        }
        if (view->seq >= 0) {
            text_format(&label, " s%lld", (long long)view->seq);
        }
        if (view->new_tokens >= 0) {
            text_format(&label, " +%lld", (long long)view->new_tokens);
        }
        label_append(&label, unless(view->cache, "dynamic"));
        if (unless(view->cache_dtype, "auto") != NULL) {
            text_format(&label, " cache-%s", view->cache_dtype);
        }
        if (view->beams > 1) {
            text_format(&label, " beams%lld", (long long)view->beams);
        }
        label_append(&label, unless(view->attention, "sdpa"));
        label_append(&label, view->padding ? "padding" : NULL);
        label_append(&label, mode_is(view, "train") ? view->optimizer : NULL);
        if (unless(view->loss, "composed") != NULL) {
            text_format(&label, " loss-%s", view->loss);
        }
        if (view->lora_rank > 0) {
            text_format(&label, " lora%lld", (long long)view->lora_rank);
            label_append(&label, unless(view->lora_targets, "attention"));
            label_append(&label, view->prepare_kbit ? "prepare-kbit" : NULL);
        }
        label_append(&label, view->checkpointing ? "checkpointing" : NULL);
        if (view->accumulate > 1) {
            text_format(&label, " accumulate%lld", (long long)view->accumulate);
        }
        label_append(&label, mode_is(view, "generate") ? unless(view->logits, "last") : unless(view->logits, "all"));
        label_append(&label, view->tf32 ? "tf32" : view->tf32_convolutions ? "tf32-convolutions" : NULL);
    }
    label_append(&label, unless(view->head, mode_is(view, "load") ? "bare" : "lm"));
    const char *made = view->model != NULL ? text_string(&label) : view->id;
    view->label = label.failed ? NULL : arena_copy(&report->arena, made);
    text_release(&label);
    return view->label != NULL;
}

/* The report's own pointer for a name, so that names can be compared by address; NULL where the list is full. */
static const char *estimator_intern(struct report *report, const char *name)
{
    for (int index = 0; index < report->estimator_count; index++) {
        if (strcmp(report->estimators[index], name) == 0) {
            return report->estimators[index];
        }
    }
    if (report->estimator_count == ESTIMATOR_MAXIMUM) {
        return NULL;
    }
    report->estimators[report->estimator_count++] = name;
    return name;
}

static bool estimates_read(struct report *report, struct case_view *view)
{
    const struct json *estimates = json_get(view->line, "estimates");
    size_t count = json_kind(estimates) == JSON_KIND_OBJECT ? json_count(estimates) : 0;
    struct estimator_total *totals = arena_alloc(&report->arena, count * sizeof *totals);
    if (totals == NULL) {
        return false;
    }
    for (const char *key = NULL; count > 0 && (key = json_key_after(estimates, key)) != NULL;) {
        const struct json *estimate = json_get(estimates, key);
        const char *name = estimator_intern(report, key);
        if (name == NULL) {
            continue;
        }
        if (strcmp(name, "replay") == 0) {
            footprint_read(estimate, true, &view->predicted);
        } else if (bytes_read(estimate, "total_bytes") != BYTES_UNKNOWN) {
            totals[view->total_count++] =
                (struct estimator_total){.estimator = name, .total_bytes = bytes_read(estimate, "total_bytes")};
        }
    }
    view->totals = totals;
    const struct json *verdicts = json_get(view->line, "verdicts");
    for (size_t index = 0; index < json_count(verdicts); index++) {
        const char *name = json_string_or(json_get(json_at(verdicts, index), "estimator"), NULL);
        if (name != NULL) {
            (void)estimator_intern(report, name);
        }
    }
    return true;
}

/* As a record says, and of an older record by its device. */
static const char *basis_read(const char *basis, const char *device_kind)
{
    return basis == NULL                        ? basis_of_device(device_kind)
           : strcmp(basis, BASIS_REPLAYED) == 0 ? BASIS_REPLAYED
                                                : BASIS_MEASURED;
}

bool case_view_read(struct report *report, struct json *line, struct case_view *view)
{
    *view = (struct case_view){.line = line};
    view->id = json_string_or(json_get(line, "id"), "(no id)");
    view->status = json_string_or(json_get(line, "status"), "error");
    view->reason = json_string_or(json_get(line, "reason"), "");
    identity_read(json_get(line, "identity"), view);
    view->attention_backend = json_string_or(json_get(line, "attention_backend"), NULL);
    bool is_whole = strcmp(view->status, "ok") == 0 || strcmp(view->status, "fail") == 0;
    footprint_read(line, is_whole, &view->measured);
    footprint_read(NULL, true, &view->predicted);
    causes_read(json_get(json_get(line, "causes"), "load"), &view->causes_at_load);
    causes_read(json_get(json_get(line, "causes"), "end"), &view->causes_at_end);
    view->context_device_bytes = bytes_read(json_get(line, "context"), "device_bytes");
    view->context_process_bytes = bytes_read(json_get(line, "context"), "process_bytes");
    const struct json *oom = json_get(line, "oom");
    view->oom_wanted_bytes = bytes_read(oom, "wanted_bytes");
    view->oom_free_bytes = bytes_read(oom, "free_bytes");
    view->oom_held_bytes = bytes_read(oom, "held_bytes");
    view->oom_stage = json_string_or(json_get(oom, "stage"), NULL);
    view->oom_label = json_string_or(json_get(oom, "label"), NULL);
    double seconds = json_real_or(json_get(line, "duration_s"), -1.0);
    view->duration_seconds = seconds >= 0.0 ? seconds : -1.0;
    const struct json *device = json_get(line, "device");
    view->device_kind = json_string_or(json_get(device, "kind"), NULL);
    view->device_name = json_string_or(json_get(device, "name"), NULL);
    view->device_driver = json_string_or(json_get(device, "driver"), NULL);
    view->device_runtime = json_string_or(json_get(device, "runtime"), NULL);
    view->device_threads = json_integer_or(json_get(device, "threads"), -1);
    view->device_total_bytes = bytes_read(device, "total_bytes");
    view->basis = basis_read(json_string_or(json_get(line, "basis"), NULL), view->device_kind);
    return validity_read(report, view) && label_make(report, view) && estimates_read(report, view);
}
