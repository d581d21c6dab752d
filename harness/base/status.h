/* Errors: a code that decides what happens next, one line of text for a person, and the place in a file.
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
    STATUS_NO_GPU,        /* a GPU that was asked for cannot be used (exit 4) */
    STATUS_BUSY,          /* another run has the device (exit 5) */
    STATUS_INTERRUPTED,   /* a signal came before the end (exit 7) */
    STATUS_IO,            /* a file could not be read or written */
    STATUS_INTERNAL       /* a fault of this program (exit 99) */
};

enum {
    STATUS_TEXT_BYTES = 1024,
    STATUS_PATH_BYTES = 512,
    STATUS_LINE_BYTES = STATUS_PATH_BYTES + STATUS_TEXT_BYTES + 32 /* a path, ":LINE:COLUMN: " and a text */
};

/* Where in a file something is wrong: from 1, a column is a character. line 0: the file as a whole. */
struct file_place {
    const char *path;
    int line, column;
};

/* How the one who will read a text writes the fields of a case (workload_key_text and its like in models/). A text is
 * made in these words; nobody puts others into it later. */
enum status_spelling {
    STATUS_SPELLING_KEYS,   /* as a suite: "lora_rank: 8" */
    STATUS_SPELLING_OPTIONS /* as the command line: "--lora-rank 8" */
};

/* A place and a text, apart: nobody has to look for the one in the other. The path is a copy, because what it names is
 * often released before the error is told. It has room of its own, so that a long path leaves the text whole; one that
 * does not fit keeps its end, the file's name, after "...". Both are UTF-8 without hidden characters (they become
 * '?'). */
struct status {
    enum status_code code;
    enum status_spelling spelling; /* set by whoever makes the status, read by those who name a field; stays as it is */
    int line, column;              /* as in file_place; 0 if there is none */
    char path[STATUS_PATH_BYTES];  /* "": the text is about no file, or says itself about which */
    char text[STATUS_TEXT_BYTES];  /* one line: cause and remedy; cut with "..." where it is too long */
};

/* Sets *error (if not NULL) to code and the formatted text, without a place, and returns code, so that callers can
 * `return status_set(error, STATUS_INVALID, ...)`. The arguments may point into *error. */
__attribute__((format(printf, 3, 4))) enum status_code status_set(struct status *error, enum status_code code,
                                                                  const char *format, ...);

/* The same with a place. */
__attribute__((format(printf, 4, 5))) enum status_code status_set_at(struct status *error, enum status_code code,
                                                                     struct file_place place, const char *format, ...);

/* Gives *error a place. One that it has already, as where one file names another that is wrong, goes before the
 * text. */
void status_place(struct status *error, struct file_place place);

/* Puts "prefix: " before the text that *error already has, and before its place, which becomes part of the text. Keeps
 * the code. */
__attribute__((format(printf, 2, 3))) void status_prefix(struct status *error, const char *format, ...);

/* Puts more after the text. Keeps code and place. */
__attribute__((format(printf, 2, 3))) void status_extend(struct status *error, const char *format, ...);

/* Hands on what another function found: *error (if not NULL) becomes *cause, but for its spelling. Returns code, which
 * may be another than that of the cause. */
enum status_code status_copy(struct status *error, enum status_code code, const struct status *cause);

/* As it is printed and kept in records: "PATH:LINE:COLUMN: text", "PATH: text" or the text alone. Returns line. */
const char *status_line(const struct status *error, char line[STATUS_LINE_BYTES]);

/* "ok", "invalid", "overflow", "out of memory", "unavailable", "device", "no GPU", "busy", "interrupted",
 * "io", "internal". */
const char *status_code_name(enum status_code code);

#endif
