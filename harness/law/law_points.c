/* Law points: keeping them, and the numbers of their models. Which cases count is decided in points_read.c. */
#include "harness/law/law_points.h"

#include <inttypes.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/law/law_word.h"
#include "harness/report/escape.h"
#include "models/find/model.h"

struct law_model {
    bool is_known;
    enum point_reason reason;
    struct law_point numbers; /* of either attention; its texts are words */
    bool attends_eagerly;     /* whatever is asked */
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
    found->is_known = true;
    found->reason = POINT_NOT_FOUND;
    if (point_model_find(places, name, &points->arena, &model) != STATUS_OK) {
        return;
    }
    bool has_terms = law_point_obstacle(&model.config) == NULL;
    if (has_terms && law_point_model(&model.config, "sdpa", &found->numbers)) {
        found->attends_eagerly = strcmp(found->numbers.attention, "eager") == 0;
        found->numbers.kind = name_table_keep(&points->words, &points->arena, found->numbers.kind);
        found->reason = found->numbers.kind != NULL ? POINT_COUNTED : POINT_NOT_FOUND;
    } else {
        found->reason = has_terms ? POINT_BEYOND : POINT_NO_TERMS;
    }
    model_release(&model);
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
    if (found->reason != POINT_COUNTED) {
        return false;
    }
    const struct law_point *numbers = &found->numbers;
    point->kind = numbers->kind;
    point->attention = found->attends_eagerly ? "eager" : attention;
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

/* Whether a table has the tensors of a case already, which it is given. source: "" of none. -1: no memory. */
static int is_there(struct law_points *points, struct name_table *table, const char *source,
                    const struct law_point *point)
{
    struct text key = {0};
    size_t before = table->count;
    text_append(&key, source);
#define KEY_TEXT(member, heading)   text_format(&key, "|%s", point->member);
#define KEY_NUMBER(member, heading) text_format(&key, "|%" PRId64, point->member);
    LAW_POINT_TEXTS(KEY_TEXT)
    LAW_POINT_SIZES(KEY_NUMBER)
#undef KEY_TEXT
#undef KEY_NUMBER
    text_format(&key, "|%" PRId64 "|%" PRId64 "|%" PRId64, point->pass_bytes, point->decode_bytes,
                point->allocated_bytes);
    int number = key.failed ? -1 : name_table_add(table, &points->arena, text_string(&key));
    text_release(&key);
    return number < 0 ? -1 : table->count == before;
}

/* The point with its texts cleaned and kept. */
static enum status_code words_keep(struct law_points *points, struct law_point *point, struct status *error)
{
    bool kept = true;
#define POINT_TEXT_KEEP(member, heading)                                                                               \
    point->member = law_word_keep(&points->words, &points->arena, point->member);                                      \
    kept = kept && point->member != NULL;
    LAW_POINT_TEXTS(POINT_TEXT_KEEP)
#undef POINT_TEXT_KEEP
    return kept ? STATUS_OK : no_memory(error);
}

static enum status_code point_keep(struct law_points *points, const struct law_point *point, struct status *error)
{
    struct law_point *all =
        arena_array_extend(&points->arena, points->all, (size_t)points->count, &points->room, sizeof *all);
    if (all == NULL) {
        return no_memory(error);
    }
    points->all = all;
    all[points->count++] = *point;
    return STATUS_OK;
}

static bool is_writable_text(const char *word)
{
    size_t length = strlen(word);
    return length >= 1 && length <= POINT_TEXT_BYTES_MAXIMUM;
}

/* Whether a table of points can hold it (points_table.c), where a line that begins with # is none. */
static bool is_writable(const struct law_point *point)
{
    bool fits = point->model[0] != '#' && point->batch >= 1 && point->batch <= POINT_BATCH_MAXIMUM && point->seq >= 0 &&
                point->seq <= POINT_TOKENS_MAXIMUM && point->new_tokens >= 0 &&
                point->new_tokens <= POINT_TOKENS_MAXIMUM;
#define TEXT_FITS(member, heading)   fits = fits && is_writable_text(point->member);
#define NUMBER_FITS(member, heading) fits = fits && point->member >= 0 && point->member <= POINT_NUMBER_MAXIMUM;
#define BYTES_FIT(member, heading)                                                                                     \
    fits = fits && point->member >= POINT_BYTES_UNKNOWN && point->member <= POINT_NUMBER_MAXIMUM;
    LAW_POINT_TEXTS(TEXT_FITS)
    LAW_POINT_SIZES(NUMBER_FITS)
    LAW_POINT_MEASURED(BYTES_FIT)
#undef TEXT_FITS
#undef NUMBER_FITS
#undef BYTES_FIT
    return fits;
}

/* What no case can have measured: the weights lie in memory at every peak, and allocated bytes are of the footprint. */
static enum point_reason point_judge(const struct law_point *point)
{
    const int64_t peaks[] = {point->allocated_bytes, point->pass_bytes, point->decode_bytes};
    if (!is_writable(point)) {
        return POINT_BEYOND;
    }
    for (size_t at = 0; at < sizeof peaks / sizeof peaks[0]; at++) {
        if (peaks[at] != POINT_BYTES_UNKNOWN && peaks[at] < point->weights_bytes) {
            return POINT_BELOW_WEIGHTS;
        }
    }
    return point->footprint_bytes != POINT_BYTES_UNKNOWN && point->footprint_bytes < point->allocated_bytes
               ? POINT_BELOW_ALLOCATED
               : POINT_COUNTED;
}

enum status_code law_points_add(struct law_points *points, const struct law_point *given, struct status *error)
{
    struct law_point point = *given;
    enum status_code code = words_keep(points, &point, error);
    enum point_reason reason = code == STATUS_OK ? point_judge(&point) : POINT_COUNTED;
    if (code != STATUS_OK || reason != POINT_COUNTED) {
        points->reasons[reason] += code == STATUS_OK;
        return code;
    }
    int is_again = is_there(points, &points->own, point.source, &point);
    int is_repeat = is_again == 0 ? is_there(points, &points->all_figures, "", &point) : 0;
    if (is_again < 0 || is_repeat < 0) {
        return no_memory(error);
    }
    points->reasons[is_again ? POINT_AGAIN : POINT_COUNTED]++;
    point.is_repeat = is_repeat == 1;
    return is_again ? STATUS_OK : point_keep(points, &point, error);
}

void law_points_release(struct law_points *points)
{
    name_table_release(&points->words);
    name_table_release(&points->own);
    name_table_release(&points->all_figures);
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
