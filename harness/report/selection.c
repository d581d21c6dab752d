/* Selection: what was selected held against what was attempted. Says what is missing and what is double; judges
 * nothing. */
#include "harness/report/selection.h"

#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/record/outcome.h"

struct selection_group {
    const char *started, *suite;
    int run_count;          /* run lines: more than one are copies */
    int64_t selected_count; /* attempts, by the run line */
    int64_t listed_count;   /* of these, what its `selected` lines name */
    int64_t made_count;     /* different ones */
    int doubled_count;      /* case lines that stand there again */
    bool is_whole;          /* of its suite: without a filter */
    bool is_listed;         /* it has `selected` lines */
    bool has_end, was_interrupted, was_stopped;
    bool is_replaced; /* by a later run of the whole suite */
    bool is_followed; /* by a later run of the suite, or of a part of it */
};

/* A case that a run selected (attempt: how many attempts it was to have), or attempted (which). */
struct selection_entry {
    int id, group;
    bool is_selected;
    int64_t attempt;
};

static void entry_add(struct selection *selection, const char *id, bool is_selected, int64_t attempt)
{
    int number = name_table_add(&selection->ids, &selection->arena, id);
    struct selection_entry *entries =
        number < 0 ? NULL
                   : array_extend(selection->entries, selection->entry_count, &selection->entry_room, sizeof *entries);
    if (entries == NULL) {
        selection->failed = true;
        return;
    }
    selection->entries = entries;
    entries[selection->entry_count++] = (struct selection_entry){
        .id = number, .group = selection->group, .is_selected = is_selected, .attempt = attempt};
}

static void run_add(struct selection *selection, const struct json *run)
{
    size_t known = selection->run_ids.count;
    const struct json *suite = json_get(run, "suite");
    int number =
        name_table_add(&selection->run_ids, &selection->arena, json_string_or(json_get(run, "run_id"), "(none)"));
    struct selection_group *groups =
        number < 0 ? NULL : array_extend(selection->groups, known, &selection->group_room, sizeof *groups);
    if (groups == NULL) {
        selection->failed = true;
        return;
    }
    selection->groups = groups;
    selection->group = number;
    if ((size_t)number == known) {
        groups[number] = (struct selection_group){
            .started = arena_copy(&selection->arena, json_string_or(json_get(run, "started"), "")),
            .suite = arena_copy(&selection->arena, json_string_or(json_get(suite, "name"), "")),
            .selected_count = json_integer_or(json_get(suite, "selected_count"), 0),
            .is_whole = json_kind(json_get(suite, "filter")) != JSON_KIND_STRING};
        selection->failed = selection->failed || groups[number].started == NULL || groups[number].suite == NULL;
    }
    groups[number].run_count++;
}

static void selected_add(struct selection *selection, const struct json *line)
{
    const struct json *ids = json_get(line, "ids"), *attempts = json_get(line, "attempts");
    for (size_t i = 0; !selection->failed && i < json_count(ids); i++) {
        entry_add(selection, json_string_or(json_at(ids, i), ""), true, json_integer_or(json_at(attempts, i), 1));
    }
    selection->groups[selection->group].is_listed = true;
}

void selection_add(struct selection *selection, const struct record_line *line)
{
    if (selection->failed) {
        return;
    }
    switch (line->type) {
    case RECORD_LINE_RUN:
        run_add(selection, line->value);
        break;
    case RECORD_LINE_SELECTED:
        selected_add(selection, line->value);
        break;
    case RECORD_LINE_CASE:
        entry_add(selection, json_string_or(json_get(line->value, "id"), "(no id)"), false,
                  json_integer_or(json_get(line->value, "attempt"), 1));
        break;
    case RECORD_LINE_END: {
        struct selection_group *group = &selection->groups[selection->group];
        group->has_end = true;
        group->was_interrupted = json_boolean_or(json_get(line->value, "interrupted"), false);
        group->was_stopped = json_kind(json_get(line->value, "stopped")) == JSON_KIND_STRING;
        break;
    }
    case RECORD_LINE_RESUMED:
        selection->groups[selection->group].has_end = false;
        break;
    case RECORD_LINE_NONE:
        break;
    }
}

static int entry_order(const void *left, const void *right)
{
    const struct selection_entry *a = left, *b = right;
    int order = (a->id > b->id) - (a->id < b->id);
    order = order != 0 ? order : (a->group > b->group) - (a->group < b->group);
    order = order != 0 ? order : b->is_selected - a->is_selected;
    return order != 0 ? order : (a->attempt > b->attempt) - (a->attempt < b->attempt);
}

/* Which runs a later one of the whole suite replaces, and which a later one of the same suite follows. */
static void runs_relate(struct selection *selection)
{
    size_t count = selection->run_ids.count;
    for (size_t at = 0; at < count; at++) {
        struct selection_group *group = &selection->groups[at];
        for (size_t later = at + 1; later < count && !group->is_replaced; later++) {
            bool same = strcmp(selection->groups[later].suite, group->suite) == 0;
            group->is_followed = group->is_followed || same;
            group->is_replaced = same && selection->groups[later].is_whole;
        }
    }
}

/* What is found about the records, in steps. */
struct settling {
    struct selection *selection;
    struct report *report;
    size_t missing_room;
    int several_count; /* cases that more than one run attempted */
    int last_short;    /* the last group that lacks something; -1: none */
};

static void missing_add(struct settling *settling, const struct missing_case *one, int group)
{
    struct report *report = settling->report;
    struct missing_case *list =
        array_extend(report->missing, (size_t)report->missing_count, &settling->missing_room, sizeof *list);
    if (list == NULL || report->missing_count == INT_MAX) {
        settling->selection->failed = true;
        return;
    }
    report->missing = list;
    list[report->missing_count++] = *one;
    settling->last_short = group > settling->last_short ? group : settling->last_short;
}

/* The entries of one case in one group: how many attempts it was to have (-1: the group did not select it), and how
 * many different ones there are. Returns the number of entries. */
static size_t group_look(struct settling *settling, const struct selection_entry *entries, size_t count,
                         struct missing_case *found)
{
    struct selection_group *group = &settling->selection->groups[entries[0].group];
    size_t at = 0;
    found->wanted_count = -1;
    found->made_count = 0;
    for (; at < count && entries[at].id == entries[0].id && entries[at].group == entries[0].group; at++) {
        bool again = at > 0 && entries[at - 1].is_selected == entries[at].is_selected &&
                     (entries[at].is_selected || entries[at - 1].attempt == entries[at].attempt);
        if (entries[at].is_selected) {
            found->wanted_count = entries[at].attempt;
            group->listed_count += again || entries[at].attempt > INT_MAX ? 0 : entries[at].attempt;
        } else {
            found->made_count += again ? 0 : 1;
            group->made_count += again ? 0 : 1;
            group->doubled_count += again ? 1 : 0;
        }
    }
    return at;
}

/* All entries of one case: what the last run that selected it lacks, unless a later one that lists nothing has it.
 * Returns their number. */
static size_t case_look(struct settling *settling, const struct selection_entry *entries, size_t count)
{
    struct missing_case last = {.wanted_count = -1}, found = {0};
    int last_group = -1, attempting_count = 0;
    size_t at = 0;
    while (at < count && entries[at].id == entries[0].id) {
        int group = entries[at].group;
        at += group_look(settling, &entries[at], count - at, &found);
        if (found.wanted_count >= 0 && !settling->selection->groups[group].is_replaced) {
            last = found;
            last.has_older = attempting_count > 0;
            last_group = group;
        } else if (found.made_count > 0) {
            last.wanted_count = -1;
        }
        attempting_count += found.made_count > 0 ? 1 : 0;
    }
    settling->several_count += attempting_count > 1 ? 1 : 0;
    if (last.wanted_count > last.made_count) {
        last.id = arena_copy(&settling->report->arena, settling->selection->ids.entries[entries[0].id].text);
        settling->selection->failed = settling->selection->failed || last.id == NULL;
        missing_add(settling, &last, last_group);
    }
    return at;
}

/* What the run lines count and nothing names. */
static void unnamed_count(struct settling *settling)
{
    for (size_t at = 0; at < settling->selection->run_ids.count; at++) {
        const struct selection_group *group = &settling->selection->groups[at];
        int64_t named_count = group->is_listed ? group->listed_count : group->made_count;
        int64_t unnamed_count = group->selected_count - named_count;
        if (unnamed_count > 0 && unnamed_count <= INT_MAX &&
            !(group->is_listed ? group->is_replaced : group->is_followed)) {
            settling->report->unnamed_missing_count += (int)unnamed_count;
            settling->last_short = (int)at > settling->last_short ? (int)at : settling->last_short;
        }
    }
}

static const char *cause_of(const struct settling *settling)
{
    const struct selection_group *groups = settling->selection->groups;
    size_t count = settling->selection->run_ids.count;
    if (settling->last_short >= 0) {
        const struct selection_group *group = &groups[settling->last_short];
        bool is_last = (size_t)settling->last_short + 1 == count;
        return !group->has_end          ? is_last ? OUTCOME_NO_END : "the run was killed"
               : group->was_stopped     ? OUTCOME_STOPPED
               : group->was_interrupted ? OUTCOME_INTERRUPTED
                                        : "their lines are not in the records";
    }
    return count > 0 && !groups[count - 1].has_end ? OUTCOME_NO_END : NULL;
}

static void note_begin(struct text *notes)
{
    text_append(notes, notes->length > 0 ? "; " : "");
}

static void notes_append(const struct settling *settling, struct text *notes)
{
    enum { COPIES_NAMED = 3 };
    int copied_count = 0, doubled_count = 0;
    for (size_t at = 0; at < settling->selection->run_ids.count; at++) {
        const struct selection_group *group = &settling->selection->groups[at];
        doubled_count += group->run_count == 1 ? group->doubled_count : 0;
        if (group->run_count > 1 && copied_count++ < COPIES_NAMED) {
            note_begin(notes);
            text_format(notes, "the run of %s stands %d times in these records, and its cases count once",
                        group->started, group->run_count);
        }
    }
    if (copied_count > COPIES_NAMED) {
        text_format(notes, "; and %d more", copied_count - COPIES_NAMED);
    }
    if (doubled_count > 0) {
        note_begin(notes);
        text_format(notes, "%d attempt%s there more than once in one run", doubled_count,
                    doubled_count == 1 ? " stands" : "s stand");
    }
    if (settling->several_count > 0) {
        note_begin(notes);
        text_format(notes, "%d case%s attempted by several runs, of which the last counts", settling->several_count,
                    settling->several_count == 1 ? " was" : "s were");
    }
}

bool selection_settle(struct selection *selection, struct report *report)
{
    struct settling settling = {.selection = selection, .report = report, .last_short = -1};
    struct text notes = {0};
    runs_relate(selection);
    if (selection->entry_count > 0) {
        qsort(selection->entries, selection->entry_count, sizeof *selection->entries, entry_order);
    }
    for (size_t at = 0; at < selection->entry_count;) {
        at += case_look(&settling, &selection->entries[at], selection->entry_count - at);
    }
    unnamed_count(&settling);
    report->missing_cause = cause_of(&settling);
    notes_append(&settling, &notes);
    report->notes = arena_copy(&report->arena, text_string(&notes));
    bool made = !selection->failed && !notes.failed && report->notes != NULL;
    text_release(&notes);
    return made;
}

void selection_release(struct selection *selection)
{
    name_table_release(&selection->ids);
    name_table_release(&selection->run_ids);
    free(selection->groups);
    free(selection->entries);
    arena_release(&selection->arena);
    *selection = (struct selection){0};
}
