/* Toy models: the modules of accelerate's own tests, as skeletons. */
#ifndef ASSAY_TESTS_PLACEMENT_TOY_MODEL_H
#define ASSAY_TESTS_PLACEMENT_TOY_MODEL_H

#include "harness/placement/device_plan.h"
#include "models/skeleton/skeleton_builder.h"

struct toy_model {
    struct config config;
    struct skeleton skeleton;
    struct skeleton_builder builder;
};

/* The root alone, of this class. The model stays where it is. */
void toy_begin(struct toy_model *toy, const char *class_name);
/* Fails the test where a module could not be added. */
void toy_end(struct toy_model *toy);
void toy_release(struct toy_model *toy);

/* Linear with weight and bias; index of the weight (the bias is the tensor behind it). */
int toy_linear(struct toy_model *toy, int parent, const char *name, int64_t outputs, int64_t inputs);
/* BatchNorm1d: weight, bias, running_mean, running_var and num_batches_tracked, an int64. */
void toy_batchnorm(struct toy_model *toy, int parent, const char *name, int64_t size);
/* ModelForTest below parent: linear1 Linear(3, 4), batchnorm BatchNorm1d(4), linear2 Linear(4, 5): 236 bytes. name "":
 * the root itself, which must be the newest module. Index of the module. */
int toy_model_for_test(struct toy_model *toy, int parent, const char *name);
/* A float32 buffer of the newest module. */
void toy_buffer(struct toy_model *toy, const char *name, int rank, const int64_t *size, bool persistent);
/* Shares the storage of a tensor with another one, by path. */
void toy_tie(struct toy_model *toy, const char *path, const char *owner);

/* A budget in bytes: "0", "cpu". */
struct placement_budget toy_budget(const char *device, int64_t bytes);
/* "{layer1: 0, rest: cpu}": the entries sorted by path, as text that a test can compare. */
void toy_map_text(const struct device_map *map, struct text *text);

#endif
