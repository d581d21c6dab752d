/* Case view: the records of a report as plain C, for the writers in this folder. Not for anybody outside it.
 *
 * A record has ten times as many bytes as its view, and a report may have 100,000 of them: the line itself is not kept
 * (record_stream_again reads it once more), and what a record does not have takes no room. Strings and arrays are in
 * the report's arena and live as long as the report; equal words are one string. Strings are raw: every writer escapes
 * them (escape.h). */
#ifndef ASSAY_REPORT_CASE_VIEW_H
#define ASSAY_REPORT_CASE_VIEW_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/arena.h"
#include "harness/base/json.h"
#include "harness/base/name_table.h"
#include "harness/case/case_field.h"
#include "harness/record/level.h"
#include "harness/record/outcome.h"
#include "harness/record/reading_item.h"
#include "harness/record/record.h"
#include "harness/record/verdict_words.h"
#include "harness/report/report.h"
#include "harness/tape/tape.h"

enum { BYTES_UNKNOWN = -1 };

const char *report_stage_name(int stage);       /* as in records; stage is an enum stage */
const char *report_category_name(int category); /* as in records; category is an enum category */

/* Every *_bytes is BYTES_UNKNOWN if the record has null or nothing. */
struct stage_view {
    bool present;
    int64_t end_bytes[LEVEL_COUNT];
    int64_t peak_bytes[LEVEL_COUNT]; /* device: the reading at the end, because there is no other */
    double seconds;                  /* that it took; negative: not known */
};

/* One walk of a tape: the measured one, or the one that `replay` predicted. */
struct footprint_view {
    bool present;
    const struct stage_view *stages[STAGE_COUNT]; /* never NULL; those that are not present are one */
    int64_t peak_bytes[LEVEL_COUNT];              /* over all stages but context */
    /* [CATEGORY_COUNT]: requested bytes at the peak; 0 if the record names no such category; NULL: it names none */
    const int64_t *category_bytes;
    int64_t saved_for_backward_bytes;
};

/* Of a case that nobody attempted: nothing is known. */
extern const struct footprint_view footprint_none;

/* Why allocated exceeds requested, and reserved exceeds allocated, at one moment. */
struct causes_view {
    bool present;
    int64_t rounding_bytes, remainder_bytes, remainder_count, cached_bytes;
};

enum sequences { SEQUENCES_UNKNOWN, SEQUENCES_EQUAL, SEQUENCES_DIFFERENT };

/* How much the attempts at one case in one run differ: spread.h. */
struct spread {
    int attempt_count;                         /* that were measured */
    const int64_t (*stage_bytes)[LEVEL_COUNT]; /* [STAGE_COUNT], BYTES_UNKNOWN: not all of them know it; NULL if
                                                     fewer than two were measured */
    enum sequences sequences;                  /* of allocations and releases */
};

/* The items of the last stage. */
struct items_view {
    enum level level;                  /* LEVEL_DEVICE if the driver's reading is itemised, else LEVEL_PROCESS */
    int64_t bytes[READING_ITEM_COUNT]; /* 0: none of it, or not known */
};

enum judgement { JUDGEMENT_NONE, JUDGEMENT_PASS, JUDGEMENT_FAIL };

/* A prediction held against a measurement. With a verdict of the record, or, if the suite asked for none, with
 * JUDGEMENT_NONE. */
struct comparison {
    const char *estimator, *quantity;
    const char *stage; /* that the measured figure is of; NULL: not known, or of none */
    const char *place; /* of a placed case, that both figures are of; NULL: of the case */
    int64_t predicted_bytes, measured_bytes;
    int64_t tolerance_bytes; /* if it was given in bytes; else negative */
    int64_t error_bytes;     /* predicted - measured; valid if error_known */
    double error;            /* error_bytes / measured */
    double tolerance;        /* as a fraction of what was measured; negative: none */
    bool error_known;
    enum judgement judgement;
    const char *note; /* why it is not judged although it was asked for, and counts in no summary; NULL: it does */
};

struct estimator_total {
    const char *estimator;
    int64_t total_bytes;
    int64_t weights_bytes; /* of these; BYTES_UNKNOWN: the estimator does not say */
};

/* A field of a case: the word or the text of the record, NULL for none; a count or a share, negative for none; whether
 * a switch is on. */
#define VIEW_MEMBER_NAME(member)             const char *member;
#define VIEW_MEMBER_COUNT(member)            int64_t member;
#define VIEW_MEMBER_SWITCH(member)           bool member;
#define VIEW_MEMBER_SHARE(member)            int64_t member;
#define VIEW_MEMBER_TEXT(member)             const char *member;
#define VIEW_MEMBER(name, member, kind, ...) VIEW_MEMBER_##kind(member)

struct case_view {
    struct record_place line; /* where it is, for record_stream_again */
    const char *id, *status, *reason;
    bool is_retried;    /* its child crashed, was late or could not measure, and another one was started */
    const char *family; /* NULL: records before 1.3 */
    const char *tags;   /* of the suite, a newline between them; "": none */
    int64_t suite_line; /* where the case stands in the file of its suite; negative: not recorded */
    const char
        *machine; /* kind, name, class and threads of its device: equal texts are figures of one kind of machine */
    const char
        *settings; /* "|NAME=VALUE" for each member of its identity but batch, seq and new_tokens, by name; what is
                             null is left out: a field that an older record does not have says the same */
    bool validity_known, invalid; /* not known: nothing was measured, or an older record */
    const char *disturbance;      /* the reasons, "; " between them; "" if it is not invalid */
    const char *model;
    CASE_FIELD_TABLE(VIEW_MEMBER)  /* harness/case/case_field.h: mode, precision, ... */
    const char *attention_backend; /* whose storages were measured; NULL: no attention, or an older record */
    const char *label; /* "bert-base-cased train float32 b8 s512 adam-foreach": what differs from the defaults */
    const char
        *title; /* the label, and if one heading cannot say it "(replayed for sm_90)": for headings, never a key */
    struct footprint_view measured, predicted;
    struct causes_view causes_at_load, causes_at_end;
    const struct proof_view *proof; /* whether it runs with the bytes predicted (proof_rates.h); NULL: not asked for */
    const struct items_view *items; /* NULL: no reading is itemised */
    struct placed_view
        *placed; /* what is on each place, and what was moved (placed_view.h); NULL: it is on one device */
    struct search_view *search;         /* what a policy found (search_view.h); NULL: none searched */
    int64_t context_bytes[LEVEL_COUNT]; /* readings alone; of the counted levels BYTES_UNKNOWN */
    int64_t oom_wanted_bytes, oom_held_bytes, oom_free_bytes;
    const char *oom_stage; /* NULL: it did not happen */
    const char *oom_label;
    struct comparison *comparisons; /* grouped by estimator, in the report's order of estimators */
    int comparison_count;
    const struct estimator_total *totals;
    int total_count;
    unsigned
        judged; /* bit 1 << level: a verdict of the record passes or fails it; 1 << LEVEL_COUNT: of anything else */
    const char *declined; /* "MATMUL 48 times (cuBLAS: CUBLAS_STATUS_NOT_SUPPORTED), ...": products that a library would
                             not compute; "": none, or not known */
    const char *sequence; /* sequence_hash; NULL: not recorded */
    struct spread spread;
    struct case_attempt *earlier; /* the attempts of the same run before this one, in their order; NULL: none */
    double duration_seconds;      /* negative: unknown */
    const char *device_kind, *device_name, *device_driver, *device_runtime; /* NULL: not recorded */
    const char *device_target; /* the class whose rules its tape follows: "sm_90", "host"; NULL: not recorded */
    int64_t device_threads, device_total_bytes; /* negative: not recorded */
    const char *constants_mismatch; /* what the constants used were measured under and this is not; NULL: nothing */
    int64_t attempt;                /* from 1; negative: not known */
    int run;                        /* its run line, by its place in report->runs */
    const char *basis; /* BASIS_MEASURED or BASIS_REPLAYED (harness/record/verdict_words.h): what the figures are */
    enum standing standing;             /* with what is missing */
    const struct missing_case *missing; /* the last run that selected it lacks attempts at it; NULL: it has all */
};

/* A case that a run selected and did not attempt, or not as often as it was to. */
struct missing_case {
    const char *id;
    int64_t wanted_count, made_count; /* attempts */
    bool has_older;                   /* an earlier run attempted it */
};

struct case_attempt {
    struct case_view view; /* without spread and comparisons */
    struct case_attempt *next;
};

enum { ESTIMATOR_MAXIMUM = 32 };

struct report {
    struct arena arena;
    bool is_side;                 /* of a comparison: no prediction is held against what was measured here */
    const char *source;           /* the path it was read from */
    struct record_stream *stream; /* of source */
    struct name_table words;      /* texts that many records have */
    struct json *runs;            /* array of the run lines, as they were read */
    struct json *resumptions;     /* array of {"run_id", "number", "started", "host"}: where a run of these went on */
    struct case_view *cases;
    int case_count;
    /* BASIS_REPLAYED if all figures are, else BASIS_MEASURED. Of a report that has both, or replays for several
     * targets, the titles of the cases that were replayed say so. */
    const char *basis;
    const char *estimators[ESTIMATOR_MAXIMUM]; /* "replay" first, then as estimator_look.h orders them */
    int estimator_count;
    bool is_chosen; /* these are the estimators that somebody asked for, in that order */
    int damaged_line_count;
    bool ended; /* the last run was finished, not interrupted */
    int *order; /* places in cases, by their urgency (case_order.h), else as recorded */
    struct missing_case *missing;
    int missing_count;
    int unnamed_missing_count; /* attempts that were selected, and the records do not say which */
    const char *missing_cause; /* NULL: nothing is missing */
    const char *notes;         /* what stands in the records twice, in words; "" if nothing does */
};

/* The counts that report_outcome decides by. The caller releases *outcome. */
void report_outcome_make(const struct report *report, struct outcome *outcome);

/* Case number place in the order for people. */
const struct case_view *report_case(const struct report *report, int place);

/* Whether an attempt was measured to its end: ok or fail. */
bool case_is_measured(const struct case_view *view);

/* Whether it is one batch on one device. Statistics over cases (the league, the rule of the weights, overheads) leave
 * the others out: what is on the main place is a part of the model, and a search ends with another batch than it begins
 * with. */
bool case_is_plain(const struct case_view *view);

/* Whether the row of a case was predicted on the meta device and not measured. */
bool case_is_meta(const struct case_view *view);

/* How a case stands, in one word: its status, "open" of one that is ok but for a figure that has a tolerance and is not
 * known, "missing" of one that the last run did not come to, whose figures are older. */
const char *case_word(const struct case_view *view);

/* The last stage that the record has, other than context; STAGE_CONTEXT if there is none. */
int stage_last(const struct footprint_view *footprint);

/* The report's own copy of a word, one for equal ones; NULL for NULL, and if memory ran out. */
const char *report_word(struct report *report, const char *word);

/* Fills *view from a case line, of which nothing is kept; id: the copy of its id that the view shall have. False if
 * memory ran out. */
bool case_view_read(struct report *report, const struct json *line, const char *id, struct case_view *view);

/* Brings the estimators that the records name into the order of estimator_look.h; strangers last, as they appeared. */
void report_estimators_order(struct report *report);

/* Fills view->comparisons from the verdicts of its line and from the view, estimator by estimator. False if memory ran
 * out. */
bool case_view_compare(struct report *report, const struct json *line, struct case_view *view);

/* Fills view->judged from the verdicts of its line. */
void case_view_judged(const struct json *line, struct case_view *view);

/* Brings them into the order that the report's estimators have by now. */
void case_view_order(const struct report *report, struct case_view *view);

/* What an estimator predicts of the allocated peak of a case, of a placed one on its main place: its verdict on that,
 * or the bare figures; NULL: it has none. Pages that list allocated peaks show this of every estimator, whatever else
 * was judged. */
const struct comparison *comparison_of_peak(const struct case_view *view, const char *estimator);

/* The last run line; NULL if there is none. */
const struct json *report_run(const struct report *report);

/* Errors of one estimator on one quantity over all cases; of a placed case each place counts. */
struct accuracy {
    const char *estimator, *quantity;
    int case_count;  /* with a known error */
    int place_count; /* of these, one place of a placed case each */
    double median_error, worst_error;
    const char *worst_case; /* label, and the place */
    int under_count;        /* predicted less than measured */
    int failed_count;       /* verdicts that failed */
};

/* rows: from the arena of the report, in the order of its estimators. STATUS_OUT_OF_MEMORY. */
enum status_code report_accuracy(const struct report *report, struct arena *arena, struct accuracy **rows, int *count,
                                 struct status *error);

#endif
