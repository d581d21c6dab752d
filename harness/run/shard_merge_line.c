/* Merge line: what the runs of all shards have in common, as one run line. Not their cases. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/run/shard_merge_parts.h"

static struct text value_text(const struct json *value)
{
    struct text text = {0};
    if (json_kind(value) == JSON_KIND_STRING) {
        text_append(&text, json_string_or(value, ""));
    } else if (value == NULL || json_kind(value) == JSON_KIND_NULL) {
        text_append(&text, "unknown");
    } else if (json_write(value, 0, &text, NULL) != STATUS_OK) {
        text_append(&text, "?");
    }
    return text;
}

static bool values_equal(const struct json *a, const struct json *b)
{
    struct text one = value_text(a), other = value_text(b);
    bool equal = json_kind(a) == json_kind(b) && strcmp(text_string(&one), text_string(&other)) == 0;
    text_release(&one);
    text_release(&other);
    return equal;
}

/* One fact of two runs. */
struct fact {
    const struct merge_run *run, *before;
    const struct json *of_run, *of_before;
};

static enum status_code fact_check(const struct merge *merge, const struct fact *fact, const char *what,
                                   struct status *error)
{
    if (values_equal(fact->of_run, fact->of_before)) {
        return STATUS_OK;
    }
    struct text one = value_text(fact->of_run), other = value_text(fact->of_before);
    enum status_code code = status_set(
        error, STATUS_INVALID,
        "%s: shard %d has '%s' %s, and shard %d '%s': their figures are not those of one machine; merge them apart, or "
        "with --allow-mixed",
        merge->sources[fact->run->source].folder, fact->run->shard, text_string(&one), what, fact->before->shard,
        text_string(&other));
    text_release(&one);
    text_release(&other);
    return code;
}

static const struct json *device_of(const struct merge_run *run, const char *spec)
{
    const struct json *devices = json_get(run->line, "devices");
    for (size_t i = 0; i < json_count(devices); i++) {
        if (strcmp(json_string_or(json_get(json_at(devices, i), "spec"), ""), spec) == 0) {
            return json_at(devices, i);
        }
    }
    return NULL;
}

/* The first run before this one that has the device is asked for all: each was held against it. */
static enum status_code device_check(const struct merge *merge, const struct merge_run *run, const struct json *device,
                                     struct status *error)
{
    static const char *const members[] = {"kind", "name", "threads", "driver", "runtime", "libraries", NULL};
    const char *spec = json_string_or(json_get(device, "spec"), "");
    const struct merge_run *before = NULL;
    const struct json *other = NULL;
    for (size_t i = 0; i < merge->run_count && other == NULL; i++) {
        before = &merge->runs[i];
        other = device_of(before, spec);
    }
    enum status_code code = STATUS_OK;
    for (int i = 0; members[i] != NULL && other != NULL && code == STATUS_OK; i++) {
        char what[128];
        const struct fact fact = {run, before, json_get(device, members[i]), json_get(other, members[i])};
        snprintf(what, sizeof what, "as %s of device %.64s", members[i], spec);
        code = fact_check(merge, &fact, what, error);
    }
    return code;
}

enum status_code merge_environment_check(const struct merge *merge, const struct merge_run *run, struct status *error)
{
    if (merge->run_count == 0) {
        return STATUS_OK;
    }
    const struct merge_run *before = &merge->runs[0];
    const struct json *tool = json_get(run->line, "tool"), *earlier = json_get(before->line, "tool");
    const struct json *devices = json_get(run->line, "devices");
    const struct fact version = {run, before, json_get(tool, "version"), json_get(earlier, "version")};
    const struct fact revision = {run, before, json_get(tool, "revision"), json_get(earlier, "revision")};
    enum status_code code = fact_check(merge, &version, "as version of assay", error);
    if (code == STATUS_OK) {
        code = fact_check(merge, &revision, "as revision of assay", error);
    }
    for (size_t i = 0; i < json_count(devices) && code == STATUS_OK; i++) {
        code = device_check(merge, run, json_at(devices, i), error);
    }
    return code;
}

/* ---- the line ---- */

/* That of all runs; null where they differ. */
static bool common_set(const struct merge *merge, struct json *line, const char *key)
{
    bool equal = true;
    for (size_t i = 1; i < merge->run_count; i++) {
        equal = equal && values_equal(json_get(merge->runs[0].line, key), json_get(merge->runs[i].line, key));
    }
    return json_set(line, key, equal ? json_copy_new(json_get(merge->runs[0].line, key)) : json_null_new());
}

/* A version that is not one stands as "several", a revision as unknown. */
static struct json *tool_json(const struct merge *merge)
{
    struct json *tool = json_copy_new(json_get(merge->runs[0].line, "tool"));
    bool made = tool != NULL;
    for (size_t i = 1; i < merge->run_count && made; i++) {
        const struct json *other = json_get(merge->runs[i].line, "tool");
        made = (values_equal(json_get(tool, "version"), json_get(other, "version")) ||
                json_set(tool, "version", json_string_new("several"))) &&
               (values_equal(json_get(tool, "revision"), json_get(other, "revision")) ||
                json_set(tool, "revision", json_null_new()));
    }
    return json_made(tool, made);
}

/* Those variables that are set alike everywhere. */
static struct json *variables_json(const struct merge *merge)
{
    const struct json *first = json_get(merge->runs[0].line, "variables");
    struct json *object = json_object_new();
    bool made = object != NULL;
    for (const char *key = json_key_after(first, NULL); key != NULL && made; key = json_key_after(first, key)) {
        bool equal = true;
        for (size_t i = 1; i < merge->run_count; i++) {
            equal =
                equal && values_equal(json_get(first, key), json_get(json_get(merge->runs[i].line, "variables"), key));
        }
        made = !equal || json_set(object, key, json_copy_new(json_get(first, key)));
    }
    return json_made(object, made);
}

/* Whether the list has a device that differs from this one in nothing but which of its kind it is. */
static struct json *alike_in(const struct json *list, const struct json *device)
{
    static const char *const members[] = {"spec", "kind", "name", "threads", "driver", "runtime", "libraries", NULL};
    for (size_t i = 0; i < json_count(list); i++) {
        bool alike = true;
        for (int k = 0; members[k] != NULL; k++) {
            alike = alike && values_equal(json_get(json_at(list, i), members[k]), json_get(device, members[k]));
        }
        if (alike) {
            return json_at(list, i);
        }
    }
    return NULL;
}

/* Each class of devices once; which GPU it was is told where all were the same one. */
static struct json *devices_json(const struct merge *merge)
{
    static const char *const own[] = {"uuid", "pci_bus_id", NULL};
    struct json *list = json_array_new();
    bool made = list != NULL;
    for (size_t i = 0; i < merge->run_count; i++) {
        const struct json *devices = json_get(merge->runs[i].line, "devices");
        for (size_t k = 0; k < json_count(devices) && made; k++) {
            const struct json *device = json_at(devices, k);
            struct json *alike = alike_in(list, device);
            made = alike != NULL || json_append(list, json_copy_new(device));
            for (int m = 0; alike != NULL && own[m] != NULL && made; m++) {
                made = values_equal(json_get(alike, own[m]), json_get(device, own[m])) ||
                       json_set(alike, own[m], json_null_new());
            }
        }
    }
    return json_made(list, made);
}

/* Which run each shard's cases come from. */
static struct json *runs_json(const struct merge *merge)
{
    struct json *list = json_array_new();
    bool made = list != NULL;
    for (size_t i = 0; i < merge->run_count && made; i++) {
        const struct merge_run *run = &merge->runs[i];
        const struct json *host = json_get(json_get(run->line, "host"), "name");
        const struct json *night = json_get(json_get(run->line, "shard"), "night");
        struct json *object = json_object_new();
        made = json_set(object, "shard", json_integer_new(run->shard)) &&
               json_set(object, "run_id", json_string_new(run->run_id)) &&
               json_set(object, "started", json_string_new(run->started)) &&
               json_set(object, "finished", run->finished != NULL ? json_string_new(run->finished) : json_null_new()) &&
               json_set(object, "host", host != NULL ? json_copy_new(host) : json_null_new()) &&
               json_set(object, "night", night != NULL ? json_copy_new(night) : json_null_new()) &&
               json_set(object, "resumptions", json_share(run->resumptions));
        made = json_append(list, json_made(object, made));
    }
    return json_made(list, made);
}

static struct json *merged_json(const struct merge *merge)
{
    struct json *object = json_object_new();
    bool made = json_set(object, "plan_hash", json_string_new(merge->plan.hash)) &&
                json_set(object, "count", json_integer_new(merge->plan.shard_count)) &&
                json_set(object, "runs", runs_json(merge));
    return json_made(object, made);
}

static struct json *suite_json(const struct merge *merge, int64_t attempt_count)
{
    struct json *suite = json_copy_new(json_get(merge->runs[0].line, "suite"));
    bool made = json_set(suite, "selected_count", json_integer_new(attempt_count)) &&
                json_set(suite, "filter",
                         merge->plan.choice[0] != '\0' ? json_string_new(merge->plan.choice) : json_null_new());
    return json_made(suite, made);
}

struct json *merge_run_line(const struct merge *merge)
{
    char run_id[RUN_ID_BYTES];
    int64_t attempt_count = 0;
    const char *started = merge->runs[0].started;
    for (int i = 0; i < merge->plan.case_count; i++) {
        attempt_count += merge->plan.cases[i].attempts;
    }
    for (size_t i = 0; i < merge->run_count; i++) {
        started = strcmp(merge->runs[i].started, started) < 0 ? merge->runs[i].started : started;
    }
    merge_run_id(merge, run_id);
    struct json *line = json_copy_new(merge->runs[0].line);
    bool made = json_set(line, "run_id", json_string_new(run_id)) &&
                json_set(line, "started", json_string_new(started)) &&
                json_set(line, "suite", suite_json(merge, attempt_count)) && json_set(line, "shard", json_null_new()) &&
                json_set(line, "merged", merged_json(merge)) && json_set(line, "devices", devices_json(merge)) &&
                json_set(line, "variables", variables_json(merge)) && json_set(line, "device_lock", json_null_new()) &&
                json_set(line, "tool", tool_json(merge)) && common_set(merge, line, "host") &&
                common_set(merge, line, "hardware");
    return json_made(line, made);
}
