/* Placed tapes against the real dispatch_model: peers/placement/dispatch-*.jsonl has what each device held in a forward pass of
 * a model that accelerate dispatched; our tape of the same map must hold the same bytes on each device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/catalogue.h"
#include "models/placement.h"
#include "models/workload_tape.h"
#include "tests/models/shadow_lines.h"

static const char *const lines_path =
    "peers/placement/dispatch-torch-2.11.0-transformers-5.23.0-accelerate-1.15.0.jsonl";

enum { GPU0, GPU1, CPU, DISK, PLACES, ENTRIES_MAXIMUM = 64 };

static const struct place four_places[PLACES] = {
    {PLACE_DEVICE, "0"}, {PLACE_DEVICE, "1"}, {PLACE_HOST, "cpu"}, {PLACE_DISK, "disk"}};
static const char *const device_names[PLACES] = {"cuda:0", "cuda:1", "cpu", NULL};

/* What a pass holds on each place, without the workspaces that no dispatcher sees. */
struct pass_figures {
    int64_t live[PLACES], peak[PLACES];
};

static struct pass_figures figures_of(const struct tape_view *view)
{
    struct pass_figures figures = {0};
    for (int i = 0; i < view->event_count; i++) {
        struct event event = view->events[i];
        if (event.kind == EVENT_STAGE) {
            memcpy(figures.peak, figures.live, sizeof figures.peak);
        }
        if (event.kind != EVENT_ALLOC && event.kind != EVENT_FREE) {
            continue;
        }
        const struct storage *storage = &view->storages[event.index];
        if (storage->category == CATEGORY_WORKSPACE) {
            continue;
        }
        int64_t *live = &figures.live[storage->place];
        *live += event.kind == EVENT_ALLOC ? storage->bytes : -storage->bytes;
        figures.peak[storage->place] = *live > figures.peak[storage->place] ? *live : figures.peak[storage->place];
    }
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

struct placed_model {
    struct config config;
    struct skeleton skeleton;
    struct placement placement;
    struct tape *tape;
};

static enum status_code model_place(const struct json *line, struct placed_model *model, struct status *error)
{
    struct placement_entry entries[ENTRIES_MAXIMUM];
    struct placement_plan plan = {.place_count = PLACES, .entries = entries, .main = -1};
    const struct target *target = NULL;
    struct workload workload = workload_default(MODE_INFER);
    workload.batch = json_integer_or(json_get(line, "batch"), 0);
    workload.seq = json_integer_or(json_get(line, "seq"), 0);
    workload.attention = strcmp(shadow_text(line, "attention"), "eager") == 0 ? ATTENTION_EAGER : ATTENTION_SDPA;
    memcpy(plan.places, four_places, sizeof four_places);
    plan.entry_count = map_read(json_get(line, "map"), entries);
    plan.offload_buffers = json_boolean_or(json_get(line, "offload_buffers"), false);
    enum status_code code = config_find("models/catalogue", shadow_text(line, "model"), &model->config, error);
    code = code == STATUS_OK ? target_find("sm_90", &target, error) : code;
    code = code == STATUS_OK ? workload_skeleton(&model->config, &workload, &model->skeleton, error) : code;
    code = code == STATUS_OK ? placement_build(&model->skeleton, &plan, &model->placement, error) : code;
    return code == STATUS_OK ? workload_tape_placed(&model->config, &model->skeleton, &workload, target,
                                                    &model->placement, &model->tape, error)
                             : code;
}

/* Falcon takes one head by a list of one number. PyTorch makes a tensor of it in the host's memory and copies that to the
 * device; our tape has the device's alone. */
enum { INDEX_BYTES = 8 };

static int differing;

static void line_compare(const struct json *line, const struct tape_view *view)
{
    struct pass_figures ours = figures_of(view);
    for (int place = 0; place < DISK; place++) {
        int64_t end = json_integer_or(json_get(json_get(line, "end"), device_names[place]), 0);
        int64_t peak = json_integer_or(json_get(json_get(line, "peak"), device_names[place]), 0);
        int64_t with_index = ours.live[place] + INDEX_BYTES;
        bool scalar = place == CPU && strcmp(shadow_text(line, "model"), "tiny-falcon") == 0;
        int64_t highest = scalar && with_index > ours.peak[place] ? with_index : ours.peak[place];
        if (ours.live[place] != end || highest != peak) {
            struct text map = {0};
            assert_int_equal(json_write(json_get(line, "map"), 0, &map, NULL), STATUS_OK);
            differing++;
            print_error(
                "%s %s batch %d seq %d%s %s: %s holds %lld at the end and %lld at most, accelerate %lld and %lld\n",
                shadow_text(line, "model"), shadow_text(line, "attention"),
                (int)json_integer_or(json_get(line, "batch"), 0), (int)json_integer_or(json_get(line, "seq"), 0),
                json_boolean_or(json_get(line, "offload_buffers"), false) ? " buffers offloaded" : "", map.data,
                device_names[place], (long long)ours.live[place], (long long)ours.peak[place], (long long)end,
                (long long)peak);
            text_release(&map);
        }
    }
}

static bool line_check(const struct json *line)
{
    if (strcmp(shadow_text(line, "type"), "case") != 0 || json_get(line, "error") != NULL) {
        return false;
    }
    struct status error = {0};
    struct placed_model model = {0};
    if (model_place(line, &model, &error) != STATUS_OK) {
        differing++;
        print_error("%s: %s\n", shadow_text(line, "model"), error.text);
    } else {
        struct tape_view view = tape_view(model.tape);
        line_compare(line, &view);
    }
    tape_release(model.tape);
    placement_release(&model.placement);
    skeleton_release(&model.skeleton);
    return true;
}

static void each_device_holds_what_accelerate_holds_there(void **state)
{
    (void)state;
    differing = 0;
    int checked = shadow_lines_each(lines_path, line_check);
    print_message("%d passes checked\n", checked);
    assert_true(checked > 200);
    assert_int_equal(differing, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_device_holds_what_accelerate_holds_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
