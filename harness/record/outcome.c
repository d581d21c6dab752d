/* Outcome: counts to a word and a sentence. Measures and judges nothing: statuses and verdicts are in the lines. */
#include "harness/record/outcome.h"

#include <inttypes.h>
#include <string.h>

#include "harness/record/proof_words.h"
#include "harness/record/search_words.h"
#include "harness/record/verdict_words.h"

static const struct {
    const char *name, *headline, *verdict;
    enum exit_code exit_code;
} outcomes[] = {[RUN_PASS] = {"pass", "PASS", "GO", EXIT_CODE_PASS},
                [RUN_FAIL] = {"fail", "FAIL", "NO-GO", EXIT_CODE_FAIL},
                [RUN_INCONCLUSIVE] = {"inconclusive", "INCONCLUSIVE", "INCONCLUSIVE", EXIT_CODE_INCONCLUSIVE},
                [RUN_INCOMPLETE] = {"incomplete", "INCOMPLETE", "INCOMPLETE", EXIT_CODE_INCOMPLETE},
                [RUN_SKIPPED] = {"skipped", "SKIPPED", "SKIPPED", EXIT_CODE_SKIPPED}};

enum { OUTCOME_COUNT = sizeof outcomes / sizeof outcomes[0] };

const char *run_outcome_name(enum run_outcome outcome)
{
    return (unsigned)outcome < OUTCOME_COUNT ? outcomes[outcome].name : "unknown";
}

const char *run_outcome_verdict(enum run_outcome outcome)
{
    return (unsigned)outcome < OUTCOME_COUNT ? outcomes[outcome].verdict : "unknown";
}

enum exit_code run_outcome_exit_code(enum run_outcome outcome)
{
    return (unsigned)outcome < OUTCOME_COUNT ? outcomes[outcome].exit_code : EXIT_CODE_FAULT;
}

/* It has a tolerance, and no judgement. */
static bool verdict_is_open(const struct json *verdict)
{
    return json_kind(json_get(verdict, "tolerance")) == JSON_KIND_OBJECT &&
           json_kind(json_get(verdict, "pass")) != JSON_KIND_BOOLEAN;
}

static enum case_status status_of(const struct json *case_line)
{
    enum case_status status = CASE_STATUS_ERROR;
    (void)case_status_from_name(json_string_or(json_get(case_line, "status"), ""), &status);
    return status;
}

enum standing case_standing(const struct json *case_line)
{
    enum case_status status = status_of(case_line);
    const struct json *verdicts = json_get(case_line, "verdicts");
    bool open = status == CASE_STATUS_OK && (proof_standing_of(case_line) == PROOF_OPEN || search_is_open(case_line) ||
                                             case_was_retried(case_line));
    for (size_t i = 0; status == CASE_STATUS_OK && json_kind(verdicts) == JSON_KIND_ARRAY && i < json_count(verdicts);
         i++) {
        open = open || verdict_is_open(json_at(verdicts, i));
    }
    return status == CASE_STATUS_FAIL   ? STANDING_FAIL
           : status == CASE_STATUS_SKIP ? STANDING_SKIP
           : status != CASE_STATUS_OK   ? STANDING_BROKEN
           : open                       ? STANDING_OPEN
                                        : STANDING_OK;
}

/* What else there is to say of the line, behind "; ". */
static void part_join(struct text *text, bool follows, void (*append)(struct text *, const struct json *),
                      const struct json *case_line)
{
    struct text part = {0};
    append(&part, case_line);
    text_format(text, "%s%s", follows && part.length > 0 ? "; " : "", text_string(&part));
    text->failed = text->failed || part.failed;
    text_release(&part);
}

bool case_was_retried(const struct json *case_line)
{
    const struct json *retried = json_get(case_line, "retried");
    return json_kind(retried) == JSON_KIND_ARRAY && json_count(retried) > 0;
}

/* A crash that another child did not have is a crash all the same. */
static void retries_append(struct text *text, const struct json *case_line)
{
    const struct json *retried = json_get(case_line, "retried");
    const size_t count = case_was_retried(case_line) ? json_count(retried) : 0;
    if (count > 0) {
        const struct json *first = json_at(retried, 0);
        text_format(text, "ran only after %zu retr%s: %s", count, count == 1 ? "y" : "ies",
                    json_string_or(json_get(first, "reason"), json_string_or(json_get(first, "status"), "error")));
    }
}

void case_open_append(struct text *text, const struct json *case_line)
{
    const struct json *verdicts = json_get(case_line, "verdicts");
    const char *kind = json_string_or(json_get(json_get(case_line, "device"), "kind"), NULL);
    size_t begin = text->length;
    int count = 0;
    if (case_standing(case_line) != STANDING_OPEN) {
        return;
    }
    for (size_t i = 0; i < json_count(verdicts); i++) {
        if (!verdict_is_open(json_at(verdicts, i))) {
            continue;
        }
        if (count++ == 0) {
            const struct verdict_words words = verdict_words_read(json_at(verdicts, i), basis_of_device(kind));
            verdict_words_append(text, &words);
        }
    }
    if (count > 1) {
        text_format(text, "; %d more", count - 1);
    }
    part_join(text, text->length > begin, retries_append, case_line);
    part_join(text, text->length > begin, search_open_append, case_line);
    part_join(text, text->length > begin, proof_open_append, case_line);
}

void case_failures_append(struct text *text, const struct json *case_line, size_t room)
{
    enum { REST_BYTES = 16 }; /* for "; 123 more" */
    const struct json *verdicts = json_get(case_line, "verdicts");
    const char *kind = json_string_or(json_get(json_get(case_line, "device"), "kind"), NULL);
    size_t begin = text->length;
    int left_count = 0;
    for (size_t i = 0; json_kind(verdicts) == JSON_KIND_ARRAY && i < json_count(verdicts); i++) {
        if (json_boolean_or(json_get(json_at(verdicts, i), "pass"), true)) {
            continue;
        }
        struct text one = {0};
        struct verdict_words words = verdict_words_read(json_at(verdicts, i), basis_of_device(kind));
        text_append(&one, text->length > begin ? "; " : "");
        verdict_words_append(&one, &words);
        bool fits = room == 0 || text->length == begin ||
                    (left_count == 0 && text->length - begin + one.length + REST_BYTES < room);
        text_append(text, fits ? text_string(&one) : "");
        left_count += fits ? 0 : 1;
        text->failed = text->failed || one.failed;
        text_release(&one);
    }
    if (left_count > 0) {
        text_format(text, "; %d more", left_count);
    }
    part_join(text, text->length > begin, search_failures_append, case_line);
    part_join(text, text->length > begin, proof_failures_append, case_line);
}

bool outcome_count(struct outcome *outcome, enum case_status status, enum standing standing)
{
    bool graver = standing > outcome->gravest;
    outcome->counts[status]++;
    outcome->open_count += standing == STANDING_OPEN ? 1 : 0;
    outcome->gravest = graver ? standing : outcome->gravest;
    return graver;
}

void outcome_count_retry(struct outcome *outcome)
{
    outcome->open_count--;
    outcome->retried_count++;
}

void outcome_add(struct outcome *outcome, const struct json *case_line)
{
    const enum standing standing = case_standing(case_line);
    const bool is_first = outcome_count(outcome, status_of(case_line), standing);
    if (standing == STANDING_OPEN && case_was_retried(case_line)) {
        outcome_count_retry(outcome);
    }
    if (!is_first) {
        return;
    }
    text_release(&outcome->first);
    struct text why = {0};
    text_append(&why, json_string_or(json_get(case_line, "reason"), ""));
    case_open_append(&why, case_line);
    text_format(&outcome->first, "%s: %s", json_string_or(json_get(case_line, "id"), "(no id)"),
                why.length > 0 ? text_string(&why) : json_string_or(json_get(case_line, "status"), "?"));
    text_release(&why);
}

static int made_count(const struct outcome *outcome)
{
    int count = 0;
    for (int status = 0; status < CASE_STATUS_COUNT; status++) {
        count += outcome->counts[status];
    }
    return count;
}

enum run_outcome outcome_decide(const struct outcome *outcome)
{
    const int *counts = outcome->counts;
    int made = made_count(outcome);
    int broken = counts[CASE_STATUS_ERROR] + counts[CASE_STATUS_OOM] + counts[CASE_STATUS_TIMEOUT];
    bool incomplete = outcome->missing_count > 0 || outcome->short_count > 0 || outcome->missing_cause != NULL;
    bool unclear = broken > 0 || outcome->open_count + outcome->retried_count > 0 || made == 0;
    return counts[CASE_STATUS_FAIL] > 0       ? RUN_FAIL
           : incomplete                       ? RUN_INCOMPLETE
           : unclear                          ? RUN_INCONCLUSIVE
           : counts[CASE_STATUS_SKIP] == made ? RUN_SKIPPED
                                              : RUN_PASS;
}

void outcome_release(struct outcome *outcome)
{
    text_release(&outcome->first);
    *outcome = (struct outcome){0};
}

/* "2 of 19 cases failed", then "1 ended in error". */
static void part_append(struct text *text, bool *first, int count, int total, const char *unit, const char *what)
{
    if (count == 0) {
        return;
    }
    text_append(text, *first ? ": " : ", ");
    if (*first) {
        text_format(text, "%d of %d %s%s %s", count, total, unit, total == 1 ? "" : "s", what);
    } else {
        text_format(text, "%d %s", count, what);
    }
    *first = false;
}

void attempts_missing_append(struct text *text, int64_t missing_count, int64_t wanted_count, int case_count)
{
    text_format(text, "%" PRId64 " of %" PRId64 " attempt%s missing in %d case%s", missing_count, wanted_count,
                wanted_count == 1 ? "" : "s", case_count, case_count == 1 ? "" : "s");
}

static void parts_append(struct text *text, const struct outcome *outcome)
{
    const int *counts = outcome->counts;
    const char *unit = outcome->unit != NULL ? outcome->unit : "case";
    int total = made_count(outcome) + outcome->missing_count + outcome->short_count - outcome->short_counted_count;
    bool first = true, lacks = outcome->missing_count > 0 || outcome->short_count > 0;
    part_append(text, &first, counts[CASE_STATUS_FAIL], total, unit, "failed");
    part_append(text, &first, counts[CASE_STATUS_ERROR], total, unit, "ended in error");
    part_append(text, &first, counts[CASE_STATUS_OOM], total, unit, "ran out of memory");
    part_append(text, &first, counts[CASE_STATUS_TIMEOUT], total, unit, "ran out of time");
    part_append(text, &first, outcome->open_count, total, unit,
                "left open (a figure that has a tolerance could not be judged)");
    part_append(text, &first, outcome->retried_count, total, unit, "ran only after a retry");
    part_append(text, &first, outcome->missing_count, total, unit, "missing");
    if (outcome->short_count > 0) {
        text_append(text, first ? ": " : ", ");
        attempts_missing_append(text, outcome->attempts_missing, outcome->attempts_wanted, outcome->short_count);
    }
    if (outcome->missing_cause != NULL) {
        text_format(text, "%s%s", (first && outcome->short_count == 0) || lacks ? ": " : "; ", outcome->missing_cause);
    } else if (total == 0) {
        text_format(text, ": there is no %s in the records", unit);
    }
}

void outcome_words_append(struct text *text, const struct outcome *outcome)
{
    enum run_outcome decided = outcome_decide(outcome);
    if (decided == RUN_PASS) {
        return;
    }
    text_append(text, outcomes[decided].headline);
    if (decided == RUN_SKIPPED) {
        int count = outcome->counts[CASE_STATUS_SKIP];
        const char *unit = outcome->unit != NULL ? outcome->unit : "case";
        if (count == 1) {
            text_format(text, ": the only %s was skipped", unit);
        } else {
            text_format(text, ": all %d %ss were skipped", count, unit);
        }
        return;
    }
    parts_append(text, outcome);
}
