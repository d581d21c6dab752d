/* Gate fixture: sides in memory, policies in a file that goes again. */
#include "tests/gate/gate_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/gate/gate_words.h"

static const int64_t mib = 1024 * 1024;

void side_make(struct side *side)
{
    static const int64_t more_mib[LEVEL_COUNT] = {0, 1, 3, 500, 510};
    *side = (struct side){0};
    for (int number = 0; number < SIDE_CASES; number++) {
        snprintf(side->ids[number], sizeof side->ids[number], "case-%d", number);
        snprintf(side->labels[number], sizeof side->labels[number], "case %d", number);
        side->cases[number] = (struct case_figures){.id = side->ids[number],
                                                    .label = side->labels[number],
                                                    .status = "ok",
                                                    .reason = "",
                                                    .machine = "cuda|NVIDIA H200|sm_90|0",
                                                    .tags = number % 2 == 0 ? "even\nnightly" : "odd",
                                                    .disturbance = "",
                                                    .suite_line = 10 + number,
                                                    .made_count = 1,
                                                    .wanted_count = 1};
        for (int level = 0; level < LEVEL_COUNT; level++) {
            side->cases[number].measured.of[level] = ((number + 1) * 100 + more_mib[level]) * mib;
            side->cases[number].predicted.of[level] = FIGURE_BYTES_UNKNOWN;
            side->cases[number].spread.of[level] = FIGURE_BYTES_UNKNOWN;
        }
    }
    side->figures = (struct run_figures){.source = "night",
                                         .run_id = "1",
                                         .started = "2026-11-20T02:00:00Z",
                                         .suite_path = "suites/night.yaml",
                                         .cases = side->cases,
                                         .case_count = SIDE_CASES,
                                         .absent = side->absent,
                                         .ended = true,
                                         .notes = ""};
    side->figures.environment[ENVIRONMENT_DEVICE] = "cuda (NVIDIA H200)";
    side->figures.environment[ENVIRONMENT_TARGET] = "sm_90";
    side->figures.environment[ENVIRONMENT_DRIVER] = "570";
    side->figures.environment[ENVIRONMENT_PLAN_HASH] = "8d5a";
}

void side_remove(struct side *side, int number)
{
    for (int at = number; at + 1 < side->figures.case_count; at++) {
        side->cases[at] = side->cases[at + 1];
    }
    side->figures.case_count--;
}

struct gate gate_of(const struct side *now, const struct side *base, const struct gate_policy *policy, unsigned allowed)
{
    static const struct gate_policy built_in = {.path = NULL};
    const struct gate_options options = {.policy = policy != NULL ? policy : &built_in,
                                         .allowed = allowed,
                                         .baseline = base != NULL ? &base->figures : NULL};
    struct gate gate;
    struct status error = {0};
    if (gate_make(&now->figures, &options, &gate, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return gate;
}

const struct gate_case *gate_case_of(const struct gate *gate, const char *id)
{
    for (int i = 0; i < gate->case_count; i++) {
        if (strcmp(gate->cases[i].id, id) == 0) {
            return &gate->cases[i];
        }
    }
    fail_msg("the gate has no case %s", id);
    return NULL;
}

static enum status_code policy_try(const char *text, size_t length, struct gate_policy *policy, struct status *error)
{
    char folder[] = "/tmp/assay-policy-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/policy.yaml", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
    enum status_code code = gate_policy_read(path, policy, error);
    unlink(path);
    rmdir(folder);
    return code;
}

struct gate_policy policy_of(const char *text)
{
    struct gate_policy policy;
    struct status error = {0};
    if (policy_try(text, strlen(text), &policy, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return policy;
}

const char *policy_error(const char *text, size_t length)
{
    static char line[STATUS_LINE_BYTES];
    struct gate_policy policy;
    struct status error = {0};
    const enum status_code code = policy_try(text, length, &policy, &error);
    gate_policy_release(&policy);
    if (code == STATUS_OK) {
        fail_msg("nothing is wrong with this policy:\n%.400s", text);
    }
    assert_int_equal(code, STATUS_INVALID);
    status_line(&error, line);
    const char *name = strstr(line, "policy.yaml");
    return name != NULL ? name : line;
}

const char *words_of(const struct gate *gate, const char *id)
{
    static char words[1024];
    struct text text = {0};
    gate_case_append(&text, gate, gate_case_of(gate, id));
    snprintf(words, sizeof words, "%s", text_string(&text));
    text_release(&text);
    return words;
}
