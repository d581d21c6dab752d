/* Training words: the words of the case fields that say how a model is trained; X(enumerator, word). The fields are
 * rows of harness/case/case_field.h. */
#ifndef ASSAY_CASE_TRAINING_WORDS_H
#define ASSAY_CASE_TRAINING_WORDS_H

/* Of classes: PyTorch's log_softmax and nll_loss; Liger-Kernel's, whose gradient takes the place of the logits; or
 * PyTorch's of some tokens at a time (models/forward/chunked_loss.h): of logits that are all there, litgpt's
 * chunked_cross_entropy; of a head that is called for each chunk, its lm_head_chunk_size; the same with logits that are
 * cast to float32 chunk by chunk, torchtune's CEWithChunkedOutputLoss. */
#define LOSS_TABLE(X)                                                                                                  \
    X(LOSS_COMPOSED, "composed")                                                                                       \
    X(LOSS_FUSED, "fused")                                                                                             \
    X(LOSS_CHUNKED, "chunked")                                                                                         \
    X(LOSS_CHUNKED_HEAD, "chunked-head")                                                                               \
    X(LOSS_CHUNKED_OUTPUT, "chunked-output")

/* Whose classes the model is made of. */
#define MODEL_CODE_TABLE(X)                                                                                            \
    X(MODEL_CODE_TRANSFORMERS, "transformers")                                                                         \
    X(MODEL_CODE_TORCHTUNE, "torchtune")                                                                               \
    X(MODEL_CODE_LITGPT, "litgpt")

/* Not at all; torch's cross_entropy(label_smoothing=...); LabelSmoother of transformers' Trainer. */
#define LABEL_SMOOTHING_TABLE(X)                                                                                       \
    X(LABEL_SMOOTHING_NONE, "none")                                                                                    \
    X(LABEL_SMOOTHING_CROSS_ENTROPY, "cross-entropy")                                                                  \
    X(LABEL_SMOOTHING_TRAINER, "trainer")

/* As an optimizer is given its parameters: all in one group, or as transformers' Trainer divides them, those with
 * weight decay and those without. */
#define PARAMETER_GROUPS_TABLE(X)                                                                                      \
    X(PARAMETER_GROUPS_ONE, "one")                                                                                     \
    X(PARAMETER_GROUPS_DECAY, "decay")

/* What an 8-bit optimizer of bitsandbytes keeps of the weights of nn.Embedding: as of others, or float32, as
 * transformers' Trainer tells it to (GlobalOptimManager.register_module_override, optim_bits 32). */
#define EMBEDDING_STATES_TABLE(X)                                                                                      \
    X(EMBEDDING_STATES_8BIT, "8bit")                                                                                   \
    X(EMBEDDING_STATES_FLOAT32, "float32")

/* torch.nn.utils.clip_grad_norm_: not called, or in one of its forms. */
#define CLIP_GRAD_TABLE(X)                                                                                             \
    X(CLIP_GRAD_NONE, "none")                                                                                          \
    X(CLIP_GRAD_FOREACH, "foreach")                                                                                    \
    X(CLIP_GRAD_SINGLE, "single")

/* torch.amp.GradScaler, of float16 under autocast: not used; used; or, which is no habit of PyTorch's, a scale and a
 * flag that stay, by which assay's own training survives float16. */
#define GRAD_SCALER_TABLE(X)                                                                                           \
    X(GRAD_SCALER_LEAN, "lean")                                                                                        \
    X(GRAD_SCALER_NONE, "none")                                                                                        \
    X(GRAD_SCALER_TORCH, "torch")

/* A copy of the model that holds an exponential average of its weights: torch.optim.swa_utils.AveragedModel with
 * get_ema_multi_avg_fn; timm.utils' ModelEmaV3, which timm's own training uses, and ModelEmaV2. */
#define WEIGHT_AVERAGE_TABLE(X)                                                                                        \
    X(WEIGHT_AVERAGE_NONE, "none")                                                                                     \
    X(WEIGHT_AVERAGE_AVERAGED_MODEL, "averaged-model")                                                                 \
    X(WEIGHT_AVERAGE_TIMM_EMA, "timm-ema")                                                                             \
    X(WEIGHT_AVERAGE_TIMM_EMA_V2, "timm-ema-v2")

/* What the backward pass of an accumulated batch begins with: its loss by the number of batches, or the loss. */
#define ACCUMULATED_LOSS_TABLE(X)                                                                                      \
    X(ACCUMULATED_LOSS_DIVIDED, "divided")                                                                             \
    X(ACCUMULATED_LOSS_WHOLE, "whole")

/* Where the program calls optimizer.zero_grad(). */
#define ZERO_GRAD_TABLE(X)                                                                                             \
    X(ZERO_GRAD_AFTER_STEP, "after-step")                                                                              \
    X(ZERO_GRAD_BEFORE_FORWARD, "before-forward")                                                                      \
    X(ZERO_GRAD_BEFORE_BACKWARD, "before-backward")

/* What it makes of a gradient: None, or zeros in the same place (set_to_none=False). */
#define ZERO_GRAD_TO_TABLE(X)                                                                                          \
    X(ZERO_GRAD_TO_NONE, "none")                                                                                       \
    X(ZERO_GRAD_TO_ZEROS, "zeros")

#endif
