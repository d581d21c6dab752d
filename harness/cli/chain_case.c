/* The case of assay chain: reading, predicting, running. No line is written here. */
#include "harness/cli/chain_case.h"

#include <stdio.h>
#include <string.h>

#include "harness/cli/case_precision.h"
#include "harness/cli/model_notes.h"
#include "harness/cli/placed_gpus.h"
#include "harness/cli/placed_json.h"
#include "harness/cli/resource_path.h"

static const char *const case_keys[] = {"precision", "batch", "seq", "attention", "padding", "logits", "head"};

enum { CASE_KEYS = sizeof case_keys / sizeof case_keys[0] };

static enum status_code memory_refuse(struct status *error)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for the options");
}

/* -- models */

static bool key_is_known(const char *key, size_t length)
{
    for (int i = 0; i < CASE_KEYS; i++) {
        if (strlen(case_keys[i]) == length && strncmp(case_keys[i], key, length) == 0) {
            return true;
        }
    }
    return false;
}

/* Where ":key=value,..." begins; NULL: the whole word is the model. A ':' that stands before anything else belongs to
 * the name. */
static char *settings_find(char *word)
{
    char *colon = strrchr(word, ':');
    const char *equals = colon != NULL ? strchr(colon, '=') : NULL;
    return equals != NULL && strchr(colon, '/') == NULL ? colon : NULL;
}

static enum status_code settings_read(char *settings, struct workload *workload, bool *names_precision,
                                      struct status *error)
{
    enum status_code code = STATUS_OK;
    while (settings != NULL && code == STATUS_OK) {
        char *key = strsep(&settings, ","), *equals = strchr(key, '=');
        if (equals == NULL || !key_is_known(key, (size_t)(equals - key))) {
            return status_set(error, STATUS_INVALID,
                              "'%s' says nothing about a pass; write seq=512,batch=2, or precision, attention, "
                              "padding, logits or head",
                              key);
        }
        *equals = '\0';
        *names_precision = *names_precision || strcmp(key, "precision") == 0;
        code = workload_set(workload, key, equals + 1, error);
    }
    return code;
}

static enum status_code workload_read(const struct arguments *arguments, struct chain_case *chain,
                                      struct chain_model *one, char *settings, struct status *error)
{
    struct workload made = workload_default(MODE_INFER);
    bool names_precision = false;
    enum status_code code = STATUS_OK;
    made.head = HEAD_LM;
    for (int i = 0; i < CASE_KEYS && code == STATUS_OK; i++) {
        const char *value = arguments_value(arguments, case_keys[i]);
        code = value != NULL ? workload_set(&made, case_keys[i], value, error) : STATUS_OK;
    }
    if (code == STATUS_OK) {
        code = settings_read(settings, &made, &names_precision, error);
    }
    if (code == STATUS_OK && !names_precision) {
        made.precision = precision_choose(arguments, &one->model, &chain->place.notes).precision;
    }
    if (code == STATUS_OK) {
        code = workload_check(&made, error);
    }
    if (code == STATUS_OK) {
        one->workload = made;
        workload_notes_give(arguments->command->name, &one->model.config, &made, &chain->place.notes);
    }
    return code;
}

static enum status_code model_read(const struct arguments *arguments, struct chain_case *chain, int at,
                                   struct status *error)
{
    const struct model_places places = {.catalogue_dir = resource_path(&chain->place.arena, "models/catalogue")};
    char *name = arena_copy(&chain->place.arena, arguments->operands[at]);
    if (places.catalogue_dir == NULL || name == NULL) {
        return memory_refuse(error);
    }
    struct chain_model *one = &chain->models[at];
    char *settings = settings_find(name);
    if (settings != NULL) {
        *settings++ = '\0';
    }
    enum status_code code = checkpoint_hint(name, model_find(&places, name, &one->model, error), error);
    if (code == STATUS_OK) {
        code = model_notes_give(arguments, &one->model, &chain->place.notes, error);
    }
    if (code == STATUS_OK) {
        code = workload_read(arguments, chain, one, settings, error);
    }
    if (code == STATUS_OK) {
        code = model_skeleton(&one->model, &one->workload, &one->skeleton, error);
    }
    if (code != STATUS_OK) {
        status_prefix(error, "%s", arguments->operands[at]);
    }
    chain->links[at] = (struct chain_link){&one->model.config, &one->skeleton, &one->workload};
    return code;
}

static enum status_code models_read(const struct arguments *arguments, struct chain_case *chain, struct status *error)
{
    enum status_code code = STATUS_OK;
    for (int i = 0; i < arguments->operand_count && code == STATUS_OK; i++) {
        chain->count++;
        code = model_read(arguments, chain, i, error);
    }
    return code;
}

/* -- the GPU */

static enum status_code gpu_choose(struct chain_case *chain, struct status *error)
{
    int found = -1;
    for (int i = 0; i < chain->place.request.budget_count; i++) {
        struct placement_device device = chain->place.budgets[i].device;
        char name[DEVICE_TEXT_BYTES];
        if (device.kind == PLACEMENT_CPU) {
            continue;
        }
        if (device.kind != PLACEMENT_GPU || found >= 0) {
            return status_set(error, STATUS_INVALID,
                              "a chain runs on one GPU and the cpu, and there is a budget for %s%s; give those two, as "
                              "--max-memory 0=10GB,cpu=50GB",
                              placement_device_name(device, name), found >= 0 ? " too" : "");
        }
        found = device.index;
    }
    chain->question.gpu = found >= 0 ? found : 0;
    return STATUS_OK;
}

static enum status_code device_read(const struct arguments *arguments, struct chain_case *chain, struct status *error)
{
    const char *target = arguments_value(arguments, "for");
    enum status_code code = gpu_choose(chain, error);
    if (code == STATUS_OK) {
        code = placed_gpu_look(arguments, chain->question.gpu, &chain->ground, &target, error);
    }
    chain->runs = arguments_value(arguments, "run") != NULL;
    chain->question.target = target_at(0);
    if (code == STATUS_OK && target != NULL) {
        code = target_find(target, &chain->question.target, error);
    }
    return code;
}

/* -- prediction and run */

static enum status_code need_of_residents(struct chain_case *chain, struct status *error)
{
    struct chain_question question = chain->question;
    struct placed_tape placed;
    question.plan.form = CHAIN_RESIDES;
    enum status_code code = chain_tape_build(&question, &placed, error);
    if (code == STATUS_OK) {
        code = placed_need_find(&placed, CHAIN_DEVICE, &chain->resident_need_bytes, error);
        placed_tape_release(&placed);
    }
    return code;
}

static enum status_code chain_predict(struct chain_case *chain, struct status *error)
{
    enum status_code code = chain_tape_build(&chain->question, &chain->placed, error);
    if (code == STATUS_OK) {
        code = placed_tape_predict(&chain->placed, &chain->predicted, error);
    }
    for (int i = 0; i < CHAIN_PLACES && code == STATUS_OK; i++) {
        code = placed_need_find(&chain->placed, i, &chain->need_bytes[i], error);
    }
    return code == STATUS_OK ? need_of_residents(chain, error) : code;
}

static enum status_code chain_measure(struct chain_case *chain, struct status *error)
{
    enum status_code code = placed_lanes_open(&chain->placed, chain->ground, &chain->lanes, error);
    return code == STATUS_OK ? placed_lanes_run(&chain->placed, &chain->lanes, "assay chain", &chain->measured, error)
                             : code;
}

enum status_code chain_case_open(const struct arguments *arguments, struct chain_case *chain, struct status *error)
{
    *chain = (struct chain_case){.place = {.command = arguments->command->name}};
    bool is_bounded = arguments_value(arguments, "max-memory") != NULL || arguments_value(arguments, "on") != NULL;
    enum status_code code = is_bounded ? place_budgets_read(arguments, &chain->place, error) : STATUS_OK;
    if (code != STATUS_OK) {
        chain_case_close(chain);
        return code; /* which names the command */
    }
    code = models_read(arguments, chain, error);
    if (code == STATUS_OK) {
        code = device_read(arguments, chain, error);
    }
    chain->question.plan = (struct chain_plan){
        .links = chain->links,
        .link_count = chain->count,
        .form = arguments_value(arguments, "keep-last") != NULL ? CHAIN_KEEPS_LAST : CHAIN_OFFLOADS};
    chain->question.budgets = chain->place.budgets;
    chain->question.budget_count = chain->place.request.budget_count;
    if (code == STATUS_OK) {
        code = chain_predict(chain, error);
    }
    if (code == STATUS_OK && chain->runs) {
        code = chain_measure(chain, error);
    }
    if (code != STATUS_OK) {
        chain_case_close(chain);
        status_prefix(error, "chain");
    }
    return code;
}

void chain_case_close(struct chain_case *chain)
{
    placed_lanes_close(&chain->lanes);
    placed_tape_release(&chain->placed);
    for (int i = 0; i < chain->count; i++) {
        skeleton_release(&chain->models[i].skeleton);
        model_release(&chain->models[i].model);
    }
    text_release(&chain->place.notes);
    arena_release(&chain->place.arena);
}

bool chain_case_agrees(const struct chain_case *chain)
{
    const struct placed_outcome *a = &chain->predicted, *b = &chain->measured;
    bool agrees = !chain->runs || (a->fits == b->fits && a->result.oom_lane == b->result.oom_lane &&
                                   a->forward_count == b->forward_count);
    for (int i = 0; i < CHAIN_PLACES && chain->runs; i++) {
        for (int stage = 0; stage < STAGE_COUNT; stage++) {
            agrees =
                agrees && placed_stage_agrees(&a->result.lanes[i].stages[stage], &b->result.lanes[i].stages[stage]);
        }
    }
    for (int i = 0; i < chain->count && chain->runs; i++) {
        agrees = agrees && placed_stage_agrees(&a->passes[i], &b->passes[i]);
    }
    return agrees;
}
