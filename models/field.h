/* Fields: typed values out of a JSON object of a model's configuration. The first fault is kept, later ones are passed
 * over, so that a reader can ask for every field and look once. Messages: "FILE:LINE:COLUMN: key: cause; remedy", the
 * place being that of the value, or of the object where the key is missing. */
#ifndef ASSAY_MODELS_FIELD_H
#define ASSAY_MODELS_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/json.h"
#include "harness/base/status.h"
#include "models/config.h"

enum { FIELD_NULL_REFUSED = -1 };

struct field_reader {
    const struct json *object;
    const char *path;   /* of the file, for messages */
    const char *parent; /* the way from the document to object, as in json_place.h; NULL: object is the document */
    struct status *error;
    enum status_code code; /* STATUS_OK until the first fault */
};

/* One integer of a family. The value is at least 1 and at most maximum. */
struct integer_field {
    const char *key;
    const char *alias;  /* another key that the real class accepts; NULL: none */
    size_t offset;      /* of an int64_t in struct config */
    int64_t fallback;   /* where the key is absent */
    int64_t null_value; /* where it is null; FIELD_NULL_REFUSED: that is a fault */
    int64_t maximum;
};

/* Sets the reader's fault, if it has none yet. */
__attribute__((format(printf, 3, 4))) void field_fault(struct field_reader *reader, const char *key, const char *format,
                                                       ...);

/* The member, or NULL where it is absent. */
const struct json *field_member(const struct field_reader *reader, const char *key);

void field_integers(struct field_reader *reader, const struct integer_field *fields, size_t count,
                    struct config *config);
int64_t field_integer(struct field_reader *reader, const char *key, int64_t minimum, int64_t maximum,
                      int64_t fallback); /* null counts as absent */
double field_real(struct field_reader *reader, const char *key, double minimum, double maximum,
                  double fallback); /* minimum <= value <= maximum; null is a fault */
bool field_boolean(struct field_reader *reader, const char *key, bool fallback);

/* A string; NULL where it is absent or null. Borrowed from the object. */
const char *field_string(struct field_reader *reader, const char *key);

/* An integer, or a pair of equal integers: the side of a square. */
int64_t field_square(struct field_reader *reader, const char *key, int64_t maximum, int64_t fallback);

#endif
