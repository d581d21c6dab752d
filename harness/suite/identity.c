/* Identity: fields, ids and their JSON. Not the reading of suites, nor whether a workload makes sense. */
#include "harness/suite/identity.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/hash.h"
#include "harness/case/program.h"
#include "harness/case/share.h"
#include "models/config/family.h"

struct case_traits family_traits(const struct family *family)
{
    return (struct case_traits){
        .is_image = family->is_image, .has_attention = family->has_attention, .writes_text = family->generates};
}

struct identity identity_make(const char *model, const struct workload *workload, const struct family *family)
{
    struct identity identity = {.model = model, .workload = *workload};
    identity.workload.head = workload_head(workload);
    if (family->is_image) {
        identity.workload.seq = 0;
    }
    identity.fields = workload_fields_said(&identity.workload, family_traits(family));
    program_take_back(&identity.workload, identity.fields);
    return identity;
}

bool identity_has(const struct identity *identity, enum case_field field)
{
    return (identity->fields >> field & 1U) != 0;
}

const char *identity_value(const struct identity *identity, enum case_field field, char buffer[IDENTITY_VALUE_BYTES])
{
    if (field == FIELD_MODEL) {
        return identity->model;
    }
    if (case_field_kind(field) == FIELD_KIND_TEXT) {
        return workload_field_text(&identity->workload, field);
    }
    _Static_assert((int)IDENTITY_VALUE_BYTES >= (int)CASE_VALUE_BYTES, "a value has room");
    return case_field_value_text(field, workload_field_value(&identity->workload, field), buffer);
}

static void id_model(const char *model, struct text *id)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-/";
    bool odd = false;
    for (const char *c = model; *c != '\0'; c++) {
        bool known = strchr(letters, *c) != NULL;
        text_append_bytes(id, known ? c : "-", 1);
        odd = odd || !known;
    }
    if (odd) {
        text_format(id, "~%08" PRIx32, hash_text_32(model));
    }
}

void identity_id(const struct identity *identity, struct text *id)
{
    id_model(identity->model, id);
    for (enum case_field field = FIELD_MODE; field < FIELD_COUNT; field++) {
        const struct case_field_row *row = case_field_row(field);
        bool is_said = row->is_always_spelled || !workload_field_is_usual(&identity->workload, field);
        if (identity_has(identity, field) && is_said) {
            char buffer[IDENTITY_VALUE_BYTES];
            text_append(id, "/");
            case_field_spell(row->spelling, identity_value(identity, field, buffer), id);
        }
    }
}

static struct json *field_json(const struct identity *identity, enum case_field field)
{
    char buffer[IDENTITY_VALUE_BYTES];
    if (!identity_has(identity, field)) {
        return json_null_new();
    }
    switch (case_field_kind(field)) {
    case FIELD_KIND_COUNT:
        return json_integer_new(workload_field_value(&identity->workload, field));
    case FIELD_KIND_SWITCH:
        return json_boolean_new(workload_field_value(&identity->workload, field) != 0);
    case FIELD_KIND_SHARE:
        return json_real_new(share_of(workload_field_value(&identity->workload, field)));
    case FIELD_KIND_MODEL:
    case FIELD_KIND_NAME:
    case FIELD_KIND_TEXT:
        break;
    }
    return json_string_new(identity_value(identity, field, buffer));
}

struct json *identity_json(const struct identity *identity)
{
    struct json *object = json_object_new();
    bool made = object != NULL;
    for (enum case_field field = FIELD_MODEL; field < FIELD_COUNT && made; field++) {
        bool is_unusual = case_field_row(field)->record == RECORD_UNUSUAL;
        if (!is_unusual || !workload_field_is_usual(&identity->workload, field)) {
            made = json_set(object, case_field_key(field), field_json(identity, field));
        }
    }
    return json_made(object, made);
}
