/* Request line: reading, and what a plan is told apart by. */
#include "tests/placement/request_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/hash.h"
#include "harness/base/size.h"

static bool budgets_read(char *text, struct request_line *line)
{
    char *rest = text;
    while (rest != NULL && *rest != '\0') {
        char *name = strsep(&rest, ","), *bytes = strchr(name, '=');
        struct placement_budget *budget = &line->budgets[line->request.budget_count];
        int64_t count = 0;
        if (bytes == NULL || line->request.budget_count == REQUEST_BUDGETS_MAXIMUM) {
            return false;
        }
        *bytes = '\0';
        if (integer_parse(bytes + 1, 0, INT64_MAX / BITS_PER_BYTE, &count, NULL) != STATUS_OK ||
            !placement_device_from_name(name, &budget->device)) {
            return false;
        }
        budget->bits = count * BITS_PER_BYTE;
        budget->is_float = false;
        line->request.budget_count++;
    }
    line->request.budgets = line->budgets;
    return true;
}

static bool specials_read(char *text, struct request_line *line)
{
    char *rest = text;
    while (rest != NULL && *rest != '\0') {
        char *path = strsep(&rest, ","), *type = strchr(path, '=');
        if (type == NULL || line->request.special_count == REQUEST_SPECIALS_MAXIMUM) {
            return false;
        }
        *type = '\0';
        struct special_width *special = &line->specials[line->request.special_count++];
        *special = (struct special_width){path, storage_width_find(type + 1)};
        if (special->width == NULL) {
            return false;
        }
    }
    line->request.specials = line->specials;
    return true;
}

static bool classes_read(char *text, struct request_line *line)
{
    if (strcmp(text, "own") == 0) {
        return true;
    }
    line->request.no_split = line->classes;
    char *rest = strcmp(text, "none") == 0 ? NULL : text;
    while (rest != NULL && line->request.no_split_count < REQUEST_CLASSES_MAXIMUM) {
        line->classes[line->request.no_split_count++] = strsep(&rest, ",");
    }
    return rest == NULL;
}

bool request_line_read(const char *text, struct request_line *line)
{
    static const char *const strategies[] = {"balanced", "balanced_low_0", "sequential"};
    char *words[5], *rest = line->text;
    int strategy = 0, count = 0;
    line->request = (struct placement_request){0};
    snprintf(line->text, sizeof line->text, "%s", text);
    line->text[strcspn(line->text, "\n")] = '\0';
    while (rest != NULL && count < 5) {
        words[count++] = strsep(&rest, " ");
    }
    while (strategy < 3 && count == 5 && strcmp(words[0], strategies[strategy]) != 0) {
        strategy++;
    }
    if (count != 5 || strategy == 3) {
        return false;
    }
    char *specials = strchr(words[4], ';');
    if (specials != NULL) {
        *specials++ = '\0';
    }
    line->request.strategy = (enum placement_strategy)strategy;
    line->request.width = storage_width_find(words[1]);
    line->request.fallback = strchr(words[3], 'f') != NULL;
    line->request.offload_buffers = strchr(words[3], 'b') != NULL;
    line->request.keeps_keys = strchr(words[3], 'k') != NULL;
    return (line->request.width != NULL || strcmp(words[1], "-") == 0) && classes_read(words[2], line) &&
           budgets_read(words[4], line) && specials_read(specials, line);
}

void request_toy_line(const char *line, struct skeleton_builder *builder)
{
    char kind, name[64], other[64];
    int parent, tied;
    int64_t count;
    enum dtype dtype;
    if (sscanf(line, "module %d %63s %63s", &parent, name, other) == 3) {
        builder_module(builder, parent, strcmp(name, ".") == 0 ? "" : name,
                       arena_copy(&builder->skeleton->arena, other));
    } else if (sscanf(line, "tensor %c %63s %63s %" SCNd64 " %d", &kind, name, other, &count, &tied) == 5 &&
               dtype_from_name(other, &dtype)) {
        const struct buffer_kind buffer = {.dtype = dtype, .persistent = kind == 'b'};
        if (kind == 'p') {
            builder_vector(builder, name, (struct initial){0.0, 0.0}, count);
            builder->skeleton->tensors[builder->skeleton->tensor_count - 1].dtype = dtype;
        } else {
            builder_buffer(builder, name, &buffer, 1, &count);
        }
        builder->skeleton->tensors[builder->skeleton->tensor_count - 1].tied_to = tied;
    }
}

void exception_name(const struct status *error, char word[32])
{
    static const char mark[] = " raises ";
    const char *found = strstr(error->text, mark);
    snprintf(word, 32, "%s", "ValueError");
    if (found != NULL) {
        found += sizeof mark - 1;
        snprintf(word, 32, "%.*s", (int)strspn(found, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"), found);
    } else if (strstr(error->text, "does not end here") != NULL) {
        snprintf(word, 32, "%s", "endless");
    }
}

static int entry_compare(const void *a, const void *b)
{
    return strcmp(((const struct device_map_entry *)a)->path, ((const struct device_map_entry *)b)->path);
}

uint64_t device_plan_hash(const struct device_plan *plan)
{
    uint64_t hash = HASH_START;
    char device[DEVICE_TEXT_BYTES], line[64];
    struct device_map_entry *entries = calloc((size_t)plan->map.count + 1, sizeof *entries);
    if (entries == NULL) {
        return 0;
    }
    memcpy(entries, plan->map.entries, (size_t)plan->map.count * sizeof *entries);
    qsort(entries, (size_t)plan->map.count, sizeof *entries, entry_compare);
    for (int i = 0; i < plan->map.count; i++) {
        hash = hash_text(hash_text(hash, entries[i].path), "=");
        hash = hash_text(hash_text(hash, placement_device_name(entries[i].device, device)), "\n");
    }
    for (int i = 0; i < plan->budget_count; i++) {
        snprintf(line, sizeof line, "@%s=%" PRId64 "\n", placement_device_name(plan->budgets[i].device, device),
                 plan->budgets[i].bits);
        hash = hash_text(hash, line);
    }
    free(entries);
    return hash;
}
