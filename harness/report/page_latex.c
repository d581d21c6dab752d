/* Page as a LaTeX document, for papers: tables by booktabs and longtable, of which each can be copied alone. Figures
 * are the images that lie beside it (--plots), if they do. A page that is one table is one for \input: with a caption
 * and a label, and without a preamble. */
#include <inttypes.h>
#include <string.h>

#include "harness/base/code_point.h"
#include "harness/report/escape.h"
#include "harness/report/page_format.h"

enum {
    WORD_COLUMNS_MAXIMUM = 28, /* a column of longer words is wrapped */
    FLOAT_ROWS_MAXIMUM = 40,   /* a table of more does not fit on a page */
    SMALL_COLUMNS_MINIMUM = 6  /* more columns are readable in a smaller type alone */
};

static const char preamble[] = "% Run LaTeX twice: longtable finds the widths of columns in the first run.\n"
                               "\\documentclass[a4paper,landscape]{article}\n"
                               "\\usepackage[utf8]{inputenc}\n"
                               "\\usepackage[T1]{fontenc}\n"
                               "% Without Latin Modern T1 is of bitmaps, which not every TeX has or makes.\n"
                               "\\IfFileExists{lmodern.sty}{\\usepackage{lmodern}}{}\n"
                               "\\usepackage{textcomp,array,booktabs,longtable,graphicx}\n"
                               "\\usepackage[margin=15mm]{geometry}\n"
                               "\\setlength{\\parindent}{0pt}\n"
                               "\\setlength{\\parskip}{4pt}\n"
                               "\\setlength{\\tabcolsep}{4pt}\n"
                               "\\setlength{\\LTleft}{0pt}\n";

static const char *latex_escape(char byte)
{
    static const struct {
        char byte;
        const char *escape;
    } escapes[] = {
        {'\\', "\\textbackslash{}"},
        {'{', "\\{"},
        {'}', "\\}"},
        {'$', "\\$"},
        {'&', "\\&"},
        {'#', "\\#"},
        {'%', "\\%"},
        {'_', "\\_"},
        {'^', "\\textasciicircum{}"},
        {'~', "\\textasciitilde{}"},
        {'<', "\\textless{}"},
        {'>', "\\textgreater{}"},
        {'|', "\\textbar{}"},
        {'"', "\\textquotedbl{}"},
        {'[', "{[}"},
        {']', "{]}"},
        {'`', "\\textasciigrave{}"},
        {'\'', "\\textquotesingle{}"},
        {'*', "{*}"},
    };
    for (size_t index = 0; index < sizeof escapes / sizeof escapes[0]; index++) {
        if (escapes[index].byte == byte) {
            return escapes[index].escape;
        }
    }
    return NULL;
}

/* What stands for a character beyond ASCII; NULL: none of these. */
static const char *sign_of(uint32_t point)
{
    static const struct {
        uint32_t point;
        const char *command;
    } signs[] = {
        {0x2013, "\\textendash{}"},       {0x2014, "\\textemdash{}"},
        {0x2018, "\\textquoteleft{}"},    {0x2019, "\\textquoteright{}"},
        {0x201C, "\\textquotedblleft{}"}, {0x201D, "\\textquotedblright{}"},
        {0x2026, "\\textellipsis{}"},     {0x2190, "\\textleftarrow{}"},
        {0x2192, "\\textrightarrow{}"},   {0x2212, "$-$"},
    };
    for (size_t index = 0; index < sizeof signs / sizeof signs[0]; index++) {
        if (signs[index].point == point) {
            return signs[index].command;
        }
    }
    return NULL;
}

/* Letters that inputenc's utf8 has in T1 and textcomp, whatever the release of LaTeX: Latin-1, and those of Latin
 * Extended-A that T1 has glyphs for. Another letter would end the run of LaTeX. */
static bool is_latin(uint32_t point)
{
    static const char extended[] = "\x02\x03\x04\x05\x06\x07\x0C\x0D\x0E\x0F\x10\x11\x18\x19\x1A\x1B\x1E\x1F"
                                   "\x30\x31\x39\x3A\x3D\x3E\x41\x42\x43\x44\x47\x48\x4A\x4B\x50\x51\x52\x53\x54\x55"
                                   "\x58\x59\x5A\x5B\x5E\x5F\x60\x61\x62\x63\x64\x65\x6E\x6F\x70\x71\x78\x79\x7A\x7B"
                                   "\x7C\x7D\x7E";
    return (point >= 0xA0 && point <= 0xFF) ||
           (point > 0x100 && point < 0x17F && strchr(extended, (int)(point - 0x100)) != NULL);
}

/* What LaTeX has not is its number, so that two names that differ there stay two. Returns how many bytes it took. */
static size_t letter_append(struct text *text, const char *bytes)
{
    uint32_t point;
    size_t length = code_point_decode(bytes, &point);
    const char *sign = sign_of(point);
    if (is_latin(point)) {
        text_append_bytes(text, bytes, length);
    } else if (sign != NULL) {
        text_append(text, sign);
    } else {
        text_format(text, "\\textless{}U+%04" PRIX32 "\\textgreater{}", point);
    }
    return length;
}

/* A hyphen before a figure, at the beginning of a word, or between two words: a minus. */
static bool is_minus(const char *begin, const char *at)
{
    if (at - begin >= 2 && strncmp(at - 1, " - ", 3) == 0) {
        return strchr(",;:.", at[-2]) == NULL;
    }
    bool is_first = at == begin || strchr(" (+", at[-1]) != NULL;
    return at[0] == '-' && at[1] >= '0' && at[1] <= '9' && is_first;
}

static const char *ascii_escape(const char *begin, const char *at)
{
    return is_minus(begin, at)            ? "$-$"
           : at[0] == '-' && at[1] == '-' ? "-{}" /* two are one dash */
                                          : latex_escape(*at);
}

static void latex_append(struct text *text, const char *string)
{
    struct text clean = {0};
    terminal_append(&clean, string); /* no control characters, and valid UTF-8 */
    for (const char *at = text_string(&clean); *at != '\0';) {
        const char *escape = ascii_escape(text_string(&clean), at);
        if (escape != NULL) {
            text_append(text, escape);
            at++;
        } else if ((unsigned char)*at < 0x80) {
            text_append_bytes(text, at, 1);
            at++;
        } else {
            at += letter_append(text, at);
        }
    }
    text->failed = text->failed || clean.failed;
    text_release(&clean);
}

static void command_write(const char *before, const char *words, const char *end, struct text *text)
{
    text_append(text, before);
    latex_append(text, words);
    text_append(text, end);
}

/* ---- tables ---- */

static bool is_shown(const struct page_table *table, int index)
{
    return page_is_for(table->columns[index].media, MEDIUM_DOCUMENT);
}

static int word_width(const struct page_table *table, int index)
{
    int most = 0;
    for (int row = 0; row < table->row_count; row++) {
        char word[CELL_TEXT_BYTES];
        int width = width_measure(cell_text(&table->rows[row][index], table->columns[index].kind, word));
        most = width > most ? width : most;
    }
    return most;
}

/* Words that are long share half of the line; figures are never broken. */
static void columns_write(const struct page_table *table, struct text *text)
{
    int long_count = 0;
    for (int index = 0; index < table->column_count; index++) {
        bool is_long = is_shown(table, index) && word_width(table, index) > WORD_COLUMNS_MAXIMUM;
        long_count += is_long ? 1 : 0;
    }
    text_append(text, "{@{}");
    for (int index = 0; index < table->column_count; index++) {
        if (!is_shown(table, index)) {
            continue;
        }
        if (word_width(table, index) > WORD_COLUMNS_MAXIMUM) {
            text_format(text, ">{\\raggedright\\arraybackslash}p{%.2f\\linewidth}",
                        long_count > 1 ? 0.5 / long_count : 0.3);
        } else {
            text_append(text, cell_is_word(table->columns[index].kind) ? "l" : "r");
        }
    }
    text_append(text, "@{}}\n");
}

static void heading_write(const struct page_column *column, struct text *text)
{
    latex_append(text, column->title);
    if (column->case_count > 0) {
        text_format(text, ": %" PRId64, column->case_count);
    }
}

static void cell_write(const struct page_column *column, const struct cell *cell, struct text *text)
{
    char word[CELL_TEXT_BYTES];
    bool is_judged = column->kind == CELL_JUDGED && cell->known;
    bool is_strong = cell->is_bad || (is_judged && cell->judgement->tone == TONE_OVER);
    command_write(is_strong ? "\\textbf{" : "", cell_text(cell, column->kind, word), is_strong ? "}" : "", text);
    latex_append(text, cell->after != NULL ? cell->after : "");
    if (is_judged && cell->judgement->sign[0] != '\0') {
        command_write(" ", cell->judgement->sign, "", text);
    }
}

/* row -1: the heading. */
static void row_write(const struct page_table *table, int row, struct text *text)
{
    const char *separator = "";
    for (int index = 0; index < table->column_count; index++) {
        if (is_shown(table, index)) {
            text_append(text, separator);
            separator = " & ";
            if (row < 0) {
                heading_write(&table->columns[index], text);
            } else {
                cell_write(&table->columns[index], &table->rows[row][index], text);
            }
        }
    }
    text_append(text, " \\\\\n");
}

static void rows_write(const struct page_table *table, struct text *text)
{
    for (int row = 0; row < table->row_count; row++) {
        row_write(table, row, text);
    }
}

/* What stands above a table on a page of its own: its caption and its label are made of that. */
struct above {
    struct text title, heading; /* copies: pages within a page do not stay in memory */
    int count;                  /* tables below the heading so far */
};

static void above_set(struct above *above, const struct page_block *block)
{
    struct text *words = block->kind == BLOCK_TITLE ? &above->title : &above->heading;
    text_release(&above->heading);
    text_release(words);
    text_append(words, block->words);
    above->count = 0;
}

static void above_write(struct above *above, struct text *text)
{
    struct text words = {0};
    const char *title = text_string(&above->title), *heading = text_string(&above->heading);
    text_append(text, "\\caption{");
    command_write("", heading, heading[0] != '\0' ? ". " : "", text);
    command_write("", title, title[0] != '\0' ? "." : "", text);
    text_format(&words, "%s %s", heading, title);
    if (++above->count > 1) {
        text_format(&words, " %d", above->count);
    }
    text_append(text, "}\\label{");
    page_label_append(text, text_string(&words));
    text_append(text, "}\\\\\n");
    text->failed = text->failed || words.failed;
    text_release(&words);
}

static void table_write(const struct page_table *table, struct above *above, struct text *text)
{
    text_append(text, "{\\footnotesize\n\\begin{longtable}");
    columns_write(table, text);
    above_write(above, text);
    text_append(text, "\\toprule\n");
    row_write(table, -1, text);
    text_append(text, "\\midrule\n\\endfirsthead\n\\toprule\n");
    row_write(table, -1, text);
    text_append(text, "\\midrule\n\\endhead\n");
    rows_write(table, text);
    text_append(text, "\\bottomrule\n\\end{longtable}}\n");
}

/* ---- the other blocks ---- */

/* A path that LaTeX takes as it is; others would need a name of their own, and the figure is left out. */
static bool path_is_plain(const char *path)
{
    return path[strspn(path, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-._")] == '\0';
}

static void figure_write(const struct page *page, const struct page_block *block, struct text *text)
{
    const struct plot_set *plots = page->plots;
    const struct text *svg = plot_set_svg(plots, block->anchor);
    if (svg != NULL && svg->length > 0 && plots->link != NULL && path_is_plain(plots->link) &&
        path_is_plain(block->anchor)) {
        text_format(text,
                    "\\begin{figure}[htbp]\\centering\n\\includegraphics[width=0.9\\linewidth,height=0.8\\textheight,"
                    "keepaspectratio]{%s/%s.png}\n",
                    plots->link, block->anchor);
        command_write("\\caption{", block->words, "}\n\\end{figure}\n", text);
    }
}

static const struct page_dialect dialect = {
    .append = latex_append,
    .strong = {"\\textbf{", "}"},
    .alert = {"\\textbf{", "}"},
    .marks = {[BLOCK_TITLE] = {"\\section*{", "}\n"},
              [BLOCK_HEADING] = {"\\subsection*{", "}\n"},
              [BLOCK_SUBHEADING] = {"\\subsubsection*{", "}\n"},
              [BLOCK_ALERT] = {"\\textbf{", "}\n"},
              [BLOCK_LEAD] = {"", "\n"},
              [BLOCK_TEXT] = {"", "\n"},
              [BLOCK_NOTE] = {"", "\n"},
              [BLOCK_ITEM] = {"\\item ", "\n"}},
};

struct latex {
    struct text *text;
    bool is_listed; /* the block before was an item */
    struct above above;
};

/* A document of few pages needs no contents, and a part is of another format. */
static void block_write(const struct page *page, const struct page_block *block, void *state)
{
    struct latex *latex = state;
    const bool is_item = block->kind == BLOCK_ITEM;
    text_append(latex->text, latex->is_listed && !is_item ? "\\end{itemize}\n" : "");
    text_append(latex->text, !is_item ? "\n" : latex->is_listed ? "" : "\\begin{itemize}\n");
    latex->is_listed = is_item;
    if (block->kind == BLOCK_TITLE || block->kind == BLOCK_HEADING || block->kind == BLOCK_SUBHEADING) {
        above_set(&latex->above, block);
    }
    if (block->kind == BLOCK_TABLE) {
        table_write(block->table, &latex->above, latex->text);
    } else if (block->kind == BLOCK_FIGURE) {
        figure_write(page, block, latex->text);
    } else {
        (void)page_words_write(&dialect, block, latex->text);
    }
}

/* ---- one table alone ---- */

struct fragment {
    struct text *text;
    struct text caption; /* what stood before the table: LaTeX */
    bool is_written;     /* the table; what follows is a remark for those who read the file */
};

static void caption_write(const struct page *page, const struct fragment *fragment)
{
    text_format(fragment->text, "\\caption{%s", text_string(&fragment->caption));
    if (page->origin[0] != '\0') {
        command_write(" On ", page->origin, ".", fragment->text);
    }
    text_append(fragment->text, "}");
    text_format(fragment->text, "\\label{%s}", page->label);
}

/* A float, which is made narrower if the column that it stands in is. */
static void float_write(const struct page *page, const struct page_table *table, struct fragment *fragment)
{
    text_append(fragment->text,
                "% Packages: array, booktabs, graphicx, textcomp; [T1]{fontenc}. For two columns write\n"
                "% \\newcommand{\\assaytable}{table*} before it is put in.\n"
                "\\providecommand{\\assaytable}{table}\n"
                "\\begin{\\assaytable}[htbp]\n\\centering\n");
    caption_write(page, fragment);
    text_append(fragment->text,
                "\n\\footnotesize\n\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%\n"
                "\\begin{tabular}");
    columns_write(table, fragment->text);
    text_append(fragment->text, "\\toprule\n");
    row_write(table, -1, fragment->text);
    text_append(fragment->text, "\\midrule\n");
    rows_write(table, fragment->text);
    text_append(fragment->text, "\\bottomrule\n\\end{tabular}}\n\\end{\\assaytable}\n");
}

static void long_write(const struct page *page, const struct page_table *table, struct fragment *fragment)
{
    int shown_count = 0;
    for (int index = 0; index < table->column_count; index++) {
        shown_count += is_shown(table, index) ? 1 : 0;
    }
    text_append(
        fragment->text,
        "% Packages: array, booktabs, longtable, textcomp; [T1]{fontenc}. Run LaTeX twice. It is of one column and\n"
        "% may be wide: write \\onecolumn before it, or put it into landscape (pdflscape).\n");
    text_append(fragment->text, shown_count > SMALL_COLUMNS_MINIMUM
                                    ? "{\\scriptsize\\setlength{\\tabcolsep}{3pt}\n\\begin{longtable}"
                                    : "{\\footnotesize\\setlength{\\tabcolsep}{4pt}\n\\begin{longtable}");
    columns_write(table, fragment->text);
    caption_write(page, fragment);
    text_append(fragment->text, "\\\\\n\\toprule\n");
    row_write(table, -1, fragment->text);
    text_append(fragment->text, "\\midrule\n\\endfirsthead\n\\toprule\n");
    row_write(table, -1, fragment->text);
    text_append(fragment->text, "\\midrule\n\\endhead\n");
    rows_write(table, fragment->text);
    text_append(fragment->text, "\\bottomrule\n\\end{longtable}}\n");
}

/* Headings and paragraphs before the table are sentences of its caption. */
static void fragment_block_write(const struct page *page, const struct page_block *block, void *state)
{
    struct fragment *fragment = state;
    if (block->kind == BLOCK_TABLE && !fragment->is_written) {
        fragment->is_written = true;
        (block->table->row_count > FLOAT_ROWS_MAXIMUM ? long_write : float_write)(page, block->table, fragment);
    } else if (block->words == NULL || block->words[0] == '\0' || block->kind == BLOCK_FIGURE) {
        return;
    } else if (fragment->is_written) {
        command_write("% ", block->words, "\n", fragment->text);
    } else {
        bool ends = strchr(".:;!?", block->words[strlen(block->words) - 1]) != NULL;
        command_write(fragment->caption.length > 0 ? " " : "", block->words, ends ? "" : ".", &fragment->caption);
    }
}

static void fragment_write(const struct page *page, struct text *text)
{
    struct fragment fragment = {.text = text};
    text->failed = !page_visit(page, MEDIUM_DOCUMENT, fragment_block_write, &fragment) || text->failed;
    if (!fragment.is_written) {
        text_format(text, "%% %s\n", text_string(&fragment.caption));
    }
    text->failed = text->failed || fragment.caption.failed;
    text_release(&fragment.caption);
}

void page_latex_write(const struct page *page, const struct report_style *style, struct text *text)
{
    struct latex latex = {.text = text};
    (void)style;
    if (page->label != NULL) {
        fragment_write(page, text);
        return;
    }
    text_append(text, preamble);
    text_append(text, "\\begin{document}\n");
    text->failed = !page_visit(page, MEDIUM_DOCUMENT, block_write, &latex) || text->failed;
    text_append(text, latex.is_listed ? "\\end{itemize}\n" : "");
    text_append(text, "\n\\end{document}\n");
    text->failed = text->failed || latex.above.title.failed || latex.above.heading.failed;
    text_release(&latex.above.title);
    text_release(&latex.above.heading);
}
