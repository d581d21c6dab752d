/* Parallel: the checks. What each rule makes of the degrees stands with the rule. */
#include "harness/estimate/parallel.h"

#include <stddef.h>

#include "harness/base/size.h"

enum { DEGREE_MAXIMUM = 1 << 20 }; /* of one degree; the devices of all of them fit 63 bits */

struct parallel parallel_single(void)
{
    return (struct parallel){.data = 1, .tensor = 1, .pipeline = 1, .expert = 1};
}

bool parallel_divides(const struct parallel *parallel)
{
    return parallel != NULL && parallel_device_count(parallel) > 1;
}

int64_t parallel_device_count(const struct parallel *parallel)
{
    return parallel->data * parallel->tensor * parallel->pipeline;
}

int64_t parallel_stage(const struct parallel *parallel)
{
    return parallel == NULL ? 0 : parallel->fsdp ? 3 : parallel->zero;
}

/* The largest degree up to wanted that divides value. */
static int64_t divisor_below(int64_t value, int64_t wanted)
{
    int64_t divisor = wanted < value ? wanted : value;
    while (value % divisor != 0) {
        divisor--;
    }
    return divisor;
}

static enum status_code degrees_check(const struct parallel *parallel, struct status *error)
{
    const struct {
        const char *name;
        int64_t degree;
    } rows[] = {{"data", parallel->data},
                {"tensor", parallel->tensor},
                {"pipeline", parallel->pipeline},
                {"expert", parallel->expert}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].degree < 1 || rows[i].degree > DEGREE_MAXIMUM) {
            return status_set(error, STATUS_INVALID, "%s parallel degree %lld: write 1 to %d", rows[i].name,
                              (long long)rows[i].degree, DEGREE_MAXIMUM);
        }
    }
    if (parallel->zero < 0 || parallel->zero > 3) {
        return status_set(error, STATUS_INVALID, "ZeRO stage %lld is not known; write 0, 1, 2 or 3",
                          (long long)parallel->zero);
    }
    if (parallel->fsdp && parallel->zero > 0) {
        return status_set(error, STATUS_INVALID, "FSDP and ZeRO %lld both divide the states; leave one out",
                          (long long)parallel->zero);
    }
    if (parallel->zero > 1 && parallel->pipeline > 1) { /* DeepSpeed refuses it */
        return status_set(error, STATUS_INVALID,
                          "ZeRO %lld does not go with pipeline stages, which need whole gradients; write ZeRO 1",
                          (long long)parallel->zero);
    }
    if (parallel->data % parallel->expert != 0) {
        return status_set(error, STATUS_INVALID,
                          "expert degree %lld does not divide the data degree %lld, whose ranks hold the experts; "
                          "write %lld",
                          (long long)parallel->expert, (long long)parallel->data,
                          (long long)divisor_below(parallel->data, parallel->expert));
    }
    return STATUS_OK;
}

enum status_code parallel_check(const struct parallel *parallel, const struct config *config, struct status *error)
{
    enum status_code code = degrees_check(parallel, error);
    if (code != STATUS_OK) {
        return code;
    }
    int64_t keys = config->kv_heads > 0 ? config->kv_heads : config->heads;
    if (parallel->tensor > 1 && config->heads < 1) {
        return status_set(error, STATUS_INVALID, "%s has no attention heads to divide; write tensor degree 1",
                          config->name);
    }
    if (parallel->tensor > 1 && config->heads % parallel->tensor != 0) {
        return status_set(error, STATUS_INVALID, "tensor degree %lld does not divide the %lld heads of %s; write %lld",
                          (long long)parallel->tensor, (long long)config->heads, config->name,
                          (long long)divisor_below(config->heads, parallel->tensor));
    }
    if (parallel->tensor > 1 && keys % parallel->tensor != 0 && parallel->tensor % keys != 0) {
        return status_set(error, STATUS_INVALID,
                          "tensor degree %lld neither divides the %lld key heads of %s nor is a multiple of them; "
                          "write %lld",
                          (long long)parallel->tensor, (long long)keys, config->name,
                          (long long)divisor_below(keys, parallel->tensor));
    }
    if (parallel->pipeline > 1 && (config->layers < 1 || config->layers % parallel->pipeline != 0)) {
        return status_set(error, STATUS_INVALID,
                          "pipeline degree %lld does not divide the %lld layers of %s; write %lld",
                          (long long)parallel->pipeline, (long long)config->layers, config->name,
                          (long long)(config->layers < 1 ? 1 : divisor_below(config->layers, parallel->pipeline)));
    }
    return STATUS_OK;
}

struct json *parallel_json(const struct parallel *parallel)
{
    struct json *object = json_object_new();
    bool made = json_set(object, "data", json_integer_new(parallel->data)) &&
                json_set(object, "tensor", json_integer_new(parallel->tensor)) &&
                json_set(object, "pipeline", json_integer_new(parallel->pipeline)) &&
                json_set(object, "expert", json_integer_new(parallel->expert)) &&
                json_set(object, "zero", json_integer_new(parallel->zero)) &&
                json_set(object, "fsdp", json_boolean_new(parallel->fsdp));
    return json_made(object, made);
}
