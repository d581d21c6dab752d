/* Worker: which child comes after which. What each of them means is case_line.c's, search.c's and proof.c's. */
#include "harness/run/worker.h"

#include "harness/base/temporary_folder.h"
#include "harness/record/level.h"
#include "harness/run/case_kind.h"

static enum status_code child_begin(struct worker *worker, const struct worker_means *means, struct status *error)
{
    enum status_code code = child_start(means->runner, &worker->job, means->mask, &worker->child, error);
    worker->busy = code == STATUS_OK;
    return code;
}

/* If none can be made, the child says why when it comes to its files. */
static void worker_folder_make(struct worker *worker)
{
    bool has_files = case_kind_of(&worker->job.case_->identity.workload)->writes_files;
    bool is_made = has_files && temporary_folder_make("assay-case", worker->folder, NULL) == STATUS_OK;
    worker->job.folder = is_made ? worker->folder : NULL;
}

static enum status_code attempt_begin(struct worker *worker, const struct worker_means *means, struct status *error)
{
    bool has_next = true;
    enum status_code code = STATUS_OK;
    worker->job = worker->first;
    worker_folder_make(worker);
    if (case_searches(worker->first.case_)) {
        search_begin(&worker->search, worker->first.case_);
        code = search_next(&worker->search, means->runner, &worker->job, &has_next, error);
    }
    return code == STATUS_OK ? child_begin(worker, means, error) : code;
}

enum status_code worker_start(struct worker *worker, const struct case_job *job, const struct worker_means *means,
                              struct status *error)
{
    worker->first = *job;
    return attempt_begin(worker, means, error);
}

bool worker_may_retry(enum case_status status)
{
    return status == CASE_STATUS_ERROR || status == CASE_STATUS_TIMEOUT;
}

int worker_retry_count(const struct worker *worker)
{
    return (int)json_count(worker->retried);
}

enum status_code worker_retry(struct worker *worker, const struct worker_means *means, struct json *line,
                              struct status *error)
{
    static const char *const members[] = {"status", "reason", "duration_s"};
    struct json *note = json_object_new();
    bool made = note != NULL;
    for (size_t i = 0; i < sizeof members / sizeof members[0] && made; i++) {
        made = json_set(note, members[i], json_share(json_get(line, members[i])));
    }
    worker->retried = worker->retried != NULL ? worker->retried : json_array_new();
    made = json_append(worker->retried, json_made(note, made));
    json_release(line);
    return made ? attempt_begin(worker, means, error)
                : status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the record of %s", worker->first.case_->id);
}

/* The line of the attempt says what became of its children before; one that is left again says how many they were. */
enum status_code worker_retries_tell(struct worker *worker, struct json *line, enum case_status status,
                                     struct status *error)
{
    const int count = worker_retry_count(worker);
    struct text reason = {0};
    if (count == 0) {
        return STATUS_OK;
    }
    bool made = json_set(line, "retried", worker->retried);
    worker->retried = NULL;
    if (worker_may_retry(status)) {
        text_format(&reason, "%s; so it ended after %d retr%s", json_string_or(json_get(line, "reason"), ""), count,
                    count == 1 ? "y" : "ies");
        made = json_set(line, "reason", json_string_new(text_string(&reason))) && made && !reason.failed;
    }
    text_release(&reason);
    return made ? STATUS_OK
                : status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the record of %s", worker->first.case_->id);
}

/* *line stays NULL while the search goes on. */
static enum status_code search_go_on(struct worker *worker, const struct worker_means *means, struct json **line,
                                     enum case_status *status, struct status *error)
{
    bool has_next = false;
    enum status_code code = search_take(&worker->search, &worker->job, &worker->child, error);
    child_release(&worker->child);
    if (code == STATUS_OK) {
        code = search_next(&worker->search, means->runner, &worker->job, &has_next, error);
    }
    if (code != STATUS_OK) {
        return code;
    }
    return has_next ? child_begin(worker, means, error) : search_end(&worker->search, line, status, error);
}

static enum status_code proof_go_on(struct worker *worker, const struct worker_means *means, struct json **line,
                                    enum case_status *status, struct status *error)
{
    return proof_next(&worker->proof, &worker->job) ? child_begin(worker, means, error)
                                                    : proof_end(&worker->proof, line, status, error);
}

/* What was measured is proved at the size that it was measured at; if nothing ran there is nothing to prove. */
static bool is_to_prove(const struct worker *worker, const struct json *line, enum case_status status)
{
    return worker->job.proof != RUN_PROOF_NONE && (status == CASE_STATUS_OK || status == CASE_STATUS_FAIL) &&
           (worker->search.case_ == NULL ||
            json_kind(json_get(line, level_peak_key(LEVEL_RESERVED))) == JSON_KIND_INTEGER);
}

/* Takes over the line. */
static enum status_code proof_start(struct worker *worker, struct json *line, struct status *error)
{
    worker->job.case_ = worker->search.case_ != NULL ? &worker->search.try_ : worker->job.case_;
    const struct case_kind *kind = case_kind_of(&worker->job.case_->identity.workload);
    enum status_code code = STATUS_OK;
    if (kind->unproved == NULL) {
        proof_begin(&worker->proof, line);
    } else {
        code = proof_leave(&worker->proof, line, kind->unproved, error);
    }
    if (code != STATUS_OK) {
        json_release(line);
    }
    return code;
}

enum status_code worker_go_on(struct worker *worker, const struct worker_means *means, struct json **line,
                              enum case_status *status, struct status *error)
{
    enum status_code code = STATUS_OK;
    *line = NULL;
    worker->busy = false;
    if (worker->proof.line != NULL) {
        code = proof_take(&worker->proof, &worker->job, &worker->child, error);
        child_release(&worker->child);
    } else if (worker->search.case_ != NULL) {
        code = search_go_on(worker, means, line, status, error);
    } else {
        code = case_line_make(&worker->job, &worker->child, line, status, error);
        child_release(&worker->child);
        temporary_folder_remove(worker->folder);
    }
    if (code == STATUS_OK && *line != NULL && is_to_prove(worker, *line, *status)) {
        code = proof_start(worker, *line, error);
        *line = NULL;
    }
    if (code == STATUS_OK && worker->proof.line != NULL) {
        code = proof_go_on(worker, means, line, status, error);
    }
    if (code == STATUS_OK && *line != NULL) {
        search_release(&worker->search);
    }
    return code;
}

int64_t worker_batch(const struct worker *worker)
{
    bool is_try =
        worker->busy && worker->search.case_ != NULL && worker->proof.line == NULL && worker->job.step == CASE_MEASURE;
    return is_try ? worker->job.case_->identity.workload.batch : 0;
}

void worker_release(struct worker *worker)
{
    if (worker->busy) {
        child_release(&worker->child);
    }
    temporary_folder_remove(worker->folder);
    search_release(&worker->search);
    proof_release(&worker->proof);
    json_release(worker->retried);
    *worker = (struct worker){0};
}
