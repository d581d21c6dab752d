/* Margin option: the table of doubts, or what was typed. */
#include "harness/cli/margin_option.h"

#include <stdio.h>
#include <string.h>

#include "harness/base/size.h"

enum { MARGIN_MAXIMUM = 1000 };

enum status_code margin_read(const struct arguments *arguments, const struct question_case *question,
                             struct doubt *doubt, struct status *error)
{
    const char *typed = arguments_value(arguments, "margin");
    struct doubt usual = doubt_of(question->input.config, question->input.workload);
    int64_t percent = 0;
    char number[8];
    if (typed == NULL) {
        *doubt = usual;
        return STATUS_OK;
    }
    size_t length = strlen(typed);
    length -= length > 0 && typed[length - 1] == '%' ? 1 : 0;
    snprintf(number, sizeof number, "%.*s", length < sizeof number ? (int)length : 0, typed);
    if (integer_parse(number, 0, MARGIN_MAXIMUM, &percent, NULL) != STATUS_OK) {
        return status_set(error, STATUS_INVALID, "%s: --margin: '%s' is no percentage; write 0 to %d, as 5%%",
                          arguments->command->name, typed, MARGIN_MAXIMUM);
    }
    int less = usual.less_permille < (int)percent * 10 ? usual.less_permille : (int)percent * 10;
    *doubt = (struct doubt){.less_permille = less, .more_permille = (int)percent * 10};
    return STATUS_OK;
}

static void permille_append(int permille, struct text *text)
{
    text_format(text, "%d.%d %%", permille / 10, permille % 10);
}

void doubt_line(struct doubt doubt, struct text *text)
{
    if (doubt.more_permille == 0 && doubt.less_permille == 0) {
        return;
    }
    text_append(text, "  segments may be ");
    permille_append(doubt.less_permille, text);
    text_append(text, " smaller to ");
    permille_append(doubt.more_permille, text);
    text_append(text, " larger than predicted; --margin 0 takes them as predicted\n");
}
