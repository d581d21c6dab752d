/* Convolutions through cuDNN, as PyTorch has them, in the workspace that the tape gave the call: cuDNN takes none by
 * itself. Which engine computes which form is in cudnn_forms.c; what cuDNN does not do, cuda_convolution.c does. */
#include <stdlib.h>
#include <string.h>

#include "harness/device/cuda/cuda_device.h"
#include "harness/kernels/launch.h"

enum { CUDNN_ARCHITECTURE_OLDEST = 80 };

static bool tensor_aligns(const struct tensor *tensor)
{
    return (uintptr_t)tensor->data % CUDNN_TENSOR_ALIGNMENT_BYTES == 0;
}

/* PyTorch adds the bias in a step of its own too. */
static enum status_code bias_add(struct cuda_device *cuda, const struct convolution_plan *plan, const char *doing,
                                 struct status *error)
{
    struct tensor along = *plan->result;
    along.data = plan->bias->data;
    along.dtype = plan->bias->dtype;
    for (int d = 0; d < along.rank; d++) {
        along.stride[d] = d == 1 ? plan->bias->stride[0] : 0;
    }
    const struct operation_call add = {.opcode = OPCODE_ADD,
                                       .attributes = {.f = {1.0}},
                                       .input_count = 2,
                                       .tensor_count = 3,
                                       .tensors = {*plan->result, along, *plan->result}};
    return launch_check(cuda, kernel_cuda_run(&add, NULL), doing, error);
}

/* Whether an engine of that form computed it. One that fails as it runs gives way to the next that fits, for good, as
 * with PyTorch. */
static bool form_run(struct cuda_device *cuda, int place, const struct convolution_plan *plan)
{
    struct cudnn_forms *forms = &cuda->cudnn;
    const struct cudnn_engine *engine = &forms->engines[place];
    forms->forms[place].call_count++;
    for (bool found = engine->plan != NULL; found;) {
        void *workspace = engine->workspace_bytes > 0 ? plan->workspace.data : NULL;
        int status = cudnn_engine_run(&forms->library, engine, plan, workspace);
        if (status == DNN_STATUS_SUCCESS) {
            return true;
        }
        cudaGetLastError(); /* what is lost for good is told by the kernel that comes instead */
        found = cudnn_forms_next(forms, place, plan, status);
    }
    if (forms->forms[place].refusal[0] != '\0') {
        declined_note(cuda, "cuDNN", forms->forms[place].refusal);
    }
    return false;
}

/* The tape knows what cuDNN takes from this architecture on. */
static bool gpu_suits(const struct cuda_device *cuda)
{
    return strtol(cuda->target + strlen("sm_"), NULL, 10) >= CUDNN_ARCHITECTURE_OLDEST;
}

/* The library with the first form, the code of an engine with the first call of each: all of it counts as a library's.
 */
static bool convolution_run(struct cuda_device *cuda, enum opcode opcode, const struct convolution_plan *plan)
{
    struct cudnn_forms *forms = &cuda->cudnn;
    if (!gpu_suits(cuda) || !cudnn_suits(plan) || !tensor_aligns(plan->image) || !tensor_aligns(plan->weight) ||
        !tensor_aligns(plan->result) || (forms->tried && forms->library.library == NULL)) {
        return false;
    }
    int place = forms->library.library != NULL ? cudnn_forms_find(forms, opcode, plan) : -1;
    if (place >= 0) {
        return form_run(cuda, place, plan);
    }
    struct load_stretch stretch = load_begin(&cuda->loads);
    if (cudnn_forms_open(forms)) {
        place = cudnn_forms_add(forms, opcode, plan);
    }
    bool done = place >= 0 && form_run(cuda, place, plan);
    load_end(&cuda->loads, &stretch, LOAD_LIBRARY);
    return done;
}

enum status_code cuda_cudnn(struct cuda_device *cuda, enum opcode opcode, const struct convolution_plan *plan,
                            const char *doing, bool *done, struct status *error)
{
    *done = convolution_run(cuda, opcode, plan);
    cuda->cudnn.library_call_count += *done ? 1 : 0;
    cuda->cudnn.own_call_count += *done ? 0 : 1;
    return *done && plan->bias != NULL ? bias_add(cuda, plan, doing, error) : STATUS_OK;
}

void cuda_cudnn_tell(const struct device *device, struct device_convolutions *told)
{
    const struct cudnn_forms *forms = &((const struct cuda_device *)device)->cudnn;
    *told = (struct device_convolutions){.library_call_count = forms->library_call_count,
                                         .own_call_count = forms->own_call_count,
                                         .forms = forms->forms,
                                         .form_count = forms->count};
    memcpy(told->library, forms->words, sizeof told->library);
    memcpy(told->note, forms->note, sizeof told->note);
}
