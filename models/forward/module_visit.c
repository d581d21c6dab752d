/* Module visits on a tape: what comes when, and when it goes. Where it is kept and where it runs is placement.c's. */
#include "models/forward/module_visit.h"

#include <string.h>

#include "models/skeleton/placement.h"

enum { BLOCK_CONTEXT_BYTES = 512 };

static bool is_placed(const struct forward *forward)
{
    return forward->placement != NULL && forward->placement->hooks;
}

/* A tensor where its module runs, from the host, or from the disk by way of the host. *passing: what came by the host
 * before it, which keeps its name until the next one is there. */
static struct value *tensor_bring(const struct forward *forward, int tensor, struct value **passing)
{
    const struct placement *placement = forward->placement;
    struct tape *tape = forward->tape;
    int runs = placement->runs[placement->skeleton->tensors[tensor].module];
    bool passes_host = placement->places[placement->keeps[tensor]].kind == PLACE_DISK && runs != placement->host;
    struct value *near = forward->values[tensor];
    if (passes_host) {
        near = tape_move(tape, near, placement->host);
        tape_drop(tape, *passing);
        *passing = near;
    }
    struct value *here = tape_move(tape, near, runs);
    if (placement->places[runs].kind == PLACE_DEVICE) {
        tape_trim(tape, runs);
    }
    return here;
}

static void tensors_bring(const struct forward *forward, int module)
{
    const struct placement *placement = forward->placement;
    struct value *passing = NULL;
    for (int i = placement->first[module]; i < placement->first[module + 1]; i++) {
        int twin = placement_offloads(placement, i) ? placement_twin(placement, i) : i;
        if (twin != i) {
            forward->brought[i] = forward->values[twin];
        } else if (placement_offloads(placement, i)) {
            forward->brought[i] = tensor_bring(forward, i, &passing);
        }
    }
    tape_drop(forward->tape, passing);
}

struct module_visit module_enter(const struct forward *forward, const char *path)
{
    struct module_visit visit = {.before = -1};
    if (!is_placed(forward)) {
        return visit;
    }
    visit.module = placement_module(forward->placement, path);
    int runs = visit.module >= 0 ? forward->placement->runs[visit.module] : -1;
    if (visit.module < 0) {
        tape_fail(forward->tape, STATUS_INTERNAL, "the model has no module '%s'", path);
    }
    if (runs >= 0) {
        visit.frame = tape_frame_open(forward->tape);
        visit.before = tape_place(forward->tape, runs);
        tensors_bring(forward, visit.module);
    }
    return visit;
}

struct module_visit layer_enter(const struct forward_layer *layer, const char *name)
{
    if (!is_placed(layer->forward)) {
        return (struct module_visit){.before = -1};
    }
    char path[FORWARD_PATH_BYTES];
    path_join(path, layer->prefix, name);
    return module_enter(layer->forward, path);
}

struct value *module_argument(const struct forward *forward, struct module_visit visit, struct value *a)
{
    return visit.before >= 0 ? tape_move(forward->tape, a, tape_place_now(forward->tape)) : a;
}

static void tensors_leave(const struct forward *forward, struct module_visit visit)
{
    const int *first = &forward->placement->first[visit.module];
    for (int i = first[0]; i < first[1]; i++) {
        forward->brought[i] = NULL;
    }
    tape_place(forward->tape, visit.before);
}

void module_leave_all(const struct forward *forward, struct module_visit visit, struct value *const *results, int count)
{
    if (visit.before >= 0) {
        tensors_leave(forward, visit);
        tape_frame_close_all(forward->tape, visit.frame, results, count);
    }
}

struct value *module_leave(const struct forward *forward, struct module_visit visit, struct value *result)
{
    if (visit.before < 0) {
        return result;
    }
    tensors_leave(forward, visit);
    return tape_frame_close(forward->tape, visit.frame, result);
}

struct value *module_tensor(const struct forward *forward, int tensor)
{
    bool brought = is_placed(forward) && forward->brought[tensor] != NULL;
    return brought ? forward->brought[tensor] : forward->values[tensor];
}

struct value *module_run(const struct forward *forward, const char *path, module_body *body, const char *root)
{
    struct module_visit visit = module_enter(forward, path);
    if (visit.before < 0) {
        return body(forward, root);
    }
    struct forward inside = *forward;
    inside.ids = module_argument(forward, visit, forward->ids);
    inside.images = module_argument(forward, visit, forward->images);
    inside.seen = module_argument(forward, visit, forward->seen);
    inside.positions = module_argument(forward, visit, forward->positions);
    return module_leave(forward, visit, body(&inside, root));
}

void module_place_beside(const struct forward *forward, const struct value *value)
{
    if (is_placed(forward) && value != NULL) {
        tape_place(forward->tape, value_place(forward->tape, value));
    }
}

struct value *module_output(const struct forward *forward, struct value *value)
{
    return is_placed(forward) ? tape_move(forward->tape, value, forward->placement->main) : value;
}

int module_device(const struct forward *forward)
{
    const struct placement *placement = forward->placement;
    if (!is_placed(forward)) {
        return tape_place_now(forward->tape);
    }
    int first = 0;
    while (first + 1 < placement->skeleton->tensor_count && placement->skeleton->tensors[first].is_buffer) {
        first++;
    }
    bool is_there = placement->places[placement->keeps[first]].kind == PLACE_DEVICE;
    return is_there ? placement->keeps[first] : placement->main;
}

/* Every place of the context that names `from` names `to` then. A context is a struct of pointers and numbers, and a
 * pointer is found in it by its value. */
static void context_rename(unsigned char *context, int bytes, const struct value *from, struct value *to)
{
    for (int at = 0; at + (int)sizeof to <= bytes; at += (int)sizeof to) {
        const struct value *named = NULL;
        memcpy(&named, context + at, sizeof named);
        if (named == from) {
            memcpy(context + at, &to, sizeof to);
        }
    }
}

struct value *module_block(const struct forward *forward, tape_block *block, const char *path, const void *context,
                           int context_bytes, struct value *const *held, int held_count, struct value *input)
{
    struct tape *tape = forward->tape;
    struct module_visit visit = module_enter(forward, path);
    if (visit.before < 0) {
        return block(tape, context, input);
    }
    _Alignas(16) unsigned char renamed[BLOCK_CONTEXT_BYTES];
    if (context_bytes > BLOCK_CONTEXT_BYTES) {
        tape_fail(tape, STATUS_INTERNAL, "the context of block '%s' has %d bytes, more than a placed one may have",
                  path, context_bytes);
        return module_leave(forward, visit, NULL);
    }
    memcpy(renamed, context, (size_t)context_bytes);
    input = module_argument(forward, visit, input);
    for (int i = 0; i < held_count; i++) {
        struct value *moved = module_argument(forward, visit, held[i]);
        if (moved != held[i]) {
            context_rename(renamed, context_bytes, held[i], moved);
        }
    }
    return module_leave(forward, visit, block(tape, renamed, input));
}
