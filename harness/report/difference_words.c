/* Differences in words: the sentences that the writers of comparisons share. Raw text: writers escape it. */
#include <stdio.h>
#include <string.h>

#include "harness/report/difference_view.h"

enum { DAY_BYTES = 10 }; /* "2026-11-22" */

/* "assay 0.1.0 (316b230e) on cuda (NVIDIA H200), 2026-11-22, DIR (99 cases: 99 ok)"; the day on which it began. */
void side_append(struct text *text, const struct report *report)
{
    const struct json *run = report_run(report), *tool = json_get(run, "tool");
    const char *revision = json_string_or(json_get(tool, "revision"), "");
    const char *started = json_string_or(json_get(run, "started"), "");
    struct text device = {0};
    text_format(text, "%s %s", json_string_or(json_get(tool, "name"), "?"),
                json_string_or(json_get(tool, "version"), "?"));
    text_format(text, "%s%s%s", revision[0] != '\0' ? " (" : "", revision, revision[0] != '\0' ? ")" : "");
    device_append(&device, report);
    text_format(text, "%s%s%s%.*s, %s (", device.length > 0 ? " on " : "", text_string(&device),
                started[0] != '\0' ? ", " : "", DAY_BYTES, started, report->source);
    statuses_append(text, report);
    text_append(text, ")");
    text_release(&device);
}

static void rule_word(const struct difference_rule *rule, struct text *text)
{
    char word[TOLERANCE_TEXT_BYTES];
    const struct tolerance *tolerance = &rule->rule.tolerance;
    bool exact = tolerance->kind == TOLERANCE_BYTES ? tolerance->bytes == 0 : !(tolerance->fraction > 0.0);
    text_append(text, rule->rule.kind == LEVEL_RULE_NONE ? "not judged"
                      : exact                            ? "exact"
                                                         : tolerance_format(tolerance, word));
}

/* Levels of one rule stand together: "requested, allocated, reserved: exact". */
void rules_append(struct text *text, const struct difference *difference)
{
    static const char *const sources[] = {"", " (default)", " (of the suite)", " (--tolerance)"};
    struct text last = {0};
    for (int level = 0; level < LEVEL_COUNT; level++) {
        struct text word = {0};
        rule_word(&difference->rules[level], &word);
        text_append(&word, sources[difference->rules[level].source]);
        bool is_next = level == 0 || strcmp(text_string(&last), text_string(&word)) != 0;
        if (is_next && level > 0) {
            text_format(text, ": %s; ", text_string(&last));
        }
        text_format(text, "%s%s", is_next ? "" : ", ", level_name((enum level)level));
        text_release(&last);
        last = word;
    }
    text_format(text, ": %s", text_string(&last));
    text_release(&last);
}

static const char *cases_word(int count)
{
    return count == 1 ? "case" : "cases";
}

/* "; process beyond 4.00 MiB in 19 cases", after what text has. */
static void levels_append(struct text *text, const struct difference *difference)
{
    for (int level = 0; level < LEVEL_COUNT; level++) {
        int count = difference->levels[level].beyond_count;
        struct text rule = {0};
        rule_word(&difference->rules[level], &rule);
        bool exact = strcmp(text_string(&rule), "exact") == 0;
        if (count > 0) {
            text_format(text, "; %s %s%s in %d %s", level_name((enum level)level), exact ? "not equal" : "beyond ",
                        exact ? "" : text_string(&rule), count, cases_word(count));
        }
        text_release(&rule);
    }
}

static void count_append(struct text *text, const char *what, int count)
{
    if (count > 0) {
        text_format(text, "; %s in %d %s", what, count, cases_word(count));
    }
}

static void selected_append(struct text *text, int count, const char *more)
{
    if (count > 0) {
        text_format(text, "; %d %s that the new run selected %s missing%s", count, cases_word(count),
                    count == 1 ? "is" : "are", more);
    }
}

/* What is not known: missing cases, readings that cannot be judged, nothing measured. */
static void unknowns_append(struct text *text, const struct difference *difference)
{
    int lost_count = difference->missing_count - difference->stranger_count;
    if (lost_count > 0) {
        text_format(text, "; %d %s of the old records %s missing from the new ones", lost_count, cases_word(lost_count),
                    lost_count == 1 ? "is" : "are");
    }
    selected_append(text, difference->stranger_count, "");
    selected_append(text, difference->unnamed_count, ", and its records do not say which");
    count_append(text, "the new run made fewer attempts than it selected", difference->short_count);
    for (int level = 0; level < LEVEL_COUNT; level++) {
        int count = difference->levels[level].open_count;
        if (count > 0) {
            text_format(text, "; %s could not be judged in %d %s", level_name((enum level)level), count,
                        cases_word(count));
        }
    }
    if (difference->measured_count == 0) {
        text_append(text, "; no case was measured in both");
    }
}

/* That BASE is incomplete is told, and no failure of NEW. */
static void base_append(struct text *text, const struct report *base)
{
    if (base->missing_count + base->unnamed_missing_count > 0) {
        text_format(text, "; the old records are incomplete%s%s", base->missing_cause != NULL ? ": " : "",
                    base->missing_cause != NULL ? base->missing_cause : "");
    }
}

void outcome_append(struct text *text, const struct difference *difference)
{
    struct text reasons = {0};
    int gone = difference->gone_count;
    if (gone > 0) {
        text_format(&reasons, "; %d %s that the old run measured %s not measured in the new one", gone,
                    cases_word(gone), gone == 1 ? "was" : "were");
    }
    levels_append(&reasons, difference);
    count_append(&reasons, "saved bytes", difference->saved_count);
    count_append(&reasons, "another status", difference->status_count);
    count_append(&reasons, "another prediction", difference->prediction_count);
    unknowns_append(&reasons, difference);
    text_append(text, run_outcome_verdict(difference->outcome));
    text_append(text, reasons.length > 0 ? ": " : ": no figure is beyond its tolerance");
    text_append(text, reasons.length > 0 ? text_string(&reasons) + 2 : "");
    base_append(text, difference->base);
    if (environment_difference_count(difference->environment) > 0) {
        text_append(text, "; the environment differs in ");
        environment_append(text, difference->environment, ENVIRONMENT_DIFFERING);
    }
    text_release(&reasons);
}
