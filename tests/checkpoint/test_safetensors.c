/* Safetensors: files of the real library are read as it reads them, and every rule of the format is broken once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/json.h"
#include "harness/checkpoint/checkpoint.h"
#include "tests/checkpoint/memory_place.h"

static struct checkpoint *vector_open(const char *path)
{
    struct checkpoint *checkpoint = NULL;
    struct status error = {0};
    if (checkpoint_open(path, &checkpoint, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return checkpoint;
}

/* The header as the library's own reader parsed it (peers/checkpoints/write_vectors.py). */
static void header_agrees(const char *stem)
{
    char path[128];
    struct status error = {0};
    struct json *header = NULL;
    snprintf(path, sizeof path, "tests/checkpoint/vectors/%s.safetensors", stem);
    struct checkpoint *checkpoint = vector_open(path);
    snprintf(path, sizeof path, "tests/checkpoint/vectors/%s.header.json", stem);
    assert_int_equal(json_parse_file(path, 1 << 20, &header, &error), STATUS_OK);
    int metadata = json_get(header, "__metadata__") != NULL ? 1 : 0;
    assert_int_equal(checkpoint->tensor_count, (int)json_count(header) - metadata);
    for (int i = 0; i < checkpoint->tensor_count; i++) {
        const struct checkpoint_tensor *tensor = &checkpoint->tensors[i];
        const struct json *expected = json_get(header, tensor->name);
        const struct json *offsets = json_get(expected, "data_offsets");
        const struct json *shape = json_get(expected, "shape");
        int64_t begin = json_integer_or(json_at(offsets, 0), -1);
        assert_string_equal(tensor->type->name, json_string_or(json_get(expected, "dtype"), ""));
        assert_int_equal(tensor->bytes, json_integer_or(json_at(offsets, 1), -1) - begin);
        assert_int_equal(tensor->offset - checkpoint->tensors[0].offset, begin);
        assert_int_equal(tensor->rank, json_count(shape));
        for (int d = 0; d < tensor->rank; d++) {
            assert_int_equal(tensor->shape[d], json_integer_or(json_at(shape, (size_t)d), -1));
        }
        assert_ptr_equal(checkpoint_find(checkpoint, tensor->name), tensor);
    }
    assert_int_equal(checkpoint->stored_bytes, checkpoint->files[0].data_bytes);
    json_release(header);
    checkpoint_release(checkpoint);
}

static void files_of_the_library_are_read(void **state)
{
    (void)state;
    header_agrees("several");
    header_agrees("none");
    header_agrees("dtypes");
    struct checkpoint *checkpoint = vector_open("tests/checkpoint/vectors/several.safetensors");
    assert_string_equal(checkpoint_entry(checkpoint, "format")->text, "np");
    assert_string_equal(checkpoint_entry(checkpoint, "said \"so\"")->text, "tab\there");
    assert_null(checkpoint_entry(checkpoint, "nothing"));
    assert_null(checkpoint_find(checkpoint, "nothing"));
    assert_non_null(checkpoint_find(checkpoint, "größe ☃"));
    assert_int_equal(checkpoint->format, CHECKPOINT_SAFETENSORS);
    assert_int_equal(checkpoint->claimed_total_bytes, -1);
    checkpoint_release(checkpoint);
}

#define T(members) "{\"t\":{" members "}}"
#define U8(count)  "\"dtype\":\"U8\",\"shape\":[" #count "],\"data_offsets\":[0," #count "]"

/* A header and the size of what follows it, and what is said after "m.safetensors: "; NULL: it is read. */
static const struct {
    const char *header;
    size_t data_bytes;
    const char *message;
} rows[] = {
    {"{}", 0, NULL},
    {"{} \n\t\r ", 0, NULL},
    {T(U8(5)), 5, NULL},
    {T("\"shape\":[],\"dtype\":\"F64\",\"data_offsets\":[0,8]"), 8, NULL},
    {T("\"dtype\":\"F4\",\"shape\":[3,2],\"data_offsets\":[0,3]"), 3, NULL},
    {T("\"dtype\":\"F6_E2M3\",\"shape\":[2,2],\"data_offsets\":[0,3]"), 3, NULL},
    {T("\"dtype\":\"F6_E3M2\",\"shape\":[8],\"data_offsets\":[0,6]"), 6, NULL},
    {T(U8(5) ",\"more\":{\"a\":[1,-2.5e+3,true,null,\"x\",{}],\"b\":false}"), 5, NULL},
    {"{\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[3,5]},\"a\":{\"dtype\":\"U8\",\"shape\":[3],"
     "\"data_offsets\":[0,3]},\"e\":{\"dtype\":\"F32\",\"shape\":[0,9],\"data_offsets\":[3,3]}}",
     5, NULL},
    {"{\"\\u00e4\\ud83d\\ude00\":{" U8(1) "}}", 1, NULL},
    {"{\"__metadata__\":{\"a\":\"b\"}}", 0, NULL},
    {" {}", 0, "byte 8: the header does not begin with '{'; this is not a file of safetensors"},
    {"", 0, "byte 8: the header does not begin with '{'; this is not a file of safetensors"},
    {"[]", 0, "byte 8: the header does not begin with '{'; this is not a file of safetensors"},
    {"{}x", 0, "byte 10: 'x' stands where the end of the header should be; fetch the file again"},
    {"{} {}", 0, "byte 11: '{' stands where the end of the header should be; fetch the file again"},
    {"{", 0, "byte 9: the header ends where a string should be; fetch the file again"},
    {"{\"t", 0, "byte 11: the header ends where the end of a string should be; fetch the file again"},
    {"{\"t\"}", 0, "byte 12: '}' stands where ':' should be; fetch the file again"},
    {"{\"t\":1}", 0, "byte 13: '1' stands where '{' should be; fetch the file again"},
    {"{\"t\n\":1}", 0, "byte 11: the byte 0x0a stands where the end of a string should be; fetch the file again"},
    {"{\"\\x\":1}", 0, "byte 11: 'x' stands where an escape should be; fetch the file again"},
    {"{\"\\u00g0\":1}", 0, "byte 14: 'g' stands where a hexadecimal digit should be; fetch the file again"},
    {"{\"\\ud800\":1}", 0, "byte 16: half a character of UTF-16; fetch the file again"},
    {"{\"\\ude00\":1}", 0, "byte 16: half a character of UTF-16; fetch the file again"},
    {"{\"\\u0000\":1}", 0, "byte 16: a zero character in a string; fetch the file again"},
    {"{\"\xc3(\":1}", 0, "byte 11: this is not UTF-8; fetch the file again"},
    {"{\"\xff\":1}", 0, "byte 10: this is not UTF-8; fetch the file again"},
    {"{\"\xed\xa0\x80\":1}", 0, "byte 11: this is not UTF-8; fetch the file again"},
    {"{\"\xc0\x80\":1}", 0, "byte 10: this is not UTF-8; fetch the file again"},
    {"{\"a\":{" U8(0) "},}", 0, "byte 61: a comma stands before '}'; fetch the file again"},
    {"{\"a\":{" U8(0) "} \"b\":{}}", 0, "byte 61: '\"' stands where ',' should be; fetch the file again"},
    {"{\"a\":{" U8(0) "},\"a\":{" U8(0) "}}", 0, "tensor 'a': it is listed twice; fetch the file again"},
    {T(U8(5)), 6, "its tensors end at byte 66, but it has 67; fetch the file again"},
    {T(U8(5)), 4, "its tensors end at byte 66, but it has 65; fetch the file again"},
    {"{}", 1, "its tensors end at byte 10, but it has 11; fetch the file again"},
    {T("\"dtype\":\"U8\",\"shape\":[5],\"data_offsets\":[1,6]"), 6,
     "tensor 't': it begins at byte 62 of the file, but what is before it ends at byte 61; fetch the file again"},
    {"{\"a\":{" U8(3) "},\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[2,4]}}", 4,
     "tensor 'b': it begins at byte 115 of the file, but what is before it ends at byte 116; fetch the file again"},
    {"{\"a\":{" U8(3) "},\"b\":{" U8(3) "}}", 3,
     "tensor 'b': it begins at byte 113 of the file, but what is before it ends at byte 116; fetch the file again"},
    {T("\"dtype\":\"F32\",\"shape\":[5],\"data_offsets\":[0,19]"), 19,
     "tensor 't': data_offsets [0, 19] are 19 bytes, but its shape and F32 are 20; fetch the file again"},
    {T("\"dtype\":\"U8\",\"shape\":[5],\"data_offsets\":[5,0]"), 5,
     "tensor 't': data_offsets [5, 0] are -5 bytes, but its shape and U8 are 5; fetch the file again"},
    {T("\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[9223372036854775806,9223372036854775807]"), 1,
     "tensor 't': it begins beyond 63 bits; fetch the file again"},
    {T("\"dtype\":\"U8\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,0]"), 0,
     "tensor 't': the product of its shape does not fit 63 bits; fetch the file again"},
    {T("\"dtype\":\"U64\",\"shape\":[2305843009213693952],\"data_offsets\":[0,0]"), 0,
     "tensor 't': 2305843009213693952 elements are no whole number of blocks of 1 elements, or their bytes do not fit "
     "63 bits; fetch the file again"},
    {T("\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,2]"), 2,
     "tensor 't': 3 elements are no whole number of blocks of 2 elements, or their bytes do not fit 63 bits; fetch the "
     "file again"},
    {T("\"dtype\":\"F6_E2M3\",\"shape\":[6],\"data_offsets\":[0,5]"), 5,
     "tensor 't': 6 elements are no whole number of blocks of 4 elements, or their bytes do not fit 63 bits; fetch the "
     "file again"},
    {T("\"dtype\":\"X9\",\"shape\":[1],\"data_offsets\":[0,1]"), 1,
     "byte 26: dtype 'X9' is not known; known are those of safetensors 0.8: BOOL, U8 to U64, I8 to I64, F4 to F64, "
     "BF16, "
     "C64"},
    {T("\"dtype\":\"u8\",\"shape\":[1],\"data_offsets\":[0,1]"), 1,
     "byte 26: dtype 'u8' is not known; known are those of safetensors 0.8: BOOL, U8 to U64, I8 to I64, F4 to F64, "
     "BF16, "
     "C64"},
    {T("\"dtype\":8,\"shape\":[1],\"data_offsets\":[0,1]"), 1,
     "byte 22: '8' stands where a string should be; fetch the file again"},
    {T("\"shape\":[1],\"data_offsets\":[0,1]"), 1, "byte 47: this tensor has no dtype; fetch the file again"},
    {T("\"dtype\":\"U8\",\"data_offsets\":[0,1]"), 1, "byte 48: this tensor has no shape; fetch the file again"},
    {T("\"dtype\":\"U8\",\"shape\":[1]"), 1, "byte 39: this tensor has no data_offsets; fetch the file again"},
    {T("\"dtype\":\"U8\",\"dtype\":\"U8\""), 1, "byte 35: dtype stands twice in this tensor; fetch the file again"},
    {T("\"shape\":[],\"shape\":[]"), 1, "byte 33: shape stands twice in this tensor; fetch the file again"},
    {T(U8(0) ",\"data_offsets\":[0,0]"), 0, "byte 75: data_offsets stands twice in this tensor; fetch the file again"},
    {T("\"shape\":[-1]"), 0,
     "byte 23: '-' stands where a whole number that is not negative should be; fetch the file "
     "again"},
    {T("\"shape\":[1.5]"), 0, "byte 24: '.' stands where the end of a whole number should be; fetch the file again"},
    {T("\"shape\":[01]"), 0, "byte 24: a number with a leading zero; fetch the file again"},
    {T("\"shape\":[1e3]"), 0, "byte 24: 'e' stands where the end of a whole number should be; fetch the file again"},
    {T("\"shape\":[9223372036854775808]"), 0, "byte 41: a number beyond 63 bits; fetch the file again"},
    {T("\"shape\":3"), 0, "byte 22: '3' stands where '[' should be; fetch the file again"},
    {T("\"data_offsets\":[0]"), 0, "byte 32: data_offsets has not two numbers; fetch the file again"},
    {T("\"data_offsets\":[0,1,2]"), 0, "byte 36: data_offsets has not two numbers; fetch the file again"},
    {T("\"more\":tru"), 0, "byte 24: '}' stands where true should be; fetch the file again"},
    {T("\"more\":01"), 0, "byte 22: '1' stands where ',' should be; fetch the file again"},
    {T("\"more\":1."), 0, "byte 23: '}' stands where a digit should be; fetch the file again"},
    {T("\"more\":-"), 0, "byte 22: '}' stands where a value should be; fetch the file again"},
    {"{\"__metadata__\":{\"a\":1}}", 0, "byte 29: '1' stands where a string should be; fetch the file again"},
    {"{\"__metadata__\":[]}", 0, "byte 24: '[' stands where '{' should be; fetch the file again"},
    {"{\"__metadata__\":{\"a\":\"b\",\"a\":\"c\"}}", 0,
     "the key 'a' stands twice in its metadata; fetch the file again"},
    {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, "byte 42: __metadata__ stands twice; fetch the file again"},
};

static void every_rule_holds(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct checkpoint *checkpoint = NULL;
        struct status error = {0};
        char expected[STATUS_TEXT_BYTES];
        struct memory_file file = safetensors_file("m.safetensors", rows[i].header, rows[i].data_bytes);
        enum status_code code = memory_read(&file, 1, file.name, &checkpoint, &error);
        if (rows[i].message == NULL) {
            if (code != STATUS_OK) {
                fail_msg("%s: %s", rows[i].header, error.text);
            }
            assert_int_equal(checkpoint->stored_bytes, rows[i].data_bytes);
            checkpoint_release(checkpoint);
        } else {
            snprintf(expected, sizeof expected, "m.safetensors: %s", rows[i].message);
            assert_string_equal(error.text, expected);
            assert_int_equal(code, STATUS_INVALID);
            assert_null(checkpoint);
        }
        free((void *)(uintptr_t)file.bytes);
    }
}

/* Eight bytes that claim the length of a header, and what is said of them. */
static void lengths_are_checked(void **state)
{
    static const struct {
        unsigned char bytes[12];
        size_t count;
        const char *message;
    } lengths[] = {
        {{0},
         0,
         "m.safetensors: 8 bytes at byte 0 are wanted, but it ends at byte 0; it is cut short, or not the file that "
         "is meant"},
        {{2, 0, 0, 0},
         7,
         "m.safetensors: 8 bytes at byte 0 are wanted, but it ends at byte 7; it is cut short, or not the "
         "file that is meant"},
        {{3, 0, 0, 0, 0, 0, 0, 0, '{', '}'},
         10,
         "m.safetensors: byte 0: a header of 3 bytes is claimed, but the file has "
         "10; fetch the file again"},
        {{1, 0xE1, 0xF5, 5, 0, 0, 0, 0},
         12,
         "m.safetensors: byte 0: a header of 100000001 bytes is claimed, and 100000000 "
         "is the most; this is not a file of safetensors"},
        {{0, 0xE1, 0xF5, 5, 0, 0, 0, 0},
         12,
         "m.safetensors: byte 0: a header of 100000000 bytes is claimed, but the file "
         "has 12; fetch the file again"},
        {{0, 0, 0, 0, 0, 0, 0, 0x10},
         12,
         "m.safetensors: byte 0: a header of 1152921504606846976 bytes is claimed, and "
         "100000000 is the most; this is not a file of safetensors"},
        {{255, 255, 255, 255, 255, 255, 255, 255},
         12,
         "m.safetensors: byte 0: a header of 18446744073709551615 bytes is "
         "claimed, and 100000000 is the most; this is not a file of "
         "safetensors"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        struct checkpoint *checkpoint = NULL;
        struct status error = {0};
        const struct memory_file file = {"m.safetensors", lengths[i].bytes, lengths[i].count};
        assert_int_equal(memory_read(&file, 1, file.name, &checkpoint, &error), STATUS_INVALID);
        assert_string_equal(error.text, lengths[i].message);
    }
}

static void nesting_is_bounded(void **state)
{
    (void)state;
    for (int depth = 60; depth <= 4000; depth += 1970) {
        struct checkpoint *checkpoint = NULL;
        struct status error = {0};
        char *header = calloc(1, 2 * (size_t)depth + 100);
        assert_non_null(header);
        size_t length = (size_t)snprintf(header, 100, "{\"t\":{" U8(0) ",\"x\":");
        memset(header + length, '[', (size_t)depth);
        memset(header + length + depth, ']', (size_t)depth);
        memcpy(header + length + 2 * depth, "}}", 3);
        struct memory_file file = safetensors_file("m.safetensors", header, 0);
        enum status_code code = memory_read(&file, 1, file.name, &checkpoint, &error);
        assert_int_equal(code, depth > 64 ? STATUS_INVALID : STATUS_OK);
        if (code != STATUS_OK) {
            assert_string_equal(error.text,
                                "m.safetensors: byte 128: more than 64 levels are nested; this is not the file "
                                "that is meant");
        }
        checkpoint_release(checkpoint);
        free((void *)(uintptr_t)file.bytes);
        free(header);
    }
}

/* Long and strange names come back whole from the header, and are cut and cleaned in messages. */
static void names_of_any_kind(void **state)
{
    char header[1024];
    char name[513];
    struct status error = {0};
    struct checkpoint *checkpoint = NULL;
    (void)state;
    memset(name, 'n', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    snprintf(header, sizeof header, "{\"%s\":{" U8(1) "}}", name);
    struct memory_file file = safetensors_file("m.safetensors", header, 1);
    assert_int_equal(memory_read(&file, 1, file.name, &checkpoint, &error), STATUS_OK);
    assert_string_equal(checkpoint->tensors[0].name, name);
    checkpoint_release(checkpoint);
    free((void *)(uintptr_t)file.bytes);
    snprintf(header, sizeof header, "{\"\\n\\u001b%s\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[0,1]}}", name);
    file = safetensors_file("m.safetensors", header, 1);
    assert_int_equal(memory_read(&file, 1, file.name, &checkpoint, &error), STATUS_INVALID);
    name[88] = '\0';
    snprintf(
        header, sizeof header,
        "m.safetensors: tensor '?\?%s...': data_offsets [0, 1] are 1 bytes, but its shape and U8 are 2; fetch the file "
        "again",
        name);
    assert_string_equal(error.text, header);
    free((void *)(uintptr_t)file.bytes);
}

static void other_files_are_refused(void **state)
{
    struct checkpoint *checkpoint = NULL;
    struct status error = {0};
    (void)state;
    assert_true(checkpoint_is_named("a.safetensors") && checkpoint_is_named("x/y.gguf"));
    assert_true(checkpoint_is_named("model.safetensors.index.json"));
    assert_false(checkpoint_is_named("config.json") || checkpoint_is_named(".gguf") || checkpoint_is_named(""));
    assert_int_equal(checkpoint_open("README.md", &checkpoint, &error), STATUS_INVALID);
    assert_string_equal(error.text,
                        "README.md: it is no model file; known are .safetensors, .safetensors.index.json and "
                        ".gguf");
    assert_int_equal(checkpoint_open("/nowhere/x.safetensors", &checkpoint, &error), STATUS_IO);
    assert_string_equal(error.text, "/nowhere/x.safetensors: cannot be opened: No such file or directory");
    assert_null(checkpoint);
    checkpoint_release(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_of_the_library_are_read),
        cmocka_unit_test(every_rule_holds),
        cmocka_unit_test(lengths_are_checked),
        cmocka_unit_test(nesting_is_bounded),
        cmocka_unit_test(names_of_any_kind),
        cmocka_unit_test(other_files_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
