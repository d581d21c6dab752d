/* assay estimate: accelerate's table of a model, or every estimator's prediction for a case. Touches no device. */
#include <inttypes.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/checkpoint/checkpoint.h"
#include "harness/cli/case_estimates.h"
#include "harness/cli/case_options.h"
#include "harness/cli/case_peak.h"
#include "harness/cli/case_precision.h"
#include "harness/cli/command.h"
#include "harness/cli/constants_option.h"
#include "harness/cli/estimate_table.h"
#include "harness/cli/model_notes.h"
#include "harness/cli/output.h"
#include "harness/cli/parallel_options.h"
#include "harness/cli/resource_path.h"
#include "harness/estimate/accelerate.h"
#include "harness/suite/identity.h"
#include "harness/tape/target.h"
#include "models/model.h"

static const struct option_row options[] = {
    CASE_OPTION_ROWS,
    PARALLEL_OPTION_ROWS,
    {"for", OPTION_VALUE, "TARGET", "class of devices whose workspaces are predicted (default: sm_90)"},
    {"peak", OPTION_VALUE, "STAGE",
     "list what is alive at the peak of load, forward, backward, step, generate or highest"},
    {"constants", OPTION_VALUE, "DEVICE",
     "with --mode: of results/reference, or a file: predict what that device will show, too"},
    {"dtypes", OPTION_LIST, "D", "without --mode: float32, float16, int8, int4 (default: all)"},
    {"rule", OPTION_VALUE, "current|0.23", "without --mode: release of accelerate whose training column is printed"},
    {"transformers", OPTION_VALUE, "RELEASE", "without --mode: release whose buffers count, as 4.31 or current"},
    STRICT_OPTION_ROW,
    {"json", OPTION_FLAG, NULL, "print one JSON document"},
    {NULL, OPTION_FLAG, NULL, NULL},
};

static const char *const table_options[] = {"dtypes", "rule", "transformers"};

static void stored_line(const struct checkpoint *checkpoint, struct text *text)
{
    char size[SIZE_TEXT_BYTES];
    if (checkpoint != NULL) {
        text_format(text, "stored in %s: %s, %" PRId64 " bytes of tensors\n", checkpoint->name,
                    size_format(checkpoint->stored_bytes, size), checkpoint->stored_bytes);
    }
}

/* The device whose readings are predicted, and what it was measured under. */
static void constants_line(const struct constants *constants, struct text *text)
{
    if (constants != NULL) {
        text_append(text, "readings as on ");
        constants_origin_append(text, constants);
        text_append(text, "\n");
    }
}

/* What is known of a case besides its input. */
struct case_facts {
    const struct identity *identity;
    struct precision_choice precision;
    const struct text *notes;
    const char *peak_stage; /* a word of --peak, or NULL */
};

static enum status_code estimates_give(const struct estimate_input *input, const struct case_facts *facts, bool as_json,
                                       struct status *error)
{
    const struct identity *identity = facts->identity;
    const char *peak_stage = facts->peak_stage;
    struct text text = {0};
    struct text id = {0};
    struct json *document = json_object_new();
    struct json *estimates = json_object_new();
    struct json *peak = json_null_new();
    identity_id(identity, &id);
    text_format(&text, "%s, predicted for %s%s\n", text_string(&id), input->target,
                parallel_divides(input->parallel) ? ": each of the devices it is divided among" : "");
    precision_line(&facts->precision, &text);
    stored_line(input->checkpoint, &text);
    constants_line(input->constants, &text);
    enum status_code code = case_estimates(input, estimates, &text, error);
    if (code == STATUS_OK && peak_stage != NULL) {
        code = case_peak(input, peak_stage, &peak, &text, error);
    }
    if (code == STATUS_OK && as_json) {
        bool made =
            json_set(document, "id", json_string_new(text_string(&id))) &&
            json_set(document, "case", identity_json(identity)) &&
            json_set(document, "target", json_string_new(input->target)) &&
            json_set(document, "precision", precision_json(&facts->precision)) &&
            json_set(document, "notes", notes_json(facts->notes)) &&
            (input->checkpoint == NULL ||
             json_set(document, "stored_bytes", json_integer_new(input->checkpoint->stored_bytes))) &&
            (input->constants == NULL || json_set(document, "constants", constants_origin_json(input->constants))) &&
            (input->parallel == NULL || json_set(document, "parallel", parallel_json(input->parallel))) &&
            json_set(document, "estimates", json_share(estimates)) &&
            (peak_stage == NULL || json_set(document, "peak", json_share(peak)));
        code = output_json(made ? document : NULL, error);
    } else if (code == STATUS_OK) {
        code = output_lines(&text, error);
    }
    json_release(peak);
    json_release(estimates);
    json_release(document);
    text_release(&id);
    text_release(&text);
    return code;
}

/* Constants say which class their device is of; a --for beside them must agree. */
static enum status_code constants_take(const char *name, const char **target_name, struct constants *constants,
                                       struct status *error)
{
    struct arena arena = {0};
    enum status_code code = constants_option_read(name, &arena, constants, error);
    arena_release(&arena);
    if (code == STATUS_OK && *target_name != NULL && strcmp(*target_name, constants->device.target) != 0) {
        code =
            status_set(error, STATUS_INVALID, "estimate: --for %s, but the constants of %s are for %s; leave --for out",
                       *target_name, name, constants->device.target);
    }
    if (code == STATUS_OK) {
        *target_name = constants->device.target;
    }
    return code;
}

/* What is shown at a peak, and a device's constants, are of one device that has the whole model. */
static enum status_code parallel_take(const struct arguments *arguments, const struct config *config,
                                      struct parallel *parallel, struct status *error)
{
    enum status_code code = parallel_options_read(arguments, config, parallel, error);
    bool whole = arguments_value(arguments, "peak") != NULL || arguments_value(arguments, "constants") != NULL;
    if (code == STATUS_OK && whole && parallel_divides(parallel)) {
        code = status_set(error, STATUS_INVALID,
                          "estimate: --%s is about one device with the whole model; leave it or the degrees out",
                          arguments_value(arguments, "peak") != NULL ? "peak" : "constants");
    }
    return code;
}

static enum status_code case_print(const struct arguments *arguments, const struct model *model, struct text *notes,
                                   struct status *error)
{
    struct workload workload;
    struct parallel parallel = parallel_single();
    struct skeleton skeleton = {0};
    struct constants constants;
    const struct target *target = target_at(0);
    const char *target_name = arguments_value(arguments, "for");
    const char *device = arguments_value(arguments, "constants");
    for (size_t i = 0; i < sizeof table_options / sizeof table_options[0]; i++) {
        if (arguments_value(arguments, table_options[i]) != NULL) {
            return status_set(error, STATUS_INVALID,
                              "estimate: --%s belongs to the table without --mode; leave one out", table_options[i]);
        }
    }
    struct case_facts facts = {.precision = precision_choose(arguments, model, notes),
                               .notes = notes,
                               .peak_stage = arguments_value(arguments, "peak")};
    enum status_code code = case_options_read(arguments, facts.precision.precision, &workload, error);
    if (code == STATUS_OK) {
        code = parallel_take(arguments, &model->config, &parallel, error);
    }
    if (code == STATUS_OK && target_name != NULL) {
        code = target_find(target_name, &target, error);
        target_name = code == STATUS_OK ? target->name : NULL;
    }
    if (code == STATUS_OK && device != NULL) {
        code = constants_take(device, &target_name, &constants, error);
    }
    if (code == STATUS_OK && target_name != NULL) {
        code = target_find(target_name, &target, error);
    }
    if (code != STATUS_OK) {
        return code;
    }
    struct identity identity = identity_make(arguments->operands[0], &workload, model->config.family);
    facts.identity = &identity;
    code = case_options_check(arguments, &identity, error);
    if (code == STATUS_OK) {
        code = model_skeleton(model, &identity.workload, &skeleton, error);
    }
    if (code == STATUS_OK) {
        struct estimate_input input = {.config = &model->config,
                                       .skeleton = &skeleton,
                                       .workload = &identity.workload,
                                       .target = target->name,
                                       .checkpoint = model->checkpoint,
                                       .constants = device != NULL ? &constants : NULL,
                                       .parallel = parallel_options_given(arguments) ? &parallel : NULL};
        code = estimates_give(&input, &facts, arguments_value(arguments, "json") != NULL, error);
    }
    skeleton_release(&skeleton);
    return code;
}

/* Of a model file that nothing explains there is the table of what it stores, but no case. */
static enum status_code unread_take(const struct arguments *arguments, const struct status *unread, bool is_case,
                                    struct text *notes, struct status *error)
{
    if (is_case || arguments_value(arguments, "strict") != NULL) {
        return status_set(error, unread->code, "%s", unread->text);
    }
    note_give("estimate", notes, "%s; what is stored is weighed, without what a model adds to it", unread->text);
    return STATUS_OK;
}

static enum status_code estimate_run(const struct arguments *arguments, enum exit_code *exit_code, struct status *error)
{
    (void)exit_code;
    struct arena arena = {0};
    struct model model = {0};
    struct text notes = {0};
    struct status unread = {0};
    const struct model_places places = {.catalogue_dir = resource_path(&arena, "models/catalogue")};
    enum status_code code = places.catalogue_dir == NULL
                                ? status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a path")
                                : model_open(&places, arguments->operands[0], &model, &unread, error);
    bool is_case = case_options_given(arguments) || parallel_options_given(arguments) ||
                   arguments_value(arguments, "for") != NULL || arguments_value(arguments, "peak") != NULL ||
                   arguments_value(arguments, "constants") != NULL;
    if (code == STATUS_OK && model.config.family == NULL) {
        code = unread_take(arguments, &unread, is_case, &notes, error);
    } else if (code == STATUS_OK) {
        code = model_notes_give(arguments, &model, &notes, error);
    }
    code = checkpoint_hint(arguments->operands[0], code, error);
    if (code == STATUS_OK) {
        code = is_case ? case_print(arguments, &model, &notes, error)
                       : estimate_table_print(arguments, &model, &notes, error);
    }
    text_release(&notes);
    model_release(&model);
    arena_release(&arena);
    return code;
}

const struct command command_estimate = {
    .name = "estimate",
    .operands = "MODEL",
    .summary = "what a model, or a case of it, will occupy",
    .details = "MODEL: a name of the catalogue, a config.json of Hugging Face, a folder that holds one, a .gguf, or\n"
               "OWNER/NAME[@REVISION][/FILE] of its hub (HF_ENDPOINT, HF_TOKEN, HF_HUB_OFFLINE, HF_HOME).\n"
               "A .safetensors without a config.json is told by its tensors, or its stored bytes are weighed.\n"
               "Alone: the table of accelerate estimate-memory. With --mode: every estimator's prediction; assay\n"
               "estimators lists them. Divided among devices: what the device that holds most holds.\n"
               "docs/NUMBERS.md derives every number.\n",
    .options = options,
    .operand_minimum = 1,
    .operand_maximum = 1,
    .run = estimate_run,
};
