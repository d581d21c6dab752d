/* Case field: the rows of the register, compiled. Not the value of a field in a case: workload.c. */
#include "harness/case/case_field.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/size_text.h"
#include "harness/case/place_text.h"
#include "harness/case/release.h"
#include "harness/case/share.h"
#include "harness/case/workload.h"

static const char *const switch_words[] = {"false", "true"};

/* The words of the fields that have some: mode_words, precision_words, ... */
#define WORD(enumerator, word)      word,
#define WORDS_OF_NAME(name, member) static const char *const member##_words[name##_COUNT] = {name##_TABLE(WORD)};
#define WORDS_OF_COUNT(name, member)
#define WORDS_OF_SWITCH(name, member)
#define WORDS_OF_SHARE(name, member)
#define WORDS_OF_TEXT(name, member)
#define WORDS_OF(name, member, kind, ...) WORDS_OF_##kind(name, member)
CASE_FIELD_TABLE(WORDS_OF)

static enum status_code place_check(const char *text, struct status *error)
{
    return place_text_parse(text, NULL, error);
}

static enum status_code checkpoint_check(const char *text, struct status *error)
{
    int64_t bytes = 0;
    enum status_code code = strcmp(text, "single") == 0 ? STATUS_OK : size_parse_memory(text, &bytes, error);
    if (code != STATUS_OK) {
        status_prefix(error, "checkpoint: write single, or the largest size of a shard, as 50MB");
    }
    return code;
}

#define ROW_WORDS_NAME(name, member) .words = member##_words, .word_count = name##_COUNT,
#define ROW_WORDS_COUNT(name, member)
#define ROW_WORDS_SWITCH(name, member) .words = switch_words, .word_count = 2,
#define ROW_WORDS_SHARE(name, member)
#define ROW_WORDS_TEXT(name, member)
#define ROW(name, member_, kind_, record_, usual, modes_, condition, spelling_, has_option, option_, value, ...)       \
    [FIELD_##name] = {.key = #member_,                                                                                 \
                      .kind = FIELD_KIND_##kind_,                                                                      \
                      .record = RECORD_##record_,                                                                      \
                      .modes = (modes_),                                                                               \
                      .spelling = (spelling_),                                                                         \
                      .option = (option_),                                                                             \
                      .offset = offsetof(struct workload, member_),                                                    \
                      .bytes = sizeof(((struct workload *)NULL)->member_),                                             \
                      ROW_WORDS_##kind_(name, member_).help = __VA_ARGS__},

static const struct case_field_row rows[FIELD_COUNT] = {
    [FIELD_MODEL] = {.key = "model", .kind = FIELD_KIND_MODEL, .record = RECORD_ALWAYS, .modes = IN_ALL},
    CASE_FIELD_TABLE(ROW)};

_Static_assert(FIELD_COUNT <= 64, "a set of fields is one uint64_t");

#define FUNCTION_NAME(member)                                                                                          \
    const char *member##_name(enum member member)                                                                      \
    {                                                                                                                  \
        return member##_words[member];                                                                                 \
    }
#define FUNCTION_COUNT(member)
#define FUNCTION_SWITCH(member)
#define FUNCTION_SHARE(member)
#define FUNCTION_TEXT(member)
#define FUNCTION(name, member, kind, ...) FUNCTION_##kind(member)
CASE_FIELD_TABLE(FUNCTION)

const struct case_field_row *case_field_row(enum case_field field)
{
    return &rows[field];
}

const char *case_field_key(enum case_field field)
{
    return rows[field].key;
}

enum case_field_kind case_field_kind(enum case_field field)
{
    return rows[field].kind;
}

enum case_field case_field_find(const char *key, size_t length)
{
    int field = 0;
    while (field < FIELD_COUNT && (strlen(rows[field].key) != length || strncmp(rows[field].key, key, length) != 0)) {
        field++;
    }
    return (enum case_field)field;
}

const char *case_field_word(enum case_field field, int64_t value)
{
    const struct case_field_row *row = &rows[field];
    return row->words != NULL && value >= 0 && value < row->word_count ? row->words[value] : NULL;
}

const char *case_field_value_text(enum case_field field, int64_t value, char buffer[CASE_VALUE_BYTES])
{
    _Static_assert((int)CASE_VALUE_BYTES >= (int)SHARE_TEXT_BYTES, "a share has room");
    const char *word = case_field_word(field, value);
    if (word != NULL) {
        return word;
    }
    if (rows[field].kind == FIELD_KIND_SHARE) {
        return share_format(value, buffer);
    }
    snprintf(buffer, CASE_VALUE_BYTES, "%" PRId64, value);
    return buffer;
}

void case_field_spell(const char *spelling, const char *value, struct text *text)
{
    size_t before = strcspn(spelling, "%");
    text_append_bytes(text, spelling, before);
    text_append(text, spelling[before] == '%' ? value : "");
}
