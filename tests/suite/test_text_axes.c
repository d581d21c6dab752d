/* Axes whose values are texts, and find_batch: they multiply, are named in ids, and stand in identities only where they
 * say something, so that a case without them is what it was in older records. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/json.h"
#include "tests/suite/suite_text.h"
#include "tests/support/status_said.h"

static void texts_multiply_and_name_their_cases(void **state)
{
    (void)state;
    struct suite suite =
        suite_text_open(SUITE_HEAD "cases:\n"
                                   "  - model: tiny-gpt2\n"
                                   "    mode: [load, infer, train]\n"
                                   "    place: [\"0=1MB,cpu=1GB\", cpu-offload]\n"
                                   "    checkpoint: [single, 50MB]\n"
                                   "    exclude: [{place: cpu-offload, checkpoint: single}]\n"
                                   "  - {model: tiny-gpt2, mode: infer, batch: 64, find_batch: [halve, 0.9]}\n");
    const char *ids[] = {
        "tiny-gpt2/load/float32/place-0=1MB,cpu=1GB/checkpoint-single",
        "tiny-gpt2/load/float32/place-0=1MB,cpu=1GB/checkpoint-50MB",
        "tiny-gpt2/load/float32/place-cpu-offload/checkpoint-50MB",
        "tiny-gpt2/infer/float32/b1/s128/place-0=1MB,cpu=1GB",
        "tiny-gpt2/infer/float32/b1/s128/place-cpu-offload",
        "tiny-gpt2/train/float32/b1/s128/adamw-fused",
        "tiny-gpt2/infer/float32/b64/s128/find-halve",
        "tiny-gpt2/infer/float32/b64/s128/find-0.9",
    };
    suite_ids_check(&suite, ids, 8);
    assert_string_equal(suite.cases[1].identity.workload.place, "0=1MB,cpu=1GB");
    assert_string_equal(suite.cases[1].identity.workload.checkpoint, "50MB");
    assert_null(suite.cases[5].identity.workload.place);
    assert_int_equal(suite.cases[7].identity.workload.find_batch, FIND_BATCH_NINE_TENTHS);
    suite_release(&suite);
}

static void an_identity_names_what_is_said_alone(void **state)
{
    (void)state;
    struct suite suite =
        suite_text_open(SUITE_HEAD "cases:\n  - {model: tiny-gpt2, mode: infer}\n"
                                   "  - {model: tiny-gpt2, mode: infer, place: disk-offload}\n"
                                   "  - {model: tiny-gpt2, mode: infer, batch: 8, find_batch: bisect}\n");
    static const char *const keys[] = {"place", "checkpoint", "find_batch"};
    static const char *const wanted[3][3] = {{NULL, NULL, NULL}, {"disk-offload", NULL, NULL}, {NULL, NULL, "bisect"}};
    for (int i = 0; i < 3; i++) {
        struct json *identity = identity_json(&suite.cases[i].identity);
        for (int k = 0; k < 3; k++) {
            const struct json *value = json_get(identity, keys[k]);
            assert_true((value == NULL) == (wanted[i][k] == NULL));
            assert_string_equal(json_string_or(value, ""), wanted[i][k] != NULL ? wanted[i][k] : "");
        }
        json_release(identity);
    }
    suite_release(&suite);
}

static void mistakes_have_a_place_and_a_remedy(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"cases:\n  - {model: tiny-gpt2, mode: infer, place: gpu}\n",
         "s.yaml:4:44: place: 'gpu' is no DEVICE=SIZE; write budgets such as 0=300MB,cpu=1GB, or cpu-offload or "
         "disk-offload alone"},
        {"cases:\n  - {model: tiny-gpt2, mode: infer, place: [0=1MB,cpu=1GB]}\n",
         "s.yaml:4:51: place: no GPU has a budget; write 0=300MB,cpu=1GB, in quotes inside a list or a map of YAML, or "
         "cpu-offload"},
        {"cases:\n  - {model: tiny-gpt2, mode: load, checkpoint: many}\n",
         "s.yaml:4:48: checkpoint: write single, or the largest size of a shard, as 50MB: "},
        {"cases:\n  - {model: tiny-gpt2, mode: infer, find_batch: third}\n",
         "s.yaml:4:49: find_batch: 'third' is not known; write one of: none, halve, 0.9, bisect"},
        {"cases:\n  - {model: tiny-gpt2, mode: load, find_batch: halve}\n",
         "s.yaml:4:36: find_batch halve: mode load has no batch; leave it out, or write mode infer, generate or train"},
        {"cases:\n  - {model: tiny-gpt2, mode: infer, find_batch: halve, place: cpu-offload}\n",
         "s.yaml:4:5: find_batch: batches are looked for on one device; leave place out, or find_batch"},
        {"cases:\n  - {model: tiny-gpt2, mode: infer, place: [cpu-offload, cpu-offload]}\n",
         "s.yaml:4:58: place: 'cpu-offload' stands twice in this list; keep one"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char text[400] = SUITE_HEAD;
        struct suite suite;
        struct status error = {0};
        strncat(text, rows[i][0], sizeof text - strlen(text) - 1);
        assert_int_equal(suite_text_read(text, &suite, &error), STATUS_INVALID);
        if (strncmp(STATUS_SAID(&error), rows[i][1], strlen(rows[i][1])) != 0) {
            fail_msg("row %zu: %s", i, STATUS_SAID(&error));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_multiply_and_name_their_cases),
        cmocka_unit_test(an_identity_names_what_is_said_alone),
        cmocka_unit_test(mistakes_have_a_place_and_a_remedy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
