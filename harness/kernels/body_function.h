/* Functions of one variable without branches or calls, so that a loop over them becomes vector instructions on the host
 * and gives the same figures on CUDA. Errors below are the largest relative ones over all float32 arguments, measured
 * by tests/kernels/test_function.c. The polynomials are Chebyshev and minimax fits of this project. */
#ifndef ASSAY_KERNELS_BODY_FUNCTION_H
#define ASSAY_KERNELS_BODY_FUNCTION_H

#include "harness/kernels/body.h"

/* e^(x - whole * log 2), for |x - whole * log 2| of at most half of log 2. */
BODY float exponential_of_rest(float x, float whole)
{
    float r = x - whole * 0.693359375f;
    r = r + whole * 2.12194440e-4f;
    float p = 0.001392618181f;
    p = p * r + 0.00836317763f;
    p = p * r + 0.04166655463f;
    p = p * r + 0.16666577f;
    p = p * r + 0.5f;
    return p * r * r + r + 1.0f;
}

/* e^x; 2e-7. 0 below -104, infinity above 88.73, NaN for NaN. */
BODY float body_exponential(float x)
{
    float clamped = x < -104.0f ? -104.0f : x;
    clamped = clamped > 89.0f ? 89.0f : clamped;
    /* 1.5 * 2^23: after the sum the integer nearest to x / log 2 stands in the low bits. */
    float shifted = clamped * 1.44269504f + 12582912.0f;
    uint32_t exponent = float_bits(shifted) - 0x4b400000u;
    float whole = shifted - 12582912.0f;
    float p = exponential_of_rest(clamped, whole);
    /* In two factors: 2^exponent alone need not be a normal number. The exponent is in [-151, 129]. */
    uint32_t half = ((exponent + 256u) >> 1) - 128u;
    float first = float_from_bits((half + 127u) << 23);
    float second = float_from_bits((exponent - half + 127u) << 23);
    return p * first * second;
}

/* e^x for x of at most 60, in fewer steps; 2e-7. 0 below -104, NaN for NaN. */
BODY float body_exponential_falling(float x)
{
    float clamped = x < -104.0f ? -104.0f : x;
    /* 1.5 * 2^23 + 157: the low bits hold the exponent, the bias of 127, and 30 that keep it positive to the end. */
    float shifted = clamped * 1.44269504f + 12583069.0f;
    float power = float_from_bits(float_bits(shifted) << 23);
    return exponential_of_rest(clamped, shifted - 12583069.0f) * power * 0x1p-30f;
}

/* tanh x; 3e-7. */
BODY float body_tanh(float x)
{
    float size = fabsf(x);
    float u = x * x;
    float p = -0.005657135184f;
    p = p * u + 0.02058819145f;
    p = p * u - 0.05372010766f;
    p = p * u + 0.1333111406f;
    p = p * u - 0.3333325986f;
    float near_zero = x + x * u * p;
    float e = body_exponential_falling(-2.0f * size);
    float far = (1.0f - e) / (1.0f + e);
    return size < 0.625f ? near_zero : (x < 0.0f ? -far : far);
}

/* Natural logarithm of a positive normal number; 3e-7. */
BODY float body_logarithm(float x)
{
    /* x = (1 + t) * 2^e with 1 + t in [0.707, 1.414); log (1 + t) = t - t^2 / 2 + t^3 * polynomial(t). */
    uint32_t bits = float_bits(x) - 0x3f3504f3u;
    float e = (float)((int32_t)bits >> 23);
    float t = float_from_bits((bits & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
    float p = 0.08717959566f;
    p = p * t - 0.1434267741f;
    p = p * t + 0.1494235179f;
    p = p * t - 0.1656827177f;
    p = p * t + 0.1995934142f;
    p = p * t - 0.2500161837f;
    p = p * t + 0.3333401673f;
    float u = t * t;
    return e * 0.693147182f + (t + (u * t * p - 0.5f * u));
}

/* sin(2 pi u) for u in [-1/4, 1/4]; absolute error 3e-7. */
BODY float body_sine_of_quarter(float u)
{
    float v = u * u;
    float p = 39.53670605f;
    p = p * v - 76.54978229f;
    p = p * v + 81.60100407f;
    p = p * v - 41.34165503f;
    p = p * v + 6.28318516f;
    return p * u;
}

/* sin(2 pi u) and cos(2 pi u) for u in [-1/2, 1/2); absolute error 3e-7. */
BODY float body_sine_of_turn(float u)
{
    return body_sine_of_quarter(copysignf(0.25f - fabsf(fabsf(u) - 0.25f), u));
}

BODY float body_cosine_of_turn(float u)
{
    return body_sine_of_quarter(0.25f - fabsf(u));
}

/* The normal distribution's cumulative function, (1 + erf(x / sqrt 2)) / 2, given bell = e^(-x^2 / 2).
 * With t = 1 / (1 + 0.3 |x|) the lower tail is bell * t * polynomial(t), so that it keeps its relative precision. */
BODY float body_normal_cumulative(float x, float bell)
{
    float t = 1.0f / (1.0f + 0.3f * fabsf(x));
    float p = -0.02091435973f;
    p = p * t + 0.1140402721f;
    p = p * t - 0.2320384829f;
    p = p * t + 0.196940677f;
    p = p * t - 0.08374254902f;
    p = p * t + 0.09848074018f;
    p = p * t + 0.07758906438f;
    p = p * t + 0.1104051798f;
    p = p * t + 0.1195517632f;
    p = p * t + 0.1196876931f;
    float tail = bell * t * p;
    return x < 0.0f ? tail : 1.0f - tail;
}

#endif
