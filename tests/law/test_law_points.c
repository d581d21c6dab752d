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
    int terms[2] = {0, 0};
    assert_int_equal(law_points_read(records, NULL, &places, &points, &error), STATUS_OK);
    assert_true(points.count > 5);
    assert_true(points.reasons[POINT_OTHER_MODE] > 5);
    for (int at = 0; at < points.count; at++) {
        const struct law_point *point = &points.all[at];
        assert_true(point->weights_bytes > 0 && point->pass_bytes >= point->weights_bytes);
        assert_true(point->allocated_bytes >= point->pass_bytes);
        assert_true(point->footprint_bytes > point->allocated_bytes);
        bool has_terms = law_point_has_terms(point);
        assert_true(has_terms ? point->ffn > 0 && point->layers > 0 : point->ffn == 0 && point->layers == 0);
        assert_string_equal(point->target, "host");
        terms[has_terms]++;
    }
    assert_true(terms[0] > 0 && terms[1] > 0); /* convolutions have none */
    int count = points.count;
    assert_int_equal(law_points_read(records, NULL, &places, &points, &error), STATUS_OK);
    assert_int_equal(points.count, count); /* the same cases once more */
    assert_int_equal(points.reasons[POINT_AGAIN] > 0, 1);
    law_points_release(&points);
}

static void a_filter_chooses_cases(void **state)
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

/* Each point is found by its id, and by it alone what the records of the id are; by a pattern as many as of records. */
static void a_filter_chooses_rows_by_their_ids_as_records(void **state)
{
    (void)state;
    static const char *const filters[] = {"gpt2/infer/*",
                                          "*/generate/*",
                                          "*/b1/*",
                                          "*/s128",
                                          "*/last*",
                                          "*/static",
                                          "*vit*/infer/float32/*",
                                          "bert-base-uncased/infer/float32/b2/s96",
                                          "gpt2",
                                          "*/eager*"};
    const char *records = "results/reference/host-intel-r-xeon-r-processor";
    struct law_points points = {0};
    struct text table = {0};
    int found = 0;
    assert_int_equal(law_points_read(records, NULL, &places, &points, NULL), STATUS_OK);
    assert_int_equal(points_table_write(&points, &table, NULL), STATUS_OK);
    file_write(text_string(&table));
    for (size_t at = 0; at < sizeof filters / sizeof filters[0]; at++) {
        struct law_points ours = {0}, theirs = {0};
        assert_int_equal(law_points_read(path, filters[at], &places, &ours, NULL), STATUS_OK);
        assert_int_equal(law_points_read(records, filters[at], &places, &theirs, NULL), STATUS_OK);
        if (ours.count != theirs.count) {
            fail_msg("%s: %d rows, %d of records", filters[at], ours.count, theirs.count);
        }
        found += ours.count > 0 && ours.count < points.count;
        law_points_release(&ours);
        law_points_release(&theirs);
    }
    assert_true(found >= 6);
    text_release(&table);
    law_points_release(&points);
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
/* Tables that were written before segments were replayed have one name less; a line then has one field less too. */
static void a_table_may_lack_what_is_replayed(void **state)
{
    (void)state;
    struct law_points points = {0};
    file_write(HEAD WORDS "1\t128\t0\t-\t-\t-\t-\t-\t-\t-\t-\t249000000\t-\t-\t280000000\t290000000\n");
    assert_int_equal(law_points_read(path, NULL, &places, &points, NULL), STATUS_OK);
    assert_int_equal(points.all[0].footprint_bytes, 290000000);
    assert_int_equal(points.all[0].replayed_bytes, POINT_BYTES_UNKNOWN);
    law_points_release(&points);
    file_write(HEAD26 WORDS "1\t128\t0\t-\t-\t-\t-\t-\t-\t-\t-\t249000000\t-\t-\t280000000\t-\t287309824\n");
    assert_int_equal(law_points_read(path, NULL, &places, &points, NULL), STATUS_OK);
    assert_int_equal(points.all[0].replayed_bytes, 287309824);
    law_points_release(&points);
}

#define RUN                                                                                                            \
    "{\"type\": \"run\", \"schema\": {\"name\": \"assay-record\", \"major\": 1, \"minor\": 2}, \"run_id\": \"00\", "   \
    "\"started\": \"2026-11-01T00:00:00Z\", \"tool\": {\"name\": \"pytorch\", \"version\": \"2\"}, \"suite\": "        \
    "{\"name\": \"s\", \"path\": \"a plan\", \"plan_hash\": \"0\", \"case_count\": 2, \"selected_count\": 2}, "        \
    "\"device\": \"cuda:0\"}\n"
#define STAGE(name, bytes)                                                                                             \
    "\"" name "\": {\"requested_bytes\": " bytes ", \"requested_bytes_peak\": " bytes ", \"allocated_bytes\": " bytes  \
    ", \"allocated_bytes_peak\": " bytes ", \"reserved_bytes\": 2097152, \"reserved_bytes_peak\": 2097152, "           \
    "\"device_bytes\": null, \"process_bytes\": 700000000, \"process_bytes_peak\": null, \"seconds\": null, "          \
    "\"categories_at_peak\": null}"
#define CASE                                                                                                           \
    "{\"type\": \"case\", \"id\": \"a\", \"identity\": {\"model\": \"%s\", \"mode\": \"infer\", \"precision\": "       \
    "\"float32\", \"batch\": %d, \"seq\": 8, \"attention\": \"sdpa\", \"optimizer\": null, \"loss\": null, "           \
    "\"lora_rank\": null, \"lora_targets\": null, \"checkpointing\": null, \"accumulate\": null, \"new_tokens\": "     \
    "null, \"cache\": null, \"logits\": \"all\", \"head\": \"lm\"}, \"status\": \"ok\", \"reason\": null, "            \
    "\"duration_s\": 1, \"attempt\": 1, \"device\": {\"kind\": \"cuda\", \"name\": \"G\", \"spec\": \"cuda:0\", "      \
    "\"total_bytes\": null, \"driver\": null, \"runtime\": null, \"pci_bus_id\": null, \"uuid\": null, \"target\": "   \
    "\"sm_90\"}, "                                                                                                     \
    "\"stages\": {" STAGE("load", "30000") ", " STAGE(                                                                 \
        "forward", "40000") "}, \"requested_bytes_peak\": 40000, "                                                     \
                            "\"allocated_bytes_peak\": 50000, \"reserved_bytes_peak\": 2097152, \"context\": null, "   \
                            "\"peak_stage\": \"forward\", \"categories_at_peak\": null, \"causes\": null, "            \
                            "\"saved_for_backward_bytes\": "                                                           \
                            "null, \"attention_backend\": null, \"sequence_hash\": null, \"validity\": {\"valid\": "   \
                            "true, \"reasons\": []}, "                                                                 \
                            "\"oom\": null, \"loss\": null, \"verdicts\": [], \"estimates\": %s}\n"

/* Another program predicts nothing; its case is replayed here. A prediction that a record has is taken as it is. */
static void segments_of_another_program_are_replayed(void **state)
{
    (void)state;
    struct law_points points = {0};
    char line[2][2048];
    struct text all = {0};
    snprintf(line[0], sizeof line[0], CASE, "tiny-llama", 2, "null");
    snprintf(line[1], sizeof line[1], CASE, "tiny-llama", 4, "{\"replay\": {\"reserved_bytes_peak\": 12345}}");
    text_format(&all, "%s%s%s", RUN, line[0], line[1]);
    file_write(text_string(&all));
    text_release(&all);
    struct status error = {0};
    if (law_points_read(path, NULL, &places, &points, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(points.count, 2);
    assert_int_equal(points.all[0].replayed_bytes, 35651584);
    assert_int_equal(points.all[1].replayed_bytes, 12345);
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

/* Two devices of one class, or two attempts: neither takes the place of the other, and both are told. */
static void measurements_of_one_case_that_differ_all_count(void **state)
{
    (void)state;
    struct law_points points = {0};
    struct text told = {0};
    struct status error = {0};
    table_read(HEAD ROW("-", "280000000", "800000000") ROW("-", "280000000", "840000000")
                   ROW("-", "280000000", "800000000") ROW("-", "280700000", "-"),
               &points, &told);
    assert_int_equal(points.count, 3);
    assert_int_equal(points.all[0].footprint_bytes, 800000000);
    assert_int_equal(points.all[1].footprint_bytes, 840000000);
    assert_int_equal(points.all[2].footprint_bytes, POINT_BYTES_UNKNOWN);
    assert_string_equal(text_string(&told),
                        "3 of 4 cases count; left out: 1 the same as another case, figure for figure; 1 case was "
                        "measured more than once, of which each measurement counts: allocated bytes differ by up to "
                        "0.25 %, footprints by up to 5.00 % (gpt2, infer, float16, batch 1, seq 128 on sm_80)");
    assert_int_equal(law_points_check(&points, &error), STATUS_OK);
    text_release(&told);
    law_points_release(&points);
}

/* What is unknown first is known later, and the other way round. */
static void a_spread_is_of_the_figures_that_are_known(void **state)
{
    (void)state;
    struct law_points points = {0};
    struct text told = {0};
    table_read(HEAD ROW("-", "280000000", "-") ROW("-", "280000000", "500000000") ROW("260000000", "280000000", "-")
                   ROW("-", "280000000", "510000000"),
               &points, &told);
    assert_int_equal(points.count, 4);
    assert_non_null(strstr(text_string(&told), "allocated bytes differ by up to 0.00 %, footprints by up to 2.00 % ("));
    text_release(&told);
    law_points_release(&points);
}

static void peaks_that_no_law_holds_for_are_refused(void **state)
{
    (void)state;
    struct law_points points = {0};
    struct text told = {0};
    struct status error = {0};
    table_read(HEAD ROW("-", "280000000", "-") ROW("-", "380000000", "-"), &points, &told);
    assert_int_equal(law_points_check(&points, &error), STATUS_INVALID);
    assert_string_equal(error.text,
                        "1 case was measured with peaks that differ by more than 5 % (gpt2, infer, float16, "
                        "batch 1, seq 128 on sm_80: 280000000 and 380000000 bytes allocated), so that no "
                        "law holds for both; calibrate each device, release or run on its own");
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

/* A class of devices is told if it is several: its law is then one of all of them. */
static void the_devices_of_a_class_are_told(void **state)
{
    (void)state;
    struct law_points points = {0};
    struct text told = {0};
    assert_int_equal(law_points_device(&points, "sm_90", "H100", NULL), STATUS_OK);
    assert_int_equal(law_points_device(&points, "host", "EPYC", NULL), STATUS_OK);
    assert_int_equal(law_points_device(&points, "sm_90", "H\x1b[2J200", NULL), STATUS_OK);
    assert_int_equal(law_points_device(&points, "sm_90", "H100", NULL), STATUS_OK);
    law_points_append(&told, &points);
    assert_string_equal(text_string(&told), "0 of 0 cases count; sm_90 is H100 and H?[2J200");
    for (int at = 0; at < 200; at++) { /* as many names as somebody likes */
        char name[16];
        snprintf(name, sizeof name, "G%d", at);
        assert_int_equal(law_points_device(&points, "host", name, NULL), STATUS_OK);
    }
    assert_int_equal(points.devices.count, 64);
    text_release(&told);
    law_points_release(&points);
    assert_int_equal(law_points_read("results/reference/nvidia-h100-80gb-hbm3", "gpt2/infer/*", &places, &points, NULL),
                     STATUS_OK);
    assert_int_equal(law_points_read("results/reference/nvidia-h200", "gpt2/infer/*", &places, &points, NULL),
                     STATUS_OK);
    law_points_append(&told, &points);
    assert_non_null(strstr(text_string(&told), "; sm_90 is NVIDIA H100 80GB HBM3 and NVIDIA H200"));
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

/* A table has them with zeros: quantised weights under the name of their kind and precision. */
static void a_table_has_what_has_no_terms(void **state)
{
    (void)state;
    struct law_points points = {0}, again = {0};
    struct text text = {0};
    file_write(HEAD "gpt2\tgpt2/int4\thost\tassay\tinfer\tint4\tsdpa\tall\tnone\t1\t128\t0\t0\t0\t0\t0\t0\t0\t0\t0\t"
                    "249000000\t-\t-\t280000000\t-\n");
    assert_int_equal(law_points_read(path, NULL, &places, &points, NULL), STATUS_OK);
    assert_int_equal(points.count, 1);
    assert_string_equal(points.all[0].kind, "gpt2/int4");
    assert_false(law_point_has_terms(&points.all[0]));
    assert_int_equal(points_table_write(&points, &text, NULL), STATUS_OK);
    file_write(text_string(&text));
    assert_int_equal(law_points_read(path, NULL, &places, &again, NULL), STATUS_OK);
    assert_string_equal(again.all[0].kind, "gpt2/int4");
    text_release(&text);
    law_points_release(&points);
    law_points_release(&again);
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
    refused("# assay law points 1\nmodel\tkind\n", "2:1: 2 fields; there must be 26, parted by tabs");
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
    refused(
        HEAD "gpt2\t-\tsm_80\tPyTorch\tinfer\tint4\teager\tall\tnone\t1\t1\t0\t-\t-\t-\t-\t-\t-\t-\t-\t1\t-\t-\t2\t-"
             "\n",
        "3:1: 'precision' must be float32, float16 or bfloat16; int8, int4 or fp8 where all numbers of the model are "
        "0");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(records_of_the_reference_count),
        cmocka_unit_test(a_filter_chooses_cases),
        cmocka_unit_test(a_table_is_read_as_it_was_written),
        cmocka_unit_test(a_filter_chooses_rows_by_their_ids_as_records),
        cmocka_unit_test(what_a_table_cannot_hold_is_left_out),
        cmocka_unit_test(a_model_is_looked_up),
        cmocka_unit_test(a_table_may_lack_what_is_replayed),
        cmocka_unit_test(segments_of_another_program_are_replayed),
        cmocka_unit_test(measurements_of_one_case_that_differ_all_count),
        cmocka_unit_test(a_spread_is_of_the_figures_that_are_known),
        cmocka_unit_test(peaks_that_no_law_holds_for_are_refused),
        cmocka_unit_test(figures_that_cannot_be_are_left_out_and_counted),
        cmocka_unit_test(the_devices_of_a_class_are_told),
        cmocka_unit_test(words_from_outside_do_not_act),
        cmocka_unit_test(a_table_has_what_has_no_terms),
        cmocka_unit_test(tables_that_are_wrong_are_refused_with_their_place),
    };
    return cmocka_run_group_tests(tests, file_make, file_remove);
}
