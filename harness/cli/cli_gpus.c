/* assay gpus: the GPUs that --on and --for know by name. What is in this machine is the business of assay hardware. */
#include <inttypes.h>

#include "harness/base/json.h"
#include "harness/base/size.h"
#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/tape/gpu_table.h"

static const struct option_row options[] = {
    {"json", OPTION_FLAG, NULL, "print one JSON document"},
    {NULL, OPTION_FLAG, NULL, NULL},
};

static struct json *gpu_json(const struct gpu *gpu)
{
    struct json *object = json_object_new();
    struct json *aliases = json_array_new();
    bool made = true;
    for (int i = 0; i < GPU_ALIASES_MAXIMUM && gpu->aliases[i] != NULL; i++) {
        made = made && json_append(aliases, json_string_new(gpu->aliases[i]));
    }
    made = json_set(object, "name", json_string_new(gpu->name)) && made;
    made = json_set(object, "aliases", aliases) && made;
    made = json_set(object, "target", json_string_new(gpu->target)) && made;
    made = json_set(object, "memory_bytes", json_integer_new(gpu_memory_bytes(gpu))) && made;
    made = json_set(object, "source", json_string_new(gpu->source)) && made;
    return json_made(object, made);
}

static enum status_code gpus_json_print(struct status *error)
{
    struct json *document = json_object_new();
    struct json *list = json_array_new();
    bool made = true;
    for (int i = 0; gpu_at(i) != NULL && made; i++) {
        made = json_append(list, gpu_json(gpu_at(i)));
    }
    made = json_set(document, "gpus", list) && made;
    enum status_code code = output_json(made ? document : NULL, error);
    json_release(document);
    return code;
}

static enum status_code gpus_run(const struct arguments *arguments, enum exit_code *exit_code, struct status *error)
{
    struct text text = {0};
    (void)exit_code;
    if (arguments_value(arguments, "json") != NULL) {
        return gpus_json_print(error);
    }
    text_format(&text, "%11s %11s  %-7s %s\n", "memory", "as printed", "class", "GPU");
    for (int i = 0; gpu_at(i) != NULL; i++) {
        const struct gpu *gpu = gpu_at(i);
        char size[SIZE_TEXT_BYTES];
        text_format(&text, "%11s %7" PRId64 " MiB  %-7s %s\n", size_format(gpu_memory_bytes(gpu), size),
                    gpu->memory_mib, gpu_is_amd(gpu) ? "sm_90 *" : gpu->target, gpu->name);
    }
    text_append(&text, "* stands in: kernels and workspaces of AMD's libraries are not modelled\n");
    enum status_code code = output_lines(&text, error);
    text_release(&text);
    return code;
}

const struct command command_gpus = {
    .name = "gpus",
    .operands = "",
    .summary = "the GPUs that --on and --for know by name",
    .details = "memory: what nvidia-smi or amd-smi prints, as somebody published it; --json says where. class:\n"
               "whose kernels and workspaces are predicted. If several GPUs have a name, as A100, give the whole\n"
               "name.\n",
    .options = options,
    .operand_minimum = 0,
    .operand_maximum = 0,
    .run = gpus_run,
};
