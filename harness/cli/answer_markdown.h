/* Answer Markdown: the documents of commands as GitHub's tables, for documentation: `--format md` beside --json. What
 * is not known is "-". */
#ifndef ASSAY_CLI_ANSWER_MARKDOWN_H
#define ASSAY_CLI_ANSWER_MARKDOWN_H

#include "harness/base/json.h"
#include "harness/base/text.h"
#include "harness/cli/command.h"

#define FORMAT_OPTION_ROW                                                                                              \
    {                                                                                                                  \
        "format", OPTION_VALUE, "FORMAT", "table (default), json, or md: GitHub's tables, for documentation"           \
    }

enum answer_format { ANSWER_TABLE, ANSWER_JSON, ANSWER_MARKDOWN };

/* What --format and --json ask for. STATUS_INVALID if they contradict each other, or there is no such format. */
enum status_code answer_format_read(const struct arguments *arguments, enum answer_format *format,
                                    struct status *error);

typedef void (*markdown_writer)(const struct json *document, struct text *text);

/* What the counts of a list of models are: published ones often have the head. */
#define MODELS_COUNT_WORDS                                                                                             \
    "Parameters are those of the model without the head of a task, tied ones once; assay models MODEL --head lm "      \
    "counts the "                                                                                                      \
    "head.\n"
void models_markdown(const struct json *document, struct text *text);   /* of `models`: a list, or one model */
void rows_markdown(const struct json *document, struct text *text);     /* of `estimate` alone: accelerate's table */
void estimate_markdown(const struct json *document, struct text *text); /* of `estimate --mode`: a case, or several */
void fit_markdown(const struct json *document, struct text *text);

/* Prints a document (NULL: memory ran out while it was made) as JSON or through its writer; not for ANSWER_TABLE. */
enum status_code output_answer(const struct json *document, enum answer_format format, markdown_writer writer,
                               struct status *error);

#endif
