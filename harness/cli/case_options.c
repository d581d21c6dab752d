/* Case options: each is handed to workload_set under its own name, so that command line and suite accept the same. */
#include "harness/cli/case_options.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/case/program.h"

uint64_t case_options_named(const struct arguments *arguments)
{
    uint64_t named = 0;
    for (int field = FIELD_MODE; field < FIELD_COUNT; field++) {
        if (arguments_value(arguments, case_field_key((enum case_field)field)) != NULL) {
            named |= UINT64_C(1) << field;
        }
    }
    return named;
}

bool case_options_given(const struct arguments *arguments)
{
    return case_options_named(arguments) != 0;
}

/* The values that follow from a program, before those that are named. */
static enum status_code program_read(const struct arguments *arguments, struct workload *workload, struct status *error)
{
    const char *name = arguments_value(arguments, case_field_key(FIELD_PROGRAM));
    enum status_code code =
        name != NULL ? workload_set(workload, case_field_key(FIELD_PROGRAM), name, error) : STATUS_OK;
    const char *release = arguments_value(arguments, case_field_key(FIELD_RELEASE));
    if (code == STATUS_OK && release != NULL) {
        code = workload_set(workload, case_field_key(FIELD_RELEASE), release, error);
    }
    if (code == STATUS_OK) {
        program_apply(name != NULL ? workload->program : program_of_questions(workload->mode), workload);
    }
    return code;
}

/* A program that calls model(**inputs) gets what the class returns: no keys and values if the configuration says so, or
 * if the classes are not transformers'. */
static void class_apply(const struct arguments *arguments, const struct config *config, struct workload *workload)
{
    bool is_named = arguments_value(arguments, case_field_key(FIELD_USE_CACHE)) != NULL;
    if (!is_named && (!config->use_cache || workload->model_code != MODEL_CODE_TRANSFORMERS)) {
        workload->use_cache = false;
    }
}

/* A model whose weights come packed, or are quantised when they are loaded, is read so, unless another precision or
 * --quantize is asked for. */
static enum status_code packing_take(const struct arguments *arguments, const struct config_packing *packing,
                                     struct workload *workload, struct status *error)
{
    bool same = packing->quantize != NULL && strcmp(precision_name(workload->precision), packing->precision) == 0;
    if (!same || arguments_value(arguments, "quantize") != NULL) {
        return STATUS_OK;
    }
    enum status_code code = workload_set(workload, "quantize", packing->quantize, error);
    code = code == STATUS_OK ? workload_set(workload, "quantized_kernel", packing->quantized_kernel, error) : code;
    workload->group_size = packing->group_size;
    workload->act_order = packing->act_order;
    workload->double_quant = packing->double_quant;
    return code;
}

enum status_code case_options_read(const struct arguments *arguments, const struct config *config,
                                   const struct precision_choice *choice, struct workload *workload,
                                   struct status *error)
{
    const char *mode = arguments_value(arguments, "mode");
    if (mode == NULL) {
        return status_set(error, STATUS_INVALID, "%s: the case has no mode; add --mode load, infer, generate or train",
                          arguments->command->name);
    }
    struct workload result = workload_default(MODE_LOAD);
    enum status_code code = workload_set(&result, "mode", mode, error);
    if (code == STATUS_OK) {
        result = workload_default(result.mode);
        result.precision = choice->precision;
        code = program_read(arguments, &result, error);
    }
    if (code == STATUS_OK) {
        code = packing_take(arguments, &choice->packing, &result, error);
    }
    for (int field = FIELD_MODE + 1; field < FIELD_COUNT && code == STATUS_OK; field++) {
        const char *key = case_field_key((enum case_field)field);
        const char *value = arguments_value(arguments, key);
        if (value != NULL) {
            code = workload_set(&result, key, value, error);
        }
    }
    if (code == STATUS_OK) {
        class_apply(arguments, config, &result);
        code = workload_check(&result, error);
    }
    if (code == STATUS_OK) {
        *workload = result;
    }
    return code;
}

/* Whether an option says that there is no such thing. The workload does not tell: what its program says of a field that
 * the case does not have has been taken back. */
static bool says_no(enum case_field field, const char *text, const struct workload *workload)
{
    struct workload said = *workload;
    struct case_value value;
    bool is_value = case_value_parse(field, text, &value, NULL) == STATUS_OK;
    if (is_value) {
        workload_put(&said, field, &value);
    }
    return is_value && workload_field_is_no(&said, field);
}

enum status_code case_options_check(const struct arguments *arguments, const struct identity *identity,
                                    struct status *error)
{
    for (enum case_field field = FIELD_MODE + 1; field < FIELD_COUNT; field++) {
        const char *value = arguments_value(arguments, case_field_key(field));
        if (value != NULL && !identity_has(identity, field) && !says_no(field, value, &identity->workload)) {
            struct text remedy = {0};
            workload_remedy_append(error, field, &remedy);
            enum status_code code =
                status_set(error, STATUS_INVALID, "%s: %s says nothing about %s in mode %s, %s; leave it out%s%s",
                           arguments->command->name, workload_key_words(error, field).text, identity->model,
                           mode_name(identity->workload.mode), precision_name(identity->workload.precision),
                           remedy.length > 0 ? ", or " : "", text_string(&remedy));
            text_release(&remedy);
            return code;
        }
    }
    return STATUS_OK;
}
