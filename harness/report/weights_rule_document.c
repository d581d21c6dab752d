/* Weights rule as one JSON document, and as CSV: one row per case. Bytes are integers; what is not known is null. */
#include <inttypes.h>

#include "harness/report/escape.h"
#include "harness/report/weights_rule_view.h"

static struct json *known_value(int64_t value, bool known)
{
    return known ? json_integer_new(value) : json_null_new();
}

static struct json *word_value(const char *word)
{
    return word != NULL ? json_string_new(word) : json_null_new();
}

static struct json *totals_value(const struct rule_totals *totals)
{
    struct json *value = json_object_new();
    bool made = json_set(value, "cases", json_integer_new(totals->case_count)) &&
                json_set(value, "too_little", json_integer_new(totals->word_count[RULE_TOO_LITTLE])) &&
                json_set(value, "enough",
                         json_integer_new(totals->word_count[RULE_CLOSE] + totals->word_count[RULE_WASTEFUL])) &&
                json_set(value, "close", json_integer_new(totals->word_count[RULE_CLOSE])) &&
                json_set(value, "wasteful", json_integer_new(totals->word_count[RULE_WASTEFUL]));
    return json_made(value, made);
}

static struct json *cell_value(const struct rule_cell *cell)
{
    struct json *value = json_object_new();
    bool made = json_set(value, "id", json_string_new(cell->one->view->id)) &&
                json_set(value, "batch", json_integer_new(cell->batch)) &&
                json_set(value, "seq", known_value(cell->seq, cell->seq > 0)) &&
                json_set(value, "new_tokens", known_value(cell->new_tokens, cell->new_tokens > 0)) &&
                json_set(value, "tokens", json_integer_new(cell->tokens)) &&
                json_set(value, "weights_bytes", json_integer_new(cell->one->loaded_bytes)) &&
                json_set(value, "peak_bytes", json_integer_new(cell->one->measured_bytes)) &&
                json_set(value, "ratio", json_real_new(cell->ratio)) &&
                json_set(value, "word", json_string_new(rule_judgements[cell->word].meaning));
    return json_made(value, made);
}

static struct json *series_value(const struct rule_series *series)
{
    const struct case_view *view = series->cells[0].one->view;
    struct json *value = json_object_new(), *cells = json_array_new();
    bool made = cells != NULL;
    for (int at = 0; made && at < series->cell_count; at++) {
        made = json_append(cells, cell_value(&series->cells[at]));
    }
    made =
        json_set(value, "title", json_string_new(series->title)) && json_set(value, "model", word_value(view->model)) &&
        json_set(value, "precision", word_value(view->precision)) &&
        json_set(value, "device", word_value(view->device_name != NULL ? view->device_name : view->device_kind)) &&
        json_set(value, "target", word_value(view->device_target)) &&
        json_set(value, "predicted_only", json_boolean_new(series->meta)) &&
        json_set(value, "enough_tokens", known_value(series->enough_tokens, series->enough_tokens >= 0)) &&
        json_set(value, "too_little_tokens", known_value(series->too_little_tokens, series->too_little_tokens >= 0)) &&
        json_set(value, "crossing_tokens", known_value(series->crossing_tokens, series->crossing_tokens >= 0)) &&
        json_set(value, "mixed", json_boolean_new(series->is_mixed)) && json_set(value, "cells", cells) && made;
    return json_made(value, made);
}

struct json *weights_rule_json(const void *subject)
{
    const struct weights_rule *rule = subject;
    struct json *value = json_object_new(), *series = json_array_new();
    bool made = series != NULL;
    for (int index = 0; made && index < rule->series_count; index++) {
        made = json_append(series, series_value(&rule->series[index]));
    }
    made = json_set(value, "factor", json_real_new(rule->factor)) &&
           json_set(value, "wasteful", json_real_new(rule->wasteful)) &&
           json_set(value, "measured", totals_value(&rule->measured)) &&
           json_set(value, "predicted", totals_value(&rule->predicted)) && json_set(value, "series", series) && made;
    return json_made(value, made);
}

static void number_append(struct text *text, int64_t value)
{
    text_format(text, value > 0 ? "%" PRId64 "," : ",", value);
}

static void cell_append_next(struct text *text, const char *string)
{
    text_append(text, ",");
    csv_append(text, string != NULL ? string : "");
}

void weights_rule_csv_write(const void *subject, const struct report_style *style, struct text *text)
{
    const struct weights_rule *rule = subject;
    (void)style;
    text_append(text, "series,predicted_only,id,batch,seq,new_tokens,tokens,weights_bytes,peak_bytes,ratio,word,"
                      "model,mode,precision,attention,target\r\n");
    for (int index = 0; index < rule->series_count; index++) {
        const struct rule_series *series = &rule->series[index];
        for (int at = 0; at < series->cell_count; at++) {
            const struct rule_cell *cell = &series->cells[at];
            csv_append(text, series->title);
            text_append(text, series->meta ? ",true," : ",false,");
            csv_append(text, cell->one->view->id);
            text_append(text, ",");
            number_append(text, cell->batch);
            number_append(text, cell->seq);
            number_append(text, cell->new_tokens);
            number_append(text, cell->tokens);
            number_append(text, cell->one->loaded_bytes);
            number_append(text, cell->one->measured_bytes);
            text_format(text, "%.6f,%s", cell->ratio, rule_judgements[cell->word].meaning);
            cell_append_next(text, cell->one->view->model);
            cell_append_next(text, cell->one->view->mode);
            cell_append_next(text, cell->one->view->precision);
            cell_append_next(text, cell->one->view->attention);
            cell_append_next(text, cell->one->view->device_target);
            text_append(text, "\r\n");
        }
    }
}
