/* Case words: what follows from the register of fields (harness/case/case_field.h) for the records of cases. Phrases
 * about what was measured are case_phrases.c's. */
#include "harness/report/case_words.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/case/share.h"
#include "harness/case/workload.h"

/* -1: none. */
static int64_t share_read(const struct json *value)
{
    double share = json_real_or(value, -1.0);
    return share >= 0.0 && share < 1.0 ? share_millionths(share) : -1;
}

void case_fields_read(struct filling *filling, const struct json *identity)
{
    struct case_view *view = filling->view;
    view->model = word_read(filling, json_get(identity, "model"), NULL);
#define READ_NAME(member)             view->member = word_read(filling, json_get(identity, #member), NULL);
#define READ_COUNT(member)            view->member = json_integer_or(json_get(identity, #member), -1);
#define READ_SWITCH(member)           view->member = json_boolean_or(json_get(identity, #member), false);
#define READ_SHARE(member)            view->member = share_read(json_get(identity, #member));
#define READ_TEXT(member)             READ_NAME(member)
#define READ(name, member, kind, ...) READ_##kind(member)
    CASE_FIELD_TABLE(READ)
}

static const char *count_word(int64_t count, char buffer[CASE_WORD_BYTES])
{
    snprintf(buffer, CASE_WORD_BYTES, "%" PRId64, count);
    return count >= 0 ? buffer : NULL;
}

const char *case_field_said(const struct case_view *view, enum case_field field, char buffer[CASE_WORD_BYTES])
{
    switch (field) {
#define SAID_NAME(member)   view->member
#define SAID_COUNT(member)  count_word(view->member, buffer)
#define SAID_SWITCH(member) view->member ? "true" : "false"
#define SAID_SHARE(member)  view->member < 0 ? NULL : case_field_value_text(field, view->member, buffer)
#define SAID_TEXT(member)   view->member
#define SAID(name, member, kind, ...)                                                                                  \
    case FIELD_##name:                                                                                                 \
        return SAID_##kind(member);
        CASE_FIELD_TABLE(SAID)
    case FIELD_MODEL:
        return view->model;
    case FIELD_COUNT:
        break;
    }
    return NULL;
}

/* That of the view; of a mode that a newer record may have, inference. */
static enum mode mode_of(const struct case_view *view)
{
    int mode = 0;
    while (mode < MODE_COUNT && (view->mode == NULL || strcmp(mode_name((enum mode)mode), view->mode) != 0)) {
        mode++;
    }
    return mode < MODE_COUNT ? (enum mode)mode : MODE_INFER;
}

static bool is_usual(const struct case_view *view, enum case_field field, const char *word)
{
    char buffer[CASE_WORD_BYTES];
    struct workload usual = workload_default(mode_of(view));
    usual.head = workload_head(&usual);
    int64_t value = workload_field_value(&usual, field);
    return case_field_kind(field) != FIELD_KIND_TEXT && strcmp(word, case_field_value_text(field, value, buffer)) == 0;
}

bool case_field_is_told(const struct case_view *view, enum case_field field)
{
    char buffer[CASE_WORD_BYTES];
    const struct case_field_row *row = case_field_row(field);
    const char *word = case_field_said(view, field, buffer);
    bool is_said = word != NULL && (row->modes >> mode_of(view) & 1U) != 0;
    return is_said && (row->is_always_spelled || !is_usual(view, field, word));
}

void case_field_append(struct text *text, const struct case_view *view, enum case_field field)
{
    char buffer[CASE_WORD_BYTES];
    const struct case_field_row *row = case_field_row(field);
    if (case_field_is_told(view, field)) {
        text_append(text, text->length > 0 ? " " : "");
        case_field_spell(row->label != NULL ? row->label : row->spelling, case_field_said(view, field, buffer), text);
    }
}

void case_label_append(struct text *text, const struct case_view *view, enum case_field without)
{
    text_append(text, view->model != NULL ? view->model : "");
    for (int pass = 0; pass < 2; pass++) {
        for (enum case_field field = FIELD_MODE; field < FIELD_COUNT; field++) {
            bool is_late = case_field_row(field)->record == RECORD_UNUSUAL;
            if (is_late == (pass == 1) && field != without) {
                case_field_append(text, view, field);
            }
        }
    }
}
