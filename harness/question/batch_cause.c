/* Batch cause: fields of a case line, and a table of what PyTorch raises. It decides nothing about batches. */
#include "harness/question/batch_cause.h"

#include <stddef.h>
#include <string.h>

/* As PyTorch 2.11 words them, cut where they go on. A host that promises more than it has (the usual overcommitting of
 * Linux) refuses no request: the kernel kills the process that touches the memory. */
static const struct batch_exception exceptions[REFUSAL_SOURCE_COUNT] = {
    [REFUSAL_SEGMENT] = {"torch.OutOfMemoryError",
                         "CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total ",
                         "a segment of the allocator"},
    [REFUSAL_MACHINE] = {NULL, NULL, "the host's memory"},
    [REFUSAL_CGROUP] = {NULL, NULL, "the memory of the cgroup"},
    [REFUSAL_LIMIT] = {"RuntimeError",
                       "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you "
                       "tried to allocate 20971520 bytes. Error code 12 (Cannot allocate memory)",
                       "what the kernel lets the process map (ulimit)"},
    [REFUSAL_CUBLAS] = {"RuntimeError", "CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`",
                        "cuBLAS"},
    [REFUSAL_CUDA] = {"torch.AcceleratorError",
                      "CUDA error: out of memory\nSearch for `cudaErrorMemoryAllocation' in "
                      "https://docs.nvidia.com/cuda/",
                      "a call of CUDA, \"CUDA error: out of memory\""},
    [REFUSAL_KILLED] = {NULL, NULL, "the host's memory, and the kernel killed the process"},
    [REFUSAL_PROGRAM] = {"MemoryError", NULL, "the memory of the program itself"},
};

const struct batch_exception *batch_exception_of(enum refusal_source source)
{
    return &exceptions[source];
}

static bool is_one_of(const char *word, const char *const *words)
{
    while (*words != NULL && strcmp(word, *words) != 0) {
        words++;
    }
    return *words != NULL;
}

bool accelerate_reduces(const char *type, const char *text)
{
    static const char *const types[] = {"RuntimeError", "torch.OutOfMemoryError", "torch.AcceleratorError", NULL};
    static const char *const pieces[] = {
        " out of memory.",
        "MPS backend out of memory",
        "cuDNN error: CUDNN_STATUS_NOT_SUPPORTED.",
        "DefaultCPUAllocator: can't allocate memory",
        "FATAL ERROR :: MODULE:PT_DEVMEM Allocation failed",
    };
    bool found = false;
    for (size_t i = 0; text != NULL && i < sizeof pieces / sizeof pieces[0]; i++) {
        found = found || strstr(text, pieces[i]) != NULL;
    }
    return found && type != NULL && is_one_of(type, types);
}

struct batch_cause batch_cause_read(const struct json *line)
{
    const struct json *oom = json_get(line, "oom");
    struct batch_cause cause = {.outcome = BATCH_OUTCOME_OTHER,
                                .word = json_string_or(json_get(line, "status"), "error"),
                                .reason = json_string_or(json_get(line, "reason"), ""),
                                .wanted_bytes = json_integer_or(json_get(oom, "wanted_bytes"), -1),
                                .held_bytes = json_integer_or(json_get(oom, "held_bytes"), -1),
                                .free_bytes = json_integer_or(json_get(oom, "free_bytes"), -1),
                                .stage = json_string_or(json_get(oom, "stage"), NULL),
                                .label = json_string_or(json_get(oom, "label"), NULL)};
    if (strcmp(cause.word, "ok") == 0 || strcmp(cause.word, "fail") == 0) {
        cause.outcome = BATCH_OUTCOME_OK;
    } else if (strcmp(cause.word, "oom") == 0) {
        cause.outcome = BATCH_OUTCOME_MEMORY;
        cause.source = refusal_source_of(cause.reason);
        const struct batch_exception *exception = batch_exception_of(cause.source);
        cause.accelerate_reduces = accelerate_reduces(exception->type, exception->text);
    }
    return cause;
}

static struct json *text_or_null(const char *text)
{
    return text != NULL && text[0] != '\0' ? json_string_new(text) : json_null_new();
}

static struct json *bytes_or_null(int64_t bytes)
{
    return bytes >= 0 ? json_integer_new(bytes) : json_null_new();
}

static struct json *exception_json(const struct batch_cause *cause)
{
    const struct batch_exception *exception = batch_exception_of(cause->source);
    struct json *object = json_object_new();
    bool made = json_set(object, "type", text_or_null(exception->type)) &&
                json_set(object, "text", text_or_null(exception->text)) &&
                json_set(object, "reduces", json_boolean_new(cause->accelerate_reduces));
    return json_made(object, made);
}

struct json *batch_cause_json(const struct batch_cause *cause)
{
    if (cause->outcome == BATCH_OUTCOME_OK) {
        return json_null_new();
    }
    bool is_memory = cause->outcome == BATCH_OUTCOME_MEMORY;
    struct json *object = json_object_new();
    bool made =
        json_set(object, "source", is_memory ? json_string_new(refusal_source_name(cause->source)) : json_null_new()) &&
        json_set(object, "stage", text_or_null(cause->stage)) &&
        json_set(object, "label", text_or_null(cause->label)) &&
        json_set(object, "wanted_bytes", bytes_or_null(cause->wanted_bytes)) &&
        json_set(object, "held_bytes", bytes_or_null(cause->held_bytes)) &&
        json_set(object, "free_bytes", bytes_or_null(cause->free_bytes)) &&
        json_set(object, "text", text_or_null(cause->reason)) &&
        json_set(object, "accelerate", is_memory ? exception_json(cause) : json_null_new());
    return json_made(object, made);
}
