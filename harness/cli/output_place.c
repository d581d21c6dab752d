/* Output place: two paths, one file? Opens nothing. */
#include "harness/cli/output_place.h"

#include <sys/stat.h>

#include "harness/base/text.h"

enum status_code output_place_check(const char *output, const char *input, struct status *error)
{
    struct stat written, read;
    struct text records = {0};
    if (output == NULL || stat(output, &written) != 0 || !S_ISREG(written.st_mode) || stat(input, &read) != 0) {
        return STATUS_OK; /* of a terminal or a pipe nothing is lost */
    }
    enum status_code code = STATUS_OK;
    bool is_read = !S_ISDIR(read.st_mode);
    if (!is_read) {
        text_format(&records, "%s/records.jsonl", input);
        code = text_status(&records, "a path", error);
        is_read = stat(text_string(&records), &read) == 0;
    }
    if (code == STATUS_OK && is_read && written.st_dev == read.st_dev && written.st_ino == read.st_ino) {
        code = status_set(error, STATUS_INVALID, "%s: is what is read here; name another file", output);
    }
    text_release(&records);
    return code;
}
