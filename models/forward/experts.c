/* Mixtures of experts: what their configurations and skeletons have in common. Not here: what runs (forward_experts.c),
 * and what only one family has. */
#include "models/forward/experts.h"

#include <inttypes.h>

#include "models/config/config_part.h"

bool experts_in_layer(const struct config *config, int64_t layer)
{
    bool dense = (config->dense[layer / 8] >> (layer % 8) & 1) != 0;
    return !dense && layer >= config->first_expert_layer && (layer + 1) % config->expert_step == 0;
}

void experts_read_layers(struct field_reader *reader, struct config *config)
{
    const struct json *dense = field_member(reader, "mlp_only_layers");
    config->expert_step = field_integer(reader, "decoder_sparse_step", 1, CONFIG_COUNT_MAXIMUM, 1);
    if (json_kind(dense) == JSON_KIND_NULL || reader->code != STATUS_OK) {
        return;
    }
    if (json_kind(dense) != JSON_KIND_ARRAY) {
        field_fault(reader, "mlp_only_layers", "%s is not a list; write the numbers of layers, for example [0]",
                    json_kind_name(json_kind(dense)));
    }
    for (size_t i = 0; i < json_count(dense); i++) {
        int64_t layer = json_integer_or(json_at(dense, i), -1);
        if (layer < 0) {
            field_fault(reader, "mlp_only_layers", "member %zu is not the number of a layer; write 0 or more", i);
        } else if (layer < config->layers) { /* the real class asks which of its layers are in the list */
            config->dense[layer / 8] |= (unsigned char)(1u << (layer % 8));
        }
    }
}

void experts_check(struct field_reader *reader, const char *key, const struct config *config)
{
    if (reader->code != STATUS_OK) {
        return;
    }
    if (config->active_experts > config->experts) {
        field_fault(reader, key, "a token cannot use %" PRId64 " of %" PRId64 " experts; write a smaller number",
                    config->active_experts, config->experts);
    }
    if (config->expert_groups == 0) {
        return;
    }
    if (config->experts % config->expert_groups != 0) {
        field_fault(reader, "n_group",
                    "%" PRId64 " groups do not divide the %" PRId64 " experts; write a number that does",
                    config->expert_groups, config->experts);
    } else if (config->active_groups > config->expert_groups) {
        field_fault(reader, "topk_group",
                    "a token cannot use %" PRId64 " of %" PRId64 " groups; write a smaller number",
                    config->active_groups, config->expert_groups);
    } else if (config->active_experts > config->experts / config->expert_groups * config->active_groups) {
        field_fault(reader, key, "%" PRId64 " experts are more than %" PRId64 " groups have; write a smaller number",
                    config->active_experts, config->active_groups);
    }
}

void experts_router_list(struct skeleton_builder *builder, int parent, const char *class_name)
{
    const struct config *config = builder->config;
    builder_module(builder, parent, "gate", class_name);
    builder_matrix(builder, "weight", (struct initial){.deviation = config->initializer_range}, config->experts,
                   config->hidden);
}

void experts_list(struct skeleton_builder *builder, int parent, const char *class_name)
{
    const struct config *config = builder->config;
    const struct initial initial = {.deviation = config->initializer_range};
    const int64_t wide[] = {config->experts, 2 * config->expert_ffn, config->hidden};
    const int64_t narrow[] = {config->experts, config->hidden, config->expert_ffn};
    int experts = builder_module(builder, parent, "experts", class_name);
    builder_routed(builder, builder_parameter(builder, "gate_up_proj", initial, 3, wide));
    builder_routed(builder, builder_parameter(builder, "down_proj", initial, 3, narrow));
    builder_activation(builder, experts, "act_fn");
}

void experts_dense_list(struct skeleton_builder *builder, int parent, const char *name, const char *class_name,
                        int64_t ffn, bool bias)
{
    int64_t hidden = builder->config->hidden;
    int mlp = builder_module(builder, parent, name, class_name);
    builder_linear(builder, mlp, "gate_proj", ffn, hidden, bias);
    builder_linear(builder, mlp, "up_proj", ffn, hidden, bias);
    builder_linear(builder, mlp, "down_proj", hidden, ffn, bias);
    builder_activation(builder, mlp, "act_fn");
}
