/* Explain, written down: rows put together, folded stacks, JSON. What the rows say was made in explain.c. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/question/explain.h"
#include "harness/record/level.h"

const char *explain_by_name(enum explain_by by)
{
    static const char *const names[EXPLAIN_BY_COUNT] = {"tensor", "module", "category", "stage", "dtype"};
    return names[by];
}

enum { ALLOCATOR_ROWS = 4 };

struct allocator_row {
    const char *name;
    int64_t bytes;
};

static void allocator_rows(const struct moment *moment, struct allocator_row rows[ALLOCATOR_ROWS])
{
    rows[0] = (struct allocator_row){"rounding to 512 bytes", moment->rounding_bytes};
    rows[1] = (struct allocator_row){"unsplit remainders", moment->unsplit_remainder_bytes};
    rows[2] = (struct allocator_row){"fragments of segments in use", moment->fragment_bytes};
    rows[3] = (struct allocator_row){"free segments", moment->free_segment_bytes};
}

/* The path with '*' for each part that is a number; as it is if numbers tell. */
static void path_append(struct text *text, const char *path, bool numbers)
{
    while (*path != '\0') {
        size_t length = strcspn(path, ".");
        bool number = !numbers && length > 0 && strspn(path, "0123456789") == length;
        text_append_bytes(text, number ? "*" : path, number ? 1 : length);
        path += length;
        if (*path == '.') {
            text_append(text, ".");
            path++;
        }
    }
}

static void tensor_append(struct text *text, const struct explain_row *row, bool numbers)
{
    path_append(text, row->module, numbers);
    text_format(text, "%s%s: %s", *row->module != '\0' ? " " : "", row->tensor, row->rule);
}

static const char *group_name(struct arena *arena, const struct explain_row *row, enum explain_by by, bool numbers)
{
    struct text text = {0};
    switch (by) {
    case EXPLAIN_TENSOR:
        tensor_append(&text, row, numbers);
        break;
    case EXPLAIN_MODULE:
        path_append(&text, *row->module != '\0' ? row->module : "outside of modules", numbers);
        break;
    case EXPLAIN_CATEGORY:
        return category_name(row->category);
    case EXPLAIN_STAGE:
        return stage_name(row->taken_in);
    default:
        return row->dtype;
    }
    const char *name = text.failed ? NULL : arena_copy(arena, text_string(&text));
    text_release(&text);
    return name;
}

static int name_order(const void *left, const void *right)
{
    const struct explain_group *a = left, *b = right;
    int order = strcmp(a->category, b->category);
    return order != 0 ? order : strcmp(a->name, b->name);
}

static int size_order(const void *left, const void *right)
{
    const struct explain_group *a = left, *b = right;
    return a->bytes != b->bytes ? (a->bytes < b->bytes) - (a->bytes > b->bytes) : name_order(left, right);
}

/* Puts those of one name together; how many are left. */
static int groups_join(struct explain_group *groups, int count)
{
    int kept = 0;
    qsort(groups, (size_t)count, sizeof *groups, name_order);
    for (int i = 0; i < count; i++) {
        if (kept > 0 && name_order(&groups[kept - 1], &groups[i]) == 0) {
            groups[kept - 1].bytes += groups[i].bytes;
            groups[kept - 1].count += groups[i].count;
        } else {
            groups[kept++] = groups[i];
        }
    }
    return kept;
}

enum status_code explain_group(struct explanation *explanation, enum explain_by by, bool numbers,
                               struct explain_group **groups, int *group_count, struct status *error)
{
    struct arena *arena = &explanation->arena;
    struct allocator_row allocator[ALLOCATOR_ROWS];
    int count = explanation->row_count;
    struct explain_group *made = arena_alloc(arena, sizeof *made * (size_t)(count + ALLOCATOR_ROWS));
    bool named = made != NULL;
    for (int i = 0; i < count && named; i++) {
        const struct explain_row *row = &explanation->rows[i];
        made[i] = (struct explain_group){.name = group_name(arena, row, by, numbers),
                                         .category = by == EXPLAIN_TENSOR ? category_name(row->category) : "",
                                         .bytes = row->bytes,
                                         .count = 1};
        named = made[i].name != NULL;
    }
    if (!named) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for %d rows", count);
    }
    count = groups_join(made, count);
    allocator_rows(&explanation->moment, allocator);
    for (int i = 0; i < ALLOCATOR_ROWS; i++) {
        if (allocator[i].bytes > 0) {
            made[count++] =
                (struct explain_group){.name = allocator[i].name, .category = "allocator", .bytes = allocator[i].bytes};
        }
    }
    qsort(made, (size_t)count, sizeof *made, size_order);
    *groups = made;
    *group_count = count;
    return STATUS_OK;
}

/* -- folded stacks */

/* Frames are parted by ';', and the last space parts the number. */
static void frame_append(struct text *text, const char *name, char split)
{
    for (; *name != '\0'; name++) {
        char character = *name == split || *name == ';' ? ';' : *name;
        character = isspace((unsigned char)character) && character != ' ' ? ' ' : character;
        text_append_bytes(text, &character, 1);
    }
}

void explain_folded(const struct explanation *explanation, struct text *text)
{
    struct allocator_row allocator[ALLOCATOR_ROWS];
    for (int i = 0; i < explanation->row_count; i++) {
        const struct explain_row *row = &explanation->rows[i];
        if (*row->module != '\0') {
            frame_append(text, row->module, '.');
            text_append(text, ";");
        }
        frame_append(text, row->tensor, '\0');
        text_append(text, ";");
        frame_append(text, row->rule, '\0');
        text_format(text, " %" PRId64 "\n", row->bytes);
    }
    allocator_rows(&explanation->moment, allocator);
    for (int i = 0; i < ALLOCATOR_ROWS; i++) {
        if (allocator[i].bytes > 0) {
            text_format(text, "allocator;%s %" PRId64 "\n", allocator[i].name, allocator[i].bytes);
        }
    }
}

/* -- JSON */

static struct json *row_json(const struct explain_row *row)
{
    struct json *object = json_object_new();
    bool made = json_set(object, "module", json_string_new(row->module)) &&
                json_set(object, "tensor", json_string_new(row->tensor)) &&
                json_set(object, "rule", json_string_new(row->rule)) &&
                json_set(object, "category", json_string_new(category_name(row->category))) &&
                json_set(object, "dtype", json_string_new(row->dtype)) &&
                json_set(object, "stage", json_string_new(stage_name(row->taken_in))) &&
                json_set(object, "bytes", json_integer_new(row->bytes));
    return json_made(object, made);
}

static struct json *allocator_json(const struct moment *moment)
{
    struct json *object = json_object_new();
    bool made = json_set(object, "rounding_bytes", json_integer_new(moment->rounding_bytes)) &&
                json_set(object, "unsplit_remainder_bytes", json_integer_new(moment->unsplit_remainder_bytes)) &&
                json_set(object, "fragment_bytes", json_integer_new(moment->fragment_bytes)) &&
                json_set(object, "free_segment_bytes", json_integer_new(moment->free_segment_bytes));
    return json_made(object, made);
}

/* null if everything fits, or there is no bound. */
static struct json *refusal_json(const struct explanation *explanation)
{
    const struct moment *moment = &explanation->moment;
    if (!moment->is_refused) {
        return json_null_new();
    }
    struct json *object = json_object_new();
    bool made = json_set(object, "stage", json_string_new(stage_name(moment->stage))) &&
                json_set(object, "tensor", json_string_new(explanation->wanted)) &&
                json_set(object, "wanted_bytes", json_integer_new(moment->wanted_bytes)) &&
                json_set(object, "held_bytes", json_integer_new(moment->reserved_bytes));
    return json_made(object, made);
}

struct json *explain_to_json(const struct explanation *explanation)
{
    const struct moment *moment = &explanation->moment;
    struct json *object = json_object_new();
    struct json *rows = json_array_new();
    bool made = json_set(object, "stage", json_string_new(stage_name(moment->stage))) &&
                json_set(object, level_key(LEVEL_RESERVED), json_integer_new(moment->reserved_bytes)) &&
                json_set(object, level_key(LEVEL_ALLOCATED), json_integer_new(moment->allocated_bytes)) &&
                json_set(object, level_key(LEVEL_REQUESTED), json_integer_new(moment->requested_bytes)) &&
                json_set(object, "refusal", refusal_json(explanation)) &&
                json_set(object, "allocator", allocator_json(moment)) && json_set(object, "tensors", json_share(rows));
    for (int i = 0; i < explanation->row_count && made; i++) {
        made = json_append(rows, row_json(&explanation->rows[i]));
    }
    json_release(rows);
    return json_made(object, made);
}
