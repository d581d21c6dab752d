/* The division of cases into parts: each case in one part, the same parts whatever the order, and balanced. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/run/case_work.h"
#include "harness/run/shard_split.h"

enum { ITEMS_MAXIMUM = 400, PARTS_MAXIMUM = 40, ID_BYTES = 24 };

struct scene {
    char ids[ITEMS_MAXIMUM][ID_BYTES];
    struct shard_item items[ITEMS_MAXIMUM];
    int shards[ITEMS_MAXIMUM];
    int64_t loads[PARTS_MAXIMUM];
    int count, parts;
};

static uint32_t next_number(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static void items_draw(struct scene *scene, uint32_t seed, int64_t largest)
{
    uint32_t state = seed;
    scene->count = 1 + (int)(next_number(&state) % ITEMS_MAXIMUM);
    scene->parts = 1 + (int)(next_number(&state) % PARTS_MAXIMUM);
    for (int i = 0; i < scene->count; i++) {
        snprintf(scene->ids[i], ID_BYTES, "case/%d", i);
        scene->items[i] = (struct shard_item){scene->ids[i], next_number(&state) % (largest + 1)};
    }
}

static void split(struct scene *scene)
{
    struct status error = {0};
    memset(scene->shards, 0xff, sizeof scene->shards);
    memset(scene->loads, 0xff, sizeof scene->loads);
    assert_int_equal(shard_split(scene->items, scene->count, scene->parts, scene->shards, scene->loads, &error),
                     STATUS_OK);
}

static void each_case_is_in_one_part_and_no_part_is_empty(void **state)
{
    static struct scene scene;
    (void)state;
    for (uint32_t seed = 1; seed <= 300; seed++) {
        int64_t sums[PARTS_MAXIMUM] = {0};
        int counts[PARTS_MAXIMUM] = {0};
        items_draw(&scene, seed, seed % 3 == 0 ? 0 : 1000);
        split(&scene);
        for (int i = 0; i < scene.count; i++) {
            assert_in_range(scene.shards[i], 0, scene.parts - 1);
            sums[scene.shards[i]] += scene.items[i].cost;
            counts[scene.shards[i]]++;
        }
        for (int part = 0; part < scene.parts; part++) {
            assert_int_equal(sums[part], scene.loads[part]);
            assert_true(counts[part] > 0 || scene.count < scene.parts);
        }
    }
}

static void the_order_of_the_cases_makes_no_difference(void **state)
{
    static struct scene one, other;
    (void)state;
    for (uint32_t seed = 1; seed <= 100; seed++) {
        int places[ITEMS_MAXIMUM];
        uint32_t draw = seed + 77;
        items_draw(&one, seed, seed % 2 == 0 ? 3 : 100000); /* 3: many are equal, and ids decide */
        other = one;
        for (int i = 0; i < one.count; i++) {
            places[i] = i;
        }
        for (int i = one.count - 1; i > 0; i--) {
            int with = (int)(next_number(&draw) % (uint32_t)(i + 1)), kept = places[i];
            places[i] = places[with];
            places[with] = kept;
        }
        for (int i = 0; i < one.count; i++) {
            other.items[places[i]] = one.items[i];
        }
        split(&one);
        split(&other);
        for (int i = 0; i < one.count; i++) {
            assert_int_equal(one.shards[i], other.shards[places[i]]);
        }
        assert_memory_equal(one.loads, other.loads, (size_t)one.parts * sizeof one.loads[0]);
    }
}

/* The best longest part, by trying all divisions of a few cases. */
static int64_t best_of(const struct scene *scene, int at, int64_t *loads, int64_t best)
{
    int64_t longest = 0;
    for (int part = 0; part < scene->parts; part++) {
        longest = loads[part] > longest ? loads[part] : longest;
    }
    if (at == scene->count || longest >= best) {
        return longest < best ? longest : best;
    }
    for (int part = 0; part < scene->parts; part++) {
        loads[part] += scene->items[at].cost;
        best = best_of(scene, at + 1, loads, best);
        loads[part] -= scene->items[at].cost;
    }
    return best;
}

static void the_longest_part_is_within_four_thirds_of_the_best(void **state)
{
    static struct scene scene;
    int exact_count = 0;
    (void)state;
    for (uint32_t seed = 1; seed <= 200; seed++) {
        int64_t tried[PARTS_MAXIMUM] = {0}, longest = 0;
        items_draw(&scene, seed, 40);
        scene.count = 1 + scene.count % 9;
        scene.parts = 1 + scene.parts % 4;
        split(&scene);
        for (int part = 0; part < scene.parts; part++) {
            longest = scene.loads[part] > longest ? scene.loads[part] : longest;
        }
        int64_t best = best_of(&scene, 0, tried, INT64_MAX);
        assert_true(3 * scene.parts * longest <= (4 * scene.parts - 1) * best); /* 4/3 - 1/(3 n) */
        exact_count += longest == best ? 1 : 0;
    }
    assert_in_range(exact_count, 100, 200);
}

static void the_worked_number_of_the_header_is_right(void **state)
{
    struct shard_item items[] = {{"a", 3}, {"b", 5}, {"c", 3}, {"d", 4}, {"e", 3}};
    int shards[5];
    int64_t loads[2];
    (void)state;
    assert_int_equal(shard_split(items, 5, 2, shards, loads, NULL), STATUS_OK);
    assert_int_equal(loads[0], 8);
    assert_int_equal(loads[1], 10);
    const int expected[] = {1, 0, 0, 1, 1}; /* b; d; a to the 4; c to the 5; e to the 7 */
    assert_memory_equal(shards, expected, sizeof expected);
}

static void costs_that_do_not_fit_a_sum_are_the_largest_there_is(void **state)
{
    struct shard_item items[] = {{"a", INT64_MAX}, {"b", INT64_MAX}, {"c", 1}};
    int shards[3];
    int64_t loads[1];
    (void)state;
    assert_int_equal(shard_split(items, 3, 1, shards, loads, NULL), STATUS_OK);
    assert_int_equal(loads[0], INT64_MAX);
}

static void a_gpu_is_slow_to_start_and_fast_then(void **state)
{
    const struct case_work nothing = {0},
                           much = {.operation_count = INT64_C(2000000000000), .touched_bytes = INT64_C(20000000000)};
    const struct case_work endless = {.operation_count = INT64_MAX, .touched_bytes = INT64_MAX};
    (void)state;
    assert_int_equal(case_work_ms(&nothing, DEVICE_KIND_CUDA), 500);
    assert_int_equal(case_work_ms(&nothing, DEVICE_KIND_AUTO), 500);
    assert_int_equal(case_work_ms(&nothing, DEVICE_KIND_HOST), 450);
    assert_int_equal(case_work_ms(&much, DEVICE_KIND_CUDA), 500 + 1 + 20);
    assert_int_equal(case_work_ms(&much, DEVICE_KIND_HOST), 450 + 40000 + 1000);
    assert_int_equal(case_work_ms(&much, DEVICE_KIND_META), 50);
    assert_true(case_work_ms(&endless, DEVICE_KIND_HOST) > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_case_is_in_one_part_and_no_part_is_empty),
        cmocka_unit_test(the_order_of_the_cases_makes_no_difference),
        cmocka_unit_test(the_longest_part_is_within_four_thirds_of_the_best),
        cmocka_unit_test(the_worked_number_of_the_header_is_right),
        cmocka_unit_test(costs_that_do_not_fit_a_sum_are_the_largest_there_is),
        cmocka_unit_test(a_gpu_is_slow_to_start_and_fast_then),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
