/* Law points: keeping them, and the numbers of their models. Which cases count is decided in points_read.c. */
#include "harness/law/law_points.h"

#include <inttypes.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/law/law_word.h"
#include "harness/report/escape.h"
#include "models/find/model.h"

struct law_model {
    bool is_known, has_terms;
    enum point_reason reason;
    struct law_point numbers; /* of either attention; its texts are words */
    const char *attention;    /* of its class, whatever is asked: "eager", "none"; NULL: what is asked */
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
        found->attention =
            found->has_terms && strcmp(found->numbers.attention, "sdpa") != 0 ? found->numbers.attention : NULL;
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
    point->attention = found->attention != NULL ? found->attention : attention;
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

/* A case, however often it was measured: how far its figures lie apart. */
struct law_case {
    int first, count; /* the place of the first point, and how many have it */
    int64_t least[POINT_SPREAD_COUNT], most[POINT_SPREAD_COUNT]; /* POINT_BYTES_UNKNOWN: no point knows it */
};

static int key_add(struct law_points *points, struct name_table *table, struct text *key)
{
    int number = key->failed ? -1 : name_table_add(table, &points->arena, text_string(key));
    text_release(key);
    return number;
}

static int case_number(struct law_points *points, const struct law_point *point)
{
    struct text key = {0};
    text_format(&key, "%s|%s|%s|%s|%s|%s|%s|%s|%" PRId64 "|%" PRId64 "|%" PRId64, point->model, point->target,
                point->program, point->mode, point->precision, point->attention, point->logits, point->cache,
                point->batch, point->seq, point->new_tokens);
    return key_add(points, &points->keys, &key);
}

/* By the case and all that was measured: as many as there are points, so that it is a point's place too. */
static int figures_number(struct law_points *points, int one, const struct law_point *point)
{
    struct text key = {0};
    text_format(&key, "%d|%" PRId64 "|%" PRId64 "|%" PRId64 "|%" PRId64 "|%" PRId64, one, point->weights_bytes,
                point->pass_bytes, point->decode_bytes, point->allocated_bytes, point->footprint_bytes);
    return key_add(points, &points->figures, &key);
}

/* The case of a number, which is new if it has no point; NULL: no memory. */
static struct law_case *case_of(struct law_points *points, int number)
{
    size_t before = points->case_room;
    if ((size_t)number >= before) {
        struct law_case *more =
            arena_array_extend(&points->arena, points->cases, before, &points->case_room, sizeof *more);
        if (more == NULL) {
            return NULL;
        }
        memset(more + before, 0, (points->case_room - before) * sizeof *more);
        points->cases = more;
    }
    return &points->cases[number];
}

static void case_widen(struct law_case *one, int place, const struct law_point *point)
{
    const int64_t bytes[POINT_SPREAD_COUNT] = {point->allocated_bytes, point->footprint_bytes};
    for (int at = 0; at < POINT_SPREAD_COUNT; at++) {
        bool is_first = one->count == 0 || one->least[at] == POINT_BYTES_UNKNOWN;
        if (is_first || bytes[at] != POINT_BYTES_UNKNOWN) {
            one->least[at] = is_first || bytes[at] < one->least[at] ? bytes[at] : one->least[at];
            one->most[at] = is_first || bytes[at] > one->most[at] ? bytes[at] : one->most[at];
        }
    }
    one->first = one->count == 0 ? place : one->first;
    one->count++;
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
    int number = case_number(points, &point);
    struct law_case *one = number < 0 ? NULL : case_of(points, number);
    int place = one == NULL ? -1 : figures_number(points, number, &point);
    if (place < 0) {
        return no_memory(error);
    }
    if (place < points->count) {
        struct law_point *same = &points->all[place];
        same->replayed_bytes = same->replayed_bytes > 0 ? same->replayed_bytes : point.replayed_bytes;
        points->reasons[POINT_AGAIN]++;
        return STATUS_OK;
    }
    case_widen(one, place, &point);
    points->reasons[POINT_COUNTED]++;
    return point_keep(points, &point, error);
}

/* ---- cases that were measured more than once ---- */

static double spread_of(const struct law_case *one, enum point_spread spread)
{
    double least = (double)one->least[spread];
    return least > 0.0 ? ((double)one->most[spread] - least) / least : 0.0;
}

/* How many cases have several points, and of them the one whose figures lie furthest apart; NULL: none has. */
static int again_count(const struct law_points *points, enum point_spread spread, const struct law_case **widest)
{
    int count = 0;
    *widest = NULL;
    for (size_t at = 0; at < points->keys.count; at++) {
        const struct law_case *one = &points->cases[at];
        if (one->count > 1) {
            count++;
            *widest = *widest == NULL || spread_of(one, spread) > spread_of(*widest, spread) ? one : *widest;
        }
    }
    return count;
}

static void case_append(struct text *text, const struct law_points *points, const struct law_case *one)
{
    const struct law_point *point = &points->all[one->first];
    text_format(text, "%s, %s, %s, batch %" PRId64 ", seq %" PRId64, point->model, point->mode, point->precision,
                point->batch, point->seq);
    if (point->new_tokens > 0) {
        text_format(text, ", %" PRId64 " new tokens", point->new_tokens);
    }
    text_format(text, " on %s", point->target);
}

static void again_append(struct text *text, const struct law_points *points)
{
    const struct law_case *widest = NULL, *widest_footprint = NULL;
    int count = again_count(points, POINT_SPREAD_ALLOCATED, &widest);
    if (count == 0) {
        return;
    }
    again_count(points, POINT_SPREAD_FOOTPRINT, &widest_footprint);
    double footprint = spread_of(widest_footprint, POINT_SPREAD_FOOTPRINT);
    text_format(text,
                "; %d case%s measured more than once, of which each measurement counts: allocated bytes differ by up "
                "to %.2f %%, footprints by up to %.2f %% (",
                count, count > 1 ? "s were" : " was", 100.0 * spread_of(widest, POINT_SPREAD_ALLOCATED),
                100.0 * footprint);
    case_append(text, points, footprint > 0.0 ? widest_footprint : widest);
    text_append(text, ")");
}

/* Classes that are several devices, each in the order in which its devices were met. */
static void devices_append(struct text *text, const struct law_points *points)
{
    for (size_t at = 0; at < points->devices.count; at++) {
        const char *first = points->devices.entries[at].text;
        size_t length = strcspn(first, "|") + 1;
        bool is_first = true;
        for (size_t before = 0; before < at; before++) {
            is_first = is_first && strncmp(points->devices.entries[before].text, first, length) != 0;
        }
        bool is_told = false;
        for (size_t next = at + 1; next < points->devices.count && is_first; next++) {
            const char *other = points->devices.entries[next].text;
            if (strncmp(other, first, length) == 0) {
                if (!is_told) {
                    text_format(text, "; %.*s is %s", (int)length - 1, first, first + length);
                }
                text_format(text, " and %s", other + length);
                is_told = true;
            }
        }
    }
}

enum status_code law_points_device(struct law_points *points, const char *target, const char *name,
                                   struct status *error)
{
    enum { DEVICES_MAXIMUM = 64 };
    struct text device = {0}, clean = {0};
    text_format(&device, "%.200s|%.200s", target, name);
    terminal_append(&clean, text_string(&device));
    text_release(&device);
    if (name[0] == '\0' || points->devices.count == DEVICES_MAXIMUM || strchr(target, '|') != NULL) {
        text_release(&clean);
        return STATUS_OK; /* more say nothing */
    }
    return key_add(points, &points->devices, &clean) >= 0 ? STATUS_OK : no_memory(error);
}

enum status_code law_points_check(const struct law_points *points, struct status *error)
{
    const struct law_case *widest = NULL;
    again_count(points, POINT_SPREAD_ALLOCATED, &widest);
    if (widest == NULL || spread_of(widest, POINT_SPREAD_ALLOCATED) <= POINT_SPREAD_MOST) {
        return STATUS_OK;
    }
    int count = 0;
    for (size_t at = 0; at < points->keys.count; at++) {
        count += spread_of(&points->cases[at], POINT_SPREAD_ALLOCATED) > POINT_SPREAD_MOST;
    }
    struct text example = {0};
    case_append(&example, points, widest);
    status_set(error, STATUS_INVALID,
               "%d case%s measured with peaks that differ by more than %.0f %% (%.300s: %" PRId64 " and %" PRId64
               " bytes allocated), so that no law holds for both; calibrate each device, release or run on its own",
               count, count > 1 ? "s were" : " was", 100.0 * POINT_SPREAD_MOST, text_string(&example),
               widest->least[POINT_SPREAD_ALLOCATED], widest->most[POINT_SPREAD_ALLOCATED]);
    text_release(&example);
    return STATUS_INVALID;
}

void law_points_release(struct law_points *points)
{
    name_table_release(&points->devices);
    name_table_release(&points->words);
    name_table_release(&points->keys);
    name_table_release(&points->figures);
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
    again_append(text, points);
    devices_append(text, points);
}
