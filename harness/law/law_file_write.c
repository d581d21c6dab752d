/* Law file: writing. */
#include <math.h>
#include <string.h>

#include "harness/law/law_file.h"
#include "harness/law/overhead_rule.h"

/* null if there were no resamples, or too few that tell it. */
static struct json *interval_json(struct interval interval)
{
    if (!interval.is_known) {
        return json_null_new();
    }
    struct json *array = json_array_new();
    bool made = json_append(array, json_real_new(interval.low)) && json_append(array, json_real_new(interval.high));
    return json_made(array, made);
}

static struct json *summary_json(const struct error_summary *summary)
{
    struct json *object = json_object_new();
    bool made = json_set(object, "cases", json_integer_new(summary->count)) &&
                json_set(object, "median", json_real_new(summary->count > 0 ? summary->median : NAN)) &&
                json_set(object, "p90", json_real_new(summary->count > 0 ? summary->p90 : NAN)) &&
                json_set(object, "p99", json_real_new(summary->count > 0 ? summary->p99 : NAN)) &&
                json_set(object, "worst", json_real_new(summary->count > 0 ? summary->worst : NAN)) &&
                json_set(object, "bias", json_real_new(summary->count > 0 ? summary->bias : NAN)) &&
                json_set(object, "under", json_real_new(summary->count > 0 ? summary->under : NAN));
    return json_made(object, made);
}

/* ---- forms ---- */

static struct json *simple_json(const struct overhead_simple *simple, enum overhead_form form)
{
    static const char *const keys[] = {"constant_mib", "weights", "tokens_hidden_bytes"};
    struct json *object = json_object_new();
    int count = form == FORM_AFFINE ? AFFINE_COUNT : 1;
    bool made = true;
    for (int at = 0; at < count; at++) {
        struct json *one = json_object_new();
        made = made && json_set(one, "value", json_real_new(simple->coefficients[at])) &&
               json_set(one, "interval", interval_json(simple->spread[at])) &&
               json_set(one, "dependent", json_boolean_new(!simple->is_told[at])) &&
               json_set(object, count == 1 ? "weights" : keys[at], one);
    }
    return json_made(object, made);
}

static struct json *forms_json(const struct overhead_law *law)
{
    struct json *levels = json_object_new();
    bool made = true;
    for (int level = 0; level < OVERHEAD_LEVEL_COUNT; level++) {
        struct json *forms = json_object_new();
        for (int form = 0; form < FORM_COUNT; form++) {
            struct json *one = json_object_new();
            made = made && json_set(one, "form", json_string_new(overhead_form_words((enum overhead_form)form))) &&
                   json_set(one, "errors", summary_json(&law->summary[level][form])) &&
                   (level == OVERHEAD_FOOTPRINT || form == FORM_REPLAYED ||
                    json_set(one, "errors_beside_weights", summary_json(&law->beside[form]))) &&
                   (form > FORM_AFFINE ||
                    json_set(one, "coefficients", simple_json(&law->simple[level][form], (enum overhead_form)form))) &&
                   json_set(forms, overhead_form_key((enum overhead_form)form), one);
        }
        made = made && json_set(levels, overhead_level_name((enum overhead_level)level), forms);
    }
    return json_made(levels, made);
}

/* ---- kinds ---- */

static struct json *coefficients_json(const struct overhead_group *kind)
{
    struct json *object = json_object_new();
    bool made = true;
    for (int term = 0; term < TERM_COUNT; term++) {
        if (!kind->fit.is_seen[term]) {
            continue;
        }
        struct json *one = json_object_new();
        made = made && json_set(one, "value", json_real_new(kind->fit.coefficients[term])) &&
               json_set(one, "interval", interval_json(kind->spread[term])) &&
               json_set(one, "models", json_integer_new(kind->fit.model_counts[term])) &&
               json_set(one, "resamples", json_integer_new(kind->told_resamples[term])) &&
               json_set(one, "times", json_string_new(overhead_term_unit((enum overhead_term)term))) &&
               json_set(one, "dependent", json_boolean_new(kind->fit.is_dependent[term])) &&
               json_set(object, overhead_term_key((enum overhead_term)term), one);
    }
    return json_made(object, made);
}

static bool pair_set(struct json *object, const char *heading, int64_t low, int64_t high)
{
    struct json *pair = json_array_new();
    return json_append(pair, json_integer_new(low)) && json_append(pair, json_integer_new(high)) &&
           json_set(object, heading, pair);
}

static bool tokens_set(const struct overhead_law *law, const struct overhead_group *kind, struct json *object)
{
    int64_t low = INT64_MAX, high = 0;
    for (int i = 0; i < kind->point_count; i++) {
        int64_t tokens = law_point_tokens(&law->points->all[kind->points[i]]);
        low = tokens < low ? tokens : low;
        high = tokens > high ? tokens : high;
    }
    return pair_set(object, LAW_TOKENS, low, high);
}

static struct json *range_json(const struct overhead_law *law, const struct overhead_group *kind)
{
    struct json *object = json_object_new();
    bool made = true;
#define RANGE_SET(member, heading) made = made && pair_set(object, heading, kind->low.member, kind->high.member);
    LAW_POINT_SIZES(RANGE_SET)
#undef RANGE_SET
    made = made && tokens_set(law, kind, object);
    return json_made(object, made);
}

/* The words of a text member that the kind has seen, in the order of the points. */
static struct json *words_json(const struct overhead_law *law, const struct overhead_group *kind, size_t offset)
{
    struct json *array = json_array_new();
    const char *seen[LAW_WORDS_MAXIMUM] = {NULL};
    int count = 0;
    bool made = true;
    for (int i = 0; i < kind->point_count; i++) {
        const char *word = *(const char *const *)((const char *)&law->points->all[kind->points[i]] + offset);
        bool is_new = count < LAW_WORDS_MAXIMUM - 1;
        for (int at = 0; at < count; at++) {
            is_new = is_new && strcmp(seen[at], word) != 0;
        }
        if (is_new) {
            seen[count++] = word;
            made = made && json_append(array, json_string_new(word));
        }
    }
    return json_made(array, made);
}

/* A kind that borrows has all that was fitted from its donor, and its own name, cases, errors and workspaces. */
static struct json *kind_json(const struct overhead_law *law, const struct overhead_group *kind)
{
    const struct overhead_group *fitted = kind->counts ? kind : kind->donor;
    struct json *object = json_object_new();
    struct json *context = json_object_new();
    bool made = json_set(context, "constant_bytes", json_real_new(kind->counts ? kind->context[0] : NAN)) &&
                json_set(context, "times_peak", json_real_new(kind->counts ? kind->context[1] : NAN));
    made =
        made && json_set(object, "kind", json_string_new(kind->kind)) &&
        json_set(object, "target", json_string_new(kind->target)) &&
        json_set(object, "program", json_string_new(kind->program)) &&
        json_set(object, "borrowed_from", kind->counts ? json_null_new() : json_string_new(fitted->target)) &&
        json_set(object, "models", json_integer_new(kind->model_count)) &&
        json_set(object, "cases", json_integer_new(kind->point_count)) &&
        json_set(object, "errors", summary_json(kind->counts ? &kind->errors[OVERHEAD_ALLOCATED] : &kind->borrowed)) &&
        json_set(object, "errors_footprint", summary_json(&kind->errors[OVERHEAD_FOOTPRINT])) &&
        json_set(object, "coefficients", coefficients_json(fitted)) &&
        json_set(object, "allocator_bytes",
                 json_real_new(fitted->allocator_bytes + (kind->counts ? 0.0 : kind->workspace_bytes))) &&
        json_set(object, "context", json_share(context)) && json_set(object, "range", range_json(law, fitted)) &&
        json_set(object, "precisions", words_json(law, fitted, offsetof(struct law_point, precision))) &&
        json_set(object, "attentions", words_json(law, fitted, offsetof(struct law_point, attention))) &&
        json_set(object, "logits", words_json(law, fitted, offsetof(struct law_point, logits))) &&
        json_set(object, "caches", words_json(law, fitted, offsetof(struct law_point, cache)));
    json_release(context);
    return json_made(object, made);
}

static struct json *rule_json(const struct overhead_law *law)
{
    struct overhead_verdict verdict;
    overhead_verdict_make(law, &verdict);
    struct json *object = json_object_new();
    bool made = json_set(object, "factor", json_real_new(1.2));
    for (int level = 0; level < OVERHEAD_LEVEL_COUNT; level++) {
        const struct rule_count *count = &verdict.all[level];
        struct json *one = json_object_new();
        made = made && json_set(one, "cases", json_integer_new(count->count)) &&
               json_set(one, "too_little", json_integer_new(count->too_little)) &&
               json_set(one, "wasteful", json_integer_new(count->wasteful)) &&
               json_set(object, overhead_level_name((enum overhead_level)level), one);
    }
    return json_made(object, made);
}

static struct json *context_json(const struct overhead_context *context)
{
    struct json *object = json_object_new();
    bool made = json_set(object, "target", json_string_new(context->target)) &&
                json_set(object, "program", json_string_new(context->program)) &&
                json_set(object, "mode", json_string_new(context->mode)) &&
                json_set(object, "models", json_integer_new(context->model_count)) &&
                json_set(object, "cases", json_integer_new(context->case_count)) &&
                json_set(object, "bytes", json_real_new(context->bytes)) &&
                json_set(object, "interval", interval_json(context->spread)) &&
                json_set(object, "errors", summary_json(&context->errors));
    return json_made(object, made);
}

static struct json *held_json(const struct overhead_law *law)
{
    struct overhead_held held[HELD_COUNT];
    struct json *array = json_array_new();
    bool made = overhead_held_make(law, held, NULL) == STATUS_OK;
    for (int row = 0; row < HELD_COUNT && made; row++) {
        struct json *one = json_object_new();
        made = json_set(one, "from", json_real_new(isinf(held[row].low) ? NAN : held[row].low)) &&
               json_set(one, "below", json_real_new(isinf(held[row].high) ? NAN : held[row].high)) &&
               json_set(one, "errors", summary_json(&held[row].errors)) && json_append(array, json_share(one));
        json_release(one);
    }
    return json_made(array, made);
}

static struct json *contexts_json(const struct overhead_law *law)
{
    struct json *array = json_array_new();
    bool made = true;
    for (int at = 0; at < law->context_count && made; at++) {
        made = json_append(array, context_json(&law->contexts[at]));
    }
    return json_made(array, made);
}

struct json *overhead_law_json(const struct overhead_law *law, const char *version)
{
    struct json *document = json_object_new(), *schema = json_object_new(), *kinds = json_array_new();
    struct text left_out = {0};
    law_points_append(&left_out, law->points);
    bool made = json_set(schema, "name", json_string_new(LAW_SCHEMA_NAME)) &&
                json_set(schema, "major", json_integer_new(LAW_SCHEMA_MAJOR)) &&
                json_set(schema, "minor", json_integer_new(LAW_SCHEMA_MINOR));
    for (int at = 0; at < law->kind_count && made; at++) {
        const struct overhead_group *kind = &law->kinds[at];
        made = (!kind->counts && !overhead_loan_fits(kind)) || json_append(kinds, kind_json(law, kind));
    }
    made = made && !left_out.failed && json_set(document, "type", json_string_new("law")) &&
           json_set(document, "schema", json_share(schema)) &&
           json_set(document, "law", json_string_new("inference-overhead")) &&
           json_set(document, "version", json_string_new(version)) &&
           json_set(document, "seed", json_integer_new((int64_t)law->seed)) &&
           json_set(document, "resamples", json_integer_new(law->resample_count)) &&
           json_set(document, "points", json_string_new(text_string(&left_out))) &&
           json_set(document, "cases", json_integer_new(law->counted_point_count)) &&
           json_set(document, "models", json_integer_new(law->counted_model_count)) &&
           json_set(document, "model_sizes", json_integer_new(law->counted_cluster_count)) &&
           json_set(document, "untold_cases", json_integer_new(law->untold_count)) &&
           json_set(document, "forms", forms_json(law)) && json_set(document, "rule", rule_json(law)) &&
           json_set(document, "contexts", contexts_json(law)) &&
           json_set(document, "unreplayed_cases", json_integer_new(law->unreplayed_count)) &&
           json_set(document, "structural_by_share_held", held_json(law)) &&
           json_set(document, "kinds", json_share(kinds));
    text_release(&left_out);
    json_release(schema);
    json_release(kinds);
    return json_made(document, made);
}
