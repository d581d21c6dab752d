/* Fuzz target: safetensors, and its index. */
#include "harness/checkpoint/checkpoint_groups.h"
#include "tests/fuzz/fuzz.h"

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
    checkpoint_release(checkpoint);
}

int fuzz_safetensors(const uint8_t *data, size_t size)
{
    file_read("m.safetensors", data, size);
    file_read("m.safetensors.index.json", data, size);
    return 0;
}
