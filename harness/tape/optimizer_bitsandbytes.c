/* bitsandbytes' Adam and AdamW (0.50). In 8 bits: moments of one byte with a float32 scale for each 256 of them, but of
 * a parameter of fewer than 4096 elements, or one that is told to, float32 moments, whatever its dtype. In 32 bits:
 * float32 moments. The two maps that codes stand for are made once. The step number is the host's.
 *
 * Paged: moments of 100,000 elements or more lie in managed memory (cudaMallocManaged), outside of every allocator:
 * they are counted and are no storages. Scales and maps are never paged. Not here: StableEmbedding. */
#include "harness/base/size.h"
#include "harness/tape/graph.h"

enum { ELEMENTS_8BIT_MINIMUM = 4096, ELEMENTS_PAGED_MINIMUM = 100000, CODE_BLOCK = 256, MAP_CODES = 256 };

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

static int64_t whole_pages(int64_t bytes)
{
    return (bytes + MANAGED_PAGE_BYTES - 1) / MANAGED_PAGE_BYTES * MANAGED_PAGE_BYTES;
}

/* A parameter exists, and so does the size of its moments; the sum of all need not. */
static void moments_page(struct tape *tape, int64_t bytes)
{
    const int moments = 2;
    int64_t all = 0;
    if (!size_multiply(bytes, moments, &all) || !size_add(tape->managed.bytes, all, &tape->managed.bytes) ||
        !size_add(tape->managed.pages_bytes, moments * whole_pages(bytes), &tape->managed.pages_bytes)) {
        tape_fail(tape, STATUS_OVERFLOW, "the states of the optimizer have more than 2^63 bytes");
    }
    tape->managed.tensor_count += moments;
}

void bitsandbytes_state_make(struct tape *tape, const struct optimizer_settings *settings,
                             const struct value *parameter, struct optimizer_state *state)
{
    int64_t elements = value_count(parameter);
    bool coded = settings->form == OPTIMIZER_FORM_8BIT && !state->stays_float32 && elements >= ELEMENTS_8BIT_MINIMUM;
    enum dtype dtype = coded ? DTYPE_UINT8 : DTYPE_FLOAT32;
    if (settings->paged) {
        tape->not_run = "bitsandbytes' paged optimizers";
    }
    if (coded) {
        maps_make(tape);
    }
    /* On the host it falls back to plain states, with a warning. */
    state->is_managed = settings->paged && tape->target->capability > 0 && elements >= ELEMENTS_PAGED_MINIMUM;
    if (state->is_managed) {
        moments_page(tape, elements * dtype_bytes(dtype));
    } else {
        state->first =
            optimizer_state_new(tape, parameter, dtype, &parameter->shape, coded ? "exp_avg codes" : "exp_avg");
        state->second =
            optimizer_state_new(tape, parameter, dtype, &parameter->shape, coded ? "exp_avg_sq codes" : "exp_avg_sq");
    }
    if (coded) {
        struct shape blocks = {.rank = 1, .size = {(elements + CODE_BLOCK - 1) / CODE_BLOCK}};
        state->first_scales = optimizer_state_new(tape, parameter, DTYPE_FLOAT32, &blocks, "exp_avg scales");
        state->second_scales = optimizer_state_new(tape, parameter, DTYPE_FLOAT32, &blocks, "exp_avg_sq scales");
    }
}

void bitsandbytes_run(struct tape *tape, const struct operation_attributes *attributes, struct value *parameter,
                      const struct optimizer_state *state, struct value *found)
{
    bool coded = state->first_scales != NULL;
    struct value *values[9] = {parameter->gradient};
    int count = 1;
    if (state->is_managed) {
        return; /* one kernel that takes nothing, with operands that no storage is */
    }
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
