/* assay submit: the shards of a suite as jobs of a Slurm. What the scripts say is harness/run/slurm_script.h's; how
 * jobs are queued, restarted and bound to GPUs is Slurm's own matter. */
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/file_replace.h"
#include "harness/base/program_run.h"
#include "harness/base/shell_word.h"
#include "harness/base/size.h"
#include "harness/cli/command.h"
#include "harness/cli/number_option.h"
#include "harness/cli/output.h"
#include "harness/cli/parent_folders.h"
#include "harness/cli/run_shards.h"
#include "harness/record/record.h"
#include "harness/run/run_line.h"
#include "harness/run/shard_split.h"
#include "harness/run/slurm_script.h"

enum { WORDS_MAXIMUM = 80, GPUS_MAXIMUM = 64, PROGRAM_SECONDS = 60, OUTPUT_BYTES = 1 << 20, JOB_ID_BYTES = 32 };

static const struct option_row options[] = {
    {"shards", OPTION_VALUE, "N", "into how many shards the suite is divided, a task each; needed"},
    {"out", OPTION_VALUE, "DIR", "where scripts, logs, shards and the merged results go; needed"},
    {"gpus-per-task", OPTION_VALUE, "N", "GPUs of each task; 0: none (default: 1)"},
    {"max-running", OPTION_VALUE, "N", "tasks at a time (default: as many as there is room for)"},
    {"partition", OPTION_VALUE, "NAME", "of both jobs (default: Slurm's)"},
    {"account", OPTION_VALUE, "NAME", "of both jobs (default: Slurm's)"},
    {"time", OPTION_VALUE, "TIME", "limit of a shard, as sbatch takes it: 2:00:00 (default: the partition's)"},
    {"sbatch", OPTION_LIST, "OPTION", "further options of sbatch for the shards, without dashes: constraint=h100"},
    {"dry-run", OPTION_FLAG, NULL, "print both scripts; write and submit nothing"},
    {NULL, OPTION_FLAG, NULL, NULL},
};

struct submission {
    const struct arguments *arguments;
    struct slurm_job job;
    struct shard_plan plan;
    char program[PATH_MAX], working_folder[PATH_MAX];
    char night[TIME_BYTES];             /* when it was submitted: what is started of it once more belongs to it */
    struct text array, merge;           /* the scripts */
    struct text array_path, merge_path; /* where they go */
    char array_id[JOB_ID_BYTES], merge_id[JOB_ID_BYTES];
};

/* ---- what is to be submitted ---- */

static enum status_code numbers_read(struct submission *submission, struct status *error)
{
    struct slurm_job *job = &submission->job;
    const struct arguments *arguments = submission->arguments;
    job->gpus_per_task = 1;
    enum status_code code = number_option_read(arguments, "shards", 1, SHARDS_MAXIMUM, &job->shard_count, error);
    if (code == STATUS_OK && job->shard_count == 0) {
        code = status_set(error, STATUS_INVALID, "submit: into how many shards is not said; write --shards N");
    }
    if (code == STATUS_OK) {
        code = number_option_read(arguments, "gpus-per-task", 0, GPUS_MAXIMUM, &job->gpus_per_task, error);
    }
    return code == STATUS_OK ? number_option_read(arguments, "max-running", 1, SHARDS_MAXIMUM, &job->max_running, error)
                             : code;
}

static enum status_code job_read(struct submission *submission, struct status *error)
{
    const struct arguments *arguments = submission->arguments;
    struct slurm_job *job = &submission->job;
    if (strcmp(arguments->operands[0], "slurm") != 0) {
        return status_set(error, STATUS_INVALID, "submit: '%s' is no system that is known; write assay submit slurm",
                          arguments->operands[0]);
    }
    enum status_code code = numbers_read(submission, error);
    if (code != STATUS_OK) {
        return code;
    }
    job->suite = arguments->operands[1];
    job->run_words = &arguments->operands[2];
    job->run_word_count = arguments->operand_count - 2;
    job->folder = arguments_value(arguments, "out");
    job->partition = arguments_value(arguments, "partition");
    job->account = arguments_value(arguments, "account");
    job->time = arguments_value(arguments, "time");
    job->sbatch_words = arguments->list;
    job->sbatch_word_count = arguments->list_count;
    if (job->folder == NULL) {
        return status_set(error, STATUS_INVALID, "submit: where the results go is not said; write --out DIR");
    }
    ssize_t length = readlink("/proc/self/exe", submission->program, sizeof submission->program - 1);
    if (length < 0 || getcwd(submission->working_folder, sizeof submission->working_folder) == NULL) {
        return status_set(error, STATUS_IO, "submit: the path of this program or of this folder cannot be found: %s",
                          strerror(errno));
    }
    submission->program[length] = '\0';
    job->program = submission->program;
    job->night = time_text(submission->night);
    job->working_folder = submission->working_folder;
    return STATUS_OK;
}

/* The run of shard 1, as its task will have it: what is wrong with its words is said now, and not in the logs of N
 * tasks. */
static enum status_code plan_make(struct submission *submission, struct status *error)
{
    static const char *const own[] = {"out", "shard", "night", "resume", "records-only", "last-failed", "junit", NULL};
    const struct slurm_job *job = &submission->job;
    const char *words[WORDS_MAXIMUM] = {job->suite};
    char shard[32];
    struct arguments run = {0};
    if (job->run_word_count > WORDS_MAXIMUM - 3) {
        return status_set(error, STATUS_INVALID, "submit: more than %d words for the run", WORDS_MAXIMUM - 3);
    }
    memcpy(words + 1, job->run_words, (size_t)job->run_word_count * sizeof words[0]);
    enum status_code code = arguments_parse(&command_run, job->run_word_count + 1, (char **)words, &run, error);
    for (int i = 0; own[i] != NULL && code == STATUS_OK; i++) {
        if (run.help || arguments_value(&run, own[i]) != NULL) {
            code = status_set(error, STATUS_INVALID, "submit: --%s is not for the run of a shard; leave it out",
                              run.help ? "help" : own[i]);
        }
    }
    snprintf(shard, sizeof shard, "1/%d", job->shard_count);
    words[job->run_word_count + 1] = "--shard";
    words[job->run_word_count + 2] = shard;
    if (code == STATUS_OK) {
        code = arguments_parse(&command_run, job->run_word_count + 3, (char **)words, &run, error);
    }
    if (code == STATUS_OK) {
        code = run_shards_plan(&run, &submission->plan, error);
    }
    submission->job.name = submission->plan.suite;
    return code;
}

/* ---- where it goes ---- */

/* What is there of an earlier merge: nothing else may be in it, and it must lack something, because a shard that is
 * finished is not measured again: a whole one would come out once more, as if it were of today. */
static enum status_code merged_check(const struct submission *submission, struct status *error)
{
    const char *folder = submission->job.folder;
    struct record_stream *stream = NULL;
    struct record_line line = {.type = RECORD_LINE_RUN};
    bool is_whole = false;
    enum status_code code = record_stream_open(folder, &stream, error);
    while (code == STATUS_OK && line.type != RECORD_LINE_NONE) {
        code = record_stream_next(stream, &line, error);
        const char *hash = json_string_or(json_get(json_get(line.value, "merged"), "plan_hash"), "");
        bool begins = line.type == RECORD_LINE_RUN || line.type == RECORD_LINE_RESUMED;
        if (code == STATUS_OK && begins && strcmp(hash, submission->plan.hash) != 0) {
            code =
                status_set(error, STATUS_INVALID, "submit: %s has other results; name a new folder with --out", folder);
        } else if (code == STATUS_OK && line.type == RECORD_LINE_END) {
            const struct json *counts = json_get(line.value, "counts");
            is_whole = json_integer_or(json_get(counts, "done"), 0) == json_integer_or(json_get(counts, "total"), -1);
        }
    }
    record_stream_close(stream);
    if (code == STATUS_OK && is_whole) {
        code = status_set(error, STATUS_INVALID,
                          "submit: %s has the results of all shards of this plan, and none would be measured again; "
                          "name a new folder with --out",
                          folder);
    }
    return code;
}

static enum status_code shard_check(const struct submission *submission, const char *name, struct status *error)
{
    struct text path = {0};
    struct shard_plan present = {0};
    enum status_code code = STATUS_OK;
    text_format(&path, "%s/shards/%s/" SHARD_PLAN_FILE, submission->job.folder, name);
    if (access(text_string(&path), F_OK) == 0) {
        code = shard_plan_read(text_string(&path), &present, error);
    }
    if (present.shard_count > 0 && strcmp(present.hash, submission->plan.hash) != 0) {
        code = status_set(error, STATUS_INVALID,
                          "submit: %s is of another plan: the suite, the cases, the options or the number of shards "
                          "differ; name a new folder with --out",
                          text_string(&path));
    }
    shard_plan_release(&present);
    text_release(&path);
    return code;
}

/* What would stop the merge when all is measured is said now. */
static enum status_code folder_check(const struct submission *submission, struct status *error)
{
    struct text path = {0};
    enum status_code code = record_is_in(submission->job.folder) ? merged_check(submission, error) : STATUS_OK;
    text_format(&path, "%s/shards", submission->job.folder);
    DIR *shards = code == STATUS_OK ? opendir(text_string(&path)) : NULL;
    const struct dirent *entry = NULL;
    while (shards != NULL && code == STATUS_OK && (entry = readdir(shards)) != NULL) {
        code = entry->d_name[0] != '.' ? shard_check(submission, entry->d_name, error) : STATUS_OK;
    }
    if (shards != NULL) {
        closedir(shards);
    }
    text_release(&path);
    return code;
}

static enum status_code folder_make(const char *folder, const char *name, struct status *error)
{
    struct text path = {0};
    text_format(&path, "%s/%s", folder, name);
    enum status_code code = parent_folders_make(text_string(&path), error);
    if (code == STATUS_OK && mkdir(text_string(&path), 0777) != 0 && errno != EEXIST) {
        code = status_set(error, STATUS_IO, "submit: %s: the folder cannot be made: %s", text_string(&path),
                          strerror(errno));
    }
    text_release(&path);
    return code;
}

static enum status_code scripts_write(struct submission *submission, struct status *error)
{
    const char *folder = submission->job.folder;
    enum status_code code = folder_make(folder, "shards", error);
    if (code == STATUS_OK) {
        code = folder_make(folder, "logs", error); /* Slurm makes none */
    }
    if (code == STATUS_OK) {
        code = file_replace(text_string(&submission->array_path), FILE_CHOSEN, &submission->array, error);
    }
    return code == STATUS_OK
               ? file_replace(text_string(&submission->merge_path), FILE_CHOSEN, &submission->merge, error)
               : code;
}

/* ---- Slurm ---- */

static struct program_outcome slurm_ask(const char *const *words)
{
    struct program_outcome outcome = {0};
    const struct program_request request = {.words = words,
                                            .timeout_seconds = PROGRAM_SECONDS,
                                            .own_group = true,
                                            .excess_is_dropped = true,
                                            .output_bytes_maximum = OUTPUT_BYTES};
    program_run(&request, &outcome);
    return outcome;
}

/* The largest index is one less. A Slurm that does not say it says so itself when the job is submitted. */
static enum status_code array_size_check(const struct submission *submission, struct status *error)
{
    static const char key[] = "MaxArraySize";
    const char *const words[] = {"scontrol", "show", "config", NULL};
    struct program_outcome outcome = slurm_ask(words);
    const char *found = outcome.end == PROGRAM_EXITED ? strstr(text_string(&outcome.output), key) : NULL;
    enum status_code code = STATUS_OK;
    if (found != NULL) {
        found += strlen(key);
        found += strspn(found, " =");
        long most = strtol(found, NULL, 10);
        if (most > 1 && submission->job.shard_count >= most) {
            code = status_set(error, STATUS_INVALID,
                              "submit: this Slurm takes arrays up to index %ld (MaxArraySize); give --shards %ld or "
                              "fewer",
                              most - 1, most - 1);
        }
    }
    text_release(&outcome.output);
    return code;
}

static enum status_code sbatch_fail(const struct submission *submission, const struct program_outcome *outcome,
                                    struct status *error)
{
    const char *folder = submission->job.folder;
    if (outcome->end == PROGRAM_NOT_STARTED && outcome->number == ENOENT) {
        return status_set(
            error, STATUS_IO,
            "submit: there is no sbatch on PATH; submit %s/array.sbatch and %s/merge.sbatch where Slurm's "
            "commands are, or see them with --dry-run",
            folder, folder);
    }
    int length = (int)outcome->complaint_length;
    while (length > 0 && outcome->complaint[length - 1] == '\n') {
        length--;
    }
    if (outcome->end == PROGRAM_EXITED) {
        return status_set(error, STATUS_IO, "submit: sbatch refuses (exit code %d): %.*s", outcome->number, length,
                          outcome->complaint);
    }
    return status_set(error, STATUS_IO, "submit: sbatch did not end as it should: %.*s", length, outcome->complaint);
}

/* The number of the job; of a cluster with a name it stands before ";NAME". */
static enum status_code sbatch_do(const struct submission *submission, const char *const *words, char id[JOB_ID_BYTES],
                                  struct status *error)
{
    struct program_outcome outcome = slurm_ask(words);
    const char *said = text_string(&outcome.output);
    size_t length = strspn(said, "0123456789");
    enum status_code code = STATUS_OK;
    if (outcome.end != PROGRAM_EXITED || outcome.number != 0) {
        code = sbatch_fail(submission, &outcome, error);
    } else if (length == 0 || length >= JOB_ID_BYTES) {
        code = status_set(error, STATUS_IO, "submit: sbatch did not print the number of the job");
    } else {
        memcpy(id, said, length);
        id[length] = '\0';
    }
    text_release(&outcome.output);
    return code;
}

static enum status_code jobs_submit(struct submission *submission, struct status *error)
{
    const char *const array[] = {"sbatch", "--parsable", text_string(&submission->array_path), NULL};
    enum status_code code = array_size_check(submission, error);
    if (code == STATUS_OK) {
        code = sbatch_do(submission, array, submission->array_id, error);
    }
    if (code != STATUS_OK) {
        return code;
    }
    struct text after = {0};
    text_format(&after, "--dependency=afterany:%s", submission->array_id);
    const char *const merge[] = {"sbatch", "--parsable", text_string(&after), text_string(&submission->merge_path),
                                 NULL};
    code = sbatch_do(submission, merge, submission->merge_id, error);
    if (code != STATUS_OK) {
        struct text path = {0};
        shell_word_append(&path, text_string(&submission->merge_path));
        status_extend(error, ". Array job %s is submitted all the same; its merge job by hand: sbatch %s %s",
                      submission->array_id, text_string(&after), text_string(&path));
        text_release(&path);
    }
    text_release(&after);
    return code;
}

/* ---- what is told ---- */

static void plan_tell(const struct submission *submission, struct text *text)
{
    const struct shard_plan *plan = &submission->plan;
    int64_t least = plan->loads_ms[0], most = plan->loads_ms[0];
    for (int i = 1; i < plan->shard_count; i++) {
        least = plan->loads_ms[i] < least ? plan->loads_ms[i] : least;
        most = plan->loads_ms[i] > most ? plan->loads_ms[i] : most;
    }
    text_format(text,
                "%d case%s of %s in %d shard%s, plan %s; the shortest is predicted to take %.0f %% of the longest\n",
                plan->case_count, plan->case_count == 1 ? "" : "s", plan->suite, plan->shard_count,
                plan->shard_count == 1 ? "" : "s", plan->hash, 100.0 * (double)least / (double)most);
}

static enum status_code dry_run_give(const struct submission *submission, struct status *error)
{
    struct text text = {0};
    plan_tell(submission, &text);
    text_format(&text, "\n---- %s\n%s\n---- %s, after all tasks of it\n%s", text_string(&submission->array_path),
                text_string(&submission->array), text_string(&submission->merge_path), text_string(&submission->merge));
    enum status_code code = output_text(&text, error);
    text_release(&text);
    return code;
}

static enum status_code jobs_tell(const struct submission *submission, struct status *error)
{
    struct text text = {0};
    const char *folder = submission->job.folder;
    plan_tell(submission, &text);
    text_format(&text, "array job %s, and merge job %s after it; scripts and logs are in ", submission->array_id,
                submission->merge_id);
    shell_word_append(&text, folder);
    text_format(&text, "\nwatch: squeue --jobs %s,%s; when both have ended: assay report ", submission->array_id,
                submission->merge_id);
    shell_word_append(&text, folder);
    text_append(&text, "\n");
    enum status_code code = output_lines(&text, error);
    text_release(&text);
    return code;
}

static enum status_code scripts_make(struct submission *submission, struct status *error)
{
    const char *folder = submission->job.folder;
    text_format(&submission->array_path, "%s/array.sbatch", folder);
    text_format(&submission->merge_path, "%s/merge.sbatch", folder);
    enum status_code code = slurm_array_script(&submission->job, &submission->array, error);
    if (code == STATUS_OK) {
        code = slurm_merge_script(&submission->job, &submission->merge, error);
    }
    if (code != STATUS_OK) {
        status_prefix(error, "submit");
    }
    return code;
}

static enum status_code submit_command(const struct arguments *arguments, enum exit_code *exit_code,
                                       struct status *error)
{
    struct submission submission = {.arguments = arguments};
    bool is_dry = arguments_value(arguments, "dry-run") != NULL;
    (void)exit_code;
    enum status_code code = job_read(&submission, error);
    if (code == STATUS_OK) {
        code = plan_make(&submission, error);
    }
    if (code == STATUS_OK) {
        code = folder_check(&submission, error);
    }
    if (code == STATUS_OK) {
        code = scripts_make(&submission, error);
    }
    if (code == STATUS_OK && is_dry) {
        code = dry_run_give(&submission, error);
    } else if (code == STATUS_OK) {
        code = scripts_write(&submission, error);
        if (code == STATUS_OK) {
            code = jobs_submit(&submission, error);
        }
        if (code == STATUS_OK) {
            code = jobs_tell(&submission, error);
        }
    }
    text_release(&submission.array);
    text_release(&submission.merge);
    text_release(&submission.array_path);
    text_release(&submission.merge_path);
    shard_plan_release(&submission.plan);
    return code;
}

const struct command command_submit = {
    .name = "submit",
    .operands = "SYSTEM SUITE [OPTION...]",
    .summary = "measure the shards of a suite as jobs of Slurm",
    .details = "SYSTEM: slurm. OPTION: of assay run, behind --: assay submit slurm suites/quick.yaml --shards 8 --out\n"
               "DIR -- --filter 'gpt2*'. Writes DIR/array.sbatch, with a task for each shard, and DIR/merge.sbatch,\n"
               "and submits both; the second waits until all tasks have ended, however they did. A task that is\n"
               "requeued, or submitted again (sbatch --array=3 DIR/array.sbatch), goes on with what it has.\n"
               "Submitted from the folder from which the suite and DIR are seen; every node must see them too.\n",
    .options = options,
    .operand_minimum = 2,
    .operand_maximum = WORDS_MAXIMUM,
    .run = submit_command,
};
