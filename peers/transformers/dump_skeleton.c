/* Prints a skeleton as JSON lines: dump_skeleton MODEL bare|lm. Not a test: peers/transformers/compare_skeletons.py
 * holds what it prints against the real classes, and the golden files beside the tests come from it. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "models/catalogue.h"
#include "models/skeleton.h"

static void tensor_print(const struct skeleton *skeleton, const struct skeleton_tensor *tensor)
{
    printf("%s %s [", tensor->path, !tensor->is_buffer ? "parameter" : tensor->persistent ? "buffer" : "buffer-");
    for (int i = 0; i < tensor->rank; i++) {
        printf("%s%" PRId64, i > 0 ? "," : "", tensor->size[i]);
    }
    printf("] %s %s\n", dtype_name(tensor->dtype),
           tensor->tied_to >= 0 ? skeleton->tensors[tensor->tied_to].path : "-");
}

int main(int count, char **arguments)
{
    struct config config;
    struct skeleton skeleton;
    struct status error;
    if (count != 3) {
        fprintf(stderr, "usage: dump_skeleton MODEL bare|lm\n");
        return 2;
    }
    enum head head = strcmp(arguments[2], "lm") == 0 ? HEAD_LM : HEAD_BARE;
    if (config_find("models/catalogue", arguments[1], &config, &error) != STATUS_OK ||
        skeleton_build(&config, head, &skeleton, &error) != STATUS_OK) {
        fprintf(stderr, "%s\n", error.text);
        return 2;
    }
    printf("# %s %s: %" PRId64 " parameters, %" PRId64 " bytes of buffers, %d tensors, %d modules\n", config.name,
           arguments[2], skeleton.parameter_count, skeleton.buffer_bytes, skeleton.tensor_count, skeleton.module_count);
    for (int i = 0; i < skeleton.module_count; i++) {
        const struct module_info *module = &skeleton.modules[i];
        printf("module %s %s%s\n", i > 0 ? module->path : ".", module->class_name, module->no_split ? " no_split" : "");
    }
    for (int i = 0; i < skeleton.tensor_count; i++) {
        tensor_print(&skeleton, &skeleton.tensors[i]);
    }
    skeleton_release(&skeleton);
    return 0;
}
