/* Parallel options: from words to degrees. Whether these fit the model is parallel_check's to say. */
#include "harness/cli/parallel_options.h"

#include <stddef.h>

#include "harness/base/size.h"

static const struct {
    const char *name;
    size_t offset; /* of an int64_t in struct parallel */
} counts[] = {
    {"data-parallel", offsetof(struct parallel, data)},     {"zero", offsetof(struct parallel, zero)},
    {"tensor-parallel", offsetof(struct parallel, tensor)}, {"pipeline-parallel", offsetof(struct parallel, pipeline)},
    {"expert-parallel", offsetof(struct parallel, expert)},
};

enum { COUNT_OPTIONS = sizeof counts / sizeof counts[0] };

bool parallel_options_given(const struct arguments *arguments)
{
    bool given = arguments_value(arguments, "fsdp") != NULL;
    for (int i = 0; i < COUNT_OPTIONS; i++) {
        given = given || arguments_value(arguments, counts[i].name) != NULL;
    }
    return given;
}

enum status_code parallel_options_read(const struct arguments *arguments, const struct config *config,
                                       struct parallel *parallel, struct status *error)
{
    struct parallel result = parallel_single();
    result.fsdp = arguments_value(arguments, "fsdp") != NULL;
    for (int i = 0; i < COUNT_OPTIONS; i++) {
        const char *text = arguments_value(arguments, counts[i].name);
        int64_t *value = (int64_t *)(void *)((char *)&result + counts[i].offset);
        enum status_code code = text != NULL ? integer_parse(text, 0, INT32_MAX, value, error) : STATUS_OK;
        if (code != STATUS_OK) {
            status_prefix(error, "--%s", counts[i].name);
            return code;
        }
    }
    enum status_code code = parallel_check(&result, config, error);
    if (code == STATUS_OK && result.data == 1 && (result.zero > 0 || result.fsdp)) {
        code =
            status_set(error, STATUS_INVALID, "--%s: there is nothing to divide among one rank; add --data-parallel N",
                       result.fsdp ? "fsdp" : "zero");
    }
    if (code == STATUS_OK) {
        *parallel = result;
    }
    return code;
}
