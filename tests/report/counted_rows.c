/* Counted rows: lines with every member that a case line must have, and figures of the caller's. */
#include "tests/report/counted_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/report/records_fixture.h"

static const char *word(const char *given, const char *usual)
{
    return given != NULL ? given : usual;
}

static void count_append(struct text *text, const char *name, int64_t count)
{
    if (count > 0) {
        text_format(text, "\"%s\":%" PRId64 ",", name, count);
    } else {
        text_format(text, "\"%s\":null,", name);
    }
}

static void identity_append(struct text *text, const struct counted_row *row)
{
    text_format(text, "\"identity\":{%s\"model\":\"%s\",\"mode\":\"%s\",\"precision\":\"%s\",",
                row->tf32 ? "\"tf32\":true," : "", word(row->model, "model"), word(row->mode, "infer"),
                word(row->precision, "float32"));
    count_append(text, "batch", row->batch);
    count_append(text, "seq", row->seq);
    count_append(text, "new_tokens", row->new_tokens);
    text_append(text, "\"attention\":\"sdpa\",\"optimizer\":null,\"checkpointing\":null,\"accumulate\":null,"
                      "\"logits\":\"all\",\"head\":\"lm\"},");
}

static void stage_append(struct text *text, const char *name, int64_t end_bytes, int64_t peak_bytes)
{
    text_format(text,
                "\"%s\":{\"requested_bytes\":%" PRId64 ",\"requested_bytes_peak\":null,\"allocated_bytes\":%" PRId64
                ",\"allocated_bytes_peak\":%" PRId64 ",\"reserved_bytes\":null,\"reserved_bytes_peak\":null,"
                "\"device_bytes\":null,\"process_bytes\":null,\"process_bytes_peak\":null,\"seconds\":null,"
                "\"categories_at_peak\":null}",
                name, end_bytes, peak_bytes, peak_bytes);
}

static int64_t predicted_weights(const struct counted_row *row)
{
    int64_t bytes = row->weights_bytes > 0 ? row->weights_bytes : row->loaded_bytes;
    return bytes < row->tensor_bytes ? bytes : row->tensor_bytes;
}

static void estimates_append(struct text *text, const struct counted_row *row)
{
    const char *separator = "";
    text_append(text, "\"estimates\":{");
    if (row->tensor_bytes > 0) {
        text_format(text,
                    "\"replay\":{\"requested_bytes_peak\":%" PRId64
                    ",\"stages\":{\"load\":{\"requested_bytes\":%" PRId64 "}}}",
                    row->tensor_bytes, predicted_weights(row));
        separator = ",";
    }
    for (int at = 0; at < ROW_PREDICTIONS && row->predictions[at].estimator != NULL; at++) {
        const struct row_prediction *prediction = &row->predictions[at];
        text_format(text, "%s\"%s\":{", separator, prediction->estimator);
        if (prediction->weights_bytes > 0) {
            text_format(text, "\"weights_bytes\":%" PRId64 ",", prediction->weights_bytes);
        }
        text_format(text, "\"total_bytes\":%" PRId64 "}", prediction->total_bytes);
        separator = ",";
    }
    text_append(text, "},");
}

static void row_append(struct text *text, const struct counted_row *row)
{
    text_format(text, "{\"type\":\"case\",\"id\":\"%s\",\"status\":\"%s\",\"reason\":null,\"attempt\":1,", row->id,
                word(row->status, "ok"));
    if (row->family != NULL) {
        text_format(text, "\"family\":\"%s\",", row->family);
    }
    identity_append(text, row);
    text_format(
        text,
        "\"duration_s\":1.0,\"device\":{\"kind\":\"%s\",\"name\":\"a device\",\"spec\":null,\"target\":\"%s\","
        "\"total_bytes\":null,\"threads\":2,\"driver\":null,\"runtime\":null,\"pci_bus_id\":null,\"uuid\":null},",
        word(row->device, "host"),
        word(row->target, strcmp(word(row->device, "host"), "meta") == 0 ? "sm_90" : "host"));
    text_append(text, "\"stages\":{");
    stage_append(text, "load", row->loaded_bytes, row->loaded_bytes);
    text_append(text, ",");
    stage_append(text, "forward", row->measured_bytes, row->measured_bytes);
    text_append(text, "},");
    estimates_append(text, row);
    text_format(text, "\"validity\":{\"valid\":%s,\"reasons\":[]},", row->invalid ? "false" : "true");
    if (row->peak_weights_bytes > 0) {
        text_format(text, "\"categories_at_peak\":{\"weights\":%" PRId64 "},", row->peak_weights_bytes);
    } else {
        text_append(text, "\"categories_at_peak\":null,");
    }
    text_format(
        text,
        "\"context\":null,\"peak_stage\":null,\"causes\":null,"
        "\"saved_for_backward_bytes\":null,\"loss\":null,\"sequence_hash\":null,\"oom\":null,\"verdicts\":[%s]}\n",
        word(row->verdicts, ""));
}

void counted_rows_write(const char *path, const struct counted_row *rows, int count)
{
    struct text text = {0};
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    text_format(&text,
                "{\"type\":\"run\",\"schema\":{\"name\":\"assay-record\",\"major\":1,\"minor\":3},\"run_id\":\"1\","
                "\"started\":\"2026-01-01T00:00:00Z\",\"suite\":{\"name\":\"rows\",\"path\":\"rows.yaml\","
                "\"plan_hash\":\"1\",\"case_count\":%d,\"selected_count\":%d}}\n",
                count, count);
    for (int at = 0; at < count; at++) {
        row_append(&text, &rows[at]);
    }
    assert_false(text.failed);
    assert_int_equal(fwrite(text_string(&text), 1, text.length, file), text.length);
    assert_int_equal(fclose(file), 0);
    text_release(&text);
}

struct report *counted_rows_report(const struct counted_row *rows, int count)
{
    char *folder = folder_fixture_make(), path[128];
    struct report *report = NULL;
    struct status error = {0};
    snprintf(path, sizeof path, "%s/records.jsonl", folder);
    counted_rows_write(path, rows, count);
    if (report_open(path, &report, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    folder_fixture_remove(folder);
    return report;
}

void figure_near(double figure, double expected, double distance)
{
    if (!(figure - expected <= distance && expected - figure <= distance)) {
        fail_msg("%.12g is not %.12g", figure, expected);
    }
}
