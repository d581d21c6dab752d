/* Slurm scripts: two readers of each line, a shell and sbatch, which quote differently. */
#include "harness/run/slurm_script.h"

#include <stdbool.h>
#include <string.h>

#include "harness/base/shell_word.h"

static enum status_code word_check(const char *word, const char *forbidden, const char *what, struct status *error)
{
    for (const char *byte = word; *byte != '\0'; byte++) {
        if ((unsigned char)*byte < ' ' || *byte == 127 || strchr(forbidden, *byte) != NULL) {
            return status_set(error, STATUS_INVALID,
                              "%s: '%.200s' has a character that cannot stand in a job script; name it without", what,
                              word);
        }
    }
    return STATUS_OK;
}

/* For the command lines. */
static enum status_code shell_words_check(const struct slurm_job *job, struct status *error)
{
    enum status_code code = word_check(job->suite, "", "the suite", error);
    for (int i = 0; i < job->run_word_count && code == STATUS_OK; i++) {
        code = word_check(job->run_words[i], "", "an option of the run", error);
    }
    return code == STATUS_OK ? word_check(job->program, "", "the program", error) : code;
}

/* For the lines that sbatch reads. */
static enum status_code sbatch_words_check(const struct slurm_job *job, struct status *error)
{
    static const char quotes[] = "\"'\\";
    const char *const words[][2] = {{job->folder, "--out"},
                                    {job->working_folder, "the current folder"},
                                    {job->partition, "--partition"},
                                    {job->account, "--account"},
                                    {job->time, "--time"}};
    enum status_code code = STATUS_OK;
    for (size_t i = 0; i < sizeof words / sizeof words[0] && code == STATUS_OK; i++) {
        code = words[i][0] != NULL ? word_check(words[i][0], quotes, words[i][1], error) : STATUS_OK;
    }
    for (int i = 0; i < job->sbatch_word_count && code == STATUS_OK; i++) {
        code = word_check(job->sbatch_words[i], quotes, "--sbatch", error);
    }
    return code;
}

/* "#SBATCH --partition=gpu", or with quotes around what sbatch would cut at a space or a '#'. NULL: nothing. */
static void directive_append(struct text *script, const char *option, const char *value)
{
    if (value != NULL) {
        bool is_plain = value[strcspn(value, " #;&|<>()$`*?[]{}~!")] == '\0';
        text_format(script, "#SBATCH --%s=%s%s%s\n", option, is_plain ? "" : "\"", value, is_plain ? "" : "\"");
    }
}

/* A file of output, in which Slurm reads '%' as the begin of a word of its own. */
static void log_append(struct text *script, const char *folder, const char *name)
{
    struct text path = {0};
    for (const char *byte = folder; *byte != '\0'; byte++) {
        text_append_bytes(&path, *byte == '%' ? "%%" : byte, *byte == '%' ? 2 : 1);
    }
    text_format(&path, "/logs/%s", name);
    directive_append(script, "output", text_string(&path));
    script->failed = script->failed || path.failed;
    text_release(&path);
}

static void common_append(const struct slurm_job *job, struct text *script)
{
    text_append(script, "#SBATCH --ntasks=1\n");
    directive_append(script, "partition", job->partition);
    directive_append(script, "account", job->account);
    directive_append(script, "chdir", job->working_folder);
}

static void array_directives(const struct slurm_job *job, struct text *script)
{
    text_format(script, "#SBATCH --job-name=assay-%s\n#SBATCH --array=1-%d", job->name, job->shard_count);
    if (job->max_running > 0) {
        text_format(script, "%%%d", job->max_running);
    }
    text_append(script, "\n");
    common_append(job, script);
    if (job->gpus_per_task > 0) {
        text_format(script, "#SBATCH --gpus-per-task=%d\n", job->gpus_per_task);
    }
    directive_append(script, "time", job->time);
    text_append(script, "#SBATCH --requeue\n#SBATCH --open-mode=append\n");
    log_append(script, job->folder, "shard-%a.log");
    for (int i = 0; i < job->sbatch_word_count; i++) {
        const char *word = job->sbatch_words[i];
        size_t length = strcspn(word, "=");
        struct text option = {0};
        text_append_bytes(&option, word, length);
        if (word[length] == '=') {
            directive_append(script, text_string(&option), word + length + 1);
        } else {
            text_format(script, "#SBATCH --%s\n", word);
        }
        text_release(&option);
    }
}

static void word_append(struct text *script, const char *word)
{
    text_append(script, " ");
    shell_word_append(script, word);
}

static enum status_code job_check(const struct slurm_job *job, struct status *error)
{
    enum status_code code = shell_words_check(job, error);
    return code == STATUS_OK ? sbatch_words_check(job, error) : code;
}

enum status_code slurm_array_script(const struct slurm_job *job, struct text *script, struct status *error)
{
    enum status_code code = job_check(job, error);
    if (code != STATUS_OK) {
        return code;
    }
    text_format(
        script,
        "#!/bin/sh\n"
        "# The %d shards of an assay suite, one task each. By hand: sbatch array.sbatch; shard 3 alone: sbatch\n"
        "# --array=3 array.sbatch. A shard that was interrupted, or is requeued, goes on where it was; one that\n"
        "# is finished is not measured again. Afterwards: sbatch merge.sbatch\n",
        job->shard_count);
    array_directives(job, script);
    text_append(script, "exec");
    word_append(script, job->program);
    text_append(script, " run");
    word_append(script, job->suite);
    for (int i = 0; i < job->run_word_count; i++) {
        word_append(script, job->run_words[i]);
    }
    text_format(script, " \\\n    --shard \"$SLURM_ARRAY_TASK_ID/%d\" --out", job->shard_count);
    word_append(script, job->folder);
    text_append(script, "/shards/\"$SLURM_ARRAY_TASK_ID\" --resume --records-only");
    if (job->night != NULL) {
        text_append(script, " --night");
        word_append(script, job->night);
    }
    text_append(script, "\n");
    return text_status(script, "a job script", error);
}

enum status_code slurm_merge_script(const struct slurm_job *job, struct text *script, struct status *error)
{
    enum status_code code = job_check(job, error);
    if (code != STATUS_OK) {
        return code;
    }
    text_format(
        script,
        "#!/bin/sh\n"
        "# Merges the shards of array.sbatch, whichever have results. Exit code 7: cases are missing; it can be\n"
        "# submitted again once they are there.\n"
        "#SBATCH --job-name=assay-%s-merge\n",
        job->name);
    common_append(job, script);
    log_append(script, job->folder, "merge.log");
    text_append(script, "exec");
    word_append(script, job->program);
    text_append(script, " merge");
    word_append(script, job->folder);
    text_append(script, "/shards --out");
    word_append(script, job->folder);
    text_append(script, "\n");
    return text_status(script, "a job script", error);
}
