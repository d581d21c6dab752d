/* Lines of the dispatch oracle: reading, placing, counting. What is compared with what is the tests' own. */
#include "tests/models/dispatch_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "models/find/catalogue.h"
#include "tests/models/shadow_lines.h"

enum { ENTRIES_MAXIMUM = 256 };

static const struct place four_places[PLACES] = {
    {PLACE_DEVICE, "0"}, {PLACE_DEVICE, "1"}, {PLACE_HOST, "cpu"}, {PLACE_DISK, "disk"}};

struct place_figures place_figures_take(const struct tape_view *view, enum stage stage)
{
    struct place_figures figures = {0};
    int64_t live[PLACES] = {0};
    bool inside = false;
    for (int i = 0; i < view->event_count; i++) {
        struct event event = view->events[i];
        if (event.kind == EVENT_STAGE) {
            memcpy(figures.end, inside ? live : figures.end, sizeof live);
            inside = event.index == (int)stage;
            memcpy(figures.peak, inside ? live : figures.peak, sizeof live);
        }
        bool is_memory = event.kind == EVENT_ALLOC || event.kind == EVENT_FREE;
        const struct storage *storage = is_memory ? &view->storages[event.index] : NULL;
        if (is_memory && storage->category != CATEGORY_WORKSPACE && !storage->is_scratch) {
            int64_t *now = &live[storage->place], *peak = &figures.peak[storage->place];
            *now += event.kind == EVENT_ALLOC ? storage->bytes : -storage->bytes;
            *peak = inside && *now > *peak ? *now : *peak;
        }
    }
    memcpy(figures.end, inside ? live : figures.end, sizeof live);
    return figures;
}

static int place_of(const struct json *value)
{
    const char *name = json_string_or(value, NULL);
    return name == NULL ? (int)json_integer_or(value, 0) : strcmp(name, "cpu") == 0 ? CPU : DISK;
}

static int map_read(const struct json *map, struct placement_entry *entries)
{
    int count = 0;
    for (const char *key = json_key_after(map, NULL); key != NULL; key = json_key_after(map, key)) {
        assert_true(count < ENTRIES_MAXIMUM);
        entries[count++] = (struct placement_entry){key, place_of(json_get(map, key))};
    }
    return count;
}

/* The plan of a line: a map, or everything offloaded from device 0. */
static void plan_read(const struct json *line, struct placement_plan *plan, struct placement_entry *entries)
{
    const char *offload = json_string_or(json_get(line, "offload"), NULL);
    *plan = (struct placement_plan){.place_count = PLACES, .entries = entries, .main = -1};
    memcpy(plan->places, four_places, sizeof four_places);
    plan->offload_buffers = json_boolean_or(json_get(line, "offload_buffers"), false);
    if (offload != NULL) {
        entries[0] = (struct placement_entry){"", strcmp(offload, "cpu") == 0 ? CPU : DISK};
        plan->entry_count = 1;
        plan->main = GPU0;
        plan->form = PLACEMENT_OFFLOAD;
        return;
    }
    plan->entry_count = map_read(json_get(line, "map"), entries);
    plan->main = json_get(line, "main") != NULL ? place_of(json_get(line, "main")) : -1;
    plan->form = json_boolean_or(json_get(line, "force_hooks"), false) ? PLACEMENT_FORCED : PLACEMENT_DISPATCH;
}

enum status_code dispatch_model_place(const struct json *line, const struct workload *workload,
                                      struct dispatch_model *model, struct status *error)
{
    struct placement_entry entries[ENTRIES_MAXIMUM];
    struct placement_plan plan;
    const struct target *target = NULL;
    plan_read(line, &plan, entries);
    bool on_gpu = plan.main == GPU0 || plan.main == GPU1;
    for (int i = 0; i < plan.entry_count; i++) {
        on_gpu = on_gpu || entries[i].place == GPU0 || entries[i].place == GPU1;
    }
    enum status_code code = config_find("models/catalogue", shadow_text(line, "model"), &model->config, error);
    code = code == STATUS_OK ? target_find(on_gpu ? "sm_90" : "host", &target, error) : code;
    code = code == STATUS_OK ? workload_skeleton(&model->config, workload, &model->skeleton, error) : code;
    code = code == STATUS_OK ? placement_build(&model->skeleton, &plan, &model->placement, error) : code;
    return code == STATUS_OK ? workload_tape_placed(&model->config, &model->skeleton, workload, target,
                                                    &model->placement, &model->tape, error)
                             : code;
}

void dispatch_model_release(struct dispatch_model *model)
{
    tape_release(model->tape);
    placement_release(&model->placement);
    skeleton_release(&model->skeleton);
}

/* The label of what the pass brings from the disk first; NULL: nothing. */
static const char *first_brought(const struct tape_view *view)
{
    bool is_forward = false;
    for (int i = 0; i < view->event_count; i++) {
        struct event event = view->events[i];
        is_forward = is_forward || (event.kind == EVENT_STAGE && event.index == STAGE_FORWARD);
        if (event.kind == EVENT_RUN && is_forward) {
            const struct storage *read = &view->storages[view->operands[view->ops[event.index].first_operand].storage];
            if (read->place == DISK) {
                return read->label;
            }
        }
    }
    return NULL;
}

bool dispatch_fault_is_theirs(const struct json *line, const char *fault, const struct dispatch_model *model)
{
    const struct tape_view view = tape_view(model->tape);
    char expected[256];
    const struct json *map = json_get(line, "map");
    const char *wanted = first_brought(&view);
    snprintf(expected, sizeof expected, "KeyError: '%s'", wanted != NULL ? wanted : "");
    return map != NULL && json_count(map) == 1 && strcmp(json_string_or(json_get(map, ""), ""), "disk") == 0 &&
           strcmp(fault, expected) == 0;
}

struct workload dispatch_workload(const struct json *line)
{
    bool generates = strcmp(shadow_text(line, "mode"), "generate") == 0;
    struct workload workload = workload_default(generates ? MODE_GENERATE : MODE_INFER);
    workload.batch = json_integer_or(json_get(line, "batch"), 0);
    workload.seq = json_integer_or(json_get(line, "seq"), 0);
    workload.new_tokens = json_integer_or(json_get(line, "new_tokens"), workload.new_tokens);
    workload.attention = strcmp(shadow_text(line, "attention"), "eager") == 0 ? ATTENTION_EAGER : ATTENTION_SDPA;
    return workload;
}

const char *dispatch_device(int place)
{
    static const char *const names[PLACES] = {"cuda:0", "cuda:1", "cpu", "disk"};
    return names[place];
}

int64_t dispatch_bytes(const struct json *figures, int place)
{
    return json_integer_or(json_get(figures, dispatch_device(place)), 0);
}
