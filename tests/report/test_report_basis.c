/* Basis: figures that were replayed on a device without memory are called so by every format, never measured. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/case_view.h"
#include "harness/report/difference.h"
#include "tests/report/records_fixture.h"
#include "tests/report/records_place.h"

/* A case of a model that is called as the case. members: more of them, each with a comma behind it; target: of JSON. */
struct row {
    const char *id, *kind, *members, *target, *verdicts;
};

static void row_append(const struct place *place, const struct row *row)
{
    char line[4096];
    snprintf(
        line, sizeof line,
        "{\"type\":\"case\",\"id\":\"%s\",\"identity\":{\"model\":\"%s\",\"mode\":\"load\",\"precision\":\"float32\","
        "\"batch\":null,\"seq\":null,\"attention\":null,\"optimizer\":null,\"checkpointing\":null,"
        "\"accumulate\":null,\"logits\":null,\"head\":\"bare\"},\"status\":\"ok\",\"reason\":null,\"attempt\":1,"
        "%s\"duration_s\":1.5,\"device\":{\"kind\":\"%s\",\"name\":null,\"spec\":null,\"target\":%s,"
        "\"total_bytes\":null,\"driver\":null,\"runtime\":null,\"pci_bus_id\":null,\"uuid\":null},\"stages\":"
        "{\"load\":{\"requested_bytes\":1024,\"requested_bytes_peak\":1024,\"allocated_bytes\":2048,"
        "\"allocated_bytes_peak\":2048,\"reserved_bytes\":2097152,\"reserved_bytes_peak\":2097152,"
        "\"device_bytes\":null,\"process_bytes\":null,\"process_bytes_peak\":null,\"seconds\":null,"
        "\"categories_at_peak\":{\"weights\":1024}}},\"context\":null,\"peak_stage\":\"load\","
        "\"categories_at_peak\":{\"weights\":1024},\"causes\":null,\"saved_for_backward_bytes\":null,\"loss\":null,"
        "\"sequence_hash\":null,\"oom\":null,\"estimates\":{\"replay\":{\"allocated_bytes_peak\":2048},"
        "\"accelerate\":{\"total_bytes\":1024}},\"verdicts\":[%s]}\n",
        row->id, row->id, row->members, row->kind, row->target, row->verdicts);
    records_fixture_append(place->records, line);
}

/* basis: the member of the record, or "" for one of an older program. */
static void target_case_append(const struct place *place, const char *id, const char *kind, const char *basis,
                               const char *target)
{
    row_append(place, &(struct row){.id = id, .kind = kind, .members = basis, .target = target, .verdicts = ""});
}

static void case_append(const struct place *place, const char *id, const char *kind, const char *basis)
{
    target_case_append(place, id, kind, basis, "null");
}

static struct report *report_of(const struct place *place)
{
    struct report *report = NULL;
    assert_int_equal(report_open(place->records, &report, NULL), STATUS_OK);
    return report;
}

static struct text rendered(const struct report *report, enum report_format format)
{
    struct text text = {0};
    assert_int_equal(report_render(report, format, &(struct report_style){.width = 200}, &text, NULL), STATUS_OK);
    return text;
}

static void nothing_that_was_replayed_is_called_measured(void **state)
{
    static const enum report_format formats[] = {REPORT_TABLE, REPORT_SUMMARY, REPORT_MARKDOWN, REPORT_HTML,
                                                 REPORT_JUNIT};
    static const char *const bases[] = {"", "\"basis\":\"replayed\","};
    struct place *place = *state;
    for (size_t older = 0; older < 2; older++) {
        remove(place->records);
        records_fixture_run(place->records, 1);
        case_append(place, "one", "meta", bases[older]);
        struct report *report = report_of(place);
        for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
            struct text text = rendered(report, formats[i]);
            assert_null(strcasestr(text_string(&text), "measured"));
            assert_non_null(strstr(text_string(&text), "replayed"));
            text_release(&text);
        }
        report_release(report);
    }
}

static void declined_products_are_told_by_every_format_for_people(void **state)
{
#define DECLINED                                                                                                       \
    "\"declined_products\":[{\"operation\":\"MATMUL\",\"library\":\"cuBLAS\",\"status\":\"S\",\"count\":48}],"
    static const enum report_format formats[] = {REPORT_TABLE, REPORT_SUMMARY, REPORT_MARKDOWN, REPORT_HTML,
                                                 REPORT_JUNIT};
    static const struct {
        const char *members, *words;
    } rows[] = {
        {"\"declined_products\":[],", NULL},
        {"\"declined_products\":null,", NULL},
        {DECLINED, "declined products: MATMUL 48 times (cuBLAS: S)"},
        {DECLINED "\"places\":[{\"place\":\"1\",\"spec\":\"cuda:1\"," DECLINED
                  "\"budget_bytes\":null,\"placed_bytes\":0,\"kept_bytes\":null,\"needed_bytes\":null,"
                  "\"stages\":null,\"estimates\":null}],",
         "declined products: 1: MATMUL 48 times (cuBLAS: S)"},
    };
    struct place *place = *state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        remove(place->records);
        records_fixture_run(place->records, 1);
        case_append(place, "one", "cuda", rows[i].members);
        struct report *report = report_of(place);
        for (size_t f = 0; f < sizeof formats / sizeof formats[0]; f++) {
            struct text text = rendered(report, formats[f]);
            const char *found = strstr(text_string(&text), rows[i].words != NULL ? rows[i].words : "declined");
            if ((found != NULL) != (rows[i].words != NULL)) {
                fail_msg("format %d, %s: %s", (int)formats[f], rows[i].members, text_string(&text));
            }
            text_release(&text);
        }
        report_release(report);
    }
#undef DECLINED
}

static void machine_formats_have_it_as_a_field(void **state)
{
    struct place *place = *state;
    records_fixture_run(place->records, 1);
    case_append(place, "one", "meta", "\"basis\":\"replayed\",");
    struct report *report = report_of(place);
    struct text csv = rendered(report, REPORT_CSV), json = rendered(report, REPORT_JSON);
    assert_non_null(strstr(text_string(&csv), ",basis,attempt,"));
    assert_non_null(strstr(text_string(&csv), ",replayed,1,"));
    assert_null(strstr(text_string(&csv), ",measured,1,"));
    assert_non_null(strstr(text_string(&json), "\n  \"basis\": \"replayed\","));
    text_release(&csv);
    text_release(&json);
    report_release(report);
}

/* One heading cannot say both: the cases do. */
static void among_measured_cases_those_that_were_replayed_say_so(void **state)
{
    struct place *place = *state;
    records_fixture_run(place->records, 2);
    case_append(place, "one", "meta", "\"basis\":\"replayed\",");
    case_append(place, "two", "host", "\"basis\":\"measured\",");
    struct report *report = report_of(place);
    assert_string_equal(report->basis, "measured");
    struct text table = rendered(report, REPORT_TABLE);
    assert_non_null(strstr(text_string(&table), "one load float32 (replayed)\n"));
    assert_non_null(strstr(text_string(&table), "two load float32\n"));
    text_release(&table);
    report_release(report);
}

static void every_head_names_the_target_of_a_replay(void **state)
{
    static const enum report_format formats[] = {REPORT_TABLE, REPORT_SUMMARY, REPORT_MARKDOWN, REPORT_HTML,
                                                 REPORT_JUNIT};
    struct place *place = *state;
    records_fixture_run(place->records, 1);
    target_case_append(place, "one", "meta", "\"basis\":\"replayed\",", "\"sm_90\"");
    struct report *report = report_of(place);
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        struct text text = rendered(report, formats[i]);
        if (strstr(text_string(&text), "meta (replayed for sm_90)") == NULL &&
            strstr(text_string(&text), "meta (replayed for sm\\_90)") == NULL) {
            fail_msg("no target in %s", text_string(&text));
        }
        text_release(&text);
    }
    struct text csv = rendered(report, REPORT_CSV);
    assert_non_null(strstr(text_string(&csv), ",duration_seconds,target,least_bytes,proof,"));
    assert_non_null(strstr(text_string(&csv), ",1.500000,sm_90,,,"));
    text_release(&csv);
    report_release(report);
}

/* Of replays for two targets no heading can say which: the cases do. */
static void cases_name_their_targets_where_there_are_several(void **state)
{
    struct place *place = *state;
    records_fixture_run(place->records, 2);
    target_case_append(place, "one", "meta", "\"basis\":\"replayed\",", "\"sm_80\"");
    target_case_append(place, "two", "meta", "\"basis\":\"replayed\",", "\"sm_90\"");
    struct report *report = report_of(place);
    struct text table = rendered(report, REPORT_TABLE), page = rendered(report, REPORT_HTML);
    assert_string_equal(report->basis, "replayed");
    assert_non_null(strstr(text_string(&table), "one load float32 (replayed for sm_80)\n"));
    assert_non_null(strstr(text_string(&table), "two load float32 (replayed for sm_90)\n"));
    assert_non_null(strstr(text_string(&page), "meta (replayed for sm_80), meta (replayed for sm_90)"));
    text_release(&table);
    text_release(&page);
    report_release(report);
}

static void a_comparison_has_the_target_in_its_environment(void **state)
{
    static const char *const targets[] = {"\"sm_80\"", "\"sm_90\""};
    struct place *place = *state;
    struct report *reports[2];
    for (int i = 0; i < 2; i++) {
        remove(place->records);
        records_fixture_run(place->records, 1);
        target_case_append(place, "one", "meta", "\"basis\":\"replayed\",", targets[i]);
        reports[i] = report_of(place);
    }
    static const struct {
        enum report_format format;
        const char *wanted;
    } rows[] = {{REPORT_TABLE, "environment: 1 difference"},
                {REPORT_MARKDOWN, "| target | sm\\_80 | sm\\_90 |"},
                {REPORT_JSON, "\"property\": \"target\""},
                {REPORT_HTML, "<td>target</td><td>sm_80</td><td>sm_90</td>"},
                {REPORT_LATEX, "target & sm\\_80 & sm\\_90 "}};
    for (size_t at = 0; at < sizeof rows / sizeof rows[0]; at++) {
        struct difference *difference = NULL;
        struct text text = {0};
        const struct difference_options options = {.within = -1.0};
        const struct difference_style style = {.format = rows[at].format, .width = 100};
        assert_int_equal(difference_make(reports[0], reports[1], &options, &difference, NULL), STATUS_OK);
        assert_int_equal(difference_render(difference, &style, &text, NULL), STATUS_OK);
        if (strstr(text_string(&text), rows[at].wanted) == NULL) {
            fail_msg("no '%s' in %s", rows[at].wanted, text_string(&text));
        }
        text_release(&text);
        difference_release(difference);
    }
    report_release(reports[0]);
    report_release(reports[1]);
}

/* Readings that are not compared have a reason, below the table that counts fewer of them. */
static void readings_that_are_not_counted_say_why(void **state)
{
    static const enum report_format formats[] = {REPORT_TABLE, REPORT_SUMMARY, REPORT_MARKDOWN, REPORT_HTML};
    struct place *place = *state;
    for (int is_judged = 0; is_judged < 2; is_judged++) {
        char verdict[512];
        snprintf(verdict, sizeof verdict,
                 "{\"estimator\":\"replay\",\"quantity\":\"process_bytes\",\"predicted\":1,\"measured\":4096,"
                 "\"signed_error_bytes\":-4095,\"signed_error\":-0.5,"
                 "\"tolerance\":%s,\"pass\":null,\"note\":\"the constants were measured under driver 1, not 2\"}",
                 is_judged ? "{\"bytes\":1}" : "null");
        remove(place->records);
        records_fixture_run(place->records, 1);
        row_append(place, &(struct row){.id = "one",
                                        .kind = "host",
                                        .members = "\"constants\":{\"path\":null,\"hash\":null,\"kind\":null,\"name\":"
                                                   "null,\"driver\":null,\"calibrated\":false,\"mismatch\":\"the "
                                                   "constants were measured under driver 1, not 2\"},",
                                        .target = "\"host\"",
                                        .verdicts = verdict});
        struct report *report = report_of(place);
        for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
            struct text text = rendered(report, formats[i]);
            bool is_there =
                strstr(text_string(&text), "Not counted of replay: process in 1 case, because the constants "
                                           "were measured under driver 1, not 2") != NULL;
            if (is_there != (formats[i] != REPORT_SUMMARY || !is_judged)) { /* its head says it of what is judged */
                fail_msg("%s", text_string(&text));
            }
            text_release(&text);
        }
        report_release(report);
    }
}

static void plots_are_told_what_they_draw(void **state)
{
    struct place *place = *state;
    struct text notes = {0};
    struct plot_set plots = {0};
    const struct plot_place target = {.script_directory = "plots", .set = &plots, .notes = &notes};
    records_fixture_run(place->records, 1);
    case_append(place, "one", "meta", "\"basis\":\"replayed\",");
    struct report *report = report_of(place);
    assert_int_equal(report_plot(report, &target, NULL), STATUS_OK);
    const char *data = "";
    for (int i = 0; i < plots.count; i++) {
        data = strcmp(plots.plots[i].name, "anatomy") == 0 ? text_string(&plots.plots[i].data) : data;
    }
    assert_non_null(strstr(data, "\nreplayed\t"));
    assert_null(strstr(data, "\nmeasured\t"));
    if (strstr(text_string(&notes), "gnuplot is not installed") == NULL) {
        const struct text *image = plot_set_svg(&plots, "accuracy");
        assert_non_null(image);
        assert_non_null(strstr(text_string(image), "predicted against replayed"));
        assert_null(strstr(text_string(image), "measured"));
    }
    plot_set_release(&plots);
    text_release(&notes);
    report_release(report);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, place_make, place_remove)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(nothing_that_was_replayed_is_called_measured),
        TEST(declined_products_are_told_by_every_format_for_people),
        TEST(machine_formats_have_it_as_a_field),
        TEST(among_measured_cases_those_that_were_replayed_say_so),
        TEST(every_head_names_the_target_of_a_replay),
        TEST(cases_name_their_targets_where_there_are_several),
        TEST(a_comparison_has_the_target_in_its_environment),
        TEST(readings_that_are_not_counted_say_why),
        TEST(plots_are_told_what_they_draw),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
