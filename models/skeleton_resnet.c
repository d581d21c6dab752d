/* Skeleton of the ResNets of timm (1.0.31), which are those of torchvision by names and shapes. They always have their
 * classifier: a bare one is not made.
 *
 * Worked number: resnet50 has 25,557,032 parameters; 53 batch norms over 26,560 channels have 2 * 4 bytes per channel
 * and one int64 each: 212,904 bytes of buffers. */
#include "models/skeleton_builder.h"

#include <math.h>
#include <stdio.h>

struct convolution_shape {
    int64_t outputs, inputs, kernel;
};

/* Kaiming, fan out: the variance of the gradient stays the same through a ReLU. */
static void resnet_convolution(struct skeleton_builder *builder, int parent, const char *name,
                               struct convolution_shape shape)
{
    const int64_t size[] = {shape.outputs, shape.inputs, shape.kernel, shape.kernel};
    double fan_out = (double)shape.outputs * (double)shape.kernel * (double)shape.kernel;
    builder_module(builder, parent, name, "Conv2d");
    builder_parameter(builder, "weight", (struct initial){.deviation = sqrt(2.0 / fan_out)}, 4, size);
}

static void resnet_norm(struct skeleton_builder *builder, int parent, const char *name, int64_t channels, double scale)
{
    static const struct buffer_kind mean = {.dtype = DTYPE_FLOAT32, .persistent = true};
    static const struct buffer_kind variance = {.dtype = DTYPE_FLOAT32, .persistent = true, .constant = 1};
    static const struct buffer_kind batches = {.dtype = DTYPE_INT64, .persistent = true};
    builder_module(builder, parent, name, "BatchNorm2d");
    builder_vector(builder, "weight", (struct initial){.constant = scale}, channels);
    builder_vector(builder, "bias", (struct initial){0}, channels);
    builder_buffer(builder, "running_mean", &mean, 1, &channels);
    builder_buffer(builder, "running_var", &variance, 1, &channels);
    builder_buffer(builder, "num_batches_tracked", &batches, 0, NULL);
}

/* The last norm of a block starts at zero: a fresh block is the identity. */
static void resnet_block(struct skeleton_builder *builder, int block, int64_t inputs, int64_t outputs)
{
    if (builder->config->bottleneck) {
        int64_t inner = outputs / 4;
        resnet_convolution(builder, block, "conv1", (struct convolution_shape){inner, inputs, 1});
        resnet_norm(builder, block, "bn1", inner, 1);
        resnet_convolution(builder, block, "conv2", (struct convolution_shape){inner, inner, 3});
        resnet_norm(builder, block, "bn2", inner, 1);
        resnet_convolution(builder, block, "conv3", (struct convolution_shape){outputs, inner, 1});
        resnet_norm(builder, block, "bn3", outputs, 0);
    } else {
        resnet_convolution(builder, block, "conv1", (struct convolution_shape){outputs, inputs, 3});
        resnet_norm(builder, block, "bn1", outputs, 1);
        resnet_convolution(builder, block, "conv2", (struct convolution_shape){outputs, outputs, 3});
        resnet_norm(builder, block, "bn2", outputs, 0);
    }
}

static void resnet_stage(struct skeleton_builder *builder, int parent, int stage, int64_t inputs)
{
    const struct config *config = builder->config;
    int64_t outputs = config->widths[stage];
    for (int64_t i = 0; i < config->depths[stage]; i++) {
        int block = builder_element(builder, parent, i, config->bottleneck ? "Bottleneck" : "BasicBlock");
        resnet_block(builder, block, inputs, outputs);
        if (i == 0 && (stage > 0 || inputs != outputs)) { /* the stride or the width changes: so must the shortcut */
            int shortcut = builder_module(builder, block, "downsample", "Sequential");
            resnet_convolution(builder, shortcut, "0", (struct convolution_shape){outputs, inputs, 1});
            resnet_norm(builder, shortcut, "1", outputs, 1);
        }
        inputs = outputs;
    }
}

void skeleton_resnet(struct skeleton_builder *builder, enum head head)
{
    (void)head;
    const struct config *config = builder->config;
    int root = builder_module(builder, -1, "", "ResNet");
    resnet_convolution(builder, root, "conv1", (struct convolution_shape){config->stem, config->channels, 7});
    resnet_norm(builder, root, "bn1", config->stem, 1);
    int64_t inputs = config->stem;
    for (int stage = 0; stage < 4; stage++) {
        char name[32];
        snprintf(name, sizeof name, "layer%d", stage + 1);
        resnet_stage(builder, builder_module(builder, root, name, "Sequential"), stage, inputs);
        inputs = config->widths[stage];
    }
    /* The framework's uniform(-1 / sqrt(inputs), 1 / sqrt(inputs)) has this deviation. */
    struct initial uniform = {.deviation = 1 / sqrt(3.0 * (double)inputs)};
    builder_module(builder, root, "fc", "Linear");
    builder_matrix(builder, "weight", uniform, config->classes, inputs);
    builder_vector(builder, "bias", uniform, config->classes);
}
