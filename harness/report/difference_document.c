/* A comparison as one JSON document (docs/FORMAT.md, Comparisons). Written case by case: the document of 100,000 cases
 * is never a tree in memory. */
#include "harness/base/json_document.h"
#include "harness/report/difference_view.h"

static struct json *side_json(const struct report *report)
{
    struct report_counts counts = report_count(report);
    const struct json *run = report_run(report);
    const struct json *id = json_get(run, "run_id"), *started = json_get(run, "started");
    struct json *side = json_object_new();
    bool made = json_set(side, "path", json_string_new(report->source)) &&
                json_set(side, "run_id", json_text_or_null(json_string_or(id, NULL))) &&
                json_set(side, "started", json_text_or_null(json_string_or(started, NULL))) &&
                json_set(side, "runs", json_integer_new((int64_t)json_count(report->runs))) &&
                json_set(side, "cases", json_integer_new(counts.cases)) &&
                json_set(side, "missing", json_integer_new(counts.missing)) &&
                json_set(side, "missing_attempts", json_integer_new(counts.attempts_missing)) &&
                json_set(side, "damaged_lines", json_integer_new(counts.damaged_lines)) &&
                json_set(side, "ended", json_boolean_new(counts.ended));
    return json_made(side, made);
}

static struct json *environment_json(const struct difference *difference)
{
    struct json *rows = json_array_new();
    bool made = rows != NULL;
    for (int i = 0; i < ENVIRONMENT_COUNT && made; i++) {
        const struct environment_row *row = &difference->environment[i];
        struct json *object = json_object_new();
        bool whole =
            json_set(object, "property", json_string_new(row->key)) &&
            json_set(object, "base", json_text_or_null(row->base)) &&
            json_set(object, "new", json_text_or_null(row->other)) &&
            json_set(object, "differs",
                     row->base != NULL && row->other != NULL ? json_boolean_new(row->differs) : json_null_new());
        made = json_append(rows, json_made(object, whole));
    }
    return json_made(rows, made);
}

static struct json *tolerance_value(const struct difference_rule *rule)
{
    return rule->rule.kind == LEVEL_RULE_NONE ? json_string_new("none") : tolerance_json(&rule->rule.tolerance);
}

static struct json *levels_json(const struct difference *difference)
{
    struct json *rows = json_array_new();
    bool made = rows != NULL;
    for (int i = 0; i < LEVEL_COUNT && made; i++) {
        const struct level_summary *level = &difference->levels[i];
        const struct gap_summary *gap = &level->gap;
        bool known = gap->count > 0;
        struct json *object = json_object_new();
        bool whole = json_set(object, "level", json_string_new(level_name((enum level)i))) &&
                     json_set(object, "tolerance", tolerance_value(&difference->rules[i])) &&
                     json_set(object, "source", json_string_new(rule_source_name(difference->rules[i].source))) &&
                     json_set(object, "cases", json_integer_new(gap->count)) &&
                     json_set(object, "equal", json_integer_new(gap->equal_count)) &&
                     json_set(object, "median", known ? json_real_new(gap->median) : json_null_new()) &&
                     json_set(object, "worst", known ? json_real_new(gap->worst) : json_null_new()) &&
                     json_set(object, "worst_case", json_text_or_null(gap->worst_name)) &&
                     json_set(object, "beyond", json_integer_new(level->beyond_count)) &&
                     json_set(object, "not_judged", json_integer_new(level->open_count));
        made = json_append(rows, json_made(object, whole));
    }
    return json_made(rows, made);
}

static struct json *counts_json(const struct difference *difference)
{
    struct json *counts = json_object_new();
    bool made = json_set(counts, "same", json_integer_new(difference->same_count)) &&
                json_set(counts, "changed", json_integer_new(difference->changed_count)) &&
                json_set(counts, "not_judged", json_integer_new(difference->open_count)) &&
                json_set(counts, "missing", json_integer_new(difference->missing_count)) &&
                json_set(counts, "new", json_integer_new(difference->appeared_count)) &&
                json_set(counts, "status", json_integer_new(difference->status_count)) &&
                json_set(counts, "predictions", json_integer_new(difference->prediction_count));
    return json_made(counts, made);
}

static struct json *within_json(const struct difference *difference)
{
    if (difference->within < 0.0) {
        return json_null_new();
    }
    struct json *object = json_object_new();
    bool made = json_set(object, "fraction", json_real_new(difference->within)) &&
                json_set(object, "compared", json_integer_new(difference->held_count)) &&
                json_set(object, "beyond", json_integer_new(difference->beyond_within_count)) &&
                json_set(object, "unmeasured", json_integer_new(difference->unmeasured_count));
    return json_made(object, made);
}

/* {"of": "measured", "stage": "forward", "quantity": "process_bytes_peak", "base": ..., "new": ..., "state":
 * "beyond"} */
static struct json *figure_json(const struct figure *figure)
{
    bool of_stage = figure->kind == FIGURE_STAGE_PEAK || figure->kind == FIGURE_STAGE_END;
    struct json *object = json_object_new();
    bool made =
        json_set(object, "of", json_string_new(figure_of(figure))) &&
        json_set(object, "stage", of_stage ? json_string_new(report_stage_name(figure->stage)) : json_null_new()) &&
        json_set(object, "place", json_text_or_null(figure->place)) &&
        json_set(object, "quantity", json_string_new(figure_key(figure))) &&
        json_set(object, "base", json_bytes_or_null(figure->base_bytes)) &&
        json_set(object, "new", json_bytes_or_null(figure->other_bytes)) &&
        json_set(object, "state", json_string_new(figure_state_name(figure->state)));
    return json_made(object, made);
}

/* The peaks, and of the rest what is not equal. */
static struct json *figures_json(const struct difference *difference, const struct case_pair *pair)
{
    struct figures figures;
    struct json *rows = json_array_new();
    bool made = rows != NULL;
    figures_list(difference->rules, pair, &figures);
    for (int i = 0; i < figures.count && made; i++) {
        const struct figure *figure = &figures.rows[i];
        if (figure->kind == FIGURE_PEAK || figure->state != FIGURE_EQUAL) {
            made = json_append(rows, figure_json(figure));
        }
    }
    return json_made(rows, made);
}

static struct json *pair_json(const struct difference *difference, const struct case_pair *pair)
{
    struct text obstacle = {0};
    struct json *object = json_object_new();
    pair_obstacle_append(&obstacle, pair);
    bool made =
        json_set(object, "id", json_string_new(pair->base->id)) &&
        json_set(object, "state", json_string_new(pair_state_name(pair->state))) &&
        json_set(object, "base_status", json_string_new(pair->base->status)) &&
        json_set(object, "new_status", json_string_new(pair->other->status)) &&
        json_set(object, "obstacle", obstacle.length > 0 ? json_string_new(text_string(&obstacle)) : json_null_new()) &&
        json_set(object, "figures", figures_json(difference, pair));
    text_release(&obstacle);
    return json_made(object, made);
}

static void pairs_write(const struct difference *difference, bool only_changed, struct json_document *document)
{
    const char *before = "\n    ";
    text_append(document->text, "  \"cases\": [");
    for (int at = 0; at < difference->pair_count && document->code == STATUS_OK; at++) {
        if (!only_changed || difference->pairs[at].state != PAIR_SAME) {
            json_document_value(document, before, pair_json(difference, &difference->pairs[at]));
            before = ",\n    ";
        }
    }
    text_append(document->text, "],\n");
}

static void absences_write(const struct difference *difference, struct json_document *document)
{
    text_append(document->text, "  \"missing\": [");
    for (int at = 0; at < difference->missing_count && document->code == STATUS_OK; at++) {
        json_document_value(document, at > 0 ? ", " : "", json_string_new(difference->missing[at].view->id));
    }
    text_append(document->text, "],\n  \"appeared\": [");
    for (int at = 0; at < difference->appeared_count && document->code == STATUS_OK; at++) {
        json_document_value(document, at > 0 ? ", " : "", json_string_new(difference->appeared[at]->id));
    }
    text_append(document->text, "],\n");
}

enum status_code difference_document_write(const struct difference *difference, bool only_changed, struct text *text,
                                           struct status *error)
{
    struct json_document document = {.text = text,
                                     .error = error,
                                     .what = "the comparison",
                                     .case_count = difference->base->case_count,
                                     .code = STATUS_OK};
    struct text why = {0};
    outcome_append(&why, difference);
    text_append(text, "{\n");
    json_document_member(&document, "base", side_json(difference->base));
    json_document_member(&document, "new", side_json(difference->other));
    json_document_member(&document, "environment", environment_json(difference));
    json_document_member(&document, "levels", levels_json(difference));
    json_document_member(&document, "within", within_json(difference));
    json_document_member(&document, "counts", counts_json(difference));
    pairs_write(difference, only_changed, &document);
    absences_write(difference, &document);
    json_document_member(&document, "why",
                         difference->within < 0.0 ? json_string_new(text_string(&why)) : json_null_new());
    json_document_value(&document, "  \"outcome\": ", json_string_new(run_outcome_verdict(difference->outcome)));
    text_append(text, "\n}\n");
    text_release(&why);
    return document.code;
}
