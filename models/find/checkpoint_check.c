/* Checkpoint check: one pass over the stored tensors, one over the skeleton's. Not a judge of what may be loaded. */
#include "models/find/checkpoint_check.h"

#include <string.h>

#include "harness/base/size.h"
#include "models/config/head.h"
#include "models/find/checkpoint_names.h"

const char *finding_kind_name(enum finding_kind kind)
{
    static const char *const names[FINDING_KIND_COUNT] = {
        [FINDING_MISSING] = "missing", [FINDING_EXTRA] = "extra", [FINDING_SHAPE] = "shape",
        [FINDING_DTYPE] = "dtype",     [FINDING_TOTAL] = "total", [FINDING_TIED] = "tied",
        [FINDING_BUFFER] = "buffer",   [FINDING_HEAD] = "head",
    };
    return names[kind];
}

/* A file held against one skeleton; the other one says what belongs to another head. */
struct comparison {
    const struct checkpoint *checkpoint;
    const struct checkpoint_names *names;
    const struct skeleton *skeleton, *other;
    struct checkpoint_check *check;
    int *stored_of;       /* for each tensor of the skeleton: the stored one, the first of its parts, or -1 */
    int64_t *part_counts; /* for each tensor of the skeleton: how many parts of it are stored */
    int capacity;
    struct status *error;
    enum status_code code;
};

static void comparison_no_memory(struct comparison *comparison)
{
    comparison->code =
        status_set(comparison->error, STATUS_OUT_OF_MEMORY, "%s: no host memory to compare it with its configuration",
                   comparison->checkpoint->name);
}

static void finding_add(struct comparison *comparison, const struct finding *finding)
{
    struct checkpoint_check *check = comparison->check;
    if (check->finding_count == comparison->capacity) {
        int wanted = comparison->capacity > 0 ? 2 * comparison->capacity : 32;
        struct finding *grown = arena_alloc(&check->arena, (size_t)wanted * sizeof *grown);
        if (grown == NULL) {
            comparison_no_memory(comparison);
            return;
        }
        if (check->finding_count > 0) {
            memcpy(grown, check->findings, (size_t)check->finding_count * sizeof *grown);
        }
        check->findings = grown;
        comparison->capacity = wanted;
    }
    check->findings[check->finding_count++] = *finding;
    check->counts[finding->kind]++;
}

/* What the model has in place of a stored tensor. */
struct expected {
    int rank;
    int64_t shape[TENSOR_RANK_MAXIMUM];
    enum dtype dtype;
};

/* dtype: what the configuration says that it is stored in. */
static struct expected expected_of(const struct skeleton *skeleton, const struct skeleton_tensor *tensor)
{
    struct expected expected = {.rank = tensor->rank,
                                .dtype = tensor->rounds_with_model ? skeleton->config->dtype : tensor->dtype};
    memcpy(expected.shape, tensor->size, sizeof expected.shape);
    return expected;
}

static struct expected expected_part(const struct skeleton *skeleton, const struct skeleton_tensor *tensor,
                                     struct expert_part part)
{
    struct expected expected = expected_of(skeleton, tensor);
    expected.rank = expert_part_shape(tensor, part, expected.shape);
    return expected;
}

/* What the model has at the place of a stored tensor, which is one of its tensors or a part of one. */
static struct expected expected_at(const struct skeleton *skeleton, const struct skeleton_tensor *tensor,
                                   struct stored_place place)
{
    return place.meaning == NAME_PART ? expected_part(skeleton, tensor, place.part) : expected_of(skeleton, tensor);
}

/* expected: NULL if the model has nothing. name is copied: skeletons do not outlive the check. */
static void tensor_finding(struct comparison *comparison, enum finding_kind kind, const char *name,
                           const struct checkpoint_tensor *stored, const struct expected *expected)
{
    struct finding finding = {.kind = kind, .name = name, .stored = stored, .rank = -1};
    if (expected != NULL) {
        size_t bytes = (size_t)expected->rank * sizeof *expected->shape;
        int64_t *shape = arena_alloc(&comparison->check->arena, bytes);
        finding.name = stored == NULL ? arena_copy(&comparison->check->arena, name) : name;
        if (shape == NULL || finding.name == NULL) {
            comparison_no_memory(comparison);
            return;
        }
        memcpy(shape, expected->shape, bytes);
        finding.shape = shape;
        finding.rank = expected->rank;
        finding.dtype = expected->dtype;
    }
    finding_add(comparison, &finding);
}

static bool shape_agrees(const struct checkpoint_tensor *stored, const struct expected *expected, bool transposed)
{
    bool agrees = stored->rank == expected->rank;
    for (int i = 0; i < expected->rank && agrees; i++) {
        agrees = stored->shape[transposed ? expected->rank - 1 - i : i] == expected->shape[i];
    }
    return agrees;
}

/* What from_pretrained keeps in float32, save_pretrained stores so; a file that was rounded as a whole is as good. */
static bool dtype_agrees(const struct checkpoint_tensor *stored, const struct skeleton_tensor *tensor,
                         const struct expected *expected)
{
    bool is_kept = tensor->stays_float32 && expected->dtype == DTYPE_FLOAT16;
    return stored->type->has_dtype &&
           (stored->type->dtype == expected->dtype || (is_kept && stored->type->dtype == DTYPE_FLOAT32));
}

static void matched_look(struct comparison *comparison, const struct checkpoint_tensor *stored,
                         struct stored_place place)
{
    const struct skeleton_tensor *tensor = &comparison->skeleton->tensors[place.index];
    struct expected expected = expected_at(comparison->skeleton, tensor, place);
    bool named_otherwise = comparison->checkpoint->format == CHECKPOINT_GGUF;
    comparison->check->matched_count++;
    if (!shape_agrees(stored, &expected, place.is_transposed)) {
        tensor_finding(comparison, FINDING_SHAPE, stored->name, stored, &expected);
    }
    if (tensor->is_buffer && !tensor->persistent) {
        tensor_finding(comparison, FINDING_BUFFER, stored->name, stored, &expected);
    } else if (!named_otherwise && !dtype_agrees(stored, tensor, &expected)) {
        tensor_finding(comparison, FINDING_DTYPE, stored->name, stored, &expected);
    }
}

/* Whether a part is spelled as the first of its tensor is: a file that has one part under two names has it once too
 * often. */
static bool part_is_spelled_alike(const struct comparison *comparison, int number, struct stored_place place)
{
    char name[CHECKPOINT_NAME_BYTES];
    const struct checkpoint_tensor *tensors = comparison->checkpoint->tensors;
    return place.part.expert == EXPERTS_ALL ||
           (expert_part_name(tensors[comparison->stored_of[place.index]].name, place.part, name, sizeof name) &&
            strcmp(name, tensors[number].name) == 0);
}

/* Takes the place in the model that no other stored tensor has. */
static bool place_take(struct comparison *comparison, int number, struct stored_place place)
{
    bool is_part = place.meaning == NAME_PART;
    if (!is_part && place.meaning != NAME_TENSOR) {
        return false;
    }
    bool is_free = comparison->stored_of[place.index] < 0;
    if (is_free) {
        comparison->stored_of[place.index] = number;
    }
    if (is_part &&
        (is_free || (comparison->part_counts[place.index] > 0 && part_is_spelled_alike(comparison, number, place)))) {
        comparison->part_counts[place.index]++;
        return true;
    }
    return is_free;
}

static void stored_look(struct comparison *comparison, int number)
{
    const struct checkpoint_tensor *stored = &comparison->checkpoint->tensors[number];
    struct stored_place place = checkpoint_name_place(comparison->names, comparison->skeleton, stored);
    if (place_take(comparison, number, place)) {
        matched_look(comparison, stored, place);
        return;
    }
    enum name_meaning meaning = place.meaning;
    if (meaning == NAME_UNKNOWN) {
        meaning = checkpoint_name_place(comparison->names, comparison->other, stored).meaning;
        meaning = meaning == NAME_TENSOR || meaning == NAME_PART ? NAME_HEAD : meaning;
    }
    enum finding_kind kind = meaning == NAME_BUFFER ? FINDING_BUFFER
                             : meaning == NAME_HEAD ? FINDING_HEAD
                                                    : FINDING_EXTRA;
    tensor_finding(comparison, kind, stored->name, stored, NULL);
}

/* A tensor that shares its storage is there where its owner is; where it alone is, so is the owner. */
static void tied_look(struct comparison *comparison)
{
    const struct skeleton *skeleton = comparison->skeleton;
    for (int i = 0; i < skeleton->tensor_count; i++) {
        const struct skeleton_tensor *tensor = &skeleton->tensors[i];
        if (tensor->tied_to < 0 || comparison->stored_of[i] < 0) {
            continue;
        }
        if (comparison->stored_of[tensor->tied_to] < 0) {
            comparison->stored_of[tensor->tied_to] = comparison->stored_of[i];
        } else {
            const struct checkpoint_tensor *stored = &comparison->checkpoint->tensors[comparison->stored_of[i]];
            struct expected expected = expected_of(skeleton, tensor);
            tensor_finding(comparison, FINDING_TIED, stored->name, stored, &expected);
        }
    }
}

/* A tensor of which some parts are stored: by the name of the first that is not. There are more parts than stored ones,
 * so that no more names are tried than the file has. */
static void parts_look(struct comparison *comparison, int index)
{
    const struct skeleton_tensor *tensor = &comparison->skeleton->tensors[index];
    const struct checkpoint_tensor *first = &comparison->checkpoint->tensors[comparison->stored_of[index]];
    struct expert_part part = checkpoint_name_place(comparison->names, comparison->skeleton, first).part;
    int64_t expected_count = expert_part_total(tensor, part);
    char name[CHECKPOINT_NAME_BYTES];
    if (comparison->part_counts[index] >= expected_count) {
        return;
    }
    if (part.expert == EXPERTS_ALL) {
        struct expected whole = expected_of(comparison->skeleton, tensor);
        tensor_finding(comparison, FINDING_MISSING, tensor->path, NULL, &whole);
        return;
    }
    for (int64_t i = 0; i < expected_count; i++) {
        part.expert = i / part.part_count;
        part.part = (int)(i % part.part_count);
        if (!expert_part_name(first->name, part, name, sizeof name) ||
            checkpoint_find(comparison->checkpoint, name) == NULL) {
            break;
        }
    }
    struct expected expected = expected_part(comparison->skeleton, tensor, part);
    int count_before = comparison->check->finding_count;
    tensor_finding(comparison, FINDING_MISSING, name, NULL, &expected);
    if (comparison->check->finding_count > count_before) {
        comparison->check->findings[count_before].more_count = expected_count - comparison->part_counts[index] - 1;
    }
}

static void missing_look(struct comparison *comparison)
{
    const struct skeleton *skeleton = comparison->skeleton;
    for (int i = 0; i < skeleton->tensor_count && comparison->code == STATUS_OK; i++) {
        const struct skeleton_tensor *tensor = &skeleton->tensors[i];
        int64_t bytes = 0;
        if (!tensor->persistent || tensor->tied_to >= 0) {
            continue;
        }
        struct expected expected = expected_of(skeleton, tensor);
        if (comparison->stored_of[i] < 0) {
            tensor_finding(comparison, FINDING_MISSING, tensor->path, NULL, &expected);
        } else if (comparison->part_counts[i] > 0) {
            parts_look(comparison, i);
        }
        if (!size_multiply(tensor->element_count, dtype_bytes(expected.dtype), &bytes) ||
            !size_add(comparison->check->expected_bytes, bytes, &comparison->check->expected_bytes)) {
            comparison->code = status_set(comparison->error, STATUS_OVERFLOW, "%s: its bytes do not fit 63 bits",
                                          skeleton->config->name);
        }
    }
}

static enum status_code skeleton_compare(const struct checkpoint *checkpoint, const struct checkpoint_names *names,
                                         const struct skeleton *skeleton, const struct skeleton *other,
                                         struct checkpoint_check *check, struct status *error)
{
    struct comparison comparison = {
        .checkpoint = checkpoint, .names = names, .skeleton = skeleton, .other = other, .check = check, .error = error};
    *check = (struct checkpoint_check){.head = skeleton->head};
    comparison.stored_of = arena_alloc(&check->arena, (size_t)skeleton->tensor_count * sizeof(int));
    comparison.part_counts =
        arena_alloc(&check->arena, (size_t)skeleton->tensor_count * sizeof *comparison.part_counts);
    if (comparison.stored_of == NULL || comparison.part_counts == NULL) {
        comparison_no_memory(&comparison);
        return comparison.code;
    }
    for (int i = 0; i < skeleton->tensor_count; i++) {
        comparison.stored_of[i] = -1;
        comparison.part_counts[i] = 0;
    }
    if (checkpoint->claimed_total_bytes >= 0 && checkpoint->claimed_total_bytes != checkpoint->stored_bytes) {
        finding_add(&comparison, &(struct finding){.kind = FINDING_TOTAL, .name = "total_size", .rank = -1});
    }
    for (int i = 0; i < checkpoint->tensor_count && comparison.code == STATUS_OK; i++) {
        stored_look(&comparison, i);
    }
    tied_look(&comparison);
    missing_look(&comparison);
    return comparison.code;
}

/* Fewer missing, then fewer findings of any kind. */
static bool check_is_closer(const struct checkpoint_check *check, const struct checkpoint_check *than)
{
    int missing = check->counts[FINDING_MISSING] - than->counts[FINDING_MISSING];
    return missing != 0 ? missing < 0 : check->finding_count < than->finding_count;
}

enum status_code checkpoint_check(const struct checkpoint *checkpoint, const struct config *config, enum head head,
                                  struct checkpoint_check *check, struct status *error)
{
    struct skeleton bare = {0}, headed = {0};
    struct checkpoint_check with_bare = {0}, with_head = {0};
    enum status_code code = skeleton_build(config, HEAD_BARE, &bare, error);
    if (code == STATUS_OK) {
        bool asked = head != HEAD_DEFAULT && head != HEAD_BARE;
        code = skeleton_build(config, asked ? head : head_stored(&config->model_heads), &headed, error);
    }
    if (code == STATUS_OK) {
        struct checkpoint_names names = checkpoint_names_of(checkpoint, &bare, &headed);
        code = skeleton_compare(checkpoint, &names, &headed, &bare, &with_head, error);
        if (code == STATUS_OK) {
            code = skeleton_compare(checkpoint, &names, &bare, &headed, &with_bare, error);
        }
    }
    bool is_bare = head == HEAD_BARE || (head == HEAD_DEFAULT && check_is_closer(&with_bare, &with_head));
    if (code == STATUS_OK) {
        *check = is_bare ? with_bare : with_head;
        check->unstored_head_count =
            is_bare && head == HEAD_DEFAULT ? with_head.counts[FINDING_MISSING] - with_bare.counts[FINDING_MISSING] : 0;
        (is_bare ? &with_bare : &with_head)->arena = (struct arena){0};
    }
    checkpoint_check_release(&with_bare);
    checkpoint_check_release(&with_head);
    skeleton_release(&bare);
    skeleton_release(&headed);
    return code;
}

void checkpoint_check_release(struct checkpoint_check *check)
{
    arena_release(&check->arena);
    *check = (struct checkpoint_check){0};
}

int checkpoint_disagreement_count(const struct checkpoint_check *check)
{
    int count = 0;
    for (int kind = 0; kind < FINDING_KIND_COUNT; kind++) {
        count += finding_is_remark((enum finding_kind)kind) ? 0 : check->counts[kind];
    }
    return count;
}

/* The header's number if the shapes differ in one size and that is vocab in the model; 0: they differ otherwise. */
static int64_t vocab_of_finding(const struct finding *finding, int64_t vocab)
{
    int64_t found = 0;
    if (finding->stored->rank != finding->rank) {
        return 0;
    }
    for (int i = 0; i < finding->rank; i++) {
        if (finding->stored->shape[i] == finding->shape[i]) {
            continue;
        }
        if (found != 0 || finding->shape[i] != vocab) {
            return 0;
        }
        found = finding->stored->shape[i];
    }
    return found;
}

int64_t checkpoint_vocab(const struct checkpoint_check *check, const struct config *config)
{
    int64_t vocab = 0;
    for (int i = 0; i < check->finding_count; i++) {
        const struct finding *finding = &check->findings[i];
        if (finding->kind != FINDING_SHAPE) {
            continue;
        }
        int64_t found = vocab_of_finding(finding, config->vocab);
        if (found <= 0 || (vocab != 0 && found != vocab)) {
            return 0;
        }
        vocab = found;
    }
    return vocab;
}

/* The shape of the tensor as this stored one, or this part of it, has it. False if no model's tensor can have it. */
static bool sizes_copy(const struct checkpoint_tensor *stored, struct stored_place place,
                       struct skeleton_tensor *tensor)
{
    bool is_part = place.meaning == NAME_PART;
    int first = is_part && place.part.expert != EXPERTS_ALL ? 1 : 0; /* one expert's has no size of E */
    if (stored->rank > TENSOR_RANK_MAXIMUM || (is_part && stored->rank + first != 3)) {
        return false;
    }
    for (int i = 0; i < stored->rank; i++) {
        tensor->size[first + i] = stored->shape[place.is_transposed ? stored->rank - 1 - i : i];
    }
    bool fits = !is_part || size_multiply(tensor->size[1], place.part.part_count, &tensor->size[1]);
    tensor->rank = is_part ? 3 : stored->rank;
    tensor->element_count = 1;
    for (int i = 0; i < tensor->rank && fits; i++) {
        fits = tensor->size[i] > 0 && size_multiply(tensor->element_count, tensor->size[i], &tensor->element_count);
    }
    return fits;
}

static enum status_code shapes_take(const struct checkpoint *checkpoint, const struct checkpoint_names *names,
                                    struct skeleton *skeleton, const char **differs, struct status *error)
{
    for (int i = 0; i < checkpoint->tensor_count; i++) {
        const struct checkpoint_tensor *stored = &checkpoint->tensors[i];
        struct stored_place place = checkpoint_name_place(names, skeleton, stored);
        if (place.meaning != NAME_TENSOR && place.meaning != NAME_PART) {
            continue;
        }
        struct skeleton_tensor *tensor = &skeleton->tensors[place.index];
        tensor = tensor->tied_to >= 0 ? &skeleton->tensors[tensor->tied_to] : tensor;
        struct expected expected = expected_at(skeleton, tensor, place);
        if (shape_agrees(stored, &expected, place.is_transposed)) {
            continue;
        }
        if (!sizes_copy(stored, place, tensor)) {
            return status_set(error, STATUS_INVALID,
                              "%s: tensor '%.100s': its shape is not one that a model's tensor can have; assay weights "
                              "lists what differs",
                              checkpoint->name, tensor->path);
        }
        *differs = *differs != NULL ? *differs : tensor->path;
    }
    return STATUS_OK;
}

/* Those that share a storage have its shape. */
static void tied_follow(struct skeleton *skeleton)
{
    for (int i = 0; i < skeleton->tensor_count; i++) {
        struct skeleton_tensor *tensor = &skeleton->tensors[i];
        if (tensor->tied_to >= 0) {
            const struct skeleton_tensor *owner = &skeleton->tensors[tensor->tied_to];
            tensor->rank = owner->rank;
            tensor->element_count = owner->element_count;
            memcpy(tensor->size, owner->size, sizeof tensor->size);
        }
    }
}

enum status_code checkpoint_apply(const struct checkpoint *checkpoint, struct skeleton *skeleton, const char **differs,
                                  struct status *error)
{
    struct skeleton other = {0};
    bool is_bare = skeleton->head == HEAD_BARE;
    const struct config_heads *heads = &skeleton->config->model_heads;
    *differs = NULL;
    enum status_code code = skeleton_build(skeleton->config, head_opposite(heads, skeleton->head), &other, error);
    if (code != STATUS_OK) {
        return code;
    }
    struct checkpoint_names names =
        checkpoint_names_of(checkpoint, is_bare ? skeleton : &other, is_bare ? &other : skeleton);
    code = shapes_take(checkpoint, &names, skeleton, differs, error);
    skeleton_release(&other);
    if (code == STATUS_OK && *differs != NULL) {
        tied_follow(skeleton);
        code = skeleton_totals(skeleton, error);
    }
    return code;
}
