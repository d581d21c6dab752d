/* Writes the tape of a case, for trace_diff.py to hold against what PyTorch's allocator was asked for:
 *   tape_export IDENTITY_JSON TARGET
 * IDENTITY_JSON is the object `identity` of a line of truth.py or `assay plan --json`, or a line of programs.py; TARGET
 * is "sm_90". One JSON array a line, in the order of the tape, the first word of which says what it is:
 *   ["alloc", storage, bytes, label, module], ["free", storage], ["run", opcode], ["stage", name].
 * Storages of 0 bytes are left out: no allocator hears of them. Not a test: it knows nothing of what is right. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/kernels/operation.h"
#include "tests/models/program_lines.h"
#include "tests/models/shadow_lines.h"
#include "tests/support/modelled.h"

static void event_print(const struct tape_view *tape, struct event event)
{
    bool is_storage = event.kind == EVENT_ALLOC || event.kind == EVENT_FREE;
    const struct storage *storage = &tape->storages[is_storage ? event.index : 0];
    if (event.kind == EVENT_RUN) {
        printf("[\"run\",\"%s\"]\n", opcode_name(tape->ops[event.index].opcode));
    } else if (event.kind == EVENT_STAGE) {
        printf("[\"stage\",\"%s\"]\n", stage_name((enum stage)event.index));
    } else if (event.kind == EVENT_ALLOC && storage->bytes > 0) {
        printf("[\"alloc\",%d,%" PRId64 ",\"%s\",\"%s\"]\n", event.index, storage->bytes, storage->label,
               storage->module != NULL ? storage->module : "");
    } else if (event.kind == EVENT_FREE && storage->bytes > 0) {
        printf("[\"free\",%d]\n", event.index);
    }
}

/* A line of a program says its case in the words of torch. */
static enum status_code workload_read(const struct json *identity, struct workload *workload, struct status *error)
{
    if (json_get(identity, "program") == NULL || json_get(identity, "turn") == NULL) {
        return shadow_workload_read(identity, workload, error);
    }
    *workload = program_line_workload(identity);
    workload->tf32_convolutions = workload->seq == 0 && workload->precision == PRECISION_FLOAT32;
    return STATUS_OK;
}

int main(int count, char **words)
{
    struct status error = {0};
    struct json *identity = NULL;
    struct workload workload;
    struct modelled modelled = {0};
    if (count != 3) {
        fprintf(stderr, "usage: tape_export IDENTITY_JSON TARGET\n");
        return 2;
    }
    enum status_code code = json_parse_text("IDENTITY_JSON", words[1], strlen(words[1]), &identity, &error);
    code = code == STATUS_OK ? workload_read(identity, &workload, &error) : code;
    code = code == STATUS_OK ? modelled_open(&modelled, shadow_model(identity), &workload, words[2], &error) : code;
    if (code == STATUS_OK) {
        struct tape_view tape = tape_view(modelled.tape);
        for (int i = 0; i < tape.event_count; i++) {
            event_print(&tape, tape.events[i]);
        }
        if (tape.repeat_count > 0) {
            fprintf(stderr, "tape_export: %d bodies are repeated; each stands once\n", tape.repeat_count);
        }
    } else {
        fprintf(stderr, "tape_export: %s\n", status_line(&error, (char[STATUS_LINE_BYTES]){0}));
    }
    modelled_close(&modelled);
    json_release(identity);
    return code == STATUS_OK ? 0 : 2;
}
