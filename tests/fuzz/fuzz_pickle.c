/* Fuzz target: pickles. What is read can be written; a refusal is a line. */
#include "harness/base/pickle.h"

#include "tests/fuzz/fuzz.h"

enum { WRITTEN_BYTES = 64 }; /* of a pickle; a larger one may name a shared value more often than anybody can write */

int fuzz_pickle(const uint8_t *data, size_t size)
{
    struct status error = {0};
    struct json *document = NULL;
    enum status_code code = pickle_parse("file", (const char *)data, size, &document, &error);
    fuzz_status_check(code, &error);
    if (code == STATUS_OK && size <= WRITTEN_BYTES) {
        struct text text = {0};
        fuzz_require(json_write(document, 0, &text, NULL) == STATUS_OK && text.length > 0);
        text_release(&text);
    }
    json_release(document);
    return 0;
}
