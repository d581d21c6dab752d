/* The plan of a checkpoint: how tensors are dealt out to files, and the bytes of headers and index. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "harness/checkpoint/checkpoint_plan.h"

enum { TENSORS_MAXIMUM = 12 };

static char names[TENSORS_MAXIMUM][16];

/* Tensors of so many bytes, t0, t1, ...; a negative one stays with the one before it. */
static struct checkpoint_plan dealt(struct planned_tensor *tensors, const int *bytes, int count, int64_t maximum_bytes)
{
    struct checkpoint_plan plan;
    struct status error = {0};
    for (int i = 0; i < count; i++) {
        snprintf(names[i], sizeof names[i], "t%d", i);
        tensors[i] = (struct planned_tensor){.name = names[i],
                                             .type = safetensors_type("U8"),
                                             .rank = 1,
                                             .size = {bytes[i] < 0 ? -bytes[i] : bytes[i]},
                                             .stays_with_previous = bytes[i] < 0};
    }
    if (checkpoint_plan_make(tensors, count, maximum_bytes, &plan, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return plan;
}

static void files_expect(const int *bytes, int count, int64_t maximum_bytes, const int *files)
{
    struct planned_tensor tensors[TENSORS_MAXIMUM];
    struct checkpoint_plan plan = dealt(tensors, bytes, count, maximum_bytes);
    for (int i = 0; i < count; i++) {
        if (tensors[i].file != files[i]) {
            fail_msg("maximum %d: tensor %d is in file %d instead of %d", (int)maximum_bytes, i, tensors[i].file,
                     files[i]);
        }
    }
    checkpoint_plan_release(&plan);
}

/* The example of split_torch_state_dict_into_shards' own documentation, and that of checkpoint_plan.h. */
static void tensors_are_dealt_out_in_order(void **state)
{
    (void)state;
    files_expect((const int[]){6, 6, 2, 6, 2, 2}, 6, 10, (const int[]){0, 1, 1, 2, 2, 2});
    files_expect((const int[]){3, 9, 2, 4}, 4, 5, (const int[]){1, 0, 1, 2});
    files_expect((const int[]){5, 5}, 2, 5, (const int[]){0, 1});
    files_expect((const int[]){5, 5}, 2, 10, (const int[]){0, 0});
    files_expect((const int[]){7, 8}, 2, 1, (const int[]){0, 1});
    files_expect((const int[]){1, 9, 1, 9, 1}, 5, 3, (const int[]){2, 0, 2, 1, 2});
}

/* A group is dealt out as one tensor of its size. */
static void groups_are_not_split(void **state)
{
    (void)state;
    files_expect((const int[]){2, 2, -2, -2, 1}, 5, 5, (const int[]){1, 0, 0, 0, 1});
    files_expect((const int[]){2, 2, -2, 1}, 4, 5, (const int[]){0, 1, 1, 1});
    files_expect((const int[]){2, 2, -2, 2, -1}, 5, 4, (const int[]){0, 1, 1, 2, 2});
}

static void file_and_index_are_the_librarys_bytes(void **state)
{
    (void)state;
    int64_t two[] = {2, 3};
    struct planned_tensor tensors[] = {
        {.name = "b", .type = safetensors_type("F16"), .rank = 2, .size = {two[0], two[1]}},
        {.name = "z", .type = safetensors_type("F32"), .rank = 1, .size = {1}},
        {.name = "a", .type = safetensors_type("I64"), .rank = 0},
        {.name = "a\"", .type = safetensors_type("F16"), .rank = 1, .size = {1}},
    };
    struct checkpoint_plan plan;
    struct text text = {0};
    assert_int_equal(checkpoint_plan_make(tensors, 4, 1000, &plan, NULL), STATUS_OK);
    planned_header_append(&plan, 0, &text);
    /* What safetensors.torch.save (0.8.0) writes of these tensors: 256 bytes behind the eight, blanks among them. */
    static const char expected[] = "\0\1\0\0\0\0\0\0{\"__metadata__\":{\"format\":\"pt\"},\"a\":{\"dtype\":\"I64\","
                                   "\"shape\":[],\"data_offsets\":[0,8]},"
                                   "\"z\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,12]},"
                                   "\"a\\\"\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[12,14]},"
                                   "\"b\":{\"dtype\":\"F16\",\"shape\":[2,3],\"data_offsets\":[14,26]}}";
    size_t length = sizeof expected - 1;
    assert_int_equal(text.length, 8 + 256);
    assert_memory_equal(text.data, expected, length);
    for (size_t i = length; i < text.length; i++) {
        assert_int_equal(text.data[i], ' ');
    }
    assert_int_equal(plan.total_bytes, (int64_t)text.length + 26);
    checkpoint_plan_release(&plan);
    text_release(&text);
    assert_int_equal(checkpoint_plan_make(tensors, 4, 12, &plan, NULL), STATUS_OK);
    assert_int_equal(planned_index_append(&plan, 9, &text, NULL), STATUS_OK);
    assert_string_equal(text_string(&text),
                        "{\n  \"metadata\": {\n    \"total_parameters\": 9,\n    \"total_size\": 26\n  },\n"
                        "  \"weight_map\": {\n"
                        "    \"a\": \"model-00002-of-00003.safetensors\",\n"
                        "    \"a\\\"\": \"model-00003-of-00003.safetensors\",\n"
                        "    \"b\": \"model-00001-of-00003.safetensors\",\n"
                        "    \"z\": \"model-00002-of-00003.safetensors\"\n  }\n}\n");
    checkpoint_plan_release(&plan);
    text_release(&text);
}

static void too_much_is_refused(void **state)
{
    (void)state;
    struct checkpoint_plan plan;
    struct status error = {0};
    static struct planned_tensor many[1001];
    static char many_names[1001][16];
    for (int i = 0; i < 1001; i++) {
        snprintf(many_names[i], sizeof many_names[i], "t%d", i);
        many[i] =
            (struct planned_tensor){.name = many_names[i], .type = safetensors_type("U8"), .rank = 1, .size = {2}};
    }
    assert_int_equal(checkpoint_plan_make(many, 1001, 2, &plan, &error), STATUS_INVALID);
    assert_string_equal(error.text, "files of at most 2 bytes would be 1001, and a checkpoint has at most 1000; allow "
                                    "larger ones");
    assert_int_equal(checkpoint_plan_make(many, 1000, 2, &plan, &error), STATUS_OK);
    assert_int_equal(plan.file_count, 1000);
    checkpoint_plan_release(&plan);
    many[0].size[0] = INT64_MAX;
    assert_int_equal(checkpoint_plan_make(many, 2, 2, &plan, &error), STATUS_OVERFLOW);
    assert_string_equal(error.text, "t1: its bytes do not fit 63 bits");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_are_dealt_out_in_order),
        cmocka_unit_test(groups_are_not_split),
        cmocka_unit_test(file_and_index_are_the_librarys_bytes),
        cmocka_unit_test(too_much_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
