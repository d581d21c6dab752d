/* assay load: loads a checkpoint onto devices as load_checkpoint_in_model does, and measures what it takes. */
#include <string.h>

#include "harness/base/clock.h"
#include "harness/cli/command.h"
#include "harness/cli/load_dispatch.h"
#include "harness/cli/load_table.h"
#include "harness/cli/output.h"
#include "harness/cli/question_progress.h"
#include "harness/run/run_signals.h"

static const struct option_row options[] = {
    {"max-memory", OPTION_VALUE, "DEVICE=SIZE,...", "place by budgets, as device_map=\"auto\": 0=10GB,cpu=50GB"},
    {"map", OPTION_VALUE, "MAP.json", "instead: this device map (assay place --json prints one)"},
    {"device", OPTION_VALUE, "D", "GPUs are: cuda, host (its memory), meta (loads nothing) or auto (default)"},
    {"precision", OPTION_VALUE, "P", "float32, float16 or bfloat16 (default: as the model has each tensor)"},
    {"keep-in-fp32", OPTION_LIST, "NAME", "modules that stay float32 with float16 (default: the model's own), or none"},
    {"offload-folder", OPTION_VALUE, "DIR", "the folder for weights that the map gives to the disk"},
    {"offload-buffers", OPTION_FLAG, NULL, "buffers of modules on the disk go there too; else they are not loaded"},
    {"strict", OPTION_FLAG, NULL, "refuse keys that are unexpected or missing"},
    {"head", OPTION_VALUE, "bare|lm", "without or with the head (default: the one that the checkpoint fits)"},
    {"model", OPTION_VALUE, "MODEL", "the model's configuration (default: config.json beside it, or its tensors)"},
    {"dispatch", OPTION_FLAG, NULL, "then run forward passes there, as load_checkpoint_and_dispatch"},
    {"batch", OPTION_VALUE, "N", "of --dispatch: samples at once (default: 1)"},
    {"seq", OPTION_VALUE, "N", "of --dispatch: tokens of a sample (default: 128)"},
    {"no-plain-read", OPTION_FLAG, NULL, "do not read the files once more to compare the rates"},
    {"json", OPTION_FLAG, NULL, "print one JSON document"},
    {NULL, OPTION_FLAG, NULL, NULL},
};

/* Callbacks while the load runs. */
struct attendance {
    struct run_signals signals;
    struct question_progress progress;
    bool interrupted;
};

static bool attendance_stops(void *context)
{
    struct attendance *self = context;
    self->interrupted = self->interrupted || run_signals_came(&self->signals, 0);
    return self->interrupted;
}

static void attendance_progress(void *context, int64_t done_bytes, int64_t all_bytes)
{
    struct attendance *self = context;
    question_progress_show(&self->progress, "%.0f of %.0f MB", (double)done_bytes / 1e6, (double)all_bytes / 1e6);
}

static void warnings_print(const struct text *warnings)
{
    for (const char *line = text_string(warnings); *line != '\0';) {
        int length = (int)strcspn(line, "\n");
        output_warning("assay: load: %.*s", length, line);
        line += length + (line[length] == '\n' ? 1 : 0);
    }
}

static void figures_compare(const struct load_case *load, struct load_figures *figures)
{
    figures->agrees = true;
    for (int i = 0; i < load->plan.place_count; i++) {
        const struct load_share *told = &figures->predicted.shares[i], *is = &figures->measured.shares[i];
        bool equal = told->requested_bytes_peak == is->requested_bytes_peak &&
                     told->allocated_bytes_peak == is->allocated_bytes_peak &&
                     told->reserved_bytes_peak == is->reserved_bytes_peak && told->stored_bytes == is->stored_bytes &&
                     is->requested_bytes_peak + is->stored_bytes == load->plan.places[i].bytes;
        figures->agrees = figures->agrees && equal;
    }
}

/* The bytes that the drivers of the GPUs count; is_after: how many more than before. */
static void drivers_read(const struct load_case *load, bool is_after, struct load_figures *figures)
{
    for (int i = 0; i < load->plan.place_count; i++) {
        struct device *device = load->lanes[i].device;
        struct device_reading reading = {0};
        if (device == NULL || strncmp(load->lane_names[i], "cuda", 4) != 0 ||
            device->table->read_memory(device, &reading, NULL) != STATUS_OK || !reading.device_valid) {
            figures->driver_bytes[i] = -1;
        } else {
            figures->driver_bytes[i] =
                is_after ? reading.device_bytes - figures->driver_bytes[i] : reading.device_bytes;
        }
    }
}

/* The names and sizes of what goes to the disk, and whether it has room. */
static enum status_code disk_expect(struct load_case *load, struct status *error)
{
    const struct load_plan *plan = &load->plan;
    struct offload_tensor *tensors =
        arena_alloc(&load->place.arena, ((size_t)plan->target_count + 1) * sizeof *tensors);
    int count = 0;
    if (tensors == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a list of tensors");
    }
    for (int i = 0; i < plan->target_count; i++) {
        const struct load_target *target = &plan->targets[i];
        const struct skeleton_tensor *row = &plan->skeleton->tensors[target->tensor];
        if (load->lanes[target->place].store != NULL && target->type->has_dtype) {
            tensors[count++] =
                (struct offload_tensor){target->path, offload_type_of_dtype(target->type->dtype), row->rank, row->size};
        }
    }
    return load->store.writer != NULL ? offload_writer_expect(load->store.writer, tensors, count, error) : STATUS_OK;
}

static enum status_code weights_load(struct load_case *load, const struct load_watch *watch,
                                     struct load_figures *figures, struct status *error)
{
    struct loaded *loaded = NULL;
    struct device_reading before = {0}, after = {0};
    struct device *host = load->host;
    files_forget(&load->files.paths);
    figures->cached_bytes = files_cached_bytes(&load->files.paths);
    drivers_read(load, false, figures);
    bool known = host->table->reset_peak != NULL && host->table->reset_peak(host, NULL) == STATUS_OK &&
                 host->table->read_memory(host, &before, NULL) == STATUS_OK && before.process_valid;
    enum status_code code = load_run(&load->plan, &load->files, load->lanes, watch, &loaded, error);
    if (code != STATUS_OK) {
        return code;
    }
    known = known && host->table->read_memory(host, &after, NULL) == STATUS_OK && after.process_peak_valid;
    drivers_read(load, true, figures);
    figures->host_known = known;
    figures->host_grown_bytes = known ? after.process_peak_bytes - before.process_bytes : 0;
    figures->measured = *loaded_result(loaded);
    size_t bytes = (size_t)load->plan.place_count * sizeof *figures->measured.shares;
    figures->measured.shares = arena_alloc(&load->place.arena, bytes);
    if (figures->measured.shares == NULL) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for the figures");
    } else {
        memcpy(figures->measured.shares, loaded_result(loaded)->shares, bytes);
    }
    enum status_code released = loaded_release(loaded, code == STATUS_OK ? error : NULL);
    return code == STATUS_OK ? released : code;
}

static enum status_code load_measure(const struct arguments *arguments, struct load_case *load,
                                     const struct load_watch *watch, struct load_figures *figures, struct status *error)
{
    const char *device = arguments_value(arguments, "device");
    figures->is_read = device == NULL || strcmp(device, "meta") != 0;
    figures->driver_bytes = arena_alloc(&load->place.arena, (size_t)(load->plan.place_count + 1) * sizeof(int64_t));
    if (figures->driver_bytes == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for the figures");
    }
    enum status_code code = load_predict(&load->plan, load->lanes, &load->place.arena, &figures->predicted, error);
    code = code == STATUS_OK ? disk_expect(load, error) : code;
    code = code == STATUS_OK ? weights_load(load, watch, figures, error) : code;
    if (code == STATUS_OK && load->store.writer != NULL) {
        figures->offloaded = offload_writer_totals(load->store.writer);
        double begin = clock_seconds();
        code = offload_store_finish(&load->store, error); /* waits for the disk */
        figures->measured.store_seconds += clock_seconds() - begin;
    }
    if (code == STATUS_OK && figures->is_read && arguments_value(arguments, "no-plain-read") == NULL) {
        files_forget(&load->files.paths);
        code = plain_read(&load->files.paths, watch, &figures->plain, error);
        figures->has_plain = code == STATUS_OK;
    }
    if (code == STATUS_OK) {
        figures_compare(load, figures);
    }
    return code;
}

static enum status_code result_print(const struct arguments *arguments, const struct load_case *load,
                                     const struct load_figures *figures, struct status *error)
{
    if (arguments_value(arguments, "json") != NULL) {
        struct json *document = load_json(load, figures);
        enum status_code code = output_json(document, error);
        json_release(document);
        return code;
    }
    struct text text = {0};
    load_text_append(load, figures, &text);
    enum status_code code = output_lines(&text, error);
    text_release(&text);
    return code;
}

static enum status_code attended_load(const struct arguments *arguments, struct load_case *load,
                                      struct attendance *attendance, struct load_figures *figures, struct status *error)
{
    const struct load_watch watch = {.stops = attendance_stops, .progress = attendance_progress, .context = attendance};
    enum status_code code = load_devices_open(arguments, load, error);
    if (code == STATUS_OK) {
        code = load_measure(arguments, load, &watch, figures, error);
        load_devices_close(load);
    }
    question_progress_end(&attendance->progress);
    return code;
}

/* Whether a signal ended it; says so. */
static bool interruption_told(const struct attendance *attendance, enum status_code code, enum exit_code *exit_code,
                              const struct status *error)
{
    bool is_told = attendance->interrupted && code == STATUS_UNAVAILABLE;
    char line[STATUS_LINE_BYTES];
    if (is_told) {
        output_warning("assay: %s; nothing is left of it",
                       error != NULL ? status_line(error, line) : "the load was interrupted");
        *exit_code = EXIT_CODE_INCOMPLETE;
    }
    return is_told;
}

static enum status_code load_print(const struct arguments *arguments, const struct load_case *load,
                                   const struct load_figures *figures, enum exit_code *exit_code, struct status *error)
{
    enum status_code code = result_print(arguments, load, figures, error);
    if (code == STATUS_OK && (!figures->agrees || load->plan.missing.count > 0)) {
        *exit_code = EXIT_CODE_FAIL;
        exit_reason_print("load", EXIT_CODE_FAIL,
                          figures->agrees ? "the checkpoint does not have all that the model has"
                                          : "the measurement differs from the prediction");
    }
    return code;
}

static enum status_code load_command_run(const struct arguments *arguments, enum exit_code *exit_code,
                                         struct status *error)
{
    struct load_case load;
    struct load_figures figures = {0};
    struct attendance attendance = {.progress = {.command = "load", .pause_seconds = 0.2}};
    const struct load_watch quiet = {.stops = attendance_stops, .context = &attendance};
    bool dispatches = false;
    enum status_code code = load_dispatch_wanted(arguments, &dispatches, error);
    code = code == STATUS_OK ? load_case_open(arguments, &load, error) : code;
    if (code != STATUS_OK) {
        return code;
    }
    warnings_print(&load.device_plan.warnings);
    warnings_print(&load.plan.warnings);
    code = run_signals_open(&attendance.signals, error);
    if (code == STATUS_OK) {
        code = dispatches ? load_dispatch_run(arguments, &load, &quiet, exit_code, error)
                          : attended_load(arguments, &load, &attendance, &figures, error);
        run_signals_close(&attendance.signals);
    }
    if (interruption_told(&attendance, code, exit_code, error)) {
        code = STATUS_OK;
    } else if (code == STATUS_OK && !dispatches) {
        code = load_print(arguments, &load, &figures, exit_code, error);
    }
    load_case_close(&load);
    return code;
}

const struct command command_load = {
    .name = "load",
    .operands = "CHECKPOINT",
    .summary = "load a checkpoint onto devices, as accelerate does, and measure it",
    .details = "CHECKPOINT: a file of safetensors, an index, or a folder.\n"
               "\n"
               "The decisions are those of load_checkpoint_in_model (accelerate 1.15); docs/LOADING.md lists them,\n"
               "and how ours differ. assay reads and casts every tensor, puts it where it belongs, and gives the\n"
               "memory back at the end; what goes to the disk stays in the offload folder.\n"
               "\n"
               "Exit codes:\n"
               "  1  keys are missing, or a device held other bytes than predicted\n"
               "  2  the checkpoint or an option is wrong\n"
               "  3  a device is full; nothing is left of the load then\n"
               "  5  another run has a GPU\n"
               "  7  the load was interrupted; nothing is left of it\n",
    .options = options,
    .operand_minimum = 1,
    .operand_maximum = 1,
    .run = load_command_run,
};
