/* Nights: one run line, one line for each attempt, one end line. */
#include "tests/report/nights_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/report/records_fixture.h"

static const int64_t mib = 1024 * 1024;

static const char *or_usual(const char *text, const char *usual)
{
    return text != NULL ? text : usual;
}

struct attempt {
    const struct night *night;
    int number; /* from 1 */
    bool second;
};

/* Of one stage: requested and allocated bytes, reserved ones that are 4 MiB more, readings that have the context
 * too. */
static void stage_write(FILE *file, const struct attempt *attempt, const char *name, int64_t requested_bytes,
                        int64_t process_more_bytes)
{
    const struct night *night = attempt->night;
    int64_t allocated = requested_bytes + 512 + night->allocated_bytes;
    int64_t reserved = requested_bytes + 4 * mib + night->attempt_reserved * (attempt->number - 1);
    int64_t reading = requested_bytes + 4 * mib + 500 * mib + night->context_bytes;
    int64_t process = reading + process_more_bytes + night->attempt_bytes * (attempt->number - 1);
    char device_text[32] = "null", process_text[32] = "null";
    if (!night->shared) {
        snprintf(device_text, sizeof device_text, "%" PRId64, reading + 2 * mib);
    }
    if (!night->unread) {
        snprintf(process_text, sizeof process_text, "%" PRId64, process);
    }
    fprintf(file,
            "\"%s\":{\"requested_bytes\":%" PRId64 ",\"requested_bytes_peak\":%" PRId64 ",\"allocated_bytes\":%" PRId64
            ",\"allocated_bytes_peak\":%" PRId64 ",\"reserved_bytes\":%" PRId64 ",\"reserved_bytes_peak\":%" PRId64
            ",\"device_bytes\":%s,\"process_bytes\":%s,\"process_bytes_peak\":null,\"seconds\":0.1,"
            "\"categories_at_peak\":null}",
            name, requested_bytes, requested_bytes, allocated, allocated, reserved, reserved, device_text,
            process_text);
}

static void figures_write(FILE *file, const struct attempt *attempt)
{
    const struct night *night = attempt->night;
    char device_text[32] = "null", process_text[32] = "null";
    snprintf(device_text, sizeof device_text, "%" PRId64, 502 * mib + night->context_bytes);
    snprintf(process_text, sizeof process_text, "%" PRId64, 500 * mib + night->context_bytes);
    fprintf(file, "\"stages\":{");
    stage_write(file, attempt, "load", 100 * mib, 0);
    if (attempt->second) {
        fprintf(file, ",");
        stage_write(file, attempt, "forward", 60 * mib, night->forward_bytes);
    }
    fprintf(file, "},\"context\":{\"device_bytes\":%s,\"process_bytes\":%s},", night->shared ? "null" : device_text,
            night->unread ? "null" : process_text);
    fprintf(file,
            "\"estimates\":{\"replay\":{\"allocated_bytes_peak\":%" PRId64 "},\"accelerate\":{\"total_bytes\":%" PRId64
            "}},",
            100 * mib + 512, 99 * mib + night->total_bytes);
}

static void attempt_write(FILE *file, const struct attempt *attempt)
{
    const struct night *night = attempt->night;
    const char *status = or_usual(attempt->second ? night->status : night->load_status, "ok");
    bool disturbed = attempt->second && night->disturbance != NULL;
    bool measured = strcmp(status, "ok") == 0 || strcmp(status, "fail") == 0;
    fprintf(file,
            "{\"type\":\"case\",\"id\":\"%s\",\"identity\":{\"model\":\"gpt2\",\"mode\":\"%s\",\"precision\":"
            "\"float32\",\"batch\":%s,\"seq\":%s,\"attention\":null,\"optimizer\":null,\"checkpointing\":null,"
            "\"accumulate\":null,\"logits\":null,\"head\":null},\"status\":\"%s\",\"reason\":null,\"attempt\":%d,"
            "\"duration_s\":1.5,",
            attempt->second ? "gpt2/infer/float32/b8/s512" : "gpt2/load/float32", attempt->second ? "infer" : "load",
            attempt->second ? "8" : "null", attempt->second ? "512" : "null", status, attempt->number);
    fprintf(file,
            "\"device\":{\"kind\":\"cuda\",\"name\":\"%s\",\"spec\":\"cuda:0\",\"target\":\"sm_90\",\"total_bytes\":"
            "150754820096,\"threads\":null,\"driver\":\"%s\",\"runtime\":\"CUDA 12.8\",\"pci_bus_id\":null,\"uuid\":"
            "null},",
            or_usual(night->device, "NVIDIA H200"), or_usual(night->driver, "570.124.06"));
    fprintf(file, "\"validity\":{\"valid\":%s,\"reasons\":%s},", disturbed ? "false" : "true",
            disturbed ? night->disturbance : "[]");
    if (measured) {
        figures_write(file, attempt);
    } else {
        fprintf(file,
                "\"stages\":{},\"context\":{\"device_bytes\":null,\"process_bytes\":18432000},\"estimates\":null,");
    }
    fprintf(file, "\"peak_stage\":null,\"categories_at_peak\":null,\"causes\":null,\"saved_for_backward_bytes\":null,"
                  "\"loss\":null,\"sequence_hash\":null,\"oom\":null,\"verdicts\":[]}\n");
}

static void end_write(FILE *file)
{
    fprintf(file, "{\"type\":\"end\",\"finished\":\"2026-11-21T02:10:00Z\",\"interrupted\":false,\"counts\":{},"
                  "\"outcome\":\"pass\"}\n");
}

void night_write(const char *path, const struct night *night)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    int selected_attempts = night->selected_attempts > 0 ? night->selected_attempts : 1;
    int selected_count = night->listed ? 2 * selected_attempts : night->second_missing ? 1 : 2;
    fprintf(
        file,
        "{\"type\":\"run\",\"schema\":{\"name\":\"assay-record\",\"major\":1,\"minor\":4},\"run_id\":\"%s\","
        "\"started\":\"2026-11-21T02:00:00Z\",\"tool\":{\"name\":\"assay\",\"version\":\"0.1.0\"},\"suite\":{"
        "\"name\":\"nightly\",\"path\":\"nightly.yaml\",\"plan_hash\":\"%s\",\"case_count\":2,\"selected_count\":%d,"
        "\"compare\":%s},\"host\":{\"name\":\"node1\",\"system\":\"Linux\",\"kernel\":\"%s\",\"machine\":\"x86_64\"}",
        or_usual(night->run_id, "90"), or_usual(night->plan_hash, "8d5a0f3b2c4e6172"), selected_count,
        or_usual(night->compare, "null"), or_usual(night->kernel, "6.1.0"));
    if (night->libraries != NULL) {
        fprintf(file, ",\"devices\":[{\"spec\":\"cuda:0\",\"kind\":\"cuda\",\"libraries\":%s}]", night->libraries);
    }
    if (night->variables != NULL) {
        fprintf(file, ",\"variables\":%s", night->variables);
    }
    fprintf(file, "}\n");
    if (night->listed) {
        fprintf(file,
                "{\"type\":\"selected\",\"ids\":[\"gpt2/load/float32\",\"gpt2/infer/float32/b8/s512\"],\"attempts\":"
                "[%d,%d]}\n",
                selected_attempts, selected_attempts);
    }
    for (int second = 0; second < (night->second_missing ? 1 : 2); second++) {
        for (int number = 1; number <= (night->attempts > 0 ? night->attempts : 1); number++) {
            const struct attempt attempt = {.night = night, .number = number, .second = second == 1};
            attempt_write(file, &attempt);
        }
    }
    if (!night->killed) {
        end_write(file);
    }
    assert_int_equal(fclose(file), 0);
}

int nights_make(void **state)
{
    struct nights *nights = calloc(1, sizeof *nights);
    nights->folder = folder_fixture_make();
    snprintf(nights->base, sizeof nights->base, "%s/base.jsonl", nights->folder);
    snprintf(nights->other, sizeof nights->other, "%s/other.jsonl", nights->folder);
    *state = nights;
    return 0;
}

int nights_remove(void **state)
{
    struct nights *nights = *state;
    folder_fixture_remove(nights->folder);
    free(nights);
    return 0;
}

struct text nights_compared(const struct nights *nights, const char *rules, const struct difference_style *style,
                            enum run_outcome *outcome)
{
    struct report *base = NULL, *other = NULL;
    struct difference *difference = NULL;
    struct difference_options options = {.within = -1.0};
    struct text text = {0};
    if (rules != NULL) {
        assert_int_equal(level_rules_parse(rules, &options.rules, NULL), STATUS_OK);
    }
    assert_int_equal(report_open(nights->base, &base, NULL), STATUS_OK);
    assert_int_equal(report_open(nights->other, &other, NULL), STATUS_OK);
    assert_int_equal(difference_make(base, other, &options, &difference, NULL), STATUS_OK);
    assert_int_equal(difference_render(difference, style, &text, NULL), STATUS_OK);
    *outcome = difference_outcome(difference);
    difference_release(difference);
    report_release(base);
    report_release(other);
    return text;
}

void night_check(const struct nights *nights, const struct night *base, const struct night *other, const char *rules,
                 enum run_outcome expected, const char *const *parts)
{
    const struct difference_style style = {.width = 200};
    enum run_outcome outcome = RUN_PASS;
    night_write(nights->base, base);
    night_write(nights->other, other);
    struct text text = nights_compared(nights, rules, &style, &outcome);
    const char *rest = text_string(&text);
    for (; *parts != NULL; parts++) {
        const char *found = strstr(rest, *parts);
        if (found == NULL) {
            fail_msg("'%s' is not in, or not behind what must stand before it:\n%s", *parts, text_string(&text));
        } else {
            rest = found + strlen(*parts);
        }
    }
    if (outcome != expected) {
        fail_msg("the outcome is %s:\n%s", run_outcome_verdict(outcome), text_string(&text));
    }
    text_release(&text);
}
