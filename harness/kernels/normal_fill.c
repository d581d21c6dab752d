/* Normal fill: Box and Muller over counted bits. The Makefile compiles this file without fused multiply-adds, and
 * nothing here depends on how wide the vectors are. */
#include "harness/kernels/normal_fill.h"

#include "harness/kernels/body_random.h"
#include "harness/kernels/host_span.h"

/* The numbers at 2j and 2j + 1 for `pairs` values of j; first is even. */
HOST_CLONES
static void pairs_fill(struct random_key key, float deviation, uint64_t first, float *out, int32_t pairs)
{
    BODY_SIMD()
    for (int32_t k = 0; k < pairs; k++) {
        uint32_t offset = 2u * (uint32_t)k;
        float radius = deviation * normal_radius(random_bits_after(key, first, offset));
        float turn = normal_turn(random_bits_after(key, first, offset | 1u));
        out[2 * k] = radius * body_cosine_of_turn(turn);
        out[2 * k + 1] = radius * body_sine_of_turn(turn);
    }
}

void normal_fill(const struct normal_numbers *numbers, int64_t first, int64_t count, enum dtype dtype, void *out)
{
    struct random_key key = random_key_of(numbers->seed);
    float floats[SPAN_ELEMENTS];
    for (int64_t done = 0; done < count;) {
        int64_t skipped = (first + done) % 2; /* of the first pair */
        int64_t wanted = count - done < SPAN_ELEMENTS - skipped ? count - done : SPAN_ELEMENTS - skipped;
        pairs_fill(key, numbers->deviation, (uint64_t)(first + done - skipped), floats,
                   (int32_t)((skipped + wanted + 1) / 2));
        span_store(floats + skipped, (char *)out + done * dtype_bytes(dtype), dtype, 1, wanted);
        done += wanted;
    }
}
