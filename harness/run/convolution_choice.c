/* Convolution choice: what the device tells, into JSON. */
#include "harness/run/convolution_choice.h"

static struct json *known_or_null(bool known, int64_t value)
{
    return known ? json_integer_new(value) : json_null_new();
}

static struct json *text_or_null(const char *text)
{
    return text[0] != '\0' ? json_string_new(text) : json_null_new();
}

static struct json *form_json(const struct device_convolution *form)
{
    bool named = form->first_engine >= 0, found = form->engine >= 0;
    struct json *object = json_object_new();
    bool made = json_set(object, "operation", json_string_new(opcode_name(form->opcode))) &&
                json_set(object, "dtype", json_string_new(dtype_name(form->dtype))) &&
                json_set(object, "images", json_integer_new(form->images)) &&
                json_set(object, "channels", json_integer_new(form->channels)) &&
                json_set(object, "height", json_integer_new(form->height)) &&
                json_set(object, "width", json_integer_new(form->width)) &&
                json_set(object, "filters", json_integer_new(form->filters)) &&
                json_set(object, "kernel", json_integer_new(form->kernel)) &&
                json_set(object, "stride", json_integer_new(form->stride)) &&
                json_set(object, "padding", json_integer_new(form->padding)) &&
                json_set(object, "call_count", json_integer_new(form->call_count)) &&
                json_set(object, "given_bytes", json_integer_new(form->given_bytes)) &&
                json_set(object, "engine", known_or_null(found, form->engine)) &&
                json_set(object, "workspace_bytes", known_or_null(found, form->workspace_bytes)) &&
                json_set(object, "first_engine", known_or_null(named, form->first_engine)) &&
                json_set(object, "first_workspace_bytes", known_or_null(named, form->first_workspace_bytes)) &&
                json_set(object, "refusal", text_or_null(form->refusal));
    return json_made(object, made);
}

static struct json *told_json(const struct device_convolutions *told)
{
    struct json *object = json_object_new(), *forms = json_array_new();
    bool made = forms != NULL;
    for (int i = 0; made && i < told->form_count; i++) {
        made = json_append(forms, form_json(&told->forms[i]));
    }
    made = json_set(object, "library", text_or_null(told->library)) &&
           json_set(object, "note", text_or_null(told->note)) &&
           json_set(object, "library_call_count", json_integer_new(told->library_call_count)) &&
           json_set(object, "own_call_count", json_integer_new(told->own_call_count)) &&
           json_set(object, "forms", forms) && made;
    return json_made(object, made);
}

bool convolution_choice_set(struct json *object, const struct device *device)
{
    struct device_convolutions told;
    if (device->table->convolutions == NULL) {
        return true;
    }
    device->table->convolutions(device, &told);
    bool any = told.library_call_count + told.own_call_count > 0;
    return json_set(object, "convolutions", any ? told_json(&told) : json_null_new());
}
