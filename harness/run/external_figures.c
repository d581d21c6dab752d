/* External figures: pointers into JSON that somebody else wrote. A figure that is not a number of bytes from 0 up is
 * unknown. */
#include "harness/run/external_figures.h"

#include <math.h>

#include "harness/base/json_pointer.h"
#include "harness/base/size.h"

/* Below 2^53 units of a byte a double is exact, and nothing that is estimated is larger. */
static const double BYTES_MAXIMUM = 9007199254740992.0;

/* False if the value is no size. */
static bool figure_read(const struct json *value, int64_t unit_bytes, int64_t *bytes)
{
    if (json_kind(value) == JSON_KIND_INTEGER) {
        return size_multiply(json_integer_or(value, -1), unit_bytes, bytes);
    }
    double figure = json_kind(value) == JSON_KIND_REAL ? json_real_or(value, -1.0) * (double)unit_bytes : -1.0;
    if (!(figure >= 0.0 && figure < BYTES_MAXIMUM)) {
        return false;
    }
    *bytes = llround(figure);
    return true;
}

static void note_add(struct text *note, const struct external_quantity *quantity, const char *what)
{
    text_format(note, "%s%s: '%s' %s", note->length > 0 ? "; " : "", quantity->name, quantity->pointer, what);
}

/* The value of one quantity; what is wrong with it goes to note. */
static struct json *quantity_json(const struct suite_external *external, const struct external_quantity *quantity,
                                  struct json *document, struct text *note)
{
    struct json *value = json_pointer_get(document, quantity->pointer);
    int64_t bytes = 0;
    if (figure_read(value, external->unit_bytes, &bytes)) {
        return json_integer_new(bytes);
    }
    if (value == NULL) {
        note_add(note, quantity, "leads nowhere in the output");
    } else if (json_kind(value) != JSON_KIND_NULL) {
        note_add(note, quantity, "is no number of bytes");
    }
    return json_null_new();
}

struct json *external_figures(const struct suite_external *external, const struct text *output, const char *version,
                              const char *reason, bool *is_whole)
{
    struct text note = {0};
    struct json *document = NULL, *estimate = json_object_new();
    struct status wrong;
    char line[STATUS_LINE_BYTES];
    bool made = estimate != NULL;
    bool is_read = output != NULL &&
                   json_parse_text(external->name, text_string(output), output->length, &document, &wrong) == STATUS_OK;
    if (!is_read) {
        text_append(&note, output != NULL ? "its output is no JSON: " : reason);
        text_append(&note, output != NULL ? status_line(&wrong, line) : "");
    }
    for (int i = 0; i < external->quantity_count && made; i++) {
        const struct external_quantity *quantity = &external->quantities[i];
        made = json_set(estimate, quantity->name,
                        is_read ? quantity_json(external, quantity, document, &note) : json_null_new());
    }
    if (made && version != NULL) {
        made = json_set(estimate, "version", json_string_new(version));
    }
    *is_whole = note.length == 0;
    if (made && !*is_whole) {
        made = json_set(estimate, "note", json_string_new(text_string(&note)));
    }
    made = made && !note.failed;
    text_release(&note);
    json_release(document);
    return json_made(estimate, made);
}
