/* Sums over a group, and moments that are joined group by group: mean and squared differences from it, of what was seen
 * so far (Chan, Golub and LeVeque, "Updating formulae and a pairwise algorithm", 1979). Memory is read once and nothing
 * cancels.
 *
 * Worked: {1, 3} has count 2, mean 2, squares 2. Joined with {7}: step 5, mean 2 + 5 / 3 = 11 / 3,
 * squares 2 + 0 + 25 * 2 * 1 / 3 = 56 / 3. */
#ifndef ASSAY_KERNELS_BODY_MOMENTS_H
#define ASSAY_KERNELS_BODY_MOMENTS_H

#include "harness/kernels/body_row.h"

GROUP_BODY float group_sum(GROUP x, float sum)
{
    GROUP_SIMD(reduction(+ : sum))
    for (int64_t k = 0; k < GROUP_SIZE(x); k++) {
        if (group_has(x, k)) {
            sum += x.at[k];
        }
    }
    return sum;
}

GROUP_BODY float group_squares(GROUP x, float mean, float squares)
{
    GROUP_SIMD(reduction(+ : squares))
    for (int64_t k = 0; k < GROUP_SIZE(x); k++) {
        float difference = x.at[k] - mean;
        if (group_has(x, k)) {
            squares += difference * difference;
        }
    }
    return squares;
}

struct moments {
    float count, mean, squares;
};

GROUP_BODY struct moments moments_join(struct moments total, GROUP x)
{
    float count = group_count(x);
    if (count == 0.0f) {
        return total;
    }
    float mean = group_sum(x, 0.0f) / count;
    float step = mean - total.mean;
    float share = count / (total.count + count);
    total.squares += group_squares(x, mean, 0.0f) + step * step * total.count * share;
    total.mean += step * share;
    total.count += count;
    return total;
}

/* Those of all lanes; count is their sum. */
BODY struct moments team_moments(struct team team, struct moments lane, float count)
{
    struct moments all = {count, team_sum(team, lane.count * lane.mean) / count, 0.0f};
    float step = lane.mean - all.mean;
    all.squares = team_sum(team, lane.squares + lane.count * step * step);
    return all;
}

#endif
