/* Faults of a child on the host, with the program itself and real signals: each costs one row, and what comes after it
 * is to the last digit what a clean run measures. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "tests/run/command_scene.h"

/* Long enough to be met while it runs. */
#define VICTIM "  - {model: bert-base-cased, mode: load, for: host"
#define REST   SCENE_REST(", for: host, device: host")

static const char VICTIM_ID[] = "bert-base-cased/load/float32";

static const struct {
    const char *cases;
    int signal; /* sent to the first child; 0: none */
    const char *status;
} FAULTS[] = {
    {VICTIM ", device: 'host:mem=1MiB'}\n" REST, 0, "oom"},
    {VICTIM ", device: host}\n" REST, SIGSEGV, "error"},
    {VICTIM ", device: host}\n" REST, SIGKILL, NULL}, /* error, or oom where the kernel does not count its own kills */
    {VICTIM ", device: host, timeout_seconds: 2}\n" REST, SIGSTOP, "timeout"},
};

static void what_follows_a_fault_is_what_a_clean_run_measures(void **state)
{
    struct command_scene *scene = *state;
    const char *clean_out = scene_path(scene, "clean");
    struct run_words words = run_words_of(scene_suite(scene, "clean.yaml", REST), "auto", clean_out, NULL, NULL);
    assert_int_equal(run_do(scene, &words), 0);
    struct record_file clean = records_of(clean_out);
    for (size_t i = 0; i < sizeof FAULTS / sizeof FAULTS[0]; i++) {
        char name[32], suite[32];
        snprintf(name, sizeof name, "fault-%zu", i);
        snprintf(suite, sizeof suite, "fault-%zu.yaml", i);
        const char *out = scene_path(scene, name);
        words = run_words_of(scene_suite(scene, suite, FAULTS[i].cases), "auto", out, NULL, NULL);
        pid_t run = run_start(scene, &words);
        if (FAULTS[i].signal != 0) {
            run_line_wait(out);
            assert_int_equal(kill(run_child(run), FAULTS[i].signal), 0);
        }
        assert_int_equal(run_wait(run), 3);
        struct record_file records = records_of(out);
        const char *status = json_string_or(json_get(case_of(&records, VICTIM_ID), "status"), "");
        if (FAULTS[i].status != NULL) {
            assert_string_equal(status, FAULTS[i].status);
        } else {
            assert_true(strcmp(status, "error") == 0 || strcmp(status, "oom") == 0);
        }
        for (int k = 0; k < SCENE_REST_COUNT; k++) {
            same_case_check(case_of(&clean, scene_rest_ids[k]), case_of(&records, scene_rest_ids[k]));
        }
        record_file_release(&records);
    }
    record_file_release(&clean);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_follows_a_fault_is_what_a_clean_run_measures, command_scene_open,
                                        command_scene_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
