/* The option --calibration: from a case to the law's variables, and its answer in lines and in JSON. */
#include "harness/cli/calibration_option.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/cli/output.h"
#include "harness/report/escape.h"

static enum status_code refuse(const struct law_file *law, const char *cause, struct status *error)
{
    return status_set_at(error, STATUS_INVALID, (struct file_place){law->path, 0, 0}, "%s", cause);
}

static enum status_code workload_read(const struct workload *workload, const struct law_file *law,
                                      struct law_point *point, struct status *error)
{
    if (workload->mode != MODE_INFER && workload->mode != MODE_GENERATE) {
        return refuse(law, "the law is for inference; write --mode infer or generate", error);
    }
    if (workload->padding || workload->beams > 1 || workload->cache_dtype != CACHE_DTYPE_AUTO) {
        return refuse(
            law, "the law has no term for padding, beams and quantised caches; leave them or --calibration out", error);
    }
    bool generates = workload->mode == MODE_GENERATE;
    point->mode = mode_name(workload->mode);
    point->precision = precision_name(workload->precision);
    point->logits = workload_head(workload) == HEAD_BARE ? "none" : generates ? "last" : logits_name(workload->logits);
    point->cache = generates ? cache_name(workload->cache) : "none";
    point->batch = workload->batch;
    point->seq = workload->seq;
    point->new_tokens = generates ? workload->new_tokens : 0;
    return STATUS_OK;
}

/* The devices that the law has the kind on; if there is none, the kinds that it has on the device. */
static void known_append(const struct law_file *law, const char *kind, const char *target, struct text *known)
{
    const char *lead = "";
    for (int at = 0; at < law->kind_count; at++) {
        if (strcmp(law->kinds[at].kind, kind) == 0) {
            text_format(known, "%s%s", known->length == 0 ? "it has this kind on " : ", ", law->kinds[at].target);
        }
    }
    for (int at = 0; at < law->kind_count && strncmp(text_string(known), "it has this", 11) != 0; at++) {
        if (strcmp(law->kinds[at].target, target) == 0) {
            text_format(known, "%s%s", lead[0] == '\0' ? "on it it has " : lead, law->kinds[at].kind);
            lead = ", ";
        }
    }
    text_append(known, known->length == 0 ? "it has no kind on this device" : "");
}

/* "assay, pytorch": whose kinds the law has on a device, or if kind is NULL whose contexts of a mode. */
static void programs_append(const struct law_file *law, const char *kind, const char *target, const char *mode,
                            struct text *text)
{
    const char *lead = "";
    for (int at = 0; kind != NULL && at < law->kind_count; at++) {
        if (strcmp(law->kinds[at].kind, kind) == 0 && strcmp(law->kinds[at].target, target) == 0) {
            text_format(text, "%s%s", lead, law->kinds[at].program);
            lead = ", ";
        }
    }
    for (int at = 0; kind == NULL && at < law->context_count; at++) {
        if (strcmp(law->contexts[at].mode, mode) == 0 && strcmp(law->contexts[at].target, target) == 0) {
            text_format(text, "%s%s", lead, law->contexts[at].program);
            lead = ", ";
        }
    }
}

/* A law of several programs does not say which of them a case is of. */
static enum status_code programs_refuse(const struct law_file *law, const char *kind, const char *target,
                                        const char *mode, struct status *error)
{
    struct text programs = {0}, cause = {0};
    programs_append(law, kind, target, mode, &programs);
    text_format(&cause,
                "it has %s%s on %s of several programs (%s); write a law of one of them: assay calibrate with the "
                "records of that program alone",
                kind != NULL ? "coefficients for " : "contexts", kind != NULL ? kind : "", target,
                text_string(&programs));
    enum status_code code = refuse(law, text_string(&cause), error);
    text_release(&cause);
    text_release(&programs);
    return code;
}

/* The kind that the law has coefficients of; NULL: cause says why it has none. */
static enum status_code kind_find(const struct question_case *question, const struct law_file *law,
                                  struct law_point *point, const struct law_kind **kind, struct text *cause,
                                  struct status *error)
{
    int count = 0;
    const char *target = question->input.target;
    const char *attention = attention_name(question->input.workload->attention);
    *kind = NULL;
    if (law_precision_is_quantised(point->precision)) {
        text_format(cause, "the law has no terms for quantised weights (%s)", point->precision);
    } else if (law_element_bytes(point->precision) == 0) {
        text_append(cause, "the law is for float32, float16 and bfloat16; choose one of them with --precision");
    } else if (law_point_obstacle(question->input.config) != NULL) {
        text_format(cause, "the law has no terms for such a model (%s)", law_point_obstacle(question->input.config));
    } else if (point->weights_bytes <= 0 || !law_point_model(question->input.config, attention, point)) {
        text_append(cause, "the weights of such a model are not known, or beyond 63 bits");
    } else {
        *kind = law_file_kind(law, point->kind, target, &count);
    }
    if (*kind == NULL && cause->length == 0) {
        struct text known = {0};
        known_append(law, point->kind, target, &known);
        text_format(cause, "the law has no coefficients for %s on %s; %s (--for chooses the device)", point->kind,
                    target, text_string(&known));
        text_release(&known);
    }
    return count > 1 ? programs_refuse(law, point->kind, target, NULL, error) : STATUS_OK;
}

/* As the quantities of estimators stand. */
static void bytes_line(struct text *text, const char *name, double bytes)
{
    char size[SIZE_TEXT_BYTES];
    text_format(text, "  %-38s %12s %20" PRId64 " bytes\n", name, size_format(law_bytes(bytes), size),
                law_bytes(bytes));
}

/* Whose coefficients these are: a kind that has borrowed them has cases of its own for the workspaces alone. */
static void origin_lines(const struct law_file *law, const struct law_kind *kind, struct text *text)
{
    const struct law_kind *donor = law_file_donor(law, kind);
    text_format(text, "\nlaw of the calibration, %s on %s (", kind->kind, kind->target);
    terminal_append(text, kind->program); /* words of the file */
    if (kind->borrowed_from == NULL) {
        text_format(text, "): %d cases of %d models\n", kind->case_count, kind->model_count);
        return;
    }
    text_append(text, ")\n  coefficients and ranges of ");
    terminal_append(text, kind->borrowed_from);
    if (donor != NULL) {
        text_append(text, " (");
        terminal_append(text, donor->program);
        text_format(text, "), %d cases of %d models", donor->case_count, donor->model_count);
    }
    text_format(text, "; %d cases of %d models here\n", kind->case_count, kind->model_count);
}

/* Of few cases there is no p99, and the worst is told instead. */
static void errors_append(struct text *text, double median, double p99, double worst)
{
    if (!isnan(median) && !(isnan(p99) && isnan(worst))) {
        text_format(text, "  errors of models that were left out: median %.2f %%, %s %.2f %%\n", 100.0 * median,
                    isnan(p99) ? "worst" : "p99", 100.0 * (isnan(p99) ? worst : p99));
    }
}

static void answer_lines(const struct law_file *law, const struct law_answer *answer, const struct law_point *point,
                         struct text *text)
{
    char size[SIZE_TEXT_BYTES];
    const struct law_kind *kind = answer->kind;
    double peak = answer->allocated_bytes;
    origin_lines(law, kind, text);
    bytes_line(text, "allocated_bytes_peak", peak);
    errors_append(text, kind->median, kind->p99, kind->worst);
    text_format(text, "  %.3f x weights; the highest moment is %s, beside them\n", peak / answer->weights_bytes,
                overhead_moment_name(answer->moment));
    law_answer_terms(answer, point, text);
    if (fabs(kind->allocator_bytes) >= 0.5) {
        text_format(text, "    %-30s  %12s\n", "workspaces and allocator",
                    size_format(law_bytes(kind->allocator_bytes), size));
    }
}

/* By the segments that replay has if the law has a context, else by the peak of the moments. */
static void footprint_lines(const struct law_answer *answer, const struct law_context *context, struct text *text)
{
    char size[SIZE_TEXT_BYTES];
    if (context == NULL && isnan(answer->footprint_bytes)) {
        return;
    }
    bytes_line(text, "footprint_bytes, with the context", answer->footprint_bytes);
    if (context == NULL) {
        return;
    }
    text_format(text, "  the segments that replay has, and %s beside them (",
                size_format(law_bytes(context->bytes), size));
    terminal_append(text, context->program);
    text_format(text, ": %d cases of %d models)\n", context->case_count, context->model_count);
    errors_append(text, context->median, context->p99, context->worst);
}

/* Coefficients of a file may be any numbers, and what they come to none that is a peak. */
static enum status_code answer_check(const struct law_file *law, const struct law_answer *answer, struct status *error)
{
    bool is_one = answer->kind == NULL || (answer->allocated_bytes > 0.0 && answer->allocated_bytes < 0x1p62);
    if (!isnan(answer->footprint_bytes) && !(answer->footprint_bytes > 0.0 && answer->footprint_bytes < 0x1p62)) {
        return status_set_at(error, STATUS_INVALID, (struct file_place){law->path, 0, 0},
                             "its context gives a footprint of %.6g bytes, which is none; fit the law again, or leave "
                             "--calibration out",
                             answer->footprint_bytes);
    }
    return is_one ? STATUS_OK
                  : status_set_at(error, STATUS_INVALID, (struct file_place){law->path, 0, 0},
                                  "the coefficients of %.100s on %.100s give %.6g bytes beside %.6g of weights, which "
                                  "is no peak; fit the law again, or leave --calibration out",
                                  answer->kind->kind, answer->kind->target,
                                  answer->allocated_bytes - answer->weights_bytes, answer->weights_bytes);
}

static void outside_warn(const struct law_file *law, const struct question_case *question,
                         const struct law_answer *answer)
{
    struct text all = {0}, clean = {0}, id = {0};
    identity_id(&question->identity, &id);
    for (const char *at = text_string(&answer->outside); *at != '\0'; at++) {
        text_append_bytes(&all, *at == '\n' ? "; " : at, *at == '\n' ? 2 : 1);
    }
    terminal_append(&clean, text_string(&all)); /* its words come from the file */
    if (clean.length > 2) {
        output_warning("assay: estimate: warning: %s: %s is outside of what the law was fitted to: %.*s", law->path,
                       text_string(&id), (int)clean.length - 2, text_string(&clean));
    }
    text_release(&id);
    text_release(&clean);
    text_release(&all);
}

static struct json *outside_json(const struct law_answer *answer)
{
    struct json *array = json_array_new();
    struct text line = {0};
    bool made = true;
    for (const char *at = text_string(&answer->outside); *at != '\0';) {
        const char *end = strchr(at, '\n');
        text_append_bytes(&line, at, (size_t)(end - at));
        made = made && json_append(array, json_string_new(text_string(&line)));
        text_release(&line);
        at = end + 1;
    }
    return json_made(array, made);
}

static struct json *bytes_json(bool known, double bytes)
{
    return known && !isnan(bytes) ? json_integer_new(law_bytes(bytes)) : json_null_new();
}

static struct json *word_json(const char *word)
{
    return word != NULL ? json_string_new(word) : json_null_new();
}

/* Where the coefficients come from, and how many cases there are here and there. */
static bool origin_set(struct json *object, const struct law_file *law, const struct law_kind *kind)
{
    const struct law_kind *donor = kind != NULL ? law_file_donor(law, kind) : NULL;
    return json_set(object, "program", word_json(kind != NULL ? kind->program : NULL)) &&
           json_set(object, "cases", bytes_json(kind != NULL, kind != NULL ? kind->case_count : 0)) &&
           json_set(object, "models", bytes_json(kind != NULL, kind != NULL ? kind->model_count : 0)) &&
           json_set(object, "borrowed_from", word_json(kind != NULL ? kind->borrowed_from : NULL)) &&
           json_set(object, "borrowed_program", word_json(donor != NULL ? donor->program : NULL)) &&
           json_set(object, "borrowed_cases", bytes_json(donor != NULL, donor != NULL ? donor->case_count : 0)) &&
           json_set(object, "borrowed_models", bytes_json(donor != NULL, donor != NULL ? donor->model_count : 0));
}

/* kind and what follows from it are null if the law has no terms for the model. */
static struct json *answer_json(const struct law_file *law, const struct law_answer *answer, const char *target,
                                const struct law_context *context)
{
    const struct law_kind *kind = answer->kind;
    bool has = kind != NULL;
    struct json *object = json_object_new();
    bool made =
        json_set(object, "path", json_string_new(law->path)) &&
        json_set(object, "kind", word_json(has ? kind->kind : NULL)) &&
        json_set(object, "target", json_string_new(target)) && origin_set(object, law, kind) &&
        json_set(object, "allocated_bytes_peak", bytes_json(has, answer->allocated_bytes)) &&
        json_set(object, "moment", word_json(has ? overhead_moment_name(answer->moment) : NULL)) &&
        json_set(object, "median_error", json_real_new(has ? kind->median : NAN)) &&
        json_set(object, "p99_error", json_real_new(has ? kind->p99 : NAN)) &&
        json_set(object, "outside", outside_json(answer)) &&
        json_set(object, "footprint_bytes", bytes_json(true, answer->footprint_bytes)) &&
        json_set(object, "context_program", word_json(context != NULL ? context->program : NULL)) &&
        json_set(object, "context_bytes", bytes_json(context != NULL, context != NULL ? context->bytes : NAN)) &&
        json_set(object, "footprint_median_error", json_real_new(context != NULL ? context->median : NAN)) &&
        json_set(object, "footprint_p99_error", json_real_new(context != NULL ? context->p99 : NAN));
    return json_made(object, made);
}

/* What the law says: of allocated bytes if it has the kind, of the footprint by the context if it has one. */
static enum status_code answer_find(const struct law_file *law, const struct law_kind *kind,
                                    const struct law_point *point, const struct calibration_replay *replay,
                                    const char *target, const struct law_context **context, struct law_answer *answer,
                                    struct status *error)
{
    int count = 0;
    *answer = (struct law_answer){.footprint_bytes = NAN};
    *context = NULL;
    if (kind != NULL) {
        law_answer_make(kind, point, answer);
    }
    if (replay->segments_bytes > 0) {
        *context = law_file_context(law, target, point->mode, kind != NULL ? kind->program : NULL, &count);
    }
    if (count > 1) {
        *context = NULL; /* of which program, nobody can tell */
        return kind == NULL ? programs_refuse(law, NULL, target, point->mode, error) : STATUS_OK;
    }
    if (*context != NULL) {
        answer->footprint_bytes = (*context)->bytes + (double)replay->segments_bytes;
    }
    return STATUS_OK;
}

static void answer_tell(const struct law_file *law, const struct question_case *question,
                        const struct law_answer *answer, const struct law_point *point,
                        const struct law_context *context, const struct text *cause, struct text *text)
{
    if (answer->kind != NULL) {
        answer_lines(law, answer, point, text);
        outside_warn(law, question, answer);
    } else {
        struct text clean = {0};
        terminal_append(&clean, text_string(cause)); /* names of devices come from the file */
        output_warning("assay: estimate: warning: %s: %s; what follows is the footprint alone", law->path,
                       text_string(&clean));
        text_release(&clean);
        text_format(text, "\nlaw of the calibration, on %s: the footprint alone\n", context->target);
    }
    footprint_lines(answer, context, text);
}

enum status_code calibration_answer(const struct question_case *question, const struct law_file *law,
                                    const struct calibration_replay *replay, struct text *text, struct json **document,
                                    struct status *error)
{
    const char *target = question->input.target;
    const struct law_context *context = NULL;
    const struct law_kind *kind = NULL;
    struct text cause = {0};
    struct law_point point = {0};
    struct law_answer answer = {0};
#define NOT_MEASURED(member, heading) point.member = POINT_BYTES_UNKNOWN;
    LAW_POINT_MEASURED(NOT_MEASURED)
#undef NOT_MEASURED
    point.weights_bytes = replay->weights_bytes;
    enum status_code code = workload_read(question->input.workload, law, &point, error);
    code = code == STATUS_OK ? kind_find(question, law, &point, &kind, &cause, error) : code;
    code = code == STATUS_OK ? answer_find(law, kind, &point, replay, target, &context, &answer, error) : code;
    if (code == STATUS_OK) {
        code = kind != NULL || context != NULL ? answer_check(law, &answer, error)
                                               : refuse(law, text_string(&cause), error);
    }
    if (code == STATUS_OK) {
        answer_tell(law, question, &answer, &point, context, &cause, text);
        json_release(*document);
        *document = answer_json(law, &answer, target, context);
        code = *document != NULL ? STATUS_OK
                                 : status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a law");
    }
    text_release(&answer.outside);
    text_release(&cause);
    return code;
}
