/* A gate as one JSON document (docs/GATE.md). Written case by case: the document of 100,000 cases is never a tree in
 * memory. */

#include "harness/base/json_document.h"
#include "harness/gate/gate_page.h"
#include "harness/gate/gate_words.h"

/* What is empty says nothing here. */
static struct json *filled_or_null(const char *text)
{
    return json_text_or_null(text != NULL && text[0] != '\0' ? text : NULL);
}

static struct json *side_json(const struct run_figures *side, const char *words)
{
    struct json *object = json_object_new();
    bool made = json_set(object, "source", json_string_new(words)) &&
                json_set(object, "run_id", filled_or_null(side->run_id)) &&
                json_set(object, "started", filled_or_null(side->started)) &&
                json_set(object, "cases", json_integer_new(side->case_count)) &&
                json_set(object, "missing", json_integer_new(side->absent_count + side->unnamed_absent_count)) &&
                json_set(object, "damaged_lines", json_integer_new(side->damaged_line_count)) &&
                json_set(object, "ended", json_boolean_new(side->ended));
    return json_made(object, made);
}

static struct json *environment_json(const struct gate *gate)
{
    struct json *rows = json_array_new();
    bool made = rows != NULL;
    for (int i = 0; i < ENVIRONMENT_COUNT && made; i++) {
        const char *base = gate->baseline != NULL ? gate->baseline->environment[i] : NULL;
        const char *now = gate->run->environment[i];
        struct json *object = json_object_new();
        bool whole = json_set(object, "property", json_string_new(environment_key((enum environment)i))) &&
                     json_set(object, "baseline", filled_or_null(base)) &&
                     json_set(object, "now", filled_or_null(now)) &&
                     json_set(object, "differs",
                              base != NULL && now != NULL ? json_boolean_new(gate->differs[i]) : json_null_new());
        made = json_append(rows, json_made(object, whole));
    }
    return json_made(rows, made);
}

static struct json *refusals_json(unsigned refusals)
{
    struct json *rows = json_array_new();
    bool made = rows != NULL;
    for (int i = 0; i < GATE_REFUSAL_COUNT && made; i++) {
        struct text word = {0};
        gate_refusals_append(&word, refusals & (1U << i));
        made = word.length == 0 || json_append(rows, json_string_new(text_string(&word)));
        text_release(&word);
    }
    return json_made(rows, made);
}

static struct json *counts_json(const struct gate *gate)
{
    struct json *counts = json_object_new();
    bool made = counts != NULL;
    for (int verdict = 0; verdict < GATE_VERDICT_COUNT && made; verdict++) {
        made = json_set(counts, gate_verdict_word((enum gate_verdict)verdict), json_integer_new(gate->counts[verdict]));
    }
    made = made && json_set(counts, "better", json_integer_new(gate->better_count)) &&
           json_set(counts, "held", json_integer_new(gate->held_count)) &&
           json_set(counts, "figures", json_integer_new(gate->figure_count));
    return json_made(counts, made);
}

static struct json *level_json(const struct gate_case *one, int level)
{
    const int64_t base_bytes = gate_base_bytes(one, level);
    const bool by_prediction = (one->by_prediction & (1U << level)) != 0;
    const char *against = by_prediction                              ? "prediction"
                          : (one->by_reference & (1U << level)) != 0 ? "reference"
                          : base_bytes != FIGURE_BYTES_UNKNOWN       ? "baseline"
                                                                     : NULL;
    const int64_t now_bytes = one->now != NULL ? one->now->measured.of[level] : FIGURE_BYTES_UNKNOWN;
    struct json *object = json_object_new();
    bool made =
        json_set(object, "level", json_string_new(level_name((enum level)level))) &&
        json_set(object, "verdict", json_string_new(gate_verdict_word((enum gate_verdict)one->levels[level]))) &&
        json_set(object, "better", json_boolean_new((one->better & (1U << level)) != 0)) &&
        json_set(object, "against", filled_or_null(against)) &&
        json_set(object, "baseline_bytes", json_bytes_or_null(by_prediction ? FIGURE_BYTES_UNKNOWN : base_bytes)) &&
        json_set(object, "predicted_bytes",
                 json_bytes_or_null(one->now != NULL ? one->now->predicted.of[level] : FIGURE_BYTES_UNKNOWN)) &&
        json_set(object, "now_bytes", json_bytes_or_null(now_bytes));
    return json_made(object, made);
}

/* Of the figures those that have a verdict. */
static struct json *case_json(const struct gate *gate, const struct gate_case *one)
{
    struct json *object = json_object_new(), *levels = json_array_new();
    struct text why = {0};
    bool made = levels != NULL;
    for (int level = 0; level < LEVEL_COUNT && made; level++) {
        made = one->levels[level] == GATE_NONE || json_append(levels, level_json(one, level));
    }
    if (one->verdict > GATE_NEW) {
        gate_case_append(&why, gate, one);
    }
    levels = json_made(levels, made && !why.failed);
    made = json_set(object, "id", json_string_new(one->id)) &&
           json_set(object, "verdict", json_string_new(gate_verdict_word(one->verdict))) &&
           json_set(object, "decides", json_boolean_new(one->decides)) &&
           json_set(object, "baseline_status", filled_or_null(one->base != NULL ? one->base->status : NULL)) &&
           json_set(object, "status", filled_or_null(one->now != NULL ? one->now->status : NULL)) &&
           json_set(object, "why", filled_or_null(text_string(&why))) && json_set(object, "levels", levels);
    text_release(&why);
    return json_made(object, made);
}

static void cases_write(const struct gate *gate, struct json_document *document)
{
    text_append(document->text, "  \"cases\": [");
    for (int i = 0; i < gate->case_count && document->code == STATUS_OK; i++) {
        json_document_value(document, i > 0 ? ",\n    " : "\n    ", case_json(gate, &gate->cases[i]));
    }
    text_append(document->text, "],\n  \"not_made\": [");
    for (int i = 0; i < gate->run->absent_count && document->code == STATUS_OK; i++) {
        json_document_value(document, i > 0 ? ", " : "", json_string_new(gate->run->absent[i].id));
    }
    text_append(document->text, "],\n");
}

static void note_append(void *context, const char *words)
{
    struct json *notes = context;
    (void)json_append(notes, json_string_new(words));
}

enum status_code gate_document_write(const struct gate *gate, struct text *text, struct status *error)
{
    struct json_document document = {
        .text = text, .error = error, .what = "the document", .case_count = gate->case_count, .code = STATUS_OK};
    struct json *notes = json_array_new();
    gate_notes_visit(gate, note_append, notes);
    text_append(text, "{\n");
    json_document_member(&document, "run", side_json(gate->run, gate->run->source));
    json_document_member(&document, "baseline",
                         gate->baseline != NULL ? side_json(gate->baseline, gate->baseline_words) : json_null_new());
    json_document_member(&document, "reference",
                         gate->reference != NULL ? side_json(gate->reference, gate->reference_words) : json_null_new());
    json_document_member(&document, "policy", filled_or_null(gate->policy->path));
    json_document_member(&document, "environment", environment_json(gate));
    json_document_member(&document, "refused", refusals_json(gate->refused));
    json_document_member(&document, "allowed", refusals_json(gate->allowed));
    json_document_member(&document, "counts", counts_json(gate));
    cases_write(gate, &document);
    json_document_member(&document, "notes", notes);
    json_document_member(&document, "why", json_string_new(gate->why));
    json_document_value(&document, "  \"outcome\": ", json_string_new(run_outcome_verdict(gate->outcome)));
    text_append(text, "\n}\n");
    return document.code == STATUS_OK ? text_status(text, "the document of a gate", error) : document.code;
}
