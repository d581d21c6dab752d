/* assay batch: the batch with which accelerate's find_executable_batch_size ends, and the largest that runs, by really
 * trying. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/nearest.h"
#include "harness/base/size.h"
#include "harness/case/program.h"
#include "harness/cli/batch_table.h"
#include "harness/cli/case_options.h"
#include "harness/cli/model_notes.h"
#include "harness/cli/output.h"
#include "harness/cli/question_case.h"
#include "harness/cli/question_progress.h"
#include "harness/cli/resource_path.h"
#include "harness/device/device.h"
#include "harness/device/device_spec.h"
#include "harness/run/attempts.h"
#include "models/workload/workload_fit.h"

enum { START_USUAL = 128, TIMEOUT_USUAL = 600, TIMEOUT_MAXIMUM = 7 * 24 * 3600, REPEAT_MAXIMUM = 1000 };

static const struct option_row options[] = {
    {"start", OPTION_VALUE, "N", "the batch to try first (default: 128)"},
    {"policy", OPTION_VALUE, "halve|0.9|bisect",
     "half of it (accelerate up to 1.8), 0.9 (since 1.9), bisect (default)"},
    {"as-accelerate", OPTION_FLAG, NULL, "end if accelerate does not recognise that memory ran out (halve, 0.9)"},
    {"compare", OPTION_FLAG, NULL, "try all three policies, and say what throughput each loses"},
    {"device", OPTION_VALUE, "D", "auto (default), meta:mem=SIZE, host, host:mem=SIZE, cuda or cuda:N"},
    {"memory", OPTION_VALUE, "SIZE", "what segments may take, on host (then the default) or meta"},
    {"repeat", OPTION_VALUE, "N", "tries of the batch that was found, for its throughput (default: 1)"},
    {"timeout", OPTION_VALUE, "SECONDS", "the most that one try may take (default: 600)"},
    {"share-device", OPTION_FLAG, NULL, "use a GPU beside other runs that share it too"},
    {"wait-device", OPTION_VALUE, "SECONDS", "how long to wait for a GPU that another run has (default: 0)"},
    CASE_OPTION_ROWS,
    STRICT_OPTION_ROW,
    {"for", OPTION_VALUE, "TARGET", "class of devices whose workspaces are taken (default: that of the device)"},
    {"json", OPTION_FLAG, NULL, "print one JSON document"},
    {NULL, OPTION_FLAG, NULL, NULL},
};

struct batch_command {
    const struct arguments *arguments;
    struct question_case question;
    struct batch_request request;
    struct suite_settings settings;
    struct suite_case case_; /* what is tried now */
    struct text id;
    char spec[DEVICE_SPEC_BYTES];
    int64_t bound_bytes; /* what segments may take; 0: what the device has */
    struct attempts_options options;
    struct attempts *attempts;
    struct batch_record record;
    struct batch_result results[BATCH_POLICY_COUNT];
    int result_count;
    struct batch_prediction prediction;
    struct question_progress progress;
    bool is_json;
};

static enum status_code number_read(const struct arguments *arguments, const char *name, int64_t minimum,
                                    int64_t maximum, int64_t *number, struct status *error)
{
    const char *text = arguments_value(arguments, name);
    enum status_code code = text != NULL ? integer_parse(text, minimum, maximum, number, error) : STATUS_OK;
    if (code != STATUS_OK) {
        status_prefix(error, "batch: --%s", name);
    }
    return code;
}

static enum status_code policy_read(const struct arguments *arguments, enum batch_policy *policy, struct status *error)
{
    const char *name = arguments_value(arguments, "policy");
    *policy = BATCH_BISECT;
    for (int i = 0; name != NULL && i < BATCH_POLICY_COUNT; i++) {
        if (name_distance(name, batch_policy_name((enum batch_policy)i)) == 0) {
            *policy = (enum batch_policy)i;
            name = NULL;
        }
    }
    if (name != NULL) {
        return status_set(error, STATUS_INVALID, "batch: --policy %s is not known; write halve, 0.9 or bisect", name);
    }
    if (*policy == BATCH_BISECT && arguments_value(arguments, "as-accelerate") != NULL) {
        return status_set(error, STATUS_INVALID,
                          "batch: accelerate does not bisect, so --as-accelerate does not apply; add --policy 0.9 "
                          "or halve, or leave it out");
    }
    return STATUS_OK;
}

static enum status_code request_read(struct batch_command *command, struct status *error)
{
    const struct arguments *arguments = command->arguments;
    int64_t repeat = 1, timeout = TIMEOUT_USUAL, wait = 0;
    command->request.start = START_USUAL;
    if (arguments_value(arguments, "batch") != NULL) {
        return status_set(error, STATUS_INVALID,
                          "batch: --batch is what assay looks for; write --start to begin there");
    }
    enum status_code code = policy_read(arguments, &command->request.policy, error);
    if (code == STATUS_OK) {
        code = number_read(arguments, "start", 1, BATCH_MAXIMUM, &command->request.start, error);
    }
    if (code == STATUS_OK) {
        code = number_read(arguments, "repeat", 1, REPEAT_MAXIMUM, &repeat, error);
    }
    if (code == STATUS_OK) {
        code = number_read(arguments, "timeout", 1, TIMEOUT_MAXIMUM, &timeout, error);
    }
    if (code == STATUS_OK) {
        code = number_read(arguments, "wait-device", 0, RUN_WAIT_SECONDS_MAXIMUM, &wait, error);
    }
    command->request.repeat = (int)repeat;
    command->request.as_accelerate = arguments_value(arguments, "as-accelerate") != NULL;
    command->settings.timeout_seconds = (double)timeout;
    command->settings.target = arguments_value(arguments, "for");
    command->settings.repeat = 1;
    command->options.wait_device_seconds = (int)wait;
    command->options.can_share_device = true;
    command->options.share_device = arguments_value(arguments, "share-device") != NULL;
    command->is_json = arguments_value(arguments, "json") != NULL;
    return code;
}

/* The device, with the bound of --memory. Without --device, --memory bounds the host. */
static enum status_code device_read(struct batch_command *command, struct status *error)
{
    struct device_spec spec = {.kind = DEVICE_KIND_AUTO};
    const char *device = arguments_value(command->arguments, "device");
    int64_t memory_bytes = command->question.memory_bytes;
    snprintf(command->spec, sizeof command->spec, "%s", memory_bytes > 0 ? "host" : "auto");
    enum status_code code = device != NULL ? device_spec_words(device, command->spec, error) : STATUS_OK;
    code = code == STATUS_OK ? device_spec_parse(command->spec, &spec, error) : code;
    if (code != STATUS_OK) {
        return code;
    }
    if (memory_bytes > 0 && spec.memory_bytes > 0) {
        return status_set(error, STATUS_INVALID, "batch: --memory and --device %s are two bounds; leave one out",
                          command->spec);
    }
    if (memory_bytes > 0 && !device_kind_takes_bound(spec.kind)) {
        return status_set(error, STATUS_INVALID,
                          "batch: --memory bounds host or meta, and a GPU has the memory it has; leave it out, or add "
                          "--device host");
    }
    command->bound_bytes = memory_bytes > 0 ? memory_bytes : spec.memory_bytes;
    if (spec.kind == DEVICE_KIND_META && command->bound_bytes == 0) {
        return status_set(error, STATUS_INVALID,
                          "batch: on meta without a bound every batch runs; add --memory SIZE, or --device "
                          "meta:mem=SIZE");
    }
    if (memory_bytes > 0) {
        snprintf(command->spec, sizeof command->spec, "%s:mem=%" PRId64 "B", device_kind_word(spec.kind), memory_bytes);
    }
    return STATUS_OK;
}

/* The case at a batch: its identity, and so its id, is that of a suite. */
static enum status_code batch_attempt(void *context, int64_t batch, struct json **line, struct status *error)
{
    struct batch_command *command = context;
    command->question.identity.workload.batch = batch;
    text_release(&command->id);
    identity_id(&command->question.identity, &command->id);
    if (command->id.failed) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for the name of a case");
    }
    command->case_ = (struct suite_case){
        .id = text_string(&command->id), .identity = command->question.identity, .settings = &command->settings};
    question_progress_show(&command->progress, "batch %" PRId64 " is tried on %s", batch, command->spec);
    return attempts_measure(command->attempts, &command->case_, line, error);
}

static void look_show(void *context, enum case_field field, int64_t size)
{
    question_progress_show(context, "%s %" PRId64 " is replayed", case_field_key(field), size);
}

/* A host without a bound has what it has free now. */
static int64_t host_free_bytes(const struct json *line)
{
    struct device_identity identity;
    const char *kind = json_string_or(json_get(json_get(line, "device"), "kind"), "");
    bool is_known = strcmp(kind, "host") == 0 && device_identify("host", &identity, NULL) == STATUS_OK;
    return is_known && identity.free_valid ? identity.free_bytes : 0;
}

static int64_t batch_hint(void *context, const struct json *line)
{
    struct batch_command *command = context;
    struct estimate_input input = command->question.input;
    const struct look_observer observer = {look_show, &command->progress};
    if (json_kind(json_get(line, "device")) == JSON_KIND_OBJECT) {
        bool is_open = command->bound_bytes == 0 && !command->prediction.known;
        input.target = command->settings.target;
        batch_prediction_make(&input, is_open ? host_free_bytes(line) : command->bound_bytes, line, &observer,
                              &command->prediction);
    }
    return command->prediction.known ? command->prediction.limit.size : 0;
}

static void batch_ended(void *context, const struct batch_try *try_)
{
    struct batch_command *command = context;
    struct text text = {0};
    question_progress_end(&command->progress);
    if (!command->is_json) {
        int columns = table_width();
        if (command->record.count == 1) {
            batch_heading_append(columns, &text);
        }
        batch_try_append(try_, command->request.as_accelerate, columns, &text);
        output_lines(&text, NULL);
    }
    text_release(&text);
}

/* The policy that was asked for, and with --compare the others. */
static enum status_code policies_carry_out(struct batch_command *command, struct status *error)
{
    const struct batch_runner runner = {
        .context = command, .attempt = batch_attempt, .hint = batch_hint, .ended = batch_ended};
    bool compares = arguments_value(command->arguments, "compare") != NULL;
    struct batch_request request = command->request;
    enum status_code code = STATUS_OK;
    for (int i = -1; i < BATCH_POLICY_COUNT && code == STATUS_OK; i++) {
        bool is_asked = i < 0, is_other = compares && i != (int)command->request.policy;
        if ((!is_asked && !is_other) || (command->result_count > 0 && attempts_interrupted(command->attempts))) {
            continue;
        }
        request.policy = is_asked ? command->request.policy : (enum batch_policy)i;
        request.as_accelerate = command->request.as_accelerate && request.policy != BATCH_BISECT;
        code = batch_run(&request, &runner, &command->record, &command->results[command->result_count], error);
        command->result_count += code == STATUS_OK;
    }
    for (int i = 0; i < command->record.count; i++) { /* only --compare tries the others */
        batch_hint(command, command->record.tries[i].line);
    }
    question_progress_end(&command->progress);
    return code;
}

static void warned(void *context, const char *text)
{
    question_progress_end(context);
    output_warning("assay: batch: %s", text);
}

static enum status_code batches_try(struct batch_command *command, struct status *error)
{
    const char *lock_folder = secure_getenv("ASSAY_LOCK_DIR");
    struct attempts_options *options_ = &command->options;
    options_->runner = &case_runner_measure;
    options_->device = command->spec;
    options_->catalogue_dir = resource_path(&command->question.arena, "models/catalogue");
    options_->version = ASSAY_VERSION;
    options_->purpose = "no folder (assay batch)";
    options_->lock_folder = lock_folder != NULL && lock_folder[0] != '\0' ? lock_folder : NULL;
    options_->progress = (struct run_progress){.context = &command->progress, .warned = warned};
    command->request.workload = &command->question.identity.workload;
    command->case_ =
        (struct suite_case){.id = "batch", .identity = command->question.identity, .settings = &command->settings};
    if (options_->catalogue_dir == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a path");
    }
    enum status_code code = attempts_open(options_, &command->case_, &command->attempts, error);
    if (code == STATUS_OK) {
        code = policies_carry_out(command, error);
    }
    attempts_close(command->attempts);
    command->attempts = NULL;
    return code;
}

/* A try that was skipped (there is no such device) differs from one that failed. */
static enum exit_code exit_code_of(const struct batch_command *command)
{
    const struct batch_result *result = &command->results[0];
    switch (result->end) {
    case BATCH_END_FOUND:
        return result->repeat_failed_count > 0 ? EXIT_CODE_INCONCLUSIVE : EXIT_CODE_PASS;
    case BATCH_END_ZERO:
    case BATCH_END_RAISED:
        return EXIT_CODE_FAIL;
    case BATCH_END_INTERRUPTED:
        return EXIT_CODE_INCOMPLETE;
    default:
        break;
    }
    int last = command->record.count - 1;
    return last >= 0 && strcmp(command->record.tries[last].cause.word, "skip") == 0 ? EXIT_CODE_SKIPPED
                                                                                    : EXIT_CODE_INCONCLUSIVE;
}

/* What limit says beside its answer, for the memory of the prediction: there was a try, on a device of some class. */
static const struct limit_range *range_find(const struct batch_command *command, struct limit_range *range)
{
    const struct batch_prediction *prediction = &command->prediction;
    struct estimate_input input = command->question.input;
    if (!prediction->known) {
        return NULL;
    }
    const struct json *device = json_get(command->record.tries[0].line, "device");
    input.target = command->settings.target != NULL ? command->settings.target
                                                    : json_string_or(json_get(device, "target"), input.target);
    const struct fit_device asked = {.memory_bytes = prediction->memory_bytes,
                                     .doubt = doubt_of(input.config, input.workload)};
    enum status_code code =
        limit_range_find(&input, &asked, &prediction->limit, prediction->memory_bytes, NULL, range, NULL);
    return code == STATUS_OK ? range : NULL;
}

static enum status_code answer_print(struct batch_command *command, struct status *error)
{
    struct question_case *question = &command->question;
    struct limit_range range;
    const struct batch_answer answer = {.record = &command->record,
                                        .results = command->results,
                                        .result_count = command->result_count,
                                        .prediction = &command->prediction,
                                        .range = range_find(command, &range),
                                        .workload = &question->identity.workload,
                                        .as_accelerate = command->request.as_accelerate};
    question->identity.workload.batch =
        command->results[0].found > 0 ? command->results[0].found : command->request.start;
    if (!command->is_json) {
        struct text text = {0};
        batch_summary_append(&answer, &text);
        enum status_code code = output_lines(&text, error);
        text_release(&text);
        return code;
    }
    struct json *document = json_object_new();
    bool made = question_case_set(question, document) && json_set(document, "spec", json_string_new(command->spec)) &&
                json_set(document, "start", json_integer_new(command->request.start)) &&
                batch_answer_set(&answer, document);
    document = json_made(document, made);
    enum status_code code = output_json(document, error);
    json_release(document);
    return code;
}

static void reason_print(const struct batch_command *command, enum exit_code exit_code)
{
    const struct batch_result *result = &command->results[0];
    const char *error = batch_result_error(result, &command->record);
    exit_reason_print("batch", exit_code,
                      exit_code == EXIT_CODE_PASS ? ""
                      : error[0] != '\0'          ? error
                      : result->end == BATCH_END_INTERRUPTED
                          ? "interrupted"
                          : "a batch that ran before did not run when it was tried again");
}

static enum status_code heading_print(struct batch_command *command, struct status *error)
{
    struct text text = {0}, id = {0};
    struct question_case question = command->question;
    question.identity.fields &= ~(UINT64_C(1) << FIELD_BATCH);
    question_case_name(&question, &id);
    const char *device = arguments_value(command->arguments, "device"), *memory = command->question.memory_typed;
    text_format(&text, "%s on %s%s%s, %s from batch %" PRId64 "\n", text_string(&id),
                device != NULL   ? device
                : memory != NULL ? "host"
                                 : "auto",
                memory != NULL ? ":mem=" : "", memory != NULL ? memory : "", batch_policy_name(command->request.policy),
                command->request.start);
    program_line(&question.identity.workload, question.identity.fields, &text);
    text_append(&text, "\n");
    enum status_code code = command->is_json ? STATUS_OK : output_lines(&text, error);
    text_release(&id);
    text_release(&text);
    return code;
}

static enum status_code batch_answer_give(struct batch_command *command, enum exit_code *exit_code,
                                          struct status *error)
{
    enum status_code code = request_read(command, error);
    if (code == STATUS_OK) {
        code = limit_field_check(&command->question.input, FIELD_BATCH, error);
    }
    if (code == STATUS_OK) { /* what is wrong at every batch is an error before anything is tried */
        struct workload first =
            limit_workload(&command->question.identity.workload, FIELD_BATCH, command->request.start);
        code = workload_fit_check(&command->question.model.config, &first, false, error);
    }
    if (code == STATUS_OK) {
        code = device_read(command, error);
    }
    if (code == STATUS_OK) {
        question_positions_note(command->arguments, &command->question);
        code = heading_print(command, error);
    }
    if (code == STATUS_OK) {
        code = batches_try(command, error);
    }
    if (code == STATUS_OK) {
        *exit_code = exit_code_of(command);
        code = answer_print(command, error);
    }
    if (code == STATUS_OK) {
        reason_print(command, *exit_code);
    }
    return code;
}

static void command_close(struct batch_command *command)
{
    for (int i = 0; i < command->result_count; i++) {
        batch_result_release(&command->results[i]);
    }
    batch_record_release(&command->record);
    text_release(&command->id);
    question_case_close(&command->question);
}

/* accelerate's function wraps training, so that is what a case without a mode is. */
static struct arguments arguments_with_mode(const struct arguments *arguments)
{
    struct arguments completed = *arguments;
    for (int i = 0; options[i].name != NULL; i++) {
        if (strcmp(options[i].name, "mode") == 0 && completed.values[i] == NULL) {
            completed.values[i] = "train";
        }
    }
    return completed;
}

static enum status_code batch_command_run(const struct arguments *arguments, enum exit_code *exit_code,
                                          struct status *error)
{
    const struct arguments completed = arguments_with_mode(arguments);
    struct batch_command command = {.arguments = &completed, .progress = {.command = "batch"}};
    enum status_code code = question_case_open(&completed, &command.question, error);
    if (code == STATUS_OK) {
        code = batch_answer_give(&command, exit_code, error);
        command_close(&command);
    }
    return code;
}

const struct command command_batch = {
    .name = "batch",
    .operands = "MODEL",
    .summary = "the largest batch that runs, found by trying, as accelerate looks for it",
    .details = "Each batch is really tried on the device, in a process of its own. The output says what it took,\n"
               "or what asked for more memory. After a lack of memory a smaller batch is tried; with\n"
               "--as-accelerate only if accelerate recognises the error by its text. The last lines compare the\n"
               "result with what `assay limit` predicts (docs/BATCH.md).\n"
               "\n"
               "Exit codes:\n"
               "  1  no batch runs, or accelerate ends with an error\n"
               "  3  a try failed for another reason than memory\n"
               "  7  a signal came before the end of the search\n",
    .options = options,
    .operand_minimum = 1,
    .operand_maximum = 1,
    .computes = true,
    .run = batch_command_run,
};
