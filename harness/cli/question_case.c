/* Question case: reading and naming. What is asked about the case is the commands' own matter. */
#include "harness/cli/question_case.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/base/size_text.h"
#include "harness/case/program.h"
#include "harness/cli/case_options.h"
#include "harness/cli/constants_option.h"
#include "harness/cli/model_notes.h"
#include "harness/cli/output.h"
#include "harness/cli/question_program.h"
#include "harness/cli/resource_path.h"
#include "harness/tape/target.h"
#include "models/config/head.h"

enum { LABEL_COLUMNS = 28, NARROW_LABEL_COLUMNS = 22, LINE_COLUMNS = LABEL_COLUMNS + 38 };

static enum status_code size_option(const struct arguments *arguments, const char *name, int64_t *bytes,
                                    struct status *error)
{
    const char *typed = arguments_value(arguments, name);
    enum status_code code = typed != NULL ? size_parse_memory(typed, bytes, error) : STATUS_OK;
    if (code != STATUS_OK) {
        status_prefix(error, "%s: --%s", arguments->command->name, name);
    }
    return code;
}

static enum status_code memory_read(const struct arguments *arguments, struct question_case *question,
                                    struct status *error)
{
    const char *command = arguments->command->name, *on = arguments_value(arguments, "on");
    question->memory_typed = arguments_value(arguments, "memory");
    if (on != NULL && question->memory_typed != NULL) {
        return status_set(error, STATUS_INVALID, "%s: --on and --memory name two devices; leave one out", command);
    }
    if (on == NULL && question->memory_typed == NULL && arguments_value(arguments, "overhead") != NULL) {
        return status_set(error, STATUS_INVALID, "%s: --overhead is taken off a memory; add --on GPU or --memory SIZE",
                          command);
    }
    enum status_code code = size_option(arguments, "memory", &question->memory_bytes, error);
    if (code == STATUS_OK && question->memory_typed != NULL && question->memory_bytes == 0) {
        code = status_set(error, STATUS_INVALID, "%s: --memory 0 holds nothing; write a size such as 24GiB", command);
    }
    if (code == STATUS_OK && on != NULL) {
        bool takes_size = command_takes(arguments->command, "memory");
        code = gpu_find_typed(on, takes_size ? "--memory " : NULL, &question->gpu, error);
        if (code == STATUS_OK) {
            question->memory_bytes = gpu_memory_bytes(question->gpu);
            if (gpu_is_amd(question->gpu)) {
                note_give(command, &question->notes,
                          "kernels and workspaces of %s are not modelled; those of %s are taken, and its memory",
                          question->gpu->name, question->gpu->target);
            }
        } else {
            status_prefix(error, "%s: --on", command);
        }
    }
    return code;
}

/* The constants that --constants names, else those that were measured on the GPU. */
static enum status_code constants_choose(const struct arguments *arguments, struct question_case *question,
                                         struct status *error)
{
    const char *name = arguments_value(arguments, "constants");
    bool found = name != NULL;
    enum status_code code = STATUS_OK;
    if (name != NULL) {
        code = constants_option_read(name, &question->arena, &question->constants, error);
        if (code == STATUS_OK && question->gpu != NULL) {
            code = constants_option_check(&question->constants, question->gpu->name, error);
            if (code != STATUS_OK) {
                status_prefix(error, "%s", arguments->command->name);
            }
        }
    } else if (question->gpu != NULL) {
        const char *folder = resource_path(&question->arena, "results/reference");
        code = folder == NULL
                   ? status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a path")
                   : constants_find(folder, "cuda", question->gpu->name, 0, &question->constants, &found, error);
    }
    if (code == STATUS_OK && found) {
        question->input.constants = &question->constants;
        constants_option_warn(arguments->command->name, &question->constants);
    }
    return code;
}

/* Constants count if they were asked for: they are those of assay's process, and the question is about PyTorch's. Of a
 * memory that is no GPU's whole, the driver keeps nothing. */
static enum status_code overhead_choose(const struct arguments *arguments, struct question_case *question,
                                        struct status *error)
{
    const struct target *target = NULL;
    const char *typed = arguments_value(arguments, "overhead");
    bool asked = arguments_value(arguments, "constants") != NULL;
    bool published = typed != NULL && strcmp(typed, "published") == 0;
    const struct workload *workload = &question->identity.workload;
    struct context_program program = context_program_of(question->input.config, workload);
    int64_t bytes = 0;
    enum status_code code = target_find(question->input.target, &target, error);
    if (code == STATUS_OK && typed != NULL && !published) {
        code = size_option(arguments, "overhead", &bytes, error);
        question->overhead =
            (struct overhead){.kind = OVERHEAD_GIVEN, .low_bytes = bytes, .likely_bytes = bytes, .high_bytes = bytes};
    } else if (code == STATUS_OK && published && question->gpu == NULL) {
        question->overhead = overhead_of_process(question->named, target, &program);
    } else if (code == STATUS_OK && (question->gpu != NULL || asked)) {
        const struct constants *constants = asked && !published ? question->input.constants : NULL;
        question->overhead = overhead_of_device(constants, question->gpu, target, workload->mode, &program);
    }
    return code;
}

static enum status_code target_choose(const struct arguments *arguments, struct question_case *question,
                                      struct status *error)
{
    const struct target *target = target_at(0);
    const char *name = arguments_value(arguments, "for");
    const char *own = question->gpu != NULL               ? target_of_gpu(question->gpu)->name
                      : question->input.constants != NULL ? question->input.constants->device.target
                                                          : NULL;
    enum status_code code = STATUS_OK;
    if (name != NULL && own != NULL) {
        return status_set(error, STATUS_INVALID, "%s: --for %s, but the device is of class %s; leave --for out",
                          arguments->command->name, name, own);
    }
    question->named = question->gpu;
    if (name != NULL && gpu_find(name, &question->named, NULL) != STATUS_OK) {
        question->named = NULL;
    }
    if (name != NULL || own != NULL) {
        code = target_find(name != NULL ? name : own, &target, error);
        if (code != STATUS_OK && name != NULL) {
            status_prefix(error, "%s: --for", arguments->command->name);
        }
    }
    question->input.target = target->name;
    return code;
}

static enum status_code model_read(const struct arguments *arguments, struct question_case *question,
                                   struct status *error)
{
    const struct model_places places = {.catalogue_dir = resource_path(&question->arena, "models/catalogue")};
    enum status_code code = places.catalogue_dir == NULL
                                ? status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a path")
                                : model_find(&places, arguments->operands[0], &question->model, error);
    code = checkpoint_hint(arguments->operands[0], code, error);
    if (code == STATUS_OK) {
        code = model_notes_give(arguments, &question->model, &question->notes, error);
    }
    if (code == STATUS_OK) {
        question->precision = precision_choose(arguments, &question->model, &question->notes);
        question->input = (struct estimate_input){.config = &question->model.config,
                                                  .checkpoint = question->model.checkpoint,
                                                  .workload = &question->identity.workload};
    }
    return code;
}

/* A class that cannot do what is asked: another one answers. */
static void head_note(const struct arguments *arguments, const struct workload *workload,
                      struct question_case *question)
{
    const struct config *config = &question->model.config;
    enum head stated = config->model_heads.stated;
    bool passes = workload->mode == MODE_TRAIN || workload->mode == MODE_GENERATE;
    if (passes && stated != HEAD_DEFAULT && stated != workload->head && arguments_value(arguments, "head") == NULL) {
        char line[256];
        snprintf(line, sizeof line, "the configuration names %.64s, which %s; %s answers with the head %s (see --head)",
                 config->architecture, workload->mode == MODE_TRAIN ? "has no loss" : "writes no tokens",
                 arguments->command->name, head_name(config->model_heads.own));
        if (strstr(text_string(&question->notes), line) == NULL) {
            note_give(arguments->command->name, &question->notes, "%s", line);
        }
    }
}

static enum status_code workload_read(const struct arguments *arguments, struct question_case *question,
                                      struct status *error)
{
    struct workload workload;
    const struct config *config = &question->model.config;
    enum status_code code = case_options_read(arguments, config, &question->precision, &workload, error);
    if (code == STATUS_OK) {
        workload.head = head_of(&config->model_heads, &workload);
        code = head_check(&config->model_heads, config->name, workload.head, error);
        head_note(arguments, &workload, question);
    }
    if (code == STATUS_OK) {
        question->fields_named = case_options_named(arguments);
        question->identity = identity_make(arguments->operands[0], &workload, config->family);
        code = case_options_check(arguments, &question->identity, error);
    }
    if (code == STATUS_OK) {
        code = model_skeleton(&question->model, &question->identity.workload, &question->skeleton, error);
        question->input.skeleton = &question->skeleton;
    }
    return code;
}

enum status_code question_case_vary(const struct arguments *arguments, struct question_case *question,
                                    struct status *error)
{
    skeleton_release(&question->skeleton);
    question->skeleton = (struct skeleton){0};
    enum status_code code = workload_read(arguments, question, error);
    return code == STATUS_OK ? overhead_choose(arguments, question, error) : code;
}

enum status_code question_device_read(const struct arguments *arguments, struct question_case *question,
                                      struct status *error)
{
    enum status_code code = memory_read(arguments, question, error);
    if (code == STATUS_OK) {
        code = constants_choose(arguments, question, error);
    }
    if (code == STATUS_OK) {
        code = target_choose(arguments, question, error);
    }
    return code == STATUS_OK ? overhead_choose(arguments, question, error) : code;
}

enum status_code question_case_open(const struct arguments *arguments, struct question_case *question,
                                    struct status *error)
{
    *question = (struct question_case){0};
    enum status_code code = model_read(arguments, question, error);
    if (code == STATUS_OK) {
        code = workload_read(arguments, question, error);
    }
    if (code == STATUS_OK) {
        code = question_device_read(arguments, question, error);
    }
    if (code != STATUS_OK) {
        question_case_close(question);
    }
    return code;
}

void question_positions_note(const struct arguments *arguments, struct question_case *question)
{
    workload_notes_give(arguments->command->name, question->input.config, question->input.workload, &question->notes);
}

void question_case_close(struct question_case *question)
{
    skeleton_release(&question->skeleton);
    model_release(&question->model);
    text_release(&question->notes);
    arena_release(&question->arena);
}

enum status_code question_case_needs_memory(const struct arguments *arguments, const struct question_case *question,
                                            struct status *error)
{
    return question->memory_bytes > 0
               ? STATUS_OK
               : status_set(error, STATUS_INVALID, "%s: no device is named; add --on GPU or --memory SIZE",
                            arguments->command->name);
}

int64_t question_segment_bytes(const struct question_case *question)
{
    return question->memory_bytes == 0 ? 0 : overhead_rest(question->memory_bytes, question->overhead.high_bytes);
}

void question_taken_words(const struct question_case *question, struct text *text)
{
    const struct overhead *overhead = &question->overhead;
    char taken[SIZE_TEXT_BYTES];
    if (overhead->kind == OVERHEAD_NONE) {
        text_append(text, "nothing is taken off for context and libraries; --overhead SIZE does that");
        return;
    }
    text_format(text, "%s%s taken off for context and libraries, %s",
                overhead->low_bytes != overhead->high_bytes ? "up to " : "", size_format(overhead->high_bytes, taken),
                overhead->kind == OVERHEAD_MEASURED ? "as measured" : overhead_source(overhead));
}

void question_bound_line(const struct question_case *question, struct text *text)
{
    char rest[SIZE_TEXT_BYTES];
    if (question->memory_bytes > 0 && question->overhead.high_bytes >= question->memory_bytes) {
        char taken[SIZE_TEXT_BYTES];
        text_format(text, "on %s of %s: nothing is left for segments, context and libraries take %s\n",
                    question->gpu != NULL ? question->gpu->name : "a device", size_format(question->memory_bytes, rest),
                    size_format(question->overhead.high_bytes, taken));
    } else if (question->memory_bytes > 0) {
        text_format(text, "on %s with %s for segments: ", question->gpu != NULL ? question->gpu->name : "a device",
                    size_format(question_segment_bytes(question), rest));
        question_taken_words(question, text);
        text_append(text, "\n");
    }
}

void question_case_name(const struct question_case *question, struct text *text)
{
    const uint64_t habits =
        UINT64_C(1) << FIELD_PROGRAM | UINT64_C(1) << FIELD_USE_CACHE | UINT64_C(1) << FIELD_OUTPUTS;
    struct identity identity = question->identity;
    identity.fields &= question->fields_named | ~habits;
    identity_id(&identity, text);
}

void question_case_heading(const struct question_case *question, struct text *text)
{
    question_case_name(question, text);
    text_format(text, ", predicted for %s\n", question->input.target);
    precision_line(&question->precision, text);
    question_program_lines(question, text);
    text_append(text, "\n");
}

struct bounds_device question_bounds_device(const struct question_case *question)
{
    const struct target *target = target_at(0);
    return target_find(question->input.target, &target, NULL) == STATUS_OK
               ? (struct bounds_device){.target = target, .gpu = question->named}
               : (struct bounds_device){.target = target_at(0)};
}

void question_size_line(struct text *text, const char *label, int64_t bytes)
{
    char size[SIZE_TEXT_BYTES];
    bool narrow = table_width() < LINE_COLUMNS;
    text_format(text, "%-*s %12s %*" PRId64 " bytes\n", narrow ? NARROW_LABEL_COLUMNS : LABEL_COLUMNS, label,
                size_format(bytes, size), narrow ? 14 : 18, bytes);
}

/* Constants say of which device they are: with --memory alone it may be any. */
static void overhead_source_line(const struct question_case *question, struct text *text)
{
    if (question->overhead.kind == OVERHEAD_MEASURED) {
        text_append(text, "  of ");
        constants_origin_append(text, question->input.constants);
        text_append(text, "\n");
    } else {
        text_format(text, "  %s\n", overhead_source(&question->overhead));
    }
}

/* "  context     likely 528.00 MiB, 496.32 MiB to 559.68 MiB". */
static void range_line(const char *name, struct byte_range range, struct text *text)
{
    char low[SIZE_TEXT_BYTES], likely[SIZE_TEXT_BYTES], high[SIZE_TEXT_BYTES];
    text_format(text, "  %-10s likely %s, %s to %s\n", name, size_format(range.likely_bytes, likely),
                size_format(range.low_bytes, low), size_format(range.high_bytes, high));
}

void question_memory_lines(const struct question_case *question, struct text *text)
{
    const struct overhead *overhead = &question->overhead;
    question_size_line(text, question->gpu != NULL ? question->gpu->name : "memory", question->memory_bytes);
    text_append(text, "  ");
    if (question->gpu != NULL) {
        gpu_memory_words(question->gpu, text);
    } else {
        size_meant(question->memory_typed, question->memory_bytes, text);
    }
    text_append(text, "\n");
    if (overhead->kind == OVERHEAD_PUBLISHED) {
        question_size_line(text, "taken off at most", overhead->high_bytes);
        range_line("driver", overhead->parts.driver, text);
        range_line("context", overhead->parts.context, text);
        range_line("libraries", overhead->parts.libraries, text);
    } else if (overhead->kind != OVERHEAD_NONE) {
        question_size_line(text, "context and libraries", overhead->high_bytes);
        overhead_source_line(question, text);
    }
}

bool question_case_set(const struct question_case *question, struct json *document)
{
    struct text id = {0};
    const struct gpu *gpu = question->gpu;
    identity_id(&question->identity, &id);
    bool made = json_set(document, "id", json_string_new(text_string(&id))) &&
                json_set(document, "case", identity_json(&question->identity)) &&
                json_set(document, "program", program_json(&question->identity.workload, question->identity.fields)) &&
                json_set(document, "target", json_string_new(question->input.target)) &&
                json_set(document, "precision", precision_json(&question->precision)) &&
                json_set(document, "notes", notes_json(&question->notes));
    text_release(&id);
    if (question->input.constants != NULL) {
        made = made && json_set(document, "constants", constants_origin_json(question->input.constants));
    }
    if (question->memory_bytes == 0) {
        return made;
    }
    return made && json_set(document, "device", gpu != NULL ? json_string_new(gpu->name) : json_null_new()) &&
           json_set(document, "memory_bytes", json_integer_new(question->memory_bytes)) &&
           json_set(document, "overhead", overhead_to_json(&question->overhead));
}
