/* Model notes: the lines and where they go. What is wrong with a configuration or a file is found in models/. */
#include "harness/cli/model_notes.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/name_table.h"
#include "harness/base/shell_word.h"
#include "harness/case/workload_alias.h"
#include "harness/checkpoint/checkpoint.h"
#include "harness/cli/output.h"
#include "models/find/catalogue_names.h"
#include "models/find/model_files.h"
#include "models/find/stored_precision.h"
#include "models/workload/workload_fit.h"

enum status_code checkpoint_hint(const char *name, enum status_code code, struct status *error)
{
    struct model_files files;
    struct checkpoint *checkpoint = NULL;
    if (code == STATUS_INVALID && model_files_find(name, &files) && files.checkpoint[0] != '\0' &&
        checkpoint_open(files.checkpoint, &checkpoint, NULL) == STATUS_OK) {
        struct text word = {0};
        shell_word_append(&word, name);
        status_extend(error, "; assay weights %s reads what is stored all the same", text_string(&word));
        text_release(&word);
        checkpoint_release(checkpoint);
    }
    return code;
}

void note_give(const char *command, struct text *notes, const char *format, ...)
{
    char line[2048];
    struct text shown = {0};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    text_format(&shown, "assay: %s: %s", command, line);
    output_warning("%s", shown.failed ? line : text_string(&shown));
    text_release(&shown);
    text_format(notes, "%s\n", line);
}

struct json *notes_json(const struct text *notes)
{
    struct json *list = json_array_new();
    bool made = list != NULL && !notes->failed;
    for (const char *line = text_string(notes); *line != '\0' && made;) {
        struct text one = {0};
        size_t length = strcspn(line, "\n");
        text_append_bytes(&one, line, length);
        made = !one.failed && json_append(list, json_string_new(text_string(&one)));
        text_release(&one);
        line += length + (line[length] == '\n' ? 1 : 0);
    }
    return json_made(list, made);
}

enum status_code config_notes_give(const struct arguments *arguments, const struct config *config, struct text *notes,
                                   struct status *error)
{
    const char *command = arguments->command->name;
    bool is_strict = arguments_value(arguments, "strict") != NULL;
    int count = 0;
    for (int i = 0; i < config->note_count; i++) {
        if (is_strict || config->notes[i].kind != CONFIG_NOTE_UNKNOWN) {
            note_give(command, notes, "%s", config->notes[i].text);
            count++;
        }
    }
    return !is_strict || count == 0
               ? STATUS_OK
               : status_set(
                     error, STATUS_INVALID,
                     "%s: --strict: %d %s of the configuration of %s %s unknown or missing, as said above; write "
                     "what is meant, or leave --strict out",
                     command, count, count == 1 ? "key" : "keys", config->name, count == 1 ? "is" : "are");
}

static void checkpoint_give(const char *command, const struct model *model, struct text *notes)
{
    const struct checkpoint_check *check = &model->check;
    struct text counts = {0}, word = {0};
    if (model->checkpoint == NULL || model->inferred.is_inferred || checkpoint_disagreement_count(check) == 0) {
        return;
    }
    for (int kind = 0; kind < FINDING_KIND_COUNT; kind++) {
        if (check->counts[kind] > 0 && !finding_is_remark((enum finding_kind)kind)) {
            text_format(&counts, "%s%d %s", counts.length > 0 ? ", " : "", check->counts[kind],
                        finding_kind_name((enum finding_kind)kind));
        }
    }
    shell_word_append(&word, model->config.name);
    note_give(command, notes, "what %s stores is not what its configuration says (%s); assay weights %s lists it",
              model->checkpoint->name, text_string(&counts), text_string(&word));
    text_release(&word);
    text_release(&counts);
}

/* --strict refuses assumptions too. */
static enum status_code inferred_give(const struct arguments *arguments, const struct model *model, struct text *notes,
                                      struct status *error)
{
    const char *command = arguments->command->name;
    if (!model->inferred.is_inferred) {
        return STATUS_OK;
    }
    note_give(command, notes, "%s has no config.json; read from its tensors: %s", model->config.name,
              model->inferred.evidence);
    note_give(command, notes, "assumed, because no tensor tells it: %s", model->inferred.assumed);
    if (model->inferred.besides_count > 0) {
        note_give(command, notes, "%d stored tensors are of a head for another task, and are left out",
                  model->inferred.besides_count);
    }
    if (model->inferred.unstored_count > 0) {
        note_give(command, notes, "%d tensors of the pooler are not stored; the figures include them all the same",
                  model->inferred.unstored_count);
    }
    return arguments_value(arguments, "strict") == NULL
               ? STATUS_OK
               : status_set(error, STATUS_INVALID,
                            "%s: --strict: %s has no config.json, and what its tensors do not say is assumed; put "
                            "the model's config.json there, or leave --strict out",
                            command, model->config.name);
}

enum status_code head_note_give(const struct arguments *arguments, const struct model *model, struct text *notes,
                                struct status *error)
{
    const char *command = arguments->command->name, *head = arguments_value(arguments, "head");
    const struct config *config = &model->config;
    bool is_bare = head != NULL && strcmp(workload_alias(FIELD_HEAD, head), "bare") == 0;
    enum head stated = config->model_heads.stated;
    bool is_named = stated != HEAD_DEFAULT && head_has_loss(stated);
    if (model->checkpoint == NULL || model->inferred.is_inferred || model->check.unstored_head_count == 0 ||
        !is_named || is_bare) {
        return STATUS_OK;
    }
    note_give(command, notes,
              "%s stores no head, and its configuration says %s; what runs is weighed with the head, as the "
              "configuration has it",
              model->checkpoint->name, config->architecture);
    return arguments_value(arguments, "strict") == NULL
               ? STATUS_OK
               : status_set(error, STATUS_INVALID,
                            "%s: --strict: the head of %s is not stored, and would be initialised at random; put the "
                            "whole model there, or leave --strict out",
                            command, config->name);
}

/* A quantization_config in the words of options. */
static void packing_note_give(const char *command, const struct config *config, struct text *notes)
{
    const struct config_packing *packing = &config->packing;
    if (packing->quantize == NULL) {
        return;
    }
    if (strcmp(packing->quantize, "linear") == 0) {
        const char *unquantized =
            precision_name(precision_of_dtype(config->states_dtype ? config->dtype : DTYPE_BFLOAT16));
        note_give(command, notes,
                  "the weights of %s are quantized (quantization_config: %s%s); that is --precision %s%s, and "
                  "--precision %s weighs it without%s",
                  config->name, packing->method, packing->double_quant ? ", scales too" : "", packing->precision,
                  packing->double_quant ? " --double-quant" : "", unquantized,
                  packing->computes_wide ? "; its products in float32 (bnb_4bit_compute_dtype) are counted in bfloat16"
                                         : "");
        return;
    }
    char group[32];
    snprintf(group, sizeof group, "groups of %" PRId64, packing->group_size);
    note_give(command, notes,
              "the weights of %s are published packed (quantization_config: %s, %s, %s%s); that is --precision %s "
              "--quantize %s, and --precision float16 weighs it without",
              config->name, packing->quantize, packing->precision, packing->group_size > 0 ? group : "one group",
              packing->act_order ? ", act_order" : "", packing->precision, packing->quantize);
}

enum status_code model_notes_give(const struct arguments *arguments, const struct model *model, struct text *notes,
                                  struct status *error)
{
    const char *command = arguments->command->name;
    const struct config *config = &model->config;
    if (config->stated_type[0] != '\0') {
        note_give(
            command, notes,
            "the type of %s, '%s', is not known; assay reads it as %s, as you asked: its keys and tensors may differ",
            config->name, config->stated_type, config->model_type);
    }
    if (config->stands_for[0] != '\0') {
        bool is_same = catalogue_name_fits(config->stands_for, config->name);
        note_give(command, notes, "%s is taken for %s of the catalogue, %s", config->stands_for, config->name,
                  is_same ? "whose name is spelled so" : "whose sizes are the same");
    }
    if (config->stored_in_fp8) {
        note_give(command, notes,
                  "the weights of %s are published in fp8, with scales (quantization_config); they are weighed in the "
                  "precision that is asked for, as transformers gives them with dequantize",
                  config->name);
    }
    packing_note_give(command, config, notes);
    if (model->shard_count > 0) {
        note_give(
            command, notes,
            "%d files of %s look like shards; their index, model.safetensors.index.json, is missing, so that they "
            "are not read",
            model->shard_count, config->name);
    }
    checkpoint_give(command, model, notes);
    enum status_code code = inferred_give(arguments, model, notes, error);
    code = code == STATUS_OK ? head_note_give(arguments, model, notes, error) : code;
    return code != STATUS_OK ? code : config_notes_give(arguments, config, notes, error);
}

/* Gemma 2: what transformers chooses by itself. */
static void attention_note_give(const char *command, const struct config *config, const struct workload *workload,
                                struct text *notes)
{
    char line[256 + CONFIG_NAME_BYTES];
    if (!config->lacks_fused_attention || workload->attention == ATTENTION_EAGER || workload->mode == MODE_LOAD) {
        return;
    }
    snprintf(line, sizeof line,
             "the class of %s has no fused attention, because its scores are capped: the eager form is counted, which "
             "transformers takes by itself",
             config->name);
    if (strstr(text_string(notes), line) == NULL) {
        note_give(command, notes, "%s", line);
    }
}

void workload_notes_give(const char *command, const struct config *config, const struct workload *workload,
                         struct text *notes)
{
    char line[256 + CONFIG_NAME_BYTES];
    attention_note_give(command, config, workload, notes);
    int64_t tokens = workload_tokens_beyond(config, workload);
    if (tokens == 0 || catalogue_name_is_toy(config->name)) {
        return;
    }
    snprintf(line, sizeof line,
             "%" PRId64 " tokens are more than the %" PRId64
             " positions that %s was made for; it runs, but it was not trained for them",
             tokens, config->positions, config->name);
    if (strstr(text_string(notes), line) == NULL) {
        note_give(command, notes, "%s", line);
    }
}

/* Tokens that a case of a text model reads at most, whatever the model. */
static int64_t case_tokens(const struct workload *workload)
{
    return workload->mode == MODE_LOAD       ? 0
           : workload->mode == MODE_GENERATE ? workload->seq + workload->new_tokens
                                             : workload->seq + 1;
}

/* longest: the case of the model with the longest sequences. */
static enum status_code name_notes_give(const struct arguments *arguments, const struct model_places *places,
                                        const struct identity *longest, struct text *notes, struct status *error)
{
    struct model model;
    if (model_find(places, longest->model, &model, NULL) != STATUS_OK) {
        return STATUS_OK; /* what cannot be found is the cases' own error */
    }
    enum status_code code = model_notes_give(arguments, &model, notes, error);
    if (code == STATUS_OK) {
        workload_notes_give(arguments->command->name, &model.config, &longest->workload, notes);
    }
    model_release(&model);
    return code;
}

enum status_code suite_notes_give(const struct arguments *arguments, const struct suite *suite,
                                  const char *catalogue_dir, struct text *notes, struct status *error)
{
    const struct model_places places = {.catalogue_dir = catalogue_dir, .folder = suite->folder};
    struct name_table names = {0};
    struct arena arena = {0};
    enum status_code code = STATUS_OK;
    size_t count = suite->case_count > 0 ? (size_t)suite->case_count : 1;
    const struct identity **longest = arena_alloc(&arena, count * sizeof *longest);
    for (int i = 0; i < suite->case_count && code == STATUS_OK; i++) {
        const struct identity *identity = &suite->cases[i].identity;
        size_t known_count = names.count;
        int number = longest != NULL ? name_table_add(&names, &arena, identity->model) : -1;
        if (number < 0) {
            code = status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the names of %d cases", suite->case_count);
        } else if (names.count > known_count ||
                   case_tokens(&identity->workload) > case_tokens(&longest[number]->workload)) {
            longest[number] = identity;
        }
    }
    for (size_t i = 0; i < names.count && code == STATUS_OK; i++) {
        code = name_notes_give(arguments, &places, longest[i], notes, error);
    }
    name_table_release(&names);
    arena_release(&arena);
    return code;
}
