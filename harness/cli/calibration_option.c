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

/* Why the law has no terms for such work; NULL: it has. */
static const char *workload_obstacle(const struct workload *workload)
{
    if (workload->mode != MODE_INFER && workload->mode != MODE_GENERATE) {
        return "the law is for inference; write --mode infer or generate";
    }
    if (workload->padding || workload->beams > 1 || workload->cache_dtype != CACHE_DTYPE_AUTO) {
        return "the law has no term for padding, beams and quantised caches; leave them or --calibration out";
    }
    return law_element_bytes(precision_name(workload->precision)) == 0
               ? "the law is for float32, float16 and bfloat16; choose one of them with --precision"
               : NULL;
}

static void workload_read(const struct workload *workload, const char *target, struct law_point *point)
{
    bool generates = workload->mode == MODE_GENERATE;
    point->target = target;
    point->mode = mode_name(workload->mode);
    point->precision = precision_name(workload->precision);
    point->logits = workload_head(workload) != HEAD_LM ? "none" : generates ? "last" : logits_name(workload->logits);
    point->cache = generates ? cache_name(workload->cache) : workload->use_cache ? "dynamic" : "none";
    point->batch = workload->batch;
    point->seq = workload->seq;
    point->new_tokens = generates ? workload->new_tokens : 0;
}

/* The coefficients that the law has for the case; refused with what it lacks. */
static enum status_code kind_find(const struct question_case *question, const struct law_file *law,
                                  struct law_point *point, const struct law_kind **kind, struct status *error)
{
    const struct config *config = question->input.config;
    const char *cause = workload_obstacle(question->input.workload);
    struct text words = {0};
    if (cause == NULL && law_point_obstacle(config) != NULL) {
        text_format(&words, "the law has no terms for such a model (%s); leave --calibration out",
                    law_point_obstacle(config));
    } else if (cause == NULL &&
               (point->weights_bytes <= 0 ||
                !law_point_model(config, attention_name(question->input.workload->attention), point))) {
        cause = "the weights of such a model are not known, or beyond 63 bits";
    } else if (cause == NULL) {
        *kind = law_file_kind(law, point->kind);
        text_format(&words, "the law has no coefficients for %s; it has", point->kind);
        for (int at = 0; at < law->kind_count; at++) {
            text_append(&words, at > 0 ? ", " : " ");
            terminal_append(&words, law->kinds[at].kind);
        }
    }
    enum status_code code = *kind != NULL ? STATUS_OK : refuse(law, cause != NULL ? cause : text_string(&words), error);
    text_release(&words);
    return code;
}

/* Coefficients of a file may be any numbers, and what they come to none that is a peak. */
static enum status_code answer_check(const struct law_file *law, const struct law_answer *answer, struct status *error)
{
    return answer->allocated_bytes > 0.0 && answer->allocated_bytes < 0x1p62
               ? STATUS_OK
               : status_set_at(
                     error, STATUS_INVALID, (struct file_place){law->path, 0, 0},
                     "the coefficients of %.100s give %.6g bytes beside %.6g of weights, which is no peak; fit "
                     "the law again, or leave --calibration out",
                     answer->kind->kind, answer->allocated_bytes - answer->weights_bytes, answer->weights_bytes);
}

/* ---- for people ---- */

static void tested_append(struct text *text, const struct error_summary *tested, const char *of)
{
    if (tested->count > 0) {
        text_format(text, "  tested on %d real measurements of GPUs%s: median error %.2f %%, worst %.1f %%\n",
                    tested->count, of, 100.0 * tested->median, 100.0 * tested->worst);
    } else {
        text_format(text, "  tested on no real measurement of a GPU%s\n", of);
    }
}

static void beside_line(struct text *text, const char *words, double bytes)
{
    char size[SIZE_TEXT_BYTES];
    if (bytes >= 0.5) {
        text_format(text, "    %-27s %12s\n", words, size_format(law_bytes(bytes), size));
    }
}

static void answer_lines(const struct law_file *law, const struct law_answer *answer, const struct law_point *point,
                         struct text *text)
{
    char size[SIZE_TEXT_BYTES];
    const struct law_kind *kind = answer->kind;
    double peak = answer->allocated_bytes;
    text_append(text, "\nlaw of the calibration, ");
    terminal_append(text, kind->kind); /* words of the file */
    text_format(text, ": fitted to replay of %d cases of %d models\n", kind->case_count, kind->model_count);
    tested_append(text, &kind->tested, " of this kind");
    tested_append(text, &law->tested, "");
    text_format(text, "  %-38s %12s %20" PRId64 " bytes\n", "allocated_bytes_peak", size_format(law_bytes(peak), size),
                law_bytes(peak));
    text_format(text, "  %.3f x weights; the highest moment is %s, beside them\n", peak / answer->weights_bytes,
                overhead_moment_name(answer->moment));
    law_answer_terms(answer, point, text);
    beside_line(text, "outputs of the pass before", answer->kept_bytes);
    beside_line(text, "workspaces of the class", answer->workspace_bytes);
    beside_line(text, "what the allocator rounds up", kind->rounding_bytes);
}

static void outside_warn(const struct law_file *law, const struct question_case *question,
                         const struct law_answer *answer)
{
    struct text all = {0}, clean = {0}, id = {0};
    identity_id(&question->identity, &id);
    for (const char *at = text_string(&answer->outside); *at != '\0'; at++) {
        text_append_bytes(&all, *at == '\n' ? "; " : at, *at == '\n' ? 2 : 1);
    }
    terminal_append(&clean, text_string(&all));
    if (clean.length > 2) {
        output_warning("assay: estimate: warning: %s: %s is outside of what the law was fitted to: %.*s", law->path,
                       text_string(&id), (int)clean.length - 2, text_string(&clean));
    }
    text_release(&id);
    text_release(&clean);
    text_release(&all);
}

/* ---- for programs ---- */

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

static struct json *tested_json(const struct error_summary *tested)
{
    struct json *object = json_object_new();
    bool made = json_set(object, "cases", json_integer_new(tested->count)) &&
                json_set(object, "median", json_real_new(tested->median)) &&
                json_set(object, "worst", json_real_new(tested->worst));
    return json_made(object, made);
}

static struct json *answer_json(const struct law_file *law, const struct law_answer *answer, const char *target)
{
    const struct law_kind *kind = answer->kind;
    struct json *object = json_object_new();
    bool made = json_set(object, "path", json_string_new(law->path)) &&
                json_set(object, "kind", json_string_new(kind->kind)) &&
                json_set(object, "target", json_string_new(target)) &&
                json_set(object, "cases", json_integer_new(kind->case_count)) &&
                json_set(object, "models", json_integer_new(kind->model_count)) &&
                json_set(object, "tested", tested_json(&law->tested)) &&
                json_set(object, "tested_of_kind", tested_json(&kind->tested)) &&
                json_set(object, "allocated_bytes_peak", json_integer_new(law_bytes(answer->allocated_bytes))) &&
                json_set(object, "moment", json_string_new(overhead_moment_name(answer->moment))) &&
                json_set(object, "workspace_bytes", json_integer_new(law_bytes(answer->workspace_bytes))) &&
                json_set(object, "kept_bytes", json_integer_new(law_bytes(answer->kept_bytes))) &&
                json_set(object, "outside", outside_json(answer));
    return json_made(object, made);
}

enum status_code calibration_answer(const struct question_case *question, const struct law_file *law,
                                    int64_t weights_bytes, struct text *text, struct json **document,
                                    struct status *error)
{
    const struct workload *workload = question->input.workload;
    const struct law_kind *kind = NULL;
    struct law_point point = {.weights_bytes = weights_bytes};
    struct law_answer answer = {0};
    workload_read(workload, question->input.target, &point);
    enum status_code code = kind_find(question, law, &point, &kind, error);
    if (code == STATUS_OK) {
        law_answer_make(kind, &point, workload->mode == MODE_INFER && workload->outputs == OUTPUTS_KEPT, &answer);
        code = answer_check(law, &answer, error);
    }
    if (code == STATUS_OK) {
        answer_lines(law, &answer, &point, text);
        outside_warn(law, question, &answer);
        json_release(*document);
        *document = answer_json(law, &answer, question->input.target);
        code = *document != NULL ? STATUS_OK
                                 : status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a law");
    }
    text_release(&answer.outside);
    return code;
}
