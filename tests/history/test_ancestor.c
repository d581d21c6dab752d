/* The nearest ancestor that was measured, asked of a real git repository in a folder of the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/history/ancestor.h"
#include "tests/history/history_fixture.h"
#include "tests/support/command_run.h"

static const char *const settings[] = {"GIT_CONFIG_GLOBAL=/dev/null",
                                       "GIT_CONFIG_SYSTEM=/dev/null",
                                       "GIT_AUTHOR_NAME=somebody",
                                       "GIT_AUTHOR_EMAIL=somebody@example.org",
                                       "GIT_COMMITTER_NAME=somebody",
                                       "GIT_COMMITTER_EMAIL=somebody@example.org",
                                       "GIT_AUTHOR_DATE=2026-11-20T02:00Z",
                                       "GIT_COMMITTER_DATE=2026-11-20T02:00Z",
                                       NULL};

/* What a command of git prints, without its newline. */
static char *git(const char *folder, const char *const *words)
{
    const char *all[16] = {"git", "-C", folder};
    for (int at = 0; words[at] != NULL; at++) {
        all[3 + at] = words[at];
    }
    struct command_result result = command_run(all, settings);
    if (result.exit_code != 0) {
        fail_msg("git %s: %s", words[0], text_string(&result.error));
    }
    char *said = strdup(text_string(&result.output));
    assert_non_null(said);
    said[strcspn(said, "\n")] = '\0';
    command_result_release(&result);
    return said;
}

static void git_do(const char *folder, const char *const *words)
{
    free(git(folder, words));
}

/* Makes a commit on what is checked out; the abbreviated hash, to be freed. */
static char *commit_make(const char *folder, const char *message)
{
    git_do(folder, (const char *const[]){"commit", "-q", "--allow-empty", "-m", message, NULL});
    return git(folder, (const char *const[]){"rev-parse", "--short", "HEAD", NULL});
}

struct git_scene {
    struct history_scene *scene;
    char repository[SCENE_PATH_BYTES];
    char *commits[4]; /* of the main line, one after the other; the second has the tag v0.2.0 */
    char *branched;   /* behind the third, on a branch */
    char *merged;     /* the branch, merged into the fourth */
    struct history *history;
    struct arena arena;
};

static int git_scene_open(void **state)
{
    struct git_scene *all = calloc(1, sizeof *all);
    void *scene = NULL;
    command_needed("git");
    if (all == NULL || history_scene_open(&scene) != 0) {
        return -1;
    }
    all->scene = scene;
    snprintf(all->repository, sizeof all->repository, "%s/repository", all->scene->folder);
    mkdir(all->repository, 0777);
    git_do(all->repository, (const char *const[]){"init", "-q", "-b", "main", NULL});
    for (int at = 0; at < 4; at++) {
        char message[8];
        snprintf(message, sizeof message, "%d", at);
        all->commits[at] = commit_make(all->repository, message);
        if (at == 1) {
            git_do(all->repository, (const char *const[]){"tag", "v0.2.0", NULL});
        }
        if (at == 2) {
            git_do(all->repository, (const char *const[]){"branch", "aside", NULL});
        }
    }
    git_do(all->repository, (const char *const[]){"checkout", "-q", "aside", NULL});
    all->branched = commit_make(all->repository, "aside");
    git_do(all->repository, (const char *const[]){"checkout", "-q", "main", NULL});
    git_do(all->repository, (const char *const[]){"merge", "-q", "--no-ff", "-m", "both", "aside", NULL});
    all->merged = git(all->repository, (const char *const[]){"rev-parse", "HEAD", NULL});
    all->history = history_opened(all->scene);
    *state = all;
    return 0;
}

static int git_scene_close(void **state)
{
    struct git_scene *all = *state;
    void *scene = all->scene;
    for (int at = 0; at < 4; at++) {
        free(all->commits[at]);
    }
    free(all->branched);
    free(all->merged);
    history_close(all->history);
    arena_release(&all->arena);
    free(all);
    return history_scene_close(&scene);
}

/* A run of a revision, in the history. */
static void measured(struct git_scene *all, const char *run_id, const char *revision, const char *started)
{
    remove(all->scene->records);
    night_append(all->scene->records,
                 &(struct night_facts){.run_id = run_id, .revision = revision, .started = started});
    records_imported(all->history, all->scene->records);
}

static struct ancestor asked(struct git_scene *all, const char *folder, const char *revision)
{
    const struct history_filter filter = {.suite = "nightly"};
    struct ancestor ancestor;
    if (history_ancestor(all->history, &filter, folder, revision, &all->arena, &ancestor, &all->scene->error) !=
        STATUS_OK) {
        fail_msg("%s", all->scene->error.text);
    }
    return ancestor;
}

static void expect_found(struct git_scene *all, const char *revision, const char *run_id, int distance)
{
    const struct ancestor ancestor = asked(all, all->repository, revision);
    if (!ancestor.found) {
        fail_msg("%s: %s", revision, ancestor.why_not);
    }
    assert_string_equal(ancestor.run.run_id, run_id);
    assert_int_equal(ancestor.distance, distance);
}

static void expect_none(struct git_scene *all, const char *folder, const char *revision, const char *words)
{
    const struct ancestor ancestor = asked(all, folder, revision);
    assert_false(ancestor.found);
    if (strstr(ancestor.why_not, words) == NULL) {
        fail_msg("'%s' does not say '%s'", ancestor.why_not, words);
    }
}

static void the_nearest_first_parent_that_was_measured(void **state)
{
    struct git_scene *all = *state;
    char described[64], dirty[64];
    measured(all, "of-first", all->commits[0], "2026-11-20T02:00:00Z");
    expect_found(all, all->commits[3], "of-first", 3);
    expect_found(all, all->branched, "of-first", 3);
    measured(all, "of-branch", all->branched, "2026-11-21T02:00:00Z");
    expect_found(all, all->merged, "of-first", 4); /* what came in from the side is no line of parents */
    expect_found(all, all->branched, "of-branch", 0);
    snprintf(described, sizeof described, "v0.2.0-1-g%s", all->commits[2]);
    measured(all, "of-third", described, "2026-11-22T02:00:00Z");
    expect_found(all, all->commits[3], "of-third", 1);
    snprintf(dirty, sizeof dirty, "%s-dirty", all->commits[3]);
    measured(all, "of-changes", dirty, "2026-11-23T02:00:00Z");
    expect_found(all, dirty, "of-third", 1); /* changes that nobody committed are nobody's parent */
    measured(all, "of-third-again", all->commits[2], "2026-11-24T02:00:00Z");
    expect_found(all, all->merged, "of-third-again", 2); /* the newest of a commit */
}

/* Against such a run all that it lacks is new, and passes. */
static void a_run_that_was_cut_short_is_no_ancestor(void **state)
{
    struct git_scene *all = *state;
    measured(all, "of-first", all->commits[0], "2026-11-20T02:00:00Z");
    const struct night_facts short_ones[] = {
        {.run_id = "killed", .revision = all->commits[2], .started = "2026-11-21T02:00:00Z", .killed = true},
        {.run_id = "lacking", .revision = all->commits[1], .started = "2026-11-22T02:00:00Z", .selected = 5}};
    for (int at = 0; at < 2; at++) {
        remove(all->scene->records);
        night_append(all->scene->records, &short_ones[at]);
        records_imported(all->history, all->scene->records);
    }
    expect_found(all, all->commits[3], "of-first", 3);
}

static void a_tag_is_a_revision(void **state)
{
    struct git_scene *all = *state;
    measured(all, "of-tag", "v0.2.0", "2026-11-20T02:00:00Z");
    expect_found(all, all->commits[3], "of-tag", 2);
    expect_found(all, "v0.2.0", "of-tag", 0);
    expect_none(all, all->repository, all->commits[0], "has no run of");
}

static void without_git_or_a_commit_it_says_why(void **state)
{
    struct git_scene *all = *state;
    char *path = strdup(getenv("PATH"));
    measured(all, "of-first", all->commits[0], "2026-11-20T02:00:00Z");
    expect_none(all, all->scene->folder, all->commits[3], "git says: fatal: not a git repository");
    expect_none(
        all, all->repository, "abcdef0123",
        "git says: fatal: bad revision 'abcdef0123'; an "
        "ancestor is looked for among the commits of assay itself, which was built at abcdef0123: call this in");
    expect_none(all, all->repository, NULL, "do not say of which revision they are");
    expect_none(all, all->repository, "--output=/tmp/harm", "do not say of which revision they are");
    expect_none(all, all->repository, "a b", "do not say of which revision they are");
    setenv("PATH", "/nonexistent", 1);
    expect_none(all, all->repository, all->commits[3], "git is not installed");
    setenv("PATH", path, 1);
    free(path);
}

static void a_shallow_clone_is_named(void **state)
{
    struct git_scene *all = *state;
    char address[SCENE_PATH_BYTES + 8], shallow[SCENE_PATH_BYTES];
    measured(all, "of-first", all->commits[0], "2026-11-20T02:00:00Z");
    snprintf(address, sizeof address, "file://%s", all->repository);
    snprintf(shallow, sizeof shallow, "%s/shallow", all->scene->folder);
    git_do(all->scene->folder, (const char *const[]){"clone", "-q", "--depth", "2", address, shallow, NULL});
    expect_none(all, shallow, all->merged,
                "or of the 1 commits before it; this clone is shallow, and `git fetch "
                "--unshallow` gets the older ones");
    git_do(shallow, (const char *const[]){"fetch", "-q", "--unshallow", NULL});
    const struct ancestor ancestor = asked(all, shallow, all->merged);
    assert_true(ancestor.found);
}

static void a_revision_is_taken_apart(void **state)
{
    static const char *const rows[][2] = {{"a35b9e5", "a35b9e5"},
                                          {"a35b9e5-dirty", "a35b9e5"},
                                          {"v0.2.0-3-ga35b9e5", "a35b9e5"},
                                          {"v0.2.0-3-ga35b9e5-dirty", "a35b9e5"},
                                          {"v0.2.0", "v0.2.0"},
                                          {"release-gold", "release-gold"},
                                          {"", NULL},
                                          {"-dirty", NULL},
                                          {"--all", NULL},
                                          {"a..b", NULL},
                                          {"a;b", NULL},
                                          {"HEAD@{1}", NULL}};
    struct arena arena = {0};
    (void)state;
    for (size_t at = 0; at < sizeof rows / sizeof rows[0]; at++) {
        const char *commit = revision_commit(&arena, rows[at][0]);
        if (rows[at][1] == NULL) {
            assert_null(commit);
        } else {
            assert_string_equal(commit, rows[at][1]);
        }
    }
    arena_release(&arena);
}

int main(void)
{
#define GIT_TEST(test) cmocka_unit_test_setup_teardown(test, git_scene_open, git_scene_close)
    const struct CMUnitTest tests[] = {
        GIT_TEST(the_nearest_first_parent_that_was_measured),
        GIT_TEST(a_run_that_was_cut_short_is_no_ancestor),
        GIT_TEST(a_tag_is_a_revision),
        GIT_TEST(without_git_or_a_commit_it_says_why),
        GIT_TEST(a_shallow_clone_is_named),
        cmocka_unit_test(a_revision_is_taken_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
