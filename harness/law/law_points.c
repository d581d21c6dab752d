/* Law points: keeping them, and the numbers of their models. Which cases count is decided in points_read.c. */
#include "harness/law/law_points.h"

#include <inttypes.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/law/law_word.h"
#include "models/find/model.h"

struct law_model {
    bool is_known, has_terms;
    enum point_reason reason;
    struct law_point numbers; /* of either attention; its texts are words */
    bool is_always_eager;
};

static enum status_code no_memory(struct status *error)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for the points of a law");
}

/* ---- models ---- */

enum status_code point_model_find(const struct point_places *places, const char *name, struct arena *arena,
                                  struct model *model)
{
    const struct model_places where = {.catalogue_dir = places->catalogue_dir};
    enum status_code code = model_find(&where, name, model, NULL);
    if (code != STATUS_OK && places->resource != NULL) {
        const char *path = places->resource(arena, name);
        code = path != NULL ? model_find(&where, path, model, NULL) : code;
    }
    return code;
}

static void model_look_up(struct law_points *points, const struct point_places *places, const char *name,
                          struct law_model *found)
{
    struct model model = {0};
    enum status_code code = point_model_find(places, name, &points->arena, &model);
    found->is_known = true;
    found->reason = POINT_NOT_FOUND;
    if (code == STATUS_OK) {
        found->has_terms = law_point_model(&model.config, "sdpa", &found->numbers);
        found->reason = POINT_OTHER_KIND;
        found->is_always_eager = found->has_terms && strcmp(found->numbers.attention, "eager") == 0;
        found->numbers.kind = name_table_keep(&points->words, &points->arena, found->numbers.kind);
        found->has_terms = found->has_terms && found->numbers.kind != NULL;
        model_release(&model);
    }
}

static struct law_model *model_of(struct law_points *points, int number)
{
    while (points->model_room <= (size_t)number) {
        size_t before = points->model_room;
        struct law_model *more =
            arena_array_extend(&points->arena, points->models, before, &points->model_room, sizeof *more);
        if (more == NULL) {
            return NULL;
        }
        memset(more + before, 0, (points->model_room - before) * sizeof *more);
        points->models = more;
    }
    return &points->models[number];
}

bool law_points_model(struct law_points *points, const struct point_places *places, const char *model,
                      const char *attention, struct law_point *point, enum point_reason *reason)
{
    int number = name_table_add(&points->words, &points->arena, model);
    struct law_model *found = number < 0 ? NULL : model_of(points, number);
    if (found == NULL) {
        *reason = POINT_NOT_FOUND;
        return false;
    }
    if (!found->is_known) {
        struct law_model looked = {0};
        model_look_up(points, places, model, &looked); /* adds words, which may move the models */
        points->models[number] = looked;
        found = &points->models[number];
    }
    *reason = found->reason;
    if (!found->has_terms) {
        return false;
    }
    const struct law_point *numbers = &found->numbers;
    point->kind = numbers->kind;
    point->attention = found->is_always_eager ? "eager" : attention;
    point->hidden = numbers->hidden;
    point->width = numbers->width;
    point->cached_width = numbers->cached_width;
    point->heads = numbers->heads;
    point->layers = numbers->layers;
    point->ffn = numbers->ffn;
    point->vocab = numbers->vocab;
    point->image_values = numbers->image_values;
    point->seq = numbers->image_values > 0 ? numbers->seq : point->seq;
    return true;
}

/* ---- points ---- */

static enum status_code key_make(const struct law_point *point, struct text *key, struct status *error)
{
    text_format(key, "%s|%s|%s|%s|%s|%s|%s|%s|%" PRId64 "|%" PRId64 "|%" PRId64, point->model, point->target,
                point->program, point->mode, point->precision, point->attention, point->logits, point->cache,
                point->batch, point->seq, point->new_tokens);
    return text_status(key, "a point of a law", error);
}

static struct law_point *place_of(struct law_points *points, int number, bool *is_new)
{
    size_t before = points->key_room;
    if ((size_t)number >= before) {
        int *more = arena_array_extend(&points->arena, points->place_of_key, before, &points->key_room, sizeof *more);
        if (more == NULL) {
            return NULL;
        }
        for (size_t at = before; at < points->key_room; at++) {
            more[at] = -1;
        }
        points->place_of_key = more;
    }
    *is_new = points->place_of_key[number] < 0;
    if (*is_new) {
        struct law_point *all =
            arena_array_extend(&points->arena, points->all, (size_t)points->count, &points->room, sizeof *all);
        if (all == NULL) {
            return NULL;
        }
        points->all = all;
        points->place_of_key[number] = points->count++;
    }
    return &points->all[points->place_of_key[number]];
}

enum status_code law_points_add(struct law_points *points, const struct law_point *point, struct status *error)
{
    struct text key = {0};
    bool is_new = false;
    enum status_code code = key_make(point, &key, error);
    int number = code == STATUS_OK ? name_table_add(&points->keys, &points->arena, text_string(&key)) : -1;
    text_release(&key);
    struct law_point *place = number < 0 ? NULL : place_of(points, number, &is_new);
    if (place == NULL) {
        return code != STATUS_OK ? code : no_memory(error);
    }
    *place = *point;
    bool kept = true;
#define POINT_TEXT_KEEP(member, heading)                                                                               \
    place->member = law_word_keep(&points->words, &points->arena, point->member);                                      \
    kept = kept && place->member != NULL;
    LAW_POINT_TEXTS(POINT_TEXT_KEEP)
#undef POINT_TEXT_KEEP
    points->reasons[is_new ? POINT_COUNTED : POINT_AGAIN]++;
    return kept ? STATUS_OK : no_memory(error);
}

void law_points_release(struct law_points *points)
{
    name_table_release(&points->words);
    name_table_release(&points->keys);
    arena_release(&points->arena);
    *points = (struct law_points){0};
}

void law_points_append(struct text *text, const struct law_points *points)
{
#define POINT_REASON_WORDS(name, words) words,
    static const char *const words[] = {POINT_REASON_TABLE(POINT_REASON_WORDS)};
#undef POINT_REASON_WORDS
    int64_t all = 0;
    const char *lead = "; left out: ";
    for (int reason = 0; reason < POINT_REASON_COUNT; reason++) {
        all += points->reasons[reason];
    }
    text_format(text, "%d of %" PRId64 " cases count", points->count, all);
    for (int reason = POINT_COUNTED + 1; reason < POINT_REASON_COUNT; reason++) {
        if (points->reasons[reason] > 0) {
            text_format(text, "%s%" PRId64 " %s", lead, points->reasons[reason], words[reason]);
            lead = ", ";
        }
    }
}
