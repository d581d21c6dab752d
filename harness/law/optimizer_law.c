/* Optimizer law: cases of training by optimizer and precision, and the published claims. */
#include "harness/law/optimizer_law.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/law/law_word.h"
#include "harness/record/record.h"
#include "harness/report/percentile.h"
#include "harness/tape/tape.h"
#include "models/find/model.h"

static const struct optimizer_claim claims[] = {
    {4, CLAIM_STATES, "sgd-momentum", "float32", "transformers, Anatomy of model memory: SGD with momentum"},
    {8, CLAIM_STATES, "adam", "float32", "transformers, Anatomy of model memory: AdamW"},
    {8, CLAIM_STATES, "adam", "bfloat16", "the same, read for weights in 16 bits"},
    {2, CLAIM_STATES, "adam-8bit", "float32", "transformers, Anatomy of model memory: 8-bit AdamW"},
    {12, CLAIM_STATES, "adam", "amp-bfloat16", "EleutherAI, Transformer Math 101: AdamW in mixed precision"},
    {12, CLAIM_STATES, "adam", "bfloat16", "EleutherAI, Transformer Math 101: AdamW in 16 bits"},
    {6, CLAIM_STATES, "adam-8bit", "amp-bfloat16", "EleutherAI, Transformer Math 101: 8-bit Adam"},
    {8, CLAIM_ALL, "adam", "bfloat16", "LLaMA-Factory, Hardware Requirement: full, pure_bf16"},
    {16, CLAIM_ALL, "adam", "float32", "accelerate estimate-memory: 4 x the weights of float32"},
    {16, CLAIM_ALL, "adam", "bfloat16", "EleutherAI, Transformer Math 101: 2 + 2 + 12"},
    {18, CLAIM_ALL, "adam", "amp-bfloat16",
     "transformers, Anatomy of model memory: 6 + 4 + 8; LLaMA-Factory: full, amp"},
    {18, CLAIM_ALL, "adam", "bfloat16", "Megatron-LM, theoretical memory: 2 + 4 + 4 + 8"},
};

const struct optimizer_claim *optimizer_claim_at(int index)
{
    return index >= 0 && index < (int)(sizeof claims / sizeof claims[0]) ? &claims[index] : NULL;
}

const char *optimizer_part_name(enum optimizer_part part)
{
    static const char *const names[] = {
#define OPTIMIZER_PART_NAME(name, heading, category) heading,
        OPTIMIZER_PART_TABLE(OPTIMIZER_PART_NAME)
#undef OPTIMIZER_PART_NAME
    };
    return names[part];
}

/* ---- cases ---- */

struct training_case {
    const char *optimizer, *precision, *model;
    double bytes[OPTIMIZER_PART_COUNT]; /* for each parameter */
};

struct collection {
    struct optimizer_law *law;
    const struct point_places *places;
    struct name_table words;
    struct training_case *cases;
    size_t count, room;
    int64_t *parameters; /* of a model, by number of words: 0 not looked up, -1 not found */
    size_t parameter_room;
};

static enum status_code no_memory(struct status *error)
{
    return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a law");
}

/* Elements of parameters of a model that trains, tied ones once; -1: it is not found. */
static int64_t parameters_look_up(struct collection *collection, const char *name)
{
    struct model model = {0};
    struct skeleton skeleton = {0};
    const struct workload workload = workload_default(MODE_TRAIN);
    int64_t count = -1;
    if (point_model_find(collection->places, name, &collection->law->arena, &model) == STATUS_OK) {
        if (model_skeleton(&model, &workload, &skeleton, NULL) == STATUS_OK) {
            count = skeleton.parameter_count;
            skeleton_release(&skeleton);
        }
        model_release(&model);
    }
    return count;
}

static int64_t parameters_of(struct collection *collection, const char *name)
{
    struct arena *arena = &collection->law->arena;
    int number = name_table_add(&collection->words, arena, name);
    while (number >= 0 && (size_t)number >= collection->parameter_room) {
        size_t before = collection->parameter_room;
        int64_t *more =
            arena_array_extend(arena, collection->parameters, before, &collection->parameter_room, sizeof *more);
        if (more == NULL) {
            return -1;
        }
        memset(more + before, 0, (collection->parameter_room - before) * sizeof *more);
        collection->parameters = more;
    }
    if (number >= 0 && collection->parameters[number] == 0) {
        collection->parameters[number] = parameters_look_up(collection, name);
    }
    return number >= 0 ? collection->parameters[number] : -1;
}

static bool is_plain_training(const struct json *line, const struct json *identity)
{
    const char *status = json_string_or(json_get(line, "status"), "");
    const char *precision = json_string_or(json_get(identity, "precision"), "");
    return (strcmp(status, "ok") == 0 || strcmp(status, "fail") == 0) &&
           json_boolean_or(json_get(json_get(line, "validity"), "valid"), true) &&
           json_count(json_get(line, "places")) == 0 && json_count(json_get(line, "search")) == 0 &&
           strcmp(json_string_or(json_get(json_get(line, "device"), "kind"), ""), "meta") != 0 &&
           json_integer_or(json_get(identity, "lora_rank"), 0) == 0 && strcmp(precision, "int8") != 0 &&
           strcmp(precision, "int4") != 0 && strcmp(precision, "fp8") != 0;
}

/* *code: STATUS_OUT_OF_MEMORY. False: the case does not count. */
static bool case_add(struct collection *collection, const struct json *line, enum status_code *code)
{
    const struct json *identity = json_get(line, "identity");
    const struct json *step = json_get(json_get(line, "stages"), stage_name(STAGE_STEP));
    const struct json *categories = json_get(step, "categories_at_peak");
    const char *model = json_string_or(json_get(identity, "model"), "");
    static const char *const keys[] = {
#define OPTIMIZER_PART_CATEGORY(name, heading, category) category,
        OPTIMIZER_PART_TABLE(OPTIMIZER_PART_CATEGORY)
#undef OPTIMIZER_PART_CATEGORY
    };
    int64_t parameters = is_plain_training(line, identity) && json_kind(categories) == JSON_KIND_OBJECT
                             ? parameters_of(collection, model)
                             : -1;
    if (parameters <= 0) {
        return false;
    }
    struct arena *arena = &collection->law->arena;
    struct training_case *more =
        arena_array_extend(arena, collection->cases, collection->count, &collection->room, sizeof *more);
    if (more == NULL) {
        *code = STATUS_OUT_OF_MEMORY;
        return false;
    }
    collection->cases = more;
    struct training_case *one = &more[collection->count++];
    one->model = law_word_keep(&collection->words, arena, model);
    one->optimizer =
        law_word_keep(&collection->words, arena, json_string_or(json_get(identity, "optimizer"), "unknown"));
    one->precision =
        law_word_keep(&collection->words, arena, json_string_or(json_get(identity, "precision"), "unknown"));
    for (int part = 0; part < OPTIMIZER_PART_COUNT; part++) {
        one->bytes[part] = (double)json_integer_or(json_get(categories, keys[part]), 0) / (double)parameters;
    }
    if (one->model == NULL || one->optimizer == NULL || one->precision == NULL) {
        *code = STATUS_OUT_OF_MEMORY;
    }
    return true;
}

static enum status_code records_collect(struct collection *collection, const char *path, const char *filter,
                                        struct status *error)
{
    struct record_stream *stream = NULL;
    struct record_line line = {0};
    enum status_code code = record_stream_open(path, &stream, error);
    while (code == STATUS_OK && (code = record_stream_next(stream, &line, error)) == STATUS_OK &&
           line.type != RECORD_LINE_NONE) {
        const char *mode =
            line.type == RECORD_LINE_CASE ? json_string_or(json_get(json_get(line.value, "identity"), "mode"), "") : "";
        if (strcmp(mode, "train") == 0 && law_line_matches(line.value, filter)) {
            collection->law->left_out_count += !case_add(collection, line.value, &code);
            code = code == STATUS_OK ? code : no_memory(error);
        }
    }
    record_stream_close(stream);
    return code;
}

/* ---- groups ---- */

static int case_order(const void *left, const void *right)
{
    const struct training_case *a = left, *b = right;
    int order = strcmp(a->optimizer, b->optimizer);
    order = order != 0 ? order : strcmp(a->precision, b->precision);
    return order != 0 ? order : strcmp(a->model, b->model);
}

static struct byte_spread spread_of(const struct training_case *begin, int count, int part, double *room)
{
    for (int at = 0; at < count; at++) {
        room[at] = 0.0;
        for (int each = 0; each < OPTIMIZER_PART_COUNT; each++) {
            room[at] += part == each || part == OPTIMIZER_PART_COUNT ? begin[at].bytes[each] : 0.0;
        }
    }
    struct byte_spread spread = {.median = values_median(room, count)};
    spread.low = room[0]; /* values are sorted now */
    spread.high = room[count - 1];
    return spread;
}

static void group_fill(struct optimizer_group *group, const struct training_case *begin, int count, double *room)
{
    group->optimizer = begin->optimizer;
    group->precision = begin->precision;
    group->case_count = count;
    for (int at = 0; at < count; at++) {
        group->model_count += at == 0 || strcmp(begin[at].model, begin[at - 1].model) != 0;
    }
    for (int part = 0; part < OPTIMIZER_PART_COUNT; part++) {
        group->parts[part] = spread_of(begin, count, part, room);
    }
    group->all = spread_of(begin, count, OPTIMIZER_PART_COUNT, room);
}

static bool is_one_group(const struct training_case *a, const struct training_case *b)
{
    return strcmp(a->optimizer, b->optimizer) == 0 && strcmp(a->precision, b->precision) == 0;
}

static bool groups_make(struct collection *collection)
{
    struct optimizer_law *law = collection->law;
    int count = (int)collection->count;
    double *room = calloc((size_t)count + 1, sizeof *room);
    law->groups = arena_alloc(&law->arena, ((size_t)count + 1) * sizeof *law->groups);
    if (room == NULL || law->groups == NULL) {
        free(room);
        return false;
    }
    qsort(collection->cases, (size_t)count, sizeof *collection->cases, case_order);
    for (int first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && is_one_group(&collection->cases[first], &collection->cases[end]);) {
            end++;
        }
        group_fill(&law->groups[law->group_count++], &collection->cases[first], end - first, room);
    }
    law->case_count = count;
    free(room);
    return true;
}

enum status_code optimizer_law_make(const char *const *paths, int count, const char *filter,
                                    const struct point_places *places, struct optimizer_law *law, struct status *error)
{
    struct collection collection = {.law = law, .places = places};
    enum status_code code = STATUS_OK;
    for (int at = 0; at < count && code == STATUS_OK; at++) {
        code = records_collect(&collection, paths[at], filter, error);
    }
    if (code == STATUS_OK && collection.count == 0) {
        code = status_set(error, STATUS_INVALID,
                          "no case of training counts (%d were looked at); run suites/optimizer-law.yaml",
                          law->left_out_count);
    }
    if (code == STATUS_OK && !groups_make(&collection)) {
        code = no_memory(error);
    }
    name_table_release(&collection.words);
    return code;
}

void optimizer_law_release(struct optimizer_law *law)
{
    arena_release(&law->arena);
    *law = (struct optimizer_law){0};
}

/* ---- claims ---- */

bool optimizer_bytes_agree(double measured, double claimed)
{
    return fabs(measured - claimed) <= 0.03 * claimed;
}

bool optimizer_is_adam(const char *optimizer)
{
    return strncmp(optimizer, "adam", 4) == 0 && strcmp(optimizer, "adam-8bit") != 0;
}

static bool claim_is_of(const struct optimizer_claim *claim, const struct optimizer_group *group)
{
    return strcmp(claim->precision, group->precision) == 0 &&
           (strcmp(claim->optimizer, "adam") == 0 ? optimizer_is_adam(group->optimizer)
                                                  : strcmp(claim->optimizer, group->optimizer) == 0);
}

enum claim_verdict optimizer_claim_judge(const struct optimizer_law *law, const struct optimizer_claim *claim,
                                         double *measured)
{
    bool holds = true;
    *measured = NAN;
    for (int at = 0; at < law->group_count; at++) {
        const struct optimizer_group *group = &law->groups[at];
        if (claim_is_of(claim, group)) {
            double bytes = claim->scope == CLAIM_ALL
                               ? group->all.median
                               : group->parts[OPTIMIZER_STATES].median + group->parts[OPTIMIZER_MASTER].median;
            bool agrees = optimizer_bytes_agree(bytes, claim->bytes);
            *measured = isnan(*measured) || !agrees ? bytes : *measured;
            holds = holds && agrees;
        }
    }
    return isnan(*measured) ? CLAIM_NOT_MEASURED : holds ? CLAIM_HOLDS : CLAIM_FAILS;
}
