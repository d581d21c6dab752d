/* Sharded safetensors: index and shards must say the same, and each of them is damaged once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/text.h"
#include "harness/checkpoint/checkpoint.h"
#include "tests/checkpoint/memory_place.h"

#define INDEX "model.safetensors.index.json"
#define ONE   "model-00001-of-00002.safetensors"
#define TWO   "model-00002-of-00002.safetensors"

static const char one_header[] = "{\"a\":{\"dtype\":\"F16\",\"shape\":[3],\"data_offsets\":[0,6]},"
                                 "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[6,8]},"
                                 "\"__metadata__\":{\"format\":\"pt\"}}";
static const char two_header[] = "{\"c\":{\"dtype\":\"F32\",\"shape\":[1,2],\"data_offsets\":[0,8]},"
                                 "\"__metadata__\":{\"format\":\"pt\"}}";

/* Reads an index beside the two shards. */
static enum status_code index_read(const char *index, struct checkpoint **checkpoint, struct status *error)
{
    struct memory_file files[3] = {
        {INDEX, index, strlen(index)}, safetensors_file(ONE, one_header, 8), safetensors_file(TWO, two_header, 8)};
    enum status_code code = memory_read(files, 3, INDEX, checkpoint, error);
    free((void *)(uintptr_t)files[1].bytes);
    free((void *)(uintptr_t)files[2].bytes);
    return code;
}

#define MAP "\"weight_map\":{\"c\":\"" TWO "\",\"a\":\"" ONE "\",\"b\":\"" ONE "\"}"

static void shards_are_one_model(void **state)
{
    struct checkpoint *checkpoint = NULL;
    struct status error = {0};
    (void)state;
    if (index_read("{\"metadata\":{\"total_size\":16,\"more\":[1.5]}," MAP ",\"more\":{}}\n", &checkpoint, &error) !=
        STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(checkpoint->format, CHECKPOINT_SAFETENSORS_INDEX);
    assert_int_equal(checkpoint->tensor_count, 3);
    assert_int_equal(checkpoint->stored_bytes, 16);
    assert_int_equal(checkpoint->element_count, 7);
    assert_int_equal(checkpoint->claimed_total_bytes, 16);
    assert_int_equal(checkpoint->file_count, 3);
    assert_string_equal(checkpoint->files[0].name, INDEX);
    assert_int_equal(checkpoint->files[0].data_bytes, 0);
    assert_string_equal(checkpoint->files[1].name, ONE);
    assert_int_equal(checkpoint->files[1].data_bytes, 8);
    assert_string_equal(checkpoint->files[checkpoint_find(checkpoint, "c")->file].name, TWO);
    assert_int_equal(checkpoint_find(checkpoint, "c")->rank, 2);
    assert_int_equal(checkpoint_find(checkpoint, "b")->offset, (int64_t)strlen(one_header) + 8 + 6);
    checkpoint_release(checkpoint);
    assert_int_equal(index_read("{" MAP "}", &checkpoint, &error), STATUS_OK);
    assert_int_equal(checkpoint->claimed_total_bytes, -1);
    checkpoint_release(checkpoint);
}

static const struct {
    const char *index, *message;
} rows[] = {
    {"{}", INDEX ": it has no weight_map that lists a tensor; fetch the file again"},
    {"{\"weight_map\":{}}", INDEX ": it has no weight_map that lists a tensor; fetch the file again"},
    {"[]", INDEX ": byte 0: '[' stands where '{' should be; fetch the file again"},
    {"", INDEX ": byte 0: the header ends where '{' should be; fetch the file again"},
    {"{\"weight_map\":[]}", INDEX ": byte 14: '[' stands where '{' should be; fetch the file again"},
    {"{\"weight_map\":{},\"weight_map\":{}}", INDEX ": byte 30: weight_map stands twice; fetch the file again"},
    {"{\"metadata\":{},\"metadata\":{}}", INDEX ": byte 26: metadata stands twice; fetch the file again"},
    {"{\"metadata\":{\"total_size\":1,\"total_size\":1}}",
     INDEX ": byte 41: total_size stands twice; fetch the file again"},
    {"{\"metadata\":{\"total_size\":-1}}",
     INDEX ": byte 26: '-' stands where a whole number that is not negative should be; fetch the file again"},
    {"{\"weight_map\":{\"a\":\"../x.safetensors\"}}",
     INDEX ": byte 37: '../x.safetensors' is no name of a shard; a file beside the index is meant, as "
           "model-00001-of-00002.safetensors"},
    {"{\"weight_map\":{\"a\":\"x/y.safetensors\"}}",
     INDEX ": byte 36: 'x/y.safetensors' is no name of a shard; a file beside the index is meant, as "
           "model-00001-of-00002.safetensors"},
    {"{\"weight_map\":{\"a\":\"x.bin\"}}", INDEX ": byte 26: 'x.bin' is no name of a shard; a file beside the index is "
                                                 "meant, as model-00001-of-00002.safetensors"},
    {"{\"weight_map\":{\"a\":\"gone.safetensors\"}}",
     "a shard of " INDEX ": gone.safetensors: cannot be opened: No such file or directory"},
    {"{\"weight_map\":{\"a\":\"" ONE "\",\"c\":\"" TWO "\"}}",
     ONE ": tensor 'b': it is here, but the index does not list it; fetch the files again"},
    {"{\"weight_map\":{\"a\":\"" ONE "\",\"b\":\"" TWO "\",\"c\":\"" TWO "\"}}",
     TWO ": tensor 'b': the index says that it is here, but it is not; fetch the files again"},
    {"{\"weight_map\":{\"a\":\"" ONE "\",\"b\":\"" ONE "\",\"x\":\"" ONE "\"}}",
     ONE ": tensor 'x': the index says that it is here, but it is not; fetch the files again"},
    {"{\"weight_map\":{\"a\":\"" ONE "\",\"b\":\"" ONE "\",\"a\":\"" ONE "\"}}",
     INDEX ": tensor 'a': it is listed twice; fetch the files again"},
};

static void every_disagreement_is_named(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct checkpoint *checkpoint = NULL;
        struct status error = {0};
        enum status_code code = index_read(rows[i].index, &checkpoint, &error);
        assert_string_equal(error.text, rows[i].message);
        assert_true(code == STATUS_INVALID || code == STATUS_IO);
        assert_null(checkpoint);
    }
}

/* Each costs a request where it is asked for at a hub: none is opened. */
static void too_many_shards_are_not_opened(void **state)
{
    struct text index = {0};
    struct checkpoint *checkpoint = NULL;
    struct status error = {0};
    (void)state;
    text_append(&index, "{\"weight_map\":{");
    for (int i = 0; i <= CHECKPOINT_FILES_MAXIMUM; i++) {
        text_format(&index, "%s\"t%d\":\"s%d.safetensors\"", i > 0 ? "," : "", i, i);
    }
    text_append(&index, "}}");
    assert_int_equal(index_read(text_string(&index), &checkpoint, &error), STATUS_INVALID);
    assert_string_equal(error.text,
                        INDEX ": it names 1001 files, and 1000 are the most; this is not the file that is meant");
    text_release(&index);
}

/* One name in two shards, and a shard that is itself damaged. */
static void shards_are_checked(void **state)
{
    struct checkpoint *checkpoint = NULL;
    struct status error = {0};
    static const char index[] = "{" MAP "}";
    (void)state;
    struct memory_file files[3] = {
        {INDEX, index, strlen(index)}, safetensors_file(ONE, one_header, 8), safetensors_file(TWO, one_header, 8)};
    assert_int_equal(memory_read(files, 3, INDEX, &checkpoint, &error), STATUS_INVALID);
    assert_string_equal(error.text, TWO ": tensor 'a': " ONE " has one of this name, too; fetch the files again");
    files[2].count--;
    assert_int_equal(memory_read(files, 3, INDEX, &checkpoint, &error), STATUS_INVALID);
    assert_string_equal(error.text, TWO ": its tensors end at byte 153, but it has 152; fetch the file again");
    assert_null(checkpoint);
    free((void *)(uintptr_t)files[1].bytes);
    free((void *)(uintptr_t)files[2].bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shards_are_one_model),
        cmocka_unit_test(every_disagreement_is_named),
        cmocka_unit_test(too_many_shards_are_not_opened),
        cmocka_unit_test(shards_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
