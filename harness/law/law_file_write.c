/* Law file: writing. */
#include <math.h>

#include "harness/law/law_file.h"

struct json *law_document_new(const char *law, const char *version)
{
    struct json *document = json_object_new(), *schema = json_object_new();
    bool made = json_set(schema, "name", json_string_new(LAW_SCHEMA_NAME)) &&
                json_set(schema, "major", json_integer_new(LAW_SCHEMA_MAJOR)) &&
                json_set(schema, "minor", json_integer_new(LAW_SCHEMA_MINOR));
    schema = json_made(schema, made);
    made = json_set(document, "type", json_string_new("law")) && json_set(document, "schema", schema) &&
           json_set(document, "law", json_string_new(law)) && json_set(document, "version", json_string_new(version));
    return json_made(document, made);
}

static struct json *summary_json(const struct error_summary *summary)
{
    struct json *object = json_object_new();
    bool made = json_set(object, "cases", json_integer_new(summary->count)) &&
                json_set(object, "median", json_real_new(summary->median)) &&
                json_set(object, "p90", json_real_new(summary->p90)) &&
                json_set(object, "worst", json_real_new(summary->worst)) &&
                json_set(object, "under", json_real_new(summary->under));
    return json_made(object, made);
}

static struct json *errors_json(const struct error_summary errors[FORM_COUNT])
{
    struct json *object = json_object_new();
    bool made = true;
    for (int form = 0; form < FORM_COUNT; form++) {
        made = made && json_set(object, overhead_form_key((enum overhead_form)form), summary_json(&errors[form]));
    }
    return json_made(object, made);
}

/* A coefficient that is not identified has no value to be printed: what predictions take in its place is `used`. */
static struct json *coefficient_json(const struct overhead_coefficient *one, const char *unit)
{
    struct json *object = json_object_new(), *interval = json_null_new();
    if (one->interval.is_known) {
        json_release(interval);
        interval = json_array_new();
        bool both = json_append(interval, json_real_new(one->interval.low)) &&
                    json_append(interval, json_real_new(one->interval.high));
        interval = json_made(interval, both);
    }
    bool made = json_set(object, "value", json_real_new(one->is_identified ? one->value : NAN)) &&
                json_set(object, "interval", interval) &&
                json_set(object, "identified", json_boolean_new(one->is_identified)) &&
                json_set(object, "times", json_string_new(unit)) &&
                (one->is_identified || json_set(object, "used", json_real_new(one->value)));
    return json_made(object, made);
}

static struct json *simple_json(const struct overhead_simple *simple, int count)
{
    struct json *object = json_object_new(), *coefficients = json_object_new();
    bool made = true;
    for (int at = 0; at < count; at++) {
        const struct overhead_term_words *words = overhead_affine_words(count == 1 ? 1 : at);
        made = made && json_set(coefficients, words->key, coefficient_json(&simple->terms[at], words->unit));
    }
    coefficients = json_made(coefficients, made);
    made = json_set(object, "condition", json_real_new(simple->condition)) &&
           json_set(object, "coefficients", coefficients);
    return json_made(object, made);
}

static struct json *forms_json(const struct overhead_law *law)
{
    struct json *object = json_object_new();
    bool made = json_set(object, overhead_form_key(FORM_CONSTANT), simple_json(&law->simple[0], 1)) &&
                json_set(object, overhead_form_key(FORM_AFFINE), simple_json(&law->simple[1], AFFINE_COUNT));
    return json_made(object, made);
}

static struct json *test_json(const struct overhead_test *test)
{
    struct json *object = json_object_new();
    bool made = json_set(object, "source", test->source != NULL ? json_string_new(test->source) : json_null_new()) &&
                json_set(object, "program", test->program != NULL ? json_string_new(test->program) : json_null_new()) &&
                json_set(object, "cases", json_integer_new(test->case_count)) &&
                json_set(object, "untold", json_integer_new(test->untold_count)) &&
                json_set(object, "errors", errors_json(test->errors));
    return json_made(object, made);
}

static bool pair_set(struct json *object, const char *heading, int64_t low, int64_t high)
{
    struct json *pair = json_array_new();
    return json_append(pair, json_integer_new(low)) && json_append(pair, json_integer_new(high)) &&
           json_set(object, heading, pair);
}

static struct json *range_json(const struct law_kind *kind)
{
    struct json *object = json_object_new();
    bool made = pair_set(object, LAW_TOKENS, kind->tokens_low, kind->tokens_high);
#define RANGE_SET(member, heading) made = made && pair_set(object, heading, kind->low.member, kind->high.member);
    LAW_POINT_SIZES(RANGE_SET)
#undef RANGE_SET
    return json_made(object, made);
}

static struct json *kind_json(const struct law_kind *kind)
{
    struct json *object = json_object_new(), *coefficients = json_object_new();
    bool made = true;
    for (int term = 0; term < TERM_COUNT; term++) {
        const struct overhead_term_words *words = overhead_term_words((enum overhead_term)term);
        made = made && (!kind->terms[term].is_seen ||
                        json_set(coefficients, words->key, coefficient_json(&kind->terms[term], words->unit)));
    }
    coefficients = json_made(coefficients, made);
    made = json_set(object, "kind", json_string_new(kind->kind)) &&
           json_set(object, "models", json_integer_new(kind->model_count)) &&
           json_set(object, "cases", json_integer_new(kind->case_count)) &&
           json_set(object, "tested", summary_json(&kind->tested)) &&
           json_set(object, "left_out", summary_json(&kind->left_out)) &&
           json_set(object, "condition", json_real_new(kind->condition)) &&
           json_set(object, "coefficients", coefficients) &&
           json_set(object, "rounding_bytes", json_real_new(kind->rounding_bytes)) &&
           json_set(object, "range", range_json(kind));
    return json_made(object, made);
}

static struct json *fitted_json(const struct overhead_law *law)
{
    struct json *object = json_object_new();
    bool made = json_set(object, "cases", json_integer_new(law->case_count)) &&
                json_set(object, "models", json_integer_new(law->model_count)) &&
                json_set(object, "untold", json_integer_new(law->untold_count)) &&
                json_set(object, "left_out", errors_json(law->left_out));
    return json_made(object, made);
}

struct json *overhead_law_json(const struct overhead_law *law, const char *version)
{
    struct json *document = law_document_new("inference-overhead", version);
    struct json *kinds = json_array_new(), *tests = json_array_new();
    struct text claim = {0}, counts = {0};
    bool made = true;
    for (int at = 0; at < law->kind_count; at++) {
        made = made && json_append(kinds, kind_json(&law->kinds[at]));
    }
    for (int at = 0; at < law->test_count; at++) {
        made = made && json_append(tests, test_json(&law->tests[at]));
    }
    overhead_claim_append(&claim, law);
    law_points_append(&counts, law->points);
    kinds = json_made(kinds, made && !claim.failed && !counts.failed);
    tests = json_made(tests, made);
    made = json_set(document, "claim", json_string_new(text_string(&claim))) &&
           json_set(document, "points", json_string_new(text_string(&counts))) &&
           json_set(document, "tested", test_json(&law->all)) && json_set(document, "tests", tests) &&
           json_set(document, "replay", fitted_json(law)) && json_set(document, "forms", forms_json(law)) &&
           json_set(document, "kinds", kinds);
    text_release(&claim);
    text_release(&counts);
    return json_made(document, made);
}
