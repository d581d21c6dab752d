/* cuDNN without a GPU: the descriptors of its backend interface that convolutions need, a heuristic that names engines
 * of every kind, and convolutions by their definition. It is there where EMULATED_CUDNN says so (emulated_toolkit.h).
 * Whatever the documentation does not allow it refuses: unknown attributes, types and numbers of values, descriptors
 * that are not finalized or gone, sizes that do not go together, addresses that are not aligned, a handle of another
 * device or of the process before a fork. As the real one it ends the process where its heuristics are asked and the
 * cublasLt of its CUDA was not loaded. A workspace is overwritten as far as the engine said it wants it. */
#include <sys/types.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "harness/kernels/convert.h"
#include "tests/cuda_emulation/emulated/emulated_toolkit.h"
#include "tests/cuda_emulation/emulated/emulated_work.h"
#include "tests/cuda_emulation/emulated/emulation.h"

extern "C" {
#include "harness/device/cuda/cudnn_library.h"
}

namespace
{

enum {
    SUCCESS = DNN_STATUS_SUCCESS,
    NOT_INITIALIZED = 1001,
    BAD_PARAM = 2000,
    NULL_POINTER = 2002,
    MISALIGNED_POINTER = 2003,
    NOT_FINALIZED = 2004,
    SHAPE_MISMATCH = 2008,
    ATTRIBUTE_TYPE = 2010,
    NOT_SUPPORTED = 3000,
    EXECUTION_FAILED = 5000
};

struct emulation_cudnn {
    int device; /* that was set when it was made: it runs there alone */
    pid_t process;
};

struct value {
    int type;
    std::vector<uint8_t> bytes;
    int64_t count;
};

/* How a convolution was said to be. */
struct form {
    int kind = 0; /* of its operation's descriptor */
    int type = 0; /* of its tensors */
    int64_t image[4], weight[4], result[4];
    int64_t stride, padding;
    int64_t ids[3], alignments[3]; /* of image, weight, result */
};

struct engine_row {
    int index, mode, notes;
    bool takes_layouts, is_ready, is_right;
};

struct descriptor {
    int kind;
    bool finalized = false;
    std::map<int, value> values;
    const engine_row *engine = nullptr; /* of an engine, its configuration, its plan */
    form convolution;                   /* of a graph, and of what was made for it */
    emulation_cudnn *handle = nullptr;
};

std::set<const descriptor *> living;

const size_t workspaces_told_since = 90200; /* of configurations */

const int notes_tensor_core = 1 << DNN_NUMERICAL_NOTE_TENSOR_CORE;

/* What the heuristics name, in their order: one that rounds its factors, and gives another result; one that PyTorch
 * would take; one that rounds more than once; one that cannot be made ready; one that needs no memory, and one to fall
 * back on. */
const engine_row engines[] = {
    {90, DNN_HEUR_MODE_INSTANT, 1 << DNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS, false, true, false},
    {67, DNN_HEUR_MODE_INSTANT, notes_tensor_core, true, true, true},
    {17, DNN_HEUR_MODE_INSTANT, notes_tensor_core | 1 << DNN_NUMERICAL_NOTE_WINOGRAD, false, true, false},
    {18, DNN_HEUR_MODE_INSTANT, notes_tensor_core | 1 << DNN_NUMERICAL_NOTE_NONDETERMINISTIC, false, true, false},
    {71, DNN_HEUR_MODE_INSTANT, notes_tensor_core, false, false, false},
    {3, DNN_HEUR_MODE_FALLBACK, 1 << DNN_NUMERICAL_NOTE_FFT, false, true, false},
    {1, DNN_HEUR_MODE_FALLBACK, notes_tensor_core, false, true, true},
};

/* -- attributes: which a kind has, of which type, how many values, and that all must be set */

struct attribute_rule {
    int kind, attribute, type;
    int64_t count;
};

#define OPERATION_RULES(kind, first)                                                                                   \
    {kind, first, DNN_TYPE_FLOAT, 1}, {kind, first + 1, DNN_TYPE_FLOAT, 1},                                            \
        {kind, first + 2, DNN_TYPE_BACKEND_DESCRIPTOR, 1}, {kind, first + 3, DNN_TYPE_BACKEND_DESCRIPTOR, 1},          \
        {kind, first + 4, DNN_TYPE_BACKEND_DESCRIPTOR, 1},                                                             \
    {                                                                                                                  \
        kind, first + 5, DNN_TYPE_BACKEND_DESCRIPTOR, 1                                                                \
    }

const attribute_rule rules[] = {
    {DNN_BACKEND_TENSOR_DESCRIPTOR, DNN_ATTR_TENSOR_UNIQUE_ID, DNN_TYPE_INT64, 1},
    {DNN_BACKEND_TENSOR_DESCRIPTOR, DNN_ATTR_TENSOR_DATA_TYPE, DNN_TYPE_DATA_TYPE, 1},
    {DNN_BACKEND_TENSOR_DESCRIPTOR, DNN_ATTR_TENSOR_DIMENSIONS, DNN_TYPE_INT64, 4},
    {DNN_BACKEND_TENSOR_DESCRIPTOR, DNN_ATTR_TENSOR_STRIDES, DNN_TYPE_INT64, 4},
    {DNN_BACKEND_TENSOR_DESCRIPTOR, DNN_ATTR_TENSOR_BYTE_ALIGNMENT, DNN_TYPE_INT64, 1},
    {DNN_BACKEND_CONVOLUTION_DESCRIPTOR, DNN_ATTR_CONVOLUTION_SPATIAL_DIMS, DNN_TYPE_INT64, 1},
    {DNN_BACKEND_CONVOLUTION_DESCRIPTOR, DNN_ATTR_CONVOLUTION_COMP_TYPE, DNN_TYPE_DATA_TYPE, 1},
    {DNN_BACKEND_CONVOLUTION_DESCRIPTOR, DNN_ATTR_CONVOLUTION_CONV_MODE, DNN_TYPE_CONVOLUTION_MODE, 1},
    {DNN_BACKEND_CONVOLUTION_DESCRIPTOR, DNN_ATTR_CONVOLUTION_DILATIONS, DNN_TYPE_INT64, 2},
    {DNN_BACKEND_CONVOLUTION_DESCRIPTOR, DNN_ATTR_CONVOLUTION_FILTER_STRIDES, DNN_TYPE_INT64, 2},
    {DNN_BACKEND_CONVOLUTION_DESCRIPTOR, DNN_ATTR_CONVOLUTION_PRE_PADDINGS, DNN_TYPE_INT64, 2},
    {DNN_BACKEND_CONVOLUTION_DESCRIPTOR, DNN_ATTR_CONVOLUTION_POST_PADDINGS, DNN_TYPE_INT64, 2},
    OPERATION_RULES(DNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR, DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA),
    OPERATION_RULES(DNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                    DNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA),
    OPERATION_RULES(DNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR,
                    DNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA),
    {DNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, DNN_ATTR_OPERATIONGRAPH_OPS, DNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {DNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, DNN_ATTR_OPERATIONGRAPH_HANDLE, DNN_TYPE_HANDLE, 1},
    {DNN_BACKEND_ENGINEHEUR_DESCRIPTOR, DNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, DNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {DNN_BACKEND_ENGINEHEUR_DESCRIPTOR, DNN_ATTR_ENGINEHEUR_MODE, DNN_TYPE_HEUR_MODE, 1},
    {DNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, DNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, DNN_TYPE_BACKEND_DESCRIPTOR, 1},
    {DNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, DNN_ATTR_EXECUTION_PLAN_HANDLE, DNN_TYPE_HANDLE, 1},
    {DNN_BACKEND_VARIANT_PACK_DESCRIPTOR, DNN_ATTR_VARIANT_PACK_UNIQUE_IDS, DNN_TYPE_INT64, 3},
    {DNN_BACKEND_VARIANT_PACK_DESCRIPTOR, DNN_ATTR_VARIANT_PACK_DATA_POINTERS, DNN_TYPE_VOID_PTR, 3},
    {DNN_BACKEND_VARIANT_PACK_DESCRIPTOR, DNN_ATTR_VARIANT_PACK_WORKSPACE, DNN_TYPE_VOID_PTR, 1},
};

size_t type_bytes(int type)
{
    bool is_wide = type == DNN_TYPE_INT64 || type == DNN_TYPE_VOID_PTR || type == DNN_TYPE_HANDLE ||
                   type == DNN_TYPE_BACKEND_DESCRIPTOR;
    return is_wide ? 8 : 4;
}

template <typename T> T value_at(const descriptor *from, int attribute, int index = 0)
{
    T read;
    memcpy(&read, from->values.at(attribute).bytes.data() + (size_t)index * sizeof read, sizeof read);
    return read;
}

/* A descriptor that is an attribute; NULL where it is gone or of another kind. */
const descriptor *part_of(const descriptor *whole, int attribute, int kind)
{
    const descriptor *part = value_at<const descriptor *>(whole, attribute);
    return living.count(part) > 0 && part->kind == kind ? part : nullptr;
}

int descriptor_create(int kind, void **made)
{
    descriptor *fresh = new descriptor;
    fresh->kind = kind;
    living.insert(fresh);
    *made = fresh;
    return SUCCESS;
}

int descriptor_destroy(void *gone)
{
    descriptor *known = static_cast<descriptor *>(gone);
    if (living.erase(known) == 0) {
        return BAD_PARAM;
    }
    delete known;
    return SUCCESS;
}

int attribute_set(void *of, int attribute, int type, int64_t count, const void *values)
{
    descriptor *to = static_cast<descriptor *>(of);
    if (living.count(to) == 0 || to->finalized || values == nullptr) {
        return BAD_PARAM;
    }
    for (const attribute_rule &rule : rules) {
        if (rule.kind != to->kind || rule.attribute != attribute) {
            continue;
        }
        if (rule.type != type || rule.count != count) {
            return ATTRIBUTE_TYPE;
        }
        if (type == DNN_TYPE_BACKEND_DESCRIPTOR) {
            const descriptor *part = *static_cast<const descriptor *const *>(values);
            if (living.count(part) == 0 || !part->finalized) {
                return NOT_FINALIZED;
            }
        }
        const uint8_t *bytes = static_cast<const uint8_t *>(values);
        to->values[attribute] = {type, {bytes, bytes + (size_t)count * type_bytes(type)}, count};
        return SUCCESS;
    }
    return BAD_PARAM;
}

bool handle_serves(const emulation_cudnn *handle)
{
    return handle != nullptr && handle->device == emulated_device() && handle->process == getpid();
}

/* -- finalizing */

/* Sizes and strides of a tensor in its dense order; false where they are none. */
bool tensor_read(const descriptor *tensor, int index, int64_t size[4], form *made)
{
    int64_t expected = 1;
    for (int d = 3; d >= 0; d--) {
        size[d] = value_at<int64_t>(tensor, DNN_ATTR_TENSOR_DIMENSIONS, d);
        if (size[d] < 1 || value_at<int64_t>(tensor, DNN_ATTR_TENSOR_STRIDES, d) != expected) {
            return false;
        }
        expected *= size[d];
    }
    made->ids[index] = value_at<int64_t>(tensor, DNN_ATTR_TENSOR_UNIQUE_ID);
    made->alignments[index] = value_at<int64_t>(tensor, DNN_ATTR_TENSOR_BYTE_ALIGNMENT);
    made->type = value_at<int>(tensor, DNN_ATTR_TENSOR_DATA_TYPE);
    return true;
}

bool sizes_fit(const form &made, int64_t kernel)
{
    bool fits = made.image[0] == made.result[0] && made.image[1] == made.weight[1] &&
                made.weight[0] == made.result[1] && made.weight[3] == kernel && made.stride > 0 && made.padding >= 0;
    for (int d = 2; d < 4 && fits; d++) {
        int64_t reach = made.image[d] + 2 * made.padding - kernel;
        fits = reach >= 0 && made.result[d] == reach / made.stride + 1;
    }
    return fits;
}

int operation_finalize(descriptor *operation)
{
    int first = rules[0].attribute;
    for (const attribute_rule &rule : rules) {
        if (rule.kind == operation->kind) {
            first = rule.attribute;
            break;
        }
    }
    form *made = &operation->convolution;
    made->kind = operation->kind;
    const descriptor *window = part_of(operation, first + 2, DNN_BACKEND_CONVOLUTION_DESCRIPTOR);
    const descriptor *weight = part_of(operation, first + 3, DNN_BACKEND_TENSOR_DESCRIPTOR);
    const descriptor *image = part_of(operation, first + 4, DNN_BACKEND_TENSOR_DESCRIPTOR);
    const descriptor *result = part_of(operation, first + 5, DNN_BACKEND_TENSOR_DESCRIPTOR);
    if (window == nullptr || weight == nullptr || image == nullptr || result == nullptr ||
        value_at<float>(operation, first) != 1.0f || value_at<float>(operation, first + 1) != 0.0f) {
        return BAD_PARAM;
    }
    made->stride = value_at<int64_t>(window, DNN_ATTR_CONVOLUTION_FILTER_STRIDES);
    made->padding = value_at<int64_t>(window, DNN_ATTR_CONVOLUTION_PRE_PADDINGS);
    bool read = tensor_read(image, 0, made->image, made) && tensor_read(weight, 1, made->weight, made) &&
                tensor_read(result, 2, made->result, made);
    return read && sizes_fit(*made, made->weight[2]) ? SUCCESS : SHAPE_MISMATCH;
}

int plan_finalize(descriptor *plan)
{
    const descriptor *config = part_of(plan, DNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, DNN_BACKEND_ENGINECFG_DESCRIPTOR);
    plan->handle = value_at<emulation_cudnn *>(plan, DNN_ATTR_EXECUTION_PLAN_HANDLE);
    if (config == nullptr || !handle_serves(plan->handle)) {
        return BAD_PARAM;
    }
    plan->engine = config->engine;
    plan->convolution = config->convolution;
    return plan->engine->is_ready && !emulated_cudnn_refuses("unsupported:") ? SUCCESS : NOT_SUPPORTED;
}

/* What a graph is made of, or a heuristic for. */
int whole_finalize(descriptor *whole, int attribute, const std::set<int> &kinds)
{
    const descriptor *part = value_at<const descriptor *>(whole, attribute);
    if (living.count(part) == 0 || kinds.count(part->kind) == 0) {
        return BAD_PARAM;
    }
    whole->convolution = part->convolution;
    return SUCCESS;
}

int kind_finalize(descriptor *made)
{
    switch (made->kind) {
    case DNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR:
    case DNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR:
    case DNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR:
        return operation_finalize(made);
    case DNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR:
        if (!handle_serves(value_at<emulation_cudnn *>(made, DNN_ATTR_OPERATIONGRAPH_HANDLE))) {
            return BAD_PARAM;
        }
        return whole_finalize(made, DNN_ATTR_OPERATIONGRAPH_OPS,
                              {DNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR,
                               DNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR,
                               DNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR});
    case DNN_BACKEND_ENGINEHEUR_DESCRIPTOR:
        if (!emulated_cublaslt_is_loaded(emulated_cudnn_cuda_version() / 1000)) {
            abort();
        }
        return whole_finalize(made, DNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, {DNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR});
    case DNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR:
        return plan_finalize(made);
    default:
        return SUCCESS;
    }
}

int finalize(void *of)
{
    descriptor *made = static_cast<descriptor *>(of);
    if (living.count(made) == 0 || made->finalized) {
        return BAD_PARAM;
    }
    for (const attribute_rule &rule : rules) {
        if (rule.kind == made->kind && made->values.count(rule.attribute) == 0) {
            return NOT_FINALIZED;
        }
    }
    int status = kind_finalize(made);
    made->finalized = status == SUCCESS;
    return status;
}

/* -- what can be asked */

int64_t element_count(const int64_t size[4])
{
    return size[0] * size[1] * size[2] * size[3];
}

/* Layouts of all three tensors, 16 bytes, and what the real one adds to align an address itself. */
int64_t workspace_bytes(const descriptor *config)
{
    const form &made = config->convolution;
    int64_t elements = element_count(made.image) + element_count(made.weight) + element_count(made.result);
    return config->engine->takes_layouts ? elements * (made.type == DNN_DATA_FLOAT ? 4 : 2) + 16 + 131 : 0;
}

int results_get(const descriptor *heuristic, int64_t room, int64_t *count, void *values)
{
    int mode = value_at<int>(heuristic, DNN_ATTR_ENGINEHEUR_MODE);
    void **configs = static_cast<void **>(values);
    *count = 0;
    for (const engine_row &row : engines) {
        if (row.mode != mode || *count >= room || (row.index == 1 && emulated_cudnn_refuses("bare"))) {
            continue;
        }
        descriptor *config = static_cast<descriptor *>(configs[*count]);
        if (living.count(config) == 0 || config->kind != DNN_BACKEND_ENGINECFG_DESCRIPTOR) {
            return BAD_PARAM;
        }
        config->engine = &row;
        config->convolution = heuristic->convolution;
        config->finalized = true;
        ++*count;
    }
    return SUCCESS;
}

int number_get(int64_t number, int64_t room, int64_t *count, void *values)
{
    *count = 1;
    if (room >= 1) {
        memcpy(values, &number, sizeof number);
    }
    return SUCCESS;
}

int notes_of(const engine_row *engine)
{
    return engine->index == 1 && emulated_cudnn_refuses("plain") ? 0 : engine->notes;
}

int notes_get(int notes, int64_t room, int64_t *count, void *values)
{
    *count = 0;
    for (int note = 0; note < 10; note++) {
        if ((notes >> note & 1) != 0 && *count < room) {
            static_cast<int *>(values)[(*count)++] = note;
        }
    }
    return SUCCESS;
}

int attribute_get(void *of, int attribute, int type, int64_t room, int64_t *count, void *values)
{
    const descriptor *from = static_cast<descriptor *>(of);
    if (living.count(from) == 0 || !from->finalized) {
        return NOT_FINALIZED;
    }
    if (attribute == DNN_ATTR_ENGINEHEUR_RESULTS && from->kind == DNN_BACKEND_ENGINEHEUR_DESCRIPTOR &&
        type == DNN_TYPE_BACKEND_DESCRIPTOR) {
        return results_get(from, room, count, values);
    }
    if (attribute == DNN_ATTR_ENGINECFG_ENGINE && from->kind == DNN_BACKEND_ENGINECFG_DESCRIPTOR && room == 1 &&
        type == DNN_TYPE_BACKEND_DESCRIPTOR) {
        descriptor *engine = *static_cast<descriptor **>(values);
        if (living.count(engine) == 0 || engine->kind != DNN_BACKEND_ENGINE_DESCRIPTOR) {
            return BAD_PARAM;
        }
        engine->engine = from->engine;
        engine->finalized = true;
        *count = 1;
        return SUCCESS;
    }
    bool of_config = attribute == DNN_ATTR_ENGINECFG_WORKSPACE_SIZE && from->kind == DNN_BACKEND_ENGINECFG_DESCRIPTOR;
    bool of_plan =
        attribute == DNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE && from->kind == DNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR;
    if (of_config && emulated_cudnn_version() < workspaces_told_since) {
        return BAD_PARAM;
    }
    if ((of_config || of_plan) && type == DNN_TYPE_INT64) {
        return number_get(workspace_bytes(from), room, count, values);
    }
    if (from->kind == DNN_BACKEND_ENGINE_DESCRIPTOR && attribute == DNN_ATTR_ENGINE_GLOBAL_INDEX &&
        type == DNN_TYPE_INT64) {
        return number_get(from->engine->index, room, count, values);
    }
    return from->kind == DNN_BACKEND_ENGINE_DESCRIPTOR && attribute == DNN_ATTR_ENGINE_NUMERICAL_NOTE &&
                   type == DNN_TYPE_NUMERICAL_NOTE
               ? notes_get(notes_of(from->engine), room, count, values)
               : ATTRIBUTE_TYPE;
}

/* -- computing */

struct convolution {
    form made;
    enum dtype dtype;
    bool rounds; /* factors to TF32 */
    float scale; /* 1, or of an engine that is not right another */
    void *address[3], *workspace;
    int64_t workspace_bytes;
};

float factor_at(const convolution &job, int tensor, const int64_t size[4], int64_t n, int64_t c, int64_t y, int64_t x)
{
    int64_t place = ((n * size[1] + c) * size[2] + y) * size[3] + x;
    return emulated_factor(float_load(job.address[tensor], job.dtype, place), job.rounds);
}

/* The pixel of the image under tap (v, u) of the window of result pixel (y, x); false: it lies outside. */
bool pixel_of(const form &made, int64_t y, int64_t x, int64_t v, int64_t u, int64_t *row, int64_t *column)
{
    *row = y * made.stride + v - made.padding;
    *column = x * made.stride + u - made.padding;
    return *row >= 0 && *row < made.image[2] && *column >= 0 && *column < made.image[3];
}

/* Walks every product of the convolution and adds it where it belongs. */
void convolution_compute(const convolution &job)
{
    const form &made = job.made;
    bool forward = made.kind == DNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR;
    bool to_image = made.kind == DNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR;
    const int64_t *size = forward ? made.result : to_image ? made.image : made.weight;
    int out = forward ? 2 : to_image ? 0 : 1;
    std::vector<float> sums((size_t)element_count(size), 0.0f);
    for (int64_t n = 0; n < made.result[0]; n++) {
        for (int64_t place = 0; place < made.result[1] * made.result[2] * made.result[3]; place++) {
            int64_t o = place / (made.result[2] * made.result[3]);
            int64_t y = place / made.result[3] % made.result[2], x = place % made.result[3];
            for (int64_t tap = 0; tap < made.weight[1] * made.weight[2] * made.weight[3]; tap++) {
                int64_t c = tap / (made.weight[2] * made.weight[3]), row = 0, column = 0;
                int64_t v = tap / made.weight[3] % made.weight[2], u = tap % made.weight[3];
                if (!pixel_of(made, y, x, v, u, &row, &column)) {
                    continue;
                }
                float image = to_image ? 0.0f : factor_at(job, 0, made.image, n, c, row, column);
                float weight = !forward && !to_image ? 0.0f : factor_at(job, 1, made.weight, o, c, v, u);
                float result = forward ? 0.0f : factor_at(job, 2, made.result, n, o, y, x);
                if (forward) {
                    sums[(size_t)(n * made.result[1] * made.result[2] * made.result[3] + place)] += image * weight;
                } else if (to_image) {
                    sums[(size_t)(((n * size[1] + c) * size[2] + row) * size[3] + column)] += weight * result;
                } else {
                    sums[(size_t)(((o * size[1] + c) * size[2] + v) * size[3] + u)] += image * result;
                }
            }
        }
    }
    if (job.workspace_bytes > 0) {
        memset(job.workspace, 0xff, (size_t)job.workspace_bytes);
    }
    for (size_t i = 0; i < sums.size(); i++) {
        float_store(job.address[out], job.dtype, (int64_t)i, job.scale * sums[i]);
    }
    if (job.workspace_bytes > 0) {
        memset(job.workspace, 0xff, (size_t)job.workspace_bytes);
    }
}

int addresses_check(const descriptor *plan, const descriptor *pack, convolution *job)
{
    for (int i = 0; i < 3; i++) {
        int at = -1;
        for (int k = 0; k < 3; k++) {
            at = value_at<int64_t>(pack, DNN_ATTR_VARIANT_PACK_UNIQUE_IDS, k) == plan->convolution.ids[i] ? k : at;
        }
        job->address[i] = at >= 0 ? value_at<void *>(pack, DNN_ATTR_VARIANT_PACK_DATA_POINTERS, at) : nullptr;
        if (job->address[i] == nullptr) {
            return NULL_POINTER;
        }
        if ((uintptr_t)job->address[i] % (uintptr_t)plan->convolution.alignments[i] != 0) {
            return MISALIGNED_POINTER;
        }
    }
    job->workspace = value_at<void *>(pack, DNN_ATTR_VARIANT_PACK_WORKSPACE);
    job->workspace_bytes = workspace_bytes(plan);
    if (job->workspace_bytes > 0 && job->workspace == nullptr) {
        return NULL_POINTER;
    }
    return (uintptr_t)job->workspace % 256 != 0 ? MISALIGNED_POINTER : SUCCESS;
}

int execute(void *with, void *of, void *packed)
{
    const descriptor *plan = static_cast<descriptor *>(of), *pack = static_cast<descriptor *>(packed);
    convolution job = {};
    if (living.count(plan) == 0 || living.count(pack) == 0 || !plan->finalized || !pack->finalized ||
        plan->kind != DNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR || pack->kind != DNN_BACKEND_VARIANT_PACK_DESCRIPTOR) {
        return NOT_FINALIZED;
    }
    if (with != plan->handle || !handle_serves(plan->handle) ||
        part_of(plan, DNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, DNN_BACKEND_ENGINECFG_DESCRIPTOR) == nullptr) {
        return BAD_PARAM;
    }
    int status = addresses_check(plan, pack, &job);
    if (status != SUCCESS) {
        return status;
    }
    if (emulated_library_call("cudnnBackendExecute") != CUBLAS_STATUS_SUCCESS || emulated_cudnn_refuses("fails:") ||
        emulated_cudnn_number("broken:") == plan->engine->index) {
        return EXECUTION_FAILED;
    }
    for (void *address : {job.address[0], job.address[1], job.address[2], job.workspace}) {
        if (address != nullptr && emulated_is_elsewhere(address)) {
            emulated_reach_beyond();
            return EXECUTION_FAILED;
        }
    }
    job.made = plan->convolution;
    job.dtype = job.made.type == DNN_DATA_HALF       ? DTYPE_FLOAT16
                : job.made.type == DNN_DATA_BFLOAT16 ? DTYPE_BFLOAT16
                                                     : DTYPE_FLOAT32;
    job.rounds = job.dtype == DTYPE_FLOAT32 && (notes_of(plan->engine) & notes_tensor_core) != 0;
    job.scale = plan->engine->is_right ? 1.0f : 1.25f;
    emulated_work_add([job] { convolution_compute(job); });
    return SUCCESS;
}

/* -- the handle */

int create(void **handle)
{
    if (emulated_library_call("cudnnCreate") != CUBLAS_STATUS_SUCCESS) {
        return NOT_INITIALIZED;
    }
    *handle = new emulation_cudnn{emulated_device(), getpid()};
    emulated_handle_made();
    return SUCCESS;
}

int destroy(void *handle)
{
    emulation_cudnn *known = static_cast<emulation_cudnn *>(handle);
    bool serves = handle_serves(known);
    delete known;
    return serves ? SUCCESS : BAD_PARAM;
}

size_t version(void)
{
    if (emulated_cudnn_refuses("dies")) {
        abort();
    }
    return emulated_cudnn_version();
}

const char *status_text(int status)
{
    return status == SUCCESS           ? "CUDNN_STATUS_SUCCESS"
           : status == NOT_INITIALIZED ? "CUDNN_STATUS_NOT_INITIALIZED"
           : status / 1000 == 2        ? "CUDNN_STATUS_BAD_PARAM"
           : status / 1000 == 3        ? "CUDNN_STATUS_NOT_SUPPORTED"
                                       : "CUDNN_STATUS_EXECUTION_FAILED";
}

} // namespace

const emulated_symbol emulated_cudnn_symbols[] = {
    {"cudnnGetVersion", (void *)version},
    {"cudnnGetCudartVersion", (void *)emulated_cudnn_cuda_version},
    {"cudnnGetErrorString", (void *)status_text},
    {"cudnnCreate", (void *)create},
    {"cudnnDestroy", (void *)destroy},
    {"cudnnBackendCreateDescriptor", (void *)descriptor_create},
    {"cudnnBackendDestroyDescriptor", (void *)descriptor_destroy},
    {"cudnnBackendSetAttribute", (void *)attribute_set},
    {"cudnnBackendGetAttribute", (void *)attribute_get},
    {"cudnnBackendFinalize", (void *)finalize},
    {"cudnnBackendExecute", (void *)execute},
    {nullptr, nullptr},
};
