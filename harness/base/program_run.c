/* Program run: spawn, listen, end. What its output means is not known here. */
#include "harness/base/program_run.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdint.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/clock.h"

extern char **environ;

/* How long to wait for a pipe before anything else is looked at; once both are closed, the end is near. */
enum { LISTEN_MS = 50, CLOSED_MS = 1 };

struct program {
    const struct program_request *request;
    struct program_outcome *outcome;
    pid_t pid;                       /* 0: it was not started */
    pid_t guard;                     /* the first of its group, which ends with us; 0: none */
    int lifeline;                    /* what the guard waits on: closed by the kernel, however we end; -1: none */
    int output_pipe, error_pipe;     /* what we read; -1: closed */
    int output_source, error_source; /* what becomes its descriptors 1 and 2; -1: closed */
    int64_t deadline_ns;
    bool is_over; /* it has ended or is to be: the outcome says which */
};

static void descriptor_close(int *descriptor)
{
    if (*descriptor >= 0) {
        close(*descriptor);
        *descriptor = -1;
    }
}

static void program_conclude(struct program *program, enum program_end end, int number)
{
    program->is_over = true;
    program->outcome->end = end;
    program->outcome->number = number;
}

/* A process that is the first of the program's group and kills it when we have gone, whatever took us. It does nothing
 * else: its own copy of the lifeline is the reading end alone. 0, or the reason why there is none. */
static int guard_start(struct program *program)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
        return errno;
    }
    pid_t guard = fork();
    if (guard == 0) {
        char byte;
        setpgid(0, 0);
        close(ends[1]);
        close(program->output_source); /* else the pipes would not end with the program */
        close(program->error_source);
        while (read(ends[0], &byte, 1) < 0 && errno == EINTR) {
        }
        kill(0, SIGKILL);
        _exit(0);
    }
    int reason = guard < 0 ? errno : 0;
    close(ends[0]);
    if (reason != 0) {
        close(ends[1]);
        return reason;
    }
    setpgid(guard, guard); /* here too: the program is to join the group, and the guard may not have got that far */
    program->guard = guard;
    program->lifeline = ends[1];
    return 0;
}

/* Its whole group goes, the guard with it; the guard is reaped last, so that the number is the group's until then.
 * The wait status of the program. */
static int program_reap(struct program *program)
{
    int wait_status = 0;
    if (program->guard > 0) {
        kill(-program->guard, SIGKILL);
    } else if (program->pid > 0 && program->outcome->end != PROGRAM_EXITED) {
        kill(program->pid, SIGKILL);
    }
    while (program->pid > 0 && waitpid(program->pid, &wait_status, 0) < 0 && errno == EINTR) {
    }
    while (program->guard > 0 && waitpid(program->guard, NULL, 0) < 0 && errno == EINTR) {
    }
    descriptor_close(&program->lifeline);
    return wait_status;
}

/* A descriptor that is duplicated onto itself stays open in the program. */
static int actions_fill(posix_spawn_file_actions_t *actions, const struct program *program)
{
    const struct program_request *request = program->request;
    int error_source = request->errors_joined ? program->output_source : program->error_source;
    int reason = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    reason = reason != 0 ? reason : posix_spawn_file_actions_adddup2(actions, program->output_source, STDOUT_FILENO);
    reason = reason != 0 || request->folder == NULL ? reason
                                                    : posix_spawn_file_actions_addchdir_np(actions, request->folder);
    reason = reason != 0 ? reason : posix_spawn_file_actions_adddup2(actions, error_source, STDERR_FILENO);
    for (int i = 0; i < request->kept_file_count && reason == 0; i++) {
        reason = posix_spawn_file_actions_adddup2(actions, request->kept_files[i], request->kept_files[i]);
    }
    return reason;
}

static int attributes_fill(posix_spawnattr_t *attributes, const struct program *program)
{
    const struct program_request *request = program->request;
    short flags = 0;
    int reason = 0;
    if (program->guard > 0) {
        flags |= POSIX_SPAWN_SETPGROUP;
        reason = posix_spawnattr_setpgroup(attributes, program->guard);
    }
    if (request->usual_handling != NULL && reason == 0) {
        flags |= POSIX_SPAWN_SETSIGDEF;
        reason = posix_spawnattr_setsigdefault(attributes, request->usual_handling);
    }
    if (request->mask != NULL && reason == 0) {
        flags |= POSIX_SPAWN_SETSIGMASK;
        reason = posix_spawnattr_setsigmask(attributes, request->mask);
    }
    return reason != 0 ? reason : posix_spawnattr_setflags(attributes, flags);
}

/* 0, or the reason why it cannot be started. */
static int program_spawn(struct program *program)
{
    const struct program_request *request = program->request;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int reason = posix_spawn_file_actions_init(&actions);
    if (reason != 0) {
        return reason;
    }
    reason = posix_spawnattr_init(&attributes);
    if (reason == 0) {
        /* posix_spawnp takes both lists as char *const[] and does not change them. */
        char *const *words = (char *const *)(uintptr_t)request->words;
        char *const *environment =
            request->environment != NULL ? (char *const *)(uintptr_t)request->environment : environ;
        pid_t pid = 0;
        reason = actions_fill(&actions, program);
        reason = reason != 0 ? reason : attributes_fill(&attributes, program);
        reason = reason != 0 ? reason : posix_spawnp(&pid, words[0], &actions, &attributes, words, environment);
        program->pid = reason == 0 ? pid : 0; /* of one that could not be started it says nothing */
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return reason;
}

static void output_take(struct program *program, const char *bytes, size_t count)
{
    struct text *output = &program->outcome->output;
    size_t room = program->request->output_bytes_maximum - output->length;
    if (count > room && !program->request->excess_is_dropped) {
        program_conclude(program, PROGRAM_TOO_LONG, 0);
    } else {
        text_append_bytes(output, bytes, count < room ? count : room);
    }
}

/* Keeps the end. */
static void complaint_take(struct program *program, const char *bytes, size_t count)
{
    struct program_outcome *outcome = program->outcome;
    size_t kept = outcome->complaint_length;
    if (kept + count > PROGRAM_COMPLAINT_BYTES) {
        kept = PROGRAM_COMPLAINT_BYTES - count;
        memmove(outcome->complaint, outcome->complaint + outcome->complaint_length - kept, kept);
    }
    memcpy(outcome->complaint + kept, bytes, count);
    outcome->complaint_length = kept + count;
}

/* Reads once from a pipe that may have something; closes it at its end. */
static void pipe_take(struct program *program, int *pipe, void (*take)(struct program *, const char *, size_t))
{
    char bytes[PROGRAM_COMPLAINT_BYTES / 2];
    ssize_t count = *pipe >= 0 ? read(*pipe, bytes, sizeof bytes) : -1;
    if (count > 0) {
        take(program, bytes, (size_t)count);
    } else if (count == 0 || (errno != EINTR && errno != EAGAIN)) {
        descriptor_close(pipe);
    }
}

/* Takes what comes within a time; the number of pipes that had something. */
static int pipes_listen(struct program *program, int wait_ms)
{
    struct pollfd polls[] = {{.fd = program->output_pipe, .events = POLLIN},
                             {.fd = program->error_pipe, .events = POLLIN}};
    int ready = poll(polls, 2, wait_ms);
    if (ready > 0 && polls[0].revents != 0) {
        pipe_take(program, &program->output_pipe, output_take);
    }
    if (ready > 0 && polls[1].revents != 0) {
        pipe_take(program, &program->error_pipe, complaint_take);
    }
    return ready;
}

/* Takes what lies in the pipes, unless something else goes on writing. */
static void pipes_drain(struct program *program)
{
    enum { READS_MAXIMUM = 4096 };
    for (int i = 0; i < READS_MAXIMUM && !program->is_over && pipes_listen(program, 0) > 0; i++) {
    }
}

/* True also if the end of children is ignored: the kernel then keeps no exit code, and it counts as 0. */
static bool program_has_ended(const struct program *program)
{
    siginfo_t info = {.si_pid = 0};
    int failure = waitid(P_PID, (id_t)program->pid, &info, WEXITED | WNOHANG | WNOWAIT);
    return failure == 0 ? info.si_pid != 0 : errno == ECHILD;
}

/* Waits a moment for something to happen, and takes it. */
static void program_listen(struct program *program)
{
    const struct program_request *request = program->request;
    bool are_closed = program->output_pipe < 0 && program->error_pipe < 0;
    int ready = pipes_listen(program, are_closed ? CLOSED_MS : LISTEN_MS);
    if (program->is_over) {
        return;
    }
    /* What it has started may hold its pipes open: they are not waited for. */
    if (ready == 0 && program_has_ended(program)) {
        pipes_drain(program); /* what it wrote between the poll and its end */
        if (!program->is_over) {
            program_conclude(program, PROGRAM_EXITED, 0); /* until its wait status is known */
        }
    } else if (clock_ns() >= program->deadline_ns) {
        program_conclude(program, PROGRAM_LATE, 0);
    } else if (request->is_to_stop != NULL && request->is_to_stop(request->context)) {
        program_conclude(program, PROGRAM_STOPPED, 0);
    }
}

/* False: there is none, and errno says why. */
static bool pipes_open(struct program *program)
{
    int output_ends[2], error_ends[2];
    if (pipe2(output_ends, O_CLOEXEC) != 0) {
        return false;
    }
    program->output_pipe = output_ends[0];
    program->output_source = output_ends[1];
    if (program->request->errors_joined) {
        return true;
    }
    if (pipe2(error_ends, O_CLOEXEC) != 0) {
        return false;
    }
    program->error_pipe = error_ends[0];
    program->error_source = error_ends[1];
    return true;
}

static void program_start(struct program *program)
{
    if (!pipes_open(program)) {
        program_conclude(program, PROGRAM_NO_PIPE, errno);
        return;
    }
    int reason = program->request->own_group ? guard_start(program) : 0;
    reason = reason != 0 ? reason : program_spawn(program);
    if (reason != 0) {
        program_conclude(program, PROGRAM_NOT_STARTED, reason);
    }
}

void program_run(const struct program_request *request, struct program_outcome *outcome)
{
    struct program program = {.request = request,
                              .outcome = outcome,
                              .lifeline = -1,
                              .output_pipe = -1,
                              .error_pipe = -1,
                              .output_source = -1,
                              .error_source = -1};
    memset(outcome, 0, sizeof *outcome);
    program_start(&program);
    descriptor_close(&program.output_source);
    descriptor_close(&program.error_source);
    program.deadline_ns = clock_ns() + request->timeout_seconds * INT64_C(1000000000);
    while (!program.is_over) {
        program_listen(&program);
    }
    int wait_status = program_reap(&program);
    if (outcome->end == PROGRAM_EXITED && WIFSIGNALED(wait_status)) {
        program_conclude(&program, PROGRAM_SIGNALLED, WTERMSIG(wait_status));
    } else if (outcome->end == PROGRAM_EXITED) {
        program_conclude(&program, PROGRAM_EXITED, WEXITSTATUS(wait_status));
    }
    descriptor_close(&program.output_pipe);
    descriptor_close(&program.error_pipe);
}
