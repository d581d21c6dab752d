/* Replacing whole files, and opening files of a folder: what is there before and after, over links, pipes, full disks,
 * a file that may not be written, and writers at the same time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/file_replace.h"
#include "harness/base/regular_file.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/whole_file.h"

struct scene {
    char folder[64], path[128], other[128];
    struct status error;
};

static int scene_make(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    snprintf(scene->folder, sizeof scene->folder, "/tmp/assay-replace-XXXXXX");
    if (scene == NULL || mkdtemp(scene->folder) == NULL) {
        return -1;
    }
    snprintf(scene->path, sizeof scene->path, "%s/page", scene->folder);
    snprintf(scene->other, sizeof scene->other, "%s/other", scene->folder);
    *state = scene;
    return 0;
}

static int scene_remove(void **state)
{
    struct scene *scene = *state;
    int removed = scratch_folder_remove(scene->folder);
    free(scene);
    return removed;
}

static enum status_code replace(struct scene *scene, const char *path, enum file_role role, const char *words)
{
    struct text content = {0};
    text_append(&content, words);
    scene->error = (struct status){0};
    enum status_code code = file_replace(path, role, &content, &scene->error);
    text_release(&content);
    return code;
}

static void expect_content(const char *path, const char *words)
{
    char *content = whole_file_read(path);
    assert_string_equal(content, words);
    free(content);
}

static void file_make(const char *path, const char *words, mode_t mode)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs(words, file);
    fclose(file);
    assert_int_equal(chmod(path, mode), 0);
}

static mode_t mode_of(const char *path)
{
    struct stat facts;
    assert_int_equal(lstat(path, &facts), 0);
    return facts.st_mode;
}

static int entry_count(const char *folder)
{
    DIR *entries = opendir(folder);
    int count = -2; /* . and .. */
    assert_non_null(entries);
    while (readdir(entries) != NULL) {
        count++;
    }
    closedir(entries);
    return count;
}

static void expect_refusal(struct scene *scene, const char *words)
{
    char expected[STATUS_TEXT_BYTES];
    snprintf(expected, sizeof expected, "%s: %s", scene->path, words);
    assert_string_equal(scene->error.text, expected);
}

static void content_is_replaced_and_nothing_is_left_beside(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(replace(scene, scene->path, FILE_CHOSEN, "old"), STATUS_OK);
    expect_content(scene->path, "old");
    assert_int_equal(replace(scene, scene->path, FILE_NAMED, "new and longer"), STATUS_OK);
    expect_content(scene->path, "new and longer");
    assert_int_equal(entry_count(scene->folder), 1);
}

/* Several MiB in pieces: nobody sees them before the end, and given up they leave nothing. */
static void long_content_goes_piece_by_piece(void **state)
{
    struct scene *scene = *state;
    file_make(scene->path, "old", 0644);
    for (int finished = 0; finished < 2; finished++) {
        struct file_replacement *made = NULL;
        struct text content = {0};
        assert_int_equal(file_replacement_open(scene->path, FILE_CHOSEN, &made, &scene->error), STATUS_OK);
        content.drain = file_replacement_drain(made);
        for (int i = 0; i < 400000; i++) {
            text_append(&content, "a line\n");
        }
        assert_true(content.length < TEXT_DRAIN_BYTES);
        expect_content(scene->path, "old");
        if (finished == 0) {
            file_replacement_abandon(made);
            expect_content(scene->path, "old");
        } else {
            assert_int_equal(file_replacement_finish(made, &content, &scene->error), STATUS_OK);
        }
        assert_int_equal(entry_count(scene->folder), 1);
        text_release(&content);
    }
    struct stat facts;
    assert_int_equal(stat(scene->path, &facts), 0);
    assert_int_equal(facts.st_size, 400000 * strlen("a line\n"));
}

static void permissions_are_those_of_the_umask_or_of_the_old_file(void **state)
{
    struct scene *scene = *state;
    mode_t mask = umask(027);
    assert_int_equal(replace(scene, scene->path, FILE_CHOSEN, "old"), STATUS_OK);
    umask(mask);
    assert_int_equal(mode_of(scene->path) & 0777, 0640);
    assert_int_equal(chmod(scene->path, 0604), 0);
    assert_int_equal(replace(scene, scene->path, FILE_CHOSEN, "new"), STATUS_OK);
    assert_int_equal(mode_of(scene->path) & 0777, 0604);
}

/* Root may write everything, so the child becomes somebody else where it can. */
static void a_file_that_may_not_be_written_stays(void **state)
{
    struct scene *scene = *state;
    file_make(scene->path, "kept", 0444);
    assert_int_equal(chmod(scene->folder, 0777), 0);
    pid_t child = fork();
    if (child == 0) {
        if (geteuid() == 0 && setuid(65534) != 0) {
            _exit(2);
        }
        bool refused = replace(scene, scene->path, FILE_NAMED, "lost") == STATUS_IO &&
                       replace(scene, scene->path, FILE_CHOSEN, "lost") == STATUS_IO;
        _exit(refused && strstr(scene->error.text, "Permission denied") != NULL ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    expect_content(scene->path, "kept");
    assert_int_equal(entry_count(scene->folder), 1);
}

static void a_link_is_followed_where_the_user_named_it(void **state)
{
    struct scene *scene = *state;
    file_make(scene->other, "old", 0644);
    assert_int_equal(symlink("other", scene->path), 0);
    assert_int_equal(replace(scene, scene->path, FILE_NAMED, "new"), STATUS_OK);
    assert_true(S_ISLNK(mode_of(scene->path)));
    expect_content(scene->other, "new");
    assert_int_equal(unlink(scene->other), 0); /* one that leads nowhere yet */
    assert_int_equal(replace(scene, scene->path, FILE_NAMED, "made"), STATUS_OK);
    assert_true(S_ISREG(mode_of(scene->other)));
    expect_content(scene->path, "made");
    assert_int_equal(unlink(scene->other), 0);
    assert_int_equal(symlink("page", scene->other), 0); /* and a circle */
    assert_int_equal(replace(scene, scene->path, FILE_NAMED, "lost"), STATUS_IO);
    expect_refusal(scene, "cannot be written: Too many levels of symbolic links");
}

static void a_link_is_refused_where_the_program_named_it(void **state)
{
    struct scene *scene = *state;
    file_make(scene->other, "precious", 0644);
    assert_int_equal(symlink(scene->other, scene->path), 0);
    assert_int_equal(replace(scene, scene->path, FILE_CHOSEN, "lost"), STATUS_IO);
    expect_refusal(scene,
                   "is a symbolic link, and this file is not written through one; remove the link, or name another "
                   "folder");
    assert_int_equal(file_replace_check(scene->path, FILE_CHOSEN, NULL), STATUS_IO);
    expect_content(scene->other, "precious");
    assert_true(S_ISLNK(mode_of(scene->path)));
    assert_int_equal(replace(scene, scene->path, FILE_KEPT, "new"), STATUS_OK); /* a cache replaces the link itself */
    assert_true(S_ISREG(mode_of(scene->path)));
    expect_content(scene->other, "precious");
}

static void a_pipe_is_written_where_the_user_named_it(void **state)
{
    struct scene *scene = *state;
    char bytes[8] = "";
    assert_int_equal(mkfifo(scene->path, 0600), 0);
    int reader = open(scene->path, O_RDONLY | O_NONBLOCK);
    assert_int_equal(replace(scene, scene->path, FILE_NAMED, "piped"), STATUS_OK);
    assert_int_equal(read(reader, bytes, sizeof bytes), 5);
    assert_string_equal(bytes, "piped");
    close(reader);
    assert_int_equal(replace(scene, scene->path, FILE_CHOSEN, "lost"), STATUS_IO); /* and does not wait for a reader */
    expect_refusal(scene, "is not a regular file, so it is not replaced; move it away, or name another folder");
    assert_true(S_ISFIFO(mode_of(scene->path)));
}

/* "--output /dev/stdout >>FILE": what stands in FILE stays, and /dev/stdout stays the link that it is. */
static void a_descriptor_is_written_where_it_stands(void **state)
{
    struct scene *scene = *state;
    char name[64];
    file_make(scene->other, "before, ", 0644);
    int file = open(scene->other, O_WRONLY | O_APPEND);
    snprintf(name, sizeof name, "/proc/self/fd/%d", file);
    assert_int_equal(symlink(name, scene->path), 0); /* as /dev/stdout is */
    assert_int_equal(replace(scene, scene->path, FILE_NAMED, "between, "), STATUS_OK);
    snprintf(name, sizeof name, "/dev/fd/%d", file);
    assert_int_equal(replace(scene, name, FILE_NAMED, "after"), STATUS_OK);
    close(file);
    expect_content(scene->other, "before, between, after");
    assert_true(S_ISLNK(mode_of(scene->path)));
    assert_int_equal(replace(scene, name, FILE_NAMED, "lost"), STATUS_IO);
    assert_non_null(strstr(scene->error.text, "cannot be written: Bad file descriptor"));
}

static void a_full_disk_leaves_the_old_file(void **state)
{
    struct scene *scene = *state;
    struct rlimit old, small;
    struct text content = {0};
    for (int i = 0; i < 10000; i++) {
        text_append(&content, "0123456789");
    }
    file_make(scene->path, "kept", 0644);
    assert_int_equal(replace(scene, "/dev/full", FILE_NAMED, "lost"), STATUS_IO);
    assert_string_equal(scene->error.text, "/dev/full: cannot be written: No space left on device");
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = (struct rlimit){.rlim_cur = 4096, .rlim_max = old.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    enum status_code code = file_replace(scene->path, FILE_CHOSEN, &content, &scene->error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(code, STATUS_IO);
    expect_refusal(scene, "cannot be written: File too large");
    expect_content(scene->path, "kept");
    assert_int_equal(entry_count(scene->folder), 1);
    text_release(&content);
}

static void what_cannot_be_written_says_why(void **state)
{
    struct scene *scene = *state;
    struct text failed = {.failed = true};
    assert_int_equal(file_replace(scene->path, FILE_NAMED, &failed, &scene->error), STATUS_OUT_OF_MEMORY);
    assert_int_equal(replace(scene, "/nonexistent/page", FILE_NAMED, "lost"), STATUS_IO);
    assert_string_equal(scene->error.text, "/nonexistent/page: cannot be written: No such file or directory");
    assert_int_equal(replace(scene, scene->folder, FILE_NAMED, "lost"), STATUS_IO);
    assert_non_null(strstr(scene->error.text, "cannot be written: Is a directory"));
    assert_int_equal(entry_count(scene->folder), 0);
}

enum { WRITERS = 4, TURNS = 50, SIZE = 65536 };

/* Writes a file of one letter, again and again, with the others. */
static void letter_write(struct scene *scene, int letter)
{
    struct text content = {0};
    char *bytes = malloc(SIZE);
    memset(bytes, 'a' + letter, SIZE);
    text_append_bytes(&content, bytes, SIZE);
    for (int turn = 0; turn < TURNS; turn++) {
        if (file_replace(scene->path, FILE_CHOSEN, &content, NULL) != STATUS_OK) {
            _exit(1);
        }
    }
    _exit(0);
}

static void writers_at_the_same_time_do_not_mix(void **state)
{
    struct scene *scene = *state;
    pid_t writers[WRITERS];
    assert_int_equal(replace(scene, scene->path, FILE_CHOSEN, "first"), STATUS_OK);
    for (int i = 0; i < WRITERS; i++) {
        writers[i] = fork();
        assert_true(writers[i] >= 0);
        if (writers[i] == 0) {
            letter_write(scene, i);
        }
    }
    for (int i = 0; i < WRITERS; i++) {
        int status = 0;
        while (waitpid(writers[i], &status, WNOHANG) == 0) {
            char *content = whole_file_read(scene->path);
            size_t length = strlen(content);
            assert_true(strcmp(content, "first") == 0 ||
                        (length == SIZE && strspn(content, (char[]){content[0], '\0'}) == SIZE));
            free(content);
        }
        assert_int_equal(status, 0);
    }
    assert_int_equal(entry_count(scene->folder), 1);
}

static void a_killed_writer_leaves_the_old_file_alone(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(replace(scene, scene->path, FILE_CHOSEN, "first"), STATUS_OK);
    for (int kill_after_us = 0; kill_after_us < 6000; kill_after_us += 150) {
        pid_t writer = fork();
        assert_true(writer >= 0);
        if (writer == 0) {
            letter_write(scene, 0);
        }
        usleep((useconds_t)kill_after_us);
        kill(writer, SIGKILL);
        assert_int_equal(waitpid(writer, NULL, 0), writer);
        char *content = whole_file_read(scene->path);
        assert_true(strcmp(content, "first") == 0 || strlen(content) == SIZE);
        free(content);
    }
}

static void a_file_of_a_folder_is_opened_without_waiting(void **state)
{
    struct scene *scene = *state;
    int file = -1;
    assert_int_equal(mkfifo(scene->path, 0600), 0);
    assert_int_equal(regular_file_read(scene->path, "do so", &file, &scene->error), STATUS_IO);
    expect_refusal(scene, "is not a regular file; do so");
    assert_int_equal(regular_file_append(scene->path, "do so", &file, &scene->error), STATUS_IO);
    expect_refusal(scene, "is not a regular file; do so");
    assert_int_equal(unlink(scene->path), 0);
    assert_int_equal(regular_file_read(scene->path, "do so", &file, &scene->error), STATUS_IO);
    expect_refusal(scene, "cannot be opened: No such file or directory; do so");
    file_make(scene->other, "precious", 0644);
    assert_int_equal(symlink(scene->other, scene->path), 0);
    assert_int_equal(regular_file_append(scene->path, "do so", &file, &scene->error), STATUS_IO);
    expect_refusal(scene, "is a symbolic link, and nothing is appended through one; remove it, or do so");
    assert_int_equal(regular_file_read(scene->path, "do so", &file, &scene->error), STATUS_OK);
    close(file);
    assert_int_equal(unlink(scene->path), 0);
    assert_int_equal(regular_file_append(scene->path, "do so", &file, &scene->error), STATUS_OK);
    assert_int_equal(write(file, "made", 4), 4);
    close(file);
    expect_content(scene->path, "made");
}

/* Content, a hole, content, and what was settled in between: one file, and nothing before its end. */
static void a_hole_reads_as_zeros_and_takes_no_room(void **state)
{
    enum { HOLE_BYTES = 8 << 20 };
    struct scene *scene = *state;
    struct file_replacement *made = NULL;
    struct stat facts;
    struct text end = {0};
    text_append(&end, "end");
    assert_int_equal(replace(scene, scene->path, FILE_CHOSEN, "old"), STATUS_OK);
    assert_int_equal(file_replacement_open(scene->path, FILE_CHOSEN, &made, &scene->error), STATUS_OK);
    assert_true(file_replacement_drain(made)->take(file_replacement_drain(made), "begin", 5));
    assert_int_equal(file_replacement_skip(made, HOLE_BYTES, &scene->error), STATUS_OK);
    assert_int_equal(file_replacement_settle(made, &scene->error), STATUS_OK);
    char *content = whole_file_read(scene->path);
    assert_string_equal(content, "old");
    free(content);
    assert_int_equal(file_replacement_finish(made, &end, &scene->error), STATUS_OK);
    assert_int_equal(stat(scene->path, &facts), 0);
    assert_int_equal(facts.st_size, 5 + HOLE_BYTES + 3);
    assert_true(facts.st_blocks * 512 < HOLE_BYTES / 2);
    content = whole_file_read(scene->path);
    assert_memory_equal(content, "begin", 5);
    for (int i = 0; i < HOLE_BYTES; i++) {
        assert_int_equal(content[5 + i], 0);
    }
    assert_memory_equal(content + 5 + HOLE_BYTES, "end", 3);
    free(content);
    text_release(&end);
}

/* A hole at the end counts; in what cannot be a hole it is written. */
static void a_hole_is_part_of_the_length(void **state)
{
    struct scene *scene = *state;
    struct file_replacement *made = NULL;
    struct stat facts;
    assert_int_equal(file_replacement_open(scene->path, FILE_CHOSEN, &made, &scene->error), STATUS_OK);
    assert_int_equal(file_replacement_skip(made, 12345, &scene->error), STATUS_OK);
    assert_int_equal(file_replacement_finish(made, &(const struct text){0}, &scene->error), STATUS_OK);
    assert_int_equal(stat(scene->path, &facts), 0);
    assert_int_equal(facts.st_size, 12345);
    int ends[2];
    char path[32], read_bytes[8192];
    assert_int_equal(pipe(ends), 0);
    snprintf(path, sizeof path, "/dev/fd/%d", ends[1]);
    assert_int_equal(file_replacement_open(path, FILE_NAMED, &made, &scene->error), STATUS_OK);
    assert_int_equal(file_replacement_skip(made, 5000, &scene->error), STATUS_OK);
    assert_int_equal(file_replacement_settle(made, &scene->error), STATUS_OK);
    assert_int_equal(file_replacement_finish(made, &(const struct text){0}, &scene->error), STATUS_OK);
    close(ends[1]);
    ssize_t count = 0, taken;
    while ((taken = read(ends[0], read_bytes, sizeof read_bytes)) > 0) {
        for (ssize_t i = 0; i < taken; i++) {
            assert_int_equal(read_bytes[i], 0);
        }
        count += taken;
    }
    assert_int_equal(count, 5000);
    close(ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(content_is_replaced_and_nothing_is_left_beside, scene_make, scene_remove),
        cmocka_unit_test_setup_teardown(long_content_goes_piece_by_piece, scene_make, scene_remove),
        cmocka_unit_test_setup_teardown(a_hole_reads_as_zeros_and_takes_no_room, scene_make, scene_remove),
        cmocka_unit_test_setup_teardown(a_hole_is_part_of_the_length, scene_make, scene_remove),
        cmocka_unit_test_setup_teardown(permissions_are_those_of_the_umask_or_of_the_old_file, scene_make,
                                        scene_remove),
        cmocka_unit_test_setup_teardown(a_file_that_may_not_be_written_stays, scene_make, scene_remove),
        cmocka_unit_test_setup_teardown(a_link_is_followed_where_the_user_named_it, scene_make, scene_remove),
        cmocka_unit_test_setup_teardown(a_link_is_refused_where_the_program_named_it, scene_make, scene_remove),
        cmocka_unit_test_setup_teardown(a_pipe_is_written_where_the_user_named_it, scene_make, scene_remove),
        cmocka_unit_test_setup_teardown(a_descriptor_is_written_where_it_stands, scene_make, scene_remove),
        cmocka_unit_test_setup_teardown(a_full_disk_leaves_the_old_file, scene_make, scene_remove),
        cmocka_unit_test_setup_teardown(what_cannot_be_written_says_why, scene_make, scene_remove),
        cmocka_unit_test_setup_teardown(writers_at_the_same_time_do_not_mix, scene_make, scene_remove),
        cmocka_unit_test_setup_teardown(a_killed_writer_leaves_the_old_file_alone, scene_make, scene_remove),
        cmocka_unit_test_setup_teardown(a_file_of_a_folder_is_opened_without_waiting, scene_make, scene_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
