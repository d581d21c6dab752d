/* Losses in chunks: the cross entropy of some tokens at a time, as programs have it that fine-tune decoders. Each form
 * keeps other things for the backward pass:
 *
 *   chunked         litgpt's chunked_cross_entropy: the head is called once; all rows of its logits but the last of
 *                   each sequence are copied and divided into chunks of rows, each with log-probabilities of its own
 *   chunked-head    the head is called for some tokens of each sequence (litgpt's lm_head_chunk_size), and the loss of
 *                   each chunk taken
 *   chunked-output  torchtune's CEWithChunkedOutputLoss: the same of an eighth of the sequence, cast to float32 where
 *                   it is looked at
 *   composed        of torchtune's and litgpt's classes: all rows at once, as those recipes have it without chunks
 *
 * The labels are shifted by one in all of them. Nothing has the gradient of all logits at once but the first form,
 * which makes it of the chunks' gradients, in the dtype of the logits. */
#ifndef ASSAY_FORWARD_CHUNKED_LOSS_H
#define ASSAY_FORWARD_CHUNKED_LOSS_H

#include "models/forward/forward.h"
#include "models/forward/module_visit.h"

/* The loss of a decoder: model makes what its head reads, below root (module_run), and what else the frame holds goes
 * with the model's return. forward has labels, and a loss in chunks or classes of its own (own_code.h). */
struct value *chunked_loss_forward(const struct forward *forward, module_body *model, const char *root);

#endif
