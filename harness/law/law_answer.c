/* Law answer: what a law says of a case, and of which of its variables the case is outside. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/law/law_file.h"

const struct law_kind *law_file_kind(const struct law_file *file, const char *kind)
{
    for (int at = 0; at < file->kind_count; at++) {
        if (strcmp(file->kinds[at].kind, kind) == 0) {
            return &file->kinds[at];
        }
    }
    return NULL;
}

static void outside_number(struct law_answer *answer, const char *name, int64_t value, int64_t low, int64_t high)
{
    if (value < low || value > high) {
        text_format(&answer->outside, "%s is %" PRId64 ", fitted to %" PRId64, name, value, low);
        if (high > low) {
            text_format(&answer->outside, " to %" PRId64, high);
        }
        text_append(&answer->outside, "\n");
    }
}

/* Terms of the case whose coefficients no case tells, or none tells apart from others. */
static void outside_terms(struct law_answer *answer, const struct overhead_row *row)
{
    for (int term = 0; term < TERM_COUNT; term++) {
        const struct overhead_coefficient *one = &answer->kind->terms[term];
        bool has_term = false;
        for (int moment = 0; moment < MOMENT_COUNT; moment++) {
            has_term = has_term || (row->has[moment] && row->bytes[moment][term] > 0.0);
        }
        if (has_term && !(one->is_seen && one->is_identified)) {
            text_format(&answer->outside, "the coefficient of \"%s\" is not identified\n",
                        overhead_term_words((enum overhead_term)term)->words);
        }
    }
}

int64_t law_bytes(double bytes)
{
    static const double most = 0x1p62;
    return isnan(bytes) ? 0 : (int64_t)(bytes > most ? most : bytes < -most ? -most : round(bytes));
}

void law_answer_make(const struct law_kind *kind, const struct law_point *point, bool keeps_outputs,
                     struct law_answer *answer)
{
    struct overhead_row row;
    double coefficients[TERM_COUNT];
    *answer = (struct law_answer){.kind = kind,
                                  .weights_bytes = (double)point->weights_bytes,
                                  .workspace_bytes = overhead_workspace_bytes(point->target),
                                  .kept_bytes = keeps_outputs ? overhead_kept_bytes(point) : 0.0};
    for (int term = 0; term < TERM_COUNT; term++) {
        coefficients[term] = kind->terms[term].value;
    }
    overhead_row_make(point, PART_WHOLE, &row);
    answer->allocated_bytes = answer->weights_bytes + overhead_row_value(&row, coefficients, &answer->moment) +
                              kind->rounding_bytes + answer->workspace_bytes + answer->kept_bytes;
#define OUTSIDE_NUMBER(member, heading)                                                                                \
    outside_number(answer, heading, point->member, kind->low.member, kind->high.member);
    LAW_POINT_SIZES(OUTSIDE_NUMBER)
#undef OUTSIDE_NUMBER
    outside_number(answer, LAW_TOKENS, law_point_tokens(point), kind->tokens_low, kind->tokens_high);
    outside_terms(answer, &row);
}

void law_answer_terms(const struct law_answer *answer, const struct law_point *point, struct text *text)
{
    struct overhead_row row;
    char size[SIZE_TEXT_BYTES];
    overhead_row_make(point, PART_WHOLE, &row);
    for (int term = 0; term < TERM_COUNT; term++) {
        const struct overhead_coefficient *one = &answer->kind->terms[term];
        const struct overhead_term_words *words = overhead_term_words((enum overhead_term)term);
        double bytes = one->value * row.bytes[answer->moment][term];
        if (bytes < 0.5) {
            continue;
        }
        if (one->is_identified) {
            text_format(text, "    %s %8.3f x %-14s", words->symbol, one->value, words->unit);
        } else {
            text_format(text, "    %s not identified %-7s", words->symbol, words->unit);
        }
        text_format(text, " %12s  %s\n", size_format(law_bytes(bytes), size), words->words);
    }
}
