/* Proof words: outcomes of a proof to sentences. Decides nothing: whether it passed is in the record. */
#include "harness/record/proof_words.h"

#include "harness/base/size.h"
#include "harness/record/quantity.h"

static const struct json *proof_of(const struct json *case_line)
{
    return json_get(case_line, "proof");
}

enum proof_standing proof_standing_of(const struct json *case_line)
{
    const struct json *proof = proof_of(case_line), *pass = json_get(proof, "pass");
    if (json_kind(proof) != JSON_KIND_OBJECT) {
        return PROOF_NONE;
    }
    return json_kind(pass) != JSON_KIND_BOOLEAN ? PROOF_OPEN : json_boolean_or(pass, false) ? PROOF_PASS : PROOF_FAIL;
}

static const char *outcome_word(bool runs)
{
    return runs ? "runs" : "out of memory";
}

/* One try: "out of memory, predicted to run"; nothing where it is unknown or as predicted. */
static bool surprise_append(struct text *text, const struct json *limit, const char *predicted_key, const char *key,
                            const char *before)
{
    const struct json *predicted = json_get(limit, predicted_key), *found = json_get(limit, key);
    bool known = json_kind(predicted) == JSON_KIND_BOOLEAN && json_kind(found) == JSON_KIND_BOOLEAN;
    bool runs = json_boolean_or(found, false);
    if (!known || runs == json_boolean_or(predicted, false)) {
        return false;
    }
    text_format(text, "%s%s, predicted to %s", before, outcome_word(runs), runs ? "run out of memory" : "run");
    return true;
}

static void limit_name_append(struct text *text, const struct json *limit)
{
    char size[SIZE_TEXT_BYTES];
    text_format(text, "proof: %s ", json_string_or(json_get(limit, "estimator"), "(no estimator)"));
    quantity_words_append(text, json_string_or(json_get(limit, "quantity"), "(no quantity)"));
    text_format(text, " %s: ", size_format(json_integer_or(json_get(limit, "bytes"), 0), size));
}

static void limit_append(struct text *text, const struct json *limit, bool with_failures)
{
    const char *note = json_string_or(json_get(limit, "note"), NULL);
    limit_name_append(text, limit);
    if (with_failures) {
        bool first = surprise_append(text, limit, "predicted_runs", "runs", "");
        surprise_append(text, limit, "predicted_less_runs", "less_runs",
                        first ? "; with one granule less: " : "with one granule less: ");
    } else {
        text_append(text, "not known whether it runs");
    }
    if (note != NULL) {
        text_format(text, " (%s)", note);
    }
}

static bool is_failed(const struct json *limit)
{
    return !json_boolean_or(json_get(limit, "pass"), true);
}

static bool is_open(const struct json *limit)
{
    return json_kind(json_get(limit, "pass")) != JSON_KIND_BOOLEAN;
}

static void limits_append(struct text *text, const struct json *case_line, bool with_failures)
{
    const struct json *limits = json_get(proof_of(case_line), "limits");
    int count = 0;
    for (size_t i = 0; json_kind(limits) == JSON_KIND_ARRAY && i < json_count(limits); i++) {
        const struct json *limit = json_at(limits, i);
        if (with_failures ? is_failed(limit) : is_open(limit)) {
            text_append(text, count++ > 0 ? "; " : "");
            limit_append(text, limit, with_failures);
        }
    }
}

void proof_failures_append(struct text *text, const struct json *case_line)
{
    if (proof_standing_of(case_line) == PROOF_FAIL) {
        limits_append(text, case_line, true);
    }
}

void proof_open_append(struct text *text, const struct json *case_line)
{
    const char *note = json_string_or(json_get(proof_of(case_line), "note"), NULL);
    if (proof_standing_of(case_line) != PROOF_OPEN) {
        return;
    }
    if (note != NULL) {
        text_format(text, "proof: %s", note);
    } else {
        limits_append(text, case_line, false);
    }
}
