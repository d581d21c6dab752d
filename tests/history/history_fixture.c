/* History fixture: few figures, all of them made up. */
#include "tests/history/history_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/history/history_page.h"
#include "tests/support/scratch_folder.h"

static const int64_t mib = 1 << 20;

static const char *or_usual(const char *text, const char *usual)
{
    return text != NULL ? text : usual;
}

static void case_append(FILE *file, const struct night_facts *night, int number, bool is_last)
{
    const int64_t requested = (100 + 10 * number) * mib;
    const int64_t allocated = requested + 512 + (number == 0 ? night->allocated_more : 0);
    const int64_t process = requested + 300 * mib + night->process_more + night->process_by_case * number;
    const bool invalid = is_last && night->reason != NULL;
    fprintf(file,
            "{\"type\":\"case\",\"id\":\"gpt2/infer/float32/b%d/s512\",\"identity\":{\"model\":\"gpt2\",\"mode\":"
            "\"infer\",\"precision\":\"float32\",\"batch\":%d,\"seq\":512,\"attention\":null,\"optimizer\":null,"
            "\"checkpointing\":null,\"accumulate\":null,\"logits\":null,\"head\":null},\"tags\":[\"real\",\"b%d\"],"
            "\"status\":\"ok\",\"reason\":null,\"attempt\":1,\"duration_s\":1.5,\"device\":{\"kind\":\"cuda\",\"name\":"
            "\"%s\",\"spec\":\"cuda:0\",\"target\":\"sm_90\",\"total_bytes\":150754820096,\"threads\":null,\"driver\":"
            "\"%s\",\"runtime\":\"CUDA 12.8\",\"pci_bus_id\":null,\"uuid\":null},",
            number + 1, number + 1, number + 1, or_usual(night->device, "NVIDIA H200"),
            or_usual(night->driver, "570.124.06"));
    fprintf(file, "\"validity\":{\"valid\":%s,\"reasons\":[%s%s%s]},", invalid ? "false" : "true", invalid ? "\"" : "",
            invalid ? night->reason : "", invalid ? "\"" : "");
    fprintf(file,
            "\"stages\":{\"load\":{\"requested_bytes\":%" PRId64 ",\"requested_bytes_peak\":%" PRId64
            ",\"allocated_bytes\":%" PRId64 ",\"allocated_bytes_peak\":%" PRId64 ",\"reserved_bytes\":%" PRId64
            ",\"reserved_bytes_peak\":%" PRId64 ",\"device_bytes\":null,\"process_bytes\":%" PRId64
            ",\"process_bytes_peak\":%" PRId64 ",\"seconds\":0.1,\"categories_at_peak\":null}},",
            requested, requested, allocated, allocated, requested + 2 * mib, requested + 2 * mib, process, process);
    fprintf(file,
            "\"context\":{\"device_bytes\":null,\"process_bytes\":%" PRId64
            "},\"estimates\":{\"replay\":{\"requested_bytes_peak\":%" PRId64 ",\"allocated_bytes_peak\":%" PRId64
            "}},\"peak_stage\":null,\"categories_at_peak\":null,\"causes\":null,\"saved_for_backward_bytes\":null,"
            "\"loss\":null,\"sequence_hash\":null,\"oom\":null,\"verdicts\":[]}\n",
            300 * mib, requested, allocated);
}

static void selected_append(FILE *file, int count)
{
    fprintf(file, "{\"type\":\"selected\",\"ids\":[");
    for (int number = 0; number < count; number++) {
        fprintf(file, "%s\"gpt2/infer/float32/b%d/s512\"", number > 0 ? "," : "", number + 1);
    }
    fprintf(file, "],\"attempts\":[");
    for (int number = 0; number < count; number++) {
        fprintf(file, "%s1", number > 0 ? "," : "");
    }
    fprintf(file, "]}\n");
}

static void merged_append(FILE *file, const char *ids)
{
    fprintf(file, ",\"merged\":{\"plan_hash\":\"8d5a0f3b2c4e6172\",\"count\":3,\"runs\":[");
    for (int number = 0; *ids != '\0'; number++) {
        const size_t length = strcspn(ids, ",");
        fprintf(file, "%s{\"shard\":%d,\"run_id\":\"%.*s\"}", number > 0 ? "," : "", number + 1, (int)length, ids);
        ids += length + (ids[length] == ',' ? 1 : 0);
    }
    fprintf(file, "]}");
}

void night_append(const char *path, const struct night_facts *night)
{
    const int cases = night->cases > 0 ? night->cases : 3;
    const int selected = night->selected > 0 ? night->selected : night->first + cases;
    FILE *file = fopen(path, "a");
    assert_non_null(file);
    fprintf(file,
            "{\"type\":\"run\",\"schema\":{\"name\":\"assay-record\",\"major\":1,\"minor\":9},\"run_id\":\"%s\","
            "\"resumption\":%d,\"started\":\"%s\",\"tool\":{\"name\":\"assay\",\"version\":\"0.1.0\",\"revision\":"
            "%s%s%s},\"suite\":{\"name\":\"%s\",\"path\":\"nightly.yaml\",\"plan_hash\":\"8d5a0f3b2c4e6172\","
            "\"case_count\":%d,\"selected_count\":%d,\"compare\":null},\"host\":{\"name\":\"node1\",\"system\":"
            "\"Linux\",\"kernel\":\"6.1.0\",\"machine\":\"x86_64\"}",
            night->run_id, night->resumption, or_usual(night->started, "2026-11-20T02:00:00Z"),
            night->revision != NULL ? "\"" : "", or_usual(night->revision, "null"), night->revision != NULL ? "\"" : "",
            or_usual(night->suite, "nightly"), selected, selected);
    if (night->merged != NULL) {
        merged_append(file, night->merged);
    }
    fprintf(file, "}\n");
    if (night->resumption == 0) {
        selected_append(file, selected);
    }
    for (int number = night->first; number < night->first + cases; number++) {
        case_append(file, night, number, number == night->first + cases - 1);
    }
    if (!night->killed) {
        fprintf(file, "{\"type\":\"end\",\"finished\":\"2026-11-20T02:10:00Z\",\"interrupted\":false,\"counts\":{},"
                      "\"outcome\":\"pass\"}\n");
    }
    assert_int_equal(fclose(file), 0);
}

int history_scene_open(void **state)
{
    struct history_scene *scene = calloc(1, sizeof *scene);
    void *inner = NULL;
    if (scene == NULL || scratch_scene_open(&inner) != 0) {
        return -1;
    }
    snprintf(scene->folder, sizeof scene->folder, "%s", ((struct scratch_scene *)inner)->folder);
    free(inner);
    snprintf(scene->database, sizeof scene->database, "%s/history.db", scene->folder);
    snprintf(scene->records, sizeof scene->records, "%s/records.jsonl", scene->folder);
    *state = scene;
    return 0;
}

int history_scene_close(void **state)
{
    struct history_scene *scene = *state;
    const int removed = scratch_folder_remove(scene->folder);
    free(scene);
    return removed;
}

struct history *history_opened(struct history_scene *scene)
{
    struct history *history = NULL;
    if (history_open(scene->database, HISTORY_WRITE, &history, &scene->error) != STATUS_OK) {
        fail_msg("%s", scene->error.text);
    }
    return history;
}

struct importing {
    struct history *history;
    enum import_outcome outcome;
};

static enum status_code figures_import(const struct run_figures *figures, void *context, struct status *error)
{
    struct importing *importing = context;
    return history_import(importing->history, figures, IMPORT_GUARDED, &importing->outcome, error);
}

enum import_outcome records_imported(struct history *history, const char *path)
{
    struct importing importing = {.history = history};
    struct status error;
    if (run_figures_each(path, figures_import, &importing, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return importing.outcome;
}

enum import_outcome scene_import(struct history_scene *scene, const char *path)
{
    struct history *history = history_opened(scene);
    const enum import_outcome outcome = records_imported(history, path);
    history_close(history);
    return outcome;
}

struct text history_exported(const char *database)
{
    const struct history_filter all = {0};
    struct history *history = NULL;
    struct arena arena = {0};
    struct history_runs runs;
    struct text text = {0};
    int line_count = 0;
    assert_int_equal(history_open(database, HISTORY_READ, &history, NULL), STATUS_OK);
    assert_int_equal(history_runs_list(history, &all, &arena, &runs, NULL), STATUS_OK);
    for (int at = runs.count - 1; at >= 0; at--) {
        struct run_figures figures;
        assert_int_equal(history_figures(history, &runs.runs[at], &figures, NULL), STATUS_OK);
        assert_true(history_export_run(&figures, NULL, EXPORT_JSON_LINES, &text, &line_count));
        run_figures_release(&figures);
    }
    arena_release(&arena);
    history_close(history);
    return text;
}

void database_execute(const char *database, const char *sql)
{
    sqlite3 *opened = NULL;
    char *complaint = NULL;
    assert_int_equal(sqlite3_open(database, &opened), SQLITE_OK);
    if (sqlite3_exec(opened, sql, NULL, NULL, &complaint) != SQLITE_OK) {
        fail_msg("%s: %s", sql, complaint);
    }
    assert_int_equal(sqlite3_close(opened), SQLITE_OK);
}
