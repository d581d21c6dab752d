/* Outcome: what the cases of a run, or of a report, come to, and why: a word, an exit code, a sentence. The one place
 * of the rule that docs/FORMAT.md has under "end". Texts are raw: callers escape them. */
#ifndef ASSAY_RECORD_OUTCOME_H
#define ASSAY_RECORD_OUTCOME_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/exit_code.h"
#include "harness/base/json.h"
#include "harness/base/text.h"
#include "harness/record/record.h"

enum run_outcome {
    RUN_PASS, /* every case was measured or skipped, none failed */
    RUN_FAIL, /* a verdict failed */
    /* None failed, but a case ended in error, oom or timeout, or a judged figure is unknown. */
    RUN_INCONCLUSIVE,
    RUN_INCOMPLETE, /* none failed, but a case or an attempt is missing, or the run has no end */
    RUN_SKIPPED     /* every case was skipped */
};

const char *run_outcome_name(enum run_outcome outcome); /* "pass", "fail", "inconclusive", "incomplete", ... */
/* The same where one result is held against another, in a gate and a comparison: "GO", "NO-GO", "INCONCLUSIVE",
 * "INCOMPLETE", "SKIPPED". */
const char *run_outcome_verdict(enum run_outcome outcome);
enum exit_code run_outcome_exit_code(enum run_outcome outcome);

/* How a case line stands, the gravest last. */
enum standing {
    STANDING_OK,
    STANDING_SKIP,
    STANDING_OPEN,   /* its status is ok, but a figure that has a tolerance is not known, or its row is invalid; or what
                         replay says of a search or a proof could not be had; or it ran only after a retry */
    STANDING_BROKEN, /* error, oom, timeout; in a report also: missing */
    STANDING_FAIL
};

enum standing case_standing(const struct json *case_line);

/* Whether its child crashed, was late or could not measure, so that another one was started (--retries). */
bool case_was_retried(const struct json *case_line);

/* Appends why a case line is open: its first such verdict in words, and how many more there are. Nothing for others. */
void case_open_append(struct text *text, const struct json *case_line);

/* Appends the verdicts, the tries of a search and the figures of a proof of a case line that failed, in words, "; "
 * between them; what comes after room bytes is counted, but the first is always there. room 0: all. Nothing where none
 * failed. */
void case_failures_append(struct text *text, const struct json *case_line, size_t room);

/* Causes of what is missing. */
#define OUTCOME_INTERRUPTED "the run was interrupted"
#define OUTCOME_STOPPED     "the run stopped early, as --max-failures asked"
#define OUTCOME_NO_END      "the run was killed or still goes on"

/* All zero is the outcome of nothing. */
struct outcome {
    const char *unit; /* what is counted: "attempt"; NULL: "case" */
    int counts[CASE_STATUS_COUNT];
    int open_count;    /* of those that are ok */
    int retried_count; /* of those that are ok, and not of open_count: they ran only after a retry */
    int missing_count;
    /* Cases with fewer attempts than selected: how many, how many of them are in counts too, and their attempts. */
    int short_count, short_counted_count;
    int64_t attempts_missing, attempts_wanted;
    const char *missing_cause; /* "the run was interrupted"; NULL: nobody knows */
    enum standing gravest;
    struct text first; /* "ID: why" of the first of the gravest; "" where nothing is to be said */
};

/* Counts one that stands so. False where it is not graver than what was counted before; else its "ID: why" is the
 * first. */
bool outcome_count(struct outcome *outcome, enum case_status status, enum standing standing);
/* The one that was counted last, which is open, ran only after a retry. */
void outcome_count_retry(struct outcome *outcome);
void outcome_add(struct outcome *outcome, const struct json *case_line); /* with its first */
enum run_outcome outcome_decide(const struct outcome *outcome);
void outcome_release(struct outcome *outcome);

/* Appends "FAIL: 2 of 19 cases failed, 1 ended in error", "INCOMPLETE: 13 of 19 cases missing: the run was interrupted"
 * ("FAIL: ..." where a verdict failed as well),
 * "INCONCLUSIVE: 4 of 4 cases left open (a figure that has a tolerance could not be judged)", "SKIPPED: all 4 cases
 * were skipped", "INCOMPLETE: 1 of 3 attempts missing in 1 case";
 * nothing for a pass. */
void outcome_words_append(struct text *text, const struct outcome *outcome);

/* Appends "1 of 3 attempts missing in 1 case". */
void attempts_missing_append(struct text *text, int64_t missing_count, int64_t wanted_count, int case_count);

#endif
