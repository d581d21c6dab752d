/* What save_pretrained writes (peers/transformers/saved_headers.py and saved_shards.py), and the plan of a checkpoint
 * of the same model: the same files, tensors, types, shapes and offsets in the same order. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/size_text.h"
#include "models/find/catalogue.h"
#include "models/find/saved_layout.h"
#include "tests/models/shadow_lines.h"

/* A model of the catalogue, laid out and dealt out. */
struct laid {
    struct config config;
    struct skeleton skeleton;
    struct saved_layout layout;
    struct checkpoint_plan plan;
};

static void laid_open(struct laid *laid, const char *model, enum head head, enum dtype precision, int64_t maximum_bytes)
{
    struct status error = {0};
    enum status_code code = config_find("models/catalogue", model, &laid->config, &error);
    code = code == STATUS_OK ? skeleton_build(&laid->config, head, &laid->skeleton, &error) : code;
    code = code == STATUS_OK ? saved_layout_make(&laid->skeleton, precision, &laid->layout, &error) : code;
    code = code == STATUS_OK ? checkpoint_plan_make(laid->layout.tensors, laid->layout.tensor_count, maximum_bytes,
                                                    &laid->plan, &error)
                             : code;
    if (code != STATUS_OK) {
        fail_msg("%s: %s", model, error.text);
    }
}

static void laid_close(struct laid *laid)
{
    checkpoint_plan_release(&laid->plan);
    saved_layout_release(&laid->layout);
    skeleton_release(&laid->skeleton);
}

/* The header of a file is the library's, member by member in order; its length is what it says, a multiple of eight. */
static void header_expect(const struct laid *laid, int file, const struct json *expected)
{
    struct text header = {0}, ours = {0}, theirs = {0};
    struct json *document = NULL;
    struct status error = {0};
    uint64_t length = 0;
    planned_header_append(&laid->plan, file, &header);
    assert_int_equal(text_status(&header, "header", &error), STATUS_OK);
    for (int i = 7; i >= 0; i--) {
        length = length << 8 | (unsigned char)header.data[i];
    }
    assert_int_equal(length + 8, header.length);
    assert_int_equal(length % 8, 0);
    assert_int_equal(laid->plan.files[file].header_bytes, header.length);
    if (json_parse_text("header", header.data + 8, (size_t)length, &document, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(json_write(document, 0, &ours, NULL), STATUS_OK);
    assert_int_equal(json_write(expected, 0, &theirs, NULL), STATUS_OK);
    assert_string_equal(text_string(&ours), text_string(&theirs));
    json_release(document);
    text_release(&header);
    text_release(&ours);
    text_release(&theirs);
}

static enum head head_of(const struct json *line)
{
    return strcmp(shadow_text(line, "head"), "lm") == 0 ? HEAD_LM : HEAD_BARE;
}

static bool single_file_is_the_librarys(const struct json *line)
{
    struct laid laid = {0};
    laid_open(&laid, shadow_text(line, "model"), head_of(line), DTYPE_FLOAT32, INT64_MAX);
    assert_int_equal(laid.plan.file_count, 1);
    assert_string_equal(laid.plan.files[0].name, "model.safetensors");
    header_expect(&laid, 0, json_get(line, "header"));
    laid_close(&laid);
    return true;
}

static void every_single_file_is_the_librarys(void **state)
{
    (void)state;
    assert_int_equal(shadow_lines_each("tests/models/golden/saved_headers.jsonl", single_file_is_the_librarys), 56);
}

static bool shards_are_the_librarys(const struct json *line)
{
    struct laid laid = {0};
    enum dtype precision;
    int64_t maximum_bytes = 0;
    char name[64];
    const struct json *shards = json_get(line, "shards"), *metadata = json_get(line, "metadata");
    assert_int_equal(size_parse(shadow_text(line, "maximum"), &maximum_bytes, NULL), STATUS_OK);
    assert_true(dtype_from_name(shadow_text(line, "precision"), &precision));
    laid_open(&laid, shadow_text(line, "model"), head_of(line), precision, maximum_bytes);
    if (laid.plan.file_count != (int)json_count(shards)) {
        fail_msg("%s %s: %d files, the library has %zu", shadow_text(line, "model"), shadow_text(line, "head"),
                 laid.plan.file_count, json_count(shards));
    }
    assert_int_equal(laid.plan.data_bytes, json_integer_or(json_get(metadata, "total_size"), -1));
    assert_int_equal(laid.skeleton.parameter_count, json_integer_or(json_get(metadata, "total_parameters"), -1));
    for (int i = 0; i < laid.plan.file_count; i++) {
        snprintf(name, sizeof name, "model-%05d-of-%05d.safetensors", i + 1, laid.plan.file_count);
        assert_string_equal(laid.plan.files[i].name, name);
        header_expect(&laid, i, json_at(shards, (size_t)i));
    }
    laid_close(&laid);
    return true;
}

static void all_shards_are_the_librarys(void **state)
{
    (void)state;
    assert_int_equal(shadow_lines_each("tests/models/golden/saved_shards.jsonl", shards_are_the_librarys), 60);
}

/* Every model of the catalogue has a layout; its elements are those of the parameters and of the buffers that are
 * stored. */
static void every_model_has_a_layout(void **state)
{
    struct catalogue catalogue;
    (void)state;
    assert_int_equal(catalogue_read("models/catalogue", &catalogue, NULL), STATUS_OK);
    for (int i = 0; i < catalogue.count; i++) {
        struct laid laid = {0};
        int64_t bytes = 0;
        laid_open(&laid, catalogue.names[i], HEAD_LM, DTYPE_BFLOAT16, INT64_C(50000000000));
        for (int k = 0; k < laid.skeleton.tensor_count; k++) {
            const struct skeleton_tensor *tensor = &laid.skeleton.tensors[k];
            bool is_stored = tensor->tied_to < 0 && (!tensor->is_buffer || tensor->persistent);
            bytes += is_stored ? tensor->element_count * dtype_bytes(saved_dtype(tensor, DTYPE_BFLOAT16)) : 0;
        }
        assert_int_equal(laid.plan.data_bytes, bytes);
        laid_close(&laid);
    }
    assert_true(catalogue.count > 100);
    catalogue_release(&catalogue);
}

static void paths_are_ordered_by_numbers_and_words(void **state)
{
    static const char *const sorted[] = {
        "conv",           "conv.1",    "conv.a",      "conv1",       "conv2.weight", "conv11.bias",
        "layers.2.norm1", "layers.11", "layers.11.a", "layers.norm", "lm_head",      "norm",
    };
    (void)state;
    int count = (int)(sizeof sorted / sizeof sorted[0]);
    for (int i = 0; i < count; i++) {
        for (int k = 0; k < count; k++) {
            int order = path_order(sorted[i], sorted[k]);
            if ((order > 0) - (order < 0) != (i > k) - (i < k)) {
                fail_msg("'%s' against '%s': %d", sorted[i], sorted[k], order);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_single_file_is_the_librarys),
        cmocka_unit_test(all_shards_are_the_librarys),
        cmocka_unit_test(every_model_has_a_layout),
        cmocka_unit_test(paths_are_ordered_by_numbers_and_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
