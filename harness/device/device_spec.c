/* Device specs: text to struct. Whether such a device exists is asked elsewhere (registry.c). */
#include "harness/device/device_spec.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "harness/base/size.h"
#include "harness/base/size_text.h"

enum { DEVICE_INDEX_MAXIMUM = 255 };

/* kind: "meta" or "host". */
static enum status_code memory_parse(const char *text, const char *kind, const char *options, int64_t *memory_bytes,
                                     struct status *error)
{
    static const char key[] = "mem=";
    int64_t bytes = 0;
    if (strncmp(options, key, sizeof key - 1) != 0) {
        return status_set(error, STATUS_INVALID, "device '%s': %s takes mem=SIZE only; write %s:mem=512MiB", text, kind,
                          kind);
    }
    enum status_code code = size_parse_memory(options + sizeof key - 1, &bytes, error);
    if (code != STATUS_OK) {
        status_prefix(error, "device '%s'", text);
        return code;
    }
    if (bytes == 0) {
        return status_set(error, STATUS_INVALID,
                          "device '%s': a bound of 0 bytes holds nothing; write %s:mem=512MiB, or %s for no bound",
                          text, kind, kind);
    }
    *memory_bytes = bytes;
    return STATUS_OK;
}

static enum status_code cuda_index_parse(const char *text, const char *digits, int *index, struct status *error)
{
    int64_t value = 0;
    if (integer_parse(digits, 0, DEVICE_INDEX_MAXIMUM, &value, error) != STATUS_OK) {
        return status_set(error, STATUS_INVALID,
                          "device '%s': '%s' is not a device number from 0 to %d; write cuda or cuda:0", text, digits,
                          DEVICE_INDEX_MAXIMUM);
    }
    *index = (int)value;
    return STATUS_OK;
}

static const struct kind_words {
    const char *word, *spoken;
    enum device_option option;
} kinds[] = {
#define KIND_WORDS(name, word, spoken, option) [DEVICE_KIND_##name] = {#word, spoken, option},
    DEVICE_KIND_TABLE(KIND_WORDS)
#undef KIND_WORDS
};

const char *device_kind_word(enum device_kind kind)
{
    return kinds[kind].word;
}

bool device_kind_takes_bound(enum device_kind kind)
{
    return kinds[kind].option == DEVICE_OPTION_MEMORY;
}

static bool word_is(const char *word, const char *text, size_t length)
{
    return word != NULL && strlen(word) == length && strncasecmp(word, text, length) == 0;
}

/* options: what follows the ':'. said: the word that was written, as the table spells it. */
static enum status_code option_parse(const char *text, const char *said, const char *options, struct device_spec *spec,
                                     struct status *error)
{
    switch (kinds[spec->kind].option) {
    case DEVICE_OPTION_MEMORY:
        return memory_parse(text, said, options, &spec->memory_bytes, error);
    case DEVICE_OPTION_INDEX:
        return cuda_index_parse(text, options, &spec->index, error);
    case DEVICE_OPTION_NONE:
        break;
    }
    return status_set(error, STATUS_INVALID, "device '%s': %s takes no options; write %s", text, said, said);
}

enum status_code device_spec_parse(const char *text, struct device_spec *spec, struct status *error)
{
    struct device_spec parsed = {0};
    const char *said = NULL;
    size_t length = strcspn(text, ":");
    for (int kind = 0; kind < DEVICE_KIND_COUNT && said == NULL; kind++) {
        parsed.kind = (enum device_kind)kind;
        said = word_is(kinds[kind].word, text, length)     ? kinds[kind].word
               : word_is(kinds[kind].spoken, text, length) ? kinds[kind].spoken
                                                           : NULL;
    }
    if (said == NULL) {
        return status_set(error, STATUS_INVALID,
                          "device '%s' is not known; write auto, meta, host, host:mem=SIZE, cuda or cuda:N", text);
    }
    if (text[length] == ':') {
        enum status_code code = option_parse(text, said, text + length + 1, &parsed, error);
        if (code != STATUS_OK) {
            return code;
        }
    }
    *spec = parsed;
    return STATUS_OK;
}

enum status_code device_spec_words(const char *text, char words[DEVICE_SPEC_BYTES], struct status *error)
{
    struct device_spec spec;
    enum status_code code = device_spec_parse(text, &spec, error);
    if (code == STATUS_OK && strlen(text) >= DEVICE_SPEC_BYTES) {
        code = status_set(error, STATUS_INVALID, "device '%s' is too long; write fewer than %d characters", text,
                          DEVICE_SPEC_BYTES);
    }
    if (code == STATUS_OK) {
        snprintf(words, DEVICE_SPEC_BYTES, "%s%s", kinds[spec.kind].word, text + strcspn(text, ":"));
    }
    return code;
}
