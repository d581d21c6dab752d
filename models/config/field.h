/* Fields: typed values out of a JSON object of a model's configuration. The first fault is kept, later ones are passed
 * over, so that a reader can ask for every field and look once. Messages: "FILE:LINE:COLUMN: key: cause; remedy", the
 * place being that of the value, or of the object where the key is missing. */
#ifndef ASSAY_CONFIG_FIELD_H
#define ASSAY_CONFIG_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/base/json.h"
#include "harness/base/status.h"
#include "models/config/config.h"

enum { FIELD_NULL_REFUSED = -1 };

enum { FIELD_KEYS_MAXIMUM = 96, FIELD_MISSING_MAXIMUM = 24 };

/* What was asked of a document, and what of it that decides sizes was not there. Keys outlive the record. */
struct field_record {
    const char *read[FIELD_KEYS_MAXIMUM];
    int read_count;
    struct {
        const char *key;
        char taken[32]; /* instead: "4096", "[3, 3, 9, 3]" */
    } missing[FIELD_MISSING_MAXIMUM];
    int missing_count;
};

struct config_keys;

struct field_reader {
    const struct json *object;
    const char *path;   /* of the file, for messages */
    const char *parent; /* the way from the document to object, as in json_place.h; NULL: object is the document */
    const struct config_keys *keys; /* of the model_type: other names of fields; NULL: there are none */
    struct field_record *record;    /* of the document; NULL: nothing is recorded */
    struct status *error;
    enum status_code code; /* STATUS_OK until the first fault */
};

/* One integer of a family. The value is at least 1 and at most maximum. */
struct integer_field {
    const char *key;
    const char *older;  /* a key of older releases that the real class takes instead, if it is not null; NULL: none.
                           Names of its attribute_map are known to the reader (config_keys.h) */
    size_t offset;      /* of an int64_t in struct config */
    int64_t fallback;   /* if the key is absent */
    int64_t null_value; /* if it is null; FIELD_NULL_REFUSED: that is a fault */
    int64_t maximum;
};

/* Sets the reader's fault, if it has none yet. */
__attribute__((format(printf, 3, 4))) void field_fault(struct field_reader *reader, const char *key, const char *format,
                                                       ...);

/* The member, or NULL if it is absent. Another name of it that the real class prefers comes first. */
const struct json *field_member(const struct field_reader *reader, const char *key);

/* Records that a key that decides sizes is not there, and what was taken instead. */
__attribute__((format(printf, 3, 4))) void field_missing(const struct field_reader *reader, const char *key,
                                                         const char *format, ...);

void field_integers(struct field_reader *reader, const struct integer_field *fields, size_t count,
                    struct config *config);
int64_t field_integer(struct field_reader *reader, const char *key, int64_t minimum, int64_t maximum,
                      int64_t fallback); /* null counts as absent */
double field_real(struct field_reader *reader, const char *key, double minimum, double maximum,
                  double fallback); /* minimum <= value <= maximum; null is a fault */
bool field_boolean(struct field_reader *reader, const char *key, bool fallback);

/* A string; NULL if it is absent or null. Borrowed from the object. */
const char *field_string(struct field_reader *reader, const char *key);

/* An integer, or a pair of equal integers: the side of a square. */
int64_t field_square(struct field_reader *reader, const char *key, int64_t maximum, int64_t fallback);

#endif
