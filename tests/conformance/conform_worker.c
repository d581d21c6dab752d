/* Workers: one process at a time for each, asked through a pair of sockets. What an operation computes is not looked
 * at here. */
#include "tests/conformance/conform_worker.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OPEN_LIMIT_S = 120 }; /* a driver without persistence mode takes seconds */

/* The first answer of a process. */
struct opening {
    struct status status;
    char name[128];
};

static bool bytes_send(int channel, const void *bytes, size_t count)
{
    while (count > 0) {
        ssize_t sent = send(channel, bytes, count, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent <= 0) {
            return false;
        }
        bytes = (const char *)bytes + sent;
        count -= (size_t)sent;
    }
    return true;
}

/* limit_s: of each wait for more; -1: none. False where the other end is gone, or silent for so long (ETIMEDOUT). */
static bool bytes_receive(int channel, void *bytes, size_t count, int limit_s)
{
    while (count > 0) {
        struct pollfd wait = {.fd = channel, .events = POLLIN};
        int ready = poll(&wait, 1, limit_s < 0 ? -1 : limit_s * 1000);
        if (ready == 0) {
            errno = ETIMEDOUT;
            return false;
        }
        ssize_t received = ready > 0 ? recv(channel, bytes, count, 0) : -1;
        if (received < 0 && errno == EINTR) {
            continue;
        }
        if (received <= 0) {
            errno = 0;
            return false;
        }
        bytes = (char *)bytes + received;
        count -= (size_t)received;
    }
    return true;
}

/* ---- the process that has the device ---- */

static enum status_code site_open(const char *spec, struct trial_site *site, struct opening *opening)
{
    struct device *device = NULL;
    struct device_properties properties = {0};
    enum status_code code = device_open(spec, &device, &opening->status);
    if (code != STATUS_OK) {
        return code;
    }
    code = device->table->properties(device, &properties, &opening->status);
    code = code == STATUS_OK ? trial_site_open(site, device, &opening->status) : code;
    if (code != STATUS_OK) {
        device_close(device);
    }
    snprintf(opening->name, sizeof opening->name, "%s", properties.name);
    return code;
}

static bool answer_send(int channel, const struct conformance *conformance)
{
    const char *report = text_string(&conformance->report);
    size_t length = strlen(report);
    return bytes_send(channel, conformance, sizeof *conformance) && bytes_send(channel, &length, sizeof length) &&
           bytes_send(channel, report, length);
}

/* A process that the tests of its parent were half-way through: what is wrong in it ends it, and jumps to no test. */
static void tests_leave(void)
{
    static const int caught[] = {SIGFPE, SIGILL, SIGSEGV, SIGBUS, SIGSYS};
    for (size_t i = 0; i < sizeof caught / sizeof caught[0]; i++) {
        signal(caught[i], SIG_DFL);
    }
    setenv("CMOCKA_TEST_ABORT", "1", 1);
}

/* Does not return. A device that is lost is not closed: the process's end frees what it had. */
static void serve(int channel, const char *spec)
{
    struct trial_site site;
    struct opening opening = {0};
    struct conformance_request request;
    tests_leave();
    opening.status.code = site_open(spec, &site, &opening);
    bool goes_on = bytes_send(channel, &opening, sizeof opening) && opening.status.code == STATUS_OK;
    while (goes_on && bytes_receive(channel, &request, sizeof request, -1)) {
        struct conformance conformance;
        request.site = &site;
        operation_conform(&request, &conformance);
        goes_on = answer_send(channel, &conformance) && !conformance.lost;
        conformance_release(&conformance);
    }
    if (goes_on) {
        struct device *device = site.device;
        trial_site_close(&site);
        device_close(device);
    }
    _exit(0);
}

/* ---- the process that asks ---- */

static enum status_code process_start(struct conform_worker *worker, struct status *error)
{
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
        return status_set(error, STATUS_INTERNAL, "no pair of sockets: %s", strerror(errno));
    }
    fflush(NULL); /* what is printed is not to be printed by both */
    pid_t process = fork();
    if (process == 0) {
        close(ends[0]);
        serve(ends[1], worker->spec);
    }
    close(ends[1]);
    if (process < 0) {
        close(ends[0]);
        return status_set(error, STATUS_INTERNAL, "no process: %s", strerror(errno));
    }
    worker->process = process;
    worker->channel = ends[0];
    return STATUS_OK;
}

/* Waits for the process and says how it ended, where that is not with 0. */
static void process_end(struct conform_worker *worker, bool silent, int limit_s, char *text, size_t bytes)
{
    int status = 0;
    shutdown(worker->channel, SHUT_RDWR); /* processes that were made later have this end open too */
    close(worker->channel);
    worker->channel = -1;
    if (silent) {
        kill(worker->process, SIGKILL);
    }
    while (waitpid(worker->process, &status, 0) < 0 && errno == EINTR) {
    }
    if (silent) {
        snprintf(text, bytes, "it did not end within %d s", limit_s);
    } else if (WIFSIGNALED(status)) {
        snprintf(text, bytes, "the process that tried it was ended by signal %d", WTERMSIG(status));
    } else {
        snprintf(text, bytes, "the process that tried it ended with %d", WEXITSTATUS(status));
    }
}

static enum status_code process_open(struct conform_worker *worker, struct status *error)
{
    struct opening opening;
    char text[96];
    enum status_code code = process_start(worker, error);
    if (code != STATUS_OK) {
        return code;
    }
    if (!bytes_receive(worker->channel, &opening, sizeof opening, OPEN_LIMIT_S)) {
        process_end(worker, errno == ETIMEDOUT, OPEN_LIMIT_S, text, sizeof text);
        return status_set(error, STATUS_INTERNAL, "%s was opened: %s", worker->spec, text);
    }
    if (opening.status.code != STATUS_OK) {
        process_end(worker, false, 0, text, sizeof text);
        return status_copy(error, opening.status.code, &opening.status);
    }
    memcpy(worker->name, opening.name, sizeof worker->name);
    return STATUS_OK;
}

enum status_code conform_worker_open(struct conform_worker *worker, const char *spec, struct status *error)
{
    *worker = (struct conform_worker){.channel = -1};
    snprintf(worker->spec, sizeof worker->spec, "%s", spec);
    return process_open(worker, error);
}

void conform_worker_close(struct conform_worker *worker)
{
    char text[96];
    if (worker->channel >= 0) {
        process_end(worker, false, 0, text, sizeof text);
    }
}

static bool answer_receive(struct conform_worker *worker, int limit_s, struct conformance *conformance)
{
    size_t length = 0;
    if (!bytes_receive(worker->channel, conformance, sizeof *conformance, limit_s) ||
        !bytes_receive(worker->channel, &length, sizeof length, limit_s)) {
        return false;
    }
    conformance->report = (struct text){0};
    char *report = malloc(length + 1);
    bool received = report != NULL && bytes_receive(worker->channel, report, length, limit_s);
    if (received) {
        text_append_bytes(&conformance->report, report, length);
    }
    free(report);
    return received;
}

void worker_conform(struct conform_worker *worker, const struct conformance_request *request, int limit_s,
                    struct conformance *conformance)
{
    char text[96];
    struct status error = {0};
    if (worker->channel < 0 && process_open(worker, &error) != STATUS_OK) {
        *conformance = (struct conformance){.opcode = request->opcode, .lost = true};
        text_format(&conformance->report, "%s does not open again: %s\n", worker->spec, error.text);
        return;
    }
    if (!bytes_send(worker->channel, request, sizeof *request) || !answer_receive(worker, limit_s, conformance)) {
        bool silent = errno == ETIMEDOUT;
        *conformance = (struct conformance){.opcode = request->opcode, .lost = true};
        process_end(worker, silent, limit_s, text, sizeof text);
        text_format(&conformance->report, "%s\n", text);
    } else if (conformance->lost) {
        process_end(worker, false, 0, text, sizeof text);
    }
}
