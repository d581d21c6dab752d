/* VGG: timm's (1.0.31), plain stacks of 3 x 3 convolutions with rectifiers in place, whose first two linear layers are
 * convolutions of 7 x 7 and of 1 x 1. Not the variants with batch norms, nor images below the 224 pixels that leave 7 x
 * 7 of them: timm would pool those upward.
 *
 * Worked number: vgg16 has 14,714,688 parameters in its 13 convolutions, 512 * 4096 * 49 + 4096 = 102,764,544 and
 * 4096 * 4096 + 4096 = 16,781,312 in the two that follow, 4,097,000 in the classifier: 138,357,544. */
#include "models/family/family_table.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/config/config_part.h"
#include "models/forward/forward.h"
#include "models/forward/module_visit.h"
#include "models/skeleton/skeleton_builder.h"

enum { STAGES = CONFIG_STAGES_MAXIMUM, WIDTH = 4096, WINDOW = 7 };

/* -- the configuration */

static const struct {
    const char *name;
    int64_t depths[STAGES];
} vggs[] = {
    {"vgg11", {1, 1, 2, 2, 2}},
    {"vgg13", {2, 2, 2, 2, 2}},
    {"vgg16", {2, 2, 3, 3, 3}},
    {"vgg19", {2, 2, 4, 4, 4}},
};

/* The VGG class's own argument: widths and, where an image is halved, "M". All of a stage must be of one width. */
static void stages_read(struct field_reader *reader, const struct json *list, struct config *config)
{
    int stage = 0;
    memset(config->depths, 0, sizeof config->depths);
    for (size_t i = 0; i < json_count(list); i++) {
        int64_t width = json_integer_or(json_at(list, i), 0);
        bool pools = strcmp(json_string_or(json_at(list, i), ""), "M") == 0;
        bool fits = stage < STAGES && (pools ? config->depths[stage] > 0
                                             : width > 0 && width <= CONFIG_COUNT_MAXIMUM &&
                                                   (config->depths[stage] == 0 || config->widths[stage] == width));
        if (!fits) {
            field_fault(reader, "cfg",
                        "element %zu does not fit; write up to %d stages of equal widths, each with an \"M\""
                        " behind it",
                        i, STAGES);
            return;
        }
        if (pools) {
            stage++;
        } else {
            config->widths[stage] = width;
            config->depths[stage]++;
        }
    }
    if (stage == 0 || (stage < STAGES && config->depths[stage] > 0)) {
        field_fault(reader, "cfg", "the last element is not \"M\"; write one behind the last stage");
    }
}

static void arguments_read(struct field_reader *reader, struct config *config)
{
    static const char *const known[] = {"cfg", "mlp_ratio", "in_chans", NULL};
    struct field_reader inner;
    if (!config_arguments(reader, known, "cfg, mlp_ratio, in_chans", &inner)) {
        return;
    }
    if (field_member(&inner, "cfg") != NULL) {
        stages_read(&inner, field_member(&inner, "cfg"), config);
    }
    config->ffn = (int64_t)(WIDTH * field_real(&inner, "mlp_ratio", 1.0 / WIDTH, 1024, 1));
    config->channels = field_integer(&inner, "in_chans", 1, CONFIG_COUNT_MAXIMUM, config->channels);
    reader->code = reader->code != STATUS_OK ? reader->code : inner.code;
}

static void vgg_read(struct field_reader *reader, struct config *config)
{
    static const int64_t widths[STAGES] = {64, 128, 256, 512, 512};
    size_t row = 0;
    while (row + 1 < sizeof vggs / sizeof vggs[0] && strcmp(vggs[row].name, config->architecture) != 0) {
        row++;
    }
    memcpy(config->depths, vggs[row].depths, sizeof config->depths);
    memcpy(config->widths, widths, sizeof widths);
    config->channels = 3;
    config->ffn = WIDTH;
    config->hidden = WIDTH;
    arguments_read(reader, config);
    int64_t smallest = WINDOW;
    for (int i = 0; i < STAGES && config->depths[i] > 0; i++) {
        config->layers += config->depths[i];
        smallest *= 2;
    }
    config->image = config_input_size(reader);
    if (config->image < smallest) {
        field_fault(reader, "pretrained_cfg.input_size",
                    "%" PRId64 " pixels leave less than the window of %d, which timm pools upward and is not modelled; "
                    "write at least %" PRId64,
                    config->image, WINDOW, smallest);
    }
    config->classes = config_timm_classes(reader);
    activation_set(ACTIVATION_RELU, config);
    config->pad_token = -1;
}

/* -- the skeleton */

/* Kaiming, fan out: the variance of the gradient stays the same through a ReLU. */
static void skeleton_convolution(struct skeleton_builder *builder, const int64_t size[4])
{
    double fan_out = (double)size[0] * (double)size[2] * (double)size[3];
    builder_parameter(builder, "weight", (struct initial){.deviation = sqrt(2.0 / fan_out)}, 4, size);
    builder_vector(builder, "bias", (struct initial){0}, size[0]);
}

/* Always with the classifier: a bare one is not made. */
static void vgg_skeleton(struct skeleton_builder *builder, enum head head)
{
    const struct config *config = builder->config;
    (void)head;
    int root = builder_module(builder, -1, "", "VGG");
    int features = builder_module(builder, root, "features", "Sequential");
    int64_t inputs = config->channels, number = 0;
    for (int stage = 0; stage < STAGES && config->depths[stage] > 0; stage++) {
        for (int64_t i = 0; i < config->depths[stage]; i++) {
            const int64_t size[] = {config->widths[stage], inputs, 3, 3};
            builder_element(builder, features, number, "Conv2d");
            skeleton_convolution(builder, size);
            inputs = config->widths[stage];
            builder_element(builder, features, number + 1, config->activation_class);
            number += 2;
        }
        builder_element(builder, features, number++, "MaxPool2d");
    }
    const int64_t first[] = {config->ffn, inputs, WINDOW, WINDOW}, second[] = {WIDTH, config->ffn, 1, 1};
    int before = builder_module(builder, root, "pre_logits", "ConvMlp");
    builder_module(builder, before, "fc1", "Conv2d");
    skeleton_convolution(builder, first);
    builder_activation(builder, before, "act1");
    builder_dropout(builder, before, "drop");
    builder_module(builder, before, "fc2", "Conv2d");
    skeleton_convolution(builder, second);
    builder_activation(builder, before, "act2");
    int classifier = builder_module(builder, root, "head", "ClassifierHead");
    builder_global_pool(builder, classifier);
    builder_dropout(builder, classifier, "drop");
    if (config->classes > 0) {
        builder_linear(builder, classifier, "fc", config->classes, WIDTH, true);
    } else {
        builder_silent(builder, classifier, "fc", "Identity");
    }
    builder_silent(builder, classifier, "flatten", "Identity"); /* the pooling has flattened */
}

/* -- the forward pass */

/* *out = relu_(convolution(a)); what *out named goes as soon as the convolution is there. */
static void unit(const struct forward *f, const char *path, const char *activation, struct value *a, int64_t padding,
                 struct value **out)
{
    value_rebind(f->tape, out, forward_convolution(f, path, a, (struct convolution_form){1, padding, 1}));
    *out = forward_relu_in_place(f, activation, *out);
}

static struct value *features(const struct forward *f)
{
    struct module_visit visit = module_enter(f, "features");
    struct value *images = module_argument(f, visit, f->images), *x = NULL;
    char path[64], next[64];
    int number = 0;
    for (int stage = 0; stage < STAGES && f->config->depths[stage] > 0; stage++) {
        for (int64_t i = 0; i < f->config->depths[stage]; i++) {
            snprintf(path, sizeof path, "features.%d", number);
            snprintf(next, sizeof next, "features.%d", number + 1);
            unit(f, path, next, x != NULL ? x : images, 1, &x);
            number += 2;
        }
        snprintf(path, sizeof path, "features.%d", number);
        struct module_visit pool = module_enter(f, path);
        struct value *pooled = tape_max_pool(f->tape, module_argument(f, pool, x), 2, 2, 0);
        value_rebind(f->tape, &x, module_leave(f, pool, pooled));
        number++;
    }
    return module_leave(f, visit, x);
}

/* ConvMlp: the result keeps its name until the model returns. */
static struct value *before_logits(const struct forward *f, struct value *seen)
{
    struct module_visit visit = module_enter(f, "pre_logits");
    struct value *x = NULL;
    unit(f, "pre_logits.fc1", "pre_logits.act1", module_argument(f, visit, seen), 0, &x);
    unit(f, "pre_logits.fc2", "pre_logits.act2", x, 0, &x);
    return module_leave(f, visit, x);
}

static struct value *classifier(const struct forward *f, struct value *x)
{
    struct tape *tape = f->tape;
    struct module_visit visit = module_enter(f, "head");
    struct value *pooled = forward_global_pool(f, "head.global_pool", module_argument(f, visit, x));
    value_rebind(tape, &pooled, forward_linear(f, "head.fc", pooled));
    return module_leave(f, visit, pooled);
}

static struct value *vgg_forward(const struct forward *f)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    struct value *seen = features(f); /* this and x keep their names until the model returns */
    struct value *x = before_logits(f, seen);
    struct value *logits = classifier(f, x);
    if (f->labels == NULL) {
        return tape_frame_close(tape, frame, logits);
    }
    return tape_frame_close(tape, frame, forward_criterion(f, logits));
}

static const char *const architectures[] = {"vgg11", "vgg13", "vgg16", "vgg19", NULL};

const struct family family_vgg = {
    .name = "vgg",
    .architectures = architectures,
    .is_image = true,
    .refuses_checkpointing = true,
    .read = vgg_read,
    .skeleton = vgg_skeleton,
    .forward = vgg_forward,
};
