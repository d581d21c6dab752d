/* Proof rates: what proofs found is counted in every format, a league has a column for it, and a comparison a figure;
 * records without proofs say nothing of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/text.h"
#include "harness/report/league.h"
#include "harness/report/page_format.h"
#include "harness/report/report.h"
#include "harness/report/report_page.h"
#include "tests/report/records_fixture.h"

#define ESTIMATES "{\"replay\":{\"allocated_bytes_peak\":1000},\"rule\":{\"total_bytes\":900}}"
#define LIMIT(estimator, quantity, bytes, runs, less, pass)                                                            \
    "{\"estimator\":\"" estimator "\",\"quantity\":\"" quantity "\",\"bytes\":" bytes                                  \
    ",\"predicted_runs\":true,\"predicted_less_runs\":null,\"runs\":" runs ",\"less_runs\":" less ",\"pass\":" pass    \
    ",\"note\":null}"
#define PROOF(least, limits, pass)                                                                                     \
    "\"proof\":{\"granule_bytes\":2097152,\"least_bytes\":" least ",\"larger_run\":true,\"limits\":[" limits           \
    "],\"note\":null,\"duration_s\":1.0,\"pass\":" pass "},"

/* Appends a case of the fixture, with a proof in it ("": none). */
static void case_add(const char *path, const char *folder, const char *id, const char *proof)
{
    char other[128], line[8192] = "";
    snprintf(other, sizeof other, "%s/one.jsonl", folder);
    records_fixture_estimates(other, id, "ok", "1000", ESTIMATES, "[]");
    FILE *file = fopen(other, "r");
    assert_non_null(file);
    assert_non_null(fgets(line, sizeof line, file));
    fclose(file);
    remove(other);
    struct text whole = {0};
    text_append_bytes(&whole, line, 1);
    text_append(&whole, proof);
    text_append(&whole, line + 1);
    records_fixture_append(path, text_string(&whole));
    text_release(&whole);
}

static const char BOTH[] = PROOF("4194304",
                                 LIMIT("replay", "least_bytes", "4194304", "true", "false", "true") "," LIMIT(
                                     "replay", "reserved_bytes_peak", "6291456", "true", "true",
                                     "true") "," LIMIT("rule", "total_bytes", "900", "false", "null", "true"),
                                 "true");
static const char LOST[] = PROOF("2097152", LIMIT("replay", "least_bytes", "2097152", "null", "false", "null"), "null");
static const char TIGHT[] =
    PROOF("6291456", LIMIT("replay", "reserved_bytes_peak", "6291456", "true", "false", "true"), "true");

static struct report *report_of(char *folder, const char *const *proofs, int count)
{
    char path[128], id[16];
    struct report *report = NULL;
    snprintf(path, sizeof path, "%s/records.jsonl", folder);
    remove(path);
    records_fixture_run(path, count);
    for (int i = 0; i < count; i++) {
        snprintf(id, sizeof id, "case%d", i);
        case_add(path, folder, id, proofs[i]);
    }
    struct status error = {0};
    if (report_open(path, &report, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return report;
}

static void check(struct report *report, enum report_format format, bool is_there, const char *words)
{
    struct text text = {0};
    struct report_style style = {.width = 120};
    assert_int_equal(report_render(report, format, &style, &text, NULL), STATUS_OK);
    if ((strstr(text_string(&text), words) != NULL) != is_there) {
        fail_msg("%s '%s' in:\n%s", is_there ? "no" : "there is", words, text_string(&text));
    }
    text_release(&text);
}

static void rates_are_in_every_format(void **state)
{
    (void)state;
    char *folder = folder_fixture_make();
    static const char *const proofs[] = {BOTH, TIGHT, LOST, ""};
    struct report *report = report_of(folder, proofs, 4);
    for (int i = REPORT_TABLE; i < REPORT_FORMAT_COUNT; i++) {
        enum report_format format = (enum report_format)i;
        bool in_words = format == REPORT_TABLE || format == REPORT_JUNIT || format == REPORT_SUMMARY;
        if (in_words) {
            check(report, format, true, "replay least: safe in 1 of 1 case, tight in 2 of 2, not known in 1");
            check(report, format, true, "replay reserved peak: safe in 2 of 2 cases, tight in 1 of 2");
            check(report, format, true, "rule total: safe in 0 of 1 case");
        }
    }
    check(report, REPORT_MARKDOWN, true, "| replay | reserved peak | 2/2 | 1/2 |");
    check(report, REPORT_MARKDOWN, true, "| rule | total | 0/1 | - |");
    check(report, REPORT_HTML, true, "<td>reserved peak</td><td class=\"n\">2/2</td><td class=\"n\">1/2</td>");
    check(report, REPORT_JSON, true, "\"safe\": 2");
    check(report, REPORT_CSV, true, ",4194304,pass,");
    check(report, REPORT_CSV, true, ",2097152,open,");
    check(report, REPORT_JUNIT, true, "proof: replay least 2.00 MiB: not known whether it runs");
    assert_int_equal(report_count(report).open, 1);
    report_release(report);
    folder_fixture_remove(folder);
}

static void records_without_proofs_say_nothing_of_them(void **state)
{
    (void)state;
    char *folder = folder_fixture_make();
    static const char *const proofs[] = {"", ""};
    struct report *report = report_of(folder, proofs, 2);
    for (int format = REPORT_TABLE; format < REPORT_FORMAT_COUNT; format++) {
        bool lists = format == REPORT_HTML || format == REPORT_MARKDOWN;
        check(report, (enum report_format)format, false, lists ? "as limits" : "afe");
    }
    report_release(report);
    folder_fixture_remove(folder);
}

static void league_check(struct report *report, bool is_there, const char *words)
{
    struct league *league = NULL;
    struct text text = {0};
    assert_int_equal(league_make(&report, 1, &league, NULL), STATUS_OK);
    assert_int_equal(page_render(&league_page, league, REPORT_MARKDOWN, NULL, &text, NULL), STATUS_OK);
    if ((strstr(text_string(&text), words) != NULL) != is_there) {
        fail_msg("%s '%s' in:\n%s", is_there ? "no" : "there is", words, text_string(&text));
    }
    text_release(&text);
    league_release(league);
}

static void a_league_has_a_column_where_there_are_proofs(void **state)
{
    (void)state;
    char *folder = folder_fixture_make();
    static const char *const proved[] = {BOTH, TIGHT, ""}, *const none[] = {"", ""};
    struct report *report = report_of(folder, proved, 3);
    league_check(report, true, "| common | safe | worst |");
    league_check(report, true, "| - | 100 % | +0.00 % |"); /* replay, by its reserved bytes */
    league_check(report, true, "| - | 0 % | -10.0 % |");   /* the rule, of one case */
    report_release(report);
    report = report_of(folder, none, 2);
    league_check(report, false, "safe");
    report_release(report);
    folder_fixture_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_are_in_every_format),
        cmocka_unit_test(records_without_proofs_say_nothing_of_them),
        cmocka_unit_test(a_league_has_a_column_where_there_are_proofs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
