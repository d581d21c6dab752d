/* Program: spawn, listen, end. What its output means is not known here. */
#include "harness/run/program.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/clock.h"
#include "harness/run/child.h"

extern char **environ;

enum { LISTEN_MS = 50, COMPLAINT_ROOM = 4096 };

enum program_end { PROGRAM_RUNS, PROGRAM_ENDED, PROGRAM_LATE, PROGRAM_TOO_LONG, PROGRAM_STOPPED };

struct program {
    const struct program_request *request;
    pid_t pid;
    pid_t guard;                 /* the first of its group, which ends with us; 0: none */
    int lifeline;                /* what the guard waits on: closed by the kernel, however we end; -1: none */
    int output_pipe, error_pipe; /* -1 once closed */
    struct text output;
    char complaint[COMPLAINT_ROOM]; /* the end of what it said on standard error */
    size_t complaint_length;
    int64_t deadline_ns;
    int wait_status;
    enum program_end end;
};

static void descriptor_close(int *descriptor)
{
    if (*descriptor >= 0) {
        close(*descriptor);
        *descriptor = -1;
    }
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

/* Its whole group goes, the guard with it; the guard is reaped last, so that the number is the group's until then. */
static void group_end(struct program *program)
{
    kill(-program->guard, SIGKILL);
    while (program->pid > 0 && waitpid(program->pid, &program->wait_status, 0) < 0 && errno == EINTR) {
    }
    while (waitpid(program->guard, NULL, 0) < 0 && errno == EINTR) {
    }
    descriptor_close(&program->lifeline);
}

/* 0, or the reason why it cannot be started. outputs: what becomes its descriptors 1 and 2. */
static int program_spawn(struct program *program, const int outputs[2])
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t usual; /* what we ignore for ourselves */
    short flags =
        POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | (program->request->mask != NULL ? POSIX_SPAWN_SETSIGMASK : 0);
    if (posix_spawn_file_actions_init(&actions) != 0) {
        return ENOMEM;
    }
    if (posix_spawnattr_init(&attributes) != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return ENOMEM;
    }
    sigemptyset(&usual);
    sigaddset(&usual, SIGPIPE);
    sigaddset(&usual, SIGXFSZ);
    bool made =
        posix_spawnattr_setsigdefault(&attributes, &usual) == 0 &&
        posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0) == 0 &&
        posix_spawn_file_actions_adddup2(&actions, outputs[0], STDOUT_FILENO) == 0 &&
        posix_spawn_file_actions_adddup2(&actions, outputs[1], STDERR_FILENO) == 0 &&
        posix_spawnattr_setpgroup(&attributes, program->guard) == 0 &&
        (program->request->mask == NULL || posix_spawnattr_setsigmask(&attributes, program->request->mask) == 0) &&
        posix_spawnattr_setflags(&attributes, flags) == 0;
    /* posix_spawnp takes the words as char *const[] and does not change them. */
    char *words[PROGRAM_WORDS_MAXIMUM + 1] = {NULL};
    for (int i = 0; i < PROGRAM_WORDS_MAXIMUM && program->request->words[i] != NULL; i++) {
        memcpy(&words[i], &program->request->words[i], sizeof words[i]);
    }
    int reason = made ? posix_spawnp(&program->pid, words[0], &actions, &attributes, words, environ) : ENOMEM;
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return reason;
}

static void output_take(struct program *program, const char *bytes, size_t count)
{
    if (program->output.length + count > PROGRAM_OUTPUT_BYTES_MAXIMUM) {
        program->end = PROGRAM_TOO_LONG;
    } else {
        text_append_bytes(&program->output, bytes, count);
    }
}

/* Keeps the end. */
static void complaint_take(struct program *program, const char *bytes, size_t count)
{
    if (program->complaint_length + count > COMPLAINT_ROOM) {
        size_t kept =
            program->complaint_length < PROGRAM_COMPLAINT_BYTES ? program->complaint_length : PROGRAM_COMPLAINT_BYTES;
        memmove(program->complaint, program->complaint + program->complaint_length - kept, kept);
        program->complaint_length = kept;
    }
    memcpy(program->complaint + program->complaint_length, bytes, count);
    program->complaint_length += count;
}

/* Reads once from a pipe that may have something; closes it at its end. */
static void pipe_take(struct program *program, int *pipe, void (*take)(struct program *, const char *, size_t))
{
    char bytes[2048];
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

/* What lies in the pipes, unless something else goes on writing. */
static void rest_take(struct program *program)
{
    enum { READS_MAXIMUM = 4096 };
    for (int i = 0; i < READS_MAXIMUM && program->end == PROGRAM_RUNS && pipes_listen(program, 0) > 0; i++) {
    }
}

/* Waits a moment for something to happen, and takes it. */
static void program_listen(struct program *program)
{
    int ready = pipes_listen(program, LISTEN_MS);
    if (program->end != PROGRAM_RUNS) {
        return;
    }
    /* What it has started may hold its pipes open: they are not waited for. */
    siginfo_t info = {.si_pid = 0};
    const struct program_request *request = program->request;
    if (ready == 0 && waitid(P_PID, (id_t)program->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid != 0) {
        rest_take(program); /* what it wrote between the poll and its end */
        program->end = program->end == PROGRAM_RUNS ? PROGRAM_ENDED : program->end;
    } else if (clock_ns() >= program->deadline_ns) {
        program->end = PROGRAM_LATE;
    } else if (request->is_to_stop != NULL && request->is_to_stop(request->context)) {
        program->end = PROGRAM_STOPPED;
    }
}

/* The end of the complaint as one line of printable characters: "; it says: ...", or "". */
static const char *complaint_text(struct program *program, char line[PROGRAM_COMPLAINT_BYTES + 16])
{
    size_t length = program->complaint_length;
    while (length > 0 && isspace((unsigned char)program->complaint[length - 1])) {
        length--;
    }
    size_t first = length > PROGRAM_COMPLAINT_BYTES ? length - PROGRAM_COMPLAINT_BYTES : 0;
    if (length == 0) {
        return "";
    }
    int used = snprintf(line, 16, "; it says: ");
    for (size_t i = first; i < length; i++) {
        unsigned char byte = (unsigned char)program->complaint[i];
        line[used++] = byte < ' ' || byte == 127 ? ' ' : (char)byte;
    }
    line[used] = '\0';
    return line;
}

static enum status_code program_judge(struct program *program, struct status *error)
{
    const char *name = program->request->words[0];
    char line[PROGRAM_COMPLAINT_BYTES + 16];
    const char *complaint = complaint_text(program, line);
    switch (program->end) {
    case PROGRAM_LATE:
        return status_set(error, STATUS_IO, "%s did not end in %d s, so it was ended%s", name,
                          program->request->timeout_seconds, complaint);
    case PROGRAM_TOO_LONG:
        return status_set(error, STATUS_IO, "%s printed more than %d bytes, so it was ended", name,
                          PROGRAM_OUTPUT_BYTES_MAXIMUM);
    case PROGRAM_STOPPED:
        return status_set(error, STATUS_IO, "%s was ended with the run", name);
    case PROGRAM_RUNS:
    case PROGRAM_ENDED:
        break;
    }
    if (WIFSIGNALED(program->wait_status)) {
        return status_set(error, STATUS_IO, "%s was killed by signal %d%s", name, WTERMSIG(program->wait_status),
                          complaint);
    }
    if (WEXITSTATUS(program->wait_status) != 0) {
        return status_set(error, STATUS_IO, "%s ended with exit code %d%s", name, WEXITSTATUS(program->wait_status),
                          complaint);
    }
    return program->output.failed ? status_set(error, STATUS_OUT_OF_MEMORY, "no memory for what %s prints", name)
                                  : STATUS_OK;
}

/* Until it has ended or is to be. */
static enum status_code program_follow(struct program *program, struct text *output, struct status *error)
{
    program->deadline_ns = clock_ns() + program->request->timeout_seconds * INT64_C(1000000000);
    while (program->end == PROGRAM_RUNS) {
        program_listen(program);
    }
    group_end(program);
    enum status_code code = program_judge(program, error);
    if (code == STATUS_OK) {
        *output = program->output;
    } else {
        text_release(&program->output);
    }
    return code;
}

enum status_code program_run(const struct program_request *request, struct text *output, struct status *error)
{
    struct program program = {.request = request, .lifeline = -1, .output_pipe = -1, .error_pipe = -1};
    int output_ends[2] = {-1, -1}, error_ends[2] = {-1, -1};
    enum status_code code = STATUS_OK;
    if (pipe2(output_ends, O_CLOEXEC) != 0 || pipe2(error_ends, O_CLOEXEC) != 0) {
        code = status_set(error, STATUS_IO, "no pipe for %s: %s", request->words[0], strerror(errno));
    } else {
        int reason = guard_start(&program);
        reason = reason == 0 ? program_spawn(&program, (const int[]){output_ends[1], error_ends[1]}) : reason;
        if (reason != 0) {
            program.pid = 0; /* of one that could not be started it says nothing */
            bool is_missing = reason == ENOENT;
            code =
                status_set(error, is_missing ? STATUS_UNAVAILABLE : STATUS_IO, "%s %s%s", request->words[0],
                           is_missing ? "is not installed" : "cannot be started: ", is_missing ? "" : strerror(reason));
        }
    }
    descriptor_close(&output_ends[1]);
    descriptor_close(&error_ends[1]);
    program.output_pipe = output_ends[0];
    program.error_pipe = error_ends[0];
    if (code == STATUS_OK) {
        code = program_follow(&program, output, error);
    }
    if (program.lifeline >= 0) {
        group_end(&program);
    }
    descriptor_close(&program.output_pipe);
    descriptor_close(&program.error_pipe);
    return code;
}
