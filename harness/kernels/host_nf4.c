/* nf4 codes read, written and multiplied on the host. Not the blocks, their scales, or what is quantised
 * (host_quantize.c). */
#include "harness/kernels/host_nf4.h"

#include "harness/kernels/body_quantize.h"
#include "harness/kernels/host_span.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

#define WIDE __attribute__((target("avx512f")))

enum { LANES = 16 };

/* Sixteen codes, each in the low bits of a lane whose other bits are anything: of eight bytes the first four for the
 * lower lanes, the others for the upper. A byte's high half comes first. */
WIDE __attribute__((always_inline)) static inline __m512i codes_spread(const uint8_t *pairs)
{
    const __m512i shifts = _mm512_set_epi32(24, 28, 16, 20, 8, 12, 0, 4, 24, 28, 16, 20, 8, 12, 0, 4);
    int32_t halves[2];
    memcpy(halves, pairs, sizeof halves);
    __m512i bytes = _mm512_mask_set1_epi32(_mm512_set1_epi32(halves[0]), 0xff00, halves[1]);
    return _mm512_srlv_epi32(bytes, shifts);
}

WIDE __attribute__((always_inline)) static inline __m512 levels_of_lanes(void)
{
    return _mm512_setr_ps(nf4_level(0), nf4_level(1), nf4_level(2), nf4_level(3), nf4_level(4), nf4_level(5),
                          nf4_level(6), nf4_level(7), nf4_level(8), nf4_level(9), nf4_level(10), nf4_level(11),
                          nf4_level(12), nf4_level(13), nf4_level(14), nf4_level(15));
}

/* These return how many elements they did: whole vectors. */
WIDE static int64_t read_wide(const uint8_t *pairs, int64_t count, float scale, float *to)
{
    __m512 levels = _mm512_mul_ps(levels_of_lanes(), _mm512_set1_ps(scale));
    int64_t k = 0;
    for (; k + LANES <= count; k += LANES) {
        _mm512_storeu_ps(to + k, _mm512_permutexvar_ps(codes_spread(pairs + k / 2), levels));
    }
    return k;
}

/* How many midpoints lie below, in four steps of a binary search. A lane of four, two and one is the midpoint that
 * decides for a number whose search has come to the code of that number; the search does not come to the others. */
WIDE __attribute__((always_inline)) static inline __m512i codes_nearest(__m512 x)
{
#define MIDDLE nf4_midpoint
    const __m512 four = _mm512_setr_ps(MIDDLE(3), 0, 0, 0, 0, 0, 0, 0, MIDDLE(11), 0, 0, 0, 0, 0, 0, 0);
    const __m512 two = _mm512_setr_ps(MIDDLE(1), 0, 0, 0, MIDDLE(5), 0, 0, 0, MIDDLE(9), 0, 0, 0, MIDDLE(13), 0, 0, 0);
    const __m512 one = _mm512_setr_ps(MIDDLE(0), 0, MIDDLE(2), 0, MIDDLE(4), 0, MIDDLE(6), 0, MIDDLE(8), 0, MIDDLE(10),
                                      0, MIDDLE(12), 0, MIDDLE(14), 0);
    __mmask16 above = _mm512_cmp_ps_mask(x, _mm512_set1_ps(MIDDLE(7)), _CMP_GT_OQ);
#undef MIDDLE
    __m512i codes = _mm512_maskz_set1_epi32(above, 8);
    above = _mm512_cmp_ps_mask(x, _mm512_permutexvar_ps(codes, four), _CMP_GT_OQ);
    codes = _mm512_mask_add_epi32(codes, above, codes, _mm512_set1_epi32(4));
    above = _mm512_cmp_ps_mask(x, _mm512_permutexvar_ps(codes, two), _CMP_GT_OQ);
    codes = _mm512_mask_add_epi32(codes, above, codes, _mm512_set1_epi32(2));
    above = _mm512_cmp_ps_mask(x, _mm512_permutexvar_ps(codes, one), _CMP_GT_OQ);
    return _mm512_mask_add_epi32(codes, above, codes, _mm512_set1_epi32(1));
}

WIDE static int64_t write_wide(const float *a, int64_t count, float reciprocal, uint8_t *pairs)
{
    int64_t k = 0;
    for (; k + LANES <= count; k += LANES) {
        __m512 x = _mm512_mul_ps(_mm512_loadu_ps(a + k), _mm512_set1_ps(reciprocal));
        __m512i codes = codes_nearest(x);
        /* A lane of 64 bits has the first code of a pair in its low half and the second in its high half. */
        __m512i joined = _mm512_or_si512(_mm512_slli_epi64(codes, 4), _mm512_srli_epi64(codes, 32));
        _mm_storel_epi64((__m128i *)(void *)(pairs + k / 2), _mm512_cvtepi64_epi8(joined));
    }
    return k;
}

/* Sums of whole vectors of one block, added to `sums`. */
WIDE __attribute__((always_inline)) static inline void dot_block(const float *a, const uint8_t *pairs, int64_t count,
                                                                 float scale, __m512 sums[2])
{
    __m512 levels = _mm512_mul_ps(levels_of_lanes(), _mm512_set1_ps(scale));
    int64_t k = 0;
    for (; k + 2 * LANES <= count; k += 2 * LANES) {
        __m512 first = _mm512_permutexvar_ps(codes_spread(pairs + k / 2), levels);
        __m512 second = _mm512_permutexvar_ps(codes_spread(pairs + k / 2 + LANES / 2), levels);
        sums[0] = _mm512_fmadd_ps(_mm512_loadu_ps(a + k), first, sums[0]);
        sums[1] = _mm512_fmadd_ps(_mm512_loadu_ps(a + k + LANES), second, sums[1]);
    }
    if (k < count) {
        __m512 last = _mm512_permutexvar_ps(codes_spread(pairs + k / 2), levels);
        sums[0] = _mm512_fmadd_ps(_mm512_loadu_ps(a + k), last, sums[0]);
    }
}

WIDE static float dot_wide(const float *a, const uint8_t *codes, const float *scales, int64_t block, int64_t first,
                           int64_t count)
{
    __m512 sums[2] = {_mm512_setzero_ps(), _mm512_setzero_ps()};
    const uint8_t *pairs = codes + first / 2;
    int64_t number = first / block, k = 0;
    int64_t end = (number + 1) * block - first;
    while (k < count) {
        end = end < count ? end : count;
        dot_block(a + k, pairs + k / 2, end - k, scales[number++], sums);
        k = end;
        end += block;
    }
    return _mm512_reduce_add_ps(_mm512_add_ps(sums[0], sums[1]));
}

static bool is_wide(void)
{
    return __builtin_cpu_supports("avx512f") != 0;
}

#else

enum { LANES = 16 };

static int64_t read_wide(const uint8_t *pairs, int64_t count, float scale, float *to)
{
    (void)pairs, (void)count, (void)scale, (void)to;
    return 0;
}

static int64_t write_wide(const float *a, int64_t count, float reciprocal, uint8_t *pairs)
{
    (void)a, (void)count, (void)reciprocal, (void)pairs;
    return 0;
}

static float dot_wide(const float *a, const uint8_t *codes, const float *scales, int64_t block, int64_t first,
                      int64_t count)
{
    (void)a, (void)codes, (void)scales, (void)block, (void)first, (void)count;
    return 0.0f;
}

static bool is_wide(void)
{
    return false;
}

#endif

HOST_CLONES
static void read_pairs(const uint8_t *pairs, int64_t count, float scale, float *to)
{
    BODY_SIMD()
    for (int64_t k = 0; k < count; k++) {
        to[2 * k] = nf4_level(pairs[k] >> 4) * scale;
        to[2 * k + 1] = nf4_level(pairs[k] & 15) * scale;
    }
}

void host_nf4_read(const uint8_t *pairs, int64_t count, float scale, float *to)
{
    int64_t k = is_wide() ? read_wide(pairs, count, scale, to) : 0;
    if (k < count) {
        read_pairs(pairs + k / 2, (count - k) / 2, scale, to + k);
    }
    if (count % 2 != 0) {
        to[count - 1] = code_value(pairs, DTYPE_NF4X2, count - 1, scale);
    }
}

HOST_CLONES
static void write_pairs(const float *a, int64_t count, float reciprocal, uint8_t *pairs)
{
    BODY_SIMD()
    for (int64_t k = 0; k < count; k++) {
        pairs[k] = nf4_pair(a[2 * k] * reciprocal, a[2 * k + 1] * reciprocal);
    }
}

void host_nf4_write(const float *a, int64_t count, float reciprocal, uint8_t *pairs)
{
    int64_t k = is_wide() ? write_wide(a, count, reciprocal, pairs) : 0;
    if (k < count) {
        write_pairs(a + k, (count - k) / 2, reciprocal, pairs + k / 2);
    }
    if (count % 2 != 0) {
        pairs[count / 2] = nf4_pair(a[count - 1] * reciprocal, 0.0f);
    }
}

bool host_nf4_dot_fits(int64_t first, int64_t block)
{
    return is_wide() && first % LANES == 0 && block % LANES == 0;
}

float host_nf4_dot(const float *a, const uint8_t *codes, const float *scales, int64_t block, int64_t first,
                   int64_t count)
{
    int64_t whole = count / LANES * LANES;
    float sum = dot_wide(a, codes, scales, block, first, whole);
    for (int64_t k = whole; k < count; k++) {
        sum += a[k] * code_value(codes, DTYPE_NF4X2, first + k, scales[(first + k) / block]);
    }
    return sum;
}
