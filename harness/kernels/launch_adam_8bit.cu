/* Launches of 8-bit Adam: a block of threads for each block of codes, so that the moments are decoded, used and coded
 * anew in registers. */
#include "harness/kernels/body_adam_8bit.h"
#include "harness/kernels/launch_grid.h"

static __global__ void dynamic_map_kernel(float *map, bool is_signed)
{
    map[threadIdx.x] = dynamic_map_number((int)threadIdx.x, is_signed);
}

const char *launch_dynamic_map(const struct operation_call *call, cudaStream_t stream)
{
    dynamic_map_kernel<<<1, MAP_CODES, 0, stream>>>((float *)call->tensors[0].data, call->attributes.i[0] == 1);
    return launch_result();
}

struct adam_8bit_launch {
    struct tensor grad, parameter;
    const float *maps[2], *found; /* found NULL: none */
    uint8_t *codes[2];
    float *scales[2];
    int64_t count, blocks;
    struct adam_constants constants;
};

static __global__ void __launch_bounds__(CODE_BLOCK)
    adam_8bit_kernel(const __grid_constant__ struct adam_8bit_launch launch)
{
    __shared__ float shared[TEAM_SHARED_FLOATS];
    __shared__ float maps[2][MAP_CODES];
    struct team team = block_team(shared);
    if (launch.found != NULL && *launch.found != 0.0f) {
        return;
    }
    maps[0][team.lane] = launch.maps[0][team.lane];
    maps[1][team.lane] = launch.maps[1][team.lane];
    team_wait(team);
    for (int64_t number = blockIdx.x; number < launch.blocks; number += gridDim.x) {
        int64_t k = number * CODE_BLOCK + team.lane;
        bool inside = k < launch.count;
        struct adam_element e = {0.0f, 0.0f, 0.0f};
        if (inside) {
            e.parameter = tensor_get(&launch.parameter, k);
            e.m = maps[0][launch.codes[0][k]] * launch.scales[0][number];
            e.v = maps[1][launch.codes[1][k]] * launch.scales[1][number];
            e = adam_8bit_update(e, tensor_get(&launch.grad, k), launch.constants);
            tensor_set(&launch.parameter, k, e.parameter);
        }
        float m_scale = team_maximum(team, fabsf(e.m));
        float v_scale = team_maximum(team, fabsf(e.v));
        if (inside) {
            launch.codes[0][k] = moment_code(maps[0], e.m, m_scale);
            launch.codes[1][k] = moment_code(maps[1], e.v, v_scale);
        }
        if (team.lane == 0) {
            launch.scales[0][number] = m_scale;
            launch.scales[1][number] = v_scale;
        }
    }
}

const char *launch_adam_8bit(const struct operation_call *call, cudaStream_t stream)
{
    const struct tensor *out = &call->tensors[call->input_count];
    struct adam_8bit_launch launch;
    launch.grad = call->tensors[0];
    launch.parameter = out[0];
    launch.found = call->input_count > 3 ? (const float *)call->tensors[3].data : NULL;
    for (int moment = 0; moment < 2; moment++) {
        launch.maps[moment] = (const float *)call->tensors[1 + moment].data;
        launch.codes[moment] = (uint8_t *)out[1 + moment].data;
        launch.scales[moment] = (float *)out[3 + moment].data;
    }
    launch.count = tensor_element_count(&launch.grad);
    launch.blocks = (launch.count + CODE_BLOCK - 1) / CODE_BLOCK;
    launch.constants = adam_constants_of(&call->attributes);
    adam_8bit_kernel<<<grid_blocks(launch.blocks, 1), CODE_BLOCK, 0, stream>>>(launch);
    return launch_result();
}
