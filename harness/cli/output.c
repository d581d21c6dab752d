/* Output: the last step of every command. Not a formatter: tables come from the floor that knows what is in them. */
#include "harness/cli/output.h"

#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "harness/base/code_point.h"
#include "harness/base/size.h"
#include "harness/report/escape.h"

enum { WIDTH_DEFAULT = 100, WIDTH_MINIMUM = 40, WIDTH_MAXIMUM = 400 };

static enum status_code output_error(struct status *error)
{
    return status_set(error, STATUS_IO, "the result could not be written to standard output: %s", strerror(errno));
}

enum status_code output_text(const struct text *text, struct status *error)
{
    enum status_code code = text_status(text, "the output", error);
    if (code == STATUS_OK &&
        (fwrite(text_string(text), 1, text->length, stdout) != text->length || fflush(stdout) != 0)) {
        code = output_error(error);
    }
    return code;
}

static bool output_take(struct text_drain *drain, const char *bytes, size_t count)
{
    if (drain->error.code == STATUS_OK && fwrite(bytes, 1, count, stdout) != count) {
        output_error(&drain->error);
    }
    return drain->error.code == STATUS_OK;
}

struct text_drain output_drain(void)
{
    return (struct text_drain){.take = output_take};
}

enum status_code output_offer(const struct text *text, struct status *error)
{
    enum status_code code = output_text(text, error);
    return code == STATUS_IO && errno == EPIPE ? STATUS_OK : code;
}

void exit_reason_print(const char *command, enum exit_code exit_code, const char *reason)
{
    if (reason[0] == '\0') {
        return;
    }
    struct text clean = {0};
    terminal_append(&clean, reason);
    output_warning("assay: %s: exit code %d: %s", command, exit_code, text_string(&clean));
    text_release(&clean);
}

/* Where the words of a line begin that are to be folded: behind its last run of blanks in its first half. */
static size_t fold_start(const char *line, size_t length, int width)
{
    size_t start = strspn(line, " ");
    for (size_t i = start; i + 1 < length && code_point_count(line, i) <= width / 2; i++) {
        bool is_run = line[i] != ' ' && i >= 2 && line[i - 1] == ' ' && line[i - 2] == ' ';
        start = is_run ? i : start;
    }
    return start;
}

/* Where the lines below go on: below start, or near the margin if the longest word behind it does not fit there. */
static int fold_indent(const char *line, size_t length, size_t start, int width)
{
    enum { INDENT = 2, COLUMN_LEAST = 16 };
    bool is_text = start == strspn(line, " ") && start < COLUMN_LEAST; /* else what is right of other columns */
    int indent = code_point_count(line, start) + (is_text ? INDENT : 0), longest = 0;
    for (size_t at = start; at < length;) {
        size_t blanks = strspn(line + at, " "), word = strcspn(line + at + blanks, " \n");
        int columns = code_point_count(line + at + blanks, word);
        longest = columns > longest ? columns : longest;
        at += blanks + word;
    }
    return indent + longest <= width ? indent : INDENT;
}

static void line_fold(const char *line, size_t length, int width, struct text *text)
{
    size_t start = fold_start(line, length, width), bare = start; /* without the blanks in front of start */
    int indent = fold_indent(line, length, start, width);
    while (bare > 0 && line[bare - 1] == ' ') {
        bare--;
    }
    int column = code_point_count(line, bare);
    text_append_bytes(text, line, bare);
    for (size_t at = bare; at < length;) {
        size_t blanks = strspn(line + at, " "), word = strcspn(line + at + blanks, " \n");
        int columns = code_point_count(line + at + blanks, word), gap = (int)blanks;
        if (at > 0 && column + gap + columns > width) {
            text_format(text, "\n%*s", indent, "");
            column = indent + columns;
        } else {
            text_append_bytes(text, line + at, blanks);
            column += gap + columns;
        }
        text_append_bytes(text, line + at + blanks, word);
        at += blanks + word;
    }
}

static void lines_fold(const struct text *text, int width, struct text *folded)
{
    for (const char *line = text_string(text); *line != '\0';) {
        size_t length = strcspn(line, "\n");
        if (code_point_count(line, length) > width) {
            line_fold(line, length, width, folded);
        } else {
            text_append_bytes(folded, line, length);
        }
        line += length;
        if (*line == '\n') {
            text_append(folded, "\n");
            line++;
        }
    }
}

enum status_code output_lines(const struct text *text, struct status *error)
{
    int width = table_width();
    struct text broken = {0}, folded = {0};
    if (text->failed) {
        return output_text(text, error);
    }
    command_break_append(&broken, text_string(text));
    if (width < INT_MAX && !broken.failed) {
        lines_fold(&broken, width, &folded);
    }
    enum status_code code = output_text(width < INT_MAX && !broken.failed ? &folded : &broken, error);
    text_release(&broken);
    text_release(&folded);
    return code;
}

void output_notes(const struct text *notes)
{
    struct text broken = {0};
    command_break_append(&broken, text_string(notes));
    fputs(broken.failed ? "" : text_string(&broken), stderr);
    text_release(&broken);
}

/* A line that ends here: folded if it is wider than so many columns. */
static void stderr_line(const char *line, int width)
{
    struct text broken = {0}, folded = {0};
    command_break_append(&broken, line);
    if (!broken.failed && code_point_count(text_string(&broken), broken.length) > width) {
        line_fold(text_string(&broken), broken.length, width, &folded);
    }
    fputs(folded.length > 0 && !folded.failed ? text_string(&folded) : text_string(&broken), stderr);
    fputs("\n", stderr);
    text_release(&broken);
    text_release(&folded);
}

void output_warning(const char *format, ...)
{
    char *line = NULL;
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    if (vasprintf(&line, format, arguments) >= 0) {
        stderr_line(line, isatty(fileno(stderr)) == 1 ? terminal_width(stderr) : INT_MAX);
        free(line);
    } else { /* no memory to look at it */
        vfprintf(stderr, format, again);
        fputs("\n", stderr);
    }
    va_end(again);
    va_end(arguments);
}

void output_whole_line(const char *line)
{
    stderr_line(line, INT_MAX);
}

enum status_code output_json(const struct json *value, struct status *error)
{
    if (value == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for the output");
    }
    struct text text = {0};
    enum status_code code = json_write(value, 2, &text, error);
    if (code == STATUS_OK) {
        text_append(&text, "\n");
        code = output_text(&text, error);
    }
    text_release(&text);
    return code;
}

int terminal_width(FILE *stream)
{
    struct winsize size = {0};
    int64_t columns = 0;
    const char *wish = getenv("COLUMNS");
    if (ioctl(fileno(stream), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
        columns = size.ws_col;
    } else if (wish == NULL || integer_parse(wish, 1, WIDTH_MAXIMUM, &columns, NULL) != STATUS_OK) {
        columns = WIDTH_DEFAULT;
    }
    return (int)(columns < WIDTH_MINIMUM ? WIDTH_MINIMUM : columns > WIDTH_MAXIMUM ? WIDTH_MAXIMUM : columns);
}

bool output_is_terminal(void)
{
    return isatty(fileno(stdout)) == 1;
}

int table_width(void)
{
    return output_is_terminal() ? terminal_width(stdout) : INT_MAX;
}

bool terminal_is_lively(FILE *stream)
{
    const char *no_colour = getenv("NO_COLOR");
    const char *terminal = getenv("TERM");
    bool wanted = no_colour == NULL || no_colour[0] == '\0';
    bool able = terminal != NULL && strcmp(terminal, "dumb") != 0;
    return wanted && able && isatty(fileno(stream)) == 1;
}

int text_width(const char *text)
{
    return code_point_count(text, strlen(text));
}
