/* Attempts: start, listen, end, one child at a time. What the line of a child means is the caller's matter. */
#include "harness/run/attempts.h"

#include <poll.h>
#include <stdlib.h>

#include "harness/base/clock.h"
#include "harness/run/case_line.h"
#include "harness/run/device_claim.h"
#include "harness/run/run_signals.h"

enum { WAIT_MS_MAXIMUM = 250, WAIT_MS_ENDING = 2 };

struct attempts {
    struct attempts_options options;
    struct run_options run; /* what a claim is made by */
    struct run_signals signals;
    struct device_claim claim;
    int count;
    bool interrupted;
};

enum status_code attempts_open(const struct attempts_options *options, const struct suite_case *case_,
                               struct attempts **attempts, struct status *error)
{
    struct attempts *opened = calloc(1, sizeof *opened);
    if (opened == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no memory to measure a case");
    }
    opened->options = *options;
    opened->run = (struct run_options){.runner = options->runner,
                                       .device = options->device,
                                       .folder = options->purpose,
                                       .jobs = 1,
                                       .can_share_device = options->can_share_device,
                                       .share_device = options->share_device,
                                       .wait_device_seconds = options->wait_device_seconds,
                                       .lock_folder = options->lock_folder,
                                       .progress = options->progress};
    enum status_code code = run_signals_open(&opened->signals, error);
    if (code != STATUS_OK) {
        free(opened);
        return code;
    }
    const struct device_claim_request request = {.options = &opened->run,
                                                 .specs = &opened->options.device,
                                                 .spec_count = 1,
                                                 .case_ = case_,
                                                 .signals = &opened->signals};
    code = device_claim_take(&request, &opened->claim, error);
    if (code != STATUS_OK) {
        run_signals_close(&opened->signals);
        free(opened);
        return code;
    }
    *attempts = opened;
    return STATUS_OK;
}

bool attempts_interrupted(struct attempts *attempts)
{
    attempts->interrupted = attempts->interrupted || run_signals_came(&attempts->signals, 0);
    return attempts->interrupted;
}

/* Until something may have happened. */
static void child_wait(const struct attempts *attempts, const struct child *child)
{
    bool listens = child->pipe >= 0 && !child->timed_out;
    int64_t left_ms = (child->deadline_ns - clock_ns()) / 1000000 + 1;
    int64_t wait_ms = !listens ? WAIT_MS_ENDING : left_ms < WAIT_MS_MAXIMUM ? left_ms : WAIT_MS_MAXIMUM;
    struct pollfd polls[] = {{.fd = attempts->signals.file, .events = POLLIN}, {.fd = child->pipe, .events = POLLIN}};
    poll(polls, listens ? 2 : 1, wait_ms > WAIT_MS_ENDING ? (int)wait_ms : WAIT_MS_ENDING);
}

/* A second signal ends the waiting for a child that hangs. */
static void child_follow(struct attempts *attempts, struct child *child)
{
    bool is_impatient = false;
    while (!child->ended && !is_impatient) {
        child_wait(attempts, child);
        bool came = run_signals_came(&attempts->signals, 0);
        is_impatient = came && attempts->interrupted;
        if (came && !attempts->interrupted) {
            attempts->interrupted = true;
            child_kill(child);
        }
        child_tend(child);
    }
}

enum status_code attempts_measure(struct attempts *attempts, const struct suite_case *case_, struct json **line,
                                  struct status *error)
{
    struct child child;
    enum case_status status;
    const struct attempts_options *options = &attempts->options;
    const struct case_job job = {.case_ = case_,
                                 .device = options->device,
                                 .catalogue_dir = options->catalogue_dir,
                                 .version = options->version,
                                 .attempt = attempts->count + 1,
                                 .shared = options->share_device};
    *line = NULL;
    if (attempts_interrupted(attempts)) {
        return STATUS_OK;
    }
    enum status_code code = child_start(options->runner, &job, &attempts->signals.mask, &child, error);
    if (code != STATUS_OK) {
        return code;
    }
    attempts->count++;
    child_follow(attempts, &child);
    if (!attempts->interrupted) {
        code = case_line_make(&job, &child, line, &status, error);
    }
    child_release(&child);
    return code;
}

void attempts_close(struct attempts *attempts)
{
    if (attempts != NULL) {
        device_claim_release(&attempts->claim);
        run_signals_close(&attempts->signals);
        free(attempts);
    }
}
