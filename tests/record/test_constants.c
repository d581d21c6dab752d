/* Constants files: what is written is read back; whatever else stands in one is refused with its place. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "harness/record/constants.h"
#include "tests/support/scratch_file.h"
#include "tests/support/status_said.h"

static struct constants example(void)
{
    struct constants made = {.device = {"cuda", "NVIDIA H200", 0, "sm_90", "570.1", ""},
                             .tool_version = "0.1.0",
                             .tool_revision = "4692a72",
                             .context = {.process = {true, 600, 500, 700, 10}, .device = {true, 650, 650, 650, 10}},
                             .growth = {{.mode = "infer", .levels = {.device = {true, -3, -5, 9, 4}}},
                                        {.mode = "train", .levels = {.process = {true, 7, 7, 7, 1}}}},
                             .growth_count = 2,
                             .cases = {"a/load", "b/infer"},
                             .case_count = 2};
    return made;
}

static void text_save(const char *text, size_t length)
{
    FILE *file = fopen(scratch_file_path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
}

/* Released with text_release. */
static struct text example_text(int indent)
{
    struct constants made = example();
    struct text text = {0};
    struct json *document = constants_to_json(&made);
    assert_int_equal(json_write(document, indent, &text, NULL), STATUS_OK);
    json_release(document);
    return text;
}

static struct constants read_back(int indent)
{
    struct constants read;
    struct status error;
    struct text text = example_text(indent);
    text_save(text_string(&text), text.length);
    text_release(&text);
    if (constants_read(scratch_file_path, &read, &error) != STATUS_OK) {
        fail_msg("%s", STATUS_SAID(&error));
    }
    return read;
}

static void expect_spread(const struct constants_spread *a, const struct constants_spread *b)
{
    assert_int_equal(a->known, b->known);
    assert_int_equal(a->median, b->median);
    assert_int_equal(a->minimum, b->minimum);
    assert_int_equal(a->maximum, b->maximum);
    assert_int_equal(a->count, b->count);
}

static void what_is_written_is_read_back(void **state)
{
    (void)state;
    struct constants made = example(), read = read_back(2), flat = read_back(0);
    assert_string_equal(read.device.kind, "cuda");
    assert_string_equal(read.device.name, "NVIDIA H200");
    assert_string_equal(read.device.target, "sm_90");
    assert_string_equal(read.device.driver, "570.1");
    assert_string_equal(read.device.runtime, "");
    assert_string_equal(read.tool_version, "0.1.0");
    assert_string_equal(read.tool_revision, "4692a72");
    expect_spread(&read.context.process, &made.context.process);
    expect_spread(&read.context.device, &made.context.device);
    expect_spread(&constants_growth_of(&read, "infer")->device, &made.growth[0].levels.device);
    expect_spread(&constants_growth_of(&read, "train")->process, &made.growth[1].levels.process);
    assert_false(constants_growth_of(&read, "infer")->process.known);
    assert_null(constants_growth_of(&read, "load"));
    assert_true(constants_have_case(&read, "b/infer"));
    assert_false(constants_have_case(&read, "b/infer/b2"));
    assert_true(constants_are_of(&read, "cuda", "NVIDIA H200", 0));
    assert_false(constants_are_of(&read, "cuda", "NVIDIA H200", 2));
    assert_false(constants_are_of(&read, "cuda", "NVIDIA H100", 0));
    assert_false(constants_are_of(&read, "host", "NVIDIA H200", 0));
    assert_string_equal(read.path, scratch_file_path);
    assert_int_equal(strlen(read.hash), 16);
    assert_string_equal(read.hash, flat.hash); /* white space is not content */
}

static void slugs_are_of_letters_digits_and_dashes(void **state)
{
    (void)state;
    static const char *const rows[][3] = {
        {"cuda", "NVIDIA H200", "nvidia-h200"},
        {"host", "Intel(R) Xeon(R) Processor", "host-intel-r-xeon-r-processor"},
        {"host", "", "host"},
        {"cuda", "", "cuda"},
        {"cuda", "  ../../etc/", "etc"},
        {"cuda", "NVIDIA A100-SXM4-80GB", "nvidia-a100-sxm4-80gb"},
        {"host", "\xC3\xA9\xC3\xA9", "host"},
    };
    char slug[CONSTANTS_NAME_BYTES], long_name[512];
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        assert_string_equal(device_slug(rows[i][0], rows[i][1], slug), rows[i][2]);
    }
    memset(long_name, 'x', sizeof long_name - 1);
    long_name[sizeof long_name - 1] = '\0';
    assert_true(strlen(device_slug("host", long_name, slug)) < CONSTANTS_NAME_BYTES);
}

/* old: what stands in the example as one line. */
static void expect_refusal(const char *old, const char *new_text, const char *place, const char *cause)
{
    struct constants read;
    struct status error = {0};
    struct text text = example_text(0), changed = {0};
    const char *found = strstr(text_string(&text), old);
    if (found == NULL) {
        fail_msg("the example has no '%s': %s", old, text_string(&text));
    }
    text_append_bytes(&changed, text_string(&text), (size_t)(found - text_string(&text)));
    text_append(&changed, new_text);
    text_append(&changed, found + strlen(old));
    text_save(text_string(&changed), changed.length);
    assert_int_equal(constants_read(scratch_file_path, &read, &error), STATUS_INVALID);
    char begin[256];
    snprintf(begin, sizeof begin, "%s:1:%s", scratch_file_path, place);
    if (strncmp(STATUS_SAID(&error), begin, strlen(begin)) != 0 || strstr(STATUS_SAID(&error), cause) == NULL) {
        fail_msg("'%s' is not '%s ... %s'", STATUS_SAID(&error), begin, cause);
    }
    text_release(&text);
    text_release(&changed);
}

static void wrong_files_are_refused_with_the_place(void **state)
{
    (void)state;
    expect_refusal("\"570.1\"", "\"570\\u001b[2J\"", "", "device/driver: has a character that is not seen but acts");
    expect_refusal("assay-constants", "assay-record", "", "schema: is not that of assay-constants; name a file that");
    expect_refusal("\"major\": 1", "\"major\": 2", "", "schema: is of version 2.x; this program reads 1.x");
    expect_refusal("\"schema\"", "\"scheme\"", "1: ", "schema: is missing; it must be an object");
    expect_refusal("{\"name\": \"assay\"", "{\"version\": 1, \"name\": \"assay\"", "", "duplicate object key");
    expect_refusal("\"0.1.0\"", "10", "", "tool/version: an integer; it must be a string");
    expect_refusal("\"cuda\"", "\"\"", "", "device/kind: is empty; it must be a text");
    expect_refusal("\"threads\": null", "\"threads\": 0", "", "device/threads: 0 is out of range; it is from 1");
    expect_refusal("\"threads\": null, ", "", "", "device/threads: is missing; it must be an integer or null");
    expect_refusal("\"cuda\"", "null", "", "device/kind: null; it must be a string");
    expect_refusal("[\"a/load\", \"b/infer\"]", "[]", "", "cases: has 0 cases; there are 1 to 10");
    expect_refusal("\"b/infer\"]", "7]", "", "cases/1: an integer; it must be the id of a case");
    expect_refusal("\"a/load\"", "1,2,3,4,5,6,7,8,9,\"a\"", "", "cases: has 11 cases");
    expect_refusal("\"median\": 600", "\"median\": 701", "",
                   "context/process_bytes: its min, median and max are not in");
    expect_refusal("\"median\": 600", "\"median\": 600.5", "",
                   "context/process_bytes/median: a real number; it must be");
    expect_refusal("\"min\": 500", "\"min\": -1", "", "context/process_bytes/min: -1 is out of range; it is from 0");
    expect_refusal("\"max\": 700", "\"max\": 9223372036854775807", "", "max: 9223372036854775807 is out of range");
    expect_refusal("\"count\": 10", "\"count\": 0", "", "context/process_bytes/count: 0 is out of range; it is from 1");
    expect_refusal("\"median\": -3, ", "", "", "growth/infer/device_bytes/median: is missing");
    expect_refusal("\"infer\": {\"process_bytes\": null", "\"infer\": {\"process_bytes\": 3", "",
                   "growth/infer/process_bytes: an integer; it must be an object or null");
    expect_refusal("\"train\": {", "\"a-mode-with-a-long-name\": {", "", "a mode with a name of 23 bytes; write load");
    expect_refusal("\"growth\": {", "\"growth\": {\"1\":1,\"2\":1,\"3\":1,\"4\":1,\"5\":1,\"6\":1,\"7\":1,", "",
                   "growth: has 9 modes; there are at most 8");
    expect_refusal("null}}}", "null}}", "", "expected near end of file");
}

static void what_is_no_file_of_constants_is_refused(void **state)
{
    (void)state;
    static const char *const texts[] = {"", "[]", "7", "null", "{}", "{\"schema\": 1}", "\xFF", "{\"schema\": {}}"};
    struct constants read;
    struct status error;
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        text_save(texts[i], strlen(texts[i]));
        assert_int_equal(constants_read(scratch_file_path, &read, &error), STATUS_INVALID);
        assert_int_equal(strncmp(STATUS_SAID(&error), scratch_file_path, strlen(scratch_file_path)), 0);
    }
    assert_int_equal(constants_read("/no/such/file", &read, &error), STATUS_IO);
    assert_int_equal(constants_read("/tmp", &read, &error), STATUS_IO);
}

/* Every prefix, and every byte replaced by others: read, or refused by name; nothing else may happen. */
static void damaged_files_are_read_or_refused(void **state)
{
    (void)state;
    static const char bytes[] = "0-9\"{}[],:.e\n\\";
    struct text text = example_text(2);
    struct constants read;
    struct status error;
    for (size_t at = 0; at < text.length; at++) {
        text_save(text.data, at);
        assert_int_equal(constants_read(scratch_file_path, &read, &error), STATUS_INVALID);
        char kept = text.data[at];
        text.data[at] = bytes[at % (sizeof bytes - 1)];
        text_save(text.data, text.length);
        if (constants_read(scratch_file_path, &read, &error) != STATUS_OK) {
            assert_int_equal(error.code, STATUS_INVALID);
            assert_int_equal(strncmp(STATUS_SAID(&error), scratch_file_path, strlen(scratch_file_path)), 0);
        } else {
            assert_true(read.context.process.minimum <= read.context.process.maximum && read.case_count >= 1);
        }
        text.data[at] = kept;
    }
    text_release(&text);
}

static void members_of_a_later_minor_version_are_accepted(void **state)
{
    (void)state;
    struct constants read;
    struct text text = example_text(0), more = {0};
    text_append(&more, "{\"later\": [{}], ");
    text_append(&more, text_string(&text) + 1);
    text_save(text_string(&more), more.length);
    assert_int_equal(constants_read(scratch_file_path, &read, NULL), STATUS_OK);
    text_release(&text);
    text_release(&more);
}

static void a_device_finds_its_own(void **state)
{
    (void)state;
    char folder[] = "/tmp/assay-reference-XXXXXX", inner[64], file[96];
    struct constants found;
    struct status error;
    bool is_found = true;
    assert_non_null(mkdtemp(folder));
    snprintf(inner, sizeof inner, "%s/nvidia-h200", folder);
    snprintf(file, sizeof file, "%s/constants.json", inner);
    assert_int_equal(constants_find(folder, "cuda", "NVIDIA H200", 0, &found, &is_found, &error), STATUS_OK);
    assert_false(is_found);
    read_back(2); /* leaves the example in the scratch file */
    assert_int_equal(mkdir(inner, 0777), 0);
    assert_int_equal(symlink(scratch_file_path, file), 0);
    assert_int_equal(constants_find(folder, "cuda", "NVIDIA H200", 0, &found, &is_found, &error), STATUS_OK);
    assert_true(is_found);
    assert_string_equal(found.path, file);
    assert_int_equal(constants_find(folder, "cuda", "NVIDIA-H200", 0, &found, &is_found, &error), STATUS_OK);
    assert_false(is_found); /* the same folder, another name */
    assert_int_equal(constants_find(folder, "cuda", "NVIDIA H200", 4, &found, &is_found, &error), STATUS_OK);
    assert_false(is_found); /* other threads have other buffers */
    text_save("{", 1);
    assert_int_equal(constants_find(folder, "cuda", "NVIDIA H200", 0, &found, &is_found, &error), STATUS_INVALID);
    assert_int_equal(unlink(file) + rmdir(inner) + rmdir(folder), 0);
}

static void mismatch_check(const struct constants_place *place, const char *words)
{
    struct constants made = example();
    struct text text = {0};
    assert_int_equal(constants_mismatch_append(&text, &made, place), words[0] != '\0');
    assert_string_equal(text_string(&text), words);
    text_release(&text);
}

/* A context has the size that its driver, its runtime and its program give it. */
static void what_they_were_measured_under_is_held_against_here(void **state)
{
    (void)state;
    mismatch_check(&(struct constants_place){"570.1", "", "0.1.0"}, "");
    mismatch_check(&(struct constants_place){"570.1", NULL, "0.1.0"}, "");
    mismatch_check(&(struct constants_place){"580.2", "", "0.1.0"},
                   "the constants were measured under driver 570.1, not 580.2");
    mismatch_check(&(struct constants_place){"580.2", "CUDA 12.8", "0.2.0"},
                   "the constants were measured under driver 570.1, not 580.2, and runtime unknown, not CUDA 12.8, and "
                   "program 0.1.0, not 0.2.0");
    mismatch_check(&(struct constants_place){"", "", "0.1.0"},
                   "the constants were measured under driver 570.1, not unknown");
}

/* A host has no driver but its kernel. */
static void the_software_below_a_host_is_its_kernel(void **state)
{
    (void)state;
    struct constants made = example();
    struct text text = {0};
    snprintf(made.device.kind, sizeof made.device.kind, "host");
    snprintf(made.device.driver, sizeof made.device.driver, "Linux 6.1");
    assert_true(constants_mismatch_append(&text, &made, &(struct constants_place){"Linux 6.2", "", "0.1.0"}));
    assert_string_equal(text_string(&text), "the constants were measured under kernel Linux 6.1, not Linux 6.2");
    text_release(&text);
    constants_origin_append(&text, &made);
    assert_non_null(strstr(text_string(&text), ", measured under kernel Linux 6.1, runtime "));
    text_release(&text);
}

/* One is known on each side, or there is nothing to say. */
static void another_revision_is_told_and_is_no_mismatch(void **state)
{
    (void)state;
    struct constants made = example();
    struct text text = {0};
    static const char *const silent[] = {"4692a72", "", NULL};
    for (size_t i = 0; i < sizeof silent / sizeof silent[0]; i++) {
        assert_false(constants_revision_append(&text, &made, silent[i]));
        assert_int_equal(text.length, 0);
    }
    assert_true(constants_revision_append(&text, &made, "a35b9e5-dirty"));
    assert_string_equal(text_string(&text),
                        "the constants were measured by revision 4692a72 of program 0.1.0, and this is a35b9e5-dirty");
    text_release(&text);
    struct json *origin = constants_origin_json(&made);
    assert_string_equal(json_string_or(json_get(origin, "revision"), ""), "4692a72");
    json_release(origin);
    made.tool_revision[0] = '\0';
    assert_false(constants_revision_append(&text, &made, "a35b9e5"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_written_is_read_back),
        cmocka_unit_test(slugs_are_of_letters_digits_and_dashes),
        cmocka_unit_test(wrong_files_are_refused_with_the_place),
        cmocka_unit_test(what_is_no_file_of_constants_is_refused),
        cmocka_unit_test(damaged_files_are_read_or_refused),
        cmocka_unit_test(members_of_a_later_minor_version_are_accepted),
        cmocka_unit_test(a_device_finds_its_own),
        cmocka_unit_test(what_they_were_measured_under_is_held_against_here),
        cmocka_unit_test(the_software_below_a_host_is_its_kernel),
        cmocka_unit_test(another_revision_is_told_and_is_no_mismatch),
    };
    return cmocka_run_group_tests(tests, scratch_file_make, scratch_file_remove);
}
