/* Model shelf: one skeleton for all cases that have it in common, another for those that have not, and never too
 * many. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <malloc.h>
#include <pthread.h>
#include <string.h>

#include "models/find/model_shelf.h"

static const struct model_places places = {.catalogue_dir = "models/catalogue"};

static struct model_shelf *shelf_new(void)
{
    struct model_shelf *shelf = NULL;
    assert_int_equal(model_shelf_open(&places, &shelf, NULL), STATUS_OK);
    return shelf;
}

static struct shelf_item taken(struct model_shelf *shelf, const char *name, const struct workload *workload)
{
    struct shelf_item item = {0};
    struct status error = {0};
    if (model_shelf_take(shelf, name, workload, &item, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return item;
}

static void cases_that_differ_elsewhere_share_a_skeleton(void **state)
{
    (void)state;
    struct model_shelf *shelf = shelf_new();
    struct workload small = workload_default(MODE_LOAD), large = workload_default(MODE_LOAD);
    small.mode = large.mode = MODE_INFER;
    large.batch = 64;
    large.precision = PRECISION_BFLOAT16;
    struct shelf_item first = taken(shelf, "tiny-gpt2", &small), second = taken(shelf, "tiny-gpt2", &large);
    assert_ptr_equal(first.skeleton, second.skeleton);
    assert_ptr_equal(first.bare, second.bare);
    assert_int_equal(first.bare->head, HEAD_BARE);
    model_shelf_give_back(shelf, &first);
    model_shelf_give_back(shelf, &second);
    struct shelf_item third = taken(shelf, "tiny-gpt2", &small);
    assert_ptr_equal(third.skeleton, first.skeleton);
    model_shelf_give_back(shelf, &third);
    model_shelf_close(shelf);
}

static void what_a_skeleton_depends_on_makes_another(void **state)
{
    (void)state;
    struct model_shelf *shelf = shelf_new();
    struct workload cases[6];
    struct shelf_item items[6];
    for (int i = 0; i < 6; i++) {
        cases[i] = workload_default(MODE_LOAD);
        cases[i].mode = i == 0 ? MODE_LOAD : i < 2 ? MODE_INFER : MODE_TRAIN;
        cases[i].head = i == 1 ? HEAD_BARE : HEAD_DEFAULT;
        cases[i].lora_rank = i < 3 ? 0 : i == 3 ? 4 : 8;
        cases[i].lora_targets = i == 5 ? LORA_TARGETS_LINEAR : LORA_TARGETS_ATTENTION;
        items[i] = taken(shelf, "tiny-gpt2", &cases[i]);
        struct skeleton expected;
        assert_int_equal(model_skeleton(items[i].model, &cases[i], &expected, NULL), STATUS_OK);
        assert_int_equal(items[i].skeleton->head, expected.head);
        assert_int_equal(items[i].skeleton->tensor_count, expected.tensor_count);
        assert_int_equal(items[i].skeleton->parameter_count, expected.parameter_count);
        skeleton_release(&expected);
        for (int k = 0; k < i; k++) {
            assert_ptr_not_equal(items[i].skeleton, items[k].skeleton);
        }
    }
    for (int i = 0; i < 6; i++) {
        model_shelf_give_back(shelf, &items[i]);
    }
    model_shelf_close(shelf);
}

static void errors_are_those_of_the_model(void **state)
{
    (void)state;
    struct model_shelf *shelf = shelf_new();
    struct workload workload = workload_default(MODE_LOAD);
    struct shelf_item item = {0};
    struct status error = {0}, expected = {0};
    struct model model;
    workload.mode = MODE_TRAIN;
    assert_int_equal(model_find(&places, "./nowhere", &model, &expected), STATUS_INVALID);
    assert_int_equal(model_shelf_take(shelf, "./nowhere", &workload, &item, &error), STATUS_INVALID);
    assert_string_equal(error.text, expected.text);
    workload.lora_rank = 4;
    assert_int_equal(model_shelf_take(shelf, "Qwen/Qwen1.5-MoE-A2.7B", &workload, &item, &error), STATUS_INVALID);
    assert_non_null(strstr(error.text, "PEFT has no targets"));
    assert_null(item.row);
    model_shelf_give_back(shelf, &item);
    model_shelf_close(shelf);
}

/* Of a list of any length only what was used last is kept. */
static void memory_has_a_bound(void **state)
{
    (void)state;
    struct model_shelf *shelf = shelf_new();
    struct workload workload = workload_default(MODE_LOAD);
    struct shelf_item held = taken(shelf, "tiny-bert", &workload);
    size_t full = 0;
    workload.mode = MODE_TRAIN;
    for (int rank = 1; rank <= 400; rank++) {
        workload.lora_rank = rank;
        struct shelf_item item = taken(shelf, rank % 2 == 0 ? "tiny-gpt2" : "tiny-llama", &workload);
        model_shelf_give_back(shelf, &item);
        full = rank == 40 ? mallinfo2().uordblks : full;
    }
    assert_in_range(mallinfo2().uordblks, 0, full + full / 4);
    assert_string_equal(held.model->config.name, "tiny-bert"); /* what somebody has stays */
    assert_true(held.skeleton->tensor_count > 0 && held.skeleton->tensors[0].path[0] != '\0');
    model_shelf_give_back(shelf, &held);
    model_shelf_close(shelf);
}

static void *taker_run(void *argument)
{
    static const char *const names[] = {"tiny-gpt2", "tiny-bert", "tiny-llama"};
    struct workload workload = workload_default(MODE_LOAD);
    for (int i = 0; i < 300; i++) {
        struct shelf_item item = {0};
        workload.lora_rank = i % 50;
        workload.mode = MODE_TRAIN;
        if (model_shelf_take(argument, names[i % 3], &workload, &item, NULL) != STATUS_OK ||
            strcmp(item.model->config.name, names[i % 3]) != 0 || skeleton_find(item.skeleton, "nothing") != -1) {
            return argument;
        }
        model_shelf_give_back(argument, &item);
    }
    return NULL;
}

static void several_threads_take_and_give_back(void **state)
{
    (void)state;
    struct model_shelf *shelf = shelf_new();
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, taker_run, shelf), 0);
    }
    for (int i = 0; i < 4; i++) {
        void *failed = NULL;
        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    model_shelf_close(shelf);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cases_that_differ_elsewhere_share_a_skeleton),
        cmocka_unit_test(what_a_skeleton_depends_on_makes_another),
        cmocka_unit_test(errors_are_those_of_the_model),
        cmocka_unit_test(memory_has_a_bound),
        cmocka_unit_test(several_threads_take_and_give_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
