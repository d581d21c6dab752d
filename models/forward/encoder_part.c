/* Parts of encoders: attention by three projections, and the masked-language head. Not here: the order of a layer. */
#include "models/forward/encoder_part.h"

#include <math.h>
#include <stdio.h>

#include "models/forward/module_visit.h"

struct value *encoder_attention(const struct forward_layer *layer, const char *module, const char *const paths[3],
                                const char *output, struct value *hidden)
{
    const struct forward *f = layer->forward;
    struct tape *tape = f->tape;
    struct value *names[3];
    struct module_visit visit = layer_enter(layer, module);
    hidden = module_argument(f, visit, hidden);
    struct value *mask = module_argument(f, visit, layer->mask);
    for (int i = 0; i < 3; i++) {
        int frame = tape_frame_open(tape);
        names[i] =
            tape_frame_close(tape, frame, heads_view(f, layer_linear(layer, paths[i], hidden), f->config->heads));
    }
    struct attention_form form = {
        .scale = 1.0 / sqrt((double)f->config->head_dim), .dropout = f->config->attention_dropout, .mask = mask};
    struct value *weights = NULL;
    struct value *out = forward_attention(f, &form, names[0], names[1], names[2], &weights);
    if (output != NULL) {
        value_rebind(tape, &out, layer_linear(layer, output, out));
    }
    for (int i = 0; i < 3; i++) {
        tape_drop(tape, names[i]);
    }
    bool drops = forward_has(f, RELEASE_WEIGHTS_DROPPED);
    if (drops) {
        tape_drop(tape, weights);
    }
    struct value *const results[] = {out, drops ? NULL : weights};
    module_leave_all(f, visit, results, 2);
    return out;
}

struct value *masked_head_run(const struct forward *f, const struct masked_head *head, enum activation activation,
                              struct value *hidden)
{
    struct tape *tape = f->tape;
    struct module_visit visits[2] = {{.before = -1}, {.before = -1}};
    for (int i = 0; i < 2 && head->modules[i] != NULL; i++) {
        visits[i] = module_enter(f, head->modules[i]);
        hidden = module_argument(f, visits[i], hidden);
    }
    int frame = tape_frame_open(tape);
    struct value *transformed = forward_linear(f, head->dense, hidden);
    transformed = forward_activation(f, activation, transformed);
    value_rebind(tape, &transformed, forward_layernorm(f, head->norm, transformed));
    struct value *logits = forward_linear(f, head->decoder, transformed);
    tape_drop(tape, transformed);
    logits = tape_frame_close(tape, frame, f->labels == NULL ? logits : forward_language_loss(f, logits, false));
    return module_leave(f, visits[0], module_leave(f, visits[1], logits));
}

struct value *encoder_stack(struct forward_layer *layer, tape_block *block, const char *root, const char *stack,
                            struct value *input)
{
    const struct forward *f = layer->forward;
    char path[96], blocks[32];
    snprintf(path, sizeof path, "%s%s", root, stack);
    snprintf(blocks, sizeof blocks, "%s.layer.", stack);
    struct module_visit visit = module_enter(f, path);
    struct value *here = module_argument(f, visit, input);
    layer->mask = module_argument(f, visit, layer->mask);
    struct value *hidden = forward_layers(block, layer, root, blocks, &layer->mask, 1, here);
    return module_leave(f, visit, hidden);
}
