/* Gate run: which run of the records is judged. A job that keeps its folder finds the records of yesterday there if its
 * own run wrote none; whoever says when the run began or what it is called judges no other. */
#include "harness/cli/gate_run.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* "Z", "+01:00" or nothing, after the seconds and their fraction; *seconds: how far it is from UTC. */
static bool offset_read(const char *text, long *seconds)
{
    int hours = 0, minutes = 0, length = 0;
    char sign = '+';
    if (*text == '.') {
        text += 1 + strspn(text + 1, "0123456789");
    }
    *seconds = 0;
    if (strcmp(text, "Z") == 0 || strcmp(text, "z") == 0 || *text == '\0') {
        return true;
    }
    if (sscanf(text, "%c%2d:%2d%n", &sign, &hours, &minutes, &length) != 3 || text[length] != '\0' ||
        strchr("+-", sign) == NULL || hours < 0 || hours > 23 || minutes < 0 || minutes > 59) {
        return false;
    }
    *seconds = (sign == '-' ? -60L : 60L) * (60L * hours + minutes);
    return true;
}

/* A day and, behind "T" or a blank, a time of it. */
static bool time_read(const char *text, time_t *moment)
{
    struct tm parts = {.tm_mday = 0};
    long offset_seconds = 0;
    char between = 'T';
    int length = 0;
    const int count = sscanf(text, "%4d-%2d-%2d%n%c%2d:%2d:%2d%n", &parts.tm_year, &parts.tm_mon, &parts.tm_mday,
                             &length, &between, &parts.tm_hour, &parts.tm_min, &parts.tm_sec, &length);
    if ((count != 3 && count != 7) || strchr("Tt ", between) == NULL || (count == 3 && text[length] != '\0') ||
        !offset_read(text + length, &offset_seconds)) {
        return false;
    }
    const struct tm wanted = parts;
    parts.tm_year -= 1900;
    parts.tm_mon -= 1;
    *moment = timegm(&parts);
    const bool is_real = parts.tm_mday == wanted.tm_mday && parts.tm_mon == wanted.tm_mon - 1 &&
                         parts.tm_hour == wanted.tm_hour && parts.tm_min == wanted.tm_min;
    *moment -= offset_seconds;
    return is_real;
}

enum { MOMENT_BYTES = 24 };

/* "2026-11-20T02:00:00Z" of a moment as RFC 3339 has it, with Z or an offset, of a day, or of the time at which a file
 * was last written. */
static enum status_code moment_read(const char *text, char moment[MOMENT_BYTES], struct status *error)
{
    struct stat facts;
    struct tm parts;
    time_t seconds = 0;
    bool found = time_read(text, &seconds);
    if (!found && stat(text, &facts) == 0) {
        seconds = facts.st_mtime;
        found = true;
    }
    if (!found || gmtime_r(&seconds, &parts) == NULL ||
        strftime(moment, MOMENT_BYTES, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0) {
        return status_set(error, STATUS_INVALID,
                          "'%.64s' is no moment; write 2026-11-20T02:00:00Z, or the name of a file that was written "
                          "then",
                          text);
    }
    return STATUS_OK;
}

/* "the records are of run 1f2e3d4c, which began 2026-11-20T02:00:00Z, and not of run 9a: that run left none here" */
static enum status_code stranger_say(struct run_figures *run, const struct run_wish *wish, const char **stranger,
                                     struct status *error)
{
    const char *name = run->run_id[0] != '\0' ? run->run_id : "(unnamed)";
    const char *began = run->started[0] != '\0' ? run->started : "at a time that is not recorded";
    *stranger = wish->run_id != NULL
                    ? arena_format(&run->arena,
                                   "the records are of run %.8s, which began %s, and none of run %s%s%s is there, so "
                                   "that nothing was judged",
                                   name, began, wish->run_id, wish->since != NULL ? " since " : "",
                                   wish->since != NULL ? wish->since : "")
                    : arena_format(&run->arena,
                                   "the records are of run %.8s, which began %s, before %s: the run that is to be "
                                   "judged left none here, so that nothing was judged",
                                   name, began, wish->since);
    return *stranger != NULL ? STATUS_OK : status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the run");
}

enum status_code gate_run_read(const struct arguments *arguments, struct run_figures *run, const char **stranger,
                               struct status *error)
{
    const char *after = arguments_value(arguments, "started-after");
    struct run_wish wish = {.run_id = arguments_value(arguments, "run-id")};
    char moment[MOMENT_BYTES];
    bool is_there = false;
    enum status_code code = STATUS_OK;
    *stranger = NULL;
    if (after != NULL) {
        code = moment_read(after, moment, error);
        wish.since = moment;
        if (code != STATUS_OK) {
            status_prefix(error, "gate: --started-after");
        }
    }
    if (code == STATUS_OK) {
        code = run_figures_read_wish(arguments->operands[0], &wish, run, &is_there, error);
    }
    return code == STATUS_OK && !is_there ? stranger_say(run, &wish, stranger, error) : code;
}
