/* assay doctor: what would run here and what is missing, each with what mends it. Measures nothing. */
#include <stdio.h>
#include <stdlib.h>

#include "harness/cli/command.h"
#include "harness/cli/doctor.h"
#include "harness/cli/output.h"
#include "harness/device/device_spec.h"
#include "harness/report/escape.h"

static const struct option_row options[] = {
    {"device", OPTION_VALUE, "D", "one GPU alone: cuda:N (default: each that is here)"},
    {"json", OPTION_FLAG, NULL, "print one JSON document"},
    {NULL, OPTION_FLAG, NULL, NULL},
};

enum { WIDTH_MAXIMUM = 80, STATE_COLUMNS = 9, TOPIC_COLUMNS = 14, SEEN_COLUMN = 2 + STATE_COLUMNS + TOPIC_COLUMNS };

static const char *const area_titles[AREA_COUNT] = {"GPU", "host", "around them"};

/* ---- what would run ---- */

static int missing_count(const struct doctor *doctor)
{
    int count = 0;
    for (int i = 0; i < doctor->count; i++) {
        count += doctor->findings[i].state == FINDING_MISSING ? 1 : 0;
    }
    return count;
}

/* All that is needed: what the host computes with, and of a GPU that is there all that it needs. */
static bool is_ready(const struct doctor *doctor)
{
    return missing_count(doctor) == 0 && (!doctor->has_gpu || doctor->usable_gpus > 0);
}

static void runs_append(struct text *text, const struct doctor *doctor, int width)
{
    const struct {
        bool runs;
        const char *what, *command;
    } rows[] = {
        {doctor->host_computes, "cases on the host", "make run"},
        {doctor->usable_gpus > 0, "cases on a GPU", "make gpu"},
        {doctor->plots, "plots", "assay report DIR"},
        {doctor->asks_hub, "models of the hub", "assay estimate OWNER/MODEL"},
    };
    text_append(text, "what would run\n");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        text_format(text, "  %-*s", STATE_COLUMNS, rows[i].runs ? "yes" : "no");
        text_format(text, "%s%s%s%s\n", rows[i].what, width >= 60 ? " (" : "", width >= 60 ? rows[i].command : "",
                    width >= 60 ? ")" : "");
    }
}

/* ---- for people ---- */

static void finding_append(struct text *text, const struct finding *finding, int width)
{
    bool narrow = width < 60;
    int column = narrow ? 4 : SEEN_COLUMN;
    if (narrow) {
        text_format(text, "  %-*s%s\n%*s", STATE_COLUMNS, finding_state_word(finding->state), finding->topic, column,
                    "");
    } else {
        text_format(text, "  %-*s%-*s", STATE_COLUMNS, finding_state_word(finding->state), TOPIC_COLUMNS,
                    finding->topic);
    }
    outside_paragraph_append(text, finding->seen, width, column, column);
    if (finding->remedy != NULL) {
        text_format(text, "%*s", column, "");
        text_append(text, "-> ");
        outside_paragraph_append(text, finding->remedy, width, column + 3, column + 3);
    }
}

static void doctor_append(struct text *text, const struct doctor *doctor, int width)
{
    for (int area = 0; area < AREA_COUNT; area++) {
        text_format(text, "%s\n", area_titles[area]);
        for (int i = 0; i < doctor->count; i++) {
            if ((int)doctor->findings[i].area == area) {
                finding_append(text, &doctor->findings[i], width);
            }
        }
        text_append(text, "\n");
    }
    runs_append(text, doctor, width);
}

/* ---- for programs ---- */

static struct json *finding_value(const struct finding *finding)
{
    struct json *value = json_object_new();
    bool made = json_set(value, "area", json_string_new(area_titles[finding->area])) &&
                json_set(value, "topic", json_string_new(finding->topic)) &&
                json_set(value, "state", json_string_new(finding_state_word(finding->state))) &&
                json_set(value, "seen", json_string_new(finding->seen)) &&
                json_set(value, "remedy", finding->remedy != NULL ? json_string_new(finding->remedy) : json_null_new());
    return json_made(value, made);
}

static struct json *doctor_value(const struct doctor *doctor)
{
    struct json *value = json_object_new(), *findings = json_array_new(), *runs = json_object_new();
    bool made = findings != NULL;
    for (int i = 0; made && i < doctor->count; i++) {
        made = json_append(findings, finding_value(&doctor->findings[i]));
    }
    made = json_set(runs, "host", json_boolean_new(doctor->host_computes)) &&
           json_set(runs, "gpu", json_boolean_new(doctor->usable_gpus > 0)) &&
           json_set(runs, "gpu_count", json_integer_new(doctor->usable_gpus)) &&
           json_set(runs, "plots", json_boolean_new(doctor->plots)) &&
           json_set(runs, "hub", json_boolean_new(doctor->asks_hub)) && made;
    made = json_set(value, "ready", json_boolean_new(is_ready(doctor))) &&
           json_set(value, "has_gpu", json_boolean_new(doctor->has_gpu)) &&
           json_set(value, "missing_count", json_integer_new(missing_count(doctor))) && json_set(value, "runs", runs) &&
           json_set(value, "findings", findings) && made;
    return json_made(value, made);
}

/* ---- the command ---- */

static enum status_code device_read(const struct arguments *arguments, char words[DEVICE_SPEC_BYTES],
                                    const char **device, struct status *error)
{
    const char *asked = arguments_value(arguments, "device");
    struct device_spec spec;
    *device = asked != NULL ? words : NULL;
    enum status_code code = asked != NULL ? device_spec_parse(asked, &spec, error) : STATUS_OK;
    if (code == STATUS_OK && asked != NULL && spec.kind != DEVICE_KIND_CUDA) {
        code = status_set(error, STATUS_INVALID, "'%s' is no GPU; write cuda:0, or leave it out", asked);
    }
    if (code == STATUS_OK && asked != NULL) {
        code = device_spec_words(asked, words, error);
    }
    if (code != STATUS_OK) {
        status_prefix(error, "doctor: --device");
    }
    return code;
}

static enum status_code doctor_give(const struct doctor *doctor, bool json, struct status *error)
{
    struct text text = {0};
    enum status_code code = STATUS_OK;
    if (json) {
        struct json *document = doctor_value(doctor);
        code = output_json(document, error);
        json_release(document);
        return code;
    }
    int width = terminal_width(stdout);
    doctor_append(&text, doctor, width > WIDTH_MAXIMUM ? WIDTH_MAXIMUM : width);
    code = output_text(&text, error);
    text_release(&text);
    return code;
}

static enum status_code doctor_command(const struct arguments *arguments, enum exit_code *exit_code,
                                       struct status *error)
{
    struct doctor doctor = {0};
    char words[DEVICE_SPEC_BYTES] = "";
    const char *device = NULL, *locks = secure_getenv("ASSAY_LOCK_DIR");
    enum status_code code = device_read(arguments, words, &device, error);
    if (code != STATUS_OK) {
        return code;
    }
    doctor_gpus_look(&doctor, device, locks != NULL && locks[0] != '\0' ? locks : NULL);
    doctor_host_look(&doctor);
    doctor_tools_look(&doctor);
    code = doctor_give(&doctor, arguments_value(arguments, "json") != NULL, error);
    if (code == STATUS_OK && !is_ready(&doctor)) {
        char reason[96];
        *exit_code = doctor.host_computes && doctor.usable_gpus == 0 ? EXIT_CODE_NO_GPU : EXIT_CODE_INCONCLUSIVE;
        snprintf(reason, sizeof reason, "NOT READY: %d missing; each has what mends it", missing_count(&doctor));
        exit_reason_print("doctor", *exit_code, reason);
    }
    arena_release(&doctor.arena);
    return code;
}

const struct command command_doctor = {
    .name = "doctor",
    .operands = "",
    .summary = "what would run here and what is missing, with what mends it",
    .details = "Looks at the driver, the plug-in, cuBLAS, cuDNN, NVML, permissions, modes and locks of each GPU, at\n"
               "what a container leaves of the machine, at libraries and tools. Each GPU is opened for a moment,\n"
               "unless another run has it.\n"
               "\n"
               "  ok       as it should be\n"
               "  note     runs, but with less, or with figures that are not known\n"
               "  missing  nothing of its kind runs before it is mended\n"
               "\n"
               "Exit codes:\n"
               "   0  all that is needed is here; without a GPU, all that the host needs\n"
               "   3  something that is needed is missing: the host cannot compute, or a GPU has no cuBLAS or cuDNN\n"
               "   4  the GPU that is here, or that --device names, cannot be used\n",
    .options = options,
    .operand_minimum = 0,
    .operand_maximum = 0,
    .run = doctor_command,
};
