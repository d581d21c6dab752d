/* GGUF: files of the real library are read as it reads them, sizes of blocks are its sizes, and headers that lie are
 * refused by the place where they do. */
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
#include "tests/checkpoint/gguf_bytes.h"
#include "tests/checkpoint/memory_place.h"

static const char libraries[] = "tests/checkpoint/vectors/libraries.json";

static struct checkpoint *vector_open(const char *path)
{
    struct checkpoint *checkpoint = NULL;
    struct status error = {0};
    if (checkpoint_open(path, &checkpoint, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return checkpoint;
}

static struct json *libraries_read(void)
{
    struct json *document = NULL;
    assert_int_equal(json_parse_file(libraries, 1 << 20, &document, NULL), STATUS_OK);
    return document;
}

/* Against GGML_QUANT_SIZES of the gguf package. Its Q8_1 has two float32, as ggml had it before 2023; ggml asserts
 * 2 * sizeof(ggml_half) + 32 = 36 bytes. Q2_0 is newer than the package. */
static void blocks_have_the_sizes_of_the_library(void **state)
{
    struct json *document = libraries_read();
    const struct json *sizes = json_get(document, "sizes");
    int compared = 0;
    (void)state;
    for (uint32_t number = 0; number < 64; number++) {
        const struct storage_type *type = gguf_type(number);
        if (type == NULL || strcmp(type->name, "Q2_0") == 0) {
            continue;
        }
        const struct json *row = json_get(sizes, type->name);
        int64_t bytes = json_integer_or(json_get(row, "bytes"), -1);
        assert_int_equal(json_integer_or(json_get(row, "number"), -1), number);
        assert_int_equal(json_integer_or(json_get(row, "block"), -1), type->block_elements);
        assert_int_equal(type->block_bytes, strcmp(type->name, "Q8_1") == 0 ? bytes - 4 : bytes);
        compared++;
    }
    assert_int_equal(compared, json_count(sizes));
    assert_null(gguf_type(4));
    assert_null(gguf_type(UINT32_MAX));
    json_release(document);
}

static void a_file_of_the_library_is_read(void **state)
{
    struct json *document = libraries_read();
    const struct json *tensors = json_get(document, "tiny-llama.gguf");
    struct checkpoint *checkpoint = vector_open("tests/checkpoint/vectors/tiny-llama.gguf");
    (void)state;
    assert_int_equal(checkpoint->tensor_count, json_count(tensors));
    for (int i = 0; i < checkpoint->tensor_count; i++) {
        const struct checkpoint_tensor *tensor = &checkpoint->tensors[i];
        const struct json *expected = json_at(tensors, (size_t)i);
        const struct json *shape = json_get(expected, "shape");
        assert_string_equal(tensor->name, json_string_or(json_get(expected, "name"), ""));
        assert_string_equal(tensor->type->name, json_string_or(json_get(expected, "type"), ""));
        assert_int_equal(tensor->bytes, json_integer_or(json_get(expected, "bytes"), -1));
        assert_int_equal(tensor->offset, json_integer_or(json_get(expected, "offset"), -1));
        assert_int_equal(tensor->rank, json_count(shape));
        for (int d = 0; d < tensor->rank; d++) {
            assert_int_equal(tensor->shape[d], json_integer_or(json_at(shape, (size_t)d), -1));
        }
    }
    checkpoint_release(checkpoint);
    json_release(document);
}

static void values_are_kept(const struct checkpoint *checkpoint)
{
    assert_string_equal(checkpoint_entry(checkpoint, "general.architecture")->text, "llama");
    assert_int_equal(checkpoint_entry(checkpoint, "llama.context_length")->integer, 64);
    const struct checkpoint_entry *heads = checkpoint_entry(checkpoint, "llama.attention.head_count_kv");
    assert_int_equal(heads->kind, CHECKPOINT_VALUE_LIST);
    assert_int_equal(heads->count, 1);
    assert_int_equal(heads->integers[0], 2);
    assert_true(checkpoint_entry(checkpoint, "llama.rope.freq_base")->real == 10000);
    const struct checkpoint_entry *words = checkpoint_entry(checkpoint, "tokenizer.ggml.tokens");
    assert_int_equal(words->kind, CHECKPOINT_VALUE_LIST);
    assert_int_equal(words->count, 12);
    assert_null(words->integers);
    assert_int_equal(checkpoint_entry(checkpoint, "tokenizer.ggml.token_type")->integers[11], 1);
    assert_int_equal(checkpoint_entry(checkpoint, "test.bool")->kind, CHECKPOINT_VALUE_BOOLEAN);
    assert_int_equal(checkpoint_entry(checkpoint, "test.bool")->integer, 1);
    assert_int_equal(checkpoint_entry(checkpoint, "test.large")->kind, CHECKPOINT_VALUE_LARGE);
    assert_int_equal(checkpoint_entry(checkpoint, "test.int8")->integer, -5);
    assert_true(checkpoint_entry(checkpoint, "test.float64")->real == 2.5);
    assert_int_equal(checkpoint_entry(checkpoint, "test.nested")->count, 2);
    assert_string_equal(checkpoint_entry(checkpoint, "test.text")->text, "größe");
}

static void both_byte_orders_say_the_same(void **state)
{
    struct checkpoint *little = vector_open("tests/checkpoint/vectors/tiny-llama.gguf");
    struct checkpoint *big = vector_open("tests/checkpoint/vectors/tiny-llama-big-endian.gguf");
    (void)state;
    values_are_kept(little);
    values_are_kept(big);
    checkpoints_equal(little, big);
    checkpoint_release(little);
    checkpoint_release(big);
}

/* Reads bytes and releases them. */
static enum status_code bytes_read(struct text *bytes, struct checkpoint **checkpoint, struct status *error)
{
    const struct memory_file file = {"m.gguf", text_string(bytes), bytes->length};
    enum status_code code = memory_read(&file, 1, file.name, checkpoint, error);
    text_release(bytes);
    return code;
}

static void refused(struct text *bytes, const char *message)
{
    struct checkpoint *checkpoint = NULL;
    struct status error = {0};
    char expected[STATUS_TEXT_BYTES];
    assert_int_equal(bytes_read(bytes, &checkpoint, &error), STATUS_INVALID);
    snprintf(expected, sizeof expected, "m.gguf: %s", message);
    assert_string_equal(error.text, expected);
    assert_null(checkpoint);
}

/* Version 2 differs in nothing that a header has; files without tensors are heads of split ones. */
static void versions_and_alignments(void **state)
{
    (void)state;
    for (uint64_t version = 2; version <= 3; version++) {
        for (uint64_t alignment = 1; alignment <= 4096; alignment *= 8) {
            struct checkpoint *checkpoint = NULL;
            struct status error = {0};
            struct text bytes = {0};
            bytes_head(&bytes, version, 2, 1);
            bytes_integer_entry(&bytes, "general.alignment", alignment);
            bytes_tensor(&bytes, "a", 1, (const uint64_t[]){5}, 24, 0);
            bytes_tensor(&bytes, "b", 2, (const uint64_t[]){256, 3}, 12, (5 + alignment - 1) / alignment * alignment);
            size_t header = bytes.length;
            bytes_data(&bytes, alignment, (5 + alignment - 1) / alignment * alignment + (size_t)3 * 144);
            if (bytes_read(&bytes, &checkpoint, &error) != STATUS_OK) {
                fail_msg("%s", error.text);
            }
            assert_int_equal(checkpoint->tensors[0].offset, (header + alignment - 1) / alignment * alignment);
            assert_int_equal(checkpoint->tensors[1].bytes, 3 * 144);
            assert_int_equal(checkpoint->tensors[1].shape[0], 3);
            assert_int_equal(checkpoint->stored_bytes, 5 + 3 * 144);
            checkpoint_release(checkpoint);
        }
    }
}

static void heads_that_lie(void **state)
{
    struct text bytes = {0};
    (void)state;
    text_append(&bytes, "GGU");
    refused(&bytes,
            "4 bytes at byte 0 are wanted, but it ends at byte 3; it is cut short, or not the file that is meant");
    text_append(&bytes, "GGML....................");
    refused(&bytes, "byte 0: it does not begin with GGUF; this is not a file of that format");
    bytes_head(&bytes, 1, 0, 0);
    refused(&bytes, "byte 8: version 1 of GGUF; read are 2 and 3, so convert it with a newer llama.cpp");
    bytes_head(&bytes, 4, 0, 0);
    refused(&bytes, "byte 8: version 4 of GGUF; read are 2 and 3, so convert it with a newer llama.cpp");
    bytes_head(&bytes, 3, UINT64_C(1) << 60, 0);
    refused(&bytes,
            "byte 24: 1152921504606846976 tensors and 0 entries are claimed, but 0 bytes follow; fetch the file "
            "again");
    bytes_head(&bytes, 3, 0, UINT64_MAX);
    refused(&bytes,
            "byte 24: 0 tensors and 18446744073709551615 entries are claimed, but 0 bytes follow; fetch the file "
            "again");
    text_append(&bytes, "GGUF");
    bytes_number(&bytes, 3, 4);
    bytes_number(&bytes, 0, 8);
    refused(&bytes, "byte 16: the file ends inside the number of entries; fetch it again");
}

/* A file with one entry: its key, its type, and the bytes of its value in text. */
static struct text entry_bytes(const char *key, uint64_t type)
{
    struct text bytes = {0};
    bytes_head(&bytes, 3, 0, 1);
    bytes_text(&bytes, key);
    bytes_number(&bytes, type, 4);
    return bytes;
}

static void entries_that_lie(void **state)
{
    (void)state;
    struct text bytes = entry_bytes("key", 13);
    bytes_number(&bytes, 0, 8);
    refused(&bytes, "byte 39: a value of type 13, and 12 is the last; fetch the file again");
    bytes = entry_bytes("key", 7);
    bytes_number(&bytes, 2, 1);
    refused(&bytes, "byte 40: a boolean of 2; fetch the file again");
    bytes = entry_bytes("key", 10);
    bytes_number(&bytes, 2, 7);
    refused(&bytes, "byte 39: the file ends inside a value; fetch it again");
    bytes = entry_bytes("key", 8);
    bytes_number(&bytes, UINT64_C(1) << 60, 8);
    refused(&bytes, "byte 47: a text of 1152921504606846976 bytes is claimed, but the file has 0 more; fetch it again");
    bytes = entry_bytes("key", 9);
    bytes_number(&bytes, 0, 4);
    bytes_number(&bytes, UINT64_C(1) << 60, 8);
    bytes_number(&bytes, 0, 4);
    refused(&bytes,
            "byte 51: an array of 1152921504606846976 elements is claimed, but there is room for 4; fetch the file "
            "again");
    bytes = entry_bytes("key", 9);
    bytes_number(&bytes, 8, 4);
    bytes_number(&bytes, 2, 8);
    bytes_text(&bytes, "12345678");
    refused(&bytes, "byte 67: the file ends inside the length of a text; fetch it again");
    bytes = entry_bytes("key", 9);
    for (int i = 0; i < 6; i++) {
        bytes_number(&bytes, 9, 4);
        bytes_number(&bytes, 1, 8);
    }
    refused(&bytes, "byte 87: arrays are nested more than 4 deep; this is not the file that is meant");
    bytes_head(&bytes, 3, 0, 1);
    bytes_number(&bytes, 65536, 8);
    bytes_number(&bytes, 0, 8);
    refused(&bytes, "byte 32: a key of 65536 bytes is claimed, and 65535 is the most; fetch the file again");
    bytes_head(&bytes, 3, 0, 1);
    bytes_number(&bytes, 3, 8);
    bytes_number(&bytes, 'a', 3);
    bytes_number(&bytes, 0, 8);
    refused(&bytes, "byte 35: a key has a zero character; fetch the file again");
    bytes_head(&bytes, 3, 0, 2);
    bytes_text_entry(&bytes, "key", "one");
    bytes_text_entry(&bytes, "key", "other");
    refused(&bytes, "the key 'key' stands twice in its metadata; fetch the file again");
    for (uint64_t alignment = 0; alignment <= 3; alignment += 3) {
        bytes_head(&bytes, 3, 0, 1);
        bytes_integer_entry(&bytes, "general.alignment", alignment);
        refused(&bytes, "byte 57: general.alignment is no power of two of 32 bits; fetch the file again");
    }
}

/* A file with one tensor and some data behind it. */
static struct text tensor_bytes(const char *name, int rank, const uint64_t *sizes, uint64_t type, uint64_t offset)
{
    struct text bytes = {0};
    bytes_head(&bytes, 3, 1, 0);
    bytes_tensor(&bytes, name, rank, sizes, type, offset);
    bytes_data(&bytes, 32, 64);
    return bytes;
}

static void tensors_that_lie(void **state)
{
    static const uint64_t small[] = {16, 1, 1, 1, 1};
    static const uint64_t large[] = {UINT64_C(1) << 60, UINT64_C(1) << 60, 1, 1};
    (void)state;
    struct text bytes = tensor_bytes("t", 1, small, 0, 0);
    struct checkpoint *checkpoint = NULL;
    assert_int_equal(bytes_read(&bytes, &checkpoint, NULL), STATUS_OK);
    checkpoint_release(checkpoint);
    bytes = tensor_bytes("t", 5, small, 0, 0);
    refused(&bytes, "byte 37: a tensor of 5 dimensions, and 4 are the most; fetch the file again");
    bytes = tensor_bytes("t", 1, (const uint64_t[]){UINT64_MAX}, 0, 0);
    refused(&bytes, "byte 45: a size of 18446744073709551615; fetch the file again");
    bytes = tensor_bytes("t", 2, large, 0, 0);
    refused(&bytes, "tensor 't': the product of its shape does not fit 63 bits; fetch the file again");
    bytes = tensor_bytes("t", 1, large, 28, 0);
    refused(&bytes,
            "tensor 't': 1152921504606846976 elements are no whole number of blocks of 1 elements, or their bytes "
            "do not fit 63 bits; fetch the file again");
    bytes = tensor_bytes("t", 1, large, 24, 0);
    refused(&bytes, "tensor 't': 1152921504606846976 bytes from byte 64 on, but the file has 128; fetch it again");
    bytes = tensor_bytes("t", 1, (const uint64_t[]){65}, 24, 0);
    refused(&bytes, "tensor 't': 65 bytes from byte 64 on, but the file has 128; fetch it again");
    bytes = tensor_bytes("t", 1, small, 4, 0);
    refused(&bytes, "byte 49: storage type 4 is not known; known are 0 to 42 without 4, 5, 31 to 33, 36 to 38");
    bytes = tensor_bytes("t", 1, small, UINT32_MAX, 0);
    refused(&bytes,
            "byte 49: storage type 4294967295 is not known; known are 0 to 42 without 4, 5, 31 to 33, 36 to 38");
    bytes = tensor_bytes("t", 2, (const uint64_t[]){16, 2}, 2, 0);
    refused(&bytes,
            "byte 57: rows of 16 elements are no whole number of blocks of 32, as Q4_0 has; fetch the file again");
    bytes = tensor_bytes("t", 1, small, 0, 32);
    refused(&bytes,
            "byte 57: the tensor is said to begin at byte 32 of the data, but the one before it ends at 0; fetch "
            "the file again");
    bytes = tensor_bytes("t123456789012345678901234567890123456789012345678901234567890123456", 1, small, 0, 0);
    refused(&bytes, "byte 32: a name of 67 bytes is claimed, and 64 is the most; fetch the file again");
    bytes_head(&bytes, 3, 2, 0);
    bytes_tensor(&bytes, "t", 1, small, 0, 0);
    bytes_tensor(&bytes, "t", 1, small, 0, 64);
    bytes_data(&bytes, 32, 128);
    refused(&bytes, "tensor 't': it is listed twice; fetch the file again");
    bytes_head(&bytes, 3, 2, 0);
    bytes_tensor(&bytes, "t", 1, small, 0, 0);
    bytes_tensor(&bytes, "u", 1, small, 0, 32);
    bytes_data(&bytes, 32, 128);
    refused(&bytes,
            "byte 90: the tensor is said to begin at byte 32 of the data, but the one before it ends at 64; fetch "
            "the file again");
}

/* Every file cut at every byte: refused, unless what is gone was padding. */
static void cut_files_are_refused(void **state)
{
    static const char path[] = "tests/checkpoint/vectors/tiny-llama.gguf";
    char bytes[8192];
    (void)state;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    for (size_t count = 0; count < size; count++) {
        struct checkpoint *checkpoint = NULL;
        struct status error = {0};
        const struct memory_file cut = {"m.gguf", bytes, count};
        assert_int_equal(memory_read(&cut, 1, cut.name, &checkpoint, &error), STATUS_INVALID);
        assert_int_equal(strncmp(error.text, "m.gguf: ", 8), 0);
    }
}

/* Two parts: the first has the metadata. */
static void parts_are_one_model(void **state)
{
    static const char first[] = "m-00001-of-00002.gguf";
    static const char second[] = "m-00002-of-00002.gguf";
    struct text one = {0}, two = {0};
    struct checkpoint *checkpoint = NULL;
    struct status error = {0};
    (void)state;
    bytes_head(&one, 3, 0, 4);
    bytes_text_entry(&one, "general.architecture", "llama");
    bytes_integer_entry(&one, "split.no", 0);
    bytes_integer_entry(&one, "split.count", 2);
    bytes_integer_entry(&one, "split.tensors.count", 1);
    bytes_head(&two, 3, 1, 2);
    bytes_integer_entry(&two, "split.no", 1);
    bytes_integer_entry(&two, "split.count", 2);
    bytes_tensor(&two, "t", 1, (const uint64_t[]){16}, 0, 0);
    bytes_data(&two, 32, 64);
    const struct memory_file files[] = {{first, one.data, one.length}, {second, two.data, two.length}};
    for (int i = 0; i < 2; i++) {
        if (memory_read(files, 2, files[i].name, &checkpoint, &error) != STATUS_OK) {
            fail_msg("%s", error.text);
        }
        assert_int_equal(checkpoint->tensor_count, 1);
        assert_int_equal(checkpoint->file_count, 2);
        assert_int_equal(checkpoint->tensors[0].file, 1);
        assert_string_equal(checkpoint_entry(checkpoint, "general.architecture")->text, "llama");
        checkpoint_release(checkpoint);
    }
    assert_int_equal(memory_read(files, 1, first, &checkpoint, &error), STATUS_IO);
    assert_string_equal(error.text,
                        "a part of m-00001-of-00002.gguf: m-00002-of-00002.gguf: cannot be opened: No such file "
                        "or directory");
    const struct memory_file swapped[] = {{first, two.data, two.length}, {second, one.data, one.length}};
    assert_int_equal(memory_read(swapped, 2, first, &checkpoint, &error), STATUS_INVALID);
    assert_string_equal(
        error.text,
        "m-00001-of-00002.gguf: split.no is 1, but it is 0 by the names of the files; fetch all parts under "
        "their own names, as NAME-00001-of-00002.gguf");
    const struct memory_file renamed = {"m.gguf", two.data, two.length};
    assert_int_equal(memory_read(&renamed, 1, "m.gguf", &checkpoint, &error), STATUS_INVALID);
    text_release(&one);
    text_release(&two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_have_the_sizes_of_the_library),
        cmocka_unit_test(a_file_of_the_library_is_read),
        cmocka_unit_test(both_byte_orders_say_the_same),
        cmocka_unit_test(versions_and_alignments),
        cmocka_unit_test(heads_that_lie),
        cmocka_unit_test(entries_that_lie),
        cmocka_unit_test(tensors_that_lie),
        cmocka_unit_test(cut_files_are_refused),
        cmocka_unit_test(parts_are_one_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
