/* assay calibrate, and what run and estimate make of its file: on the host, from records to verdicts. Figures of the
 * host differ from run to run, so that what must fail or pass here is off by far more than they do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/record/constants.h"
#include "harness/record/record.h"
#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"

/* Set-up leaves here: suite.yaml, its records on the host in base/, their constants in base.json. */
static char folder[] = "/tmp/assay-calibrate-XXXXXX";

enum { PATH_BYTES = 256, FAR_OFF_BYTES = 1 << 30 };

#define MODEL "{model: tiny-gpt2, seq: 16, "
#define CASES(batch)                                                                                                   \
    "version: 1\nname: t\ncases:\n  - " MODEL "mode: infer, batch: " batch ", tolerances: {replay: {process_bytes: "   \
    "8MiB, footprint_bytes: 8MiB}}}\n  - " MODEL "mode: train, batch: " batch                                          \
    ", tolerances: {replay: {process_bytes: 8MiB, footprint_bytes: 8MiB}}}\n"

/* A name below the folder; the last four live. */
static const char *below(const char *name)
{
    static char paths[4][PATH_BYTES];
    static int next = 0;
    next = (next + 1) % 4;
    snprintf(paths[next], PATH_BYTES, "%s/%s", folder, name);
    return paths[next];
}

static void file_save(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Runs assay with two threads, whose buffers are in every figure; its exit code. What it said to standard error is
 * checked for a part, where one is given. */
static int assay(const char *const *words, const char *said)
{
    const char *const environment[] = {"OMP_NUM_THREADS=2", NULL};
    struct command_result result = command_run(words, environment);
    if (said != NULL && strstr(text_string(&result.error), said) == NULL) {
        fail_msg("'%s' does not say '%s'", text_string(&result.error), said);
    }
    int exit_code = result.exit_code;
    command_result_release(&result);
    return exit_code;
}

static int suite_run(const char *out, const char *device, const char *constants, const char *said)
{
    const char *const words[] = {program_path(), "run",      below("suite.yaml"), "--device", device, "--quiet",
                                 "--out",        below(out), "--constants",       constants,  NULL};
    return assay(words, said);
}

static int group_make(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL) {
        return -1;
    }
    file_save(below("suite.yaml"), CASES("1"));
    if (suite_run("base", "host", "none", NULL) != 3) { /* a footprint that is judged, and nobody predicts it */
        return -1;
    }
    const char *const words[] = {program_path(), "calibrate", below("base"), "--output", below("base.json"), NULL};
    return assay(words, NULL);
}

static int group_remove(void **state)
{
    (void)state;
    return scratch_folder_remove(folder);
}

static struct constants constants_at(const char *name)
{
    struct constants constants;
    struct status error;
    if (constants_read(below(name), &constants, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return constants;
}

/* base.json, with the context far off. */
static void wrong_save(const char *name)
{
    struct constants constants = constants_at("base.json");
    struct text text = {0};
    constants.context.process.median += FAR_OFF_BYTES;
    constants.context.process.maximum += FAR_OFF_BYTES;
    struct json *document = constants_to_json(&constants);
    assert_int_equal(json_write(document, 2, &text, NULL), STATUS_OK);
    file_save(below(name), text_string(&text));
    json_release(document);
    text_release(&text);
}

/* The last case line of a run. The file is released by the caller. */
static const struct json *case_last(const char *out, struct record_file *file)
{
    struct status error;
    if (record_file_read(below(out), file, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    const struct record_run *run = &file->runs[file->run_count - 1];
    assert_true(run->case_count > 0);
    return run->cases[run->case_count - 1];
}

static const char *text_at(const struct json *object, const char *key)
{
    return json_string_or(json_get(object, key), "(null)");
}

static const struct json *footprint_of(const struct json *line)
{
    const struct json *verdicts = json_get(line, "verdicts");
    for (size_t i = 0; i < json_count(verdicts); i++) {
        if (strcmp(text_at(json_at(verdicts, i), "estimator"), "replay") == 0 &&
            strcmp(text_at(json_at(verdicts, i), "quantity"), "footprint_bytes") == 0) {
            return json_at(verdicts, i);
        }
    }
    return NULL;
}

static void a_host_is_calibrated_from_its_records(void **state)
{
    (void)state;
    struct constants constants = constants_at("base.json");
    struct record_file file = {0};
    const struct json *line = case_last("base", &file);
    assert_string_equal(constants.device.kind, "host");
    assert_int_equal(constants.device.thread_count, 2); /* as OMP_NUM_THREADS asks for */
    assert_string_equal(constants.device.name, json_string_or(json_get(json_get(line, "device"), "name"), ""));
    assert_int_equal(constants.case_count, 2);
    assert_true(constants_have_case(&constants, text_at(line, "id")));
    assert_int_equal(constants.context.process.count, 2);
    assert_true(constants.context.process.minimum > 1 << 20); /* no program on any host is smaller */
    assert_int_equal(constants_growth_of(&constants, "train")->process.count, 1);
    assert_false(constants.context.device.known); /* nobody counts the device that the host is */
    record_file_release(&file);
}

/* The same suite again: the cases that calibrated have no verdict, however wrong the constants are; the others fail. */
static void what_calibrated_does_not_judge(void **state)
{
    (void)state;
    struct record_file file = {0};
    wrong_save("wrong.json");
    assert_int_equal(suite_run("same", "host", below("wrong.json"), NULL), 0);
    const struct json *line = case_last("same", &file), *verdict = footprint_of(line);
    assert_int_equal(json_kind(json_get(verdict, "pass")), JSON_KIND_NULL);
    assert_string_equal(text_at(verdict, "note"), "the case calibrated the constants");
    assert_true(json_integer_or(json_get(verdict, "signed_error_bytes"), 0) > FAR_OFF_BYTES / 2);
    assert_string_equal(text_at(json_get(line, "constants"), "path"), below("wrong.json"));
    assert_string_equal(text_at(json_get(line, "constants"), "hash"), constants_at("wrong.json").hash);
    assert_true(json_boolean_or(json_get(json_get(line, "constants"), "calibrated"), false));
    record_file_release(&file);

    file_save(below("suite.yaml"), CASES("2"));
    assert_int_equal(suite_run("other", "host", below("wrong.json"), NULL), 1);
    file = (struct record_file){0};
    verdict = footprint_of(case_last("other", &file));
    assert_false(json_boolean_or(json_get(verdict, "pass"), true));
    assert_int_equal(json_kind(json_get(verdict, "note")), JSON_KIND_NULL);
    record_file_release(&file);
}

/* The footprints of tiny models on one machine differed by less than 1 MiB from one run to the next. */
static void other_cases_are_predicted(void **state)
{
    (void)state;
    struct record_file file = {0};
    file_save(below("suite.yaml"), CASES("2"));
    assert_int_equal(suite_run("judged", "host", below("base.json"), NULL), 0);
    const struct json *line = case_last("judged", &file), *verdict = footprint_of(line);
    struct constants constants = constants_at("base.json");
    const struct json *replay = json_get(json_get(line, "estimates"), "replay");
    int64_t reserved = json_integer_or(json_get(replay, "reserved_bytes_peak"), -1);
    int64_t growth = constants_growth_of(&constants, "train")->process.median;
    assert_true(json_boolean_or(json_get(verdict, "pass"), false));
    assert_int_equal(json_integer_or(json_get(replay, "process_bytes"), -1), reserved + growth);
    assert_int_equal(json_integer_or(json_get(replay, "footprint_bytes"), -1),
                     reserved + growth + constants.context.process.median);
    assert_int_equal(json_kind(json_get(replay, "device_bytes")), JSON_KIND_NULL);
    record_file_release(&file);
}

/* In the results/reference of what comes with the program: those of the device are found by its kind and name. */
static void a_device_finds_its_constants(void **state)
{
    (void)state;
    char place[PATH_MAX], here[PATH_MAX], command[4 * PATH_MAX], slug[CONSTANTS_NAME_BYTES];
    struct constants constants = constants_at("base.json");
    assert_non_null(realpath(program_path(), place));
    assert_non_null(getcwd(here, sizeof here));
    device_slug("host", constants.device.name, slug);
    snprintf(
        command, sizeof command,
        "cd %s && mkdir -p results/reference/%s && cp base.json results/reference/%s/constants.json && "
        "ln -s '%s/models' models && export ASSAY_DATA_DIR=. && "
        "%s run suite.yaml --device host --quiet --out found && %s run suite.yaml --device meta --quiet --out meta",
        folder, slug, slug, here, place, place);
    const char *const words[] = {"sh", "-c", command, NULL};
    file_save(below("suite.yaml"), "version: 1\nname: t\ncases:\n  - {model: tiny-bert, mode: infer, seq: 8}\n");
    assert_int_equal(assay(words, NULL), 0);
    struct record_file file = {0};
    const struct json *line = case_last("found", &file);
    assert_string_equal(text_at(json_get(line, "constants"), "hash"), constants.hash);
    assert_false(json_boolean_or(json_get(json_get(line, "constants"), "calibrated"), true));
    assert_non_null(footprint_of(line));
    record_file_release(&file);
    file = (struct record_file){0};
    line = case_last("meta", &file); /* another kind of device */
    assert_int_equal(json_kind(json_get(line, "constants")), JSON_KIND_NULL);
    assert_null(json_get(json_get(json_get(line, "estimates"), "replay"), "footprint_bytes"));
    record_file_release(&file);
}

/* Found constants of another kernel: a run whose cases are judged by them says so, one that judges nothing by them does
 * not. */
static void found_constants_are_warned_of_where_they_judge(void **state)
{
    (void)state;
    static const char says[] = "the constants were measured under kernel Linux 0.99";
    char place[PATH_MAX], here[PATH_MAX], command[3 * PATH_MAX + 512], slug[CONSTANTS_NAME_BYTES];
    struct constants constants = constants_at("base.json");
    assert_non_null(realpath(program_path(), place));
    assert_non_null(getcwd(here, sizeof here));
    device_slug("host", constants.device.name, slug);
    static const char *const suites[] = {"version: 1\nname: t\ncases:\n  - {model: tiny-bert, mode: infer, seq: 8}\n",
                                         CASES("2")};
    for (int judged = 0; judged < 2; judged++) {
        file_save(below("suite.yaml"), suites[judged]);
        snprintf(command, sizeof command,
                 "cd %s && mkdir -p data/results/reference/%s && ln -sfn '%s/models' data/models && "
                 "sed 's/\"driver\": *\"[^\"]*\"/\"driver\": \"Linux 0.99\"/' base.json "
                 ">data/results/reference/%s/constants.json && "
                 "ASSAY_DATA_DIR=data %s run suite.yaml --device host --quiet --out warned --records-only 2>said; "
                 "if grep -q '%s' said; then echo told; else echo silent; fi",
                 folder, slug, here, slug, place, says);
        const char *const words[] = {"sh", "-c", command, NULL};
        const char *const environment[] = {"OMP_NUM_THREADS=2", NULL};
        struct command_result result = command_run(words, environment);
        assert_string_equal(text_string(&result.output), judged ? "told\n" : "silent\n");
        command_result_release(&result);
    }
}

/* base.json as another driver left it. Without a tolerance nothing is missing; a footprint that is to be judged is. */
static void constants_of_another_driver_judge_nothing(void **state)
{
    (void)state;
    static const char says[] = "the constants were measured under kernel Linux 0.99, not Linux ";
    struct constants constants = constants_at("base.json");
    struct record_file file = {0};
    struct text text = {0};
    snprintf(constants.device.driver, sizeof constants.device.driver, "Linux 0.99");
    struct json *document = constants_to_json(&constants);
    assert_int_equal(json_write(document, 2, &text, NULL), STATUS_OK);
    file_save(below("old.json"), text_string(&text));
    json_release(document);
    text_release(&text);
    file_save(below("suite.yaml"), CASES("2"));
    assert_int_equal(suite_run("stale", "host", below("old.json"), says), 3);
    const struct json *line = case_last("stale", &file), *verdict = footprint_of(line);
    assert_int_equal(json_kind(json_get(verdict, "pass")), JSON_KIND_NULL);
    assert_non_null(strstr(text_at(verdict, "note"), says));
    assert_non_null(strstr(text_at(json_get(line, "constants"), "mismatch"), says));
    record_file_release(&file);
    static const char *const formats[] = {"table", "summary", "md", "html", "junit", "json"};
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        const char *const words[] = {program_path(), "report",   below("stale"),  "--format",
                                     formats[i],     "--output", below("report"), NULL};
        const char *const look[] = {"grep", "-q", "measured under kernel", below("report"), NULL};
        const char *const remedy[] = {"grep", "-q", "calibrate again, or run with --constants none", below("report"),
                                      NULL};
        assay(words, NULL);
        assert_int_equal(assay(look, NULL), 0);
        assert_true(strcmp(formats[i], "junit") != 0 || assay(remedy, NULL) == 0);
    }
    file_save(below("suite.yaml"), "version: 1\nname: t\ncases:\n  - {model: tiny-bert, mode: infer, seq: 8}\n");
    assert_int_equal(suite_run("unjudged", "host", below("old.json"), says), 0);
}

/* base.json as another commit of the same version left it: judged, and told where the program knows its own. */
static void constants_of_another_revision_judge(void **state)
{
    (void)state;
    struct constants constants = constants_at("base.json");
    struct record_file file = {0};
    struct text text = {0};
    struct json *version = NULL;
    const char *const asked[] = {program_path(), "version", "--json", NULL};
    struct command_result result = command_run(asked, NULL);
    assert_int_equal(json_parse_text("version", text_string(&result.output), result.output.length, &version, NULL), 0);
    bool is_known = json_kind(json_get(version, "revision")) == JSON_KIND_STRING;
    assert_string_equal(constants.tool_revision, json_string_or(json_get(version, "revision"), ""));
    snprintf(constants.tool_revision, sizeof constants.tool_revision, "0ther");
    struct json *document = constants_to_json(&constants);
    assert_int_equal(json_write(document, 2, &text, NULL), STATUS_OK);
    file_save(below("revision.json"), text_string(&text));
    file_save(below("suite.yaml"), CASES("2"));
    assert_int_equal(suite_run("revision", "host", below("revision.json"),
                               is_known ? "measured by revision 0ther of program " : NULL),
                     0);
    const struct json *line = case_last("revision", &file);
    assert_true(json_boolean_or(json_get(footprint_of(line), "pass"), false));
    assert_int_equal(json_kind(json_get(json_get(line, "constants"), "mismatch")), JSON_KIND_NULL);
    assert_string_equal(text_at(json_get(line, "constants"), "revision"), "0ther");
    record_file_release(&file);
    json_release(document);
    json_release(version);
    text_release(&text);
    command_result_release(&result);
}

static void constants_of_another_device_are_refused(void **state)
{
    (void)state;
    struct record_file file = {0};
    file_save(below("suite.yaml"), CASES("2"));
    file_save(below("gpu.json"),
              "{\"schema\":{\"name\":\"assay-constants\",\"major\":1,\"minor\":0},\"tool\":{\"version\":\"1\"},"
              "\"device\":{\"kind\":\"cuda\",\"name\":\"a "
              "GPU\",\"threads\":null,\"target\":\"sm_90\",\"driver\":null,\"runtime\":null},"
              "\"cases\":[\"x\"],\"context\":{\"process_bytes\":null,\"device_bytes\":{\"median\":100,\"min\":100,"
              "\"max\":100,\"count\":1}},\"growth\":{\"infer\":{\"process_bytes\":null,\"device_bytes\":{\"median\":10,"
              "\"min\":10,\"max\":10,\"count\":1}}}}");
    assert_int_equal(suite_run("gpu", "host", below("gpu.json"), "are of cuda 'a GPU', and the device is host '"), 2);
    assert_int_not_equal(access(below("gpu"), F_OK), 0); /* nothing was measured, and nothing written */
    /* meta stands for it. Of training nobody has measured the growth. */
    assert_int_equal(suite_run("any", "meta", below("gpu.json"), NULL), 3);
    const struct json *line = case_last("any", &file);
    const struct json *replay = json_get(json_get(line, "estimates"), "replay");
    assert_true(json_get(replay, "footprint_bytes") != NULL);
    assert_int_equal(json_kind(json_get(replay, "footprint_bytes")), JSON_KIND_NULL);
    const struct json *first = file.runs[0].cases[0];
    replay = json_get(json_get(first, "estimates"), "replay");
    assert_int_equal(json_integer_or(json_get(replay, "footprint_bytes"), -1),
                     json_integer_or(json_get(replay, "reserved_bytes_peak"), 0) + 110);
    record_file_release(&file);
}

static void wrong_files_exit_with_2_and_their_place(void **state)
{
    (void)state;
    file_save(below("cut.json"), "{\"schema\":\n  7}");
    assert_int_equal(suite_run("nothing", "host", below("cut.json"), "cut.json:2:3: schema: an integer; it must be"),
                     2);
    assert_int_equal(suite_run("nothing", "host", "no-such-device",
                               "results/reference/no-such-device/constants.json: cannot be opened: No such file or "
                               "directory; give a file that"),
                     2);
    assert_int_not_equal(access(below("nothing"), F_OK), 0);
    const char *const none[] = {program_path(), "calibrate", NULL};
    assert_int_equal(assay(none, "an operand is missing; write assay calibrate RECORDS..."), 2);
    const char *const missing[] = {program_path(), "calibrate", "/no/such/folder", NULL};
    assert_int_equal(assay(missing, "/no/such/folder"), 2);
    const char *const twice[] = {program_path(), "calibrate", below("base"), below("base"), NULL};
    assert_int_equal(assay(twice, "is there twice; name each result once"), 2);
    const char *const unwritable[] = {program_path(), "calibrate", below("base"), "--output", "/dev/null/x", NULL};
    assert_int_equal(assay(unwritable, "/dev/null/x: cannot be written"), 2);
}

static void a_case_is_estimated_for_the_device(void **state)
{
    (void)state;
    struct constants constants = constants_at("base.json");
    const char *const words[] = {program_path(), "estimate", "tiny-gpt2",   "--mode",           "train", "--seq",
                                 "16",           "--json",   "--constants", below("base.json"), NULL};
    struct command_result result = command_run(words, NULL);
    struct json *document = NULL;
    assert_int_equal(result.exit_code, 0);
    assert_int_equal(json_parse_text("output", text_string(&result.output), result.output.length, &document, NULL),
                     STATUS_OK);
    const struct json *replay = json_get(json_get(document, "estimates"), "replay");
    assert_string_equal(text_at(document, "target"), "host");
    assert_int_equal(json_integer_or(json_get(replay, "footprint_bytes"), -1),
                     json_integer_or(json_get(replay, "reserved_bytes_peak"), 0) + constants.context.process.median +
                         constants_growth_of(&constants, "train")->process.median);
    const struct json *origin = json_get(document, "constants");
    assert_string_equal(text_at(origin, "name"), constants.device.name);
    assert_string_equal(text_at(origin, "driver"), constants.device.driver);
    assert_string_equal(text_at(origin, "program"), constants.tool_version);
    assert_string_equal(text_at(origin, "path"), below("base.json"));
    json_release(document);
    command_result_release(&result);
    const char *const differing[] = {program_path(), "estimate", "tiny-gpt2",   "--mode",           "load",
                                     "--for",        "sm_90",    "--constants", below("base.json"), NULL};
    assert_int_equal(assay(differing, "estimate: --for sm_90, but the device is of class "), 2);
}

/* What a question takes for the context is of a device that it names, and never of another than was asked for. */
static void a_question_says_what_its_constants_are_of(void **state)
{
    (void)state;
    struct constants constants = constants_at("base.json");
    char origin[1024];
    snprintf(origin, sizeof origin, "host '%s' with 2 threads, measured under kernel %s, runtime %s, program %s (",
             constants.device.name, constants.device.driver, constants.device.runtime, constants.tool_version);
    const char *const commands[][2] = {{"estimate", NULL}, {"fit", "--memory=1GiB"}};
    for (size_t i = 0; i < 2; i++) {
        const char *const words[] = {
            program_path(),     commands[i][0], "tiny-gpt2", "--mode",       "infer", "--constants",
            below("base.json"), "--seq",        "16",        commands[i][1], NULL};
        struct command_result result = command_run(words, NULL);
        assert_int_equal(result.exit_code, 0);
        assert_non_null(strstr(text_string(&result.output), origin));
        command_result_release(&result);
    }
    snprintf(constants.tool_version, sizeof constants.tool_version, "0.0.1");
    struct text text = {0};
    struct json *document = constants_to_json(&constants);
    assert_int_equal(json_write(document, 2, &text, NULL), STATUS_OK);
    file_save(below("earlier.json"), text_string(&text));
    json_release(document);
    text_release(&text);
    const char *const earlier[] = {program_path(), "estimate",    "tiny-gpt2",           "--mode", "infer", "--seq",
                                   "16",           "--constants", below("earlier.json"), NULL};
    assert_int_equal(assay(earlier, "assay: estimate: the constants were measured under program 0.0.1, not 0."), 0);
    const char *const other[] = {program_path(), "fit",  "tiny-gpt2",   "--mode",           "infer",
                                 "--on",         "H200", "--constants", below("base.json"), NULL};
    assert_int_equal(assay(other, "assay: fit: --constants are of host '"), 2);
    assert_int_equal(assay(other, "and --on is 'NVIDIA H200'; leave --constants out, or name the GPU"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_is_calibrated_from_its_records),
        cmocka_unit_test(what_calibrated_does_not_judge),
        cmocka_unit_test(other_cases_are_predicted),
        cmocka_unit_test(a_device_finds_its_constants),
        cmocka_unit_test(found_constants_are_warned_of_where_they_judge),
        cmocka_unit_test(constants_of_another_driver_judge_nothing),
        cmocka_unit_test(constants_of_another_revision_judge),
        cmocka_unit_test(constants_of_another_device_are_refused),
        cmocka_unit_test(wrong_files_exit_with_2_and_their_place),
        cmocka_unit_test(a_case_is_estimated_for_the_device),
        cmocka_unit_test(a_question_says_what_its_constants_are_of),
    };
    return cmocka_run_group_tests(tests, group_make, group_remove);
}
