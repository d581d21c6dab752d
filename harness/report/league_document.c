/* League as one JSON document, and as CSV: one row per scope and estimator. Errors are fractions of what was
 * measured. */
#include "harness/record/level.h"
#include "harness/report/escape.h"
#include "harness/report/league_view.h"

static struct json *worst_value(const struct league_figures *figures)
{
    return figures->worst_case != NULL ? json_string_new(figures->worst_case) : json_null_new();
}

/* null if no case is in it. */
static struct json *figures_value(const struct league_figures *figures)
{
    if (figures->case_count == 0) {
        return json_null_new();
    }
    double count = (double)figures->case_count;
    struct json *value = json_object_new();
    bool made = json_set(value, "cases", json_integer_new(figures->case_count)) &&
                json_set(value, "bias", json_real_new(figures->bias)) &&
                json_set(value, "median", json_real_new(figures->median)) &&
                json_set(value, "p90", json_real_new(figures->p90)) &&
                json_set(value, "worst", json_real_new(figures->worst)) &&
                json_set(value, "worst_case", worst_value(figures)) &&
                json_set(value, "under_share", json_real_new((double)figures->under_count / count)) &&
                json_set(value, "within_5_percent_share", json_real_new((double)figures->within_count / count)) &&
                json_set(value, "proved_cases", json_integer_new(figures->proved_count)) &&
                json_set(value, "safe_cases", json_integer_new(figures->safe_count));
    return json_made(value, made);
}

static struct json *row_value(const struct league *league, const struct league_row *row)
{
    const struct league_estimator *one = &league->estimators[row->estimator];
    struct json *value = json_object_new();
    bool made = json_set(value, "estimator", json_string_new(one->name)) &&
                json_set(value, "needs_measurements", json_boolean_new(one->baseline != NULL)) &&
                json_set(value, "rank", row->rank > 0 ? json_integer_new(row->rank) : json_null_new()) &&
                json_set(value, "few", json_boolean_new(row->few)) &&
                json_set(value, "partial", json_boolean_new(row->partial)) &&
                json_set(value, "all", figures_value(&row->all)) &&
                json_set(value, "common", figures_value(&row->common));
    return json_made(value, made);
}

static struct json *scope_value(const struct league *league, const struct league_scope *scope)
{
    struct json *value = json_object_new(), *rows = json_array_new();
    bool made = rows != NULL;
    for (int index = 0; made && index < scope->row_count; index++) {
        made = json_append(rows, row_value(league, &scope->rows[index]));
    }
    made = json_set(value, "scope", json_string_new(league_scope_kind_name(scope->kind))) &&
           json_set(value, "name", json_string_new(scope->name)) &&
           json_set(value, "cases", json_integer_new(scope->case_count)) &&
           json_set(value, "common_cases", json_integer_new(scope->common_count)) &&
           json_set(value, "estimators", rows) && made;
    return json_made(value, made);
}

static struct json *counted_value(const struct counted_cases *counted)
{
    struct json *value = json_object_new();
    bool made = json_set(value, "rows", json_integer_new(counted->read_count)) &&
                json_set(value, "counted", json_integer_new(counted->count)) &&
                json_set(value, "not_measured", json_integer_new(counted->ended_count)) &&
                json_set(value, "invalid", json_integer_new(counted->invalid_count)) &&
                json_set(value, "placed", json_integer_new(counted->placed_count)) &&
                json_set(value, "predicted_only", json_integer_new(counted->meta_count)) &&
                json_set(value, "measured_again", json_integer_new(counted->again_count));
    return json_made(value, made);
}

struct json *league_json(const void *subject)
{
    const struct league *league = subject;
    struct json *value = json_object_new(), *scopes = json_array_new();
    bool made = scopes != NULL;
    for (int index = 0; made && index < league->scope_count; index++) {
        made = json_append(scopes, scope_value(league, &league->scopes[index]));
    }
    made = json_set(value, "device", json_string_new(league->device)) &&
           json_set(value, "cases", counted_value(&league->counted)) &&
           json_set(value, "measured", json_string_new(level_peak_key(LEVEL_ALLOCATED))) &&
           json_set(value, "few_cases", json_integer_new(LEAGUE_FEW)) && json_set(value, "scopes", scopes) && made;
    return json_made(value, made);
}

static void figures_write(const struct league_figures *figures, struct text *text)
{
    if (figures->case_count == 0) {
        text_append(text, ",,,,,,,,");
        return;
    }
    double count = (double)figures->case_count;
    text_format(text, ",%d,%.6f,%.6f,%.6f,%.6f,", figures->case_count, figures->bias, figures->median, figures->p90,
                figures->worst);
    csv_append(text, figures->worst_case != NULL ? figures->worst_case : "");
    text_format(text, ",%.6f,%.6f", (double)figures->under_count / count, (double)figures->within_count / count);
}

void league_csv_write(const void *subject, const struct report_style *style, struct text *text)
{
    const struct league *league = subject;
    (void)style;
    text_append(text,
                "scope,name,scope_cases,rank,estimator,needs_measurements,few,partial,cases,bias,median,p90,worst,"
                "worst_case,under_share,within_5_percent_share,common_cases,common_bias,common_median,common_p90,"
                "common_worst,common_worst_case,common_under_share,common_within_5_percent_share\r\n");
    for (int index = 0; index < league->scope_count; index++) {
        const struct league_scope *scope = &league->scopes[index];
        for (int at = 0; at < scope->row_count; at++) {
            const struct league_row *row = &scope->rows[at];
            const struct league_estimator *one = &league->estimators[row->estimator];
            text_format(text, "%s,", league_scope_kind_name(scope->kind));
            csv_append(text, scope->name);
            text_format(text, ",%d,", scope->case_count);
            text_format(text, row->rank > 0 ? "%d," : ",", row->rank);
            csv_append(text, one->name);
            text_format(text, ",%s,%s,%s", one->baseline != NULL ? "true" : "false", row->few ? "true" : "false",
                        row->partial ? "true" : "false");
            figures_write(&row->all, text);
            figures_write(&row->common, text);
            text_append(text, "\r\n");
        }
    }
}
