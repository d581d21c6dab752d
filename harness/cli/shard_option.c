/* Shard option: words and variables to a number of a number. How cases are divided is harness/run/shard_plan.h's
 * matter. */
#include "harness/cli/shard_option.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/run/shard_split.h"

enum { NIGHT_BYTES_MAXIMUM = 200 };

/* What a system says of the part that it has started; all zero: nothing. */
struct said {
    const char *system;
    int64_t index, count;
};

static bool number_of(const char *text, size_t length, int64_t *number)
{
    char digits[16];
    if (length == 0 || length >= sizeof digits || strspn(text, "0123456789") < length) {
        return false;
    }
    memcpy(digits, text, length);
    digits[length] = '\0';
    return integer_parse(digits, 0, SHARDS_MAXIMUM, number, NULL) == STATUS_OK;
}

/* The value of a variable. False: it is not set (NULL), or no number. */
static bool value_read(const char *value, int64_t *number)
{
    return value != NULL && number_of(value, strlen(value), number);
}

/* A task of an array that was started for some shards alone counts only those: then the numbers of the variables are
 * not the shards'. What has a gap shows it; 3-4 of 8 does not, and merging refuses its other hash. */
static enum status_code slurm_read(struct said *said, struct status *error)
{
    int64_t task = 0, count = 0, least = 0, most = 0, step = 1;
    if (!value_read(getenv("SLURM_ARRAY_TASK_ID"), &task) || !value_read(getenv("SLURM_ARRAY_TASK_COUNT"), &count)) {
        return STATUS_OK;
    }
    bool has_range =
        value_read(getenv("SLURM_ARRAY_TASK_MIN"), &least) && value_read(getenv("SLURM_ARRAY_TASK_MAX"), &most);
    value_read(getenv("SLURM_ARRAY_TASK_STEP"), &step);
    if (!has_range || step < 1 || task < least || task > most || (most - least) / step + 1 != count ||
        (task - least) % step != 0) {
        return status_set(error, STATUS_INVALID,
                          "task %" PRId64 " is of a Slurm array with gaps (%" PRId64 " tasks from %" PRId64
                          " to %" PRId64 "); write --shard \"$SLURM_ARRAY_TASK_ID/N\" with the number of all shards",
                          task, count, least, most);
    }
    *said = (struct said){"Slurm", (task - least) / step + 1, count};
    return STATUS_OK;
}

static enum status_code kubernetes_read(struct said *said, struct status *error)
{
    int64_t index = 0, count = 0;
    if (!value_read(getenv("JOB_COMPLETION_INDEX"), &index)) {
        return STATUS_OK;
    }
    if (!value_read(getenv("ASSAY_SHARD_COUNT"), &count)) {
        return status_set(error, STATUS_INVALID,
                          "Kubernetes says that this is index %" PRId64 ", and not of how many: set ASSAY_SHARD_COUNT "
                          "to the Job's completions, or write --shard I/N",
                          index);
    }
    *said = (struct said){"Kubernetes", index + 1, count};
    return STATUS_OK;
}

static void gitlab_read(struct said *said)
{
    struct said found = {.system = "GitLab"};
    if (value_read(getenv("CI_NODE_INDEX"), &found.index) && value_read(getenv("CI_NODE_TOTAL"), &found.count)) {
        *said = found;
    }
}

static enum status_code nothing_said(struct status *error)
{
    if (getenv("GITHUB_ACTIONS") != NULL) {
        return status_set(error, STATUS_INVALID,
                          "GitHub sets no variables for the jobs of a matrix: write --shard ${{ matrix.shard }}/N");
    }
    return status_set(error, STATUS_INVALID,
                      "neither Slurm (SLURM_ARRAY_TASK_ID and _COUNT), GitLab (CI_NODE_INDEX and CI_NODE_TOTAL) nor "
                      "Kubernetes (JOB_COMPLETION_INDEX, with ASSAY_SHARD_COUNT) says which shard this is; write "
                      "--shard I/N");
}

enum { SYSTEM_COUNT = 3 };

static enum status_code variables_read(struct said *said, struct status *error)
{
    struct said all[SYSTEM_COUNT] = {{0}};
    enum status_code code = slurm_read(&all[0], error);
    if (code == STATUS_OK) {
        code = kubernetes_read(&all[1], error);
    }
    gitlab_read(&all[2]);
    for (int i = 0; code == STATUS_OK && i < SYSTEM_COUNT; i++) {
        if (all[i].system != NULL && said->system != NULL) {
            return status_set(error, STATUS_INVALID,
                              "%s says %" PRId64 "/%" PRId64 " and %s says %" PRId64 "/%" PRId64 "; write --shard I/N",
                              said->system, said->index, said->count, all[i].system, all[i].index, all[i].count);
        }
        *said = all[i].system != NULL ? all[i] : *said;
    }
    return code == STATUS_OK && said->system == NULL ? nothing_said(error) : code;
}

static enum status_code range_check(const struct said *said, const char *word, struct status *error)
{
    if (said->count < 1 || said->index < 1 || said->index > said->count) {
        return status_set(error, STATUS_INVALID, "'%s' is no part: parts count from 1, as 1/8 to 8/8", word);
    }
    return STATUS_OK;
}

enum status_code shard_option_read(const struct arguments *arguments, struct shard_wish *wish, struct status *error)
{
    const char *word = arguments_value(arguments, "shard");
    struct said said = {0};
    enum status_code code = STATUS_OK;
    *wish = (struct shard_wish){0};
    if (word == NULL) {
        return STATUS_OK;
    }
    size_t length = strcspn(word, "/");
    if (strcmp(word, "auto") == 0) {
        code = variables_read(&said, error);
    } else if (word[length] != '/' || !number_of(word, length, &said.index) ||
               !number_of(word + length + 1, strlen(word + length + 1), &said.count)) {
        code = status_set(error, STATUS_INVALID, "'%s' is no part; write I/N, as 2/8, with N up to %d, or auto", word,
                          SHARDS_MAXIMUM);
    }
    if (code == STATUS_OK) {
        code = range_check(&said, word, error);
    }
    if (code != STATUS_OK) {
        status_prefix(error, "%s: --shard", arguments->command->name);
        return code;
    }
    *wish = (struct shard_wish){(int)said.index, (int)said.count};
    return STATUS_OK;
}

/* What starts all shards of a night has a number, which stays if one of them is started again. */
static const char *night_of_variables(struct arena *arena)
{
    const struct {
        const char *system, *number;
    } rows[] = {{"slurm", getenv("SLURM_ARRAY_JOB_ID")},
                {"gitlab", getenv("CI_PIPELINE_ID")},
                {"github", getenv("GITHUB_RUN_ID")}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *number = rows[i].number;
        if (number != NULL && number[0] != '\0' && strlen(number) <= NIGHT_BYTES_MAXIMUM) {
            return arena_format(arena, "%s-%s", rows[i].system, number);
        }
    }
    return NULL;
}

enum status_code night_option_read(const struct arguments *arguments, struct arena *arena, const char **night,
                                   struct status *error)
{
    const char *name = arguments_value(arguments, "night");
    if (name != NULL && arguments_value(arguments, "shard") == NULL) {
        return status_set(error, STATUS_INVALID, "%s: --night is of --shard; leave it out", arguments->command->name);
    }
    if (name != NULL && (name[0] == '\0' || strlen(name) > NIGHT_BYTES_MAXIMUM)) {
        return status_set(error, STATUS_INVALID, "%s: --night: a name has 1 to %d bytes", arguments->command->name,
                          NIGHT_BYTES_MAXIMUM);
    }
    *night = name != NULL ? name : night_of_variables(arena);
    return STATUS_OK;
}

enum status_code shard_take(const struct shard_wish *wish, const struct shard_question *question,
                            struct case_choice *choice, struct shard_plan *plan, struct status *error)
{
    if (wish->count == 0) {
        return STATUS_OK;
    }
    struct shard_question asked = *question;
    asked.attempts = choice->attempts;
    asked.choice = text_string(&choice->words);
    asked.shard_count = wish->count;
    enum status_code code = shard_plan_make(&asked, plan, error);
    if (code != STATUS_OK) {
        status_prefix(error, "--shard %d/%d", wish->index, wish->count);
        return code;
    }
    for (int i = 0, at = 0; i < choice->suite_count && at < plan->case_count; i++) {
        if (choice->attempts[i] > 0 && plan->cases[at++].shard != wish->index) {
            case_choice_drop(choice, i);
        }
    }
    struct text rule = {0};
    text_format(&rule, "shard %d of %d", wish->index, wish->count);
    case_choice_tell(choice, text_string(&rule));
    text_release(&rule);
    return text_status(&choice->words, "the choice of cases", error);
}

struct text shard_options_text(const struct run_options *run, const char *constants)
{
    static const char *const proofs[] = {
        [RUN_PROOF_NONE] = "no", [RUN_PROOF_REPLAY] = "replay", [RUN_PROOF_ESTIMATORS] = "estimators"};
    struct text text = {0};
    text_format(&text, "device=%s jobs=%d shared=%d fitting=%d note-calibrated=%d proof=%s constants=%s",
                run->device != NULL ? run->device : "auto", run->jobs, run->share_device, run->fitting,
                run->note_calibrated, proofs[run->proof], constants != NULL ? constants : "own");
    return text;
}
