/* Case estimates: the loop over the table of estimators. Stages are left to JSON: people are shown the peak. */
#include "harness/cli/case_estimates.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/size.h"

static void quantity_line(const struct estimate_quantity *quantity, struct text *text)
{
    char size[SIZE_TEXT_BYTES];
    static const char made_of[] = "categories_at_peak.";
    const char *name = quantity->name;
    bool is_part = strncmp(name, made_of, sizeof made_of - 1) == 0;
    if ((strchr(name, '.') != NULL && !is_part) || (is_part && quantity->value == 0)) {
        return; /* stages are for --json */
    }
    text_format(text, "  %s%-*s ", is_part ? "  at the peak: " : "", is_part ? 17 : 32,
                is_part ? name + sizeof made_of - 1 : name);
    if (!quantity->known) {
        text_append(text, "unknown\n");
    } else if (quantity->text != NULL) {
        text_format(text, "%s\n", quantity->text);
    } else if (strstr(name, "bytes") != NULL || is_part) {
        text_format(text, "%12s %20" PRId64 " bytes\n", size_format(quantity->value, size), quantity->value);
    } else {
        text_format(text, "%12s %20" PRId64 "\n", "", quantity->value);
    }
}

static void estimate_lines(const struct estimator *estimator, const struct estimate *estimate, struct text *text)
{
    text_format(text, "\n%s: %s\n", estimator->name, estimator->what);
    for (int i = 0; i < estimate->count; i++) {
        quantity_line(&estimate->quantities[i], text);
    }
}

enum status_code case_estimates(const struct estimate_input *input, struct json *estimates, struct text *text,
                                struct status *error)
{
    struct estimate *estimate = malloc(sizeof *estimate);
    enum status_code code = STATUS_OK;
    for (int i = 0; estimator_at(i) != NULL && code == STATUS_OK && estimate != NULL; i++) {
        const struct estimator *estimator = estimator_at(i);
        if (!estimator->applies(input)) {
            continue;
        }
        code = estimate_compute(estimator, input, estimate, error);
        if (code == STATUS_OK) {
            if (text != NULL) {
                estimate_lines(estimator, estimate, text);
            }
            if (!json_set(estimates, estimator->name, estimate_to_json(estimate))) {
                code = status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for the estimates");
            }
        }
    }
    if (estimate == NULL) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for an estimate");
    }
    free(estimate);
    return code;
}
