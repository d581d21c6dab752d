/* Output: the last step of every command. Not a formatter: tables come from the floor that knows what is in them. */
#include "harness/cli/output.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "harness/base/size.h"

enum { WIDTH_DEFAULT = 100, WIDTH_MINIMUM = 40, WIDTH_MAXIMUM = 400 };

enum status_code output_text(const struct text *text, struct status *error)
{
    if (text->failed) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for the output");
    }
    if (fwrite(text_string(text), 1, text->length, stdout) != text->length || fflush(stdout) != 0) {
        return status_set(error, STATUS_IO, "the result could not be written to standard output: %s", strerror(errno));
    }
    return STATUS_OK;
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
    int width = 0;
    for (; *text != '\0'; text++) {
        width += ((unsigned char)*text & 0xC0) != 0x80;
    }
    return width;
}
