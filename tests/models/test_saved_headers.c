/* Files as the real library writes them (peers/transformers/saved_headers.py): every tensor is understood, experts that
 * are stored one by one among them; and what is missing or of another shape among these is named. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "models/find/model.h"
#include "tests/models/model_folder.h"
#include "tests/models/shadow_lines.h"

static const struct model_places places = {.catalogue_dir = "models/catalogue"};

/* One after the other: a text in the header, and what stands in its place. */
struct replacement {
    const char *text, *by;
};

static void replaced_append(const char *text, struct replacement replacement, struct text *result)
{
    size_t length = strlen(replacement.text);
    const char *found;
    while ((found = strstr(text, replacement.text)) != NULL) {
        text_append_bytes(result, text, (size_t)(found - text));
        text_append(result, replacement.by);
        text = found + length;
    }
    text_append(result, text);
}

static int64_t data_bytes_of(const struct json *header)
{
    int64_t end = 0;
    for (size_t i = 0; i < json_count(header); i++) {
        const struct json *offsets = json_get(json_get(header, json_key_at(header, i)), "data_offsets");
        int64_t tensor_end = json_integer_or(json_at(offsets, 1), 0);
        end = tensor_end > end ? tensor_end : end;
    }
    return end;
}

/* The model in a folder with that file; replacements end with one without text. */
static struct model saved_model(const struct json *line, const struct replacement *replacements, const char *config)
{
    char folder[64], path[128];
    struct model model;
    struct status error = {0};
    struct text header = {0};
    assert_int_equal(json_write(json_get(line, "header"), 0, &header, NULL), STATUS_OK);
    for (; replacements != NULL && replacements->text != NULL; replacements++) {
        struct text replaced = {0};
        assert_non_null(strstr(text_string(&header), replacements->text));
        replaced_append(text_string(&header), *replacements, &replaced);
        text_release(&header);
        header = replaced;
    }
    model_folder_write(folder, shadow_text(line, "model"), text_string(&header),
                       data_bytes_of(json_get(line, "header")));
    if (config != NULL) {
        snprintf(path, sizeof path, "%s/config.json", folder);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        assert_true(fputs(config, file) >= 0);
        assert_int_equal(fclose(file), 0);
    }
    if (model_find(&places, folder, &model, &error) != STATUS_OK) {
        fail_msg("%s: %s", shadow_text(line, "model"), error.text);
    }
    model_folder_remove(folder);
    text_release(&header);
    return model;
}

static bool line_agrees(const struct json *line)
{
    struct model model = saved_model(line, NULL, NULL);
    for (int i = 0; i < model.check.finding_count; i++) {
        const struct finding *finding = &model.check.findings[i];
        fail_msg("%s %s: %s %s", shadow_text(line, "model"), shadow_text(line, "head"),
                 finding_kind_name(finding->kind), finding->name);
    }
    bool has_metadata = json_get(json_get(line, "header"), "__metadata__") != NULL;
    assert_int_equal(model.check.matched_count, json_count(json_get(line, "header")) - (has_metadata ? 1 : 0));
    assert_int_equal(model.check.expected_bytes, model.checkpoint->stored_bytes);
    model_release(&model);
    return true;
}

static void every_file_of_the_real_library_agrees(void **state)
{
    (void)state;
    assert_int_equal(shadow_lines_each("tests/models/golden/saved_headers.jsonl", line_agrees), 56);
}

static void finding_expect(const struct model *model, int index, enum finding_kind kind, const char *name, int64_t more)
{
    assert_in_range(index, 0, model->check.finding_count - 1);
    const struct finding *finding = &model->check.findings[index];
    assert_int_equal(finding->kind, kind);
    assert_string_equal(finding->name, name);
    assert_int_equal(finding->more_count, more);
}

/* tiny-mixtral: 4 experts of [64, 32] and [32, 64]. */
static bool mixtral_parts_are_named(const struct json *line)
{
    if (strcmp(shadow_text(line, "model"), "tiny-mixtral") != 0 || strcmp(shadow_text(line, "head"), "lm") != 0) {
        return false;
    }
#define EXPERT "model.layers.1.block_sparse_moe.experts."
    static const struct replacement two[] = {{EXPERT "2.w3.weight", "x"},
                                             {EXPERT "3.w1.weight", "y"},
                                             {EXPERT "0.w2.weight", EXPERT "4.w2.weight"},
                                             {NULL, NULL}};
    struct model model = saved_model(line, two, NULL);
    assert_int_equal(model.check.counts[FINDING_EXTRA], 3); /* there is no fifth expert */
    assert_int_equal(model.check.counts[FINDING_MISSING], 2);
    assert_int_equal(model.check.finding_count, 5);
    finding_expect(&model, 3, FINDING_MISSING, EXPERT "2.w3.weight", 1);
    finding_expect(&model, 4, FINDING_MISSING, EXPERT "0.w2.weight", 0);
    assert_int_equal(model.check.findings[3].rank, 2);
    assert_int_equal(model.check.findings[3].shape[0], model.config.expert_ffn);
    assert_int_equal(model.check.findings[3].shape[1], model.config.hidden);
    assert_int_equal(model.check.findings[4].shape[0], model.config.hidden);
    model_release(&model);
    /* One expert's part under the other spelling: it is there, and its own name is not. */
    static const struct replacement twice[] = {{EXPERT "2.w3.weight", "model.layers.1.mlp.experts.3.up_proj.weight"},
                                               {NULL, NULL}};
    model = saved_model(line, twice, NULL);
    assert_int_equal(model.check.finding_count, 2);
    finding_expect(&model, 0, FINDING_EXTRA, "model.layers.1.mlp.experts.3.up_proj.weight", 0);
    finding_expect(&model, 1, FINDING_MISSING, EXPERT "2.w3.weight", 0);
    model_release(&model);
    static const struct replacement none[] = {{EXPERT, "other."}, {NULL, NULL}};
    model = saved_model(line, none, NULL);
    finding_expect(&model, model.check.finding_count - 1, FINDING_MISSING, "model.layers.1.mlp.experts.down_proj", 0);
    assert_int_equal(model.check.counts[FINDING_MISSING], 2);
    model_release(&model);
    return true;
}

static void missing_parts_are_named(void **state)
{
    (void)state;
    assert_int_equal(shadow_lines_each("tests/models/golden/saved_headers.jsonl", mixtral_parts_are_named), 1);
}

/* The configuration says a narrower expert than the file has. */
static bool header_wins(const struct json *line)
{
    if (strcmp(shadow_text(line, "model"), "tiny-qwen3-moe") != 0 || strcmp(shadow_text(line, "head"), "lm") != 0) {
        return false;
    }
    char config[4096];
    FILE *file = fopen("models/catalogue/tiny-qwen3-moe/config.json", "r");
    assert_non_null(file);
    size_t length = fread(config, 1, sizeof config - 1, file);
    assert_int_equal(fclose(file), 0);
    config[length] = '\0';
    struct text narrower = {0};
    replaced_append(config, (struct replacement){"\"moe_intermediate_size\": 24", "\"moe_intermediate_size\": 8"},
                    &narrower);
    assert_string_not_equal(text_string(&narrower), config);
    struct model model = saved_model(line, NULL, text_string(&narrower));
    int stored_parts = (int)(model.config.layers * model.config.experts * 3);
    assert_int_equal(model.check.counts[FINDING_SHAPE], stored_parts);
    assert_int_equal(model.check.finding_count, stored_parts);
    struct workload load = workload_default(MODE_LOAD);
    struct skeleton skeleton;
    struct status error = {0};
    load.head = HEAD_LM;
    assert_int_equal(model_skeleton(&model, &load, &skeleton, &error), STATUS_OK);
    assert_int_equal(skeleton.parameter_bytes, model.checkpoint->stored_bytes);
    skeleton_release(&skeleton);
    model_release(&model);
    text_release(&narrower);
    return true;
}

static void header_wins_over_the_size_of_experts(void **state)
{
    (void)state;
    assert_int_equal(shadow_lines_each("tests/models/golden/saved_headers.jsonl", header_wins), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_file_of_the_real_library_agrees),
        cmocka_unit_test(missing_parts_are_named),
        cmocka_unit_test(header_wins_over_the_size_of_experts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
