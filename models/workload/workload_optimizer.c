/* Workload optimizer: the register. An optimizer is a row here and a word in OPTIMIZER_TABLE. What a form takes and
 * computes is the tape's matter (harness/tape/optimizer.c). */
#include "models/workload/workload_optimizer.h"

/* torch.optim's default of AdamW. */
static const double decay = 1e-2;

static const struct {
    enum optimizer_form form;
    bool is_sgd, has_momentum, is_decoupled, is_paged;
} rows[] = {
    [OPTIMIZER_NONE] = {.form = OPTIMIZER_FORM_FOREACH},
    [OPTIMIZER_ADAM_FOREACH] = {.form = OPTIMIZER_FORM_FOREACH},
    [OPTIMIZER_ADAM_FUSED] = {.form = OPTIMIZER_FORM_FUSED},
    [OPTIMIZER_ADAM_SINGLE] = {.form = OPTIMIZER_FORM_SINGLE},
    [OPTIMIZER_ADAMW_FOREACH] = {.form = OPTIMIZER_FORM_FOREACH, .is_decoupled = true},
    [OPTIMIZER_ADAMW_FUSED] = {.form = OPTIMIZER_FORM_FUSED, .is_decoupled = true},
    [OPTIMIZER_ADAMW_SINGLE] = {.form = OPTIMIZER_FORM_SINGLE, .is_decoupled = true},
    [OPTIMIZER_ADAM_8BIT] = {.form = OPTIMIZER_FORM_8BIT},
    [OPTIMIZER_SGD_MOMENTUM] = {.form = OPTIMIZER_FORM_FOREACH, .is_sgd = true, .has_momentum = true},
    [OPTIMIZER_SGD] = {.form = OPTIMIZER_FORM_FOREACH, .is_sgd = true},
    [OPTIMIZER_ADAFACTOR_TORCH] = {.form = OPTIMIZER_FORM_ADAFACTOR_TORCH},
    [OPTIMIZER_ADAFACTOR_TRANSFORMERS] = {.form = OPTIMIZER_FORM_ADAFACTOR_TRANSFORMERS},
    [OPTIMIZER_PAGED_ADAMW_32BIT] = {.form = OPTIMIZER_FORM_32BIT, .is_decoupled = true, .is_paged = true},
    [OPTIMIZER_PAGED_ADAMW_8BIT] = {.form = OPTIMIZER_FORM_8BIT, .is_decoupled = true, .is_paged = true},
};

_Static_assert(sizeof rows / sizeof rows[0] == OPTIMIZER_COUNT, "every optimizer has a row");

struct optimizer_settings workload_optimizer(enum optimizer optimizer, double learning_rate)
{
    return (struct optimizer_settings){
        .sgd = rows[optimizer].is_sgd,
        .decoupled = rows[optimizer].is_decoupled,
        .paged = rows[optimizer].is_paged,
        .form = rows[optimizer].form,
        .learning_rate = learning_rate,
        .beta1 = 0.9,
        .beta2 = 0.999,
        .epsilon = 1e-8,
        .weight_decay = rows[optimizer].is_decoupled ? decay : 0.0,
        .momentum = rows[optimizer].has_momentum || !rows[optimizer].is_sgd ? 0.9 : 0.0,
    };
}
