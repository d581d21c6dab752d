/* Estimate table: assay estimate without --mode, which is the table of accelerate estimate-memory. */
#ifndef ASSAY_CLI_ESTIMATE_TABLE_H
#define ASSAY_CLI_ESTIMATE_TABLE_H

#include "harness/base/text.h"
#include "harness/cli/command.h"
#include "models/find/model.h"

/* Prints it, as --json if that was asked for. Of a model whose config.family is NULL (model_open): what its file
 * stores, by type, and the table of that. The document has notes if there are any: else it is that of accelerate's
 * columns alone. */
enum status_code estimate_table_print(const struct arguments *arguments, const struct model *model, struct text *notes,
                                      struct status *error);

#endif
