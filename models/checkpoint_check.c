/* Checkpoint check: one walk over the stored tensors, one over the skeleton's. Not a judge of what may be loaded. */
#include "models/checkpoint_check.h"

#include <string.h>

#include "harness/base/size.h"
#include "models/checkpoint_names.h"

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
struct walk {
    const struct checkpoint *checkpoint;
    const struct checkpoint_names *names;
    const struct skeleton *skeleton, *other;
    struct checkpoint_check *check;
    int *stored_of; /* for each tensor of the skeleton: the stored one, or -1 */
    int capacity;
    struct status *error;
    enum status_code code;
};

static void walk_no_memory(struct walk *walk)
{
    walk->code = status_set(walk->error, STATUS_OUT_OF_MEMORY,
                            "%s: no host memory to compare it with its configuration", walk->checkpoint->name);
}

static void finding_add(struct walk *walk, const struct finding *finding)
{
    struct checkpoint_check *check = walk->check;
    if (check->finding_count == walk->capacity) {
        int wanted = walk->capacity > 0 ? 2 * walk->capacity : 32;
        struct finding *grown = arena_alloc(&check->arena, (size_t)wanted * sizeof *grown);
        if (grown == NULL) {
            walk_no_memory(walk);
            return;
        }
        if (check->finding_count > 0) {
            memcpy(grown, check->findings, (size_t)check->finding_count * sizeof *grown);
        }
        check->findings = grown;
        walk->capacity = wanted;
    }
    check->findings[check->finding_count++] = *finding;
    check->counts[finding->kind]++;
}

/* What the model has in place of a stored tensor. Paths and shapes are copied: skeletons do not outlive the check. */
static void tensor_finding(struct walk *walk, enum finding_kind kind, const struct checkpoint_tensor *stored,
                           const struct skeleton_tensor *tensor, enum dtype dtype)
{
    int64_t *shape = NULL;
    const char *path = NULL;
    if (tensor != NULL) {
        shape = arena_alloc(&walk->check->arena, (size_t)tensor->rank * sizeof *shape);
        path = stored == NULL ? arena_copy(&walk->check->arena, tensor->path) : stored->name;
        if (shape == NULL || path == NULL) {
            walk_no_memory(walk);
            return;
        }
        memcpy(shape, tensor->size, (size_t)tensor->rank * sizeof *shape);
    }
    finding_add(walk, &(struct finding){.kind = kind,
                                        .name = stored != NULL ? stored->name : path,
                                        .stored = stored,
                                        .rank = tensor != NULL ? tensor->rank : -1,
                                        .shape = shape,
                                        .dtype = dtype});
}

static bool shape_agrees(const struct checkpoint_tensor *stored, const struct skeleton_tensor *tensor, bool transposed)
{
    bool agrees = stored->rank == tensor->rank;
    for (int i = 0; i < tensor->rank && agrees; i++) {
        agrees = stored->shape[transposed ? tensor->rank - 1 - i : i] == tensor->size[i];
    }
    return agrees;
}

/* What a tensor of the model is stored in, as its configuration says. */
static enum dtype dtype_expected(const struct skeleton *skeleton, const struct skeleton_tensor *tensor)
{
    return tensor->rounds_with_model ? skeleton->config->dtype : tensor->dtype;
}

static void matched_look(struct walk *walk, const struct checkpoint_tensor *stored, int index, bool transposed)
{
    const struct skeleton_tensor *tensor = &walk->skeleton->tensors[index];
    enum dtype dtype = dtype_expected(walk->skeleton, tensor);
    bool named_otherwise = walk->checkpoint->format == CHECKPOINT_GGUF;
    walk->check->matched_count++;
    if (!shape_agrees(stored, tensor, transposed)) {
        tensor_finding(walk, FINDING_SHAPE, stored, tensor, dtype);
    }
    if (tensor->is_buffer && !tensor->persistent) {
        tensor_finding(walk, FINDING_BUFFER, stored, tensor, dtype);
    } else if (!named_otherwise && (!stored->type->has_dtype || stored->type->dtype != dtype)) {
        tensor_finding(walk, FINDING_DTYPE, stored, tensor, dtype);
    }
}

static void stored_look(struct walk *walk, int number)
{
    const struct checkpoint_tensor *stored = &walk->checkpoint->tensors[number];
    int index = -1;
    bool transposed = false;
    enum name_meaning meaning = checkpoint_name_meaning(walk->names, walk->skeleton, stored, &index, &transposed);
    if (meaning == NAME_TENSOR && walk->stored_of[index] < 0) {
        walk->stored_of[index] = number;
        matched_look(walk, stored, index, transposed);
        return;
    }
    if (meaning == NAME_UNKNOWN) {
        meaning = checkpoint_name_meaning(walk->names, walk->other, stored, &index, &transposed);
        meaning = meaning == NAME_TENSOR ? NAME_HEAD : meaning;
    }
    enum finding_kind kind = meaning == NAME_BUFFER ? FINDING_BUFFER
                             : meaning == NAME_HEAD ? FINDING_HEAD
                                                    : FINDING_EXTRA;
    tensor_finding(walk, kind, stored, NULL, DTYPE_FLOAT32);
}

/* A tensor that shares its storage is there where its owner is; where it alone is, so is the owner. */
static void tied_look(struct walk *walk)
{
    const struct skeleton *skeleton = walk->skeleton;
    for (int i = 0; i < skeleton->tensor_count; i++) {
        const struct skeleton_tensor *tensor = &skeleton->tensors[i];
        if (tensor->tied_to < 0 || walk->stored_of[i] < 0) {
            continue;
        }
        if (walk->stored_of[tensor->tied_to] < 0) {
            walk->stored_of[tensor->tied_to] = walk->stored_of[i];
        } else {
            tensor_finding(walk, FINDING_TIED, &walk->checkpoint->tensors[walk->stored_of[i]], tensor,
                           dtype_expected(skeleton, tensor));
        }
    }
}

static void missing_look(struct walk *walk)
{
    const struct skeleton *skeleton = walk->skeleton;
    for (int i = 0; i < skeleton->tensor_count && walk->code == STATUS_OK; i++) {
        const struct skeleton_tensor *tensor = &skeleton->tensors[i];
        int64_t bytes = 0;
        if (!tensor->persistent || tensor->tied_to >= 0) {
            continue;
        }
        enum dtype dtype = dtype_expected(skeleton, tensor);
        if (walk->stored_of[i] < 0) {
            tensor_finding(walk, FINDING_MISSING, NULL, tensor, dtype);
        }
        if (!size_multiply(tensor->element_count, dtype_bytes(dtype), &bytes) ||
            !size_add(walk->check->expected_bytes, bytes, &walk->check->expected_bytes)) {
            walk->code =
                status_set(walk->error, STATUS_OVERFLOW, "%s: its bytes do not fit 63 bits", skeleton->config->name);
        }
    }
}

static enum status_code skeleton_compare(const struct checkpoint *checkpoint, const struct checkpoint_names *names,
                                         const struct skeleton *skeleton, const struct skeleton *other,
                                         struct checkpoint_check *check, struct status *error)
{
    struct walk walk = {
        .checkpoint = checkpoint, .names = names, .skeleton = skeleton, .other = other, .check = check, .error = error};
    *check = (struct checkpoint_check){.head = skeleton->head};
    walk.stored_of = arena_alloc(&check->arena, (size_t)skeleton->tensor_count * sizeof(int));
    if (walk.stored_of == NULL) {
        walk_no_memory(&walk);
        return walk.code;
    }
    for (int i = 0; i < skeleton->tensor_count; i++) {
        walk.stored_of[i] = -1;
    }
    if (checkpoint->claimed_total_bytes >= 0 && checkpoint->claimed_total_bytes != checkpoint->stored_bytes) {
        finding_add(&walk, &(struct finding){.kind = FINDING_TOTAL, .name = "total_size", .rank = -1});
    }
    for (int i = 0; i < checkpoint->tensor_count && walk.code == STATUS_OK; i++) {
        stored_look(&walk, i);
    }
    tied_look(&walk);
    missing_look(&walk);
    return walk.code;
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
        code = skeleton_build(config, HEAD_LM, &headed, error);
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

/* The header's number where the shapes differ in one size and that is vocab in the model; 0: they differ otherwise. */
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

static bool sizes_copy(const struct checkpoint_tensor *stored, bool transposed, struct skeleton_tensor *tensor)
{
    if (stored->rank > TENSOR_RANK_MAXIMUM) {
        return false;
    }
    tensor->element_count = 1;
    tensor->rank = stored->rank;
    for (int i = 0; i < stored->rank; i++) {
        tensor->size[i] = stored->shape[transposed ? stored->rank - 1 - i : i];
        if (tensor->size[i] == 0 || !size_multiply(tensor->element_count, tensor->size[i], &tensor->element_count)) {
            return false;
        }
    }
    return true;
}

static enum status_code shapes_take(const struct checkpoint *checkpoint, const struct checkpoint_names *names,
                                    struct skeleton *skeleton, const char **differs, struct status *error)
{
    for (int i = 0; i < checkpoint->tensor_count; i++) {
        const struct checkpoint_tensor *stored = &checkpoint->tensors[i];
        int index = -1;
        bool transposed = false;
        if (checkpoint_name_meaning(names, skeleton, stored, &index, &transposed) != NAME_TENSOR) {
            continue;
        }
        struct skeleton_tensor *tensor = &skeleton->tensors[index];
        tensor = tensor->tied_to >= 0 ? &skeleton->tensors[tensor->tied_to] : tensor;
        if (shape_agrees(stored, tensor, transposed)) {
            continue;
        }
        if (!sizes_copy(stored, transposed, tensor)) {
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
    *differs = NULL;
    enum status_code code = skeleton_build(skeleton->config, is_bare ? HEAD_LM : HEAD_BARE, &other, error);
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
