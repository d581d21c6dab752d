/* Bounded memory: whatever a header claims or lists, reading it takes no more than the size of the file times
 * CHECKPOINT_MEMORY_FACTOR and what CHECKPOINT_SPARE_BYTES allows. Each file is read in a process that can have that
 * much and no more: if the reader wanted more, it would say that it is out of memory instead of what is wrong in the
 * file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/checkpoint/checkpoint_builder.h"
#include "tests/checkpoint/gguf_bytes.h"
#include "tests/checkpoint/memory_place.h"
#include "tests/support/memory_source.h"

enum { HEAP_STEP_BYTES = 512 * 1024 }; /* what malloc takes at once from the system beyond what is asked for */

static void memory_limit(size_t further_bytes)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    bool read = file != NULL && fscanf(file, "%lu", &pages) == 1;
    const struct rlimit limit = {.rlim_cur = pages * (rlim_t)sysconf(_SC_PAGESIZE) + further_bytes,
                                 .rlim_max = RLIM_INFINITY};
    if (!read || fclose(file) != 0 || setrlimit(RLIMIT_AS, &limit) != 0) {
        _exit(100);
    }
}

/* Before anything is taken: skip() does not come back. */
static void skip_under_sanitizers(void)
{
#if defined(__SANITIZE_ADDRESS__)
    skip(); /* the sanitizer's own memory is bounded, too */
#endif
}

/* What reading the file comes to in a process of bounded memory: 0 to 7, an enum status_code. */
static int bounded_read(const struct memory_file *file)
{
#if defined(__SANITIZE_ADDRESS__)
    skip(); /* the sanitizer's own memory is bounded, too */
#endif
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct checkpoint *checkpoint = NULL;
        memory_limit(file->count * CHECKPOINT_MEMORY_FACTOR + CHECKPOINT_SPARE_BYTES + HEAP_STEP_BYTES);
        enum status_code code = memory_read(file, 1, file->name, &checkpoint, NULL);
        checkpoint_release(checkpoint);
        _exit((int)code);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void expect_header(const char *header, enum status_code code)
{
    struct memory_file file = safetensors_file("m.safetensors", header, 0);
    assert_int_equal(bounded_read(&file), code);
    free((void *)(uintptr_t)file.bytes);
}

static void expect_gguf(struct text *bytes, enum status_code code)
{
    const struct memory_file file = {"m.gguf", text_string(bytes), bytes->length};
    assert_int_equal(bounded_read(&file), code);
    text_release(bytes);
}

/* The limit itself: what is beyond it is not to be had. */
static void the_limit_holds(void **state)
{
    (void)state;
#if defined(__SANITIZE_ADDRESS__)
    skip();
#endif
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        memory_limit(1 << 20);
        void *small = malloc(1 << 18);
        void *large = malloc(1 << 22);
        _exit(small != NULL && large == NULL ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static void claims_take_nothing(void **state)
{
    static const unsigned char length[12] = {0, 0, 0, 0, 0, 0, 0, 0x10};
    const struct memory_file file = {"m.safetensors", length, sizeof length};
    (void)state;
    skip_under_sanitizers();
    assert_int_equal(bounded_read(&file), STATUS_INVALID);
    expect_header("{\"t\":{\"dtype\":\"U8\",\"shape\":[1152921504606846976],\"data_offsets\":[0,1152921504606846976]}}",
                  STATUS_INVALID);
    expect_header("{\"t\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[1152921504606846976,1152921504606846977]}}",
                  STATUS_INVALID);
    for (uint64_t type = 0; type < 16; type++) {
        struct text bytes = {0};
        bytes_head(&bytes, 3, 0, 1);
        bytes_text(&bytes, "key");
        bytes_number(&bytes, 9, 4);
        bytes_number(&bytes, type, 4);
        bytes_number(&bytes, UINT64_C(1) << 60, 8);
        bytes_number(&bytes, 0, 8);
        expect_gguf(&bytes, STATUS_INVALID);
    }
    for (int which = 0; which < 4; which++) {
        struct text bytes = {0};
        bytes_head(&bytes, 3, which == 0 ? UINT64_C(1) << 60 : 0, which == 1 ? UINT64_C(1) << 60 : 1);
        bytes_number(&bytes, which == 2 ? UINT64_C(1) << 60 : 0, 8);
        bytes_number(&bytes, 8, 4);
        bytes_number(&bytes, UINT64_C(1) << 60, 8);
        bytes_number(&bytes, 0, 8);
        expect_gguf(&bytes, STATUS_INVALID);
    }
}

static void depth_takes_nothing(void **state)
{
    enum { DEPTH = 200000 };
    (void)state;
    skip_under_sanitizers();
    char *header = malloc(DEPTH + 32);
    assert_non_null(header);
    memcpy(header, "{\"t\":{\"x\":", 11);
    memset(header + 10, '[', DEPTH);
    header[10 + DEPTH] = '\0';
    expect_header(header, STATUS_INVALID);
    free(header);
    struct text bytes = {0};
    bytes_head(&bytes, 3, 0, 1);
    bytes_text(&bytes, "key");
    bytes_number(&bytes, 9, 4);
    for (int i = 0; i < DEPTH; i++) {
        bytes_number(&bytes, 9, 4);
        bytes_number(&bytes, 1, 8);
    }
    expect_gguf(&bytes, STATUS_INVALID);
}

/* Files that are nothing but header, which lists as much as so many bytes can: valid, so they are read, within the
 * bound. */
static void crowded_headers_stay_within_the_bound(void **state)
{
    (void)state;
    skip_under_sanitizers();
    for (int count = 100; count <= 100000; count *= 1000) {
        struct text header = {0};
        struct text bytes = {0};
        bytes_head(&bytes, 3, (uint64_t)count, 0);
        for (int i = 0; i < count; i++) {
            char name[16];
            snprintf(name, sizeof name, "%d", i);
            text_format(&header, "%s\"%d\":{\"dtype\":\"U8\",\"shape\":[0],\"data_offsets\":[0,0]}", i > 0 ? "," : "{",
                        i);
            bytes_tensor(&bytes, name, 1, (const uint64_t[]){0}, 0, 0);
        }
        text_append(&header, "}");
        bytes_data(&bytes, 32, 0);
        expect_header(text_string(&header), STATUS_OK);
        expect_gguf(&bytes, STATUS_OK);
        text_release(&header);
    }
}

/* What safetensors 0.8.0 wrote and read back: small files of many tensors. */
static void small_files_of_many_tensors_are_read(void **state)
{
    static const struct {
        int count, bytes;
        const char *description; /* of one; with its name, its begin and its end */
    } rows[] = {
        {3000, 1, "%s\"%d\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[%d,%d]}"},
        {10000, 256, "%s\"layers.%d.weight\":{\"dtype\":\"F32\",\"shape\":[64],\"data_offsets\":[%d,%d]}"},
    };
    (void)state;
    for (size_t row = 0; row < sizeof rows / sizeof rows[0]; row++) {
        struct text header = {0};
        struct checkpoint *checkpoint = NULL;
        struct status error = {0};
        for (int i = 0; i < rows[row].count; i++) {
            text_format(&header, rows[row].description, i > 0 ? "," : "{", i, i * rows[row].bytes,
                        (i + 1) * rows[row].bytes);
        }
        text_append(&header, "}");
        struct memory_file file =
            safetensors_file("m.safetensors", text_string(&header), (size_t)(rows[row].count * rows[row].bytes));
        assert_int_equal(memory_read(&file, 1, file.name, &checkpoint, &error), STATUS_OK);
        assert_int_equal(checkpoint->tensor_count, rows[row].count);
        checkpoint_release(checkpoint);
        free((void *)(uintptr_t)file.bytes);
        text_release(&header);
    }
}

/* The same with metadata: long lists of short texts, and many keys. */
static void crowded_metadata_stay_within_the_bound(void **state)
{
    enum { COUNT = 100000 };
    struct text header = {0};
    struct text keys = {0};
    struct text list = {0};
    (void)state;
    skip_under_sanitizers();
    text_append(&header, "{\"__metadata__\":{");
    bytes_head(&keys, 3, 0, COUNT);
    bytes_head(&list, 3, 0, 1);
    bytes_text(&list, "tokenizer.ggml.tokens");
    bytes_number(&list, 9, 4);
    bytes_number(&list, 8, 4);
    bytes_number(&list, COUNT, 8);
    for (int i = 0; i < COUNT; i++) {
        char name[16];
        snprintf(name, sizeof name, "%d", i);
        text_format(&header, "%s\"%d\":\"\"", i > 0 ? "," : "", i);
        bytes_integer_entry(&keys, name, 1);
        bytes_text(&list, name);
    }
    text_append(&header, "}}");
    bytes_data(&list, 32, 0);
    expect_header(text_string(&header), STATUS_OK);
    expect_gguf(&keys, STATUS_OK);
    expect_gguf(&list, STATUS_OK);
    text_release(&header);
}

/* The account itself: what is beyond it is refused before it is taken, and by its words. */
static void what_is_beyond_the_account_is_refused(void **state)
{
    struct checkpoint checkpoint = {.name = "m.safetensors"};
    struct status error = {0};
    struct checkpoint_builder builder = {
        .checkpoint = &checkpoint, .error = &error, .allowed_bytes = CHECKPOINT_SPARE_BYTES};
    struct byte_source *source = memory_source_new("m.safetensors", "1234", 4);
    void *memory = NULL;
    (void)state;
    assert_non_null(source);
    assert_int_equal(builder_file(&builder, source), STATUS_OK);
    int64_t left = CHECKPOINT_SPARE_BYTES + 4 * CHECKPOINT_MEMORY_FACTOR - builder.taken_bytes;
    assert_int_equal(builder_reserve(&builder, left), STATUS_OK);
    assert_int_equal(builder_alloc(&builder, 1, &memory), STATUS_INVALID);
    assert_null(memory);
    assert_string_equal(error.text,
                        "m.safetensors: to list what its header names takes more than 1048704 bytes of memory, "
                        "the most for files of this size; this is not the file that is meant");
    byte_source_release(source);
    arena_release(&checkpoint.arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_limit_holds),
        cmocka_unit_test(claims_take_nothing),
        cmocka_unit_test(depth_takes_nothing),
        cmocka_unit_test(crowded_headers_stay_within_the_bound),
        cmocka_unit_test(small_files_of_many_tensors_are_read),
        cmocka_unit_test(crowded_metadata_stay_within_the_bound),
        cmocka_unit_test(what_is_beyond_the_account_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
