/* Parameters of a forward pass, by their paths. A pass asks for some hundred, one after another as the model lists
 * them, so that the next one is looked for behind the last one before it is looked up. */
#include "models/forward/forward.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "models/forward/module_visit.h"

enum { NEAR_COUNT = 3 };

void path_join(char path[FORWARD_PATH_BYTES], const char *prefix, const char *name)
{
    size_t front = strlen(prefix), back = strlen(name);
    if (front + 1 + back >= FORWARD_PATH_BYTES) {
        snprintf(path, FORWARD_PATH_BYTES, "%s.%s", prefix, name);
        return;
    }
    memcpy(path, prefix, front);
    path[front] = '.';
    memcpy(path + front + 1, name, back + 1);
}

/* Index of the tensor with this path, or -1. */
static int tensor_find(const struct forward *forward, const char *path)
{
    const struct skeleton *skeleton = forward->skeleton;
    int first = *forward->near_tensor;
    for (int i = first; i < first + NEAR_COUNT && i < skeleton->tensor_count; i++) {
        if (strcmp(skeleton->tensors[i].path, path) == 0) {
            *forward->near_tensor = i;
            return i;
        }
    }
    int index = skeleton_find(skeleton, path);
    if (index >= 0) {
        *forward->near_tensor = index;
    }
    return index;
}

const struct quantized *path_quantized(const struct forward *forward, const char *path)
{
    int index = tensor_find(forward, path);
    return index >= 0 && forward->quantized[index].codes != NULL ? &forward->quantized[index] : NULL;
}

struct value *path_value(const struct forward *forward, const char *path)
{
    int index = tensor_find(forward, path);
    if (index >= 0 && forward->quantized[index].codes != NULL) {
        return tape_dequantize(forward->tape, &forward->quantized[index], DTYPE_BFLOAT16);
    }
    return index >= 0 ? module_tensor(forward, index) : NULL;
}

struct value *part_optional(const struct forward *forward, const char *prefix, const char *name)
{
    char path[FORWARD_PATH_BYTES];
    path_join(path, prefix, name);
    return path_value(forward, path);
}

static struct value *value_needed(const struct forward *forward, const char *path)
{
    struct value *value = path_value(forward, path);
    if (value == NULL) {
        tape_fail(forward->tape, STATUS_INTERNAL, "the model has no tensor '%s'", path);
    }
    return value;
}

struct value *part_value(const struct forward *forward, const char *prefix, const char *name)
{
    char path[FORWARD_PATH_BYTES];
    path_join(path, prefix, name);
    return value_needed(forward, path);
}

struct value *forward_tensor(const struct forward *forward, const char *format, ...)
{
    char path[FORWARD_PATH_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    return value_needed(forward, path);
}

struct value *forward_optional(const struct forward *forward, const char *format, ...)
{
    char path[FORWARD_PATH_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(path, sizeof path, format, arguments);
    va_end(arguments);
    return path_value(forward, path);
}
