/* assay offload: weights of a model as a folder that accelerate reads (disk_offload, dispatch_model), and whether such
 * a folder is that of a model. */
#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "harness/base/clock.h"
#include "harness/base/size.h"
#include "harness/checkpoint/offload_write.h"
#include "harness/cli/command.h"
#include "harness/cli/model_notes.h"
#include "harness/cli/offload_check.h"
#include "harness/cli/offload_model.h"
#include "harness/cli/output.h"
#include "harness/cli/question_progress.h"
#include "harness/load/load_files.h"

static const struct option_row options[] = {
    {"to", OPTION_VALUE, "DIR", "the folder to write; it is made if it is missing"},
    {"names", OPTION_LIST, "NAME", "only these tensors, or all below these modules (default: all)"},
    {"map", OPTION_VALUE, "FILE.json", "only those that this device map gives to the disk"},
    {"head", OPTION_VALUE, "bare|lm", "names of the model without or with its head (default: as its files)"},
    {"as-stored", OPTION_FLAG, NULL, "keep the names that the files have"},
    {"replace", OPTION_FLAG, NULL, "write over tensors that the folder has; else they must be the same"},
    {"check", OPTION_VALUE, "DIR", "instead of writing: is this folder whole and, with MODEL, that model's?"},
    {"values", OPTION_FLAG, NULL, "with --check: compare every byte with the model's files"},
    {"json", OPTION_FLAG, NULL, "print one JSON document"},
    {NULL, OPTION_FLAG, NULL, NULL},
};

enum { NAMES_SHOWN = 5 };

struct job {
    struct offload_model model;
    struct offload_writer *writer;
    struct load_files files; /* those of the model, held open */
    struct question_progress progress;
    sigset_t signals; /* that end the job, and are held until it has cleaned up */
    bool interrupted;
    int missing_count, done_count;
    double seconds;
    struct text notes;
};

/* -- interruption */

/* Holds the signals that ask a program to end, each unless it was started to ignore it. */
static void signals_hold(struct job *job, sigset_t *before)
{
    static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    sigemptyset(&job->signals);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction action;
        if (sigaction(numbers[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN) {
            sigaddset(&job->signals, numbers[i]);
        }
    }
    sigprocmask(SIG_BLOCK, &job->signals, before);
}

static bool signal_came(const struct job *job)
{
    const struct timespec at_once = {0};
    return sigtimedwait(&job->signals, NULL, &at_once) > 0;
}

static enum status_code piece_take(void *context, const void *bytes, int64_t count, struct status *error)
{
    struct job *job = context;
    job->interrupted = job->interrupted || signal_came(job);
    if (job->interrupted) {
        return status_set(error, STATUS_INTERRUPTED, "offload: interrupted; assay has removed what it had written");
    }
    return offload_writer_take(job->writer, bytes, count, error);
}

/* -- writing */

/* Which items are written; the others are told. */
static enum status_code items_sort(struct job *job, struct offload_tensor *tensors, int *count, struct status *error)
{
    const struct offload_list *list = &job->model.list;
    struct text missing = {0};
    for (int i = 0; i < list->count; i++) {
        struct offload_item *item = &list->items[i];
        if (!item->is_wanted) {
            continue;
        }
        if (item->obstacle != NULL) {
            text_release(&missing);
            return status_set(error, STATUS_INVALID, "%s: %s cannot be offloaded: %s; --names chooses others",
                              job->model.files->name, item->tensor.name, item->obstacle);
        }
        if (item->part_count == 0) {
            item->is_wanted = false;
            if (job->missing_count++ < NAMES_SHOWN) {
                text_format(&missing, "%s%s", missing.length > 0 ? ", " : "", item->tensor.name);
            }
            continue;
        }
        tensors[(*count)++] = item->tensor;
    }
    if (job->missing_count > 0) {
        note_give("offload", &job->notes,
                  "%s does not have %d of the model's tensors, which accelerate will miss in the folder: %s%s",
                  job->model.files->name, job->missing_count, text_string(&missing),
                  job->missing_count > NAMES_SHOWN ? ", ..." : "");
    }
    if (list->unused_count > 0) {
        note_give("offload", &job->notes,
                  "%d tensors of %s are not in the model and are left out, as %s; --as-stored takes all",
                  list->unused_count, job->model.files->name, list->unused[0]);
    }
    text_release(&missing);
    return *count > 0
               ? STATUS_OK
               : status_set(error, STATUS_INVALID, "%s: none of the wanted tensors is in it", job->model.files->name);
}

static enum status_code item_write(struct job *job, const struct offload_item *item, struct status *error)
{
    enum status_code code = offload_writer_begin(job->writer, &item->tensor, error);
    if (code == STATUS_OK) {
        const struct load_stream stream = {item->parts, item->part_count, piece_take, job};
        code = load_files_stream(&job->files, &stream, error);
    }
    return code == STATUS_OK ? offload_writer_end(job->writer, error) : code;
}

static enum status_code items_write(struct job *job, struct status *error)
{
    const struct offload_list *list = &job->model.list;
    enum status_code code = STATUS_OK;
    for (int i = 0; i < list->count && code == STATUS_OK; i++) {
        if (list->items[i].is_wanted) {
            question_progress_show(&job->progress, "%d tensors written, now %s", job->done_count++,
                                   list->items[i].tensor.name);
            code = item_write(job, &list->items[i], error);
        }
    }
    question_progress_end(&job->progress);
    return code;
}

/* Opens a writer, writes, and ends it whatever happens. */
static enum status_code folder_write(const struct arguments *arguments, struct job *job, struct offload_totals *totals,
                                     struct status *error)
{
    struct arena arena = {0};
    int count = 0;
    struct offload_tensor *tensors = arena_alloc(&arena, (size_t)job->model.list.count * sizeof *tensors);
    bool replaces = arguments_value(arguments, "replace") != NULL;
    enum status_code code =
        tensors != NULL ? items_sort(job, tensors, &count, error)
                        : status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for a list of tensors");
    code = code == STATUS_OK ? load_files_hold(job->model.files, &job->files, error) : code;
    if (code == STATUS_OK) {
        code = offload_writer_open(arguments_value(arguments, "to"), replaces ? OFFLOAD_REPLACE : OFFLOAD_KEEP,
                                   &job->writer, error);
    }
    double begin = clock_seconds();
    if (code == STATUS_OK) {
        code = offload_writer_expect(job->writer, tensors, count, error);
        code = code == STATUS_OK ? items_write(job, error) : code;
        code = code == STATUS_OK ? load_files_check(&job->files, error) : code;
        *totals = offload_writer_totals(job->writer);
        if (code == STATUS_OK) {
            code = offload_writer_finish(job->writer, error);
        } else {
            offload_writer_abandon(job->writer);
        }
    }
    job->seconds = clock_seconds() - begin;
    load_files_release(&job->files);
    arena_release(&arena);
    return code;
}

/* -- telling */

static enum status_code json_print(const char *folder, const struct job *job, const struct offload_totals *totals,
                                   struct status *error)
{
    struct json *document = json_object_new();
    bool made = json_set(document, "folder", json_string_new(folder)) &&
                json_set(document, "model", json_string_new(job->model.name)) &&
                json_set(document, "names", json_string_new(job->model.is_stored_names ? "stored" : "model")) &&
                json_set(document, "written_count", json_integer_new(totals->written_count)) &&
                json_set(document, "written_bytes", json_integer_new(totals->written_bytes)) &&
                json_set(document, "kept_count", json_integer_new(totals->kept_count)) &&
                json_set(document, "kept_bytes", json_integer_new(totals->kept_bytes)) &&
                json_set(document, "missing_count", json_integer_new(job->missing_count)) &&
                json_set(document, "seconds", json_real_new(job->seconds)) &&
                json_set(document, "notes", notes_json(&job->notes));
    document = json_made(document, made);
    enum status_code code = output_json(document, error);
    json_release(document);
    return code;
}

static enum status_code lines_print(const char *folder, const struct job *job, const struct offload_totals *totals,
                                    struct status *error)
{
    struct text text = {0};
    char size[SIZE_TEXT_BYTES];
    text_format(&text, "%s: %d tensors of %s written, %s (%" PRId64 " bytes) in %.2f s\n", folder,
                totals->written_count, job->model.name, size_format(totals->written_bytes, size), totals->written_bytes,
                job->seconds);
    if (totals->kept_count > 0) {
        text_format(&text, "%d more were there already, every byte the same: %s\n", totals->kept_count,
                    size_format(totals->kept_bytes, size));
    }
    enum status_code code = output_lines(&text, error);
    text_release(&text);
    return code;
}

static enum status_code write_run(const struct arguments *arguments, enum exit_code *exit_code, struct status *error)
{
    struct job job = {.progress = {.command = "offload", .pause_seconds = 0.1}};
    struct offload_totals totals = {0};
    const char *folder = arguments_value(arguments, "to");
    sigset_t before;
    (void)exit_code;
    enum status_code code = offload_model_open(arguments, arguments->operands[0], &job.model, error);
    if (code != STATUS_OK) {
        return code;
    }
    if (job.model.files == NULL) {
        code = status_set(error, STATUS_INVALID,
                          "offload: %s is a configuration without model files; name a .safetensors, its index, or a "
                          "folder that holds them",
                          job.model.name);
    } else {
        signals_hold(&job, &before);
        code = folder_write(arguments, &job, &totals, error);
        sigprocmask(SIG_SETMASK, &before, NULL);
    }
    if (code == STATUS_OK) {
        code = arguments_value(arguments, "json") != NULL ? json_print(folder, &job, &totals, error)
                                                          : lines_print(folder, &job, &totals, error);
    }
    text_release(&job.notes);
    offload_model_close(&job.model);
    return code;
}

static enum status_code offload_run(const struct arguments *arguments, enum exit_code *exit_code, struct status *error)
{
    static const char *const of_writing[] = {"replace", "to"};
    bool checks = arguments_value(arguments, "check") != NULL;
    for (size_t i = 0; i < sizeof of_writing / sizeof of_writing[0] && checks; i++) {
        if (arguments_value(arguments, of_writing[i]) != NULL) {
            return status_set(error, STATUS_INVALID,
                              "--%s belongs to writing, and --check writes nothing; leave one out", of_writing[i]);
        }
    }
    if (checks) {
        return offload_check_run(arguments, exit_code, error);
    }
    if (arguments_value(arguments, "values") != NULL) {
        return status_set(error, STATUS_INVALID, "--values goes with --check DIR MODEL");
    }
    if (arguments_value(arguments, "to") == NULL || arguments->operand_count == 0) {
        return status_set(error, STATUS_INVALID,
                          "offload: write assay offload MODEL --to DIR, or assay offload --check DIR [MODEL]");
    }
    return write_run(arguments, exit_code, error);
}

const struct command command_offload = {
    .name = "offload",
    .operands = "[MODEL]",
    .summary = "write weights as a folder that accelerate's disk_offload reads, or check one",
    .details = "MODEL: a .safetensors file, its .safetensors.index.json, or a folder that holds one beside its\n"
               "config.json.\n"
               "\n"
               "The folder has index.json and a file of raw elements for each tensor, under the names of\n"
               "model.state_dict(); a tied tensor stands under each of its names. accelerate trusts any index that\n"
               "it finds, whatever model it is of. This command does not: a tensor that is already there must be\n"
               "the same, and --check says what does not fit. A run that fails or is interrupted takes away what\n"
               "it has added.\n"
               "\n"
               "Exit code 1: --check found something.\n",
    .options = options,
    .operand_minimum = 0,
    .operand_maximum = 1,
    .run = offload_run,
};
