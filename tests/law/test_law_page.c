/* Law pages: every format has the law's figures, and what comes from outside acts in none of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/law/law_file.h"
#include "harness/law/law_page.h"
#include "tests/law/synthetic_points.h"

static struct law_points points;
static struct overhead_law *law;

/* A name that HTML, Markdown, LaTeX and spreadsheets would each take for something else. */
#define HOSTILE "=1+1|<script>$x_y"

static const struct synthetic_kind kind = {
    .kind = HOSTILE,
    .model_count = 4,
    .coefficients = {[TERM_LOGIT_VOCAB] = 1,
                     [TERM_LOGIT_HIDDEN] = 1,
                     [TERM_FEED_HIDDEN] = 4.25,
                     [TERM_FEED_WIDTH] = 3,
                     [TERM_ATTENTION_WIDTH] = 3.5,
                     [TERM_ATTENTION_SCORES] = 2,
                     [TERM_CACHE] = 1,
                     [TERM_DECODE_VOCAB] = 2},
};

static int law_make(void **state)
{
    const struct overhead_law_request request = {.seed = 1, .resample_count = 10};
    (void)state;
    synthetic_points_add(&points, &kind);
    for (int at = 0; at < points.count; at++) {
        points.all[at].replayed_bytes = points.all[at].footprint_bytes - 15728640;
    }
    return overhead_law_make(&points, &request, &law, NULL) != STATUS_OK;
}

static int law_remove(void **state)
{
    (void)state;
    overhead_law_release(law);
    law_points_release(&points);
    return 0;
}

static struct text page_of(enum report_format format)
{
    struct text text = {0};
    struct status error = {0};
    if (overhead_law_render(law, "0.1.0", format, NULL, &text, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return text;
}

static void says(const struct text *text, const char *words)
{
    if (strstr(text_string(text), words) == NULL) {
        fail_msg("'%s' is not in\n%.3000s", words, text_string(text));
    }
}

/* The coefficient c, the context of 15 MiB, and the counts stand in each. */
static void every_format_has_the_figures(void **state)
{
    (void)state;
    struct text markdown = page_of(REPORT_MARKDOWN), html = page_of(REPORT_HTML), latex = page_of(REPORT_LATEX);
    struct text table = page_of(REPORT_TABLE), csv = page_of(REPORT_CSV), json = page_of(REPORT_JSON);
    says(&markdown, "# Law of the overhead of inference\n\n160 cases of 4 models of 1 kinds.\n");
    says(&markdown, "| host | assay | infer | 15.00 | 15.00 to 15.00 | 4 | 128 | 0.00 % |");
    says(&markdown, "- feed-forward: c T H e + d T F e + ");
    says(&markdown, " | 4.25 | 3.00 | ");
    says(&html, "<h1>Law of the overhead of inference</h1>");
    says(&html, ">4.25<");
    says(&html, ">15.00<");
    says(&latex, "\\toprule");
    says(&latex, "& 4.25 & 3.00 &");
    says(&table, "  c    4.25");
    says(&csv, "context,,host,assay,footprint,infer,bytes,15728640,15728640,15728640,4,128,0,0,0,0,0,0,\r\n");
    says(&csv, ",host,assay,allocated,feed_hidden,T H e,4.2");
    says(&json, "\"bytes\": 15728640");
    text_release(&markdown);
    text_release(&html);
    text_release(&latex);
    text_release(&table);
    text_release(&csv);
    text_release(&json);
}

static void names_from_outside_do_not_act(void **state)
{
    (void)state;
    struct text markdown = page_of(REPORT_MARKDOWN), html = page_of(REPORT_HTML), latex = page_of(REPORT_LATEX);
    struct text csv = page_of(REPORT_CSV);
    says(&markdown, "=1+1\\|&lt;script&gt;");
    says(&html, "=1+1|&lt;script&gt;$x_y");
    assert_null(strstr(text_string(&html), "<script>"));
    says(&latex, "\\textbar{}\\textless{}script\\textgreater{}\\$x\\_y");
    says(&csv, "kind,\"'=1+1|<script>$x_y\",host,assay,");
    text_release(&markdown);
    text_release(&html);
    text_release(&latex);
    text_release(&csv);
}

/* Every line of CSV has as many cells as the first names. */
static void rows_of_csv_have_the_same_columns(void **state)
{
    (void)state;
    struct text csv = page_of(REPORT_CSV);
    int wanted = -1, lines = 0;
    for (const char *at = text_string(&csv); *at != '\0'; lines++) {
        const char *end = strstr(at, "\r\n");
        int commas = 0;
        assert_non_null(end);
        for (; at < end; at++) {
            commas += *at == ',';
        }
        wanted = wanted < 0 ? commas : wanted;
        assert_int_equal(commas, wanted);
        at = end + 2;
    }
    assert_true(lines > 20);
    text_release(&csv);
}

static void an_unknown_format_is_refused(void **state)
{
    (void)state;
    enum report_format format = REPORT_TABLE;
    struct status error = {0};
    assert_int_equal(law_format_parse("csv", &format, &error), STATUS_OK);
    assert_int_equal(format, REPORT_CSV);
    assert_int_equal(law_format_parse("tex", &format, &error), STATUS_OK);
    assert_int_equal(format, REPORT_LATEX);
    assert_int_equal(law_format_parse("junit", &format, &error), STATUS_INVALID);
    says(&(struct text){.data = error.text, .length = strlen(error.text)}, "table, md, csv, json, html or latex");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_format_has_the_figures),
        cmocka_unit_test(names_from_outside_do_not_act),
        cmocka_unit_test(rows_of_csv_have_the_same_columns),
        cmocka_unit_test(an_unknown_format_is_refused),
    };
    return cmocka_run_group_tests(tests, law_make, law_remove);
}
