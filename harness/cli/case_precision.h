/* Case precision: the precision of a case that does not name one, and where it comes from. from_pretrained of
 * transformers 5 takes the same by itself (dtype="auto"): what the configuration says, and if it says nothing what is
 * stored. */
#ifndef ASSAY_CLI_CASE_PRECISION_H
#define ASSAY_CLI_CASE_PRECISION_H

#include "harness/base/json.h"
#include "harness/base/text.h"
#include "harness/cli/command.h"
#include "models/find/model.h"
#include "models/find/stored_precision.h"

enum precision_source {
    PRECISION_GIVEN,         /* --precision */
    PRECISION_STORED,        /* most bytes of the model's file */
    PRECISION_CONFIGURATION, /* its configuration says so: dtype, or quantization_config */
    PRECISION_DEFAULT        /* float32 */
};

struct precision_choice {
    enum precision precision;
    enum precision_source source;
    struct stored_precision stored; /* of the model's file; type NULL: there is none */
    int64_t stored_bytes;
    struct config_packing packing; /* as the configuration has it */
    bool states_dtype;             /* whether the configuration says one */
    enum dtype dtype;              /* which */
};

/* Gives a note if --precision is not given and the precision differs from what a file, or its configuration, says. */
struct precision_choice precision_choose(const struct arguments *arguments, const struct model *model,
                                         struct text *notes);

/* "bfloat16, as stored; --precision float32 for another": a line, if the precision is not the default. If --precision
 * was given: only if it is float32, float16 or bfloat16 and the configuration says another. */
void precision_line(const struct precision_choice *choice, struct text *text);

/* {"source", "stored", "stored_fraction", "configuration"} */
struct json *precision_json(const struct precision_choice *choice);

#endif
