/* Prints what this program believes of a model, for compare_skeletons.py to hold against the real classes:
 *   dump_skeleton MODEL bare|lm   modules, tensors in the order of the state dict, the load order, accelerate's sizes:
 *                                 total, largest layer, and largest layer if no class were kept whole
 *   dump_skeleton MODEL table     accelerate's box, for today's transformers
 * Runs in the root of the repository. Not a test: it knows nothing of what is right. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/estimate/accelerate.h"
#include "models/find/catalogue.h"
#include "models/skeleton/skeleton.h"

static const struct accelerate_options today = {0};
static const struct accelerate_options split = {.splits_blocks = true};

static void tensor_print(const struct skeleton *skeleton, const struct skeleton_tensor *tensor)
{
    const char *kind = !tensor->is_buffer ? "parameter" : tensor->persistent ? "buffer" : "transient";
    printf("tensor %s %s (", tensor->path, kind);
    for (int i = 0; i < tensor->rank; i++) {
        printf("%s%" PRId64, i > 0 ? "," : "", tensor->size[i]);
    }
    printf(") %s %s\n", dtype_name(tensor->dtype),
           tensor->tied_to >= 0 ? skeleton->tensors[tensor->tied_to].path : "-");
}

static void skeleton_print(const struct skeleton *skeleton)
{
    printf("counts %" PRId64 " %" PRId64 "\n", skeleton->parameter_count, skeleton->buffer_bytes);
    for (int i = 0; i < skeleton->module_count; i++) {
        const struct module_info *module = &skeleton->modules[i];
        printf("module %s %s %s\n", i > 0 ? module->path : ".", module->class_name, module->no_split ? "whole" : "-");
    }
    for (int i = 0; i < skeleton->tensor_count; i++) {
        tensor_print(skeleton, &skeleton->tensors[i]);
    }
    for (int i = 0; i < skeleton->tensor_count; i++) {
        printf("load %s\n", skeleton->tensors[skeleton->load_order[i]].path);
    }
}

static enum status_code skeleton_dump(const struct config *config, enum head head, struct status *error)
{
    struct skeleton skeleton;
    struct accelerate_sizes sizes, split_sizes;
    enum status_code code = skeleton_build(config, head, &skeleton, error);
    if (code != STATUS_OK) {
        return code;
    }
    skeleton_print(&skeleton);
    skeleton_release(&skeleton);
    code = accelerate_sizes_of(config, &today, &sizes, error);
    code = code == STATUS_OK ? accelerate_sizes_of(config, &split, &split_sizes, error) : code;
    if (code == STATUS_OK && head == HEAD_BARE) {
        printf("accelerate %" PRId64 " %" PRId64 " %" PRId64 "\n", sizes.total_bytes, sizes.largest_layer_bytes,
               split_sizes.largest_layer_bytes);
    }
    return code;
}

static enum status_code table_dump(const char *model, const struct config *config, struct status *error)
{
    struct accelerate_row rows[ACCELERATE_DTYPE_COUNT];
    struct accelerate_sizes sizes;
    struct text table = {0};
    enum status_code code = accelerate_sizes_of(config, &today, &sizes, error);
    for (int i = 0; i < ACCELERATE_DTYPE_COUNT && code == STATUS_OK; i++) {
        rows[i] = accelerate_row_of(&sizes, (enum accelerate_dtype)i, ACCELERATE_RULE_CURRENT);
    }
    if (code == STATUS_OK) {
        code = accelerate_table(model, rows, ACCELERATE_DTYPE_COUNT, &table, error);
    }
    fputs(text_string(&table), stdout);
    text_release(&table);
    return code;
}

int main(int count, char **arguments)
{
    struct config config;
    struct status error = {0};
    if (count != 3) {
        fprintf(stderr, "usage: dump_skeleton MODEL HEAD|table\n");
        return 2;
    }
    enum status_code code = config_find("models/catalogue", arguments[1], &config, &error);
    if (code == STATUS_OK && strcmp(arguments[2], "table") == 0) {
        code = table_dump(arguments[1], &config, &error);
    } else if (code == STATUS_OK) {
        struct workload workload = workload_default(MODE_LOAD);
        code = workload_set(&workload, "head", arguments[2], &error);
        code = code == STATUS_OK ? skeleton_dump(&config, workload.head, &error) : code;
    }
    if (code != STATUS_OK) {
        fprintf(stderr, "%s\n", status_line(&error, (char[STATUS_LINE_BYTES]){0}));
        return 2;
    }
    return 0;
}
