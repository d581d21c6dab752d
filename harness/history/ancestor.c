/* Ancestor: git is asked once for the line of first parents, and the runs of the history are looked for in it. */
#include "harness/history/ancestor.h"

#include <errno.h>
#include <string.h>

#include "harness/base/program_run.h"

enum { GIT_SECONDS = 60, GIT_BYTES_MAXIMUM = 16 << 20, ABBREVIATION_LEAST = 4 };

static const char dirty_mark[] = "-dirty";

static bool revision_is_dirty(const char *revision)
{
    const size_t length = strlen(revision), mark = sizeof dirty_mark - 1;
    return length >= mark && strcmp(revision + length - mark, dirty_mark) == 0;
}

static bool is_hexadecimal(const char *text)
{
    const size_t length = strlen(text);
    return length >= ABBREVIATION_LEAST && strspn(text, "0123456789abcdef") == length;
}

const char *revision_commit(struct arena *arena, const char *revision)
{
    static const char allowed[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._/+-";
    if (revision == NULL || revision[0] == '\0' || revision[0] == '-' ||
        strspn(revision, allowed) != strlen(revision) || strstr(revision, "..") != NULL) {
        return NULL;
    }
    char *commit = arena_copy(arena, revision);
    if (commit == NULL) {
        return NULL;
    }
    if (revision_is_dirty(commit)) {
        commit[strlen(commit) - (sizeof dirty_mark - 1)] = '\0';
    }
    const char *described = strrchr(commit, '-');
    if (described != NULL && described[1] == 'g' && is_hexadecimal(described + 2)) {
        return described + 2;
    }
    return commit[0] != '\0' ? commit : NULL;
}

/* ---- git ---- */

static const char *why(struct arena *arena, const char *words)
{
    const char *kept = words != NULL ? arena_copy(arena, words) : NULL;
    return kept != NULL ? kept : "there is no memory to say why";
}

/* What git says; why_not is set if it says nothing. */
static struct text git_ask(const char *const *words, struct arena *arena, const char **why_not)
{
    const struct program_request request = {
        .words = words, .timeout_seconds = GIT_SECONDS, .own_group = true, .output_bytes_maximum = GIT_BYTES_MAXIMUM};
    struct program_outcome outcome;
    program_run(&request, &outcome);
    *why_not = NULL;
    if (outcome.end == PROGRAM_NOT_STARTED) {
        *why_not = outcome.number == ENOENT ? "git is not installed, and only it knows which commit came before which"
                                            : "git cannot be started";
    } else if (outcome.end != PROGRAM_EXITED) {
        *why_not = "git did not come to an end";
    } else if (outcome.number != 0 || outcome.output.failed) {
        const char *end = memchr(outcome.complaint, '\n', outcome.complaint_length);
        *why_not = arena_format(arena, "git says: %.*s",
                                (int)(end != NULL ? (size_t)(end - outcome.complaint) : outcome.complaint_length),
                                outcome.complaint);
        *why_not = *why_not != NULL ? *why_not : why(arena, NULL);
    }
    return outcome.output;
}

static bool clone_is_shallow(const char *folder, struct arena *arena)
{
    const char *const words[] = {"git", "-C", folder, "rev-parse", "--is-shallow-repository", NULL};
    const char *why_not = NULL;
    struct text answer = git_ask(words, arena, &why_not);
    const bool is_shallow = why_not == NULL && strncmp(text_string(&answer), "true", 4) == 0;
    text_release(&answer);
    return is_shallow;
}

/* The commit and its first parents, one a line: the hash and what git calls it besides, "tag: v0.2.0, main". */
static struct text parents_ask(const char *folder, const char *commit, struct arena *arena, const char **why_not)
{
    const char *count = arena_format(arena, "--max-count=%d", ANCESTORS_MAXIMUM);
    const char *const words[] = {"git",  "-C", folder, "rev-list", "--first-parent", count, "--format=%H %D",
                                 commit, "--", NULL};
    if (count == NULL) {
        *why_not = why(arena, NULL);
        return (struct text){0};
    }
    return git_ask(words, arena, why_not);
}

/* ---- the runs ---- */

/* Whether a line "HASH DECORATIONS" of git is of this commit: an abbreviated hash, or a tag. */
static bool line_is_of(const char *line, size_t length, const char *commit)
{
    const size_t hash = strcspn(line, " \n"), wanted = strlen(commit);
    if (is_hexadecimal(commit) && wanted <= hash && strncmp(line, commit, wanted) == 0) {
        return true;
    }
    static const char tag[] = "tag: ";
    for (const char *at = line + hash; (at = strstr(at, tag)) != NULL && at < line + length;) {
        at += sizeof tag - 1;
        if (strncmp(at, commit, wanted) == 0 && strchr(",\n", at[wanted]) != NULL) {
            return true;
        }
    }
    return false;
}

/* Commits of the runs, NULL for those of none; NULL: no memory. */
static const char **commits_list(const struct history_runs *runs, struct arena *arena)
{
    const char **commits = arena_alloc(arena, (size_t)runs->count * sizeof *commits);
    for (int at = 0; commits != NULL && at < runs->count; at++) {
        const struct history_run *run = &runs->runs[at];
        const char *revision = run->environment[ENVIRONMENT_REVISION];
        bool is_one = run->ended && run->absent_count == 0 && revision != NULL && !revision_is_dirty(revision);
        commits[at] = is_one ? revision_commit(arena, revision) : NULL;
    }
    return commits;
}

/* The nearest line that has a run; runs are the newest first. */
static bool lines_search(const char *lines, const struct history_runs *runs, const char *const *commits,
                         struct ancestor *ancestor, int *line_count)
{
    *line_count = 0;
    for (const char *line = lines; *line != '\0';) {
        const size_t length = strcspn(line, "\n");
        if (strncmp(line, "commit ", 7) != 0) { /* git's own heading of each */
            for (int at = 0; at < runs->count; at++) {
                if (commits[at] != NULL && line_is_of(line, length, commits[at])) {
                    ancestor->found = true;
                    ancestor->run = runs->runs[at];
                    ancestor->distance = *line_count;
                    return true;
                }
            }
            ++*line_count;
        }
        line += length + (line[length] == '\n' ? 1 : 0);
    }
    return false;
}

static const char *none_words(const char *commit, int count, bool is_shallow, struct arena *arena)
{
    const char *words = arena_format(
        arena, "the history has no run of %s or of the %d commits before it%s", commit, count > 0 ? count - 1 : 0,
        is_shallow ? "; this clone is shallow, and `git fetch --unshallow` gets the older ones" : "");
    return words != NULL ? words : why(arena, NULL);
}

enum status_code history_ancestor(struct history *history, const struct history_filter *filter, const char *folder,
                                  const char *revision, struct arena *arena, struct ancestor *ancestor,
                                  struct status *error)
{
    struct history_runs runs;
    int count = 0;
    *ancestor = (struct ancestor){0};
    enum status_code code = history_runs_list(history, filter, arena, &runs, error);
    if (code != STATUS_OK) {
        return code;
    }
    const char *commit = revision_commit(arena, revision), **commits = commits_list(&runs, arena);
    if (commits == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the runs of the history");
    }
    if (commit == NULL) {
        ancestor->why_not = "the records do not say of which revision they are: assay was built outside of a checkout";
        return STATUS_OK;
    }
    struct text lines = parents_ask(folder, commit, arena, &ancestor->why_not);
    if (ancestor->why_not != NULL) {
        const char *words = arena_format(arena,
                                         "%s; an ancestor is looked for among the commits of assay itself, which was "
                                         "built at %s: call this in its repository, or take latest or run:ID",
                                         ancestor->why_not, commit);
        ancestor->why_not = words != NULL ? words : ancestor->why_not;
    }
    if (ancestor->why_not == NULL && !lines_search(text_string(&lines), &runs, commits, ancestor, &count)) {
        ancestor->why_not = none_words(commit, count, clone_is_shallow(folder, arena), arena);
    }
    text_release(&lines);
    return STATUS_OK;
}
