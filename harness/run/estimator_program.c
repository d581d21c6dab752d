/* Estimator program: what is asked of program_run, and its outcome in words. What the output means is not known here.
 */
#include "harness/run/estimator_program.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/program_run.h"

/* The end of the complaint as one line of printable characters: "; it says: ...", or "". */
static const char *complaint_text(const struct program_outcome *outcome, char line[ESTIMATOR_COMPLAINT_BYTES + 16])
{
    size_t length = outcome->complaint_length;
    while (length > 0 && isspace((unsigned char)outcome->complaint[length - 1])) {
        length--;
    }
    size_t first = length > ESTIMATOR_COMPLAINT_BYTES ? length - ESTIMATOR_COMPLAINT_BYTES : 0;
    if (length == 0) {
        return "";
    }
    int used = snprintf(line, 16, "; it says: ");
    for (size_t i = first; i < length; i++) {
        unsigned char byte = (unsigned char)outcome->complaint[i];
        line[used++] = byte < ' ' || byte == 127 ? ' ' : (char)byte;
    }
    line[used] = '\0';
    return line;
}

static enum status_code outcome_judge(const struct estimator_call *call, const struct program_outcome *outcome,
                                      struct status *error)
{
    const char *name = call->words[0];
    char line[ESTIMATOR_COMPLAINT_BYTES + 16];
    const char *complaint = complaint_text(outcome, line);
    switch (outcome->end) {
    case PROGRAM_NO_PIPE:
        return status_set(error, STATUS_IO, "no pipe for %s: %s", name, strerror(outcome->number));
    case PROGRAM_NOT_STARTED:
        return outcome->number == ENOENT
                   ? status_set(error, STATUS_UNAVAILABLE, "%s is not installed", name)
                   : status_set(error, STATUS_IO, "%s cannot be started: %s", name, strerror(outcome->number));
    case PROGRAM_LATE:
        return status_set(error, STATUS_IO, "%s did not end in %d s, so it was ended%s", name, call->timeout_seconds,
                          complaint);
    case PROGRAM_TOO_LONG:
        return status_set(error, STATUS_IO, "%s printed more than %d bytes, so it was ended", name,
                          ESTIMATOR_OUTPUT_BYTES_MAXIMUM);
    case PROGRAM_STOPPED:
        return status_set(error, STATUS_IO, "%s was ended with the run", name);
    case PROGRAM_SIGNALLED:
        return status_set(error, STATUS_IO, "%s was killed by signal %d%s", name, outcome->number, complaint);
    case PROGRAM_EXITED:
        break;
    }
    if (outcome->number != 0) {
        return status_set(error, STATUS_IO, "%s ended with exit code %d%s", name, outcome->number, complaint);
    }
    return outcome->output.failed ? status_set(error, STATUS_OUT_OF_MEMORY, "no memory for what %s prints", name)
                                  : STATUS_OK;
}

enum status_code estimator_program_run(const struct estimator_call *call, struct text *output, struct status *error)
{
    struct program_outcome outcome;
    sigset_t usual; /* what we ignore for ourselves */
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGXFSZ);
    const struct program_request request = {.words = call->words,
                                            .folder = call->folder,
                                            .timeout_seconds = call->timeout_seconds,
                                            .own_group = true,
                                            .output_bytes_maximum = ESTIMATOR_OUTPUT_BYTES_MAXIMUM,
                                            .mask = call->mask,
                                            .usual_handling = &usual,
                                            .is_to_stop = call->is_to_stop,
                                            .context = call->context};
    program_run(&request, &outcome);
    enum status_code code = outcome_judge(call, &outcome, error);
    if (code == STATUS_OK) {
        *output = outcome.output;
    } else {
        text_release(&outcome.output);
    }
    return code;
}
