/* Overhead text: what is said of the rule of 20 %. */
#include <inttypes.h>
#include <stdio.h>

#include "harness/law/overhead_rule.h"
#include "harness/law/overhead_text.h"

#define RULE_FACTOR 1.2

enum { GRID_COLUMNS = 6 };

static double percent(int part, int whole)
{
    return whole > 0 ? 100.0 * part / whole : 0.0;
}

static void count_append(struct text *text, const struct rule_count *count)
{
    text_format(text, "too little in %.0f %%, wasteful in %.0f %%, close in %.0f %% of %d",
                percent(count->too_little, count->count), percent(count->wasteful, count->count),
                percent(count->count - count->too_little - count->wasteful, count->count), count->count);
}

static void extreme_append(struct text *text, const char *words, const struct rule_extreme *extreme)
{
    const struct law_point *point = extreme->point;
    if (point != NULL) {
        text_format(text, "  %-7s %.2f x weights: %s\n          %s %s b%" PRId64 " s%" PRId64 "\n", words,
                    extreme->factor, point->model, point->mode, point->precision, point->batch, point->seq);
    }
}

static void grid_cell(struct text *text, const struct rule_count *count)
{
    char cell[32] = "-";
    if (count->count > 0) {
        snprintf(cell, sizeof cell, "%.0f / %.0f", percent(count->too_little, count->count),
                 percent(count->wasteful, count->count));
    }
    text_format(text, " %11s", cell);
}

static void grid_append(struct text *text, const struct overhead_verdict *verdict)
{
    text_append(text, "\ncases in %, too little / wasteful, by batch and sequence (text, all kinds)\n");
    for (int first = 0; first < verdict->seq_count; first += GRID_COLUMNS) {
        int end = first + GRID_COLUMNS < verdict->seq_count ? first + GRID_COLUMNS : verdict->seq_count;
        text_append(text, "  batch");
        for (int seq = first; seq < end; seq++) {
            char title[32];
            snprintf(title, sizeof title, "s%" PRId64, verdict->seqs[seq]);
            text_format(text, " %11s", title);
        }
        text_append(text, "\n");
        for (int batch = 0; batch < verdict->batch_count; batch++) {
            text_format(text, "  %5" PRId64, verdict->batches[batch]);
            for (int seq = first; seq < end; seq++) {
                grid_cell(text, &verdict->grid[batch][seq]);
            }
            text_append(text, "\n");
        }
    }
}

static void range_append(struct text *text, struct token_range range)
{
    if (range.low == 0) {
        text_format(text, " %15s", "-");
    } else {
        char low[32], high[32];
        snprintf(low, sizeof low, "%" PRId64 "%s", range.low, range.low_is_measured ? "" : "+");
        snprintf(high, sizeof high, "%" PRId64 "%s", range.high, range.high_is_measured ? "" : "+");
        text_format(text, " %7s %7s", low, high);
    }
}

static void kinds_append(struct text *text, const struct overhead_law *law)
{
    text_append(text, "\ncases in %, and from how many tokens (batch x sequence, attention sdpa) the law\n"
                      "is above 1.2 x weights: the least and the most over its models (+: beyond the\n"
                      "tokens that were measured of the kind; -: none, or no law)\n");
    text_format(text, "  %-24s %6s %6s %15s %15s\n", "kind", "little", "waste", "all logits", "last logits");
    for (int at = 0; at < law->kind_count; at++) {
        const struct overhead_group *kind = &law->kinds[at];
        struct rule_count count = overhead_group_count(law, kind, OVERHEAD_ALLOCATED);
        struct text name = {0};
        text_format(&name, "%s, %s", kind->kind, kind->target);
        text_format(text, "  %-24s %6.0f %6.0f", text_string(&name), percent(count.too_little, count.count),
                    percent(count.wasteful, count.count));
        text_release(&name);
        range_append(text, overhead_tokens_at(law, kind, RULE_FACTOR, "all"));
        range_append(text, overhead_tokens_at(law, kind, RULE_FACTOR, "last"));
        text_append(text, "\n");
    }
}

void overhead_rule_append(struct text *text, const struct overhead_law *law)
{
    struct overhead_verdict verdict;
    overhead_verdict_make(law, &verdict);
    text_format(text, "\nthe rule of 20 %%: 1.2 x weights is %s\n", overhead_verdict_words(&verdict));
    text_append(text, "  too little: the peak is above 1.2 x weights, which makes the rule unsafe.\n"
                      "  wasteful: 1.2 x weights is more than 1.1 x the peak. close: neither.\n"
                      "  Shares are of the cases measured here, with a law or without, not of all uses\n");
    for (int level = 0; level < OVERHEAD_LEVEL_COUNT; level++) {
        if (verdict.all[level].count > 0) {
            text_format(text, "  %-7s context: ", level == OVERHEAD_ALLOCATED ? "without" : "with");
            count_append(text, &verdict.all[level]);
            text_append(text, "\n");
        }
    }
    extreme_append(text, "highest", &verdict.highest);
    extreme_append(text, "lowest", &verdict.lowest);
    grid_append(text, &verdict);
    kinds_append(text, law);
}
