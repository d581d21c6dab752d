/* Factor page: the factors of a grid for people and programs: a recommendation, then a row for each case. */
#include <math.h>

#include "harness/base/size.h"
#include "harness/question/factor.h"
#include "harness/report/escape.h"

static const char *figure_word(struct page *page, double value)
{
    struct text word = {0};
    text_format(&word, "%.2f", value);
    return page_word_move(page, &word);
}

/* The upper end of a range is rounded up, as the recommendation is. */
static double upper_end(const struct factor_case *one)
{
    return ceil(100.0 * factor_of(one, one->device.high_bytes)) / 100.0;
}

static struct cell figure_cell(struct page *page, const struct factor_case *one, int64_t bytes)
{
    return (struct cell){.known = true, .word = figure_word(page, factor_of(one, bytes))};
}

/* "all 6 cases, at the upper ends of their ranges; infer/... has the highest"; of one case, "this case, ...". */
static void advice_words(const struct factor_grid *grid, const struct factor_advice *advice, struct text *words)
{
    char size[SIZE_TEXT_BYTES];
    if (grid->count == 1) {
        text_append(words, " in place of 1.2: enough for this case at the upper end of its range");
    } else {
        text_format(words, " in place of 1.2: enough for all %d cases at the upper ends of their ranges; %s decides",
                    grid->count, advice->decides->name);
    }
    text_format(words, ". Beside the weights lie %s at most.", size_format(advice->beside_bytes, size));
}

static void rule_describe(const struct factor_grid *grid, const struct factor_advice *advice, struct page *page)
{
    if (grid->count == 1) {
        page_say(page, BLOCK_TEXT, MEDIUM_ALL, "1.2 x the weights is %s here; the likely factor is %.2f.",
                 factor_rule_word(grid->cases), advice->likely);
        return;
    }
    page_say(page, BLOCK_TEXT, MEDIUM_ALL,
             "1.2 x the weights is too little for %d of %d cases, wasteful for %d, close for %d; likely factors are "
             "%.2f to %.2f.",
             advice->too_little, grid->count, advice->wasteful, grid->count - advice->too_little - advice->wasteful,
             advice->lowest, advice->likely);
    if (advice->likely > FACTOR_SPREAD * advice->lowest) {
        page_say(page, BLOCK_TEXT, MEDIUM_ALL,
                 "These cases have no factor in common: what is enough for the largest is %.0f times what the smallest "
                 "takes. Use the column \"most\" of the case that you run.",
                 advice->factor / advice->lowest);
    }
}

static void advice_describe(const struct factor_grid *grid, struct page *page)
{
    const struct factor_advice advice = factor_advise(grid->cases, grid->count);
    struct text words = {0}, strong = {0};
    text_format(&strong, "Use %.2f x the weights", advice.factor);
    advice_words(grid, &advice, &words);
    page_verdict(page, MEDIUM_ALL, text_string(&strong), false, text_string(&words));
    page->failed = page->failed || words.failed || strong.failed;
    text_release(&strong);
    text_release(&words);
    rule_describe(grid, &advice, page);
}

static void cases_describe(const struct factor_grid *grid, struct page *page)
{
    static const struct page_column columns[] = {
        {.title = "case", .kind = CELL_WORD, .width = 20, .width_most = 60, .is_whole = true},
        {.title = "weights", .kind = CELL_BYTES, .width = 11},
        {.title = "tensors", .kind = CELL_MARK, .width = 9},
        {.title = "factor", .kind = CELL_MARK, .width = 8},
        {.title = "least", .kind = CELL_MARK, .width = 8},
        {.title = "most", .kind = CELL_MARK, .width = 8},
        {.title = "1.2 is", .kind = CELL_MARK, .width = 12},
        {.title = "fits", .kind = CELL_MARK, .width = 9},
    };
    int count = (int)(sizeof columns / sizeof columns[0]) - !grid->is_gpu;
    struct page_table *table = page_table_add(page, MEDIUM_ALL, columns, count);
    for (int at = 0; at < grid->count; at++) {
        const struct factor_case *one = &grid->cases[at];
        const struct cell cells[] = {cell_word(one->name),
                                     cell_bytes(one->weights_bytes),
                                     figure_cell(page, one, one->allocated_bytes),
                                     figure_cell(page, one, one->device.likely_bytes),
                                     figure_cell(page, one, one->device.low_bytes),
                                     {.known = true, .word = figure_word(page, upper_end(one))},
                                     {.known = true, .word = factor_rule_word(one)},
                                     {.known = true, .word = factor_fit_word(one)}};
        page_row_add(page, table, cells);
    }
}

static void factor_describe(const void *subject, struct page *page)
{
    const struct factor_grid *grid = subject;
    bool has_device = grid->cases[0].has_device;
    page_say(page, BLOCK_TITLE, MEDIUM_ALL, "What %s takes to infer, as a multiple of its weights, on %s", grid->model,
             grid->device);
    if (grid->program[0] != '\0') {
        page_words(page, BLOCK_LEAD, MEDIUM_ALL, grid->program);
    }
    page_gap(page);
    advice_describe(grid, page);
    page_gap(page);
    cases_describe(grid, page);
    page_words(page, BLOCK_NOTE, MEDIUM_ALL,
               "weights: parameters and buffers after loading, as they are stored. tensors: the peak of allocated "
               "bytes over the weights, by replay. 1.2 is called too little if the factor is larger, wasteful if it is "
               "less than 1.2 / 1.1, else close.");
    page_words(page, BLOCK_NOTE, MEDIUM_ALL,
               has_device ? "factor: what nvidia-smi shows, context and libraries and all, over the weights, with its "
                            "least and most: ranges of published figures, and what no rule explains of the segments "
                            "(docs/PUBLISHED.md)."
                          : "factor: the segments of the allocator over the weights. This class is no GPU and has no "
                            "context; --on and --for name one.");
}

static void factor_csv_write(const void *subject, const struct report_style *style, struct text *text)
{
    const struct factor_grid *grid = subject;
    (void)style;
    text_append(text, "model,device,case,weights_bytes,allocated_bytes_peak,device_low_bytes,device_likely_bytes,"
                      "device_high_bytes,factor_allocated,factor_low,factor,factor_high,rule,fits\r\n");
    for (int at = 0; at < grid->count; at++) {
        const struct factor_case *one = &grid->cases[at];
        const int64_t bytes[] = {one->weights_bytes, one->allocated_bytes, one->device.low_bytes,
                                 one->device.likely_bytes, one->device.high_bytes};
        csv_append(text, grid->model);
        text_append(text, ",");
        csv_append(text, grid->device);
        text_append(text, ",");
        csv_append(text, one->name);
        for (size_t column = 0; column < sizeof bytes / sizeof bytes[0]; column++) {
            text_append(text, ",");
            text_integer(text, bytes[column]);
        }
        for (size_t column = 1; column < sizeof bytes / sizeof bytes[0]; column++) {
            text_format(text, ",%.4f", factor_of(one, bytes[column]));
        }
        text_format(text, ",%s,%s\r\n", factor_rule_word(one), grid->is_gpu ? factor_fit_word(one) : "");
    }
}

bool factor_case_set(const struct factor_case *one, bool is_gpu, struct json *object)
{
    struct json *factor = json_object_new(), *device = json_object_new();
    bool made = json_set(device, "low_bytes", json_integer_new(one->device.low_bytes)) &&
                json_set(device, "likely_bytes", json_integer_new(one->device.likely_bytes)) &&
                json_set(device, "high_bytes", json_integer_new(one->device.high_bytes)) &&
                json_set(factor, "allocated", json_real_new(factor_of(one, one->allocated_bytes))) &&
                json_set(factor, "low", json_real_new(factor_of(one, one->device.low_bytes))) &&
                json_set(factor, "likely", json_real_new(factor_of(one, one->device.likely_bytes))) &&
                json_set(factor, "high", json_real_new(factor_of(one, one->device.high_bytes)));
    factor = json_made(factor, made);
    device = json_made(device, made);
    return json_set(object, "weights_bytes", json_integer_new(one->weights_bytes)) &&
           json_set(object, "allocated_bytes_peak", json_integer_new(one->allocated_bytes)) &&
           json_set(object, one->has_device ? "device_bytes" : "reserved_bytes_peak", device) &&
           json_set(object, "factor", factor) && json_set(object, "rule", json_string_new(factor_rule_word(one))) &&
           json_set(object, "fits", is_gpu ? json_string_new(factor_fit_word(one)) : json_null_new());
}

static struct json *factor_value(const void *subject)
{
    const struct factor_grid *grid = subject;
    struct factor_advice advice = factor_advise(grid->cases, grid->count);
    struct json *document = json_object_new(), *use = json_object_new();
    bool made = json_set(use, "factor", json_real_new(advice.factor)) &&
                json_set(use, "beside_weights_bytes", json_integer_new(advice.beside_bytes)) &&
                json_set(use, "decided_by", json_string_new(advice.decides->name)) &&
                json_set(use, "likely_low", json_real_new(advice.lowest)) &&
                json_set(use, "likely_high", json_real_new(advice.likely));
    use = json_made(use, made);
    struct json *rule = json_object_new();
    made = json_set(rule, "factor", json_real_new(FACTOR_RULE)) &&
           json_set(rule, "cases", json_integer_new(grid->count)) &&
           json_set(rule, "too_little", json_integer_new(advice.too_little)) &&
           json_set(rule, "wasteful", json_integer_new(advice.wasteful));
    rule = json_made(rule, made);
    made = json_set(document, "model", json_string_new(grid->model)) &&
           json_set(document, "device", json_string_new(grid->device)) && json_set(document, "recommendation", use) &&
           json_set(document, "rule", rule) && json_set(document, "cases", json_share(grid->cases_json));
    return json_made(document, made);
}

const struct page_kind factor_page = {
    .name = "factors",
    .what = "the factors of a grid",
    .describe = factor_describe,
    .own = {[REPORT_CSV] = factor_csv_write},
    .value = factor_value,
};
