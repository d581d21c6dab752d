/* Explain: from a moment of a tape to words. Putting rows together and writing them is in explain_group.c. */
#include "harness/question/explain.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/question/trial.h"
#include "harness/tape/target.h"
#include "models/workload/workload_tape.h"

static int64_t operand_bytes(const struct operand *operand)
{
    int64_t bytes = dtype_bytes(operand->dtype);
    for (int i = 0; i < operand->rank; i++) {
        bytes *= operand->size[i]; /* not beyond its storage, whose size was checked */
    }
    return bytes;
}

/* Whether a storage has so many bytes: as recorded, or after the last repetition. */
static bool storage_has(const struct tape_view *tape, int storage, int64_t bytes)
{
    const struct storage *own = &tape->storages[storage];
    bool has = own->bytes == bytes;
    for (int i = 0; i < tape->repeat_count && !has; i++) {
        const struct repeat *repeat = &tape->repeats[i];
        bool is_own = storage >= repeat->first_storage && storage < repeat->first_storage + repeat->storage_count;
        has = is_own && own->bytes + own->growth_bytes * repeat->count == bytes;
    }
    return has;
}

/* Scratch that an operation is given as bytes has no shape. */
static bool operand_is_bytes(const struct tape_view *tape, const struct operand *operand)
{
    return tape->storages[operand->storage].is_scratch && operand->dtype == DTYPE_BOOL;
}

/* For each storage the first operand that covers the whole of it, -1: none. The caller frees it; NULL: no memory. */
static int *covers_find(const struct tape_view *tape)
{
    int *covers = calloc((size_t)tape->storage_count + 1, sizeof *covers);
    for (int i = 0; covers != NULL && i < tape->storage_count; i++) {
        covers[i] = -1;
    }
    for (int i = 0; covers != NULL && i < tape->operand_count; i++) {
        const struct operand *operand = &tape->operands[i];
        if (covers[operand->storage] < 0 && !operand_is_bytes(tape, operand) &&
            storage_has(tape, operand->storage, operand_bytes(operand))) {
            covers[operand->storage] = i;
        }
    }
    return covers;
}

/* The sizes of an operand that covers a storage, when that has so many bytes: of a repetition, they are as much larger
 * as its bytes are (struct repeat). */
static struct operand operand_in(const struct tape_view *tape, int index, int64_t bytes)
{
    struct operand operand = tape->operands[index];
    for (int i = 0; i < tape->repeat_count && operand_bytes(&operand) != bytes; i++) {
        const struct repeat *repeat = &tape->repeats[i];
        int place = operand.storage - repeat->first_storage + repeat->storage_count;
        bool is_own = place >= repeat->storage_count; /* else of the body before */
        if (place < 0 || place >= 2 * repeat->storage_count) {
            continue;
        }
        const struct operand *next = &tape->operands[is_own ? index : index + repeat->operand_count];
        const struct operand *before = &tape->operands[is_own ? index - repeat->operand_count : index];
        int64_t growth = operand_bytes(next) - operand_bytes(before), missing = bytes - operand_bytes(&operand);
        for (int k = 0; k < operand.rank && growth != 0; k++) {
            operand.size[k] += missing * (next->size[k] - before->size[k]) / growth;
        }
    }
    return operand;
}

/* ", 768*3072*4 bytes" */
static void shape_append(struct text *text, const struct tape_view *tape, int operand_index, int64_t bytes)
{
    if (operand_index < 0) {
        text_format(text, ", %" PRId64 " bytes", bytes);
        return;
    }
    struct operand operand = operand_in(tape, operand_index, bytes);
    text_append(text, ", ");
    for (int i = 0; i < operand.rank; i++) {
        text_format(text, "%" PRId64 "*", operand.size[i]);
    }
    text_format(text, "%d bytes", (int)dtype_bytes(operand.dtype));
}

static void kept_append(struct text *text, const struct storage *storage)
{
    static const char *const parts[] = {
        [KEEP_NOTHING] = "", [KEEP_INPUT] = ", its input", [KEEP_OUTPUT] = ", its output", [KEEP_STATE] = ""};
    text_format(text, "kept for the backward of %s%s", storage->kept_by, parts[storage->kept_as]);
}

static void rule_append(struct text *text, const struct storage *storage)
{
    static const char *const plain[CATEGORY_COUNT] = {
        [CATEGORY_WEIGHTS] = "parameter",
        [CATEGORY_BUFFERS] = "buffer",
        [CATEGORY_GRADIENTS] = "gradient",
        [CATEGORY_OPTIMIZER] = "optimizer state",
        [CATEGORY_MASTER_WEIGHTS] = "master weight",
        [CATEGORY_ACTIVATIONS] = "result",
        [CATEGORY_TEMPORARIES] = "temporary",
        [CATEGORY_KV_CACHE] = "key-value cache",
        [CATEGORY_WORKSPACE] = "workspace",
        [CATEGORY_INPUTS] = "input",
    };
    if (storage->of != NULL && storage->of != storage->label) {
        text_append(text, storage->label);
    } else if (storage->category == CATEGORY_ACTIVATIONS && storage->kept_by != NULL) {
        kept_append(text, storage);
    } else {
        text_append(text, plain[storage->category]);
    }
}

/* A path without that of its module: "weight". */
static const char *path_rest(const char *path, const char *module)
{
    size_t length = strlen(module);
    bool inside = length > 0 && strncmp(path, module, length) == 0 && path[length] == '.';
    return inside ? path + length + 1 : path;
}

static bool row_make(const struct tape_view *tape, const int *covers, const struct held_storage *held,
                     struct arena *arena, struct explain_row *row)
{
    struct text rule = {0};
    const struct storage *storage = &tape->storages[held->storage];
    const struct operand *operand = covers[held->storage] >= 0 ? &tape->operands[covers[held->storage]] : NULL;
    const char *module = storage->module != NULL ? storage->module : "";
    rule_append(&rule, storage);
    shape_append(&rule, tape, covers[held->storage], held->bytes);
    *row = (struct explain_row){
        .module = arena_copy(arena, module),
        .tensor = arena_copy(arena, path_rest(storage->of != NULL ? storage->of : storage->label, module)),
        .rule = arena_copy(arena, text_string(&rule)),
        .dtype = operand != NULL && storage->category != CATEGORY_WORKSPACE ? dtype_name(operand->dtype) : "bytes",
        .category = storage->category,
        .is_scratch = storage->is_scratch || storage->category == CATEGORY_WORKSPACE,
        .taken_in = held->taken_in,
        .bytes = held->bytes,
    };
    bool made = !rule.failed && row->module != NULL && row->tensor != NULL && row->rule != NULL;
    text_release(&rule);
    return made;
}

static enum status_code rows_make(const struct tape_view *tape, struct explanation *explanation, struct status *error)
{
    int count = explanation->moment.held_count;
    int *covers = covers_find(tape);
    explanation->rows = arena_alloc(&explanation->arena, sizeof *explanation->rows * (size_t)(count + 1));
    bool made = covers != NULL && explanation->rows != NULL;
    for (int i = 0; i < count && made; i++) {
        made = row_make(tape, covers, &explanation->moment.held[i], &explanation->arena, &explanation->rows[i]);
    }
    explanation->row_count = count;
    free(covers);
    return made ? STATUS_OK : status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for %d tensors", count);
}

/* What the first pass reserves, which the moment is none of. */
static enum status_code search_find(const struct estimate_input *input, struct explanation *explanation,
                                    struct status *error)
{
    struct trial trial;
    enum status_code code = trial_run(input, INT64_MAX, &trial, error);
    int64_t bytes = code == STATUS_OK ? trial.unbounded.peaks_ever[LEVEL_RESERVED] : 0;
    bool bounded = input->memory_bytes > 0 && input->memory_bytes < bytes;
    explanation->search_bytes = bounded ? input->memory_bytes : bytes;
    return code;
}

enum status_code explain_find(const struct estimate_input *input, enum stage stage, struct explanation *explanation,
                              struct status *error)
{
    const struct target *target = NULL;
    struct tape *tape = NULL;
    struct explanation made = {0};
    enum status_code code = target_find(input->target, &target, error);
    if (code == STATUS_OK) {
        code = workload_tape_brief(input->config, input->skeleton, input->workload, target, true, &tape, error);
    }
    if (code == STATUS_OK) {
        struct tape_view view = tape_view(tape);
        code = moment_find_bounded(&view, stage, input->memory_bytes, &made.moment, error);
        code = code == STATUS_OK ? rows_make(&view, &made, error) : code;
        made.managed = view.managed;
        if (code == STATUS_OK && made.moment.is_refused) {
            made.wanted = arena_copy(&made.arena, view.storages[made.moment.wanted].label);
            code =
                made.wanted != NULL ? code : status_set(error, STATUS_OUT_OF_MEMORY, "no memory for a tensor's name");
        }
    }
    code = code == STATUS_OK && tape_view(tape).searches ? search_find(input, &made, error) : code;
    tape_release(tape);
    if (code == STATUS_OK) {
        *explanation = made;
    } else {
        explanation_release(&made);
    }
    return code;
}

void explanation_release(struct explanation *explanation)
{
    moment_release(&explanation->moment);
    arena_release(&explanation->arena);
    *explanation = (struct explanation){0};
}

int64_t explain_certain_bytes(const struct explanation *explanation)
{
    int64_t bytes = 0;
    for (int i = 0; i < explanation->row_count; i++) {
        bytes += explanation->rows[i].is_scratch ? 0 : explanation->rows[i].bytes;
    }
    return bytes;
}
