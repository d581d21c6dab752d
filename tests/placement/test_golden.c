/* What accelerate itself answered, for thousands of requests over the catalogue and over random modules with odd names,
 * ties and buffers (peers/placement/device_maps.py --golden): the same maps and budgets, by their hash, and the same
 * exceptions. Of every answer, besides, what must hold of any plan. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "models/find/catalogue.h"
#include "tests/placement/request_line.h"

struct subject {
    char name[128];
    struct config config;
    struct skeleton skeleton;
};

static void subject_open(const char *line, struct subject *subject)
{
    char head[8] = "";
    struct status error = {0};
    skeleton_release(&subject->skeleton);
    subject->skeleton = (struct skeleton){0};
    assert_int_equal(sscanf(line, "model %127s %7s", subject->name, head), 2);
    if (config_find("models/catalogue", subject->name, &subject->config, &error) != STATUS_OK ||
        skeleton_build(&subject->config, strcmp(head, "lm") == 0 ? HEAD_LM : HEAD_BARE, &subject->skeleton, &error) !=
            STATUS_OK) {
        fail_msg("%s", error.text);
    }
}

/* A model whose lines follow in the file, up to "end". */
static void toy_open(FILE *file, struct subject *subject)
{
    char line[256] = "";
    struct status error = {0};
    struct skeleton_builder builder = {.skeleton = &subject->skeleton, .config = &subject->config, .error = &error};
    skeleton_release(&subject->skeleton);
    subject->skeleton = (struct skeleton){.config = &subject->config};
    snprintf(subject->name, sizeof subject->name, "a toy");
    while (strcmp(line, "end\n") != 0) {
        assert_non_null(fgets(line, sizeof line, file));
        request_toy_line(line, &builder);
    }
    assert_int_equal(builder.code, STATUS_OK);
}

/* No device holds more than its budget by the planner's own count, and a map covers all but what the plan says it does
 * not. */
static void plan_check(const struct subject *subject, const struct device_plan *plan)
{
    struct arena arena = {0};
    struct device_map_check check;
    for (int i = 0; i < plan->share_count; i++) {
        const struct placement_share *share = &plan->shares[i];
        assert_true(share->budget_bits < 0 || share->placed_bits <= share->budget_bits);
        assert_true(share->minimum_bits < 0 || share->placed_bits == 0);
    }
    assert_int_equal(device_map_check(&plan->map, &subject->skeleton, &arena, &check, NULL), STATUS_OK);
    assert_int_equal(check.uncovered_count, plan->uncovered_count);
    arena_release(&arena);
}

static void request_check(const struct subject *subject, const char *text)
{
    struct request_line line;
    struct device_plan plan;
    struct status error = {0};
    char answer[32], expected[32];
    if (!request_line_read(text, &line)) {
        fail_msg("%s: no request: %s", subject->name, text);
    }
    const char *last = strrchr(text, ' ');
    snprintf(expected, sizeof expected, "%.*s", (int)strcspn(last + 1, "\n"), last + 1);
    if (device_plan_make(&subject->skeleton, &line.request, &plan, &error) == STATUS_OK) {
        snprintf(answer, sizeof answer, "%016" PRIx64, device_plan_hash(&plan));
        plan_check(subject, &plan);
        device_plan_release(&plan);
    } else {
        exception_name(&error, answer);
    }
    if (strcmp(answer, expected) != 0) {
        fail_msg("%s: %s is answered %s %s", subject->name, text, answer, error.text);
    }
}

/* The number of requests in the file. */
static int file_check(const char *path)
{
    static struct subject subject;
    char line[1024];
    int count = 0;
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file) != NULL) {
        if (strncmp(line, "model ", 6) == 0) {
            subject_open(line, &subject);
        } else if (strcmp(line, "toy\n") == 0) {
            toy_open(file, &subject);
        } else {
            request_check(&subject, line);
            count++;
        }
    }
    assert_int_equal(fclose(file), 0);
    skeleton_release(&subject.skeleton);
    subject.skeleton = (struct skeleton){0};
    return count;
}

static void maps_of_models_are_those_of_accelerate(void **state)
{
    (void)state;
    assert_in_range(file_check("tests/placement/golden/device_maps.txt"), 5000, 50000);
}

static void maps_of_odd_modules_are_those_of_accelerate(void **state)
{
    (void)state;
    assert_in_range(file_check("tests/placement/golden/toys.txt"), 1000, 50000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(maps_of_models_are_those_of_accelerate),
        cmocka_unit_test(maps_of_odd_modules_are_those_of_accelerate),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
