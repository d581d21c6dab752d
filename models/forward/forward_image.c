/* What the image families' forward passes share: convolutions, ReLUs in place, pooling. Not here: the order of
 * layers. */
#include "models/forward/forward.h"
#include "models/forward/module_visit.h"

struct value *forward_convolution(const struct forward *f, const char *prefix, struct value *a,
                                  struct convolution_form form)
{
    const char *outside = tape_module_open(f->tape, prefix);
    struct module_visit visit = module_enter(f, prefix);
    struct value *weight = part_value(f, prefix, "weight"), *bias = part_optional(f, prefix, "bias");
    a = module_argument(f, visit, a);
    struct value *out = tape_convolution_grouped(f->tape, a, weight, bias, form.stride, form.padding, form.groups);
    out = module_leave(f, visit, out);
    tape_module_close(f->tape, outside);
    return out;
}

struct value *forward_relu_in_place(const struct forward *f, const char *path, struct value *a)
{
    struct module_visit visit = module_enter(f, path);
    struct value *here = module_argument(f, visit, a);
    struct value *out = module_leave(f, visit, tape_relu_(f->tape, here));
    if (out != a) {
        tape_drop(f->tape, a);
    }
    return out;
}

struct value *forward_global_pool(const struct forward *f, const char *path, struct value *a)
{
    struct tape *tape = f->tape;
    struct module_visit visit = module_enter(f, path);
    struct value *pooled = tape_mean_spatial(tape, module_argument(f, visit, a));
    if (pooled != NULL) {
        int64_t flat[] = {value_size(pooled, 0), value_size(pooled, 1)};
        value_rebind(tape, &pooled, tape_reshape(tape, pooled, 2, flat));
    }
    return module_leave(f, visit, pooled);
}
