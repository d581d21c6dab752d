/* Load table: layout alone. */
#include "harness/cli/load_table.h"

#include <inttypes.h>

#include "harness/base/size.h"
#include "harness/cli/model_notes.h"
#include "harness/cli/output.h"
#include "harness/cli/weights_json.h"
#include "harness/placement/plan_json.h"

enum { NAMES_SHOWN = 10 };

static double rate_of(int64_t bytes, double seconds)
{
    return bytes > 0 && seconds > 0.0 ? (double)bytes / seconds : 0.0;
}

double load_rate(const struct load_figures *figures)
{
    return rate_of(figures->measured.read_bytes, figures->measured.transfer_seconds);
}

/* -- text */

static const char *type_words(const struct load_case *load)
{
    return load->request.type != NULL ? dtype_name(load->request.type->dtype)
                                      : dtype_name(load->place.model.config.dtype);
}

/* Without the index. */
static int file_count(const struct load_case *load)
{
    bool has_index = load->files.checkpoint->format == CHECKPOINT_SAFETENSORS_INDEX;
    return load->files.checkpoint->file_count - (has_index ? 1 : 0);
}

static void head_lines(const struct load_case *load, struct text *text)
{
    char size[SIZE_TEXT_BYTES];
    const struct load_plan *plan = &load->plan;
    int files = file_count(load);
    text_format(text, "%s (%s) from ", load->place.model.config.model_type,
                load->place.skeleton.head == HEAD_BARE ? "bare" : "with head");
    printable_append(load->files.checkpoint->name, text);
    text_format(text, ", %d %s: %d of %d tensors, %s, as %s%s\n", files, files == 1 ? "file" : "files",
                plan->piece_count, load->files.checkpoint->tensor_count, size_format(plan->stored_bytes, size),
                type_words(load), load->request.type == NULL ? ", as the model has it" : "");
    if (plan->cast_count + plan->renamed_count + plan->tied_count > 0) {
        text_format(text, "%d cast on the way, %d under names that the model does not have, %d stored twice and tied\n",
                    plan->cast_count, plan->renamed_count, plan->tied_count);
    }
}

enum { WIDE_COLUMNS = 80 };

static void device_line(const struct load_case *load, const struct load_figures *figures, int i, bool is_wide,
                        struct text *text)
{
    char device[DEVICE_TEXT_BYTES], placed[SIZE_TEXT_BYTES], predicted[SIZE_TEXT_BYTES], measured[SIZE_TEXT_BYTES],
        reserved[SIZE_TEXT_BYTES];
    const struct load_place *place = &load->plan.places[i];
    const struct load_share *share = &figures->measured.shares[i], *told = &figures->predicted.shares[i];
    bool is_disk = load->lanes[i].store != NULL;
    text_format(text, "%-6s %11s %11s %11s %11s", placement_device_name(place->device, device),
                size_format(place->bytes, placed),
                size_format(is_disk ? told->stored_bytes : told->requested_bytes_peak, predicted),
                size_format(is_disk ? share->stored_bytes : share->requested_bytes_peak, measured),
                is_disk ? "-" : size_format(share->reserved_bytes_peak, reserved));
    text_format(text, "%s%d %s, %s\n", is_wide ? "  " : "\n    ", place->target_count,
                place->target_count == 1 ? "tensor" : "tensors", load->lane_names[i]);
}

/* A GPU that has its budget and no more. */
static void reserved_line(const struct load_case *load, const struct load_figures *figures, int i, struct text *text)
{
    char device[DEVICE_TEXT_BYTES], over_text[SIZE_TEXT_BYTES];
    struct placement_device is = load->plan.places[i].device;
    int64_t budget = load_budget(load, is), over = figures->measured.shares[i].reserved_bytes_peak - budget;
    if (is.kind == PLACEMENT_GPU && budget > 0 && over > 0) {
        text_format(text,
                    "device %s: the allocator reserves %s more than its budget: a GPU with that and no more would "
                    "have run out of memory\n",
                    placement_device_name(is, device), size_format(over, over_text));
    }
}

static void device_lines(const struct load_case *load, const struct load_figures *figures, struct text *text)
{
    bool is_wide = table_width() >= WIDE_COLUMNS;
    text_format(text, "\n%-6s %11s %11s %11s %11s%s\n", "device", "placed", "predicted", "peak", "reserved",
                is_wide ? "  is" : "");
    for (int i = 0; i < load->plan.place_count; i++) {
        device_line(load, figures, i, is_wide, text);
    }
    for (int i = 0; i < load->plan.place_count; i++) {
        reserved_line(load, figures, i, text);
    }
    text_append(text, figures->agrees ? "" : "the measurement differs from the prediction\n");
}

/* In what state the two reads found the page cache. */
static void cache_line(const struct load_figures *figures, struct text *text)
{
    int64_t load = figures->cached_bytes, plain = figures->plain.cached_bytes;
    char load_text[SIZE_TEXT_BYTES], plain_text[SIZE_TEXT_BYTES];
    if (load < 0 || plain < 0) {
        text_append(text, "the kernel does not say how much of the files the page cache had before these reads\n");
    } else if (load == 0 && plain == 0) {
        text_append(text, "the page cache had none of the files before either read\n");
    } else {
        text_format(text, "of the files, the page cache had %s before the load and %s before the plain read\n",
                    size_format(load, load_text), size_format(plain, plain_text));
    }
}

static void host_lines(const struct load_case *load, const struct load_figures *figures, struct text *text)
{
    char most[SIZE_TEXT_BYTES], staging[SIZE_TEXT_BYTES], flight[SIZE_TEXT_BYTES], grown[SIZE_TEXT_BYTES];
    if (!figures->is_read) {
        text_append(text, "\nnothing was read: the devices are meta\n");
        return;
    }
    text_format(text, "\nhost memory: %s predicted: its part, or the largest tensor on its way to the disk (%s)",
                size_format(figures->predicted.host_bytes_predicted, most),
                size_format(figures->measured.in_flight_bytes_peak, flight));
    text_format(text, "%s, and %s of %sstaging; ", load->stands ? ", the GPUs that it stands for" : "",
                size_format(LOAD_STAGING_BYTES, staging), figures->measured.staging_is_pinned ? "pinned " : "");
    if (figures->host_known) {
        text_format(text, "this process grew by %s\n", size_format(figures->host_grown_bytes, grown));
    } else {
        text_append(text, "and the kernel does not say by how much this process grew\n");
    }
    double rate = load_rate(figures), plain = rate_of(figures->plain.bytes, figures->plain.seconds);
    text_format(text,
                "read: %" PRId64 " bytes in %.3f s, %.0f MB/s; taking memory took %.3f s, writing to the disk %.3f s\n",
                figures->measured.read_bytes, figures->measured.transfer_seconds, rate / 1e6,
                figures->measured.allocate_seconds, figures->measured.store_seconds);
    if (figures->has_plain && plain > 0.0) {
        text_format(text, "a plain read of the same files: %.0f MB/s; the load reaches %.2f of it\n", plain / 1e6,
                    rate / plain);
        cache_line(figures, text);
    }
}

static void names_lines(const char *heading, const struct name_list *list, struct text *text)
{
    if (list->count == 0) {
        return;
    }
    text_format(text, "\n%s\n", heading);
    for (int i = 0; i < list->count && i < NAMES_SHOWN; i++) {
        text_append(text, "  ");
        printable_append(list->names[i], text);
        text_append(text, "\n");
    }
    if (list->count > NAMES_SHOWN) {
        text_format(text, "  and %d more; --json has all\n", list->count - NAMES_SHOWN);
    }
}

void load_text_append(const struct load_case *load, const struct load_figures *figures, struct text *text)
{
    head_lines(load, text);
    device_lines(load, figures, text);
    host_lines(load, figures, text);
    names_lines("missing: the model has them, the checkpoint has not", &load->plan.missing, text);
    names_lines("unexpected: the checkpoint has them, the model has not", &load->plan.unexpected, text);
    names_lines("not loaded: buffers of modules on the disk", &load->plan.unloaded, text);
}

/* -- JSON */

static struct json *share_json(const struct load_share *share, bool is_disk)
{
    struct json *object = json_object_new();
    bool made = is_disk ? json_set(object, "stored_bytes", json_integer_new(share->stored_bytes))
                        : level_peaks_set(object, share->peaks);
    return json_made(object, made);
}

static struct json *devices_json(const struct load_case *load, const struct load_figures *figures)
{
    struct json *list = json_array_new();
    bool made = true;
    for (int i = 0; i < load->plan.place_count && made; i++) {
        const struct load_place *place = &load->plan.places[i];
        bool is_disk = load->lanes[i].store != NULL, told = figures->driver_bytes[i] >= 0;
        struct json *row = json_object_new();
        made = json_set(row, "device", placement_device_json(place->device)) &&
               json_set(row, "is", json_string_new(load->lane_names[i])) &&
               json_set(row, "tensor_count", json_integer_new(place->target_count)) &&
               json_set(row, "budget_bytes",
                        load_budget(load, place->device) > 0 ? json_integer_new(load_budget(load, place->device))
                                                             : json_null_new()) &&
               json_set(row, "placed_bytes", json_integer_new(place->bytes)) &&
               json_set(row, "predicted", share_json(&figures->predicted.shares[i], is_disk)) &&
               json_set(row, "measured", share_json(&figures->measured.shares[i], is_disk)) &&
               json_set(row, "driver_bytes", told ? json_integer_new(figures->driver_bytes[i]) : json_null_new());
        made = json_append(list, json_made(row, made)) && made;
    }
    return json_made(list, made);
}

static struct json *names_json(const struct name_list *names)
{
    struct json *list = json_array_new();
    bool made = true;
    for (int i = 0; i < names->count && made; i++) {
        made = json_append(list, json_string_new(names->names[i]));
    }
    return json_made(list, made);
}

static struct json *reading_json(int64_t bytes, double seconds, int64_t cached_bytes)
{
    struct json *object = json_object_new();
    bool made = json_set(object, "bytes", json_integer_new(bytes)) &&
                json_set(object, "seconds", json_real_new(seconds)) &&
                json_set(object, "bytes_per_second", json_real_new(rate_of(bytes, seconds))) &&
                json_set(object, "cached_bytes", cached_bytes >= 0 ? json_integer_new(cached_bytes) : json_null_new());
    return json_made(object, made);
}

static struct json *host_json(const struct load_figures *figures)
{
    struct json *object = json_object_new();
    bool made = json_set(object, "predicted_bytes_peak", json_integer_new(figures->predicted.host_bytes_predicted)) &&
                json_set(object, "grown_bytes_peak",
                         figures->host_known ? json_integer_new(figures->host_grown_bytes) : json_null_new()) &&
                json_set(object, "in_flight_bytes_peak", json_integer_new(figures->measured.in_flight_bytes_peak)) &&
                json_set(object, "staging_bytes", json_integer_new(LOAD_STAGING_BYTES)) &&
                json_set(object, "staging_is_pinned", json_boolean_new(figures->measured.staging_is_pinned));
    return json_made(object, made);
}

static struct json *map_json(const struct device_map *map)
{
    struct json *object = json_object_new();
    bool made = true;
    for (int i = 0; i < map->count && made; i++) {
        made = json_set(object, map->entries[i].path, placement_device_json(map->entries[i].device));
    }
    return json_made(object, made);
}

static struct json *offload_json(const struct load_case *load, const struct load_figures *figures)
{
    if (load->offload_folder == NULL || figures->offloaded.written_count == 0) {
        return json_null_new();
    }
    struct json *object = json_object_new();
    bool made = json_set(object, "folder", json_string_new(load->offload_folder)) &&
                json_set(object, "tensor_count", json_integer_new(figures->offloaded.written_count)) &&
                json_set(object, "bytes", json_integer_new(figures->offloaded.written_bytes));
    return json_made(object, made);
}

static bool keys_set(const struct load_case *load, struct json *object)
{
    const struct load_plan *plan = &load->plan;
    return json_set(object, "missing", names_json(&plan->missing)) &&
           json_set(object, "unexpected", names_json(&plan->unexpected)) &&
           json_set(object, "not_loaded", names_json(&plan->unloaded)) &&
           json_set(object, "loaded_count", json_integer_new(plan->piece_count)) &&
           json_set(object, "cast_count", json_integer_new(plan->cast_count)) &&
           json_set(object, "renamed_count", json_integer_new(plan->renamed_count)) &&
           json_set(object, "tied_count", json_integer_new(plan->tied_count));
}

struct json *load_json(const struct load_case *load, const struct load_figures *figures)
{
    const struct load_result *measured = &figures->measured;
    struct json *object = json_object_new();
    bool made = json_set(object, "model", json_string_new(load->place.model.config.name)) &&
                json_set(object, "checkpoint", json_string_new(load->files.checkpoint->name)) &&
                json_set(object, "file_count", json_integer_new(file_count(load))) &&
                json_set(object, "head", json_string_new(load->place.skeleton.head == HEAD_BARE ? "bare" : "lm")) &&
                json_set(object, "precision",
                         load->request.type != NULL ? json_string_new(type_words(load)) : json_null_new()) &&
                json_set(object, "device_map", map_json(&load->map)) &&
                json_set(object, "devices", devices_json(load, figures)) &&
                json_set(object, "host", host_json(figures)) && keys_set(load, object) &&
                json_set(object, "read",
                         figures->is_read
                             ? reading_json(measured->read_bytes, measured->transfer_seconds, figures->cached_bytes)
                             : json_null_new()) &&
                json_set(object, "allocate_seconds", json_real_new(measured->allocate_seconds)) &&
                json_set(object, "store_seconds", json_real_new(measured->store_seconds)) &&
                json_set(object, "plain_read",
                         figures->has_plain
                             ? reading_json(figures->plain.bytes, figures->plain.seconds, figures->plain.cached_bytes)
                             : json_null_new()) &&
                json_set(object, "offloaded", offload_json(load, figures)) &&
                json_set(object, "pass", json_boolean_new(figures->agrees && load->plan.missing.count == 0)) &&
                json_set(object, "warnings", notes_json(&load->plan.warnings)) &&
                json_set(object, "notes", notes_json(&load->place.notes));
    return json_made(object, made);
}
