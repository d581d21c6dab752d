/* The Job of Kubernetes: read with our reader of YAML, its numbers held against each other, and its shell commands run
 * with a program in assay's place. Where a validator of schemas is on PATH (kubeconform, kubernetes-validate), it says
 * its word, too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/suite/yaml_tree.h"
#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"
#include "tests/support/whole_file.h"

#define JOB_FILE "ci/kubernetes/job.yaml"

enum { CLAIM, SHARDS_JOB, MERGE_JOB, DOCUMENT_COUNT };

struct scene {
    struct scratch_scene scratch; /* must be first */
    struct yaml_tree documents[DOCUMENT_COUNT];
};

/* The documents of the file, each by itself: our reader takes one. */
static void documents_read(struct scene *scene)
{
    static const struct yaml_subject subject = {"job", "split the job"};
    char *content = whole_file_read(JOB_FILE), *at = content;
    for (int i = 0; i < DOCUMENT_COUNT; i++) {
        struct status error = {0};
        char *end = strstr(at, "\n---\n");
        assert_int_equal(end == NULL, i == DOCUMENT_COUNT - 1);
        size_t length = end != NULL ? (size_t)(end - at) + 1 : strlen(at);
        if (yaml_tree_read_text(JOB_FILE, &subject, at, length, &scene->documents[i], &error) != STATUS_OK) {
            fail_msg("%d:%d: %s", error.line, error.column, error.text);
        }
        at = end != NULL ? end + strlen("\n---\n") : at;
    }
    free(content);
}

static int scene_open(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    snprintf(scene->scratch.folder, sizeof scene->scratch.folder, "/tmp/assay-kubernetes-XXXXXX");
    *state = scene;
    if (mkdtemp(scene->scratch.folder) == NULL) {
        return 1;
    }
    documents_read(scene);
    return 0;
}

static int scene_close(void **state)
{
    struct scene *scene = *state;
    int code = scratch_folder_remove(scene->scratch.folder);
    for (int i = 0; i < DOCUMENT_COUNT; i++) {
        yaml_tree_release(&scene->documents[i]);
    }
    free(scene);
    return code;
}

/* "spec.template.spec.containers.0.env": keys, and numbers of items. Fails the running test if it is not there. */
static const struct node *node_at(const struct scene *scene, int document, const char *way)
{
    const struct node *node = scene->documents[document].root;
    for (const char *word = way; node != NULL && *word != '\0';) {
        size_t length = strcspn(word, "."), i = 0;
        const struct node *found = NULL;
        if (node->kind == NODE_LIST) {
            i = strtoul(word, NULL, 10);
            found = i < node->count ? node->children[i] : NULL;
        }
        for (; node->kind == NODE_MAP && i < node->count && found == NULL; i++) {
            const char *key = node->children[2 * i]->text;
            found = strlen(key) == length && strncmp(key, word, length) == 0 ? node->children[2 * i + 1] : NULL;
        }
        node = found;
        word += length + (word[length] == '.' ? 1 : 0);
    }
    if (node == NULL) {
        fail_msg(JOB_FILE ": document %d has no %s", document, way);
    }
    return node;
}

static const char *text_at(const struct scene *scene, int document, const char *way)
{
    const struct node *node = node_at(scene, document, way);
    assert_int_equal(node->kind, NODE_SCALAR);
    return node->text;
}

#define POD "spec.template.spec."

static void its_numbers_agree(void **state)
{
    const struct scene *scene = *state;
    const char *count = text_at(scene, SHARDS_JOB, "spec.completions");
    assert_string_equal(text_at(scene, SHARDS_JOB, "spec.completionMode"), "Indexed");
    assert_string_equal(text_at(scene, SHARDS_JOB, POD "containers.0.env.0.name"), "ASSAY_SHARD_COUNT");
    assert_string_equal(text_at(scene, SHARDS_JOB, POD "containers.0.env.0.value"), count);
    assert_string_equal(text_at(scene, MERGE_JOB, POD "containers.0.env.0.name"), "SHARDS");
    assert_string_equal(text_at(scene, MERGE_JOB, POD "containers.0.env.0.value"), count);
    /* One that failed stops no other. */
    assert_string_equal(text_at(scene, SHARDS_JOB, "spec.maxFailedIndexes"), count);
    assert_string_equal(text_at(scene, SHARDS_JOB, POD "restartPolicy"), "Never"); /* which its policies need */
    const struct node *limits = node_at(scene, SHARDS_JOB, POD "containers.0.resources.limits");
    assert_int_equal(limits->count, 1);
    assert_string_equal(limits->children[0]->text, "nvidia.com/gpu");
    assert_string_equal(limits->children[1]->text, "1");
}

static void all_pods_see_one_claim(void **state)
{
    const struct scene *scene = *state;
    const char *claim = text_at(scene, CLAIM, "metadata.name");
    assert_string_equal(text_at(scene, CLAIM, "spec.accessModes.0"), "ReadWriteMany");
    for (int job = SHARDS_JOB; job <= MERGE_JOB; job++) {
        assert_string_equal(text_at(scene, job, POD "volumes.0.persistentVolumeClaim.claimName"), claim);
        assert_string_equal(text_at(scene, job, POD "containers.0.volumeMounts.0.name"),
                            text_at(scene, job, POD "volumes.0.name"));
        assert_string_equal(text_at(scene, job, POD "containers.0.volumeMounts.0.mountPath"), "/results");
        assert_string_equal(text_at(scene, job, POD "containers.0.image"),
                            text_at(scene, SHARDS_JOB, POD "containers.0.image"));
    }
}

/* After these another try would do no better. After no GPU (4), a busy one (5) and a signal (7) it may. */
static void an_exit_code_of_assay_fails_its_index_alone(void **state)
{
    const struct scene *scene = *state;
    static const char *const codes[] = {"1", "2", "3", "77", "99"};
    const struct node *values = node_at(scene, SHARDS_JOB, "spec.podFailurePolicy.rules.1.onExitCodes.values");
    assert_string_equal(text_at(scene, SHARDS_JOB, "spec.podFailurePolicy.rules.1.action"), "FailIndex");
    assert_string_equal(text_at(scene, SHARDS_JOB, "spec.podFailurePolicy.rules.1.onExitCodes.containerName"),
                        text_at(scene, SHARDS_JOB, POD "containers.0.name"));
    assert_int_equal(values->count, sizeof codes / sizeof codes[0]);
    for (size_t i = 0; i < values->count; i++) {
        assert_string_equal(values->children[i]->text, codes[i]);
    }
}

/* The first rule that fits is taken, so that of evictions must come before the codes. */
static void a_pod_that_was_evicted_is_started_again(void **state)
{
    const struct scene *scene = *state;
    assert_string_equal(text_at(scene, SHARDS_JOB, "spec.podFailurePolicy.rules.0.action"), "Ignore");
    assert_string_equal(text_at(scene, SHARDS_JOB, "spec.podFailurePolicy.rules.0.onPodConditions.0.type"),
                        "DisruptionTarget");
    assert_string_equal(text_at(scene, SHARDS_JOB, "spec.podFailurePolicy.rules.0.onPodConditions.0.status"), "True");
}

/* A name that no object can have until it is replaced, as Kubernetes says of one in capitals. */
static void a_run_has_jobs_and_a_folder_of_its_own(void **state)
{
    const struct scene *scene = *state;
    assert_string_equal(text_at(scene, SHARDS_JOB, "metadata.name"), "assay-shards-RUN_NAME");
    assert_string_equal(text_at(scene, MERGE_JOB, "metadata.name"), "assay-merge-RUN_NAME");
    for (int job = SHARDS_JOB; job <= MERGE_JOB; job++) {
        assert_string_equal(text_at(scene, job, POD "containers.0.env.1.name"), "RUN");
        assert_string_equal(text_at(scene, job, POD "containers.0.env.1.value"), "RUN_NAME");
    }
}

/* What assay is told in a pod. */
static void command_check(const struct scene *scene, int document, const char *setting, int exit_code,
                          const char *expected)
{
    char path[128];
    snprintf(path, sizeof path, "PATH=%s:/usr/bin:/bin", scene->scratch.folder);
    const char *const environment[] = {path, setting, "RUN=tonight", "SHARDS=0", NULL};
    assert_string_equal(text_at(scene, document, POD "containers.0.command.0"), "sh");
    assert_string_equal(text_at(scene, document, POD "containers.0.command.1"), "-c");
    const char *const words[] = {"sh", "-c", text_at(scene, document, POD "containers.0.args.0"), NULL};
    script_write(scene->scratch.folder, "assay",
                 "echo \"$*\"\n[ \"$1\" != merge ] || exit ${MERGE:-0}\n"
                 "[ \"$1\" != gate ] || exit 1\n");
    struct command_result result = command_run(words, environment);
    assert_string_equal(text_string(&result.output), expected);
    assert_int_equal(result.exit_code, exit_code);
    command_result_release(&result);
}

static void pods_count_from_0_and_shards_from_1(void **state)
{
    command_check(*state, SHARDS_JOB, "JOB_COMPLETION_INDEX=3", 0,
                  "run suites/quick.yaml --device cuda:0 --need-gpu --shard auto --night tonight --out "
                  "/results/tonight/shards/4 --resume --records-only\n");
}

#define MERGES "merge /results/tonight/shards --out /results/tonight/all\n"
#define GATES  "gate /results/tonight/all --baseline median:7 --history /results/history.db --import\n"

/* The gate judges what was merged. If nothing was, the pod ends with the code of the merge. */
static void what_was_merged_is_gated(void **state)
{
    static const char *const judged[] = {"MERGE=0", "MERGE=1", "MERGE=3", "MERGE=7"};
    for (size_t i = 0; i < sizeof judged / sizeof judged[0]; i++) {
        command_check(*state, MERGE_JOB, judged[i], 1, MERGES GATES);
    }
    command_check(*state, MERGE_JOB, "MERGE=2", 2, MERGES);
    command_check(*state, MERGE_JOB, "MERGE=77", 77, MERGES);
    command_check(*state, MERGE_JOB, "MERGE=99", 99, MERGES);
}

/* The options are those that there are; meta stands for a GPU. */
static void assay_takes_the_words_of_a_pod(void **state)
{
    const struct scene *scene = *state;
    const char *const environment[] = {"JOB_COMPLETION_INDEX=3", "ASSAY_SHARD_COUNT=4", NULL};
    char out[128];
    snprintf(out, sizeof out, "%s/4", scene->scratch.folder);
    const char *const run[] = {
        program_path(), "run",     "suites/quick.yaml", "--device", "meta", "--filter", "tiny-*",         "--shard",
        "auto",         "--night", "tonight",           "--out",    out,    "--resume", "--records-only", NULL};
    struct command_result result = command_run(run, environment);
    if (result.exit_code != 0) {
        fail_msg("%s", text_string(&result.error));
    }
    command_result_release(&result);
    const char *const need[] = {program_path(), "run", "--help", NULL};
    result = command_run(need, NULL);
    command_says(&result.output, "--need-gpu");
    command_result_release(&result);
}

static void its_schema_holds(void **state)
{
    static const char *const validators[][4] = {{"kubeconform", "-strict", JOB_FILE, NULL},
                                                {"kubernetes-validate", "--strict", JOB_FILE, NULL}};
    (void)state;
    for (size_t i = 0; i < sizeof validators / sizeof validators[0]; i++) {
        const char *const which[] = {"sh", "-c", "command -v \"$1\" || exit 1", "sh", validators[i][0], NULL};
        struct command_result found = command_run(which, NULL);
        bool is_there = found.exit_code == 0;
        command_result_release(&found);
        if (is_there) {
            struct command_result result = command_run(validators[i], NULL);
            if (result.exit_code != 0) {
                fail_msg("%s%s", text_string(&result.output), text_string(&result.error));
            }
            command_result_release(&result);
            return;
        }
    }
    print_message("neither kubeconform nor kubernetes-validate is on PATH\n");
    skip();
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(its_numbers_agree),
        TEST(all_pods_see_one_claim),
        TEST(an_exit_code_of_assay_fails_its_index_alone),
        TEST(a_pod_that_was_evicted_is_started_again),
        TEST(a_run_has_jobs_and_a_folder_of_its_own),
        TEST(pods_count_from_0_and_shards_from_1),
        TEST(what_was_merged_is_gated),
        TEST(assay_takes_the_words_of_a_pod),
        TEST(its_schema_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
