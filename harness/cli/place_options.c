/* Options of assay place: the model, what is never split, and the types of tensors. Budgets: place_budgets.c. */
#include "harness/cli/place_options.h"

#include <stdlib.h>
#include <string.h>

#include "harness/base/nearest.h"
#include "harness/case/workload_alias.h"
#include "harness/cli/case_precision.h"
#include "harness/cli/model_notes.h"
#include "harness/cli/resource_path.h"
#include "models/config/head.h"

static enum status_code memory_refuse(struct status *error)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for the options");
}

/* ": did you mean A or B?", or the remedy if nobody can tell. */
static enum status_code name_refuse(struct status *error, const char *cause, const char *typed,
                                    const char *const *names, const char *remedy)
{
    const char *near[NAMES_MEANT_MAXIMUM];
    struct text meant = {0};
    names_meant_append(near, names_meant(typed, names, near), "", "", &meant);
    enum status_code code = meant.length > 0
                                ? status_set(error, STATUS_INVALID, "%s; did you mean %s?", cause, text_string(&meant))
                                : status_set(error, STATUS_INVALID, "%s; %s", cause, remedy);
    text_release(&meant);
    return code;
}

enum { WIDTHS_MAXIMUM = 40 };

/* A type by the name that torch, accelerate or a case has for it. */
static enum status_code width_read(const char *option, const char *typed, const struct storage_width **width,
                                   struct status *error)
{
    const char *names[WIDTHS_MAXIMUM] = {NULL};
    const struct storage_width *found = storage_width_find(workload_alias(FIELD_PRECISION, typed));
    found = found != NULL ? found : storage_width_find(typed);
    if (found != NULL) {
        *width = found;
        return STATUS_OK;
    }
    struct text cause = {0};
    if (strncmp(typed, "amp-", 4) == 0) {
        text_format(&cause, "place: %s %s stores float32: autocast casts as it computes", option, typed);
    } else {
        text_format(&cause, "place: %s %s is no type that a tensor can be loaded as", option, typed);
    }
    for (int i = 0; i < WIDTHS_MAXIMUM - 1 && storage_width_at(i) != NULL; i++) {
        names[i] = storage_width_at(i)->name;
    }
    enum status_code code = strncmp(typed, "amp-", 4) == 0
                                ? status_set(error, STATUS_INVALID, "%s; write float32", text_string(&cause))
                                : name_refuse(error, text_string(&cause), typed, names,
                                              "write float32, float16, bfloat16, int8, int4 or fp8");
    text_release(&cause);
    return code;
}

/* As stored, else float32, like every other question about a model. */
static enum status_code precision_read(const struct arguments *arguments, struct place_case *place,
                                       struct status *error)
{
    const char *given = arguments_value(arguments, "precision");
    if (given != NULL) {
        return width_read("--precision", given, &place->request.width, error);
    }
    struct precision_choice choice = precision_choose(arguments, &place->model, &place->notes);
    place->request.width = storage_width_find(precision_name(choice.precision));
    return STATUS_OK;
}

/* Paths of tensors, ended by NULL, for suggestions. The caller frees it; NULL: no memory. */
static const char **tensor_names(const struct skeleton *skeleton)
{
    const char **names = calloc((size_t)skeleton->tensor_count + 1, sizeof *names);
    for (int i = 0; i < skeleton->tensor_count && names != NULL; i++) {
        names[i] = skeleton->tensors[i].path;
    }
    return names;
}

static enum status_code tensor_check(const struct skeleton *skeleton, const char *path, struct status *error)
{
    for (int i = 0; i < skeleton->tensor_count; i++) {
        if (strcmp(skeleton->tensors[i].path, path) == 0) {
            return STATUS_OK;
        }
    }
    const char **names = tensor_names(skeleton);
    struct text cause = {0};
    text_format(&cause, "place: --special-dtypes: %s has no tensor %s", skeleton->config->name, path);
    enum status_code code = names == NULL ? memory_refuse(error)
                                          : name_refuse(error, text_string(&cause), path, names,
                                                        "names are those of the state dict, such as lm_head.weight");
    text_release(&cause);
    free(names);
    return code;
}

/* NAME=DTYPE,NAME=DTYPE */
static enum status_code specials_read(const struct arguments *arguments, struct place_case *place, struct status *error)
{
    const char *typed = arguments_value(arguments, "special-dtypes");
    char *rest = typed != NULL ? arena_copy(&place->arena, typed) : NULL;
    size_t count = 1;
    for (const char *comma = typed; comma != NULL && *comma != '\0'; comma++) {
        count += *comma == ',' ? 1 : 0;
    }
    place->specials = typed != NULL ? arena_alloc(&place->arena, count * sizeof *place->specials) : NULL;
    if (typed != NULL && (rest == NULL || place->specials == NULL)) {
        return memory_refuse(error);
    }
    while (rest != NULL) {
        char *name = strsep(&rest, ","), *type = strchr(name, '=');
        struct special_width *special = &place->specials[place->request.special_count];
        if (type == NULL || type == name || type[1] == '\0') {
            return status_set(error, STATUS_INVALID,
                              "place: --special-dtypes: '%s' is no NAME=DTYPE; write lm_head.weight=float32", name);
        }
        *type = '\0';
        special->path = name;
        enum status_code code = width_read("--special-dtypes", type + 1, &special->width, error);
        code = code == STATUS_OK ? tensor_check(&place->skeleton, name, error) : code;
        if (code != STATUS_OK) {
            return code;
        }
        place->request.special_count++;
    }
    place->request.specials = place->specials;
    return STATUS_OK;
}

enum { CLASSES_MAXIMUM = 64 };

/* A class that the model does not have changes nothing, in accelerate too; a note names it. */
static void class_check(struct place_case *place, const char *name)
{
    const char *names[CLASSES_MAXIMUM + 1] = {NULL}, *near[NAMES_MEANT_MAXIMUM];
    const struct skeleton *skeleton = &place->skeleton;
    int count = 0;
    for (int i = 0; i < skeleton->module_count; i++) {
        int seen = 0;
        while (seen < count && strcmp(names[seen], skeleton->modules[i].class_name) != 0) {
            seen++;
        }
        if (strcmp(skeleton->modules[i].class_name, name) == 0) {
            return;
        }
        if (seen == count && count < CLASSES_MAXIMUM) {
            names[count++] = skeleton->modules[i].class_name;
        }
    }
    struct text meant = {0};
    names_meant_append(near, names_meant(name, names, near), "", "", &meant);
    note_give("place", &place->notes, "%s has no module of class %s, so that --no-split %s says nothing%s%s%s",
              skeleton->config->name, name, name, meant.length > 0 ? "; did you mean " : "", text_string(&meant),
              meant.length > 0 ? "?" : "");
    text_release(&meant);
}

static enum status_code classes_read(const struct arguments *arguments, struct place_case *place, struct status *error)
{
    for (int i = 0; i < arguments->list_count; i++) {
        if (strcmp(arguments->list[i], "none") != 0) {
            class_check(place, arguments->list[i]);
        } else if (arguments->list_count > 1) {
            return status_set(error, STATUS_INVALID,
                              "place: --no-split none keeps nothing whole, and a class is named too; keep one");
        }
    }
    if (arguments->list_count > 0) {
        place->request.no_split = arguments->list;
        place->request.no_split_count = strcmp(arguments->list[0], "none") == 0 ? 0 : arguments->list_count;
    }
    return STATUS_OK;
}

static enum status_code strategy_read(const struct arguments *arguments, struct place_case *place, struct status *error)
{
    static const char *const names[] = {"balanced", "balanced-low-0", "sequential"};
    int given = 0;
    for (int i = 0; i < 3; i++) {
        if (arguments_value(arguments, names[i]) != NULL) {
            place->request.strategy = (enum placement_strategy)i;
            given++;
        }
    }
    place->request.offload_buffers = arguments_value(arguments, "offload-buffers") != NULL;
    place->request.fallback = arguments_value(arguments, "fallback") != NULL;
    place->request.keeps_keys = arguments_value(arguments, "no-clean") != NULL;
    place->request.wants_steps = arguments_value(arguments, "verbose") != NULL;
    return given <= 1 ? STATUS_OK
                      : status_set(error, STATUS_INVALID,
                                   "place: --balanced, --balanced-low-0 and --sequential exclude each other; keep one");
}

static enum status_code model_read(const struct arguments *arguments, struct place_case *place, struct status *error)
{
    const struct model_places places = {.catalogue_dir = resource_path(&place->arena, "models/catalogue")};
    struct workload workload = workload_default(MODE_LOAD);
    const char *head = arguments_value(arguments, "head");
    enum status_code code = places.catalogue_dir == NULL ? memory_refuse(error) : STATUS_OK;
    if (code == STATUS_OK) {
        code = head != NULL ? workload_set(&workload, "head", head, error) : STATUS_OK;
    }
    if (code == STATUS_OK) {
        code = checkpoint_hint(arguments->operands[0],
                               model_find(&places, arguments->operands[0], &place->model, error), error);
    }
    if (code == STATUS_OK) {
        code = model_notes_give(arguments, &place->model, &place->notes, error);
    }
    workload.mode = MODE_INFER; /* the class that is named, not the one without its head, which a load may be of */
    workload.head = head_of(&place->model.config.model_heads, &workload);
    workload.mode = MODE_LOAD;
    return code == STATUS_OK ? model_skeleton(&place->model, &workload, &place->skeleton, error) : code;
}

enum status_code place_case_open(const struct arguments *arguments, bool needs_budgets, struct place_case *place,
                                 struct status *error)
{
    typedef enum status_code reader(const struct arguments *, struct place_case *, struct status *);
    reader *const readers[] = {model_read,   strategy_read, precision_read,
                               classes_read, specials_read, needs_budgets ? place_budgets_read : NULL};
    *place = (struct place_case){.command = arguments->command->name};
    enum status_code code = STATUS_OK;
    for (size_t i = 0; i < sizeof readers / sizeof readers[0] && code == STATUS_OK; i++) {
        code = readers[i] != NULL ? readers[i](arguments, place, error) : STATUS_OK;
    }
    if (code != STATUS_OK) {
        place_case_close(place);
    }
    return code;
}

void place_case_close(struct place_case *place)
{
    skeleton_release(&place->skeleton);
    model_release(&place->model);
    text_release(&place->notes);
    arena_release(&place->arena);
}
