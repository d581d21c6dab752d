/* Each call that can fail while weights are offloaded, failing once at each of its turns: the error names the file and
 * the cause, what was there before is as it was, and nothing is left beside it. And read errors, and a file that is cut
 * during the run. The calls are this program's own, in front of those of the C library. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/checkpoint/offload_write.h"
#include "tests/checkpoint/offload_scene.h"

enum call { CALL_OPENAT, CALL_WRITE, CALL_FSYNC, CALL_LINKAT, CALL_RENAMEAT, CALL_PREAD, CALL_COUNT };

static struct {
    int cause; /* 0: the call does what it should */
    int turn;  /* this many go well before */
    bool happened;
} fault[CALL_COUNT];

static int64_t free_bytes = -1; /* of the disk; -1: enough */
static bool nameless_refused;   /* as by many file systems of networks and containers */

static bool fails(enum call call)
{
    if (fault[call].cause == 0 || fault[call].happened || fault[call].turn-- > 0) {
        return false;
    }
    fault[call].happened = true; /* once: what is done about it may use the same call */
    errno = fault[call].cause;
    return true;
}

int openat(int folder, const char *path, int flags, ...)
{
    va_list arguments;
    va_start(arguments, flags);
    int mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, int) : 0;
    va_end(arguments);
    if ((flags & O_TMPFILE) == O_TMPFILE && nameless_refused) {
        errno = EOPNOTSUPP;
        return -1;
    }
    bool makes = (flags & O_CREAT) != 0 && (flags & O_TMPFILE) != O_TMPFILE;
    return makes && fails(CALL_OPENAT) ? -1 : (int)syscall(SYS_openat, folder, path, flags, mode);
}

ssize_t write(int file, const void *bytes, size_t count)
{
    return fails(CALL_WRITE) ? -1 : syscall(SYS_write, file, bytes, count);
}

/* What was brought to the disk so far, as numbers of files, and how much of it before the index got its name. */
enum { SETTLED_MAXIMUM = 64 };
static struct {
    ino_t files[SETTLED_MAXIMUM];
    int count, before_index;
} settled;

int fsync(int file)
{
    struct stat facts;
    if (fails(CALL_FSYNC)) {
        return -1;
    }
    if (fstat(file, &facts) == 0 && settled.count < SETTLED_MAXIMUM) {
        settled.files[settled.count++] = facts.st_ino;
    }
    return (int)syscall(SYS_fsync, file);
}

/* How often the system was asked to fetch a file. */
static int asked_count;

int posix_fadvise(int file, off_t offset, off_t bytes, int advice)
{
    asked_count += advice == POSIX_FADV_WILLNEED;
    return (int)syscall(SYS_fadvise64, file, offset, bytes, advice);
}

int linkat(int from, const char *path, int to, const char *name, int flags)
{
    return fails(CALL_LINKAT) ? -1 : (int)syscall(SYS_linkat, from, path, to, name, flags);
}

int renameat(int from, const char *path, int to, const char *name)
{
    settled.before_index = strcmp(name, "index.json") == 0 ? settled.count : settled.before_index;
    return fails(CALL_RENAMEAT) ? -1 : (int)syscall(SYS_renameat2, from, path, to, name, 0);
}

ssize_t pread(int file, void *bytes, size_t count, off_t offset)
{
    return fails(CALL_PREAD) ? -1 : syscall(SYS_pread64, file, bytes, count, offset);
}

static int scene_make(void **state)
{
    memset(fault, 0, sizeof fault);
    nameless_refused = false;
    free_bytes = -1;
    return offload_scene_make(state);
}

static int scene_remove(void **state)
{
    memset(fault, 0, sizeof fault);
    nameless_refused = false;
    free_bytes = -1;
    return offload_scene_remove(state);
}

static enum status_code one_put(struct offload_writer *writer, const char *name, const char *bytes,
                                struct status *error)
{
    const int64_t size = 4;
    const struct offload_tensor tensor = {.name = name, .type = offload_type_named("int8"), .rank = 1, .shape = &size};
    enum status_code code = offload_writer_begin(writer, &tensor, error);
    code = code == STATUS_OK ? offload_writer_take(writer, bytes, 2, error) : code;
    code = code == STATUS_OK ? offload_writer_take(writer, bytes + 2, 2, error) : code;
    return code == STATUS_OK ? offload_writer_end(writer, error) : code;
}

/* Three tensors and the index. */
static enum status_code model_put(struct offload_scene *scene, enum offload_existing existing, struct status *error)
{
    struct offload_writer *writer = NULL;
    const char *const names[] = {"a", "b", "c"};
    enum status_code code = offload_writer_open(scene->folder, existing, &writer, error);
    if (code != STATUS_OK) {
        return code;
    }
    const int64_t size = 4;
    struct offload_tensor tensors[3];
    for (int i = 0; i < 3; i++) {
        tensors[i] = (struct offload_tensor){names[i], offload_type_named("int8"), 1, &size};
    }
    code = offload_writer_expect(writer, tensors, 3, error);
    for (int i = 0; i < 3 && code == STATUS_OK; i++) {
        code = one_put(writer, names[i], "ABCD", error);
    }
    if (code != STATUS_OK) {
        offload_writer_abandon(writer);
        return code;
    }
    return offload_writer_finish(writer, error);
}

int statvfs(const char *path, struct statvfs *facts)
{
    struct statfs found;
    if (statfs(path, &found) != 0) {
        return -1;
    }
    *facts = (struct statvfs){.f_frsize = 1, .f_bavail = free_bytes >= 0 ? (fsblkcnt_t)free_bytes : 1 << 30};
    return 0;
}

static const struct {
    enum call call;
    int cause;
    bool is_nameless;
} rows[] = {
    {CALL_OPENAT, ENOSPC, false}, {CALL_WRITE, ENOSPC, true},    {CALL_WRITE, EDQUOT, false},
    {CALL_WRITE, EIO, true},      {CALL_FSYNC, EIO, true},       {CALL_FSYNC, ENOSPC, false},
    {CALL_LINKAT, ENOSPC, true},  {CALL_RENAMEAT, EACCES, true}, {CALL_RENAMEAT, EIO, false},
};

enum { ROW_COUNT = sizeof rows / sizeof rows[0], TURNS_MAXIMUM = 40 };

/* Fails a call at its first turn, its second, ... until the whole goes well; returns how often it failed. */
static int each_turn(struct offload_scene *scene, int row, enum offload_existing existing,
                     void (*before)(struct offload_scene *scene), void (*after)(struct offload_scene *scene))
{
    for (int turn = 0; turn < TURNS_MAXIMUM; turn++) {
        struct status error = {0};
        before(scene);
        memset(fault, 0, sizeof fault);
        nameless_refused = !rows[row].is_nameless;
        fault[rows[row].call].cause = rows[row].cause;
        fault[rows[row].call].turn = turn;
        enum status_code code = model_put(scene, existing, &error);
        if (!fault[rows[row].call].happened) {
            assert_int_equal(code, STATUS_OK);
            return turn;
        }
        if (code != STATUS_IO || strstr(error.text, strerror(rows[row].cause)) == NULL ||
            strstr(error.text, scene->folder) == NULL) {
            fail_msg("row %d, turn %d: %d, %s", row, turn, (int)code, error.text);
        }
        after(scene);
    }
    fail_msg("row %d never goes well", row);
    return 0;
}

static void folder_is_missing(struct offload_scene *scene)
{
    scene_empty(scene);
}

static void folder_is_missing_again(struct offload_scene *scene)
{
    assert_int_equal(access(scene->folder, F_OK), -1);
}

static void a_new_folder_is_taken_back(void **state)
{
    for (int row = 0; row < ROW_COUNT; row++) {
        int failed = each_turn(*state, row, OFFLOAD_KEEP, folder_is_missing, folder_is_missing_again);
        assert_true(failed >= 4); /* three tensors and the index */
        scene_bytes_expect(*state, "b.dat", "ABCD", 4);
    }
}

static const char other_index[] = "{\"x\": {\"dtype\": \"int8\", \"shape\": [4]}}";

static void folder_of_others(struct offload_scene *scene)
{
    scene_empty(scene);
    scene_write(scene, "index.json", other_index);
    scene_write(scene, "x.dat", "xxxx");
}

static void folder_of_others_stays(struct offload_scene *scene)
{
    scene_file_expect(scene, "index.json", other_index);
    scene_file_expect(scene, "x.dat", "xxxx");
    assert_int_equal(scene_file_count(scene), 2);
}

static void what_others_have_there_stays(void **state)
{
    for (int row = 0; row < ROW_COUNT; row++) {
        int failed = each_turn(*state, row, OFFLOAD_KEEP, folder_of_others, folder_of_others_stays);
        assert_true(failed >= 4);
    }
}

static void folder_is_older(struct offload_scene *scene)
{
    scene_empty(scene);
    scene_write(scene, "index.json",
                "{\"a\": {\"dtype\": \"int8\", \"shape\": [4]}, \"b\": {\"dtype\": \"int8\", \"shape\": [4]}}");
    scene_write(scene, "a.dat", "abcd");
    scene_write(scene, "b.dat", "abcd");
}

/* Whole files, old or new; an entry only where the file is the old one; no third tensor. */
static void folder_is_sound(struct offload_scene *scene)
{
    struct status error = {0};
    struct offload_folder *folder = NULL;
    char path[256];
    snprintf(path, sizeof path, "%s/index.json", scene->folder);
    bool has_index = access(path, F_OK) == 0;
    assert_true(!has_index || offload_folder_open(scene->folder, &folder, &error) == STATUS_OK);
    for (int i = 0; i < 2; i++) {
        const char *name = i == 0 ? "a" : "b";
        char file[8], content[5] = "";
        snprintf(file, sizeof file, "%s.dat", name);
        scene_bytes_read(scene, file, content, 4);
        bool is_named = has_index && offload_folder_has(folder, name);
        assert_true(strcmp(content, "abcd") == 0 || (strcmp(content, "ABCD") == 0 && !is_named));
    }
    offload_folder_close(folder);
    assert_int_equal(scene_file_count(scene), has_index ? 3 : 2);
}

static void a_folder_that_is_replaced_never_lies(void **state)
{
    for (int row = 0; row < ROW_COUNT; row++) {
        each_turn(*state, row, OFFLOAD_REPLACE, folder_is_older, folder_is_sound);
        scene_bytes_expect(*state, "a.dat", "ABCD", 4);
        scene_bytes_expect(*state, "c.dat", "ABCD", 4);
    }
}

/* -- room */

static void a_disk_without_room_is_told_before_anything_is_written(void **state)
{
    struct offload_scene *scene = *state;
    struct status error = {0};
    free_bytes = 11;
    assert_int_equal(model_put(scene, OFFLOAD_KEEP, &error), STATUS_IO);
    assert_non_null(strstr(error.text, ": 12 B are to be written, and its disk has 11 B left; make room, or name"));
    assert_int_equal(access(scene->folder, F_OK), -1);
    free_bytes = 12;
    assert_int_equal(model_put(scene, OFFLOAD_KEEP, &error), STATUS_OK);
    free_bytes = 0;
    assert_int_equal(model_put(scene, OFFLOAD_KEEP, &error), STATUS_OK);    /* all of it is there */
    assert_int_equal(model_put(scene, OFFLOAD_REPLACE, &error), STATUS_IO); /* old and new are there together */
    assert_non_null(strstr(error.text, ": 4 B are to be written"));
    free_bytes = 4;
    assert_int_equal(model_put(scene, OFFLOAD_REPLACE, &error), STATUS_OK);
    assert_int_equal(scene_file_count(scene), 4);
}

/* -- reading */

static void a_read_error_is_told(void **state)
{
    struct offload_scene *scene = *state;
    struct status error = {0};
    struct offload_folder *folder = NULL;
    struct offload_entry entry;
    struct byte_source *source = NULL;
    char bytes[4] = "....", path[256];
    folder_of_others(scene);
    fault[CALL_PREAD].cause = EIO;
    assert_int_equal(offload_folder_open(scene->folder, &folder, &error), STATUS_IO);
    assert_non_null(strstr(error.text, "index.json: cannot be read at byte 0: Input/output error"));
    assert_int_equal(offload_folder_open(scene->folder, &folder, &error), STATUS_OK);
    assert_int_equal(offload_entry_read(folder, "x", &entry, &error), STATUS_OK);
    assert_int_equal(offload_source_open(folder, &entry, &source, &error), STATUS_OK);
    fault[CALL_PREAD].happened = false;
    assert_int_equal(byte_source_read(source, 0, bytes, 4, &error), STATUS_IO);
    assert_non_null(strstr(error.text, "x.dat: cannot be read at byte 0: Input/output error"));
    assert_int_equal(byte_source_read(source, 0, bytes, 4, &error), STATUS_OK);
    assert_memory_equal(bytes, "xxxx", 4);
    snprintf(path, sizeof path, "%s/x.dat", scene->folder);
    assert_int_equal(truncate(path, 2), 0);
    assert_int_equal(byte_source_read(source, 0, bytes, 4, &error), STATUS_IO);
    assert_non_null(strstr(error.text, "x.dat: cannot be read at byte 2: it has become shorter"));
    byte_source_release(source);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(offload_source_open(folder, &entry, &source, &error), STATUS_IO);
    assert_non_null(strstr(error.text, "x.dat: cannot be opened: No such file or directory, and "));
    offload_folder_close(folder);
}

/* A power cut must not leave an index that names what is not on the disk. */
static void files_are_on_the_disk_before_the_index_names_them(void **state)
{
    struct offload_scene *scene = *state;
    struct status error = {0};
    memset(&settled, 0, sizeof settled);
    assert_int_equal(model_put(scene, OFFLOAD_KEEP, &error), STATUS_OK);
    for (const char *name = "abc"; *name != '\0'; name++) {
        char path[128];
        struct stat facts;
        bool is_settled = false;
        snprintf(path, sizeof path, "%s/%c.dat", scene->folder, *name);
        assert_int_equal(stat(path, &facts), 0);
        for (int i = 0; i < settled.before_index; i++) {
            is_settled = is_settled || settled.files[i] == facts.st_ino;
        }
        assert_true(is_settled);
    }
}

static void a_pass_asks_for_each_file_once(void **state)
{
    struct offload_scene *scene = *state;
    struct status error = {0};
    struct offload_folder *folder = NULL;
    assert_int_equal(model_put(scene, OFFLOAD_KEEP, &error), STATUS_OK);
    assert_int_equal(offload_folder_open(scene->folder, &folder, &error), STATUS_OK);
    asked_count = 0;
    for (const char *name = "abc"; *name != '\0'; name++) {
        offload_prefetch(folder, (const char[]){*name, '\0'});
    }
    assert_int_equal(asked_count, 2); /* b and c */
    offload_prefetch(folder, "a");    /* another pass: they may be forgotten */
    assert_int_equal(asked_count, 4);
    offload_folder_close(folder);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_make, scene_remove)
    const struct CMUnitTest tests[] = {
        TEST(a_new_folder_is_taken_back),
        TEST(what_others_have_there_stays),
        TEST(a_folder_that_is_replaced_never_lies),
        TEST(a_disk_without_room_is_told_before_anything_is_written),
        TEST(a_read_error_is_told),
        TEST(files_are_on_the_disk_before_the_index_names_them),
        TEST(a_pass_asks_for_each_file_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
