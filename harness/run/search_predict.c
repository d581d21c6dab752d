/* Search predict: replays in a child, so that one that is long, or wrong, holds nobody else up. */
#include "harness/run/search_predict.h"

#include "harness/question/batch_forecast.h"
#include "harness/run/measuring.h"

/* Known if the least bytes and the most say the same. */
static enum status_code runs_add(const struct estimate_input *input, const struct search_question *question,
                                 int64_t batch, struct json *runs, struct status *error)
{
    bool with_least = false, with_most = false;
    enum status_code code = batch_runs_forecast(input, batch, question->least_bytes, &with_least, error);
    with_most = with_least;
    if (code == STATUS_OK && question->most_bytes != question->least_bytes) {
        code = batch_runs_forecast(input, batch, question->most_bytes, &with_most, error);
    }
    if (code == STATUS_OK &&
        !json_append(runs, with_least == with_most ? json_boolean_new(with_least) : json_null_new())) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory left");
    }
    return code;
}

static enum status_code prediction_send(const struct measuring *measuring, const struct estimate_input *input,
                                        struct status *error)
{
    const struct search_question *question = measuring->job->question;
    struct json *runs = json_array_new(), *prediction = json_object_new(), *object = json_object_new();
    int64_t limit = 0;
    enum status_code code =
        question->wants_limit ? batch_limit_forecast(input, question->least_bytes, &limit, error) : STATUS_OK;
    for (int i = 0; i < question->batch_count && code == STATUS_OK; i++) {
        code = runs_add(input, question, question->batches[i], runs, error);
    }
    bool made = json_set(prediction, "limit", question->wants_limit ? json_integer_new(limit) : json_null_new());
    made = json_set(prediction, "runs", runs) && made;
    made = json_set(object, "prediction", json_made(prediction, made));
    object = json_made(object, made);
    if (code == STATUS_OK) {
        return measuring_send(measuring, object, error);
    }
    json_release(object);
    return code;
}

void search_predict(void *context, const struct case_job *job, int file)
{
    struct measuring measuring = {.job = job, .file = file};
    const struct target *target = NULL;
    struct status error = {0};
    enum status_code code = measuring_model_prepare(&measuring, &error);
    (void)context;
    if (code == STATUS_OK) {
        code = target_find(job->question->target, &target, &error);
    }
    if (code == STATUS_OK) {
        const struct estimate_input input = {.config = &measuring.model.config,
                                             .checkpoint = measuring.model.checkpoint,
                                             .skeleton = &measuring.skeleton,
                                             .workload = &job->case_->identity.workload,
                                             .target = target->name};
        code = prediction_send(&measuring, &input, &error);
    }
    measuring_status_send(&measuring, code, &error);
    measuring_release(&measuring);
}
