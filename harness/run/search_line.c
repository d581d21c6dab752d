/* Search line: what the tries of a search come to, in the case line of the attempt. Runs nothing. */
#include <inttypes.h>
#include <string.h>

#include "harness/base/clock.h"
#include "harness/question/batch_forecast.h"
#include "harness/record/outcome.h"
#include "harness/record/search_words.h"
#include "harness/run/disturbance.h"
#include "harness/run/search.h"

static struct json *text_or_null(const char *text)
{
    return text != NULL && text[0] != '\0' ? json_string_new(text) : json_null_new();
}

static struct json *positive_or_null(int64_t value)
{
    return value > 0 ? json_integer_new(value) : json_null_new();
}

static struct json *rate_or_null(double per_second)
{
    return per_second > 0 ? json_real_new(per_second) : json_null_new();
}

/* Of the try of that index. */
static struct json *prediction_of(const struct search *search, int index)
{
    struct json *runs = json_at(search->runs, (size_t)index);
    return runs != NULL ? json_share(runs) : json_null_new();
}

/* Whether a figure is off what the suite allows. What it expects is said of the batch that is found, and of no
 * other. */
static bool is_off(const struct json *line)
{
    const struct json *verdicts = json_get(line, "verdicts");
    bool off = false;
    for (size_t i = 0; i < json_count(verdicts); i++) {
        const struct json *verdict = json_at(verdicts, i);
        off = off || (!json_boolean_or(json_get(verdict, "pass"), true) &&
                      strcmp(json_string_or(json_get(verdict, "estimator"), ""), "expected") != 0);
    }
    return off;
}

/* "ran", "refused", or the status of the case if it ended otherwise. */
static const char *ending_word(const struct batch_try *try_)
{
    enum batch_outcome outcome = try_->cause.outcome;
    return outcome == BATCH_OUTCOME_MEMORY  ? SEARCH_REFUSED
           : outcome == BATCH_OUTCOME_OTHER ? try_->cause.word
           : is_off(try_->line)             ? case_status_name(CASE_STATUS_FAIL)
                                            : SEARCH_RAN;
}

static struct json *try_json(const struct search *search, int index)
{
    const struct batch_try *try_ = &search->record.tries[index];
    const struct batch_cause *cause = &try_->cause;
    bool is_memory = cause->outcome == BATCH_OUTCOME_MEMORY;
    struct json *object = json_object_new();
    bool made =
        json_set(object, "batch", json_integer_new(try_->batch)) &&
        json_set(object, "ended", json_string_new(ending_word(try_))) &&
        json_set(object, "cause", is_memory ? json_string_new(refusal_source_name(cause->source)) : json_null_new()) &&
        json_set(object, "recognised", is_memory ? json_boolean_new(cause->accelerate_reduces) : json_null_new()) &&
        json_set(object, "stage", text_or_null(is_memory ? cause->stage : NULL)) &&
        json_set(object, "label", text_or_null(is_memory ? cause->label : NULL)) &&
        json_set(object, "wanted_bytes", positive_or_null(is_memory ? cause->wanted_bytes : 0)) &&
        json_set(object, "predicted_runs", prediction_of(search, index)) &&
        json_set(object, "seconds", json_real_new(try_->seconds)) &&
        json_set(object, "next", positive_or_null(try_->next));
    return json_made(object, made);
}

/* True if every try ended as replay says, false if one did not; null if that is not known of one. */
static struct json *pass_of(const struct search *search)
{
    bool failed = false, known = search->record.count > 0;
    for (int i = 0; i < search->record.count; i++) {
        const struct batch_cause *cause = &search->record.tries[i].cause;
        const struct json *predicted = json_at(search->runs, (size_t)i);
        bool is_known = json_kind(predicted) == JSON_KIND_BOOLEAN && cause->outcome != BATCH_OUTCOME_OTHER;
        known = known && is_known;
        failed = failed || (is_known && json_boolean_or(predicted, false) != (cause->outcome == BATCH_OUTCOME_OK));
    }
    return failed ? json_boolean_new(false) : known ? json_boolean_new(true) : json_null_new();
}

/* Whether others used the GPU during one of the tries, or may have unseen. */
static bool is_disturbed(const struct search *search)
{
    bool disturbed = false;
    for (int i = 0; i < search->record.count; i++) {
        disturbed = disturbed || line_is_disturbed(search->record.tries[i].line);
    }
    return disturbed;
}

/* Sets whether the tries ended as replay says, and why that is open. What a disturbed GPU refused is not known. */
static bool judgement_set(struct json *object, const struct search *search)
{
    struct json *pass = pass_of(search);
    const char *note = search->note;
    if (!json_boolean_or(pass, true) && is_disturbed(search)) {
        json_release(pass);
        pass = json_null_new();
        note = DISTURBANCE_NOTE;
    }
    return json_set(object, "pass", pass) && json_set(object, "note", text_or_null(note));
}

static double best_per_second(const struct search *search)
{
    double best = 0;
    for (int i = 0; i < search->record.count; i++) {
        const struct batch_try *try_ = &search->record.tries[i];
        double rate = batch_throughput(&search->case_->identity.workload, try_->batch, try_->step_seconds);
        best = rate > best ? rate : best;
    }
    return best;
}

static struct json *search_json(const struct search *search, const struct batch_result *result, double seconds)
{
    const struct workload *workload = &search->case_->identity.workload;
    struct json *object = json_object_new(), *tries = json_array_new();
    bool made = tries != NULL;
    for (int i = 0; made && i < search->record.count; i++) {
        made = json_append(tries, try_json(search, i));
    }
    made =
        made && json_set(object, "policy", json_string_new(batch_policy_name(result->policy))) &&
        json_set(object, "start", json_integer_new(workload->batch)) &&
        json_set(object, "end", json_string_new(batch_end_name(result->end))) &&
        json_set(object, "found", positive_or_null(result->found)) &&
        json_set(object, "predicted",
                 search->predicted_bytes > 0 ? json_integer_new(search->limit) : json_null_new()) &&
        json_set(object, "error", text_or_null(batch_result_error(result, &search->record))) &&
        json_set(object, "tries", json_share(tries)) &&
        json_set(object, "per_second", rate_or_null(batch_throughput(workload, result->found, result->step_seconds))) &&
        json_set(object, "unit", json_string_new(workload->seq > 0 ? "tokens" : "samples")) &&
        json_set(object, "best_per_second", rate_or_null(best_per_second(search))) &&
        json_set(object, "duration_s", json_real_new(seconds)) && judgement_set(object, search);
    json_release(tries);
    return json_made(object, made);
}

/* The index of the try whose figures are the case's. */
static int try_of_line(const struct search *search, const struct batch_result *result)
{
    int last = search->record.count - 1;
    for (int i = 0; i <= last && result->end == BATCH_END_FOUND; i++) {
        if (search->record.tries[i].batch == result->found) {
            return i;
        }
    }
    return last;
}

/* A search that ends at zero as was predicted is in order, though nothing ran. */
static bool reason_set(struct json *line, const struct batch_try *try_, const struct batch_result *result)
{
    struct text reason = {0};
    enum case_status status = CASE_STATUS_ERROR;
    bool passed = json_boolean_or(json_get(json_get(line, "search"), "pass"), false);
    case_status_from_name(try_->cause.word, &status);
    case_failures_append(&reason, line, CASE_REASON_BYTES);
    if (reason.length > 0) {
        status = CASE_STATUS_FAIL;
    } else if (result->end == BATCH_END_ZERO && passed) {
        status = CASE_STATUS_OK;
    } else if (result->end != BATCH_END_FOUND) {
        text_append(&reason, result->end == BATCH_END_ZERO ? batch_zero_text : "");
        text_format(&reason, "%sbatch %" PRId64 ": %s", reason.length > 0 ? " " : "", try_->batch, try_->cause.reason);
    }
    bool made = !reason.failed && json_set(line, "status", json_string_new(case_status_name(status))) &&
                json_set(line, "reason", text_or_null(text_string(&reason)));
    text_release(&reason);
    return made;
}

enum status_code search_end(struct search *search, struct json **line, enum case_status *status, struct status *error)
{
    struct batch_result result = {0};
    enum status_code code = batch_series_end(&search->series, &result, error);
    if (code != STATUS_OK) {
        return code;
    }
    const struct suite_case *case_ = search->case_;
    struct batch_try *try_ = &search->record.tries[try_of_line(search, &result)];
    double seconds = (double)(clock_ns() - search->started_ns) / 1e9;
    bool made = json_set(try_->line, "id", json_string_new(case_->id)) &&
                json_set(try_->line, "identity", identity_json(&case_->identity)) &&
                json_set(try_->line, "duration_s", json_real_new(seconds)) &&
                json_set(try_->line, "search", search_json(search, &result, seconds)) &&
                reason_set(try_->line, try_, &result);
    batch_result_release(&result);
    if (!made) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the record of %s", case_->id);
    }
    case_status_from_name(json_string_or(json_get(try_->line, "status"), ""), status);
    *line = json_share(try_->line);
    return STATUS_OK;
}
