/* Place request: from words to structs. Plans nothing. */
#include "harness/question/place_request.h"

#include <inttypes.h>

#include "harness/base/size.h"

static bool keeps_everything(const struct place_text *text)
{
    return text->way == PLACE_WAY_CPU_OFFLOAD || text->way == PLACE_WAY_DISK_OFFLOAD;
}

static enum status_code budgets_make(struct place_request *made, struct status *error)
{
    for (int i = 0; i < made->text.budget_count; i++) {
        const struct place_text_budget *given = &made->text.budgets[i];
        struct placement_budget *budget = &made->budgets[i];
        *budget = (struct placement_budget){0};
        if (!placement_device_from_name(given->name, &budget->device)) {
            return status_set(error, STATUS_INVALID,
                              "place: '%s' is no device; write 0, 1, ... for GPUs, or cpu or disk", given->name);
        }
        if (!size_multiply(given->bytes, BITS_PER_BYTE, &budget->bits)) {
            return status_set(error, STATUS_OVERFLOW,
                              "place: %" PRId64 " bytes on %s are more than can be planned for; write less",
                              given->bytes, given->name);
        }
    }
    return STATUS_OK;
}

static void planner_fill(const struct placed_question *question, struct place_request *made)
{
    static const enum placement_strategy strategies[PLACE_WAY_COUNT] = {
        [PLACE_WAY_BALANCED] = PLACEMENT_BALANCED,
        [PLACE_WAY_BALANCED_LOW_0] = PLACEMENT_BALANCED_LOW_0,
        [PLACE_WAY_SEQUENTIAL] = PLACEMENT_SEQUENTIAL,
        [PLACE_WAY_EXACT] = PLACEMENT_BALANCED, /* accelerate's map beside it */
    };
    made->planner =
        (struct placement_request){.budgets = made->budgets,
                                   .budget_count = made->text.budget_count,
                                   .width = storage_width_find(precision_name(question->workload->precision)),
                                   .strategy = strategies[made->text.way],
                                   .offload_buffers = made->text.offload_buffers};
}

enum status_code place_request_make(const struct placed_question *question, struct place_request *made,
                                    struct status *error)
{
    if (question->workload->place == NULL) {
        made->text = (struct place_text){.way = PLACE_WAY_BALANCED};
        made->planner = (struct placement_request){.budgets = made->budgets};
        made->request = (struct placed_request){
            .question = *question, .map = PLACED_MAP_WHOLE, .planner = &made->planner, .whole = {PLACEMENT_GPU, 0}};
        return STATUS_OK;
    }
    enum status_code code = place_text_parse(question->workload->place, &made->text, error);
    if (code == STATUS_OK) {
        code = budgets_make(made, error);
    }
    if (code != STATUS_OK) {
        return code;
    }
    bool is_whole = keeps_everything(&made->text);
    planner_fill(question, made);
    made->request = (struct placed_request){.question = *question, .planner = &made->planner};
    made->request.map = is_whole                            ? PLACED_MAP_WHOLE
                        : made->text.way == PLACE_WAY_EXACT ? PLACED_MAP_EXACT
                                                            : PLACED_MAP_ACCELERATE;
    made->request.whole.kind = made->text.way == PLACE_WAY_CPU_OFFLOAD ? PLACEMENT_CPU : PLACEMENT_DISK;
    made->request.question.budgets = made->budgets;
    made->request.question.budget_count = made->text.budget_count;
    made->request.question.offload_buffers = made->text.offload_buffers;
    made->request.question.form = is_whole ? PLACEMENT_OFFLOAD : PLACEMENT_DISPATCH;
    return STATUS_OK;
}

int place_text_gpu_after(const struct place_text *text, int index)
{
    int next = index < 0 && keeps_everything(text) ? 0 : -1;
    for (int i = 0; i < text->budget_count; i++) {
        struct placement_device device;
        bool is_gpu = placement_device_from_name(text->budgets[i].name, &device) && device.kind == PLACEMENT_GPU;
        if (is_gpu && text->budgets[i].bytes > 0 && device.index > index && (next < 0 || device.index < next)) {
            next = device.index;
        }
    }
    return next;
}

int place_text_first_gpu(const struct place_text *text)
{
    return place_text_gpu_after(text, -1);
}
