/* Shadow lines: reading them, and the tape's own figures in their form. What may differ is in the tests. */
#include "tests/models/shadow_lines.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Workspaces and scratch, because no library ran; what torch.tensor() makes of a number, because no operator does. */
static bool is_unseen(const struct storage *storage)
{
    return storage->category == CATEGORY_WORKSPACE || storage->is_scratch ||
           strcmp(storage->label, "special token") == 0;
}

void stage_figures_take(const struct tape_view *view, struct stage_figures *figures)
{
    int64_t live = 0;
    int stage = STAGE_CONTEXT;
    *figures = (struct stage_figures){0};
    for (int i = 0; i < view->event_count; i++) {
        struct event event = view->events[i];
        if (event.kind == EVENT_STAGE) {
            stage = event.index;
            figures->present[stage] = true;
            figures->peak[stage] = live;
        } else if (event.kind == EVENT_ALLOC || event.kind == EVENT_FREE) {
            const struct storage *storage = &view->storages[event.index];
            bool workspace = storage->category == CATEGORY_WORKSPACE;
            live += is_unseen(storage) ? 0 : event.kind == EVENT_ALLOC ? storage->bytes : -storage->bytes;
            figures->workspace_bytes += workspace ? storage->bytes : 0;
        }
        figures->end[stage] = live;
        figures->peak[stage] = live > figures->peak[stage] ? live : figures->peak[stage];
    }
}

const char *shadow_text(const struct json *line, const char *key)
{
    return json_string_or(json_get(line, key), "");
}

static const struct {
    const char *shadow, *model;
} models[] = {
    {"llama-3.2-1b", "meta-llama/Llama-3.2-1B"},
    {"llama-2-7b", "meta-llama/Llama-2-7b-hf"},
    {"qwen2.5-0.5b", "Qwen/Qwen2.5-0.5B"},
    {"resnet18", "timm/resnet18.a1_in1k"},
    {"resnet50", "timm/resnet50.a1_in1k"},
    {"vit-base", "google/vit-base-patch16-224"},
    {"tiny/gpt2", "peers/pytorch/tiny/gpt2/config.json"},
    {"tiny/gpt2-dropout", "peers/pytorch/tiny/gpt2-dropout/config.json"},
    {"tiny/gpt2-wide", "peers/pytorch/tiny/gpt2-wide/config.json"},
    {"tiny/bert", "peers/pytorch/tiny/bert/config.json"},
    {"tiny/bert-dropout", "peers/pytorch/tiny/bert-dropout/config.json"},
    {"tiny/qwen2", "peers/pytorch/tiny/qwen2/config.json"},
    {"tiny/llama-gqa", "peers/pytorch/tiny/llama-gqa/config.json"},
};

const char *shadow_model(const struct json *line)
{
    const char *shadow = shadow_text(line, "model");
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        if (strcmp(models[i].shadow, shadow) == 0) {
            return models[i].model;
        }
    }
    return shadow;
}

static enum status_code field_set(struct workload *workload, const char *key, const struct json *value,
                                  struct status *error)
{
    char number[24];
    const char *text = json_string_or(value, NULL);
    if (text == NULL && json_kind(value) == JSON_KIND_INTEGER) {
        snprintf(number, sizeof number, "%" PRId64, json_integer_or(value, 0));
        text = number;
    } else if (text == NULL && json_kind(value) == JSON_KIND_REAL) {
        snprintf(number, sizeof number, "%.6g", json_real_or(value, 0.0));
        text = number;
    } else if (text == NULL && json_kind(value) == JSON_KIND_BOOLEAN) {
        text = json_boolean_or(value, false) ? "true" : "false";
    }
    return text != NULL ? workload_set(workload, key, text, error) : STATUS_OK;
}

enum status_code shadow_workload_read(const struct json *line, struct workload *workload, struct status *error)
{
    struct workload made = workload_default(MODE_LOAD);
    enum status_code code = field_set(&made, "mode", json_get(line, "mode"), error);
    made = workload_default(made.mode);
    made.seq = 0;
    for (int field = FIELD_MODE + 1; field < FIELD_COUNT && code == STATUS_OK; field++) {
        const char *key = case_field_key((enum case_field)field);
        code = field_set(&made, key, json_get(line, key), error);
    }
    if (code == STATUS_OK) {
        *workload = made;
    }
    return code;
}

struct workload shadow_workload(const struct json *line)
{
    struct status error = {0};
    struct workload workload = workload_default(MODE_LOAD);
    if (shadow_workload_read(line, &workload, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return workload;
}

int shadow_lines_each(const char *path, bool (*check)(const struct json *line))
{
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fail_msg("%s cannot be read", path);
        return 0;
    }
    char *text = NULL;
    size_t capacity = 0;
    int checked = 0;
    for (ssize_t length; (length = getline(&text, &capacity, file)) > 0;) {
        struct status error = {0};
        struct json *line = NULL;
        if (json_parse_text(path, text, (size_t)length, &line, &error) != STATUS_OK) {
            fail_msg("%s", error.text);
        }
        checked += check(line);
        json_release(line);
    }
    free(text);
    fclose(file);
    return checked;
}
