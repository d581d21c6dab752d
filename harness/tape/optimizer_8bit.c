/* bitsandbytes' Adam8bit (0.50): moments of one byte with a float32 scale for each 256 of them. A parameter of fewer
 * than 4096 elements keeps float32 moments, whatever its dtype. The two maps that codes stand for are made once. The
 * step number is the host's. Not here: paged states, and StableEmbedding, which keeps float32 moments for its table. */
#include "harness/tape/graph.h"

enum { ELEMENTS_8BIT_MINIMUM = 4096, CODE_BLOCK = 256, MAP_CODES = 256 };

static void maps_make(struct tape *tape)
{
    static const char *const labels[] = {"map of first moments", "map of second moments"};
    for (int i = 0; i < 2 && tape->moment_maps[i] == NULL; i++) {
        struct shape shape = {.rank = 1, .size = {MAP_CODES}};
        struct operation_attributes attributes = attributes_i(i == 0, 0);
        struct value *map = value_new_in(tape, CATEGORY_OPTIMIZER, DTYPE_FLOAT32, &shape, labels[i]);
        tape_run(tape, OPCODE_DYNAMIC_MAP, &attributes, 0, 1, &map);
        tape->moment_maps[i] = tape_hold(tape, map);
    }
}

void adam_8bit_state_make(struct tape *tape, const struct value *parameter, struct optimizer_state *state)
{
    int64_t elements = value_count(parameter);
    if (elements < ELEMENTS_8BIT_MINIMUM) {
        state->first = optimizer_state_new(tape, parameter, DTYPE_FLOAT32, &parameter->shape, "exp_avg");
        state->second = optimizer_state_new(tape, parameter, DTYPE_FLOAT32, &parameter->shape, "exp_avg_sq");
        return;
    }
    maps_make(tape);
    struct shape blocks = {.rank = 1, .size = {(elements + CODE_BLOCK - 1) / CODE_BLOCK}};
    state->first = optimizer_state_new(tape, parameter, DTYPE_UINT8, &parameter->shape, "exp_avg codes");
    state->second = optimizer_state_new(tape, parameter, DTYPE_UINT8, &parameter->shape, "exp_avg_sq codes");
    state->first_scales = optimizer_state_new(tape, parameter, DTYPE_FLOAT32, &blocks, "exp_avg scales");
    state->second_scales = optimizer_state_new(tape, parameter, DTYPE_FLOAT32, &blocks, "exp_avg_sq scales");
}

void adam_8bit_run(struct tape *tape, const struct operation_attributes *attributes, struct value *parameter,
                   const struct optimizer_state *state, struct value *found)
{
    bool coded = state->first_scales != NULL;
    struct value *values[9] = {parameter->gradient};
    int count = 1;
    if (coded) {
        values[count++] = tape->moment_maps[0];
        values[count++] = tape->moment_maps[1];
    }
    if (found != NULL) {
        values[count++] = found;
    }
    int inputs = count;
    values[count++] = parameter;
    values[count++] = state->first;
    values[count++] = state->second;
    if (coded) {
        values[count++] = state->first_scales;
        values[count++] = state->second_scales;
    }
    tape_run(tape, coded ? OPCODE_ADAM_8BIT : OPCODE_ADAM, attributes, inputs, count, values);
}
