/* Hardware text: a machine as JSON and as lines for people. Not a place where anything is found out. */
#include <stdio.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/hardware/hardware.h"

enum { COLUMN_COUNT = 80, LABEL_COLUMNS = 10 };

static struct json *number_or_null(int64_t value)
{
    return value != HARDWARE_UNKNOWN ? json_integer_new(value) : json_null_new();
}

static struct json *text_or_null(const char *text)
{
    return text != NULL ? json_string_new(text) : json_null_new();
}

static struct json *numa_to_json(const struct hardware *hardware, int index)
{
    const struct hardware_numa *numa = &hardware->numa[index];
    struct json *object = json_object_new();
    bool made = json_set(object, "node", json_integer_new(numa->node)) &&
                json_set(object, "memory_bytes", number_or_null(numa->memory_bytes)) &&
                json_set(object, "cores", text_or_null(numa->cpus.list));
    return json_made(object, made);
}

static struct json *cache_to_json(const struct hardware *hardware, int index)
{
    const struct hardware_cache *cache = &hardware->caches[index];
    struct json *object = json_object_new();
    bool made = json_set(object, "level", json_integer_new(cache->level)) &&
                json_set(object, "type", json_string_new(cache->type)) &&
                json_set(object, "count", json_integer_new(cache->count)) &&
                json_set(object, "total_bytes", number_or_null(cache->total_bytes));
    return json_made(object, made);
}

static struct json *gpu_to_json(const struct hardware *hardware, int index)
{
    const struct hardware_gpu *gpu = &hardware->gpus[index];
    struct json *object = json_object_new();
    bool made = json_set(object, "pci_bus_id", text_or_null(gpu->pci_bus_id)) &&
                json_set(object, "pci_id", text_or_null(gpu->pci_id)) &&
                json_set(object, "vendor", text_or_null(gpu->vendor)) &&
                json_set(object, "model", text_or_null(gpu->model)) &&
                json_set(object, "memory_bytes", number_or_null(gpu->memory_bytes)) &&
                json_set(object, "uuid", text_or_null(gpu->uuid)) &&
                json_set(object, "numa_node", number_or_null(gpu->numa_node)) &&
                json_set(object, "cores", text_or_null(gpu->cpus.list)) &&
                json_set(object, "link_bytes_per_second", number_or_null(gpu->link_bytes_per_second));
    return json_made(object, made);
}

static struct json *list_to_json(const struct hardware *hardware, int count,
                                 struct json *(*to_json)(const struct hardware *hardware, int index))
{
    struct json *array = json_array_new();
    bool complete = array != NULL;
    for (int i = 0; i < count && complete; i++) {
        complete = json_append(array, to_json(hardware, i));
    }
    return json_made(array, complete);
}

struct json *hardware_to_json(const struct hardware *hardware)
{
    struct json *object = json_object_new();
    bool made = json_set(object, "host", text_or_null(hardware->host)) &&
                json_set(object, "kernel", text_or_null(hardware->kernel)) &&
                json_set(object, "cpu_model", text_or_null(hardware->cpu_model)) &&
                json_set(object, "memory_bytes", number_or_null(hardware->memory_bytes)) &&
                json_set(object, "memory_source", json_string_new(hardware->memory_source)) &&
                json_set(object, "package_count", number_or_null(hardware->package_count)) &&
                json_set(object, "core_count", number_or_null(hardware->core_count)) &&
                json_set(object, "pu_count", number_or_null(hardware->pu_count)) &&
                json_set(object, "numa", list_to_json(hardware, hardware->numa_count, numa_to_json)) &&
                json_set(object, "caches", list_to_json(hardware, hardware->cache_count, cache_to_json)) &&
                json_set(object, "gpus", list_to_json(hardware, hardware->gpu_count, gpu_to_json)) &&
                json_set(object, "this_system", json_boolean_new(hardware->this_system)) &&
                json_set(object, "source", text_or_null(hardware->source));
    return json_made(object, made);
}

/* How much of words fits into columns: up to the last comma or semicolon of the second half, else up to the last space,
 * else all of them. */
static size_t line_length(const char *words, size_t columns)
{
    size_t length = strlen(words);
    if (length <= columns) {
        return length;
    }
    for (size_t cut = columns; cut > columns / 2; cut--) {
        if (words[cut - 1] == ',' || words[cut - 1] == ';') {
            return cut;
        }
    }
    for (size_t cut = columns; cut > 0; cut--) {
        if (words[cut] == ' ') {
            return cut;
        }
    }
    return columns;
}

/* One entry: a label, then the words, wrapped under each other. Words that came from outside may hold anything. */
static void entry_append(struct text *text, const char *label, const struct text *words)
{
    const char *rest = text_string(words);
    text->failed = text->failed || words->failed;
    do {
        size_t length = line_length(rest, COLUMN_COUNT - LABEL_COLUMNS);
        text_format(text, "%-*s", LABEL_COLUMNS, label);
        for (size_t i = 0; i < length; i++) {
            unsigned char byte = (unsigned char)rest[i];
            text_append_bytes(text, byte < 0x20 || byte == 0x7f ? "?" : &rest[i], 1);
        }
        text_append(text, "\n");
        rest += length;
        rest += strspn(rest, " ");
        label = "";
    } while (*rest != '\0');
}

static const char *size_or_unknown(int64_t bytes, char buffer[SIZE_TEXT_BYTES])
{
    return bytes != HARDWARE_UNKNOWN ? size_format(bytes, buffer) : "unknown size";
}

static void count_append(struct text *words, const char *separator, int count, const char *one, const char *many)
{
    if (count != HARDWARE_UNKNOWN) {
        text_format(words, "%s%d %s", separator, count, count == 1 ? one : many);
    }
}

static void machine_append(const struct hardware *hardware, struct text *text)
{
    char size[SIZE_TEXT_BYTES];
    struct text words = {0};
    text_format(&words, "%s, %s", hardware->host != NULL ? hardware->host : "unknown host",
                hardware->kernel != NULL ? hardware->kernel : "unknown kernel");
    if (!hardware->this_system) {
        text_format(&words, "; not this machine, but %s", hardware->source);
    }
    entry_append(text, "host", &words);
    text_release(&words);
    text_append(&words, hardware->cpu_model != NULL ? hardware->cpu_model : "unknown processor");
    count_append(&words, "; ", hardware->package_count, "package", "packages");
    count_append(&words, ", ", hardware->core_count, "core", "cores");
    count_append(&words, ", ", hardware->pu_count, "hardware thread", "hardware threads");
    entry_append(text, "cpu", &words);
    text_release(&words);
    text_format(&words, "%s, from %s", size_or_unknown(hardware->memory_bytes, size),
                hardware->this_system ? hardware->memory_source : "the topology");
    entry_append(text, "memory", &words);
    text_release(&words);
}

static void numa_append(const struct hardware_numa *numa, struct text *text)
{
    char size[SIZE_TEXT_BYTES], label[32];
    struct text words = {0};
    text_format(&words, "%s, cores %s", size_or_unknown(numa->memory_bytes, size),
                numa->cpus.list != NULL ? numa->cpus.list : "none");
    snprintf(label, sizeof label, "numa %d", numa->node);
    entry_append(text, label, &words);
    text_release(&words);
}

static void caches_append(const struct hardware *hardware, struct text *text)
{
    char size[SIZE_TEXT_BYTES];
    struct text words = {0};
    for (int i = 0; i < hardware->cache_count; i++) {
        const struct hardware_cache *cache = &hardware->caches[i];
        text_format(&words, "%s%d x L%d %s, together %s", i > 0 ? "; " : "", cache->count, cache->level, cache->type,
                    size_or_unknown(cache->total_bytes, size));
    }
    if (hardware->cache_count > 0) {
        entry_append(text, "caches", &words);
    }
    text_release(&words);
}

static void gpu_append(const struct hardware_gpu *gpu, int index, struct text *text)
{
    char size[SIZE_TEXT_BYTES], label[32];
    struct text words = {0};
    const char *vendor = gpu->vendor != NULL ? gpu->vendor : "unknown maker";
    /* Drivers put the maker into the model's name, the bus does not. */
    bool named = gpu->model != NULL && strncmp(gpu->model, vendor, strlen(vendor)) == 0;
    text_format(&words, "%s%s%s", named ? "" : vendor, named ? "" : " ",
                gpu->model != NULL    ? gpu->model
                : gpu->pci_id != NULL ? gpu->pci_id
                                      : "GPU");
    text_format(&words, " at %s", gpu->pci_bus_id != NULL ? gpu->pci_bus_id : "no PCI bus");
    if (gpu->memory_bytes != HARDWARE_UNKNOWN) {
        text_format(&words, ", %s", size_format(gpu->memory_bytes, size));
    }
    if (gpu->link_bytes_per_second != HARDWARE_UNKNOWN) {
        text_format(&words, ", link %.1f GB/s", (double)gpu->link_bytes_per_second / 1e9);
    }
    if (gpu->numa_node != HARDWARE_UNKNOWN) {
        text_format(&words, ", near NUMA node %d", gpu->numa_node);
    }
    if (gpu->cpus.list != NULL) {
        text_format(&words, ", near cores %s", gpu->cpus.list);
    }
    if (gpu->uuid != NULL) {
        text_format(&words, ", %s", gpu->uuid);
    }
    snprintf(label, sizeof label, "gpu %d", index);
    entry_append(text, label, &words);
    text_release(&words);
}

void hardware_to_text(const struct hardware *hardware, struct text *text)
{
    machine_append(hardware, text);
    for (int i = 0; i < hardware->numa_count; i++) {
        numa_append(&hardware->numa[i], text);
    }
    caches_append(hardware, text);
    for (int i = 0; i < hardware->gpu_count; i++) {
        gpu_append(&hardware->gpus[i], i, text);
    }
    if (hardware->gpu_count == 0) {
        text_format(text, "%-*snone on the PCI bus\n", LABEL_COLUMNS, "gpu");
    }
}
