/* What the image families' forward passes share: convolutions, batch norms, ReLUs in place, pooling. Not here: the
 * order of layers. */
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

/* The norm alone: its module is visited. */
static struct value *norm_run(const struct forward *f, const char *path, struct module_visit visit, struct value *a)
{
    double epsilon = 1e-5, momentum = 0.1;
    a = module_argument(f, visit, a);
    return tape_batchnorm(f->tape, a, part_value(f, path, "weight"), part_value(f, path, "bias"),
                          forward_tensor(f, "%s.running_mean", path), part_value(f, path, "running_var"), epsilon,
                          momentum);
}

struct value *forward_batchnorm(const struct forward *f, const char *path, struct value *a)
{
    const char *outside = tape_module_open(f->tape, path);
    struct module_visit visit = module_enter(f, path);
    struct value *out = module_leave(f, visit, norm_run(f, path, visit, a));
    tape_module_close(f->tape, outside);
    return out;
}

struct value *forward_batchnorm_relu(const struct forward *f, const char *path, struct value *a)
{
    char name[FORWARD_PATH_BYTES];
    path_join(name, path, "act");
    const char *outside = tape_module_open(f->tape, path);
    struct module_visit visit = module_enter(f, path);
    struct value *out = forward_relu_in_place(f, name, norm_run(f, path, visit, a));
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
