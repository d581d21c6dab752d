/* Batch run: the loop around a series. How a batch is tried is the runner's affair, what is printed of it the
 * command's. */
#include "harness/question/batch_run.h"

static void hint_take(struct batch_series *series, const struct batch_runner *runner, const struct json *line)
{
    if (runner->hint != NULL && series->request.policy == BATCH_BISECT) {
        series->search.hint = runner->hint(runner->context, line);
    }
}

/* batch: the one that is tried; 0 after the last. */
static enum status_code try_make(struct batch_series *series, const struct batch_runner *runner, int64_t batch,
                                 struct status *error)
{
    struct json *line = NULL;
    enum status_code code = runner->attempt(runner->context, batch, &line, error);
    if (code != STATUS_OK) {
        return code;
    }
    if (line != NULL && series->search.batch > 0) {
        hint_take(series, runner, line);
    }
    code = batch_series_take(series, line, error);
    if (code != STATUS_OK) {
        json_release(line);
    } else if (line != NULL && runner->ended != NULL) {
        runner->ended(runner->context, &series->record->tries[series->record->count - 1]);
    }
    return code;
}

enum status_code batch_run(const struct batch_request *request, const struct batch_runner *runner,
                           struct batch_record *record, struct batch_result *result, struct status *error)
{
    struct batch_series series = batch_series_begin(request, record);
    int64_t batch = 0;
    if (record->count > 0) { /* tries of another policy are told to this one at once */
        hint_take(&series, runner, record->tries[record->count - 1].line);
    }
    enum status_code code = batch_series_next(&series, &batch, error);
    while (code == STATUS_OK && batch > 0) {
        code = try_make(&series, runner, batch, error);
        if (code == STATUS_OK) {
            code = batch_series_next(&series, &batch, error);
        }
    }
    if (code == STATUS_OK) {
        code = batch_series_end(&series, result, error);
    }
    batch_series_release(&series);
    return code;
}
