/* Habit cost: the same case with and without each habit. Which habits there are is the register's matter
 * (harness/case/program.h). */
#include "harness/question/habit_cost.h"

#include <inttypes.h>

#include "harness/base/size.h"
#include "harness/case/program.h"
#include "harness/question/trial.h"
#include "models/workload/workload_tape.h"

static void value_put(struct workload *workload, enum case_field field, int64_t number)
{
    const struct case_value value = {.number = number};
    workload_put(workload, field, &value);
}

static enum status_code peaks_find(const struct estimate_input *input, const struct workload *workload,
                                   struct trial *trial, struct status *error)
{
    struct estimate_input changed = *input;
    struct skeleton own = {.config = NULL};
    bool other_classes = workload->model_code != input->workload->model_code; /* whose tensors are others */
    changed.workload = workload;
    changed.memory_bytes = 0;
    enum status_code code = other_classes ? workload_skeleton(input->config, workload, &own, error) : STATUS_OK;
    changed.skeleton = other_classes ? &own : input->skeleton;
    code = code == STATUS_OK ? trial_run(&changed, INT64_MAX, trial, error) : code;
    skeleton_release(&own);
    return code;
}

static enum status_code cost_add(const struct estimate_input *input, const struct trial *base, struct habit_cost cost,
                                 struct habit_costs *costs, struct status *error)
{
    struct workload other = *input->workload;
    struct trial trial;
    struct status why = {0};
    value_put(&other, cost.field, cost.is_in_case ? cost.without : cost.with);
    struct workload anyone = other;
    anyone.program = PROGRAM_LEAN_LOOP; /* what a program fixes costs something, too */
    if (workload_check(&anyone, &why) != STATUS_OK || costs->count >= HABIT_COSTS_MAXIMUM) {
        return STATUS_OK; /* the case contradicts itself without this habit */
    }
    enum status_code code = peaks_find(input, &other, &trial, error);
    int64_t sign = cost.is_in_case ? 1 : -1;
    cost.allocated_bytes = sign * (base->unbounded.allocated_bytes_peak - trial.unbounded.allocated_bytes_peak);
    cost.reserved_bytes = sign * (base->unbounded.reserved_bytes_peak - trial.unbounded.reserved_bytes_peak);
    if (code == STATUS_OK) {
        costs->rows[costs->count++] = cost;
    }
    return code;
}

enum status_code habit_costs_find(const struct estimate_input *input, uint64_t fields_said, struct habit_costs *costs,
                                  struct status *error)
{
    struct workload lean = workload_default(input->workload->mode), plain = lean;
    struct trial base;
    struct habit_costs made = {.count = 0};
    if ((fields_said >> FIELD_PROGRAM & 1U) == 0) {
        *costs = made;
        return STATUS_OK;
    }
    program_apply(PROGRAM_PLAIN_LOOP, &plain);
    enum status_code code = peaks_find(input, input->workload, &base, error);
    for (enum case_field field = FIELD_MODE; field < FIELD_COUNT && code == STATUS_OK; field++) {
        enum case_field_kind kind = case_field_kind(field);
        struct habit_cost cost = {.field = field, .without = workload_field_value(&lean, field)};
        if ((fields_said >> field & 1U) == 0 || !program_is_habit(field) ||
            (kind != FIELD_KIND_NAME && kind != FIELD_KIND_SWITCH && kind != FIELD_KIND_SHARE)) {
            continue;
        }
        int64_t value = workload_field_value(input->workload, field);
        cost.is_in_case = value != cost.without;
        cost.is_fixed = program_fixes(input->workload->program, field);
        cost.with = cost.is_in_case ? value : workload_field_value(&plain, field);
        /* What plain-loop would do is told of a case without a program of its own. */
        if (cost.with != cost.without && (cost.is_in_case || input->workload->program == PROGRAM_LEAN_LOOP)) {
            code = cost_add(input, &base, cost, &made, error);
        }
    }
    if (code == STATUS_OK) {
        *costs = made;
    }
    return code;
}

static void signed_size(int64_t bytes, char buffer[SIZE_TEXT_BYTES + 1])
{
    buffer[0] = bytes < 0 ? '-' : '+';
    size_format(bytes < 0 ? -bytes : bytes, buffer + 1);
}

static void rows_append(const struct habit_costs *costs, bool in_case, const char *heading, struct text *text)
{
    bool is_first = true;
    for (int i = 0; i < costs->count; i++) {
        const struct habit_cost *cost = &costs->rows[i];
        char allocated[SIZE_TEXT_BYTES + 1], reserved[SIZE_TEXT_BYTES + 1], value[CASE_VALUE_BYTES];
        if (cost->is_in_case != in_case) {
            continue;
        }
        text_append(text, is_first ? heading : "");
        is_first = false;
        signed_size(cost->allocated_bytes, allocated);
        signed_size(cost->reserved_bytes, reserved);
        text_format(text, "%13s allocated, %13s reserved: %s %s%s\n", allocated, reserved, case_field_key(cost->field),
                    case_field_value_text(cost->field, cost->with, value),
                    cost->is_fixed ? ", which the program fixes" : "");
    }
}

void habit_costs_lines(const struct habit_costs *costs, const struct workload *workload, struct text *text)
{
    struct text heading = {0};
    text_format(&heading, "\nwhat the habits of %s come to, each against the same case without it:\n",
                program_name(workload->program));
    rows_append(costs, true, text_string(&heading), text);
    rows_append(costs, false, "\nwhat habits of plain-loop would come to, which this case does not have:\n", text);
    text_release(&heading);
}

static struct json *value_json(enum case_field field, int64_t value)
{
    char buffer[CASE_VALUE_BYTES];
    return json_string_new(case_field_value_text(field, value, buffer));
}

struct json *habit_costs_json(const struct habit_costs *costs)
{
    struct json *rows = json_array_new();
    bool made = rows != NULL;
    for (int i = 0; i < costs->count && made; i++) {
        const struct habit_cost *cost = &costs->rows[i];
        struct json *row = json_object_new();
        bool written = json_set(row, "field", json_string_new(case_field_key(cost->field))) &&
                       json_set(row, "with", value_json(cost->field, cost->with)) &&
                       json_set(row, "without", value_json(cost->field, cost->without)) &&
                       json_set(row, "in_case", json_boolean_new(cost->is_in_case)) &&
                       json_set(row, "fixed", json_boolean_new(cost->is_fixed)) &&
                       json_set(row, "allocated_bytes", json_integer_new(cost->allocated_bytes)) &&
                       json_set(row, "reserved_bytes", json_integer_new(cost->reserved_bytes));
        made = json_append(rows, json_made(row, written));
    }
    return json_made(rows, made);
}
