/* Case line: what a child sent, put into the fixed form of a record. Not trusted: a child may have sent anything. */
#include "harness/run/case_line.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "harness/base/clock.h"
#include "harness/device/refusal.h"
#include "harness/record/level.h"
#include "harness/record/outcome.h"
#include "harness/record/verdict_words.h"
#include "harness/run/verdict.h"

#define PEAK_MEMBER(name, stem, ...) LEVEL_PEAK_KEY(stem),

/* What a child may say, in the order of the record. */
static const char *const CHILD_MEMBERS[] = {"family",
                                            "device",
                                            "stages",
                                            "context",
                                            "validity",
                                            LEVEL_COUNTED_TABLE(PEAK_MEMBER) /* their peaks */
                                            "peak_stage",
                                            "categories_at_peak",
                                            "causes",
                                            "saved_for_backward_bytes",
                                            "attention_backend",
                                            "declined_products",
                                            "loss",
                                            "sequence_hash",
                                            "oom",
                                            "constants",
                                            "estimates",
                                            NULL};

/* The same of kinds of cases, or of devices, that have such a member at all. */
static const char *const KIND_MEMBERS[] = {"places", "transfers", "placement", "bounds", "convolutions", NULL};

/* Joins the members of every line that was sent into one object. False if a line is not an object. */
static bool output_join(const struct text *output, struct json *fields)
{
    const char *line = text_string(output);
    bool whole = true;
    while (*line != '\0') {
        size_t length = strcspn(line, "\n");
        struct json *object = NULL;
        bool read = line[length] == '\n' && json_parse_text("child", line, length, &object, NULL) == STATUS_OK &&
                    json_kind(object) == JSON_KIND_OBJECT;
        const char *key = read ? json_key_after(object, NULL) : NULL;
        for (; key != NULL; key = json_key_after(object, key)) {
            json_set(fields, key, json_share(json_get(object, key)));
        }
        whole = whole && read;
        json_release(object);
        line += length + (line[length] == '\n' ? 1 : 0);
    }
    return whole && strlen(text_string(output)) == output->length;
}

#define KILLED_BY_SOMEBODY "the child was killed (SIGKILL) by somebody, not by the kernel for want of memory"
#define CRASHED            "the child crashed: %s (SIG%s)"

/* SIGKILL comes from the kernel if there is no memory left, or from anybody: the kernel counts its own. */
static struct case_ending ending_of_kill(const struct child *child)
{
    struct case_ending ending = {.status = CASE_STATUS_OOM};
    bool known = child->oom_kills_before >= 0 && child->oom_kills_after >= 0;
    if (!known) {
        snprintf(ending.reason, CASE_REASON_BYTES,
                 "the child was killed " REFUSAL_WORDS_KILLED ", as the kernel does when the host has no memory left");
    } else if (child->oom_kills_after > child->oom_kills_before) {
        snprintf(ending.reason, CASE_REASON_BYTES,
                 "the kernel killed the child " REFUSAL_WORDS_KILLED ": host or cgroup has no memory left");
    } else {
        ending.status = CASE_STATUS_ERROR;
        snprintf(ending.reason, CASE_REASON_BYTES, KILLED_BY_SOMEBODY);
    }
    return ending;
}

bool case_went_down(const struct json *line)
{
    static const int asking[] = {SIGTERM, SIGINT, SIGHUP};
    const char *reason = json_string_or(json_get(line, "reason"), "");
    bool is_error = strcmp(json_string_or(json_get(line, "status"), ""), case_status_name(CASE_STATUS_ERROR)) == 0;
    bool went_down = strcmp(reason, KILLED_BY_SOMEBODY) == 0;
    for (size_t i = 0; i < sizeof asking / sizeof asking[0]; i++) {
        char words[CASE_REASON_BYTES];
        snprintf(words, sizeof words, CRASHED, strsignal(asking[i]), sigabbrev_np(asking[i]));
        went_down = went_down || strcmp(reason, words) == 0;
    }
    return is_error && went_down;
}

static struct case_ending ending_of_signal(const struct child *child, int number)
{
    struct case_ending ending = {.status = CASE_STATUS_ERROR};
    const char *name = sigabbrev_np(number);
    if (number == SIGKILL) {
        return ending_of_kill(child);
    }
    snprintf(ending.reason, CASE_REASON_BYTES, CRASHED, strsignal(number), name != NULL ? name : "?");
    return ending;
}

/* How it ended by what the parent saw; the child's own word counts only if it ended well. */
static struct case_ending ending_of(const struct case_job *job, const struct child *child, const struct json *fields,
                                    bool whole)
{
    struct case_ending ending = {.status = CASE_STATUS_ERROR};
    const char *word = json_string_or(json_get(fields, "status"), NULL);
    if (child->timed_out) {
        ending.status = CASE_STATUS_TIMEOUT;
        snprintf(ending.reason, CASE_REASON_BYTES,
                 child->left
                     ? "not done after %.0f s and killed, but still there %.0f s later: it waits for the kernel or "
                       "a driver that hangs"
                     : "not done after %.0f s, so it was ended; raise timeout_seconds",
                 job->case_->settings->timeout_seconds, (double)child->grace_ns / 1e9);
    } else if (child->too_long) {
        snprintf(ending.reason, CASE_REASON_BYTES, "the child sent more than %d bytes and was ended",
                 CHILD_OUTPUT_BYTES_MAXIMUM);
    } else if (WIFSIGNALED(child->wait_status)) {
        ending = ending_of_signal(child, WTERMSIG(child->wait_status));
    } else if (!WIFEXITED(child->wait_status) || WEXITSTATUS(child->wait_status) != 0) {
        snprintf(ending.reason, CASE_REASON_BYTES, "the child ended with exit code %d",
                 WEXITSTATUS(child->wait_status));
    } else if (!whole) {
        snprintf(ending.reason, CASE_REASON_BYTES, "the child sent something that is no result");
    } else if (word == NULL) {
        snprintf(ending.reason, CASE_REASON_BYTES, "the child ended without a result");
    } else if (!case_status_from_name(word, &ending.status)) {
        snprintf(ending.reason, CASE_REASON_BYTES, "the child sent a status that is not known");
    } else {
        snprintf(ending.reason, CASE_REASON_BYTES, "%s", json_string_or(json_get(fields, "reason"), ""));
    }
    return ending;
}

/* The predictions of the suite itself join those of the estimators. */
static bool expectations_add(const struct suite_case *case_, struct json *fields)
{
    const struct suite_settings *settings = case_->settings;
    if (settings->expectation_count == 0) {
        return true;
    }
    if (json_kind(json_get(fields, "estimates")) != JSON_KIND_OBJECT &&
        !json_set(fields, "estimates", json_object_new())) {
        return false;
    }
    struct json *expected = json_object_new();
    for (int i = 0; i < settings->expectation_count; i++) {
        const struct suite_expectation *entry = &settings->expectations[i];
        if (!json_set(expected, quantity_name(entry->quantity), json_integer_new(entry->bytes))) {
            json_release(expected);
            return false;
        }
    }
    return json_set(json_get(fields, "estimates"), "expected", expected);
}

/* So do those of programs that the suite asks. */
static bool externals_add(const struct case_job *job, struct json *fields)
{
    bool made = job->external == NULL || json_kind(json_get(fields, "estimates")) == JSON_KIND_OBJECT ||
                json_set(fields, "estimates", json_object_new());
    const char *name = made ? json_key_after(job->external, NULL) : NULL;
    for (; made && name != NULL; name = json_key_after(job->external, name)) {
        made = json_set(json_get(fields, "estimates"), name, json_share(json_get(job->external, name)));
    }
    return made;
}

static struct json *tags_json(const struct suite_settings *settings)
{
    struct json *tags = json_array_new();
    bool made = tags != NULL;
    for (int i = 0; i < settings->tag_count && made; i++) {
        made = json_append(tags, json_string_new(settings->tags[i]));
    }
    return json_made(tags, made);
}

/* Status, reason and verdicts come last, because verdicts need the other members. */
static bool line_judge(const struct case_job *job, struct case_ending *ending, struct json *line)
{
    struct json *verdicts =
        ending->status == CASE_STATUS_OK ? verdicts_make(job->case_, job->note_calibrated, line) : json_array_new();
    const char *kind = json_string_or(json_get(json_get(line, "device"), "kind"), NULL);
    bool made = json_set(line, "verdicts", verdicts);
    if (verdicts_failed_count(json_get(line, "verdicts")) > 0) {
        struct text reason = {0};
        ending->status = CASE_STATUS_FAIL;
        case_failures_append(&reason, line, CASE_REASON_BYTES);
        snprintf(ending->reason, CASE_REASON_BYTES, "%s", text_string(&reason));
        made = made && !reason.failed;
        text_release(&reason);
    }
    return made && json_set(line, "basis", kind != NULL ? json_string_new(basis_of_device(kind)) : json_null_new()) &&
           json_set(line, "status", json_string_new(case_status_name(ending->status))) &&
           json_set(line, "reason", ending->reason[0] != '\0' ? json_string_new(ending->reason) : json_null_new());
}

/* NULL if memory ran out. */
static struct json *line_build(const struct case_job *job, const struct child *child, struct json *fields,
                               struct case_ending *ending)
{
    double seconds = (double)(clock_ns() - child->started_ns) / 1e9;
    struct json *line = json_object_new();
    bool made =
        json_set(line, "type", json_string_new("case")) && json_set(line, "id", json_string_new(job->case_->id)) &&
        json_set(line, "identity", identity_json(&job->case_->identity)) && json_set(line, "status", json_null_new()) &&
        json_set(line, "reason", json_null_new()) && json_set(line, "attempt", json_integer_new(job->attempt)) &&
        json_set(line, "duration_s", json_real_new(seconds)) && json_set(line, "basis", json_null_new()) &&
        json_set(line, "tags", tags_json(job->case_->settings)) &&
        json_set(line, "suite_line", json_integer_new(job->case_->line)) && externals_add(job, fields) &&
        expectations_add(job->case_, fields);
    for (size_t i = 0; made && CHILD_MEMBERS[i] != NULL; i++) {
        struct json *value = json_get(fields, CHILD_MEMBERS[i]);
        made = json_set(line, CHILD_MEMBERS[i], value != NULL ? json_share(value) : json_null_new());
    }
    for (size_t i = 0; made && KIND_MEMBERS[i] != NULL; i++) {
        struct json *value = json_get(fields, KIND_MEMBERS[i]);
        made = value == NULL || json_set(line, KIND_MEMBERS[i], json_share(value));
    }
    return json_made(line, made && line_judge(job, ending, line));
}

struct case_ending case_ending_read(const struct case_job *job, const struct child *child, struct json **fields)
{
    *fields = json_object_new();
    bool whole = *fields != NULL && output_join(&child->output, *fields);
    return ending_of(job, child, *fields, whole);
}

enum status_code case_line_make(const struct case_job *job, const struct child *child, struct json **line,
                                enum case_status *status, struct status *error)
{
    struct status wrong;
    struct json *fields = NULL;
    struct case_ending ending = case_ending_read(job, child, &fields);
    struct json *made = line_build(job, child, fields, &ending);
    if (made != NULL && record_line_check(made, &wrong) != STATUS_OK) { /* then nothing that it sent is kept */
        char said[STATUS_LINE_BYTES];
        json_release(made);
        json_release(fields);
        fields = json_object_new();
        ending.status = CASE_STATUS_ERROR;
        snprintf(ending.reason, CASE_REASON_BYTES, "the child sent a wrong result: %.400s", status_line(&wrong, said));
        made = line_build(job, child, fields, &ending);
    }
    json_release(fields);
    if (made == NULL || child->output.failed) {
        json_release(made);
        return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for the record of %s", job->case_->id);
    }
    *line = made;
    *status = ending.status;
    return STATUS_OK;
}
