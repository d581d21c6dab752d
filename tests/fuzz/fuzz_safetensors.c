/* Fuzz target: safetensors, and its index. */
#include "harness/checkpoint/checkpoint_groups.h"
#include "models/find/model.h"
#include "tests/fuzz/fuzz.h"

/* Whatever tensors there are, they make a model or an error. */
static void tensors_told(const struct checkpoint *checkpoint)
{
    static struct model model; /* large; only the configuration is set */
    struct status error = {0};
    enum status_code code = model_infer(checkpoint, "m", &model, &error);
    fuzz_status_check(code, &error);
    fuzz_require(code != STATUS_OK || (model.config.family != NULL && model.inferred.is_inferred));
    code = model_infer(checkpoint, "m#llama", &model, &error);
    fuzz_status_check(code, &error);
}

static void file_read(const char *name, const uint8_t *data, size_t size)
{
    struct checkpoint *checkpoint = NULL;
    struct checkpoint_groups groups;
    struct status error = {0};
    enum status_code code = fuzz_checkpoint_read(name, data, size, &checkpoint, &error);
    fuzz_status_check(code, &error);
    if (code != STATUS_OK) {
        fuzz_require(checkpoint == NULL);
        return;
    }
    fuzz_checkpoint_check(checkpoint);
    for (int i = 0; i < 2; i++) {
        int64_t sum = 0;
        fuzz_require(checkpoint_group(checkpoint, i == 0 ? CHECKPOINT_BY_TYPE : CHECKPOINT_BY_MODULE, &groups, NULL) ==
                     STATUS_OK);
        for (int j = 0; j < groups.count; j++) {
            sum += groups.groups[j].bytes;
        }
        fuzz_require(sum == checkpoint->stored_bytes);
        checkpoint_groups_release(&groups);
    }
    tensors_told(checkpoint);
    checkpoint_release(checkpoint);
}

int fuzz_safetensors(const uint8_t *data, size_t size)
{
    file_read("m.safetensors", data, size);
    file_read("m.safetensors.index.json", data, size);
    return 0;
}
