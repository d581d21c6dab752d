/* Constants page: the constants of a device (harness/report/calibration.h) as a law: footprint = context + segments +
 * growth of the mode. */
#include "harness/law/law_file.h"
#include "harness/law/law_page.h"
#include "harness/report/escape.h"

static const struct constants *constants_of(const void *subject)
{
    return ((const struct law_subject *)subject)->law;
}

/* A spread that is known, of a stage ("context", a mode) and a level. */
typedef void spread_visitor(const char *name, const char *level, const struct constants_spread *spread, void *state);

static void levels_visit(const char *name, const struct constants_levels *levels, spread_visitor *visit, void *state)
{
    if (levels->process.known) {
        visit(name, "process", &levels->process, state);
    }
    if (levels->device.known) {
        visit(name, "device", &levels->device, state);
    }
}

static void spreads_visit(const struct constants *constants, spread_visitor *visit, void *state)
{
    levels_visit("context", &constants->context, visit, state);
    for (int at = 0; at < constants->growth_count; at++) {
        levels_visit(constants->growth[at].mode, &constants->growth[at].levels, visit, state);
    }
}

struct constants_rows {
    struct page *page;
    struct page_table *table;
};

static void spread_row_add(const char *name, const char *level, const struct constants_spread *spread, void *state)
{
    struct constants_rows *rows = state;
    const struct cell cells[] = {
        cell_word(page_word(rows->page, name)),
        cell_word(level),
        cell_bytes(spread->median),
        cell_bytes(spread->minimum),
        cell_bytes(spread->maximum),
        cell_count(spread->count),
    };
    page_row_add(rows->page, rows->table, cells);
}

static void constants_describe(const void *subject, struct page *page)
{
    static const struct page_column columns[] = {
        {.title = "of", .kind = CELL_WORD, .width = 10},      {.title = "level", .kind = CELL_WORD, .width = 8},
        {.title = "median", .kind = CELL_BYTES, .width = 12}, {.title = "least", .kind = CELL_BYTES, .width = 12},
        {.title = "most", .kind = CELL_BYTES, .width = 12},   {.title = "readings", .kind = CELL_COUNT, .width = 9},
    };
    const struct constants *constants = constants_of(subject);
    const struct constants_device *device = &constants->device;
    char words[CONSTANTS_WORDS_BYTES];
    page_words(page, BLOCK_TITLE, MEDIUM_ALL, "Footprint = context + segments + growth of the mode");
    page_say(page, BLOCK_LEAD, MEDIUM_ALL, "%s; %d cases; driver %s, runtime %s, program %s.",
             constants_device_words(device->kind, device->name, device->thread_count, words), constants->case_count,
             device->driver[0] != '\0' ? device->driver : "not known",
             device->runtime[0] != '\0' ? device->runtime : "not known", constants->tool_version);
    page_gap(page);
    struct constants_rows rows = {page, page_table_add(page, MEDIUM_ALL, columns, sizeof columns / sizeof columns[0])};
    spreads_visit(constants, spread_row_add, &rows);
}

static void spread_csv_row(const char *name, const char *level, const struct constants_spread *spread, void *state)
{
    struct text *text = state;
    const int64_t figures[] = {spread->median, spread->minimum, spread->maximum, spread->count};
    csv_append(text, name);
    text_format(text, ",%s", level);
    for (int at = 0; at < 4; at++) {
        text_append(text, ",");
        text_integer(text, figures[at]);
    }
    text_append(text, "\r\n");
}

static void constants_csv_write(const void *subject, const struct report_style *style, struct text *text)
{
    (void)style;
    text_append(text, "of,level,median_bytes,min_bytes,max_bytes,readings\r\n");
    spreads_visit(constants_of(subject), spread_csv_row, text);
}

static struct json *constants_value(const void *subject)
{
    struct json *document = law_document_new("device-constants", ((const struct law_subject *)subject)->version);
    bool made = json_set(document, "constants", constants_to_json(constants_of(subject)));
    return json_made(document, made);
}

const struct page_kind constants_page = {
    .name = "a law",
    .what = "a law",
    .describe = constants_describe,
    .own = {[REPORT_CSV] = constants_csv_write},
    .value = constants_value,
};
