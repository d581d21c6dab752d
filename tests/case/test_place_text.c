/* Place texts: what they say, and what is wrong with those that say nothing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "harness/case/place_text.h"

/* "balanced 0=300000000 cpu=1000000000 buffers" */
static void place_words(const struct place_text *place, char words[256])
{
    int length = snprintf(words, 256, "%s", place_way_name(place->way));
    for (int i = 0; i < place->budget_count; i++) {
        length += snprintf(words + length, 256 - (size_t)length, " %s=%lld", place->budgets[i].name,
                           (long long)place->budgets[i].bytes);
    }
    snprintf(words + length, 256 - (size_t)length, "%s", place->offload_buffers ? " buffers" : "");
}

static void texts_say_strategy_budgets_and_buffers(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"0=300MB,cpu=1GB", "balanced 0=300000000 cpu=1000000000"},
        {"balanced:0=1MiB", "balanced 0=1048576"},
        {"balanced-low-0:0=1GB,1=2GB", "balanced-low-0 0=1000000000 1=2000000000"},
        {"sequential:cpu=1GB,0=10B,offload-buffers", "sequential cpu=1000000000 0=10 buffers"},
        {"offload-buffers,0=10B,disk=1GB", "balanced 0=10 disk=1000000000 buffers"},
        {"exact:0=1.5GiB,15=1GB", "exact 0=1610612736 15=1000000000"},
        {"cpu-offload", "cpu-offload"},
        {"disk-offload,offload-buffers", "disk-offload buffers"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct place_text place;
        struct status error = {0};
        char words[256];
        if (place_text_parse(rows[i][0], &place, &error) != STATUS_OK) {
            fail_msg("%s: %s", rows[i][0], error.text);
        }
        place_words(&place, words);
        assert_string_equal(words, rows[i][1]);
        assert_int_equal(place_text_parse(rows[i][0], NULL, NULL), STATUS_OK);
    }
}

static void what_is_no_place_is_refused_with_the_remedy(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"",
         "place: '' is no DEVICE=SIZE; write budgets such as 0=300MB,cpu=1GB, or cpu-offload or disk-offload alone"},
        {"balanced", "place: balanced needs budgets; write balanced:0=300MB,cpu=1GB"},
        {"evenly:0=1GB", "place: 'evenly' is no strategy; write balanced, balanced-low-0, sequential or exact"},
        {"cpu-offload:0=1GB",
         "place: cpu-offload has no budgets; write cpu-offload alone, or cpu-offload,offload-buffers"},
        {"cpu-offload,0=1GB", "place: cpu-offload has no budgets, so '0=1GB' says nothing; leave it out"},
        {"0=1GB,0=2GB", "place: '0' has two budgets; keep one"},
        {"01=1GB", "place: '01' is no device; write 0, 1, ... for GPUs, or cpu or disk"},
        {"mps=1GB", "place: 'mps' is no device; write 0, 1, ... for GPUs, or cpu or disk"},
        {"cpu=1GB", "place: no GPU has a budget; write 0=300MB,cpu=1GB, in quotes inside a list or a map of YAML, or "
                    "cpu-offload"},
        {"offload-buffers", "place: no device has a budget; write budgets such as 0=300MB,cpu=1GB"},
        {"0=1GB,offload-buffers,offload-buffers", "place: offload-buffers stands twice; keep one"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct place_text place = {.budget_count = -1};
        struct status error = {0};
        assert_int_equal(place_text_parse(rows[i][0], &place, &error), STATUS_INVALID);
        assert_string_equal(error.text, rows[i][1]);
        assert_int_equal(place.budget_count, -1);
    }
}

static void sizes_and_lengths_are_bounded(void **state)
{
    (void)state;
    struct status error = {0};
    char many[600] = "0=1GB", longer[600];
    for (int i = 1; i < 19; i++) {
        char budget[24];
        snprintf(budget, sizeof budget, ",%d=1GB", i);
        strncat(many, budget, sizeof many - strlen(many) - 1);
    }
    assert_int_equal(place_text_parse(many, NULL, &error), STATUS_INVALID);
    assert_string_equal(error.text, "place: more than 18 devices; keep as many");
    memset(longer, '0', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(place_text_parse(longer, NULL, &error), STATUS_INVALID);
    assert_string_equal(error.text, "place: longer than 511 characters; name fewer devices");
    assert_int_equal(place_text_parse("0=300", NULL, &error), STATUS_INVALID);
    assert_memory_equal(error.text, "place: 0: ", 10);
    assert_int_equal(place_text_parse("0=99999999999GiB", NULL, &error), STATUS_OVERFLOW);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_say_strategy_budgets_and_buffers),
        cmocka_unit_test(what_is_no_place_is_refused_with_the_remedy),
        cmocka_unit_test(sizes_and_lengths_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
