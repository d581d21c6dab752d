/* Configuration keys: what peers/transformers/config_keys.py found in the configuration classes of transformers
 * 5.23.0 and 4.57.1. Not to be edited by hand. */
#include "models/config/config_keys.h"

#include <stddef.h>

static const struct config_alias no_aliases[] = {{NULL, NULL}};

/* Of every configuration. */
static const char common_keys[] =
    " _commit_hash _from_model_config _name_or_path _num_labels adapters add_cross_attention architectures "
    " assistant_confidence_threshold assistant_early_exit assistant_ensemble_weight assistant_lookbehind "
    " attention_type attn_implementation auto_map bad_words_ids begin_suppress_tokens bos_token_id "
    " cache_config cache_implementation chunk_size_feed_forward compile_config constraints "
    " continuous_batching_config cross_attention_hidden_size decoder_start_token_id directionality "
    " disable_compile diversity_penalty do_sample dola_layers dtype early_stopping "
    " encoder_no_repeat_ngram_size encoder_repetition_penalty eos_token_id epsilon_cutoff eta_cutoff "
    " experts_implementation exponential_decay_length_penalty finetuned_from finetuning_task "
    " force_words_ids forced_bos_token_id forced_eos_token_id gradient_checkpointing guidance_scale "
    " id2label is_assistant is_decoder is_encoder_decoder label2id length_penalty low_memory max_cache_len "
    " max_length max_matching_ngram_size max_new_tokens max_time min_length min_new_tokens min_p "
    " model_name model_type n_ctx name_or_path no_repeat_ngram_size num_assistant_tokens "
    " num_assistant_tokens_schedule num_beam_groups num_beams num_labels num_return_sequences "
    " output_attentions output_hidden_states output_logits output_past output_scores pad_token_id "
    " partial_rotary_factor penalty_alpha per_layer_config pooler_fc_size pooler_num_attention_heads "
    " pooler_num_fc_layers pooler_size_per_head pooler_type predict_special_tokens prefill_chunk_size "
    " prefix problem_type prompt_lookup_num_tokens pruned_heads quantization_config remove_invalid_values "
    " renormalize_logits repetition_penalty return_dict return_dict_in_generate return_legacy_cache "
    " rope_scaling rope_theta sep_token_id sequence_bias speculation_type static_position_embeddings "
    " stop_strings suppress_tokens target_lookbehind task_specific_params temperature tf_legacy_loss "
    " tie_encoder_decoder tie_word_embeddings token_healing tokenizer_class top_h top_k top_p torch_dtype "
    " torchscript transformers_version typical_p unk_token_id unsloth_fixed unsloth_version use_bfloat16 "
    " use_cache use_mrope use_mtp watermarking_config ";

/* Of timm's files. */
static const char timm_keys[] =
    " architecture global_pool label_descriptions label_names library_name license model_args num_classes "
    " num_features pretrained_cfg ";

/* Within rope_parameters and rope_scaling, and within quantization_config. */
static const char rope_keys[] =
    " attention_factor beta_fast beta_slow factor finetuned high_freq_factor long_factor low_freq_factor "
    " mrope_interleaved mrope_section mscale mscale_all_dim original_max_position_embeddings "
    " partial_rotary_factor rope_theta rope_type short_factor truncate type ";
static const char quantization_keys[] =
    " _load_in_4bit _load_in_8bit act_group_aware activation_dtype activation_scale_rule "
    " activation_scale_ub activation_scheme activations axis backend backward_dtype batch_size beta1 beta2 "
    " bits block_name_to_quantize bnb_4bit_compute_dtype bnb_4bit_quant_storage bnb_4bit_quant_type "
    " bnb_4bit_use_double_quant cache_block_outputs checkpoint_format config_for_layers config_groups "
    " custom_mode damp_percent dataset dequantize desc_act do_fuse dtype dynamic_config enable_proxy_error "
    " exllama_config expert_dtype export fmt format forward_dtype forward_method fuse_max_seq_len "
    " gguf_file global_compression_ratio gradient_dtype gradient_scale_rule group_size hadamard_group_size "
    " hadamard_size ignore ignored_layers in_group_size include_input_output_embeddings json_export_config "
    " keep_master_weights kv_cache_scheme layout legacy linear_class linear_weights_not_to_quantize "
    " llm_int8_enable_fp32_cpu_offload llm_int8_has_fp16_weight llm_int8_skip_modules llm_int8_threshold "
    " load_in_4bit load_in_8bit matmul_backend max_input_length meta method model_seqlen "
    " module_config_overrides module_name_preceding_first_block module_quant_configs "
    " modules_in_block_to_quantize modules_to_convert modules_to_fuse modules_to_not_convert nbits "
    " nbits_per_codebook num_bits num_codebooks out_group_size output_dtype p packing_format pad_token_id "
    " pseudoquantization quant_config quant_method quant_type quant_type_kwargs quantization_config "
    " quantization_mode quantization_status quantize_backend quantize_embeddings rms_norm_eps "
    " run_compressed scale_fmt scale_rule shapes shared_layer_config skip_modules sparsity_config "
    " store_master_weights sym tiling_mode tokenizer transform_init true_sequential tune_metadata "
    " untie_embedding_weights use_cuda_fp16 use_exllama use_optimized_inference use_rms_norm version "
    " view_as_float weight_block_size weight_dtype weight_scale_2d weight_scale_rule weights zero_point "
    " zero_point_domain ";

static const char bert_keys[] =
    " attention_probs_dropout_prob classifier_dropout hidden_act hidden_dropout_prob hidden_size "
    " initializer_range intermediate_size layer_norm_eps max_position_embeddings num_attention_heads "
    " num_hidden_layers position_embedding_type type_vocab_size vocab_size ";
static const char bloom_keys[] =
    " apply_residual_connection_post_layernorm attention_dropout attention_softmax_in_fp32 "
    " bias_dropout_fusion hidden_dropout hidden_size initializer_range layer_norm_epsilon "
    " masked_softmax_fusion n_embed n_head n_inner n_layer num_attention_heads num_hidden_layers "
    " offset_alibi pretraining_tp seq_length skip_bias_add skip_bias_add_qkv slow_but_exact vocab_size ";
static const struct config_alias bloom_aliases[] = {
    {"num_attention_heads", "n_head"}, {"num_hidden_layers", "n_layer"}, {NULL, NULL}};
static const char convnext_keys[] =
    " _out_features _out_indices depths drop_path_rate hidden_act hidden_sizes image_size "
    " initializer_range layer_norm_eps layer_scale_init_value num_channels num_hidden_layers num_stages "
    " out_features out_indices patch_size stage_names ";
static const struct config_alias convnext_aliases[] = {{"num_hidden_layers", "num_stages"}, {NULL, NULL}};
static const char deepseek_v2_keys[] =
    " attention_bias attention_dropout aux_loss_alpha ep_size first_k_dense_replace head_dim hidden_act "
    " hidden_size initializer_range intermediate_size kv_lora_rank max_position_embeddings mlp_bias "
    " moe_intermediate_size moe_layer_freq n_group n_routed_experts n_shared_experts norm_topk_prob "
    " num_attention_heads num_experts num_experts_per_tok num_hidden_layers num_key_value_heads "
    " output_router_logits pretraining_tp q_lora_rank qk_head_dim qk_nope_head_dim qk_rope_head_dim "
    " rms_norm_eps rope_parameters routed_scaling_factor scoring_func seq_aux topk_group topk_method "
    " v_head_dim vocab_size ";
static const struct config_alias deepseek_v2_aliases[] = {{"num_experts", "n_routed_experts"}, {NULL, NULL}};
static const char deepseek_v3_keys[] =
    " attention_bias attention_dropout aux_loss_alpha ep_size first_k_dense_replace head_dim hidden_act "
    " hidden_size initializer_range intermediate_size kv_lora_rank max_position_embeddings "
    " moe_intermediate_size moe_layer_freq n_group n_routed_experts n_shared_experts norm_topk_prob "
    " num_attention_heads num_experts_per_tok num_hidden_layers num_key_value_heads num_local_experts "
    " num_mtp_layers num_nextn_predict_layers output_router_logits pretraining_tp q_lora_rank qk_head_dim "
    " qk_nope_head_dim qk_rope_head_dim rms_norm_eps rope_interleave rope_parameters routed_scaling_factor "
    " scoring_func seq_aux topk_group topk_method v_head_dim vocab_size ";
static const struct config_alias deepseek_v3_aliases[] = {
    {"num_local_experts", "n_routed_experts"}, {"num_nextn_predict_layers", "num_mtp_layers"}, {NULL, NULL}};
static const char distilbert_keys[] =
    " activation attention_dropout dim dropout hidden_dim hidden_size initializer_range "
    " max_position_embeddings n_heads n_layers num_attention_heads num_hidden_layers qa_dropout "
    " seq_classif_dropout sinusoidal_pos_embds tie_weights_ vocab_size ";
static const struct config_alias distilbert_aliases[] = {
    {"hidden_size", "dim"}, {"num_attention_heads", "n_heads"}, {"num_hidden_layers", "n_layers"}, {NULL, NULL}};
static const char falcon_keys[] =
    " activation alibi apply_residual_connection_post_layernorm attention_dropout bias ffn_hidden_size "
    " hidden_dropout hidden_size initializer_range layer_norm_epsilon max_position_embeddings multi_query "
    " n_embed new_decoder_architecture num_attention_heads num_hidden_layers num_kv_heads "
    " num_ln_in_parallel_attn parallel_attn rope_parameters vocab_size ";
static const char gemma_keys[] =
    " attention_bias attention_dropout head_dim hidden_act hidden_activation hidden_size initializer_range "
    " intermediate_size max_position_embeddings num_attention_heads num_hidden_layers num_key_value_heads "
    " rms_norm_eps rope_parameters use_bidirectional_attention vocab_size ";
static const char gemma2_keys[] =
    " attention_bias attention_dropout attn_logit_softcapping final_logit_softcapping head_dim hidden_act "
    " hidden_activation hidden_size initializer_range intermediate_size layer_types "
    " max_position_embeddings num_attention_heads num_hidden_layers num_key_value_heads "
    " query_pre_attn_scalar rms_norm_eps rope_parameters sliding_window use_bidirectional_attention "
    " vocab_size ";
static const char gemma3_text_keys[] =
    " _sliding_window_pattern attention_bias attention_dropout attn_logit_softcapping "
    " final_logit_softcapping head_dim hidden_act hidden_activation hidden_size initializer_range "
    " intermediate_size layer_types max_position_embeddings num_attention_heads num_hidden_layers "
    " num_key_value_heads query_pre_attn_scalar rms_norm_eps rope_local_base_freq rope_parameters "
    " sliding_window sliding_window_pattern use_bidirectional_attention vocab_size ";
static const char gpt2_keys[] =
    " activation_function attn_pdrop embd_pdrop hidden_size initializer_range layer_norm_epsilon "
    " max_position_embeddings n_embd n_head n_inner n_layer n_positions num_attention_heads "
    " num_hidden_layers reorder_and_upcast_attn resid_pdrop scale_attn_by_inverse_layer_idx "
    " scale_attn_weights summary_activation summary_first_dropout summary_proj_to_labels summary_type "
    " summary_use_proj vocab_size ";
static const struct config_alias gpt2_aliases[] = {{"hidden_size", "n_embd"},
                                                   {"max_position_embeddings", "n_positions"},
                                                   {"num_attention_heads", "n_head"},
                                                   {"num_hidden_layers", "n_layer"},
                                                   {NULL, NULL}};
static const char gpt_neo_keys[] =
    " activation_function attention_dropout attention_layers attention_types classifier_dropout "
    " embed_dropout hidden_size initializer_range intermediate_size layer_norm_epsilon "
    " max_position_embeddings num_attention_heads num_heads num_hidden_layers num_layers resid_dropout "
    " summary_activation summary_first_dropout summary_proj_to_labels summary_type summary_use_proj "
    " vocab_size window_size ";
static const struct config_alias gpt_neo_aliases[] = {
    {"num_attention_heads", "num_heads"}, {"num_hidden_layers", "num_layers"}, {NULL, NULL}};
static const char gpt_neox_keys[] =
    " attention_bias attention_dropout attention_dropout_prob classifier_dropout hidden_act hidden_dropout "
    " hidden_dropout_prob hidden_size initializer_range intermediate_size layer_norm_eps "
    " max_position_embeddings num_attention_heads num_hidden_layers rope_parameters rotary_emb_base "
    " rotary_pct use_parallel_residual vocab_size ";
static const char llama_keys[] =
    " attention_bias attention_dropout head_dim hidden_act hidden_size initializer_range intermediate_size "
    " is_llama_config max_position_embeddings mlp_bias num_attention_heads num_hidden_layers "
    " num_key_value_heads pretraining_tp rms_norm_eps rope_interleaved rope_parameters vocab_size ";
static const char mistral_keys[] =
    " attention_dropout head_dim hidden_act hidden_size initializer_range intermediate_size "
    " max_position_embeddings num_attention_heads num_hidden_layers num_key_value_heads rms_norm_eps "
    " rope_parameters sliding_window vocab_size ";
static const char mixtral_keys[] =
    " attention_dropout head_dim hidden_act hidden_size initializer_range intermediate_size "
    " max_position_embeddings num_attention_heads num_experts num_experts_per_tok num_hidden_layers "
    " num_key_value_heads num_local_experts output_router_logits rms_norm_eps rope_parameters "
    " router_aux_loss_coef router_jitter_noise sliding_window vocab_size ";
static const struct config_alias mixtral_aliases[] = {{"num_experts", "num_local_experts"}, {NULL, NULL}};
static const char opt_keys[] =
    " _remove_final_layer_norm activation_dropout activation_function attention_dropout "
    " do_layer_norm_before dropout enable_bias ffn_dim hidden_size init_std layer_norm_elementwise_affine "
    " layerdrop max_position_embeddings num_attention_heads num_hidden_layers vocab_size "
    " word_embed_proj_dim ";
static const char phi3_keys[] =
    " attention_bias attention_dropout embd_pdrop hidden_act hidden_size initializer_range "
    " intermediate_size max_position_embeddings num_attention_heads num_hidden_layers num_key_value_heads "
    " original_max_position_embeddings resid_pdrop rms_norm_eps rope_parameters sliding_window vocab_size ";
static const char qwen2_keys[] =
    " attention_dropout hidden_act hidden_size initializer_range intermediate_size layer_types "
    " max_position_embeddings max_window_layers num_attention_heads num_hidden_layers num_key_value_heads "
    " rms_norm_eps rope_parameters sliding_window use_sliding_window vocab_size ";
static const char qwen2_moe_keys[] =
    " attention_dropout decoder_sparse_step hidden_act hidden_size initializer_range intermediate_size "
    " layer_types max_position_embeddings max_window_layers mlp_only_layers moe_intermediate_size "
    " norm_topk_prob num_attention_heads num_experts num_experts_per_tok num_hidden_layers "
    " num_key_value_heads output_router_logits qkv_bias rms_norm_eps rope_parameters router_aux_loss_coef "
    " shared_expert_intermediate_size sliding_window use_sliding_window vocab_size ";
static const char qwen3_keys[] =
    " attention_bias attention_dropout head_dim hidden_act hidden_size initializer_range intermediate_size "
    " layer_types max_position_embeddings max_window_layers num_attention_heads num_hidden_layers "
    " num_key_value_heads rms_norm_eps rope_parameters sliding_window use_sliding_window vocab_size ";
static const char qwen3_moe_keys[] =
    " attention_bias attention_dropout decoder_sparse_step head_dim hidden_act hidden_size "
    " initializer_range intermediate_size max_position_embeddings max_window_layers mlp_only_layers "
    " moe_intermediate_size norm_topk_prob num_attention_heads num_experts num_experts_per_tok "
    " num_hidden_layers num_key_value_heads num_local_experts output_router_logits rms_norm_eps "
    " rope_parameters router_aux_loss_coef sliding_window use_sliding_window vocab_size ";
static const struct config_alias qwen3_moe_aliases[] = {{"num_local_experts", "num_experts"}, {NULL, NULL}};
static const char roberta_keys[] =
    " attention_probs_dropout_prob classifier_dropout hidden_act hidden_dropout_prob hidden_size "
    " initializer_range intermediate_size layer_norm_eps max_position_embeddings num_attention_heads "
    " num_hidden_layers position_embedding_type type_vocab_size vocab_size ";
static const char t5_keys[] =
    " classifier_dropout d_ff d_kv d_model dense_act_fn dropout_rate feed_forward_proj head_dim "
    " hidden_size initializer_factor is_gated_act layer_norm_epsilon n_positions num_attention_heads "
    " num_decoder_layers num_heads num_hidden_layers num_layers relative_attention_max_distance "
    " relative_attention_num_buckets scale_decoder_outputs vocab_size ";
static const struct config_alias t5_aliases[] = {{"head_dim", "d_kv"},
                                                 {"hidden_size", "d_model"},
                                                 {"num_attention_heads", "num_heads"},
                                                 {"num_hidden_layers", "num_layers"},
                                                 {NULL, NULL}};
static const char vit_keys[] =
    " attention_probs_dropout_prob encoder_stride hidden_act hidden_dropout_prob hidden_size image_size "
    " initializer_range intermediate_size layer_norm_eps num_attention_heads num_channels "
    " num_hidden_layers patch_size pooler_act pooler_output_size qkv_bias ";
static const char xlm_roberta_keys[] =
    " attention_probs_dropout_prob classifier_dropout hidden_act hidden_dropout_prob hidden_size "
    " initializer_range intermediate_size layer_norm_eps max_position_embeddings num_attention_heads "
    " num_hidden_layers position_embedding_type type_vocab_size vocab_size ";

static const struct config_keys types[] = {
    {"bert", "BertConfig", bert_keys, no_aliases},
    {"bloom", "BloomConfig", bloom_keys, bloom_aliases},
    {"convnext", "ConvNextConfig", convnext_keys, convnext_aliases},
    {"deepseek_v2", "DeepseekV2Config", deepseek_v2_keys, deepseek_v2_aliases},
    {"deepseek_v3", "DeepseekV3Config", deepseek_v3_keys, deepseek_v3_aliases},
    {"distilbert", "DistilBertConfig", distilbert_keys, distilbert_aliases},
    {"falcon", "FalconConfig", falcon_keys, no_aliases},
    {"gemma", "GemmaConfig", gemma_keys, no_aliases},
    {"gemma2", "Gemma2Config", gemma2_keys, no_aliases},
    {"gemma3_text", "Gemma3TextConfig", gemma3_text_keys, no_aliases},
    {"gpt2", "GPT2Config", gpt2_keys, gpt2_aliases},
    {"gpt_neo", "GPTNeoConfig", gpt_neo_keys, gpt_neo_aliases},
    {"gpt_neox", "GPTNeoXConfig", gpt_neox_keys, no_aliases},
    {"llama", "LlamaConfig", llama_keys, no_aliases},
    {"mistral", "MistralConfig", mistral_keys, no_aliases},
    {"mixtral", "MixtralConfig", mixtral_keys, mixtral_aliases},
    {"opt", "OPTConfig", opt_keys, no_aliases},
    {"phi3", "Phi3Config", phi3_keys, no_aliases},
    {"qwen2", "Qwen2Config", qwen2_keys, no_aliases},
    {"qwen2_moe", "Qwen2MoeConfig", qwen2_moe_keys, no_aliases},
    {"qwen3", "Qwen3Config", qwen3_keys, no_aliases},
    {"qwen3_moe", "Qwen3MoeConfig", qwen3_moe_keys, qwen3_moe_aliases},
    {"roberta", "RobertaConfig", roberta_keys, no_aliases},
    {"t5", "T5Config", t5_keys, t5_aliases},
    {"vit", "ViTConfig", vit_keys, no_aliases},
    {"xlm-roberta", "XLMRobertaConfig", xlm_roberta_keys, no_aliases},
};

const char *config_common_keys(void)
{
    return common_keys;
}

const char *config_timm_keys(void)
{
    return timm_keys;
}

const char *config_rope_keys(void)
{
    return rope_keys;
}

const char *config_quantization_keys(void)
{
    return quantization_keys;
}

const struct config_keys *config_keys_at(size_t index)
{
    return index < sizeof types / sizeof types[0] ? &types[index] : NULL;
}
