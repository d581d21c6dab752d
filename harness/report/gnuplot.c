/* gnuplot: spawned, watched and judged by what it leaves. Not a writer of scripts: those are in plots/.
 *
 * gnuplot ends with 0 and an empty file where a script chooses no terminal, and leaves an empty file behind where data
 * are missing; so an image counts only if the program ended with 0 and the file is not empty. */
#include "harness/report/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/base/text.h"

enum { SECONDS_MAXIMUM = 60, COMPLAINT_BYTES = 512 };

extern char **environ;

/* A name that begins with '<' or '|' would be run as a command by gnuplot: relative names get "./" in front. */
static void path_append(struct text *text, const char *path, const char *suffix)
{
    text_format(text, "%s%s%s", path[0] == '/' ? "" : "./", path, suffix);
}

static int64_t now_milliseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Reads what the program says until it closes its end; keeps the beginning. False: the time is up. */
static bool complaint_read(int descriptor, char complaint[COMPLAINT_BYTES])
{
    int64_t limit = now_milliseconds() + SECONDS_MAXIMUM * 1000;
    size_t length = 0;
    for (;;) {
        char bytes[256];
        struct pollfd wait = {.fd = descriptor, .events = POLLIN};
        int64_t left = limit - now_milliseconds();
        int ready = left > 0 ? poll(&wait, 1, (int)left) : 0;
        if (ready < 0 && errno == EINTR) {
            continue;
        }
        if (ready == 0) {
            return false;
        }
        ssize_t count = ready > 0 ? read(descriptor, bytes, sizeof bytes) : 0;
        if (count <= 0) {
            complaint[length] = '\0';
            return true;
        }
        for (ssize_t at = 0; at < count && length + 1 < COMPLAINT_BYTES; at++) {
            complaint[length++] = bytes[at];
        }
    }
}

/* The last line that says something, in place: warnings come first, what ended the program last. */
static const char *complaint_line(char *complaint)
{
    size_t length = strlen(complaint);
    while (length > 0 && strchr(" \t\r\n", complaint[length - 1]) != NULL) {
        complaint[--length] = '\0';
    }
    const char *end = strrchr(complaint, '\n');
    const char *line = end != NULL ? end + 1 : complaint;
    return line[0] != '\0' ? line : "it gave no reason";
}

static int spawn_start(char *const *arguments, int output, pid_t *process)
{
    posix_spawn_file_actions_t actions;
    int cause = posix_spawn_file_actions_init(&actions);
    if (cause != 0) {
        return cause;
    }
    cause = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    cause = cause != 0 ? cause : posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    cause = cause != 0 ? cause : posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    cause = cause != 0 ? cause : posix_spawnp(process, arguments[0], &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    return cause;
}

static enum status_code spawn_error(int cause, struct status *error)
{
    if (cause == ENOENT || cause == EACCES) {
        return status_set(error, STATUS_UNAVAILABLE,
                          "gnuplot is not installed; install it (Debian, Ubuntu: apt-get install gnuplot-nox)");
    }
    return status_set(error, STATUS_IO, "gnuplot cannot be started: %s", strerror(cause));
}

static enum status_code program_run(char *const *arguments, struct status *error)
{
    int ends[2];
    pid_t process;
    char complaint[COMPLAINT_BYTES] = "";
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return spawn_error(errno == ENOENT ? EIO : errno, error);
    }
    int cause = spawn_start(arguments, ends[1], &process);
    close(ends[1]);
    if (cause != 0) {
        close(ends[0]);
        return spawn_error(cause, error);
    }
    bool in_time = complaint_read(ends[0], complaint);
    close(ends[0]);
    if (!in_time) {
        kill(process, SIGKILL);
    }
    int ended = 0;
    while (waitpid(process, &ended, 0) < 0 && errno == EINTR) {
    }
    if (!in_time) {
        return status_set(error, STATUS_IO, "gnuplot took longer than %d seconds and was stopped", SECONDS_MAXIMUM);
    }
    if (!WIFEXITED(ended) || WEXITSTATUS(ended) != 0) {
        return status_set(error, STATUS_IO, "gnuplot failed: %s", complaint_line(complaint));
    }
    return STATUS_OK;
}

static enum status_code image_accept(const char *part, const char *image, struct status *error)
{
    struct stat file;
    if (stat(part, &file) != 0 || file.st_size == 0) {
        return status_set(error, STATUS_IO, "gnuplot drew nothing");
    }
    if (rename(part, image) != 0) {
        return status_set(error, STATUS_IO, "%s: cannot be written: %s", image, strerror(errno));
    }
    return STATUS_OK;
}

enum status_code gnuplot_draw(const struct gnuplot_task *task, struct status *error)
{
    struct text script = {0}, data = {0}, part = {0};
    char width[16], height[16];
    path_append(&script, task->script, "");
    path_append(&data, task->data, "");
    path_append(&part, task->image, ".part");
    snprintf(width, sizeof width, "%d", task->width);
    snprintf(height, sizeof height, "%d", task->height);
    enum status_code code;
    if (script.failed || data.failed || part.failed) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the names of a plot");
    } else {
        /* -d: no start-up files of the user; -c: a script with arguments, which stops at its first error. */
        char *const arguments[] = {"gnuplot",
                                   "-d",
                                   "-c",
                                   script.data,
                                   data.data,
                                   part.data,
                                   (char *)(uintptr_t)task->format,
                                   width,
                                   height,
                                   (char *)(uintptr_t)task->option,
                                   (char *)(uintptr_t)task->basis,
                                   NULL};
        code = program_run(arguments, error);
        code = code == STATUS_OK ? image_accept(part.data, task->image, error) : code;
        if (code != STATUS_OK) {
            unlink(part.data);
        }
    }
    text_release(&script);
    text_release(&data);
    text_release(&part);
    return code;
}
