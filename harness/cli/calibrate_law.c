/* Calibrate law: reads the points, fits the law, prints it, and keeps what was asked for. */
#include "harness/cli/calibrate_law.h"

#include <stdio.h>
#include <string.h>

#include "harness/base/file_replace.h"
#include "harness/cli/number_option.h"
#include "harness/cli/output.h"
#include "harness/cli/page_sink.h"
#include "harness/cli/report_files.h"
#include "harness/cli/resource_path.h"
#include "harness/law/constants_law.h"
#include "harness/law/law_file.h"
#include "harness/law/law_page.h"
#include "harness/law/optimizer_law.h"
#include "harness/law/residual_plot.h"
#include "harness/report/calibration.h"

enum { SEED_USUAL = 1, SEED_MAXIMUM = 1000000000, RESAMPLES_USUAL = 200 };

/* The first belongs to every law, the others to that of inference. */
static const char *const law_options[] = {"format", "seed", "resamples", "points", "plots"};

enum { LAW_OPTION_COUNT = sizeof law_options / sizeof law_options[0] };

enum status_code calibrate_law_asked(const struct arguments *arguments, bool *is_asked, struct status *error)
{
    *is_asked = arguments_value(arguments, "law") != NULL;
    for (int i = 0; i < LAW_OPTION_COUNT && !*is_asked; i++) {
        if (arguments_value(arguments, law_options[i]) != NULL) {
            return status_set(error, STATUS_INVALID, "calibrate: --%s belongs to --law; add --law inference-overhead",
                              law_options[i]);
        }
    }
    return STATUS_OK;
}

/* Where models are, that records name. STATUS_OUT_OF_MEMORY. */
static enum status_code places_find(struct arena *arena, struct point_places *places, struct status *error)
{
    *places =
        (struct point_places){.catalogue_dir = resource_path(arena, "models/catalogue"), .resource = resource_path};
    return places->catalogue_dir != NULL
               ? STATUS_OK
               : status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a path");
}

static enum status_code points_read(const struct arguments *arguments, struct law_points *points, struct status *error)
{
    struct arena arena = {0};
    struct point_places places;
    enum status_code code = places_find(&arena, &places, error);
    for (int i = 0; i < arguments->operand_count && code == STATUS_OK; i++) {
        code = law_points_read(arguments->operands[i], arguments_value(arguments, "filter"), &places, points, error);
    }
    arena_release(&arena);
    return code == STATUS_OK ? law_points_check(points, error) : code;
}

static enum status_code text_save(const char *path, struct text *text, enum status_code code, struct status *error)
{
    if (code == STATUS_OK) {
        code = file_replace(path, FILE_NAMED, text, error);
    }
    text_release(text);
    return code;
}

static enum status_code points_save(const char *path, const struct law_points *points, struct status *error)
{
    struct text text = {0};
    enum status_code code = points_table_write(points, &text, error);
    return text_save(path, &text, code, error);
}

/* Keeps a document, which may be NULL: memory ran out. It is released. */
static enum status_code document_save(const char *path, struct json *document, struct status *error)
{
    struct text text = {0};
    enum status_code code = document != NULL
                                ? json_write(document, 2, &text, error)
                                : status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for the law");
    text_append(&text, "\n");
    json_release(document);
    return text_save(path, &text, code, error);
}

/* ---- pages ---- */

/* Where a law goes. Without --format it is printed, and --output keeps it as JSON; with it --output has the page. */
struct law_place {
    bool is_page; /* --format was given */
    enum report_format format;
    const char *output, *folder; /* --output, --plots; NULL: not given */
};

static enum status_code law_place_read(const struct arguments *arguments, struct law_place *place, struct status *error)
{
    const char *format = arguments_value(arguments, "format");
    *place = (struct law_place){.is_page = format != NULL,
                                .format = REPORT_TABLE,
                                .output = arguments_value(arguments, "output"),
                                .folder = arguments_value(arguments, "plots")};
    enum status_code code = format != NULL ? law_format_parse(format, &place->format, error) : STATUS_OK;
    if (code != STATUS_OK) {
        status_prefix(error, "calibrate: --format");
    }
    return code;
}

typedef enum status_code law_renderer(const void *law, enum report_format format, const struct report_style *style,
                                      struct text *text, struct status *error);

static enum status_code overhead_page(const void *law, enum report_format format, const struct report_style *style,
                                      struct text *text, struct status *error)
{
    return overhead_law_render(law, ASSAY_VERSION, format, style, text, error);
}

static enum status_code optimizer_page(const void *law, enum report_format format, const struct report_style *style,
                                       struct text *text, struct status *error)
{
    return optimizer_law_render(law, ASSAY_VERSION, format, style, text, error);
}

static enum status_code constants_page(const void *law, enum report_format format, const struct report_style *style,
                                       struct text *text, struct status *error)
{
    return constants_law_render(law, ASSAY_VERSION, format, style, text, error);
}

static enum status_code page_give(const struct law_place *place, law_renderer *render, const void *law,
                                  const struct plot_set *plots, struct status *error)
{
    const struct report_style style = {.width = terminal_width(stdout), .plots = plots};
    struct page_sink sink;
    enum status_code code = page_sink_open(place->is_page ? place->output : NULL, &sink, error);
    if (code == STATUS_OK) {
        code = render(law, place->format, &style, &sink.text, error);
    }
    return page_sink_close(&sink, code, error);
}

/* The law as JSON if that was asked for, and its page. document: NULL if memory ran out; released. */
static enum status_code law_give(const struct law_place *place, struct json *document, law_renderer *render,
                                 const void *law, const struct plot_set *plots, struct status *error)
{
    enum status_code code = STATUS_OK;
    if (!place->is_page && place->output != NULL) {
        code = document_save(place->output, document, error);
    } else {
        json_release(document);
    }
    return code == STATUS_OK ? page_give(place, render, law, plots, error) : code;
}

/* A page of HTML holds its plot; the other formats name the files of --plots. */
static enum status_code overhead_give(const struct law_place *place, const struct overhead_law *law,
                                      struct status *error)
{
    struct arena arena = {0};
    struct text notes = {0};
    struct plot_set set = {.link = report_plot_link(&arena, place->output, place->folder)};
    struct plot_place where = {.script_directory = resource_path(&arena, "plots"),
                               .with_png = place->folder != NULL,
                               .set = &set,
                               .notes = &notes};
    enum status_code code = STATUS_OK;
    if (where.script_directory == NULL) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a path");
    } else if (place->folder != NULL || place->format == REPORT_HTML) {
        code = overhead_law_plot(law, &where, error);
    }
    if (code == STATUS_OK) {
        code = law_give(place, overhead_law_json(law, ASSAY_VERSION), overhead_page, law, &set, error);
    }
    if (code == STATUS_OK && place->folder != NULL) {
        code = plot_set_save(&set, place->folder, &notes, error);
    }
    fputs(text_string(&notes), stderr);
    text_release(&notes);
    plot_set_release(&set);
    arena_release(&arena);
    return code;
}

/* ---- the laws ---- */

static enum status_code overhead_calibrate(const struct arguments *arguments, struct status *error)
{
    int seed = SEED_USUAL;
    struct overhead_law_request request = {.resample_count = RESAMPLES_USUAL};
    struct law_points points = {0};
    struct overhead_law *law = NULL;
    struct law_place place;
    const char *table = arguments_value(arguments, "points");
    enum status_code code = law_place_read(arguments, &place, error);
    if (code == STATUS_OK) {
        code = number_option_read(arguments, "seed", 0, SEED_MAXIMUM, &seed, error);
    }
    if (code == STATUS_OK) {
        code = number_option_read(arguments, "resamples", 0, RESAMPLES_MAXIMUM, &request.resample_count, error);
    }
    request.seed = (uint64_t)seed;
    code = code == STATUS_OK ? points_read(arguments, &points, error) : code;
    code = code == STATUS_OK && table != NULL ? points_save(table, &points, error) : code;
    code = code == STATUS_OK ? overhead_law_make(&points, &request, &law, error) : code;
    code = code == STATUS_OK ? overhead_give(&place, law, error) : code;
    overhead_law_release(law);
    law_points_release(&points);
    return code;
}

static enum status_code optimizer_calibrate(const struct arguments *arguments, struct status *error)
{
    struct arena arena = {0};
    struct point_places places;
    struct optimizer_law law = {0};
    struct law_place place;
    enum status_code code = law_place_read(arguments, &place, error);
    code = code == STATUS_OK ? places_find(&arena, &places, error) : code;
    if (code == STATUS_OK) {
        code = optimizer_law_make(arguments->operands, arguments->operand_count, arguments_value(arguments, "filter"),
                                  &places, &law, error);
    }
    if (code == STATUS_OK) {
        code = law_give(&place, optimizer_law_json(&law, ASSAY_VERSION), optimizer_page, &law, NULL, error);
    }
    optimizer_law_release(&law);
    arena_release(&arena);
    return code;
}

static enum status_code constants_calibrate(const struct arguments *arguments, struct status *error)
{
    struct constants constants;
    struct law_place place;
    enum status_code code = law_place_read(arguments, &place, error);
    if (code == STATUS_OK) {
        code = calibration_make(arguments->operands, arguments->operand_count, arguments_value(arguments, "filter"),
                                &constants, error);
    }
    if (code == STATUS_OK) {
        code = law_give(&place, constants_law_json(&constants, ASSAY_VERSION), constants_page, &constants, NULL, error);
    }
    return code;
}

/* The laws by their names, and whether they take the options of that of inference. */
static const struct {
    const char *name;
    bool resamples;
    enum status_code (*calibrate)(const struct arguments *arguments, struct status *error);
} laws[] = {
    {"inference-overhead", true, overhead_calibrate},
    {"optimizer", false, optimizer_calibrate},
    {"device-constants", false, constants_calibrate},
};

enum status_code calibrate_law(const struct arguments *arguments, struct status *error)
{
    const char *name = arguments_value(arguments, "law");
    for (size_t i = 0; i < sizeof laws / sizeof laws[0]; i++) {
        if (strcmp(laws[i].name, name) != 0) {
            continue;
        }
        for (int at = 1; at < LAW_OPTION_COUNT; at++) {
            if (!laws[i].resamples && arguments_value(arguments, law_options[at]) != NULL) {
                return status_set(error, STATUS_INVALID,
                                  "calibrate: --%s belongs to --law inference-overhead; leave it out", law_options[at]);
            }
        }
        return laws[i].calibrate(arguments, error);
    }
    return status_set(error, STATUS_INVALID,
                      "calibrate: --law %s is not known; write inference-overhead, optimizer or device-constants",
                      name);
}
