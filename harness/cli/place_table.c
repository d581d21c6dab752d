/* Table of a plan: layout alone. */
#include "harness/cli/place_table.h"

#include <inttypes.h>
#include <string.h>

#include "harness/base/size.h"

static const char *bits_format(int64_t bits, char text[SIZE_TEXT_BYTES])
{
    return size_format(bits < 0 ? -bits_to_bytes(-bits) : bits_to_bytes(bits), text);
}

/* The number that a path ends in, "model.layers.12"; -1: it ends in none. *stem: the bytes before it. */
static int64_t path_number(const char *path, size_t *stem)
{
    const char *last = strrchr(path, '.');
    const char *part = last != NULL ? last + 1 : path;
    int64_t number = -1;
    *stem = (size_t)(part - path);
    return integer_parse(part, 0, INT32_MAX, &number, NULL) == STATUS_OK ? number : -1;
}

/* The entry of the same device after i, or count. */
static int entry_next(const struct device_map *map, int i)
{
    int next = i + 1;
    while (next < map->count && !placement_device_equal(map->entries[next].device, map->entries[i].device)) {
        next++;
    }
    return next;
}

void place_modules_append(const struct device_map *map, struct placement_device device, struct text *text)
{
    const char *separator = "";
    for (int i = 0; i < map->count; i++) {
        size_t stem = 0, next_stem = 0;
        const char *path = map->entries[i].path;
        if (!placement_device_equal(map->entries[i].device, device)) {
            continue;
        }
        int64_t first = path_number(path, &stem), last = first;
        for (int next = entry_next(map, i); first >= 0 && next < map->count; next = entry_next(map, i)) {
            int64_t number = path_number(map->entries[next].path, &next_stem);
            if (number != last + 1 || next_stem != stem || strncmp(map->entries[next].path, path, stem) != 0) {
                break;
            }
            last = number;
            i = next;
        }
        text_append(text, separator);
        text_append(text, path[0] == '\0' ? "the whole model" : path);
        if (last > first) {
            text_format(text, "-%" PRId64, last);
        }
        separator = ", ";
    }
    if (separator[0] == '\0') {
        text_append(text, "nothing");
    }
}

enum { MODULES_BESIDE_COLUMNS = 80 };

const char *place_modules_separator(int columns)
{
    return columns < MODULES_BESIDE_COLUMNS ? "\n    " : "  ";
}

enum { MODULES_COLUMN = 56, MODULES_BELOW_COLUMN = 4 };

/* Names of modules in lines of so many columns, each below the first; a name is not broken. */
static void modules_wrap(const char *names, int columns, struct text *text)
{
    int indent = columns < MODULES_BESIDE_COLUMNS ? MODULES_BELOW_COLUMN : MODULES_COLUMN, column = indent;
    while (*names != '\0') {
        size_t length = strcspn(names, ",") + (strchr(names, ',') != NULL ? 1 : 0);
        bool is_first = column == indent;
        if (!is_first && columns - column <= (int)length) {
            text_format(text, "\n%*s", indent, "");
            column = indent;
            is_first = true;
        }
        text_append(text, is_first ? "" : " ");
        text_append_bytes(text, names, length);
        column += (int)length + (is_first ? 0 : 1);
        names += length + strspn(names + length, " ");
    }
}

static void share_line(const struct device_plan *plan, const struct placement_share *share, int columns,
                       struct text *text)
{
    char device[DEVICE_TEXT_BYTES], budget[SIZE_TEXT_BYTES], placed[SIZE_TEXT_BYTES], kept[SIZE_TEXT_BYTES],
        left[SIZE_TEXT_BYTES];
    bool is_bounded = share->budget_bits >= 0, is_empty = share->minimum_bits >= 0 && share->placed_bits == 0;
    text_format(text, "%-6s %11s %11s %11s %11s%s", placement_device_name(share->device, device),
                is_bounded ? bits_format(share->budget_bits, budget) : "-", bits_format(share->placed_bits, placed),
                share->is_main && !is_empty ? bits_format(share->reserved_bits, kept) : "-",
                is_bounded && !is_empty
                    ? bits_format(share->budget_bits - share->placed_bits - share->reserved_bits, left)
                    : "-",
                place_modules_separator(columns));
    struct text names = {0};
    if (is_empty) {
        text_format(&names, "nothing: it would have taken %s", bits_format(share->minimum_bits, placed));
    } else {
        place_modules_append(&plan->map, share->device, &names);
    }
    modules_wrap(text_string(&names), columns, text);
    text_append(text, "\n");
    text->failed = text->failed || names.failed;
    text_release(&names);
}

void place_table_append(const struct device_plan *plan, int columns, struct text *text)
{
    text_format(text, "%-6s %11s %11s %11s %11s%s%s\n", "device", "budget", "placed", "kept free", "left",
                place_modules_separator(columns), "modules");
    for (int i = 0; i < plan->share_count; i++) {
        const struct placement_share *share = &plan->shares[i];
        bool is_used = share->budget_bits >= 0 || share->placed_bits > 0;
        for (int j = 0; j < plan->map.count && !is_used; j++) {
            is_used = placement_device_equal(plan->map.entries[j].device, share->device);
        }
        if (is_used) {
            share_line(plan, share, columns, text);
        }
    }
}

void place_python_append(const struct device_map *map, int columns, struct text *text)
{
    char device[DEVICE_TEXT_BYTES];
    size_t width = 0;
    text_append(text, "device_map = {");
    for (int i = 0; i < map->count; i++) {
        const struct device_map_entry *entry = &map->entries[i];
        struct text item = {0};
        const char *quote = entry->device.kind == PLACEMENT_GPU ? "" : "\"";
        text_format(&item, "\"%s\": %s%s%s,", entry->path, quote, placement_device_name(entry->device, device), quote);
        if (width == 0 || width + 1 + item.length > (size_t)columns) {
            text_append(text, "\n    ");
            width = 4;
        } else {
            text_append(text, " ");
            width++;
        }
        text_append(text, text_string(&item));
        width += item.length;
        text_release(&item);
    }
    text_append(text, map->count > 0 ? "\n}\n" : "}\n");
}
