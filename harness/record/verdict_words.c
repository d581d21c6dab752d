/* Verdict words: figures of a comparison to a sentence. Decides nothing: whether it passed is in the record. */
#include "harness/record/verdict_words.h"

#include <stdio.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/record/quantity.h"

const char *basis_of_device(const char *kind)
{
    return kind != NULL && strcmp(kind, "meta") == 0 ? BASIS_REPLAYED : BASIS_MEASURED;
}

struct verdict_words verdict_words_read(const struct json *verdict, const char *basis)
{
    const struct json *tolerance = json_get(verdict, "tolerance");
    return (struct verdict_words){.estimator = json_string_or(json_get(verdict, "estimator"), "(no estimator)"),
                                  .quantity = json_string_or(json_get(verdict, "quantity"), "(no quantity)"),
                                  .basis = basis,
                                  .stage = json_string_or(json_get(verdict, "stage"), NULL),
                                  .place = json_string_or(json_get(verdict, "place"), NULL),
                                  .note = json_string_or(json_get(verdict, "note"), NULL),
                                  .predicted_bytes = json_integer_or(json_get(verdict, "predicted"), -1),
                                  .measured_bytes = json_integer_or(json_get(verdict, "measured"), -1),
                                  .tolerance_bytes = json_integer_or(json_get(tolerance, "bytes"), -1),
                                  .tolerance_fraction = json_real_or(json_get(tolerance, "fraction"), -1.0)};
}

/* "312.47 MiB predicted", "not predicted". */
static void figure_append(struct text *text, int64_t bytes, const char *basis)
{
    char size[SIZE_TEXT_BYTES];
    if (bytes >= 0) {
        text_format(text, "%s %s", size_format(bytes, size), basis);
    } else {
        text_format(text, "not %s", basis);
    }
}

/* ": -14.15 % (-51.52 MiB)"; nothing where a figure is not known. */
static void error_append(struct text *text, const struct verdict_words *words)
{
    char percentage[SIZE_TEXT_BYTES], size[SIZE_TEXT_BYTES];
    if (words->predicted_bytes < 0 || words->measured_bytes < 0) {
        return;
    }
    int64_t error_bytes = words->predicted_bytes - words->measured_bytes;
    size_format(error_bytes, size);
    const char *sign = error_bytes > 0 ? "+" : "";
    if (words->measured_bytes == 0) {
        text_format(text, ": %s%s", sign, size);
        return;
    }
    percentage_format((double)error_bytes / (double)words->measured_bytes, percentage);
    text_format(text, ": %s (%s%s)", percentage, sign, size);
}

static void tolerance_append(struct text *text, const struct verdict_words *words)
{
    char size[SIZE_TEXT_BYTES];
    if (words->tolerance_bytes >= 0) {
        text_format(text, ", tolerance %s", size_format(words->tolerance_bytes, size));
    } else if (words->tolerance_fraction >= 0.0) {
        text_format(text, ", tolerance %.4g %%", words->tolerance_fraction * 100.0);
    }
}

void verdict_words_append(struct text *text, const struct verdict_words *words)
{
    const char *counterpart = quantity_counterpart(words->quantity);
    text_format(text, "%s: ", words->estimator);
    quantity_words_append(text, words->quantity);
    text_append(text, " ");
    figure_append(text, words->predicted_bytes, "predicted");
    text_append(text, ", ");
    if (counterpart != NULL) {
        quantity_words_append(text, counterpart);
        text_append(text, " ");
    }
    figure_append(text, words->measured_bytes, words->basis);
    if (words->measured_bytes >= 0 && words->stage != NULL) {
        text_format(text, " in %s", words->stage);
    }
    text_format(text, words->place != NULL ? " on place %s" : "%s", words->place != NULL ? words->place : "");
    error_append(text, words);
    tolerance_append(text, words);
    if (words->note != NULL) {
        text_format(text, ": not judged, %s", words->note);
    }
}
