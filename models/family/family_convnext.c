/* ConvNeXt: ConvNextModel and ConvNextForImageClassification (transformers 5.23): depthwise convolutions of 7 x 7,
 * layer normalisation over channels, and linear layers on pixels, whose channels lie last in memory. Not modelled: a
 * stochastic depth (drop_path_rate), of which the published models have none.
 *
 * Worked number: a layer of 96 channels has 96 * 49 + 96 + 2 * 96 + (96 * 384 + 384) + (384 * 96 + 96) + 96 = 79,296
 * parameters; facebook/convnext-tiny-224 has 28,589,128 with its 1000 classes, 27,820,128 without. */
#include "models/family/family_table.h"

#include <inttypes.h>
#include <stdio.h>

#include "models/config/config_part.h"
#include "models/forward/forward.h"
#include "models/forward/module_visit.h"
#include "models/skeleton/skeleton_builder.h"

#define NORM_EPSILON 1e-6 /* of all norms but the last, whatever the configuration says */

enum { DEPTHWISE_KERNEL = 7, WIDENING = 4, PATH_BYTES = 128 };

/* -- the configuration */

/* A list of at most CONFIG_STAGES_MAXIMUM numbers; returns how many, 0 after a fault. */
static int list_read(struct field_reader *reader, const char *key, int64_t maximum, int64_t *numbers)
{
    const struct json *list = field_member(reader, key);
    if (json_kind(list) == JSON_KIND_NULL) {
        return -1;
    }
    size_t count = json_count(list);
    if (json_kind(list) != JSON_KIND_ARRAY || count < 1 || count > CONFIG_STAGES_MAXIMUM) {
        field_fault(reader, key, "it is not a list of 1 to %d; write one whole number for each stage",
                    CONFIG_STAGES_MAXIMUM);
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        numbers[i] = json_integer_or(json_at(list, i), 0);
        if (numbers[i] < 1 || numbers[i] > maximum) {
            field_fault(reader, key, "element %zu is not a whole number from 1 to %" PRId64 "; write one", i, maximum);
            return 0;
        }
    }
    return (int)count;
}

static void stages_read(struct field_reader *reader, struct config *config)
{
    static const int64_t depths[] = {3, 3, 9, 3}, widths[] = {96, 192, 384, 768};
    for (int i = 0; i < 4; i++) {
        config->depths[i] = depths[i];
        config->widths[i] = widths[i];
    }
    int deep = list_read(reader, "depths", CONFIG_LAYERS_MAXIMUM, config->depths);
    int wide = list_read(reader, "hidden_sizes", CONFIG_COUNT_MAXIMUM, config->widths);
    deep = deep < 0 ? 4 : deep;
    wide = wide < 0 ? 4 : wide;
    if (json_kind(field_member(reader, "depths")) == JSON_KIND_NULL) {
        field_missing(reader, "depths", "[3, 3, 9, 3]");
    }
    if (json_kind(field_member(reader, "hidden_sizes")) == JSON_KIND_NULL) {
        field_missing(reader, "hidden_sizes", "[96, 192, 384, 768]");
    }
    int64_t stages = field_integer(reader, "num_stages", 1, CONFIG_STAGES_MAXIMUM, 4);
    if (stages != deep || stages != wide) {
        field_fault(reader, "num_stages",
                    "%" PRId64 " stages, but %d depths and %d hidden_sizes; write as many of each", stages, deep, wide);
        return;
    }
    for (int i = 0; i < CONFIG_STAGES_MAXIMUM; i++) {
        config->depths[i] = i < stages ? config->depths[i] : 0;
        config->layers += config->depths[i];
        config->hidden = config->depths[i] > 0 ? config->widths[i] : config->hidden;
    }
}

static void convnext_read(struct field_reader *reader, struct config *config)
{
    stages_read(reader, config);
    config->channels = field_integer(reader, "num_channels", 1, CONFIG_COUNT_MAXIMUM, 3);
    config->image = field_square(reader, "image_size", CONFIG_IMAGE_MAXIMUM, 224);
    config->patch = field_square(reader, "patch_size", CONFIG_IMAGE_MAXIMUM, 4);
    int64_t side = reader->code == STATUS_OK ? config->image / config->patch : 1;
    for (int i = 1; i < CONFIG_STAGES_MAXIMUM && config->depths[i] > 0; i++) {
        side /= 2;
    }
    if (side < 1) {
        field_fault(reader, "image_size", "%" PRId64 " pixels leave none for the last stage; write a larger image",
                    config->image);
    }
    config_activation(reader, "hidden_act", ACTIVATION_GELU, config);
    config->norm_epsilon = field_real(reader, "layer_norm_eps", 0, 1, 1e-12);
    config->layer_scale = field_real(reader, "layer_scale_init_value", -1e9, 1e9, 1e-6);
    if (field_real(reader, "drop_path_rate", 0, 1, 0) > 0) {
        field_fault(reader, "drop_path_rate", "a stochastic depth is not modelled; write 0.0");
    }
    config->classes = config_classes(reader);
    config->pad_token = -1;
}

/* -- the skeleton */

static void skeleton_norm(struct skeleton_builder *builder, int parent, const char *name, const char *class_name,
                          int64_t width)
{
    builder_module(builder, parent, name, class_name);
    builder_vector(builder, "weight", (struct initial){.constant = 1}, width);
    builder_vector(builder, "bias", (struct initial){0}, width);
}

static void skeleton_convolution(struct skeleton_builder *builder, int parent, const char *name, int64_t outputs,
                                 int64_t inputs, int64_t kernel)
{
    const int64_t size[] = {outputs, inputs, kernel, kernel};
    builder_module(builder, parent, name, "Conv2d");
    builder_parameter(builder, "weight", (struct initial){.deviation = builder->config->initializer_range}, 4, size);
    builder_vector(builder, "bias", (struct initial){0}, outputs);
}

static void skeleton_layer(struct skeleton_builder *builder, int parent, int64_t number, int64_t width)
{
    int layer = builder_element(builder, parent, number, "ConvNextLayer");
    builder_keep_whole(builder, layer);
    if (builder->config->layer_scale > 0) {
        builder_vector(builder, "layer_scale_parameter", (struct initial){.constant = builder->config->layer_scale},
                       width);
    }
    skeleton_convolution(builder, layer, "dwconv", width, 1, DEPTHWISE_KERNEL);
    skeleton_norm(builder, layer, "layernorm", "ConvNextLayerNorm", width);
    builder_linear(builder, layer, "pwconv1", WIDENING * width, width, true);
    builder_activation(builder, layer, "act");
    builder_linear(builder, layer, "pwconv2", width, WIDENING * width, true);
    builder_silent(builder, layer, "drop_path", "Identity"); /* convnext_read refuses a stochastic depth */
}

static void skeleton_stage(struct skeleton_builder *builder, int parent, int stage)
{
    const struct config *config = builder->config;
    int64_t width = config->widths[stage], before = stage > 0 ? config->widths[stage - 1] : width;
    int module = builder_element(builder, parent, stage, "ConvNextStage");
    builder_keep_whole(builder, module);
    int down = builder_module(builder, module, "downsampling_layer", "ModuleList"); /* of the first stage: empty */
    if (stage > 0) {
        skeleton_norm(builder, down, "0", "ConvNextLayerNorm", before);
        skeleton_convolution(builder, down, "1", width, before, 2);
    }
    int layers = builder_module(builder, module, "layers", "ModuleList");
    for (int64_t i = 0; i < config->depths[stage]; i++) {
        skeleton_layer(builder, layers, i, width);
    }
}

static void convnext_skeleton(struct skeleton_builder *builder, enum head head)
{
    const struct config *config = builder->config;
    int root = -1;
    int model = -1;
    if (head == HEAD_LM) {
        root = builder_module(builder, -1, "", "ConvNextForImageClassification");
        model = builder_module(builder, root, "convnext", "ConvNextModel");
    } else {
        model = builder_module(builder, -1, "", "ConvNextModel");
    }
    int embeddings = builder_module(builder, model, "embeddings", "ConvNextEmbeddings");
    skeleton_convolution(builder, embeddings, "patch_embeddings", config->widths[0], config->channels, config->patch);
    skeleton_norm(builder, embeddings, "layernorm", "ConvNextLayerNorm", config->widths[0]);
    int encoder = builder_module(builder, model, "encoder", "ConvNextEncoder");
    int stages = builder_module(builder, encoder, "stages", "ModuleList");
    for (int i = 0; i < CONFIG_STAGES_MAXIMUM && config->depths[i] > 0; i++) {
        skeleton_stage(builder, stages, i);
    }
    skeleton_norm(builder, model, "layernorm", "LayerNorm", config->hidden);
    if (head == HEAD_LM) {
        builder_linear(builder, root, "classifier", config->classes, config->hidden, true);
    }
}

/* -- the forward pass */

/* [N, C, H, W] -> [N, H, W, C], and back: views. */
static struct value *channels_last(struct tape *tape, struct value *a)
{
    int frame = tape_frame_open(tape);
    return tape_frame_close(tape, frame, tape_transpose(tape, tape_transpose(tape, a, 1, 2), 2, 3));
}

static struct value *channels_second(struct tape *tape, struct value *a)
{
    int frame = tape_frame_open(tape);
    return tape_frame_close(tape, frame, tape_transpose(tape, tape_transpose(tape, a, 2, 3), 1, 2));
}

/* ConvNextLayerNorm, of [N, H, W, C] or (second) [N, C, H, W]. */
static struct value *norm(const struct forward *f, const char *path, bool second, struct value *a)
{
    struct tape *tape = f->tape;
    struct module_visit visit = module_enter(f, path);
    struct value *weight = part_value(f, path, "weight"), *bias = part_value(f, path, "bias");
    a = module_argument(f, visit, a);
    int frame = tape_frame_open(tape);
    struct value *features = second ? channels_last(tape, a) : a;
    features = tape_layernorm(tape, features, weight, bias, NORM_EPSILON);
    features = second ? channels_second(tape, features) : features;
    return module_leave(f, visit, tape_frame_close(tape, frame, features));
}

static struct value *convolution(const struct forward *f, const char *path, struct value *a, int64_t stride,
                                 int64_t padding, int64_t groups)
{
    return forward_convolution(f, path, a, (struct convolution_form){stride, padding, groups});
}

static struct value *convnext_layer(const struct forward *f, const char *path, struct value *residual)
{
    struct tape *tape = f->tape;
    struct module_visit visit = module_enter(f, path);
    residual = module_argument(f, visit, residual);
    int frame = tape_frame_open(tape);
    char name[PATH_BYTES + 16];
    snprintf(name, sizeof name, "%s.dwconv", path);
    struct value *features = convolution(f, name, residual, 1, DEPTHWISE_KERNEL / 2, value_size(residual, 1));
    value_rebind(tape, &features, channels_last(tape, features));
    snprintf(name, sizeof name, "%s.layernorm", path);
    value_rebind(tape, &features, norm(f, name, false, features));
    snprintf(name, sizeof name, "%s.pwconv1", path);
    value_rebind(tape, &features, forward_linear(f, name, features));
    snprintf(name, sizeof name, "%s.act", path);
    features = forward_activation_module(f, name, features);
    snprintf(name, sizeof name, "%s.pwconv2", path);
    value_rebind(tape, &features, forward_linear(f, name, features));
    struct value *scale = part_optional(f, path, "layer_scale_parameter");
    if (scale != NULL) {
        value_rebind(tape, &features, tape_multiply(tape, scale, features));
    }
    value_rebind(tape, &features, channels_second(tape, features));
    return module_leave(f, visit, tape_frame_close(tape, frame, tape_add(tape, residual, features)));
}

static struct value *convnext_stage(const struct forward *f, const char *root, int stage, struct value *input)
{
    struct tape *tape = f->tape;
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%sencoder.stages.%d", root, stage);
    struct module_visit visit = module_enter(f, path);
    input = module_argument(f, visit, input);
    int frame = tape_frame_open(tape);
    struct value *features = NULL; /* input keeps its caller's name until the stage returns */
    if (stage > 0) {
        snprintf(path, sizeof path, "%sencoder.stages.%d.downsampling_layer.0", root, stage);
        features = norm(f, path, true, input);
        snprintf(path, sizeof path, "%sencoder.stages.%d.downsampling_layer.1", root, stage);
        value_rebind(tape, &features, convolution(f, path, features, 2, 0, 1));
    }
    for (int64_t i = 0; i < f->config->depths[stage]; i++) {
        snprintf(path, sizeof path, "%sencoder.stages.%d.layers.%lld", root, stage, (long long)i);
        value_rebind(tape, &features, convnext_layer(f, path, features != NULL ? features : input));
    }
    return module_leave(f, visit, tape_frame_close(tape, frame, features));
}

/* ConvNextEmbeddings. */
static struct value *embeddings(const struct forward *f, const char *root)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%sembeddings.patch_embeddings", root);
    struct value *patches = convolution(f, path, f->images, f->config->patch, 0, 1);
    snprintf(path, sizeof path, "%sembeddings.layernorm", root);
    struct value *embedded = norm(f, path, true, patches);
    tape_drop(f->tape, patches);
    return embedded;
}

/* ConvNextEncoder: embedded keeps its name. */
static struct value *encoder(const struct forward *f, const char *root, struct value *embedded)
{
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%sencoder", root);
    struct module_visit visit = module_enter(f, path);
    embedded = module_argument(f, visit, embedded);
    struct value *hidden = NULL;
    for (int stage = 0; stage < CONFIG_STAGES_MAXIMUM && f->config->depths[stage] > 0; stage++) {
        value_rebind(f->tape, &hidden, convnext_stage(f, root, stage, hidden != NULL ? hidden : embedded));
    }
    return module_leave(f, visit, hidden);
}

/* *hidden: the last of the stages, *pooled: the mean of its pixels, normalised. Both belong to the open frame, and so
 * does what the model keeps by name until it returns. */
static void model_run(const struct forward *f, const char *root, struct value **hidden, struct value **pooled)
{
    struct tape *tape = f->tape;
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%sembeddings", root);
    struct value *embedded = module_run(f, path, embeddings, root);
    *hidden = encoder(f, root, embedded);
    struct value *mean = tape_mean_spatial(tape, *hidden);
    if (mean != NULL) {
        int64_t flat[] = {value_size(mean, 0), value_size(mean, 1)};
        value_rebind(tape, &mean, tape_reshape(tape, mean, 2, flat));
    }
    snprintf(path, sizeof path, "%slayernorm", root);
    *pooled = forward_layernorm(f, path, mean);
    tape_drop(tape, mean);
}

/* ConvNextModel below the classifier: its output keeps both. */
static struct value *model_pooled(const struct forward *f)
{
    struct value *hidden = NULL, *pooled = NULL;
    struct module_visit visit = module_enter(f, "convnext");
    struct forward inside = *f;
    inside.images = module_argument(f, visit, f->images);
    model_run(&inside, "convnext.", &hidden, &pooled);
    struct value *const results[] = {hidden, pooled};
    module_leave_all(f, visit, results, 2);
    return pooled;
}

static struct value *convnext_forward(const struct forward *f)
{
    struct tape *tape = f->tape;
    struct value *hidden = NULL, *pooled = NULL;
    int frame = tape_frame_open(tape);
    if (f->skeleton->head == HEAD_BARE) {
        model_run(f, "", &hidden, &pooled);
        forward_output_keep(f, pooled);
        return tape_frame_close(tape, frame, hidden);
    }
    struct value *logits = forward_linear(f, "classifier", model_pooled(f));
    if (f->labels == NULL) {
        return tape_frame_close(tape, frame, logits);
    }
    return tape_frame_close(tape, frame, forward_class_loss(f, logits));
}

static const char *const model_types[] = {"convnext", NULL};

const struct family family_convnext = {
    .name = "convnext",
    .model_types = model_types,
    .is_image = true,
    .refuses_checkpointing = true,
    .read = convnext_read,
    .skeleton = convnext_skeleton,
    .forward = convnext_forward,
};
