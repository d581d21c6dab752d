/* Locks of GPUs: who gets one, how long it lasts, what others put in its place, and a run that finds it taken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/run/device_lock.h"
#include "tests/run/run_scene.h"

static const char NAME[] = "GPU-1";

static const char *path_of(const struct scene *scene)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/assay-%s.lock", scene->folder, NAME);
    return path;
}

static enum status_code take(struct scene *scene, bool shared, struct device_lock *lock)
{
    return device_lock_take(scene->folder, NAME, shared, "records", lock, &scene->error);
}

static void one_alone_or_any_number_that_share(void **state)
{
    struct scene *scene = *state;
    struct device_lock first, second, other;
    assert_int_equal(take(scene, false, &first), STATUS_OK);
    assert_int_equal(take(scene, false, &second), STATUS_BUSY);
    assert_int_equal(take(scene, true, &second), STATUS_BUSY);
    assert_int_equal(device_lock_take(scene->folder, "GPU-2", false, "records", &other, NULL), STATUS_OK);
    device_lock_release(&other);
    device_lock_release(&first);
    assert_int_equal(take(scene, true, &first), STATUS_OK);
    assert_int_equal(take(scene, true, &second), STATUS_OK);
    assert_int_equal(take(scene, false, &other), STATUS_BUSY);
    device_lock_release(&first);
    assert_int_equal(take(scene, false, &other), STATUS_BUSY);
    device_lock_release(&second);
    assert_int_equal(take(scene, false, &other), STATUS_OK);
    device_lock_release(&other);
    device_lock_release(&other); /* twice is once */
}

static void a_refusal_says_who_where_and_since_when(void **state)
{
    struct scene *scene = *state;
    struct device_lock lock, again;
    char here[512], wanted[1024], since[32] = "";
    assert_non_null(getcwd(here, sizeof here));
    assert_int_equal(take(scene, false, &lock), STATUS_OK);
    assert_int_equal(take(scene, false, &again), STATUS_BUSY);
    assert_int_equal(sscanf(strstr(scene->error.text, "since "), "since %31[^,]", since), 1);
    snprintf(wanted, sizeof wanted, "GPU-1 is taken by process %d since %s, records in %s/records", (int)getpid(),
             since, here);
    assert_string_equal(scene->error.text, wanted);
    assert_int_equal(strlen(since), strlen("2026-11-21T03:44:29Z"));
    device_lock_release(&lock);
}

/* A child takes the lock, forks and is killed: what it has forked is still on the GPU. */
static void the_lock_lasts_as_long_as_any_process_of_the_run(void **state)
{
    struct scene *scene = *state;
    struct device_lock lock;
    int ready[2];
    char answer[sizeof(pid_t)];
    assert_int_equal(pipe(ready), 0);
    pid_t run = fork();
    assert_true(run >= 0);
    if (run == 0) {
        pid_t child = take(scene, false, &lock) == STATUS_OK ? fork() : -1;
        if (child == 0) {
            for (;;) {
                pause();
            }
        }
        ssize_t sent = write(ready[1], &child, sizeof child);
        (void)sent;
        for (;;) {
            pause();
        }
    }
    pid_t child = 0;
    assert_int_equal(read(ready[0], answer, sizeof answer), sizeof answer);
    memcpy(&child, answer, sizeof child);
    assert_true(child > 0);
    assert_int_equal(kill(run, SIGKILL), 0);
    assert_int_equal(waitpid(run, NULL, 0), run);
    assert_int_equal(take(scene, false, &lock), STATUS_BUSY);
    assert_non_null(strstr(scene->error.text, "not to be seen from here"));
    assert_int_equal(kill(child, SIGKILL), 0);
    enum status_code code = STATUS_BUSY;
    for (int tries = 0; tries < 1000 && code == STATUS_BUSY; tries++) { /* until it is gone */
        code = take(scene, false, &lock);
        usleep(10000);
    }
    assert_int_equal(code, STATUS_OK);
    device_lock_release(&lock);
    close(ready[0]);
    close(ready[1]);
}

/* Whatever stands where the lock should be: it is neither followed, nor written to, nor waited for. */
static void what_is_no_lock_is_left_alone(void **state)
{
    struct scene *scene = *state;
    struct device_lock lock;
    struct stat before, after;
    char victim[128];
    snprintf(victim, sizeof victim, "%s/victim", scene->folder);
    int file = open(victim, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_int_equal(write(file, "precious", 8), 8);
    close(file);
    assert_int_equal(stat(victim, &before), 0);
    assert_int_equal(symlink(victim, path_of(scene)), 0);
    assert_int_equal(take(scene, false, &lock), STATUS_IO);
    assert_int_equal(unlink(path_of(scene)), 0);
    assert_int_equal(link(victim, path_of(scene)), 0);
    assert_int_equal(take(scene, false, &lock), STATUS_IO);
    assert_non_null(strstr(scene->error.text, "not a regular file with one name; remove it"));
    assert_int_equal(unlink(path_of(scene)), 0);
    assert_int_equal(stat(victim, &after), 0);
    assert_int_equal(after.st_size, before.st_size);
    assert_int_equal(after.st_mode, before.st_mode);
    assert_int_equal(mkfifo(path_of(scene), 0666), 0);
    assert_int_equal(take(scene, false, &lock), STATUS_IO);
    assert_int_equal(unlink(path_of(scene)), 0);
    assert_int_equal(mkdir(path_of(scene), 0777), 0);
    assert_int_equal(take(scene, false, &lock), STATUS_IO);
    assert_int_equal(rmdir(path_of(scene)), 0);
    assert_int_equal(device_lock_take("/proc/no/such", NAME, false, "records", &lock, NULL), STATUS_IO);
    assert_int_equal(take(scene, false, &lock), STATUS_OK);
    device_lock_release(&lock);
}

/* Anybody may write into the file: what is printed of it cannot move a cursor, and is not believed to be more. */
static void what_others_wrote_into_it_is_not_trusted(void **state)
{
    struct scene *scene = *state;
    struct device_lock lock;
    static const char *const notes[] = {
        "",
        "{",
        "[1]",
        "{\"pid\": \"x\", \"since\": 7, \"folder\": null}",
        "{\"pid\": -1, \"since\": \"\\u001b[2J\\r\\n\\u007f\", \"folder\": \"/a\\u001b]0;b\\u0007\"}",
    };
    for (size_t i = 0; i < sizeof notes / sizeof notes[0]; i++) {
        int file = open(path_of(scene), O_CREAT | O_RDWR | O_TRUNC | O_CLOEXEC, 0666);
        assert_int_equal(write(file, notes[i], strlen(notes[i])), (ssize_t)strlen(notes[i]));
        assert_int_equal(flock(file, LOCK_EX | LOCK_NB), 0);
        assert_int_equal(take(scene, false, &lock), STATUS_BUSY);
        for (const char *at = scene->error.text; *at != '\0'; at++) {
            assert_true((unsigned char)*at >= 0x20 && *at != 0x7f);
        }
        close(file);
    }
    assert_int_equal(take(scene, false, &lock), STATUS_OK); /* what a run left there that was killed is no lock */
    device_lock_release(&lock);
}

/* Other users open it for writing whatever the umask of the first was. */
static void the_file_is_for_every_user(void **state)
{
    struct scene *scene = *state;
    struct device_lock lock;
    struct stat made;
    mode_t before = umask(0077);
    assert_int_equal(take(scene, false, &lock), STATUS_OK);
    umask(before);
    assert_int_equal(stat(lock.path, &made), 0);
    assert_int_equal(made.st_mode & 0777, 0666);
    device_lock_release(&lock);
}

/* In a sticky folder, where fs.protected_regular may keep users from creating what others have created. */
static void users_lock_each_other_out(void **state)
{
    struct scene *scene = *state;
    enum { NOBODY = 65534 };
    if (geteuid() != 0) {
        skip(); /* nobody else to become */
    }
    assert_int_equal(chmod(scene->folder, 01777), 0);
    for (int taken = 0; taken <= 1; taken++) {
        struct device_lock lock = {.file = -1};
        int status = 0;
        assert_int_equal(taken == 1 ? take(scene, false, &lock) : STATUS_OK, STATUS_OK);
        pid_t other = fork();
        assert_true(other >= 0);
        if (other == 0) {
            struct device_lock own;
            _exit(setgid(NOBODY) != 0 || setuid(NOBODY) != 0 ? 99 : (int)take(scene, false, &own));
        }
        assert_int_equal(waitpid(other, &status, 0), other);
        assert_true(WIFEXITED(status));
        assert_int_equal(WEXITSTATUS(status), taken == 1 ? STATUS_BUSY : STATUS_OK);
        device_lock_release(&lock); /* the file is now nobody's, and the second round locks it all the same */
    }
}

/* As a shell opens it, exec 9<PATH, for all that it starts. */
static int inherited_open(const struct scene *scene)
{
    int file = open(path_of(scene), O_RDONLY);
    assert_true(file >= 0);
    return file;
}

static void what_who_started_us_holds_is_ours_and_nobody_elses(void **state)
{
    struct scene *scene = *state;
    struct device_lock lock;
    char path[PATH_MAX];
    assert_int_equal(device_lock_make(scene->folder, NAME, path, &scene->error), STATUS_OK);
    assert_string_equal(path, path_of(scene));
    int file = inherited_open(scene);
    assert_int_equal(device_lock_hold(scene->folder, NAME, file, "night", &scene->error), STATUS_OK);
    for (int shared = 0; shared < 2; shared++) { /* and again: giving it back leaves it to who holds it */
        assert_int_equal(take(scene, shared == 1, &lock), STATUS_OK);
        device_lock_release(&lock);
    }
    assert_int_equal(fcntl(file, F_SETFD, FD_CLOEXEC), 0); /* now it is one that exec would have closed */
    assert_int_equal(take(scene, false, &lock), STATUS_BUSY);
    assert_int_equal(take(scene, true, &lock), STATUS_BUSY);
    assert_non_null(strstr(scene->error.text, "/night"));
    close(file);
    assert_int_equal(take(scene, false, &lock), STATUS_OK);
    device_lock_release(&lock);
}

static void a_descriptor_without_the_lock_gives_nothing(void **state)
{
    struct scene *scene = *state;
    struct device_lock other, lock;
    char path[PATH_MAX];
    assert_int_equal(take(scene, false, &other), STATUS_OK);
    int file = inherited_open(scene);
    assert_int_equal(take(scene, false, &lock), STATUS_BUSY);
    assert_int_equal(device_lock_hold(scene->folder, NAME, file, "night", &scene->error), STATUS_BUSY);
    assert_non_null(strstr(scene->error.text, "is taken by process"));
    assert_int_equal(device_lock_hold(scene->folder, "GPU-2", file, "night", &scene->error), STATUS_INVALID);
    assert_non_null(strstr(scene->error.text, "open it before: exec"));
    device_lock_release(&other);
    close(file);
    assert_int_equal(device_lock_make("/proc/no/such", NAME, path, &scene->error), STATUS_IO);
}

static void a_folder_without_a_wish_is_everybodys(void **state)
{
    struct stat folder;
    (void)state;
    if (device_lock_folder() == NULL) {
        skip(); /* this machine has none */
    }
    assert_int_equal(stat(device_lock_folder(), &folder), 0);
    assert_int_equal(folder.st_mode & (S_IFMT | S_ISVTX | S_IWOTH), S_IFDIR | S_ISVTX | S_IWOTH);
}

static void a_name_is_a_file_name(void **state)
{
    char name[DEVICE_LOCK_NAME_BYTES];
    (void)state;
    assert_true(device_lock_name("GPU-5f/../..", "0000:3B:00.0", name));
    assert_string_equal(name, "GPU-5f------");
    assert_true(device_lock_name("", "0000:3B:00.0", name));
    assert_string_equal(name, "0000-3B-00-0");
    assert_false(device_lock_name("", "", name));
}

/* ---- runs ---- */

static void gpu_tell(void *context, const struct case_job *job, int file)
{
    (void)context;
    if (strcmp(job->device, "auto") != 0) { /* "auto" is the one that cannot be told */
        dprintf(file, "{\"kind\": \"cuda\", \"uuid\": \"%s\", \"pci_bus_id\": \"%s\"}\n",
                strcmp(job->device, "cuda:7") == 0 ? "GPU-0" : NAME, job->device);
    }
}

static void shared_say(void *context, const struct case_job *job, int file)
{
    (void)context;
    dprintf(file, "{\"status\": \"skip\", \"reason\": \"%s\"}\n", job->shared ? "shared" : "alone");
}

static const struct case_runner RUNNER = {.run = shared_say, .identify = gpu_tell};

static struct run_options gpu_options(struct scene *scene, const char *device)
{
    struct run_options options = options_of(scene);
    cases_set(scene, "  - {model: tiny-bert, mode: load}\n");
    options.runner = &RUNNER;
    options.device = device;
    return options;
}

static void a_run_on_a_taken_gpu_writes_nothing(void **state)
{
    struct scene *scene = *state;
    struct device_lock lock;
    struct run_options options = gpu_options(scene, "cuda:0");
    assert_int_equal(take(scene, false, &lock), STATUS_OK);
    assert_int_equal(run_suite(&options, &scene->result, &scene->error), STATUS_BUSY);
    assert_int_equal(access(scene->file, F_OK), -1);
    options.wait_device_seconds = 1;
    assert_int_equal(run_suite(&options, &scene->result, &scene->error), STATUS_BUSY);
    assert_non_null(strstr(scene->error.text, "; wait for it (--wait-device SECONDS)"));
    assert_null(strstr(scene->error.text, "--share-device")); /* nobody said that the command has it */
    options.can_share_device = options.share_device = true;
    assert_int_equal(run_suite(&options, &scene->result, &scene->error), STATUS_BUSY);
    assert_non_null(strstr(scene->error.text, ", or start both runs with --share-device"));
    options = gpu_options(scene, "host");
    assert_int_equal(run_with(scene, &options), RUN_SKIPPED); /* the host needs no lock */
    assert_int_equal(json_kind(json_get(scene->records.runs[0].run, "device_lock")), JSON_KIND_NULL);
    device_lock_release(&lock);
}

static void waiting_tell(void *context, const char *text)
{
    ssize_t sent = strstr(text, "waiting up to 600 s: GPU-1 is taken by") == text ? write(*(int *)context, "w", 1) : 0;
    (void)sent;
}

static void a_run_waits_until_the_gpu_is_given_back(void **state)
{
    struct scene *scene = *state;
    struct device_lock lock;
    struct run_options options = gpu_options(scene, "cuda:0");
    options.wait_device_seconds = 600;
    int ready[2];
    char byte = 0;
    assert_int_equal(pipe(ready), 0);
    pid_t holder = fork();
    assert_true(holder >= 0);
    if (holder == 0) {
        byte = take(scene, false, &lock) == STATUS_OK ? 'y' : 'n';
        ssize_t sent = write(ready[1], &byte, 1);
        (void)sent;
        usleep(300000);
        _exit(0);
    }
    assert_int_equal(read(ready[0], &byte, 1), 1);
    assert_int_equal(byte, 'y');
    assert_int_equal(run_with(scene, &options), RUN_SKIPPED);
    assert_int_equal(waitpid(holder, NULL, 0), holder);
    close(ready[0]);
    close(ready[1]);
}

static void a_run_that_is_interrupted_while_it_waits_writes_nothing(void **state)
{
    struct scene *scene = *state;
    struct device_lock lock;
    struct run_options options = gpu_options(scene, "cuda:0");
    char waiting = 0;
    int ready[2], status = 0;
    options.wait_device_seconds = 600;
    assert_int_equal(take(scene, false, &lock), STATUS_OK);
    assert_int_equal(pipe(ready), 0);
    pid_t run = fork();
    assert_true(run >= 0);
    if (run == 0) {
        options.progress = (struct run_progress){.context = &ready[1], .warned = waiting_tell};
        enum status_code code = run_suite(&options, &scene->result, &scene->error);
        _exit(code == STATUS_INTERRUPTED && strstr(scene->error.text, "interrupted before the first case") != NULL ? 0
                                                                                                                   : 1);
    }
    assert_int_equal(read(ready[0], &waiting, 1), 1);
    assert_int_equal(kill(run, SIGTERM), 0);
    assert_int_equal(waitpid(run, &status, 0), run);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(access(scene->file, F_OK), -1);
    device_lock_release(&lock);
    close(ready[0]);
    close(ready[1]);
}

static void a_run_that_shares_says_so_and_goes_beside_others(void **state)
{
    struct scene *scene = *state;
    struct device_lock lock;
    struct run_options options = gpu_options(scene, "cuda:0");
    options.share_device = true;
    assert_int_equal(take(scene, true, &lock), STATUS_OK);
    assert_int_equal(run_with(scene, &options), RUN_SKIPPED);
    device_lock_release(&lock);
    const struct json *told = json_get(scene->records.runs[0].run, "device_lock");
    assert_true(json_boolean_or(json_get(told, "shared"), false));
    assert_string_equal(json_string_or(json_at(json_get(told, "paths"), 0), ""), path_of(scene));
    assert_string_equal(text_at(case_at(scene, 0), "reason"), "shared");
    options.share_device = false;
    assert_int_equal(run_with(scene, &options), RUN_SKIPPED);
    assert_string_equal(text_at(case_at(scene, 0), "reason"), "alone");
}

/* Two specs of one GPU are one lock, or the run would refuse itself. */
static void specs_of_one_gpu_are_one_lock(void **state)
{
    struct scene *scene = *state;
    struct run_options options = gpu_options(scene, NULL);
    cases_set(scene, "  - {model: tiny-bert, mode: load, device: cuda}\n"
                     "  - {model: tiny-gpt2, mode: load, device: 'cuda:0'}\n");
    assert_int_equal(run_with(scene, &options), RUN_SKIPPED);
    const struct json *told = json_get(scene->records.runs[0].run, "device_lock");
    assert_int_equal(json_count(json_get(told, "paths")), 1);
    assert_int_equal(json_kind(json_get(told, "note")), JSON_KIND_NULL);
}

/* In the order of their names, whatever that of the cases is: no two runs wait for each other. */
static void locks_are_taken_in_one_order(void **state)
{
    struct scene *scene = *state;
    struct run_options options = gpu_options(scene, NULL);
    cases_set(scene, "  - {model: tiny-bert, mode: load, device: 'cuda:0'}\n"
                     "  - {model: tiny-gpt2, mode: load, device: 'cuda:7'}\n");
    assert_int_equal(run_with(scene, &options), RUN_SKIPPED);
    const struct json *paths = json_get(json_get(scene->records.runs[0].run, "device_lock"), "paths");
    assert_int_equal(json_count(paths), 2);
    assert_non_null(strstr(json_string_or(json_at(paths, 0), ""), "GPU-0"));
    assert_non_null(strstr(json_string_or(json_at(paths, 1), ""), "GPU-1"));
}

static void warning_note(void *context, const char *text)
{
    snprintf(context, 256, "%s", text);
}

static void a_gpu_that_cannot_be_named_is_used_with_a_warning(void **state)
{
    struct scene *scene = *state;
    char warning[256] = "";
    struct run_options options = gpu_options(scene, "auto");
    options.progress = (struct run_progress){.context = warning, .warned = warning_note};
    assert_int_equal(run_with(scene, &options), RUN_SKIPPED);
    assert_string_equal(warning, "auto is not locked against other runs: which GPU it stands for could not be told");
    const struct json *told = json_get(scene->records.runs[0].run, "device_lock");
    assert_int_equal(json_count(json_get(told, "paths")), 0);
    assert_string_equal(text_at(told, "note"), warning);
}

/* A folder that was asked for must serve. */
static void a_lock_folder_that_is_not_there_is_an_error(void **state)
{
    struct scene *scene = *state;
    struct run_options options = gpu_options(scene, "cuda:0");
    options.lock_folder = "/proc/no/such";
    assert_int_equal(run_suite(&options, &scene->result, &scene->error), STATUS_IO);
    assert_non_null(strstr(scene->error.text, "/proc/no/such/assay-GPU-1.lock: cannot be opened for a lock"));
    assert_int_equal(access(scene->file, F_OK), -1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(one_alone_or_any_number_that_share),
        TEST(a_refusal_says_who_where_and_since_when),
        TEST(the_lock_lasts_as_long_as_any_process_of_the_run),
        TEST(what_is_no_lock_is_left_alone),
        TEST(what_others_wrote_into_it_is_not_trusted),
        TEST(the_file_is_for_every_user),
        TEST(users_lock_each_other_out),
        TEST(what_who_started_us_holds_is_ours_and_nobody_elses),
        TEST(a_descriptor_without_the_lock_gives_nothing),
        TEST(a_folder_without_a_wish_is_everybodys),
        TEST(a_name_is_a_file_name),
        TEST(a_run_on_a_taken_gpu_writes_nothing),
        TEST(a_run_waits_until_the_gpu_is_given_back),
        TEST(a_run_that_is_interrupted_while_it_waits_writes_nothing),
        TEST(a_run_that_shares_says_so_and_goes_beside_others),
        TEST(specs_of_one_gpu_are_one_lock),
        TEST(locks_are_taken_in_one_order),
        TEST(a_gpu_that_cannot_be_named_is_used_with_a_warning),
        TEST(a_lock_folder_that_is_not_there_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
