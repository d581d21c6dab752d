/* Peer step: the child process and its lines of JSON. What a step is, is said in peers/pytorch/bench_step.py. */
#include "tests/bench/peer_step.h"

#include <fcntl.h>
#include <spawn.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/json.h"

enum { NUMBER_BYTES = 16, LINE_BYTES = 4096, ENVIRONMENT_MAXIMUM = 1024, WORDS_MAXIMUM = 24 };

extern char **environ;

static enum status_code line_read(struct peer *peer, struct json **answer, struct status *error)
{
    char line[LINE_BYTES];
    if (fgets(line, sizeof line, peer->answers) == NULL) {
        return status_set(error, STATUS_UNAVAILABLE, "%s ended without an answer", peer->script);
    }
    return json_parse_text(peer->script, line, strlen(line), answer, error);
}

static enum status_code greeting_read(struct peer *peer, struct status *error)
{
    struct json *answer = NULL;
    enum status_code code = line_read(peer, &answer, error);
    if (code != STATUS_OK) {
        return code;
    }
    const char *reason = json_string_or(json_get(answer, "unavailable"), NULL);
    if (reason != NULL) {
        code = status_set(error, STATUS_UNAVAILABLE, "%s", reason);
    } else {
        const char *accelerate = json_string_or(json_get(answer, "accelerate"), NULL);
        snprintf(peer->version, sizeof peer->version, "torch %s, %s %s",
                 json_string_or(json_get(answer, "torch"), "of no version"),
                 accelerate != NULL ? "accelerate" : "transformers",
                 accelerate != NULL ? accelerate : json_string_or(json_get(answer, "transformers"), "of no version"));
    }
    json_release(answer);
    return code;
}

static bool pipes_open(int to_child[2], int from_child[2])
{
    if (pipe2(to_child, O_CLOEXEC) != 0) {
        return false;
    }
    if (pipe2(from_child, O_CLOEXEC) != 0) {
        close(to_child[0]);
        close(to_child[1]);
        return false;
    }
    return true;
}

/* The environment without what the rest of the bench is run with: the peer waits as it does for everybody. */
static void environment_copy(char *copy[ENVIRONMENT_MAXIMUM])
{
    int count = 0;
    for (char **variable = environ; *variable != NULL && count < ENVIRONMENT_MAXIMUM - 1; variable++) {
        if (strncmp(*variable, "OMP_WAIT_POLICY=", 16) != 0) {
            copy[count++] = *variable;
        }
    }
    copy[count] = NULL;
}

/* The child with `input` and `output` as its standard streams; what it complains of is thrown away. */
static bool child_start(const char *const *words, int input, int output, pid_t *child)
{
    char *arguments[WORDS_MAXIMUM] = {NULL};
    for (int i = 0; i < WORDS_MAXIMUM - 1 && words[i] != NULL; i++) {
        memcpy(&arguments[i], &words[i], sizeof arguments[i]); /* posix_spawn does not write to the words */
    }
    char *environment[ENVIRONMENT_MAXIMUM];
    posix_spawn_file_actions_t actions;
    environment_copy(environment);
    if (posix_spawn_file_actions_init(&actions) != 0) {
        return false;
    }
    bool started = posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO) == 0 &&
                   posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO) == 0 &&
                   posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0) == 0 &&
                   posix_spawnp(child, words[0], &actions, NULL, arguments, environment) == 0;
    posix_spawn_file_actions_destroy(&actions);
    return started;
}

enum status_code peer_open(const struct peer_case *peer_case, struct peer *peer, struct status *error)
{
    char batch[NUMBER_BYTES], seq[NUMBER_BYTES], threads[NUMBER_BYTES];
    snprintf(batch, sizeof batch, "%d", peer_case->batch);
    snprintf(seq, sizeof seq, "%d", peer_case->seq);
    snprintf(threads, sizeof threads, "%d", peer_case->threads);
    const char *const words[] = {peer_case->python,
                                 "peers/pytorch/bench_step.py",
                                 "--model",
                                 peer_case->model,
                                 "--precision",
                                 peer_case->precision,
                                 "--device",
                                 peer_case->device,
                                 "--batch",
                                 batch,
                                 "--seq",
                                 seq,
                                 "--threads",
                                 threads,
                                 NULL};
    return peer_start(words, peer, error);
}

enum status_code peer_start(const char *const *words, struct peer *peer, struct status *error)
{
    int to_child[2], from_child[2];
    struct peer opened = {.script = words[1]};
    if (!pipes_open(to_child, from_child)) {
        return status_set(error, STATUS_IO, "no pipe to %s", words[1]);
    }
    bool started = child_start(words, to_child[0], from_child[1], &opened.child);
    close(to_child[0]);
    close(from_child[1]);
    opened.ask = fdopen(to_child[1], "w");
    opened.answers = fdopen(from_child[0], "r");
    enum status_code code = STATUS_OK;
    if (!started) {
        opened.child = 0;
        code = status_set(error, STATUS_UNAVAILABLE, "%s cannot be started; make bench PYTHON=... names one with torch",
                          words[0]);
    } else if (opened.ask == NULL || opened.answers == NULL) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the streams of %s", words[1]);
    } else {
        code = greeting_read(&opened, error);
    }
    if (code != STATUS_OK) {
        peer_close(&opened);
        return code;
    }
    *peer = opened;
    return STATUS_OK;
}

void peer_close(struct peer *peer)
{
    if (peer->ask != NULL) {
        fclose(peer->ask); /* the end of its input ends it */
    }
    if (peer->answers != NULL) {
        fclose(peer->answers);
    }
    if (peer->child > 0) {
        waitpid(peer->child, NULL, 0);
    }
    *peer = (struct peer){0};
}

enum status_code peer_step(struct peer *peer, double *seconds, struct status *error)
{
    struct json *answer = NULL;
    if (fputc('\n', peer->ask) == EOF || fflush(peer->ask) != 0) {
        return status_set(error, STATUS_IO, "%s takes no more questions", peer->script);
    }
    enum status_code code = line_read(peer, &answer, error);
    if (code != STATUS_OK) {
        return code;
    }
    *seconds = json_real_or(json_get(answer, "seconds"), 0);
    json_release(answer);
    return *seconds > 0 ? STATUS_OK : status_set(error, STATUS_IO, "%s answers without a time", peer->script);
}
