/* Proof, the parent's side: which bytes are tried next, and what the outcomes come to. Not how a case is run. */
#include "harness/run/proof.h"

#include <stdio.h>

#include "harness/base/clock.h"
#include "harness/record/level.h"
#include "harness/record/outcome.h"
#include "harness/run/case_line.h"
#include "harness/run/disturbance.h"

void proof_begin(struct proof *proof, struct json *line)
{
    *proof = (struct proof){.line = line, .started_ns = clock_ns()};
}

void proof_release(struct proof *proof)
{
    json_release(proof->line);
    json_release(proof->document);
    *proof = (struct proof){0};
}

static struct json *limit_at(const struct proof *proof, size_t at)
{
    return json_at(json_get(proof->document, "limits"), at);
}

static int64_t granule_bytes(const struct proof *proof)
{
    return json_integer_or(json_get(proof->document, "granule_bytes"), 1);
}

static const char *outcome_key(bool is_less)
{
    return is_less ? "less_runs" : "runs";
}

/* Of the present limit, or of that with one granule less. */
static int64_t bytes_of(const struct proof *proof, size_t at, bool is_less)
{
    int64_t bytes = json_integer_or(json_get(limit_at(proof, at), "bytes"), 0);
    return is_less ? bytes - granule_bytes(proof) : bytes;
}

/* Bounds of one number do the same; what is never refused anything is one, too. */
static int64_t granules_of(const struct proof *proof, int64_t bytes)
{
    int64_t reserved_bytes = json_integer_or(json_get(proof->line, level_peak_key(LEVEL_RESERVED)), INT64_MAX);
    return (bytes < reserved_bytes ? bytes : reserved_bytes) / granule_bytes(proof);
}

static bool is_wanted(const struct proof *proof, size_t at, bool is_less)
{
    return !is_less || json_kind(json_get(limit_at(proof, at), "predicted_less_runs")) == JSON_KIND_BOOLEAN;
}

/* Whether a try before this one was of the same number of granules; then its outcome, which may be null, is copied. */
static bool outcome_copy(struct proof *proof)
{
    struct json *limit = limit_at(proof, proof->at);
    int64_t granules = granules_of(proof, bytes_of(proof, proof->at, proof->is_less));
    for (size_t at = 0; at <= proof->at; at++) {
        for (int less = 0; less <= 1; less++) {
            if (at == proof->at && (less == 1 || !proof->is_less)) {
                break;
            }
            if (is_wanted(proof, at, less == 1) && granules_of(proof, bytes_of(proof, at, less == 1)) == granules) {
                const struct json *other = limit_at(proof, at);
                bool known = json_kind(json_get(other, outcome_key(less == 1))) == JSON_KIND_BOOLEAN;
                return json_set(limit, outcome_key(proof->is_less),
                                json_share(json_get(other, outcome_key(less == 1)))) &&
                       (known || json_set(limit, "note", json_share(json_get(other, "note"))));
            }
        }
    }
    return false;
}

static void advance(struct proof *proof)
{
    proof->at += proof->is_less ? 1 : 0;
    proof->is_less = !proof->is_less;
}

bool proof_next(struct proof *proof, struct case_job *job)
{
    if (proof->document == NULL) {
        job->step = CASE_PROOF_PLAN;
        job->line = proof->line;
        return true;
    }
    for (; proof->at < json_count(json_get(proof->document, "limits")); advance(proof)) {
        if (!is_wanted(proof, proof->at, proof->is_less)) {
            continue;
        }
        int64_t bytes = bytes_of(proof, proof->at, proof->is_less);
        if (!outcome_copy(proof)) {
            job->step = CASE_PROOF_TRY;
            job->available_bytes = bytes > 0 ? bytes : 1;
            return true;
        }
    }
    return false;
}

/* A document without a plan, and why there is none. */
static struct json *planless_new(const char *note)
{
    struct json *document = json_object_new();
    bool made = json_set(document, "granule_bytes", json_null_new()) &&
                json_set(document, "least_bytes", json_null_new()) &&
                json_set(document, "larger_run", json_null_new()) && json_set(document, "limits", json_array_new()) &&
                json_set(document, "note", json_string_new(note));
    return json_made(document, made);
}

enum status_code proof_leave(struct proof *proof, struct json *line, const char *why, struct status *error)
{
    struct json *document = planless_new(why);
    if (document == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for a proof");
    }
    proof_begin(proof, line);
    proof->document = document;
    return STATUS_OK;
}

static bool limit_is_whole(const struct json *limit)
{
    enum json_kind less = json_kind(json_get(limit, "predicted_less_runs"));
    return json_string_or(json_get(limit, "estimator"), NULL) != NULL &&
           json_string_or(json_get(limit, "quantity"), NULL) != NULL &&
           json_integer_or(json_get(limit, "bytes"), -1) >= 0 &&
           json_kind(json_get(limit, "predicted_runs")) == JSON_KIND_BOOLEAN &&
           (less == JSON_KIND_BOOLEAN || less == JSON_KIND_NULL);
}

/* Not trusted: a child may have sent anything. */
static bool plan_is_whole(const struct json *plan)
{
    const struct json *limits = json_get(plan, "limits");
    bool whole = json_kind(limits) == JSON_KIND_ARRAY && json_count(limits) > 0 &&
                 json_integer_or(json_get(plan, "granule_bytes"), 0) > 0 &&
                 json_integer_or(json_get(plan, "least_bytes"), -1) >= 0;
    for (size_t i = 0; whole && i < json_count(limits); i++) {
        whole = limit_is_whole(json_at(limits, i));
    }
    return whole;
}

/* The members of a plan that a record has, and no others: outcomes are the parent's. */
static struct json *plan_copy(const struct json *plan)
{
    static const char *const members[] = {"estimator", "quantity", "bytes", "predicted_runs", "predicted_less_runs"};
    struct json *document = json_object_new(), *limits = json_array_new();
    bool made =
        json_set(document, "granule_bytes", json_share(json_get(plan, "granule_bytes"))) &&
        json_set(document, "least_bytes", json_share(json_get(plan, "least_bytes"))) &&
        json_set(document, "larger_run",
                 json_boolean_or(json_get(plan, "larger_run"), false) ? json_boolean_new(true) : json_null_new());
    for (size_t i = 0; made && i < json_count(json_get(plan, "limits")); i++) {
        struct json *from = json_at(json_get(plan, "limits"), i), *limit = json_object_new();
        for (size_t k = 0; made && k < sizeof members / sizeof members[0]; k++) {
            struct json *value = json_get(from, members[k]);
            made = json_set(limit, members[k], value != NULL ? json_share(value) : json_null_new());
        }
        made = made && json_set(limit, "runs", json_null_new()) && json_set(limit, "less_runs", json_null_new()) &&
               json_set(limit, "pass", json_null_new()) && json_set(limit, "note", json_null_new());
        made = json_append(limits, json_made(limit, made));
    }
    made = json_set(document, "limits", limits) && made && json_set(document, "note", json_null_new());
    return json_made(document, made);
}

static bool plan_take(struct proof *proof, const struct json *fields, const struct case_ending *ending)
{
    const struct json *plan = json_get(fields, "proof");
    if (ending->status == CASE_STATUS_OK && plan_is_whole(plan)) {
        proof->document = plan_copy(plan);
    } else {
        char note[CASE_REASON_BYTES + 64];
        snprintf(note, sizeof note, "the least memory was not found: %s",
                 ending->reason[0] != '\0' ? ending->reason : "the child sent something that is no plan");
        proof->document = planless_new(note);
    }
    return proof->document != NULL;
}

/* What the case said when it did not run, or why nobody knows whether it does. */
static bool note_add(struct json *limit, bool is_less, const char *what)
{
    const char *before = json_string_or(json_get(limit, "note"), NULL);
    struct text note = {0};
    text_format(&note, "%s%s%s%s", before != NULL ? before : "", before != NULL ? "; " : "",
                is_less ? "with one granule less: " : "", what);
    bool made = !note.failed && json_set(limit, "note", json_string_new(text_string(&note)));
    text_release(&note);
    return made;
}

static bool outcome_take(struct proof *proof, const struct json *fields, const struct case_ending *ending)
{
    struct json *limit = limit_at(proof, proof->at), *runs = json_get(fields, "runs");
    struct json *taken = json_get(fields, "taken_bytes");
    bool known = ending->status == CASE_STATUS_OK && json_kind(runs) == JSON_KIND_BOOLEAN;
    bool made =
        (json_kind(taken) != JSON_KIND_INTEGER || json_set(proof->document, "taken_bytes", json_share(taken))) &&
        (!known || json_set(limit, outcome_key(proof->is_less), json_share(runs)));
    if (!known) {
        made = made && note_add(limit, proof->is_less,
                                ending->reason[0] != '\0' ? ending->reason : "the child ended without a result");
    } else if (!json_boolean_or(runs, true)) {
        const char *predicted = proof->is_less ? "predicted_less_runs" : "predicted_runs";
        bool surprising = json_boolean_or(json_get(limit, predicted), false);
        const char *refusal = json_string_or(json_get(fields, "refusal"), "out of memory");
        made = made && (!surprising || note_add(limit, proof->is_less, refusal));
    }
    advance(proof);
    return made;
}

enum status_code proof_take(struct proof *proof, const struct case_job *job, const struct child *child,
                            struct status *error)
{
    struct json *fields = NULL;
    struct case_ending ending = case_ending_read(job, child, &fields);
    bool made = fields != NULL && (job->step == CASE_PROOF_PLAN ? plan_take(proof, fields, &ending)
                                                                : outcome_take(proof, fields, &ending));
    json_release(fields);
    return made ? STATUS_OK : status_set(error, STATUS_OUT_OF_MEMORY, "no memory for a proof");
}

/* Whether what happened is what was predicted; unknown if one of the tries is. */
static struct json *pass_of(const struct json *limit)
{
    bool failed = false, known = true;
    for (int less = 0; less <= 1; less++) {
        const struct json *predicted = json_get(limit, less == 1 ? "predicted_less_runs" : "predicted_runs");
        const struct json *found = json_get(limit, outcome_key(less == 1));
        if (json_kind(predicted) != JSON_KIND_BOOLEAN) {
            continue;
        }
        bool is_found = json_kind(found) == JSON_KIND_BOOLEAN;
        known = known && is_found;
        failed = failed || (is_found && json_boolean_or(found, false) != json_boolean_or(predicted, false));
    }
    return failed ? json_boolean_new(false) : known ? json_boolean_new(true) : json_null_new();
}

/* What a try on a disturbed GPU has failed is not known. */
static bool failure_excuse(struct json *limit, struct json **pass)
{
    json_release(*pass);
    *pass = json_null_new();
    return note_add(limit, false, DISTURBANCE_NOTE);
}

static bool proof_judge(struct proof *proof, bool *failed)
{
    const struct json *limits = json_get(proof->document, "limits");
    bool made = true, known = json_count(limits) > 0, disturbed = line_is_disturbed(proof->line);
    *failed = false;
    for (size_t i = 0; made && i < json_count(limits); i++) {
        struct json *pass = pass_of(json_at(limits, i));
        if (disturbed && !json_boolean_or(pass, true)) {
            made = failure_excuse(json_at(limits, i), &pass);
        }
        *failed = *failed || !json_boolean_or(pass, true);
        known = known && json_kind(pass) == JSON_KIND_BOOLEAN;
        made = json_set(json_at(limits, i), "pass", pass) && made;
    }
    double seconds = (double)(clock_ns() - proof->started_ns) / 1e9;
    return made && json_set(proof->document, "duration_s", json_real_new(seconds)) &&
           json_set(proof->document, "pass",
                    *failed ? json_boolean_new(false)
                    : known ? json_boolean_new(true)
                            : json_null_new());
}

/* Status and reason of a case of which a figure was not what it was said to be. */
static bool failure_note(struct json *line)
{
    struct text reason = {0};
    case_failures_append(&reason, line, CASE_REASON_BYTES);
    bool made = !reason.failed && json_set(line, "status", json_string_new(case_status_name(CASE_STATUS_FAIL))) &&
                json_set(line, "reason", json_string_new(text_string(&reason)));
    text_release(&reason);
    return made;
}

enum status_code proof_end(struct proof *proof, struct json **line, enum case_status *status, struct status *error)
{
    bool failed = false;
    bool made = proof_judge(proof, &failed) && json_set(proof->line, "proof", json_share(proof->document)) &&
                (!failed || failure_note(proof->line));
    if (!made) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for a proof");
    }
    case_status_from_name(json_string_or(json_get(proof->line, "status"), ""), status);
    *line = proof->line;
    proof->line = NULL;
    proof_release(proof);
    return STATUS_OK;
}
