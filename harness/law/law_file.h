/* Law file: a fitted overhead law as JSON (docs/FORMAT.md, Laws), and what it says of a case.
 *
 * The reader takes what comes from outside: each member is checked, and what is wrong is named with its path. */
#ifndef ASSAY_LAW_LAW_FILE_H
#define ASSAY_LAW_LAW_FILE_H

#include "harness/base/json.h"
#include "harness/law/overhead_law.h"

#define LAW_SCHEMA_NAME "assay-law"
enum { LAW_SCHEMA_MAJOR = 2, LAW_SCHEMA_MINOR = 0, LAW_KINDS_MAXIMUM = 1000 };

/* The range of law_point_tokens, beside those of LAW_POINT_SIZES. */
#define LAW_TOKENS "tokens"

/* The members that every law begins with: type, schema, law, version. NULL: no memory. */
struct json *law_document_new(const char *law, const char *version);

/* The document; NULL if memory ran out. */
struct json *overhead_law_json(const struct overhead_law *law, const char *version);

struct law_file {
    struct arena arena;
    const char *path;
    struct law_kind *kinds; /* without intervals, errors of replay and points */
    int kind_count;
    struct error_summary tested; /* on all measurements of GPUs */
};

/* STATUS_INVALID: "FILE: 'kinds[2].rounding_bytes' must be a number"; a law of another name or another major version.
 * STATUS_IO. *file begins as all zero and is released by the caller, also after an error. */
enum status_code law_file_read(const char *path, struct law_file *file, struct status *error);
void law_file_release(struct law_file *file);

/* NULL: the law has no coefficients of such a type of model. */
const struct law_kind *law_file_kind(const struct law_file *file, const char *kind);

/* A prediction of one case. */
struct law_answer {
    const struct law_kind *kind;
    double allocated_bytes, weights_bytes, workspace_bytes;
    double kept_bytes; /* of the pass before */
    enum overhead_moment moment;
    struct text outside; /* a line for each variable that is outside of what the law was fitted to; "" if none is */
};

/* The nearest whole number; beyond 2^62 that, and 0 of what is no number: a file from outside may say anything. */
int64_t law_bytes(double bytes);

/* Predicts point, whose bytes but weights are not read, in a loop that keeps its outputs or drops them. The caller
 * releases answer->outside. */
void law_answer_make(const struct law_kind *kind, const struct law_point *point, bool keeps_outputs,
                     struct law_answer *answer);

/* The terms that make up the answer, for people: "c    4.058 x T H e    6.19 MiB". */
void law_answer_terms(const struct law_answer *answer, const struct law_point *point, struct text *text);

#endif
