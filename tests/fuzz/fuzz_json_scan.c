/* Fuzz target: the scanner of JSON, held against the parser whose word counts: the same document or the same
 * refusal. */
#include <stdlib.h>
#include <string.h>

#include "harness/base/json.h"
#include "tests/fuzz/fuzz.h"

/* In memory of exactly its size: the scanner changes it. */
static void text_scan(struct json_scanner *scanner, const uint8_t *data, size_t size)
{
    struct status scan_error = {0}, parse_error = {0};
    const struct json *scanned = NULL;
    struct json *parsed = NULL;
    char *copy = malloc(size > 0 ? size : 1);
    if (copy == NULL) {
        return;
    }
    memcpy(copy, data, size);
    enum status_code code = json_scan_text(scanner, "text", copy, size, &scanned, &scan_error);
    fuzz_status_check(code, &scan_error);
    fuzz_require(json_parse_text("text", (const char *)data, size, &parsed, &parse_error) == code);
    if (code == STATUS_OK) {
        struct text ours = {0}, theirs = {0};
        struct json *kept = json_copy_new(scanned);
        fuzz_require(json_kind(scanned) == json_kind(parsed) && json_count(scanned) == json_count(parsed));
        fuzz_require(json_write(kept, 0, &ours, NULL) == json_write(parsed, 0, &theirs, NULL));
        fuzz_require(strcmp(text_string(&ours), text_string(&theirs)) == 0);
        text_release(&ours);
        text_release(&theirs);
        json_release(kept);
        json_release(parsed);
    } else {
        char scan_line[STATUS_LINE_BYTES], parse_line[STATUS_LINE_BYTES];
        fuzz_require(strcmp(status_line(&scan_error, scan_line), status_line(&parse_error, parse_line)) == 0);
        fuzz_require(memcmp(copy, data, size) == 0);
    }
    free(copy);
}

/* Twice, and parts of it: what a scanner keeps of one text must not show in the next. */
int fuzz_json_scan(const uint8_t *data, size_t size)
{
    struct json_scanner *scanner = json_scanner_new();
    if (scanner != NULL) {
        text_scan(scanner, data, size);
        text_scan(scanner, data, size / 2);
        text_scan(scanner, data, size);
        json_scanner_release(scanner);
    }
    return 0;
}
