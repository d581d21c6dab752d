/* Answers requests for plans, for device_maps.py to hold against accelerate: one line in, one line of JSON out.
 *   model NAME bare|lm                   the model that the next requests are about, of models/catalogue
 *   toy                                  a model of its own: the lines that follow, up to "end"
 *                                        (tests/placement/request_line.h)
 *   plan STRATEGY WIDTH CLASSES FLAGS BUDGETS      see tests/placement/request_line.h
 * Runs in the root of the repository. Not a test: it knows nothing of what is right. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/placement/plan_json.h"
#include "models/find/catalogue.h"
#include "models/skeleton/skeleton_builder.h"
#include "tests/placement/request_line.h"

struct subject {
    struct config config;
    struct skeleton skeleton;
};

static void error_print(const char *name, const char *text)
{
    struct json *document = json_object_new();
    struct text line = {0};
    json_set(document, "error", json_string_new(name));
    json_set(document, "text", json_string_new(text));
    json_write(document, 0, &line, NULL);
    puts(text_string(&line));
    text_release(&line);
    json_release(document);
}

static void model_open(const char *line, struct subject *subject)
{
    char name[256], head[8];
    struct status error = {0};
    skeleton_release(&subject->skeleton);
    subject->skeleton = (struct skeleton){0};
    if (sscanf(line, "%255s %7s", name, head) != 2 ||
        config_find("models/catalogue", name, &subject->config, &error) != STATUS_OK ||
        skeleton_build(&subject->config, strcmp(head, "lm") == 0 ? HEAD_LM : HEAD_BARE, &subject->skeleton, &error) !=
            STATUS_OK) {
        error_print("model", status_line(&error, (char[STATUS_LINE_BYTES]){0}));
        return;
    }
    puts("{}");
}

static void toy_open(struct subject *subject)
{
    char line[1024];
    struct status error = {0};
    struct skeleton_builder builder = {.skeleton = &subject->skeleton, .config = &subject->config, .error = &error};
    skeleton_release(&subject->skeleton);
    subject->skeleton = (struct skeleton){.config = &subject->config};
    while (fgets(line, sizeof line, stdin) != NULL && strcmp(line, "end\n") != 0) {
        request_toy_line(line, &builder);
    }
    puts(builder.code == STATUS_OK ? "{}" : "{\"error\": \"toy\"}");
}

static void plan_answer(const char *line, const struct subject *subject)
{
    struct request_line request;
    struct device_plan plan;
    struct status error = {0};
    char name[32];
    if (!request_line_read(line, &request)) {
        error_print("request", line);
        return;
    }
    if (device_plan_make(&subject->skeleton, &request.request, &plan, &error) != STATUS_OK) {
        exception_name(&error, name);
        error_print(name, status_line(&error, (char[STATUS_LINE_BYTES]){0}));
        return;
    }
    struct json *document = json_object_new();
    struct text text = {0};
    char hash[24];
    snprintf(hash, sizeof hash, "%016" PRIx64, device_plan_hash(&plan));
    device_plan_set(&plan, document);
    json_set(document, "warnings", json_string_new(text_string(&plan.warnings)));
    json_set(document, "hash", json_string_new(hash));
    json_write(document, 0, &text, NULL);
    puts(text_string(&text));
    text_release(&text);
    json_release(document);
    device_plan_release(&plan);
}

int main(void)
{
    static struct subject subject;
    char line[1024];
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (strncmp(line, "model ", 6) == 0) {
            model_open(line + 6, &subject);
        } else if (strcmp(line, "toy\n") == 0) {
            toy_open(&subject);
        } else if (strncmp(line, "plan ", 5) == 0) {
            plan_answer(line + 5, &subject);
        } else {
            error_print("line", line);
        }
        fflush(stdout);
    }
    skeleton_release(&subject.skeleton);
    return 0;
}
