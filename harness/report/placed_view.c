/* Placed view: read with fallbacks, as all of a case. Tables and plots of it are in files of their own. */
#include "harness/report/placed_view.h"

#include <string.h>

/* False if memory ran out. */
static bool place_read(struct filling *filling, const struct json *object, enum walk walk, struct place_view *place)
{
    const struct json *estimates = json_get(object, "estimates");
    *place = (struct place_view){
        .name = word_read(filling, json_get(object, "place"), "?"),
        .spec = word_read(filling, json_get(object, "spec"), NULL),
        .budget_bytes = bytes_read(object, "budget_bytes"),
        .placed_bytes = bytes_read(object, "placed_bytes"),
        .kept_bytes = bytes_read(object, "kept_bytes"),
        .needed_bytes = bytes_read(object, "needed_bytes"),
    };
    footprint_read(filling, object, walk, &place->measured);
    footprint_read(filling, json_get(estimates, "replay"), WALK_WHOLE, &place->predicted);
    return place->name != NULL;
}

static void transfer_read(struct filling *filling, const struct json *object, struct transfer_view *transfer)
{
    *transfer = (struct transfer_view){
        .from = word_read(filling, json_get(object, "from"), "?"),
        .to = word_read(filling, json_get(object, "to"), "?"),
        .count = bytes_read(object, "count"),
        .bytes = bytes_read(object, "bytes"),
        .seconds = seconds_read(object, "seconds"),
        .plain = word_read(filling, json_get(object, "plain"), NULL),
        .plain_bytes = bytes_read(object, "plain_bytes"),
        .plain_seconds = seconds_read(object, "plain_seconds"),
    };
}

bool place_is_gpu(const struct place_view *place)
{
    return place->name[0] != '\0' && strspn(place->name, "0123456789") == strlen(place->name);
}

static int main_find(const struct place_view *places, int count)
{
    int at = 0;
    while (at < count && !place_is_gpu(&places[at])) {
        at++;
    }
    return at < count ? at : count > 0 ? 0 : -1;
}

static int elements_of(const struct json *array)
{
    return json_kind(array) == JSON_KIND_ARRAY ? (int)json_count(array) : 0;
}

void placed_view_read(struct filling *filling, const struct json *line, enum walk walk, struct placed_view **placed)
{
    const struct json *list = json_get(line, "places"), *moved = json_get(line, "transfers");
    const struct json *placement = json_get(line, "placement");
    int place_count = elements_of(list), transfer_count = elements_of(moved);
    *placed = NULL;
    if (place_count == 0 && transfer_count == 0) {
        return;
    }
    struct arena *arena = &filling->report->arena;
    struct placed_view *view = arena_alloc(arena, sizeof *view);
    struct place_view *places = arena_alloc(arena, (size_t)place_count * sizeof *places);
    struct transfer_view *transfers = arena_alloc(arena, (size_t)transfer_count * sizeof *transfers);
    bool made = view != NULL && places != NULL && transfers != NULL;
    for (int at = 0; made && at < place_count; at++) {
        made = place_read(filling, json_at(list, (size_t)at), walk, &places[at]);
    }
    for (int at = 0; made && at < transfer_count; at++) {
        transfer_read(filling, json_at(moved, (size_t)at), &transfers[at]);
        made = transfers[at].from != NULL && transfers[at].to != NULL;
    }
    if (made) {
        *view = (struct placed_view){
            .places = places,
            .place_count = place_count,
            .main = main_find(places, place_count),
            .transfers = transfers,
            .transfer_count = transfer_count,
            .strategy = word_read(filling, json_get(placement, "strategy"), NULL),
            .module_count = (int)json_count(json_get(placement, "map")),
            .accelerate_runs = flag_read(json_get(placement, "accelerate_runs")),
            .raised = word_read(filling, json_get(placement, "raised"), NULL),
            .oom_place = word_read(filling, json_get(json_get(line, "oom"), "place"), NULL),
        };
        *placed = view;
    }
    filling->failed = filling->failed || !made;
}

const struct place_view *place_find(const struct placed_view *placed, const char *name)
{
    for (int at = 0; placed != NULL && at < placed->place_count; at++) {
        if (strcmp(placed->places[at].name, name) == 0) {
            return &placed->places[at];
        }
    }
    return NULL;
}

bool comparison_is_main(const struct case_view *view, const struct comparison *row)
{
    const struct placed_view *placed = view->placed;
    return row->place == NULL ||
           (placed != NULL && placed->main >= 0 && strcmp(placed->places[placed->main].name, row->place) == 0);
}

/* Allocated, else requested; LEVEL_COUNT if nothing is known of either. */
static enum level level_choose(const struct place_view *place)
{
    static const enum level levels[] = {LEVEL_ALLOCATED, LEVEL_REQUESTED};
    for (size_t at = 0; at < sizeof levels / sizeof levels[0]; at++) {
        if (place->measured.peak_bytes[levels[at]] != BYTES_UNKNOWN ||
            place->predicted.peak_bytes[levels[at]] != BYTES_UNKNOWN) {
            return levels[at];
        }
    }
    return LEVEL_COUNT;
}

static int64_t magnitude(int64_t bytes)
{
    return bytes < 0 ? -bytes : bytes;
}

/* The stage whose peaks are furthest apart; of equal ones the first. */
static void stage_find_off(const struct place_view *place, enum level level, struct place_figures *figures)
{
    for (int stage = STAGE_LOAD; stage < STAGE_COUNT; stage++) {
        int64_t predicted_bytes = place->predicted.stages[stage]->peak_bytes[level];
        int64_t measured_bytes = place->measured.stages[stage]->peak_bytes[level];
        bool known = predicted_bytes != BYTES_UNKNOWN && measured_bytes != BYTES_UNKNOWN;
        if (known && magnitude(predicted_bytes - measured_bytes) > magnitude(figures->stage_error_bytes)) {
            figures->stage = stage;
            figures->stage_error_bytes = predicted_bytes - measured_bytes;
        }
    }
}

/* What replay was judged by on a place; quantity NULL: by anything. NULL: by nothing. */
static const struct comparison *verdict_find(const struct case_view *view, const char *place, const char *quantity)
{
    for (int at = 0; at < view->comparison_count; at++) {
        const struct comparison *row = &view->comparisons[at];
        if (row->place != NULL && strcmp(row->place, place) == 0 && strcmp(row->estimator, "replay") == 0 &&
            (quantity == NULL || strcmp(row->quantity, quantity) == 0)) {
            return row;
        }
    }
    return NULL;
}

struct place_figures place_figures_make(const struct case_view *view, const struct place_view *place)
{
    struct place_figures figures = {
        .predicted_bytes = BYTES_UNKNOWN, .measured_bytes = BYTES_UNKNOWN, .stage = STAGE_COUNT};
    enum level level = level_choose(place);
    if (level != LEVEL_COUNT) {
        figures.quantity = level_peak_key(level);
        figures.predicted_bytes = place->predicted.peak_bytes[level];
        figures.measured_bytes = place->measured.peak_bytes[level];
        stage_find_off(place, level, &figures);
    }
    const struct comparison *row = verdict_find(view, place->name, figures.quantity);
    if (row != NULL) {
        figures.quantity = row->quantity;
        figures.predicted_bytes = row->predicted_bytes;
        figures.measured_bytes = row->measured_bytes;
        figures.judgement = row->judgement;
    }
    return figures;
}

double transfer_rate(int64_t bytes, double seconds)
{
    return bytes != BYTES_UNKNOWN && seconds > 0.0 ? (double)bytes / seconds : -1.0;
}

double transfer_ratio(const struct transfer_view *transfer)
{
    double rate = transfer_rate(transfer->bytes, transfer->seconds);
    double plain = transfer_rate(transfer->plain_bytes, transfer->plain_seconds);
    return rate >= 0.0 && plain > 0.0 ? rate / plain : -1.0;
}

bool transfer_is_telling(const struct transfer_view *transfer)
{
    enum { BYTES_LEAST = 1 << 20 };
    return transfer->bytes >= BYTES_LEAST && transfer_ratio(transfer) >= 0.0;
}
