/* accelerate of a file alone: its rule over stored tensors, whose names are all that tells modules apart. */
#include <stdlib.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/checkpoint/checkpoint.h"
#include "harness/estimate/accelerate.h"

struct layer {
    const char *name;
    size_t length;
    bool is_block;
    int64_t bytes;
};

/* Whether a type is a number of its own; one that packs several is bytes. */
static bool is_floating(const struct storage_type *type)
{
    return type->name[0] == 'F' || strcmp(type->name, "BF16") == 0;
}

/* The part of a name that stands for what is never split: up to its first number, or else without its last word. */
static struct layer layer_of(const char *name)
{
    for (const char *dot = strchr(name, '.'); dot != NULL; dot = strchr(dot + 1, '.')) {
        size_t digits = strspn(dot + 1, "0123456789");
        if (digits > 0 && dot[1 + digits] == '.') {
            return (struct layer){.name = name, .length = (size_t)(dot - name) + 1 + digits, .is_block = true};
        }
    }
    size_t first = strspn(name, "0123456789");
    const char *last = strrchr(name, '.');
    bool is_numbered = first > 0 && name[first] == '.';
    return (struct layer){.name = name,
                          .length = is_numbered    ? first
                                    : last != NULL ? (size_t)(last - name)
                                                   : strlen(name),
                          .is_block = is_numbered};
}

static int layer_compare(const void *a, const void *b)
{
    const struct layer *one = a, *other = b;
    size_t shorter = one->length < other->length ? one->length : other->length;
    int order = memcmp(one->name, other->name, shorter);
    return order != 0 ? order : (one->length > other->length) - (one->length < other->length);
}

/* The largest of layers that lie together; *blocks: how many of them are numbered. Sums lie inside the total, which
 * fits. */
static int64_t largest_of(struct layer *layers, int count, int *blocks)
{
    int64_t largest = 0;
    qsort(layers, (size_t)count, sizeof *layers, layer_compare);
    *blocks = 0;
    for (int i = 0, first = 0; i < count; i++) {
        bool is_new = i == 0 || layer_compare(&layers[first], &layers[i]) != 0;
        first = is_new ? i : first;
        *blocks += is_new && layers[i].is_block ? 1 : 0;
        layers[first].bytes += is_new ? 0 : layers[i].bytes;
        largest = layers[first].bytes > largest ? layers[first].bytes : largest;
    }
    return largest;
}

enum status_code accelerate_sizes_of_file(const struct checkpoint *checkpoint, struct accelerate_sizes *sizes,
                                          struct status *error)
{
    struct accelerate_sizes result = {.parameter_count = checkpoint->element_count};
    int count = checkpoint->tensor_count, blocks = 0;
    struct layer *layers = calloc((size_t)count + 1, sizeof *layers);
    bool fits = true;
    if (layers == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no host memory for the layers of %s", checkpoint->name);
    }
    for (int i = 0; i < count && fits; i++) {
        const struct checkpoint_tensor *tensor = &checkpoint->tensors[i];
        int64_t elements = tensor->bytes / tensor->type->block_bytes * tensor->type->block_elements;
        layers[i] = layer_of(tensor->name);
        layers[i].bytes = tensor->bytes;
        fits = (!is_floating(tensor->type) || size_multiply(elements, 4, &layers[i].bytes)) &&
               size_add(result.total_bytes, layers[i].bytes, &result.total_bytes);
    }
    if (fits) {
        result.largest_layer_bytes = largest_of(layers, count, &blocks);
    }
    free(layers);
    if (!fits || result.total_bytes > INT64_MAX / 8) { /* 4 B is printed; keep room */
        return status_set(error, STATUS_OVERFLOW, "%s: its bytes in float32 do not fit 63 bits", checkpoint->name);
    }
    result.layer_is_unknown = blocks < 2;
    result.largest_layer_bytes = blocks < 2 ? 0 : result.largest_layer_bytes;
    *sizes = result;
    return STATUS_OK;
}
