/* Note groups: a name table of the notes, and the first titles of each. */
#include "harness/report/note_groups.h"

#include <stdlib.h>

#include "harness/base/array.h"

enum { TITLES_MAXIMUM = 12 /* named in a line; the others are counted */ };

struct note_group {
    const char *titles[TITLES_MAXIMUM];
    int count;
};

void note_groups_add(struct note_groups *notes, const char *title, const char *words)
{
    if (words[0] == '\0') {
        return;
    }
    int number = name_table_add(&notes->words, &notes->arena, words);
    const char *copy = arena_format(&notes->arena, "%s", title);
    struct note_group *groups = array_extend(notes->groups, (size_t)notes->count, &notes->room, sizeof *groups);
    notes->groups = groups != NULL ? groups : notes->groups;
    if (number < 0 || copy == NULL || groups == NULL) {
        notes->failed = true;
        return;
    }
    if (number == notes->count) {
        notes->groups[notes->count++] = (struct note_group){.count = 0};
    }
    struct note_group *group = &notes->groups[number];
    if (group->count < TITLES_MAXIMUM) {
        group->titles[group->count] = copy;
    }
    group->count++;
}

static void note_groups_line(const struct note_groups *notes, int at, struct text *line)
{
    const struct note_group *group = &notes->groups[at];
    int named = group->count < TITLES_MAXIMUM ? group->count : TITLES_MAXIMUM;
    for (int title = 0; title < named; title++) {
        text_append(line, title == 0 ? "" : title == group->count - 1 ? " and " : ", ");
        text_append(line, group->titles[title]);
    }
    if (group->count > named) {
        text_format(line, " and %d more", group->count - named);
    }
    text_format(line, ": %s", notes->words.entries[at].text);
}

void note_groups_describe(const struct note_groups *notes, const char *heading, unsigned media, struct page *page)
{
    if (notes->count > 0) {
        page_words(page, BLOCK_HEADING, media, heading);
    }
    for (int at = 0; at < notes->count; at++) {
        struct text line = {0};
        note_groups_line(notes, at, &line);
        page_words_move(page, BLOCK_ITEM, media, &line);
    }
    page->failed = page->failed || notes->failed;
}

void note_groups_release(struct note_groups *notes)
{
    name_table_release(&notes->words);
    arena_release(&notes->arena);
    free(notes->groups);
    *notes = (struct note_groups){0};
}
