/* A gate as GitHub's workflow commands: an annotation for the verdict and for the gravest cases, which point at the
 * suite, and then the page of a terminal. The runner takes every line that begins with "::", and whatever follows
 * "##[", for a command: names of models and reasons come from outside, so none of them may begin a line that way, end
 * one, or end a property. */
#include <string.h>

#include "harness/gate/gate_page.h"
#include "harness/gate/gate_words.h"
#include "harness/report/escape.h"

/* GitHub shows ten of each kind for a step; the first one is the verdict. */
enum { ANNOTATIONS_MAXIMUM = 9 };

/* The value of a property, or a message: what ends it as %XX. Control characters and older commands are gone
 * (terminal_append). */
static void value_append(struct text *text, const char *string, bool is_property)
{
    struct text clean = {0};
    terminal_append(&clean, string);
    const char *at = text_string(&clean);
    for (size_t i = 0; at[i] != '\0'; i++) {
        const bool is_end = is_property && (at[i] == ':' || at[i] == ',');
        if (at[i] == '%' || is_end) {
            text_format(text, "%%%02X", (unsigned char)at[i]);
        } else {
            text_append_bytes(text, at + i, 1);
        }
    }
    text->failed = text->failed || clean.failed;
    text_release(&clean);
}

/* one: the case whose line it points at; NULL: the file as a whole. */
static void annotation_append(struct text *text, const struct gate *gate, const char *kind, const char *title,
                              const char *message, const struct gate_case *one)
{
    const int64_t line = one != NULL && one->now != NULL ? one->now->suite_line : 0;
    text_format(text, "::%s ", kind);
    if (gate->run->suite_path[0] != '\0') {
        text_append(text, "file=");
        value_append(text, gate->run->suite_path, true);
        text_append(text, ",");
        if (line > 0) {
            text_format(text, "line=%lld,", (long long)line);
        }
    }
    text_append(text, "title=");
    value_append(text, title, true);
    text_append(text, "::");
    value_append(text, message, false);
    text_append(text, "\n");
}

/* "::warning" for what does not decide. */
static void cases_annotate(struct text *text, const struct gate *gate, bool errors)
{
    int told = 0;
    for (int i = 0; i < gate->case_count && told < ANNOTATIONS_MAXIMUM; i++) {
        const struct gate_case *one = &gate->cases[gate->order[i]];
        if (one->decides == errors && one->verdict > GATE_NEW) {
            struct text message = {0}, title = {0};
            gate_case_append(&message, gate, one);
            text_format(&title, "%s %s", gate_verdict_word(one->verdict), one->id);
            annotation_append(text, gate, errors ? "error" : "warning", text_string(&title), text_string(&message),
                              one);
            text_release(&message);
            text_release(&title);
            told++;
        }
    }
}

void gate_github_refusal_write(const struct status *reason, struct text *text)
{
    text_append(text, "::error ");
    if (reason->path[0] != '\0') {
        text_append(text, "file=");
        value_append(text, reason->path, true);
        text_append(text, ",");
    }
    if (reason->path[0] != '\0' && reason->line > 0) {
        text_format(text, "line=%d,col=%d,", reason->line, reason->column);
    }
    text_append(text, "title=nothing was judged::");
    value_append(text, reason->text, false);
    text_append(text, "\n");
}

void gate_github_write(const struct gate *gate, const struct text *table, struct text *text)
{
    const char *kind = gate->outcome == RUN_PASS ? "notice" : "error";
    annotation_append(text, gate, kind, run_outcome_verdict(gate->outcome), gate->why, NULL);
    cases_annotate(text, gate, true);
    cases_annotate(text, gate, false);
    command_break_append(text, text_string(table)); /* the page of a terminal */
}
