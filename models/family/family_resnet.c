/* ResNet: torchvision's, basic blocks or bottlenecks, with activations in place.
 *
 * Skeleton of the ResNets of timm (1.0.31), which are those of torchvision by names and shapes. They always have their
 * classifier: a bare one is not made.
 *
 * Worked number: resnet50 has 25,557,032 parameters; 53 batch norms over 26,560 channels have 2 * 4 bytes per channel
 * and one int64 each: 212,904 bytes of buffers. */
#include "models/family/family_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/config/config_part.h"
#include "models/forward/forward.h"
#include "models/forward/module_visit.h"
#include "models/forward/stage_walk.h"
#include "models/skeleton/skeleton_builder.h"

/* -- the configuration */

static const struct {
    const char *name;
    bool bottleneck;
    int64_t depths[4];
} resnets[] = {
    {"resnet18", false, {2, 2, 2, 2}},  {"resnet34", false, {3, 4, 6, 3}},  {"resnet50", true, {3, 4, 6, 3}},
    {"resnet101", true, {3, 4, 23, 3}}, {"resnet152", true, {3, 8, 36, 3}},
};

/* Four whole numbers, if the key is there. */
static void read_four(struct field_reader *reader, const char *key, int64_t maximum, int64_t numbers[4])
{
    const struct json *list = field_member(reader, key);
    if (json_kind(list) == JSON_KIND_NULL) {
        return;
    }
    if (json_kind(list) != JSON_KIND_ARRAY || json_count(list) != 4) {
        field_fault(reader, key, "it is not a list of four; write one whole number for each stage");
        return;
    }
    for (size_t i = 0; i < 4; i++) {
        int64_t number = json_integer_or(json_at(list, i), 0);
        if (number < 1 || number > maximum) {
            field_fault(reader, key, "element %zu is not a whole number from 1 to %" PRId64 "; write one", i, maximum);
            return;
        }
        numbers[i] = number;
    }
}

/* What timm's create_model would be given besides the name. Others than these would change the network. */
static void arguments_read(struct field_reader *reader, struct config *config)
{
    static const char *const known[] = {"layers", "channels", "in_chans", NULL};
    struct field_reader inner;
    if (!config_arguments(reader, known, "layers, channels, in_chans", &inner)) {
        return;
    }
    read_four(&inner, "layers", CONFIG_LAYERS_MAXIMUM, config->depths);
    read_four(&inner, "channels", CONFIG_COUNT_MAXIMUM, config->widths);
    config->channels = field_integer(&inner, "in_chans", 1, CONFIG_COUNT_MAXIMUM, config->channels);
    reader->code = reader->code != STATUS_OK ? reader->code : inner.code;
}

/* The numbers of an architecture stand in timm's code: here, in the table above, which has the names of the family's
 * row. */
static void resnet_read(struct field_reader *reader, struct config *config)
{
    size_t row = 0;
    while (row + 1 < sizeof resnets / sizeof resnets[0] && strcmp(resnets[row].name, config->architecture) != 0) {
        row++;
    }
    config->bottleneck = resnets[row].bottleneck;
    config->stem = 64;
    config->channels = 3;
    for (int i = 0; i < 4; i++) {
        config->depths[i] = resnets[row].depths[i];
        config->widths[i] = INT64_C(64) << i;
    }
    arguments_read(reader, config);
    for (int i = 0; i < 4; i++) {
        config->widths[i] *= config->bottleneck ? 4 : 1;
        config->layers += config->depths[i];
    }
    config->hidden = config->widths[3];
    config->image = config_input_size(reader);
    config->classes = config_timm_classes(reader);
    activation_set(ACTIVATION_RELU, config);
    config->norm_epsilon = 1e-5;
    config->pad_token = -1;
}

/* -- the skeleton */

struct convolution_shape {
    int64_t outputs, inputs, kernel;
};

/* Kaiming, fan out: the variance of the gradient stays the same through a ReLU. */
static void skeleton_convolution(struct skeleton_builder *builder, int parent, const char *name,
                                 struct convolution_shape shape)
{
    const int64_t size[] = {shape.outputs, shape.inputs, shape.kernel, shape.kernel};
    double fan_out = (double)shape.outputs * (double)shape.kernel * (double)shape.kernel;
    builder_module(builder, parent, name, "Conv2d");
    builder_parameter(builder, "weight", (struct initial){.deviation = sqrt(2.0 / fan_out)}, 4, size);
}

/* The modules of timm that do nothing in these networks: DropBlock, which is switched off, and anti-aliasing. */
static void skeleton_idle(struct skeleton_builder *builder, int block, const char *name)
{
    builder_silent(builder, block, name, "Identity");
}

/* The last norm of a block starts at zero: a fresh block is the identity. */
static void skeleton_block(struct skeleton_builder *builder, int block, int64_t inputs, int64_t outputs)
{
    if (builder->config->bottleneck) {
        int64_t inner = outputs / 4;
        skeleton_convolution(builder, block, "conv1", (struct convolution_shape){inner, inputs, 1});
        builder_batchnorm(builder, block, "bn1", "BatchNorm2d", (struct norm_start){inner, 1});
        builder_activation(builder, block, "act1");
        skeleton_convolution(builder, block, "conv2", (struct convolution_shape){inner, inner, 3});
        builder_batchnorm(builder, block, "bn2", "BatchNorm2d", (struct norm_start){inner, 1});
        skeleton_idle(builder, block, "drop_block");
        builder_activation(builder, block, "act2");
        skeleton_idle(builder, block, "aa");
        skeleton_convolution(builder, block, "conv3", (struct convolution_shape){outputs, inner, 1});
        builder_batchnorm(builder, block, "bn3", "BatchNorm2d", (struct norm_start){outputs, 0});
        builder_activation(builder, block, "act3");
    } else {
        skeleton_convolution(builder, block, "conv1", (struct convolution_shape){outputs, inputs, 3});
        builder_batchnorm(builder, block, "bn1", "BatchNorm2d", (struct norm_start){outputs, 1});
        skeleton_idle(builder, block, "drop_block");
        builder_activation(builder, block, "act1");
        skeleton_idle(builder, block, "aa");
        skeleton_convolution(builder, block, "conv2", (struct convolution_shape){outputs, outputs, 3});
        builder_batchnorm(builder, block, "bn2", "BatchNorm2d", (struct norm_start){outputs, 0});
        builder_activation(builder, block, "act2");
    }
}

static void skeleton_stage(struct skeleton_builder *builder, int parent, int stage, int64_t inputs)
{
    const struct config *config = builder->config;
    int64_t outputs = config->widths[stage];
    for (int64_t i = 0; i < config->depths[stage]; i++) {
        int block = builder_element(builder, parent, i, config->bottleneck ? "Bottleneck" : "BasicBlock");
        skeleton_block(builder, block, inputs, outputs);
        if (i == 0 && (stage > 0 || inputs != outputs)) { /* the stride or the width changes: so must the shortcut */
            int shortcut = builder_module(builder, block, "downsample", "Sequential");
            skeleton_convolution(builder, shortcut, "0", (struct convolution_shape){outputs, inputs, 1});
            builder_batchnorm(builder, shortcut, "1", "BatchNorm2d", (struct norm_start){outputs, 1});
        }
        inputs = outputs;
    }
}

static void resnet_skeleton(struct skeleton_builder *builder, enum head head)
{
    (void)head;
    const struct config *config = builder->config;
    int root = builder_module(builder, -1, "", "ResNet");
    skeleton_convolution(builder, root, "conv1", (struct convolution_shape){config->stem, config->channels, 7});
    builder_batchnorm(builder, root, "bn1", "BatchNorm2d", (struct norm_start){config->stem, 1});
    builder_activation(builder, root, "act1");
    builder_silent(builder, root, "maxpool", "MaxPool2d");
    int64_t inputs = config->stem;
    for (int stage = 0; stage < 4; stage++) {
        char name[32];
        snprintf(name, sizeof name, "layer%d", stage + 1);
        skeleton_stage(builder, builder_module(builder, root, name, "Sequential"), stage, inputs);
        inputs = config->widths[stage];
    }
    builder_global_pool(builder, root);
    if (config->classes == 0) {
        builder_silent(builder, root, "fc", "Identity");
        return;
    }
    /* The framework's uniform(-1 / sqrt(inputs), 1 / sqrt(inputs)) has this deviation. */
    struct initial uniform = {.deviation = 1 / sqrt(3.0 * (double)inputs)};
    builder_module(builder, root, "fc", "Linear");
    builder_matrix(builder, "weight", uniform, config->classes, inputs);
    builder_vector(builder, "bias", uniform, config->classes);
}

/* -- the forward pass */

enum { PATH_BYTES = STAGE_PATH_BYTES + 32 };

static struct value *convolution(const struct forward *f, const char *path, struct value *a, int64_t stride,
                                 int64_t padding)
{
    return forward_convolution(f, path, a, (struct convolution_form){stride, padding, 1});
}

/* out = convN(a), out = bnN(out) of a block; the ReLU follows in place where it is asked for. What *out named goes as
 * soon as the convolution is there. */
static void unit(const struct stage_block *context, int number, struct value *a, struct value **out, int64_t stride,
                 int64_t padding, bool activate)
{
    const struct forward *f = context->forward;
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s.conv%d", context->path, number);
    value_rebind(f->tape, out, convolution(f, path, a, stride, padding));
    snprintf(path, sizeof path, "%s.bn%d", context->path, number);
    value_rebind(f->tape, out, forward_batchnorm(f, path, *out));
    if (activate) {
        snprintf(path, sizeof path, "%s.act%d", context->path, number);
        *out = forward_relu_in_place(f, path, *out);
    }
}

static struct value *shortcut(const struct stage_block *context, struct value *input, int64_t stride)
{
    const struct forward *f = context->forward;
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s.downsample.0.weight", context->path);
    if (skeleton_find(f->skeleton, path) < 0) {
        return NULL;
    }
    snprintf(path, sizeof path, "%s.downsample", context->path);
    struct module_visit visit = module_enter(f, path);
    input = module_argument(f, visit, input);
    snprintf(path, sizeof path, "%s.downsample.0", context->path);
    int frame = tape_frame_open(f->tape);
    struct value *out = convolution(f, path, input, stride, 0);
    snprintf(path, sizeof path, "%s.downsample.1", context->path);
    return module_leave(f, visit, tape_frame_close(f->tape, frame, forward_batchnorm(f, path, out)));
}

static struct value *resnet_block(struct tape *tape, const void *context_bytes, struct value *input)
{
    const struct stage_block *context = context_bytes;
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
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s.act%d", context->path, context->forward->config->bottleneck ? 3 : 2);
    out = forward_relu_in_place(context->forward, path, out);
    return tape_frame_close(tape, frame, out);
}

static struct value *stem(const struct forward *f)
{
    struct value *x = convolution(f, "conv1", f->images, 2, 3);
    value_rebind(f->tape, &x, forward_batchnorm(f, "bn1", x));
    x = forward_relu_in_place(f, "act1", x);
    struct module_visit visit = module_enter(f, "maxpool");
    struct value *pooled = tape_max_pool(f->tape, module_argument(f, visit, x), 3, 2, 1);
    value_rebind(f->tape, &x, module_leave(f, visit, pooled));
    return x;
}

/* Their Sequentials are "layer1" to "layer4". */
static const struct stage_names stages = {.stage = "layer", .block = ""};

static struct value *resnet_forward(const struct forward *f)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    struct value *x = stem(f);
    for (int stage = 0; stage < 4; stage++) {
        value_rebind(tape, &x, stage_run(f, &stages, stage, resnet_block, x));
    }
    value_rebind(tape, &x, forward_global_pool(f, "global_pool", x));
    if (f->config->classes > 0) {
        value_rebind(tape, &x, forward_linear(f, "fc", x));
    }
    if (f->labels == NULL) {
        return tape_frame_close(tape, frame, x);
    }
    return tape_frame_close(tape, frame, forward_criterion(f, x));
}

static const char *const architectures[] = {"resnet18", "resnet34", "resnet50", "resnet101", "resnet152", NULL};

const struct family family_resnet = {
    .name = "resnet",
    .architectures = architectures,
    .is_image = true,
    .read = resnet_read,
    .skeleton = resnet_skeleton,
    .forward = resnet_forward,
};
