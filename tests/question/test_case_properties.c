/* Case properties: what is true of every case, held of cases that are drawn at random from the registers of fields,
 * programs and models. A fault names the seed that repeats it, ASSAY_CASE_SEED=N; more of them: ASSAY_CASE_COUNT=N. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/case/program.h"
#include "harness/question/bounds.h"
#include "harness/question/trial.h"
#include "harness/suite/identity.h"
#include "harness/suite/suite.h"
#include "models/config/family.h"
#include "models/config/head.h"
#include "models/find/catalogue.h"
#include "tests/support/command_run.h"

enum { CASE_COUNT = 150, COMMAND_COUNT = 12, DRAWS_MAXIMUM = 5, SETTING_BYTES = 48 };

static const char *const models[] = {
    "tiny-gpt2",   "tiny-llama",   "tiny-bert",        "tiny-resnet",     "tiny-vit",
    "tiny-t5",     "tiny-mixtral", "tiny-falcon",      "tiny-bloom",      "tiny-gpt-neo",
    "tiny-gemma3", "tiny-phi3",    "tiny-deepseek-v2", "tiny-vgg",        "tiny-convnext",
    "tiny-opt",    "tiny-regnet",  "tiny-gpt-neox",    "tiny-distilbert", "tiny-qwen3-moe",
};
static const char *const devices[] = {"sm_90", "sm_80", "sm_75", "host", "RTX 4090", "A100 80GB", "Tesla T4"};
static const char *const releases[] = {"transformers=4.35", "transformers=4.46+torch=2.4", "torch=2.1"};

static uint64_t seed;

/* Marsaglia's xorshift: the same on every machine. */
static int draw(int count)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (int)(seed % (uint64_t)count);
}

struct drawn {
    uint64_t seed; /* that draws it again */
    const char *model, *device;
    struct config config;
    struct bounds_device bounds_device;
    struct workload workload;                           /* as said; programs, and then what is named */
    int setting_count;                                  /* of a suite: */
    char settings[DRAWS_MAXIMUM + 4][2][SETTING_BYTES]; /* key and value */
};

static void setting_add(struct drawn *drawn, enum case_field field, const char *value)
{
    char(*setting)[SETTING_BYTES] = drawn->settings[drawn->setting_count++];
    snprintf(setting[0], SETTING_BYTES, "%s", case_field_key(field));
    snprintf(setting[1], SETTING_BYTES, "%s", value);
}

/* A value of the field, as a suite writes it. */
static void value_draw(enum case_field field, char text[SETTING_BYTES])
{
    static const char *const counts[] = {"1", "2", "3", "8"};
    const struct case_field_row *row = case_field_row(field);
    const char *value = row->kind == FIELD_KIND_TEXT    ? releases[draw(3)]
                        : row->kind == FIELD_KIND_SHARE ? "0.05"
                        : row->kind == FIELD_KIND_COUNT ? counts[draw(4)]
                                                        : row->words[row->lowest + draw(row->word_count - row->lowest)];
    snprintf(text, SETTING_BYTES, "%s", value);
}

static bool is_drawn(const struct drawn *drawn, enum case_field field)
{
    bool found = false;
    for (int i = 0; i < drawn->setting_count; i++) {
        found = found || strcmp(drawn->settings[i][0], case_field_key(field)) == 0;
    }
    return found || field == FIELD_PLACE || field == FIELD_CHECKPOINT || field == FIELD_FIND_BATCH;
}

static void value_put(struct drawn *drawn, enum case_field field, const char *text)
{
    struct case_value value;
    assert_int_equal(case_value_parse(field, text, &value, NULL), STATUS_OK);
    workload_put(&drawn->workload, field, &value);
}

/* The program and the release first, as whoever reads a suite or options takes them. */
static void settings_take(struct drawn *drawn)
{
    static const enum case_field first[] = {FIELD_RELEASE, FIELD_PROGRAM, FIELD_HEAD, FIELD_PRECISION};
    for (size_t f = 0; f < sizeof first / sizeof first[0]; f++) {
        for (int i = 0; i < drawn->setting_count; i++) {
            if (strcmp(drawn->settings[i][0], case_field_key(first[f])) == 0) {
                value_put(drawn, first[f], drawn->settings[i][1]);
            }
        }
        if (first[f] == FIELD_PROGRAM) {
            program_apply(drawn->workload.program, &drawn->workload);
        }
    }
    for (int i = 0; i < drawn->setting_count; i++) {
        value_put(drawn, case_field_find(drawn->settings[i][0], strlen(drawn->settings[i][0])), drawn->settings[i][1]);
    }
}

static void case_draw(struct drawn *drawn)
{
    static const enum mode modes[] = {MODE_TRAIN, MODE_TRAIN, MODE_TRAIN, MODE_INFER, MODE_GENERATE, MODE_LOAD};
    char text[SETTING_BYTES];
    *drawn = (struct drawn){.seed = seed,
                            .model = models[draw((int)(sizeof models / sizeof models[0]))],
                            .device = devices[draw((int)(sizeof devices / sizeof devices[0]))],
                            .workload = workload_default(modes[draw(6)])};
    assert_int_equal(config_find("models/catalogue", drawn->model, &drawn->config, NULL), STATUS_OK);
    const char *class_name = drawn->device;
    if (gpu_find(drawn->device, &drawn->bounds_device.gpu, NULL) == STATUS_OK) {
        class_name = drawn->bounds_device.gpu->target;
    }
    assert_int_equal(target_find(class_name, &drawn->bounds_device.target, NULL), STATUS_OK);
    if (drawn->workload.mode != MODE_LOAD && !drawn->config.family->is_image) {
        setting_add(drawn, FIELD_SEQ, "16");
    }
    for (int left = draw(DRAWS_MAXIMUM + 1), tries = 0; left > 0 && tries < 40; tries++) {
        enum case_field field = FIELD_MODE + 1 + (enum case_field)draw(FIELD_COUNT - FIELD_MODE - 1);
        bool has_mode = (case_field_row(field)->modes >> drawn->workload.mode & 1U) != 0;
        if (has_mode && !is_drawn(drawn, field)) {
            value_draw(field, text);
            setting_add(drawn, field, text);
            left--;
        }
    }
    settings_take(drawn);
}

static void drawn_write(const struct drawn *drawn, struct text *text)
{
    text_format(text, "version: 1\nname: one\ncases:\n  - model: %s\n    mode: %s\n", drawn->model,
                mode_name(drawn->workload.mode));
    for (int i = 0; i < drawn->setting_count; i++) {
        text_format(text, "    %s: %s\n", drawn->settings[i][0], drawn->settings[i][1]);
    }
}

static void drawn_fail(const struct drawn *drawn, const char *what)
{
    struct text text = {0};
    drawn_write(drawn, &text);
    fail_msg("ASSAY_CASE_SEED=%llu: %s, on %s, of\n%s", (unsigned long long)drawn->seed, what, drawn->device,
             text_string(&text));
}

#define HOLDS(drawn, what)                                                                                             \
    do {                                                                                                               \
        if (!(what)) {                                                                                                 \
            drawn_fail(drawn, "not " #what);                                                                           \
        }                                                                                                              \
    } while (0)

static bool is_range(struct byte_range range)
{
    return 0 <= range.low_bytes && range.low_bytes <= range.likely_bytes && range.likely_bytes <= range.high_bytes;
}

/* The prediction of a workload; false: it is refused. */
static bool predicted(const struct drawn *drawn, const struct config *config, const struct workload *workload,
                      struct replay_result *result)
{
    struct skeleton skeleton;
    struct trial trial;
    struct status error = {0};
    if (workload_skeleton(config, workload, &skeleton, &error) != STATUS_OK) {
        return false;
    }
    const struct estimate_input input = {
        .config = config, .skeleton = &skeleton, .workload = workload, .target = drawn->bounds_device.target->name};
    enum status_code code = trial_run(&input, INT64_MAX, &trial, &error);
    skeleton_release(&skeleton);
    if (code != STATUS_OK && (code != STATUS_INVALID || error.text[0] == '\0')) {
        drawn_fail(drawn, error.text);
    }
    *result = trial.unbounded;
    return code == STATUS_OK;
}

static void levels_check(const struct drawn *drawn, const struct workload *workload, const struct replay_result *result)
{
    int64_t parts = 0;
    for (int i = 0; i < CATEGORY_COUNT; i++) {
        HOLDS(drawn, result->categories_at_peak[i] >= 0);
        parts += result->categories_at_peak[i];
    }
    HOLDS(drawn, parts == result->stages[result->peak_stage].requested_bytes_peak);
    HOLDS(drawn, 0 < result->requested_bytes_peak && result->requested_bytes_peak <= result->allocated_bytes_peak);
    HOLDS(drawn, result->allocated_bytes_peak <= result->reserved_bytes_peak);
    if (drawn->bounds_device.target->capability == 0) {
        return;
    }
    int64_t certain = result->requested_bytes_peak - result->categories_at_peak[CATEGORY_WORKSPACE];
    const struct bounds_figures figures = {
        .certain_bytes = certain, .reserved_bytes = result->reserved_bytes_peak, .managed = result->managed};
    const struct bounds bounds = bounds_make(&figures, &drawn->bounds_device, &drawn->config, workload);
    HOLDS(drawn, is_range(bounds.segments) && bounds.segments.likely_bytes == result->reserved_bytes_peak);
    HOLDS(drawn, bounds.segments.low_bytes >= certain &&
                     bounds.certain_bytes + bounds.rule_bytes == result->reserved_bytes_peak);
    HOLDS(drawn,
          is_range(bounds.beside.context) && is_range(bounds.beside.libraries) && is_range(bounds.beside.driver));
    HOLDS(drawn, is_range(bounds.process) && is_range(bounds.device) && is_range(bounds.nvml));
    HOLDS(drawn, bounds.process.low_bytes >= bounds.segments.low_bytes &&
                     bounds.process.high_bytes <= bounds.device.high_bytes);
}

/* More of anything never takes fewer bytes of tensors. */
static void more_takes_more(const struct drawn *drawn, const struct workload *workload, int64_t bytes)
{
    struct replay_result more;
    struct workload larger = *workload;
    larger.batch *= 2;
    if (workload->mode != MODE_LOAD && predicted(drawn, &drawn->config, &larger, &more)) {
        HOLDS(drawn, more.requested_bytes_peak >= bytes /* of twice the batch */);
    }
    larger = *workload;
    larger.seq *= 2;
    if (workload->mode != MODE_LOAD && larger.seq > 0 && predicted(drawn, &drawn->config, &larger, &more)) {
        HOLDS(drawn, more.requested_bytes_peak >= bytes /* of twice the sequence */);
    }
    larger = *workload;
    larger.new_tokens *= 2;
    if (workload->mode == MODE_GENERATE && predicted(drawn, &drawn->config, &larger, &more)) {
        HOLDS(drawn, more.requested_bytes_peak >= bytes /* of twice the new tokens */);
    }
    struct config deeper = drawn->config;
    deeper.layers += 1;
    if (!drawn->config.family->is_image && predicted(drawn, &deeper, workload, &more)) {
        HOLDS(drawn, more.requested_bytes_peak >= bytes /* of one layer more */);
    }
}

/* What a suite makes of it; NULL if it is refused. The caller frees it. */
static char *suite_id(const struct drawn *drawn)
{
    struct text text = {0};
    struct suite suite;
    struct status error = {0};
    char *id = NULL;
    drawn_write(drawn, &text);
    if (suite_read_text("one.yaml", text_string(&text), text.length, "models/catalogue", &suite, &error) == STATUS_OK) {
        HOLDS(drawn, suite.case_count == 1);
        id = strdup(suite.cases[0].id);
        suite_release(&suite);
    } else {
        HOLDS(drawn, error.code == STATUS_INVALID && error.text[0] != '\0');
    }
    text_release(&text);
    return id;
}

/* Whether options would be taken: they are checked as they are named, and each must say something. */
static bool options_take(const struct drawn *drawn, const struct identity *identity)
{
    bool taken = workload_check(&drawn->workload, NULL) == STATUS_OK &&
                 head_check(&drawn->config.model_heads, drawn->model, drawn->workload.head, NULL) == STATUS_OK;
    for (int i = 0; i < drawn->setting_count; i++) {
        enum case_field field = case_field_find(drawn->settings[i][0], strlen(drawn->settings[i][0]));
        taken = taken && (identity_has(identity, field) || workload_field_is_no(&drawn->workload, field));
    }
    return taken;
}

static struct json *document_of(const struct drawn *drawn, const char *command)
{
    const char *words[2 * DRAWS_MAXIMUM + 24];
    char options[DRAWS_MAXIMUM + 4][2 * SETTING_BYTES + 4];
    int count = 0;
    words[count++] = drawn->model;
    words[count++] = "--mode";
    words[count++] = mode_name(drawn->workload.mode);
    for (int i = 0; i < drawn->setting_count; i++) {
        snprintf(options[i], sizeof options[i], "--%s=%s", drawn->settings[i][0], drawn->settings[i][1]);
        for (char *c = options[i]; *c != '='; c++) {
            *c = *c == '_' ? '-' : *c;
        }
        words[count++] = options[i];
    }
    /* What a suite takes where it names no program; a question has another default. */
    if ((case_field_row(FIELD_PROGRAM)->modes >> drawn->workload.mode & 1U) != 0 && !is_drawn(drawn, FIELD_PROGRAM)) {
        words[count++] = "--program=lean-loop";
    }
    words[count++] = drawn->bounds_device.gpu != NULL ? "--on" : "--for";
    words[count++] = drawn->device;
    words[count++] = "--json";
    words[count] = NULL;
    struct command_result result = command_named(command, words);
    struct json *document = result.exit_code == 0 ? command_document(&result) : NULL;
    HOLDS(drawn, result.exit_code == 0 || result.exit_code == 2);
    command_result_release(&result);
    return document;
}

static int64_t integer_at(const struct json *object, const char *name)
{
    return json_integer_or(json_get(object, name), -1);
}

/* Options, a suite and the library tell the same, and explain's parts come to the whole. */
static void commands_agree(const struct drawn *drawn, const char *id)
{
    struct json *estimate = document_of(drawn, "estimate"), *explain = document_of(drawn, "explain");
    HOLDS(drawn, estimate != NULL && explain != NULL);
    HOLDS(drawn, strcmp(json_string_or(json_get(estimate, "id"), ""), id) == 0);
    const struct json *replay = json_get(json_get(estimate, "estimates"), "replay"), *peak = json_get(explain, "peak"),
                      *groups = json_get(explain, "groups");
    int64_t parts = 0;
    for (size_t i = 0; i < json_count(groups); i++) {
        parts += integer_at(json_at(groups, i), "bytes");
    }
    /* explain's moment is that of the most segments: tensors may have been larger at another. */
    HOLDS(drawn, integer_at(peak, "requested_bytes") <= integer_at(replay, "requested_bytes_peak"));
    HOLDS(drawn, integer_at(peak, "reserved_bytes") == integer_at(replay, "reserved_bytes_peak"));
    HOLDS(drawn, integer_at(peak, "reserved_bytes") == parts);
    json_release(estimate);
    json_release(explain);
}

static uint64_t number_given(const char *name, uint64_t usual)
{
    const char *given = getenv(name);
    return given != NULL ? strtoull(given, NULL, 10) : usual;
}

static void what_is_true_of_every_case(void **state)
{
    (void)state;
    static struct drawn drawn;
    int taken = 0, refused = 0, compared = 0;
    int count = (int)number_given("ASSAY_CASE_COUNT", CASE_COUNT);
    seed = number_given("ASSAY_CASE_SEED", UINT64_C(20261123));
    printf("cases are drawn from ASSAY_CASE_SEED=%llu\n", (unsigned long long)seed);
    for (int i = 0; i < count; i++) {
        case_draw(&drawn);
        drawn.workload.head = head_of(&drawn.config.model_heads, &drawn.workload);
        const struct identity identity = identity_make(drawn.model, &drawn.workload, drawn.config.family);
        struct replay_result result;
        struct text id = {0};
        char *of_suite = suite_id(&drawn);
        identity_id(&identity, &id);
        HOLDS(&drawn, (of_suite != NULL) == options_take(&drawn, &identity));
        HOLDS(&drawn, of_suite == NULL || strcmp(of_suite, text_string(&id)) == 0);
        bool is_case = of_suite != NULL && predicted(&drawn, &drawn.config, &identity.workload, &result);
        taken += is_case;
        refused += !is_case;
        if (is_case) {
            levels_check(&drawn, &identity.workload, &result);
            more_takes_more(&drawn, &identity.workload, result.requested_bytes_peak);
        }
        if (is_case && compared < COMMAND_COUNT) {
            commands_agree(&drawn, of_suite);
            compared++;
        }
        text_release(&id);
        free(of_suite);
    }
    printf("%d cases, %d refused\n", taken, refused);
    assert_true(taken > refused / 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(what_is_true_of_every_case)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
