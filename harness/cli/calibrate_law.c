/* Calibrate law: reads the points, fits the law, prints it, and keeps what was asked for. */
#include "harness/cli/calibrate_law.h"

#include <stdio.h>
#include <string.h>

#include "harness/base/file_replace.h"
#include "harness/cli/output.h"
#include "harness/cli/page_sink.h"
#include "harness/cli/resource_path.h"
#include "harness/law/law_page.h"
#include "harness/law/optimizer_law.h"
#include "harness/report/calibration.h"

/* The first belongs to every law, the others to that of inference. */
static const char *const law_options[] = {"format", "points"};

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
    return code;
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

/* Where a law goes. Without --format it is printed, and --output keeps it as JSON; with it --output has the page. */
struct law_place {
    bool is_page; /* --format was given */
    enum report_format format;
    const char *output; /* NULL: not given */
};

static enum status_code law_place_read(const struct arguments *arguments, const struct page_kind *kind,
                                       struct law_place *place, struct status *error)
{
    const char *format = arguments_value(arguments, "format");
    *place = (struct law_place){
        .is_page = format != NULL, .format = REPORT_TABLE, .output = arguments_value(arguments, "output")};
    enum status_code code = format != NULL ? page_format_parse(kind, format, &place->format, error) : STATUS_OK;
    if (code != STATUS_OK) {
        status_prefix(error, "calibrate: --format");
    }
    return code;
}

/* The law as JSON if that was asked for, and its page. */
static enum status_code law_give(const struct law_place *place, const struct page_kind *kind, const void *law,
                                 struct status *error)
{
    const struct law_subject subject = {law, ASSAY_VERSION};
    const struct report_style style = {.width = terminal_width(stdout)};
    struct page_sink sink;
    struct text text = {0};
    enum status_code code = STATUS_OK;
    if (!place->is_page && place->output != NULL) {
        code = page_render(kind, &subject, REPORT_JSON, NULL, &text, error);
        code = text_save(place->output, &text, code, error);
    }
    if (code != STATUS_OK) {
        return code;
    }
    code = page_sink_open(place->is_page ? place->output : NULL, &sink, error);
    code = code == STATUS_OK ? page_render(kind, &subject, place->format, &style, &sink.text, error) : code;
    return page_sink_close(&sink, code, error);
}

/* ---- the laws ---- */

static enum status_code overhead_calibrate(const struct arguments *arguments, struct status *error)
{
    struct law_points points = {0};
    struct overhead_law *law = NULL;
    struct law_place place;
    const char *table = arguments_value(arguments, "points");
    enum status_code code = law_place_read(arguments, &overhead_page, &place, error);
    code = code == STATUS_OK ? points_read(arguments, &points, error) : code;
    code = code == STATUS_OK && table != NULL ? points_save(table, &points, error) : code;
    code = code == STATUS_OK ? overhead_law_make(&points, &law, error) : code;
    code = code == STATUS_OK ? law_give(&place, &overhead_page, law, error) : code;
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
    enum status_code code = law_place_read(arguments, &optimizer_page, &place, error);
    code = code == STATUS_OK ? places_find(&arena, &places, error) : code;
    if (code == STATUS_OK) {
        code = optimizer_law_make(arguments->operands, arguments->operand_count, arguments_value(arguments, "filter"),
                                  &places, &law, error);
    }
    code = code == STATUS_OK ? law_give(&place, &optimizer_page, &law, error) : code;
    optimizer_law_release(&law);
    arena_release(&arena);
    return code;
}

static enum status_code constants_calibrate(const struct arguments *arguments, struct status *error)
{
    struct constants constants;
    struct law_place place;
    enum status_code code = law_place_read(arguments, &constants_page, &place, error);
    if (code == STATUS_OK) {
        code = calibration_make(arguments->operands, arguments->operand_count, arguments_value(arguments, "filter"),
                                &constants, error);
    }
    return code == STATUS_OK ? law_give(&place, &constants_page, &constants, error) : code;
}

/* The laws by their names, and whether they have points. */
static const struct {
    const char *name;
    bool has_points;
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
            if (!laws[i].has_points && arguments_value(arguments, law_options[at]) != NULL) {
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
