/* Calibration on crafted records: its arithmetic worked by hand, what holds for any records, and what it refuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/calibration.h"
#include "tests/support/scratch_file.h"

enum { NONE = -1 };

/* One stage's readings; NONE: null. */
struct stage_row {
    int64_t reserved, reserved_peak, process, process_peak, device;
};

struct case_row {
    const char *id, *mode;
    int64_t context_process, context_device, baseline;
    struct stage_row load, forward;
    const char *status, *device, *validity; /* NULL: "ok", DEVICE, null */
};

#define DEVICE                                                                                                         \
    "{\"threads\":2,\"kind\":\"host\",\"name\":\"a CPU\",\"target\":\"host\",\"driver\":\"Linux\",\"runtime\":null"
#define DEVICE_REST ",\"spec\":\"auto\",\"total_bytes\":null,\"pci_bus_id\":null,\"uuid\":null}"

static void figure_write(FILE *file, const char *key, int64_t bytes)
{
    if (bytes == NONE) {
        fprintf(file, "\"%s\":null,", key);
    } else {
        fprintf(file, "\"%s\":%" PRId64 ",", key, bytes);
    }
}

static void stage_write(FILE *file, const char *name, const struct stage_row *stage)
{
    fprintf(file, "\"%s\":{", name);
    figure_write(file, "reserved_bytes", stage->reserved);
    figure_write(file, "reserved_bytes_peak", stage->reserved_peak);
    figure_write(file, "process_bytes", stage->process);
    figure_write(file, "process_bytes_peak", stage->process_peak);
    figure_write(file, "device_bytes", stage->device);
    fprintf(file, "\"requested_bytes\":1,\"requested_bytes_peak\":1,\"allocated_bytes\":1,\"allocated_bytes_peak\":1,"
                  "\"seconds\":null,\"categories_at_peak\":null}");
}

static void version_write(FILE *file, const char *run_id, const char *tool, const char *version)
{
    fprintf(file,
            "{\"type\":\"run\",\"schema\":{\"name\":\"assay-record\",\"major\":1,\"minor\":1},\"run_id\":\"%s\","
            "\"started\":\"\",\"tool\":{\"name\":\"%s\",\"version\":\"%s\"},\"suite\":{\"name\":\"t\",\"path\":\"t\","
            "\"plan_hash\":\"0\","
            "\"case_count\":1,"
            "\"selected_count\":1}}\n",
            run_id, tool, version);
}

static void run_write(FILE *file, const char *run_id, const char *tool)
{
    version_write(file, run_id, tool, "1.2.3");
}

static void case_write(FILE *file, const struct case_row *row)
{
    fprintf(file,
            "{\"type\":\"case\",\"id\":\"%s\",\"identity\":{\"model\":\"m\",\"mode\":\"%s\",\"precision\":\"float32\","
            "\"batch\":null,\"seq\":null,\"attention\":null,\"optimizer\":null,\"checkpointing\":null,"
            "\"accumulate\":null,\"logits\":null,\"head\":null},\"status\":\"%s\",\"reason\":null,\"attempt\":1,"
            "\"duration_s\":null,\"peak_stage\":null,\"categories_at_peak\":null,\"causes\":null,"
            "\"saved_for_backward_bytes\":null,\"loss\":null,\"sequence_hash\":null,\"oom\":null,\"estimates\":null,"
            "\"verdicts\":[],\"tags\":[\"all\",\"of-%s\"],\"device\":%s%s,\"validity\":%s,\"context\":{",
            row->id, row->mode, row->status != NULL ? row->status : "ok", row->id,
            row->device != NULL ? row->device : DEVICE, DEVICE_REST, row->validity != NULL ? row->validity : "null");
    figure_write(file, "process_bytes", row->context_process);
    figure_write(file, "baseline_bytes", row->baseline);
    figure_write(file, "device_bytes", row->context_device);
    fprintf(file, "\"more\":null},\"stages\":{");
    stage_write(file, "load", &row->load);
    fprintf(file, ",");
    stage_write(file, "forward", &row->forward);
    fprintf(file, "}}\n");
}

static void records_write(const char *path, const char *run_id, const struct case_row *rows, size_t count)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    run_write(file, run_id, "assay");
    for (size_t i = 0; i < count; i++) {
        case_write(file, &rows[i]);
    }
    assert_int_equal(fclose(file), 0);
}

static enum status_code calibrate(const struct case_row *rows, size_t count, struct constants *made,
                                  struct status *error)
{
    const char *const paths[] = {scratch_file_path};
    records_write(scratch_file_path, "r1", rows, count);
    return calibration_make(paths, 1, NULL, made, error);
}

static struct constants constants_of(const struct case_row *rows, size_t count)
{
    struct constants made;
    struct status error;
    if (calibrate(rows, count, &made, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return made;
}

static void expect_spread(struct constants_spread spread, int64_t median, int64_t minimum, int64_t maximum,
                          int64_t count)
{
    assert_true(spread.known);
    assert_int_equal(spread.median, median);
    assert_int_equal(spread.minimum, minimum);
    assert_int_equal(spread.maximum, maximum);
    assert_int_equal(spread.count, count);
}

static const struct stage_row NO_STAGE = {NONE, NONE, NONE, NONE, NONE};

/* The worked number of the header, as the peak of a stage; the stage after it holds less. */
static void the_worked_number_comes_out(void **state)
{
    (void)state;
    const struct case_row row = {.id = "a",
                                 .mode = "infer",
                                 .context_process = 17555456,
                                 .context_device = NONE,
                                 .baseline = NONE,
                                 .load = {692224000, 692224000, 700000000, 710967296, NONE},
                                 .forward = {692224000, 692224000, 700000000, NONE, NONE}};
    struct constants made = constants_of(&row, 1);
    expect_spread(made.context.process, 17555456, 17555456, 17555456, 1);
    expect_spread(constants_growth_of(&made, "infer")->process, 1187840, 1187840, 1187840, 1);
    assert_false(made.context.device.known);
    assert_false(constants_growth_of(&made, "infer")->device.known);
    assert_null(constants_growth_of(&made, "load"));
    assert_string_equal(made.device.kind, "host");
    assert_int_equal(made.device.thread_count, 2);
    assert_string_equal(made.device.name, "a CPU");
    assert_string_equal(made.device.driver, "Linux");
    assert_string_equal(made.device.runtime, "");
    assert_string_equal(made.tool_version, "1.2.3");
}

/* 1000 were used before the context and 1600 with it; 5000 reserved at 6700: 100 of growth. The reading of load is as
 * high but has more reserved beside it, which leaves less. */
static void a_device_is_read_less_what_was_there_before(void **state)
{
    (void)state;
    const struct case_row rows[] = {
        {"a", "infer", NONE, 1600, 1000, {4000, 4000, NONE, NONE, 5700}, {5000, 5000, NONE, NONE, 6700}, 0, 0, 0},
        {"b", "infer", NONE, 1610, 1000, {5070, 5070, NONE, NONE, 6700}, {5000, 5000, NONE, NONE, 6700}, 0, 0, 0},
        {"c", "train", NONE, 1620, NONE, {5000, 5000, NONE, NONE, 6600}, NO_STAGE, 0, 0, 0},
        {"d", "load", NONE, NONE, 900, {5000, 5000, NONE, NONE, 6600}, NO_STAGE, 0, 0, 0},
    };
    struct constants made = constants_of(rows, 4);
    assert_false(made.context.process.known);
    expect_spread(made.context.device, 605, 600, 610, 2); /* of c nobody knows what was there before */
    expect_spread(constants_growth_of(&made, "infer")->device, 60, 20, 100, 2);
    expect_spread(constants_growth_of(&made, "train")->device, -20, -20, -20, 1);
    assert_false(constants_growth_of(&made, "load")->device.known);
    assert_int_equal(made.growth_count, 3);
}

static struct case_row row_of(const char *id, int64_t context, int64_t growth)
{
    int64_t peak = context + 4096 + growth;
    return (struct case_row){.id = id,
                             .mode = "load",
                             .context_process = context,
                             .context_device = NONE,
                             .baseline = NONE,
                             .load = {4096, 4096, peak, peak, NONE},
                             .forward = NO_STAGE};
}

static void the_median_of_an_even_number_is_between_the_middle_two(void **state)
{
    (void)state;
    const struct case_row rows[] = {row_of("a", 10, 900), row_of("b", 40, 100), row_of("a", 20, 203),
                                    row_of("c", 30, 200)};
    struct constants made = constants_of(rows, 4);
    expect_spread(made.context.process, 25, 10, 40, 4);
    expect_spread(constants_growth_of(&made, "load")->process, 201, 100, 900, 4);
    assert_int_equal(made.case_count, 3); /* two attempts are one case and two readings */
    assert_true(constants_have_case(&made, "b"));
    assert_false(constants_have_case(&made, "d"));
}

/* Released with free. */
static char *document_text(const struct constants *constants)
{
    struct text text = {0};
    struct json *document = constants_to_json(constants);
    assert_int_equal(json_write(document, 2, &text, NULL), STATUS_OK);
    json_release(document);
    return text.data;
}

static uint32_t random_next(uint32_t *random)
{
    *random = *random * 1664525u + 1013904223u;
    return *random >> 8;
}

static const char *const IDS[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k"};

/* Whatever the readings: minimum <= median <= maximum, and neither the order nor the file they stand in shows. */
static void order_does_not_matter_and_the_spread_holds_the_median(void **state)
{
    (void)state;
    uint32_t random = 7;
    char second[64];
    snprintf(second, sizeof second, "%s.second", scratch_file_path);
    for (int round = 0; round < 100; round++) {
        struct case_row rows[CONSTANTS_CASES_MAXIMUM];
        size_t count = 2 + random_next(&random) % (CONSTANTS_CASES_MAXIMUM - 1);
        for (size_t i = 0; i < count; i++) {
            rows[i] = row_of(IDS[i], random_next(&random) % 1000, random_next(&random) % 50);
            rows[i].mode = random_next(&random) % 2 == 0 ? "load" : "train";
        }
        struct constants made = constants_of(rows, count), again;
        for (int i = -1; i < made.growth_count; i++) {
            struct constants_spread spread = i < 0 ? made.context.process : made.growth[i].levels.process;
            assert_true(spread.minimum <= spread.median && spread.median <= spread.maximum);
            assert_true(spread.count >= 1 && (size_t)spread.count <= count);
        }
        for (size_t i = count - 1; i > 0; i--) {
            size_t other = random_next(&random) % (i + 1);
            struct case_row kept = rows[i];
            rows[i] = rows[other];
            rows[other] = kept;
        }
        size_t first = 1 + random_next(&random) % (count - 1);
        const char *const paths[] = {scratch_file_path, second};
        struct status error;
        records_write(scratch_file_path, "r1", rows, first);
        records_write(second, "r2", rows + first, count - first);
        if (calibration_make(paths, 2, NULL, &again, &error) != STATUS_OK) {
            fail_msg("%s", error.text);
        }
        char *text = document_text(&made), *text_again = document_text(&again);
        assert_string_equal(text, text_again);
        free(text);
        free(text_again);
    }
    remove(second);
}

static void expect_refusal(const struct case_row *rows, size_t count, const char *text)
{
    struct constants made;
    struct status error = {0};
    assert_int_equal(calibrate(rows, count, &made, &error), STATUS_INVALID);
    assert_int_equal(strncmp(error.text, scratch_file_path, strlen(scratch_file_path)), 0);
    if (strstr(error.text, text) == NULL) {
        fail_msg("'%s' does not say '%s'", error.text, text);
    }
}

static void eleven_cases_are_one_too_many(void **state)
{
    (void)state;
    struct case_row rows[11];
    for (size_t i = 0; i < 11; i++) {
        rows[i] = row_of(IDS[i], 100, 10);
    }
    assert_int_equal(constants_of(rows, 10).case_count, 10);
    expect_refusal(rows, 11, "case k: is one more than the 10 cases that constants may come from; choose");
}

static void what_was_not_measured_or_is_not_valid_is_refused(void **state)
{
    (void)state;
    static const char *const statuses[] = {"error", "oom", "timeout", "skip"};
    struct case_row rows[2] = {row_of("a", 100, 10), row_of("b", 100, 10)};
    for (size_t i = 0; i < 4; i++) {
        rows[1].status = statuses[i];
        expect_refusal(rows, 2, "case b: its status is ");
    }
    rows[1].status = "fail"; /* measured, and off: that is what calibration is for */
    assert_int_equal(constants_of(rows, 2).case_count, 2);
    rows[1].validity = "{\"valid\":false,\"reasons\":[\"another process came\",\"and more\"]}";
    expect_refusal(rows, 2, "case b: the row is invalid: another process came; run it again");
    rows[1].validity = "{\"valid\":true,\"reasons\":[]}";
    assert_int_equal(constants_of(rows, 2).case_count, 2);
}

static void devices_and_drivers_do_not_mix(void **state)
{
    (void)state;
    static const struct {
        const char *device, *text;
    } others[] = {
        {"{\"kind\":\"cuda\",\"name\":\"a CPU\",\"target\":\"host\",\"driver\":\"Linux\",\"runtime\":null",
         "the kind of its device is 'cuda', of the cases before 'host'"},
        {"{\"kind\":\"host\",\"name\":\"b\",\"target\":\"host\",\"driver\":\"Linux\",\"runtime\":null",
         "the name of its device is 'b', of the cases before 'a CPU'"},
        {"{\"kind\":\"host\",\"name\":\"a CPU\",\"target\":\"sm_90\",\"driver\":\"Linux\",\"runtime\":null",
         "the target of its device is 'sm_90'"},
        {"{\"kind\":\"host\",\"name\":\"a CPU\",\"target\":\"host\",\"driver\":null,\"runtime\":null",
         "the kernel of its device is '', of the cases before 'Linux'"},
        {"{\"threads\":16,\"kind\":\"host\",\"name\":\"a "
         "CPU\",\"target\":\"host\",\"driver\":\"Linux\",\"runtime\":null",
         "its device had 16 threads, that of the cases before 2; calibrate one number of threads at a time"},
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        struct case_row rows[2] = {row_of("a", 100, 10), row_of("b", 100, 10)};
        rows[1].device = others[i].device;
        expect_refusal(rows, 2, others[i].text);
    }
}

static void records_without_a_reading_calibrate_nothing(void **state)
{
    (void)state;
    struct case_row row = row_of("a", 100, 10);
    row.load = (struct stage_row){4096, 4096, NONE, NONE, NONE};
    row.context_process = NONE;
    expect_refusal(&row, 1, "no reading of a driver or a kernel is in it");
}

/* The records of many suites in one file: what is passed over is not looked at, wrong as it may be. */
static void a_filter_names_cases_by_id_or_tag(void **state)
{
    (void)state;
    struct case_row rows[11];
    struct constants made;
    struct status error = {0};
    const char *const paths[] = {scratch_file_path};
    for (size_t i = 0; i < 11; i++) {
        rows[i] = row_of(IDS[i], 100, 10 * (int64_t)i);
    }
    rows[0].status = "oom";
    records_write(scratch_file_path, "r1", rows, 11);
    assert_int_equal(calibration_make(paths, 1, "[b-d]", &made, &error), STATUS_OK);
    assert_int_equal(made.case_count, 3);
    expect_spread(constants_growth_of(&made, "load")->process, 20, 10, 30, 3);
    assert_int_equal(calibration_make(paths, 1, "of-k", &made, &error), STATUS_OK);
    assert_true(constants_have_case(&made, "k"));
    assert_int_equal(made.case_count, 1);
    assert_int_equal(calibration_make(paths, 1, "a*", &made, &error), STATUS_INVALID); /* "all" is a tag */
    assert_non_null(strstr(error.text, "case a: its status is oom"));
    assert_int_equal(calibration_make(paths, 1, "nothing", &made, &error), STATUS_INVALID);
    assert_non_null(strstr(error.text, "no case matches 'nothing'"));
}

/* As large as a record may say: nothing overflows, and what comes out can be read back. */
static void figures_that_no_machine_has_are_unknown(void **state)
{
    (void)state;
    struct case_row rows[3] = {row_of("a", 100, 10), row_of("b", 100, 10), row_of("c", INT64_C(1) << 59, 10)};
    rows[0].context_process = INT64_MAX;
    rows[1].load = (struct stage_row){INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
    rows[2].load = (struct stage_row){INT64_C(1) << 59, INT64_MAX, 0, INT64_MAX, NONE};
    struct constants made = constants_of(rows, 3);
    expect_spread(made.context.process, (INT64_C(1) << 58) + 50, 100, INT64_C(1) << 59, 2);
    expect_spread(constants_growth_of(&made, "load")->process, -(INT64_C(1) << 60), -(INT64_C(1) << 60),
                  -(INT64_C(1) << 60), 1);
    char *text = document_text(&made);
    FILE *file = fopen(scratch_file_path, "w");
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(constants_read(scratch_file_path, &made, NULL), STATUS_OK);
    free(text);
}

static void what_another_program_measured_is_refused(void **state)
{
    (void)state;
    struct constants made;
    struct status error;
    const struct case_row row = row_of("a", 100, 10);
    const char *const paths[] = {scratch_file_path};
    FILE *file = fopen(scratch_file_path, "w");
    assert_non_null(file);
    run_write(file, "r1", "pytorch");
    case_write(file, &row);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(calibration_make(paths, 1, NULL, &made, &error), STATUS_INVALID);
    assert_non_null(strstr(error.text, "case a: was measured by pytorch; constants are of assay's own process"));
}

/* Another version may have other kernels, another revision of it seldom has: it is told where all are of one. */
static void versions_do_not_mix(void **state)
{
    (void)state;
    static const char first[] = "0.9\",\"revision\":\"aa", bb[] = "0.9\",\"revision\":\"bb";
    static const char *const others[][2] = {{first, "aa"}, {bb, ""}, {"0.9", ""}, {"1.0", ""}};
    struct constants made = {0};
    struct status error;
    const struct case_row row = row_of("b", 100, 10);
    for (int other = 0; other < 4; other++) {
        FILE *file = fopen(scratch_file_path, "w");
        version_write(file, "r1", "assay", first);
        case_write(file, &row);
        version_write(file, "r2", "assay", others[other][0]);
        case_write(file, &row);
        assert_int_equal(fclose(file), 0);
        assert_int_equal(calibration_make((const char *[]){scratch_file_path}, 1, NULL, &made, &error),
                         other == 3 ? 1 : 0);
        assert_string_equal(made.tool_revision, others[other][1]);
    }
    assert_non_null(strstr(error.text, "case b: was measured by assay 1.0, the cases before by 0.9; calibrate one"));
}

/* A run of two cases that made the first, in a mode of its own. */
static void incomplete_write(const char *selected, const char *end, int case_count)
{
    const struct case_row rows[] = {row_of("a", 100, 10), row_of("b", 100, 10)};
    FILE *file = fopen(scratch_file_path, "w");
    assert_non_null(file);
    run_write(file, "r1", "assay");
    fprintf(file, "%s", selected);
    for (int i = 0; i < case_count; i++) {
        case_write(file, &rows[i]);
    }
    fprintf(file, "%s", end);
    assert_int_equal(fclose(file), 0);
}

#define SELECTED "{\"type\":\"selected\",\"ids\":[\"a\",\"b\"],\"attempts\":[1,1]}\n"
#define END(interrupted)                                                                                               \
    "{\"type\":\"end\",\"finished\":\"\",\"interrupted\":" interrupted ",\"counts\":{},\"outcome\":\"pass\"}\n"

static void a_run_that_is_not_complete_is_refused(void **state)
{
    (void)state;
    static const struct {
        const char *selected, *end, *filter;
        int case_count;
        const char *says; /* NULL: it calibrates */
    } rows[] = {
        {SELECTED, "", NULL, 1, "the run is not complete, the run was killed or still goes on; missing: b: run"},
        {SELECTED, END("true"), NULL, 1, "the run is not complete, the run was interrupted; missing: b: run"},
        {SELECTED, "", NULL, 0, "the run was killed or still goes on; missing: a, b: run the suite again"},
        {"", "", NULL, 0, "missing: 1 that the records do not name: run the suite again, or choose"},
        {SELECTED, "", "a", 1, NULL},
        {SELECTED, "", "of-a", 1, "missing: b: "}, /* nobody knows what tags it has */
        {SELECTED, "", NULL, 2, NULL},             /* killed after its last case */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct constants made;
        struct status error = {0};
        const char *const paths[] = {scratch_file_path};
        incomplete_write(rows[i].selected, rows[i].end, rows[i].case_count);
        enum status_code code = calibration_make(paths, 1, rows[i].filter, &made, &error);
        assert_int_equal(code, rows[i].says != NULL ? STATUS_INVALID : STATUS_OK);
        if (rows[i].says != NULL && strstr(error.text, rows[i].says) == NULL) {
            fail_msg("row %zu: '%s' does not say '%s'", i, error.text, rows[i].says);
        }
    }
}

static void a_run_that_is_named_twice_is_refused(void **state)
{
    (void)state;
    struct constants made;
    struct status error;
    const struct case_row row = row_of("a", 100, 10);
    const char *const paths[] = {scratch_file_path, scratch_file_path};
    records_write(scratch_file_path, "r1", &row, 1);
    assert_int_equal(calibration_make(paths, 2, NULL, &made, &error), STATUS_INVALID);
    assert_non_null(strstr(error.text, "run r1 is there twice"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_worked_number_comes_out),
        cmocka_unit_test(a_device_is_read_less_what_was_there_before),
        cmocka_unit_test(the_median_of_an_even_number_is_between_the_middle_two),
        cmocka_unit_test(order_does_not_matter_and_the_spread_holds_the_median),
        cmocka_unit_test(eleven_cases_are_one_too_many),
        cmocka_unit_test(versions_do_not_mix),
        cmocka_unit_test(what_was_not_measured_or_is_not_valid_is_refused),
        cmocka_unit_test(devices_and_drivers_do_not_mix),
        cmocka_unit_test(records_without_a_reading_calibrate_nothing),
        cmocka_unit_test(a_filter_names_cases_by_id_or_tag),
        cmocka_unit_test(figures_that_no_machine_has_are_unknown),
        cmocka_unit_test(what_another_program_measured_is_refused),
        cmocka_unit_test(a_run_that_is_named_twice_is_refused),
        cmocka_unit_test(a_run_that_is_not_complete_is_refused),
    };
    return cmocka_run_group_tests(tests, scratch_file_make, scratch_file_remove);
}
