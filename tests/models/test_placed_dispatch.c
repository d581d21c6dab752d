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

static int line_minimum = 1000;
static const char *lines_path = "peers/placement/dispatch-torch-2.11.0-transformers-5.23.0-accelerate-1.15.0.jsonl";

enum { GPU0, GPU1, CPU, DISK, PLACES, ENTRIES_MAXIMUM = 256 };

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

static enum status_code model_place(const struct json *line, struct placed_model *model, struct status *error)
{
    struct placement_entry entries[ENTRIES_MAXIMUM];
    struct placement_plan plan;
    const struct target *target = NULL;
    struct workload workload = workload_default(MODE_INFER);
    workload.batch = json_integer_or(json_get(line, "batch"), 0);
    workload.seq = json_integer_or(json_get(line, "seq"), 0);
    workload.attention = strcmp(shadow_text(line, "attention"), "eager") == 0 ? ATTENTION_EAGER : ATTENTION_SDPA;
    plan_read(line, &plan, entries);
    enum status_code code = config_find("models/catalogue", shadow_text(line, "model"), &model->config, error);
    code = code == STATUS_OK ? target_find("sm_90", &target, error) : code;
    code = code == STATUS_OK ? workload_skeleton(&model->config, &workload, &model->skeleton, error) : code;
    code = code == STATUS_OK ? placement_build(&model->skeleton, &plan, &model->placement, error) : code;
    return code == STATUS_OK ? workload_tape_placed(&model->config, &model->skeleton, &workload, target,
                                                    &model->placement, &model->tape, error)
                             : code;
}

/* extract_submodules_state_dict finds nothing below the root's own key, so that accelerate lacks the weights that it is to bring. */
static bool fault_is_theirs(const char *fault)
{
    return strncmp(fault, "KeyError: ", 10) == 0;
}

/* What differs, and why: ours and theirs: the peaks in this place; end: what both hold at the end. */
static bool difference_is_known(const struct json *line, int place, int64_t ours, int64_t end, int64_t theirs)
{
    enum { INDEX_BYTES = 8 };
    const char *model = shadow_text(line, "model");
    /* Falcon takes one head by a list of one number. PyTorch makes a tensor of it in the host's memory and copies that to the
     * device; our tape has the device's alone. */
    if (strncmp(model, "tiny-falcon", 11) == 0 && place == CPU) {
        return theirs == end + INDEX_BYTES && ours == end;
    }
    /* Our causal mask is one operation; on the way to theirs there are two ranges and booleans. All of that lies beside the embedded
     * words, where nothing larger comes if no layer runs there: the words are on another device than the model's inputs. */
    int64_t rows = json_integer_or(json_get(line, "seq"), 0);
    if (theirs > ours && json_get(line, "main") != NULL && theirs - ours <= 2 * 8 * rows + 2 * rows * rows + 16) {
        return true;
    }
    /* layer_norm copies pixels inside of the operator, where the ledger does not see it */
    return strcmp(model, "tiny-convnext") == 0 && json_get(line, "main") != NULL && ours > theirs &&
           ours - theirs <= 2 * 4 * 64;
}

static int differing, refused;

static void difference_tell(const struct json *line, const char *what)
{
    struct text text = {0};
    assert_int_equal(json_write(line, 0, &text, NULL), STATUS_OK);
    print_error("%s\n  %s\n", text.data, what);
    text_release(&text);
    differing++;
}

static void line_compare(const struct json *line, const struct tape_view *view)
{
    struct pass_figures ours = figures_of(view);
    for (int place = 0; place < DISK; place++) {
        int64_t end = json_integer_or(json_get(json_get(line, "end"), device_names[place]), 0);
        int64_t peak = json_integer_or(json_get(json_get(line, "peak"), device_names[place]), 0);
        bool same = ours.peak[place] == peak || difference_is_known(line, place, ours.peak[place], end, peak);
        if (ours.live[place] != end || !same) {
            char what[160];
            snprintf(what, sizeof what, "%s: %lld at the end and %lld at most, accelerate %lld and %lld",
                     device_names[place], (long long)ours.live[place], (long long)ours.peak[place], (long long)end,
                     (long long)peak);
            difference_tell(line, what);
        }
    }
}

static bool line_check(const struct json *line)
{
    if (strcmp(shadow_text(line, "type"), "case") != 0 || json_get(line, "chain") != NULL) {
        return false;
    }
    struct status error = {0};
    struct placed_model model = {0};
    const char *fault = json_string_or(json_get(line, "error"), NULL);
    enum status_code code = model_place(line, &model, &error);
    if (fault != NULL) {
        refused += code == STATUS_INVALID ? 1 : 0;
        if (code != STATUS_INVALID && !fault_is_theirs(fault)) {
            difference_tell(line, "our tape runs");
        }
    } else if (code != STATUS_OK) {
        difference_tell(line, error.text);
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
    differing = refused = 0;
    int checked = shadow_lines_each(lines_path, line_check);
    print_message("%d passes checked, %d that neither runs\n", checked, refused);
    assert_true(checked > line_minimum);
    assert_int_equal(differing, 0);
}

int main(int argc, char **argv)
{
    if (argc > 1) { /* lines of one's own: to look at one model */
        lines_path = argv[1];
        line_minimum = 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_device_holds_what_accelerate_holds_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
