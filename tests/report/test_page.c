/* Pages: one page of every kind of block in every format that shows pages; what is for one medium alone; and the
 * register of formats, which names, help and errors follow from. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "harness/report/escape.h"
#include "harness/report/page_format.h"
#include "tests/support/command_run.h"

/* A name that tries to break out of every format. */
#define HOSTILE "a|b<script>&\\end{x} *_%$#~^\x1b[31m"

static const struct cell_judgement over = {TONE_OVER, "!", "too little"};

static void part_write(const void *context, struct text *text)
{
    text_append(text, context);
}

/* A name that is too long for its column, a mark, and a line below the row. */
static void part_describe(const void *context, int index, struct page *page)
{
    static const struct page_column columns[] = {
        {.title = "name", .kind = CELL_WORD, .width = 12, .width_most = 12, .is_whole = true},
        {.title = "bytes", .kind = CELL_BYTES, .width = 14},
        {.title = "spare", .kind = CELL_BYTES, .width = 14, .is_optional = true},
        {.title = "mark", .kind = CELL_WORD, .width = WIDTH_MARK},
        {.title = "below it", .short_title = "below", .kind = CELL_WORD, .width = WIDTH_BELOW},
    };
    static const char *const names[] = {"short", "not as short as that", HOSTILE};
    page_say(page, BLOCK_TEXT, MEDIUM_ALL, "%s %d", (const char *)context, index);
    page_gap(page);
    page_line(page, 2, "for terminals: %s", HOSTILE);
    struct page_table *table = page_table_add(page, MEDIUM_ALL, columns, 5);
    table->indent = 2;
    const struct cell cells[] = {cell_word(names[index]), cell_bytes(index << 20), cell_bytes(7),
                                 cell_word(index == 1 ? "beyond" : ""), cell_word(index == 2 ? NULL : "words below")};
    page_row_add(page, table, cells);
}

/* One block of each kind, each word hostile, and one of each for one medium alone. */
static void page_describe(const void *subject, struct page *page)
{
    static const struct page_column columns[] = {
        {.title = HOSTILE, .kind = CELL_WORD, .width = 12, .width_most = 40},
        {.title = "peak", .kind = CELL_BYTES, .width = 12},
        {.title = "seen", .short_title = "s", .kind = CELL_JUDGED, .width = 10},
        {.title = "screen only", .kind = CELL_COUNT, .media = MEDIUM_SCREEN, .width = 10},
    };
    (void)subject;
    page_words(page, BLOCK_TITLE, MEDIUM_ALL, "Title " HOSTILE);
    page_words(page, BLOCK_ALERT, MEDIUM_ALL, "Alert " HOSTILE);
    page_words(page, BLOCK_LEAD, MEDIUM_ALL, "Lead " HOSTILE);
    page_contents(page, MEDIUM_ALL);
    page_anchored_heading(page, MEDIUM_ALL, "part", 7, "Heading " HOSTILE);
    page_words(page, BLOCK_TEXT, MEDIUM_ALL, "Text " HOSTILE);
    page_words(page, BLOCK_NOTE, MEDIUM_ALL, "Note " HOSTILE);
    page_words(page, BLOCK_ITEM, MEDIUM_ALL, "Item " HOSTILE);
    struct page_table *table = page_table_add(page, MEDIUM_ALL, columns, 4);
    for (int64_t row = 0; row < 40; row++) { /* more than one growth of the list */
        const struct cell cells[] = {cell_word(HOSTILE),
                                     cell_bytes(row << 20),
                                     {.known = true, .real = 1.25, .judgement = &over},
                                     cell_count(1000 + row)};
        page_row_add(page, table, cells);
    }
    page_verdict(page, MEDIUM_ALL, "Verdict " HOSTILE, true, ": Because " HOSTILE);
    page_say(page, BLOCK_SUBHEADING, MEDIUM_ALL, "%s%d %s", "Part", 2, HOSTILE);
    page_series_add(page, MEDIUM_ALL, (struct page_series){part_describe, "Series", 3});
    page_figure(page, MEDIUM_ALL, "no-such-plot", "Figure " HOSTILE, false);
    page_words(page, BLOCK_TEXT, MEDIUM_TERMINAL, "for terminals");
    page_words(page, BLOCK_TEXT, MEDIUM_DOCUMENT, "for documents");
    page_words(page, BLOCK_TEXT, MEDIUM_SCREEN, "for screens");
    page_part_add(page, MEDIUM_SCREEN, (struct page_part){part_write, "<hr>\n"});
}

static struct json *empty_json(const void *subject)
{
    (void)subject;
    return json_object_new();
}

static const struct page_kind kind = {
    .name = "a test", .what = "a test", .describe = page_describe, .value = empty_json};

static bool is_page(enum report_format format)
{
    struct text text = {0};
    bool is = format != REPORT_JSON && page_render(&kind, NULL, format, NULL, &text, NULL) == STATUS_OK;
    text_release(&text);
    return is;
}

static struct text rendered(enum report_format format, int width)
{
    struct text text = {0};
    assert_int_equal(page_render(&kind, NULL, format, &(struct report_style){.width = width}, &text, NULL), STATUS_OK);
    return text;
}

static void every_block_is_in_every_format(void **state)
{
    static const char *const words[] = {
        "Title",     "Alert",       "Lead",    "Heading", "Text",     "Note",     "Item",
        "39.00 MiB", "Verdict",     "Because", "Part2",   "Series 0", "Series 2", "not as short as that",
        "beyond",    "words below", "2.00 MiB"};
    (void)state;
    int page_count = 0;
    for (int format = 0; format < REPORT_FORMAT_COUNT; format++) {
        if (!is_page((enum report_format)format)) {
            continue;
        }
        struct text text = rendered((enum report_format)format, 100);
        page_count++;
        for (size_t at = 0; at < sizeof words / sizeof words[0]; at++) {
            if (strstr(text_string(&text), words[at]) == NULL) {
                fail_msg("format %d has no '%s'", format, words[at]);
            }
        }
        assert_non_null(strstr(text_string(&text), "1.25"));
        assert_null(strstr(text_string(&text), "no-such-plot")); /* it was not drawn */
        text_release(&text);
    }
    assert_true(page_count >= 3);
}

static void a_medium_sees_its_own_alone(void **state)
{
    static const char *const words[] = {"for terminals", "for documents", "for screens"};
    (void)state;
    for (int format = 0; format < REPORT_FORMAT_COUNT; format++) {
        if (!is_page((enum report_format)format)) {
            continue;
        }
        struct text text = rendered((enum report_format)format, 100);
        int seen = 0;
        for (int at = 0; at < 3; at++) {
            seen += strstr(text_string(&text), words[at]) != NULL ? 1 : 0;
        }
        assert_int_equal(seen, 1);
        bool is_screen = strstr(text_string(&text), "for screens") != NULL;
        assert_true((strstr(text_string(&text), "screen only") != NULL) == is_screen);
        assert_true((strstr(text_string(&text), "1039") != NULL) == is_screen);
        assert_true((strstr(text_string(&text), "<hr>") != NULL) == is_screen);
        text_release(&text);
    }
}

static void names_break_out_of_no_format(void **state)
{
    (void)state;
    for (int format = 0; format < REPORT_FORMAT_COUNT; format++) {
        if (is_page((enum report_format)format)) {
            struct text text = rendered((enum report_format)format, 100);
            assert_null(strchr(text_string(&text), '\x1b'));
            text_release(&text);
        }
    }
    struct text page = rendered(REPORT_HTML, 0), document = rendered(REPORT_MARKDOWN, 0);
    assert_null(strstr(text_string(&page), "<script"));
    assert_non_null(strstr(text_string(&page), "<li><a href=\"#part7\">Heading a|b&lt;script&gt;"));
    assert_non_null(strstr(text_string(&page), "<h2 id=\"part7\">"));
    assert_non_null(strstr(text_string(&page), "<td class=\"n too\" title=\"too little\">1.25 !</td>"));
    assert_null(strstr(text_string(&document), "<script"));
    assert_non_null(strstr(text_string(&document), "| a\\|b&lt;script"));
    assert_non_null(strstr(text_string(&document), " | **1.25** ! |\n"));
    text_release(&page);
    text_release(&document);
}

/* In LaTeX a name is text: what would be a command, a group, a comment or a column is spelled. */
static void names_are_text_in_latex(void **state)
{
    (void)state;
    struct text text = rendered(REPORT_LATEX, 0);
    assert_non_null(strstr(text_string(&text), "Text a\\textbar{}b\\textless{}script\\textgreater{}\\&"
                                               "\\textbackslash{}end\\{x\\} {*}\\_\\%\\$\\#"
                                               "\\textasciitilde{}\\textasciicircum{}"));
    assert_non_null(strstr(text_string(&text), "39.00 MiB & \\textbf{1.25} ! \\\\\n"));
    assert_null(strstr(text_string(&text), "\\end{x}"));
    int depth = 0;
    for (const char *at = text_string(&text); *at != '\0'; at++) {
        bool is_spelled = at > text_string(&text) && at[-1] == '\\';
        depth += !is_spelled && *at == '{' ? 1 : !is_spelled && *at == '}' ? -1 : 0;
        assert_true(depth >= 0);
    }
    assert_int_equal(depth, 0);
    assert_string_equal(text_string(&text) + text.length - 15, "\\end{document}\n");
    text_release(&text);
}

/* What T1 has no letter for would end the run of LaTeX; two hyphens would become a dash. Names that differ stay so. */
static void strange_letters_are_numbers_in_latex(void **state)
{
    (void)state;
    struct text text = {0};
    struct page page = {0};
    page_words(&page, BLOCK_TEXT, MEDIUM_ALL,
               "\xC2\xB1 5 \xE2\x86\x92 \xE4\xB8\xAD\xF0\x9F\x98\x80 --format 'x' \xC5\x82\xC4\xB1\xC4\x80\xC3\xA9 "
               "\xE2\x80\xA6");
    page_latex_write(&page, &(struct report_style){.width = 80}, &text);
    assert_non_null(strstr(text_string(&text), "\xC2\xB1 5 \\textrightarrow{} \\textless{}U+4E2D\\textgreater{}"
                                               "\\textless{}U+1F600\\textgreater{} -{}-format "
                                               "\\textquotesingle{}x\\textquotesingle{} \xC5\x82\xC4\xB1"
                                               "\\textless{}U+0100\\textgreater{}\xC3\xA9 \\textellipsis{}"));
    page_release(&page);
    text_release(&text);
}

/* Of figures alone: names and options keep their hyphens. */
static void a_minus_is_no_hyphen_in_latex(void **state)
{
    (void)state;
    struct text text = {0};
    struct page page = {0};
    page_words(&page, BLOCK_TEXT, MEDIUM_ALL, "-29.75 % (-3 MiB) gpt-2 weights-1.2 2026-11-23 -x; - is (a - b)");
    page_latex_write(&page, &(struct report_style){.width = 80}, &text);
    assert_non_null(
        strstr(text_string(&text), "$-$29.75 \\% ($-$3 MiB) gpt-2 weights-1.2 2026-11-23 -x; - is (a $-$ b)"));
    assert_non_null(strstr(text_string(&text), "\\IfFileExists{lmodern.sty}{\\usepackage{lmodern}}{}\n"));
    page_release(&page);
    text_release(&text);
}

/* One table alone: what stood before it is its caption, what stands behind it a remark; a long one may be broken. */
static void a_table_alone_has_a_caption(void **state)
{
    static const struct page_column columns[] = {{.title = "name", .kind = CELL_WORD},
                                                 {.title = "n", .kind = CELL_COUNT}};
    static const int counts[] = {40, 41};
    static const char *const begins[] = {
        "\\begin{\\assaytable}[htbp]\n\\centering\n\\caption{Names. How 50\\% are counted. On "
        "a\\_b.}\\label{tab:names-of-a-b-2}\n",
        "\\begin{longtable}{@{}lr@{}}\n\\caption{Names. "};
    (void)state;
    for (int at = 0; at < 2; at++) {
        struct text text = {0};
        struct page page = {0};
        page_fragment(&page, "a_b", "(Names) of A_b: 2!");
        page_words(&page, BLOCK_HEADING, MEDIUM_ALL, "Names");
        page_words(&page, BLOCK_NOTE, MEDIUM_ALL, "How 50% are counted.");
        struct page_table *table = page_table_add(&page, MEDIUM_ALL, columns, 2);
        for (int row = 0; row < counts[at]; row++) {
            const struct cell cells[] = {cell_word("x"), cell_count(row)};
            page_row_add(&page, table, cells);
        }
        page_words(&page, BLOCK_TEXT, MEDIUM_ALL, "Of 3 & 4.");
        page_latex_write(&page, &(struct report_style){.width = 80}, &text);
        assert_non_null(strstr(text_string(&text), begins[at]));
        assert_non_null(strstr(text_string(&text), "\n% Of 3 \\& 4.\n"));
        assert_null(strstr(text_string(&text), "\\documentclass"));
        text_release(&text);
        page_release(&page);
    }
}

/* On a page of its own a table has both too, so that it can be copied alone; labels differ. */
static void tables_of_a_page_have_captions(void **state)
{
    static const struct page_column columns[] = {{.title = "n", .kind = CELL_COUNT}};
    (void)state;
    struct text text = {0};
    struct page page = {0};
    page_words(&page, BLOCK_TITLE, MEDIUM_ALL, "quick on a_b, 2026-11-23");
    page_table_add(&page, MEDIUM_ALL, columns, 1);
    page_words(&page, BLOCK_HEADING, MEDIUM_ALL, "Cases");
    page_table_add(&page, MEDIUM_ALL, columns, 1);
    page_table_add(&page, MEDIUM_ALL, columns, 1);
    page_latex_write(&page, &(struct report_style){.width = 80}, &text);
    const char *at = strstr(text_string(&text), "\\begin{longtable}{@{}r@{}}\n\\caption{quick on a\\_b, 2026-11-23.}"
                                                "\\label{tab:quick-on-a-b-2026-11-23}\\\\\n\\toprule\nn \\\\\n");
    assert_non_null(at);
    at = strstr(at, "\\caption{Cases. quick on a\\_b, 2026-11-23.}\\label{tab:cases-quick-on-a-b-2026-11-23}");
    assert_non_null(at);
    assert_non_null(strstr(at, "\\label{tab:cases-quick-on-a-b-2026-11-23-2}"));
    text_release(&text);
    page_release(&page);
}

static void names_that_differ_do_so_in_plots(void **state)
{
    static const char *const names[] = {"a&b", "a+b", "a\xE4\xB8\xAD", "a\xE6\x96\x87", "a?", "a<b", "aandb"};
    enum { NAME_COUNT = sizeof names / sizeof names[0] };
    struct text columns[NAME_COUNT] = {{0}};
    (void)state;
    for (int at = 0; at < NAME_COUNT; at++) {
        column_append(&columns[at], names[at]);
        assert_null(strpbrk(text_string(&columns[at]), "&<>"));
        for (int before = 0; before < at; before++) {
            assert_string_not_equal(text_string(&columns[at]), text_string(&columns[before]));
        }
    }
    assert_string_equal(text_string(&columns[2]), "a\xE2\x80\xB9U+4E2D\xE2\x80\xBA");
    for (int at = 0; at < NAME_COUNT; at++) {
        text_release(&columns[at]);
    }
}

static void dollars_are_no_formula_in_markdown(void **state)
{
    (void)state;
    struct text text = {0};
    markdown_append(&text, "$a$ & b");
    assert_string_equal(text_string(&text), "&#36;a&#36; &amp; b");
    text_release(&text);
}

static void lines_fit_a_terminal(void **state)
{
    static const int widths[] = {40, 44, 52, 60, 80, 200};
    (void)state;
    for (size_t at = 0; at < sizeof widths / sizeof widths[0]; at++) {
        struct text text = rendered(REPORT_TABLE, widths[at]);
        char *line = text.data;
        for (char *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
            *end = '\0';
            if (width_measure(line) > widths[at]) {
                fail_msg("%d columns: %s", widths[at], line);
            }
        }
        text_release(&text);
    }
}

/* What does not fit a column is neither cut nor lost in a terminal: it stands on a line of its own. */
static void names_and_marks_are_whole_in_a_terminal(void **state)
{
    static const struct {
        int width;
        const char *part;
    } rows[] = {
        {80, "\nSeries 0\n\n  for terminals: "},
        {80, "\n  short                  0 B           7 B\n    below: words below\n"},
        {80, "\n  not as short as that\n                    1.00 MiB           7 B  beyond\n    below: words below\n"},
        {60, "\n  not as short as that\n                    1.00 MiB           7 B  beyond\n    below: words below\n"},
        {48, "\n  not as short as that: beyond\n                    1.00 MiB           7 B\n    below: words below\n"},
        {41, "\n  not as short as that: beyond\n      1.00 MiB           7 B\n    below: words below\n"},
    };
    (void)state;
    for (size_t at = 0; at < sizeof rows / sizeof rows[0]; at++) {
        struct text text = rendered(REPORT_TABLE, rows[at].width);
        if (strstr(text_string(&text), rows[at].part) == NULL) {
            fail_msg("at %d columns '%s' is not in\n%s", rows[at].width, rows[at].part, text_string(&text));
        }
        text_release(&text);
    }
}

/* What a kind has no writer for is refused, with those that it has. */
static void a_format_that_is_none_is_refused(void **state)
{
    (void)state;
    struct text text = {0};
    struct status error = {0};
    assert_int_equal(page_render(&kind, NULL, REPORT_JUNIT, NULL, &text, &error), STATUS_INVALID);
    assert_int_equal(text.length, 0);
    assert_non_null(strstr(error.text, "a test has no such format; use table, md, json"));
    assert_null(strstr(error.text, "csv"));
    assert_null(strstr(error.text, "junit"));
}

/* Names, help and the error of a name that is none follow from the register: a row more is in all of them. */
static void the_register_is_what_users_are_told(void **state)
{
    (void)state;
    char words[] = REPORT_FORMAT_WORDS, *rest = NULL;
    int count = 0;
    for (char *word = strtok_r(words, ", ", &rest); word != NULL; word = strtok_r(NULL, ", ", &rest)) {
        enum report_format format = REPORT_TABLE;
        if (strcmp(word, "or") != 0) {
            assert_int_equal(report_format_parse(word, &format, NULL), STATUS_OK);
            assert_int_equal(format, count);
            count++;
        }
    }
    assert_int_equal(count, REPORT_FORMAT_COUNT);
    struct command_result help = command_named("report", (const char *[]){"--help", NULL});
    struct text flat = {0};
    terminal_append(&flat, text_string(&help.output)); /* wherever its lines end */
    assert_non_null(strstr(text_string(&flat), "table (default), summary, md"));
    text_release(&flat);
    command_result_release(&help);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_block_is_in_every_format),
        cmocka_unit_test(a_medium_sees_its_own_alone),
        cmocka_unit_test(names_break_out_of_no_format),
        cmocka_unit_test(names_are_text_in_latex),
        cmocka_unit_test(strange_letters_are_numbers_in_latex),
        cmocka_unit_test(a_table_alone_has_a_caption),
        cmocka_unit_test(tables_of_a_page_have_captions),
        cmocka_unit_test(a_minus_is_no_hyphen_in_latex),
        cmocka_unit_test(names_that_differ_do_so_in_plots),
        cmocka_unit_test(dollars_are_no_formula_in_markdown),
        cmocka_unit_test(lines_fit_a_terminal),
        cmocka_unit_test(names_and_marks_are_whole_in_a_terminal),
        cmocka_unit_test(a_format_that_is_none_is_refused),
        cmocka_unit_test(the_register_is_what_users_are_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
