/* Boxes: elements of up to four dimensions that the lanes of a block move between device memory and shared memory, the
 * last dimension fastest. Divisions find a lane's first element; from there on it counts. CUDA only. */
#ifndef ASSAY_KERNELS_LAUNCH_BOX_H
#define ASSAY_KERNELS_LAUNCH_BOX_H

#include "harness/kernels/launch_packet.h"

enum { BOX_DIMENSIONS = 4, BOX_TOGETHER = 4 };

struct box {
    int size[BOX_DIMENSIONS];
    int shared[BOX_DIMENSIONS]; /* steps in shared memory */
    int memory[BOX_DIMENSIONS]; /* and in device memory */
};

/* Of a box, what lies in memory: elements [low, end) of each dimension; data: where its element 0 would be. */
struct box_part {
    int low[BOX_DIMENSIONS], end[BOX_DIMENSIONS];
    void *data;
};

struct box_place {
    int at[BOX_DIMENSIONS];
};

PACKET struct box_place box_place_of(const struct box &box, int k)
{
    struct box_place place;
#pragma unroll
    for (int d = BOX_DIMENSIONS - 1; d > 0; d--) {
        place.at[d] = k % box.size[d];
        k /= box.size[d];
    }
    place.at[0] = k;
    return place;
}

PACKET void box_next(const struct box &box, struct box_place *place, const struct box_place &step)
{
#pragma unroll
    for (int d = BOX_DIMENSIONS - 1; d > 0; d--) {
        place->at[d] += step.at[d];
        if (place->at[d] >= box.size[d]) {
            place->at[d] -= box.size[d];
            place->at[d - 1] += 1;
        }
    }
    place->at[0] += step.at[0];
}

PACKET bool box_has(const struct box_part &part, const struct box_place &place)
{
    bool has = true;
#pragma unroll
    for (int d = 0; d < BOX_DIMENSIONS; d++) {
        has = has && place.at[d] >= part.low[d] && place.at[d] < part.end[d];
    }
    return has;
}

PACKET int box_index(const int steps[BOX_DIMENSIONS], const struct box_place &place)
{
    return place.at[0] * steps[0] + place.at[1] * steps[1] + place.at[2] * steps[2] + place.at[3] * steps[3];
}

PACKET int box_count(const struct box &box)
{
    return box.size[0] * box.size[1] * box.size[2] * box.size[3];
}

/* to = the box, 0 where it does not lie in memory. Some loads are under way together. */
template <enum dtype dtype> PACKET void box_load(const struct box &box, const struct box_part &part, float *to)
{
    int count = box_count(box), lanes = (int)blockDim.x;
    struct box_place place = box_place_of(box, (int)threadIdx.x), step = box_place_of(box, lanes);
    for (int k = (int)threadIdx.x; k < count; k += BOX_TOGETHER * lanes) {
        float value[BOX_TOGETHER];
        int at[BOX_TOGETHER];
#pragma unroll
        for (int n = 0; n < BOX_TOGETHER; n++) {
            value[n] = 0.0f;
            at[n] = box_index(box.shared, place);
            if (k + n * lanes < count && box_has(part, place)) {
                packet_load<dtype, 1>(part.data, box_index(box.memory, place), &value[n]);
            }
            box_next(box, &place, step);
        }
#pragma unroll
        for (int n = 0; n < BOX_TOGETHER; n++) {
            if (k + n * lanes < count) {
                to[at[n]] = value[n];
            }
        }
    }
}

/* The reverse: nothing is written where the box does not lie in memory. */
template <enum dtype dtype> PACKET void box_store(const struct box &box, const struct box_part &part, const float *from)
{
    int count = box_count(box), lanes = (int)blockDim.x;
    struct box_place place = box_place_of(box, (int)threadIdx.x), step = box_place_of(box, lanes);
    for (int k = (int)threadIdx.x; k < count; k += lanes) {
        if (box_has(part, place)) {
            packet_store<dtype, 1>(part.data, box_index(box.memory, place), &from[box_index(box.shared, place)]);
        }
        box_next(box, &place, step);
    }
}

#endif
