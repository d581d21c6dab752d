/* Release: the register behind release.h. Not what a habit means for a tape, which is where the tape is built, nor the
 * buffers that older classes registered, which are the eras of each family (models/config/family.h). */
#include "harness/case/release.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "harness/case/workload.h"

static const struct library {
    const char *name;
    int first, last; /* of the register, and the one that the tape follows */
} libraries[LIBRARY_COUNT] = {
    [LIBRARY_TRANSFORMERS] = {"transformers", 4031, 5023},
    [LIBRARY_TORCH] = {"torch", 2001, 2011},
    [LIBRARY_BITSANDBYTES] = {"bitsandbytes", 41, 50},
};

#define TRANSFORMERS(habit, since, until, types, source)                                                               \
    {                                                                                                                  \
        RELEASE_##habit, LIBRARY_TRANSFORMERS, since, until, types, source                                             \
    }
#define TORCH(habit, since, until, source)                                                                             \
    {                                                                                                                  \
        RELEASE_##habit, LIBRARY_TORCH, since, until, NULL, source                                                     \
    }
#define BITSANDBYTES(habit, until, source)                                                                             \
    {                                                                                                                  \
        RELEASE_##habit, LIBRARY_BITSANDBYTES, 0, until, NULL, source                                                  \
    }

/* Sources of transformers are paths below src/transformers; "models/&.py" is the modelling file of the model type. */
static const struct release_change changes[] = {
    TRANSFORMERS(EAGER_ALONE, 0, 4036, "llama falcon", "models/&.py: no _supports_sdpa"),
    TRANSFORMERS(EAGER_ALONE, 0, 4037, "mistral mixtral", "models/&.py: no _supports_sdpa"),
    TRANSFORMERS(EAGER_ALONE, 0, 4041, "bert vit", "models/&.py: no _supports_sdpa"),
    TRANSFORMERS(EAGER_ALONE, 0, 4042, "gpt2 gpt_neox", "models/&.py: no _supports_sdpa"),
    TRANSFORMERS(EAGER_ALONE, 0, 4045, "phi3 roberta xlm-roberta", "models/&.py: no _supports_sdpa"),
    TRANSFORMERS(EAGER_ALONE, 0, 4046, "opt distilbert", "models/&.py: no _supports_sdpa"),
    TRANSFORMERS(LOGITS_FLOAT32, 0, 4045, "llama mistral qwen2 mixtral gemma gemma2 phi3 qwen2_moe",
                 "models/&.py, ...ForCausalLM.forward: logits = logits.float()"),
    TRANSFORMERS(ALL_LOGITS, 0, 4045, "llama mistral qwen2 mixtral gemma gemma2 phi3 qwen2_moe",
                 "models/&.py, ...ForCausalLM.forward: no num_logits_to_keep"),
    TRANSFORMERS(ALL_LOGITS, 0, 4047, "falcon", "models/&.py, ...ForCausalLM.forward: no num_logits_to_keep"),
    TRANSFORMERS(ALL_LOGITS, 0, 4053, "gpt2", "models/&.py, GPT2LMHeadModel.forward: no logits_to_keep"),
    TRANSFORMERS(ALL_LOGITS, 0, 4049, "gpt_neox", "models/&.py, ...ForCausalLM.forward: no logits_to_keep"),
    TRANSFORMERS(ALL_LOGITS, 0, 5000, "gpt_neo opt bloom", "models/&.py, ...ForCausalLM.forward: no logits_to_keep"),
    TRANSFORMERS(LOSS_SHIFTS_LOGITS, 0, 4049, NULL,
                 "loss/loss_utils.py, ForCausalLMLoss, and before it each ...ForCausalLM.forward: shift_logits = "
                 "logits[..., :-1, :].contiguous()"),
    TRANSFORMERS(LOSS_IN_DTYPE, 0, 4048, "gpt2 gpt_neo opt bloom falcon",
                 "models/&.py, ...ForCausalLM.forward: CrossEntropyLoss of shift_logits"),
    TRANSFORMERS(LOSS_IN_DTYPE, 0, 4049, "gpt_neox",
                 "models/&.py, GPTNeoXForCausalLM.forward: CrossEntropyLoss of shift_logits"),
    TRANSFORMERS(LOSS_REBINDS_LOGITS, 0, 4046, "llama qwen2 mixtral gemma gemma2 phi3 qwen2_moe",
                 "models/&.py, ...ForCausalLM.forward: logits = logits.float()"),
    TRANSFORMERS(LOSS_REBINDS_LOGITS, 0, 4048, "mistral",
                 "models/&.py, MistralForCausalLM.forward: logits = logits.float()"),
    TRANSFORMERS(OUTPUTS_KEPT, 0, 4042, NULL, "generation/utils.py, _greedy_search: no del outputs"),
    TRANSFORMERS(CACHE_AS_TUPLES, 0, 4048, "llama mistral qwen2 mixtral gemma phi3",
                 "models/&.py, ...Model.forward: return_legacy_cache"),
    TRANSFORMERS(CACHE_AS_TUPLES, 0, 4049, "gpt_neox",
                 "models/&.py, GPTNeoXModel.forward: return_legacy_cache, and presents before it"),
    TRANSFORMERS(CACHE_AS_TUPLES, 0, 4054, "qwen2_moe gpt_neo opt bloom falcon",
                 "models/&.py, ...Model.forward: return_legacy_cache, and presents before it"),
    TRANSFORMERS(CACHE_AS_TUPLES, 0, 4056, "gpt2",
                 "models/&.py, GPT2Model.forward: return_legacy_cache, and presents before it"),
    TRANSFORMERS(SCORES_VIEW, 0, 4042, NULL, "generation/utils.py, _greedy_search: outputs.logits[:, -1, :]"),
    TRANSFORMERS(LOGITS_CLONED, 4045, 4047, NULL,
                 "generation/utils.py, _sample: outputs.logits.clone()[:, -1, :].float()"),
    TRANSFORMERS(SCORES_IN_DTYPE, 4042, 4045, NULL, "generation/utils.py, _sample: outputs.logits[:, -1, :].clone()"),
    TRANSFORMERS(CACHE_KEPT, 0, 4042, "llama mistral qwen2 mixtral gemma phi3 qwen2_moe",
                 "models/&.py: torch.cat of past_key_value, then DynamicCache.from_legacy_cache: the tuple of the pass "
                 "before stays in model_kwargs"),
    TRANSFORMERS(CACHE_KEPT, 0, 4044, "bloom", "models/&.py: torch.cat of layer_past"),
    TRANSFORMERS(CACHE_KEPT, 0, 4045, "gpt_neo gpt_neox falcon", "models/&.py: torch.cat of layer_past"),
    TRANSFORMERS(CACHE_KEPT, 0, 4049, "opt", "models/&.py: torch.cat of past_key_value"),
    TRANSFORMERS(CACHE_KEPT, 0, 4052, "gpt2", "models/&.py, GPT2Attention.forward: torch.cat of layer_past"),
    TRANSFORMERS(CACHE_TAKES_STATES, 0, 4056, NULL,
                 "cache_utils.py, DynamicCache.update: self.key_cache.append(key_states)"),
    TRANSFORMERS(CACHE_WITHOUT_WINDOWS, 0, 4056, "mistral mixtral qwen2 qwen2_moe qwen3 qwen3_moe phi3",
                 "cache_utils.py, DynamicCache.update: no DynamicSlidingWindowLayer"),
    TRANSFORMERS(ROTARY_INDEXED, 0, 4038, "llama", "models/&.py, apply_rotary_pos_emb: cos[position_ids]"),
    TRANSFORMERS(ROTARY_INDEXED, 0, 4042, "mistral", "models/&.py, apply_rotary_pos_emb: cos[position_ids]"),
    TRANSFORMERS(ROTARY_INDEXED, 0, 4045, "qwen2", "models/&.py, apply_rotary_pos_emb: cos[position_ids]"),
    TRANSFORMERS(ROTARY_IN_LAYERS, 4038, 4043, "llama", "models/&.py, LlamaAttention: self.rotary_emb(value_states"),
    TRANSFORMERS(ROTARY_IN_LAYERS, 4042, 4048, "mistral",
                 "models/&.py, MistralAttention: self.rotary_emb(value_states"),
    TRANSFORMERS(HEADS_REPEATED_BEFORE, 0, 4048, NULL,
                 "models/&.py, ...Attention: key_states = repeat_kv(key_states, ..."),
    TRANSFORMERS(HEADS_REPEATED, 4048, 4054, NULL, "integrations/sdpa_attention.py: repeat_kv, no enable_gqa"),
    TRANSFORMERS(HEADS_CONTIGUOUS, 4048, 4056,
                 "llama mistral qwen2 qwen3 mixtral qwen3_moe gemma gemma2 gemma3_text phi3 gpt2",
                 "integrations/sdpa_attention.py: query = query.contiguous(), key and value alike"),
    TRANSFORMERS(HEADS_CONTIGUOUS, 4049, 4056, "gpt_neox", "integrations/sdpa_attention.py: query.contiguous()"),
    TRANSFORMERS(HEADS_CONTIGUOUS, 4050, 4056, "vit", "integrations/sdpa_attention.py: query.contiguous()"),
    TRANSFORMERS(HEADS_CONTIGUOUS, 4052, 4056, "opt", "integrations/sdpa_attention.py: query.contiguous()"),
    TRANSFORMERS(WEIGHTS_DROPPED, 0, 4048, "llama mistral qwen2 mixtral gemma gemma2 phi3 qwen2_moe",
                 "models/&.py, ...Attention.forward: attn_weights = None"),
    TRANSFORMERS(WEIGHTS_DROPPED, 0, 4052, "gpt2", "models/&.py, GPT2Attention.forward: return outputs"),
    TRANSFORMERS(WEIGHTS_DROPPED, 0, 4054, "bert roberta",
                 "models/&.py, ...SelfAttention.forward: attention_probs if output_attentions"),
    TRANSFORMERS(MASK_IN_FULL, 4038, 4040, "llama gemma", "models/&.py, LlamaModel._update_causal_mask"),
    TRANSFORMERS(PACKING_UNASKED, 0, 4053, NULL, "masking_utils.py, find_packed_sequence_indices: not there"),
    TRANSFORMERS(
        PACKED_BIASES, 0, 4041, NULL,
        "optimum before 1.20, of its time: gptq/quantizer.py, _replace_by_quant_layers: QuantLinear(..., True"),
    TRANSFORMERS(PACKED_PARTS, 0, 4037, NULL,
                 "autoawq before 0.2, of its time: modules/linear.py, WQLinear_GEMM.forward: no branch of 1024 rows"),
    TORCH(HEADS_REPEATED, 0, 2005, "torch.nn.functional.scaled_dot_product_attention: no enable_gqa"),
    TORCH(LINEAR_WORKSPACE_PASSING, 0, 2009,
          "aten/src/ATen/cuda/CUDABlas.cpp, gemm_and_bias: a workspace of the call; pull request 156495 keeps it"),
    TORCH(CUDNN_ATTENTION_LAST, 0, 2009,
          "aten/src/ATen/native/transformers/cuda/sdp_utils.cpp, priority_order: pull request 162073 prefers cuDNN; "
          "2.5.0 did, 2.5.1 no longer"),
    TORCH(CUDNN_ATTENTION_LAST, 2010, 2011,
          "aten/src/ATen/native/transformers/cuda/sdp_utils.cpp, check_prefer_cudnn_attention: needs cuDNN 9.15.1, "
          "which the wheels of 2.10 do not bring"),
    TORCH(FLASH_UNDIVIDED, 0, 2002,
          "aten/src/ATen/native/transformers/cuda/flash_attn: the first FlashAttention, before pull request 105602"),
    TORCH(
        FLASH_COUNTS_ONCE, 2002, 2007,
        "aten/src/ATen/native/transformers/cuda/flash_attn/flash_api.cpp, set_params_splitkv: multiProcessorCount, as "
        "flash-attention had it before 2.5.7; pull request 146372 takes a newer one"),
    TORCH(EMBEDDING_PARTS_SUMMED, 0, 2011,
          "aten/src/ATen/native/cuda/EmbeddingBackwardKernel.cu: no compute_grad_weight_atomic_accumulate, which pull "
          "request 170589 brings"),
    TORCH(
        MEAN_KEEPS_INPUT, 0, 2002,
        "tools/autograd/derivatives.yaml, mean.dim: self.sym_numel(), for which 2.1 saves self (MeanBackward1 of 2.1.2 "
        "has _saved_self, that of 2.2.2 has not)"),
    BITSANDBYTES(INPUTS_KEPT, 43,
                 "bitsandbytes/autograd/_functions.py, MatMul4Bit: ctx.tensors = (A, B); 0.43.0 and 0.43.1 too, pull "
                 "request 1270 ends it in 0.43.2"),
    BITSANDBYTES(WEIGHTS_HALVED, 43, "bitsandbytes/nn/modules.py, Params4bit.cuda: self.data.contiguous().half()"),
    BITSANDBYTES(SCALE_MAP_SHARED, 46,
                 "bitsandbytes/functional.py, quantize_4bit: absmax -= offset, and quantize_blockwise: code=code"),
    BITSANDBYTES(ROWS_UNFUSED, 50,
                 "bitsandbytes/autograd/_functions.py, matmul_4bit: A.numel() == A.shape[-1]; pull request 1949"),
};

#undef TRANSFORMERS
#undef TORCH
#undef BITSANDBYTES

const struct release_change *release_change_at(size_t index)
{
    return index < sizeof changes / sizeof changes[0] ? &changes[index] : NULL;
}

const char *release_habit_text(enum release_habit habit)
{
    static const char *const texts[RELEASE_HABIT_COUNT] = {
#define RELEASE_HABIT_TEXT(name, text) [RELEASE_##name] = (text),
        RELEASE_HABIT_TABLE(RELEASE_HABIT_TEXT)
#undef RELEASE_HABIT_TEXT
    };
    return texts[habit];
}

const char *release_library_name(enum release_library library)
{
    return libraries[library].name;
}

/* "4.38", and behind it nothing or ".2", ".0.dev0" and the like; 0: it is none. */
static int number_of(const char *text, size_t length)
{
    char release[24];
    unsigned major = 0, minor = 0;
    int read = 0;
    snprintf(release, sizeof release, "%.*s", (int)length, text);
    if (length >= sizeof release || release[0] < '0' || release[0] > '9' ||
        sscanf(release, "%3u.%3u%n", &major, &minor, &read) != 2) {
        return 0;
    }
    bool ends = release[read] == '\0' || release[read] == '.';
    bool plain = release[strspn(release, "0123456789.abcdefghijklmnopqrstuvwxyz")] == '\0'; /* it stands in ids */
    return ends && plain ? (int)(major * 1000 + minor) : 0;
}

/* One part, "torch=2.1", of this length. */
struct part {
    const char *text, *release; /* release: behind the sign of equality */
    size_t length, release_length;
    int library; /* LIBRARY_COUNT: it names none */
};

/* Part of the text at *at, which moves behind it. */
static struct part part_next(const char **at)
{
    struct part part = {.text = *at, .length = strcspn(*at, "+"), .library = 0};
    size_t name = strcspn(part.text, "=+");
    while (part.library < LIBRARY_COUNT && (strlen(libraries[part.library].name) != name ||
                                            strncmp(libraries[part.library].name, part.text, name) != 0)) {
        part.library++;
    }
    bool has_release = name < part.length;
    part.release = part.text + name + (has_release ? 1 : 0);
    part.release_length = part.length - name - (has_release ? 1 : 0);
    *at = part.text + part.length + (part.text[part.length] == '+' ? 1 : 0);
    return part;
}

struct release_numbers release_numbers_of(const char *text)
{
    struct release_numbers numbers = {{INT_MAX, INT_MAX, INT_MAX}};
    for (const char *at = text; at != NULL && *at != '\0';) {
        struct part part = part_next(&at);
        if (part.library < LIBRARY_COUNT) {
            numbers.of[part.library] = number_of(part.release, part.release_length);
        }
    }
    return numbers;
}

bool release_is_followed(const char *text, enum release_library library)
{
    return release_numbers_of(text).of[library] >= libraries[library].last;
}

static enum status_code part_check(const struct part *part, struct status *error)
{
    if (part->library == LIBRARY_COUNT) {
        return status_set(error, STATUS_INVALID,
                          "%s: '%.*s' names no library that is known; write transformers=4.46, torch=2.1, "
                          "bitsandbytes=0.41 or transformers=4.46+torch=2.1",
                          key_spelling(error, "release").text, (int)part->length, part->text);
    }
    const struct library *library = &libraries[part->library];
    int number = number_of(part->release, part->release_length);
    const char *why = number == 0               ? "is not a release"
                      : number < library->first ? "is before the releases that are known"
                      : number > library->last  ? "is newer than the release that the tape follows"
                                                : NULL;
    return why == NULL
               ? STATUS_OK
               : status_set(error, STATUS_INVALID,
                            "%s: '%.*s' of %s %s; write one from %d.%d to %d.%d, or leave it out for %d.%d",
                            key_spelling(error, "release").text, (int)part->release_length, part->release,
                            library->name, why, library->first / 1000, library->first % 1000, library->last / 1000,
                            library->last % 1000, library->last / 1000, library->last % 1000);
}

enum status_code release_text_check(const char *text, struct status *error)
{
    int before = -1;
    enum status_code code = STATUS_OK;
    const char *at = text;
    do {
        struct part part = part_next(&at);
        code = part_check(&part, error);
        if (code == STATUS_OK && part.library <= before) {
            code = status_set(error, STATUS_INVALID,
                              "%s: %s names a library twice, or in another order; write "
                              "transformers=4.46+torch=2.1+bitsandbytes=0.41",
                              key_spelling(error, "release").text, text);
        }
        before = part.library;
    } while (code == STATUS_OK && *at != '\0');
    return code;
}

/* Whether word is one of the words, which spaces divide. */
static bool words_have(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = strstr(words, word); at != NULL; at = strstr(at + 1, word)) {
        bool begins = at == words || at[-1] == ' ', ends = at[length] == '\0' || at[length] == ' ';
        if (begins && ends) {
            return true;
        }
    }
    return false;
}

struct release_habits release_habits_of(const struct workload *workload, const char *model_type)
{
    struct release_habits habits = {{false}};
    if (workload->release == NULL) {
        return habits;
    }
    const struct release_numbers numbers = release_numbers_of(workload->release);
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        const struct release_change *change = &changes[i];
        int number = numbers.of[change->library];
        bool is_in_force = number >= change->since && number < change->until;
        if (is_in_force && (change->model_types == NULL || words_have(change->model_types, model_type))) {
            habits.has[change->habit] = true;
        }
    }
    return habits;
}

bool release_has(const struct workload *workload, const char *model_type, enum release_habit habit)
{
    return release_habits_of(workload, model_type).has[habit];
}
