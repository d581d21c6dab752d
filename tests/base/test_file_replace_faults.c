/* Each call that can fail while a file is replaced, failing once: the old file stays, nothing is left beside it, and
 * the cause is said. And a file system without nameless files, which is what many networks and containers have. The
 * calls are this program's own, in front of those of the C library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/base/file_replace.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/whole_file.h"

enum call { CALL_NAMELESS, CALL_OPENAT, CALL_WRITE, CALL_FSYNC, CALL_FCHMOD, CALL_LINKAT, CALL_RENAMEAT, CALL_COUNT };

/* What the next calls do. cause 0: they do what they should. */
struct fault {
    int cause, skipped; /* so many calls go well before */
    int count;          /* of calls that failed */
};
static struct fault faults[CALL_COUNT];
static size_t write_bytes_maximum; /* 0: any */

static bool fails(enum call call)
{
    struct fault *fault = &faults[call];
    if (fault->cause == 0 || fault->skipped-- > 0) {
        return false;
    }
    errno = fault->cause;
    fault->count++;
    return true;
}

int openat(int folder, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    int mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, int) : 0;
    va_end(arguments);
    bool is_nameless = (flags & O_TMPFILE) == O_TMPFILE;
    return fails(is_nameless ? CALL_NAMELESS : CALL_OPENAT) ? -1 : (int)syscall(SYS_openat, folder, path, flags, mode);
}

ssize_t write(int file, const void *bytes, size_t count)
{
    if (fails(CALL_WRITE)) {
        return -1;
    }
    bool is_cut = write_bytes_maximum > 0 && count > write_bytes_maximum;
    return syscall(SYS_write, file, bytes, is_cut ? write_bytes_maximum : count);
}

int fsync(int file)
{
    return fails(CALL_FSYNC) ? -1 : (int)syscall(SYS_fsync, file);
}

int fchmod(int file, mode_t mode)
{
    return fails(CALL_FCHMOD) ? -1 : (int)syscall(SYS_fchmod, file, mode);
}

int linkat(int from, const char *path, int to, const char *name, int flags)
{
    return fails(CALL_LINKAT) ? -1 : (int)syscall(SYS_linkat, from, path, to, name, flags);
}

int renameat(int from, const char *path, int to, const char *name)
{
    return fails(CALL_RENAMEAT) ? -1 : (int)syscall(SYS_renameat2, from, path, to, name, 0);
}

struct scene {
    char folder[64], path[128];
    struct status error;
};

static int scene_make(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    memset(faults, 0, sizeof faults);
    write_bytes_maximum = 0;
    if (scene == NULL) {
        return -1;
    }
    snprintf(scene->folder, sizeof scene->folder, "/tmp/assay-faults-XXXXXX");
    if (mkdtemp(scene->folder) == NULL) {
        return -1;
    }
    snprintf(scene->path, sizeof scene->path, "%s/page", scene->folder);
    *state = scene;
    return 0;
}

static int scene_remove(void **state)
{
    struct scene *scene = *state;
    memset(faults, 0, sizeof faults);
    int removed = scratch_folder_remove(scene->folder);
    free(scene);
    return removed;
}

static enum status_code replace(struct scene *scene, const char *words)
{
    struct text content = {0};
    text_append(&content, words);
    enum status_code code = file_replace(scene->path, FILE_CHOSEN, &content, &scene->error);
    text_release(&content);
    return code;
}

/* The only file of the folder, and what is in it. */
static void expect_alone(const struct scene *scene, const char *words)
{
    DIR *entries = opendir(scene->folder);
    assert_non_null(entries);
    for (const struct dirent *entry = readdir(entries); entry != NULL; entry = readdir(entries)) {
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) {
            assert_string_equal(entry->d_name, "page");
        }
    }
    closedir(entries);
    char *content = whole_file_read(scene->path);
    assert_string_equal(content, words);
    free(content);
}

static void each_failure_leaves_the_old_file_alone(void **state)
{
    static const struct {
        enum call call;
        int cause;
        bool is_nameless;
    } rows[] = {
        {CALL_WRITE, ENOSPC, true},   {CALL_WRITE, EDQUOT, false},  {CALL_FSYNC, EIO, true},
        {CALL_FSYNC, ENOSPC, false},  {CALL_FCHMOD, EPERM, true},   {CALL_FCHMOD, EPERM, false},
        {CALL_LINKAT, EMLINK, true},  {CALL_RENAMEAT, EROFS, true}, {CALL_RENAMEAT, EACCES, false},
        {CALL_OPENAT, ENOSPC, false},
    };
    struct scene *scene = *state;
    assert_int_equal(replace(scene, "old"), STATUS_OK);
    assert_int_equal(chmod(scene->path, 0600), 0);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char expected[STATUS_TEXT_BYTES];
        memset(faults, 0, sizeof faults);
        faults[CALL_NAMELESS].cause = rows[i].is_nameless ? 0 : EOPNOTSUPP;
        faults[rows[i].call].cause = rows[i].cause;
        assert_int_equal(replace(scene, "lost"), STATUS_IO);
        assert_int_equal(faults[rows[i].call].count, 1);
        snprintf(expected, sizeof expected, "%s: cannot be written: %s", scene->path, strerror(rows[i].cause));
        assert_string_equal(scene->error.text, expected);
        expect_alone(scene, "old");
    }
}

static void without_nameless_files_it_is_the_same(void **state)
{
    struct scene *scene = *state;
    struct stat facts;
    faults[CALL_NAMELESS].cause = EOPNOTSUPP;
    mode_t mask = umask(027);
    assert_int_equal(replace(scene, "old"), STATUS_OK);
    umask(mask);
    assert_int_equal(stat(scene->path, &facts), 0);
    assert_int_equal(facts.st_mode & 0777, 0640);
    assert_int_equal(replace(scene, "new"), STATUS_OK);
    expect_alone(scene, "new");
    assert_int_equal(faults[CALL_NAMELESS].count, 2);
}

static void permissions_that_are_the_same_are_not_asked_for(void **state)
{
    struct scene *scene = *state;
    assert_int_equal(replace(scene, "old"), STATUS_OK);
    faults[CALL_FCHMOD].cause = EPERM;
    assert_int_equal(replace(scene, "new"), STATUS_OK);
    expect_alone(scene, "new");
}

/* A name that is taken is not used, and another is tried: nothing that lies there is ever opened. */
static void a_name_that_is_taken_is_left(void **state)
{
    struct scene *scene = *state;
    faults[CALL_LINKAT] = (struct fault){.cause = EEXIST};
    assert_int_equal(replace(scene, "lost"), STATUS_IO);
    assert_int_equal(faults[CALL_LINKAT].count, 100);
    faults[CALL_LINKAT] = (struct fault){0};
    faults[CALL_NAMELESS].cause = EOPNOTSUPP;
    faults[CALL_OPENAT].cause = EEXIST;
    assert_int_equal(replace(scene, "lost"), STATUS_IO);
    assert_int_equal(faults[CALL_OPENAT].count, 100);
    faults[CALL_OPENAT] = (struct fault){0};
    assert_int_equal(replace(scene, "new"), STATUS_OK);
    expect_alone(scene, "new");
}

static void pieces_are_put_together(void **state)
{
    struct scene *scene = *state;
    write_bytes_maximum = 3;
    assert_int_equal(replace(scene, "more than three bytes"), STATUS_OK);
    expect_alone(scene, "more than three bytes");
    faults[CALL_WRITE] = (struct fault){.cause = ENOSPC, .skipped = 2};
    assert_int_equal(replace(scene, "more than six bytes"), STATUS_IO);
    faults[CALL_WRITE] = (struct fault){0};
    expect_alone(scene, "more than three bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_failure_leaves_the_old_file_alone, scene_make, scene_remove),
        cmocka_unit_test_setup_teardown(without_nameless_files_it_is_the_same, scene_make, scene_remove),
        cmocka_unit_test_setup_teardown(permissions_that_are_the_same_are_not_asked_for, scene_make, scene_remove),
        cmocka_unit_test_setup_teardown(a_name_that_is_taken_is_left, scene_make, scene_remove),
        cmocka_unit_test_setup_teardown(pieces_are_put_together, scene_make, scene_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
