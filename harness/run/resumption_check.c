/* Resumption check: a run line held against what it would be today, and what its cases used against what is here. Reads
 * no records. */
#include <stdio.h>
#include <string.h>

#include "harness/run/resumption.h"
#include "harness/run/run_line.h"

enum { VALUE_SHOWN = 100 };

/* ---- is it the same run? ---- */

/* What must be equal in the run lines, and what its user knows it as. */
static const struct {
    const char *object; /* in which the member is; NULL: the line */
    const char *key, *words;
} SAME[] = {
    {"suite", "name", "the suite"},
    {"suite", "plan_hash", "the hash of the suite's cases"},
    {"suite", "settings_hash", "the hash of the suite's settings"},
    {"suite", "filter", "what --filter, --not, --shard and --last-failed choose"},
    {"shard", "plan_hash", "the plan of the shards"},
    {"suite", "selected_count", "the number of attempts"},
    {"tool", "version", "the version of assay"},
    {"tool", "revision", "the revision of assay"},
    {NULL, "device", "--device"},
    {NULL, "constants", "--constants"},
    {NULL, "fitting", "--fitting"},
    {NULL, "note_calibrated", "--note-calibrated"},
    {NULL, "shared", "a device that is shared (--jobs, --share-device)"},
    {NULL, "proof", "--prove"},
};

/* Environment variables that say which GPU is taken, and not what it does. */
static const char *const PLACES_ALONE[] = {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", NULL};

/* Of a device: what its figures depend on. Which one of several alike it is, is no matter. */
static const char *const DEVICE_KEYS[] = {"kind", "name", "threads", "driver", "runtime", "libraries", NULL};

/* The value as people read it. */
static void value_append(struct text *text, const struct json *value)
{
    if (json_kind(value) == JSON_KIND_STRING) {
        text_append(text, json_string_or(value, ""));
    } else if (value == NULL || json_kind(value) == JSON_KIND_NULL || json_write(value, 0, text, NULL) != STATUS_OK) {
        text_append(text, "not set");
    }
}

static enum status_code refuse(const struct run_options *options, const struct json *run, const char *words,
                               const struct text *then, const struct text *now, struct status *error)
{
    if (then->failed || now->failed) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "%s: no memory to resume its run", options->folder);
    }
    return status_set(error, STATUS_INVALID,
                      "--resume: the run of %.40s in %.300s cannot go on: %s was %.*s, and is %.*s; give what it was "
                      "begun with, or leave --resume out, which begins another run",
                      json_string_or(json_get(run, "started"), ""), options->folder, words, VALUE_SHOWN,
                      text_string(then), VALUE_SHOWN, text_string(now));
}

static enum status_code values_compare(const struct run_options *options, const struct json *run, const char *words,
                                       const struct json *then, const struct json *now, struct status *error)
{
    struct text before = {0}, today = {0};
    value_append(&before, then);
    value_append(&today, now);
    enum status_code code = STATUS_OK;
    if (before.failed || today.failed || strcmp(text_string(&before), text_string(&today)) != 0) {
        code = refuse(options, run, words, &before, &today, error);
    }
    text_release(&before);
    text_release(&today);
    return code;
}

static bool is_of_places_alone(const char *name)
{
    bool found = false;
    for (size_t i = 0; PLACES_ALONE[i] != NULL; i++) {
        found = found || strcmp(PLACES_ALONE[i], name) == 0;
    }
    return found;
}

/* The variables of one line, each compared with that of the other; those that only the other has are left to it. */
static enum status_code variables_compare(const struct run_options *options, const struct json *run,
                                          const struct json *names, const struct json *now, struct status *error)
{
    const struct json *then = json_get(run, "variables");
    enum status_code code = STATUS_OK;
    for (const char *name = json_key_after(names, NULL); name != NULL && code == STATUS_OK;
         name = json_key_after(names, name)) {
        if (!is_of_places_alone(name)) {
            code = values_compare(options, run, name, json_get(then, name), json_get(now, name), error);
        }
    }
    return code;
}

static bool is_of_choice(const char *key)
{
    return strcmp(key, "filter") == 0 || strcmp(key, "selected_count") == 0;
}

/* What can be compared before a device is asked. */
static enum status_code lines_compare(const struct run_options *options, const struct json *run, const struct json *own,
                                      struct status *error)
{
    enum status_code code = STATUS_OK;
    for (size_t i = 0; i < sizeof SAME / sizeof SAME[0] && code == STATUS_OK; i++) {
        const struct json *then = SAME[i].object != NULL ? json_get(run, SAME[i].object) : run;
        const struct json *now = SAME[i].object != NULL ? json_get(own, SAME[i].object) : own;
        code =
            values_compare(options, run, SAME[i].words, json_get(then, SAME[i].key), json_get(now, SAME[i].key), error);
        if (code == STATUS_INVALID && is_of_choice(SAME[i].key)) {
            status_extend(error, "; without --filter, --not, --repeat, --shard and --last-failed it goes on with the "
                                 "cases that it chose");
        }
    }
    const struct json *variables = json_get(own, "variables");
    if (code == STATUS_OK) {
        code = variables_compare(options, run, json_get(run, "variables"), variables, error);
    }
    return code == STATUS_OK ? variables_compare(options, run, variables, variables, error) : code;
}

enum status_code resumption_run_check(const struct run_options *options, const struct json *run, struct status *error)
{
    struct device_claim nothing = {.devices = json_array_new()};
    struct run_options plain = *options;
    int total = options->choice != NULL ? options->choice->attempt_count : 0;
    for (int i = 0; options->choice == NULL && i < options->suite->case_count; i++) {
        total += case_choice_attempts(NULL, options->suite, i);
    }
    plain.hardware = NULL;
    struct json *own = run_line_make(&plain, &nothing, total, NULL);
    enum status_code code = own != NULL ? lines_compare(options, run, own, error)
                                        : status_set(error, STATUS_OUT_OF_MEMORY, "no memory for a record");
    json_release(own);
    json_release(nothing.devices);
    return code;
}

static const struct json *device_of(const struct json *devices, const char *spec)
{
    for (size_t i = 0; i < json_count(devices); i++) {
        const struct json *device = json_at(devices, i);
        if (strcmp(json_string_or(json_get(device, "spec"), ""), spec) == 0) {
            return device;
        }
    }
    return NULL;
}

/* A device that one of both lacks: `device cuda:0 was "NVIDIA H200", and is not here`. */
static enum status_code presence_compare(const struct run_options *options, const struct json *run, const char *spec,
                                         const struct json *then, const struct json *now, struct status *error)
{
    if ((then == NULL) == (now == NULL)) {
        return STATUS_OK;
    }
    char words[VALUE_SHOWN];
    struct text before = {0}, today = {0};
    snprintf(words, sizeof words, "device %.60s", spec);
    text_append(&before, then != NULL ? json_string_or(json_get(then, "name"), "there") : "not there");
    text_append(&today, now != NULL ? json_string_or(json_get(now, "name"), "here") : "not here");
    enum status_code code = refuse(options, run, words, &before, &today, error);
    text_release(&before);
    text_release(&today);
    return code;
}

/* Those of one list, each against the device of the other that the same spec stood for. */
static enum status_code devices_compare(const struct run_options *options, const struct json *run,
                                        const struct json *specs, const struct json *now, struct status *error)
{
    enum status_code code = STATUS_OK;
    for (size_t i = 0; i < json_count(specs) && code == STATUS_OK; i++) {
        const char *spec = json_string_or(json_get(json_at(specs, i), "spec"), "");
        const struct json *then_device = device_of(json_get(run, "devices"), spec), *now_device = device_of(now, spec);
        code = presence_compare(options, run, spec, then_device, now_device, error);
        for (size_t k = 0; DEVICE_KEYS[k] != NULL && code == STATUS_OK; k++) {
            char words[VALUE_SHOWN];
            snprintf(words, sizeof words, "the %s of device %.60s", DEVICE_KEYS[k], spec);
            code = values_compare(options, run, words, json_get(then_device, DEVICE_KEYS[k]),
                                  json_get(now_device, DEVICE_KEYS[k]), error);
        }
    }
    return code;
}

enum status_code resumption_devices_check(const struct run_options *options, const struct resumption *resumption,
                                          const struct json *devices, struct status *error)
{
    const struct json *run = resumption->run;
    enum status_code code = devices_compare(options, run, json_get(run, "devices"), devices, error);
    return code == STATUS_OK ? devices_compare(options, run, devices, devices, error) : code;
}

/* ---- constants ---- */

static const char *const CLASS_KEYS[] = {"kind", "name", "threads", NULL};

static bool values_are_equal(const struct json *one, const struct json *other)
{
    struct text left = {0}, right = {0};
    value_append(&left, one);
    value_append(&right, other);
    bool equal = !left.failed && !right.failed && strcmp(text_string(&left), text_string(&right)) == 0;
    text_release(&left);
    text_release(&right);
    return equal;
}

/* Whether the line says which constants were used. Those without are null in lines of children that never came to
 * predict, and of placed cases, which have none. */
static bool line_has_constants(const struct json *line)
{
    bool has_predictions = json_get(json_get(line, "estimates"), "replay") != NULL; /* others may come from elsewhere */
    bool is_placed = json_kind(json_get(line, "places")) == JSON_KIND_ARRAY;
    bool has_used = json_kind(json_get(line, "constants")) == JSON_KIND_OBJECT;
    return json_kind(json_get(line, "device")) == JSON_KIND_OBJECT && (has_used || (has_predictions && !is_placed));
}

bool resumption_constants_note(struct json *list, const struct json *line)
{
    if (!line_has_constants(line)) {
        return true;
    }
    const struct json *device = json_get(line, "device");
    const struct json *hash = json_get(json_get(line, "constants"), "hash");
    for (size_t i = 0; i < json_count(list); i++) {
        bool equal = values_are_equal(json_get(json_at(list, i), "hash"), hash);
        for (size_t k = 0; CLASS_KEYS[k] != NULL; k++) {
            equal =
                equal && values_are_equal(json_get(json_at(list, i), CLASS_KEYS[k]), json_get(device, CLASS_KEYS[k]));
        }
        if (equal) {
            return true;
        }
    }
    struct json *note = json_object_new();
    bool made = json_set(note, "hash", hash != NULL ? json_copy_new(hash) : json_null_new());
    for (size_t k = 0; CLASS_KEYS[k] != NULL && made; k++) {
        const struct json *value = json_get(device, CLASS_KEYS[k]);
        made = json_set(note, CLASS_KEYS[k], value != NULL ? json_copy_new(value) : json_null_new());
    }
    return json_append(list, json_made(note, made));
}

enum status_code resumption_constants_check(const struct run_options *options, const struct resumption *resumption,
                                            struct status *error)
{
    enum status_code code = STATUS_OK;
    bool are_found = options->constants == NULL && options->reference_dir != NULL; /* else the run line has them */
    for (size_t i = 0; are_found && i < json_count(resumption->constants) && code == STATUS_OK; i++) {
        const struct json *then = json_at(resumption->constants, i);
        const char *name = json_string_or(json_get(then, "name"), "");
        struct constants found;
        bool is_found = false;
        code = constants_find(options->reference_dir, json_string_or(json_get(then, "kind"), ""), name,
                              json_integer_or(json_get(then, "threads"), 0), &found, &is_found, error);
        struct json *now = code == STATUS_OK && is_found ? json_string_new(found.hash) : NULL;
        if (code == STATUS_OK) {
            char words[VALUE_SHOWN];
            snprintf(words, sizeof words, "the hash of the constants of %.60s", name);
            code = values_compare(options, resumption->run, words, json_get(then, "hash"), now, error);
        }
        json_release(now);
    }
    return code;
}
