/* Case peak: the tape of a case at its highest moment. The list is harness/replay's; the words are here. */
#include "harness/cli/case_peak.h"

#include <inttypes.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/replay/peak.h"
#include "harness/tape/target.h"
#include "models/workload/workload_tape.h"

enum { ROWS_SHOWN = 30, CATEGORY_COLUMNS = 14 };

static enum status_code stage_read(const char *name, enum stage *stage, struct status *error)
{
    return stage_find(name, stage) && *stage != STAGE_CONTEXT
               ? STATUS_OK
               : status_set(
                     error, STATUS_INVALID,
                     "estimate: --peak: '%s' is no stage; use load, forward, backward, step, generate or highest",
                     name);
}

static void peak_lines(const struct peak *peak, struct text *text)
{
    char size[SIZE_TEXT_BYTES];
    int64_t rest_bytes = 0;
    text_format(text, "\nalive at the peak of requested bytes in %s, %s, largest first:\n", stage_name(peak->stage),
                size_format(peak->requested_bytes, size));
    for (int i = 0; i < peak->tensor_count; i++) {
        const struct peak_tensor *tensor = &peak->tensors[i];
        if (i >= ROWS_SHOWN) {
            rest_bytes += tensor->bytes * tensor->count;
            continue;
        }
        text_format(text, "  %12s %6d x %12" PRId64 "  %-*s %s\n", size_format(tensor->bytes * tensor->count, size),
                    tensor->count, tensor->bytes, CATEGORY_COLUMNS, category_name(tensor->category), tensor->name);
    }
    if (peak->tensor_count > ROWS_SHOWN) {
        text_format(text, "  %12s in %d more rows; --json has all\n", size_format(rest_bytes, size),
                    peak->tensor_count - ROWS_SHOWN);
    }
}

static enum status_code peak_take(const struct estimate_input *input, const char *stage, struct peak *peak,
                                  struct tape **tape, struct status *error)
{
    enum stage chosen = STAGE_COUNT;
    const struct target *target = NULL;
    enum status_code code = strcmp(stage, "highest") == 0 ? STATUS_OK : stage_read(stage, &chosen, error);
    if (code == STATUS_OK) {
        code = target_find(input->target, &target, error);
    }
    if (code == STATUS_OK) {
        code = workload_tape_brief(input->config, input->skeleton, input->workload, target, false, tape, error);
    }
    if (code == STATUS_OK) {
        struct tape_view view = tape_view(*tape);
        code = peak_find(&view, chosen, peak, error);
        if (code != STATUS_OK) {
            status_prefix(error, "estimate: --peak");
        }
    }
    return code;
}

enum status_code case_peak(const struct estimate_input *input, const char *stage, struct json **peak, struct text *text,
                           struct status *error)
{
    struct peak found = {0};
    struct tape *tape = NULL;
    struct json *made = NULL;
    enum status_code code = peak_take(input, stage, &found, &tape, error);
    if (code == STATUS_OK) {
        made = peak_to_json(&found);
        if (made == NULL) {
            code = status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for the list of tensors");
        }
    }
    if (code == STATUS_OK) {
        peak_lines(&found, text);
        json_release(*peak);
        *peak = made;
    }
    peak_release(&found);
    tape_release(tape);
    return code;
}
