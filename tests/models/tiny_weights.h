/* Tiny models with weights that anybody can recompute: peers/pytorch/tiny_losses.py says how. */
#ifndef ASSAY_TESTS_MODELS_TINY_WEIGHTS_H
#define ASSAY_TESTS_MODELS_TINY_WEIGHTS_H

#include "tests/models/tape_machine.h"

/* The config.json of a tiny model: ours ("tiny-resnet") or one of peers/pytorch/tiny ("bert"). Returns path. */
const char *config_path(const char *name, char path[256]);

/* Two samples of eight tokens. */
struct workload tiny_workload(enum mode mode);

/* Opens the tape of a tiny model, by that name. */
void machine_open_tiny(struct tape_machine *machine, const char *name, const struct workload *workload, int step_count,
                       double learning_rate);

/* The loss of the last of these steps, with the weights of a real initialisation, in whatever dtype. */
double tiny_loss_after(const char *name, const struct workload *workload, int step_count, double learning_rate);

/* MurmurHash3's 32-bit finalizer of k, in [-0.5, 0.5). */
double mix(uint64_t k);

bool is_norm_weight(const struct skeleton *skeleton, const struct skeleton_tensor *tensor);

/* Runs the tape as far as its first forward pass and writes weights and inputs. */
void machine_prepare(struct tape_machine *machine);

/* Euclidean, of a storage of float32. */
double norm_of(const struct tape_machine *machine, int storage);

#endif
