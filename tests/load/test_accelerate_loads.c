/* What the real load_checkpoint_in_model did (peers/placement/load_checkpoint.py), and what our plan does with the same
 * checkpoint and call: the same place, the same type, the same keys that are not loaded, and a refusal where accelerate
 * raises. Where we decide otherwise, the case says so here. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/base/json.h"
#include "harness/load/element_cast.h"
#include "harness/load/load_files.h"
#include "harness/load/load_plan.h"
#include "models/find/config_file.h"
#include "tests/load/checkpoint_files.h"
#include "tests/support/scratch_folder.h"

static const char lines_path[] =
    "peers/placement/load_checkpoint-torch-2.11.0-transformers-5.23.0-accelerate-1.15.0.jsonl";

enum { LINE_BYTES = 1 << 16, LIST_MAXIMUM = 16, CASES_EXPECTED = 150 };

struct told {
    const struct json *line, *outcome;
    const char *name;
    struct edit edits[LIST_MAXIMUM];
    const char *files[LIST_MAXIMUM], *keep[LIST_MAXIMUM];
    struct device_map_entry entries[LIST_MAXIMUM];
    struct files_request request;
    struct load_request load;
    struct device_map map;
};

static const char *type_name(const char *dtype)
{
    static const char *const names[][2] = {{"float32", "F32"},          {"float16", "F16"}, {"bfloat16", "BF16"},
                                           {"float64", "F64"},          {"int64", "I64"},   {"int8", "I8"},
                                           {"float8_e4m3fn", "F8_E4M3"}};
    for (size_t i = 0; dtype != NULL && i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i][0], dtype) == 0) {
            return names[i][1];
        }
    }
    return NULL;
}

static void edits_read(struct told *told)
{
    static const char *const kinds[] = {"drop", "name", "dtype", "first_size", "add", "tied"};
    static char digits[LIST_MAXIMUM][24];
    const struct json *edits = json_get(told->line, "edits");
    for (size_t i = 0; i < json_count(edits); i++) {
        const struct json *row = json_at(edits, i);
        int kind = 0;
        while (strcmp(kinds[kind], json_string_or(json_get(row, "kind"), "")) != 0) {
            kind++;
            assert_true(kind < EDIT_PREFIX);
        }
        const char *value = json_string_or(json_get(row, "value"), NULL);
        if (kind == EDIT_FIRST_SIZE) {
            snprintf(digits[i], sizeof digits[i], "%d", (int)json_integer_or(json_get(row, "value"), -1));
            value = digits[i];
        }
        told->edits[i] = (struct edit){(enum edit_kind)kind, json_string_or(json_get(row, "tensor"), NULL),
                                       kind == EDIT_DTYPE ? type_name(value) : value};
    }
    told->request.edits = told->edits;
    told->request.edit_count = (int)json_count(edits);
}

static int texts_read(const struct json *list, const char **texts)
{
    for (size_t i = 0; i < json_count(list); i++) {
        texts[i] = json_string_or(json_at(list, i), NULL);
    }
    return (int)json_count(list);
}

static void told_read(const struct json *line, struct told *told)
{
    const struct json *map = json_get(line, "map");
    *told = (struct told){
        .line = line, .outcome = json_get(line, "outcome"), .name = json_string_or(json_get(line, "name"), "")};
    edits_read(told);
    texts_read(json_get(line, "files"), told->files);
    told->request.names = told->files;
    told->request.stored = type_name(json_string_or(json_get(line, "stored"), NULL));
    told->request.shard_count = (int)json_integer_or(json_get(line, "shards"), 1);
    told->request.format = json_string_or(json_get(line, "format"), NULL);
    for (const char *key = json_key_after(map, NULL); key != NULL; key = json_key_after(map, key)) {
        struct device_map_entry *entry = &told->entries[told->map.count++];
        entry->path = key;
        assert_true(placement_device_from_name(json_string_or(json_get(map, key), ""), &entry->device));
    }
    told->map.entries = told->entries;
    const char *type = type_name(json_string_or(json_get(line, "dtype"), NULL));
    told->load = (struct load_request){.map = &told->map,
                                       .type = type != NULL ? safetensors_type(type) : NULL,
                                       .keep = told->keep,
                                       .keep_count = texts_read(json_get(line, "keep"), told->keep),
                                       .strict = json_boolean_or(json_get(line, "strict"), false),
                                       .offload_buffers = json_boolean_or(json_get(line, "offload_buffers"), false),
                                       .has_folder = json_boolean_or(json_get(line, "folder"), false)};
}

static const struct load_target *target_of(const struct load_plan *plan, int tensor)
{
    int owner = tensor;
    while (plan->skeleton->tensors[owner].tied_to >= 0) {
        owner = plan->skeleton->tensors[owner].tied_to;
    }
    for (int i = 0; i < plan->target_count; i++) {
        if (plan->targets[i].tensor == owner) {
            return &plan->targets[i];
        }
    }
    return NULL;
}

/* float8 and integers stay what they are; accelerate casts them to what the model or the call has. */
static const char *type_expected(const struct told *told, const char *key, const char *dtype)
{
    for (int i = 0; i < told->request.edit_count; i++) {
        const struct edit *edit = &told->edits[i];
        if (edit->kind == EDIT_DTYPE && strcmp(edit->tensor, key) == 0 && strcmp(edit->value, "F64") != 0) {
            return edit->value;
        }
    }
    return type_name(dtype);
}

static void key_check(const struct told *told, const struct load_plan *plan, const char *key)
{
    const struct json *row = json_get(json_get(told->outcome, "tensors"), key);
    const char *offloaded = json_string_or(json_get(json_get(told->outcome, "offloaded"), key), NULL);
    int tensor = skeleton_find(plan->skeleton, key);
    assert_true(tensor >= 0);
    const struct load_target *target = target_of(plan, tensor);
    bool loaded = json_boolean_or(json_at(row, 2), false);
    enum placement_device_kind kind = target != NULL ? plan->places[target->place].device.kind : PLACEMENT_GPU;
    const char *dtype = loaded ? json_string_or(json_at(row, 1), NULL) : offloaded;
    if (loaded ? target == NULL || kind != PLACEMENT_CPU : offloaded != NULL && target == NULL) {
        fail_msg("%s: %s: accelerate loads it, ours does not do the same", told->name, key);
    }
    if (!loaded && offloaded == NULL) {
        bool is_tied = told->request.skeleton->tensors[tensor].tied_to >= 0 || strstr(key, "wte") != NULL;
        assert_true(is_tied || target == NULL);
        return;
    }
    if (!loaded && kind != PLACEMENT_DISK && plan->tied_count == 0) {
        fail_msg("%s: %s: accelerate puts it on the disk", told->name, key);
    }
    if (strcmp(target->type->name, type_expected(told, key, dtype)) != 0) {
        fail_msg("%s: %s: accelerate has it as %s, ours is %s", told->name, key, dtype, target->type->name);
    }
}

/* Where accelerate goes on, and we do not. */
static bool is_ours_to_refuse(const struct told *told)
{
    return strcmp(told->name, "wrong shape on the disk") == 0 ||
           (told->load.strict && strcmp(told->name, "missing key") == 0);
}

/* Where accelerate fails, and we do not: an integer tensor in the place of a parameter. */
static bool is_ours_to_load(const struct told *told)
{
    return strcmp(told->name, "int8 stays or not") == 0;
}

static void outcome_check(const struct told *told, enum status_code code, const struct load_plan *plan,
                          const struct status *error)
{
    const char *raised = json_string_or(json_get(told->outcome, "error"), NULL);
    const char *message = json_string_or(json_get(told->outcome, "message"), "");
    if (is_ours_to_refuse(told)) {
        assert_null(raised);
        assert_int_equal(code, STATUS_INVALID);
        return;
    }
    if (raised == NULL || is_ours_to_load(told)) {
        if (code != STATUS_OK) {
            fail_msg("%s: %s", told->name, error->text);
        }
        const struct json *tensors = json_get(told->outcome, "tensors"),
                          *warnings = json_get(told->outcome, "warnings");
        bool warned = strstr(json_string_or(json_at(warnings, 0), ""), "were not used when") != NULL;
        for (const char *key = json_key_after(tensors, NULL); key != NULL; key = json_key_after(tensors, key)) {
            key_check(told, plan, key);
        }
        assert_int_equal(warned, plan->unexpected.count > 0);
        bool is_told_by_us = plan->missing.count + plan->unloaded.count > 0;
        assert_int_equal(json_count(warnings) > 0 || is_told_by_us, plan->warnings.length > 0);
        return;
    }
    if (code != STATUS_INVALID) {
        fail_msg("%s: accelerate raises %s: %s; ours gives code %d", told->name, raised, message, (int)code);
    }
    bool names_device = strstr(message, "doesn't have any device set") != NULL && !told->load.strict;
    assert_true(!names_device || strstr(error->text, "doesn't have any device set.") != NULL);
    assert_true(strcmp(raised, "ValueError") != 0 || told->load.strict || strstr(error->text, "ValueError") != NULL);
    assert_true(strcmp(raised, "OSError") != 0 || strstr(error->text, "OSError") != NULL);
}

static void case_check(struct told *told, const struct skeleton *bare, const struct skeleton *headed)
{
    char folder[] = "/tmp/assay-load-XXXXXX", missing[64];
    char *path = NULL;
    struct status error = {0};
    struct load_files files = {0};
    struct load_plan plan = {0};
    struct checkpoint_names names;
    bool has_files = json_kind(json_get(told->line, "files")) == JSON_KIND_ARRAY;
    assert_non_null(mkdtemp(folder));
    snprintf(missing, sizeof missing, "%s/is-not-there", folder);
    told->request.skeleton = headed;
    checkpoint_files_write(folder, &told->request);
    enum status_code code = load_file_choose(has_files ? folder : missing, &path, &error);
    code = code == STATUS_OK ? load_files_open(path, &files, &error) : code;
    if (code == STATUS_OK) {
        names = checkpoint_names_of(files.checkpoint, bare, headed);
        told->load.checkpoint = files.checkpoint;
        told->load.skeleton = headed;
        told->load.names = &names;
        code = load_plan_make(&told->load, &plan, &error);
    }
    outcome_check(told, code, &plan, &error);
    load_plan_release(&plan);
    load_files_release(&files);
    free(path);
    assert_int_equal(scratch_folder_remove(folder), 0);
}

static void line_check(const struct json *line)
{
    struct told told;
    struct config config;
    struct skeleton bare, headed;
    char path[128];
    told_read(line, &told);
    const char *model = json_string_or(json_get(line, "model"), "");
    snprintf(path, sizeof path, "models/catalogue/%s/config.json", model);
    assert_int_equal(config_read(path, model, &config, NULL), STATUS_OK);
    assert_int_equal(skeleton_build(&config, HEAD_BARE, &bare, NULL), STATUS_OK);
    assert_int_equal(skeleton_build(&config, HEAD_LM, &headed, NULL), STATUS_OK);
    case_check(&told, &bare, &headed);
    skeleton_release(&bare);
    skeleton_release(&headed);
}

static void plans_are_accelerates(void **state)
{
    static char line[LINE_BYTES];
    FILE *file = fopen(lines_path, "r");
    int count = 0;
    (void)state;
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file)); /* versions */
    while (fgets(line, sizeof line, file) != NULL) {
        struct json *document = NULL;
        assert_int_equal(json_parse_text(lines_path, line, strlen(line), &document, NULL), STATUS_OK);
        line_check(document);
        json_release(document);
        count++;
    }
    fclose(file);
    assert_int_equal(count, CASES_EXPECTED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(plans_are_accelerates)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
