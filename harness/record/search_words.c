/* Search words: tries to sentences. Decides nothing: how a try ended and what was predicted of it is in the record. */
#include "harness/record/search_words.h"

#include <inttypes.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/record/record.h"

static const struct json *search_of(const struct json *case_line)
{
    return json_get(case_line, "search");
}

bool search_is_open(const struct json *case_line)
{
    const struct json *search = search_of(case_line);
    return json_kind(search) == JSON_KIND_OBJECT && json_kind(json_get(search, "pass")) != JSON_KIND_BOOLEAN &&
           json_kind(json_get(search, "note")) == JSON_KIND_STRING;
}

/* " (forward: linear wants 96.00 MiB)" */
static void refusal_append(struct text *text, const struct json *try_)
{
    char size[SIZE_TEXT_BYTES];
    const char *stage = json_string_or(json_get(try_, "stage"), NULL);
    const char *label = json_string_or(json_get(try_, "label"), "a tensor");
    int64_t wanted = json_integer_or(json_get(try_, "wanted_bytes"), -1);
    if (stage != NULL && wanted >= 0) {
        text_format(text, " (%s: %s wants %s)", stage, label, size_format(wanted, size));
    }
}

/* found: the figures of that batch are those of the case, and its verdicts are told already. judged: what a disturbed
 * GPU refused is no surprise. */
static void try_append(struct text *text, const struct json *try_, int64_t found, bool judged)
{
    int64_t batch = json_integer_or(json_get(try_, "batch"), 0);
    const struct json *predicted = json_get(try_, "predicted_runs");
    const char *ended = json_string_or(json_get(try_, "ended"), "");
    bool is_off = strcmp(ended, case_status_name(CASE_STATUS_FAIL)) == 0;
    bool is_refused = strcmp(ended, SEARCH_REFUSED) == 0, ran = strcmp(ended, SEARCH_RAN) == 0 || is_off;
    bool is_known = json_kind(predicted) == JSON_KIND_BOOLEAN && (ran || is_refused);
    bool is_surprise = judged && is_known && json_boolean_or(predicted, false) != ran;
    bool is_news = is_off && batch != found;
    if (!is_surprise && !is_news) {
        return;
    }
    text_format(text, "%sbatch %" PRId64 ": ", text->length > 0 ? "; " : "search: ", batch);
    if (is_surprise) {
        text_append(text, ran ? "runs, predicted to run out of memory" : "out of memory, predicted to run");
        refusal_append(text, try_);
    }
    if (is_news) {
        text_format(text, "%sa figure is off what the suite allows", is_surprise ? ", and " : "");
    }
}

void search_failures_append(struct text *text, const struct json *case_line)
{
    const struct json *tries = json_get(search_of(case_line), "tries");
    bool judged = json_kind(json_get(search_of(case_line), "pass")) == JSON_KIND_BOOLEAN;
    struct text words = {0};
    for (size_t i = 0; json_kind(tries) == JSON_KIND_ARRAY && i < json_count(tries); i++) {
        try_append(&words, json_at(tries, i), json_integer_or(json_get(search_of(case_line), "found"), 0), judged);
    }
    text_append(text, text_string(&words));
    text->failed = text->failed || words.failed;
    text_release(&words);
}

void search_open_append(struct text *text, const struct json *case_line)
{
    if (search_is_open(case_line)) {
        text_format(text, "search: %s", json_string_or(json_get(search_of(case_line), "note"), ""));
    }
}
