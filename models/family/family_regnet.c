/* RegNets of timm (1.0.31), X and Y: bottlenecks whose middle convolution is grouped, those of Y with squeeze-and-
 * excitation behind it. Not V and Z, nor the one with group norms: other blocks. The weights of torchvision's that timm
 * has (tv_in1k, tv2_in1k) are those of its class, in which the ReLU at the end of a block is in place; timm's is not.
 *
 * Worked number: regnety_004 grows in 16 blocks from 48 channels by 27.89 each, rounded to powers of 2.09: 1 block of
 * 48 channels, 3 of 104, 6 of 208 and 6 of 440, in groups of 8. 864 parameters in the stem's convolution and 64 in its
 * norm; 10,040 + 102,296 + 737,438 + 3,052,442 in the stages, 441,000 in the classifier: 4,344,144. */
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

enum { STAGES = 4, QUANTUM = 8, PATH_BYTES = 96 };

/* -- the configuration */

/* From what the widths follow, with the names of timm's RegNetCfg. */
struct regnet_rule {
    int64_t depth, w0, group;
    double wa, wm, se_ratio;
    bool torchvision; /* group_min_ratio=0.9: widths are never rounded down by more than a tenth */
};

/* The numbers of an architecture stand in timm's code. */
#define REGNETS(X)                                                                                                     \
    X(regnetx_002, .depth = 13, .w0 = 24, .wa = 36.44, .wm = 2.49, .group = 8)                                         \
    X(regnetx_004, .depth = 22, .w0 = 24, .wa = 24.48, .wm = 2.54, .group = 16)                                        \
    X(regnetx_004_tv, .depth = 22, .w0 = 24, .wa = 24.48, .wm = 2.54, .group = 16, .torchvision = true)                \
    X(regnetx_006, .depth = 16, .w0 = 48, .wa = 36.97, .wm = 2.24, .group = 24)                                        \
    X(regnetx_008, .depth = 16, .w0 = 56, .wa = 35.73, .wm = 2.28, .group = 16)                                        \
    X(regnetx_016, .depth = 18, .w0 = 80, .wa = 34.01, .wm = 2.25, .group = 24)                                        \
    X(regnetx_032, .depth = 25, .w0 = 88, .wa = 26.31, .wm = 2.25, .group = 48)                                        \
    X(regnetx_040, .depth = 23, .w0 = 96, .wa = 38.65, .wm = 2.43, .group = 40)                                        \
    X(regnetx_064, .depth = 17, .w0 = 184, .wa = 60.83, .wm = 2.07, .group = 56)                                       \
    X(regnetx_080, .depth = 23, .w0 = 80, .wa = 49.56, .wm = 2.88, .group = 120)                                       \
    X(regnetx_120, .depth = 19, .w0 = 168, .wa = 73.36, .wm = 2.37, .group = 112)                                      \
    X(regnetx_160, .depth = 22, .w0 = 216, .wa = 55.59, .wm = 2.1, .group = 128)                                       \
    X(regnetx_320, .depth = 23, .w0 = 320, .wa = 69.86, .wm = 2.0, .group = 168)                                       \
    X(regnety_002, .depth = 13, .w0 = 24, .wa = 36.44, .wm = 2.49, .group = 8, .se_ratio = 0.25)                       \
    X(regnety_004, .depth = 16, .w0 = 48, .wa = 27.89, .wm = 2.09, .group = 8, .se_ratio = 0.25)                       \
    X(regnety_006, .depth = 15, .w0 = 48, .wa = 32.54, .wm = 2.32, .group = 16, .se_ratio = 0.25)                      \
    X(regnety_008, .depth = 14, .w0 = 56, .wa = 38.84, .wm = 2.4, .group = 16, .se_ratio = 0.25)                       \
    X(regnety_008_tv, .depth = 14, .w0 = 56, .wa = 38.84, .wm = 2.4, .group = 16, .se_ratio = 0.25,                    \
      .torchvision = true)                                                                                             \
    X(regnety_016, .depth = 27, .w0 = 48, .wa = 20.71, .wm = 2.65, .group = 24, .se_ratio = 0.25)                      \
    X(regnety_032, .depth = 21, .w0 = 80, .wa = 42.63, .wm = 2.66, .group = 24, .se_ratio = 0.25)                      \
    X(regnety_040, .depth = 22, .w0 = 96, .wa = 31.41, .wm = 2.24, .group = 64, .se_ratio = 0.25)                      \
    X(regnety_064, .depth = 25, .w0 = 112, .wa = 33.22, .wm = 2.27, .group = 72, .se_ratio = 0.25)                     \
    X(regnety_080, .depth = 17, .w0 = 192, .wa = 76.82, .wm = 2.19, .group = 56, .se_ratio = 0.25)                     \
    X(regnety_080_tv, .depth = 17, .w0 = 192, .wa = 76.82, .wm = 2.19, .group = 56, .se_ratio = 0.25,                  \
      .torchvision = true)                                                                                             \
    X(regnety_120, .depth = 19, .w0 = 168, .wa = 73.36, .wm = 2.37, .group = 112, .se_ratio = 0.25)                    \
    X(regnety_160, .depth = 18, .w0 = 200, .wa = 106.23, .wm = 2.48, .group = 112, .se_ratio = 0.25)                   \
    X(regnety_320, .depth = 20, .w0 = 232, .wa = 115.89, .wm = 2.53, .group = 232, .se_ratio = 0.25)                   \
    X(regnety_640, .depth = 20, .w0 = 352, .wa = 147.48, .wm = 2.4, .group = 328, .se_ratio = 0.25)                    \
    X(regnety_1280, .depth = 27, .w0 = 456, .wa = 160.83, .wm = 2.52, .group = 264, .se_ratio = 0.25)                  \
    X(regnety_2560, .depth = 27, .w0 = 640, .wa = 230.83, .wm = 2.53, .group = 373, .se_ratio = 0.25)

#define REGNET_ROW(architecture, ...) {#architecture, {__VA_ARGS__}},
static const struct {
    const char *name;
    struct regnet_rule rule;
} regnets[] = {REGNETS(REGNET_ROW)};
#undef REGNET_ROW

/* Known and refused. */
static const struct {
    const char *name, *reason;
} others[] = {
    {"regnety_040_sgn", "its norms are over groups of channels, and its activations SiLUs"},
    {"regnetv_040", "its blocks begin with their norms (preact)"},
    {"regnetv_064", "its blocks begin with their norms (preact)"},
    {"regnetz_005", "its blocks widen inside and have no shortcut where the width changes"},
    {"regnetz_040", "its blocks widen inside and have no shortcut where the width changes"},
    {"regnetz_040_h", "its blocks widen inside and have no shortcut where the width changes"},
};

static struct regnet_rule rule_find(struct field_reader *reader, const char *architecture)
{
    for (size_t i = 0; i < sizeof regnets / sizeof regnets[0]; i++) {
        if (strcmp(regnets[i].name, architecture) == 0) {
            return regnets[i].rule;
        }
    }
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (strcmp(others[i].name, architecture) == 0) {
            field_fault(reader, "architecture", "'%s' is not modelled: %s; take a regnetx_ or regnety_", architecture,
                        others[i].reason);
        }
    }
    return regnets[0].rule;
}

/* What create_model would be given besides the name. Others than these would change the network. */
static void arguments_read(struct field_reader *reader, struct regnet_rule *rule, struct config *config)
{
    static const char *const known[] = {"depth",    "w0",         "wa",       "wm",        "group_size",
                                        "se_ratio", "stem_width", "in_chans", "drop_rate", NULL};
    struct field_reader inner;
    if (!config_arguments(reader, known, "depth, w0, wa, wm, group_size, se_ratio, stem_width, in_chans, drop_rate",
                          &inner)) {
        return;
    }
    rule->depth = field_integer(&inner, "depth", STAGES, CONFIG_LAYERS_MAXIMUM, rule->depth);
    rule->w0 = field_integer(&inner, "w0", QUANTUM, CONFIG_COUNT_MAXIMUM, rule->w0);
    rule->wa = field_real(&inner, "wa", 0, 1e6, rule->wa);
    rule->wm = field_real(&inner, "wm", 1.001, 1e6, rule->wm);
    rule->group = field_integer(&inner, "group_size", 1, CONFIG_COUNT_MAXIMUM, rule->group);
    rule->se_ratio = field_real(&inner, "se_ratio", 0, 1, rule->se_ratio);
    config->stem = field_integer(&inner, "stem_width", 1, CONFIG_COUNT_MAXIMUM, config->stem);
    config->channels = field_integer(&inner, "in_chans", 1, CONFIG_COUNT_MAXIMUM, config->channels);
    config->classifier_dropout = field_real(&inner, "drop_rate", 0, 0.999, 0);
    if (inner.code == STATUS_OK && rule->w0 % QUANTUM != 0) {
        field_fault(&inner, "w0", "%" PRId64 " is not a multiple of %d; write one", rule->w0, QUANTUM);
    }
    reader->code = reader->code != STATUS_OK ? reader->code : inner.code;
}

/* generate_regnet: the width of a block grows evenly, is rounded to a power of wm times the first one and then to a
 * multiple of 8, in float32 as PyTorch computes it. */
static double block_width(const struct regnet_rule *rule, int64_t block)
{
    float first = (float)rule->w0, width = (float)block * (float)rule->wa + first;
    float exponent = nearbyintf(logf(width / first) / (float)log(rule->wm));
    return nearbyintf(first * powf((float)rule->wm, exponent) / (float)QUANTUM) * (float)QUANTUM;
}

/* adjust_widths_groups_comp: the nearest multiple of the group; in torchvision's way never less than nine tenths. */
static int64_t width_fit(const struct regnet_rule *rule, int64_t width)
{
    int64_t group = rule->group < width ? rule->group : width;
    if (!rule->torchvision) {
        return (int64_t)nearbyint((double)width / (double)group) * group;
    }
    int64_t fitted = (2 * width + group) / (2 * group) * group;
    return (double)fitted < 0.9 * (double)width ? fitted + group : fitted;
}

/* Blocks of one width are a stage. */
static void stages_make(struct field_reader *reader, const struct regnet_rule *rule, struct config *config)
{
    int stages = 0;
    double before = 0;
    for (int64_t i = 0; i < rule->depth && stages <= STAGES; i++) {
        double width = block_width(rule, i);
        if (!(width <= (double)CONFIG_COUNT_MAXIMUM)) {
            field_fault(reader, "model_args", "the widths grow past %" PRId64 "; write a smaller wa or wm",
                        CONFIG_COUNT_MAXIMUM);
            return;
        }
        stages += width != before ? 1 : 0;
        if (stages <= STAGES) {
            config->widths[stages - 1] = width_fit(rule, (int64_t)width);
            config->depths[stages - 1]++;
        }
        before = width;
    }
    if (stages != STAGES) {
        field_fault(reader, "model_args", "depth, w0, wa and wm make %s stages, and the class takes %d; write others",
                    stages < STAGES ? "fewer" : "more", STAGES);
    }
}

/* Channels inside of a squeeze-and-excitation: int(round(inputs * se_ratio)). */
static int64_t squeezed_width(const struct config *config, int64_t inputs)
{
    return (int64_t)nearbyint((double)inputs * config->squeeze_ratio);
}

static void regnet_read(struct field_reader *reader, struct config *config)
{
    struct regnet_rule rule = rule_find(reader, config->architecture);
    config->stem = 32;
    config->channels = 3;
    arguments_read(reader, &rule, config);
    if (reader->code != STATUS_OK) {
        return;
    }
    stages_make(reader, &rule, config);
    config->layers = rule.depth;
    config->group_width = rule.group;
    config->squeeze_ratio = rule.se_ratio;
    int64_t narrowest = config->stem < config->widths[0] ? config->stem : config->widths[0];
    if (rule.se_ratio > 0 && squeezed_width(config, narrowest) < 1) {
        field_fault(reader, "model_args", "an se_ratio of %g leaves no channel of %" PRId64 "; write a larger one or 0",
                    rule.se_ratio, narrowest);
    }
    config->hidden = config->widths[STAGES - 1];
    config->image = config_input_size(reader);
    config->classes = config_timm_classes(reader);
    activation_set(ACTIVATION_RELU, config);
    config->norm_epsilon = 1e-5;
    config->pad_token = -1;
}

static int64_t groups_of(const struct config *config, int64_t width)
{
    return width > config->group_width ? width / config->group_width : 1;
}

/* -- the skeleton */

struct convolution_shape {
    int64_t outputs, inputs, kernel, groups;
};

/* Modules that do nothing in these networks. */
static void idle(struct skeleton_builder *builder, int parent, const char *name)
{
    builder_silent(builder, parent, name, "Identity");
}

/* Kaiming, fan out. */
static void skeleton_convolution(struct skeleton_builder *builder, int parent, const char *name,
                                 struct convolution_shape shape)
{
    const int64_t size[] = {shape.outputs, shape.inputs / shape.groups, shape.kernel, shape.kernel};
    double fan_out = (double)(shape.kernel * shape.kernel) * (double)(shape.outputs / shape.groups);
    builder_module(builder, parent, name, "Conv2d");
    builder_parameter(builder, "weight", (struct initial){.deviation = sqrt(2.0 / fan_out)}, 4, size);
}

/* ConvNormAct: a convolution, and a batch norm that has the activation if there is one. */
static void skeleton_unit(struct skeleton_builder *builder, int parent, const char *name,
                          struct convolution_shape shape, bool activates)
{
    /* The last norm of a block starts at zero: a fresh block is its shortcut. */
    double scale = strcmp(name, "conv3") == 0 ? 0 : 1;
    int unit = builder_module(builder, parent, name, "ConvNormAct");
    skeleton_convolution(builder, unit, "conv", shape);
    int norm = builder_batchnorm(builder, unit, "bn", "BatchNormAct2d", (struct norm_start){shape.outputs, scale});
    idle(builder, norm, "drop");
    if (activates) {
        builder_activation(builder, norm, "act");
    } else {
        idle(builder, norm, "act");
    }
}

static void skeleton_squeeze(struct skeleton_builder *builder, int block, int64_t width, int64_t inner)
{
    int squeeze = builder_module(builder, block, "se", "SEModule");
    skeleton_convolution(builder, squeeze, "fc1", (struct convolution_shape){inner, width, 1, 1});
    builder_vector(builder, "bias", (struct initial){0}, inner);
    idle(builder, squeeze, "bn");
    builder_activation(builder, squeeze, "act");
    skeleton_convolution(builder, squeeze, "fc2", (struct convolution_shape){width, inner, 1, 1});
    builder_vector(builder, "bias", (struct initial){0}, width);
    builder_silent(builder, squeeze, "gate", "Sigmoid");
}

static void skeleton_block(struct skeleton_builder *builder, int block, int64_t inputs, int64_t width, bool strides)
{
    const struct config *config = builder->config;
    skeleton_unit(builder, block, "conv1", (struct convolution_shape){width, inputs, 1, 1}, true);
    skeleton_unit(builder, block, "conv2", (struct convolution_shape){width, width, 3, groups_of(config, width)}, true);
    if (config->squeeze_ratio > 0) {
        skeleton_squeeze(builder, block, width, squeezed_width(config, inputs));
    } else {
        idle(builder, block, "se");
    }
    skeleton_unit(builder, block, "conv3", (struct convolution_shape){width, width, 1, 1}, false);
    builder_activation(builder, block, "act3");
    if (strides) {
        skeleton_unit(builder, block, "downsample", (struct convolution_shape){width, inputs, 1, 1}, false);
    } else {
        idle(builder, block, "downsample");
    }
    idle(builder, block, "drop_path");
}

static void regnet_skeleton(struct skeleton_builder *builder, enum head head)
{
    (void)head; /* always with its classifier */
    const struct config *config = builder->config;
    int root = builder_module(builder, -1, "", "RegNet");
    skeleton_unit(builder, root, "stem", (struct convolution_shape){config->stem, config->channels, 3, 1}, true);
    int64_t inputs = config->stem;
    for (int stage = 0; stage < STAGES; stage++) {
        char name[32];
        snprintf(name, sizeof name, "s%d", stage + 1);
        int parent = builder_module(builder, root, name, "RegStage");
        for (int64_t i = 0; i < config->depths[stage]; i++) {
            snprintf(name, sizeof name, "b%" PRId64, i + 1);
            int block = builder_module(builder, parent, name, "Bottleneck");
            skeleton_block(builder, block, inputs, config->widths[stage], i == 0);
            inputs = config->widths[stage];
        }
    }
    idle(builder, root, "final_conv");
    int classifier = builder_module(builder, root, "head", "ClassifierHead");
    builder_global_pool(builder, classifier);
    builder_dropout(builder, classifier, "drop");
    if (config->classes > 0) {
        builder_module(builder, classifier, "fc", "Linear");
        builder_matrix(builder, "weight", (struct initial){.deviation = 0.01}, config->classes, inputs);
        builder_vector(builder, "bias", (struct initial){0}, config->classes);
    } else {
        idle(builder, classifier, "fc");
    }
    idle(builder, classifier, "flatten");
}

/* -- the forward pass */

/* ConvNormAct: what the convolution makes keeps its name until the norm returns. */
static struct value *unit(const struct forward *f, const char *path, struct value *a, struct convolution_form form,
                          bool activates)
{
    char name[PATH_BYTES];
    struct module_visit visit = module_enter(f, path);
    a = module_argument(f, visit, a);
    int frame = tape_frame_open(f->tape);
    snprintf(name, sizeof name, "%s.conv", path);
    struct value *x = forward_convolution(f, name, a, form);
    snprintf(name, sizeof name, "%s.bn", path);
    x = activates ? forward_batchnorm_relu(f, name, x) : forward_batchnorm(f, name, x);
    return module_leave(f, visit, tape_frame_close(f->tape, frame, x));
}

/* SEModule: x times a factor for each channel, made of the means of all channels. */
static struct value *squeeze(const struct forward *f, const char *block, struct value *x)
{
    static const struct convolution_form plain = {1, 0, 1};
    struct tape *tape = f->tape;
    char path[PATH_BYTES];
    snprintf(path, sizeof path, "%s.se", block);
    struct module_visit visit = module_enter(f, path);
    const char *outside = tape_module_open(tape, path);
    x = module_argument(f, visit, x);
    int frame = tape_frame_open(tape);
    struct value *factors = tape_mean_spatial(tape, x);
    snprintf(path, sizeof path, "%s.se.fc1", block);
    value_rebind(tape, &factors, forward_convolution(f, path, factors, plain));
    snprintf(path, sizeof path, "%s.se.act", block);
    factors = forward_relu_in_place(f, path, factors);
    snprintf(path, sizeof path, "%s.se.fc2", block);
    value_rebind(tape, &factors, forward_convolution(f, path, factors, plain));
    snprintf(path, sizeof path, "%s.se.gate", block);
    struct module_visit gate = module_enter(f, path);
    struct value *open = module_leave(f, gate, tape_sigmoid(tape, module_argument(f, gate, factors)));
    struct value *scaled = tape_multiply(tape, x, open);
    tape_drop(tape, open);
    scaled = module_leave(f, visit, tape_frame_close(tape, frame, scaled));
    tape_module_close(tape, outside);
    return scaled;
}

static struct value *regnet_block(struct tape *tape, const void *context_bytes, struct value *input)
{
    const struct stage_block *context = context_bytes;
    const struct forward *f = context->forward;
    int64_t stride = context->index == 0 ? 2 : 1, groups = groups_of(f->config, f->config->widths[context->stage]);
    const char *block = context->path;
    char path[PATH_BYTES];
    int frame = tape_frame_open(tape);
    snprintf(path, sizeof path, "%s.conv1", block);
    struct value *x = unit(f, path, input, (struct convolution_form){1, 0, 1}, true);
    snprintf(path, sizeof path, "%s.conv2", block);
    value_rebind(tape, &x, unit(f, path, x, (struct convolution_form){stride, 1, groups}, true));
    if (f->config->squeeze_ratio > 0) {
        value_rebind(tape, &x, squeeze(f, block, x));
    }
    snprintf(path, sizeof path, "%s.conv3", block);
    value_rebind(tape, &x, unit(f, path, x, (struct convolution_form){1, 0, 1}, false));
    struct value *shortcut = input;
    if (context->index == 0) {
        snprintf(path, sizeof path, "%s.downsample", block);
        shortcut = unit(f, path, input, (struct convolution_form){stride, 0, 1}, false);
    }
    struct value *sum = tape_add(tape, x, shortcut);
    if (shortcut != input) {
        tape_drop(tape, shortcut);
    }
    value_rebind(tape, &x, sum);
    snprintf(path, sizeof path, "%s.act3", block);
    return tape_frame_close(tape, frame, forward_activation_module(f, path, x));
}

/* Their Sequentials are "s1" to "s4". */
static const struct stage_names stages = {.stage = "s", .block = "b", .first_block = 1};

/* ClassifierHead. */
static struct value *classify(const struct forward *f, struct value *features)
{
    struct tape *tape = f->tape;
    struct module_visit visit = module_enter(f, "head");
    features = module_argument(f, visit, features);
    int frame = tape_frame_open(tape);
    struct value *x = forward_global_pool(f, "head.global_pool", features);
    value_rebind(tape, &x, forward_dropout(f, "head.drop", x, f->config->classifier_dropout));
    x = forward_linear(f, "head.fc", x);
    return module_leave(f, visit, tape_frame_close(tape, frame, x));
}

static struct value *regnet_forward(const struct forward *f)
{
    struct tape *tape = f->tape;
    int frame = tape_frame_open(tape);
    struct value *x = unit(f, "stem", f->images, (struct convolution_form){2, 1, 1}, true);
    for (int stage = 0; stage < STAGES; stage++) {
        value_rebind(tape, &x, stage_run(f, &stages, stage, regnet_block, x));
    }
    value_rebind(tape, &x, classify(f, x));
    if (f->labels == NULL) {
        return tape_frame_close(tape, frame, x);
    }
    return tape_frame_close(tape, frame, forward_criterion(f, x));
}

#define REGNET_NAME(architecture, ...) #architecture,
static const char *const architectures[] = {REGNETS(REGNET_NAME) "regnety_040_sgn",
                                            "regnetv_040",
                                            "regnetv_064",
                                            "regnetz_005",
                                            "regnetz_040",
                                            "regnetz_040_h",
                                            NULL};
#undef REGNET_NAME

const struct family family_regnet = {
    .name = "regnet",
    .architectures = architectures,
    .is_image = true,
    .read = regnet_read,
    .skeleton = regnet_skeleton,
    .forward = regnet_forward,
};
