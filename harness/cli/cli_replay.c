/* assay replay: a recorded sequence of allocations and frees through the allocator, without a device. */
#include <inttypes.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/memory/trace.h"

static const struct option_row options[] = {
    {"allocator", OPTION_VALUE, "caching|plain", "whose rules: PyTorch's (default), or one segment for each block"},
    {"json", OPTION_FLAG, NULL, "print one JSON document"},
    {NULL, OPTION_FLAG, NULL, NULL},
};

static enum status_code policy_parse(const char *name, enum allocator_policy *policy, struct status *error)
{
    for (int i = 0; i < ALLOCATOR_POLICY_COUNT; i++) {
        if (strcmp(name, allocator_policy_name((enum allocator_policy)i)) == 0) {
            *policy = (enum allocator_policy)i;
            return STATUS_OK;
        }
    }
    return status_set(error, STATUS_INVALID, "replay: '%s' is not an allocator; write caching or plain", name);
}

static void size_line(struct text *text, const char *what, int64_t bytes)
{
    char size[SIZE_TEXT_BYTES];
    text_format(text, "%-15s %13s %20" PRId64 " bytes\n", what, size_format(bytes, size), bytes);
}

static enum status_code result_print(const struct trace_result *result, struct status *error)
{
    struct text text = {0};
    size_line(&text, "requested", result->requested_bytes);
    size_line(&text, "requested peak", result->requested_bytes_peak);
    size_line(&text, "allocated", result->allocated_bytes);
    size_line(&text, "allocated peak", result->allocated_bytes_peak);
    size_line(&text, "reserved", result->reserved_bytes);
    text_format(&text, "%-15s %13" PRId64 "\n", "segments", result->segment_count);
    enum status_code code = output_text(&text, error);
    text_release(&text);
    return code;
}

static enum status_code replay_command(const struct arguments *arguments, enum exit_code *exit_code,
                                       struct status *error)
{
    (void)exit_code;
    enum allocator_policy policy = ALLOCATOR_CACHING;
    const char *name = arguments_value(arguments, "allocator");
    struct trace trace = {0};
    struct trace_result result;
    enum status_code code = name != NULL ? policy_parse(name, &policy, error) : STATUS_OK;
    if (code == STATUS_OK) {
        code = trace_read(arguments->operands[0], &trace, error);
    }
    if (code == STATUS_OK) {
        code = trace_replay(&trace, policy, &result, error);
    }
    if (code == STATUS_OK && arguments_value(arguments, "json") != NULL) {
        struct json *document = trace_result_to_json(&result);
        code = output_json(document, error);
        json_release(document);
    } else if (code == STATUS_OK) {
        code = result_print(&result, error);
    }
    trace_release(&trace);
    return code;
}

const struct command command_replay = {
    .name = "replay",
    .operands = "TRACE.json",
    .summary = "an alloc/free trace through the allocator",
    .details = "TRACE.json: {\"events\": [[\"malloc\", id, bytes] | [\"free\", id], ...]}; an id is any integer.\n"
               "requested: the sum of live sizes; allocated: the blocks handed out; reserved: the segments taken.\n",
    .options = options,
    .operand_minimum = 1,
    .operand_maximum = 1,
    .run = replay_command,
};
