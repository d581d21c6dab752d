/* Calibrate law: reads the points, fits the law, prints it, and keeps what was asked for. */
#include "harness/cli/calibrate_law.h"

#include <stdio.h>
#include <string.h>

#include "harness/base/file_replace.h"
#include "harness/cli/number_option.h"
#include "harness/cli/output.h"
#include "harness/cli/output_place.h"
#include "harness/cli/resource_path.h"
#include "harness/law/constants_law.h"
#include "harness/law/law_file.h"
#include "harness/law/optimizer_law.h"
#include "harness/law/overhead_text.h"
#include "harness/law/residual_plot.h"
#include "harness/report/calibration.h"

enum { SEED_USUAL = 1, SEED_MAXIMUM = 1000000000, RESAMPLES_USUAL = 200 };

static const char *const overhead_options[] = {"seed", "resamples", "points", "plots"};

enum status_code calibrate_law_asked(const struct arguments *arguments, bool *is_asked, struct status *error)
{
    *is_asked = arguments_value(arguments, "law") != NULL;
    for (size_t i = 0; i < sizeof overhead_options / sizeof overhead_options[0] && !*is_asked; i++) {
        if (arguments_value(arguments, overhead_options[i]) != NULL) {
            return status_set(error, STATUS_INVALID, "calibrate: --%s belongs to --law; add --law inference-overhead",
                              overhead_options[i]);
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
        code = output_place_check(arguments_value(arguments, "output"), arguments->operands[i], error);
        if (code == STATUS_OK) {
            code = output_place_check(arguments_value(arguments, "points"), arguments->operands[i], error);
        }
    }
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

static enum status_code law_plot(const char *folder, const struct overhead_law *law, struct status *error)
{
    struct arena arena = {0};
    struct text notes = {0};
    struct plot_set set = {0};
    struct plot_place place = {
        .script_directory = resource_path(&arena, "plots"), .with_png = true, .set = &set, .notes = &notes};
    enum status_code code = place.script_directory != NULL
                                ? overhead_law_plot(law, &place, error)
                                : status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a path");
    code = code == STATUS_OK ? plot_set_save(&set, folder, &notes, error) : code;
    fputs(text_string(&notes), stderr);
    text_release(&notes);
    plot_set_release(&set);
    arena_release(&arena);
    return code;
}

static enum status_code law_give(const struct arguments *arguments, const struct overhead_law *law,
                                 struct status *error)
{
    const char *output = arguments_value(arguments, "output"), *folder = arguments_value(arguments, "plots");
    struct text text = {0};
    enum status_code code =
        output != NULL ? document_save(output, overhead_law_json(law, ASSAY_VERSION), error) : STATUS_OK;
    if (code == STATUS_OK && folder != NULL) {
        code = law_plot(folder, law, error);
    }
    if (code == STATUS_OK) {
        overhead_text_append(&text, law);
        code = output_lines(&text, error);
    }
    text_release(&text);
    return code;
}

static enum status_code overhead_calibrate(const struct arguments *arguments, struct status *error)
{
    int seed = SEED_USUAL;
    struct overhead_law_request request = {.resample_count = RESAMPLES_USUAL};
    struct law_points points = {0};
    struct overhead_law *law = NULL;
    const char *table = arguments_value(arguments, "points");
    enum status_code code = number_option_read(arguments, "seed", 0, SEED_MAXIMUM, &seed, error);
    if (code == STATUS_OK) {
        code = number_option_read(arguments, "resamples", 0, RESAMPLES_MAXIMUM, &request.resample_count, error);
    }
    request.seed = (uint64_t)seed;
    code = code == STATUS_OK ? points_read(arguments, &points, error) : code;
    code = code == STATUS_OK && table != NULL ? points_save(table, &points, error) : code;
    code = code == STATUS_OK ? overhead_law_make(&points, &request, &law, error) : code;
    code = code == STATUS_OK ? law_give(arguments, law, error) : code;
    overhead_law_release(law);
    law_points_release(&points);
    return code;
}

static enum status_code optimizer_calibrate(const struct arguments *arguments, struct status *error)
{
    struct arena arena = {0};
    struct point_places places;
    struct optimizer_law law = {0};
    struct text text = {0};
    const char *output = arguments_value(arguments, "output");
    enum status_code code = places_find(&arena, &places, error);
    if (code == STATUS_OK) {
        code = optimizer_law_make(arguments->operands, arguments->operand_count, arguments_value(arguments, "filter"),
                                  &places, &law, error);
    }
    if (code == STATUS_OK && output != NULL) {
        code = document_save(output, optimizer_law_json(&law, ASSAY_VERSION), error);
    }
    if (code == STATUS_OK) {
        optimizer_text_append(&text, &law);
        code = output_lines(&text, error);
    }
    text_release(&text);
    optimizer_law_release(&law);
    arena_release(&arena);
    return code;
}

static enum status_code constants_calibrate(const struct arguments *arguments, struct status *error)
{
    struct constants constants;
    struct text text = {0};
    const char *output = arguments_value(arguments, "output");
    enum status_code code = calibration_make(arguments->operands, arguments->operand_count,
                                             arguments_value(arguments, "filter"), &constants, error);
    if (code == STATUS_OK && output != NULL) {
        code = document_save(output, constants_law_json(&constants, ASSAY_VERSION), error);
    }
    if (code == STATUS_OK) {
        constants_law_append(&text, &constants);
        code = output_lines(&text, error);
    }
    text_release(&text);
    return code;
}

/* The laws by their names, and whether they take the options beside --law, --filter and --output. */
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
        for (size_t at = 0; at < sizeof overhead_options / sizeof overhead_options[0]; at++) {
            if (!laws[i].resamples && arguments_value(arguments, overhead_options[at]) != NULL) {
                return status_set(error, STATUS_INVALID,
                                  "calibrate: --%s belongs to --law inference-overhead; leave it out",
                                  overhead_options[at]);
            }
        }
        return laws[i].calibrate(arguments, error);
    }
    return status_set(error, STATUS_INVALID,
                      "calibrate: --law %s is not known; write inference-overhead, optimizer or device-constants",
                      name);
}
