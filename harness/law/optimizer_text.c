/* Optimizer law: its text and its document. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "harness/law/law_file.h"
#include "harness/law/optimizer_law.h"

const char *claim_scope_words(enum claim_scope scope)
{
    return scope == CLAIM_ALL ? "weights, gradients, states" : "states and copy";
}

const char *claim_verdict_word(enum claim_verdict verdict)
{
    static const char *const words[] = {"holds", "does not hold", "not measured"};
    return words[verdict];
}

static void spread_append(struct text *text, const struct byte_spread *spread, int width)
{
    char cell[32];
    bool is_one = spread->high - spread->low < 0.005;
    snprintf(cell, sizeof cell, is_one ? "%.2f" : "%.2f*", spread->median);
    text_format(text, " %*s", width, cell);
}

static void groups_append(struct text *text, const struct optimizer_law *law)
{
    text_format(text, "  %-14s %-12s%6s %7s %9s %7s %7s %8s\n", "optimizer", "precision", "models", "weights",
                "gradients", "states", "master", "sum");
    for (int at = 0; at < law->group_count; at++) {
        const struct optimizer_group *group = &law->groups[at];
        text_format(text, "  %-14s %-12s%6d", group->optimizer, group->precision, group->model_count);
        for (int part = 0; part < OPTIMIZER_PART_COUNT; part++) {
            spread_append(text, &group->parts[part], part == OPTIMIZER_GRADIENTS ? 9 : 7);
        }
        spread_append(text, &group->all, 8);
        text_append(text, "\n");
    }
    text_append(text, "  * median; models differ by 0.005 bytes and more\n");
}

static void claims_append(struct text *text, const struct optimizer_law *law)
{
    text_append(text, "\npublished claims, held against the cases that they are about\n");
    const struct optimizer_claim *claim;
    for (int at = 0; (claim = optimizer_claim_at(at)) != NULL; at++) {
        double measured;
        enum claim_verdict verdict = optimizer_claim_judge(law, claim, &measured);
        text_format(text, "  %2.0f  %s in %s, %s: %s", claim->bytes, claim->optimizer, claim->precision,
                    claim_scope_words(claim->scope), claim_verdict_word(verdict));
        if (verdict == CLAIM_FAILS) {
            text_format(text, ", %.2f", measured);
        }
        text_format(text, "\n      %s\n", claim->source);
    }
}

/* What of a group comes to so many bytes; NULL: nothing. */
static const char *count_that_is(const struct optimizer_group *group, double bytes)
{
    return optimizer_bytes_agree(group->parts[OPTIMIZER_STATES].median, bytes) ? "states"
           : optimizer_bytes_agree(group->all.median, bytes)                   ? "sum"
           : optimizer_bytes_agree(group->all.median - group->parts[OPTIMIZER_WEIGHTS].median, bytes)
               ? "sum without weights"
               : NULL;
}

/* Adam's implementations keep the same states, so that they are one name here. */
static const char *common_name(const struct optimizer_group *group)
{
    return optimizer_is_adam(group->optimizer) ? "adam" : group->optimizer;
}

static bool is_told_before(const struct optimizer_law *law, int index, double bytes, const char *what)
{
    for (int at = 0; at < index; at++) {
        const char *before = count_that_is(&law->groups[at], bytes);
        if (before != NULL && strcmp(before, what) == 0 &&
            strcmp(common_name(&law->groups[at]), common_name(&law->groups[index])) == 0 &&
            strcmp(law->groups[at].precision, law->groups[index].precision) == 0) {
            return true;
        }
    }
    return false;
}

/* Whose a figure is: every optimizer and precision of which some count comes to it. */
static void owner_append(struct text *text, const struct optimizer_law *law, double bytes)
{
    int count = 0;
    for (int at = 0; at < law->group_count; at++) {
        const char *what = count_that_is(&law->groups[at], bytes);
        if (what != NULL && !is_told_before(law, at, bytes, what)) {
            char number[16] = "";
            snprintf(number, sizeof number, "%.0f", bytes);
            text_format(text, "  %2s  %s in %s: %s\n", count == 0 ? number : "", common_name(&law->groups[at]),
                        law->groups[at].precision, what);
            count++;
        }
    }
    if (count == 0) {
        text_format(text, "  %2.0f  nothing that was measured\n", bytes);
    }
}

void optimizer_text_append(struct text *text, const struct optimizer_law *law)
{
    static const double figures[] = {4, 5, 8, 12, 16, 18};
    text_format(text, "bytes for each parameter while the optimizer steps\n%d cases of training count, %d do not\n\n",
                law->case_count, law->left_out_count);
    groups_append(text, law);
    claims_append(text, law);
    text_append(text, "\nwhose is it? of what was measured, this comes to\n");
    for (size_t at = 0; at < sizeof figures / sizeof figures[0]; at++) {
        owner_append(text, law, figures[at]);
    }
    text_append(text, "claims of 12 and 18 count a copy of the weights in float32 beside weights in\n"
                      "16 bits; a case keeps one if its column master is not 0\n");
}

/* ---- the document ---- */

static struct json *spread_json(const struct byte_spread *spread)
{
    struct json *object = json_object_new();
    bool made = json_set(object, "median", json_real_new(spread->median)) &&
                json_set(object, "min", json_real_new(spread->low)) &&
                json_set(object, "max", json_real_new(spread->high));
    return json_made(object, made);
}

static struct json *group_json(const struct optimizer_group *group)
{
    struct json *object = json_object_new();
    bool made = json_set(object, "optimizer", json_string_new(group->optimizer)) &&
                json_set(object, "precision", json_string_new(group->precision)) &&
                json_set(object, "models", json_integer_new(group->model_count)) &&
                json_set(object, "cases", json_integer_new(group->case_count));
    for (int part = 0; part < OPTIMIZER_PART_COUNT; part++) {
        made =
            made && json_set(object, optimizer_part_name((enum optimizer_part)part), spread_json(&group->parts[part]));
    }
    made = made && json_set(object, "sum", spread_json(&group->all));
    return json_made(object, made);
}

static struct json *claim_json(const struct optimizer_law *law, const struct optimizer_claim *claim)
{
    double measured;
    enum claim_verdict verdict = optimizer_claim_judge(law, claim, &measured);
    struct json *object = json_object_new();
    bool made = json_set(object, "bytes", json_real_new(claim->bytes)) &&
                json_set(object, "of", json_string_new(claim_scope_words(claim->scope))) &&
                json_set(object, "optimizer", json_string_new(claim->optimizer)) &&
                json_set(object, "precision", json_string_new(claim->precision)) &&
                json_set(object, "source", json_string_new(claim->source)) &&
                json_set(object, "verdict", json_string_new(claim_verdict_word(verdict))) &&
                json_set(object, "measured", json_real_new(measured));
    return json_made(object, made);
}

struct json *optimizer_law_json(const struct optimizer_law *law, const char *version)
{
    struct json *document = json_object_new(), *schema = json_object_new();
    struct json *groups = json_array_new(), *claims = json_array_new();
    const struct optimizer_claim *claim;
    bool made = json_set(schema, "name", json_string_new(LAW_SCHEMA_NAME)) &&
                json_set(schema, "major", json_integer_new(LAW_SCHEMA_MAJOR)) &&
                json_set(schema, "minor", json_integer_new(LAW_SCHEMA_MINOR));
    for (int at = 0; at < law->group_count; at++) {
        made = made && json_append(groups, group_json(&law->groups[at]));
    }
    for (int at = 0; (claim = optimizer_claim_at(at)) != NULL; at++) {
        made = made && json_append(claims, claim_json(law, claim));
    }
    made = made && json_set(document, "type", json_string_new("law")) &&
           json_set(document, "schema", json_share(schema)) &&
           json_set(document, "law", json_string_new("optimizer")) &&
           json_set(document, "version", json_string_new(version)) &&
           json_set(document, "cases", json_integer_new(law->case_count)) &&
           json_set(document, "left_out", json_integer_new(law->left_out_count)) &&
           json_set(document, "groups", json_share(groups)) && json_set(document, "claims", json_share(claims));
    json_release(schema);
    json_release(groups);
    json_release(claims);
    return json_made(document, made);
}
