/* Law files: what was written is read, what comes from outside is checked, and a case outside of the law is told. */
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
static struct overhead_law *law;

static const struct synthetic_kind kind = {
    .kind = "llama",
    .model_count = 4,
    .coefficients = {[TERM_LOGIT_VOCAB] = 1,
                     [TERM_LOGIT_HIDDEN] = 1,
                     [TERM_FEED_HIDDEN] = 4,
                     [TERM_FEED_WIDTH] = 3,
                     [TERM_FEED_SCORES] = 1,
                     [TERM_ATTENTION_WIDTH] = 3.5,
                     [TERM_ATTENTION_SCORES] = 2,
                     [TERM_ATTENTION_FLOAT] = 1.5,
                     [TERM_CACHE] = 1,
                     [TERM_DECODE_LAYER] = 0.5,
                     [TERM_DECODE_REPEAT] = 2,
                     [TERM_DECODE_VOCAB] = 2},
    .allocator_bytes = 1000,
};

static void file_write(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static int law_make(void **state)
{
    (void)state;
    int file = mkstemp(path);
    const struct overhead_law_request request = {.seed = 1};
    synthetic_points_add(&points, &kind);
    for (int at = 0; at < points.count; at++) {
        points.all[at].replayed_bytes = points.all[at].footprint_bytes - 15000000;
    }
    return file < 0 || close(file) != 0 || overhead_law_make(&points, &request, &law, NULL) != STATUS_OK;
}

static int law_remove(void **state)
{
    (void)state;
    overhead_law_release(law);
    law_points_release(&points);
    return unlink(path);
}

static void law_write(void)
{
    struct text text = {0};
    struct json *document = overhead_law_json(law, "0.1.0");
    assert_int_equal(json_write(document, 1, &text, NULL), STATUS_OK);
    file_write(text_string(&text));
    text_release(&text);
    json_release(document);
}

static void what_was_written_predicts_the_same(void **state)
{
    (void)state;
    struct law_file file = {0};
    struct status error = {0};
    law_write();
    if (law_file_read(path, &file, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(file.kind_count, 1);
    int count = 0;
    assert_null(law_file_kind(&file, "llama", "sm_90", &count));
    assert_null(law_file_kind(&file, "bert", "host", &count));
    const struct law_kind *found = law_file_kind(&file, "llama", "host", &count);
    assert_non_null(found);
    assert_int_equal(count, 1);
    assert_null(law_file_donor(&file, found));
    for (int at = 0; at < points.count; at++) {
        struct law_answer answer;
        enum overhead_moment moment;
        law_answer_make(found, &points.all[at], &answer);
        double ours =
            overhead_predict(&points.all[at], law->kinds[0].fit.coefficients, law->kinds[0].allocator_bytes, &moment);
        assert_true(fabs(answer.allocated_bytes - ours) < 1.0);
        assert_int_equal(answer.moment, moment);
        assert_string_equal(text_string(&answer.outside), "");
        text_release(&answer.outside);
    }
    law_file_release(&file);
}

static void a_context_is_that_of_its_device_and_mode(void **state)
{
    (void)state;
    struct law_file file = {0};
    law_write();
    assert_int_equal(law_file_read(path, &file, NULL), STATUS_OK);
    assert_int_equal(file.context_count, 2);
    int count = 0;
    const struct law_context *infer = law_file_context(&file, "host", "infer", "assay", &count);
    const struct law_context *generate = law_file_context(&file, "host", "generate", NULL, &count);
    assert_int_equal(count, 1);
    assert_ptr_equal(infer, &file.contexts[1]);
    assert_ptr_equal(generate, &file.contexts[0]);
    assert_ptr_equal(law_file_context(&file, "host", "infer", "another", &count), infer);
    assert_null(law_file_context(&file, "sm_90", "infer", NULL, &count));
    assert_true(infer->bytes == 15000000.0 && infer->p99 == 0.0);
    assert_int_equal(infer->case_count, 4 * 32);
    assert_int_equal(infer->model_count, 4);
    law_file_release(&file);
}

static void a_case_outside_is_told_with_its_variables(void **state)
{
    (void)state;
    struct law_file file = {0};
    struct law_answer answer;
    law_write();
    assert_int_equal(law_file_read(path, &file, NULL), STATUS_OK);
    struct law_point point = points.all[0];
    point.batch = 64;
    point.hidden = 4096;
    point.precision = "float16";
    law_answer_make(&file.kinds[0], &point, &answer);
    assert_string_equal(text_string(&answer.outside), "batch is 64, fitted to 1 to 4\n"
                                                      "hidden is 4096, fitted to 256 to 544\n"
                                                      "tokens is 4096, fitted to 64 to 1120\n"
                                                      "precision is float16, fitted to float32 and bfloat16\n");
    text_release(&answer.outside);
    file.kinds[0].is_known[TERM_LOGIT_VOCAB] = false;
    law_answer_make(&file.kinds[0], &points.all[0], &answer);
    assert_string_equal(text_string(&answer.outside), "no case tells the coefficient of \"logits of every token\"\n");
    text_release(&answer.outside);
    law_file_release(&file);
}

/* A batch and a length that were measured, but not together. */
static void tokens_beyond_those_measured_are_told(void **state)
{
    (void)state;
    struct law_file file = {0};
    struct law_answer answer;
    struct law_point point = points.all[0];
    law_write();
    assert_int_equal(law_file_read(path, &file, NULL), STATUS_OK);
    assert_int_equal(file.kinds[0].tokens_low, 64);
    assert_int_equal(file.kinds[0].tokens_high, 1120);
    point.batch = 4;
    point.seq = 257;
    point.new_tokens = 216;
    law_answer_make(&file.kinds[0], &point, &answer);
    assert_string_equal(text_string(&answer.outside), "tokens is 1892, fitted to 64 to 1120\n");
    text_release(&answer.outside);
    point.batch = point.seq = INT64_C(1) << 40;
    assert_true(law_point_tokens(&point) == INT64_MAX);
    law_file_release(&file);
}

static void refused(const char *text, const char *expected)
{
    struct law_file file = {0};
    struct status error = {0};
    char line[STATUS_LINE_BYTES], wanted[STATUS_LINE_BYTES];
    file_write(text);
    assert_int_equal(law_file_read(path, &file, &error), STATUS_INVALID);
    snprintf(wanted, sizeof wanted, "%s: %s", path, expected);
    assert_string_equal(status_line(&error, line), wanted);
    law_file_release(&file);
}

/* What is said of the law that was written if one place of it is another. */
static void law_change(const char *was, const char *is, const char *expected)
{
    struct text text = {0}, changed = {0};
    struct json *document = overhead_law_json(law, "0.1.0");
    assert_int_equal(json_write(document, 1, &text, NULL), STATUS_OK);
    const char *place = strstr(text_string(&text), was);
    assert_non_null(place);
    text_append_bytes(&changed, text_string(&text), (size_t)(place - text_string(&text)));
    text_format(&changed, "%s%s", is, place + strlen(was));
    refused(text_string(&changed), expected);
    text_release(&text);
    text_release(&changed);
    json_release(document);
}

#define HEAD(major, law) "{\"schema\": {\"name\": \"assay-law\", \"major\": " major "}, \"law\": \"" law "\", "
#define KIND                                                                                                           \
    HEAD("1", "inference-overhead")                                                                                    \
    "\"kinds\": [{\"kind\": \"k\", \"target\": \"host\", \"program\": \"assay\", \"precisions\": [\"float32\"], "      \
    "\"attentions\": [\"sdpa\"], \"logits\": [\"all\"], \"caches\": [\"none\"], "

static void files_that_are_no_law_are_refused(void **state)
{
    (void)state;
    refused("{}", "it is no law; give a file that assay calibrate --law --output has written");
    refused(HEAD("2", "inference-overhead") "\"kinds\": []}",
            "its format is version 2, and this program reads version 1; fit it again");
    refused(HEAD("1", "optimizer") "\"kinds\": []}",
            "it is the law 'optimizer'; cases are estimated by inference-overhead");
    refused(HEAD("1", "inference-overhead") "\"kinds\": []}", "'kinds' must be a list of 1 to 1000 kinds");
    refused(HEAD("1", "inference-overhead") "\"kinds\": {\"a\": 1}}", "'kinds' must be a list of 1 to 1000 kinds");
    refused(HEAD("1", "inference-overhead") "\"kinds\": [7]}", "'kinds[0].allocator_bytes' must be a number");
    refused(KIND "\"allocator_bytes\": 1, \"coefficients\": {\"cache\": {\"value\": \"x\"}}}]}",
            "'kinds[0].coefficients.cache.value' must be a number");
    refused(KIND "\"allocator_bytes\": 1, \"range\": {\"batch\": [1]}}]}",
            "'kinds[0].range.batch' must be a list of two whole numbers");
    refused(KIND "\"allocator_bytes\": 1}]}",
            "'kinds[0].range' must be an object: without it no case is outside of the law; fit it again");
    refused(KIND "\"allocator_bytes\": 1, \"range\": {\"batch\": [1, 8]}}]}",
            "'kinds[0].range.seq' must be a list of two whole numbers");
    refused(KIND "\"allocator_bytes\": \"1\"}]}", "'kinds[0].allocator_bytes' must be a number");
    law_change("\"precisions\": [", "\"precisions\": [], \"others\": [",
               "'kinds[0].precisions' must be a list of 1 to 15 words");
    law_change("\"contexts\": [", "\"contexts\": 3, \"others\": [",
               "'contexts' must be a list of at most 1000 contexts");
    law_change("\"bytes\":", "\"byte\":", "'contexts[0].bytes' must be a number");
    law_change("\"mode\": \"generate\"", "\"mode\": 7", "'contexts[0].mode' must be a word");
    law_change("\"tokens\": [", "\"tokens\": [1.5, ", "'kinds[0].range.tokens' must be a list of two whole numbers");
    law_change("\"borrowed_from\": null", "\"borrowed_from\": 7", "'kinds[0].borrowed_from' must be a word or null");
    refused(HEAD("1", "inference-overhead") "\"kinds\": [{\"allocator_bytes\": 1}]}", "'kinds[0].kind' must be a word");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_was_written_predicts_the_same),
        cmocka_unit_test(a_context_is_that_of_its_device_and_mode),
        cmocka_unit_test(a_case_outside_is_told_with_its_variables),
        cmocka_unit_test(tokens_beyond_those_measured_are_told),
        cmocka_unit_test(files_that_are_no_law_are_refused),
    };
    return cmocka_run_group_tests(tests, law_make, law_remove);
}
