/* Run signals: a signalfd. What a run does when one comes is its own matter. */
#include "harness/run/run_signals.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

enum status_code run_signals_open(struct run_signals *signals, struct status *error)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    struct run_signals opened = {.file = -1};
    sigset_t taken;
    sigemptyset(&taken);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction action; /* a signal that is blocked is queued even if it is ignored */
        if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN) {
            sigaddset(&taken, numbers[i]);
        }
    }
    opened.file = signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK);
    if (opened.file < 0) {
        return status_set(error, STATUS_IO, "signals cannot be taken: %s", strerror(errno));
    }
    sigprocmask(SIG_BLOCK, &taken, &opened.mask);
    *signals = opened;
    return STATUS_OK;
}

bool run_signals_came(const struct run_signals *signals, int wait_ms)
{
    struct signalfd_siginfo taken;
    struct pollfd one = {.fd = signals->file, .events = POLLIN};
    return poll(&one, 1, wait_ms) > 0 && read(signals->file, &taken, sizeof taken) > 0;
}

void run_signals_close(struct run_signals *signals)
{
    close(signals->file);
    sigprocmask(SIG_SETMASK, &signals->mask, NULL);
    signals->file = -1;
}
