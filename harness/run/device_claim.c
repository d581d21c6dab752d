/* Device claim: a child for each spec that tells which GPU it is, then one lock after the other. What a lock is, is
 * said in device_lock.c; nothing here opens a device. */
#include "harness/run/device_claim.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "harness/base/clock.h"
#include "harness/device/device_spec.h"
#include "harness/run/child.h"

enum { PROBE_SECONDS_MAXIMUM = 60, POLL_MS = 20, WAIT_MS = 200 };

struct claim_name {
    char text[DEVICE_LOCK_NAME_BYTES];
};

static void warn(const struct device_claim_request *request, const char *text)
{
    const struct run_progress *progress = &request->options->progress;
    if (progress->warned != NULL) {
        progress->warned(progress->context, text);
    }
}

/* The first reason stays. */
static void claim_note(const struct device_claim_request *request, struct device_claim *claim, const char *text)
{
    warn(request, text);
    if (claim->note[0] == '\0') {
        snprintf(claim->note, sizeof claim->note, "%s", text);
    }
}

static bool spec_may_be_gpu(const char *text)
{
    struct device_spec spec;
    return device_spec_parse(text, &spec, NULL) == STATUS_OK &&
           (spec.kind == DEVICE_KIND_AUTO || spec.kind == DEVICE_KIND_CUDA);
}

static enum status_code interruption_set(struct status *error)
{
    return status_set(error, STATUS_INTERRUPTED, "interrupted before the first case; nothing was measured");
}

enum status_code device_claim_ask(const struct device_claim_request *request, const char *spec, struct json **answer,
                                  struct status *error)
{
    const struct case_runner prober = {.run = request->options->runner->identify,
                                       .context = request->options->runner->context};
    const struct case_job job = {.case_ = request->case_, .device = spec, .attempt = 1};
    struct child child;
    enum status_code code = child_start(&prober, &job, &request->signals->mask, &child, error);
    if (code != STATUS_OK) {
        return code;
    }
    int64_t latest_ns = child.started_ns + PROBE_SECONDS_MAXIMUM * INT64_C(1000000000);
    child.deadline_ns = child.deadline_ns < latest_ns ? child.deadline_ns : latest_ns;
    while (!child.ended) {
        child_tend(&child);
        if (!child.ended && run_signals_came(request->signals, POLL_MS)) {
            child_kill(&child);
            code = interruption_set(error);
        }
    }
    *answer = NULL;
    if (code == STATUS_OK && !child.left && WIFEXITED(child.wait_status)) {
        json_parse_text("child", text_string(&child.output), child.output.length, answer, NULL);
    }
    child_release(&child);
    return code;
}

/* Keeps what was told of a device for the run line. Nothing is kept of one that is not here. */
static enum status_code device_keep(const char *spec, struct json *answer, struct device_claim *claim,
                                    struct status *error)
{
    if (json_string_or(json_get(answer, "kind"), NULL) == NULL) {
        return STATUS_OK;
    }
    struct json *device = json_object_new();
    bool made = json_set(device, "spec", json_string_new(spec));
    for (const char *key = json_key_after(answer, NULL); key != NULL && made; key = json_key_after(answer, key)) {
        made = json_set(device, key, json_share(json_get(answer, key)));
    }
    return json_append(claim->devices, json_made(device, made))
               ? STATUS_OK
               : status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the devices of a run");
}

/* The lock's name of what a spec stands for; "" if it needs none, or cannot be told. */
static enum status_code spec_name(const struct device_claim_request *request, int index, struct device_claim *claim,
                                  struct claim_name *name, struct status *error)
{
    const char *spec = request->specs[index];
    struct json *answer = request->answers != NULL ? json_share(request->answers[index]) : NULL;
    enum status_code code = answer == NULL ? device_claim_ask(request, spec, &answer, error) : STATUS_OK;
    if (code != STATUS_OK) {
        return code;
    }
    const char *kind = json_string_or(json_get(answer, "kind"), NULL);
    bool may_be_gpu = spec_may_be_gpu(spec);
    bool is_named = may_be_gpu && device_lock_name(json_string_or(json_get(answer, "uuid"), ""),
                                                   json_string_or(json_get(answer, "pci_bus_id"), ""), name->text);
    if (!request->looks_only && may_be_gpu &&
        (answer == NULL || (kind != NULL && strcmp(kind, "cuda") == 0 && !is_named))) {
        char text[STATUS_TEXT_BYTES];
        snprintf(text, sizeof text, "%s is not locked against other runs: which GPU it stands for could not be told",
                 spec);
        claim_note(request, claim, text);
    }
    code = device_keep(spec, answer, claim, error);
    json_release(answer);
    return code;
}

static int name_compare(const void *a, const void *b)
{
    return strcmp(((const struct claim_name *)a)->text, ((const struct claim_name *)b)->text);
}

/* Sorts, and drops what is empty or stands twice. Returns how many are left. */
static int names_settle(struct claim_name *names, int count)
{
    int kept = 0;
    qsort(names, (size_t)count, sizeof *names, name_compare);
    for (int i = 0; i < count; i++) {
        if (names[i].text[0] != '\0' && (kept == 0 || strcmp(names[i].text, names[kept - 1].text) != 0)) {
            names[kept++] = names[i];
        }
    }
    return kept;
}

/* What can be done about a lock that another run has. */
static enum status_code refusal_advise(const struct run_options *options, struct status *error)
{
    char line[STATUS_LINE_BYTES];
    struct status cause;
    if (error == NULL) {
        return STATUS_BUSY;
    }
    cause = *error;
    return status_set(error, STATUS_BUSY, "%.900s; wait for it (--wait-device SECONDS)%s", status_line(&cause, line),
                      options->can_share_device ? ", or start both runs with --share-device" : "");
}

/* Asks again until it is there, the time is over or the run is to end. */
static enum status_code lock_wait(const struct device_claim_request *request, const char *folder, const char *name,
                                  int64_t deadline_ns, struct device_lock *lock, struct status *error)
{
    const struct run_options *options = request->options;
    for (bool told = false;;) {
        enum status_code code = device_lock_take(folder, name, options->share_device, options->folder, lock, error);
        if (code != STATUS_BUSY || clock_ns() >= deadline_ns) {
            return code == STATUS_BUSY ? refusal_advise(options, error) : code;
        }
        if (!told) {
            char text[STATUS_TEXT_BYTES], line[STATUS_LINE_BYTES];
            snprintf(text, sizeof text, "waiting up to %d s: %.900s", options->wait_device_seconds,
                     error != NULL ? status_line(error, line) : name);
            warn(request, text);
            told = true;
        }
        if (run_signals_came(request->signals, WAIT_MS)) {
            return interruption_set(error);
        }
    }
}

static enum status_code names_lock(const struct device_claim_request *request, const struct claim_name *names,
                                   int count, struct device_claim *claim, struct status *error)
{
    const char *wish = request->options->lock_folder;
    const char *folder = wish != NULL ? wish : device_lock_folder();
    int64_t deadline_ns = clock_ns() + request->options->wait_device_seconds * INT64_C(1000000000);
    if (count > 0 && folder == NULL) {
        claim_note(request, claim,
                   "GPUs are not locked against other runs: neither /run/lock nor /tmp is a folder that everybody may "
                   "write into; set ASSAY_LOCK_DIR to one");
        return STATUS_OK;
    }
    enum status_code code = STATUS_OK;
    for (int i = 0; i < count && code == STATUS_OK; i++) {
        struct device_lock *lock = &claim->locks[claim->count];
        struct status cause = {0};
        code = lock_wait(request, folder, names[i].text, deadline_ns, lock, &cause);
        claim->count += code == STATUS_OK;
        if (code == STATUS_IO && wish == NULL) {
            char text[STATUS_TEXT_BYTES], line[STATUS_LINE_BYTES];
            snprintf(text, sizeof text, "%s is not locked against other runs: %.900s", names[i].text,
                     status_line(&cause, line));
            claim_note(request, claim, text);
            code = STATUS_OK;
        } else if (code != STATUS_OK) {
            status_copy(error, code, &cause);
        }
    }
    return code;
}

enum status_code device_claim_take(const struct device_claim_request *request, struct device_claim *claim,
                                   struct status *error)
{
    size_t room = (size_t)request->spec_count + 1;
    struct claim_name *names = calloc(room, sizeof *names);
    struct device_claim taken = {.locks = calloc(room, sizeof *taken.locks),
                                 .devices = json_array_new(),
                                 .shared = request->options->share_device};
    enum status_code code = STATUS_OK;
    if (names == NULL || taken.locks == NULL || taken.devices == NULL) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the locks of %d devices", request->spec_count);
    }
    for (int i = 0; i < request->spec_count && code == STATUS_OK; i++) {
        if (request->options->runner->identify != NULL) {
            code = spec_name(request, i, &taken, &names[i], error);
        }
    }
    if (code == STATUS_OK && !request->looks_only) {
        code = names_lock(request, names, names_settle(names, request->spec_count), &taken, error);
    }
    free(names);
    if (code != STATUS_OK) {
        device_claim_release(&taken);
        return code;
    }
    *claim = taken;
    return STATUS_OK;
}

static struct json *paths_json(const struct device_claim *claim)
{
    struct json *paths = json_array_new();
    bool made = paths != NULL;
    for (int i = 0; i < claim->count && made; i++) {
        made = json_append(paths, json_string_new(claim->locks[i].path));
    }
    return json_made(paths, made);
}

struct json *device_claim_json(const struct device_claim *claim)
{
    if (claim->count == 0 && claim->note[0] == '\0') {
        return json_null_new();
    }
    struct json *object = json_object_new();
    bool made = json_set(object, "shared", json_boolean_new(claim->shared)) &&
                json_set(object, "paths", paths_json(claim)) &&
                json_set(object, "note", claim->note[0] != '\0' ? json_string_new(claim->note) : json_null_new());
    return json_made(object, made);
}

void device_claim_release(struct device_claim *claim)
{
    for (int i = 0; i < claim->count; i++) {
        device_lock_release(&claim->locks[i]);
    }
    free(claim->locks);
    json_release(claim->devices);
    *claim = (struct device_claim){0};
}
