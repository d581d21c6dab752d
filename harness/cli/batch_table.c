/* Batch table: words and JSON. It decides nothing. */
#include "harness/cli/batch_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/record/level.h"
#include "harness/report/escape.h"

enum { COLUMNS_WIDE = 110 };

void batch_heading_append(int columns, struct text *text)
{
    text_format(text, "%8s  %-8s %9s  %11s%s", "batch", "outcome", "seconds", "reserved",
                columns >= COLUMNS_WIDE ? "  what asked for more, and what had no more\n" : "\n");
}

/* "backward: linear weight gradient wants 147.24 MiB: a segment of the allocator" */
static void cause_append(const struct batch_cause *cause, bool as_accelerate, struct text *text)
{
    char wanted[SIZE_TEXT_BYTES];
    if (cause->outcome == BATCH_OUTCOME_OTHER) {
        terminal_append(text, cause->reason);
        return;
    }
    if (cause->stage != NULL) {
        terminal_append(text, cause->stage);
        text_append(text, ": ");
    }
    if (cause->label != NULL) {
        terminal_append(text, cause->label);
        if (cause->wanted_bytes >= 0) {
            text_format(text, " wants %s", size_format(cause->wanted_bytes, wanted));
        }
        text_append(text, ": ");
    }
    text_append(text, batch_exception_of(cause->source)->source);
    if (!cause->accelerate_reduces) {
        text_append(text, as_accelerate ? "; accelerate does not recognise it"
                                        : "; accelerate would not recognise it and end here");
    }
}

static int64_t reserved_bytes_of(const struct batch_try *try_)
{
    return try_->cause.outcome == BATCH_OUTCOME_OK
               ? json_integer_or(json_get(try_->line, level_peak_key(LEVEL_RESERVED)), -1)
               : try_->cause.held_bytes;
}

void batch_try_append(const struct batch_try *try_, bool as_accelerate, int columns, struct text *text)
{
    char reserved[SIZE_TEXT_BYTES];
    int64_t reserved_bytes = reserved_bytes_of(try_);
    text_format(text, "%8" PRId64 "  %-8s %9.2f  %11s", try_->batch, try_->cause.word, try_->seconds,
                reserved_bytes >= 0 ? size_format(reserved_bytes, reserved) : "-");
    if (try_->is_repetition || try_->cause.outcome != BATCH_OUTCOME_OK) {
        text_append(text, columns >= COLUMNS_WIDE ? "  " : "\n    ");
    }
    if (try_->is_repetition) {
        text_append(text, "tried again");
    }
    if (try_->cause.outcome != BATCH_OUTCOME_OK) {
        text_append(text, try_->is_repetition ? ": " : "");
        cause_append(&try_->cause, as_accelerate, text);
    }
    text_append(text, "\n");
}

static const char *unit_words(const struct workload *workload)
{
    return workload->mode == MODE_GENERATE ? "new tokens" : workload->seq > 0 ? "tokens" : "samples";
}

static const char *step_words(const struct workload *workload)
{
    return workload->mode == MODE_TRAIN ? "step" : workload->mode == MODE_GENERATE ? "generation" : "pass";
}

static void rate_append(double rate, struct text *text)
{
    text_format(text, "%.*f", rate >= 100 ? 0 : rate >= 10 ? 1 : 2, rate);
}

static void end_append(const struct batch_answer *answer, struct text *text)
{
    const struct batch_result *result = &answer->results[0];
    const char *error = batch_result_error(result, answer->record);
    int64_t last = result->try_count > 0 ? answer->record->tries[result->tries[result->try_count - 1]].batch : 0;
    switch (result->end) {
    case BATCH_END_FOUND:
        text_format(text, "%s: %" PRId64,
                    result->policy == BATCH_BISECT ? "largest batch that runs" : "first batch that runs",
                    result->found);
        break;
    case BATCH_END_ZERO:
        text_append(text, error);
        break;
    case BATCH_END_RAISED:
        text_format(text,
                    "batch %" PRId64 " ends it, because accelerate does not recognise this as out of memory: ", last);
        terminal_append(text, error);
        break;
    case BATCH_END_FAILED:
        text_format(text, "batch %" PRId64 " ends it, not for want of memory: ", last);
        terminal_append(text, error);
        break;
    case BATCH_END_INTERRUPTED:
        text_append(text, "interrupted");
        break;
    }
    text_format(text, " (%s, %d %s, %.1f s)\n", batch_policy_name(result->policy), result->try_count,
                result->try_count == 1 ? "try" : "tries", result->seconds);
    if (result->end != BATCH_END_FOUND && result->found > 0) {
        text_format(text, "largest batch that ran until then: %" PRId64 "\n", result->found);
    }
}

static void prediction_append(const struct batch_answer *answer, struct text *text)
{
    const struct batch_prediction *prediction = answer->prediction;
    const struct batch_result *result = &answer->results[0];
    char memory[SIZE_TEXT_BYTES];
    if (!prediction->known) {
        if (prediction->reason[0] != '\0') {
            text_format(text, "predicted maximum: not known: %s\n", prediction->reason);
        }
        return;
    }
    int64_t predicted = prediction->limit.size, difference = result->found - predicted;
    text_format(text, "predicted maximum: %" PRId64 ", with %s for segments", predicted,
                size_format(prediction->memory_bytes, memory));
    if (result->policy == BATCH_BISECT && result->end == BATCH_END_FOUND) {
        if (difference == 0) {
            text_append(text, "; found is the same");
        } else {
            text_format(text, "; found is %" PRId64 " %s", difference > 0 ? difference : -difference,
                        difference > 0 ? "more" : "less");
        }
    }
    text_append(text, "\n");
    if (answer->range != NULL) {
        text_append(text, "  in a program of PyTorch, with so much for segments: ");
        limit_range_words(answer->range, "batch", text);
        text_append(text, "\n");
    }
}

static void throughput_append(const struct batch_answer *answer, struct text *text)
{
    const struct batch_result *result = &answer->results[0];
    int measured = result->repeat_count - result->repeat_failed_count;
    double rate = batch_throughput(answer->workload, result->found, result->step_seconds);
    if (result->repeat_failed_count > 0) {
        text_format(text, "batch %" PRId64 " did not run in %d of %d tries: it is too close to the limit\n",
                    result->found, result->repeat_failed_count, result->repeat_count);
    }
    if (rate > 0) {
        text_format(text, "throughput at %" PRId64 ": ", result->found);
        rate_append(rate, text);
        text_format(text, " %s/s, a %s takes %.3g s", unit_words(answer->workload), step_words(answer->workload),
                    result->step_seconds);
        if (measured > 1) {
            text_format(text, " (median of %d tries)", measured);
        }
        text_append(text, "\n");
    }
}

static double rate_best(const struct batch_answer *answer)
{
    double best = 0;
    for (int i = 0; i < answer->result_count; i++) {
        double rate = batch_throughput(answer->workload, answer->results[i].found, answer->results[i].step_seconds);
        best = rate > best ? rate : best;
    }
    return best;
}

/* In the order of the policies, whichever was asked for. */
static const struct batch_result *result_of(const struct batch_answer *answer, enum batch_policy policy)
{
    for (int i = 0; i < answer->result_count; i++) {
        if (answer->results[i].policy == policy) {
            return &answer->results[i];
        }
    }
    return NULL;
}

static void comparison_append(const struct batch_answer *answer, struct text *text)
{
    double best = rate_best(answer);
    char unit[32];
    snprintf(unit, sizeof unit, "%s/s", unit_words(answer->workload));
    text_format(text, "\n%-7s %6s %9s %8s %13s %7s\n", "policy", "tries", "seconds", "batch", unit, "lost");
    for (int i = 0; i < BATCH_POLICY_COUNT; i++) {
        const struct batch_result *result = result_of(answer, (enum batch_policy)i);
        if (result == NULL) {
            continue;
        }
        double rate = batch_throughput(answer->workload, result->found, result->step_seconds);
        text_format(text, "%-7s %6d %9.1f ", batch_policy_name(result->policy), result->try_count, result->seconds);
        if (result->end == BATCH_END_FOUND) {
            text_format(text, "%8" PRId64 " ", result->found);
        } else {
            text_format(text, "%8s ", batch_end_name(result->end));
        }
        if (rate > 0) {
            struct text words = {0};
            rate_append(rate, &words);
            text_format(text, "%13s %5.1f %%\n", text_string(&words), 100 * (1 - rate / best));
            text_release(&words);
        } else {
            text_format(text, "%13s %7s\n", "-", "-");
        }
    }
}

void batch_summary_append(const struct batch_answer *answer, struct text *text)
{
    text_append(text, "\n");
    end_append(answer, text);
    prediction_append(answer, text);
    throughput_append(answer, text);
    if (answer->result_count > 1) {
        comparison_append(answer, text);
    }
}

static struct json *count_or_null(int64_t count)
{
    return count > 0 ? json_integer_new(count) : json_null_new();
}

static struct json *seconds_or_null(double seconds)
{
    return seconds > 0 ? json_real_new(seconds) : json_null_new();
}

static struct json *member_or_null(const struct json *line, const char *key)
{
    struct json *value = json_get(line, key);
    return value != NULL ? json_share(value) : json_null_new();
}

/* The highest of the stages that ended. */
static int64_t process_bytes_peak_of(const struct json *line)
{
    const struct json *stages = json_get(line, "stages");
    int64_t most = 0;
    for (const char *key = json_key_after(stages, NULL); key != NULL; key = json_key_after(stages, key)) {
        const struct json *stage = json_get(stages, key);
        int64_t now = json_integer_or(json_get(stage, level_key(LEVEL_PROCESS)), 0);
        int64_t peak = json_integer_or(json_get(stage, level_peak_key(LEVEL_PROCESS)), 0);
        most = now > most ? now : most;
        most = peak > most ? peak : most;
    }
    return most;
}

static bool peaks_copy(struct json *object, const struct json *line)
{
    bool made = true;
    for (int level = 0; made && level < LEVEL_COUNTED_COUNT; level++) {
        const char *key = level_peak_key((enum level)level);
        made = json_set(object, key, member_or_null(line, key));
    }
    return made;
}

static struct json *try_json(const struct batch_try *try_)
{
    struct json *object = json_object_new();
    bool made = json_set(object, "batch", json_integer_new(try_->batch)) &&
                json_set(object, "policy", json_string_new(batch_policy_name(try_->policy))) &&
                json_set(object, "outcome", json_string_new(try_->cause.word)) &&
                json_set(object, "seconds", json_real_new(try_->seconds)) &&
                json_set(object, "step_seconds", seconds_or_null(try_->step_seconds)) &&
                peaks_copy(object, try_->line) &&
                json_set(object, level_peak_key(LEVEL_PROCESS), count_or_null(process_bytes_peak_of(try_->line))) &&
                json_set(object, "peak_stage", member_or_null(try_->line, "peak_stage")) &&
                json_set(object, "cause", batch_cause_json(&try_->cause)) &&
                json_set(object, "repetition", json_boolean_new(try_->is_repetition)) &&
                json_set(object, "next_batch", count_or_null(try_->next));
    return json_made(object, made);
}

static struct json *tries_json(const struct batch_record *record)
{
    struct json *array = json_array_new();
    bool made = array != NULL;
    for (int i = 0; i < record->count && made; i++) {
        made = json_append(array, try_json(&record->tries[i]));
    }
    return json_made(array, made);
}

static struct json *prediction_json(const struct batch_answer *answer)
{
    const struct batch_prediction *prediction = answer->prediction;
    const struct limit *limit = &prediction->limit;
    struct json *object = json_object_new();
    bool made =
        json_set(object, "limit", prediction->known ? json_integer_new(limit->size) : json_null_new()) &&
        json_set(object, "segment_bytes", count_or_null(prediction->memory_bytes)) &&
        json_set(object, "excluded_from", prediction->known ? count_or_null(limit->excluded_from) : json_null_new()) &&
        json_set(object, "reason",
                 prediction->known || prediction->reason[0] == '\0' ? json_null_new()
                                                                    : json_string_new(prediction->reason)) &&
        (answer->range == NULL || limit_range_set(answer->range, object));
    return json_made(object, made);
}

static struct json *batches_json(const struct batch_result *result, const struct batch_record *record)
{
    struct json *array = json_array_new();
    bool made = array != NULL;
    for (int i = 0; i < result->try_count && made; i++) {
        made = json_append(array, json_integer_new(record->tries[result->tries[i]].batch));
    }
    return json_made(array, made);
}

static struct json *result_json(const struct batch_answer *answer, const struct batch_result *result)
{
    const char *error = batch_result_error(result, answer->record);
    double rate = batch_throughput(answer->workload, result->found, result->step_seconds), best = rate_best(answer);
    bool is_compared = answer->result_count > 1 && rate > 0;
    struct json *object = json_object_new();
    bool made = json_set(object, "policy", json_string_new(batch_policy_name(result->policy))) &&
                json_set(object, "end", json_string_new(batch_end_name(result->end))) &&
                json_set(object, "found", count_or_null(result->found)) &&
                json_set(object, "error", error[0] != '\0' ? json_string_new(error) : json_null_new()) &&
                json_set(object, "batches", batches_json(result, answer->record)) &&
                json_set(object, "seconds", json_real_new(result->seconds)) &&
                json_set(object, "step_seconds", seconds_or_null(result->step_seconds)) &&
                json_set(object, "throughput", seconds_or_null(rate)) &&
                json_set(object, "lost_fraction", is_compared ? json_real_new(1 - rate / best) : json_null_new()) &&
                json_set(object, "repeat_count", json_integer_new(result->repeat_count)) &&
                json_set(object, "repeat_failed_count", json_integer_new(result->repeat_failed_count));
    return json_made(object, made);
}

static struct json *results_json(const struct batch_answer *answer)
{
    struct json *array = json_array_new();
    bool made = array != NULL;
    for (int i = 0; i < BATCH_POLICY_COUNT && made; i++) {
        const struct batch_result *result = result_of(answer, (enum batch_policy)i);
        made = result == NULL || json_append(array, result_json(answer, result));
    }
    return json_made(array, made);
}

bool batch_answer_set(const struct batch_answer *answer, struct json *document)
{
    const struct batch_result *result = &answer->results[0];
    const char *error = batch_result_error(result, answer->record);
    struct text unit = {0};
    text_format(&unit, "%s/s", unit_words(answer->workload));
    const struct json *device = answer->record->count > 0 ? answer->record->tries[0].line : NULL;
    bool made = json_set(document, "device", member_or_null(device, "device")) &&
                json_set(document, "policy", json_string_new(batch_policy_name(result->policy))) &&
                json_set(document, "as_accelerate", json_boolean_new(answer->as_accelerate)) &&
                json_set(document, "end", json_string_new(batch_end_name(result->end))) &&
                json_set(document, "found", count_or_null(result->found)) &&
                json_set(document, "error", error[0] != '\0' ? json_string_new(error) : json_null_new()) &&
                json_set(document, "predicted", prediction_json(answer)) &&
                json_set(document, "throughput_unit", json_string_new(text_string(&unit))) &&
                json_set(document, "policies", results_json(answer)) &&
                json_set(document, "tries", tries_json(answer->record));
    text_release(&unit);
    return made;
}
