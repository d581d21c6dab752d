/* History export: a line for each case of each run, with what it was measured under, for programs that plot or count.
 * Nothing of where the history or its records lie is in it, so that equal histories give equal lines. */
#include <fnmatch.h>
#include <stdio.h>

#include "harness/base/json.h"
#include "harness/history/history_page.h"
#include "harness/history/standing_words.h"
#include "harness/report/escape.h"

static const char *const head_names[] = {"run_id", "started"};
static const char *const case_names[] = {"id", "label", "status", "standing", "invalid"};
static const char *const part_prefixes[] = {"", "replay_", "spread_"};

enum { PARTS = sizeof part_prefixes / sizeof part_prefixes[0], KEY_BYTES = 64 };

/* "allocated_bytes_peak", "replay_allocated_bytes_peak". */
static const char *level_name_of(int part, int level, char key[KEY_BYTES])
{
    snprintf(key, KEY_BYTES, "%s%s", part_prefixes[part], level_peak_key((enum level)level));
    return key;
}

static void names_append(struct text *text, const char *const *names, size_t count)
{
    for (size_t at = 0; at < count; at++) {
        text_format(text, "%s,", names[at]);
    }
}

void history_export_begin(enum export_format format, struct text *text)
{
    char key[KEY_BYTES];
    if (format != EXPORT_CSV) {
        return;
    }
    names_append(text, head_names, sizeof head_names / sizeof head_names[0]);
    for (int property = 0; property < ENVIRONMENT_COUNT; property++) {
        text_format(text, "%s,", environment_key((enum environment)property));
    }
    names_append(text, case_names, sizeof case_names / sizeof case_names[0]);
    for (int part = 0; part < PARTS; part++) {
        for (int level = 0; level < LEVEL_COUNT; level++) {
            text_format(text, "%s%s", level_name_of(part, level, key),
                        part == PARTS - 1 && level == LEVEL_COUNT - 1 ? "\r\n" : ",");
        }
    }
}

static const struct level_bytes *part_of(const struct case_figures *one, int part)
{
    return part == 0 ? &one->measured : part == 1 ? &one->predicted : &one->spread;
}

static void csv_word(struct text *text, const char *word)
{
    csv_append(text, word != NULL ? word : "");
    text_append(text, ",");
}

static void csv_line(const struct run_figures *figures, const struct case_figures *one, struct text *text)
{
    csv_word(text, figures->run_id);
    csv_word(text, figures->started);
    for (int property = 0; property < ENVIRONMENT_COUNT; property++) {
        csv_word(text, figures->environment[property]);
    }
    csv_word(text, one->id);
    csv_word(text, one->label);
    csv_word(text, one->status);
    csv_word(text, standing_word(one->standing));
    csv_word(text, one->invalid ? "true" : "false");
    for (int part = 0; part < PARTS; part++) {
        for (int level = 0; level < LEVEL_COUNT; level++) {
            const int64_t bytes = part_of(one, part)->of[level];
            if (bytes >= 0) {
                text_integer(text, bytes);
            }
            text_append(text, part == PARTS - 1 && level == LEVEL_COUNT - 1 ? "\r\n" : ",");
        }
    }
}

static bool word_set(struct json *line, const char *key, const char *word)
{
    return json_set(line, key, word != NULL ? json_string_new(word) : json_null_new());
}

static bool json_line(const struct run_figures *figures, const struct case_figures *one, struct text *text)
{
    char key[KEY_BYTES];
    struct json *line = json_object_new();
    bool made = word_set(line, "run_id", figures->run_id) && word_set(line, "started", figures->started);
    for (int property = 0; property < ENVIRONMENT_COUNT && made; property++) {
        made = word_set(line, environment_key((enum environment)property), figures->environment[property]);
    }
    made = made && word_set(line, "id", one->id) && word_set(line, "label", one->label) &&
           word_set(line, "status", one->status) && word_set(line, "standing", standing_word(one->standing)) &&
           json_set(line, "invalid", json_boolean_new(one->invalid));
    for (int part = 0; part < PARTS; part++) {
        for (int level = 0; level < LEVEL_COUNT && made; level++) {
            const int64_t bytes = part_of(one, part)->of[level];
            made =
                json_set(line, level_name_of(part, level, key), bytes >= 0 ? json_integer_new(bytes) : json_null_new());
        }
    }
    made = made && json_write(line, 0, text, NULL) == STATUS_OK;
    text_append(text, "\n");
    json_release(line);
    return made;
}

bool history_export_run(const struct run_figures *figures, const char *pattern, enum export_format format,
                        struct text *text, int *line_count)
{
    bool made = true;
    for (int at = 0; at < figures->case_count && made; at++) {
        const struct case_figures *one = &figures->cases[at];
        if (pattern != NULL && !case_figures_match(one, pattern) && fnmatch(pattern, one->label, 0) != 0) {
            continue;
        }
        ++*line_count;
        if (format == EXPORT_CSV) {
            csv_line(figures, one, text);
        } else {
            made = json_line(figures, one, text);
        }
    }
    return made;
}
