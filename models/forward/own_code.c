/* Own code: tables of angles. Not here: the layers (torchtune_layer.c, litgpt_layer.c). */
#include "models/forward/own_code.h"

#include <string.h>

bool own_code_is(const struct workload *workload)
{
    return workload->mode == MODE_TRAIN && workload->model_code != MODEL_CODE_TRANSFORMERS;
}

/* A table of so many positions, each angle times times, filled. */
static void table_fill(struct forward *forward, struct value *positions, struct value *table, bool sine)
{
    struct value *frequencies =
        forward_tensor(forward, "%srotary_emb.inv_freq", forward_is_bare(forward) ? "" : "model.");
    tape_angles_into(forward->tape, positions, frequencies, sine, table);
}

bool own_code_turns_halves(const struct forward *forward)
{
    return forward->workload->model_code == MODEL_CODE_LITGPT || strcmp(forward->config->model_type, "qwen2") == 0;
}

/* torchtune: one tensor of cosines and sines, of all positions that the model can have; litgpt: two of the sequence,
 * each angle twice. */
void own_code_tables(struct forward *forward)
{
    struct tape *tape = forward->tape;
    if (!own_code_is(forward->workload)) {
        return;
    }
    bool joined = forward->workload->model_code == MODEL_CODE_TORCHTUNE;
    int64_t seq = forward->workload->seq, rows = joined ? forward->config->positions : seq;
    int64_t width = forward->config->rotary_dim / (own_code_turns_halves(forward) ? 1 : 2);
    int frame = tape_frame_open(tape);
    int64_t both[] = {joined ? 2 : 1, 1, rows, width}, places[] = {1, rows}, cut[] = {1, seq, 1, width};
    struct value *positions =
        tape_leaf(tape, CATEGORY_TEMPORARIES, DTYPE_INT64, 2, places, false, "positions of the table");
    tape_sequence(tape, positions, 0);
    struct value *whole = tape_leaf(tape, CATEGORY_BUFFERS, DTYPE_FLOAT32, 4, both, false, "table of angles");
    struct value *second =
        joined ? whole : tape_leaf(tape, CATEGORY_BUFFERS, DTYPE_FLOAT32, 4, both, false, "table of sines");
    struct value *cosines = tape_slice(tape, whole, 0, 0, 1);
    struct value *sines = tape_slice(tape, second, 0, joined ? 1 : 0, 1);
    table_fill(forward, positions, cosines, false);
    table_fill(forward, positions, sines, true);
    if (joined) {
        cosines = tape_reshape(tape, tape_slice(tape, cosines, 2, 0, seq), 4, cut);
        sines = tape_reshape(tape, tape_slice(tape, sines, 2, 0, seq), 4, cut);
    }
    forward->cosines = tape_hold(tape, cosines);
    forward->sines = tape_hold(tape, sines);
    tape_frame_close(tape, frame, NULL);
}
