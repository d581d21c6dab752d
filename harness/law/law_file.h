/* Law file: a fitted overhead law as JSON (docs/FORMAT.md, Laws), and what it says of a case.
 *
 * The reader takes what comes from outside: each member is checked, and what is wrong is named with its path. */
#ifndef ASSAY_LAW_LAW_FILE_H
#define ASSAY_LAW_LAW_FILE_H

#include "harness/base/json.h"
#include "harness/law/overhead_law.h"

#define LAW_SCHEMA_NAME "assay-law"
enum { LAW_SCHEMA_MAJOR = 1, LAW_SCHEMA_MINOR = 3, LAW_KINDS_MAXIMUM = 1000, LAW_WORDS_MAXIMUM = 16 };

/* The range of law_point_tokens, beside those of LAW_POINT_SIZES. Since 1.2. */
#define LAW_TOKENS "tokens"

/* The document; NULL if memory ran out. */
struct json *overhead_law_json(const struct overhead_law *law, const char *version);

/* What of a kind is kept in a file. */
struct law_kind {
    const char *kind, *target, *program;
    const char *borrowed_from;   /* the device whose coefficients, range and words these are; NULL: its own */
    int model_count, case_count; /* on the target itself */
    double coefficients[TERM_COUNT];
    bool is_known[TERM_COUNT];
    double allocator_bytes;
    double context[2];                       /* NaN: not known */
    double median, p99, worst;               /* errors out of sample; p99 NaN of few cases */
    struct law_point low, high;              /* texts NULL */
    int64_t tokens_low, tokens_high;         /* 0 and INT64_MAX in a law before version 1.2 */
    const char *words[4][LAW_WORDS_MAXIMUM]; /* precisions, attentions, logits, caches that it has seen; NULL ends */
};

/* What lies beside the segments that replay has, of one class of device, program and mode. */
struct law_context {
    const char *target, *program, *mode;
    int model_count, case_count;
    double bytes;
    double median, p99, worst; /* errors of models that were left out; NaN: not known, p99 of few cases too */
};

struct law_file {
    struct arena arena;
    const char *path;
    struct law_kind *kinds;
    int kind_count;
    struct law_context *contexts; /* none in a law of version 1.0 */
    int context_count;
};

/* STATUS_INVALID: "FILE: 'kinds[2].coefficients.cache' must be a number"; a law of another name or a newer major
 * version. STATUS_IO. *file begins as all zero and is released by the caller, also after an error. */
enum status_code law_file_read(const char *path, struct law_file *file, struct status *error);
void law_file_release(struct law_file *file);

/* A prediction of one case. */
struct law_answer {
    const struct law_kind *kind;
    double allocated_bytes, footprint_bytes; /* NaN: not known */
    double weights_bytes;
    enum overhead_moment moment;
    struct text outside; /* a line for each variable that is outside of what the law was fitted to; "" if none is */
};

/* The kind for a model type on a class of device, the first of *count: each is of another program. NULL: the law has
 * none. */
const struct law_kind *law_file_kind(const struct law_file *file, const char *kind, const char *target, int *count);

/* The kind whose coefficients kind has borrowed; NULL: they are its own, or the file lacks it. */
const struct law_kind *law_file_donor(const struct law_file *file, const struct law_kind *kind);

/* The context of a class of device and a mode ("infer"): that of program, or if program is NULL or has none the first
 * of *count, each of another program. NULL: the law has none. */
const struct law_context *law_file_context(const struct law_file *file, const char *target, const char *mode,
                                           const char *program, int *count);

/* The nearest whole number; beyond 2^62 that, and 0 of what is no number: a file from outside may say anything. */
int64_t law_bytes(double bytes);

/* Predicts point, whose bytes but weights are not read. The caller releases answer->outside. */
void law_answer_make(const struct law_kind *kind, const struct law_point *point, struct law_answer *answer);

/* The terms that make up the answer, for people: "c 4.058 x T H e = 6.19 MiB". */
void law_answer_terms(const struct law_answer *answer, const struct law_point *point, struct text *text);

#endif
