/* Offload folders against the real accelerate, without Python: the files that its offload_state_dict wrote for tensors
 * of every dtype are read here, the same tensors written here are the same files, and entries that name a file of
 * safetensors give the elements that its loader gives. peers/placement/offload.py made the lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/json.h"
#include "harness/kernels/convert.h"
#include "tests/checkpoint/offload_scene.h"

static const char lines_path[] = "tests/checkpoint/vectors/offload-torch-2.11.0-accelerate-1.15.0.jsonl";

enum { LINES_MAXIMUM = 1000, PATH_BYTES = 512 };

struct lines {
    struct json *rows[LINES_MAXIMUM];
    int count;
};

static struct lines lines_read(void)
{
    struct lines lines = {0};
    struct status error = {0};
    char *line = NULL;
    size_t size = 0;
    ssize_t length;
    FILE *file = fopen(lines_path, "r");
    assert_non_null(file);
    while ((length = getline(&line, &size, file)) > 0) {
        assert_true(lines.count < LINES_MAXIMUM);
        assert_int_equal(json_parse_text(lines_path, line, (size_t)length, &lines.rows[lines.count++], &error),
                         STATUS_OK);
    }
    free(line);
    fclose(file);
    return lines;
}

static void lines_release(struct lines *lines)
{
    for (int i = 0; i < lines->count; i++) {
        json_release(lines->rows[i]);
    }
}

static const char *word(const struct json *row, const char *key)
{
    return json_string_or(json_get(row, key), "");
}

/* The bytes of a member in hexadecimal; released by the caller. */
static unsigned char *bytes_of(const struct json *row, const char *key, size_t *count)
{
    const char *hex = word(row, key);
    *count = strlen(hex) / 2;
    unsigned char *bytes = malloc(*count + 1);
    assert_non_null(bytes);
    for (size_t i = 0; i < *count; i++) {
        char digits[3] = {hex[2 * i], hex[2 * i + 1], '\0'};
        bytes[i] = (unsigned char)strtoul(digits, NULL, 16);
    }
    return bytes;
}

static int shape_of(const struct json *row, int64_t shape[OFFLOAD_RANK_MAXIMUM])
{
    const struct json *sizes = json_get(row, "shape");
    for (size_t i = 0; i < json_count(sizes); i++) {
        shape[i] = json_integer_or(json_at(sizes, i), -1);
    }
    return (int)json_count(sizes);
}

static void name_of_dat(const struct json *row, char name[PATH_BYTES])
{
    snprintf(name, PATH_BYTES, "%s.dat", word(row, "name"));
}

/* Reads an entry whole, after looking at its shape and dtype. Released by the caller. */
static unsigned char *entry_bytes(struct offload_folder *folder, const struct json *row, int64_t *count)
{
    struct offload_entry entry;
    struct byte_source *source = NULL;
    struct status error = {0};
    int64_t shape[OFFLOAD_RANK_MAXIMUM] = {0};
    const struct offload_tensor wanted = {.name = word(row, "name"),
                                          .type = offload_type_named(word(row, "dtype")),
                                          .rank = shape_of(row, shape),
                                          .shape = shape};
    unsigned char *bytes = NULL;
    if (offload_entry_read(folder, wanted.name, &entry, &error) != STATUS_OK ||
        offload_entry_expect(folder, &entry, &wanted, &error) != STATUS_OK ||
        offload_source_open(folder, &entry, &source, &error) != STATUS_OK ||
        (bytes = malloc((size_t)entry.bytes + 1)) == NULL ||
        byte_source_read(source, 0, bytes, (size_t)entry.bytes, &error) != STATUS_OK) {
        fail_msg("%s: %s", wanted.name, error.text);
    }
    byte_source_release(source);
    *count = entry.bytes;
    return bytes;
}

static void what_accelerate_wrote_is_read(void **state)
{
    struct offload_scene *scene = *state;
    struct lines lines = lines_read();
    struct offload_folder *folder = NULL;
    struct status error = {0};
    int read = 0;
    for (int i = 0; i < lines.count; i++) {
        const struct json *row = lines.rows[i];
        char name[PATH_BYTES];
        if (strcmp(word(row, "type"), "tensor") == 0) {
            size_t count;
            unsigned char *dat = bytes_of(row, "dat", &count);
            name_of_dat(row, name);
            scene_bytes_write(scene, name, dat, count);
            free(dat);
        } else if (strcmp(word(row, "type"), "index") == 0) {
            scene_write(scene, "index.json", word(row, "text"));
        }
    }
    assert_int_equal(offload_folder_open(scene->folder, &folder, &error), STATUS_OK);
    for (int i = 0; i < lines.count; i++) {
        const struct json *row = lines.rows[i];
        if (strcmp(word(row, "type"), "tensor") == 0) {
            size_t expected_count;
            int64_t count;
            unsigned char *expected = bytes_of(row, "hex", &expected_count);
            unsigned char *bytes = entry_bytes(folder, row, &count);
            assert_int_equal(count, expected_count);
            assert_memory_equal(bytes, expected, expected_count);
            free(bytes);
            free(expected);
            read++;
        }
    }
    assert_int_equal(read, offload_folder_count(folder));
    assert_true(read > 150);
    offload_folder_close(folder);
    lines_release(&lines);
}

static void the_same_tensors_are_the_same_files(void **state)
{
    struct offload_scene *scene = *state;
    struct lines lines = lines_read();
    struct offload_writer *writer = NULL;
    struct status error = {0};
    assert_int_equal(offload_writer_open(scene->folder, OFFLOAD_KEEP, &writer, &error), STATUS_OK);
    int written = 0;
    for (int i = 0; i < lines.count; i++) {
        const struct json *row = lines.rows[i];
        if (strcmp(word(row, "type"), "tensor") == 0) {
            size_t count;
            int64_t shape[OFFLOAD_RANK_MAXIMUM] = {0};
            int rank = shape_of(row, shape);
            unsigned char *bytes = bytes_of(row, "hex", &count);
            scene_tensor_put(writer, word(row, "name"), word(row, "dtype"), rank, shape, bytes);
            free(bytes);
            written++;
        }
    }
    assert_int_equal(offload_writer_finish(writer, &error), STATUS_OK);
    for (int i = 0; i < lines.count; i++) {
        const struct json *row = lines.rows[i];
        char name[PATH_BYTES];
        if (strcmp(word(row, "type"), "tensor") == 0) {
            size_t count;
            unsigned char *dat = bytes_of(row, "dat", &count);
            name_of_dat(row, name);
            scene_bytes_expect(scene, name, dat, count);
            free(dat);
        } else if (strcmp(word(row, "type"), "index") == 0) {
            scene_file_expect(scene, "index.json", word(row, "text"));
        }
    }
    assert_int_equal(scene_file_count(scene), written + 1);
    lines_release(&lines);
}

/* Bit by bit, but for NaN, which is NaN. */
static void expect_elements(const char *name, const struct offload_type *type, const unsigned char *found,
                            const unsigned char *expected, size_t count)
{
    for (size_t at = 0; at < count; at += (size_t)type->bytes) {
        if (memcmp(found + at, expected + at, (size_t)type->bytes) == 0) {
            continue;
        }
        int64_t index = (int64_t)at / type->bytes;
        bool nan = type->has_dtype && type->dtype != DTYPE_INT64 && isnan(float_load(found, type->dtype, index)) &&
                   isnan(float_load(expected, type->dtype, index));
        if (!nan) {
            fail_msg("%s: element %d differs", name, (int)index);
        }
    }
}

static void a_file_of_safetensors_is_read_as_its_loader_reads_it(void **state)
{
    struct offload_scene *scene = *state;
    struct lines lines = lines_read();
    struct offload_writer *writer = NULL;
    struct offload_folder *folder = NULL;
    struct status error = {0};
    char path[PATH_BYTES];
    int read = 0;
    snprintf(path, sizeof path, "%s/values.safetensors", scene->folder);
    assert_int_equal(offload_writer_open(scene->folder, OFFLOAD_KEEP, &writer, &error), STATUS_OK);
    for (int i = 0; i < lines.count; i++) {
        const struct json *row = lines.rows[i], *entry = json_get(row, "entry");
        if (strcmp(word(row, "type"), "safetensors") == 0) {
            size_t count;
            unsigned char *bytes = bytes_of(row, "hex", &count);
            scene_bytes_write(scene, "values.safetensors", bytes, count);
            free(bytes);
        } else if (entry != NULL) {
            const char *weight = json_string_or(json_get(entry, "weight_name"), word(row, "name"));
            const char *dtype = json_string_or(json_get(entry, "dtype"), NULL);
            assert_int_equal(offload_writer_refer(writer, word(row, "name"), path, weight,
                                                  dtype != NULL ? offload_type_named(dtype) : NULL, &error),
                             STATUS_OK);
        }
    }
    assert_int_equal(offload_writer_finish(writer, &error), STATUS_OK);
    assert_int_equal(offload_folder_open(scene->folder, &folder, &error), STATUS_OK);
    for (int i = 0; i < lines.count; i++) {
        const struct json *row = lines.rows[i];
        if (json_get(row, "entry") != NULL) {
            size_t expected_count;
            int64_t count;
            unsigned char *expected = bytes_of(row, "hex", &expected_count);
            unsigned char *bytes = entry_bytes(folder, row, &count);
            assert_int_equal(count, expected_count);
            expect_elements(word(row, "name"), offload_type_named(word(row, "dtype")), bytes, expected, expected_count);
            free(bytes);
            free(expected);
            read++;
        }
    }
    assert_int_equal(read, 19);
    offload_folder_close(folder);
    lines_release(&lines);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, offload_scene_make, offload_scene_remove)
    const struct CMUnitTest tests[] = {
        TEST(what_accelerate_wrote_is_read),
        TEST(the_same_tensors_are_the_same_files),
        TEST(a_file_of_safetensors_is_read_as_its_loader_reads_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
