/* Shard plan file: plan.json, written and read. Who reads one trusts nothing of it but what its hash covers. */
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/file_replace.h"
#include "harness/base/name_table.h"
#include "harness/run/shard_plan.h"
#include "harness/run/shard_split.h"

#define PLAN_SCHEMA "assay-shard-plan"
enum { PLAN_MAJOR = 1, PLAN_MINOR = 0, PLAN_BYTES_MAXIMUM = 1 << 28, PLAN_ATTEMPTS_MAXIMUM = 1000000 };

static struct json *schema_json(void)
{
    struct json *schema = json_object_new();
    bool made = json_set(schema, "name", json_string_new(PLAN_SCHEMA)) &&
                json_set(schema, "major", json_integer_new(PLAN_MAJOR)) &&
                json_set(schema, "minor", json_integer_new(PLAN_MINOR));
    return json_made(schema, made);
}

static struct json *cases_json(const struct shard_plan *plan)
{
    struct json *list = json_array_new();
    bool made = list != NULL;
    for (int i = 0; made && i < plan->case_count; i++) {
        const struct shard_case *case_ = &plan->cases[i];
        struct json *row = json_object_new();
        made = json_set(row, "id", json_string_new(case_->id)) &&
               json_set(row, "shard", json_integer_new(case_->shard)) &&
               json_set(row, "attempts", json_integer_new(case_->attempts)) &&
               json_set(row, "predicted_ms", json_integer_new(case_->cost_ms));
        made = json_append(list, json_made(row, made));
    }
    return json_made(list, made);
}

struct json *shard_plan_json(const struct shard_plan *plan)
{
    struct json *object = json_object_new(), *loads = json_array_new();
    bool made = true;
    for (int i = 0; made && i < plan->shard_count; i++) {
        made = json_append(loads, json_integer_new(plan->loads_ms[i]));
    }
    made = json_set(object, "schema", schema_json()) && made;
    made = json_set(object, "plan_hash", json_string_new(plan->hash)) && made;
    made = json_set(object, "shard_count", json_integer_new(plan->shard_count)) && made;
    made = json_set(object, "suite", json_string_new(plan->suite)) && made;
    made = json_set(object, "suite_hash", json_string_new(plan->suite_hash)) && made;
    made = json_set(object, "settings_hash", json_string_new(plan->settings)) && made;
    made = json_set(object, "options", json_string_new(plan->options)) && made;
    made = json_set(object, "choice", json_string_new(plan->choice)) && made;
    made = json_set(object, "shards_predicted_ms", loads) && made;
    made = json_set(object, "cases", cases_json(plan)) && made;
    return json_made(object, made);
}

/* What is there is another plan's: nothing is measured into a folder that could not be merged. */
static enum status_code present_check(const struct shard_plan *plan, const char *path, const char *folder,
                                      struct status *error)
{
    struct shard_plan present = {0};
    enum status_code code = shard_plan_read(path, &present, error);
    if (code == STATUS_OK && strcmp(present.hash, plan->hash) != 0) {
        code = status_set(error, STATUS_INVALID,
                          "%s: is of plan %s, in %d shards, and this run of plan %s, in %d: the suite, the cases, the "
                          "options or a model differ; name another folder than %s",
                          path, present.hash, present.shard_count, plan->hash, plan->shard_count, folder);
    }
    shard_plan_release(&present);
    return code;
}

enum status_code shard_plan_keep(const struct shard_plan *plan, const char *folder, struct status *error)
{
    struct text path = {0}, content = {0};
    text_format(&path, "%s/" SHARD_PLAN_FILE, folder);
    enum status_code code = text_status(&path, "a path", error);
    if (code == STATUS_OK && access(text_string(&path), F_OK) == 0) {
        code = present_check(plan, text_string(&path), folder, error);
        text_release(&path);
        return code;
    }
    struct json *document = shard_plan_json(plan);
    if (code == STATUS_OK && document == NULL) {
        code = status_set(error, STATUS_OUT_OF_MEMORY, "no memory to write %s", text_string(&path));
    }
    if (code == STATUS_OK) {
        code = json_write(document, 1, &content, error);
        text_append(&content, "\n");
    }
    if (code == STATUS_OK) {
        code = file_replace(text_string(&path), FILE_CHOSEN, &content, error);
    }
    json_release(document);
    text_release(&content);
    text_release(&path);
    return code;
}

/* ---- reading ---- */

static enum status_code plan_wrong(const char *path, const char *what, struct status *error)
{
    return status_set_at(error, STATUS_INVALID, (struct file_place){.path = path},
                         "%s; take the file as assay run --shard wrote it", what);
}

static enum status_code case_read(const struct json *row, struct shard_plan *plan, struct name_table *ids,
                                  const char *path, struct status *error)
{
    const char *id = json_string_or(json_get(row, "id"), NULL);
    int64_t shard = json_integer_or(json_get(row, "shard"), 0);
    int64_t attempts = json_integer_or(json_get(row, "attempts"), 0);
    if (id == NULL || id[0] == '\0' || shard < 1 || shard > plan->shard_count || attempts < 1 ||
        attempts > PLAN_ATTEMPTS_MAXIMUM) {
        return plan_wrong(path, "a case of the plan has no id, shard or number of attempts", error);
    }
    int number = name_table_add(ids, &plan->arena, id);
    if (number < 0) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "%s: no memory to read it", path);
    }
    if (number != plan->case_count) {
        return plan_wrong(path, "a case stands in the plan twice", error);
    }
    plan->cases[plan->case_count++] = (struct shard_case){.id = ids->entries[number].text,
                                                          .attempts = (int)attempts,
                                                          .shard = (int)shard,
                                                          .cost_ms = json_integer_or(json_get(row, "predicted_ms"), 0)};
    return STATUS_OK;
}

static enum status_code cases_read(const struct json *document, struct shard_plan *plan, const char *path,
                                   struct status *error)
{
    const struct json *list = json_get(document, "cases"), *loads = json_get(document, "shards_predicted_ms");
    struct name_table ids = {0};
    size_t count = json_count(list);
    plan->cases = arena_alloc(&plan->arena, (count + 1) * sizeof *plan->cases);
    plan->loads_ms = arena_alloc(&plan->arena, (size_t)plan->shard_count * sizeof *plan->loads_ms);
    if (plan->cases == NULL || plan->loads_ms == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "%s: no memory to read it", path);
    }
    enum status_code code = STATUS_OK;
    int64_t attempt_count = 0;
    for (size_t i = 0; i < count && code == STATUS_OK; i++) {
        code = case_read(json_at(list, i), plan, &ids, path, error);
        attempt_count += code == STATUS_OK ? plan->cases[i].attempts : 0;
    }
    if (code == STATUS_OK && attempt_count > INT_MAX) {
        code = plan_wrong(path, "the plan has more attempts than a run can make", error);
    }
    for (int i = 0; i < plan->shard_count; i++) {
        plan->loads_ms[i] = json_integer_or(json_at(loads, (size_t)i), 0);
    }
    name_table_release(&ids);
    return code;
}

static enum status_code document_read(const struct json *document, struct shard_plan *plan, const char *path,
                                      struct status *error)
{
    const struct json *schema = json_get(document, "schema");
    int64_t shards = json_integer_or(json_get(document, "shard_count"), 0);
    if (strcmp(json_string_or(json_get(schema, "name"), ""), PLAN_SCHEMA) != 0) {
        return plan_wrong(path, "this is no plan of shards", error);
    }
    if (json_integer_or(json_get(schema, "major"), 0) != PLAN_MAJOR) {
        return status_set_at(error, STATUS_INVALID, (struct file_place){.path = path},
                             "a plan of another version of assay; merge with the version that measured");
    }
    if (shards < 1 || shards > SHARDS_MAXIMUM) {
        return plan_wrong(path, "the plan has no shard_count", error);
    }
    plan->shard_count = (int)shards;
    plan->suite = arena_copy(&plan->arena, json_string_or(json_get(document, "suite"), ""));
    plan->suite_hash = arena_copy(&plan->arena, json_string_or(json_get(document, "suite_hash"), ""));
    plan->settings = arena_copy(&plan->arena, json_string_or(json_get(document, "settings_hash"), ""));
    plan->options = arena_copy(&plan->arena, json_string_or(json_get(document, "options"), ""));
    plan->choice = arena_copy(&plan->arena, json_string_or(json_get(document, "choice"), ""));
    if (plan->suite == NULL || plan->suite_hash == NULL || plan->settings == NULL || plan->options == NULL ||
        plan->choice == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "%s: no memory to read it", path);
    }
    enum status_code code = cases_read(document, plan, path, error);
    if (code == STATUS_OK) {
        shard_plan_hash(plan, plan->hash);
        code = strcmp(plan->hash, json_string_or(json_get(document, "plan_hash"), "")) == 0
                   ? STATUS_OK
                   : plan_wrong(path, "the plan is not what its plan_hash says", error);
    }
    return code;
}

enum status_code shard_plan_read(const char *path, struct shard_plan *plan, struct status *error)
{
    struct json *document = NULL;
    struct shard_plan made = {0};
    enum status_code code = json_parse_file(path, PLAN_BYTES_MAXIMUM, &document, error);
    if (code == STATUS_OK) {
        code = document_read(document, &made, path, error);
    }
    json_release(document);
    if (code != STATUS_OK) {
        shard_plan_release(&made);
        return code;
    }
    *plan = made;
    return STATUS_OK;
}
