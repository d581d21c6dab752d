/* 8-bit Adam on the host: a block of 256 elements at a time, its moments decoded into the first-level cache and no
 * further. */
#include "harness/kernels/body_adam_8bit.h"
#include "harness/kernels/host_operations.h"
#include "harness/kernels/host_span.h"

const char *host_dynamic_map(const struct operation_call *call)
{
    float *map = call->tensors[0].data;
    for (int code = 0; code < MAP_CODES; code++) {
        map[code] = dynamic_map_number(code, call->attributes.i[0] == 1);
    }
    return NULL;
}

/* Finds what map_nearest finds, without a search. The numbers of a map's range are told apart by sign, exponent and the
 * first 7 bits of the mantissa, in slots that ascend as the numbers do: the midpoints of the slots below a number's own
 * are below the number, and only those in the same slot remain to be compared with it. A slot of the dynamic maps has
 * at most one. Exponents from -23 on are told apart; the slots next to 0 hold all that is smaller. */
enum { SLOT_BITS = 16, SLOT_FIRST = (127 - 23) << 7, SLOT_LAST = 127 << 7, SLOT_SIDE = SLOT_LAST - SLOT_FIRST + 1 };

struct code_finder {
    int32_t below[2 * SLOT_SIDE]; /* midpoints in the slots below this one */
    float midpoint[MAP_CODES];    /* between a code's number and the next; after the last, infinity */
    int comparisons;              /* the most midpoints of one slot */
    int zero;                     /* the first code whose number is 0, or MAP_CODES */
};

BODY int32_t slot_of(float x)
{
    int32_t side = (int32_t)((float_bits(x) & 0x7fffffffu) >> SLOT_BITS);
    side = side < SLOT_FIRST ? SLOT_FIRST : side;
    side = (side > SLOT_LAST ? SLOT_LAST : side) - SLOT_FIRST;
    return float_bits(x) >> 31 != 0 ? SLOT_SIDE - 1 - side : SLOT_SIDE + side;
}

static void finder_make(struct code_finder *finder, const float *map)
{
    int slot = 0, shared = 0, last_slot = -1;
    finder->comparisons = 0;
    for (int code = 0; code < MAP_CODES - 1; code++) {
        finder->midpoint[code] = 0.5f * (map[code] + map[code + 1]);
        int end = slot_of(finder->midpoint[code]);
        while (slot <= end) {
            finder->below[slot++] = code;
        }
        shared = end == last_slot ? shared + 1 : 1;
        last_slot = end;
        finder->comparisons = shared > finder->comparisons ? shared : finder->comparisons;
    }
    while (slot < 2 * SLOT_SIDE) {
        finder->below[slot++] = MAP_CODES - 1;
    }
    finder->midpoint[MAP_CODES - 1] = INFINITY;
    finder->zero = 0;
    while (finder->zero < MAP_CODES && map[finder->zero] != 0.0f) {
        finder->zero++;
    }
}

struct code_block {
    uint8_t *codes;
    float *scale;
    const float *map;
    const struct code_finder *finder;
    float moments[CODE_BLOCK];
};

static void moments_decode(struct code_block *block, int64_t count)
{
    const float *map = block->map;
    const uint8_t *codes = block->codes;
    float scale = *block->scale;
    for (int64_t k = 0; k < count; k++) {
        block->moments[k] = map[codes[k]] * scale;
    }
}

/* Moments of a block on their way to codes. Looked up one by one, between loops of vectors. */
struct code_search {
    float scaled[CODE_BLOCK];
    int32_t slot[CODE_BLOCK], found[CODE_BLOCK];
    float midpoint[CODE_BLOCK]; /* above the code that is found */
};

HOST_CLONES
static void search_begin(struct code_search *search, const float *moments, int64_t count, float scale)
{
    BODY_SIMD()
    for (int64_t k = 0; k < count; k++) {
        float scaled = scale > 0.0f ? moments[k] / scale : 0.0f;
        scaled = scaled == scaled ? scaled : -INFINITY; /* NaN, too, is above no midpoint */
        search->scaled[k] = scaled;
        search->slot[k] = slot_of(scaled);
    }
}

HOST_CLONES
static void search_compare(struct code_search *search, int64_t count)
{
    BODY_SIMD()
    for (int64_t k = 0; k < count; k++) {
        search->found[k] += search->scaled[k] > search->midpoint[k] ? 1 : 0;
    }
}

HOST_CLONES
static void search_end(const struct code_search *search, const float *moments, int64_t count, int32_t zero,
                       uint8_t *codes)
{
    BODY_SIMD()
    for (int64_t k = 0; k < count; k++) {
        int32_t negative = moments[k] < 0.0f ? 1 : 0, at_zero = search->found[k] == zero ? 1 : 0;
        codes[k] = (uint8_t)(search->found[k] - (negative & at_zero));
    }
}

/* The codes that moment_code gives. */
static void codes_find(const struct code_finder *finder, const float *moments, int64_t count, float scale,
                       uint8_t *codes)
{
    struct code_search search;
    search_begin(&search, moments, count, scale);
    for (int64_t k = 0; k < count; k++) {
        int32_t below = finder->below[search.slot[k]];
        search.found[k] = below;
        search.midpoint[k] = finder->midpoint[below];
    }
    search_compare(&search, count);
    for (int step = 1; step < finder->comparisons; step++) {
        for (int64_t k = 0; k < count; k++) {
            search.midpoint[k] = finder->midpoint[search.found[k]];
        }
        search_compare(&search, count);
    }
    search_end(&search, moments, count, finder->zero, codes);
}

HOST_CLONES
static float moments_largest(const float *moments, int64_t count)
{
    float largest = 0.0f;
    BODY_SIMD(reduction(max : largest))
    for (int64_t k = 0; k < count; k++) {
        float magnitude = fabsf(moments[k]);
        largest = magnitude > largest ? magnitude : largest;
    }
    return largest;
}

static void moments_encode(struct code_block *block, int64_t count)
{
    *block->scale = moments_largest(block->moments, count);
    codes_find(block->finder, block->moments, count, *block->scale, block->codes);
}

HOST_CLONES
static void update_loop(const float *grad, float *parameter, float *m, float *v, int64_t count,
                        struct adam_constants constants)
{
    BODY_SIMD()
    for (int64_t k = 0; k < count; k++) {
        struct adam_element e = {parameter[k], m[k], v[k]};
        e = adam_8bit_update(e, grad[k], constants);
        parameter[k] = e.parameter;
        m[k] = e.m;
        v[k] = e.v;
    }
}

static void block_update(const struct operation_call *call, const struct code_finder finders[2], int64_t number,
                         const struct adam_constants *constants)
{
    const struct tensor *grad = &call->tensors[0], *out = &call->tensors[call->input_count];
    int64_t first = number * CODE_BLOCK;
    int64_t rest = tensor_element_count(grad) - first;
    int64_t count = rest < CODE_BLOCK ? rest : CODE_BLOCK;
    float scratch[2][CODE_BLOCK];
    struct code_block m, v;
    m.codes = (uint8_t *)out[1].data + first;
    v.codes = (uint8_t *)out[2].data + first;
    m.scale = (float *)out[3].data + number;
    v.scale = (float *)out[4].data + number;
    m.map = call->tensors[1].data;
    v.map = call->tensors[2].data;
    m.finder = &finders[0];
    v.finder = &finders[1];
    moments_decode(&m, count);
    moments_decode(&v, count);
    struct span gradient = span_read(grad, first, 1, count, scratch[0]);
    struct span parameter = span_read(&out[0], first, 1, count, scratch[1]);
    update_loop(gradient.data, parameter.data, m.moments, v.moments, count, *constants);
    span_write(parameter, &out[0], first, 1, count);
    moments_encode(&m, count);
    moments_encode(&v, count);
}

const char *host_adam_8bit(const struct operation_call *call)
{
    if (optimizer_is_held(call)) {
        return NULL;
    }
    struct adam_constants constants = adam_constants_of(&call->attributes);
    struct code_finder finders[2];
    finder_make(&finders[0], call->tensors[1].data);
    finder_make(&finders[1], call->tensors[2].data);
    int64_t elements = tensor_element_count(&call->tensors[0]);
    int64_t blocks = (elements + CODE_BLOCK - 1) / CODE_BLOCK;
    HOST_PARALLEL_FOR(elements >= PARALLEL_ELEMENTS)
    for (int64_t number = 0; number < blocks; number++) {
        block_update(call, finders, number, &constants);
    }
    return NULL;
}
