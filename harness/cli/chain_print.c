/* What assay chain prints, for people and as one JSON document: layout and names alone. */
#include <inttypes.h>
#include <stdio.h>

#include "harness/base/size.h"
#include "harness/cli/chain_case.h"
#include "harness/cli/model_notes.h"
#include "harness/cli/placed_json.h"
#include "harness/cli/placed_lines.h"
#include "harness/placement/plan_json.h"
#include "models/config/family.h"
#include "models/find/saved_layout.h"
#include "models/workload/workload_tape.h"

enum { NUMBER_BYTES = 16 };

/* -- of one model */

/* Its weights and buffers: once if they are tied. */
static int64_t weight_bytes(const struct chain_case *chain, int at)
{
    const struct chain_model *one = &chain->models[at];
    enum dtype precision = precision_dtype(one->workload.precision);
    int64_t bytes = 0;
    for (int i = 0; i < one->skeleton.tensor_count; i++) {
        const struct skeleton_tensor *tensor = &one->skeleton.tensors[i];
        bytes += tensor->tied_to < 0 ? tensor->element_count * dtype_bytes(saved_dtype(tensor, precision)) : 0;
    }
    return bytes;
}

/* The model's pass in the second turn; NULL: it did not end. */
static const struct replay_stage *pass_ended(const struct chain_case *chain, const struct placed_outcome *outcome,
                                             int at)
{
    return outcome->forward_count > 1 + (CHAIN_TURNS - 1) * chain->count + at ? &outcome->passes[at] : NULL;
}

/* -- lines */

static void heading_append(const struct chain_case *chain, struct text *text)
{
    char gpu[DEVICE_TEXT_BYTES];
    text_format(
        text, "%d model%s in turn on %s, each sent to the cpu when the next one runs%s, as on %s\n", chain->count,
        chain->count == 1 ? "" : "s", placement_device_name(chain->placed.devices[CHAIN_DEVICE], gpu),
        chain->question.plan.form == CHAIN_KEEPS_LAST ? "; the last one stays" : "", chain->question.target->name);
    text_append(text, !chain->runs                      ? "predicted by a replay; --run carries it out\n\n"
                      : chain->ground == PLACED_ON_HOST ? "carried out: the host stands for the GPU\n\n"
                                                        : "carried out on a GPU of this machine\n\n");
    for (int i = 0; i < chain->count; i++) {
        const struct chain_model *one = &chain->models[i];
        text_format(text, "%d  %s (%s) in %s: batch %" PRId64, i + 1, one->model.config.name,
                    one->skeleton.head == HEAD_BARE ? "bare" : "with head", precision_name(one->workload.precision),
                    one->workload.batch);
        if (!one->model.config.family->is_image) {
            text_format(text, ", seq %" PRId64, one->workload.seq);
        }
        text_append(text, "\n");
    }
}

static void peak_line(const struct chain_case *chain, const char *name, int64_t bytes,
                      const struct replay_stage *const stages[2], struct text *text)
{
    const struct replay_stage *predicted = stages[0], *measured = stages[1];
    char size[SIZE_TEXT_BYTES];
    bool is_same =
        predicted != NULL && measured != NULL ? placed_peaks_equal(predicted, measured) : predicted == measured;
    text_format(text, "%-5s %11s", name, size_or_dash(bytes, size));
    if (predicted != NULL) {
        placed_peaks_append(predicted, text);
    } else {
        text_format(text, "%36s", "did not end");
    }
    text_append(text, !chain->runs ? "\n" : is_same ? "  the same\n" : "  differs:\n");
    if (chain->runs && !is_same) {
        text_format(text, "%17s", "measured");
        if (measured != NULL) {
            placed_peaks_append(measured, text);
        }
        text_append(text, measured != NULL ? "\n" : "  did not end\n");
    }
}

static void peaks_append(const struct chain_case *chain, struct text *text)
{
    struct replay_stage peaks[2];
    char gpu[DEVICE_TEXT_BYTES];
    text_format(text, "\nPeaks on %s while each runs, predicted\n%-5s %11s",
                placement_device_name(chain->placed.devices[CHAIN_DEVICE], gpu), "model", "weights");
    placed_peaks_head(chain->runs, text);
    for (int i = 0; i < chain->count; i++) {
        char number[NUMBER_BYTES];
        const struct replay_stage *const stages[2] = {pass_ended(chain, &chain->predicted, i),
                                                      chain->runs ? pass_ended(chain, &chain->measured, i) : NULL};
        snprintf(number, sizeof number, "%d", i + 1);
        peak_line(chain, number, weight_bytes(chain, i), stages, text);
    }
    const struct replay_stage *const stages[2] = {
        chain_peak(&chain->placed, &chain->predicted, &peaks[0]) ? &peaks[0] : NULL,
        chain->runs && chain_peak(&chain->placed, &chain->measured, &peaks[1]) ? &peaks[1] : NULL};
    peak_line(chain, "chain", chain->placed.placed_bytes[CHAIN_HOST], stages, text);
}

static void devices_append(const struct chain_case *chain, struct text *text)
{
    text_format(text, "\n%-6s %11s %11s %11s\n", "device", "budget", "needs", "left");
    for (int i = 0; i < CHAIN_PLACES; i++) {
        char name[DEVICE_TEXT_BYTES], budget[SIZE_TEXT_BYTES], need[SIZE_TEXT_BYTES], left[SIZE_TEXT_BYTES + 1];
        text_format(text, "%-6s %11s %11s %11s\n", placement_device_name(chain->placed.devices[i], name),
                    size_or_dash(chain->placed.budget_bytes[i], budget), size_format(chain->need_bytes[i], need),
                    placed_left_format(chain->placed.budget_bytes[i], chain->need_bytes[i], left));
    }
}

static void refusal_append(const struct chain_case *chain, const struct placed_outcome *outcome, struct text *text)
{
    int link = chain_refused_link(&chain->placed, outcome);
    placed_refusal_append(&chain->placed, outcome, text);
    if (link >= 0) {
        text_format(text, "that was model %d, %s\n", link + 1, chain->models[link].model.config.name);
    }
}

static void verdict_append(const struct chain_case *chain, struct text *text)
{
    bool agrees = chain_case_agrees(chain);
    if (chain->predicted.fits && (!chain->runs || chain->measured.fits)) {
        text_format(text, "fits: %s%s\n", chain->runs ? "it ran" : "it would run",
                    chain->runs && agrees ? ", with the predicted bytes" : "");
        return;
    }
    if (!chain->predicted.fits && !(chain->runs && agrees)) {
        text_append(text, chain->runs ? "predicted: " : "");
        refusal_append(chain, &chain->predicted, text);
    }
    if (chain->runs && !chain->measured.fits) {
        text_append(text, agrees ? "as predicted, " : "measured: ");
        refusal_append(chain, &chain->measured, text);
    }
}

void chain_lines(const struct chain_case *chain, struct text *text)
{
    char gpu[DEVICE_TEXT_BYTES], all[SIZE_TEXT_BYTES], turn[SIZE_TEXT_BYTES];
    const struct placed_outcome *outcome = chain->runs ? &chain->measured : &chain->predicted;
    heading_append(chain, text);
    peaks_append(chain, text);
    devices_append(chain, text);
    text_format(text, "\nwith all models on %s all the time it would need %s; in turn it needs %s\n",
                placement_device_name(chain->placed.devices[CHAIN_DEVICE], gpu),
                size_format(chain->resident_need_bytes, all), size_format(chain->need_bytes[CHAIN_DEVICE], turn));
    placed_copies_append(&chain->placed, &outcome->result,
                         outcome->fits ? "copied by two turns:" : "copied up to the refusal:", text);
    verdict_append(chain, text);
}

/* -- JSON */

static struct json *pass_json(const struct chain_case *chain, const struct placed_outcome *outcome, int at)
{
    const struct replay_stage *pass = pass_ended(chain, outcome, at);
    return pass != NULL ? placed_stage_json(pass) : json_null_new();
}

static struct json *model_json(const struct chain_case *chain, int at)
{
    const struct chain_model *one = &chain->models[at];
    const struct workload *workload = &one->workload;
    struct json *object = json_object_new();
    bool made = json_set(object, "model", json_string_new(one->model.config.name)) &&
                json_set(object, "head", json_string_new(head_name(one->skeleton.head))) &&
                json_set(object, "precision", json_string_new(precision_name(workload->precision))) &&
                json_set(object, "batch", json_integer_new(workload->batch)) &&
                json_set(object, "seq",
                         one->model.config.family->is_image ? json_null_new() : json_integer_new(workload->seq)) &&
                json_set(object, "weight_bytes", json_integer_new(weight_bytes(chain, at))) &&
                json_set(object, "predicted", pass_json(chain, &chain->predicted, at)) &&
                json_set(object, "measured", chain->runs ? pass_json(chain, &chain->measured, at) : json_null_new());
    return json_made(object, made);
}

static struct json *device_json(const struct chain_case *chain, int place)
{
    struct json *object = json_object_new();
    bool made = json_set(object, "device", placement_device_json(chain->placed.devices[place])) &&
                json_set(object, "spec", chain->runs ? json_string_new(chain->lanes.specs[place]) : json_null_new()) &&
                json_set(object, "budget_bytes", bytes_or_null_json(chain->placed.budget_bytes[place])) &&
                json_set(object, "need_bytes", json_integer_new(chain->need_bytes[place]));
    return json_made(object, made);
}

/* The members of an outcome, named by what it is: "predicted_fits". */
static bool outcome_set(const struct chain_case *chain, const struct placed_outcome *outcome, const char *what,
                        struct json *document)
{
    struct replay_stage peak;
    char key[64];
    int link = chain_refused_link(&chain->placed, outcome);
    struct json *refusal = placed_refusal_json(&chain->placed, outcome);
    bool has_peak = chain_peak(&chain->placed, outcome, &peak);
    bool made = outcome->fits || json_set(refusal, "model", link >= 0 ? json_integer_new(link + 1) : json_null_new());
    snprintf(key, sizeof key, "%s_out_of_memory", what);
    made = json_set(document, key, json_made(refusal, made)) && made;
    snprintf(key, sizeof key, "%s_fits", what);
    made = made && json_set(document, key, json_boolean_new(outcome->fits));
    snprintf(key, sizeof key, "%s_peak", what);
    made = made && json_set(document, key, has_peak ? placed_stage_json(&peak) : json_null_new());
    snprintf(key, sizeof key, "%s_copies", what);
    return made &&
           json_set(document, key, placed_copies_json(&chain->placed, &outcome->result, outcome == &chain->measured));
}

struct json *chain_json(const struct chain_case *chain)
{
    struct json *document = json_object_new(), *models = json_array_new(), *devices = json_array_new();
    bool made = true;
    for (int i = 0; i < chain->count; i++) {
        made = json_append(models, model_json(chain, i)) && made;
    }
    for (int i = 0; i < CHAIN_PLACES; i++) {
        made = json_append(devices, device_json(chain, i)) && made;
    }
    made = json_set(document, "models", models) && made;
    made = json_set(document, "devices", devices) && made;
    made = made && json_set(document, "keeps_last", json_boolean_new(chain->question.plan.form == CHAIN_KEEPS_LAST)) &&
           json_set(document, "resident_need_bytes", json_integer_new(chain->resident_need_bytes)) &&
           outcome_set(chain, &chain->predicted, "predicted", document);
    if (chain->runs) {
        made = made && outcome_set(chain, &chain->measured, "measured", document) &&
               json_set(document, "measured_seconds", json_real_new(chain->measured.seconds)) &&
               json_set(document, "agrees", json_boolean_new(chain_case_agrees(chain)));
    }
    made = made && json_set(document, "target", json_string_new(chain->question.target->name)) &&
           json_set(document, "host_stands_in",
                    chain->runs ? json_boolean_new(chain->ground == PLACED_ON_HOST) : json_null_new()) &&
           json_set(document, "notes", notes_json(&chain->place.notes));
    return json_made(document, made);
}
