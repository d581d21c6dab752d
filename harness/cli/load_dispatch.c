/* Load dispatch: the case, its devices, and what is printed of it. The load and the passes are
 * harness/question/placed_load.c's. */
#include "harness/cli/load_dispatch.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/cli/gpu_locks.h"
#include "harness/cli/model_notes.h"
#include "harness/cli/output.h"
#include "harness/cli/placed_json.h"
#include "harness/cli/placed_lines.h"
#include "harness/question/placed_load.h"

static const char *const pass_keys[] = {"batch", "seq"};

enum { PASS_KEYS = sizeof pass_keys / sizeof pass_keys[0] };

struct dispatch {
    const struct load_case *load;
    struct workload workload;
    struct placed_question question;
    enum placed_ground ground;
    struct placed_tape placed;
    struct placed_lanes lanes;
    struct placed_load_outcome predicted, measured;
    struct offload_totals offloaded;
    struct arena arena;
};

enum status_code load_dispatch_wanted(const struct arguments *arguments, bool *wanted, struct status *error)
{
    *wanted = arguments_value(arguments, "dispatch") != NULL;
    for (int i = 0; i < PASS_KEYS && !*wanted; i++) {
        if (arguments_value(arguments, pass_keys[i]) != NULL) {
            return status_set(error, STATUS_INVALID,
                              "load: --%s belongs to a forward pass; add --dispatch, which runs one on the loaded "
                              "model, or leave it out",
                              pass_keys[i]);
        }
    }
    return STATUS_OK;
}

/* -- the case */

static enum status_code workload_make(const struct arguments *arguments, struct dispatch *self, struct status *error)
{
    struct workload made = workload_default(MODE_INFER);
    enum status_code code = workload_set(&made, "precision", self->load->place.request.width->name, error);
    made.head = self->load->place.skeleton.head;
    for (int i = 0; i < PASS_KEYS && code == STATUS_OK; i++) {
        const char *value = arguments_value(arguments, pass_keys[i]);
        code = value != NULL ? workload_set(&made, pass_keys[i], value, error) : STATUS_OK;
    }
    code = code == STATUS_OK ? workload_check(&made, error) : code;
    self->workload = made;
    return code;
}

/* What GPUs of the map are here, and of which class the first one is. */
static enum status_code ground_find(const struct arguments *arguments, struct dispatch *self, struct status *error)
{
    const char *given = arguments_value(arguments, "device"), *asked = given != NULL ? given : "auto";
    const struct load_place *first = &self->load->plan.places[0];
    struct device *device = NULL;
    struct device_properties properties = {0};
    char spec[DEVICE_SPEC_BYTES];
    bool tries = strcmp(asked, "auto") == 0 || strcmp(asked, "cuda") == 0;
    self->ground = strcmp(asked, "meta") == 0 ? PLACED_ON_META : PLACED_ON_HOST;
    if (!tries || first->device.kind != PLACEMENT_GPU) {
        return STATUS_OK;
    }
    snprintf(spec, sizeof spec, "cuda:%d", first->device.index);
    enum status_code code = device_open(spec, &device, error);
    if (code == STATUS_UNAVAILABLE && strcmp(asked, "cuda") != 0) {
        return STATUS_OK;
    }
    code = code == STATUS_OK ? device->table->properties(device, &properties, error) : code;
    device_close(device);
    self->ground = PLACED_ON_GPUS;
    return code == STATUS_OK ? target_find(properties.target, &self->question.target, error) : code;
}

static enum status_code tape_make(const struct arguments *arguments, struct dispatch *self, struct status *error)
{
    const struct load_case *load = self->load;
    enum status_code code = workload_make(arguments, self, error);
    self->question = (struct placed_question){.config = &load->place.model.config,
                                              .skeleton = &load->place.skeleton,
                                              .workload = &self->workload,
                                              .target = target_at(0),
                                              .offload_buffers = load->request.offload_buffers};
    code = code == STATUS_OK ? ground_find(arguments, self, error) : code;
    return code == STATUS_OK ? placed_tape_build(&self->question, &load->map, &self->placed, error) : code;
}

static enum status_code lanes_run(const struct placed_load *load, struct dispatch *self, const struct load_watch *watch,
                                  struct status *error)
{
    const char *folder = self->load->offload_folder;
    struct gpu_locks locks = {0};
    enum status_code code = placed_lanes_open_in(&self->placed, self->ground, folder, &self->lanes, error);
    for (int i = 0; i < self->lanes.count && code == STATUS_OK; i++) {
        code = gpu_locks_add(self->lanes.lanes[i].device, "assay load", &locks, error);
    }
    code = code == STATUS_OK ? placed_load_run(load, &self->lanes, watch, &self->arena, &self->measured, error) : code;
    if (code == STATUS_OK && self->measured.is_loaded) {
        code = placed_lanes_keep(&self->lanes, &self->offloaded, error);
    }
    placed_lanes_close(&self->lanes);
    gpu_locks_release(&locks);
    return code;
}

static bool dispatch_agrees(const struct dispatch *self)
{
    const struct placed_outcome *told = &self->predicted.run, *is = &self->measured.run;
    bool agrees = told->fits == is->fits && self->predicted.is_loaded == self->measured.is_loaded;
    for (int i = 0; i < self->placed.place_count; i++) {
        for (int stage = 0; stage < STAGE_COUNT; stage++) {
            agrees =
                agrees && placed_stage_agrees(&told->result.lanes[i].stages[stage], &is->result.lanes[i].stages[stage]);
        }
    }
    return agrees;
}

/* -- what a device holds at its peak */

struct anatomy {
    int64_t brought_bytes; /* weights that are not kept there: of the blocks that run */
    int64_t other_bytes;   /* activations, workspaces, what the model is fed */
};

static struct anatomy anatomy_of(const struct dispatch *self, int place)
{
    const struct replay_stage *pass = &self->measured.run.result.lanes[place].stages[STAGE_FORWARD];
    int64_t weights = pass->categories_at_peak[CATEGORY_WEIGHTS] + pass->categories_at_peak[CATEGORY_BUFFERS];
    return (struct anatomy){weights - self->placed.placed_bytes[place], pass->requested_bytes_peak - weights};
}

static int64_t peak_of(const struct placed_load_outcome *outcome, int place)
{
    return outcome->run.result.lanes[place].requested_bytes_peak;
}

/* -- text */

enum { WIDE_COLUMNS = 76 };

/* Narrow: what a peak is made of stands on a line of its own. */
static void device_line(const struct dispatch *self, int place, bool is_wide, struct text *text)
{
    char name[DEVICE_TEXT_BYTES], sizes[6][SIZE_TEXT_BYTES];
    const struct anatomy is = anatomy_of(self, place);
    placement_device_name(self->placed.devices[place], name);
    size_format(self->placed.placed_bytes[place], sizes[0]);
    size_format(is.brought_bytes, sizes[1]);
    size_format(is.other_bytes, sizes[2]);
    size_format(peak_of(&self->predicted, place), sizes[3]);
    size_format(peak_of(&self->measured, place), sizes[4]);
    size_format(placed_peak_reserved(&self->measured.run.result.lanes[place]), sizes[5]);
    if (is_wide) {
        text_format(text, "%-6s %10s %10s %10s %10s %10s %10s\n", name, sizes[0], sizes[1], sizes[2], sizes[3],
                    sizes[4], sizes[5]);
    } else {
        text_format(text, "%-6s %10s %10s %10s %10s\n    brought %s, others %s\n", name, sizes[0], sizes[3], sizes[4],
                    sizes[5], sizes[1], sizes[2]);
    }
}

static void device_lines(const struct dispatch *self, struct text *text)
{
    bool is_wide = table_width() >= WIDE_COLUMNS;
    text_format(text, "%-6s %10s%s %10s %10s %10s\n", "device", "placed", is_wide ? "    brought     others" : "",
                "predicted", "peak", "reserved");
    for (int i = 0; i < self->placed.place_count; i++) {
        device_line(self, i, is_wide, text);
    }
}

/* A GPU that has its budget and no more. */
static void budget_line(const struct dispatch *self, int place, struct text *text)
{
    char name[DEVICE_TEXT_BYTES], over[SIZE_TEXT_BYTES];
    struct placement_device device = self->placed.devices[place];
    int64_t budget = load_budget(self->load, device);
    int64_t reserved = placed_peak_reserved(&self->measured.run.result.lanes[place]);
    if (device.kind == PLACEMENT_GPU && budget > 0 && reserved > budget) {
        text_format(
            text,
            "device %s: %s more than its budget are reserved: a GPU with that and no more would have run out of "
            "memory\n",
            placement_device_name(device, name), size_format(reserved - budget, over));
    }
}

static void host_line(const struct dispatch *self, struct text *text)
{
    char told[SIZE_TEXT_BYTES], loading[SIZE_TEXT_BYTES], running[SIZE_TEXT_BYTES];
    if (self->ground == PLACED_ON_META) {
        return;
    }
    text_format(text, "\nhost memory: %s predicted while it is loaded",
                size_format(self->measured.load.host_bytes_predicted, told));
    if (self->measured.host_known) {
        text_format(text, "; this process grew by %s, and by %s in the passes",
                    size_format(self->measured.load_grown_bytes, loading),
                    size_format(self->measured.run_grown_bytes, running));
    }
    text_append(text, "\n");
}

static enum status_code lines_print(const struct dispatch *self, struct status *error)
{
    struct text text = {0};
    char size[SIZE_TEXT_BYTES];
    const struct load_case *load = self->load;
    text_format(&text, "%s (%s) in %s, loaded and run forward: batch %" PRId64 ", seq %" PRId64 "\n\n",
                load->place.model.config.model_type, load->place.skeleton.head == HEAD_BARE ? "bare" : "with head",
                load->place.request.width->name, self->workload.batch, self->workload.seq);
    if (!self->measured.run.fits) {
        text_format(&text, "out of memory: %s\n", self->measured.run.reason);
    } else {
        device_lines(self, &text);
        for (int i = 0; i < self->placed.place_count; i++) {
            budget_line(self, i, &text);
        }
        text_append(&text, dispatch_agrees(self) ? "peak = placed + brought for the blocks that run + others "
                                                   "(activations, workspaces); as predicted\n"
                                                 : "the measurement differs from the prediction\n");
        host_line(self, &text);
        placed_copies_append(&self->placed, &self->measured.run.result, "copied between devices by two passes:", &text);
        if (self->offloaded.written_count > 0) {
            text_format(&text, "%s: %d tensors written, %s\n", self->lanes.folder, self->offloaded.written_count,
                        size_format(self->offloaded.written_bytes, size));
        }
    }
    enum status_code code = output_lines(&text, error);
    text_release(&text);
    return code;
}

/* -- JSON */

static struct json *levels_json(const struct placed_load_outcome *outcome, int place)
{
    const struct replay_result *lane = &outcome->run.result.lanes[place];
    struct json *object = json_object_new();
    bool made = level_peaks_set(object, lane->peaks);
    return json_made(object, made);
}

static struct json *device_json_of(const struct dispatch *self, int place)
{
    const struct anatomy is = anatomy_of(self, place);
    char name[DEVICE_TEXT_BYTES];
    struct json *object = json_object_new();
    bool made =
        json_set(object, "device", json_string_new(placement_device_name(self->placed.devices[place], name))) &&
        json_set(object, "is", json_string_new(self->lanes.specs[place])) &&
        json_set(object, "placed_bytes", json_integer_new(self->placed.placed_bytes[place])) &&
        json_set(object, "brought_bytes",
                 self->measured.run.fits ? json_integer_new(is.brought_bytes) : json_null_new()) &&
        json_set(object, "other_bytes", self->measured.run.fits ? json_integer_new(is.other_bytes) : json_null_new()) &&
        json_set(object, "predicted",
                 self->predicted.run.fits ? levels_json(&self->predicted, place) : json_null_new()) &&
        json_set(object, "measured", self->measured.run.fits ? levels_json(&self->measured, place) : json_null_new());
    return json_made(object, made);
}

static struct json *host_json(const struct dispatch *self)
{
    const struct placed_load_outcome *is = &self->measured;
    bool is_known = is->is_loaded && self->ground != PLACED_ON_META;
    struct json *object = json_object_new();
    bool made =
        json_set(object, "predicted_bytes_peak", bytes_or_null_json(is_known ? is->load.host_bytes_predicted : -1)) &&
        json_set(object, "load_grown_bytes", bytes_or_null_json(is->host_known ? is->load_grown_bytes : -1)) &&
        json_set(object, "run_grown_bytes", bytes_or_null_json(is->host_known ? is->run_grown_bytes : -1));
    return json_made(object, made);
}

static enum status_code json_print(const struct dispatch *self, struct status *error)
{
    const struct load_case *load = self->load;
    const struct placed_load_outcome *is = &self->measured;
    struct json *document = json_object_new(), *devices = json_array_new();
    bool made = json_set(document, "model", json_string_new(load->place.model.config.model_type)) &&
                json_set(document, "checkpoint", json_string_new(load->files.checkpoint->name)) &&
                json_set(document, "head", json_string_new(head_name(load->place.skeleton.head))) &&
                json_set(document, "precision", json_string_new(load->place.request.width->name)) &&
                json_set(document, "batch", json_integer_new(self->workload.batch)) &&
                json_set(document, "seq", json_integer_new(self->workload.seq));
    for (int i = 0; i < self->placed.place_count && made; i++) {
        made = json_append(devices, device_json_of(self, i));
    }
    made = json_set(document, "devices", devices) && made;
    made = made && json_set(document, "host", host_json(self)) &&
           json_set(document, "copies", placed_copies_json(&self->placed, &is->run.result, true)) &&
           json_set(document, "fits", json_boolean_new(is->run.fits)) &&
           json_set(document, "reason", is->run.fits ? json_null_new() : json_string_new(is->run.reason)) &&
           json_set(document, "offloaded_bytes", json_integer_new(self->offloaded.written_bytes)) &&
           json_set(document, "pass", json_boolean_new(is->run.fits && dispatch_agrees(self))) &&
           json_set(document, "notes", notes_json(&load->place.notes));
    document = json_made(document, made);
    enum status_code code = output_json(document, error);
    json_release(document);
    return code;
}

/* -- the whole */

static enum status_code dispatch_do(const struct arguments *arguments, struct dispatch *self,
                                    const struct load_watch *watch, struct status *error)
{
    const struct placed_load load = {.placed = &self->placed, .plan = &self->load->plan, .files = &self->load->files};
    enum status_code code = tape_make(arguments, self, error);
    code = code == STATUS_OK ? placed_load_check(&load, error) : code;
    code = code == STATUS_OK ? placed_load_predict(&load, &self->arena, &self->predicted, error) : code;
    if (code == STATUS_OK && self->ground == PLACED_ON_META) {
        self->measured = self->predicted;
        for (int i = 0; i < self->placed.place_count; i++) {
            snprintf(self->lanes.specs[i], sizeof self->lanes.specs[i], "meta");
        }
        return STATUS_OK;
    }
    return code == STATUS_OK ? lanes_run(&load, self, watch, error) : code;
}

enum status_code load_dispatch_run(const struct arguments *arguments, struct load_case *load,
                                   const struct load_watch *watch, enum exit_code *exit_code, struct status *error)
{
    struct dispatch *self = calloc(1, sizeof *self);
    if (self == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for the passes");
    }
    self->load = load;
    enum status_code code = dispatch_do(arguments, self, watch, error);
    if (code != STATUS_OK) {
        status_prefix(error, "load");
    } else {
        code = arguments_value(arguments, "json") != NULL ? json_print(self, error) : lines_print(self, error);
    }
    bool fits = self->measured.run.fits;
    if (code == STATUS_OK && (!fits || !dispatch_agrees(self))) {
        *exit_code = EXIT_CODE_FAIL;
        exit_reason_print("load", EXIT_CODE_FAIL,
                          fits ? "the measurement differs from the prediction" : "a device ran out of memory");
    }
    placed_tape_release(&self->placed);
    arena_release(&self->arena);
    free(self);
    return code;
}
