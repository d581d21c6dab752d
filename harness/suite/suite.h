/* Suite: a YAML file in, a list of cases out. The format is described in docs/FORMAT.md.
 *
 * A case of the file is a set of keys, each a value or a list; lists multiply. Keys are looked up in the include entry,
 * the case, `defaults` and (settings only) the top of the file, in this order. */
#ifndef ASSAY_SUITE_SUITE_H
#define ASSAY_SUITE_SUITE_H

#include <stddef.h>
#include <stdint.h>

#include "harness/base/arena.h"
#include "harness/base/status.h"
#include "harness/base/text.h"
#include "harness/record/quantity.h"
#include "harness/record/tolerance.h"
#include "harness/suite/identity.h"

enum { SUITE_CASES_MAXIMUM = 1000000 };

/* How far a prediction may be off, of what was measured. */
struct suite_tolerance {
    const char *estimator; /* "replay"; whether it exists is known to harness/estimate, not here */
    enum quantity quantity;
    struct tolerance tolerance;
    int line, column;
};

/* A prediction that the suite itself makes; it appears under the estimator "expected". */
struct suite_expectation {
    enum quantity quantity;
    int64_t bytes;
};

/* What is not identity: how a case is run and judged. Shared by the combinations of one case. */
struct suite_settings {
    const char *device;   /* NULL: the choice of whoever runs the suite */
    const char *target;   /* `for`: row of tape/target.h; NULL: the one that describes the device */
    int64_t memory_bytes; /* `memory`: what segments may take together; 0: no bound */
    double timeout_seconds;
    int repeat; /* attempts, each in a child of its own */
    const char **tags;
    int tag_count;
    struct suite_tolerance *tolerances;
    int tolerance_count;
    struct suite_expectation *expectations;
    int expectation_count;
};

struct suite_case {
    const char *id; /* unique in the suite */
    struct identity identity;
    const struct suite_settings *settings;
    int line, column; /* of the case in the file */
};

struct suite_external;

struct suite {
    struct arena arena;                    /* owns everything below */
    const char *path, *name, *description; /* description may be "" */
    const char *folder; /* of path, where paths in the suite begin; NULL: the working directory, it is of no file */
    struct suite_case *cases;
    int case_count;
    const struct suite_external *externals; /* harness/suite/suite_external.h */
    int external_count;
    struct level_rules compare; /* how far its results may be from earlier ones; assay compare reads it of the record */
    char plan_hash[17];         /* FNV-1a of all ids in order, in hexadecimal: equal for equal lists of cases */
    char settings_hash[17]; /* the same of what the suite says of its cases besides: devices, bounds, times, attempts,
                               tags, tolerances, expectations, external estimators */
};

/* Reads and expands. Models are looked up through catalogue_dir (catalogue.h), so a suite that names an unknown one
 * is an error here; catalogue_dir NULL: not looked up, all taken for text models. Errors are STATUS_INVALID or
 * STATUS_OVERFLOW with "FILE:LINE:COLUMN: what is wrong; what would be right". */
enum status_code suite_read(const char *path, const char *catalogue_dir, struct suite *suite, struct status *error);

/* The same from memory; name stands for the file. */
enum status_code suite_read_text(const char *name, const char *text, size_t length, const char *catalogue_dir,
                                 struct suite *suite, struct status *error);

void suite_release(struct suite *suite);

/* Appends by what the suite judges: "none", or each tolerance that it has, once, in the order in which cases have them,
 * as far as 90 characters go, and a hash of which case has which tolerance and which expectation:
 * "replay requested_bytes_peak 0 B, replay process_bytes 5 % (9f3c21aa)". */
void suite_tolerances_append(const struct suite *suite, struct text *text);

/* Whether the case is selected by a shell pattern: it matches the id as a whole, or one of the tags. NULL: all. */
bool suite_case_matches(const struct suite_case *case_, const char *pattern);

/* The word under which `tolerances` has what is judged of replay on a GPU whose constants hold, and nowhere else. */
#define TOLERANCE_CALIBRATED_GPU "calibrated-gpu"

/* The tolerance for this estimator and quantity, or NULL: it is reported and not judged. Predictions of `expect` are
 * judged exactly if the suite gives no tolerance for the estimator "expected". */
const struct tolerance *suite_case_tolerance(const struct suite_case *case_, const char *estimator,
                                             enum quantity quantity);

#endif
