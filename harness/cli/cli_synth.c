/* assay synth: a checkpoint of random numbers, or of zeros, that the real libraries read. Touches no device. */
#include <inttypes.h>

#include "harness/base/size.h"
#include "harness/cli/command.h"
#include "harness/cli/model_notes.h"
#include "harness/cli/output.h"
#include "harness/cli/question_progress.h"
#include "harness/cli/synth_case.h"

static const struct option_row options[] = {
    {"out", OPTION_VALUE, "DIR", "the folder to write into; it is made if it is missing"},
    {"precision", OPTION_VALUE, "P", "float32, float16 or bfloat16 (default: as stored, else as configured)"},
    {"head", OPTION_VALUE, "bare|lm", "without or with the head of the task (default: lm)"},
    {"max-shard-size", OPTION_VALUE, "SIZE",
     "bytes of a file: 5GB, 5GiB, 5000000000 (default: 50GB, as save_pretrained)"},
    {"seed", OPTION_VALUE, "N", "the seed of the numbers; the same seed gives the same bytes (default: 0)"},
    {"zero", OPTION_FLAG, NULL, "write zeros, which take no room if the file system supports holes"},
    {"force", OPTION_FLAG, NULL, "write into a folder that is not empty, and replace files of the same names"},
    STRICT_OPTION_ROW,
    {"json", OPTION_FLAG, NULL, "print one JSON document"},
    {NULL, OPTION_FLAG, NULL, NULL},
};

enum { FILES_SHOWN = 12, RATE_BYTES = 64 << 20 }; /* a shorter time says nothing about a rate */

static const double progress_pause_seconds = 0.2;

/* The state of one run of the command. */
struct synth_run {
    struct synth_case synth;
    struct checkpoint_made made;
    struct question_progress progress;
};

static void progress_show(void *context, const char *name, int64_t written_bytes)
{
    struct synth_run *run = context;
    char written[SIZE_TEXT_BYTES], total[SIZE_TEXT_BYTES];
    question_progress_show(&run->progress, "%s: %s of %s", name, size_format(written_bytes, written),
                           size_format(run->synth.draft.plan.total_bytes, total));
}

static struct json *files_json(const struct checkpoint_plan *plan)
{
    struct json *files = json_array_new();
    bool made = true;
    for (int i = 0; i < plan->file_count && made; i++) {
        const struct planned_file *file = &plan->files[i];
        struct json *row = json_object_new();
        made = json_set(row, "name", json_string_new(file->name)) &&
               json_set(row, "bytes", json_integer_new(file->header_bytes + file->data_bytes)) &&
               json_set(row, "tensor_bytes", json_integer_new(file->data_bytes)) &&
               json_set(row, "tensor_count", json_integer_new(file->tensor_count));
        made = json_append(files, json_made(row, made)) && made;
    }
    return json_made(files, made);
}

static enum status_code json_print(const struct synth_run *run, struct status *error)
{
    const struct checkpoint_draft *draft = &run->synth.draft;
    struct json *document = json_object_new();
    bool made =
        json_set(document, "model", json_string_new(draft->config.name)) &&
        json_set(document, "folder", json_string_new(run->made.folder.path)) &&
        json_set(document, "head", json_string_new(head_name(draft->skeleton.head))) &&
        json_set(document, "precision", json_string_new(dtype_name(draft->recipe.precision))) &&
        json_set(document, "seed", draft->recipe.is_zero ? json_null_new() : json_integer_new(draft->recipe.seed)) &&
        json_set(document, "max_shard_bytes", json_integer_new(draft->recipe.maximum_bytes)) &&
        json_set(document, "parameter_count", json_integer_new(draft->skeleton.parameter_count)) &&
        json_set(document, "tensor_count", json_integer_new(draft->plan.tensor_count)) &&
        json_set(document, "tensor_bytes", json_integer_new(draft->plan.data_bytes)) &&
        json_set(document, "file_bytes", json_integer_new(draft->plan.total_bytes)) &&
        json_set(document, "free_bytes_before", json_integer_new(run->made.folder.free_bytes)) &&
        json_set(document, "seconds", json_real_new(run->made.seconds)) &&
        json_set(document, "files", files_json(&draft->plan)) &&
        json_set(document, "notes", notes_json(&run->synth.notes));
    document = json_made(document, made);
    enum status_code code = output_json(document, error);
    json_release(document);
    return code;
}

static void file_lines(const struct checkpoint_plan *plan, struct text *text)
{
    char size[SIZE_TEXT_BYTES];
    for (int i = 0; i < plan->file_count; i++) {
        const struct planned_file *file = &plan->files[i];
        int64_t bytes = file->header_bytes + file->data_bytes;
        if (plan->file_count <= FILES_SHOWN || i < FILES_SHOWN - 2 || i == plan->file_count - 1) {
            text_format(text, "  %12s  %s\n", size_format(bytes, size), file->name);
        } else if (i == FILES_SHOWN - 2) {
            text_format(text, "  %12s  and %d more\n", "...", plan->file_count - FILES_SHOWN + 1);
        }
    }
}

static enum status_code lines_print(const struct synth_run *run, struct status *error)
{
    struct text text = {0};
    char size[SIZE_TEXT_BYTES], room[SIZE_TEXT_BYTES], rate[SIZE_TEXT_BYTES];
    const struct checkpoint_draft *draft = &run->synth.draft;
    text_format(&text, "%s (%s) in %s, ", draft->config.name, draft->skeleton.head == HEAD_BARE ? "bare" : "with head",
                dtype_name(draft->recipe.precision));
    if (draft->recipe.is_zero) {
        text_append(&text, "zeros");
    } else {
        text_format(&text, "seed %" PRId64, draft->recipe.seed);
    }
    text_format(&text, ": %d tensors, %s (%" PRId64 " bytes)\n\n%s/\n", draft->plan.tensor_count,
                size_format(draft->plan.data_bytes, size), draft->plan.data_bytes, run->made.folder.path);
    text_format(&text, "  %12s  config.json\n", size_format((int64_t)draft->config_text.length, size));
    file_lines(&draft->plan, &text);
    if (draft->plan.file_count > 1) {
        text_format(&text, "  %12s  model.safetensors.index.json\n",
                    size_format((int64_t)draft->index_text.length, size));
    }
    text_format(&text, "\n%s were free; it took %.1f s", size_format(run->made.folder.free_bytes, room),
                run->made.seconds);
    if (!draft->recipe.is_zero && draft->plan.total_bytes >= RATE_BYTES && run->made.seconds > 0 &&
        (double)draft->plan.total_bytes / run->made.seconds < 0x1p62) {
        text_format(&text, ", %s a second",
                    size_format((int64_t)((double)draft->plan.total_bytes / run->made.seconds), rate));
    }
    text_append(&text, "\n");
    enum status_code code = output_lines(&text, error);
    text_release(&text);
    return code;
}

static void left_note(struct synth_run *run)
{
    const struct checkpoint_folder *folder = &run->made.folder;
    if (folder->left_count > 0) {
        note_give("synth", &run->synth.notes,
                  "%s: %d files of another checkpoint stay there, '%.100s' among them; readers pass over them",
                  folder->path, folder->left_count, folder->left_name);
    }
}

static enum status_code synth_write(const struct arguments *arguments, struct synth_run *run, struct status *error)
{
    const struct checkpoint_progress progress = {progress_show, run};
    bool is_forced = arguments_value(arguments, "force") != NULL;
    enum status_code code =
        checkpoint_draft_write(&run->synth.draft, run->synth.folder, is_forced, &progress, &run->made, error);
    question_progress_end(&run->progress);
    if (code != STATUS_OK) {
        status_prefix(error, "synth");
        return code;
    }
    left_note(run);
    return arguments_value(arguments, "json") != NULL ? json_print(run, error) : lines_print(run, error);
}

static enum status_code synth_run(const struct arguments *arguments, enum exit_code *exit_code, struct status *error)
{
    struct synth_run run = {.progress = {.command = "synth", .pause_seconds = progress_pause_seconds}};
    (void)exit_code;
    enum status_code code = synth_case_open(arguments, &run.synth, error);
    if (code != STATUS_OK) {
        return code;
    }
    code = synth_write(arguments, &run, error);
    synth_case_close(&run.synth);
    return code;
}

const struct command command_synth = {
    .name = "synth",
    .operands = "MODEL",
    .summary = "write a checkpoint of random numbers that the real libraries read",
    .details = "assay writes what save_pretrained writes of a new model (transformers 5.23): config.json, and\n"
               "model.safetensors or shards with their index. Tied tensors are there once, experts one by one. The\n"
               "numbers are those of the model's initialisation; they depend on the seed and the tensor's name\n"
               "alone. All files appear together when they are complete and on the disk. No file is removed;\n"
               "without --force none is replaced.\n",
    .options = options,
    .operand_minimum = 1,
    .operand_maximum = 1,
    .run = synth_run,
};
