/* The tensors of the operation that runs: the functions that take one are wrapped by the linker, and while one is under
 * way a kernel may touch elements of its tensors and nothing else of the memory that they lie in. Neither what stands
 * between two tensors of a segment nor the gap behind a row is an element. */
#include <cstdlib>
#include <utility>

extern "C" {
#include "harness/kernels/operation.h"
}
#include "tests/cuda_emulation/checked/access.h"
#include "tests/cuda_emulation/checked/planted.h"

namespace
{

/* A tensor's elements lie in [start, end). The steps lead to them, the widest first; none where all that lies there is
 * an element, or where elements overlap. */
struct extent {
    uintptr_t start, end;
    int64_t element_bytes;
    int tensor, step_count;
    struct {
        int64_t stride, size;
    } steps[TENSOR_RANK_MAXIMUM];
};

const operation_call *under_way;
extent extents[OPERATION_TENSORS_MAXIMUM];
int extent_count, extent_last;

void steps_set(extent *extent, const tensor &tensor)
{
    int64_t count = 1, reach = 0;
    bool apart = true;
    for (int d = 0; d < tensor.rank; d++) {
        if (tensor.stride[d] != 0 && tensor.size[d] > 1) {
            count *= tensor.size[d];
            extent->steps[extent->step_count++] = {tensor.stride[d], tensor.size[d]};
        }
    }
    for (int k = extent->step_count - 1; k > 0; k--) {
        for (int d = 0; d < k; d++) {
            if (extent->steps[d].stride < extent->steps[d + 1].stride) {
                std::swap(extent->steps[d], extent->steps[d + 1]);
            }
        }
    }
    for (int k = extent->step_count - 1; k >= 0; k--) {
        apart = apart && extent->steps[k].stride > reach;
        reach += (extent->steps[k].size - 1) * extent->steps[k].stride;
    }
    extent->step_count = apart && count < reach + 1 ? extent->step_count : 0;
}

extent extent_of(const tensor &tensor, int number)
{
    int64_t low = 0, high = 0, bytes = dtype_bytes(tensor.dtype);
    for (int d = 0; d < tensor.rank; d++) {
        int64_t reach = (tensor.size[d] - 1) * tensor.stride[d];
        low += reach < 0 ? reach : 0;
        high += reach > 0 ? reach : 0;
    }
    uintptr_t data = (uintptr_t)tensor.data;
    extent extent = {data + (uintptr_t)(low * bytes), data + (uintptr_t)((high + 1) * bytes), bytes, number, 0, {}};
    steps_set(&extent, tensor);
    return extent;
}

bool offset_is_element(const extent &extent, int64_t offset)
{
    for (int k = 0; k < extent.step_count; k++) {
        int64_t index = offset / extent.steps[k].stride;
        offset -= (index < extent.steps[k].size ? index : extent.steps[k].size - 1) * extent.steps[k].stride;
    }
    return offset == 0;
}

bool extent_holds(const extent &extent, const access &access)
{
    uintptr_t at = (uintptr_t)access.address;
    bool holds = at >= extent.start && at + access.bytes <= extent.end;
    if (holds && extent.step_count > 0 && access.bytes > 0) {
        int64_t first = (int64_t)(at - extent.start) / extent.element_bytes;
        int64_t last = (int64_t)(at + access.bytes - 1 - extent.start) / extent.element_bytes;
        for (int64_t k = first; k <= last; k++) {
            holds = holds && offset_is_element(extent, k);
        }
    }
    return holds;
}

/* How far it is off the nearest tensor. */
std::string off_text(const access &access)
{
    uintptr_t at = (uintptr_t)access.address, least = UINTPTR_MAX;
    std::string text;
    for (int k = 0; k < extent_count; k++) {
        uintptr_t last = at + access.bytes;
        uintptr_t off = last > extents[k].end   ? last - extents[k].end
                        : at < extents[k].start ? extents[k].start - at
                                                : 0;
        if (off < least) {
            const char *side = last > extents[k].end ? " beyond the end" : " before the start";
            least = off;
            text = off == 0 ? "between the elements" : "that end " + std::to_string(off) + side;
            text += " of tensor " + std::to_string(extents[k].tensor);
        }
    }
    return text;
}

void extents_set(const operation_call *call)
{
    under_way = call;
    extent_count = extent_last = 0;
    for (int t = 0; call != nullptr && t < call->tensor_count; t++) {
        if (tensor_element_count(&call->tensors[t]) > 0) {
            extents[extent_count++] = extent_of(call->tensors[t], t);
        }
    }
}

/* What a call makes of another call touches what the outer one has. */
class call_scope
{
  public:
    explicit call_scope(const operation_call *call) : outer_(under_way)
    {
        if (outer_ == nullptr) {
            extents_set(call);
        }
    }
    ~call_scope()
    {
        if (outer_ == nullptr) {
            extents_set(nullptr);
        }
    }

  private:
    const operation_call *outer_;
};

} // namespace

call_verdict access_call_judge(const access &access, const emulated_span &memory, std::string *text)
{
    if (extent_count > 0 && extent_holds(extents[extent_last], access)) {
        return CALL_HOLDS;
    }
    bool concerned = false;
    for (int k = 0; k < extent_count; k++) {
        if (extent_holds(extents[k], access)) {
            extent_last = k;
            return CALL_HOLDS;
        }
        concerned = concerned || extents[k].start - (uintptr_t)memory.start < memory.bytes;
    }
    if (concerned) {
        *text = off_text(access);
    }
    return concerned ? CALL_FORBIDS : CALL_KNOWS_NOTHING;
}

struct cuda_device;
struct status;

extern "C" const char *__real_kernel_cuda_run(const operation_call *call, void *stream);
extern "C" int __real_cuda_matmul(cuda_device *cuda, const operation_call *call, status *error);
extern "C" int __real_cuda_convolution(cuda_device *cuda, const operation_call *call, status *error);

extern "C" const char *__wrap_kernel_cuda_run(const operation_call *call, void *stream)
{
    call_scope scope(call);
    const char *planted = getenv("EMULATED_PLANT");
    return planted != nullptr ? planted_run(planted, call) : __real_kernel_cuda_run(call, stream);
}

extern "C" int __wrap_cuda_matmul(cuda_device *cuda, const operation_call *call, status *error)
{
    call_scope scope(call);
    return __real_cuda_matmul(cuda, call, error);
}

extern "C" int __wrap_cuda_convolution(cuda_device *cuda, const operation_call *call, status *error)
{
    call_scope scope(call);
    return __real_cuda_convolution(cuda, call, error);
}
