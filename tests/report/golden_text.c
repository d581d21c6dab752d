/* Golden text: the comparison. Nothing here writes a golden file. */
#include "tests/report/golden_text.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/case/workload.h"
#include "tests/support/whole_file.h"

enum { COLUMNS_MAXIMUM = 512, KEY_BYTES = 64 };

void golden_text_check(struct text text, const char *path)
{
    char *golden = whole_file_read(path);
    assert_string_equal(text_string(&text), golden);
    free(golden);
    text_release(&text);
}

/* To the end of a cell: a comma or the end of the line outside of quotes. */
static const char *cell_end(const char *cell)
{
    bool quoted = false;
    for (; *cell != '\0' && (quoted || (*cell != ',' && *cell != '\r')); cell++) {
        quoted = quoted != (*cell == '"');
    }
    return cell;
}

/* A field that records leave out where it has its usual value, and whose column the golden file lacks. */
static bool is_new(const char *key, size_t length, const char *golden)
{
    char column[KEY_BYTES];
    enum case_field field = case_field_find(key, length);
    if (field == FIELD_COUNT || field == FIELD_MODEL || case_field_row(field)->record != RECORD_UNUSUAL) {
        return false;
    }
    snprintf(column, sizeof column, ",%.*s,", (int)length, key);
    return strstr(golden, column) == NULL;
}

/* Nothing, or what the field has in some mode if nobody says it. */
static bool is_usual(const char *key, const char *cell, size_t length)
{
    enum case_field field = case_field_find(key, strlen(key));
    bool usual = length == 0;
    for (int mode = 0; mode < MODE_COUNT && !usual; mode++) {
        struct workload workload = workload_default((enum mode)mode);
        const char *word = case_field_word(field, workload_field_value(&workload, field));
        usual = word != NULL && strlen(word) == length && memcmp(word, cell, length) == 0;
    }
    return usual;
}

void golden_csv_check(struct text text, const char *path)
{
    char *golden = whole_file_read(path);
    static char keys[COLUMNS_MAXIMUM][KEY_BYTES];
    bool is_left_out[COLUMNS_MAXIMUM] = {false}, is_head = true;
    struct text kept = {0};
    int column = 0;
    for (const char *cell = text_string(&text); *cell != '\0';) {
        const char *end = cell_end(cell);
        assert_true(column < COLUMNS_MAXIMUM);
        is_left_out[column] = is_head ? is_new(cell, (size_t)(end - cell), golden) : is_left_out[column];
        if (is_head) {
            snprintf(keys[column], KEY_BYTES, "%.*s", (int)(end - cell), cell);
        } else if (is_left_out[column] && !is_usual(keys[column], cell, (size_t)(end - cell))) {
            fail_msg("%s lacks the column %s, which says \"%.*s\"", path, keys[column], (int)(end - cell), cell);
        }
        if (!is_left_out[column]) {
            text_append(&kept, column > 0 ? "," : "");
            text_append_bytes(&kept, cell, (size_t)(end - cell));
        }
        bool is_last = *end != ',';
        column = is_last ? 0 : column + 1;
        is_head = is_head && !is_last;
        text_append(&kept, is_last ? "\r\n" : "");
        cell = is_last ? end + strspn(end, "\r\n") : end + 1;
    }
    assert_string_equal(text_string(&kept), golden);
    text_release(&kept);
    text_release(&text);
    free(golden);
}
