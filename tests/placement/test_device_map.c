/* Device maps of one's own: cleaning and checking, and names of devices. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/placement/toy_model.h"

enum { ENTRIES_MAXIMUM = 16 };

struct cleaning {
    const char *given, *expected; /* "a.x: 0, b: cpu", sorted in expected */
};

static const struct cleaning cleanings[] = {
    {"a: 0, b: 0, c: 0", "{: 0}"},
    {"a.x: 0, a.y: 0, b.x: 1, b.y: 1, c: 1", "{a: 0, b: 1, c: 1}"},
    {"a.x: 0, a.y: 0, b.x.0: 1, b.x.1: 1, b.y.0: 2, b.y.1: 2, c: 2", "{a: 0, b.x: 1, b.y: 2, c: 2}"},
    {"a.x: 0, b: 1", "{a.x: 0, b: 1}"},                       /* one key is kept as it is */
    {"a.x: 0, ab.x: 0, a.y: 1", "{a.x: 0, a.y: 1, ab.x: 0}"}, /* "a" is no prefix of "ab.x" */
    {"a.x.0: cpu, a.x.1: cpu, a.y: disk, 1: 0, 11: 0, b: disk", "{1: 0, 11: 0, a.x: cpu, a.y: disk, b: disk}"},
    {"a: 0", "{a: 0}"},
    {"a-b.x: 0, a.x: 1, a-b.y: 0, a.y: 1", "{a: 1, a-b: 0}"},
};

static void map_read(const char *text, char *buffer, struct device_map *map)
{
    char *rest = buffer;
    snprintf(buffer, 256, "%s", text);
    map->count = 0;
    while (rest != NULL) {
        char *path = strsep(&rest, ","), *device;
        path += strspn(path, " ");
        device = strstr(path, ": ");
        assert_non_null(device);
        *device = '\0';
        map->entries[map->count].path = path;
        assert_true(placement_device_from_name(device + 2, &map->entries[map->count++].device));
    }
}

static void keys_of_one_device_become_their_prefix(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof cleanings / sizeof cleanings[0]; i++) {
        struct device_map_entry entries[ENTRIES_MAXIMUM];
        struct device_map map = {.entries = entries};
        struct arena arena = {0};
        struct text text = {0};
        char buffer[256];
        map_read(cleanings[i].given, buffer, &map);
        assert_int_equal(device_map_clean(&map, &arena, NULL), STATUS_OK);
        toy_map_text(&map, &text);
        assert_string_equal(text_string(&text), cleanings[i].expected);
        text_release(&text);
        arena_release(&arena);
    }
}

static void check_as(const char *given, int unknown, int uncovered)
{
    struct device_map_entry entries[ENTRIES_MAXIMUM];
    struct device_map map = {.entries = entries};
    struct device_map_check check;
    struct toy_model toy;
    struct arena arena = {0};
    char buffer[256];
    toy_begin(&toy, "ModelForTest");
    toy_model_for_test(&toy, 0, "");
    toy_end(&toy);
    map_read(given, buffer, &map);
    assert_int_equal(device_map_check(&map, &toy.skeleton, &arena, &check, NULL), STATUS_OK);
    assert_int_equal(check.unknown_count, unknown);
    assert_int_equal(check.uncovered_count, uncovered);
    arena_release(&arena);
    toy_release(&toy);
}

/* ModelForTest has nine tensors: two of each Linear, five of the BatchNorm. */
static void keys_and_tensors_are_held_against_each_other(void **state)
{
    (void)state;
    check_as("linear1: 0, batchnorm: 0, linear2: 1", 0, 0);
    check_as("linear1: 0, linear2: 1", 0, 5);
    check_as("linear1.weight: 0, batchnorm: 0, linear2: 1", 1, 1); /* a parameter covers itself, and is no module */
    check_as("linear: 0, batchnorm: 0, linear2: 1", 1, 2);         /* "linear" covers nothing of "linear1" */
    check_as(": cpu", 0, 0);
}

static void devices_have_accelerates_names(void **state)
{
    struct placement_device device = {PLACEMENT_CPU, 0};
    (void)state;
    assert_false(placement_device_from_name("cuda", &device));
    assert_false(placement_device_from_name("-1", &device));
    assert_false(placement_device_from_name("", &device));
    assert_int_equal(device.kind, PLACEMENT_CPU);
    assert_true(placement_device_from_name("12", &device));
    assert_true(device.kind == PLACEMENT_GPU && device.index == 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_of_one_device_become_their_prefix),
        cmocka_unit_test(keys_and_tensors_are_held_against_each_other),
        cmocka_unit_test(devices_have_accelerates_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
