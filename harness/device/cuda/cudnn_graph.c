/* cuDNN's graphs: descriptors of a convolution, the list of its heuristics, the choice among it. When it is asked, and
 * what happens where it refuses, is in cuda_cudnn.c. */
#include "harness/device/cuda/cudnn_graph.h"

enum {
    RANK = 4,
    CHOICES_MAXIMUM = 64, /* of one heuristic; cuDNN 9.19 names up to 30 */
    NOTES_MAXIMUM = 16,
    IMAGE_ID = 'x',
    WEIGHT_ID = 'w',
    RESULT_ID = 'y',
    TENSOR_COUNT = 3,
    UNTOLD = -1
};

static const int on_tensor_cores = 1 << DNN_NUMERICAL_NOTE_TENSOR_CORE;

/* What PyTorch leaves out of a list, and what we leave out besides. */
static const int refused_by_pytorch = 1 << DNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS;
static const int refused_by_us = 1 << DNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION | 1 << DNN_NUMERICAL_NOTE_FFT |
                                 1 << DNN_NUMERICAL_NOTE_NONDETERMINISTIC | 1 << DNN_NUMERICAL_NOTE_WINOGRAD |
                                 1 << DNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4 | 1 << DNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6 |
                                 1 << DNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13;

/* One attribute of a descriptor. */
struct attribute {
    int name, type;
    int64_t count;
    const void *values;
};

static int attributes_set(const struct cudnn_library *cudnn, void *descriptor, const struct attribute *attributes,
                          int count)
{
    int status = DNN_STATUS_SUCCESS;
    for (int i = 0; i < count && status == DNN_STATUS_SUCCESS; i++) {
        const struct attribute *one = &attributes[i];
        status = cudnn->attribute_set(descriptor, one->name, one->type, one->count, one->values);
    }
    return status;
}

/* Whether it is success; the first that is none the engine keeps. */
static bool status_keep(struct cudnn_engine *engine, int status)
{
    if (engine->refusal == DNN_STATUS_SUCCESS) {
        engine->refusal = status;
    }
    return status == DNN_STATUS_SUCCESS;
}

/* A descriptor with its attributes, finalized; NULL: cuDNN refused one of them. */
static void *descriptor_new(const struct cudnn_library *cudnn, int kind, const struct attribute *attributes, int count,
                            struct cudnn_engine *engine)
{
    void *descriptor = NULL;
    if (!status_keep(engine, cudnn->descriptor_create(kind, &descriptor))) {
        return NULL;
    }
    int status = attributes_set(cudnn, descriptor, attributes, count);
    status = status == DNN_STATUS_SUCCESS ? cudnn->finalize(descriptor) : status;
    if (!status_keep(engine, status)) {
        cudnn->descriptor_destroy(descriptor);
        return NULL;
    }
    return descriptor;
}

/* Owned by the engine from now on. Returns descriptor, which may be NULL. */
static void *descriptor_keep(struct cudnn_engine *engine, void *descriptor)
{
    if (descriptor != NULL) {
        engine->descriptors[engine->descriptor_count++] = descriptor;
    }
    return descriptor;
}

/* ---- the graph ---- */

static int data_type_of(enum dtype dtype)
{
    return dtype == DTYPE_FLOAT16 ? DNN_DATA_HALF : dtype == DTYPE_BFLOAT16 ? DNN_DATA_BFLOAT16 : DNN_DATA_FLOAT;
}

static void *tensor_new(const struct cudnn_library *cudnn, int64_t id, const struct tensor *tensor,
                        struct cudnn_engine *engine)
{
    const int64_t alignment = CUDNN_TENSOR_ALIGNMENT_BYTES, *size = tensor->size;
    const int64_t stride[RANK] = {size[1] * size[2] * size[3], size[2] * size[3], size[3], 1};
    const int type = data_type_of(tensor->dtype);
    const struct attribute attributes[] = {
        {DNN_ATTR_TENSOR_UNIQUE_ID, DNN_TYPE_INT64, 1, &id},
        {DNN_ATTR_TENSOR_DATA_TYPE, DNN_TYPE_DATA_TYPE, 1, &type},
        {DNN_ATTR_TENSOR_DIMENSIONS, DNN_TYPE_INT64, RANK, size},
        {DNN_ATTR_TENSOR_STRIDES, DNN_TYPE_INT64, RANK, stride},
        {DNN_ATTR_TENSOR_BYTE_ALIGNMENT, DNN_TYPE_INT64, 1, &alignment},
    };
    return descriptor_new(cudnn, DNN_BACKEND_TENSOR_DESCRIPTOR, attributes, sizeof attributes / sizeof attributes[0],
                          engine);
}

static void *window_new(const struct cudnn_library *cudnn, const struct convolution_plan *plan,
                        struct cudnn_engine *engine)
{
    const int64_t dimensions = 2, dilation[] = {1, 1};
    const int64_t stride[] = {plan->stride, plan->stride}, padding[] = {plan->padding, plan->padding};
    const int sums = DNN_DATA_FLOAT, mode = DNN_CROSS_CORRELATION;
    const struct attribute attributes[] = {
        {DNN_ATTR_CONVOLUTION_SPATIAL_DIMS, DNN_TYPE_INT64, 1, &dimensions},
        {DNN_ATTR_CONVOLUTION_COMP_TYPE, DNN_TYPE_DATA_TYPE, 1, &sums},
        {DNN_ATTR_CONVOLUTION_CONV_MODE, DNN_TYPE_CONVOLUTION_MODE, 1, &mode},
        {DNN_ATTR_CONVOLUTION_DILATIONS, DNN_TYPE_INT64, 2, dilation},
        {DNN_ATTR_CONVOLUTION_FILTER_STRIDES, DNN_TYPE_INT64, 2, stride},
        {DNN_ATTR_CONVOLUTION_PRE_PADDINGS, DNN_TYPE_INT64, 2, padding},
        {DNN_ATTR_CONVOLUTION_POST_PADDINGS, DNN_TYPE_INT64, 2, padding},
    };
    return descriptor_new(cudnn, DNN_BACKEND_CONVOLUTION_DESCRIPTOR, attributes,
                          sizeof attributes / sizeof attributes[0], engine);
}

/* The three passes differ in the names of their attributes, which follow one another: alpha, beta, the window, weight,
 * image, result. */
static void *operation_new(const struct cudnn_library *cudnn, enum opcode opcode, void *window, void *image,
                           void *weight, void *result, struct cudnn_engine *engine)
{
    const float one = 1.0f, zero = 0.0f;
    bool forward = opcode == OPCODE_CONVOLUTION, to_image = opcode == OPCODE_CONVOLUTION_BACKWARD_INPUT;
    int kind = forward    ? DNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR
               : to_image ? DNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR
                          : DNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_FILTER_DESCRIPTOR;
    int first = forward    ? DNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA
                : to_image ? DNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA
                           : DNN_ATTR_OPERATION_CONVOLUTION_BWD_FILTER_ALPHA;
    const struct attribute attributes[] = {
        {first, DNN_TYPE_FLOAT, 1, &one},
        {first + 1, DNN_TYPE_FLOAT, 1, &zero},
        {first + 2, DNN_TYPE_BACKEND_DESCRIPTOR, 1, &window},
        {first + 3, DNN_TYPE_BACKEND_DESCRIPTOR, 1, &weight},
        {first + 4, DNN_TYPE_BACKEND_DESCRIPTOR, 1, &image},
        {first + 5, DNN_TYPE_BACKEND_DESCRIPTOR, 1, &result},
    };
    return descriptor_new(cudnn, kind, attributes, sizeof attributes / sizeof attributes[0], engine);
}

/* The graph of one operation, which the engine owns with what it is made of; NULL: cuDNN takes no such convolution. */
static void *graph_new(const struct cudnn_library *cudnn, enum opcode opcode, const struct convolution_plan *plan,
                       struct cudnn_engine *engine)
{
    void *image = descriptor_keep(engine, tensor_new(cudnn, IMAGE_ID, plan->image, engine));
    void *weight = descriptor_keep(engine, tensor_new(cudnn, WEIGHT_ID, plan->weight, engine));
    void *result = descriptor_keep(engine, tensor_new(cudnn, RESULT_ID, plan->result, engine));
    void *window = descriptor_keep(engine, window_new(cudnn, plan, engine));
    if (image == NULL || weight == NULL || result == NULL || window == NULL) {
        return NULL;
    }
    void *operation = descriptor_keep(engine, operation_new(cudnn, opcode, window, image, weight, result, engine));
    if (operation == NULL) {
        return NULL;
    }
    const struct attribute attributes[] = {
        {DNN_ATTR_OPERATIONGRAPH_OPS, DNN_TYPE_BACKEND_DESCRIPTOR, 1, &operation},
        {DNN_ATTR_OPERATIONGRAPH_HANDLE, DNN_TYPE_HANDLE, 1, &cudnn->handle},
    };
    return descriptor_keep(engine, descriptor_new(cudnn, DNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR, attributes,
                                                  cudnn->handle != NULL ? 2 : 1, engine));
}

/* ---- the choice ---- */

/* An engine with its settings, as a heuristic names it. */
struct choice {
    void *config;
    int64_t index, workspace_bytes; /* UNTOLD: of a configuration releases tell it since 9.2 */
    int notes;                      /* a bit for each */
};

static bool choice_read(const struct cudnn_library *cudnn, struct choice *choice)
{
    int notes[NOTES_MAXIMUM];
    int64_t count = 0;
    void *engine = NULL;
    if (cudnn->descriptor_create(DNN_BACKEND_ENGINE_DESCRIPTOR, &engine) != DNN_STATUS_SUCCESS) {
        return false;
    }
    bool read = cudnn->attribute_get(choice->config, DNN_ATTR_ENGINECFG_ENGINE, DNN_TYPE_BACKEND_DESCRIPTOR, 1, &count,
                                     &engine) == DNN_STATUS_SUCCESS &&
                cudnn->attribute_get(engine, DNN_ATTR_ENGINE_GLOBAL_INDEX, DNN_TYPE_INT64, 1, &count, &choice->index) ==
                    DNN_STATUS_SUCCESS &&
                cudnn->attribute_get(engine, DNN_ATTR_ENGINE_NUMERICAL_NOTE, DNN_TYPE_NUMERICAL_NOTE, NOTES_MAXIMUM,
                                     &count, notes) == DNN_STATUS_SUCCESS &&
                count <= NOTES_MAXIMUM;
    for (int64_t i = 0; i < count && read; i++) {
        choice->notes |= notes[i] >= 0 && notes[i] < NOTES_MAXIMUM ? 1 << notes[i] : 0;
    }
    if (cudnn->attribute_get(choice->config, DNN_ATTR_ENGINECFG_WORKSPACE_SIZE, DNN_TYPE_INT64, 1, &count,
                             &choice->workspace_bytes) != DNN_STATUS_SUCCESS) {
        choice->workspace_bytes = UNTOLD;
    }
    cudnn->descriptor_destroy(engine);
    return read;
}

/* The plan of a choice, with the bytes that it wants; NULL: it cannot be made ready. */
static void *plan_new(const struct cudnn_library *cudnn, const struct choice *choice, int64_t *wanted_bytes,
                      struct cudnn_engine *engine)
{
    bool here = cudnn->device == NULL;
    int64_t count = 0;
    const struct attribute attributes[] = {
        {DNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, DNN_TYPE_BACKEND_DESCRIPTOR, 1, &choice->config},
        {here ? DNN_ATTR_EXECUTION_PLAN_HANDLE : DNN_ATTR_EXECUTION_PLAN_DEVICEPROP,
         here ? DNN_TYPE_HANDLE : DNN_TYPE_BACKEND_DESCRIPTOR, 1, here ? &cudnn->handle : &cudnn->device},
    };
    void *plan = descriptor_new(cudnn, DNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR, attributes, 2, engine);
    if (plan != NULL && cudnn->attribute_get(plan, DNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, DNN_TYPE_INT64, 1, &count,
                                             wanted_bytes) != DNN_STATUS_SUCCESS) {
        cudnn->descriptor_destroy(plan);
        return NULL;
    }
    return plan;
}

/* Looks at one choice. True if it was taken: then the engine owns plan and configuration. The first one's plan is made
 * in any case, as PyTorch makes it, because it alone tells how many bytes that takes. */
static bool choice_look(const struct cudnn_library *cudnn, void *config, int64_t workspace_bytes,
                        struct cudnn_engine *engine)
{
    struct choice choice = {.config = config};
    int64_t wanted = 0;
    if (!choice_read(cudnn, &choice) || (choice.notes & refused_by_pytorch) != 0) {
        return false;
    }
    bool is_first = engine->first_index == CUDNN_ENGINE_NONE;
    bool has_cores = (choice.notes & on_tensor_cores) != 0;
    bool may_serve = (choice.notes & refused_by_us) == 0 && choice.workspace_bytes <= workspace_bytes &&
                     (has_cores || !engine->first_has_cores);
    void *plan = is_first || may_serve ? plan_new(cudnn, &choice, &wanted, engine) : NULL;
    if (plan == NULL) {
        return false;
    }
    if (is_first) {
        engine->first_index = choice.index;
        engine->first_has_cores = has_cores;
        engine->first_workspace_bytes = wanted;
    }
    if (!may_serve || wanted > workspace_bytes) {
        cudnn->descriptor_destroy(plan);
        return false;
    }
    descriptor_keep(engine, config);
    engine->plan = descriptor_keep(engine, plan);
    engine->index = choice.index;
    engine->workspace_bytes = wanted;
    return true;
}

/* The choices of one heuristic, in its order: the first that can be taken is. */
static void heuristic_ask(const struct cudnn_library *cudnn, void *graph, int mode, int64_t workspace_bytes,
                          struct cudnn_engine *engine)
{
    void *choices[CHOICES_MAXIMUM];
    int64_t count = 0;
    int made = 0;
    const struct attribute attributes[] = {
        {DNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, DNN_TYPE_BACKEND_DESCRIPTOR, 1, &graph},
        {DNN_ATTR_ENGINEHEUR_MODE, DNN_TYPE_HEUR_MODE, 1, &mode},
        {DNN_ATTR_ENGINEHEUR_DEVICEPROP, DNN_TYPE_BACKEND_DESCRIPTOR, 1, &cudnn->device},
    };
    void *heuristic =
        descriptor_new(cudnn, DNN_BACKEND_ENGINEHEUR_DESCRIPTOR, attributes, cudnn->device != NULL ? 3 : 2, engine);
    if (heuristic == NULL) {
        return;
    }
    while (made < CHOICES_MAXIMUM &&
           cudnn->descriptor_create(DNN_BACKEND_ENGINECFG_DESCRIPTOR, &choices[made]) == DNN_STATUS_SUCCESS) {
        made++;
    }
    if (!status_keep(engine, cudnn->attribute_get(heuristic, DNN_ATTR_ENGINEHEUR_RESULTS, DNN_TYPE_BACKEND_DESCRIPTOR,
                                                  made, &count, choices))) {
        count = 0;
    }
    for (int i = 0; i < made; i++) {
        bool looks = engine->plan == NULL && i < count && ++engine->place > engine->passed;
        if (!looks || !choice_look(cudnn, choices[i], workspace_bytes, engine)) {
            cudnn->descriptor_destroy(choices[i]);
        }
    }
    cudnn->descriptor_destroy(heuristic);
}

bool cudnn_suits(const struct convolution_plan *plan)
{
    enum dtype dtype = plan->image->dtype;
    bool halves = dtype == DTYPE_FLOAT16 || dtype == DTYPE_BFLOAT16;
    return (halves || (dtype == DTYPE_FLOAT32 && plan->tf32_allowed)) && plan->weight->dtype == dtype &&
           plan->result->dtype == dtype && plan->images > 0 && plan->channels > 0 && plan->filters > 0 &&
           plan->rows > 0 && plan->columns > 0;
}

/* Whether this release counts the elements of its tensors. */
static bool sizes_suit(const struct cudnn_library *cudnn, const struct convolution_plan *plan)
{
    return cudnn->version() >= CUDNN_LARGE_TENSORS_SINCE ||
           (tensor_element_count(plan->image) <= INT32_MAX && tensor_element_count(plan->weight) <= INT32_MAX &&
            tensor_element_count(plan->result) <= INT32_MAX);
}

/* The first that fits behind those that were passed. */
static bool engine_seek(const struct cudnn_library *cudnn, enum opcode opcode, const struct convolution_plan *plan,
                        int64_t workspace_bytes, struct cudnn_engine *engine)
{
    static const int modes[] = {DNN_HEUR_MODE_INSTANT, DNN_HEUR_MODE_FALLBACK};
    void *graph = sizes_suit(cudnn, plan) ? graph_new(cudnn, opcode, plan, engine) : NULL;
    for (int i = 0; i < 2 && graph != NULL && engine->plan == NULL; i++) {
        heuristic_ask(cudnn, graph, modes[i], workspace_bytes, engine);
    }
    return engine->plan != NULL;
}

bool cudnn_engine_find(const struct cudnn_library *cudnn, enum opcode opcode, const struct convolution_plan *plan,
                       int64_t workspace_bytes, struct cudnn_engine *engine)
{
    *engine = (struct cudnn_engine){.index = CUDNN_ENGINE_NONE, .first_index = CUDNN_ENGINE_NONE};
    return engine_seek(cudnn, opcode, plan, workspace_bytes, engine);
}

bool cudnn_engine_next(const struct cudnn_library *cudnn, enum opcode opcode, const struct convolution_plan *plan,
                       int64_t workspace_bytes, int refusal, struct cudnn_engine *engine)
{
    cudnn_engine_release(cudnn, engine);
    status_keep(engine, refusal);
    engine->index = CUDNN_ENGINE_NONE;
    engine->workspace_bytes = 0;
    engine->passed = engine->place;
    engine->place = 0;
    return engine_seek(cudnn, opcode, plan, workspace_bytes, engine);
}

int cudnn_engine_run(const struct cudnn_library *cudnn, const struct cudnn_engine *engine,
                     const struct convolution_plan *plan, void *workspace)
{
    const int64_t ids[TENSOR_COUNT] = {IMAGE_ID, WEIGHT_ID, RESULT_ID};
    void *const addresses[TENSOR_COUNT] = {plan->image->data, plan->weight->data, plan->result->data};
    const struct attribute attributes[] = {
        {DNN_ATTR_VARIANT_PACK_UNIQUE_IDS, DNN_TYPE_INT64, TENSOR_COUNT, ids},
        {DNN_ATTR_VARIANT_PACK_DATA_POINTERS, DNN_TYPE_VOID_PTR, TENSOR_COUNT, addresses},
        {DNN_ATTR_VARIANT_PACK_WORKSPACE, DNN_TYPE_VOID_PTR, 1, &workspace},
    };
    void *pack = NULL;
    int status = cudnn->descriptor_create(DNN_BACKEND_VARIANT_PACK_DESCRIPTOR, &pack);
    if (status == DNN_STATUS_SUCCESS) {
        status = attributes_set(cudnn, pack, attributes, sizeof attributes / sizeof attributes[0]);
    }
    status = status == DNN_STATUS_SUCCESS ? cudnn->finalize(pack) : status;
    status = status == DNN_STATUS_SUCCESS ? cudnn->execute(cudnn->handle, engine->plan, pack) : status;
    if (pack != NULL) {
        cudnn->descriptor_destroy(pack);
    }
    return status;
}

void cudnn_engine_release(const struct cudnn_library *cudnn, struct cudnn_engine *engine)
{
    while (engine->descriptor_count > 0) {
        cudnn->descriptor_destroy(engine->descriptors[--engine->descriptor_count]);
    }
    engine->plan = NULL;
}
