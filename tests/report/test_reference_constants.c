/* Committed constants are what the records beside them say: results/reference/DEVICE/constants.json from
 * DEVICE/calibrate/records.jsonl, byte for byte, and in the folder of their device. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <glob.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/report/calibration.h"
#include "tests/support/whole_file.h"

static void reference_check(const char *path)
{
    struct constants committed, made;
    struct status error = {0};
    char folder[512], records[600], slug[CONSTANTS_NAME_BYTES];
    snprintf(folder, sizeof folder, "%s", path);
    snprintf(records, sizeof records, "%s/calibrate", dirname(folder));
    const char *const paths[] = {records};
    if (constants_read(path, &committed, &error) != STATUS_OK ||
        calibration_make(paths, 1, NULL, &made, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_string_equal(strrchr(folder, '/') + 1, device_slug(committed.device.kind, committed.device.name, slug));
    struct text text = {0};
    struct json *document = constants_to_json(&made);
    char *content = whole_file_read(path);
    assert_int_equal(json_write(document, 2, &text, &error), STATUS_OK);
    text_append(&text, "\n");
    assert_string_equal(text_string(&text), content);
    free(content);
    text_release(&text);
    json_release(document);
}

static void references_are_made_of_their_records(void **state)
{
    (void)state;
    glob_t files = {0};
    assert_int_equal(glob("results/reference/*/constants.json", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        reference_check(files.gl_pathv[i]);
    }
    globfree(&files);
}

/* Or its own fresh constants would judge a run on it. */
static void every_measured_gpu_has_constants(void **state)
{
    (void)state;
    glob_t files = {0};
    assert_int_equal(glob("results/reference/nvidia-*/records.jsonl", 0, NULL, &files), 0);
    for (size_t i = 0; i < files.gl_pathc; i++) {
        char path[600];
        snprintf(path, sizeof path, "%s/constants.json", dirname(files.gl_pathv[i]));
        if (access(path, R_OK) != 0) {
            fail_msg("%s is not there: assay calibrate makes it of the suite calibrate of the records", path);
        }
    }
    globfree(&files);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(references_are_made_of_their_records),
                                       cmocka_unit_test(every_measured_gpu_has_constants)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
