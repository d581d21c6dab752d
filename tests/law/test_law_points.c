/* Law points: which cases of records count, and tables of points, which come from outside. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/law/law_points.h"
#include "tests/law/synthetic_points.h"

static const struct point_places places = {.catalogue_dir = "models/catalogue"};

static char path[] = "/tmp/assay-law-points-XXXXXX";

static int file_make(void **state)
{
    (void)state;
    int file = mkstemp(path);
    return file < 0 || close(file) != 0;
}

static int file_remove(void **state)
{
    (void)state;
    return unlink(path);
}

static void file_write(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void records_of_the_reference_count(void **state)
{
    (void)state;
    struct law_points points = {0};
    struct status error = {0};
    const char *records = "results/reference/host-intel-r-xeon-r-processor";
    assert_int_equal(law_points_read(records, NULL, &places, &points, &error), STATUS_OK);
    assert_true(points.count > 5);
    assert_true(points.reasons[POINT_OTHER_MODE] > 5);
    for (int at = 0; at < points.count; at++) {
        const struct law_point *point = &points.all[at];
        assert_true(point->weights_bytes > 0 && point->pass_bytes >= point->weights_bytes);
        assert_true(point->allocated_bytes >= point->pass_bytes);
        assert_true(point->footprint_bytes > point->allocated_bytes);
        assert_true(point->ffn > 0 && point->layers > 0);
        assert_false(law_point_is_test(point));
    }
    assert_true(points.reasons[POINT_NO_TERMS] > 0); /* convolutions have none */
    int count = points.count;
    assert_int_equal(law_points_read(records, NULL, &places, &points, &error), STATUS_OK);
    assert_int_equal(points.count, count); /* the same cases once more */
    assert_int_equal(points.reasons[POINT_AGAIN] > 0, 1);
    law_points_release(&points);
}

static void a_filter_chooses_records(void **state)
{
    (void)state;
    struct law_points points = {0};
    struct status error = {0};
    const char *records = "results/reference/host-intel-r-xeon-r-processor";
    assert_int_equal(law_points_read(records, "gpt2/infer/*", &places, &points, &error), STATUS_OK);
    assert_true(points.count > 0);
    for (int at = 0; at < points.count; at++) {
        assert_string_equal(points.all[at].model, "gpt2");
    }
    assert_int_equal(law_points_read("results/laws/host-points.tsv", "gpt2*", &places, &points, &error),
                     STATUS_INVALID);
    assert_string_equal(error.text, "--filter chooses records, and this is a table; choose its lines with grep");
    law_points_release(&points);
}

static void a_table_is_read_as_it_was_written(void **state)
{
    (void)state;
    struct law_points points = {0}, again = {0};
    struct text text = {0}, once_more = {0};
    struct status error = {0};
    const struct synthetic_kind kind = {.kind = "k", .model_count = 3, .coefficients = {[TERM_FEED_HIDDEN] = 3}};
    synthetic_points_add(&points, &kind);
    points.all[7].footprint_bytes = POINT_BYTES_UNKNOWN;
    assert_int_equal(points_table_write(&points, &text, &error), STATUS_OK);
    file_write(text_string(&text));
    assert_int_equal(law_points_read(path, NULL, &places, &again, &error), STATUS_OK);
    assert_int_equal(again.count, points.count);
    assert_int_equal(again.all[7].footprint_bytes, POINT_BYTES_UNKNOWN);
    assert_int_equal(points_table_write(&again, &once_more, &error), STATUS_OK);
    assert_string_equal(text_string(&text), text_string(&once_more));
    text_release(&text);
    text_release(&once_more);
    law_points_release(&points);
    law_points_release(&again);
}

/* What is written can be read, and what could not be read is no point. */
static void what_a_table_cannot_hold_is_left_out(void **state)
{
    (void)state;
    struct law_points points = {0}, again = {0};
    struct text text = {0}, told = {0};
    char name[POINT_TEXT_BYTES_MAXIMUM + 2];
    const struct synthetic_kind kind = {.kind = "k", .model_count = 1, .coefficients = {[TERM_FEED_HIDDEN] = 3}};
    synthetic_points_add(&points, &kind);
    struct law_point point = points.all[0];
    memset(name, 'm', sizeof name);
    name[POINT_TEXT_BYTES_MAXIMUM + 1] = '\0';
    point.model = name;
    assert_int_equal(law_points_add(&points, &point, NULL), STATUS_OK);
    name[POINT_TEXT_BYTES_MAXIMUM] = '\0';
    assert_int_equal(law_points_add(&points, &point, NULL), STATUS_OK);
    point.model = "#gpt2";
    assert_int_equal(law_points_add(&points, &point, NULL), STATUS_OK);
    point.model = "m";
    point.seq = -5;
    assert_int_equal(law_points_add(&points, &point, NULL), STATUS_OK);
    point.seq = INT64_C(1) << 40;
    assert_int_equal(law_points_add(&points, &point, NULL), STATUS_OK);
    point.seq = 8;
    point.footprint_bytes = INT64_MAX;
    assert_int_equal(law_points_add(&points, &point, NULL), STATUS_OK);
    assert_int_equal(points.count, 41);
    law_points_append(&told, &points);
    assert_string_equal(text_string(&told), "41 of 46 cases count; left out: 5 with a name or a size that a table of "
                                            "points cannot hold");
    assert_int_equal(points_table_write(&points, &text, NULL), STATUS_OK);
    file_write(text_string(&text));
    assert_int_equal(law_points_read(path, NULL, &places, &again, NULL), STATUS_OK);
    assert_int_equal(again.count, 41);
    assert_int_equal(strlen(again.all[40].model), POINT_TEXT_BYTES_MAXIMUM);
    text_release(&text);
    text_release(&told);
    law_points_release(&points);
    law_points_release(&again);
}

#define HEAD                                                                                                           \
    "# assay law points 1\n"                                                                                           \
    "model\tkind\ttarget\tprogram\tmode\tprecision\tattention\tlogits\tcache\tbatch\tseq\tnew_tokens\thidden\twidth\t" \
    "cached\theads\tlayers\tffn\tvocab\timage\tweights\tpass\tdecode\tallocated\tfootprint\n"
#define HEAD26                                                                                                         \
    "# assay law points 1\n"                                                                                           \
    "model\tkind\ttarget\tprogram\tmode\tprecision\tattention\tlogits\tcache\tbatch\tseq\tnew_tokens\thidden\twidth\t" \
    "cached\theads\tlayers\tffn\tvocab\timage\tweights\tpass\tdecode\tallocated\tfootprint\treplayed\n"
#define WORDS "gpt2\t-\tsm_80\tPyTorch\tinfer\tfloat16\teager\tall\tnone\t"

/* Numbers of a model that a row leaves out are those of its configuration. */
static void a_model_is_looked_up(void **state)
{
    (void)state;
    struct law_points points = {0};
    struct status error = {0};
    file_write(HEAD WORDS "1\t128\t0\t-\t-\t-\t-\t-\t-\t-\t-\t249000000\t-\t-\t280000000\t-\n"
                          "no/such-model\t-\tsm_80\tPyTorch\tinfer\tfloat16\teager\tall\tnone\t"
                          "1\t128\t0\t-\t-\t-\t-\t-\t-\t-\t-\t249000000\t-\t-\t280000000\t-\n");
    const struct point_places nowhere = {.catalogue_dir = "models/catalogue"};
    setenv("HF_HUB_OFFLINE", "1", 1);
    if (law_points_read(path, NULL, &nowhere, &points, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(points.count, 1);
    assert_int_equal(points.reasons[POINT_NOT_FOUND], 1);
    assert_string_equal(points.all[0].kind, "gpt2");
    assert_int_equal(points.all[0].hidden, 768);
    assert_int_equal(points.all[0].ffn, 3072);
    assert_int_equal(points.all[0].vocab, 50257);
    assert_int_equal(points.all[0].pass_bytes, POINT_BYTES_UNKNOWN);
    law_points_release(&points);
}

/* What would act on a terminal is kept so that it does not. */
/* Tables of assay 0.1.0 have one name more; quantised weights and convolutions have zeros in them. */
static void older_tables_are_read(void **state)
{
    (void)state;
    struct law_points points = {0};
    file_write(HEAD26 WORDS
               "1\t128\t0\t-\t-\t-\t-\t-\t-\t-\t-\t249000000\t-\t-\t280000000\t-\t287309824\n"
               "gpt2\tgpt2/int4\thost\tassay\tinfer\tint4\tsdpa\tall\tnone\t1\t128\t0\t0\t0\t0\t0\t0\t0\t0\t0\t"
               "249000000\t-\t-\t280000000\t-\t-\n");
    assert_int_equal(law_points_read(path, NULL, &places, &points, NULL), STATUS_OK);
    assert_int_equal(points.count, 1);
    assert_int_equal(points.reasons[POINT_NO_TERMS], 1);
    assert_true(law_point_is_test(&points.all[0]));
    law_points_release(&points);
}

#define ROW(pass, allocated, footprint)                                                                                \
    WORDS "1\t128\t0\t-\t-\t-\t-\t-\t-\t-\t-\t249000000\t" pass "\t-\t" allocated "\t" footprint "\n"

static void table_read(const char *table, struct law_points *points, struct text *told)
{
    file_write(table);
    assert_int_equal(law_points_read(path, NULL, &places, points, NULL), STATUS_OK);
    law_points_append(told, points);
}

/* A source counts a case once; another source that has it counts it too, as a repeat. */
static void a_measurement_of_two_sources_is_a_repeat(void **state)
{
    (void)state;
    struct law_points points = {0};
    struct text told = {0};
    table_read(HEAD ROW("-", "280000000", "-") ROW("-", "280000000", "-") ROW("-", "290000000", "-"), &points, &told);
    assert_int_equal(points.count, 2);
    assert_string_equal(text_string(&told),
                        "2 of 3 cases count; left out: 1 the same as another case of their source, figure for figure");
    struct law_point point = points.all[0];
    point.source = "elsewhere";
    assert_false(point.is_repeat);
    assert_int_equal(law_points_add(&points, &point, NULL), STATUS_OK);
    assert_int_equal(points.count, 3);
    assert_true(points.all[2].is_repeat);
    text_release(&told);
    law_points_release(&points);
}

static void figures_that_cannot_be_are_left_out_and_counted(void **state)
{
    (void)state;
    struct law_points points = {0};
    struct text told = {0};
    table_read(HEAD ROW("-", "1000", "-") ROW("248999999", "280000000", "-") ROW("-", "280000000", "279999999")
                   ROW("249000000", "249000000", "249000000"),
               &points, &told);
    assert_int_equal(points.count, 1);
    assert_string_equal(text_string(&told), "1 of 4 cases count; left out: 2 with a peak below the weights, which "
                                            "cannot be, 1 with a footprint below the allocated bytes, which cannot be");
    text_release(&told);
    law_points_release(&points);
}

static void words_from_outside_do_not_act(void **state)
{
    (void)state;
    struct law_points points = {0};
    struct text text = {0};
    file_write(HEAD "evil\x1b[2J\tllama\tsm_80\tPyTorch\tinfer\tfloat16\teager\tall\tnone\t"
                    "1\t128\t0\t64\t64\t64\t4\t2\t128\t100\t0\t249000000\t-\t-\t280000000\t-\n");
    assert_int_equal(law_points_read(path, NULL, &places, &points, NULL), STATUS_OK);
    assert_int_equal(points.count, 1);
    assert_null(strchr(points.all[0].model, '\x1b'));
    assert_int_equal(points_table_write(&points, &text, NULL), STATUS_OK);
    assert_null(strchr(text_string(&text), '\x1b'));
    text_release(&text);
    law_points_release(&points);
}

static void refused(const char *table, const char *expected)
{
    struct law_points points = {0};
    struct status error = {0};
    char line[STATUS_LINE_BYTES], wanted[STATUS_LINE_BYTES];
    file_write(table);
    assert_int_equal(law_points_read(path, NULL, &places, &points, &error), STATUS_INVALID);
    snprintf(wanted, sizeof wanted, "%s:%s", path, expected);
    assert_string_equal(status_line(&error, line), wanted);
    law_points_release(&points);
}

static void tables_that_are_wrong_are_refused_with_their_place(void **state)
{
    (void)state;
    refused("# assay law points 1\nmodel\tkind\n", "2:1: 2 fields; there must be 25, parted by tabs");
    refused(HEAD "a\tb\n", "3:1: 2 fields; there must be 25, parted by tabs");
    refused(HEAD WORDS "1\t-5\t0\t-\t-\t-\t-\t-\t-\t-\t-\t1\t-\t-\t2\t-\n",
            "3:53: 'seq' is '-5'; it must be a whole number below 10^18, or - if it is not known");
    refused(HEAD WORDS "1\t9999999999999999999\t0\t-\t-\t-\t-\t-\t-\t-\t-\t1\t-\t-\t2\t-\n",
            "3:53: 'seq' is '9999999999999999999'; it must be a whole number below 10^18, or - if it is not known");
    refused(HEAD WORDS "99999999\t1\t0\t-\t-\t-\t-\t-\t-\t-\t-\t1\t-\t-\t2\t-\n",
            "3:1: 'batch' must be 1 to 2^24, and 'seq' and 'new_tokens' at most 2^28");
    refused(HEAD WORDS "1\t1\t0\t-\t-\t-\t-\t-\t-\t-\t-\t0\t-\t-\t2\t-\n",
            "3:1: 'weights' and 'allocated' must be known, and more than 0");
    refused(HEAD
            "gpt2\t-\tsm_80\tPyTorch\ttrain\tfloat16\teager\tall\tnone\t1\t1\t0\t-\t-\t-\t-\t-\t-\t-\t-\t1\t-\t-\t2"
            "\t-\n",
            "3:1: 'mode' must be infer or generate");
    refused(HEAD
            "gpt2\t-\tsm_80\tPyTorch\tinfer\tint4\teager\tall\tnone\t1\t1\t0\t-\t-\t-\t-\t-\t-\t-\t-\t1\t-\t-\t2\t-"
            "\n",
            "3:1: 'precision' must be float32, float16 or bfloat16");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_of_the_reference_count),
        cmocka_unit_test(a_filter_chooses_records),
        cmocka_unit_test(a_table_is_read_as_it_was_written),
        cmocka_unit_test(what_a_table_cannot_hold_is_left_out),
        cmocka_unit_test(a_model_is_looked_up),
        cmocka_unit_test(older_tables_are_read),
        cmocka_unit_test(a_measurement_of_two_sources_is_a_repeat),
        cmocka_unit_test(figures_that_cannot_be_are_left_out_and_counted),
        cmocka_unit_test(words_from_outside_do_not_act),
        cmocka_unit_test(tables_that_are_wrong_are_refused_with_their_place),
    };
    return cmocka_run_group_tests(tests, file_make, file_remove);
}
