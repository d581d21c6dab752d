/* Wide reads: the bytes and the errors are those of one reader, however many read. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/ordered_work.h"
#include "harness/base/wide_read.h"

enum { RUN = WIDE_READ_RUN_BYTES, RUNS = 9, REST = 77, SIZE = RUNS * RUN + REST };

/* Byte i is i times 31, cut; reads that reach beyond one of the broken bytes fail and name it. */
struct pattern_source {
    struct byte_source base;
    int64_t broken[2]; /* -1: none */
    pthread_mutex_t mutex;
    int read_count;
    size_t longest_bytes;
};

static enum status_code pattern_read(struct byte_source *source, int64_t offset, void *bytes, size_t count,
                                     struct status *error)
{
    struct pattern_source *self = (struct pattern_source *)source;
    unsigned char *out = bytes;
    pthread_mutex_lock(&self->mutex);
    self->read_count++;
    self->longest_bytes = count > self->longest_bytes ? count : self->longest_bytes;
    pthread_mutex_unlock(&self->mutex);
    for (int i = 0; i < 2; i++) {
        if (self->broken[i] >= offset && self->broken[i] < offset + (int64_t)count) {
            return status_set(error, STATUS_IO, "pattern: broken at byte %lld", (long long)self->broken[i]);
        }
    }
    for (size_t i = 0; i < count; i++) {
        out[i] = (unsigned char)((offset + (int64_t)i) * 31);
    }
    return STATUS_OK;
}

static void pattern_release(struct byte_source *source)
{
    (void)source;
}

static const struct byte_source_table parallel = {pattern_read, pattern_release, true};
static const struct byte_source_table lonely = {pattern_read, pattern_release, false};

static struct pattern_source pattern_make(const struct byte_source_table *table)
{
    return (struct pattern_source){.base = {.table = table, .name = "pattern", .size_bytes = SIZE},
                                   .broken = {-1, -1},
                                   .mutex = PTHREAD_MUTEX_INITIALIZER};
}

static void pattern_check(const unsigned char *bytes, int64_t offset, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (bytes[i] != (unsigned char)((offset + (int64_t)i) * 31)) {
            fail_msg("byte %zu of %zu from %lld on", i, count, (long long)offset);
        }
    }
}

static void every_byte_comes_to_its_place(void **state)
{
    (void)state;
    static const struct {
        int64_t offset;
        size_t count;
    } rows[] = {{0, SIZE}, {13, SIZE - 13}, {5, 2 * RUN}, {RUN, RUN}, {7, RUN + 1}, {SIZE, 0}, {SIZE - 1, 1}};
    unsigned char *bytes = malloc(SIZE + 1);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct pattern_source source = pattern_make(&parallel);
        bytes[rows[i].count] = 0xA5;
        assert_int_equal(wide_read(&source.base, rows[i].offset, bytes, rows[i].count, NULL), STATUS_OK);
        pattern_check(bytes, rows[i].offset, rows[i].count);
        assert_int_equal(bytes[rows[i].count], 0xA5);
        bool shared = ordered_work_workers(2) > 0 && rows[i].count > RUN;
        assert_true(shared == (source.read_count > 1));
    }
    free(bytes);
}

/* What converts on the way has one piece for it. */
static void a_source_that_is_not_for_several_is_read_once(void **state)
{
    (void)state;
    struct pattern_source source = pattern_make(&lonely);
    unsigned char *bytes = malloc(SIZE);
    assert_int_equal(wide_read(&source.base, 0, bytes, SIZE, NULL), STATUS_OK);
    pattern_check(bytes, 0, SIZE);
    assert_int_equal(source.read_count, 1);
    assert_int_equal(source.longest_bytes, SIZE);
    free(bytes);
}

static void the_first_fault_by_offset_is_told(void **state)
{
    (void)state;
    unsigned char *bytes = malloc(SIZE);
    for (int i = 0; i < 50; i++) { /* whichever thread is faster */
        struct pattern_source source = pattern_make(&parallel);
        struct status error = {0};
        source.broken[0] = 6 * RUN + 1;
        source.broken[1] = 3 * RUN + 5;
        assert_int_equal(wide_read(&source.base, 0, bytes, SIZE, &error), STATUS_IO);
        if (ordered_work_workers(2) > 0) {
            assert_string_equal(error.text, "pattern: broken at byte 3145733");
        }
    }
    free(bytes);
}

static void what_is_outside_is_refused_in_the_same_words(void **state)
{
    (void)state;
    static const struct {
        int64_t offset;
        size_t count;
    } rows[] = {{1, SIZE}, {SIZE + 1, 0}, {-1, SIZE}, {0, SIZE_MAX}, {SIZE, SIZE}};
    unsigned char *bytes = malloc(SIZE);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct pattern_source source = pattern_make(&parallel);
        struct status wide = {0}, plain = {0};
        enum status_code code = byte_source_read(&source.base, rows[i].offset, bytes, rows[i].count, &plain);
        assert_int_equal(wide_read(&source.base, rows[i].offset, bytes, rows[i].count, &wide), code);
        assert_int_not_equal(code, STATUS_OK);
        assert_string_equal(wide.text, plain.text);
        assert_int_equal(source.read_count, 0);
    }
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_comes_to_its_place),
        cmocka_unit_test(a_source_that_is_not_for_several_is_read_once),
        cmocka_unit_test(the_first_fault_by_offset_is_told),
        cmocka_unit_test(what_is_outside_is_refused_in_the_same_words),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
