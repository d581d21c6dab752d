/* Losses in chunks, line by line: litgpt 0.5 (litgpt/utils.py, chunked_cross_entropy; finetune/full.py, lora.py) and
 * torchtune 0.6 (modules/loss/ce_chunked_output_loss.py; recipes, _loss_step). */
#include "models/forward/chunked_loss.h"

#include <stdlib.h>

#include "harness/tape/chunk.h"
#include "models/config/family.h"
#include "models/forward/decoder_type.h"

enum { OUTPUT_CHUNKS = 8, CHUNK_TOKENS = 128 };

/* What a model returns: logits, whole or by chunks. */
struct returned {
    struct value **parts;
    int count;
};

/* Tokens of a chunk, or of the form that has all logits, rows. */
static int64_t chunk_size(const struct forward *forward, int64_t tokens)
{
    const struct workload *workload = forward->workload;
    if (workload->loss_chunk_size > 0) {
        return workload->loss_chunk_size;
    }
    return workload->loss == LOSS_CHUNKED_OUTPUT ? (tokens + OUTPUT_CHUNKS - 1) / OUTPUT_CHUNKS : CHUNK_TOKENS;
}

static bool parts_reserve(struct tape *tape, struct value ***parts, int64_t count)
{
    *parts = calloc((size_t)count, sizeof **parts);
    if (*parts == NULL) {
        tape_fail(tape, STATUS_OUT_OF_MEMORY, "the host has no memory for a tape");
    }
    return *parts != NULL;
}

/* -- labels: how many count among columns [first, end) of sequences; column c has the label of token c + 1 */

static int64_t between(int64_t first, int64_t end, int64_t limit)
{
    end = end < limit ? end : limit;
    return end > first ? end - first : 0;
}

/* Of one sequence: in a padded batch the second half of them, or the only one, ends early (inputs_make). */
static int64_t sequence_counted(const struct workload *workload, int64_t sequence, int64_t first, int64_t end)
{
    bool ends_early = workload->padding && sequence >= workload->batch / 2;
    int64_t tokens = ends_early ? workload->seq - workload->seq / 2 : workload->seq;
    return between(first, end, tokens - 1);
}

static int64_t columns_counted(const struct workload *workload, int64_t first, int64_t end)
{
    int64_t count = 0;
    for (int64_t sequence = 0; sequence < workload->batch; sequence++) {
        count += sequence_counted(workload, sequence, first, end);
    }
    return count;
}

/* Rows [first, end) of all sequences, one behind the other, of which each has its tokens but the last. */
static int64_t rows_counted(const struct workload *workload, int64_t first, int64_t end)
{
    int64_t count = 0, columns = workload->seq - 1;
    for (int64_t sequence = columns > 0 ? first / columns : 0; columns > 0 && sequence * columns < end; sequence++) {
        int64_t begin = sequence * columns, from = first > begin ? first - begin : 0;
        count += sequence_counted(workload, sequence, from, between(0, end - begin, columns));
    }
    return count;
}

static int64_t total_counted(const struct workload *workload)
{
    int64_t count = columns_counted(workload, 0, workload->seq);
    return count > 0 ? count : 1;
}

/* (labels != -100).sum(), by which the sum is divided. */
static void labels_count(struct tape *tape, struct value *labels, int rank)
{
    int64_t size[] = {value_size(labels, 0), rank > 1 ? value_size(labels, 1) : 1};
    tape_drop(tape, tensor_passing(tape, DTYPE_BOOL, rank, size));
}

/* -- the head */

static struct value *head_call(const struct forward *forward, struct value *hidden)
{
    int frame = tape_frame_open(forward->tape);
    struct value *logits = forward_linear(forward, "lm_head", hidden);
    if (forward->config->logit_cap > 0) {
        logits = forward_cap(forward->tape, logits, forward->config->logit_cap);
    }
    if (forward_has(forward, RELEASE_LOGITS_FLOAT32)) {
        value_rebind(forward->tape, &logits, tape_cast(forward->tape, logits, DTYPE_FLOAT32));
    }
    return tape_frame_close(forward->tape, frame, logits);
}

/* All logits at once, which torchtune's unembed casts to float32 if its loss has no chunks. */
static struct value *logits_whole(const struct forward *forward, struct value *hidden)
{
    struct tape *tape = forward->tape;
    const struct workload *workload = forward->workload;
    struct value *logits = head_call(forward, hidden);
    if (workload->loss == LOSS_COMPOSED && workload->model_code == MODEL_CODE_TORCHTUNE) {
        value_rebind(tape, &logits, tape_cast(tape, logits, DTYPE_FLOAT32));
    }
    return logits;
}

/* Frames are the caller's: the logits belong to the open one. */
static void logits_make(const struct forward *forward, struct value *hidden, struct returned *logits)
{
    struct tape *tape = forward->tape;
    int64_t tokens = forward->workload->seq, size = chunk_size(forward, tokens);
    bool whole = forward->workload->loss == LOSS_CHUNKED || forward->workload->loss == LOSS_COMPOSED;
    int64_t count = whole ? 1 : tape_chunk_count(tokens, size);
    struct value **chunks = NULL;
    if (!parts_reserve(tape, &logits->parts, count) || !parts_reserve(tape, &chunks, count)) {
        free(chunks);
        return;
    }
    logits->count = (int)count;
    if (whole) {
        logits->parts[0] = logits_whole(forward, hidden);
    } else {
        tape_chunks(tape, hidden, 1, size, chunks);
        for (int i = 0; i < logits->count; i++) {
            logits->parts[i] = head_call(forward, chunks[i]);
        }
    }
    free(chunks);
}

/* -- the loss */

/* chunked_cross_entropy(logits[..., :-1, :], targets[..., 1:]), of whole logits. */
static struct value *rows_loss(const struct forward *forward, struct value *logits)
{
    struct tape *tape = forward->tape;
    const struct workload *workload = forward->workload;
    int frame = tape_frame_open(tape);
    int64_t rows = workload->batch * (workload->seq - 1), size = chunk_size(forward, rows);
    int64_t flat[] = {rows, value_size(logits, 2)};
    int count = (int)tape_chunk_count(rows, size);
    struct value **parts[3] = {NULL}; /* logits, targets, losses */
    struct value *loss = NULL;
    bool has_room = true;
    for (int i = 0; i < 3; i++) {
        has_room = has_room && parts_reserve(tape, &parts[i], count);
    }
    if (has_room) {
        struct value *kept = tape_reshape(tape, tape_slice(tape, logits, 1, 0, workload->seq - 1), 2, flat);
        struct value *targets = tape_reshape(tape, tape_slice(tape, forward->labels, 1, 1, workload->seq - 1), 1, flat);
        tape_chunks(tape, kept, 0, size, parts[0]);
        tape_chunks(tape, targets, 0, size, parts[1]);
        for (int i = 0; i < count; i++) {
            int64_t end = (i + 1) * size < rows ? (i + 1) * size : rows;
            parts[2][i] =
                tape_cross_entropy_part(tape, parts[0][i], parts[1][i], rows_counted(workload, i * size, end), true);
        }
        labels_count(tape, targets, 1);
        loss = tape_losses_mean(tape, parts[2], count, total_counted(workload));
    }
    for (int i = 0; i < 3; i++) {
        free(parts[i]);
    }
    return tape_frame_close(tape, frame, loss);
}

/* The labels one to the left, and one behind them that does not count: torch.hstack. */
static struct value *labels_stack(const struct forward *forward)
{
    struct tape *tape = forward->tape;
    int64_t size[] = {forward->workload->batch, forward->workload->seq}, left = size[1] - 1;
    struct value *labels = tape_leaf(tape, CATEGORY_TEMPORARIES, DTYPE_INT64, 2, size, false, "shifted labels");
    tape_fill(tape, labels, -100.0);
    tape_copy_into(tape, tape_slice(tape, forward->labels, 1, 1, left), tape_slice(tape, labels, 1, 0, left));
    return labels;
}

/* The rows of a chunk of logits, as the loss is given them. */
static struct value *chunk_rows(const struct forward *forward, struct value *logits, int64_t tokens)
{
    struct tape *tape = forward->tape;
    int64_t flat[] = {value_size(logits, 0) * tokens, value_size(logits, 2)};
    bool shorter = tokens < value_size(logits, 1); /* logits[-1] = logits[-1][..., :-1, :] */
    return tape_reshape(tape, shorter ? tape_slice(tape, logits, 1, 0, tokens) : logits, 2, flat);
}

/* Of chunks of logits, one of which may be left without a token. */
static struct value *chunks_loss(const struct forward *forward, const struct returned *logits)
{
    struct tape *tape = forward->tape;
    const struct workload *workload = forward->workload;
    bool casts = workload->loss == LOSS_CHUNKED_OUTPUT;
    int64_t size = chunk_size(forward, workload->seq), tokens = casts ? workload->seq : workload->seq - 1;
    int frame = tape_frame_open(tape), count = (int)tape_chunk_count(tokens, size);
    struct value **targets = NULL, **rows = NULL, **losses = NULL, *loss = NULL;
    if (parts_reserve(tape, &targets, count) && parts_reserve(tape, &rows, count) &&
        parts_reserve(tape, &losses, count)) {
        struct value *labels =
            casts ? labels_stack(forward) : tape_slice(tape, forward->labels, 1, 1, workload->seq - 1);
        if (casts) {
            labels_count(tape, labels, 2);
        }
        tape_chunks(tape, labels, 1, size, targets);
        for (int i = 0; i < count; i++) {
            int64_t line[] = {workload->batch * value_size(targets[i], 1)};
            rows[i] = chunk_rows(forward, logits->parts[i], value_size(targets[i], 1));
            targets[i] = tape_reshape(tape, targets[i], 1, line);
        }
        for (int i = 0; i < count; i++) {
            int64_t end = (i + 1) * size < workload->seq ? (i + 1) * size : workload->seq;
            struct value *taken = casts ? tape_cast(tape, rows[i], DTYPE_FLOAT32) : rows[i];
            losses[i] =
                tape_cross_entropy_part(tape, taken, targets[i], columns_counted(workload, i * size, end), !casts);
            if (taken != rows[i]) {
                tape_drop(tape, taken);
            }
        }
        if (!casts) {
            labels_count(tape, labels, 2);
        }
        loss = tape_losses_mean(tape, losses, count, total_counted(workload));
    }
    free(targets);
    free(rows);
    free(losses);
    return tape_frame_close(tape, frame, loss);
}

/* cross_entropy of all rows: of all tokens beside shifted labels, as torchtune has it, or of all but the last. */
static struct value *whole_loss(const struct forward *forward, struct value *logits)
{
    struct tape *tape = forward->tape;
    const struct workload *workload = forward->workload;
    bool shifts = workload->model_code == MODEL_CODE_TORCHTUNE;
    int64_t tokens = shifts ? workload->seq : workload->seq - 1;
    int64_t flat[] = {workload->batch * tokens, value_size(logits, 2)};
    int frame = tape_frame_open(tape);
    struct value *labels = shifts ? labels_stack(forward) : tape_slice(tape, forward->labels, 1, 1, tokens);
    struct value *rows = tape_reshape(tape, shifts ? logits : tape_slice(tape, logits, 1, 0, tokens), 2, flat);
    return tape_frame_close(tape, frame, tape_cross_entropy(tape, rows, tape_reshape(tape, labels, 1, flat)));
}

/* Of what the model has returned. */
static struct value *returned_loss(const struct forward *forward, const struct returned *logits)
{
    enum loss loss = forward->workload->loss;
    return loss == LOSS_COMPOSED  ? whole_loss(forward, logits->parts[0])
           : loss == LOSS_CHUNKED ? rows_loss(forward, logits->parts[0])
                                  : chunks_loss(forward, logits);
}

struct value *chunked_loss_forward(const struct forward *forward, module_body *model, const char *root)
{
    struct tape *tape = forward->tape;
    struct returned logits = {.parts = NULL};
    int outer = tape_frame_open(tape), inner = tape_frame_open(tape);
    struct value *hidden = module_run(forward, forward->config->family->decoder->names.inside, model, root);
    logits_make(forward, hidden, &logits);
    tape_frame_close_all(tape, inner, logits.parts, logits.count);
    struct value *loss = NULL;
    if (!tape_failed(tape)) {
        forward_outputs_take(forward, logits.parts, logits.count);
        loss = returned_loss(forward, &logits);
    }
    free(logits.parts);
    return tape_frame_close(tape, outer, loss);
}
