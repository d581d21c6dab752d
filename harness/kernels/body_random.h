/* Random numbers by counting: the bits of element k are a function of (seed, k) alone, so that they can be made again
 * in a backward pass, in any order, by any number of lanes, on host and CUDA alike. Statistically good, not secret.
 *
 * Two rounds of an invertible 32-bit mixer (xor-shift and multiply), keyed before each by one half of the mixed seed.
 */
#ifndef ASSAY_KERNELS_BODY_RANDOM_H
#define ASSAY_KERNELS_BODY_RANDOM_H

#include <stdbool.h>

#include "harness/kernels/body_function.h"

struct random_key {
    uint32_t low, high;
};

BODY uint32_t random_mix(uint32_t x)
{
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ (x >> 16);
}

BODY struct random_key random_key_of(int64_t seed)
{
    struct random_key key;
    uint32_t low = (uint32_t)(uint64_t)seed;
    uint32_t high = (uint32_t)((uint64_t)seed >> 32);
    key.low = random_mix(low ^ random_mix(high + 0x9e3779b9u));
    key.high = random_mix(key.low + 0x85ebca6bu) ^ random_mix(high ^ 0xc2b2ae35u);
    return key;
}

/* The counter in two halves, of which the high one is the same for many neighbours and keyed by itself. */
BODY uint32_t random_keyed(struct random_key key, uint32_t high)
{
    return high * 0x9e3779b9u + key.high;
}

BODY uint32_t random_bits_of_halves(struct random_key key, uint32_t low, uint32_t keyed_high)
{
    return random_mix(random_mix(low + key.low) ^ keyed_high);
}

BODY uint32_t random_bits(struct random_key key, uint64_t counter)
{
    return random_bits_of_halves(key, (uint32_t)counter, random_keyed(key, (uint32_t)(counter >> 32)));
}

/* random_bits(key, first + offset) without arithmetic on 64 bits, of which a vector holds half as many. */
BODY uint32_t random_bits_after(struct random_key key, uint64_t first, uint32_t offset)
{
    uint32_t low = (uint32_t)first + offset;
    uint32_t high = (uint32_t)(first >> 32);
    uint32_t keyed = low < offset ? random_keyed(key, high + 1u) : random_keyed(key, high);
    return random_bits_of_halves(key, low, keyed);
}

/* Uniform in [0, 1), a multiple of 2^-24. */
BODY float uniform_of_bits(uint32_t bits)
{
    return (float)(int32_t)(bits >> 8) * 0x1p-24f;
}

BODY float random_uniform(struct random_key key, uint64_t counter)
{
    return uniform_of_bits(random_bits(key, counter));
}

/* Dropout: whether the element is kept, and what it is then multiplied with (0 if nothing is kept). */
BODY bool dropout_keeps(struct random_key key, uint64_t counter, float probability)
{
    return random_uniform(key, counter) >= probability;
}

/* The same of the element `offset` places after the first. */
BODY bool dropout_keeps_after(struct random_key key, uint64_t first, uint32_t offset, float probability)
{
    return uniform_of_bits(random_bits_after(key, first, offset)) >= probability;
}

BODY float dropout_scale(float probability)
{
    return probability < 1.0f ? 1.0f / (1.0f - probability) : 0.0f;
}

/* Standard normals (Box and Muller) are made in pairs: those of 2j and 2j + 1 share a radius, at most 5.77, of the bits
 * of 2j, and an angle, in turns in [-1/2, 1/2), of the bits of 2j + 1. */
BODY float normal_radius(uint32_t bits)
{
    float uniform = (float)(int32_t)((bits >> 8) + 1u) * 0x1p-24f; /* (0, 1] */
    return sqrtf(-2.0f * body_logarithm(uniform));
}

BODY float normal_turn(uint32_t bits)
{
    return (float)((int32_t)bits >> 8) * 0x1p-24f;
}

BODY float random_normal(struct random_key key, uint64_t counter)
{
    float radius = normal_radius(random_bits(key, counter & ~(uint64_t)1));
    float turn = normal_turn(random_bits(key, counter | 1));
    return radius * ((counter & 1) == 0 ? body_cosine_of_turn(turn) : body_sine_of_turn(turn));
}

/* Uniform in [0, bound); the bias is below bound / 2^64. */
BODY int64_t random_integer(struct random_key key, uint64_t counter, int64_t bound)
{
    uint64_t high = random_bits(key, 2 * counter);
    uint64_t low = random_bits(key, 2 * counter + 1);
    return (int64_t)(((high << 32) | low) % (uint64_t)bound);
}

#endif
