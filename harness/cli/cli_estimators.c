/* assay estimators: the table of estimators, each with the rule's source. Touches no device and no model. */
#include "harness/cli/command.h"
#include "harness/cli/output.h"
#include "harness/estimate/estimate.h"

static const struct option_row options[] = {
    {"json", OPTION_FLAG, NULL, "print one JSON document"},
    {NULL, OPTION_FLAG, NULL, NULL},
};

static struct json *estimator_json(const struct estimator *estimator)
{
    struct json *object = json_object_new();
    bool made = json_set(object, "name", json_string_new(estimator->name)) &&
                json_set(object, "what", json_string_new(estimator->what)) &&
                json_set(object, "source", json_string_new(estimator->source)) &&
                json_set(object, "divides", json_boolean_new(estimator->divides));
    return json_made(object, made);
}

static enum status_code document_print(struct status *error)
{
    struct json *document = json_object_new();
    struct json *list = json_array_new();
    bool made = list != NULL;
    for (int i = 0; estimator_at(i) != NULL && made; i++) {
        made = json_append(list, estimator_json(estimator_at(i)));
    }
    made = json_set(document, "estimators", list) && made;
    enum status_code code = output_json(made ? document : NULL, error);
    json_release(document);
    return code;
}

static enum status_code lines_print(struct status *error)
{
    struct text text = {0};
    for (int i = 0; estimator_at(i) != NULL; i++) {
        const struct estimator *estimator = estimator_at(i);
        text_format(&text, "%-20s  %s\n%22s%s%s\n", estimator->name, estimator->what, "", estimator->source,
                    estimator->divides ? "; divided models too" : "");
    }
    enum status_code code = output_lines(&text, error);
    text_release(&text);
    return code;
}

static enum status_code estimators_run(const struct arguments *arguments, enum exit_code *exit_code,
                                       struct status *error)
{
    (void)exit_code;
    return arguments_value(arguments, "json") != NULL ? document_print(error) : lines_print(error);
}

const struct command command_estimators = {
    .name = "estimators",
    .operands = "",
    .summary = "the rules that predict, and where each is published",
    .details = "assay estimate MODEL --mode, plan and run ask each estimator that has a rule for the case.\n"
               "docs/NUMBERS.md, 5, has a worked number of each.\n",
    .options = options,
    .run = estimators_run,
};
