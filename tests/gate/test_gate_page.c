/* Gate pages: one screen, everything from outside escaped, and what is left out is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/json.h"
#include "harness/gate/gate_page.h"
#include "tests/gate/gate_fixture.h"

static const int64_t mib = 1024 * 1024;
static struct side base, now;

static void sides_begin(void)
{
    side_make(&base);
    side_make(&now);
    base.figures.source = "monday";
    now.figures.source = "tuesday";
}

static struct text page_of(const struct gate *gate, const char *format, int width)
{
    struct gate_style style = {.width = width, .rows = GATE_ROWS_USUAL};
    struct text text = {0};
    assert_int_equal(gate_format_parse(format, &style, NULL), STATUS_OK);
    assert_int_equal(gate_render(gate, &style, &text, NULL), STATUS_OK);
    return text;
}

static void a_page_says_environment_changes_what_is_missing_and_why(void **state)
{
    (void)state;
    sides_begin();
    base.figures.environment[ENVIRONMENT_LIBRARIES] = "cuBLAS 12.8";
    now.figures.environment[ENVIRONMENT_LIBRARIES] = "cuBLAS 12.9";
    now.cases[1].measured.of[LEVEL_ALLOCATED] += 2 * mib;
    now.cases[2].measured.of[LEVEL_PROCESS] -= 60 * mib;
    now.cases[3].status = "timeout";
    now.cases[3].standing = STANDING_BROKEN;
    now.cases[3].reason = "ended after 120 s";
    side_remove(&now, 4);
    struct gate gate = gate_of(&now, &base, NULL, 0);
    struct text page = page_of(&gate, "table", 80);
    assert_string_equal(text_string(&page),
                        "run:      tuesday, 2026-11-20T02:00:00Z: 4 cases\n"
                        "baseline: monday, 2026-11-20T02:00:00Z: 5 cases\n"
                        "policy:   built in\n"
                        "\n"
                        "environment: 1 difference\n"
                        "  libraries          cuBLAS 12.8 -> cuBLAS 12.9\n"
                        "\n"
                        "changed: 2 of 5 cases, the largest change first\n"
                        "         level       difference    change  case\n"
                        "  BREACH allocated    +2.00 MiB   +1.00 %  case 1\n"
                        "  WARN   process     -60.00 MiB   -7.41 %  case 2\n"
                        "\n"
                        "failed, missing or not judged: 2 cases\n"
                        "  MISSING      case 4: in the baseline, and not in this run\n"
                        "  INSUFFICIENT case 3: ok in the baseline, now timeout: ended after 120 s\n"
                        "\n"
                        "1 BREACH, 1 MISSING, 1 INSUFFICIENT, 1 WARN, 1 PASS\n"
                        "NO-GO: 1 of 5 cases is beyond its bounds, or failed; first case-1: allocated\n"
                        "  peak 201.00 MiB -> 203.00 MiB (+2.00 MiB, +1.00 %), no more is allowed\n");
    text_release(&page);
    gate_release(&gate);
}

/* ---- many cases ---- */

enum { MANY = 3000 };

/* Every case breaches; names and reasons are from outside. */
static struct gate many_make(const char *name)
{
    static struct case_figures cases[2][MANY];
    static char ids[MANY][600];
    sides_begin();
    for (int i = 0; i < MANY; i++) {
        snprintf(ids[i], sizeof ids[i], "%05d/%s", i, name);
        cases[0][i] = base.cases[0];
        cases[0][i].id = cases[0][i].label = ids[i];
        cases[1][i] = cases[0][i];
        cases[1][i].measured.of[LEVEL_REQUESTED] += i + 1;
    }
    base.figures.cases = cases[0];
    now.figures.cases = cases[1];
    base.figures.case_count = now.figures.case_count = MANY;
    return gate_of(&now, &base, NULL, 0);
}

static int lines_of(const struct text *text)
{
    int lines = 0;
    for (const char *at = text_string(text); *at != '\0'; at++) {
        lines += *at == '\n' ? 1 : 0;
    }
    return lines;
}

static void many_cases_stand_in_one_screen_and_the_rest_is_told(void **state)
{
    struct gate gate = many_make("x");
    struct text page = page_of(&gate, "table", 80);
    (void)state;
    assert_in_range(lines_of(&page), 10, 24);
    assert_non_null(strstr(text_string(&page), "  2992 more are not listed here: 2992 BREACH; --rows 0 lists all\n"));
    assert_non_null(strstr(text_string(&page), "  BREACH requested    +2.93 KiB"));
    text_release(&page);
    const struct gate_style all = {.page = REPORT_TABLE, .width = 80, .rows = 0};
    assert_int_equal(gate_render(&gate, &all, &page, NULL), STATUS_OK);
    assert_in_range(lines_of(&page), MANY, MANY + 20);
    text_release(&page);
    page = page_of(&gate, "md", 80);
    assert_non_null(strstr(text_string(&page), "2950 more are not listed here: 2950 BREACH."));
    assert_non_null(strstr(text_string(&page), "+2.93 KiB | **+0.00 %** | 02999/x | requested peak "));
    text_release(&page);
    gate_release(&gate);
}

/* Hundreds of characters, each of which Markdown writes as five. */
static void a_summary_is_below_what_github_takes(void **state)
{
    static char name[500];
    memset(name, '<', sizeof name - 1);
    struct gate gate = many_make(name);
    struct text page = {0};
    (void)state;
    assert_int_equal(gate_summary_render(&gate, &page, NULL), STATUS_OK);
    assert_in_range(page.length, 10000, GATE_SUMMARY_BYTES - 1);
    assert_non_null(strstr(text_string(&page), "**NO-GO**"));
    assert_non_null(strstr(text_string(&page), "more are not listed here"));
    assert_null(strstr(text_string(&page), "<<"));
    text_release(&page);
    gate_release(&gate);
}

/* A name of more than a step summary may have. */
static void a_summary_of_an_endless_name_still_says_the_verdict(void **state)
{
    char *name = malloc(2 * GATE_SUMMARY_BYTES + 1);
    struct text page = {0};
    (void)state;
    assert_non_null(name);
    memset(name, 'x', 2 * GATE_SUMMARY_BYTES);
    name[2 * GATE_SUMMARY_BYTES] = '\0';
    sides_begin();
    base.cases[0].id = now.cases[0].id = name;
    base.cases[0].label = now.cases[0].label = name;
    now.cases[0].measured.of[LEVEL_REQUESTED]++;
    side_remove(&base, 1); /* names are sorted: this one is behind the others */
    struct gate gate = gate_of(&now, &base, NULL, 0);
    assert_int_equal(gate_summary_render(&gate, &page, NULL), STATUS_OK);
    assert_in_range(page.length, 5, GATE_SUMMARY_BYTES - 1);
    assert_non_null(strstr(text_string(&page), run_outcome_verdict(gate.outcome)));
    text_release(&page);
    gate_release(&gate);
    free(name);
}

/* ---- from outside ---- */

#define HOSTILE "x\n::error::gotcha\r\n##[add-mask]y|<script>`%0A::set-env name=A::b\x1b[2J"

static struct gate hostile_make(void)
{
    sides_begin();
    base.cases[0].id = now.cases[0].id = HOSTILE;
    base.cases[0].label = now.cases[0].label = "::warning::" HOSTILE;
    base.cases[1].id = now.cases[1].id = "y";
    now.cases[0].measured.of[LEVEL_REQUESTED] += 1;
    now.cases[1].status = HOSTILE;
    now.cases[1].standing = STANDING_BROKEN;
    now.cases[1].reason = HOSTILE;
    base.figures.environment[ENVIRONMENT_HOST] = "quiet";
    now.figures.environment[ENVIRONMENT_HOST] = HOSTILE;
    now.figures.suite_path = "a,line=1::b\n.yaml";
    for (int i = 2; i < SIDE_CASES; i++) {
        base.cases[i].id = now.cases[i].id = now.ids[i];
    }
    base.figures.case_count = now.figures.case_count = 2;
    return gate_of(&now, &base, NULL, 0);
}

/* .NET, which the runner is written in, takes blanks of all scripts off a line before it looks for a command. */
static void no_blank_of_another_script_hides_a_command(void **state)
{
    static const char name[] = "a \u00a0::error::b \u3000\u2003::stop-commands::c \u00a0\u00a0::debug::d";
    (void)state;
    sides_begin();
    now.cases[0].standing = STANDING_BROKEN;
    now.cases[0].reason = name;
    struct gate gate = gate_of(&now, &base, NULL, 0);
    int hidden = 0;
    for (int width = 40; width <= 120; width++) {
        struct text page = page_of(&gate, "github", width);
        for (const char *at = text_string(&page); *at != '\0'; at += strcspn(at, "\n") + 1) {
            const char *first = at;
            while (*first == ' ' || (unsigned char)*first > 0x7F) {
                first++;
            }
            hidden += first > at && strncmp(first, "::", 2) == 0;
        }
        text_release(&page);
    }
    assert_int_equal(hidden, 0);
    gate_release(&gate);
}

/* Only what the gate writes itself begins a line with a command. */
static void no_name_is_a_command_of_a_runner(void **state)
{
    struct gate gate = hostile_make();
    (void)state;
    for (int width = 40; width <= 200; width += 7) {
        struct text page = page_of(&gate, "github", width);
        int commands = 0;
        for (const char *at = text_string(&page); *at != '\0'; at += strcspn(at, "\n") + 1) {
            const char *first = at + strspn(at, " \t\r");
            if (strncmp(first, "::", 2) == 0) {
                assert_true(strncmp(at, "::error file=a%2Cline=1%3A%3Ab", 30) == 0);
                assert_non_null(strstr(at, ",title="));
                commands++;
            }
        }
        assert_int_equal(commands, 3); /* the verdict and two cases */
        assert_null(strstr(text_string(&page), "##["));
        assert_null(strchr(text_string(&page), '\x1b'));
        assert_null(strchr(text_string(&page), '\r'));
        text_release(&page);
    }
    gate_release(&gate);
}

static void an_annotation_points_at_the_line_of_the_suite(void **state)
{
    (void)state;
    sides_begin();
    now.cases[2].measured.of[LEVEL_REQUESTED] += mib;
    now.cases[3].measured.of[LEVEL_REQUESTED] -= mib;
    now.cases[3].suite_line = -1;
    struct gate gate = gate_of(&now, &base, NULL, 0);
    struct text page = page_of(&gate, "github", 80);
    assert_non_null(strstr(text_string(&page), "::error file=suites/night.yaml,title=NO-GO::NO-GO: 1 of 5 cases"));
    assert_non_null(strstr(text_string(&page),
                           "\n::error file=suites/night.yaml,line=12,title=BREACH case-2::requested "
                           "peak 300.00 MiB -> 301.00 MiB (+1.00 MiB, +0.33 %25), no more is "
                           "allowed\n::warning file=suites/night.yaml,title=WARN case-3::"));
    text_release(&page);
    gate_release(&gate);
}

/* Of each kind ten are shown, of which the verdict is one. */
static void there_are_no_more_annotations_than_are_shown(void **state)
{
    struct gate gate = many_make("x");
    struct text page = page_of(&gate, "github", 80);
    int errors = 0;
    (void)state;
    for (const char *at = text_string(&page); (at = strstr(at, "::error ")) != NULL; at++) {
        errors++;
    }
    assert_int_equal(errors, 10);
    text_release(&page);
    gate_release(&gate);
}

static void a_percent_sign_stays_one(void **state)
{
    struct gate gate = hostile_make();
    struct text page = page_of(&gate, "github", 80);
    (void)state;
    assert_non_null(strstr(text_string(&page), "%250A"));
    text_release(&page);
    gate_release(&gate);
}

static void pages_for_readers_escape(void **state)
{
    struct gate gate = hostile_make();
    (void)state;
    static const char *const formats[] = {"table", "md", "html", "latex"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        struct text page = page_of(&gate, formats[i], 100);
        assert_null(strchr(text_string(&page), '\x1b'));
        assert_true(strcmp(formats[i], "table") == 0 || strstr(text_string(&page), "<script>") == NULL ||
                    strcmp(formats[i], "latex") == 0);
        assert_null(strstr(text_string(&page), "\n::error"));
        text_release(&page);
    }
    struct text latex = page_of(&gate, "latex", 100);
    assert_non_null(strstr(text_string(&latex), "\\begin{longtable"));
    text_release(&latex);
    gate_release(&gate);
}

static void a_document_has_every_case(void **state)
{
    struct gate gate = hostile_make();
    struct text page = page_of(&gate, "json", 80);
    struct json *document = NULL;
    (void)state;
    assert_int_equal(json_parse_text("gate", text_string(&page), page.length, &document, NULL), STATUS_OK);
    const struct json *cases = json_get(document, "cases");
    assert_int_equal(json_count(cases), 2);
    const struct json *first = json_at(cases, 0);
    assert_string_equal(json_string_or(json_get(first, "id"), ""), HOSTILE);
    assert_string_equal(json_string_or(json_get(first, "verdict"), ""), "BREACH");
    assert_true(json_boolean_or(json_get(first, "decides"), false));
    const struct json *level = json_at(json_get(first, "levels"), 0);
    assert_string_equal(json_string_or(json_get(level, "level"), ""), "requested");
    assert_int_equal(json_integer_or(json_get(level, "baseline_bytes"), 0), 100 * mib);
    assert_int_equal(json_integer_or(json_get(level, "now_bytes"), 0), 100 * mib + 1);
    assert_int_equal(json_integer_or(json_get(json_get(document, "counts"), "BREACH"), 0), 1);
    assert_string_equal(json_string_or(json_get(document, "outcome"), ""), "NO-GO");
    json_release(document);
    text_release(&page);
    gate_release(&gate);
}

/* A server counts the elements that the head announces, and no page is greener than the exit code. */
static void a_page_for_servers_is_no_greener_than_the_gate(void **state)
{
    (void)state;
    sides_begin();
    now.cases[0].measured.of[LEVEL_REQUESTED] += 1;
    now.cases[1].standing = STANDING_BROKEN;
    now.cases[1].status = "timeout";
    now.cases[1].reason = "ended <after> \"120\" s";
    now.cases[2].measured.of[LEVEL_REQUESTED] -= 1;
    now.cases[3].standing = base.cases[3].standing = STANDING_SKIP;
    now.cases[3].status = base.cases[3].status = "skip";
    struct gate gate = gate_of(&now, &base, NULL, 0);
    struct text page = page_of(&gate, "junit", 80);
    const char *const parts[] = {
        "<testsuite name=\"assay gate\" tests=\"6\" failures=\"2\" errors=\"1\" skipped=\"1\" time=\"0.000\"",
        "skipped=\"1\" time=\"0.000\" timestamp=\"2026-11-20T02:00:00\"",
        "name=\"outcome\" time=\"0.000\">\n      <failure message=\"NO-GO: 1 of 5",
        "name=\"case-0\" time=\"0.000\">\n      <failure message=\"requested peak",
        "ended &lt;after&gt; &quot;120&quot; s\" type=\"INSUFFICIENT\"/>",
        "<system-out>WARN: requested peak"};
    for (size_t at = 0; at < sizeof parts / sizeof parts[0]; at++) {
        if (strstr(text_string(&page), parts[at]) == NULL) {
            fail_msg("no '%s' in\n%s", parts[at], text_string(&page));
        }
    }
    text_release(&page);
    gate_release(&gate);
    sides_begin();
    now.figures.ended = false; /* no case says it */
    gate = gate_of(&now, &base, NULL, 0);
    page = page_of(&gate, "junit", 80);
    assert_non_null(strstr(text_string(&page), "tests=\"6\" failures=\"0\" errors=\"1\""));
    text_release(&page);
    gate_release(&gate);
}

static void a_format_that_is_none_lists_those_that_are(void **state)
{
    struct gate_style style;
    struct status error = {0};
    (void)state;
    assert_int_equal(gate_format_parse("githubb", &style, &error), STATUS_INVALID);
    assert_non_null(
        strstr(error.text, "'githubb' is not a format of a gate; use table, md, json, html or latex; github; junit"));
    assert_int_equal(gate_format_parse("csv", &style, &error), STATUS_INVALID);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_page_says_environment_changes_what_is_missing_and_why),
        cmocka_unit_test(many_cases_stand_in_one_screen_and_the_rest_is_told),
        cmocka_unit_test(a_summary_is_below_what_github_takes),
        cmocka_unit_test(a_summary_of_an_endless_name_still_says_the_verdict),
        cmocka_unit_test(no_name_is_a_command_of_a_runner),
        cmocka_unit_test(no_blank_of_another_script_hides_a_command),
        cmocka_unit_test(an_annotation_points_at_the_line_of_the_suite),
        cmocka_unit_test(there_are_no_more_annotations_than_are_shown),
        cmocka_unit_test(a_percent_sign_stays_one),
        cmocka_unit_test(pages_for_readers_escape),
        cmocka_unit_test(a_document_has_every_case),
        cmocka_unit_test(a_page_for_servers_is_no_greener_than_the_gate),
        cmocka_unit_test(a_format_that_is_none_lists_those_that_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
