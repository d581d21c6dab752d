/* Estimates: the table of estimators and what they share. The rules themselves stand in one file each. */
#include "harness/estimate/estimate.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define ESTIMATOR_POINT(id, name, colour, mark) &estimator_##id,
static const struct estimator *const estimators[] = {ESTIMATOR_TABLE(ESTIMATOR_POINT)};
#undef ESTIMATOR_POINT

enum { ESTIMATOR_COUNT = sizeof estimators / sizeof estimators[0] };

const struct estimator *estimator_at(int index)
{
    return index >= 0 && index < ESTIMATOR_COUNT ? estimators[index] : NULL;
}

const struct estimator *estimator_find(const char *name)
{
    for (int i = 0; i < ESTIMATOR_COUNT; i++) {
        if (strcmp(estimators[i]->name, name) == 0) {
            return estimators[i];
        }
    }
    return NULL;
}

bool estimator_applies(const struct estimator *estimator, const struct estimate_input *input)
{
    return input->workload->place == NULL && (estimator->divides || !parallel_divides(input->parallel)) &&
           estimator->applies(input);
}

enum status_code estimate_compute(const struct estimator *estimator, const struct estimate_input *input,
                                  struct estimate *estimate, struct status *error)
{
    struct estimate result; /* not cleared as a whole: of its room for quantities few are used */
    result.estimator = estimator->name;
    result.count = 0;
    result.note[0] = '\0';
    enum status_code code = estimator->compute(input, &result, error);
    if (code == STATUS_OK) {
        estimate->estimator = result.estimator;
        estimate->count = result.count;
        memcpy(estimate->quantities, result.quantities, (size_t)result.count * sizeof result.quantities[0]);
        memcpy(estimate->note, result.note, sizeof estimate->note);
    } else if (estimator != &estimator_replay) { /* what replay cannot do is wrong with the case */
        status_prefix(error, "estimator %s", estimator->name);
    }
    return code;
}

static struct estimate_quantity *quantity_new(struct estimate *estimate, const char *name)
{
    assert(estimate->count < ESTIMATE_QUANTITIES_MAXIMUM && strlen(name) < ESTIMATE_NAME_BYTES);
    struct estimate_quantity *quantity = &estimate->quantities[estimate->count++];
    *quantity = (struct estimate_quantity){0};
    snprintf(quantity->name, sizeof quantity->name, "%s", name);
    return quantity;
}

void estimate_add(struct estimate *estimate, const char *name, int64_t value)
{
    struct estimate_quantity *quantity = quantity_new(estimate, name);
    quantity->known = true;
    quantity->value = value;
}

void estimate_add_unknown(struct estimate *estimate, const char *name)
{
    quantity_new(estimate, name);
}

void estimate_add_or_unknown(struct estimate *estimate, const char *name, bool known, int64_t value)
{
    struct estimate_quantity *quantity = quantity_new(estimate, name);
    quantity->known = known;
    quantity->value = known ? value : 0;
}

void estimate_add_text(struct estimate *estimate, const char *name, const char *text)
{
    struct estimate_quantity *quantity = quantity_new(estimate, name);
    quantity->known = true;
    quantity->text = text;
}

void estimate_note(struct estimate *estimate, bool unknown, const char *why)
{
    if (unknown && estimate->note[0] == '\0') {
        snprintf(estimate->note, sizeof estimate->note, "%s", why);
    }
}

const struct estimate_quantity *estimate_get(const struct estimate *estimate, const char *name)
{
    for (int i = 0; i < estimate->count; i++) {
        if (strcmp(estimate->quantities[i].name, name) == 0) {
            return &estimate->quantities[i];
        }
    }
    return NULL;
}

static struct json *value_new(const struct estimate_quantity *quantity)
{
    if (!quantity->known) {
        return json_null_new();
    }
    return quantity->text != NULL ? json_string_new(quantity->text) : json_integer_new(quantity->value);
}

/* "stages.load.requested_bytes" goes into the object "load" of the object "stages": made if they are not there
 * yet. */
static bool nested_set(struct json *object, const char *name, struct json *value)
{
    const char *dot = strchr(name, '.');
    if (dot == NULL) {
        return json_set(object, name, value);
    }
    char key[ESTIMATE_NAME_BYTES];
    snprintf(key, sizeof key, "%.*s", (int)(dot - name), name);
    if (json_get(object, key) == NULL && !json_set(object, key, json_object_new())) {
        json_release(value);
        return false;
    }
    return nested_set(json_get(object, key), dot + 1, value);
}

struct json *estimate_to_json(const struct estimate *estimate)
{
    struct json *object = json_object_new();
    bool done = object != NULL;
    for (int i = 0; i < estimate->count && done; i++) {
        done = nested_set(object, estimate->quantities[i].name, value_new(&estimate->quantities[i]));
    }
    done = done && (estimate->note[0] == '\0' || json_set(object, "note", json_string_new(estimate->note)));
    return json_made(object, done);
}
