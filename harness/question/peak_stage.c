/* Peak stage: replays without a bound along one field. No table for people: that is the command's. */
#include "harness/question/peak_stage.h"

#include "harness/question/limit.h"

struct line {
    const struct estimate_input *input;
    enum case_field field;
    const struct look_observer *observer;
};

static enum status_code point_look(const struct line *line, int64_t size, struct stage_point *point,
                                   struct status *error)
{
    struct workload workload = limit_workload(line->input->workload, line->field, size);
    struct estimate_input input = *line->input;
    struct trial trial;
    input.workload = &workload;
    if (line->observer != NULL) {
        line->observer->looks(line->observer->context, line->field, size);
    }
    enum status_code code = trial_run(&input, input.memory_bytes > 0 ? input.memory_bytes : INT64_MAX, &trial, error);
    if (code != STATUS_OK) {
        return code;
    }
    struct stage_point found = {
        .size = size, .requested_bytes = trial.unbounded.requested_bytes_peak, .fits = trial.fits};
    int64_t highest_bytes = -1;
    for (int i = 0; i < STAGE_COUNT; i++) {
        const struct replay_stage *stage = &trial.unbounded.stages[i];
        bool counts = workload.mode != MODE_GENERATE || i == STAGE_FORWARD || i == STAGE_GENERATE;
        found.present[i] = stage->present && i != STAGE_CONTEXT;
        found.allocated_bytes[i] = found.present[i] ? stage->allocated_bytes_peak : 0;
        if (found.present[i] && counts && found.allocated_bytes[i] > highest_bytes) {
            highest_bytes = found.allocated_bytes[i];
            found.stage = (enum stage)i;
        }
    }
    *point = found;
    return STATUS_OK;
}

/* low and high have different stages: brings them together, so that low is the last of its stage below high. */
static enum status_code change_close(const struct line *line, struct stage_point *low, struct stage_point *high,
                                     struct status *error)
{
    enum stage stage = low->stage;
    while (high->size - low->size > 1) {
        struct stage_point middle;
        enum status_code code = point_look(line, low->size + (high->size - low->size) / 2, &middle, error);
        if (code != STATUS_OK) {
            return code;
        }
        *(middle.stage == stage ? low : high) = middle;
    }
    return STATUS_OK;
}

static enum status_code span_begin(struct stage_spans *spans, const struct stage_point *point, struct status *error)
{
    if (spans->count == STAGE_SPANS_MAXIMUM) {
        return status_set(error, STATUS_INVALID, "the peak moves more than %d times; give fewer sizes",
                          STAGE_SPANS_MAXIMUM);
    }
    spans->spans[spans->count++] = (struct stage_span){*point, *point};
    return STATUS_OK;
}

/* Takes the spans on to the size of next. */
static enum status_code spans_extend(const struct line *line, struct stage_spans *spans, const struct stage_point *next,
                                     struct status *error)
{
    enum status_code code = STATUS_OK;
    struct stage_span *span = &spans->spans[spans->count - 1];
    while (code == STATUS_OK && span->last.stage != next->stage) {
        struct stage_point high = *next;
        code = change_close(line, &span->last, &high, error);
        code = code == STATUS_OK ? span_begin(spans, &high, error) : code;
        span = &spans->spans[spans->count - 1];
    }
    if (code == STATUS_OK) {
        span->last = *next;
    }
    return code;
}

static enum status_code step_find(const struct line *line, struct stage_spans *spans, int64_t first,
                                  struct status *error)
{
    const struct stage_point *last = &spans->spans[spans->count - 1].last;
    struct stage_point before;
    if (last->size == first) {
        return STATUS_OK;
    }
    enum status_code code = point_look(line, last->size - 1, &before, error);
    if (code == STATUS_OK) {
        spans->step_known = true;
        spans->step_bytes = last->requested_bytes - before.requested_bytes;
    }
    return code;
}

enum status_code stage_spans_find(const struct estimate_input *input, enum case_field field, const int64_t sizes[2],
                                  const struct look_observer *observer, struct stage_spans *spans, struct status *error)
{
    const struct line line = {input, field, observer};
    int64_t first = sizes[0], last = sizes[1];
    struct stage_spans found = {.field = field};
    struct stage_point point;
    enum status_code code = point_look(&line, first, &point, error);
    code = code == STATUS_OK ? span_begin(&found, &point, error) : code;
    for (int64_t size = first; size < last && code == STATUS_OK;) {
        size = size > last / 2 ? last : size * 2;
        code = point_look(&line, size, &point, error);
        code = code == STATUS_OK ? spans_extend(&line, &found, &point, error) : code;
    }
    code = code == STATUS_OK ? step_find(&line, &found, first, error) : code;
    if (code == STATUS_OK) {
        *spans = found;
    }
    return code;
}
