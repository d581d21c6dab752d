/* Offload folders: what is written is what accelerate writes, byte for byte; what lies about itself or belongs to
 * another model is told with its place. Folders that accelerate wrote are read in test_offload_peers.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/checkpoint/offload_write.h"
#include "tests/checkpoint/offload_scene.h"
#include "tests/support/status_said.h"
#include "tests/support/whole_file.h"

static void a_folder_is_what_accelerate_writes(void **state)
{
    struct offload_scene *scene = *state;
    struct status error = {0};
    struct offload_writer *writer = NULL;
    static const float matrix[6] = {0, 1, 2, 3, 4, 5};
    static const uint16_t halves[2] = {0x3f80, 0xc000};
    static const float scalar = 2.5F;
    assert_int_equal(offload_writer_open(scene->folder, OFFLOAD_KEEP, &writer, &error), STATUS_OK);
    scene_tensor_put(writer, "a.weight", "float32", 2, (int64_t[]){2, 3}, matrix);
    scene_tensor_put(writer, "b\xC3\xA9\xF0\x9F\x98\x80", "bfloat16", 1, (int64_t[]){2}, halves);
    scene_tensor_put(writer, "scale", "float32", 0, NULL, &scalar);
    scene_tensor_put(writer, "none", "int64", 2, (int64_t[]){0, 4}, NULL);
    struct offload_totals totals = offload_writer_totals(writer);
    assert_int_equal(totals.written_count, 4);
    assert_int_equal(totals.written_bytes, 24 + 4 + 4);
    assert_int_equal(offload_writer_finish(writer, &error), STATUS_OK);
    scene_file_expect(
        scene, "index.json",
        "{\n  \"a.weight\": {\n    \"dtype\": \"float32\",\n    \"shape\": [\n      2,\n      3\n    ]\n  },\n"
        "  \"b\\u00e9\\ud83d\\ude00\": {\n    \"dtype\": \"bfloat16\",\n    \"shape\": [\n      2\n    ]\n  },\n"
        "  \"scale\": {\n    \"dtype\": \"float32\",\n    \"shape\": []\n  },\n"
        "  \"none\": {\n    \"dtype\": \"int64\",\n    \"shape\": [\n      0,\n      4\n    ]\n  }\n}");
    scene_bytes_expect(scene, "a.weight.dat", matrix, sizeof matrix);
    scene_bytes_expect(scene, "b\xC3\xA9\xF0\x9F\x98\x80.dat", halves, sizeof halves);
    scene_bytes_expect(scene, "scale.dat", &scalar, sizeof scalar);
    scene_bytes_expect(scene, "none.dat", "", 1);
    assert_int_equal(scene_file_count(scene), 5);
}

static void every_dtype_has_a_row(void **state)
{
    (void)state;
    for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
        const struct offload_type *type = offload_type_of_dtype((enum dtype)dtype);
        assert_int_equal(type->bytes, dtype_bytes((enum dtype)dtype));
        assert_string_equal(type->name, dtype == DTYPE_NF4X2 ? "uint8" : dtype_name((enum dtype)dtype));
    }
    assert_null(offload_type_named("float128"));
}

static void an_index_is_merged(void **state)
{
    struct offload_scene *scene = *state;
    struct status error = {0};
    struct offload_writer *writer = NULL;
    static const int64_t numbers[2] = {7, 8};
    scene_write(scene, "index.json", "{\"old\": {\"dtype\": \"int64\", \"shape\": [2], \"note\": null}}");
    assert_int_equal(offload_writer_open(scene->folder, OFFLOAD_KEEP, &writer, &error), STATUS_OK);
    scene_tensor_put(writer, "new", "int64", 1, (int64_t[]){2}, numbers);
    assert_int_equal(offload_writer_finish(writer, &error), STATUS_OK);
    scene_file_expect(
        scene, "index.json",
        "{\n  \"old\": {\n    \"dtype\": \"int64\",\n    \"shape\": [\n      2\n    ],\n    \"note\": null\n  },\n"
        "  \"new\": {\n    \"dtype\": \"int64\",\n    \"shape\": [\n      2\n    ]\n  }\n}");
}

static void nothing_is_written_for_no_tensors(void **state)
{
    struct offload_scene *scene = *state;
    struct status error = {0};
    struct offload_writer *writer = NULL;
    assert_int_equal(offload_writer_open(scene->folder, OFFLOAD_KEEP, &writer, &error), STATUS_OK);
    assert_int_equal(offload_writer_finish(writer, &error), STATUS_OK);
    assert_int_equal(scene_file_count(scene), 0);
}

/* -- reading what is wrong */

static void each_lie_is_told_at_its_place(void **state)
{
    static const struct {
        const char *index, *name, *told; /* what follows the path of the index */
    } rows[] = {
        {"{\"b\": {}}", "a", ":1:1: 'a' is not in this index"},
        {"{\n \"a\": 3}", "a", ":2:7: 'a' is an integer; an entry has"},
        {"{\"a\": {\"shape\": [1]}}", "a", ":1:7: 'a' has no dtype"},
        {"{\"a\": {\"dtype\": 3, \"shape\": [1]}}", "a", ":1:17: 'a': dtype an integer is not"},
        {"{\"a\": {\"dtype\": \"float31\", \"shape\": [1]}}", "a", ":1:17: 'a': dtype 'float31' is not"},
        {"{\"a\": {\"dtype\": \"int8\"}}", "a", ":1:7: 'a' has no shape"},
        {"{\"a\": {\"dtype\": \"int8\",\n  \"shape\": 4}}", "a", ":2:12: 'a': shape is a list"},
        {"{\"a\": {\"dtype\": \"int8\", \"shape\": [2, -1]}}", "a", ":1:34: 'a': size 1 of its shape"},
        {"{\"a\": {\"dtype\": \"int8\", \"shape\": [1.5]}}", "a", ":1:34: 'a': size 0 of its shape"},
        {"{\"a\": {\"dtype\": \"int8\", \"shape\": [4611686018427387904, 4]}}", "a",
         ":1:7: the size of 'a' does not fit 63 bits"},
        {"{\"x\": {},\n \"../x\": {\"dtype\": \"int8\", \"shape\": [1]}}", "../x",
         ":2:10: '../x' cannot be the name of a weight: its file would lie in another folder"},
        {"{\"/etc/x\": {\"dtype\": \"int8\", \"shape\": [1]}}", "/etc/x", ":1:12: '/etc/x' cannot be the name"},
        {"{\"\": {\"dtype\": \"int8\", \"shape\": [1]}}", "", ":1:6: '' cannot be the name of a weight: it is empty"},
        {"{\"a\": {\"safetensors_file\": 3}}", "a", ":1:28: 'a': safetensors_file and weight_name are texts"},
        {"{\"a\": {\"safetensors_file\": \"/nonexistent/x.safetensors\"}}", "a",
         ":1:28: 'a': /nonexistent/x.safetensors: cannot be opened"},
    };
    struct offload_scene *scene = *state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char told[512];
        struct status error = {0};
        struct offload_folder *folder = NULL;
        struct offload_entry entry = {.bytes = -7};
        scene_write(scene, "index.json", rows[i].index);
        assert_int_equal(offload_folder_open(scene->folder, &folder, &error), STATUS_OK);
        enum status_code code = offload_entry_read(folder, rows[i].name, &entry, &error);
        assert_true(code == STATUS_INVALID || code == STATUS_OVERFLOW);
        snprintf(told, sizeof told, "%s/index.json%s", scene->folder, rows[i].told);
        if (strncmp(STATUS_SAID(&error), told, strlen(told)) != 0 || strchr(STATUS_SAID(&error), ';') == NULL) {
            fail_msg("%zu: %s\ninstead of %s", i, STATUS_SAID(&error), told);
        }
        assert_int_equal(entry.bytes, -7);
        offload_folder_close(folder);
    }
}

static void a_folder_that_is_none_is_told(void **state)
{
    static const struct {
        const char *index, *told;
    } rows[] = {
        {"", "/index.json:1:1:"},
        {"[]", "/index.json:1:1: it is an array; the index of an offload folder is an object"},
        {"{\"a\": {},\n \"a\": {}}", "/index.json:2:"},
        {"{\"a\": {}", "/index.json:1:"},
        {"{\"a\": NaN}", "/index.json:1:"},
    };
    struct offload_scene *scene = *state;
    char told[512];
    struct status error = {0};
    struct offload_folder *folder = NULL;
    assert_int_equal(offload_folder_open(scene->folder, &folder, &error), STATUS_IO);
    assert_non_null(strstr(STATUS_SAID(&error), ": there is no such folder; assay offload"));
    assert_int_equal(mkdir(scene->folder, 0777), 0);
    assert_int_equal(offload_folder_open(scene->folder, &folder, &error), STATUS_IO);
    assert_non_null(
        strstr(STATUS_SAID(&error), "/index.json: it is missing, and without it nothing in the folder is known"));
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        scene_write(scene, "index.json", rows[i].index);
        assert_int_equal(offload_folder_open(scene->folder, &folder, &error), STATUS_INVALID);
        snprintf(told, sizeof told, "%s%s", scene->folder, rows[i].told);
        if (strncmp(STATUS_SAID(&error), told, strlen(told)) != 0) {
            fail_msg("%zu: %s\ninstead of %s", i, STATUS_SAID(&error), told);
        }
    }
    snprintf(told, sizeof told, "%s/index.json", scene->folder);
    assert_int_equal(unlink(told), 0);
    assert_int_equal(mkfifo(told, 0666), 0); /* must not hold the program up */
    assert_int_equal(offload_folder_open(scene->folder, &folder, &error), STATUS_IO);
    assert_non_null(strstr(STATUS_SAID(&error), "not a regular file"));
}

static enum status_code source_open(struct offload_scene *scene, const char *name, struct status *error)
{
    struct offload_folder *folder = NULL;
    struct offload_entry entry;
    struct byte_source *source = NULL;
    assert_int_equal(offload_folder_open(scene->folder, &folder, error), STATUS_OK);
    assert_int_equal(offload_entry_read(folder, name, &entry, error), STATUS_OK);
    enum status_code code = offload_source_open(folder, &entry, &source, error);
    byte_source_release(source);
    offload_folder_close(folder);
    return code;
}

static void a_file_of_another_size_is_told(void **state)
{
    static const struct {
        const char *content; /* NULL: there is no file */
        size_t count;
        enum status_code code;
        const char *told;
    } rows[] = {
        {"12345678", 8, STATUS_OK, ""},
        {"1234567", 7, STATUS_INVALID, "it has 7 bytes, and float32 [2] of "},
        {"123456789", 9, STATUS_INVALID, "it has 9 bytes, and float32 [2] of "},
        {NULL, 0, STATUS_IO, "cannot be opened: No such file or directory, and "},
    };
    struct offload_scene *scene = *state;
    scene_write(scene, "index.json",
                "{\"a\": {\"dtype\": \"float32\", \"shape\": [2]}, \"e\": {\"dtype\": \"float32\", \"shape\": [0]}}");
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char path[256], told[512];
        struct status error = {0};
        snprintf(path, sizeof path, "%s/a.dat", scene->folder);
        unlink(path);
        if (rows[i].content != NULL) {
            scene_write(scene, "a.dat", rows[i].content);
        }
        assert_int_equal(source_open(scene, "a", &error), rows[i].code);
        snprintf(told, sizeof told, "%s: %s", path, rows[i].told);
        if (rows[i].code != STATUS_OK && strncmp(STATUS_SAID(&error), told, strlen(told)) != 0) {
            fail_msg("%s\ninstead of %s", STATUS_SAID(&error), told);
        }
    }
    struct status error = {0};
    scene_write(scene, "e.dat", ""); /* of an older numpy */
    assert_int_equal(source_open(scene, "e", &error), STATUS_OK);
    scene_write(scene, "e.dat", "?");
    assert_int_equal(source_open(scene, "e", &error), STATUS_OK);
    scene_write(scene, "e.dat", "??");
    assert_int_equal(source_open(scene, "e", &error), STATUS_INVALID);
}

/* -- another model's folder */

static enum status_code put(struct offload_scene *scene, enum offload_existing existing, const char *dtype,
                            int64_t size, const void *bytes, struct offload_totals *totals, struct status *error)
{
    struct offload_writer *writer = NULL;
    const struct offload_tensor tensor = {.name = "a", .type = offload_type_named(dtype), .rank = 1, .shape = &size};
    enum status_code code = offload_writer_open(scene->folder, existing, &writer, error);
    assert_int_equal(code, STATUS_OK);
    code = offload_writer_begin(writer, &tensor, error);
    if (code == STATUS_OK) {
        code = offload_writer_take(writer, bytes, size * tensor.type->bytes, error);
    }
    if (code == STATUS_OK) {
        code = offload_writer_end(writer, error);
    }
    if (code != STATUS_OK) {
        offload_writer_abandon(writer);
        return code;
    }
    *totals = offload_writer_totals(writer);
    return offload_writer_finish(writer, error);
}

static void a_stale_folder_is_told(void **state)
{
    static const char index[] = "{\"a\": {\"dtype\": \"int8\", \"shape\": [4]}}";
    struct offload_scene *scene = *state;
    struct status error = {0};
    struct offload_totals totals;
    scene_write(scene, "index.json", index);
    scene_write(scene, "a.dat", "abcd");
    assert_int_equal(put(scene, OFFLOAD_KEEP, "int8", 4, "abcd", &totals, &error), STATUS_OK);
    assert_int_equal(totals.kept_count, 1);
    assert_int_equal(totals.written_count, 0);
    scene_file_expect(scene, "index.json", index); /* nothing was added, so it is the file that it was */
    assert_int_equal(put(scene, OFFLOAD_KEEP, "int8", 4, "abcx", &totals, &error), STATUS_INVALID);
    assert_non_null(strstr(STATUS_SAID(&error), "/a.dat: it has other values of 'a' than the model"));
    assert_int_equal(put(scene, OFFLOAD_KEEP, "int8", 3, "abc", &totals, &error), STATUS_INVALID);
    assert_non_null(
        strstr(STATUS_SAID(&error), "/index.json:1:7: 'a' is int8 [4], and the model has int8 [3]; the folder"));
    assert_int_equal(put(scene, OFFLOAD_KEEP, "uint8", 4, "abcd", &totals, &error), STATUS_INVALID);
    assert_non_null(
        strstr(STATUS_SAID(&error), "/index.json:1:7: 'a' is int8 [4], and the model has uint8 [4]; the folder"));
    scene_file_expect(scene, "index.json", index);
    scene_file_expect(scene, "a.dat", "abcd");
    assert_int_equal(put(scene, OFFLOAD_REPLACE, "uint8", 3, "xyz", &totals, &error), STATUS_OK);
    assert_int_equal(totals.written_count, 1);
    scene_file_expect(scene, "a.dat", "xyz");
    scene_file_expect(scene, "index.json",
                      "{\n  \"a\": {\n    \"dtype\": \"uint8\",\n    \"shape\": [\n      3\n    ]\n  }\n}");
}

/* While files change, the index on the disk names none of them. */
static void what_is_replaced_has_no_entry_meanwhile(void **state)
{
    struct offload_scene *scene = *state;
    struct status error = {0};
    struct offload_writer *writer = NULL;
    const int64_t size = 4;
    const struct offload_tensor tensors[] = {{"a", offload_type_named("int8"), 1, &size},
                                             {"b", offload_type_named("int8"), 1, &size}};
    scene_write(
        scene, "index.json",
        "{\"a\": {\"dtype\": \"int8\", \"shape\": [4]}, \"b\": {\"dtype\": \"int8\", \"shape\": [4]}, \"c\": {}}");
    scene_write(scene, "a.dat", "aaaa");
    scene_write(scene, "b.dat", "bbbb");
    assert_int_equal(offload_writer_open(scene->folder, OFFLOAD_REPLACE, &writer, &error), STATUS_OK);
    assert_int_equal(offload_writer_expect(writer, tensors, 2, &error), STATUS_OK);
    scene_file_expect(scene, "index.json", "{\n  \"c\": {}\n}");
    scene_tensor_put(writer, "a", "int8", 1, (int64_t[]){4}, "AAAA");
    scene_tensor_put(writer, "d", "int8", 1, (int64_t[]){4}, "DDDD");
    offload_writer_abandon(writer);
    scene_file_expect(scene, "a.dat", "AAAA"); /* and is not named any more; b is as it was; d is gone */
    scene_file_expect(
        scene, "index.json",
        "{\n  \"b\": {\n    \"dtype\": \"int8\",\n    \"shape\": [\n      4\n    ]\n  },\n  \"c\": {}\n}");
    assert_int_equal(scene_file_count(scene), 3);
}

/* Also where nobody said before what would be written: each entry goes when its tensor comes. */
static void an_entry_goes_before_its_file_changes(void **state)
{
    struct offload_scene *scene = *state;
    struct status error = {0};
    struct offload_writer *writer = NULL;
    scene_write(scene, "index.json", "{\"a\": {\"dtype\": \"int8\", \"shape\": [4]}, \"c\": {}}");
    scene_write(scene, "a.dat", "aaaa");
    assert_int_equal(offload_writer_open(scene->folder, OFFLOAD_REPLACE, &writer, &error), STATUS_OK);
    scene_tensor_put(writer, "a", "int8", 1, (int64_t[]){4}, "AAAA");
    scene_file_expect(scene, "index.json", "{\n  \"c\": {}\n}"); /* as a kill would leave it now */
    offload_writer_abandon(writer);
    scene_file_expect(scene, "index.json", "{\n  \"c\": {}\n}");
}

static void names_that_leave_the_folder_are_not_written(void **state)
{
    static const char *const names[] = {"../x", "/tmp/x", "a/b", ""};
    struct offload_scene *scene = *state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct status error = {0};
        struct offload_writer *writer = NULL;
        const struct offload_tensor tensor = {.name = names[i], .type = offload_type_named("int8")};
        assert_int_equal(offload_writer_open(scene->folder, OFFLOAD_KEEP, &writer, &error), STATUS_OK);
        assert_int_equal(offload_writer_begin(writer, &tensor, &error), STATUS_INVALID);
        assert_non_null(strstr(STATUS_SAID(&error), "cannot be the name of a weight"));
        offload_writer_abandon(writer);
        assert_int_equal(access(scene->folder, F_OK), -1); /* it was made for this, and is gone */
    }
}

static void links_are_not_written_through(void **state)
{
    struct offload_scene *scene = *state;
    struct status error = {0};
    struct offload_totals totals;
    char path[256], target[256];
    assert_int_equal(mkdir(scene->folder, 0777), 0);
    snprintf(path, sizeof path, "%s/a.dat", scene->folder);
    snprintf(target, sizeof target, "%s/precious", scene->root);
    assert_int_equal(symlink(target, path), 0);
    assert_int_equal(put(scene, OFFLOAD_REPLACE, "int8", 4, "abcd", &totals, &error), STATUS_IO);
    assert_non_null(strstr(STATUS_SAID(&error), "is a symbolic link"));
    assert_int_equal(access(target, F_OK), -1);
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof path, "%s/index.json", scene->folder);
    assert_int_equal(symlink(target, path), 0);
    struct offload_writer *writer = NULL;
    assert_int_equal(offload_writer_open(scene->folder, OFFLOAD_KEEP, &writer, &error), STATUS_IO);
    assert_non_null(strstr(STATUS_SAID(&error), "is a symbolic link"));
    assert_int_equal(scene_file_count(scene), 1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, offload_scene_make, offload_scene_remove)
    const struct CMUnitTest tests[] = {
        TEST(a_folder_is_what_accelerate_writes),
        TEST(every_dtype_has_a_row),
        TEST(an_index_is_merged),
        TEST(nothing_is_written_for_no_tensors),
        TEST(each_lie_is_told_at_its_place),
        TEST(a_folder_that_is_none_is_told),
        TEST(a_file_of_another_size_is_told),
        TEST(a_stale_folder_is_told),
        TEST(what_is_replaced_has_no_entry_meanwhile),
        TEST(an_entry_goes_before_its_file_changes),
        TEST(names_that_leave_the_folder_are_not_written),
        TEST(links_are_not_written_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
