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

enum status_code device_spec_parse(const char *text, struct device_spec *spec, struct status *error)
{
    static const struct {
        const char *name;
        enum device_kind kind;
    } kinds[] = {{"auto", DEVICE_KIND_AUTO}, {"meta", DEVICE_KIND_META}, {"host", DEVICE_KIND_HOST},
                 {"cuda", DEVICE_KIND_CUDA}, {"cpu", DEVICE_KIND_HOST},  {"gpu", DEVICE_KIND_CUDA}};
    struct device_spec parsed = {0};
    size_t length = strcspn(text, ":");
    size_t row = 0;
    while (row < sizeof kinds / sizeof kinds[0] &&
           (strlen(kinds[row].name) != length || strncasecmp(kinds[row].name, text, length) != 0)) {
        row++;
    }
    if (row == sizeof kinds / sizeof kinds[0]) {
        return status_set(error, STATUS_INVALID,
                          "device '%s' is not known; write auto, meta, host, host:mem=SIZE, cuda or cuda:N", text);
    }
    parsed.kind = kinds[row].kind;
    if (text[length] == ':') {
        const char *options = text + length + 1;
        enum status_code code = STATUS_OK;
        if (parsed.kind == DEVICE_KIND_HOST || parsed.kind == DEVICE_KIND_META) {
            code = memory_parse(text, kinds[row].name, options, &parsed.memory_bytes, error);
        } else if (parsed.kind == DEVICE_KIND_CUDA) {
            code = cuda_index_parse(text, options, &parsed.index, error);
        } else {
            code = status_set(error, STATUS_INVALID, "device '%s': %s takes no options; write %s", text,
                              kinds[row].name, kinds[row].name);
        }
        if (code != STATUS_OK) {
            return code;
        }
    }
    *spec = parsed;
    return STATUS_OK;
}

enum status_code device_spec_words(const char *text, char words[DEVICE_SPEC_BYTES], struct status *error)
{
    static const char *const names[] = {[DEVICE_KIND_AUTO] = "auto",
                                        [DEVICE_KIND_META] = "meta",
                                        [DEVICE_KIND_HOST] = "host",
                                        [DEVICE_KIND_CUDA] = "cuda"};
    struct device_spec spec;
    enum status_code code = device_spec_parse(text, &spec, error);
    if (code == STATUS_OK && strlen(text) >= DEVICE_SPEC_BYTES) {
        code = status_set(error, STATUS_INVALID, "device '%s' is too long; write fewer than %d characters", text,
                          DEVICE_SPEC_BYTES);
    }
    if (code == STATUS_OK) {
        snprintf(words, DEVICE_SPEC_BYTES, "%s%s", names[spec.kind], text + strcspn(text, ":"));
    }
    return code;
}
