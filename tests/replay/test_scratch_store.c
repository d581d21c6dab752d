/* Scratch stores: what is written is read again, what was not is refused, nothing is left in the folder, and a disk without room says so. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "harness/replay/scratch_store.h"
#include "tests/support/scratch_folder.h"

static struct stored_tensor tensor_of(const char *label, int64_t bytes)
{
    return (struct stored_tensor){
        .label = label, .dtype = DTYPE_FLOAT32, .rank = 1, .size = {bytes / 4}, .bytes = bytes};
}

static int entry_count(const char *folder)
{
    DIR *opened = opendir(folder);
    int count = 0;
    assert_non_null(opened);
    for (const struct dirent *entry = readdir(opened); entry != NULL; entry = readdir(opened)) {
        count += entry->d_name[0] != '.';
    }
    closedir(opened);
    return count;
}

static void what_is_written_is_read_and_nothing_is_left(void **state)
{
    char folder[] = "/tmp/assay-store-XXXXXX";
    struct scratch_store *store = NULL;
    char words[][8] = {"abcdefg", "ABCDEFG", "0123456"}, read[8];
    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(scratch_store_open(folder, &store, NULL), STATUS_OK);
    const struct placed_store *table = scratch_store_table(store);
    struct stored_tensor first = tensor_of("first", 8), second = tensor_of("second", 8), third = tensor_of("third", 8);
    assert_int_equal(table->write(table->context, &first, words[0], NULL), STATUS_OK);
    assert_int_equal(table->write(table->context, &second, words[1], NULL), STATUS_OK);
    assert_int_equal(table->write(table->context, &first, words[2], NULL), STATUS_OK);
    assert_int_equal(table->read(table->context, &second, read, NULL), STATUS_OK);
    assert_string_equal(read, words[1]);
    assert_int_equal(table->read(table->context, &first, read, NULL), STATUS_OK);
    assert_string_equal(read, words[2]);
    assert_int_equal(table->read(table->context, &third, read, NULL), STATUS_IO);
    assert_int_equal(entry_count(folder), 0);
    scratch_store_close(store);
    assert_int_equal(entry_count(folder), 0);
    scratch_folder_remove(folder);
}

static void a_folder_that_is_not_there_is_named(void **state)
{
    struct scratch_store *store = NULL;
    struct status error = {0};
    (void)state;
    assert_int_equal(scratch_store_open("/nowhere/at/all", &store, &error), STATUS_IO);
    assert_non_null(strstr(error.text, "/nowhere/at/all"));
    assert_non_null(strstr(error.text, "set TMPDIR"));
}

static void a_disk_without_room_is_told(void **state)
{
    char folder[] = "/tmp/assay-store-XXXXXX";
    struct scratch_store *store = NULL;
    struct status error = {0};
    struct rlimit before, small = {4096, 4096};
    (void)state;
    assert_non_null(mkdtemp(folder));
    assert_int_equal(scratch_store_open(folder, &store, NULL), STATUS_OK);
    const struct placed_store *table = scratch_store_table(store);
    struct stored_tensor large = tensor_of("large", 8192);
    char *bytes = calloc(1, 8192);
    getrlimit(RLIMIT_FSIZE, &before);
    small.rlim_max = before.rlim_max;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &small);
    enum status_code code = table->write(table->context, &large, bytes, &error);
    setrlimit(RLIMIT_FSIZE, &before);
    assert_int_equal(code, STATUS_IO);
    assert_non_null(strstr(error.text, "'large' (8192 bytes) cannot be written"));
    free(bytes);
    scratch_store_close(store);
    scratch_folder_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_and_nothing_is_left),
        cmocka_unit_test(a_folder_that_is_not_there_is_named),
        cmocka_unit_test(a_disk_without_room_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
