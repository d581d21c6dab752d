/* Run lines: where, when and with what a run was made. Not what it measured. */
#include "harness/run/run_line.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/utsname.h>
#include <time.h>

#include "harness/run/run_variables.h"

const char *time_text(char text[TIME_BYTES])
{
    struct tm parts;
    time_t now = time(NULL);
    text[0] = '\0';
    if (gmtime_r(&now, &parts) != NULL) {
        strftime(text, TIME_BYTES, "%Y-%m-%dT%H:%M:%SZ", &parts);
    }
    return text;
}

/* 128 random bits; the clock if the kernel has none to give. */
static const char *run_id_text(char text[RUN_ID_BYTES])
{
    unsigned char bytes[16];
    struct timespec now;
    if (getrandom(bytes, sizeof bytes, GRND_NONBLOCK) != (ssize_t)sizeof bytes) {
        memset(bytes, 0, sizeof bytes);
        clock_gettime(CLOCK_REALTIME, &now);
        memcpy(bytes, &now, sizeof now < sizeof bytes ? sizeof now : sizeof bytes);
    }
    for (size_t i = 0; i < sizeof bytes; i++) {
        snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    }
    return text;
}

static struct json *tool_json(const struct run_options *options)
{
    struct json *tool = json_object_new();
    bool made =
        json_set(tool, "name", json_string_new("assay")) &&
        json_set(tool, "version", json_string_new(options->version != NULL ? options->version : "unknown")) &&
        json_set(tool, "revision", options->revision != NULL ? json_string_new(options->revision) : json_null_new());
    return json_made(tool, made);
}

static struct json *tolerances_json(const struct suite *suite)
{
    struct text words = {0};
    suite_tolerances_append(suite, &words);
    struct json *value = words.failed ? NULL : json_string_new(text_string(&words));
    text_release(&words);
    return value;
}

/* Attempts at the selected cases: "1", "1 to 10". */
static struct json *attempts_json(const struct run_options *options)
{
    char words[32];
    int least = INT_MAX, most = 0;
    for (int i = 0; i < options->suite->case_count; i++) {
        const int count = case_choice_attempts(options->choice, options->suite, i);
        least = count > 0 && count < least ? count : least;
        most = count > most ? count : most;
    }
    snprintf(words, sizeof words, least < most ? "%d to %d" : "%d", most > 0 ? least : 0, most);
    return json_string_new(words);
}

static struct json *suite_json(const struct run_options *options, int total)
{
    const struct suite *suite = options->suite;
    const char *words = options->choice != NULL ? text_string(&options->choice->words) : "";
    struct json *object = json_object_new();
    bool made = json_set(object, "name", json_string_new(suite->name)) &&
                json_set(object, "description", json_string_new(suite->description)) &&
                json_set(object, "path", json_string_new(suite->path)) &&
                json_set(object, "plan_hash", json_string_new(suite->plan_hash)) &&
                json_set(object, "settings_hash", json_string_new(suite->settings_hash)) &&
                json_set(object, "tolerances", tolerances_json(suite)) &&
                json_set(object, "attempts", attempts_json(options)) &&
                json_set(object, "case_count", json_integer_new(suite->case_count)) &&
                json_set(object, "selected_count", json_integer_new(total)) &&
                json_set(object, "filter", words[0] != '\0' ? json_string_new(words) : json_null_new()) &&
                json_set(object, "compare", level_rules_json(&suite->compare));
    return json_made(object, made);
}

/* Null if the run is not one part of several. */
static struct json *shard_json(const struct run_options *options)
{
    if (options->shards == NULL) {
        return json_null_new();
    }
    struct json *object = json_object_new();
    bool made = json_set(object, "index", json_integer_new(options->shard)) &&
                json_set(object, "count", json_integer_new(options->shards->shard_count)) &&
                json_set(object, "plan_hash", json_string_new(options->shards->hash)) &&
                json_set(object, "night", options->night != NULL ? json_string_new(options->night) : json_null_new());
    return json_made(object, made);
}

static struct json *host_json(void)
{
    struct utsname names;
    if (uname(&names) != 0) {
        return json_null_new();
    }
    struct json *host = json_object_new();
    bool made = json_set(host, "name", json_string_new(names.nodename)) &&
                json_set(host, "system", json_string_new(names.sysname)) &&
                json_set(host, "kernel", json_string_new(names.release)) &&
                json_set(host, "machine", json_string_new(names.machine));
    return json_made(host, made);
}

static const char *device_words(const struct run_options *options)
{
    return options->all_gpus ? "cuda:all" : options->device != NULL ? options->device : "auto";
}

/* "none", the hash of those that were asked for, or null: those of each device, as they are found. */
static struct json *constants_json(const struct run_options *options)
{
    return options->constants != NULL       ? json_string_new(options->constants->hash)
           : options->reference_dir != NULL ? json_null_new()
                                            : json_string_new("none");
}

static const char *proof_name(enum run_proof proof)
{
    static const char *const names[] = {
        [RUN_PROOF_NONE] = "none", [RUN_PROOF_REPLAY] = "replay", [RUN_PROOF_ESTIMATORS] = "estimators"};
    return names[proof];
}

/* What decides figures and verdicts besides the suite and the device. */
static bool options_set(struct json *line, const struct run_options *options)
{
    return json_set(line, "fitting", json_boolean_new(options->fitting)) &&
           json_set(line, "note_calibrated", json_boolean_new(options->note_calibrated)) &&
           json_set(line, "shared", json_boolean_new(options->jobs > 1 || options->share_device)) &&
           json_set(line, "retries", json_integer_new(options->retries)) &&
           json_set(line, "proof", json_string_new(proof_name(options->proof))) &&
           json_set(line, "constants", constants_json(options));
}

struct json *run_line_make(const struct run_options *options, const struct device_claim *claim, int total,
                           const struct resumption *resumption)
{
    char started[TIME_BYTES], run_id[RUN_ID_BYTES];
    const char *id = resumption != NULL ? json_string_or(json_get(resumption->run, "run_id"), "") : run_id_text(run_id);
    struct json *line = json_object_new();
    bool made =
        json_set(line, "type", json_string_new("run")) && json_set(line, "schema", record_schema_json()) &&
        json_set(line, "run_id", json_string_new(id)) &&
        json_set(line, "resumption", resumption != NULL ? json_integer_new(resumption->number) : json_null_new()) &&
        json_set(line, "started", json_string_new(time_text(started))) && json_set(line, "tool", tool_json(options)) &&
        json_set(line, "suite", suite_json(options, total)) && json_set(line, "shard", shard_json(options)) &&
        json_set(line, "device", json_string_new(device_words(options))) &&
        json_set(line, "jobs", json_integer_new(options->jobs)) && options_set(line, options) &&
        json_set(line, "devices", json_share(claim->devices)) && json_set(line, "variables", run_variables_json()) &&
        json_set(line, "device_lock", device_claim_json(claim)) && json_set(line, "host", host_json()) &&
        json_set(line, "hardware", options->hardware != NULL ? json_share(options->hardware) : json_null_new());
    return json_made(line, made);
}

struct json *selected_line_make(const struct run_options *options, int *next)
{
    enum { IDS_A_LINE = 1000 }; /* a line of them stays far below what a reader takes */
    const struct suite *suite = options->suite;
    struct json *ids = json_array_new(), *attempts = json_array_new(), *line = json_object_new();
    bool made = true;
    for (int count = 0; made && *next < suite->case_count && count < IDS_A_LINE; ++*next) {
        int attempt_count = case_choice_attempts(options->choice, suite, *next);
        if (attempt_count > 0) {
            made = json_append(ids, json_string_new(suite->cases[*next].id)) &&
                   json_append(attempts, json_integer_new(attempt_count));
            count++;
        }
    }
    made = json_set(line, "type", json_string_new("selected")) && made;
    made = json_set(line, "ids", ids) && made;
    made = json_set(line, "attempts", attempts) && made;
    return json_made(line, made);
}

static struct json *counts_json(const struct run_result *result, int done)
{
    struct json *counts = json_object_new();
    bool made =
        json_set(counts, "total", json_integer_new(result->total)) && json_set(counts, "done", json_integer_new(done));
    for (int i = 0; made && i < CASE_STATUS_COUNT; i++) {
        made = json_set(counts, case_status_name((enum case_status)i), json_integer_new(result->counts[i]));
    }
    return json_made(counts, made);
}

struct json *end_line_make(const struct run_result *result, int done)
{
    char finished[TIME_BYTES];
    struct json *line = json_object_new();
    bool made = json_set(line, "type", json_string_new("end")) &&
                json_set(line, "finished", json_string_new(time_text(finished))) &&
                json_set(line, "interrupted", json_boolean_new(result->interrupted || result->stopped)) &&
                json_set(line, "stopped", result->stopped ? json_string_new("max-failures") : json_null_new()) &&
                json_set(line, "counts", counts_json(result, done)) &&
                json_set(line, "outcome", json_string_new(run_outcome_name(result->outcome))) &&
                json_set(line, "reason", result->reason[0] != '\0' ? json_string_new(result->reason) : json_null_new());
    return json_made(line, made);
}
