/* ResNet: torchvision's, basic blocks or bottlenecks, with activations in place. */
#include <stdio.h>

#include "models/forward.h"

struct block_context {
    const struct forward *forward;
    int stage, index;
};

static struct value *convolution(const struct forward *f, const char *path, struct value *a, int64_t stride,
                                 int64_t padding)
{
    int frame = tape_frame_open(f->tape);
    struct value *weight = forward_tensor(f, "%s.weight", path);
    return tape_frame_close(f->tape, frame, tape_convolution(f->tape, a, weight, NULL, stride, padding));
}

static struct value *batchnorm(const struct forward *f, const char *path, struct value *a)
{
    double epsilon = 1e-5, momentum = 0.1;
    int frame = tape_frame_open(f->tape);
    struct value *out = tape_batchnorm(f->tape, a, forward_tensor(f, "%s.weight", path),
                                       forward_tensor(f, "%s.bias", path), forward_tensor(f, "%s.running_mean", path),
                                       forward_tensor(f, "%s.running_var", path), epsilon, momentum);
    return tape_frame_close(f->tape, frame, out);
}

/* out = convN(a), out = bnN(out) of a block; the ReLU follows in place where it is asked for. What *out named goes as
 * soon as the convolution is there. */
static void unit(const struct block_context *context, int number, struct value *a, struct value **out, int64_t stride,
                 int64_t padding, bool activate)
{
    const struct forward *f = context->forward;
    char path[64];
    snprintf(path, sizeof path, "layer%d.%d.conv%d", context->stage + 1, context->index, number);
    value_rebind(f->tape, out, convolution(f, path, a, stride, padding));
    snprintf(path, sizeof path, "layer%d.%d.bn%d", context->stage + 1, context->index, number);
    value_rebind(f->tape, out, batchnorm(f, path, *out));
    if (activate) {
        value_rebind(f->tape, out, tape_relu_(f->tape, *out));
    }
}

static struct value *shortcut(const struct block_context *context, struct value *input, int64_t stride)
{
    const struct forward *f = context->forward;
    char path[64];
    snprintf(path, sizeof path, "layer%d.%d.downsample.0.weight", context->stage + 1, context->index);
    if (skeleton_find(f->skeleton, path) < 0) {
        return NULL;
    }
    snprintf(path, sizeof path, "layer%d.%d.downsample.0", context->stage + 1, context->index);
    int frame = tape_frame_open(f->tape);
    struct value *out = convolution(f, path, input, stride, 0);
    snprintf(path, sizeof path, "layer%d.%d.downsample.1", context->stage + 1, context->index);
    return tape_frame_close(f->tape, frame, batchnorm(f, path, out));
}

static struct value *resnet_block(struct tape *tape, const void *context_bytes, struct value *input)
{
    const struct block_context *context = context_bytes;
    int64_t stride = context->stage > 0 && context->index == 0 ? 2 : 1;
    int frame = tape_frame_open(tape);
    struct value *out = NULL;
    if (context->forward->config->bottleneck) {
        unit(context, 1, input, &out, 1, 0, true);
        unit(context, 2, out, &out, stride, 1, true);
        unit(context, 3, out, &out, 1, 0, false);
    } else {
        unit(context, 1, input, &out, stride, 1, true);
        unit(context, 2, out, &out, 1, 1, false);
    }
    struct value *identity = shortcut(context, input, stride);
    value_rebind(tape, &out, tape_add_(tape, out, identity != NULL ? identity : input));
    value_rebind(tape, &out, tape_relu_(tape, out));
    return tape_frame_close(tape, frame, out);
}

static struct value *stem(const struct forward *f)
{
    struct value *x = convolution(f, "conv1", f->images, 2, 3);
    value_rebind(f->tape, &x, batchnorm(f, "bn1", x));
    value_rebind(f->tape, &x, tape_relu_(f->tape, x));
    value_rebind(f->tape, &x, tape_max_pool(f->tape, x, 3, 2, 1));
    return x;
}

struct value *forward_resnet(const struct forward *f)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    struct value *x = stem(f);
    for (int stage = 0; stage < 4; stage++) {
        for (int index = 0; index < (int)f->config->depths[stage]; index++) {
            struct block_context context = {.forward = f, .stage = stage, .index = index};
            value_rebind(tape, &x, forward_block(f, resnet_block, &context, sizeof context, NULL, 0, x));
        }
    }
    value_rebind(tape, &x, tape_mean_spatial(tape, x));
    int64_t flat[] = {value_size(x, 0), value_size(x, 1)};
    value_rebind(tape, &x, tape_reshape(tape, x, 2, flat));
    value_rebind(tape, &x, forward_linear(f, "fc", x));
    if (f->labels == NULL) {
        return tape_frame_close(tape, frame, x);
    }
    return tape_frame_close(tape, frame, forward_loss(f, x, f->labels));
}
