/* assay gpus: the GPUs that --on and --for know by name. What is in this machine is the business of assay hardware. */
#include <inttypes.h>

#include "harness/base/json.h"
#include "harness/base/size.h"
#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/tape/gpu_table.h"
#include "models/find/catalogue_names.h"

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

/* Whether a pattern asks for a GPU: by its name or another that it has, or by its class. NULL: all. */
static bool is_asked_for(const char *pattern, const struct gpu *gpu)
{
    bool matches =
        pattern == NULL || catalogue_name_matches(pattern, gpu->name) || catalogue_name_matches(pattern, gpu->target);
    for (int i = 0; i < GPU_ALIASES_MAXIMUM && gpu->aliases[i] != NULL && !matches; i++) {
        matches = catalogue_name_matches(pattern, gpu->aliases[i]);
    }
    return matches;
}

static enum status_code gpus_check(const char *pattern, struct status *error)
{
    for (int i = 0; gpu_at(i) != NULL; i++) {
        if (is_asked_for(pattern, gpu_at(i))) {
            return STATUS_OK;
        }
    }
    return status_set(error, STATUS_INVALID,
                      "gpus: no name and no class of a GPU has '%s' in it; assay gpus lists all of them", pattern);
}

static enum status_code gpus_json_print(const char *pattern, struct status *error)
{
    struct json *document = json_object_new();
    struct json *list = json_array_new();
    bool made = true;
    for (int i = 0; gpu_at(i) != NULL && made; i++) {
        made = !is_asked_for(pattern, gpu_at(i)) || json_append(list, gpu_json(gpu_at(i)));
    }
    made = json_set(document, "gpus", list) && made;
    enum status_code code = output_json(made ? document : NULL, error);
    json_release(document);
    return code;
}

static enum status_code gpus_run(const struct arguments *arguments, enum exit_code *exit_code, struct status *error)
{
    const char *pattern = arguments->operand_count > 0 ? arguments->operands[0] : NULL;
    struct text text = {0};
    bool stands_in = false;
    (void)exit_code;
    enum status_code code = gpus_check(pattern, error);
    if (code != STATUS_OK || arguments_value(arguments, "json") != NULL) {
        return code == STATUS_OK ? gpus_json_print(pattern, error) : code;
    }
    text_format(&text, "%11s %11s  %-7s %s\n", "memory", "as printed", "class", "GPU");
    for (int i = 0; gpu_at(i) != NULL; i++) {
        const struct gpu *gpu = gpu_at(i);
        char size[SIZE_TEXT_BYTES];
        if (!is_asked_for(pattern, gpu)) {
            continue;
        }
        stands_in = stands_in || gpu_is_amd(gpu);
        text_format(&text, "%11s %7" PRId64 " MiB  %-7s %s\n", size_format(gpu_memory_bytes(gpu), size),
                    gpu->memory_mib, gpu_is_amd(gpu) ? "sm_90 *" : gpu->target, gpu->name);
    }
    if (stands_in) {
        text_append(&text, "* stands in: kernels and workspaces of AMD's libraries are not modelled\n");
    }
    code = output_lines(&text, error);
    text_release(&text);
    return code;
}

const struct command command_gpus = {
    .name = "gpus",
    .operands = "[GPU]",
    .summary = "the GPUs that --on and --for know by name",
    .details = "A part of a name, or a pattern with *, lists the GPUs whose name or class has it: 4090, rtx, 'A100*',\n"
               "sm_89.\n"
               "\n"
               "memory: what nvidia-smi or amd-smi prints, as somebody published it; --json says where. class:\n"
               "whose kernels and workspaces are predicted. If several GPUs have a name, as A100, give the whole\n"
               "name.\n",
    .options = options,
    .operand_minimum = 0,
    .operand_maximum = 1,
    .run = gpus_run,
};
