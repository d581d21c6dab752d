/* Plain transfers: which bytes move, in what state the page cache is said to be, and that nothing is left or held. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/load/plain_transfer.h"
#include "tests/replay/counting_device.h"
#include "tests/support/scratch_file.h"

enum { PAGES = 300, PAGE_BYTES = 4096, FILE_BYTES = PAGES * PAGE_BYTES + 5, TMPFS = 0x01021994 };

static void file_fill(int64_t bytes)
{
    FILE *file = fopen(scratch_file_path, "w");
    assert_non_null(file);
    for (int64_t i = 0; i < bytes; i++) {
        putc((int)(i * 7 % 251), file);
    }
    assert_int_equal(fclose(file), 0);
}

static const char *const paths[] = {scratch_file_path, scratch_file_path};
static const struct file_paths once = {paths, 1}, twice = {paths, 2};

struct asked {
    int count, stops_at;
};

static bool count_asked(void *context)
{
    struct asked *asked = context;
    return ++asked->count == asked->stops_at;
}

static void a_read_has_every_byte_of_every_file(void **state)
{
    (void)state;
    struct plain_transfer made = {0};
    struct status error = {0};
    struct asked asked = {0};
    const struct load_watch watch = {.stops = count_asked, .context = &asked};
    file_fill(PLAIN_PIECE_BYTES + 1);
    assert_int_equal(plain_read(&twice, &watch, &made, &error), STATUS_OK);
    assert_int_equal(made.bytes, 2 * (PLAIN_PIECE_BYTES + 1));
    assert_int_equal(asked.count, 4);
    assert_true(made.seconds > 0.0);
}

static void a_read_says_what_the_page_cache_had(void **state)
{
    (void)state;
    struct plain_transfer made = {0};
    struct status error = {0};
    struct statfs place;
    file_fill(FILE_BYTES);
    assert_int_equal(files_cached_bytes(&once), FILE_BYTES); /* just written */
    assert_int_equal(plain_read(&twice, NULL, &made, &error), STATUS_OK);
    assert_int_equal(made.cached_bytes, 2 * FILE_BYTES);
    files_forget(&once);
    assert_int_equal(statfs(scratch_file_path, &place), 0);
    if (place.f_type == TMPFS) {
        assert_int_equal(files_cached_bytes(&once), FILE_BYTES); /* there is no disk behind it */
        return;
    }
    assert_int_equal(files_cached_bytes(&once), 0);
    assert_int_equal(plain_read(&once, NULL, &made, &error), STATUS_OK);
    assert_int_equal(made.cached_bytes, 0);
    assert_int_equal(files_cached_bytes(&once), FILE_BYTES);
}

static void a_file_that_is_not_there_is_named(void **state)
{
    (void)state;
    static const char *const missing[] = {scratch_file_path, "/nowhere/at/all"};
    struct plain_transfer made = {.bytes = 1};
    struct status error = {0};
    const struct file_paths files = {missing, 2};
    assert_int_equal(plain_read(&files, NULL, &made, &error), STATUS_IO);
    assert_non_null(strstr(error.text, "/nowhere/at/all"));
    assert_int_equal(made.bytes, 1);
    assert_int_equal(files_cached_bytes(&files), -1);
    files_forget(&files);
    assert_int_equal(plain_write("/nowhere/at/all", 10, NULL, &made, &error), STATUS_IO);
    assert_non_null(strstr(error.text, "/nowhere/at/all"));
    assert_int_equal(made.bytes, 1);
}

/* What this process has given to write() so far. */
static int64_t given_bytes(void)
{
    char line[128];
    long long given = -1;
    FILE *file = fopen("/proc/self/io", "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL && given < 0) {
        if (sscanf(line, "wchar: %lld", &given) != 1) {
            given = -1;
        }
    }
    fclose(file);
    return given;
}

static void a_write_writes_all_and_leaves_nothing(void **state)
{
    (void)state;
    char folder[] = "/tmp/assay-plain-XXXXXX";
    struct plain_transfer made = {0};
    struct status error = {0};
    struct asked asked = {.stops_at = 2};
    const struct load_watch watch = {.stops = count_asked, .context = &asked};
    assert_non_null(mkdtemp(folder));
    int64_t before = given_bytes();
    assert_int_equal(plain_write(folder, PLAIN_PIECE_BYTES + 3, NULL, &made, &error), STATUS_OK);
    assert_int_equal(made.bytes, PLAIN_PIECE_BYTES + 3);
    assert_true(given_bytes() - before >= PLAIN_PIECE_BYTES + 3);
    assert_int_equal(plain_write(folder, 2 * PLAIN_PIECE_BYTES, &watch, &made, &error), STATUS_UNAVAILABLE);
    assert_int_equal(rmdir(folder), 0); /* it is empty */
}

static void a_copy_moves_the_bytes_through_one_segment(void **state)
{
    (void)state;
    static const int64_t capacities[] = {INT64_C(1) << 40, 20 << 20, PLAIN_PIECE_BYTES};
    static const int64_t segments[] = {PLAIN_SEGMENT_BYTES, PLAIN_SEGMENT_BYTES / 4, PLAIN_PIECE_BYTES};
    for (int i = 0; i < 3; i++) {
        struct counting_device device = counting_device(true);
        struct plain_transfer made = {0};
        struct status error = {0};
        device.capacity_bytes = capacities[i];
        int64_t bytes = (100 << 20) + 5;
        assert_int_equal(plain_copy(&device.base, PLAIN_TO_DEVICE, bytes, &made, &error), STATUS_OK);
        assert_int_equal(made.bytes, bytes);
        assert_int_equal(device.copied_in_bytes, segments[i] + bytes); /* the first of them before the clock runs */
        assert_int_equal(device.copied_out_bytes, 0);
        assert_int_equal(plain_copy(&device.base, PLAIN_FROM_DEVICE, bytes, &made, &error), STATUS_OK);
        assert_int_equal(device.copied_out_bytes, bytes);
        assert_int_equal(device.held_bytes, 0);
    }
}

static void what_cannot_be_copied_is_told(void **state)
{
    (void)state;
    struct counting_device device = counting_device(true);
    struct plain_transfer made = {.bytes = 1};
    struct status error = {0};
    device.capacity_bytes = PLAIN_PIECE_BYTES - 1;
    assert_int_equal(plain_copy(&device.base, PLAIN_TO_DEVICE, 1 << 30, &made, &error), STATUS_OUT_OF_MEMORY);
    device = counting_device(false);
    assert_int_equal(plain_copy(&device.base, PLAIN_TO_DEVICE, 1 << 20, &made, &error), STATUS_UNAVAILABLE);
    assert_int_equal(made.bytes, 1);
    device = counting_device(true);
    assert_int_equal(plain_copy(&device.base, PLAIN_TO_DEVICE, 0, &made, &error), STATUS_OK);
    assert_int_equal(made.bytes, 0);
}

static void each_call_of_the_device_that_fails_is_told(void **state)
{
    (void)state;
    struct counting_device whole = counting_device(true);
    struct plain_transfer made = {0};
    struct status error = {0};
    assert_int_equal(plain_copy(&whole.base, PLAIN_FROM_DEVICE, 1 << 20, &made, &error), STATUS_OK);
    /* The last call gives the segment back. */
    for (int64_t n = 1; n < whole.call_count; n++) {
        struct counting_device device = counting_device(true);
        made = (struct plain_transfer){.bytes = 1};
        error = (struct status){0};
        device.failing_call = n;
        assert_int_equal(plain_copy(&device.base, PLAIN_FROM_DEVICE, 1 << 20, &made, &error), STATUS_DEVICE);
        assert_non_null(strstr(error.text, "fails on demand"));
        assert_int_equal(device.held_count, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_read_has_every_byte_of_every_file),
        cmocka_unit_test(a_read_says_what_the_page_cache_had),
        cmocka_unit_test(a_file_that_is_not_there_is_named),
        cmocka_unit_test(a_write_writes_all_and_leaves_nothing),
        cmocka_unit_test(a_copy_moves_the_bytes_through_one_segment),
        cmocka_unit_test(what_cannot_be_copied_is_told),
        cmocka_unit_test(each_call_of_the_device_that_fails_is_told),
    };
    return cmocka_run_group_tests(tests, scratch_file_make, scratch_file_remove);
}
