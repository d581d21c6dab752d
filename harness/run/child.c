/* Child: fork, listen, time out, reap. Not what the child does, nor what its output means. */
#include "harness/run/child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/bytes_write.h"
#include "harness/base/clock.h"
#include "harness/device/kernel_file.h"
#include "harness/run/gpu_lane.h"

/* Counted before the signal is sent (mm/oom_kill.c of Linux), in every cgroup. */
static int64_t oom_kills_read(void)
{
    int64_t count = -1;
    return kernel_count_read("/proc/vmstat", "oom_kill", &count) ? count : -1;
}

/* Best effort: if the kernel kills for want of memory, it is to take the child and not the run. */
static void oom_score_raise(void)
{
    static const char worst[] = "1000";
    int file = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (file >= 0) {
        ssize_t written = write(file, worst, sizeof worst - 1);
        (void)written;
        close(file);
    }
}

enum status_code children_afford(int count, struct status *error)
{
    struct rlimit limit;
    const rlim_t needed = CHILD_FILES_OF_A_RUN + (rlim_t)count * CHILD_FILES_EACH;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || limit.rlim_cur >= needed) {
        return STATUS_OK;
    }
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = needed;
    if ((limit.rlim_max == RLIM_INFINITY || limit.rlim_max >= needed) && setrlimit(RLIMIT_NOFILE, &limit) == 0) {
        return STATUS_OK;
    }
    return status_set(error, STATUS_IO, "%d jobs at a time need %llu open files, and ulimit -n allows %llu; raise it",
                      count, (unsigned long long)needed, (unsigned long long)before);
}

static void child_prepare(pid_t parent, const sigset_t *mask)
{
    const struct rlimit none = {.rlim_cur = 0, .rlim_max = 0};
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) { /* it died before prctl */
        _exit(1);
    }
    setrlimit(RLIMIT_CORE, &none);
    oom_score_raise();
    dup2(STDERR_FILENO, STDOUT_FILENO); /* results of the program are not for libraries to write into */
    sigprocmask(SIG_SETMASK, mask, NULL);
}

enum status_code child_start(const struct case_runner *runner, const struct case_job *job, const sigset_t *mask,
                             struct child *child, struct status *error)
{
    int ends[2];
    pid_t parent = getpid();
    int64_t oom_kills = oom_kills_read();
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return status_set(error, STATUS_IO, "no pipe for a case: %s", strerror(errno));
    }
    pid_t pid = fork();
    if (pid < 0) {
        enum status_code code = status_set(error, STATUS_IO, "no process for a case: %s", strerror(errno));
        close(ends[0]);
        close(ends[1]);
        return code;
    }
    if (pid == 0) {
        close(ends[0]);
        child_prepare(parent, mask);
        struct case_job own = *job;
        own.device = own.lane != NULL ? gpu_lane_enter(own.lane) : own.device;
        (own.step == CASE_MEASURE          ? runner->run
         : own.step == CASE_SEARCH_PREDICT ? runner->predict
                                           : runner->prove)(runner->context, &own, ends[1]);
        _exit(0);
    }
    setpgid(pid, pid); /* here too: the child may not have got that far when it is to be ended */
    close(ends[1]);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    int64_t now = clock_ns();
    *child = (struct child){.pid = pid,
                            .pipe = ends[0],
                            .started_ns = now,
                            .deadline_ns = now + (int64_t)(job->case_->settings->timeout_seconds * 1e9),
                            .grace_ns = CHILD_GRACE_SECONDS * INT64_C(1000000000),
                            .oom_kills_before = oom_kills,
                            .oom_kills_after = -1};
    return STATUS_OK;
}

static void group_kill(struct child *child)
{
    if (kill(-child->pid, SIGKILL) != 0) {
        kill(child->pid, SIGKILL);
    }
    child->killed_ns = child->killed_ns > 0 ? child->killed_ns : clock_ns();
}

static void pipe_drain(struct child *child)
{
    char buffer[64 * 1024];
    while (child->pipe >= 0) {
        ssize_t count = read(child->pipe, buffer, sizeof buffer);
        if (count > 0) {
            if (child->output.length + (size_t)count > CHILD_OUTPUT_BYTES_MAXIMUM) {
                child->too_long = true;
                group_kill(child);
                count = 0;
            }
            text_append_bytes(&child->output, buffer, (size_t)count);
        }
        if (count == 0 || (count < 0 && errno != EINTR && errno != EAGAIN)) {
            close(child->pipe);
            child->pipe = -1;
        } else if (count < 0 && errno == EAGAIN) {
            return;
        }
    }
}

void child_tend(struct child *child)
{
    if (child->ended) {
        return;
    }
    pipe_drain(child);
    if (clock_ns() >= child->deadline_ns && !child->timed_out) {
        child->timed_out = true;
        group_kill(child);
    }
    siginfo_t info = {.si_pid = 0};
    if (waitid(P_PID, (id_t)child->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == child->pid) {
        group_kill(child); /* whatever it may have started; before it is reaped, so that its number is still its own */
        pipe_drain(child);
        child->ended = waitpid(child->pid, &child->wait_status, 0) == child->pid;
    } else if (child->killed_ns > 0 && clock_ns() - child->killed_ns >= child->grace_ns) {
        child->ended = true;
        child->left = true;
    }
    if (child->ended) {
        child->oom_kills_after = oom_kills_read();
    }
}

void child_kill(struct child *child)
{
    if (!child->ended) {
        group_kill(child);
    }
}

void child_release(struct child *child)
{
    if (child->pipe >= 0) {
        close(child->pipe);
    }
    text_release(&child->output);
    *child = (struct child){.pipe = -1, .ended = true};
}

enum status_code case_send(int file, const struct json *object, struct status *error)
{
    struct text text = {0};
    enum status_code code = json_write(object, 0, &text, error);
    text_append(&text, "\n");
    if (code == STATUS_OK && text.failed) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "no memory to send a result");
    }
    int cause = code == STATUS_OK ? bytes_write(file, text.data, text.length) : 0;
    if (cause != 0) {
        code = status_set(error, STATUS_IO, "a result cannot be sent: %s", strerror(cause));
    }
    text_release(&text);
    return code;
}
