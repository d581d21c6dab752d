/* Module visit: the call of a module in a placed model, as accelerate's AlignDevicesHook wraps it. In a model that lies
 * in one place all of this does nothing.
 *
 *     struct module_visit visit = module_enter(f, path);
 *     ... the module's weights, by forward_tensor and forward_optional ...
 *     a = module_argument(f, visit, a);
 *     ... its operations ...
 *     return module_leave(f, visit, result);
 *
 * What was brought goes when the module is left, after its result is there. */
#ifndef ASSAY_FORWARD_MODULE_VISIT_H
#define ASSAY_FORWARD_MODULE_VISIT_H

#include "models/forward/forward.h"

struct module_visit {
    int module, frame, before; /* before: the tape's place; -1: nothing was done */
};

/* What the module owns and does not keep where it runs comes now: all of it, one after another, as in pre_forward. As
 * in set_module_tensor_to_device, a device gives back what it caches after each. */
struct module_visit module_enter(const struct forward *forward, const char *path);

/* The same of the module "prefix.name" of a layer. */
struct module_visit layer_enter(const struct forward_layer *layer, const char *name);

/* a where the visited module runs: a itself, or a copy of the open frame. A module without a hook takes it where it is.
 * NULL is accepted. */
struct value *module_argument(const struct forward *forward, struct module_visit visit, struct value *a);

/* The call of a module that is given the model's inputs: the ids or images, their positions, and which tokens are not
 * padding, are moved to where it runs. */
typedef struct value *module_body(const struct forward *forward, const char *root);
struct value *module_run(const struct forward *forward, const char *path, module_body *body, const char *root);

/* result moves to the frame outside; NULL: nothing does. */
struct value *module_leave(const struct forward *forward, struct module_visit visit, struct value *result);
/* The same of several results, each of which may be NULL. */
void module_leave_all(const struct forward *forward, struct module_visit visit, struct value *const *results,
                      int count);

/* The tensor with this index: while its module is visited, what was brought; else where it is kept, which tells its
 * dtype. */
struct value *module_tensor(const struct forward *forward, int tensor);

/* What is made of nothing from here on lies where value does, up to the end of the visit that is open:
 * device=inputs_embeds.device. */
void module_place_beside(const struct forward *forward, const struct value *value);

/* What the model returns, brought to where its input lies: the root's hook (io_same_device). */
struct value *module_output(const struct forward *forward, struct value *value);

/* PreTrainedModel.device: where the first parameter lies, to which generate() moves what it feeds. One that is
 * offloaded is on meta meanwhile, and nothing is moved: the place of the model's inputs. */
int module_device(const struct forward *forward);

/* A block called with input and what `held` names of its context: both are moved, and the context that the block is
 * given names the copies. */
struct value *module_block(const struct forward *forward, tape_block *block, const char *path, const void *context,
                           int context_bytes, struct value *const *held, int held_count, struct value *input);

#endif
