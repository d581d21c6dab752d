/* assay compare: what differs between two results. */
#include <stdio.h>

#include "harness/base/size.h"
#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/report/report.h"

static const struct option_row options[] = {
    {"within", OPTION_VALUE, "P%", "two programs: only allocated peaks decide, off by P% of BASE at the most"},
    {NULL, OPTION_FLAG, NULL, NULL},
};

static enum exit_code exit_code_of_outcome(enum report_outcome outcome)
{
    switch (outcome) {
    case REPORT_SAME:
        return EXIT_CODE_PASS;
    case REPORT_CHANGED:
        return EXIT_CODE_FAIL;
    case REPORT_MISSING:
        break;
    }
    return EXIT_CODE_INCONCLUSIVE;
}

static enum status_code compare_command(const struct arguments *arguments, enum exit_code *exit_code,
                                        struct status *error)
{
    struct report *base = NULL;
    struct report *new_report = NULL;
    struct text text = {0};
    enum report_outcome outcome = REPORT_SAME;
    struct report_style style = {.width = terminal_width(stdout), .colour = terminal_is_lively(stdout)};
    const char *within = arguments_value(arguments, "within");
    double limit = -1.0;
    enum status_code code = within == NULL ? STATUS_OK : percentage_parse(within, &limit, error);
    if (code != STATUS_OK) {
        status_prefix(error, "compare: --within");
    } else {
        code = report_open(arguments->operands[0], &base, error);
    }
    if (code == STATUS_OK) {
        code = report_open(arguments->operands[1], &new_report, error);
    }
    if (code == STATUS_OK) {
        code = report_compare(base, new_report, limit, &style, &text, &outcome, error);
    }
    if (code == STATUS_OK) {
        code = output_text(&text, error);
    }
    if (code == STATUS_OK) {
        *exit_code = exit_code_of_outcome(outcome);
    }
    text_release(&text);
    report_release(new_report);
    report_release(base);
    return code;
}

const struct command command_compare = {
    .name = "compare",
    .operands = "BASE NEW",
    .summary = "what differs between two results",
    .details =
        "BASE, NEW: folders that `assay run` wrote, or their records.jsonl. Exit code 0: every case of BASE is in\n"
        "NEW with equal bytes; 1: something changed; 3: a case of BASE is missing. What one side alone knows is\n"
        "named and is no change, unless BASE had measured it.\n"
        "\n"
        "With --within, for results of two programs (PyTorch's and ours): 0: every allocated peak of BASE is met;\n"
        "1: one is further off; 3: one is not measured in NEW, or BASE has none. Requested, allocated and\n"
        "reserved peaks of both are summed up at the end.\n",
    .options = options,
    .operand_minimum = 2,
    .operand_maximum = 2,
    .run = compare_command,
};
