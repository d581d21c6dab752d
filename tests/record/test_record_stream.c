/* Records line by line: in blocks, from files and pipes, and once more; what is neither is refused without waiting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/record/record.h"
#include "tests/record/record_lines.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/status_said.h"

struct place {
    char folder[64], file[96];
};

static int place_make(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    if (place == NULL) {
        return -1;
    }
    *state = place;
    snprintf(place->folder, sizeof place->folder, "/tmp/assay-stream-XXXXXX");
    bool made = mkdtemp(place->folder) != NULL;
    snprintf(place->file, sizeof place->file, "%s/records.jsonl", place->folder);
    return made ? 0 : -1;
}

static int place_remove(void **state)
{
    struct place *place = *state;
    int gone = scratch_folder_remove(place->folder);
    free(place);
    return gone;
}

static void file_write(const char *path, const char *content)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* More than one block of text without a newline: no more of it is read than a line may have. */
static void a_line_without_end_is_refused_early(void **state)
{
    const struct place *place = *state;
    struct record_file file;
    struct status error;
    char message[256];
    file_write(place->file, RUN_LINE);
    assert_int_equal(truncate(place->file, (off_t)1 << 36), 0); /* zeroes that take no room: 64 GiB */
    assert_int_equal(record_file_read(place->file, &file, &error), STATUS_INVALID);
    snprintf(message, sizeof message, "%s:2:1: longer than 16 MiB; this is not a file of records", place->file);
    assert_string_equal(STATUS_SAID(&error), message);
}

static void what_is_no_file_is_refused_at_once(void **state)
{
    const struct place *place = *state;
    struct record_file file;
    struct status error;
    char message[256];
    assert_int_equal(mkfifo(place->file, 0600), 0); /* that nobody writes to: opening it must not wait */
    assert_int_equal(record_file_read(place->folder, &file, &error), STATUS_IO);
    snprintf(message, sizeof message, "%s: is not a regular file; name a folder that a run has written", place->file);
    assert_string_equal(STATUS_SAID(&error), message);
    assert_int_equal(record_file_read("/dev/zero", &file, &error), STATUS_IO);
    assert_string_equal(STATUS_SAID(&error), "/dev/zero: is not a regular file; name a folder that a run has written");
}

/* Lines of a pipe, which the user named, can be read once more all the same. */
static void lines_of_a_pipe_and_of_a_file_are_read_again(void **state)
{
    const struct place *place = *state;
    static const char content[] = RUN_LINE CASE_LINE("a") CASE_LINE("b");
    for (int piped = 0; piped < 2; piped++) {
        int ends[2];
        char name[64];
        struct record_stream *stream = NULL;
        struct record_line line;
        struct record_place places[3];
        struct status error = {0};
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], content, strlen(content)), strlen(content));
        close(ends[1]);
        file_write(place->file, content);
        snprintf(name, sizeof name, "/dev/fd/%d", ends[0]);
        assert_int_equal(record_stream_open(piped ? name : place->file, &stream, &error), STATUS_OK);
        for (int i = 0; i < 3; i++) {
            assert_int_equal(record_stream_next(stream, &line, &error), STATUS_OK);
            assert_int_equal(line.type, i == 0 ? RECORD_LINE_RUN : RECORD_LINE_CASE);
            places[i] = line.place;
        }
        assert_int_equal(record_stream_next(stream, &line, &error), STATUS_OK);
        assert_int_equal(line.type, RECORD_LINE_NONE);
        const char *again = NULL;
        assert_int_equal(record_stream_again(stream, &places[2], &again, &error), STATUS_OK);
        assert_int_equal(strlen(again), strlen(CASE_LINE("b")) - 1); /* without its newline */
        assert_memory_equal(again, CASE_LINE("b"), strlen(again));
        assert_int_equal(record_stream_again(stream, &places[1], &again, &error), STATUS_OK);
        assert_int_equal(strlen(again), strlen(CASE_LINE("a")) - 1); /* without its newline */
        assert_memory_equal(again, CASE_LINE("a"), strlen(again));
        if (!piped) {
            file_write(place->file, RUN_LINE CASE_LINE("a") CASE_LINE("c"));
            assert_int_equal(record_stream_again(stream, &places[2], &again, &error), STATUS_IO);
            assert_non_null(strstr(STATUS_SAID(&error), "was changed while it was read; run the command again"));
            file_write(place->file, RUN_LINE);
            assert_int_equal(record_stream_again(stream, &places[2], &again, &error), STATUS_IO);
            assert_non_null(strstr(STATUS_SAID(&error), "it has become shorter"));
        }
        record_stream_close(stream);
        close(ends[0]);
    }
}

static void damage_in_the_middle_of_a_run_is_not_forgiven(void **state)
{
    const struct place *place = *state;
    struct record_file file;
    struct status error;
    file_write(place->file, RUN_LINE "{\"type\": \"ca\n" CASE_LINE("a"));
    assert_int_equal(record_file_read(place->file, &file, &error), STATUS_INVALID);
    char start[128];
    snprintf(start, sizeof start, "%s:2:", place->file);
    assert_int_equal(strncmp(STATUS_SAID(&error), start, strlen(start)), 0);
    assert_int_equal(record_file_read("no/such/folder", &file, &error), STATUS_IO);
    assert_string_equal(STATUS_SAID(&error),
                        "no/such/folder: cannot be opened: No such file or directory; name a folder that a "
                        "run has written");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, place_make, place_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(damage_in_the_middle_of_a_run_is_not_forgiven),
        TEST(a_line_without_end_is_refused_early),
        TEST(what_is_no_file_is_refused_at_once),
        TEST(lines_of_a_pipe_and_of_a_file_are_read_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
