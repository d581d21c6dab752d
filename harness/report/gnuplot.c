/* gnuplot: spawned, watched and judged by what it leaves. Not a writer of scripts: those are in plots/.
 *
 * gnuplot ends with 0 where a script chooses no terminal, where data are missing and where it could not write all of
 * the image; so an image counts only if it is complete in its own terms. */
#include "harness/report/gnuplot.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/bytes_write.h"
#include "harness/base/clock.h"

enum { SECONDS_MAXIMUM = 60, COMPLAINT_BYTES = 512, IMAGE_BYTES_MAXIMUM = 64 << 20, MEMORY_PATH_BYTES = 32 };

extern char **environ;

/* Reads what the program says until it closes its end; keeps the beginning. False: the time is up. */
static bool complaint_read(int descriptor, char complaint[COMPLAINT_BYTES])
{
    int64_t limit_ns = clock_ns() + SECONDS_MAXIMUM * INT64_C(1000000000);
    size_t length = 0;
    for (;;) {
        char bytes[256];
        struct pollfd wait = {.fd = descriptor, .events = POLLIN};
        int64_t left_ms = (limit_ns - clock_ns()) / 1000000;
        int ready = left_ms > 0 ? poll(&wait, 1, (int)left_ms) : 0;
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

/* Two files that lie in memory only and that gnuplot can open by name. */
struct exchange {
    int data, image;
    char data_path[MEMORY_PATH_BYTES], image_path[MEMORY_PATH_BYTES]; /* /proc/self is gnuplot, then */
};

/* Ours without the variables that gnuplot obeys; borrowed texts in a list of one's own. NULL: no memory. */
static char **environment_make(void)
{
    static const char *const obeyed[] = {"GNUTERM=", "GNUPLOT_", "GNUHELP=", "FIT_", "GDFONTPATH="};
    static char no_window[] = "GNUTERM=dumb"; /* what it starts with before the script chooses; not a window */
    size_t count = 0, kept = 0;
    while (environ[count] != NULL) {
        count++;
    }
    char **list = calloc(count + 2, sizeof *list);
    for (size_t i = 0; list != NULL && i < count; i++) {
        bool is_obeyed = false;
        for (size_t at = 0; at < sizeof obeyed / sizeof obeyed[0]; at++) {
            is_obeyed = is_obeyed || strncmp(environ[i], obeyed[at], strlen(obeyed[at])) == 0;
        }
        if (!is_obeyed) {
            list[kept++] = environ[i];
        }
    }
    if (list != NULL) {
        list[kept] = no_window;
    }
    return list;
}

/* A descriptor that is duplicated onto itself stays open in the program. */
static int spawn_start(char *const *arguments, const struct exchange *exchange, int output, pid_t *process)
{
    posix_spawn_file_actions_t actions;
    char **environment = environment_make();
    int cause = environment == NULL ? ENOMEM : posix_spawn_file_actions_init(&actions);
    if (cause != 0) {
        free(environment);
        return cause;
    }
    cause = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    cause = cause != 0 ? cause : posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    cause = cause != 0 ? cause : posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
    cause = cause != 0 ? cause : posix_spawn_file_actions_adddup2(&actions, exchange->data, exchange->data);
    cause = cause != 0 ? cause : posix_spawn_file_actions_adddup2(&actions, exchange->image, exchange->image);
    posix_spawnattr_t attributes;
    sigset_t none; /* held signals are ours: an interrupt at the terminal ends gnuplot */
    sigemptyset(&none);
    cause = cause != 0 ? cause : posix_spawnattr_init(&attributes);
    if (cause == 0) {
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
        cause = posix_spawnp(process, arguments[0], &actions, &attributes, arguments, environment);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    free(environment);
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

static enum status_code program_run(char *const *arguments, const struct exchange *exchange, struct status *error)
{
    int ends[2];
    pid_t process;
    char complaint[COMPLAINT_BYTES] = "";
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return spawn_error(errno == ENOENT ? EIO : errno, error);
    }
    int cause = spawn_start(arguments, exchange, ends[1], &process);
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

static void exchange_close(const struct exchange *exchange)
{
    if (exchange->data >= 0) {
        close(exchange->data);
    }
    if (exchange->image >= 0) {
        close(exchange->image);
    }
}

static enum status_code exchange_open(const struct text *data, struct exchange *exchange, struct status *error)
{
    exchange->data = memfd_create("assay-data", MFD_CLOEXEC);
    exchange->image = memfd_create("assay-image", MFD_CLOEXEC);
    int cause =
        exchange->data < 0 || exchange->image < 0 ? errno : bytes_write(exchange->data, data->data, data->length);
    if (cause != 0) {
        exchange_close(exchange);
        return status_set(error, STATUS_IO, "no memory file for its data: %s", strerror(cause));
    }
    snprintf(exchange->data_path, sizeof exchange->data_path, "/proc/self/fd/%d", exchange->data);
    snprintf(exchange->image_path, sizeof exchange->image_path, "/proc/self/fd/%d", exchange->image);
    return STATUS_OK;
}

/* Whether the image ends as a whole one does; blanks may follow an SVG document. */
static bool image_is_whole(const struct text *image, const char *format)
{
    static const char svg_end[] = "</svg>", png_end[] = "\0\0\0\0IEND\xae\x42\x60\x82";
    const char *end = strcmp(format, "svg") == 0 ? svg_end : png_end;
    size_t end_length = strcmp(format, "svg") == 0 ? sizeof svg_end - 1 : sizeof png_end - 1, length = image->length;
    while (end == svg_end && length > 0 && strchr(" \t\r\n", image->data[length - 1]) != NULL) {
        length--;
    }
    return length >= end_length && memcmp(image->data + length - end_length, end, end_length) == 0;
}

static enum status_code image_take(int file, const char *format, struct text *image, struct status *error)
{
    struct stat facts;
    char bytes[1 << 14];
    struct text taken = {0};
    ssize_t count = 0;
    if (fstat(file, &facts) != 0 || facts.st_size == 0) {
        return status_set(error, STATUS_IO, "gnuplot drew nothing");
    }
    while (facts.st_size <= IMAGE_BYTES_MAXIMUM && (off_t)taken.length < facts.st_size && !taken.failed &&
           (count = pread(file, bytes, sizeof bytes, (off_t)taken.length)) > 0) {
        text_append_bytes(&taken, bytes, (size_t)count);
    }
    enum status_code code = STATUS_OK;
    if (facts.st_size > IMAGE_BYTES_MAXIMUM) {
        code = status_set(error, STATUS_IO, "gnuplot drew an image of more than %d MiB", IMAGE_BYTES_MAXIMUM >> 20);
    } else if (!image_is_whole(&taken, format)) {
        code =
            status_set(error, STATUS_IO, "gnuplot left the image unfinished, at %lld bytes", (long long)facts.st_size);
    } else {
        text_append_bytes(image, taken.data, taken.length);
    }
    text_release(&taken);
    return code;
}

enum status_code gnuplot_draw(const struct gnuplot_task *task, struct text *image, struct status *error)
{
    struct exchange exchange;
    struct text script = {0};
    char width[16], height[16], lines[16];
    /* A name that begins with '<' or '|' would be run as a command by gnuplot. */
    text_format(&script, "%s%s", task->script[0] == '/' ? "" : "./", task->script);
    snprintf(width, sizeof width, "%d", task->width);
    snprintf(height, sizeof height, "%d", task->height);
    snprintf(lines, sizeof lines, "%d", task->caption_lines);
    enum status_code code = script.failed || task->data->failed
                                ? status_set(error, STATUS_OUT_OF_MEMORY, "no memory for a plot")
                                : exchange_open(task->data, &exchange, error);
    if (code == STATUS_OK) {
        /* -d: no start-up files of the user; -c: a script with arguments, which stops at its first error. */
        char *const arguments[] = {"gnuplot",
                                   "-d",
                                   "-c",
                                   script.data,
                                   exchange.data_path,
                                   exchange.image_path,
                                   (char *)(uintptr_t)task->format,
                                   width,
                                   height,
                                   (char *)(uintptr_t)task->option,
                                   (char *)(uintptr_t)task->basis,
                                   (char *)(uintptr_t)task->caption,
                                   lines,
                                   NULL};
        code = program_run(arguments, &exchange, error);
        code = code == STATUS_OK ? image_take(exchange.image, task->format, image, error) : code;
        exchange_close(&exchange);
    }
    text_release(&script);
    return code;
}
