/* Case estimates: the loop over the table of estimators. Stages are left to JSON: people are shown the peak. */
#include "harness/cli/case_estimates.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/record/level.h"

/* The objects of an estimate in JSON, and the words for people. */
static const struct {
    const char *prefix, *heading;
} parts[] = {
    {"categories_at_peak.", "at the peak: "},
    {"search.", "first pass: "},
    {"causes.load.", "at load: "},
    {"managed.", "managed memory: "},
    {"offload_optimizer.", "optimizer offloaded: "},
    {"offload_parameters.", "parameters offloaded: "},
};

enum { PART_COUNT = sizeof parts / sizeof parts[0], NAME_COLUMNS = 38 };

/* The name for people; NULL if the quantity is for JSON alone, as all figures of single stages are. */
static const char *quantity_label(const struct estimate_quantity *quantity, char label[ESTIMATE_NAME_BYTES])
{
    const char *name = quantity->name;
    for (int i = 0; i < PART_COUNT; i++) {
        size_t length = strlen(parts[i].prefix);
        if (strncmp(name, parts[i].prefix, length) == 0) {
            snprintf(label, ESTIMATE_NAME_BYTES, "  %s%s", parts[i].heading, name + length);
            return quantity->value == 0 ? NULL : label;
        }
    }
    return strchr(name, '.') != NULL ? NULL : name;
}

static void quantity_line(const struct estimate_quantity *quantity, struct text *text)
{
    char size[SIZE_TEXT_BYTES];
    char buffer[ESTIMATE_NAME_BYTES];
    const char *label = quantity_label(quantity, buffer);
    if (label == NULL) {
        return;
    }
    text_format(text, "  %-*s ", NAME_COLUMNS, label);
    if (!quantity->known) {
        text_append(text, "unknown\n");
    } else if (quantity->text != NULL) {
        text_format(text, "%s\n", quantity->text);
    } else if (strstr(quantity->name, "count") != NULL) {
        text_format(text, "%12" PRId64 "\n", quantity->value);
    } else {
        text_format(text, "%12s %20" PRId64 " bytes\n", size_format(quantity->value, size), quantity->value);
    }
}

/* Prefill and decoding apart, if there are both. */
static void generation_lines(const struct estimate *estimate, struct text *text)
{
    static const char *const labels[] = {"  prefill: " LEVEL_PEAK_KEY(allocated),
                                         "  decode: " LEVEL_PEAK_KEY(allocated)};
    const struct estimate_quantity *peaks[] = {estimate_get(estimate, "stages.forward." LEVEL_PEAK_KEY(allocated)),
                                               estimate_get(estimate, "stages.generate." LEVEL_PEAK_KEY(allocated))};
    char size[SIZE_TEXT_BYTES];
    if (peaks[0] == NULL || peaks[1] == NULL) {
        return;
    }
    for (int i = 0; i < 2; i++) {
        text_format(text, "  %-*s %12s %20" PRId64 " bytes%s\n", NAME_COLUMNS, labels[i],
                    size_format(peaks[i]->value, size), peaks[i]->value,
                    peaks[i]->value >= peaks[1 - i]->value ? ", higher" : "");
    }
}

/* Segments have at least 2 or 20 MiB, so a tiny model never allocates most of its segments: no note below this. */
enum { HOARD_LEAST_BYTES = 64 << 20 };

/* Reserved bytes of more than twice the allocated ones surprise a reader, and no device would show them. */
static void hoard_line(const struct estimate *estimate, struct text *text)
{
    const struct estimate_quantity *reserved = estimate_get(estimate, level_peak_key(LEVEL_RESERVED));
    const struct estimate_quantity *allocated = estimate_get(estimate, level_peak_key(LEVEL_ALLOCATED));
    if (reserved != NULL && allocated != NULL && reserved->known && allocated->known &&
        reserved->value / 2 > allocated->value && reserved->value > HOARD_LEAST_BYTES &&
        estimate_get(estimate, "memory_bytes") == NULL) {
        text_format(text,
                    "  reserved is %.3g times allocated: without a limit the allocator keeps every segment; --memory "
                    "SIZE or --on GPU says what it would be on a device\n",
                    (double)reserved->value / (double)allocated->value);
    }
}

static void estimate_lines(const struct estimator *estimator, const struct estimate *estimate, struct text *text)
{
    text_format(text, "\n%s: %s\n", estimator->name, estimator->what);
    for (int i = 0; i < estimate->count; i++) {
        quantity_line(&estimate->quantities[i], text);
    }
    generation_lines(estimate, text);
    hoard_line(estimate, text);
    if (estimate->note[0] != '\0') {
        text_format(text, "  unknown: %s\n", estimate->note);
    }
}

/* weights-1.2 and the report of nearly the same name count other weights. loaded_bytes: what replay has after
 * loading. */
static void rule_line(const struct estimate *estimate, int64_t loaded_bytes, struct text *text)
{
    const struct estimate_quantity *weights = estimate_get(estimate, "weights_bytes");
    char size[SIZE_TEXT_BYTES];
    if (strcmp(estimate->estimator, "weights-1.2") != 0 || weights == NULL || loaded_bytes <= 0) {
        return;
    }
    text_append(text, "  report --rule 1.2 takes other weights, what lies in memory after loading");
    if (weights->value == loaded_bytes) {
        text_append(text, ": as many here\n");
    } else {
        text_format(text, ": %s, %" PRId64 " bytes\n", size_format(loaded_bytes, size), loaded_bytes);
    }
}

enum status_code case_estimates(const struct estimate_input *input, struct json *estimates, struct text *text,
                                struct status *error)
{
    struct estimate *estimate = malloc(sizeof *estimate);
    enum status_code code = STATUS_OK;
    int64_t loaded_bytes = 0;
    for (int i = 0; estimator_at(i) != NULL && code == STATUS_OK && estimate != NULL; i++) {
        const struct estimator *estimator = estimator_at(i);
        if (!estimator_applies(estimator, input)) {
            continue;
        }
        code = estimate_compute(estimator, input, estimate, error);
        if (code == STATUS_OK) {
            const struct estimate_quantity *load = estimate_get(estimate, "stages.load." LEVEL_KEY(requested));
            loaded_bytes = load != NULL ? load->value : loaded_bytes;
            estimate_lines(estimator, estimate, text);
            rule_line(estimate, loaded_bytes, text);
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
