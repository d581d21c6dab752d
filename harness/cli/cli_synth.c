/* assay synth: a checkpoint of random numbers, or of zeros, that the real libraries read. Touches no device. */
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "harness/base/clock.h"
#include "harness/base/size.h"
#include "harness/base/size_text.h"
#include "harness/checkpoint/checkpoint_folder.h"
#include "harness/checkpoint/checkpoint_write.h"
#include "harness/cli/command.h"
#include "harness/cli/model_notes.h"
#include "harness/cli/output.h"
#include "harness/cli/question_progress.h"
#include "harness/cli/synth_case.h"

static const struct option_row options[] = {
    {"out", OPTION_VALUE, "DIR", "the folder to write into; made where it is missing"},
    {"precision", OPTION_VALUE, "P", "float32, float16 or bfloat16 (default: as stored, else as configured)"},
    {"head", OPTION_VALUE, "bare|lm", "without or with the head of the task (default: lm)"},
    {"max-shard-size", OPTION_VALUE, "SIZE", "of a file: 5GB, 5GiB, 5000000000 (default: 50GB, as save_pretrained)"},
    {"seed", OPTION_VALUE, "N", "of the numbers; the same seed gives the same bytes (default: 0)"},
    {"zero", OPTION_FLAG, NULL, "zeros, which take no room where the file system can do without"},
    {"force", OPTION_FLAG, NULL, "write into a folder that is not empty, and replace files of the same names"},
    STRICT_OPTION_ROW,
    {"json", OPTION_FLAG, NULL, "print one JSON document"},
    {NULL, OPTION_FLAG, NULL, NULL},
};

enum { FILES_SHOWN = 12, BESIDE_FILES = 64, RATE_BYTES = 64 << 20 }; /* less says nothing about a rate */

static const double progress_pause_seconds = 0.2;

/* What a run of the command has. */
struct synth_run {
    struct synth_case synth;
    struct checkpoint_plan plan;
    struct checkpoint_folder folder;
    struct text config, index; /* what stands beside the tensors */
    struct question_progress progress;
    double seconds; /* writing took */
};

static void progress_show(void *context, const char *name, int64_t written_bytes)
{
    struct synth_run *run = context;
    char written[SIZE_TEXT_BYTES], total[SIZE_TEXT_BYTES];
    question_progress_show(&run->progress, "%s: %s of %s", name, size_format(written_bytes, written),
                           size_format(run->plan.total_bytes, total));
}

/* The files that are open at the same time are as many as there are shards. */
static enum status_code open_files_allow(int count, struct status *error)
{
    struct rlimit limit;
    rlim_t wanted = (rlim_t)count + BESIDE_FILES;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) {
        return STATUS_OK;
    }
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    if (limit.rlim_cur < wanted || setrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return status_set(error, STATUS_IO,
                          "synth: %d files would be open at the same time, and this system allows %lld; allow larger "
                          "shards with --max-shard-size, or more files with ulimit -n",
                          count, (long long)limit.rlim_max);
    }
    return STATUS_OK;
}

/* Whether it fits, before anything is written. Zeros take no room to speak of. */
static enum status_code room_check(const struct synth_run *run, struct status *error)
{
    char needed[SIZE_TEXT_BYTES], there[SIZE_TEXT_BYTES];
    int64_t bytes = 0;
    bool fits = run->synth.is_zero ||
                (size_add(run->plan.total_bytes, (int64_t)(run->config.length + run->index.length), &bytes) &&
                 bytes <= run->folder.free_bytes);
    return fits ? STATUS_OK
                : status_set(error, STATUS_IO,
                             "synth: %s: the checkpoint takes %s (%" PRId64 " bytes), and %s are free there; choose "
                             "another folder with --out, or --zero, which takes no room",
                             run->folder.path, size_format(bytes, needed), bytes,
                             size_format(run->folder.free_bytes, there));
}

static enum status_code folder_check(struct synth_run *run, struct status *error)
{
    char own[PATH_MAX];
    snprintf(own, sizeof own, "%s", run->synth.config_path);
    char *slash = strrchr(own, '/');
    snprintf(slash != NULL ? slash : own, slash != NULL ? 1 : sizeof own, "%s", slash != NULL ? "" : ".");
    if (checkpoint_folder_is(&run->folder, own[0] != '\0' ? own : "/")) {
        return status_set(error, STATUS_INVALID,
                          "synth: --out %s is the folder of the model itself, whose config.json would be replaced; "
                          "choose another folder",
                          run->folder.path);
    }
    return room_check(run, error);
}

static enum status_code texts_make(struct synth_run *run, struct status *error)
{
    enum status_code code = json_write(run->synth.document, 2, &run->config, error);
    text_append(&run->config, "\n");
    code = code == STATUS_OK ? text_status(&run->config, "config.json", error) : code;
    if (code == STATUS_OK && run->plan.file_count > 1) {
        code = planned_index_append(&run->plan, run->synth.skeleton.parameter_count, &run->index, error);
    }
    return code;
}

static enum status_code files_write(struct synth_run *run, struct status *error)
{
    const struct initial_numbers numbers = {
        .skeleton = &run->synth.skeleton, .layout = &run->synth.layout, .seed = run->synth.seed};
    const struct checkpoint_text config = {"config.json", &run->config};
    const struct checkpoint_writing writing = {.plan = &run->plan,
                                               .folder = run->folder.path,
                                               .texts = &config,
                                               .text_count = 1,
                                               .index = run->plan.file_count > 1 ? &run->index : NULL,
                                               .is_zero = run->synth.is_zero,
                                               .fill = initial_numbers_fill,
                                               .context = &numbers,
                                               .progress = progress_show,
                                               .progress_context = run};
    enum status_code code = open_files_allow(checkpoint_write_open_files(&writing), error);
    if (code == STATUS_OK) {
        double begin = clock_seconds();
        code = checkpoint_write(&writing, error);
        run->seconds = clock_seconds() - begin;
        question_progress_end(&run->progress);
    }
    return code;
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
    const struct synth_case *synth = &run->synth;
    struct json *document = json_object_new();
    bool made = json_set(document, "model", json_string_new(synth->config.name)) &&
                json_set(document, "folder", json_string_new(run->folder.path)) &&
                json_set(document, "head", json_string_new(head_name(synth->skeleton.head))) &&
                json_set(document, "precision", json_string_new(dtype_name(synth->precision))) &&
                json_set(document, "seed", synth->is_zero ? json_null_new() : json_integer_new(synth->seed)) &&
                json_set(document, "max_shard_bytes", json_integer_new(synth->maximum_bytes)) &&
                json_set(document, "parameter_count", json_integer_new(synth->skeleton.parameter_count)) &&
                json_set(document, "tensor_count", json_integer_new(run->plan.tensor_count)) &&
                json_set(document, "tensor_bytes", json_integer_new(run->plan.data_bytes)) &&
                json_set(document, "file_bytes", json_integer_new(run->plan.total_bytes)) &&
                json_set(document, "free_bytes_before", json_integer_new(run->folder.free_bytes)) &&
                json_set(document, "seconds", json_real_new(run->seconds)) &&
                json_set(document, "files", files_json(&run->plan)) &&
                json_set(document, "notes", notes_json(&synth->notes));
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
    const struct synth_case *synth = &run->synth;
    text_format(&text, "%s (%s) in %s, ", synth->config.name, synth->skeleton.head == HEAD_BARE ? "bare" : "with head",
                dtype_name(synth->precision));
    if (synth->is_zero) {
        text_append(&text, "zeros");
    } else {
        text_format(&text, "seed %" PRId64, synth->seed);
    }
    text_format(&text, ": %d tensors, %s (%" PRId64 " bytes)\n\n%s/\n", run->plan.tensor_count,
                size_format(run->plan.data_bytes, size), run->plan.data_bytes, run->folder.path);
    text_format(&text, "  %12s  config.json\n", size_format((int64_t)run->config.length, size));
    file_lines(&run->plan, &text);
    if (run->plan.file_count > 1) {
        text_format(&text, "  %12s  model.safetensors.index.json\n", size_format((int64_t)run->index.length, size));
    }
    text_format(&text, "\n%s were free; it took %.1f s", size_format(run->folder.free_bytes, room), run->seconds);
    if (!synth->is_zero && run->plan.total_bytes >= RATE_BYTES && run->seconds > 0 &&
        (double)run->plan.total_bytes / run->seconds < 0x1p62) {
        text_format(&text, ", %s a second", size_format((int64_t)((double)run->plan.total_bytes / run->seconds), rate));
    }
    text_append(&text, "\n");
    enum status_code code = output_lines(&text, error);
    text_release(&text);
    return code;
}

static void left_note(struct synth_run *run)
{
    const struct checkpoint_folder *folder = &run->folder;
    if (folder->left_count > 0) {
        note_give("synth", &run->synth.notes,
                  "%s: %d files of another checkpoint stay there, '%.100s' among them; readers pass over them",
                  folder->path, folder->left_count, folder->left_name);
    }
}

static enum status_code synth_write(const struct arguments *arguments, struct synth_run *run, struct status *error)
{
    bool is_forced = arguments_value(arguments, "force") != NULL;
    enum status_code code = checkpoint_plan_make(run->synth.layout.tensors, run->synth.layout.tensor_count,
                                                 run->synth.maximum_bytes, &run->plan, error);
    code = code == STATUS_OK ? texts_make(run, error) : code;
    if (code == STATUS_OK && run->synth.config.is_timm && run->plan.file_count > 1) {
        code = status_set(error, STATUS_INVALID,
                          "timm reads one file, and %d would be written; allow a larger one with --max-shard-size",
                          run->plan.file_count);
    }
    if (code == STATUS_OK) {
        code = checkpoint_folder_open(run->synth.folder, &run->plan, is_forced, &run->folder, error);
    }
    if (code != STATUS_OK) {
        status_prefix(error, "synth");
        return code;
    }
    code = folder_check(run, error);
    if (code == STATUS_OK) {
        code = files_write(run, error);
    }
    if (code != STATUS_OK) {
        checkpoint_folder_undo(&run->folder);
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
    checkpoint_plan_release(&run.plan);
    text_release(&run.config);
    text_release(&run.index);
    synth_case_close(&run.synth);
    return code;
}

const struct command command_synth = {
    .name = "synth",
    .operands = "MODEL",
    .summary = "write a checkpoint of random numbers that the real libraries read",
    .details =
        "Writes what save_pretrained writes of a new model (transformers 5.23): config.json, and model.safetensors or\n"
        "shards with their index. Tied tensors are there once, experts one by one. Numbers are those of the model's\n"
        "initialisation; they depend on the seed and the tensor's name alone. All files appear together when they\n"
        "are complete and on the disk. No file is removed; without --force none is replaced.\n",
    .options = options,
    .operand_minimum = 1,
    .operand_maximum = 1,
    .run = synth_run,
};
