/* Law answer: what a law says of a case, and of which of its variables the case is outside. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/law/law_file.h"

const struct law_kind *law_file_kind(const struct law_file *file, const char *kind, const char *target, int *count)
{
    const struct law_kind *found = NULL;
    *count = 0;
    for (int at = 0; at < file->kind_count; at++) {
        const struct law_kind *one = &file->kinds[at];
        if (strcmp(one->kind, kind) == 0 && strcmp(one->target, target) == 0) {
            found = found == NULL ? one : found;
            ++*count;
        }
    }
    return found;
}

/* Of several programs the first, as overhead_borrow chooses. */
const struct law_kind *law_file_donor(const struct law_file *file, const struct law_kind *kind)
{
    for (int at = 0; at < file->kind_count && kind->borrowed_from != NULL; at++) {
        const struct law_kind *one = &file->kinds[at];
        if (one->borrowed_from == NULL && strcmp(one->kind, kind->kind) == 0 &&
            strcmp(one->target, kind->borrowed_from) == 0) {
            return one;
        }
    }
    return NULL;
}

const struct law_context *law_file_context(const struct law_file *file, const char *target, const char *mode,
                                           const char *program, int *count)
{
    const struct law_context *found = NULL;
    *count = 0;
    for (int at = 0; at < file->context_count; at++) {
        const struct law_context *one = &file->contexts[at];
        if (strcmp(one->target, target) != 0 || strcmp(one->mode, mode) != 0) {
            continue;
        }
        if (program != NULL && strcmp(one->program, program) == 0) {
            *count = 1;
            return one;
        }
        found = found == NULL ? one : found;
        ++*count;
    }
    return found;
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

static void outside_word(struct law_answer *answer, const char *name, const char *word, const char *const *words)
{
    const char *lead = "";
    for (const char *const *at = words; *at != NULL; at++) {
        if (strcmp(*at, word) == 0) {
            return;
        }
    }
    text_format(&answer->outside, "%s is %s, fitted to ", name, word);
    for (const char *const *at = words; *at != NULL; at++) {
        text_format(&answer->outside, "%s%s", lead, *at);
        lead = " and ";
    }
    text_append(&answer->outside, "\n");
}

/* Terms of the moment that nothing was measured of: a moment that is fitted in part says too little. */
static void outside_terms(struct law_answer *answer, const struct overhead_row *row)
{
    for (int term = 0; term < TERM_COUNT; term++) {
        for (int moment = 0; moment < MOMENT_COUNT; moment++) {
            if (row->has[moment] && row->bytes[moment][term] > 0.0 && !answer->kind->is_known[term] &&
                term != TERM_CONSTANT) {
                text_format(&answer->outside, "no case tells the coefficient of \"%s\"\n",
                            overhead_term_words((enum overhead_term)term));
                break;
            }
        }
    }
}

int64_t law_bytes(double bytes)
{
    static const double most = 0x1p62;
    return isnan(bytes) ? 0 : (int64_t)(bytes > most ? most : bytes < -most ? -most : round(bytes));
}

void law_answer_make(const struct law_kind *kind, const struct law_point *point, struct law_answer *answer)
{
    struct overhead_row row;
    *answer = (struct law_answer){.kind = kind, .weights_bytes = (double)point->weights_bytes};
    overhead_row_make(point, PART_WHOLE, &row);
    answer->allocated_bytes =
        answer->weights_bytes + overhead_row_value(&row, kind->coefficients, &answer->moment) + kind->allocator_bytes;
    answer->footprint_bytes = kind->context[0] + kind->context[1] * answer->allocated_bytes;
#define OUTSIDE_NUMBER(member, heading)                                                                                \
    outside_number(answer, heading, point->member, kind->low.member, kind->high.member);
    LAW_POINT_SIZES(OUTSIDE_NUMBER)
#undef OUTSIDE_NUMBER
    outside_number(answer, LAW_TOKENS, law_point_tokens(point), kind->tokens_low, kind->tokens_high);
    outside_word(answer, "precision", point->precision, kind->words[0]);
    outside_word(answer, "attention", point->attention, kind->words[1]);
    outside_word(answer, "logits", point->logits, kind->words[2]);
    outside_word(answer, "cache", point->cache, kind->words[3]);
    outside_terms(answer, &row);
}

void law_answer_terms(const struct law_answer *answer, const struct law_point *point, struct text *text)
{
    struct overhead_row row;
    char size[SIZE_TEXT_BYTES];
    overhead_row_make(point, PART_WHOLE, &row);
    for (int term = 0; term < TERM_COUNT; term++) {
        double bytes = answer->kind->coefficients[term] * row.bytes[answer->moment][term];
        if (fabs(bytes) >= 0.5) {
            text_format(text, "  %s %8.3f x %-18s %s%12s  %s\n", overhead_term_symbol((enum overhead_term)term),
                        answer->kind->coefficients[term], overhead_term_unit((enum overhead_term)term),
                        bytes < 0.0 ? "-" : " ", size_format(law_bytes(fabs(bytes)), size),
                        overhead_term_words((enum overhead_term)term));
        }
    }
}
