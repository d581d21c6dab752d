/* Errors: a code that decides what happens next, and one line of text for a person.
 *
 * Every function that can fail returns an enum status_code and takes `struct status *error` last. It writes its
 * outputs on success only. `error` may be NULL. Nothing here prints or exits; cli/ turns codes into exit codes. */
#ifndef ASSAY_BASE_STATUS_H
#define ASSAY_BASE_STATUS_H

enum status_code {
    STATUS_OK = 0,
    STATUS_INVALID,       /* the user's input is wrong: option, suite, model file (exit 2) */
    STATUS_OVERFLOW,      /* a size does not fit 63 bits (exit 2: it comes from the input) */
    STATUS_OUT_OF_MEMORY, /* a device or the host has not enough memory: an outcome of a case, not a fault */
    STATUS_UNAVAILABLE,   /* a device or library is not here: the case is skipped with this text */
    STATUS_DEVICE,        /* a device call failed */
    STATUS_IO,            /* a file could not be read or written */
    STATUS_INTERNAL       /* a fault of this program (exit 99) */
};

enum { STATUS_TEXT_BYTES = 1024 };

struct status {
    enum status_code code;
    char text
        [STATUS_TEXT_BYTES]; /* one line of UTF-8 without hidden characters (they become '?'); cut with "..." where it is too long */
};

/* Sets *error (if not NULL) to code and the formatted text, and returns code, so that callers can
 * `return status_set(error, STATUS_INVALID, ...)`. */
__attribute__((format(printf, 3, 4))) enum status_code status_set(struct status *error, enum status_code code,
                                                                  const char *format, ...);

/* Puts "prefix: " before the text that *error already has. Keeps the code. */
__attribute__((format(printf, 2, 3))) void status_prefix(struct status *error, const char *format, ...);

/* "ok", "invalid", "overflow", "out of memory", "unavailable", "device", "io", "internal". */
const char *status_code_name(enum status_code code);

#endif
