/* CSV: one row per case, stage and level, for spreadsheets and data frames. Bytes are integers; what is not known is an
 * empty cell. A case without stages (skipped, crashed) keeps one row, so that it is not lost. */
#include "harness/report/case_view.h"
#include "harness/report/escape.h"

static void cell_add(struct text *text, const char *string)
{
    csv_append(text, string != NULL ? string : "");
    text_append(text, ",");
}

static void integer_add(struct text *text, int64_t value)
{
    if (value >= 0) {
        text_integer(text, value);
    }
    text_append(text, ",");
}

static void header_write(const struct report *report, struct text *text)
{
    text_append(text, "id,model,mode,precision,quantize,batch,seq,new_tokens,cache,cache_dtype,beams,attention,padding,"
                      "optimizer,loss,lora_rank,lora_targets,prepare_kbit,checkpointing,accumulate,"
                      "logits,tf32,tf32_convolutions,head,attention_backend,status,valid,invalid_reason,device,");
    for (int index = 0; index < report->estimator_count; index++) {
        struct text name = {0};
        text_format(&name, "%s_total_bytes", report->estimators[index]);
        if (index > 0) {
            cell_add(text, text_string(&name));
        }
        text_release(&name);
    }
    text_append(text, "stage,level,measured_bytes,measured_bytes_peak,predicted_bytes,predicted_bytes_peak,"
                      "signed_error_bytes,signed_error,attempts,spread_bytes,basis\r\n");
}

/* What is the same in every row of a case. Replay has figures per stage and no total. */
static void identity_write(const struct report *report, const struct case_view *view, struct text *text)
{
    cell_add(text, view->id);
    cell_add(text, view->model);
    cell_add(text, view->mode);
    cell_add(text, view->precision);
    cell_add(text, view->quantize);
    integer_add(text, view->batch);
    integer_add(text, view->seq);
    integer_add(text, view->new_tokens);
    cell_add(text, view->cache);
    cell_add(text, view->cache_dtype);
    integer_add(text, view->beams);
    cell_add(text, view->attention);
    cell_add(text, view->padding ? "true" : "false");
    cell_add(text, view->optimizer);
    cell_add(text, view->loss);
    integer_add(text, view->lora_rank);
    cell_add(text, view->lora_targets);
    cell_add(text, view->prepare_kbit ? "true" : "false");
    cell_add(text, view->checkpointing ? "true" : "false");
    integer_add(text, view->accumulate);
    cell_add(text, view->logits);
    cell_add(text, view->tf32 ? "true" : "false");
    cell_add(text, view->tf32_convolutions ? "true" : "false");
    cell_add(text, view->head);
    cell_add(text, view->attention_backend);
    cell_add(text, view->status);
    cell_add(text, view->validity_known ? view->invalid ? "false" : "true" : "");
    cell_add(text, view->disturbance);
    cell_add(text, view->device_name != NULL ? view->device_name : view->device_kind);
    for (int index = 1; index < report->estimator_count; index++) {
        int64_t total_bytes = BYTES_UNKNOWN;
        for (int at = 0; at < view->total_count; at++) {
            if (view->totals[at].estimator == report->estimators[index]) {
                total_bytes = view->totals[at].total_bytes;
            }
        }
        integer_add(text, total_bytes);
    }
}

/* How many attempts were measured, and how much they differ where they are several. */
static void spread_write(const struct spread *spread, int stage, int level, struct text *text)
{
    integer_add(text, spread->attempt_count);
    int64_t bytes = spread->attempt_count > 1 ? spread->stage_bytes[stage][level] : BYTES_UNKNOWN;
    if (bytes != BYTES_UNKNOWN) {
        text_integer(text, bytes);
    }
    text_append(text, ",");
}

/* The last column: what the figures under measured_bytes are. Empty where no device opened. */
static void basis_write(const struct case_view *view, struct text *text)
{
    text_format(text, "%s\r\n", view->device_kind != NULL ? view->basis : "");
}

static void figures_write(const struct stage_view *measured, const struct stage_view *predicted, int level,
                          struct text *text)
{
    int64_t measured_bytes = measured->peak_bytes[level], predicted_bytes = predicted->peak_bytes[level];
    integer_add(text, measured->end_bytes[level]);
    integer_add(text, measured_bytes);
    integer_add(text, predicted->end_bytes[level]);
    integer_add(text, predicted_bytes);
    if (measured_bytes != BYTES_UNKNOWN && predicted_bytes != BYTES_UNKNOWN) {
        int64_t difference_bytes = predicted_bytes - measured_bytes;
        text_integer(text, difference_bytes);
        text_append(text, ",");
        if (measured_bytes > 0) {
            text_format(text, "%.6f", (double)difference_bytes / (double)measured_bytes);
        }
    } else {
        text_append(text, ",");
    }
    text_append(text, ",");
}

static void case_write(const struct report *report, const struct case_view *view, struct text *text)
{
    bool any = false;
    struct text identity = {0}; /* of up to 30 rows */
    identity_write(report, view, &identity);
    for (int stage = 0; stage < STAGE_COUNT; stage++) {
        const struct stage_view *measured = &view->measured.stages[stage];
        const struct stage_view *predicted = &view->predicted.stages[stage];
        if (!measured->present && !predicted->present) {
            continue;
        }
        for (int level = 0; level < LEVEL_COUNT; level++) {
            text_append_bytes(text, text_string(&identity), identity.length);
            text_format(text, "%s,%s,", report_stage_name(stage), level_name((enum level)level));
            figures_write(measured, predicted, level, text);
            spread_write(&view->spread, stage, level, text);
            basis_write(view, text);
        }
        any = true;
    }
    if (!any) {
        text_append_bytes(text, text_string(&identity), identity.length);
        text_append(text, ",,,,,,,,,,");
        basis_write(view, text);
    }
    text->failed = text->failed || identity.failed;
    text_release(&identity);
}

void csv_write(const struct report *report, struct text *text)
{
    header_write(report, text);
    for (int index = 0; index < report->case_count; index++) {
        case_write(report, &report->cases[index], text);
    }
}
