/* Real PyTorch, event by event: every allocation and every free, in order, with its size. Backward pass and optimizer
 * step of tiny models in the forms that store their scores, whose kernels have no scratch of their own, and the forward
 * pass in inference; the other side is peers/pytorch/events, recorded from autograd and torch.optim. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/case/share.h"
#include "models/config/family.h"
#include "models/find/catalogue.h"
#include "models/find/config_file.h"
#include "models/workload/workload_tape.h"
#include "tests/models/event_sequence.h"

static void sequences_compare(const char *name, const char *stage, const struct sequence *tape,
                              const struct sequence *recorded)
{
    char difference[DIFFERENCE_BYTES];
    if (sequence_difference(tape, recorded, difference)) {
        fail_msg("%s, %s: %s", name, stage, difference);
    }
}

static void a_difference_says_what_the_memory_is_for(void **state)
{
    (void)state;
    static struct sequence ours, theirs;
    char text[DIFFERENCE_BYTES] = "";
    sequence_add(&ours, 512, "LINEAR");
    sequence_add(&theirs, 512, "mm");
    assert_false(sequence_difference(&ours, &theirs, text));
    sequence_add(&theirs, -512, "mm");
    assert_true(sequence_difference(&ours, &theirs, text));
    assert_string_equal(text, "1 events, PyTorch has 2; the first more is of mm");
    sequence_add(&ours, 1024, "GELU");
    assert_true(sequence_difference(&ours, &theirs, text));
    assert_string_equal(text, "event 1 is 1024 bytes (GELU), PyTorch's -512 (mm)");
}

/* Norms of heads, Gemma's and T5's end the life of two tensors at once, whose order is that of C++ destructors. */
static bool norms_release_together(const struct config *config)
{
    return config->head_norms || strcmp(config->family->name, "gemma") == 0 || strcmp(config->family->name, "t5") == 0;
}

/* any_order: of what is given back between two allocations. */
static void stage_compare(const struct tape_view *view, const char *path, enum stage stage, enum mode mode,
                          bool any_order)
{
    static struct sequence ours, theirs;
    sequence_of_tape(view, stage, &ours);
    sequence_of_recording(path, stage_name(stage), &theirs);
    if (mode == MODE_INFER) {
        sequence_cut_end(&ours);
        sequence_cut_end(&theirs);
    }
    if (any_order) {
        sequence_sort_releases(&ours);
        sequence_sort_releases(&theirs);
    }
    sequences_compare(path, stage_name(stage), &ours, &theirs);
    assert_true(stage == STAGE_STEP || ours.count > 40);
}

/* suffix: what the name of the recorded file says after the optimizer. first: the stage that is looked at first. */
static void workload_check_from(const char *model, const struct workload *workload, const char *suffix,
                                enum stage first)
{
    char config_path[256], path[256], seq[32];
    struct status error = {0};
    struct config config;
    struct skeleton skeleton;
    struct tape *tape = NULL;
    const struct target *target = NULL;
    bool is_catalogue = strncmp(model, "tiny-", 5) == 0;
    snprintf(config_path, sizeof config_path, "%s/%s/config.json",
             is_catalogue ? "models/catalogue" : "peers/pytorch/tiny", model);
    if (workload->seq > 0) {
        snprintf(seq, sizeof seq, "%lld", (long long)workload->seq);
    } else {
        snprintf(seq, sizeof seq, "None");
    }
    bool trains = workload->mode == MODE_TRAIN;
    snprintf(path, sizeof path, "peers/pytorch/events/%s%s_%s_%s_%s_%lld_%s_%s%s.jsonl", is_catalogue ? "" : "tiny_",
             model, mode_name(workload->mode), precision_name(workload->precision), attention_name(workload->attention),
             (long long)workload->batch, seq, trains ? optimizer_name(workload->optimizer) : "None", suffix);
    enum status_code code = config_read(config_path, model, &config, &error);
    code = code == STATUS_OK ? target_find("sm_90", &target, &error) : code;
    code = code == STATUS_OK ? workload_skeleton(&config, workload, &skeleton, &error) : code;
    code = code == STATUS_OK ? workload_tape(&config, &skeleton, workload, target, &tape, &error) : code;
    if (code != STATUS_OK) {
        fail_msg("%s: %s", model, error.text);
    }
    struct tape_view view = tape_view(tape);
    static const enum stage stages[] = {STAGE_FORWARD, STAGE_BACKWARD, STAGE_STEP};
    for (size_t i = first == STAGE_FORWARD ? 0 : 1; i < (trains ? sizeof stages / sizeof stages[0] : 1); i++) {
        bool any_order =
            !trains || workload->checkpointing || workload_is_autocast(workload) || norms_release_together(&config);
        stage_compare(&view, path, stages[i], workload->mode, any_order);
    }
    tape_release(tape);
    skeleton_release(&skeleton);
}

static void workload_check_events(const char *model, const struct workload *workload, const char *suffix)
{
    workload_check_from(model, workload, suffix, STAGE_BACKWARD);
}

static struct workload tiny_training(enum attention attention, enum precision precision, enum optimizer optimizer)
{
    struct workload workload = workload_default(MODE_TRAIN);
    workload.batch = 2;
    workload.seq = 8;
    workload.attention = attention;
    workload.precision = precision;
    workload.optimizer = optimizer;
    return workload;
}

static void case_check(const char *model, enum attention attention, enum precision precision, enum optimizer optimizer,
                       bool padding)
{
    struct workload workload = tiny_training(attention, precision, optimizer);
    workload.padding = padding;
    workload_check_events(model, &workload, padding ? "_padding" : "");
}

static void backward_and_step_are_pytorchs(void **state)
{
    (void)state;
    static const char *const models[] = {"gpt2-dropout", "llama", "llama-gqa", "qwen2"};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        case_check(models[i], ATTENTION_EAGER, PRECISION_FLOAT32, OPTIMIZER_ADAM_FOREACH, false);
        case_check(models[i], ATTENTION_EAGER, PRECISION_BFLOAT16, OPTIMIZER_ADAMW_FUSED, false);
    }
}

/* Qwen3 and Gemma, whose windows are shorter than the sequence. */
static void decoders_are_pytorchs(void **state)
{
    (void)state;
    static const char *const models[] = {"tiny-qwen3", "tiny-gemma", "tiny-gemma2", "tiny-gemma3"};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        case_check(models[i], ATTENTION_EAGER, PRECISION_FLOAT32, OPTIMIZER_ADAM_FOREACH, false);
        case_check(models[i], ATTENTION_EAGER, PRECISION_BFLOAT16, OPTIMIZER_ADAMW_FUSED, false);
    }
}

/* float32 with fewer key heads: sdpa takes its math form. */
static void math_attention_is_pytorchs(void **state)
{
    (void)state;
    case_check("llama-gqa", ATTENTION_SDPA, PRECISION_FLOAT32, OPTIMIZER_ADAM_FOREACH, false);
    case_check("qwen2", ATTENTION_SDPA, PRECISION_FLOAT32, OPTIMIZER_ADAM_FOREACH, false);
}

/* Learned biases in a mask that has a gradient; two stacks, of which one is read by every block of the other. */
static void an_encoder_and_a_decoder_are_pytorchs(void **state)
{
    (void)state;
    struct workload workload = tiny_training(ATTENTION_SDPA, PRECISION_FLOAT32, OPTIMIZER_ADAM_FOREACH);
    workload_check_from("tiny-t5", &workload, "", STAGE_FORWARD);
}

/* Experts are chosen on the device: no size and no event depends on which. */
static void experts_are_pytorchs(void **state)
{
    (void)state;
    static const char *const models[] = {"tiny-mixtral", "tiny-qwen2-moe", "tiny-qwen3-moe", "tiny-deepseek-v2",
                                         "tiny-deepseek-v3"};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        case_check(models[i], ATTENTION_EAGER, PRECISION_FLOAT32, OPTIMIZER_ADAM_FOREACH, false);
        /* Elsewhere two temporaries, or two releases, of one node change places: float32 weights of bfloat16 rows, and
         * scores that are shorter than a head. */
        if (strcmp(models[i], "tiny-qwen2-moe") == 0) {
            case_check(models[i], ATTENTION_EAGER, PRECISION_BFLOAT16, OPTIMIZER_ADAMW_FUSED, false);
        }
    }
}

/* A single key head that is broadcast, groups that are repeated, biases by distance; without padding and with. */
static void falcons_are_pytorchs(void **state)
{
    (void)state;
    static const char *const models[] = {"tiny-falcon", "tiny-falcon-grouped", "tiny-falcon-alibi"};
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        case_check(models[i], ATTENTION_EAGER, PRECISION_FLOAT32, OPTIMIZER_ADAM_FOREACH, false);
        case_check(models[i], ATTENTION_EAGER, PRECISION_FLOAT32, OPTIMIZER_ADAM_FOREACH, true);
        case_check(models[i], ATTENTION_EAGER, PRECISION_BFLOAT16, OPTIMIZER_ADAMW_FUSED, false);
    }
    case_check(models[0], ATTENTION_SDPA, PRECISION_FLOAT32, OPTIMIZER_ADAM_FOREACH, false);
    case_check(models[0], ATTENTION_SDPA, PRECISION_BFLOAT16, OPTIMIZER_ADAMW_FUSED, false);
}

static void images_are_pytorchs(void **state)
{
    (void)state;
    struct workload single = tiny_training(ATTENTION_SDPA, PRECISION_FLOAT32, OPTIMIZER_ADAM_FOREACH);
    struct workload half = tiny_training(ATTENTION_SDPA, PRECISION_BFLOAT16, OPTIMIZER_ADAMW_FUSED);
    single.seq = half.seq = 0;
    workload_check_events("tiny-vgg", &single, "");
    workload_check_events("tiny-vgg", &half, "");
}

/* Scores in float32 that a buffer hides, and what a block returns besides, which the loop keeps by name. */
static void gpt_neo_is_pytorchs(void **state)
{
    (void)state;
    static const enum precision precisions[] = {PRECISION_FLOAT32, PRECISION_BFLOAT16, PRECISION_AMP_BFLOAT16};
    for (int i = 0; i < 3; i++) {
        struct workload workload = workload_default(MODE_INFER);
        workload.batch = 2;
        workload.seq = 8;
        workload.attention = ATTENTION_EAGER;
        workload.precision = precisions[i];
        workload_check_from("tiny-gpt-neo", &workload, "", STAGE_FORWARD);
    }
}

static void images_check(const char *model)
{
    static const enum precision precisions[] = {PRECISION_FLOAT32, PRECISION_BFLOAT16, PRECISION_AMP_BFLOAT16};
    for (int i = 0; i < 3; i++) {
        struct workload workload = workload_default(MODE_INFER);
        workload.batch = 2;
        workload.seq = 0;
        workload.precision = precisions[i];
        workload_check_from(model, &workload, "", STAGE_FORWARD);
    }
}

/* One projection, whose parts are unbound. */
static void a_timm_vit_is_pytorchs(void **state)
{
    (void)state;
    images_check("tiny-timm-vit");
}

/* Squeeze-and-excitation, and a ReLU at the end of a block that is not in place. */
static void a_regnet_is_pytorchs(void **state)
{
    (void)state;
    images_check("tiny-regnet");
}

/* No log-sum-exp, since no gradient is wanted; position ids made of two tensors, and the question whether rows are
 * packed sequences; under autocast a concatenation that casts nothing (ViT). */
static void inference_is_pytorchs(void **state)
{
    (void)state;
    static const char *const models[] = {"bert-dropout", "gpt2-dropout", "llama", "llama-gqa", "qwen2", "vit"};
    static const enum precision precisions[] = {PRECISION_FLOAT32, PRECISION_BFLOAT16, PRECISION_AMP_BFLOAT16};
    for (size_t i = 0; i < sizeof models / sizeof models[0] * 3; i++) {
        struct workload workload = workload_default(MODE_INFER);
        bool is_image = strcmp(models[i / 3], "vit") == 0;
        workload.batch = 2;
        workload.seq = is_image ? 0 : 8;
        workload.precision = precisions[i % 3];
        workload_check_from(models[i / 3], &workload, "", STAGE_FORWARD);
    }
}

static void padded_batches_are_pytorchs(void **state)
{
    (void)state;
    case_check("gpt2-dropout", ATTENTION_EAGER, PRECISION_FLOAT32, OPTIMIZER_ADAM_FOREACH, true);
    case_check("llama-gqa", ATTENTION_EAGER, PRECISION_FLOAT32, OPTIMIZER_ADAM_FOREACH, true);
}

/* Keys and values that a plain pass returns, with a window among them and beside an encoder, and all that it returns
 * kept until the next pass has returned. */
static void outputs_that_are_kept_are_pytorchs(void **state)
{
    (void)state;
    /* A window's mask and T5's eager backward pass differ in order, without a cache too. */
    static const struct {
        const char *model;
        enum mode mode;
    } rows[] = {
        {"gpt2-dropout", MODE_TRAIN},     {"gpt2-dropout", MODE_INFER}, {"llama-gqa", MODE_TRAIN},
        {"llama-gqa", MODE_INFER},        {"tiny-gemma3", MODE_TRAIN},  {"tiny-t5", MODE_INFER},
        {"tiny-deepseek-v2", MODE_INFER},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct workload single = tiny_training(ATTENTION_EAGER, PRECISION_FLOAT32, OPTIMIZER_ADAM_FOREACH);
        struct workload half = tiny_training(ATTENTION_EAGER, PRECISION_BFLOAT16, OPTIMIZER_ADAMW_FUSED);
        enum stage first = rows[i].mode == MODE_INFER ? STAGE_FORWARD : STAGE_BACKWARD;
        single.mode = half.mode = rows[i].mode;
        single.use_cache = half.use_cache = true;
        single.outputs = half.outputs = OUTPUTS_KEPT;
        workload_check_from(rows[i].model, &single, "_use_cache_outputs_kept", first);
        workload_check_from(rows[i].model, &half, "_use_cache_outputs_kept", first);
    }
}

/* The program's own loss is taken when the outputs before it are gone. */
static void outputs_of_images_are_pytorchs(void **state)
{
    (void)state;
    struct workload workload = tiny_training(ATTENTION_SDPA, PRECISION_FLOAT32, OPTIMIZER_ADAM_FOREACH);
    workload.seq = 0;
    workload.outputs = OUTPUTS_KEPT;
    workload_check_from("tiny-regnet", &workload, "_outputs_kept", STAGE_FORWARD);
}

/* With Liger-Kernel's cross entropy. */
static void the_fused_loss_is_ligers(void **state)
{
    (void)state;
    static const char *const models[] = {"gpt2-dropout", "llama", "llama-gqa", "qwen2"};
    struct workload single = tiny_training(ATTENTION_EAGER, PRECISION_FLOAT32, OPTIMIZER_ADAM_FOREACH);
    struct workload half = tiny_training(ATTENTION_EAGER, PRECISION_BFLOAT16, OPTIMIZER_ADAMW_FUSED);
    single.loss = half.loss = LOSS_FUSED;
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        workload_check_events(models[i], &single, "_loss_fused");
        workload_check_events(models[i], &half, "_loss_fused");
    }
    single.padding = true;
    workload_check_events("gpt2-dropout", &single, "_padding_loss_fused");
}

/* Adapters on weights in 8 and 4 bits: what bitsandbytes takes and gives back inside its functions is among them. 64
 * rows, for which it has no kernel of its own on any weight of these models. */
static void adapters_on_quantised_weights_are_pefts(void **state)
{
    (void)state;
    static const char *const models[] = {"gpt2", "llama-gqa"};
    for (int variant = 0; variant < 18; variant++) {
        struct workload workload = workload_default(MODE_TRAIN);
        workload.batch = workload.seq = 8;
        workload.attention = ATTENTION_EAGER;
        workload.precision = variant % 3 ? PRECISION_INT4 : PRECISION_INT8;
        workload.double_quant = variant % 3 == 2;
        workload.lora_rank = 8;
        workload.lora_targets = LORA_TARGETS_LINEAR;
        workload.checkpointing = variant / 3 % 3 == 1;
        workload.prepare_kbit = variant / 3 % 3 == 2;
        char suffix[96];
        snprintf(suffix, sizeof suffix, "_lora_rank_8_lora_targets_linear%s%s%s",
                 workload.double_quant ? "_double_quant" : "", workload.checkpointing ? "_checkpointing" : "",
                 workload.prepare_kbit ? "_prepare_kbit" : "");
        workload_check_events(models[variant / 9], &workload, suffix);
    }
}

/* A dropout before each adapter, whose mask and result are taken behind the frozen layer's own result. Checkpointed,
 * it is drawn again. */
static void adapters_behind_a_dropout_are_pefts(void **state)
{
    (void)state;
    static const char *const models[] = {"bert", "gpt2", "llama-gqa"};
    static const enum precision precisions[] = {PRECISION_FLOAT32, PRECISION_BFLOAT16, PRECISION_AMP_BFLOAT16};
    for (int variant = 0; variant < 18; variant++) {
        struct workload workload = tiny_training(ATTENTION_EAGER, precisions[variant % 3], OPTIMIZER_ADAMW_FUSED);
        workload.lora_rank = 8;
        workload.lora_targets = LORA_TARGETS_LINEAR;
        workload.lora_dropout = share_millionths(0.05);
        workload.checkpointing = variant / 3 % 2 == 1;
        workload_check_events(models[variant / 6], &workload,
                              workload.checkpointing
                                  ? "_lora_rank_8_lora_targets_linear_lora_dropout_0.05_checkpointing"
                                  : "_lora_rank_8_lora_targets_linear_lora_dropout_0.05");
    }
}

/* Under autocast around weights in less than 32 bits, with adapters on whole attention blocks. Of Llama's in 4 bits the
 * sizes are compared elsewhere (test_pytorch_shadow.c): one gradient is added in another place. */
static void adapters_under_autocast_are_pefts(void **state)
{
    (void)state;
    static const char *const models[] = {"gpt2", "llama-gqa"};
    for (int variant = 0; variant < 3; variant++) {
        struct workload workload = workload_default(MODE_TRAIN);
        workload.batch = workload.seq = 8;
        workload.attention = ATTENTION_EAGER;
        workload.precision = variant == 2 ? PRECISION_INT4 : PRECISION_BFLOAT16;
        workload.lora_rank = 8;
        workload.lora_targets = LORA_TARGETS_PROJECTIONS;
        workload.autocast = true;
        workload_check_events(models[variant % 2], &workload, "_lora_rank_8_lora_targets_projections_autocast");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_difference_says_what_the_memory_is_for),
                                       cmocka_unit_test(backward_and_step_are_pytorchs),
                                       cmocka_unit_test(decoders_are_pytorchs),
                                       cmocka_unit_test(math_attention_is_pytorchs),
                                       cmocka_unit_test(experts_are_pytorchs),
                                       cmocka_unit_test(an_encoder_and_a_decoder_are_pytorchs),
                                       cmocka_unit_test(falcons_are_pytorchs),
                                       cmocka_unit_test(images_are_pytorchs),
                                       cmocka_unit_test(gpt_neo_is_pytorchs),
                                       cmocka_unit_test(a_timm_vit_is_pytorchs),
                                       cmocka_unit_test(a_regnet_is_pytorchs),
                                       cmocka_unit_test(inference_is_pytorchs),
                                       cmocka_unit_test(padded_batches_are_pytorchs),
                                       cmocka_unit_test(outputs_that_are_kept_are_pytorchs),
                                       cmocka_unit_test(outputs_of_images_are_pytorchs),
                                       cmocka_unit_test(the_fused_loss_is_ligers),
                                       cmocka_unit_test(adapters_on_quantised_weights_are_pefts),
                                       cmocka_unit_test(adapters_behind_a_dropout_are_pefts),
                                       cmocka_unit_test(adapters_under_autocast_are_pefts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
