/* Run verbose: the words of --verbose. All that it says of a case is in its record, too. */
#include "harness/cli/run_verbose.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/cli/device_probe.h"
#include "harness/cli/output.h"
#include "harness/cli/resource_path.h"
#include "harness/device/device_spec.h"
#include "harness/report/escape.h"
#include "harness/report/gnuplot.h"
#include "models/find/catalogue.h"

/* ---- before the first case ---- */

static void resource_tell(const char *what, const char *name)
{
    struct text text = {0};
    resource_places_append(name, &text);
    output_warning("assay: run: %s: %s", what, text_string(&text));
    text_release(&text);
}

static void catalogue_tell(const char *folder)
{
    struct catalogue catalogue = {0};
    struct status error = {0};
    char line[STATUS_LINE_BYTES];
    if (catalogue_read(folder, &catalogue, &error) == STATUS_OK) {
        output_warning("assay: run: the catalogue has %d models; others are looked for as paths, then on the hub",
                       catalogue.count);
    } else {
        output_warning("assay: run: %s", status_line(&error, line));
    }
    catalogue_release(&catalogue);
}

static void device_tell(const char *spec, const char *lock_folder)
{
    struct device_probe probe;
    char line[STATUS_LINE_BYTES], size[SIZE_TEXT_BYTES];
    device_probe(spec, lock_folder, &probe);
    if (probe.end != PROBE_ANSWERED) {
        output_warning("assay: run: device %s: %s", spec,
                       probe.end == PROBE_LATE ? "it did not answer" : "opening it ended the process");
    } else if (probe.opened.code != STATUS_OK || probe.identified.code != STATUS_OK) {
        const struct status *why = probe.identified.code != STATUS_OK ? &probe.identified : &probe.opened;
        output_warning("assay: run: device: %s", status_line(why, line)); /* which begins with its kind */
    } else {
        output_warning("assay: run: device %s: %s, %s, driver %s, %s", spec, probe.properties.name,
                       probe.properties.total_bytes > 0 ? size_format(probe.properties.total_bytes, size)
                                                        : "memory not known",
                       probe.properties.driver[0] != '\0' ? probe.properties.driver : "not known",
                       probe.properties.runtime[0] != '\0' ? probe.properties.runtime : "no runtime");
    }
}

/* Of auto both, as the second is taken where the first does not open. */
static void device_or_auto_tell(const char *wish, const char *lock_folder)
{
    bool is_auto = wish == NULL || strcmp(wish, "auto") == 0;
    if (is_auto) {
        device_tell("cuda", lock_folder);
    }
    device_tell(is_auto ? "host" : wish, lock_folder);
}

/* Those of the suite, each once; one that was asked for stands over them. */
static void devices_tell(const struct run_options *options)
{
    enum { TOLD_MAXIMUM = 16 };
    const char *told[TOLD_MAXIMUM];
    int told_count = 0;
    if (options->device != NULL && strcmp(options->device, "auto") != 0) {
        device_or_auto_tell(options->device, options->lock_folder);
        return;
    }
    for (int i = 0; i < options->suite->case_count && told_count < TOLD_MAXIMUM; i++) {
        const char *wish = options->suite->cases[i].settings->device;
        int same = 0;
        wish = wish != NULL ? wish : "auto";
        while (same < told_count && strcmp(told[same], wish) != 0) {
            same++;
        }
        if (same == told_count) {
            told[told_count++] = wish;
            device_or_auto_tell(wish, options->lock_folder);
        }
    }
}

static void constants_tell(const struct run_options *options)
{
    if (options->constants != NULL) {
        output_warning("assay: run: constants: those of %s, as asked for", options->constants->device.name);
    } else if (options->reference_dir != NULL) {
        resource_tell("constants of the device that is measured, by its name", "results/reference");
    } else {
        output_warning("assay: run: constants: none, as asked for");
    }
}

static void gnuplot_tell(void)
{
    char version[GNUPLOT_VERSION_BYTES], line[STATUS_LINE_BYTES];
    struct status error = {0};
    bool found = gnuplot_version(version, &error) == STATUS_OK;
    output_warning("assay: run: plots: %s", found ? version : status_line(&error, line));
}

void run_surroundings_tell(const struct run_options *options)
{
    output_warning("assay: run: suite: %s, %d cases", options->suite->path, options->suite->case_count);
    resource_tell("models", "models/catalogue");
    catalogue_tell(options->catalogue_dir);
    constants_tell(options);
    devices_tell(options);
    gnuplot_tell();
    output_warning("assay: run: records: %s/records.jsonl", options->folder);
}

/* ---- cases ---- */

static void verbose_warned(void *context, const char *text)
{
    struct text clean = {0}; /* records that it tells of may come from anywhere */
    (void)context;
    terminal_append(&clean, text);
    output_warning("assay: run: %s", text_string(&clean));
    text_release(&clean);
}

static void verbose_started(void *context, const struct suite_case *case_, int attempt, int done, int total)
{
    (void)context;
    output_warning("[%d/%d] starts, attempt %d: %s", done + 1, total, attempt, case_->id);
}

static void verbose_tried(void *context, const struct suite_case *case_, int64_t batch, int done, int total)
{
    (void)context;
    output_warning("[%d/%d] batch %" PRId64 " is tried: %s", done + 1, total, batch, case_->id);
}

/* ", allocated 1.50 GiB" of the peaks that object has. */
static void peaks_append(const struct json *object, struct text *text)
{
    static const char *const levels[] = {"requested", "allocated", "reserved"};
    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        char key[48], size[SIZE_TEXT_BYTES];
        snprintf(key, sizeof key, "%s_bytes_peak", levels[i]);
        int64_t bytes = json_integer_or(json_get(object, key), -1);
        if (bytes >= 0) {
            text_format(text, ", %s %s", levels[i], size_format(bytes, size));
        }
    }
}

static void prediction_append(const struct json *object, struct text *text)
{
    const struct json *estimates = json_get(object, "estimates"), *replay = json_get(estimates, "replay");
    text_format(text, "predicted by %zu estimators", json_count(estimates));
    if (json_get(replay, "allocated_bytes_peak") != NULL) {
        text_append(text, "; replay");
        peaks_append(replay, text);
    }
    bool has_constants = json_kind(json_get(object, "constants")) == JSON_KIND_OBJECT;
    text_append(text, has_constants ? "; with constants of the device" : "; no constants of such a device");
}

/* What an object of a child says, in the order of what it may have; the names of its members if it says something
 * else. */
static void object_append(const struct json *object, struct text *text)
{
    const char *status = json_string_or(json_get(object, "status"), NULL);
    if (json_get(object, "estimates") != NULL) {
        prediction_append(object, text);
    } else if (json_get(object, "allocated_bytes_peak") != NULL) {
        const char *stage = json_string_or(json_get(object, "peak_stage"), NULL);
        text_append(text, stage != NULL ? "measured" : "did not come to its peak");
        peaks_append(object, text);
        text_format(text, "%s%s", stage != NULL ? "; peak in " : "", stage != NULL ? stage : "");
    } else if (json_kind(json_get(object, "oom")) == JSON_KIND_OBJECT) {
        text_format(text, "out of memory in %s", json_string_or(json_get(json_get(object, "oom"), "stage"), "?"));
    } else if (status != NULL) {
        const char *reason = json_string_or(json_get(object, "reason"), "");
        text_format(text, "ends: %s%s%s", status, *reason != '\0' ? ": " : "", reason);
    } else {
        text_append(text, "sends");
        for (const char *key = json_key_after(object, NULL); key != NULL; key = json_key_after(object, key)) {
            text_format(text, " %s", key);
        }
    }
}

static void verbose_told(void *context, const struct suite_case *case_, const struct json *object, double seconds)
{
    struct text said = {0}, clean = {0};
    (void)context;
    object_append(object, &said);
    terminal_append(&clean, text_string(&said));
    output_warning("  %8.3f s  %s: %s", seconds, case_->id, text_string(&clean));
    text_release(&clean);
    text_release(&said);
}

static void figure_append(const char *what, const struct json *figure, struct text *text)
{
    if (json_kind(figure) == JSON_KIND_INTEGER) {
        text_format(text, "%s %" PRId64, what, json_integer_or(figure, 0));
    } else {
        text_format(text, "%s nothing", what);
    }
}

static void verdict_tell(const struct json *verdict)
{
    const struct json *pass = json_get(verdict, "pass");
    struct text said = {0}, clean = {0};
    text_format(&said, "%s %s: ", json_string_or(json_get(verdict, "estimator"), "?"),
                json_string_or(json_get(verdict, "quantity"), "?"));
    figure_append("measured", json_get(verdict, "measured"), &said);
    figure_append(", predicted", json_get(verdict, "predicted"), &said);
    text_format(&said, ": %s",
                pass == NULL || json_kind(pass) == JSON_KIND_NULL ? "not judged"
                : json_boolean_or(pass, false)                    ? "pass"
                                                                  : "fail");
    terminal_append(&clean, text_string(&said));
    output_warning("              %s", text_string(&clean));
    text_release(&clean);
    text_release(&said);
}

static void verbose_ended(void *context, const struct json *case_line, int done, int total)
{
    const struct json *verdicts = json_get(case_line, "verdicts");
    const char *reason = json_string_or(json_get(case_line, "reason"), "");
    struct text clean = {0};
    (void)context;
    for (size_t i = 0; i < json_count(verdicts); i++) {
        verdict_tell(json_at(verdicts, i));
    }
    terminal_append(&clean, reason);
    output_warning("[%d/%d] %s after %.1f s: %s%s%s", done, total, json_string_or(json_get(case_line, "status"), "?"),
                   json_real_or(json_get(case_line, "duration_s"), 0), json_string_or(json_get(case_line, "id"), "?"),
                   *reason != '\0' ? ": " : "", text_string(&clean));
    text_release(&clean);
}

struct run_progress run_progress_verbose(void)
{
    return (struct run_progress){.warned = verbose_warned,
                                 .started = verbose_started,
                                 .tried = verbose_tried,
                                 .told = verbose_told,
                                 .ended = verbose_ended};
}
