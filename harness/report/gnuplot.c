/* gnuplot: spawned, watched and judged by what it leaves. Not a writer of scripts: those are in plots/.
 *
 * gnuplot ends with 0 if a script chooses no terminal, if data are missing and if it could not write all of
 * the image; so an image counts only if it is complete in its own terms. */
#include "harness/report/gnuplot.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/bytes_write.h"
#include "harness/base/program_run.h"

enum { SECONDS_MAXIMUM = 60, COMPLAINT_BYTES = 511, IMAGE_BYTES_MAXIMUM = 64 << 20, MEMORY_PATH_BYTES = 32 };

extern char **environ;

/* The last line that says something, in place: warnings come first, what ended the program last. */
static const char *complaint_line(const struct text *output)
{
    char *complaint = output->data;
    size_t length = complaint != NULL ? strlen(complaint) : 0;
    while (length > 0 && strchr(" \t\r\n", complaint[length - 1]) != NULL) {
        complaint[--length] = '\0';
    }
    if (length == 0) {
        return "it gave no reason";
    }
    const char *end = strrchr(complaint, '\n');
    return end != NULL ? end + 1 : complaint;
}

/* Two files that lie in memory only and that gnuplot can open by name. */
struct exchange {
    int data, image;
    char data_path[MEMORY_PATH_BYTES], image_path[MEMORY_PATH_BYTES]; /* /proc/self is gnuplot, then */
};

/* Ours without the variables that gnuplot obeys; borrowed texts in a list of one's own. NULL: no memory. */
static const char **environment_make(void)
{
    static const char *const obeyed[] = {"GNUTERM=", "GNUPLOT_", "GNUHELP=", "FIT_", "GDFONTPATH="};
    static const char no_window[] = "GNUTERM=dumb"; /* what it starts with before the script chooses; not a window */
    size_t count = 0, kept = 0;
    while (environ[count] != NULL) {
        count++;
    }
    const char **list = calloc(count + 2, sizeof *list);
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

static enum status_code spawn_error(int cause, struct status *error)
{
    if (cause == ENOENT || cause == EACCES) {
        return status_set(error, STATUS_UNAVAILABLE,
                          "gnuplot is not installed; install it (Debian, Ubuntu: apt-get install gnuplot-nox)");
    }
    return status_set(error, STATUS_IO, "gnuplot cannot be started: %s", strerror(cause));
}

static enum status_code outcome_judge(const struct program_outcome *outcome, struct status *error)
{
    switch (outcome->end) {
    case PROGRAM_NO_PIPE:
    case PROGRAM_NOT_STARTED:
        return spawn_error(outcome->number, error);
    case PROGRAM_LATE:
        return status_set(error, STATUS_IO, "gnuplot took longer than %d seconds and was stopped", SECONDS_MAXIMUM);
    case PROGRAM_TOO_LONG: /* more than is kept is dropped, and nobody stops it */
    case PROGRAM_STOPPED:
    case PROGRAM_SIGNALLED:
    case PROGRAM_EXITED:
        break;
    }
    bool has_succeeded = outcome->end == PROGRAM_EXITED && outcome->number == 0;
    return has_succeeded ? STATUS_OK
                         : status_set(error, STATUS_IO, "gnuplot failed: %s", complaint_line(&outcome->output));
}

static enum status_code gnuplot_run(const char *const *words, const struct exchange *exchange, struct status *error)
{
    sigset_t none; /* held signals are ours: an interrupt at the terminal ends gnuplot, so it stays in our group, too */
    struct program_outcome outcome;
    const char **environment = environment_make();
    if (environment == NULL) {
        return spawn_error(ENOMEM, error);
    }
    sigemptyset(&none);
    const struct program_request request = {.words = words,
                                            .environment = environment,
                                            .kept_files = (const int[]){exchange->data, exchange->image},
                                            .kept_file_count = 2,
                                            .timeout_seconds = SECONDS_MAXIMUM,
                                            .errors_joined = true,
                                            .excess_is_dropped = true,
                                            .output_bytes_maximum = COMPLAINT_BYTES,
                                            .mask = &none};
    program_run(&request, &outcome);
    free(environment);
    enum status_code code = outcome_judge(&outcome, error);
    text_release(&outcome.output);
    return code;
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
        const char *const words[] = {"gnuplot",           "-d",          "-c",  script.data, exchange.data_path,
                                     exchange.image_path, task->format,  width, height,      task->option,
                                     task->basis,         task->caption, lines, NULL};
        code = gnuplot_run(words, &exchange, error);
        code = code == STATUS_OK ? image_take(exchange.image, task->format, image, error) : code;
        exchange_close(&exchange);
    }
    text_release(&script);
    return code;
}

enum status_code gnuplot_version(char version[GNUPLOT_VERSION_BYTES], struct status *error)
{
    static const char *const words[] = {"gnuplot", "--version", NULL};
    const struct program_request request = {.words = words,
                                            .timeout_seconds = SECONDS_MAXIMUM,
                                            .own_group = true,
                                            .excess_is_dropped = true,
                                            .output_bytes_maximum = GNUPLOT_VERSION_BYTES};
    struct program_outcome outcome;
    program_run(&request, &outcome);
    enum status_code code = STATUS_OK;
    if (outcome.end == PROGRAM_NOT_STARTED) {
        code = spawn_error(outcome.number, error);
    } else if (outcome.end != PROGRAM_EXITED || outcome.number != 0) {
        code = status_set(error, STATUS_IO, "gnuplot does not run; try gnuplot --version");
    } else {
        snprintf(version, GNUPLOT_VERSION_BYTES, "%s", text_string(&outcome.output));
        version[strcspn(version, "\n")] = '\0';
    }
    text_release(&outcome.output);
    return code;
}
