/* Rule terms: readings of a case, and the table of activations. The rules themselves stand in files of their own. */
#include "harness/estimate/rule_terms.h"

#include <string.h>

#include "harness/base/size.h"
#include "models/config/family.h"

int64_t rule_parameter_count(const struct skeleton *skeleton)
{
    int64_t count = skeleton->parameter_count;
    for (int i = 0; i < skeleton->tensor_count; i++) {
        count -= skeleton->tensors[i].is_adapter ? skeleton->tensors[i].element_count : 0;
    }
    return count;
}

int64_t rule_sequence(const struct estimate_input *input)
{
    if (input->config->family->is_image && input->config->family->has_attention) {
        int64_t side = input->config->image / input->config->patch;
        return side * side + 1;
    }
    return input->workload->seq;
}

bool rule_is_amp(enum precision precision)
{
    return precision == PRECISION_AMP_FLOAT16 || precision == PRECISION_AMP_BFLOAT16;
}

bool rule_is_16bit(enum precision precision)
{
    return precision == PRECISION_FLOAT16 || precision == PRECISION_BFLOAT16;
}

int rule_weight_bytes(enum precision precision)
{
    bool whole = precision == PRECISION_FLOAT32 || rule_is_amp(precision);
    return whole ? 4 : rule_is_16bit(precision) ? 2 : 0;
}

bool rule_optimizer_is_adam(enum optimizer optimizer)
{
    return optimizer >= OPTIMIZER_ADAM_FOREACH && optimizer <= OPTIMIZER_ADAMW_SINGLE;
}

bool rule_optimizer_is_common(enum optimizer optimizer)
{
    return rule_optimizer_is_adam(optimizer) || optimizer == OPTIMIZER_ADAM_8BIT || optimizer == OPTIMIZER_SGD_MOMENTUM;
}

static const char *name_of(const struct module_info *module)
{
    const char *dot = strrchr(module->path, '.');
    return dot != NULL ? dot + 1 : module->path;
}

bool rule_has_module(const struct skeleton *skeleton, const char *name)
{
    for (int i = 0; i < skeleton->module_count; i++) {
        if (strcmp(name_of(&skeleton->modules[i]), name) == 0) {
            return true;
        }
    }
    return false;
}

/* A stack of that name. BERT's head has a projection called decoder. */
static bool has_stack(const struct skeleton *skeleton, const char *name)
{
    for (int i = 0; i < skeleton->module_count; i++) {
        const struct module_info *module = &skeleton->modules[i];
        if (strcmp(name_of(module), name) == 0 && !module_is_projection(module)) {
            return true;
        }
    }
    return false;
}

bool rule_is_text_stack(const struct estimate_input *input)
{
    const struct family *family = input->config->family;
    const struct skeleton *skeleton = input->skeleton;
    return family->has_attention && !family->is_image && !has_stack(skeleton, "experts") &&
           !rule_has_module(skeleton, "kv_a_proj_with_mqa") &&
           !(has_stack(skeleton, "encoder") && has_stack(skeleton, "decoder"));
}

const char rule_activations_note[] =
    "its formula of activations is one of a stack of layers with an attention and a feed-forward part each";

bool rule_has_activations(const struct estimate_input *input)
{
    const struct family *family = input->config->family;
    return (family->is_image && family->has_attention) || rule_is_text_stack(input);
}

bool rule_product(const int64_t *factors, int count, int64_t *result)
{
    bool fits = true;
    int64_t product = 1;
    for (int i = 0; i < count && fits; i++) {
        fits = size_multiply(product, factors[i], &product);
    }
    *result = fits ? product : *result;
    return fits;
}

bool rule_layer_activations(const struct rule_layer *layer, int64_t *bytes)
{
    int64_t elements = 0;
    int64_t whole = 0;
    int64_t divided = 0;
    int64_t scores = 0;
    int64_t sum = 0;
    const int64_t states[] = {layer->seq, layer->batch, layer->hidden};
    const int64_t squares[] = {layer->heads, layer->seq, layer->seq, layer->batch, 2 * layer->element_bytes + 1};
    bool fits = rule_product(states, 3, &elements);
    if (layer->recomputed) {
        fits = fits && size_multiply(elements, layer->element_bytes, &sum);
    } else {
        fits = fits && size_multiply(elements, 4 * layer->element_bytes + 2, &whole) &&
               size_multiply(elements, 12 * layer->element_bytes, &divided) &&
               (!layer->scores || rule_product(squares, 5, &scores)) && size_add(divided, scores, &divided) &&
               size_add(whole, divided / layer->tensor, &sum);
    }
    *bytes = fits ? sum : *bytes;
    return fits;
}

enum status_code rule_overflow(struct status *error)
{
    return status_set(error, STATUS_OVERFLOW, "the activations do not fit 63 bits; write a smaller batch or seq");
}
