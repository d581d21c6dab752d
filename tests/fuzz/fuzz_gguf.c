/* Fuzz target: GGUF, to its configuration and the comparison of the two. */
#include "harness/checkpoint/checkpoint.h"
#include "models/find/checkpoint_check.h"
#include "models/find/gguf_family.h"
#include "tests/fuzz/fuzz.h"

enum { LAYERS_MAXIMUM = 64 };

static void model_look(const struct checkpoint *checkpoint)
{
    struct config config;
    struct checkpoint_check check;
    struct status error = {0};
    enum status_code code = gguf_config(checkpoint, "test", &config, &error);
    fuzz_status_check(code, &error);
    if (code != STATUS_OK || config.layers > LAYERS_MAXIMUM) {
        return;
    }
    code = checkpoint_check(checkpoint, &config, HEAD_DEFAULT, &check, &error);
    fuzz_status_check(code, &error);
    if (code == STATUS_OK) {
        fuzz_require(check.matched_count <= checkpoint->tensor_count);
        fuzz_require(checkpoint_vocab(&check, &config) >= 0);
        checkpoint_check_release(&check);
    }
}

int fuzz_gguf(const uint8_t *data, size_t size)
{
    struct checkpoint *checkpoint = NULL;
    struct status error = {0};
    enum status_code code = fuzz_checkpoint_read("m.gguf", data, size, &checkpoint, &error);
    fuzz_status_check(code, &error);
    if (code == STATUS_OK) {
        fuzz_checkpoint_check(checkpoint);
        model_look(checkpoint);
        checkpoint_release(checkpoint);
    }
    return 0;
}
