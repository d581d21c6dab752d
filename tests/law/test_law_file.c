/* Law file: what was written predicts the same, what a case is outside of is told, and files that are no law. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/law/law_file.h"
#include "tests/law/synthetic_points.h"

static char path[] = "/tmp/assay-law-file-XXXXXX";
static struct law_points points;
static struct text written;

static void file_write(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* A kind of which generation was never measured. */
static int law_make(void **state)
{
    static const struct synthetic_kind kind = {
        .kind = "alpha",
        .model_count = 5,
        .coefficients =
            {[TERM_LOGIT_VOCAB] = 1, [TERM_FEED_HIDDEN] = 4, [TERM_FEED_WIDTH] = 3, [TERM_ATTENTION_SCORES] = 2},
        .allocator_bytes = 5000};
    struct law_points all = {0};
    struct overhead_law *law = NULL;
    (void)state;
    int file = mkstemp(path);
    if (file < 0 || close(file) != 0) {
        return -1;
    }
    synthetic_points_add(&all, &kind);
    for (int at = 0; at < all.count; at++) {
        if (strcmp(all.all[at].mode, "infer") == 0) {
            assert_int_equal(law_points_add(&points, &all.all[at], NULL), STATUS_OK);
        }
    }
    law_points_release(&all);
    assert_int_equal(overhead_law_make(&points, &law, NULL), STATUS_OK);
    struct json *document = overhead_law_json(law, "0.1");
    assert_int_equal(json_write(document, 2, &written, NULL), STATUS_OK);
    json_release(document);
    overhead_law_release(law);
    return 0;
}

static int law_remove(void **state)
{
    (void)state;
    text_release(&written);
    law_points_release(&points);
    return unlink(path);
}

static void what_was_written_predicts_the_same(void **state)
{
    (void)state;
    struct law_file file = {0};
    file_write(text_string(&written));
    assert_int_equal(law_file_read(path, &file, NULL), STATUS_OK);
    const struct law_kind *kind = law_file_kind(&file, "alpha");
    assert_non_null(kind);
    assert_null(law_file_kind(&file, "beta"));
    for (int at = 0; at < points.count; at++) {
        struct law_answer answer;
        const struct law_point *point = &points.all[at];
        law_answer_make(kind, point, false, &answer);
        assert_true(fabs(answer.allocated_bytes - (double)point->allocated_bytes) < 1000.0);
        assert_null(strstr(text_string(&answer.outside), "fitted to"));
        text_release(&answer.outside);
    }
    law_file_release(&file);
}

/* A GPU adds the workspaces of its class, and a loop that keeps outputs those of the pass before. */
static void a_device_and_a_loop_add_what_they_hold(void **state)
{
    (void)state;
    struct law_file file = {0};
    struct law_answer host, gpu, kept;
    struct law_point point = points.all[0];
    file_write(text_string(&written));
    assert_int_equal(law_file_read(path, &file, NULL), STATUS_OK);
    law_answer_make(&file.kinds[0], &point, false, &host);
    point.target = "sm_89:128";
    law_answer_make(&file.kinds[0], &point, false, &gpu);
    law_answer_make(&file.kinds[0], &point, true, &kept);
    assert_true(gpu.allocated_bytes - host.allocated_bytes == 8519680.0 + 1048576.0); /* harness/tape/target.c */
    assert_string_equal(point.logits, "all");
    assert_true(kept.allocated_bytes - gpu.allocated_bytes ==
                (double)(point.batch * point.seq * point.vocab * 4)); /* float32 */
    text_release(&host.outside);
    text_release(&gpu.outside);
    text_release(&kept.outside);
    law_file_release(&file);
}

static void a_case_outside_is_told_with_its_variables(void **state)
{
    (void)state;
    struct law_file file = {0};
    struct law_answer answer;
    struct law_point point = points.all[0];
    file_write(text_string(&written));
    assert_int_equal(law_file_read(path, &file, NULL), STATUS_OK);
    point.batch = 4;
    point.seq = 300;
    point.cache = "dynamic";
    law_answer_make(&file.kinds[0], &point, false, &answer);
    const char *told = text_string(&answer.outside);
    assert_non_null(strstr(told, "seq is 300, fitted to 64 to 257\n"));
    assert_non_null(strstr(told, "tokens is 1200, fitted to 64 to 1028\n"));
    assert_non_null(strstr(told, "the coefficient of \"keys and values of all layers\" is not identified\n"));
    assert_null(strstr(told, "batch"));
    text_release(&answer.outside);
    law_file_release(&file);
}

static void refused(const char *text, const char *expected)
{
    struct law_file file = {0};
    struct status error = {0};
    file_write(text);
    assert_int_not_equal(law_file_read(path, &file, &error), STATUS_OK);
    if (strstr(error.text, expected) == NULL) {
        fail_msg("'%s' instead of '%s'", error.text, expected);
    }
    law_file_release(&file);
}

/* The law with the first occurrence of `was` changed. */
static void law_change(const char *was, const char *is, const char *expected)
{
    struct text changed = {0};
    const char *whole = text_string(&written), *at = strstr(whole, was);
    assert_non_null(at);
    text_append_bytes(&changed, whole, (size_t)(at - whole));
    text_append(&changed, is);
    text_append(&changed, at + strlen(was));
    refused(text_string(&changed), expected);
    text_release(&changed);
}

static void files_that_are_no_law_are_refused(void **state)
{
    (void)state;
    refused("[]", "it is no law; assay calibrate --law inference-overhead --output FILE writes one");
    refused("{\"type\": \"law\"", "");
    law_change("assay-law", "assay-lore", "it is no law");
    law_change("\"major\": 2", "\"major\": 1", "its version is 1, and this program reads 2; fit the law again");
    law_change("\"major\": 2", "\"major\": 3", "its version is 3, and this program reads 2; take a newer program");
    law_change("\"inference-overhead\"", "\"optimizer\"", "it is the law 'optimizer'; cases are estimated by");
    law_change("\"kinds\"", "\"sorts\"", "'kinds' must be a list of 1 to 1000 objects");
    law_change("\"kind\": \"alpha\"", "\"kind\": 7", "'kinds[0].kind' must be a word");
    law_change("\"rounding_bytes\": ", "\"rounding_bytes\": \"x\", \"was\": ", "'kinds[0].rounding_bytes' must be");
    law_change("\"logit_vocab\": {", "\"logit_vocab\": {\"identified\": true, \"value\": -1.0}, \"was\": {",
               "'kinds[0].coefficients.logit_vocab.value' must be a number, and not negative");
    law_change("\"tokens\": [", "\"tokens\": [\"x\", ", "'kinds[0].range.tokens' must be a list of two whole numbers");
    law_change("\"batch\": [", "\"batch\": {}, \"was\": [", "'kinds[0].range.batch' must be a list");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_predicts_the_same),
        cmocka_unit_test(a_device_and_a_loop_add_what_they_hold),
        cmocka_unit_test(a_case_outside_is_told_with_its_variables),
        cmocka_unit_test(files_that_are_no_law_are_refused),
    };
    return cmocka_run_group_tests(tests, law_make, law_remove);
}
