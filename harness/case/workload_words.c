/* Workload words: the two spellings. What is said with them stands where it is found out. */
#include "harness/case/workload_words.h"

#include <stdbool.h>
#include <stdio.h>

struct workload_words workload_key_words(const struct status *error, enum case_field field)
{
    return key_spelling(error, case_field_row(field)->key);
}

struct workload_words workload_value_words(const struct status *error, enum case_field field, const char *value)
{
    struct workload_words key = workload_key_words(error, field), words;
    snprintf(words.text, sizeof words.text, "%.30s%s %.30s", key.text, key_is_option(error) ? "" : ":", value);
    return words;
}

struct workload_words workload_name_words(const struct status *error, enum case_field field, const char *name)
{
    struct workload_words key = workload_key_words(error, field), words;
    snprintf(words.text, sizeof words.text, "%.30s %.30s", key.text, name);
    return words;
}

void workload_remedy_append(const struct status *error, enum case_field field, struct text *text)
{
    const char *remedy = case_field_row(field)->remedy;
    bool in_key = false;
    for (; remedy != NULL && *remedy != '\0'; remedy++) {
        if (key_is_option(error)) {
            text_append_bytes(text, remedy, 1);
        } else if (remedy[0] == '-' && remedy[1] == '-') { /* "--group-size 64" is "group_size: 64" in a suite */
            in_key = true;
            remedy++;
        } else {
            text_append(text, in_key && *remedy == ' ' ? ":" : "");
            in_key = in_key && *remedy != ' ';
            text_append_bytes(text, in_key && *remedy == '-' ? "_" : remedy, 1);
        }
    }
}
