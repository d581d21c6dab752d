/* Shard plan: what each case costs, the division, and the hash of it all. Not how the plan is kept (shard_plan_file.c),
 * nor how a user says which shard a machine is (harness/cli). */
#include "harness/run/shard_plan.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/hash.h"
#include "harness/base/ordered_work.h"
#include "harness/run/case_work.h"
#include "harness/run/shard_split.h"
#include "models/find/model_shelf.h"

static enum status_code memory_error(int case_count, struct status *error)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the shards of %d cases", case_count);
}

/* ---- costs ---- */

struct costing {
    const struct shard_question *question;
    struct shard_plan *plan;
    const struct suite_case **taken; /* by case of the plan */
    struct model_shelf *shelf;
};

static enum device_kind kind_of(const struct shard_question *question, const struct suite_case *case_)
{
    const char *name = question->device != NULL ? question->device : case_->settings->device;
    struct device_spec spec = {.kind = DEVICE_KIND_AUTO};
    if (name != NULL && device_spec_parse(name, &spec, NULL) != STATUS_OK) {
        return DEVICE_KIND_AUTO;
    }
    return spec.kind;
}

/* By the tape that the case has on an H100, or on a host: the same on every machine, whatever it has. */
static void cost_work(void *context, int index, void *result)
{
    const struct costing *costing = context;
    const struct suite_case *case_ = costing->taken[index];
    const struct workload *workload = &case_->identity.workload;
    enum device_kind kind = kind_of(costing->question, case_);
    const char *name = case_->settings->target != NULL ? case_->settings->target
                       : kind == DEVICE_KIND_HOST      ? "host"
                                                       : target_at(0)->name;
    const struct target *target = NULL;
    struct shelf_item item = {0};
    struct case_work work = {0};
    if (target_find(name, &target, NULL) == STATUS_OK &&
        model_shelf_take(costing->shelf, case_->identity.model, workload, &item, NULL) == STATUS_OK) {
        case_work_of(&item.model->config, item.skeleton, workload, target, &work, NULL);
    }
    model_shelf_give_back(costing->shelf, &item);
    *(int64_t *)result = case_work_ms(&work, kind);
}

static bool cost_take(void *context, int index, void *result)
{
    struct shard_case *case_ = &((struct costing *)context)->plan->cases[index];
    int64_t cost = *(int64_t *)result;
    if (__builtin_mul_overflow(cost, case_->attempts, &case_->cost_ms)) {
        case_->cost_ms = INT64_MAX;
    }
    return true;
}

static enum status_code costs_find(struct costing *costing, struct status *error)
{
    const struct model_places places = {.catalogue_dir = costing->question->catalogue_dir,
                                        .folder = costing->question->suite->folder};
    const struct ordered_work work = {
        .count = costing->plan->case_count,
        .worker_count = ordered_work_workers(costing->plan->case_count),
        .result_bytes = sizeof(int64_t),
        .context = costing,
        .work = cost_work,
        .take = cost_take,
    };
    enum status_code code = model_shelf_open(&places, &costing->shelf, error);
    if (code == STATUS_OK) {
        code = ordered_work_run(&work, error);
    }
    model_shelf_close(costing->shelf);
    return code;
}

/* ---- the plan ---- */

static uint64_t number_hash(uint64_t hash, int64_t number)
{
    char text[32];
    snprintf(text, sizeof text, "%" PRId64 ";", number);
    return hash_text(hash, text);
}

/* With its end, so that "ab", "c" is not "a", "bc". */
static uint64_t word_hash(uint64_t hash, const char *word)
{
    return hash_bytes(hash_text(hash, word != NULL ? word : "\1"), "", 1);
}

void shard_plan_hash(const struct shard_plan *plan, char hash[SHARD_HASH_BYTES])
{
    uint64_t sum = word_hash(HASH_START, "assay-shard-plan 1");
    sum = word_hash(word_hash(sum, plan->suite), plan->suite_hash);
    sum = word_hash(word_hash(word_hash(sum, plan->settings), plan->options), plan->choice);
    sum = number_hash(number_hash(sum, plan->shard_count), plan->case_count);
    for (int i = 0; i < plan->case_count; i++) {
        const struct shard_case *case_ = &plan->cases[i];
        sum = number_hash(number_hash(word_hash(sum, case_->id), case_->attempts), case_->shard);
    }
    snprintf(hash, SHARD_HASH_BYTES, "%016" PRIx64, sum);
}

/* The cases that are taken, in the order of the suite. */
static enum status_code cases_take(struct costing *costing, struct status *error)
{
    const struct suite *suite = costing->question->suite;
    struct shard_plan *plan = costing->plan;
    plan->cases = arena_alloc(&plan->arena, ((size_t)suite->case_count + 1) * sizeof *plan->cases);
    costing->taken = arena_alloc(&plan->arena, ((size_t)suite->case_count + 1) * sizeof(const struct suite_case *));
    if (plan->cases == NULL || costing->taken == NULL) {
        return memory_error(suite->case_count, error);
    }
    for (int i = 0; i < suite->case_count; i++) {
        int attempts = costing->question->attempts[i];
        if (attempts > 0) {
            char *id = arena_copy(&plan->arena, suite->cases[i].id);
            if (id == NULL) {
                return memory_error(suite->case_count, error);
            }
            costing->taken[plan->case_count] = &suite->cases[i];
            plan->cases[plan->case_count++] = (struct shard_case){.id = id, .attempts = attempts};
        }
    }
    return STATUS_OK;
}

static enum status_code words_copy(const struct shard_question *question, struct shard_plan *plan, struct status *error)
{
    plan->shard_count = question->shard_count;
    plan->suite = arena_copy(&plan->arena, question->suite->name);
    plan->suite_hash = arena_copy(&plan->arena, question->suite->plan_hash);
    plan->settings = arena_copy(&plan->arena, question->suite->settings_hash);
    plan->options = arena_copy(&plan->arena, question->options);
    plan->choice = arena_copy(&plan->arena, question->choice);
    plan->loads_ms = arena_alloc(&plan->arena, (size_t)question->shard_count * sizeof *plan->loads_ms);
    bool made = plan->suite != NULL && plan->suite_hash != NULL && plan->settings != NULL && plan->options != NULL &&
                plan->choice != NULL && plan->loads_ms != NULL;
    return made ? STATUS_OK : memory_error(question->suite->case_count, error);
}

static enum status_code shards_divide(struct shard_plan *plan, struct status *error)
{
    size_t count = (size_t)plan->case_count + 1;
    struct shard_item *items = calloc(count, sizeof *items);
    int *shards = calloc(count, sizeof *shards);
    enum status_code code = items == NULL || shards == NULL ? memory_error(plan->case_count, error) : STATUS_OK;
    for (int i = 0; code == STATUS_OK && i < plan->case_count; i++) {
        items[i] = (struct shard_item){plan->cases[i].id, plan->cases[i].cost_ms};
    }
    if (code == STATUS_OK) {
        code = shard_split(items, plan->case_count, plan->shard_count, shards, plan->loads_ms, error);
    }
    for (int i = 0; code == STATUS_OK && i < plan->case_count; i++) {
        plan->cases[i].shard = shards[i] + 1;
    }
    free(items);
    free(shards);
    return code;
}

enum status_code shard_plan_make(const struct shard_question *question, struct shard_plan *plan, struct status *error)
{
    struct shard_plan made = {0};
    struct costing costing = {.question = question, .plan = &made};
    enum status_code code = words_copy(question, &made, error);
    if (code == STATUS_OK) {
        code = cases_take(&costing, error);
    }
    if (code == STATUS_OK && made.case_count < made.shard_count) {
        code = status_set(error, STATUS_INVALID, "%d shards are more than the %d case%s; give at most %d",
                          made.shard_count, made.case_count, made.case_count == 1 ? "" : "s", made.case_count);
    }
    if (code == STATUS_OK) {
        code = costs_find(&costing, error);
    }
    if (code == STATUS_OK) {
        code = shards_divide(&made, error);
    }
    if (code != STATUS_OK) {
        shard_plan_release(&made);
        return code;
    }
    shard_plan_hash(&made, made.hash);
    *plan = made;
    return STATUS_OK;
}

void shard_plan_release(struct shard_plan *plan)
{
    arena_release(&plan->arena);
    *plan = (struct shard_plan){0};
}
