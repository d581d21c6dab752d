/* External estimates: which programs are asked, once each, and what they have said before. How a program is run stands
 * in estimator_program.c, what its output means in external_figures.c. */
#include "harness/run/external_estimates.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/base/regular_file.h"
#include "harness/run/estimator_program.h"
#include "harness/run/external_figures.h"
#include "harness/run/search.h"
#include "harness/suite/suite_external.h"
#include "models/find/model_config.h"
#include "models/find/model_files.h"
#include "models/find/model_hub.h"

enum { KEPT_FILE_BYTES_MAXIMUM = 64 * 1024 * 1024, VERSION_BYTES = 120, CONFIG_ROOM = PATH_MAX };

/* One answer: what was asked, as JSON text, and the estimate. */
struct answer {
    struct answer *next;
    char *key;
    struct json *estimate;
};

struct asking {
    const struct run_options *options;
    const struct run_signals *signals;
    struct answer *answers;
    char **versions; /* by external: "" before it was asked for */
    char **unusable; /* by external: why its version could not be had; NULL: it could */
    bool *warned;    /* by external */
    bool interrupted;
    struct status *error;
};

static enum status_code asking_no_memory(const struct asking *asking)
{
    return status_set(asking->error, STATUS_OUT_OF_MEMORY, "no memory for external estimates");
}

static bool is_to_stop(void *context)
{
    struct asking *asking = context;
    asking->interrupted = asking->interrupted || run_signals_came(asking->signals, 0);
    return asking->interrupted;
}

static enum status_code words_run(struct asking *asking, const struct suite_external *external,
                                  const char *const *words, struct text *output, struct status *why)
{
    const struct estimator_call call = {.words = words,
                                        .folder = asking->options->suite->folder,
                                        .timeout_seconds = external->timeout_seconds,
                                        .mask = &asking->signals->mask,
                                        .is_to_stop = is_to_stop,
                                        .context = asking};
    return estimator_program_run(&call, output, why);
}

/* The first line of what the version's command prints. */
static void version_ask(struct asking *asking, const struct suite_external *external, int index)
{
    struct text output = {0};
    struct status why;
    if (external->version == NULL || asking->versions[index] != NULL || asking->unusable[index] != NULL) {
        return;
    }
    if (words_run(asking, external, external->version, &output, &why) == STATUS_OK) {
        const char *line = text_string(&output);
        size_t length = strcspn(line, "\r\n");
        asking->versions[index] = strndup(line, length < VERSION_BYTES ? length : VERSION_BYTES);
    } else {
        char line[STATUS_LINE_BYTES];
        asking->unusable[index] = strdup(status_line(&why, line));
    }
    text_release(&output);
}

/* The command's words for a case, ended by NULL, in arena. NULL if memory ran out. */
static const char **command_words(const struct suite_external *external, const struct identity *identity,
                                  const char *config_path, struct arena *arena)
{
    int count = 0;
    while (external->command[count] != NULL) {
        count++;
    }
    const char **words = arena_alloc(arena, (size_t)(count + 1) * sizeof *words);
    for (int i = 0; words != NULL && i < count; i++) {
        struct text word = {0};
        suite_external_word(external->command[i], identity, config_path, &word);
        words[i] = word.failed ? NULL : arena_copy(arena, text_string(&word));
        text_release(&word);
        if (words[i] == NULL) {
            return NULL;
        }
    }
    return words;
}

static struct json *words_json(const char *const *words)
{
    struct json *array = json_array_new();
    bool made = array != NULL;
    for (; made && *words != NULL; words++) {
        made = json_append(array, json_string_new(*words));
    }
    return json_made(array, made);
}

/* The configuration that the command leads its program to, whole: that of {config}, or of a {model} that is a path.
 * null if it leads to none. */
static struct json *question_config(const struct suite_external *external, const struct model_places *places,
                                    const struct identity *identity, const char *config_path)
{
    struct model_files files = {0};
    struct json *document = NULL;
    bool is_path = *config_path == '\0' && suite_external_wants(external, "model") &&
                   model_local_files(places, identity->model, &files) && *files.config != '\0';
    const char *path = is_path ? files.config : config_path;
    return *path != '\0' && json_parse_python_file(path, HUB_CONFIG_BYTES_MAXIMUM, &document, NULL) == STATUS_OK
               ? document
               : json_null_new();
}

/* All that an estimate depends on. Takes over config. */
static struct json *question_json(const struct suite_external *external, const char *const *words, const char *version,
                                  struct json *config)
{
    struct json *question = json_object_new(), *quantities = json_object_new();
    bool made = question != NULL && quantities != NULL;
    for (int i = 0; i < external->quantity_count && made; i++) {
        made = json_set(quantities, external->quantities[i].name, json_string_new(external->quantities[i].pointer));
    }
    made = made && json_set(question, "estimator", json_string_new(external->name)) &&
           json_set(question, "command", words_json(words)) &&
           json_set(question, "version", version != NULL ? json_string_new(version) : json_null_new()) &&
           json_set(question, "unit_bytes", json_integer_new(external->unit_bytes));
    if (!json_set(question, "quantities", quantities)) {
        made = false;
    }
    if (!json_set(question, "config", config)) {
        made = false;
    }
    return json_made(question, made);
}

static struct answer *answer_find(const struct asking *asking, const char *key)
{
    struct answer *answer = asking->answers;
    while (answer != NULL && strcmp(answer->key, key) != 0) {
        answer = answer->next;
    }
    return answer;
}

/* Takes over the estimate. False if memory ran out. */
static bool answer_add(struct asking *asking, const char *key, struct json *estimate)
{
    struct answer *answer = calloc(1, sizeof *answer);
    char *copy = strdup(key);
    if (answer == NULL || copy == NULL || estimate == NULL) {
        free(answer);
        free(copy);
        json_release(estimate);
        return false;
    }
    *answer = (struct answer){.next = asking->answers, .key = copy, .estimate = estimate};
    asking->answers = answer;
    return true;
}

static bool kept_path(const struct run_options *options, char path[PATH_MAX])
{
    int length = snprintf(path, PATH_MAX, "%s/external.jsonl", options->folder);
    return length > 0 && length < PATH_MAX;
}

/* One line {"question": {...}, "estimate": {...}}; what is not of this form is passed over. */
static void kept_line_take(struct asking *asking, const char *line, size_t length)
{
    struct json *document = NULL;
    struct text key = {0};
    if (json_parse_text("external.jsonl", line, length, &document, NULL) == STATUS_OK) {
        struct json *question = json_get(document, "question"), *estimate = json_get(document, "estimate");
        if (json_kind(question) == JSON_KIND_OBJECT && json_kind(estimate) == JSON_KIND_OBJECT &&
            json_write(question, 0, &key, NULL) == STATUS_OK && answer_find(asking, text_string(&key)) == NULL) {
            answer_add(asking, text_string(&key), json_share(estimate));
        }
    }
    text_release(&key);
    json_release(document);
}

/* What earlier runs into the folder have kept; a file that cannot be read is none. */
static void kept_read(struct asking *asking)
{
    char path[PATH_MAX];
    struct text content = {0};
    int file = -1;
    if (!kept_path(asking->options, path) || regular_file_read(path, "", &file, NULL) != STATUS_OK) {
        return;
    }
    char block[64 * 1024];
    ssize_t count;
    while (content.length < KEPT_FILE_BYTES_MAXIMUM && (count = read(file, block, sizeof block)) > 0) {
        text_append_bytes(&content, block, (size_t)count);
    }
    close(file);
    for (const char *line = text_string(&content); *line != '\0';) {
        size_t length = strcspn(line, "\n");
        kept_line_take(asking, line, length);
        line += length + (line[length] == '\n' ? 1 : 0);
    }
    text_release(&content);
}

/* A whole line or nothing of it; one that a killed run left unfinished is closed first. The run has its folder
 * alone. */
static void line_append(int file, const struct text *line)
{
    struct stat facts;
    char last = '\n';
    if (fstat(file, &facts) != 0 || (facts.st_size > 0 && pread(file, &last, 1, facts.st_size - 1) != 1)) {
        return;
    }
    bool is_whole = (last == '\n' || write(file, "\n", 1) == 1) &&
                    write(file, text_string(line), line->length) == (ssize_t)line->length;
    if (!is_whole && ftruncate(file, facts.st_size) != 0) {
        return; /* the rest of a line: it is passed over by who reads it, and closed by the next */
    }
}

/* That it cannot be appended costs the next run the question. */
static void kept_append(const struct asking *asking, struct json *question, struct json *estimate)
{
    char path[PATH_MAX];
    struct text line = {0};
    struct json *document = json_object_new();
    int file = -1;
    bool made = json_set(document, "question", json_share(question));
    made = json_set(document, "estimate", json_share(estimate)) && made;
    made = made && json_write(document, 0, &line, NULL) == STATUS_OK;
    text_append(&line, "\n");
    if (made && !line.failed && kept_path(asking->options, path) &&
        regular_file_append(path, "", &file, NULL) == STATUS_OK) {
        line_append(file, &line);
        close(file);
    }
    text_release(&line);
    json_release(document);
}

/* Runs the command. NULL if memory ran out. */
static struct json *answer_get(struct asking *asking, const struct suite_external *external, const char *const *words,
                               int index, struct json *question)
{
    struct text output = {0};
    struct status why = {0};
    char line[STATUS_LINE_BYTES];
    bool is_whole = false,
         is_run = asking->unusable[index] == NULL && words_run(asking, external, words, &output, &why) == STATUS_OK;
    const char *note = asking->unusable[index] != NULL ? asking->unusable[index] : status_line(&why, line);
    struct json *estimate =
        external_figures(external, is_run ? &output : NULL, asking->versions[index], is_run ? NULL : note, &is_whole);
    text_release(&output);
    if (estimate != NULL && is_whole) {
        kept_append(asking, question, estimate);
    }
    return estimate;
}

/* People are told once of each estimator. */
static void note_warn(struct asking *asking, const struct suite_external *external, int index,
                      const struct json *estimate)
{
    const struct run_progress *progress = &asking->options->progress;
    const char *note = json_string_or(json_get(estimate, "note"), NULL);
    if (note != NULL && !asking->warned[index] && progress->warned != NULL) {
        struct text text = {0};
        text_format(&text, "the external estimator %s is unknown: %s", external->name, note);
        progress->warned(progress->context, text_string(&text));
        text_release(&text);
        asking->warned[index] = true;
    }
}

/* From the root, because the program is started in the folder of the suite. */
static enum status_code config_find_whole(const struct model_places *places, const char *model,
                                          char config[CONFIG_ROOM], struct status *error)
{
    char path[PATH_MAX];
    enum status_code code = model_config_path(places, model, path, error);
    return code != STATUS_OK || realpath(path, config) != NULL
               ? code
               : status_set_at(error, STATUS_IO, (struct file_place){.path = path}, "%s", strerror(errno));
}

/* The estimate of one external estimator for one case, borrowed. NULL if memory ran out. */
static struct json *estimate_of(struct asking *asking, int index, const struct suite_case *case_, struct arena *arena)
{
    const struct suite_external *external = &asking->options->suite->externals[index];
    char config[CONFIG_ROOM] = "", line[STATUS_LINE_BYTES];
    struct status why;
    bool is_whole = false;
    const struct model_places places = {.catalogue_dir = asking->options->catalogue_dir,
                                        .folder = asking->options->suite->folder};
    bool is_known = !case_searches(case_);
    if (!is_known) {
        status_set(&why, STATUS_INVALID, "the case looks for its batch, and this program is asked before it is known");
    } else if (suite_external_wants(external, "config")) {
        is_known = config_find_whole(&places, case_->identity.model, config, &why) == STATUS_OK;
    }
    if (!is_known) {
        struct json *unknown = external_figures(external, NULL, NULL, status_line(&why, line), &is_whole);
        return unknown != NULL && answer_add(asking, case_->id, unknown) ? asking->answers->estimate : NULL;
    }
    version_ask(asking, external, index);
    const char **words = command_words(external, &case_->identity, config, arena);
    struct json *question = words != NULL ? question_json(external, words, asking->versions[index],
                                                          question_config(external, &places, &case_->identity, config))
                                          : NULL;
    struct text key = {0};
    struct json *estimate = NULL;
    if (question != NULL && json_write(question, 0, &key, NULL) == STATUS_OK && !key.failed) {
        const struct answer *known = answer_find(asking, text_string(&key));
        if (known == NULL &&
            answer_add(asking, text_string(&key), answer_get(asking, external, words, index, question))) {
            known = asking->answers;
        }
        estimate = known != NULL ? known->estimate : NULL;
    }
    text_release(&key);
    json_release(question);
    return estimate;
}

static enum status_code case_ask(struct asking *asking, const struct suite_case *case_, struct json **estimates)
{
    const struct suite *suite = asking->options->suite;
    struct json *object = NULL;
    for (int i = 0; i < suite->external_count && !asking->interrupted; i++) {
        if (!suite_external_applies(&suite->externals[i], &case_->identity)) {
            continue;
        }
        struct arena arena = {0};
        struct json *estimate = estimate_of(asking, i, case_, &arena);
        arena_release(&arena);
        object = object != NULL ? object : json_object_new();
        if (estimate == NULL || !json_set(object, suite->externals[i].name, json_share(estimate))) {
            json_release(object);
            return asking_no_memory(asking);
        }
        note_warn(asking, &suite->externals[i], i, estimate);
    }
    *estimates = object;
    return STATUS_OK;
}

static void asking_release(struct asking *asking, int external_count)
{
    while (asking->answers != NULL) {
        struct answer *next = asking->answers->next;
        json_release(asking->answers->estimate);
        free(asking->answers->key);
        free(asking->answers);
        asking->answers = next;
    }
    for (int i = 0; i < external_count; i++) {
        free(asking->versions != NULL ? asking->versions[i] : NULL);
        free(asking->unusable != NULL ? asking->unusable[i] : NULL);
    }
    free(asking->versions);
    free(asking->unusable);
    free(asking->warned);
}

enum status_code external_estimates_make(const struct run_options *options, const struct run_signals *signals,
                                         struct external_estimates *estimates, bool *interrupted, struct status *error)
{
    const struct suite *suite = options->suite;
    struct asking asking = {.options = options, .signals = signals, .error = error};
    struct external_estimates made = {.count = suite->case_count};
    if (suite->external_count == 0) {
        return STATUS_OK;
    }
    size_t count = (size_t)suite->external_count;
    made.cases = calloc((size_t)suite->case_count, sizeof *made.cases);
    asking.versions = calloc(count, sizeof *asking.versions);
    asking.unusable = calloc(count, sizeof *asking.unusable);
    asking.warned = calloc(count, sizeof *asking.warned);
    enum status_code code = STATUS_OK;
    if (made.cases == NULL || asking.versions == NULL || asking.unusable == NULL || asking.warned == NULL) {
        code = asking_no_memory(&asking);
    } else {
        kept_read(&asking);
    }
    for (int i = 0; code == STATUS_OK && i < suite->case_count && !asking.interrupted; i++) {
        if (case_choice_attempts(options->choice, suite, i) > 0) {
            code = case_ask(&asking, &suite->cases[i], &made.cases[i]);
        }
    }
    asking_release(&asking, suite->external_count);
    if (code != STATUS_OK) {
        external_estimates_release(&made);
        return code;
    }
    *estimates = made;
    *interrupted = asking.interrupted;
    return STATUS_OK;
}

void external_estimates_release(struct external_estimates *estimates)
{
    for (int i = 0; estimates->cases != NULL && i < estimates->count; i++) {
        json_release(estimates->cases[i]);
    }
    free(estimates->cases);
    *estimates = (struct external_estimates){0};
}
