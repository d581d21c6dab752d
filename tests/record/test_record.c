/* Records: what is written is read back, whatever killed the run that wrote it; wrong lines are refused with a
 * reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/record/record.h"
#include "tests/record/record_lines.h"
#include "tests/support/command_run.h"
#include "tests/support/status_said.h"
#include "tests/support/whole_file.h"

struct place {
    char folder[64], file[96];
};

static int place_make(void **state)
{
    struct place *place = calloc(1, sizeof *place);
    if (place == NULL) {
        return -1;
    }
    snprintf(place->folder, sizeof place->folder, "/tmp/assay-record-XXXXXX");
    if (mkdtemp(place->folder) == NULL) {
        free(place);
        return -1;
    }
    snprintf(place->file, sizeof place->file, "%s/records.jsonl", place->folder);
    *state = place;
    return 0;
}

static int place_remove(void **state)
{
    struct place *place = *state;
    unlink(place->file);
    rmdir(place->folder);
    free(place);
    return 0;
}

static void file_write(const char *path, const char *content)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(content, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static struct json *line_of(const char *text)
{
    struct json *line = NULL;
    struct status error;
    if (json_parse_text("line", text, strlen(text), &line, &error) != STATUS_OK) {
        fail_msg("%s", STATUS_SAID(&error));
    }
    return line;
}

static void append(struct record_writer *writer, const char *text)
{
    struct status error;
    struct json *line = line_of(text);
    if (record_writer_append(writer, line, &error) != STATUS_OK) {
        fail_msg("%s", STATUS_SAID(&error));
    }
    json_release(line);
}

static struct record_file file_of(const char *path)
{
    struct record_file file;
    struct status error;
    if (record_file_read(path, &file, &error) != STATUS_OK) {
        fail_msg("%s", STATUS_SAID(&error));
    }
    return file;
}

static void what_is_written_is_read_back(void **state)
{
    const struct place *place = *state;
    struct record_writer *writer = NULL;
    assert_int_equal(record_writer_open(place->folder, &writer, NULL), STATUS_OK);
    assert_string_equal(record_writer_path(writer), place->file);
    append(writer, RUN_LINE);
    append(writer, CASE_LINE("a"));
    struct record_file file = file_of(place->folder); /* readable while the run goes on */
    assert_int_equal(file.run_count, 1);
    assert_int_equal(file.runs[0].case_count, 1);
    assert_null(file.runs[0].end);
    record_file_release(&file);
    append(writer, CASE_LINE("b"));
    append(writer, END_LINE);
    record_writer_close(writer);
    file = file_of(place->file);
    assert_int_equal(file.damaged_line_count, 0);
    assert_int_equal(file.runs[0].case_count, 2);
    assert_non_null(file.runs[0].end);
    struct text text = {0};
    assert_int_equal(json_write(file.runs[0].cases[1], 0, &text, NULL), STATUS_OK);
    text_append(&text, "\n");
    assert_string_equal(text_string(&text), CASE_LINE("b"));
    text_release(&text);
    record_file_release(&file);
}

static void a_second_run_follows_the_first(void **state)
{
    const struct place *place = *state;
    struct record_writer *writer = NULL;
    for (int i = 0; i < 2; i++) {
        assert_int_equal(record_writer_open(place->folder, &writer, NULL), STATUS_OK);
        append(writer, RUN_LINE);
        append(writer, CASE_LINE("a"));
        record_writer_close(writer);
    }
    struct record_file file = file_of(place->folder);
    assert_int_equal(file.run_count, 2);
    assert_int_equal(file.runs[1].case_count, 1);
    record_file_release(&file);
}

static void two_writers_do_not_mix(void **state)
{
    const struct place *place = *state;
    struct record_writer *first = NULL, *second = NULL;
    struct status error;
    assert_int_equal(record_writer_open(place->folder, &first, NULL), STATUS_OK);
    assert_int_equal(record_writer_open(place->folder, &second, &error), STATUS_IO);
    assert_non_null(strstr(STATUS_SAID(&error), "another run is writing to it; wait for it or name another folder"));
    record_writer_close(first);
    assert_int_equal(record_writer_open(place->folder, &second, NULL), STATUS_OK);
    record_writer_close(second);
}

/* Cut the file at every byte: all cases before the cut are read, and the cut line is noted. */
static void a_run_killed_at_any_byte_keeps_its_whole_lines(void **state)
{
    const struct place *place = *state;
    static const char content[] = RUN_LINE CASE_LINE("a") CASE_LINE("b");
    size_t run_length = strlen(RUN_LINE), case_length = strlen(CASE_LINE("a"));
    char cut[sizeof content];
    for (size_t length = run_length; length < sizeof content; length++) {
        memcpy(cut, content, length);
        cut[length] = '\0';
        file_write(place->file, cut);
        struct record_file file = file_of(place->file);
        size_t inside = (length - run_length) % case_length;
        bool partial = inside > 0 && inside < case_length - 1; /* without its newline a line is still whole */
        size_t whole = (length - run_length + 1) / case_length;
        assert_int_equal(file.runs[0].case_count, whole);
        assert_int_equal(file.damaged_line_count, partial ? 1 : 0);
        assert_int_equal(file.notes.length > 0, partial);
        record_file_release(&file);
    }
}

static void a_run_after_a_killed_one_starts_on_its_own_line(void **state)
{
    const struct place *place = *state;
    file_write(place->file, RUN_LINE CASE_LINE("a") "{\"type\": \"case\", \"id\": \"cut");
    struct record_writer *writer = NULL;
    assert_int_equal(record_writer_open(place->folder, &writer, NULL), STATUS_OK);
    append(writer, RUN_LINE);
    append(writer, CASE_LINE("b"));
    append(writer, END_LINE);
    record_writer_close(writer);
    struct record_file file = file_of(place->file);
    assert_int_equal(file.run_count, 2);
    assert_int_equal(file.runs[0].case_count, 1);
    assert_int_equal(file.runs[1].case_count, 1);
    assert_int_equal(file.damaged_line_count, 1);
    char note[256];
    snprintf(note, sizeof note, "%s:3: cut short, probably by a killed run; this line is left out\n", place->file);
    assert_string_equal(text_string(&file.notes), note);
    record_file_release(&file);
}

struct refusal {
    const char *content, *message; /* message: what follows the path */
};

static const struct refusal REFUSALS[] = {
    {"", ":1:1: no records in it; name a file that assay wrote"},
    {CASE_LINE("a"),
     ":1:1: a line outside a run; a run begins with a line of type \"run\", which is not here: copy the whole file"},
    {RUN_LINE END_LINE CASE_LINE("a"),
     ":3:1: a line outside a run; a run begins with a line of type \"run\", which is not here: copy the whole file"},
    {RUN_LINE "[1]\n" CASE_LINE("a"), ":2:1: a record line is an object, not an array"},
    {RUN_LINE "{\"id\": 1}\n", ":2:1: 'type' is missing; it must be \"run\", \"case\" or \"end\""},
    {"{\"type\": \"run\", \"schema\": {\"name\": \"assay-record\", \"major\": 2, \"minor\": 0}}\n",
     ":1:1: records of version 2.x; this program reads version 1.x: use one that fits"},
    {"{\"type\": \"run\", \"schema\": {\"name\": \"other\", \"major\": 1, \"minor\": 0}}\n",
     ":1:1: the schema is not assay-record; name a file that assay wrote"},
    {"{\"type\": \"run\", \"schema\": {\"name\": \"assay-record\", \"major\": 1, \"minor\": 0}, \"run_id\": 7}\n",
     ":1:1: 'run_id' is an integer; it must be a string"},
    {RUN_LINE "{\"type\": \"case\", \"id\": \"a\"}\n", ":2:1: 'identity' is missing"},
};

static void wrong_files_are_refused_with_the_line(void **state)
{
    const struct place *place = *state;
    for (size_t i = 0; i < sizeof REFUSALS / sizeof REFUSALS[0]; i++) {
        struct record_file file;
        struct status error;
        char message[512];
        file_write(place->file, REFUSALS[i].content);
        assert_int_equal(record_file_read(place->file, &file, &error), STATUS_INVALID);
        snprintf(message, sizeof message, "%s%s", place->file, REFUSALS[i].message);
        assert_string_equal(STATUS_SAID(&error), message);
    }
}

struct spoiling {
    const char *from, *to, *message;
};

/* One replacement each in a good case line. */
static const struct spoiling SPOILINGS[] = {
    {"\"status\": \"ok\"", "\"status\": \"fine\"",
     "'status' is 'fine'; it must be ok, fail, error, oom, timeout or skip"},
    {"\"requested_bytes\": 4", "\"requested_bytes\": \"4\"",
     "'stages.load.requested_bytes' is a string; it must be an integer or null"},
    {"\"requested_bytes\": 4", "\"requested_bytes\": 4.5",
     "'stages.load.requested_bytes' is a real number; it must be an integer or null"},
    {"\"process_bytes\": 7", "\"process_bytes\": -7",
     "'stages.load.process_bytes' is negative; an unknown figure is null"},
    {"\"seconds\": 0.1, ", "", "'stages.load.seconds' is missing"},
    {"\"duration_s\": 0.25", "\"duration_s\": true", "'duration_s' is a boolean; it must be a number or null"},
    {"\"pass\": false", "\"pass\": 0", "'verdicts.0.pass' is an integer; it must be a boolean or null"},
    {"{\"weights\": 4}", "{\"weights\": []}",
     "'stages.load.categories_at_peak.weights' is an array; it must be an integer or null"},
};

static void wrong_kinds_are_named_with_their_path(void **state)
{
    (void)state;
    static const char good[] = CASE_LINE("a");
    for (size_t i = 0; i < sizeof SPOILINGS / sizeof SPOILINGS[0]; i++) {
        char spoiled[sizeof good + 64];
        const char *at = strstr(good, SPOILINGS[i].from);
        assert_non_null(at);
        snprintf(spoiled, sizeof spoiled, "%.*s%s%s", (int)(at - good), good, SPOILINGS[i].to,
                 at + strlen(SPOILINGS[i].from));
        struct json *line = line_of(spoiled);
        struct status error;
        assert_int_equal(record_line_check(line, &error), STATUS_INVALID);
        assert_string_equal(STATUS_SAID(&error), SPOILINGS[i].message);
        json_release(line);
    }
}

static void fields_and_lines_of_a_later_minor_version_are_accepted(void **state)
{
    const struct place *place = *state;
    file_write(place->file, "{\"colour\": 1, " RUN_LINE "{\"type\": \"weather\", \"rain\": 1}\n" END_LINE);
    FILE *file = fopen(place->file, "w");
    assert_non_null(file);
    fprintf(file, "{\"colour\": 1, %s{\"type\": \"weather\", \"rain\": 1}\n%s", &RUN_LINE[1], END_LINE);
    fclose(file);
    struct record_file records = file_of(place->file);
    assert_int_equal(records.runs[0].case_count, 0);
    assert_non_null(records.runs[0].end);
    record_file_release(&records);
}

/* A limit on the size of files stands for a full disk; in a child, because it cannot be lifted again. */
static int write_until_full(const struct place *place)
{
    struct record_writer *writer = NULL;
    struct json *run = line_of(RUN_LINE), *line = line_of(CASE_LINE("a"));
    struct rlimit limit = {.rlim_cur = strlen(RUN_LINE) + strlen(CASE_LINE("a")) + 100,
                           .rlim_max = strlen(RUN_LINE) + strlen(CASE_LINE("a")) + 100};
    struct status error;
    signal(SIGXFSZ, SIG_IGN);
    if (record_writer_open(place->folder, &writer, &error) != STATUS_OK || setrlimit(RLIMIT_FSIZE, &limit) != 0 ||
        record_writer_append(writer, run, &error) != STATUS_OK ||
        record_writer_append(writer, line, &error) != STATUS_OK) {
        return 1;
    }
    if (record_writer_append(writer, line, &error) != STATUS_IO) {
        return 2;
    }
    return strstr(STATUS_SAID(&error), "cannot be written (what is in it stays readable)") == NULL ? 3 : 0;
}

static void a_full_disk_leaves_whole_lines(void **state)
{
    const struct place *place = *state;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(write_until_full(place));
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    struct record_file file = file_of(place->file);
    assert_int_equal(file.runs[0].case_count, 1);
    assert_int_equal(file.damaged_line_count, 0);
    record_file_release(&file);
}

/* Root may write everywhere, so the child becomes somebody else. */
static int open_read_only(const struct place *place)
{
    struct record_writer *writer = NULL;
    struct status error;
    if (geteuid() == 0 && seteuid(65534) != 0) {
        return 1;
    }
    if (record_writer_open(place->folder, &writer, &error) != STATUS_IO) {
        return 2;
    }
    return strstr(STATUS_SAID(&error), "name a folder that can be written") == NULL ? 3 : 0;
}

static void a_folder_that_cannot_be_written_is_named(void **state)
{
    const struct place *place = *state;
    assert_int_equal(chmod(place->folder, 0555), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        _exit(open_read_only(place));
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    chmod(place->folder, 0755);
    struct record_writer *writer = NULL;
    struct status error;
    assert_int_equal(record_writer_open("no/such/parent", &writer, &error), STATUS_IO);
    assert_string_equal(STATUS_SAID(&error),
                        "no/such/parent: the folder cannot be made: No such file or directory; name one that "
                        "can be written");
    assert_null(writer);
}

/* A folder may come from somebody else: nothing in it makes a run append to another file, or hold a reader up. */
static void links_and_pipes_in_a_folder_are_refused(void **state)
{
    const struct place *place = *state;
    struct record_writer *writer = NULL;
    struct record_file file;
    struct status error;
    char other[128], start[128];
    snprintf(other, sizeof other, "%s/other", place->folder);
    file_write(other, "precious");
    assert_int_equal(symlink(other, place->file), 0);
    assert_int_equal(record_writer_open(place->folder, &writer, &error), STATUS_IO);
    snprintf(start, sizeof start, "%s: is a symbolic link", place->file);
    assert_int_equal(strncmp(STATUS_SAID(&error), start, strlen(start)), 0);
    file_write(other, RUN_LINE CASE_LINE("a")); /* to read through a link harms nothing */
    assert_int_equal(record_file_read(place->folder, &file, &error), STATUS_OK);
    record_file_release(&file);
    assert_int_equal(unlink(place->file), 0);
    assert_int_equal(mkfifo(place->file, 0600), 0);
    snprintf(start, sizeof start, "%s: is not a regular file", place->file);
    assert_int_equal(record_writer_open(place->folder, &writer, &error), STATUS_IO);
    assert_int_equal(strncmp(STATUS_SAID(&error), start, strlen(start)), 0);
    assert_int_equal(record_file_read(place->folder, &file, &error), STATUS_IO);
    assert_int_equal(strncmp(STATUS_SAID(&error), start, strlen(start)), 0);
    assert_int_equal(unlink(place->file), 0);
    assert_int_equal(unlink(other), 0);
}

/* Read before anything is appended: such a file stays as it is, to the byte. */
static void what_is_no_file_of_records_is_not_written_to(void **state)
{
    static const struct {
        const char *content, *message;
    } foreign[] = {
        {"a letter to somebody\n", "/records.jsonl:1:1: "},
        {"{\"type\": \"case\"}\n", "/records.jsonl:1:1: "},
        {RUN_LINE CASE_LINE("a") "{\"typ\n" CASE_LINE("b") END_LINE, "/records.jsonl:3:"},
        {RUN_LINE "not a record\n" CASE_LINE("a"), "Nothing was measured or written; mend the file, or name another"},
        {"[1, 2", "/records.jsonl:1:"},
    };
    const struct place *place = *state;
    for (size_t i = 0; i < sizeof foreign / sizeof foreign[0]; i++) {
        struct record_writer *writer = NULL;
        struct status error = {0};
        file_write(place->file, foreign[i].content);
        assert_int_equal(record_writer_open(place->folder, &writer, &error), STATUS_INVALID);
        assert_null(writer);
        assert_non_null(strstr(STATUS_SAID(&error), foreign[i].message));
        char *kept = whole_file_read(place->file);
        assert_string_equal(kept, foreign[i].content);
        free(kept);
    }
}

/* What a run leaves that was killed in its first line, or before it. */
static void a_beginning_is_appended_to(void **state)
{
    static const char *const beginnings[] = {"", "{", "{\"type\": \"ru", "{\"type\": \"run\", \"schema\": {\"na"};
    const struct place *place = *state;
    for (size_t i = 0; i < sizeof beginnings / sizeof beginnings[0]; i++) {
        struct record_writer *writer = NULL;
        struct status error = {0};
        file_write(place->file, beginnings[i]);
        assert_int_equal(record_writer_open(place->folder, &writer, &error), STATUS_OK);
        append(writer, RUN_LINE);
        record_writer_close(writer);
        struct record_file file = file_of(place->file);
        assert_int_equal(file.run_count, 1);
        record_file_release(&file);
    }
}

/* Deleted, moved away with its folder, or replaced: the next line says so and is not written. */
static void a_file_that_is_no_longer_there_ends_the_writing(void **state)
{
    static const char *const acts[] = {"rm -r \"$1\"", "mv \"$1\" \"$1.moved\"; rm -r \"$1.moved\"",
                                       "cp \"$1/records.jsonl\" \"$1/new\"; mv \"$1/new\" \"$1/records.jsonl\""};
    static const char *const messages[] = {"it was deleted", "it was ", "it was deleted"};
    const struct place *place = *state;
    for (size_t i = 0; i < sizeof acts / sizeof acts[0]; i++) {
        struct record_writer *writer = NULL;
        struct status error = {0};
        const char *const words[] = {"sh", "-c", acts[i], "sh", place->folder, NULL};
        mkdir(place->folder, 0700);
        assert_int_equal(record_writer_open(place->folder, &writer, &error), STATUS_OK);
        append(writer, RUN_LINE);
        struct command_result result = command_run(words, NULL);
        assert_int_equal(result.exit_code, 0);
        command_result_release(&result);
        struct json *line = line_of(END_LINE);
        assert_int_equal(record_writer_append(writer, line, &error), STATUS_IO);
        assert_non_null(strstr(STATUS_SAID(&error), messages[i]));
        assert_non_null(strstr(STATUS_SAID(&error), place->file));
        json_release(line);
        record_writer_close(writer);
    }
}

static void a_wrong_line_is_not_written(void **state)
{
    const struct place *place = *state;
    struct record_writer *writer = NULL;
    struct status error;
    struct json *line = line_of("{\"type\": \"case\"}");
    assert_int_equal(record_writer_open(place->folder, &writer, NULL), STATUS_OK);
    assert_int_equal(record_writer_append(writer, line, &error), STATUS_INTERNAL);
    assert_string_equal(STATUS_SAID(&error), "a record line is wrong: 'id' is missing");
    struct stat file;
    assert_int_equal(stat(place->file, &file), 0);
    assert_int_equal(file.st_size, 0);
    json_release(line);
    record_writer_close(writer);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, place_make, place_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(what_is_written_is_read_back),
        TEST(a_second_run_follows_the_first),
        TEST(two_writers_do_not_mix),
        TEST(a_run_killed_at_any_byte_keeps_its_whole_lines),
        TEST(a_run_after_a_killed_one_starts_on_its_own_line),
        TEST(wrong_files_are_refused_with_the_line),
        TEST(what_is_no_file_of_records_is_not_written_to),
        TEST(a_beginning_is_appended_to),
        TEST(a_file_that_is_no_longer_there_ends_the_writing),
        cmocka_unit_test(wrong_kinds_are_named_with_their_path),
        TEST(fields_and_lines_of_a_later_minor_version_are_accepted),
        TEST(a_full_disk_leaves_whole_lines),
        TEST(a_folder_that_cannot_be_written_is_named),
        TEST(links_and_pipes_in_a_folder_are_refused),
        TEST(a_wrong_line_is_not_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
