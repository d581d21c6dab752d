/* Types of decoders: which row a configuration has, and the numbers that Llama's kin state under the same keys. Not
 * here: what one family reads besides. */
#include "models/forward/decoder_type.h"

#include <string.h>

#include "models/config/config_part.h"
#include "models/config/family.h"

const struct decoder_type *decoder_type_of(const struct config *config)
{
    const struct decoder_types *types = &config->family->decoder->types;
    const char *rows = (const char *)types->first;
    for (size_t i = 0; i < types->count; i++) {
        const struct decoder_type *type = (const void *)(rows + i * types->row_bytes);
        if (strcmp(config->model_type, type->model_type) == 0) {
            return type;
        }
    }
    return types->first;
}

const struct task_head decoder_heads_generic[] = {
    TASK_HEAD_LAST("model"), TASK_HEAD_TOKEN_SCORE("model"), TASK_HEAD_QUESTION("model"), {.head = HEAD_DEFAULT}};

const struct task_head decoder_heads_llama[] = {
    TASK_HEAD_LAST("model"), TASK_HEAD_TOKEN_SCORE("model"), TASK_HEAD_QUESTION("transformer"), {.head = HEAD_DEFAULT}};

const struct task_head decoder_heads_classes[] = {
    TASK_HEAD_LAST("model"), TASK_HEAD_TOKEN_SCORE("model"), {.head = HEAD_DEFAULT}};

const struct task_head decoder_heads_sequence[] = {TASK_HEAD_LAST("model"), {.head = HEAD_DEFAULT}};

const struct task_head decoder_heads_transformer[] = {TASK_HEAD_LAST("transformer"),
                                                      TASK_HEAD_TOKEN("transformer"),
                                                      TASK_HEAD_QUESTION("transformer"),
                                                      {.head = HEAD_DEFAULT}};

const struct task_head *decoder_task_head(const struct config *config, enum head head)
{
    const struct task_head *own = decoder_type_of(config)->heads;
    return task_head_find(own != NULL ? own : config->family->decoder->heads, head);
}

bool decoder_has_head(const struct config *config, enum head head)
{
    return decoder_task_head(config, head) != NULL;
}

void decoder_read_sizes(struct field_reader *reader, struct config *config)
{
    const struct decoder_sizes *own = &decoder_type_of(config)->sizes;
    const struct integer_field integers[] = {
        {"vocab_size", NULL, CONFIG_OFFSET(vocab), own->vocab, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"hidden_size", NULL, CONFIG_OFFSET(hidden), own->hidden, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"num_hidden_layers", NULL, CONFIG_OFFSET(layers), own->layers, FIELD_NULL_REFUSED, CONFIG_LAYERS_MAXIMUM},
        {"num_attention_heads", NULL, CONFIG_OFFSET(heads), own->heads, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"num_key_value_heads", NULL, CONFIG_OFFSET(kv_heads), own->kv_heads, own->kv_heads_null, CONFIG_COUNT_MAXIMUM},
        {"intermediate_size", NULL, CONFIG_OFFSET(ffn), own->ffn, FIELD_NULL_REFUSED, CONFIG_COUNT_MAXIMUM},
        {"max_position_embeddings", NULL, CONFIG_OFFSET(positions), own->positions, FIELD_NULL_REFUSED,
         CONFIG_COUNT_MAXIMUM},
        {"head_dim", NULL, CONFIG_OFFSET(head_dim), own->head_dim, own->head_dim_null, CONFIG_COUNT_MAXIMUM},
    };
    size_t count = sizeof integers / sizeof integers[0];
    field_integers(reader, integers, own->lacks_head_dim ? count - 1 : count, config);
}

void decoder_read_heads(struct field_reader *reader, struct config *config)
{
    if (config->head_dim == 0) {
        config_heads_check(reader, "num_attention_heads", config);
    }
    config->kv_heads = config->kv_heads > 0 ? config->kv_heads : config->heads;
    if (config->head_dim == 0 && reader->code == STATUS_OK) {
        config->head_dim = config->hidden / config->heads;
    }
    config_grouped_check(reader, config);
}
