/* assay calibrate: records in, the constants of their device out. Measures nothing. */
#include <stdio.h>

#include "harness/base/file_replace.h"
#include "harness/cli/calibrate_law.h"
#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/report/calibration.h"

static const struct option_row options[] = {
    {"filter", OPTION_VALUE, "GLOB", "only cases whose id or one of whose tags matches"},
    {"output", OPTION_VALUE, "FILE", "write to FILE; with --law the law as JSON, or with --format its page"},
    LAW_OPTION_ROWS,
    {NULL, OPTION_FLAG, NULL, NULL},
};

static enum status_code constants_save(const char *path, const struct json *document, struct status *error)
{
    struct text text = {0};
    enum status_code code = json_write(document, 2, &text, error);
    if (code == STATUS_OK) {
        text_append(&text, "\n");
        code = file_replace(path, FILE_NAMED, &text, error);
    }
    text_release(&text);
    return code;
}

static enum status_code calibrate_command(const struct arguments *arguments, enum exit_code *exit_code,
                                          struct status *error)
{
    (void)exit_code;
    struct constants constants;
    const char *path = arguments_value(arguments, "output");
    bool is_law = false;
    enum status_code code = calibrate_law_asked(arguments, &is_law, error);
    if (code != STATUS_OK || is_law) {
        return code != STATUS_OK ? code : calibrate_law(arguments, error);
    }
    code = calibration_make(arguments->operands, arguments->operand_count, arguments_value(arguments, "filter"),
                            &constants, error);
    if (code != STATUS_OK) {
        return code;
    }
    struct json *document = constants_to_json(&constants);
    if (document == NULL) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for the constants");
    } else if (path != NULL) {
        code = constants_save(path, document, error);
    } else {
        code = output_json(document, error);
    }
    json_release(document);
    return code;
}

const struct command command_calibrate = {
    .name = "calibrate",
    .operands = "RECORDS...",
    .summary = "what a device takes besides tensors, and laws of memory, from records",
    .details = "RECORDS: folders that `assay run suites/calibrate.yaml` wrote, or their records.jsonl; at most\n"
               "ten, with at most ten cases, all measured on one class of device under one driver. If they have\n"
               "other suites too, --filter calibrate takes the cases of suites/calibrate.yaml.\n"
               "\n"
               "The output is JSON: the bytes of the bare context and, by mode, what libraries and kernels come to\n"
               "hold beyond the allocator's segments. Each has its median, smallest, largest and the number of\n"
               "readings (docs/FORMAT.md, Constants).\n"
               "\n"
               "Refused: runs that lack a case they selected, more than ten cases, cases that ended in error, oom,\n"
               "timeout or skip, rows marked invalid, several devices, drivers or targets, records without a\n"
               "reading or of another program than assay.\n"
               "\n"
               "`assay run` looks for results/reference/DEVICE/constants.json; DEVICE is \"slug\" in the output. It\n"
               "does not judge a case by constants that the case calibrated.\n"
               "\n"
               "With --law RECORDS may be up to a thousand, of any suites and devices, or tables that --points has\n"
               "written, whose lines grep chooses and not --filter. inference-overhead is fitted to the cases of a\n"
               "host, which replay predicts, and tested on those of GPUs, which come first on its page\n"
               "(docs/CALIBRATION.md); `assay estimate --calibration` reads what --output wrote. assay factor\n"
               "answers what to use in place of 1.2 x the weights.\n",
    .options = options,
    .operand_minimum = 1,
    .operand_maximum = OPERAND_COUNT_MAXIMUM,
    .run = calibrate_command,
};
