/* Gate page: what a gate found, described once for every format for people. Documents and screens begin with the
 * verdict, a terminal ends with it. What programs read is in gate_document.c and gate_github.c. */
#include "harness/gate/gate_page.h"

#include <string.h>

#include "harness/gate/gate_words.h"
#include "harness/report/page_format.h"

enum { ROWS_TERMINAL = 8, ROWS_DOCUMENT = 50, LABEL_COLUMNS = 10, NAME_COLUMNS = 19, VERDICT_COLUMNS = 13 };

/* What is described: a gate, and how many cases of it. */
struct gate_subject {
    const struct gate *gate;
    int rows; /* 0: all */
};

struct telling {
    struct page *page;
    const struct gate *gate;
    int rows;
};

/* Whether a case is told with its figures; else with a sentence, or not at all. */
static bool is_change(const struct gate_case *one)
{
    const bool is_loud = one->verdict == GATE_BREACH || one->verdict == GATE_WARN || one->verdict == GATE_KNOWN;
    return is_loud && one->worst_level < LEVEL_COUNT && one->now != NULL &&
           (one->base != NULL || (one->by_prediction & (1U << one->worst_level)) != 0);
}

static bool is_trouble(const struct gate_case *one)
{
    return one->verdict > GATE_NEW && !is_change(one);
}

/* ---- head ---- */

static void verdict_describe(const struct telling *telling)
{
    const struct gate *gate = telling->gate;
    const char *word = run_outcome_verdict(gate->outcome);
    struct text words = {0};
    text_format(&words, "%s.", gate->why + strlen(word));
    page_verdict(telling->page, MEDIA_READ, word, gate->outcome != RUN_PASS, text_string(&words));
    telling->page->failed = telling->page->failed || words.failed;
    text_release(&words);
}

static void side_append(struct text *words, const char *name, const struct run_figures *side)
{
    text_append(words, name);
    if (strcmp(name, side->source) == 0 && side->started[0] != '\0') {
        text_format(words, ", %s", side->started);
    }
    text_format(words, ": %d case%s", side->case_count, side->case_count == 1 ? "" : "s");
}

static void side_row_add(const struct telling *telling, struct page_table *table, const char *label, struct text *words)
{
    const char *kept = page_word_move(telling->page, words);
    page_say(telling->page, BLOCK_ITEM, MEDIA_READ, "%s %s", label, kept);
    page_row_add(telling->page, table, (const struct cell[]){cell_word(label), cell_word(kept)});
}

static void sides_describe(const struct telling *telling)
{
    const struct gate *gate = telling->gate;
    const struct page_column columns[] = {
        {.title = "", .kind = CELL_WORD, .width = LABEL_COLUMNS + (gate->reference != NULL ? 1 : 0)},
        {.title = "", .kind = CELL_WORD, .width = WIDTH_REST}};
    struct page_table *table = page_table_add(telling->page, MEDIUM_TERMINAL, columns, 2);
    struct text run = {0}, baseline = {0}, policy = {0}, reference = {0};
    table->has_no_heading = true;
    side_append(&run, gate->run->source, gate->run);
    if (gate->baseline != NULL) {
        side_append(&baseline, gate->baseline_words, gate->baseline);
    } else {
        const char *reason = gate->lacking != NULL ? gate->lacking : gate->first;
        text_format(&baseline, "none%s%s: the run is judged by its own verdicts and what replay predicts",
                    reason != NULL ? ", " : "", reason != NULL ? reason : "");
    }
    side_row_add(telling, table, "run:", &run);
    side_row_add(telling, table, "baseline:", &baseline);
    if (gate->reference != NULL) {
        side_append(&reference, gate->reference_words, gate->reference);
        side_row_add(telling, table, "reference:", &reference);
    }
    text_append(&policy, gate->policy->path != NULL ? gate->policy->path : "built in");
    side_row_add(telling, table, "policy:", &policy);
}

/* ---- environment ---- */

static int difference_count(const struct gate *gate)
{
    int count = 0;
    for (int i = 0; i < ENVIRONMENT_COUNT; i++) {
        count += gate->differs[i] ? 1 : 0;
    }
    return count;
}

static void environment_describe(const struct telling *telling)
{
    static const struct page_column columns[] = {
        {.title = "property", .kind = CELL_WORD, .width = NAME_COLUMNS},
        {.title = "baseline", .kind = CELL_WORD, .media = MEDIA_READ},
        {.title = "now", .kind = CELL_WORD, .media = MEDIA_READ},
        {.title = "", .kind = CELL_WORD, .media = MEDIUM_TERMINAL, .width = WIDTH_REST},
    };
    const struct gate *gate = telling->gate;
    const int count = difference_count(gate);
    if (gate->baseline == NULL) {
        return;
    }
    page_link_heading(telling->page, MEDIA_READ, "environment", "Environment");
    if (count == 0) {
        page_words(telling->page, BLOCK_HEADING, MEDIUM_TERMINAL, "environment: no difference is recorded");
        page_words(telling->page, BLOCK_TEXT, MEDIA_READ, "No difference is recorded.");
        return;
    }
    page_say(telling->page, BLOCK_HEADING, MEDIUM_TERMINAL, "environment: %d difference%s", count,
             count == 1 ? "" : "s");
    struct page_table *table = page_table_add(telling->page, MEDIUM_ALL, columns, 4);
    table->indent = 2;
    table->has_no_heading = true;
    for (int i = 0; i < ENVIRONMENT_COUNT; i++) {
        if (gate->differs[i]) {
            const char *base = gate->baseline->environment[i], *now = gate->run->environment[i];
            struct text change = {0};
            text_format(&change, "%s -> %s", base, now);
            page_row_add(telling->page, table,
                         (const struct cell[]){cell_word(environment_words((enum environment)i)), cell_word(base),
                                               cell_word(now), cell_word(page_word_move(telling->page, &change))});
        }
    }
}

/* ---- cases ---- */

/* "12 more are not listed here: 4 BREACH, 8 WARN; --rows 0 lists all"; nothing if none is left out. */
static void left_out_describe(const struct telling *telling, const int left[GATE_VERDICT_COUNT])
{
    struct text words = {0};
    const char *separator = "";
    int count = 0;
    for (int verdict = GATE_VERDICT_COUNT - 1; verdict >= 0; verdict--) {
        if (left[verdict] > 0) {
            text_format(&words, "%s%d %s", separator, left[verdict], gate_verdict_word((enum gate_verdict)verdict));
            separator = ", ";
            count += left[verdict];
        }
    }
    if (count > 0) {
        const char *verb = count == 1 ? "is" : "are";
        page_line(telling->page, 2, "%d more %s not listed here: %s; --rows 0 lists all", count, verb,
                  text_string(&words));
        page_say(telling->page, BLOCK_TEXT, MEDIA_READ, "%d more %s not listed here: %s.", count, verb,
                 text_string(&words));
    }
    telling->page->failed = telling->page->failed || words.failed;
    text_release(&words);
}

static void change_row_add(const struct telling *telling, struct page_table *table, const struct gate_case *one)
{
    const int level = one->worst_level;
    const int64_t base_bytes = gate_base_bytes(one, level), now_bytes = one->now->measured.of[level];
    const bool known = base_bytes > 0 && now_bytes != FIGURE_BYTES_UNKNOWN;
    struct text why = {0};
    gate_case_append(&why, telling->gate, one);
    struct cell change = cell_error(known, known ? (double)(now_bytes - base_bytes) / (double)base_bytes : 0.0);
    change.is_bad = one->decides;
    page_row_add(telling->page, table,
                 (const struct cell[]){
                     cell_word(gate_verdict_word(one->verdict)), cell_word(level_name((enum level)level)),
                     cell_bytes(base_bytes), cell_bytes(now_bytes), cell_difference(now_bytes, base_bytes), change,
                     cell_word(one->now->label), cell_word(one->id), cell_word(page_word_move(telling->page, &why))});
}

static int kind_count(const struct gate *gate, bool (*is_kind)(const struct gate_case *one))
{
    int count = 0;
    for (int i = 0; i < gate->case_count; i++) {
        count += is_kind(&gate->cases[i]) ? 1 : 0;
    }
    return count;
}

static void changes_describe(const struct telling *telling)
{
    static const struct page_column columns[] = {
        {.title = "verdict", .short_title = "", .kind = CELL_WORD, .width = 7},
        {.title = "level", .kind = CELL_WORD, .width = 10},
        {.title = "baseline", .kind = CELL_BYTES, .media = MEDIA_READ},
        {.title = "now", .kind = CELL_BYTES, .media = MEDIA_READ},
        {.title = "difference", .kind = CELL_DIFFERENCE, .width = 12},
        {.title = "change", .kind = CELL_ERROR, .width = 10},
        {.title = "case", .kind = CELL_WORD, .media = MEDIUM_TERMINAL, .lead = 2, .width = WIDTH_REST},
        {.title = "case", .kind = CELL_WORD, .media = MEDIA_READ},
        {.title = "why", .kind = CELL_WORD, .media = MEDIA_READ},
    };
    const struct gate *gate = telling->gate;
    const int count = kind_count(gate, is_change);
    int left[GATE_VERDICT_COUNT] = {0}, listed = 0;
    if (count == 0) {
        return;
    }
    page_say(telling->page, BLOCK_HEADING, MEDIUM_TERMINAL, "changed: %d of %d cases, the largest change first", count,
             gate->case_count);
    page_link_heading(telling->page, MEDIA_READ, "changes", "Changes");
    page_say(telling->page, BLOCK_TEXT, MEDIA_READ,
             "%d of %d cases changed; what decides comes first, and of this the largest change.", count,
             gate->case_count);
    struct page_table *table = page_table_add(telling->page, MEDIUM_ALL, columns, 9);
    table->indent = 2;
    for (int i = 0; i < gate->case_count; i++) {
        const struct gate_case *one = &gate->cases[gate->order[i]];
        if (is_change(one) && (telling->rows == 0 || listed < telling->rows)) {
            change_row_add(telling, table, one);
            listed++;
        } else if (is_change(one)) {
            left[one->verdict]++;
        }
    }
    left_out_describe(telling, left);
}

static struct page_table *trouble_table_add(const struct telling *telling)
{
    static const struct page_column columns[] = {
        {.title = "verdict", .kind = CELL_WORD, .width = VERDICT_COLUMNS},
        {.title = "case", .kind = CELL_WORD, .media = MEDIA_READ},
        {.title = "why", .kind = CELL_WORD, .media = MEDIA_READ},
        {.title = "", .kind = CELL_WORD, .media = MEDIUM_TERMINAL, .width = WIDTH_REST},
    };
    struct page_table *table = page_table_add(telling->page, MEDIUM_ALL, columns, 4);
    table->indent = 2;
    table->has_no_heading = true;
    return table;
}

struct case_name {
    const char *id, *label;
};

static void trouble_row_add(const struct telling *telling, struct page_table *table, const char *verdict,
                            const struct case_name *name, const char *why)
{
    struct text both = {0};
    text_format(&both, "%s: %s", name->label, why);
    page_row_add(telling->page, table,
                 (const struct cell[]){cell_word(verdict), cell_word(name->id), cell_word(why),
                                       cell_word(page_word_move(telling->page, &both))});
}

/* Cases that failed as a whole, that are missing or could not be judged, and those that the run selected and did not
 * make, of which the baseline says nothing. */
static void troubles_describe(const struct telling *telling)
{
    const struct gate *gate = telling->gate;
    const char *cause = gate->run->absent_cause != NULL ? gate->run->absent_cause : "selected, and not made";
    const int count = kind_count(gate, is_trouble);
    int left[GATE_VERDICT_COUNT] = {0}, listed = 0, strangers = 0;
    for (int i = 0; i < gate->run->absent_count; i++) {
        const bool told = gate->baseline != NULL && gate->refused == 0 &&
                          run_figures_find(gate->baseline, gate->run->absent[i].id) != NULL;
        strangers += told ? 0 : 1;
    }
    if (count + strangers == 0) {
        return;
    }
    page_say(telling->page, BLOCK_HEADING, MEDIUM_TERMINAL, "failed, missing or not judged: %d case%s",
             count + strangers, count + strangers == 1 ? "" : "s");
    page_link_heading(telling->page, MEDIA_READ, "missing", "Failed, missing or not judged");
    struct page_table *table = trouble_table_add(telling);
    for (int i = 0; i < gate->case_count; i++) {
        const struct gate_case *one = &gate->cases[gate->order[i]];
        if (is_trouble(one) && (telling->rows == 0 || listed < telling->rows)) {
            const struct case_name name = {one->id, one->now != NULL ? one->now->label : one->base->label};
            struct text why = {0};
            gate_case_append(&why, gate, one);
            trouble_row_add(telling, table, gate_verdict_word(one->verdict), &name,
                            page_word_move(telling->page, &why));
            listed++;
        } else if (is_trouble(one)) {
            left[one->verdict]++;
        }
    }
    for (int i = 0; i < gate->run->absent_count; i++) {
        const char *id = gate->run->absent[i].id;
        const bool told = gate->baseline != NULL && gate->refused == 0 && run_figures_find(gate->baseline, id) != NULL;
        if (!told && (telling->rows == 0 || listed < telling->rows)) {
            trouble_row_add(telling, table, gate_verdict_word(GATE_MISSING), &(struct case_name){id, id}, cause);
            listed++;
        } else if (!told) {
            left[GATE_MISSING]++;
        }
    }
    left_out_describe(telling, left);
}

/* ---- notes and the end ---- */

static void note_add(void *context, const char *words)
{
    const struct telling *telling = context;
    page_line(telling->page, 0, "note: %s", words);
    page_words(telling->page, BLOCK_ITEM, MEDIA_READ, words);
}

static void note_count(void *context, const char *words)
{
    (void)words;
    ++*(int *)context;
}

static void notes_describe(struct telling *telling)
{
    int count = 0;
    gate_notes_visit(telling->gate, note_count, &count);
    if (count > 0) {
        page_link_heading(telling->page, MEDIA_READ, "notes", "Notes");
        gate_notes_visit(telling->gate, note_add, telling);
    }
}

static void totals_describe(const struct telling *telling)
{
    struct text words = {0};
    gate_counts_append(&words, telling->gate);
    page_gap(telling->page);
    page_words_move(telling->page, BLOCK_LEAD, MEDIUM_TERMINAL, &words);
    page_words(telling->page, BLOCK_LEAD, MEDIUM_TERMINAL, telling->gate->why);
}

static void gate_describe(const void *subject, struct page *page)
{
    const struct gate_subject *all = subject;
    struct telling telling = {page, all->gate, all->rows};
    struct text counts = {0};
    page_words(page, BLOCK_TITLE, MEDIA_READ, "Gate");
    verdict_describe(&telling);
    gate_counts_append(&counts, all->gate);
    text_append(&counts, ".");
    page_words_move(page, BLOCK_TEXT, MEDIA_READ, &counts);
    sides_describe(&telling);
    environment_describe(&telling);
    changes_describe(&telling);
    troubles_describe(&telling);
    notes_describe(&telling);
    totals_describe(&telling);
}

/* ---- formats ---- */

static enum status_code gate_document(const void *subject, struct text *text, struct status *error)
{
    return gate_document_write(((const struct gate_subject *)subject)->gate, text, error);
}

static const struct page_kind gate_kind = {
    .name = "a gate",
    .what = "the page of a gate",
    .describe = gate_describe,
    .document = gate_document,
};

struct own_format {
    const char *word;
    gate_own_writer *write;
};

static const struct own_format own_formats[GATE_FORMAT_COUNT] = {
#define OWN_FORMAT(name, word) [GATE_FORMAT_##name] = {word, gate_##name##_write},
    GATE_FORMAT_TABLE(OWN_FORMAT)
#undef OWN_FORMAT
};

enum status_code gate_format_parse(const char *name, struct gate_style *style, struct status *error)
{
    struct status cause = {0};
    style->format = GATE_FORMAT_PAGE;
    for (int i = GATE_FORMAT_PAGE + 1; i < GATE_FORMAT_COUNT; i++) {
        if (strcmp(name, own_formats[i].word) == 0) {
            style->format = (enum gate_format)i;
            return STATUS_OK;
        }
    }
    enum status_code code = page_format_parse(&gate_kind, name, &style->page, &cause);
    return code == STATUS_OK ? code
                             : status_set(error, code, "%s" GATE_FORMAT_TABLE(GATE_FORMAT_HELP_WORD), cause.text);
}

enum status_code gate_render(const struct gate *gate, const struct gate_style *style, struct text *text,
                             struct status *error)
{
    const bool is_terminal = style->format != GATE_FORMAT_PAGE || style->page == REPORT_TABLE;
    const struct report_style page_style = {.width = style->width,
                                            .colour = style->colour && style->format == GATE_FORMAT_PAGE};
    const struct gate_subject subject = {gate, style->rows != GATE_ROWS_USUAL ? style->rows
                                               : is_terminal                  ? ROWS_TERMINAL
                                                                              : ROWS_DOCUMENT};
    if (style->format != GATE_FORMAT_PAGE) {
        struct text table = {0};
        enum status_code code = page_render(&gate_kind, &subject, REPORT_TABLE, &page_style, &table, error);
        if (code == STATUS_OK) {
            own_formats[style->format].write(gate, &table, text);
            code = text_status(text, gate_kind.what, error);
        }
        text_release(&table);
        return code;
    }
    return page_render(&gate_kind, &subject, style->page, &page_style, text, error);
}

enum status_code gate_summary_render(const struct gate *gate, struct text *text, struct status *error)
{
    enum status_code code = STATUS_OK;
    bool fits = false;
    for (int rows = ROWS_DOCUMENT; code == STATUS_OK && !fits; rows /= 2) {
        const struct gate_style style = {.page = REPORT_MARKDOWN, .rows = rows > 0 ? rows : 1};
        struct text page = {0};
        code = gate_render(gate, &style, &page, error);
        fits = page.length < GATE_SUMMARY_BYTES;
        if (code == STATUS_OK && !fits && rows == 0) { /* a single name is longer than that */
            text_format(text, "# Gate\n\n**%s**\n", run_outcome_verdict(gate->outcome));
            fits = true;
        } else if (code == STATUS_OK && fits) {
            text_append(text, text_string(&page));
        }
        text_release(&page);
    }
    return code == STATUS_OK ? text_status(text, gate_kind.what, error) : code;
}
