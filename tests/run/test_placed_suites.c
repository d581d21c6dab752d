/* The suites of placed models that come with the program: what they are predicted to take is there on the devices that
 * they are for, so that nobody's first run ends for want of memory; and they hold what they say. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "harness/case/place_text.h"
#include "tests/run/run_scene.h"
#include "tests/support/command_run.h"

static void suite_measure(struct scene *scene, const char *path)
{
    suite_release(&scene->suite);
    if (suite_read(path, "models/catalogue", &scene->suite, &scene->error) != STATUS_OK) {
        fail_msg("%s", scene->error.text);
    }
    if (measure(scene, "meta") != RUN_PASS) {
        fail_msg("%s: %s", path, scene->result.reason);
    }
}

/* How many cases of our own plan stand where accelerate's own map would run out of memory. */
static int rescued_count(const struct scene *scene)
{
    int count = 0;
    for (int i = 0; i < scene->result.total; i++) {
        const struct json *runs = json_get(json_get(case_at(scene, i), "placement"), "accelerate_runs");
        count += json_kind(runs) == JSON_KIND_BOOLEAN && !json_boolean_or(runs, true);
    }
    return count;
}

static bool has_place(const struct json *line, const char *name)
{
    const struct json *places = json_get(line, "places");
    bool found = false;
    for (size_t i = 0; i < json_count(places); i++) {
        const struct json *place = json_at(places, i);
        found = found || (strcmp(text_at(place, "place"), name) == 0 && integer_at(place, "placed_bytes") > 0);
    }
    return found;
}

static void placement_runs_and_rescues(void **state)
{
    struct scene *scene = *state;
    suite_measure(scene, "suites/placement.yaml");
    assert_true(rescued_count(scene) >= 3);
    suite_measure(scene, "suites/placement-gpu.yaml");
    assert_true(rescued_count(scene) >= 3);
}

static void offload_keeps_weights_on_host_and_disk(void **state)
{
    struct scene *scene = *state;
    static const char *const paths[] = {"suites/offload.yaml", "suites/offload-gpu.yaml"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        suite_measure(scene, paths[i]);
        int all_three = 0;
        for (int k = 0; k < scene->result.total; k++) {
            const struct json *line = case_at(scene, k);
            assert_true(has_place(line, "cpu") || has_place(line, "disk"));
            all_three += has_place(line, "0") && has_place(line, "cpu") && has_place(line, "disk");
        }
        assert_true(all_three >= 2);
    }
}

/* assay plan says of the main place what is then found there. */
static void a_plan_says_what_is_found(void **state)
{
    struct scene *scene = *state;
    const char *const words[] = {program_path(), "plan", "suites/offload.yaml", "--json", NULL};
    struct command_result result = command_run(words, NULL);
    struct json *document = NULL;
    assert_int_equal(result.exit_code, 0);
    assert_int_equal(
        json_parse_text("plan", text_string(&result.output), result.output.length, &document, &scene->error),
        STATUS_OK);
    suite_measure(scene, "suites/offload.yaml");
    const struct json *cases = json_get(document, "cases");
    assert_int_equal(json_count(cases), scene->result.total);
    for (int i = 0; i < scene->result.total; i++) {
        const struct json *planned = json_get(json_get(json_at(cases, (size_t)i), "estimates"), "replay");
        assert_string_equal(text_at(json_at(cases, (size_t)i), "id"), text_at(case_at(scene, i), "id"));
        assert_int_equal(integer_at(planned, "allocated_bytes_peak"),
                         integer_at(case_at(scene, i), "allocated_bytes_peak"));
        assert_int_equal(integer_at(planned, "reserved_bytes_peak"),
                         integer_at(case_at(scene, i), "reserved_bytes_peak"));
    }
    json_release(document);
    command_result_release(&result);
}

/* What the budgets of one GPU of a tier leave for its context. */
static void budgets_are_those_of_their_tier(void **state)
{
    struct scene *scene = *state;
    static const char *const paths[] = {"suites/placement-gpu.yaml", "suites/offload-gpu.yaml"};
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        suite_release(&scene->suite);
        assert_int_equal(suite_read(paths[i], "models/catalogue", &scene->suite, &scene->error), STATUS_OK);
        for (int k = 0; k < scene->suite.case_count; k++) {
            const struct suite_case *case_ = &scene->suite.cases[k];
            const char *tag = case_->settings->tags[case_->settings->tag_count - 1];
            bool is_large = strstr(tag, "large") != NULL;
            struct place_text text;
            assert_int_equal(place_text_parse(case_->identity.workload.place, &text, NULL), STATUS_OK);
            int gpus = 0;
            for (int b = 0; b < text.budget_count; b++) {
                bool is_gpu = text.budgets[b].name[0] >= '0' && text.budgets[b].name[0] <= '9';
                gpus += is_gpu;
                assert_true(!is_gpu ||
                            text.budgets[b].bytes <= (is_large ? INT64_C(78000000000) : INT64_C(23000000000)));
            }
            assert_int_equal(gpus > 1, strncmp(tag, "two-gpu", 7) == 0);
        }
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, scene_open, scene_close)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(placement_runs_and_rescues),
        TEST(offload_keeps_weights_on_host_and_disk),
        TEST(a_plan_says_what_is_found),
        TEST(budgets_are_those_of_their_tier),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
