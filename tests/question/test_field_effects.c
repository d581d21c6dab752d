/* Field effects: no field of a case is taken and then ignored. Every value of every field changes the prediction of
 * some case below, or is refused, or stands in a list with the reason why it changes nothing. What the change should
 * be is tested where the field is modelled. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/case/program.h"
#include "harness/case/release.h"
#include "harness/question/bounds.h"
#include "harness/question/trial.h"
#include "harness/suite/identity.h"
#include "models/config/family.h"
#include "models/find/catalogue.h"

/* Cases that between them give every field something to say. A new field whose condition none of them meets needs one
 * more. */
static const struct base {
    const char *model;
    enum mode mode;
    const char *settings; /* "key=value key=value" */
    const char *release;  /* NULL: none */
} bases[] = {
    {"tiny-llama", MODE_LOAD, "", NULL},
    {"tiny-gpt2", MODE_LOAD, "precision=int4", NULL},
    {"tiny-gpt2", MODE_INFER, "", NULL},
    {"tiny-llama", MODE_INFER, "precision=bfloat16", NULL},
    {"tiny-llama", MODE_INFER, "precision=amp-bfloat16", NULL},
    {"gpt2", MODE_INFER, "precision=int4 quantize=gptq", NULL},
    {"gpt2", MODE_INFER, "precision=int8 quantize=gptq", NULL},
    {"gpt2", MODE_INFER, "precision=int4 quantize=awq", NULL},
    {"tiny-gpt2", MODE_GENERATE, "", NULL},
    {"tiny-llama", MODE_GENERATE, "precision=amp-float16", NULL},
    {"tiny-gpt2", MODE_GENERATE, "seq=32", NULL},
    {"tiny-gpt2", MODE_TRAIN, "", NULL},
    {"tiny-gpt2", MODE_TRAIN, "accumulate=2", NULL},
    {"gpt2", MODE_TRAIN, "optimizer=adam-8bit", NULL},
    {"tiny-gpt2", MODE_TRAIN, "precision=amp-float16", NULL},
    {"tiny-gpt2", MODE_TRAIN, "optimizer=adamw-foreach precision=bfloat16", NULL},
    {"tiny-llama", MODE_TRAIN, "", NULL},
    {"tiny-llama", MODE_TRAIN, "precision=bfloat16", NULL},
    {"tiny-llama", MODE_TRAIN, "precision=bfloat16 loss=chunked seq=200", NULL},
    {"tiny-llama", MODE_TRAIN, "lora_rank=4", NULL},
    {"tiny-llama", MODE_TRAIN, "lora_rank=4 precision=int4", NULL},
    {"tiny-llama", MODE_TRAIN, "lora_rank=4 precision=int8 autocast=true", NULL},
    {"tiny-bert", MODE_TRAIN, "", NULL},
    {"tiny-t5", MODE_LOAD, "", NULL},
    {"timm/resnet50.a1_in1k", MODE_INFER, "", NULL},
    {"timm/resnet50.a1_in1k", MODE_TRAIN, "", NULL},
};

/* What changes no prediction, and why. value NULL: none of the field's. */
static const struct {
    enum case_field field;
    const char *value, *reason;
} without_effect[] = {
    {FIELD_PLACE, NULL, "a placed model has a tape of its own (tests/placement)"},
    {FIELD_CHECKPOINT, NULL, "says where weights come from, not where they go (tests/load)"},
    {FIELD_FIND_BATCH, NULL, "looks for a batch, each of which is a case (tests/question/test_batch_search.c)"},
    {FIELD_HEAD, "masked-lm", "what lm is of an encoder"},
    {FIELD_HEAD, "seq2seq-lm", "what lm is of an encoder and a decoder"},
    {FIELD_HEAD, "image", "what lm is of a model of images"},
    {FIELD_ZERO_GRAD, "before-forward", "nothing lies between the end of a step and the next forward pass"},
    {FIELD_QUANTIZED_KERNEL, "exllama", "what auto takes of GPTQ in 4 bits"},
    {FIELD_QUANTIZED_KERNEL, "gemm", "what auto takes of AWQ"},
};

static const char class_name[] = "sm_90";

struct outcome {
    bool is_case; /* else it is refused */
    uint64_t sequence_hash;
    struct byte_range used;
};

static struct workload base_workload(const struct base *base)
{
    char settings[128], *rest = settings;
    struct workload workload = workload_default(base->mode);
    workload.seq = 24;
    workload.batch = 2;
    workload.release = base->release;
    snprintf(settings, sizeof settings, "%s", base->settings);
    for (char *word = strtok_r(settings, " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        char *value = strchr(word, '=');
        *value = '\0';
        assert_int_equal(workload_set(&workload, word, value + 1, NULL), STATUS_OK);
    }
    return workload;
}

static struct outcome outcome_of(const struct config *config, const struct workload *workload)
{
    struct outcome outcome = {.is_case = false};
    struct bounds_device device = {.gpu = NULL};
    struct skeleton skeleton;
    struct trial trial;
    struct status error = {0};
    assert_int_equal(target_find(class_name, &device.target, NULL), STATUS_OK);
    if (workload_check(workload, &error) != STATUS_OK ||
        workload_skeleton(config, workload, &skeleton, &error) != STATUS_OK) {
        return outcome;
    }
    const struct estimate_input input = {
        .config = config, .skeleton = &skeleton, .workload = workload, .target = class_name};
    if (trial_run(&input, INT64_MAX, &trial, &error) == STATUS_OK) {
        const struct replay_result *result = &trial.unbounded;
        const struct bounds_figures figures = {.certain_bytes = result->requested_bytes_peak,
                                               .reserved_bytes = result->reserved_bytes_peak,
                                               .managed = result->managed};
        struct bounds bounds = bounds_make(&figures, &device, config, workload);
        outcome = (struct outcome){true, result->sequence_hash, bounds.device};
    }
    skeleton_release(&skeleton);
    return outcome;
}

static bool same(const struct outcome *one, const struct outcome *other)
{
    return one->sequence_hash == other->sequence_hash && one->used.low_bytes == other->used.low_bytes &&
           one->used.likely_bytes == other->used.likely_bytes && one->used.high_bytes == other->used.high_bytes;
}

struct walk {
    int refused, changed, ignored;
};

/* One value of a field in one base. */
static void value_try(const struct base *base, enum case_field field, const struct case_value *value, struct walk *walk)
{
    struct config config;
    struct status error = {0};
    assert_int_equal(config_find("models/catalogue", base->model, &config, &error), STATUS_OK);
    struct workload usual = base_workload(base), with = usual;
    if (field == FIELD_MODE || workload_field_value(&usual, field) == value->number) {
        return;
    }
    if (field == FIELD_PROGRAM) {
        program_apply((enum program)value->number, &with);
    }
    workload_put(&with, field, value);
    const struct identity identity = identity_make(base->model, &with, config.family);
    const struct identity without = identity_make(base->model, &usual, config.family);
    if (!identity_has(&identity, field)) {
        walk->refused++; /* a command says that the field says nothing here */
        return;
    }
    struct outcome first = outcome_of(&config, &without.workload), second = outcome_of(&config, &identity.workload);
    if (!first.is_case) {
        fail_msg("%s, mode %s, %s is no case", base->model, mode_name(base->mode), base->settings);
    }
    walk->refused += !second.is_case;
    walk->changed += second.is_case && !same(&first, &second);
    walk->ignored += second.is_case && same(&first, &second);
}

static const char *reason_of(enum case_field field, const char *value)
{
    for (size_t i = 0; i < sizeof without_effect / sizeof without_effect[0]; i++) {
        if (without_effect[i].field == field &&
            (without_effect[i].value == NULL || strcmp(without_effect[i].value, value) == 0)) {
            return without_effect[i].reason;
        }
    }
    return NULL;
}

/* Written as a suite has it. */
static void value_check(enum case_field field, const char *written)
{
    struct walk walk = {0};
    struct case_value value;
    struct status error = {0};
    if (case_value_parse(field, written, &value, &error) != STATUS_OK) {
        fail_msg("%s: %s", case_field_key(field), error.text);
    }
    for (size_t i = 0; i < sizeof bases / sizeof bases[0]; i++) {
        value_try(&bases[i], field, &value, &walk);
    }
    const char *reason = reason_of(field, written);
    if (walk.changed == 0 && walk.ignored > 0 && reason == NULL) {
        fail_msg("%s %s changes none of the %d cases that take it; model it, refuse it, or give the reason above",
                 case_field_key(field), written, walk.ignored);
    }
    if (walk.changed > 0 && reason != NULL) {
        fail_msg("%s %s changes %d cases, although it is said above that it cannot: %s", case_field_key(field), written,
                 walk.changed, reason);
    }
    bool is_said = walk.changed + walk.ignored > 0;
    if (!is_said && reason == NULL && walk.refused < (int)(sizeof bases / sizeof bases[0])) {
        return; /* it is the value of every base that has the field */
    }
    if (!is_said && reason == NULL) {
        fail_msg("%s %s says nothing in any case above; add one in which it does", case_field_key(field), written);
    }
}

static void every_value_of_every_field_has_an_effect(void **state)
{
    (void)state;
    static const char *const counts[] = {"1", "3", "16", "64"}, *const shares[] = {"0.05", "0.5"};
    for (enum case_field field = FIELD_MODE + 1; field < FIELD_COUNT; field++) {
        const struct case_field_row *row = case_field_row(field);
        bool is_word = row->kind == FIELD_KIND_NAME || row->kind == FIELD_KIND_SWITCH;
        for (int word = row->lowest; is_word && word < row->word_count; word++) {
            value_check(field, row->words[word]);
        }
        for (size_t i = 0; row->kind == FIELD_KIND_COUNT && i < sizeof counts / sizeof counts[0]; i++) {
            value_check(field, counts[i]);
        }
        for (size_t i = 0; row->kind == FIELD_KIND_SHARE && i < sizeof shares / sizeof shares[0]; i++) {
            value_check(field, shares[i]);
        }
    }
    value_check(FIELD_RELEASE, "transformers=4.40");
    value_check(FIELD_RELEASE, "torch=2.4");
}

/* Values that most models take and the class of these does not have. */
static void what_a_class_lacks_is_refused(void **state)
{
    (void)state;
    static const struct base lacking[] = {
        {"tiny-bert", MODE_INFER, "logits=last", NULL},
        {"tiny-t5", MODE_INFER, "logits=last", NULL},
        {"tiny-gpt2", MODE_INFER, "logits=last", "transformers=4.46"},
        {"tiny-bloom", MODE_INFER, "attention=native", NULL},
        {"tiny-gpt2", MODE_INFER, "attention=native", "transformers=4.35"},
    };
    for (size_t i = 0; i < sizeof lacking / sizeof lacking[0]; i++) {
        struct config config;
        assert_int_equal(config_find("models/catalogue", lacking[i].model, &config, NULL), STATUS_OK);
        struct workload workload = base_workload(&lacking[i]);
        const struct identity identity = identity_make(lacking[i].model, &workload, config.family);
        if (outcome_of(&config, &identity.workload).is_case) {
            fail_msg("%s takes %s and ignores it", lacking[i].model, lacking[i].settings);
        }
    }
}

static const char *const release_models[] = {
    "tiny-gpt2",    "tiny-llama",    "tiny-bert",  "tiny-roberta", "tiny-distilbert", "tiny-vit",
    "tiny-gpt-neo", "tiny-gpt-neox", "tiny-opt",   "tiny-bloom",   "tiny-falcon",     "tiny-mixtral",
    "tiny-qwen2",   "tiny-phi3",     "tiny-gemma", "tiny-gemma2",  "tiny-qwen2-moe",  "mistralai/Mistral-7B-v0.1",
    "gpt2",
};

/* Of a model in the ways that people run it: whether any of them differs between two releases. */
static bool releases_differ(const char *model, const char *before, const char *after)
{
    static const struct base ways[] = {
        {NULL, MODE_TRAIN, "precision=int4 lora_rank=4 double_quant=true", NULL},
        {NULL, MODE_TRAIN, "precision=int4 lora_rank=4", NULL},
        {NULL, MODE_INFER, "precision=int4 batch=2 seq=1", NULL},
        {NULL, MODE_TRAIN, "precision=bfloat16", NULL},
        {NULL, MODE_GENERATE, "precision=bfloat16 new_tokens=3", NULL},
        {NULL, MODE_INFER, "precision=bfloat16 padding=true", NULL},
        {NULL, MODE_INFER, "attention=eager precision=bfloat16 outputs=kept", NULL},
        {NULL, MODE_GENERATE, "attention=eager precision=bfloat16 new_tokens=3", NULL},
        {NULL, MODE_INFER, "precision=int4 quantize=gptq", NULL},
        {NULL, MODE_INFER, "precision=int4 quantize=awq seq=600", NULL},
        {NULL, MODE_INFER, "", NULL},
        {NULL, MODE_INFER, "precision=bfloat16 batch=1 seq=1024", NULL},
    };
    struct config config;
    bool differ = false;
    assert_int_equal(config_find("models/catalogue", model, &config, NULL), STATUS_OK);
    for (size_t i = 0; i < sizeof ways / sizeof ways[0] && !differ; i++) {
        struct workload old = base_workload(&ways[i]), new = old;
        old.release = before;
        new.release = after;
        const struct identity older = identity_make(model, &old, config.family),
                              newer = identity_make(model, &new, config.family);
        struct outcome first = outcome_of(&config, &older.workload), second = outcome_of(&config, &newer.workload);
        differ = first.is_case != second.is_case || (first.is_case && !same(&first, &second));
    }
    return differ;
}

static void release_write(const struct release_change *change, int number, char text[64])
{
    snprintf(text, 64, "%s=%d.%d", release_library_name(change->library), number / 1000, number % 1000);
}

/* Of each row of the register: the last release that has the habit against the first that has not. */
static void every_row_of_the_register_of_releases_has_an_effect(void **state)
{
    (void)state;
    const struct release_change *change;
    for (size_t row = 0; (change = release_change_at(row)) != NULL; row++) {
        char before[64], after[64];
        bool differ = false;
        release_write(change, change->until - 1, before);
        release_write(change, change->until, after);
        for (size_t i = 0; i < sizeof release_models / sizeof release_models[0] && !differ; i++) {
            struct config config;
            assert_int_equal(config_find("models/catalogue", release_models[i], &config, NULL), STATUS_OK);
            struct workload workload = workload_default(MODE_INFER);
            workload.release = before;
            differ = release_has(&workload, config.model_type, change->habit) &&
                     releases_differ(release_models[i], before, after);
        }
        if (!differ) {
            fail_msg("%s before %s: %s", release_library_name(change->library), after,
                     release_habit_text(change->habit));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_value_of_every_field_has_an_effect),
        cmocka_unit_test(what_a_class_lacks_is_refused),
        cmocka_unit_test(every_row_of_the_register_of_releases_has_an_effect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
