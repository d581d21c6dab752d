/* Process cost: posix_spawn, then wait4, which knows what the process used. */
#include "tests/bench/process_cost.h"

#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "harness/base/clock.h"
#include "tests/bench/bench_row.h"

extern char **environ;

static double timeval_milliseconds(struct timeval time)
{
    return 1e3 * (double)time.tv_sec + 1e-3 * (double)time.tv_usec;
}

enum status_code process_time(const char *const *words, struct process_cost *cost, struct status *error)
{
    posix_spawn_file_actions_t actions;
    struct rusage usage;
    int wait_status = 0;
    pid_t child = 0;
    if (posix_spawn_file_actions_init(&actions) != 0) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for a process");
    }
    int failure = posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    failure = failure == 0 ? posix_spawn_file_actions_adddup2(&actions, 1, 2) : failure;
    double begin = clock_seconds();
    if (failure == 0) {
        /* posix_spawn does not write to the words; its prototype is older than const. */
        char *arguments[PROCESS_WORDS_MAXIMUM + 1] = {NULL};
        for (int i = 0; i < PROCESS_WORDS_MAXIMUM && words[i] != NULL; i++) {
            memcpy(&arguments[i], &words[i], sizeof arguments[i]);
        }
        failure = posix_spawn(&child, words[0], &actions, NULL, arguments, environ);
    }
    posix_spawn_file_actions_destroy(&actions);
    if (failure != 0 || wait4(child, &wait_status, 0, &usage) != child) {
        return status_set(error, STATUS_IO, "%s cannot be started", words[0]);
    }
    cost->wall = 1e3 * (clock_seconds() - begin);
    cost->cpu = timeval_milliseconds(usage.ru_utime) + timeval_milliseconds(usage.ru_stime);
    cost->peak_mib = (double)usage.ru_maxrss / 1024;
    if (!WIFEXITED(wait_status)) {
        return status_set(error, STATUS_INTERNAL, "it failed with wait status %d", wait_status);
    }
    cost->exit_code = WEXITSTATUS(wait_status);
    return STATUS_OK;
}
