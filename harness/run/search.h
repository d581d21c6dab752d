/* Search: a case that looks for its batch. One attempt at it is a series of children, one for each batch that is tried
 * (question/batch_series.h): each measures the case at that batch as if nothing were looked for. Internal to
 * harness/run; the parent's side.
 *
 * After the first try that tells how many bytes segments may take, a child replays what the largest batch is
 * (search_predict.h), which bisection tries too; after the last one, how each try should have ended. What comes of it
 * is the member "search" of the case line (docs/FORMAT.md). The other members are those of the try of the batch that
 * was found; of the last try if none was, or if that one failed for another reason than memory. */
#ifndef ASSAY_RUN_SEARCH_H
#define ASSAY_RUN_SEARCH_H

#include "harness/question/batch_series.h"
#include "harness/run/case_line.h"

struct search {
    const struct suite_case *case_; /* that is carried out; NULL: no search is under way */
    struct batch_record record;
    struct batch_series series;
    struct suite_case try_;          /* the case at the batch that is tried; after the end at the one of the line */
    struct text id;                  /* of it */
    struct json *line;               /* of a try that the series has not been told yet */
    const char *target;              /* class of the device, as a try told; NULL: none has */
    int64_t least_bytes, most_bytes; /* that segments may take, as tries told; 0: none has */
    int64_t predicted_bytes;         /* for which limit holds; 0: it is not known */
    int64_t limit;
    struct search_question question; /* of the job that is under way */
    int64_t *batches;
    struct json *runs;            /* for each try what replay says; NULL: not asked yet */
    char note[CASE_REASON_BYTES]; /* why a prediction that was to be made is not known; "" */
    int64_t started_ns;
};

bool case_searches(const struct suite_case *case_);

/* case_: borrowed until the end. */
void search_begin(struct search *search, const struct suite_case *case_);

/* What is to be done next, as a job; *has_next false: nothing is. The job is otherwise left as it is.
 * STATUS_OUT_OF_MEMORY. */
enum status_code search_next(struct search *search, const struct case_runner *runner, struct case_job *job,
                             bool *has_next, struct status *error);

/* The child of that job has ended. Whatever it sent, the search stays one that a record may have.
 * STATUS_OUT_OF_MEMORY. */
enum status_code search_take(struct search *search, const struct case_job *job, const struct child *child,
                             struct status *error);

/* After the last one: the case line with the search in it. search->try_ is then the case at the batch of the line. The
 * caller releases *line. STATUS_OUT_OF_MEMORY. */
enum status_code search_end(struct search *search, struct json **line, enum case_status *status, struct status *error);

void search_release(struct search *search); /* all zero is accepted */

#endif
