/* Calibrate law: reads the points, fits the law, prints it, and keeps what was asked for. */
#include "harness/cli/calibrate_law.h"

#include <stdio.h>
#include <string.h>

#include "harness/base/file_replace.h"
#include "harness/cli/number_option.h"
#include "harness/cli/output.h"
#include "harness/cli/resource_path.h"
#include "harness/law/law_file.h"
#include "harness/law/overhead_text.h"
#include "harness/law/residual_plot.h"

enum { SEED_USUAL = 1, SEED_MAXIMUM = 1000000000, RESAMPLES_USUAL = 200 };

enum status_code calibrate_law_asked(const struct arguments *arguments, bool *is_asked, struct status *error)
{
    static const char *const others[] = {"seed", "resamples", "points", "plots"};
    *is_asked = arguments_value(arguments, "law") != NULL;
    for (size_t i = 0; i < sizeof others / sizeof others[0] && !*is_asked; i++) {
        if (arguments_value(arguments, others[i]) != NULL) {
            return status_set(error, STATUS_INVALID, "calibrate: --%s belongs to --law; add --law inference-overhead",
                              others[i]);
        }
    }
    return STATUS_OK;
}

static enum status_code points_read(const struct arguments *arguments, struct law_points *points, struct status *error)
{
    struct arena arena = {0};
    const struct point_places places = {.catalogue_dir = resource_path(&arena, "models/catalogue"),
                                        .resource = resource_path};
    enum status_code code = places.catalogue_dir != NULL
                                ? STATUS_OK
                                : status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a path");
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

static enum status_code law_save(const char *path, const struct overhead_law *law, struct status *error)
{
    struct json *document = overhead_law_json(law, ASSAY_VERSION);
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
    enum status_code code = output != NULL ? law_save(output, law, error) : STATUS_OK;
    if (code == STATUS_OK && folder != NULL) {
        code = law_plot(folder, law, error);
    }
    if (code == STATUS_OK) {
        overhead_text_append(&text, law);
        code = output_text(&text, error);
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

enum status_code calibrate_law(const struct arguments *arguments, struct status *error)
{
    const char *name = arguments_value(arguments, "law");
    if (strcmp(name, "inference-overhead") != 0) {
        return status_set(error, STATUS_INVALID, "calibrate: --law %s is not known; write inference-overhead", name);
    }
    return overhead_calibrate(arguments, error);
}
