/* Device probe: fork, a struct through a pipe, a deadline. What the answers mean is the caller's matter. */
#include "harness/cli/device_probe.h"

#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/bytes_write.h"
#include "harness/base/clock.h"
#include "harness/run/device_lock.h"

/* Takes the lock of a GPU, if it has one; *is_taken: another run has it. Without a folder for locks a GPU can be opened
 * all the same, as in a run. */
static void lock_try(const struct device_identity *identity, const char *folder, struct device_lock *lock,
                     struct device_probe *probe)
{
    char name[DEVICE_LOCK_NAME_BYTES];
    *lock = (struct device_lock){.file = -1};
    folder = folder != NULL ? folder : device_lock_folder();
    if (folder == NULL || strcmp(identity->kind, "cuda") != 0 ||
        !device_lock_name(identity->uuid, identity->pci_bus_id, name)) {
        return;
    }
    struct status error = {0};
    probe->is_taken = device_lock_take(folder, name, false, "assay doctor", lock, &error) == STATUS_BUSY;
    if (probe->is_taken) {
        probe->opened = error;
    }
}

static void device_ask(const char *spec, const char *lock_folder, struct device_probe *probe)
{
    struct device *device = NULL;
    struct device_lock lock;
    if (device_identify(spec, &probe->identity, &probe->identified) != STATUS_OK) {
        return;
    }
    lock_try(&probe->identity, lock_folder, &lock, probe);
    if (!probe->is_taken && device_open(spec, &device, &probe->opened) == STATUS_OK) {
        enum status_code code = device->table->properties(device, &probe->properties, &probe->opened);
        probe->opened.code = code;
        device_close(device);
    }
    device_lock_release(&lock);
}

/* All of it within the time, or none. */
static bool answer_read(int file, struct device_probe *probe)
{
    size_t filled = 0;
    int64_t deadline_ns = clock_ns() + DEVICE_PROBE_SECONDS * INT64_C(1000000000);
    while (filled < sizeof *probe) {
        struct pollfd waited = {.fd = file, .events = POLLIN};
        int64_t left_ms = (deadline_ns - clock_ns()) / 1000000;
        if (left_ms <= 0 || poll(&waited, 1, (int)left_ms) <= 0) {
            probe->end = PROBE_LATE;
            return false;
        }
        ssize_t count = read(file, (char *)probe + filled, sizeof *probe - filled);
        if (count <= 0) {
            probe->end = PROBE_CRASHED;
            return false;
        }
        filled += (size_t)count;
    }
    return true;
}

static void child_run(const char *spec, const char *lock_folder, bool of_cudnn, int file)
{
    struct device_probe probe = {.end = PROBE_ANSWERED};
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    dup2(STDERR_FILENO, STDOUT_FILENO); /* results are not for libraries to write into */
    if (of_cudnn) {
        device_identify(spec, &probe.identity, &probe.identified);
    } else {
        setenv("ASSAY_CUDNN", "no", 1);
        device_ask(spec, lock_folder, &probe);
    }
    int cause = bytes_write(file, (const char *)&probe, sizeof probe);
    _exit(cause == 0 ? 0 : 1);
}

static void child_ask(const char *spec, const char *lock_folder, bool of_cudnn, struct device_probe *probe)
{
    int ends[2];
    *probe = (struct device_probe){.end = PROBE_CRASHED};
    if (pipe(ends) != 0) {
        return;
    }
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        child_run(spec, lock_folder, of_cudnn, ends[1]);
    }
    close(ends[1]);
    if (child > 0 && !answer_read(ends[0], probe)) {
        enum probe_end end = probe->end;
        *probe = (struct device_probe){.end = end};
        kill(child, SIGKILL);
    }
    close(ends[0]);
    /* A child that is stuck in a driver does not end even then, and is left. */
    for (int tries = 0; child > 0 && waitpid(child, NULL, WNOHANG) == 0 && tries < 100; tries++) {
        usleep(10000);
    }
}

void device_probe(const char *spec, const char *lock_folder, struct device_probe *probe)
{
    child_ask(spec, lock_folder, false, probe);
}

void device_probe_cudnn(const char *spec, struct device_probe *probe)
{
    child_ask(spec, NULL, true, probe);
}
