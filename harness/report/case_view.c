/* Case view: JSON lines turned into structures. Reads with fallbacks only: a record of another minor version, or one
 * that somebody edited, gives unknown figures and no failure. Nothing is rendered here. */
#include "harness/report/case_view.h"

#include <stdlib.h>
#include <string.h>

#include "harness/report/estimator_look.h"
#include "harness/report/proof_rates.h"
#include "harness/report/wording.h"

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

const char *report_word(struct report *report, const char *word)
{
    return name_table_keep(&report->words, &report->arena, word);
}

/* What fills one view. */
struct filling {
    struct report *report;
    struct case_view *view;
    bool failed; /* memory ran out */
};

/* The word that value is; the fallback where it is none. */
static const char *word_read(struct filling *filling, const struct json *value, const char *fallback)
{
    const char *word = json_string_or(value, NULL);
    if (word == NULL) {
        return fallback;
    }
    const char *kept = report_word(filling->report, word);
    filling->failed = filling->failed || kept == NULL;
    return kept;
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

static const int64_t unknown_bytes[] = {BYTES_UNKNOWN, BYTES_UNKNOWN, BYTES_UNKNOWN, BYTES_UNKNOWN, BYTES_UNKNOWN};
_Static_assert(sizeof unknown_bytes / sizeof unknown_bytes[0] == LEVEL_COUNT, "one for each level");

/* The figures of all levels, in the arena. */
static const int64_t *levels_keep(struct filling *filling, const int64_t *bytes)
{
    if (memcmp(bytes, unknown_bytes, sizeof unknown_bytes) == 0) {
        return unknown_bytes;
    }
    int64_t *kept = arena_alloc(&filling->report->arena, sizeof unknown_bytes);
    if (kept == NULL) {
        filling->failed = true;
        return unknown_bytes;
    }
    memcpy(kept, bytes, sizeof unknown_bytes);
    return kept;
}

static void stage_read(struct filling *filling, const struct json *object, struct stage_view *stage)
{
    int64_t end_bytes[LEVEL_COUNT], peak_bytes[LEVEL_COUNT];
    *stage = (struct stage_view){.end_bytes = unknown_bytes, .peak_bytes = unknown_bytes, .seconds = -1.0};
    if (json_kind(object) != JSON_KIND_OBJECT) {
        return;
    }
    double seconds = json_real_or(json_get(object, "seconds"), -1.0);
    stage->present = true;
    stage->seconds = seconds >= 0.0 ? seconds : -1.0;
    for (int level = 0; level < LEVEL_COUNT; level++) {
        end_bytes[level] = bytes_read(object, end_keys[level]);
        peak_bytes[level] = bytes_read(object, peak_keys[level]);
        peak_bytes[level] = peak_bytes[level] == BYTES_UNKNOWN ? end_bytes[level] : peak_bytes[level];
    }
    stage->end_bytes = levels_keep(filling, end_bytes);
    bool same = memcmp(end_bytes, peak_bytes, sizeof end_bytes) == 0;
    stage->peak_bytes = same ? stage->end_bytes : levels_keep(filling, peak_bytes);
}

/* stages and peaks; the member "stages" of object, and the totals beside it where the record has them. Where the case
 * did not end, the stages are there but the highest of them is no peak: nobody knows how much it would have taken. */
static void footprint_read(struct filling *filling, const struct json *object, bool is_whole,
                           struct footprint_view *footprint)
{
    const struct json *stages = json_get(object, "stages");
    footprint->present = json_count(stages) > 0;
    footprint->peak_stage = word_read(filling, json_get(object, "peak_stage"), NULL);
    footprint->saved_for_backward_bytes = bytes_read(object, "saved_for_backward_bytes");
    for (int level = 0; level < LEVEL_COUNT; level++) {
        footprint->peak_bytes[level] = bytes_read(object, peak_keys[level]);
        footprint->present = footprint->present || footprint->peak_bytes[level] != BYTES_UNKNOWN;
    }
    for (int stage = 0; stage < STAGE_COUNT; stage++) {
        struct stage_view *view = &footprint->stages[stage];
        stage_read(filling, json_get(stages, stage_names[stage]), view);
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

static void identity_read(struct filling *filling, const struct json *identity)
{
    struct case_view *view = filling->view;
    view->model = word_read(filling, json_get(identity, "model"), NULL);
    view->mode = word_read(filling, json_get(identity, "mode"), NULL);
    view->precision = word_read(filling, json_get(identity, "precision"), NULL);
    view->quantize = word_read(filling, json_get(identity, "quantize"), NULL);
    view->attention = word_read(filling, json_get(identity, "attention"), NULL);
    view->optimizer = word_read(filling, json_get(identity, "optimizer"), NULL);
    view->loss = word_read(filling, json_get(identity, "loss"), NULL);
    view->place_text = word_read(filling, json_get(identity, "place"), NULL);
    view->checkpoint = word_read(filling, json_get(identity, "checkpoint"), NULL);
    view->find_batch = word_read(filling, json_get(identity, "find_batch"), NULL);
    view->lora_rank = json_integer_or(json_get(identity, "lora_rank"), -1);
    view->lora_targets = word_read(filling, json_get(identity, "lora_targets"), NULL);
    view->logits = word_read(filling, json_get(identity, "logits"), NULL);
    view->head = word_read(filling, json_get(identity, "head"), NULL);
    view->cache = word_read(filling, json_get(identity, "cache"), NULL);
    view->cache_dtype = word_read(filling, json_get(identity, "cache_dtype"), NULL);
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

static int key_order(const void *left, const void *right)
{
    return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Members that a series of cases varies: they stand in the view as numbers. */
static bool is_length(const char *key)
{
    return strcmp(key, "batch") == 0 || strcmp(key, "seq") == 0 || strcmp(key, "new_tokens") == 0;
}

/* Sorted by name, so that equal settings are equal texts whatever the order in the record. */
static void settings_read(struct filling *filling, const struct json *identity)
{
    size_t count = json_kind(identity) == JSON_KIND_OBJECT ? json_count(identity) : 0, kept = 0;
    const char **keys = calloc(count + 1, sizeof *keys);
    const char *key = NULL;
    struct text text = {0};
    for (size_t at = 0; keys != NULL && at < count; at++) {
        key = json_key_after(identity, key);
        if (!is_length(key) && json_kind(json_get(identity, key)) != JSON_KIND_NULL) {
            keys[kept++] = key;
        }
    }
    bool made = keys != NULL;
    if (made) {
        qsort(keys, kept, sizeof *keys, key_order);
    }
    for (size_t at = 0; made && at < kept; at++) {
        text_append(&text, "|");
        text_append(&text, keys[at]);
        text_append(&text, "=");
        made = json_write(json_get(identity, keys[at]), 0, &text, NULL) == STATUS_OK;
    }
    free(keys);
    filling->view->settings = made && !text.failed ? report_word(filling->report, text_string(&text)) : NULL;
    filling->failed = filling->failed || filling->view->settings == NULL;
    text_release(&text);
}

static void device_read(struct filling *filling, const struct json *device)
{
    struct case_view *view = filling->view;
    struct text machine = {0};
    view->device_kind = word_read(filling, json_get(device, "kind"), NULL);
    view->device_name = word_read(filling, json_get(device, "name"), NULL);
    view->device_target = word_read(filling, json_get(device, "target"), NULL);
    view->device_driver = word_read(filling, json_get(device, "driver"), NULL);
    view->device_runtime = word_read(filling, json_get(device, "runtime"), NULL);
    view->device_threads = json_integer_or(json_get(device, "threads"), -1);
    view->device_total_bytes = bytes_read(device, "total_bytes");
    text_format(&machine, "%s|%s|%s|%lld", view->device_kind != NULL ? view->device_kind : "",
                view->device_name != NULL ? view->device_name : "",
                view->device_target != NULL ? view->device_target : "",
                (long long)json_integer_or(json_get(device, "threads"), 0));
    view->machine = machine.failed ? NULL : report_word(filling->report, text_string(&machine));
    filling->failed = filling->failed || view->machine == NULL;
    text_release(&machine);
}

/* Of the last stage, because all that came before is in its readings too. */
static void items_read(struct filling *filling, const struct json *stages)
{
    static const char *const keys[ITEM_COUNT] = {
#define ITEM_KEY(name, key, word) key,
        ITEM_TABLE(ITEM_KEY)
#undef ITEM_KEY
    };
    const struct json *stage = json_get(stages, stage_names[stage_last(&filling->view->measured)]);
    bool whole = json_kind(json_get(stage, "device_items")) == JSON_KIND_OBJECT;
    const struct json *items = json_get(stage, whole ? "device_items" : "process_items");
    if (json_kind(items) != JSON_KIND_OBJECT) {
        return;
    }
    struct items_view *made = arena_alloc(&filling->report->arena, sizeof *made);
    for (int item = 0; made != NULL && item < ITEM_COUNT; item++) {
        made->bytes[item] = json_integer_or(json_get(items, keys[item]), 0);
    }
    if (made != NULL) {
        made->level = whole ? LEVEL_DEVICE : LEVEL_PROCESS;
    }
    filling->failed = filling->failed || made == NULL;
    filling->view->items = made;
}

/* A row that is invalid says why, also where somebody took the reasons out of the record. */
static bool validity_read(struct report *report, const struct json *line, struct case_view *view)
{
    const struct json *validity = json_get(line, "validity"), *reasons = json_get(validity, "reasons");
    struct text words = {0};
    view->validity_known = json_kind(json_get(validity, "valid")) == JSON_KIND_BOOLEAN;
    view->invalid = view->validity_known && !json_boolean_or(json_get(validity, "valid"), true);
    for (size_t index = 0; view->invalid && index < json_count(reasons); index++) {
        text_append(&words, index > 0 ? "; " : "");
        text_append(&words, json_string_or(json_at(reasons, index), "?"));
    }
    text_append(&words, view->invalid && words.length == 0 ? "no reason is recorded" : "");
    view->disturbance = words.failed ? NULL : report_word(report, text_string(&words));
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

static void label_number(struct text *label, const char *name, int64_t number)
{
    text_append(label, name);
    text_integer(label, number);
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
            label_number(&label, " b", view->batch);
        }
        if (view->seq >= 0) {
            label_number(&label, " s", view->seq);
        }
        if (view->new_tokens >= 0) {
            label_number(&label, " +", view->new_tokens);
        }
        label_append(&label, unless(view->cache, "dynamic"));
        if (unless(view->cache_dtype, "auto") != NULL) {
            text_format(&label, " cache-%s", view->cache_dtype);
        }
        if (view->beams > 1) {
            label_number(&label, " beams", view->beams);
        }
        label_append(&label, unless(view->attention, "sdpa"));
        label_append(&label, view->padding ? "padding" : NULL);
        label_append(&label, mode_is(view, "train") ? view->optimizer : NULL);
        if (unless(view->loss, "composed") != NULL) {
            text_format(&label, " loss-%s", view->loss);
        }
        if (view->lora_rank > 0) {
            label_number(&label, " lora", view->lora_rank);
            label_append(&label, unless(view->lora_targets, "attention"));
            label_append(&label, view->prepare_kbit ? "prepare-kbit" : NULL);
        }
        label_append(&label, view->checkpointing ? "checkpointing" : NULL);
        if (view->accumulate > 1) {
            label_number(&label, " accumulate", view->accumulate);
        }
        label_append(&label, mode_is(view, "generate") ? unless(view->logits, "last") : unless(view->logits, "all"));
        label_append(&label, view->tf32 ? "tf32" : view->tf32_convolutions ? "tf32-convolutions" : NULL);
    }
    label_append(&label, view->place_text);
    if (view->checkpoint != NULL) {
        text_format(&label, " checkpoint-%s", view->checkpoint);
    }
    if (unless(view->find_batch, "none") != NULL) {
        text_format(&label, " find-%s", view->find_batch);
    }
    label_append(&label, unless(view->head, mode_is(view, "load") ? "bare" : "lm"));
    const char *made = view->model != NULL ? text_string(&label) : view->id;
    view->label = label.failed ? NULL : arena_copy(&report->arena, made);
    text_release(&label);
    return view->label != NULL;
}

/* The report's own pointer for a name, so that names can be compared by address; NULL where the list is full, or memory is. */
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
    const char *kept = report_word(report, name);
    if (kept != NULL) {
        report->estimators[report->estimator_count++] = kept;
    }
    return kept;
}

void report_estimators_order(struct report *report)
{
    for (int index = 1; index < report->estimator_count; index++) {
        const char *name = report->estimators[index];
        int at = index;
        for (; at > 0 && estimator_place(report->estimators[at - 1]) > estimator_place(name); at--) {
            report->estimators[at] = report->estimators[at - 1];
        }
        report->estimators[at] = name;
    }
}

static void estimates_read(struct filling *filling, const struct json *line)
{
    struct case_view *view = filling->view;
    const struct json *estimates = json_get(line, "estimates");
    struct estimator_total totals[ESTIMATOR_MAXIMUM];
    const char *key = NULL;
    while (json_kind(estimates) == JSON_KIND_OBJECT && (key = json_key_after(estimates, key)) != NULL) {
        const struct json *estimate = json_get(estimates, key);
        const char *name = estimator_intern(filling->report, key);
        int64_t total_bytes = bytes_read(estimate, "total_bytes");
        if (name != NULL && strcmp(name, "replay") == 0) {
            footprint_read(filling, estimate, true, &view->predicted);
        } else if (name != NULL && total_bytes != BYTES_UNKNOWN) {
            totals[view->total_count++] = (struct estimator_total){
                .estimator = name, .total_bytes = total_bytes, .weights_bytes = bytes_read(estimate, "weights_bytes")};
        }
    }
    struct estimator_total *kept = arena_alloc(&filling->report->arena, (size_t)view->total_count * sizeof *kept);
    if (kept != NULL && view->total_count > 0) {
        memcpy(kept, totals, (size_t)view->total_count * sizeof *kept);
    }
    filling->failed = filling->failed || kept == NULL;
    view->totals = kept;
    const struct json *verdicts = json_get(line, "verdicts");
    for (size_t index = 0; index < json_count(verdicts); index++) {
        const char *name = json_string_or(json_get(json_at(verdicts, index), "estimator"), NULL);
        if (name != NULL) {
            (void)estimator_intern(filling->report, name);
        }
    }
}

/* As a record says, and of an older record by its device. */
static const char *basis_read(const char *basis, const char *device_kind)
{
    return basis == NULL                        ? basis_of_device(device_kind)
           : strcmp(basis, BASIS_REPLAYED) == 0 ? BASIS_REPLAYED
                                                : BASIS_MEASURED;
}

/* How the case stands, and why: what failed and what is open in the words of today, whatever program wrote the record. */
static void outcome_read(struct filling *filling, const struct json *line)
{
    struct case_view *view = filling->view;
    struct text why = {0};
    view->standing = case_standing(line);
    if (view->standing == STANDING_FAIL) {
        case_failures_append(&why, line, 0);
    } else if (view->standing == STANDING_OPEN) {
        case_open_append(&why, line);
    }
    if (why.length > 0) {
        view->reason = report_word(filling->report, text_string(&why));
        filling->failed = filling->failed || why.failed || view->reason == NULL;
    }
    text_release(&why);
}

bool case_view_read(struct report *report, const struct json *line, const char *id, struct case_view *view)
{
    struct filling filling = {.report = report, .view = view};
    *view = (struct case_view){.id = id};
    view->status = word_read(&filling, json_get(line, "status"), "error");
    view->reason = word_read(&filling, json_get(line, "reason"), "");
    view->family = word_read(&filling, json_get(line, "family"), NULL);
    identity_read(&filling, json_get(line, "identity"));
    settings_read(&filling, json_get(line, "identity"));
    view->attention_backend = word_read(&filling, json_get(line, "attention_backend"), NULL);
    view->sequence = word_read(&filling, json_get(line, "sequence_hash"), NULL);
    bool is_whole = view->status != NULL && (strcmp(view->status, "ok") == 0 || strcmp(view->status, "fail") == 0);
    footprint_read(&filling, line, is_whole, &view->measured);
    footprint_read(&filling, NULL, true, &view->predicted);
    items_read(&filling, json_get(line, "stages"));
    causes_read(json_get(json_get(line, "causes"), "load"), &view->causes_at_load);
    causes_read(json_get(json_get(line, "causes"), "end"), &view->causes_at_end);
    view->context_device_bytes = bytes_read(json_get(line, "context"), "device_bytes");
    view->context_process_bytes = bytes_read(json_get(line, "context"), "process_bytes");
    const struct json *oom = json_get(line, "oom");
    view->oom_wanted_bytes = bytes_read(oom, "wanted_bytes");
    view->oom_free_bytes = bytes_read(oom, "free_bytes");
    view->oom_held_bytes = bytes_read(oom, "held_bytes");
    view->oom_stage = word_read(&filling, json_get(oom, "stage"), NULL);
    view->oom_label = word_read(&filling, json_get(oom, "label"), NULL);
    double seconds = json_real_or(json_get(line, "duration_s"), -1.0);
    view->duration_seconds = seconds >= 0.0 ? seconds : -1.0;
    device_read(&filling, json_get(line, "device"));
    view->constants_mismatch = word_read(&filling, json_get(json_get(line, "constants"), "mismatch"), NULL);
    view->basis = basis_read(json_string_or(json_get(line, "basis"), NULL), view->device_kind);
    view->attempt = json_integer_or(json_get(line, "attempt"), -1);
    outcome_read(&filling, line);
    estimates_read(&filling, line);
    return !filling.failed && proof_view_read(report, line, &view->proof) && validity_read(report, line, view) &&
           label_make(report, view);
}

bool case_is_measured(const struct case_view *view)
{
    return strcmp(view->status, "ok") == 0 || strcmp(view->status, "fail") == 0;
}
