/* Pickle codes: the instructions of a pickle, as Python's Lib/pickletools.py lists them. For pickle.c alone. */
#ifndef ASSAY_BASE_PICKLE_CODES_H
#define ASSAY_BASE_PICKLE_CODES_H

/* What it does with the machine; PICKLE_REFUSED reaches out of it. */
enum pickle_does {
    PICKLE_REFUSED,
    PICKLE_STOP,
    PICKLE_NULL,
    PICKLE_TRUE,
    PICKLE_FALSE,
    PICKLE_REAL,
    PICKLE_NEW_ARRAY,
    PICKLE_NEW_OBJECT,
    PICKLE_MARK,
    PICKLE_MEMOIZE,
    PICKLE_INTEGER,
    PICKLE_LONG,
    PICKLE_TEXT,
    PICKLE_BYTES,
    PICKLE_PUT,
    PICKLE_GET,
    PICKLE_PROTOCOL,
    PICKLE_FRAME,
    PICKLE_ARRAY,
    PICKLE_APPEND,
    PICKLE_SET
};

enum pickle_form {
    PICKLE_FORM_PLAIN,
    PICKLE_FORM_COUNT,  /* a number of `width` bytes follows */
    PICKLE_FORM_MARKED, /* it takes the values behind the last mark */
    PICKLE_FORM_LAST    /* it takes the last `width` values */
};

struct pickle_code {
    unsigned char byte;
    enum pickle_form form;
    int width;
    enum pickle_does does;
    const char *name;
};

/* NULL: there is none in the protocols 2 to 5, or only text of protocol 0 has it. */
const struct pickle_code *pickle_code_find(unsigned char byte);

#endif
