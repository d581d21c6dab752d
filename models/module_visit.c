/* Module visits on a tape: what comes when, and when it goes. Where it is kept and where it runs is placement.c's. */
#include "models/module_visit.h"

#include <string.h>

#include "models/placement.h"

enum { BLOCK_CONTEXT_BYTES = 512 };

static bool is_placed(const struct forward *forward)
{
    return forward->placement != NULL && forward->placement->hooks;
}

struct module_visit module_enter(const struct forward *forward, const char *path)
{
    struct module_visit visit = {.before = -1};
    if (!is_placed(forward)) {
        return visit;
    }
    int module = placement_module(forward->placement, path);
    int runs = module >= 0 ? forward->placement->runs[module] : -1;
    if (module < 0) {
        tape_fail(forward->tape, STATUS_INTERNAL, "the model has no module '%s'", path);
    }
    if (runs >= 0) {
        visit.frame = tape_frame_open(forward->tape);
        visit.before = tape_place(forward->tape, runs);
    }
    return visit;
}

struct value *module_argument(const struct forward *forward, struct module_visit visit, struct value *a)
{
    return visit.before >= 0 ? tape_move(forward->tape, a, tape_place_now(forward->tape)) : a;
}

struct value *module_leave(const struct forward *forward, struct module_visit visit, struct value *result)
{
    if (visit.before < 0) {
        return result;
    }
    tape_place(forward->tape, visit.before);
    return tape_frame_close(forward->tape, visit.frame, result);
}

struct value *module_tensor(const struct forward *forward, int tensor, struct value *value)
{
    const struct placement *placement = forward->placement;
    if (!is_placed(forward) || value == NULL || !placement_offloads(placement, tensor)) {
        return value;
    }
    struct tape *tape = forward->tape;
    int keeps = placement->keeps[tensor];
    int runs = placement->runs[placement->skeleton->tensors[tensor].module];
    bool passes_host = placement->places[keeps].kind == PLACE_DISK && runs != placement->host;
    struct value *near = passes_host ? tape_move(tape, value, placement->host) : value;
    struct value *here = tape_move(tape, near, runs);
    if (placement->places[runs].kind == PLACE_DEVICE) {
        tape_trim(tape, runs);
    }
    return here;
}

struct value *module_run(const struct forward *forward, const char *path, module_body *body, const char *root)
{
    struct module_visit visit = module_enter(forward, path);
    if (visit.before < 0) {
        return body(forward, root);
    }
    struct forward inside = *forward;
    inside.ids = module_argument(forward, visit, forward->ids);
    inside.seen = module_argument(forward, visit, forward->seen);
    return module_leave(forward, visit, body(&inside, root));
}

/* Every place of the context that names `from` names `to` then. A context is a struct of pointers and numbers, and a pointer
 * is found in it by its value. */
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
