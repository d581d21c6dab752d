/* Trend as JSON: every step with the nights on both sides of it, and what differs between them (docs/HISTORY.md). */
#include "harness/base/json_document.h"
#include "harness/history/trend_page.h"

static struct json *night_value(const struct history_run *night)
{
    struct json *value = json_object_new();
    bool made = json_set(value, "run_id", json_string_new(night->run_id)) &&
                json_set(value, "started", json_string_new(night->started)) &&
                json_set(value, "revision", json_text_or_null(night->environment[ENVIRONMENT_REVISION]));
    return json_made(value, made);
}

static struct json *changes_value(const struct history_run *before, const struct history_run *after)
{
    struct json *values = json_array_new();
    bool made = values != NULL;
    for (int property = 0; property < ENVIRONMENT_COUNT && made; property++) {
        if (nights_differ(before, after, (enum environment)property)) {
            struct json *value = json_object_new();
            bool whole = json_set(value, "property", json_string_new(environment_key((enum environment)property))) &&
                         json_set(value, "before", json_text_or_null(before->environment[property])) &&
                         json_set(value, "after", json_text_or_null(after->environment[property]));
            made = json_append(values, json_made(value, whole));
        }
    }
    return json_made(values, made);
}

static struct json *step_value(const struct trend_group *group, const struct trend_step *one)
{
    const struct step *step = &one->step;
    const struct history_run *from = &group->nights[step->from], *to = &group->nights[step->to];
    struct json *value = json_object_new();
    bool made = json_set(value, "kind", json_string_new(step_kind_name(step->kind))) &&
                json_set(value, "level", json_string_new(level_name(one->level))) &&
                json_set(value, "id", json_string_new(one->series->id)) &&
                json_set(value, "label", json_string_new(one->series->label)) &&
                json_set(value, "from", night_value(from)) && json_set(value, "to", night_value(to)) &&
                json_set(value, "before_bytes", json_integer_new(step->before_bytes)) &&
                json_set(value, "after_bytes", json_integer_new(step->after_bytes)) &&
                json_set(value, "change", step->before_bytes > 0 ? json_real_new(one->share) : json_null_new()) &&
                json_set(value, "bytes_per_night",
                         step->kind == STEP_DRIFT ? json_real_new(step->bytes_per_night) : json_null_new()) &&
                json_set(value, "environment", changes_value(from, to));
    return json_made(value, made);
}

static struct json *group_value(const struct trend_group *group)
{
    struct json *value = json_object_new(), *nights = json_array_new(), *steps = json_array_new();
    bool made = nights != NULL && steps != NULL;
    for (int at = 0; at < group->night_count && made; at++) {
        made = json_append(nights, night_value(&group->nights[at]));
    }
    for (int at = 0; at < group->step_count && made; at++) {
        made = json_append(steps, step_value(group, &group->steps[at]));
    }
    made = json_set(value, "suite", json_string_new(group->suite)) &&
           json_set(value, "device", json_string_new(group->device)) &&
           json_set(value, "machine", json_string_new(group->machine)) &&
           json_set(value, "cases", json_integer_new(group->series_count)) &&
           json_set(value, "unsteady", json_integer_new(group->unsteady_count)) && json_set(value, "nights", nights) &&
           json_set(value, "steps", steps) && made;
    return json_made(value, made);
}

struct json *trend_value(const void *subject)
{
    const struct trend *trend = subject;
    struct json *value = json_object_new(), *groups = json_array_new();
    bool made = groups != NULL;
    for (int at = 0; at < trend->group_count && made; at++) {
        made = json_append(groups, group_value(&trend->groups[at]));
    }
    made = json_set(value, "history", json_string_new(trend->source)) && json_set(value, "groups", groups) && made;
    return json_made(value, made);
}
