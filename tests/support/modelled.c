/* Modelled: from the name of a model to its tape. */
#include "tests/support/modelled.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "models/find/catalogue.h"

enum status_code modelled_open(struct modelled *modelled, const char *model, const struct workload *workload,
                               const char *target_name, struct status *error)
{
    const struct target *target = NULL;
    *modelled = (struct modelled){0};
    enum status_code code = config_find("models/catalogue", model, &modelled->config, error);
    code = code == STATUS_OK ? target_find(target_name, &target, error) : code;
    code = code == STATUS_OK ? workload_check(workload, error) : code;
    code = code == STATUS_OK ? workload_skeleton(&modelled->config, workload, &modelled->skeleton, error) : code;
    if (code == STATUS_OK) {
        code = workload_tape(&modelled->config, &modelled->skeleton, workload, target, &modelled->tape, error);
    }
    return code;
}

void modelled_require(struct modelled *modelled, const char *model, const struct workload *workload, const char *target)
{
    struct status error = {0};
    if (modelled_open(modelled, model, workload, target, &error) != STATUS_OK) {
        fail_msg("%s %s %s: %s", model, mode_name(workload->mode), precision_name(workload->precision), error.text);
    }
}

void modelled_close(struct modelled *modelled)
{
    tape_release(modelled->tape);
    skeleton_release(&modelled->skeleton);
    *modelled = (struct modelled){0};
}
