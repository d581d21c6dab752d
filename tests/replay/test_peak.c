/* The list of what is alive at a peak: it comes to what the replay counts there, by category, and has names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "harness/replay/peak.h"
#include "tests/support/device_use.h"
#include "tests/support/modelled.h"

static void peak_is_what_was_replayed(const struct peak *peak, const struct replay_stage *stage)
{
    int64_t categories[CATEGORY_COUNT] = {0};
    for (int i = 0; i < peak->tensor_count; i++) {
        const struct peak_tensor *tensor = &peak->tensors[i];
        assert_true(tensor->count > 0 && tensor->bytes > 0 && tensor->name[0] != '\0');
        categories[tensor->category] += tensor->count * tensor->bytes;
        if (i > 0) {
            assert_true(tensor[-1].count * tensor[-1].bytes >= tensor->count * tensor->bytes);
        }
    }
    assert_true(peak->requested_bytes == stage->requested_bytes_peak);
    assert_memory_equal(categories, stage->categories_at_peak, sizeof categories);
}

static void every_stage_agrees(const char *model, const struct workload *workload)
{
    struct modelled tiny = {0};
    struct peak peak, highest;
    modelled_require(&tiny, model, workload, "sm_90");
    struct tape_view tape = tape_view(tiny.tape);
    struct replay_result result = replay_on(&tape, "meta");
    for (int stage = STAGE_LOAD; stage < STAGE_COUNT; stage++) {
        struct status error = {0};
        enum status_code code = peak_find(&tape, (enum stage)stage, &peak, &error);
        assert_int_equal(code, result.stages[stage].present ? STATUS_OK : STATUS_INVALID);
        if (code == STATUS_OK) {
            peak_is_what_was_replayed(&peak, &result.stages[stage]);
            peak_release(&peak);
        } else {
            assert_non_null(strstr(error.text, stage_name((enum stage)stage)));
        }
    }
    assert_int_equal(peak_find(&tape, STAGE_COUNT, &highest, NULL), STATUS_OK);
    assert_true(highest.requested_bytes == result.requested_bytes_peak);
    peak_release(&highest);
    modelled_close(&tiny);
}

static void lists_come_to_what_is_counted(void **state)
{
    (void)state;
    static const char *const models[] = {"tiny-bert", "tiny-gpt2", "tiny-llama", "tiny-vit", "tiny-resnet"};
    struct workload workload = workload_default(MODE_TRAIN), load = workload_default(MODE_LOAD);
    workload.batch = 2;
    workload.seq = 16;
    for (size_t i = 0; i < sizeof models / sizeof models[0]; i++) {
        every_stage_agrees(models[i], &workload);
        every_stage_agrees(models[i], &load);
    }
    workload.accumulate = 3;
    workload.precision = PRECISION_AMP_BFLOAT16;
    every_stage_agrees("tiny-llama", &workload);
    workload = workload_default(MODE_GENERATE);
    workload.seq = 8;
    every_stage_agrees("tiny-gpt2", &workload);
}

static void loading_bert_has_its_largest_tensor_first(void **state)
{
    (void)state;
    struct modelled bert = {0};
    struct peak peak;
    struct workload load = workload_default(MODE_LOAD);
    modelled_require(&bert, "bert-base-cased", &load, "sm_90");
    struct tape_view tape = tape_view(bert.tape);
    assert_int_equal(peak_find(&tape, STAGE_LOAD, &peak, NULL), STATUS_OK);
    assert_string_equal(peak.tensors[0].name, "embeddings.word_embeddings.weight");
    assert_int_equal(peak.tensors[0].bytes, 89075712);
    assert_int_equal(peak.tensors[1].bytes, 9437184);
    assert_int_equal(peak.tensors[1].count, 1);
    peak_release(&peak);
    modelled_close(&bert);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_come_to_what_is_counted),
        cmocka_unit_test(loading_bert_has_its_largest_tensor_first),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
