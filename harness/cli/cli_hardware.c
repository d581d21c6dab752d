/* assay hardware: what this machine is made of. Finds GPUs as PCI devices; opens none. */
#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/hardware/hardware.h"

static const struct option_row options[] = {
    {"topology", OPTION_VALUE, "FILE.xml", "a topology that hwloc wrote on another machine (lstopo FILE.xml)"},
    {"json", OPTION_FLAG, NULL, "print one JSON document"},
    {NULL, OPTION_FLAG, NULL, NULL},
};

static enum status_code hardware_command(const struct arguments *arguments, enum exit_code *exit_code,
                                         struct status *error)
{
    (void)exit_code;
    struct arena arena = {0};
    struct hardware hardware;
    enum status_code code = hardware_read(arguments_value(arguments, "topology"), &arena, &hardware, error);
    if (code == STATUS_OK && arguments_value(arguments, "json") != NULL) {
        struct json *document = hardware_to_json(&hardware);
        code = output_json(document, error);
        json_release(document);
    } else if (code == STATUS_OK) {
        struct text text = {0};
        hardware_to_text(&hardware, &text);
        code = output_lines(&text, error);
        text_release(&text);
    }
    arena_release(&arena);
    return code;
}

const struct command command_hardware = {
    .name = "hardware",
    .operands = "",
    .summary = "what is here: processors, memory, GPUs and the cores near them",
    .details = "",
    .options = options,
    .operand_minimum = 0,
    .operand_maximum = 0,
    .run = hardware_command,
};
