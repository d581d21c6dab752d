/* The vectors of accelerate's own tests (tests/test_modeling_utils.py, 1.15): device maps, balanced memory, sizes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "tests/placement/toy_model.h"

static const char *const none[] = {NULL};

struct expected {
    const char *map;
    bool warns;
};

static void map_check(struct toy_model *toy, struct placement_request *request, const struct expected *expected)
{
    struct device_plan placement;
    struct text map = {0};
    struct status error = {0};
    toy_end(toy);
    if (device_plan_make(&toy->skeleton, request, &placement, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    toy_map_text(&placement.map, &map);
    assert_string_equal(text_string(&map), expected->map);
    assert_int_equal(placement.warnings.length > 0, expected->warns);
    text_release(&map);
    device_plan_release(&placement);
    toy_release(toy);
}

static struct placement_request request_of(const struct placement_budget *budgets, int count)
{
    return (struct placement_request){
        .budgets = budgets, .budget_count = count, .no_split = none, .strategy = PLACEMENT_SEQUENTIAL};
}

static void two_devices(struct toy_model *toy, int64_t first, int64_t second, const char *map)
{
    const struct placement_budget budgets[] = {toy_budget("0", first), toy_budget("1", second)};
    struct placement_request request = request_of(budgets, 2);
    map_check(toy, &request, &(struct expected){.map = map});
}

static void plain_model(struct toy_model *toy)
{
    toy_begin(toy, "ModelForTest");
    toy_model_for_test(toy, 0, "");
}

static void first_gpu_keeps_room_for_the_largest_layer(void **state)
{
    struct toy_model toy;
    (void)state;
    plain_model(&toy);
    two_devices(&toy, 200, 200, "{batchnorm: 1, linear1: 0, linear2: 1}");
}

static void second_gpu_keeps_no_room(void **state)
{
    struct toy_model toy;
    (void)state;
    plain_model(&toy);
    const struct placement_budget budgets[] = {toy_budget("2", 200), toy_budget("0", 200), toy_budget("1", 172)};
    struct placement_request request = request_of(budgets, 3);
    map_check(&toy, &request, &(struct expected){.map = "{batchnorm: 1, linear1: 0, linear2: 1}"});
}

/* linear1.weight = linear2.weight: one storage of 20 elements, whose first name is linear1.weight. */
static void tied_layers_stay_together(void **state)
{
    struct toy_model toy;
    (void)state;
    plain_model(&toy);
    toy.skeleton.tensors[0].element_count = 20;
    toy_tie(&toy, "linear2.weight", "linear1.weight");
    two_devices(&toy, 200, 200, "{: 0}");
}

static void sequence_of_three(struct toy_model *toy)
{
    toy_begin(toy, "Sequential");
    toy_model_for_test(toy, 0, "0");
    toy_model_for_test(toy, 0, "1");
    toy_model_for_test(toy, 0, "2");
}

static void a_module_that_does_not_fit_is_split(void **state)
{
    struct toy_model toy;
    (void)state;
    sequence_of_three(&toy);
    two_devices(&toy, 500, 500, "{0: 0, 1.batchnorm: 0, 1.linear1: 0, 1.linear2: 1, 2: 1}");
}

static void a_class_that_is_never_split_goes_on(void **state)
{
    static const char *const whole[] = {"ModelForTest"};
    const struct placement_budget budgets[] = {toy_budget("0", 500), toy_budget("1", 500)};
    struct placement_request request = request_of(budgets, 2);
    struct toy_model toy;
    (void)state;
    request.no_split = whole;
    request.no_split_count = 1;
    sequence_of_three(&toy);
    map_check(&toy, &request, &(struct expected){.map = "{0: 0, 1: 1, 2: 1}"});
    /* The model's own flags say the same. */
    sequence_of_three(&toy);
    for (int i = 0; i < toy.skeleton.module_count; i++) {
        toy.skeleton.modules[i].no_split = strcmp(toy.skeleton.modules[i].class_name, "ModelForTest") == 0;
    }
    request.no_split = NULL;
    map_check(&toy, &request, &(struct expected){.map = "{0: 0, 1: 1, 2: 1}"});
}

static void layers_of_three(struct toy_model *toy)
{
    toy_begin(toy, "Sequential");
    toy_model_for_test(toy, 0, "layer1");
    toy_model_for_test(toy, 0, "layer2");
    toy_model_for_test(toy, 0, "layer3");
}

static void a_tied_weight_pulls_its_module(void **state)
{
    struct toy_model toy;
    (void)state;
    layers_of_three(&toy);
    toy_tie(&toy, "layer3.linear2.weight", "layer1.linear2.weight");
    two_devices(&toy, 400, 500, "{layer1: 0, layer2: 1, layer3.batchnorm: 1, layer3.linear1: 1, layer3.linear2: 0}");
}

static void three_tied_weights_pull_theirs(void **state)
{
    struct toy_model toy;
    (void)state;
    layers_of_three(&toy);
    toy_tie(&toy, "layer2.linear2.weight", "layer1.linear2.weight");
    toy_tie(&toy, "layer3.linear2.weight", "layer1.linear2.weight");
    two_devices(&toy, 400, 500,
                "{layer1: 0, layer2.batchnorm: 1, layer2.linear1: 1, layer2.linear2: 0, layer3.batchnorm: 1, "
                "layer3.linear1: 1, layer3.linear2: 0}");
}

static void two_groups_of_ties_pull_theirs(void **state)
{
    struct toy_model toy;
    (void)state;
    layers_of_three(&toy);
    toy_tie(&toy, "layer2.linear1.weight", "layer1.linear1.weight");
    toy_tie(&toy, "layer2.linear2.weight", "layer1.linear2.weight");
    toy_tie(&toy, "layer3.linear2.weight", "layer1.linear2.weight");
    two_devices(&toy, 400, 500,
                "{layer1: 0, layer2.batchnorm: 1, layer2.linear1: 0, layer2.linear2: 0, layer3.batchnorm: 1, "
                "layer3.linear1: 1, layer3.linear2: 0}");
}

static void weight_and_bias_tied_to_one_module(void **state)
{
    struct toy_model toy;
    (void)state;
    toy_begin(&toy, "Sequential");
    toy_linear(&toy, 0, "linear1", 4, 4);
    toy_linear(&toy, 0, "linear2", 6, 6);
    toy_linear(&toy, 0, "linear3", 4, 4);
    toy_linear(&toy, 0, "linear4", 6, 6);
    toy_tie(&toy, "linear3.weight", "linear1.weight");
    toy_tie(&toy, "linear3.bias", "linear1.bias");
    two_devices(&toy, 250, 400, "{linear1: 0, linear2: 1, linear3: 0, linear4: 1}");
}

static void tied_pair_in(int64_t bytes, const char *map)
{
    const struct placement_budget budgets[] = {toy_budget("0", bytes)};
    struct placement_request request = request_of(budgets, 1);
    struct toy_model toy;
    toy_begin(&toy, "Module");
    int a = builder_module(&toy.builder, 0, "a", "Module");
    toy_linear(&toy, a, "x", 4, 4);
    toy_linear(&toy, a, "y", 4, 4);
    toy_linear(&toy, 0, "b", 4, 4);
    toy_tie(&toy, "b.weight", "a.x.weight");
    map_check(&toy, &request, &(struct expected){.map = map});
}

/* a is 160 bytes, and 16 are kept free for b, which is tied to a.x and adds 16. Of 176 bytes a alone fits exactly: it
 * is split, and its parts fit. Of 177 it fits with a byte to spare, is not split, and goes on. So more memory can put a
 * model on the disk, as it does in accelerate 1.15. */
static void what_fits_exactly_but_for_its_ties_is_split(void **state)
{
    (void)state;
    tied_pair_in(175, "{: disk}");
    tied_pair_in(176, "{: 0}");
    tied_pair_in(177, "{: disk}");
}

/* Buffers of 10 x 2, 10 x 3 and 10 x 3 elements on the three leaves. */
static void model_with_buffers(struct toy_model *toy)
{
    static const int64_t small[] = {10, 2}, large[] = {10, 3};
    toy_begin(toy, "ModelForTest");
    toy_linear(toy, 0, "linear1", 4, 3);
    toy_buffer(toy, "test_buffer1", 2, small, true);
    toy_batchnorm(toy, 0, "batchnorm", 4);
    toy_buffer(toy, "test_buffer2", 2, large, true);
    toy_linear(toy, 0, "linear2", 5, 4);
    toy_buffer(toy, "test_buffer3", 2, large, true);
}

static void buffers_of_the_cpu_that_fit_no_gpu_are_warned_of(void **state)
{
    const struct placement_budget budgets[] = {toy_budget("0", 400), toy_budget("cpu", 1000000000)};
    struct placement_request request = request_of(budgets, 2);
    const char *map = "{batchnorm: cpu, linear1: 0, linear2: cpu}";
    struct toy_model toy;
    (void)state;
    model_with_buffers(&toy);
    map_check(&toy, &request, &(struct expected){.map = map, .warns = true});
    request.offload_buffers = true;
    model_with_buffers(&toy);
    map_check(&toy, &request, &(struct expected){.map = map});
}

static void nested_model(struct toy_model *toy)
{
    toy_begin(toy, "Module");
    int inner = builder_module(&toy->builder, 0, "module", "Inner");
    toy_linear(toy, inner, "linear1", 4, 10);
    toy_linear(toy, inner, "linear2", 4, 4);
    toy_linear(toy, inner, "linear3", 8, 4);
}

static void a_fallback_fills_a_gpu_that_would_stay_empty(void **state)
{
    const struct placement_budget budgets[] = {toy_budget("0", 256)};
    struct placement_request request = request_of(budgets, 1);
    struct toy_model toy;
    (void)state;
    request.fallback = true;
    nested_model(&toy);
    map_check(&toy, &request,
              &(struct expected){.map = "{module.linear1: disk, module.linear2: 0, module.linear3: disk}"});
    request.fallback = false;
    nested_model(&toy);
    map_check(&toy, &request, &(struct expected){.map = "{: disk}"});
}

static void a_fallback_takes_tied_layers_together(void **state)
{
    const struct placement_budget budgets[] = {toy_budget("0", 600)};
    struct placement_request request = request_of(budgets, 1);
    struct toy_model toy;
    (void)state;
    request.fallback = true;
    toy_begin(&toy, "Module");
    toy_linear(&toy, 0, "linear1", 10, 10);
    toy_linear(&toy, 0, "linear2", 10, 10);
    toy_tie(&toy, "linear2.weight", "linear1.weight");
    toy_tie(&toy, "linear2.bias", "linear1.bias");
    map_check(&toy, &request, &(struct expected){.map = "{: 0}"});
}

/* What is left of 678 bytes beside 180 of the batchnorm and 460 kept free is 2 too few for the 40 bytes of buffers. */
static void a_fallback_counts_buffers(void **state)
{
    static const int64_t five = 5, three = 3;
    const struct placement_budget budgets[] = {toy_budget("0", 678)};
    struct placement_request request = request_of(budgets, 1);
    struct toy_model toy;
    (void)state;
    request.fallback = true;
    toy_begin(&toy, "Module");
    toy_linear(&toy, 0, "linear1", 10, 10);
    toy_buffer(&toy, "buffer1", 1, &five, true);
    toy_batchnorm(&toy, 0, "batchnorm", 10);
    toy_buffer(&toy, "buffer2", 1, &three, true);
    toy_linear(&toy, 0, "linear2", 10, 10);
    toy_buffer(&toy, "buffer3", 1, &five, true);
    map_check(&toy, &request, &(struct expected){.map = "{batchnorm: 0, linear1: disk, linear2: disk}", .warns = true});
}

struct balance_vector {
    const char *devices[3];
    int64_t given[3], expected[3];
    enum placement_strategy strategy;
};

static const struct balance_vector balances[] = {
    {{"0", "1"}, {200, 200}, {200, 200}, PLACEMENT_BALANCED},
    {{"0", "1"}, {300, 300}, {215, 300}, PLACEMENT_BALANCED},
    {{"0", "1"}, {300, 500}, {215, 500}, PLACEMENT_BALANCED},
    {{"0", "cpu"}, {300, 1000}, {300, 1000}, PLACEMENT_BALANCED},
    {{"0", "1", "2"}, {0, 300, 300}, {0, 215, 300}, PLACEMENT_BALANCED},
    {{"0", "1"}, {300, 300}, {0, 300}, PLACEMENT_BALANCED_LOW_0},
    {{"0", "1"}, {300, 200}, {36, 200}, PLACEMENT_BALANCED_LOW_0},
};

static void budgets_are_balanced(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof balances / sizeof balances[0]; i++) {
        struct placement_budget budgets[3];
        struct toy_model toy;
        struct device_plan placement;
        int count = 0;
        while (count < 3 && balances[i].devices[count] != NULL) {
            budgets[count] = toy_budget(balances[i].devices[count], balances[i].given[count]);
            count++;
        }
        struct placement_request request = request_of(budgets, count);
        request.strategy = balances[i].strategy;
        plain_model(&toy);
        assert_int_equal(device_plan_balance(&toy.skeleton, &request, &placement, NULL), STATUS_OK);
        for (int j = 0; j < count; j++) {
            assert_int_equal(placement.budgets[j].bits, balances[i].expected[j] * BITS_PER_BYTE);
        }
        device_plan_release(&placement);
        toy_release(&toy);
    }
}

struct size_vector {
    const char *text;
    int64_t bytes; /* -1: refused */
    bool is_bits;
};

static const struct size_vector sizes[] = {
    {"0MB", 0, false},
    {"100MB", 100000000, false},
    {"2GiB", INT64_C(2) << 30, false},
    {"512KiB", INT64_C(512) << 10, false},
    {"1.5GB", 1500000000, false},
    {"100KB", 100000, false},
    {"0.3GiB", 322122547, false},
    {"10GB", INT64_C(10000000000), false},
    {"10gib", INT64_C(10) << 30, false},
    {"10Gb", INT64_C(1250000000), true},
    {"10gb", INT64_C(1250000000), true},
    {"5MBB", -1, false},
    {"5k0MB", -1, false},
    {"-1GB", -1, false},
    {"10", -1, false},
    {"10G", -1, false},
    {"10TB", -1, false},
    {"infGB", -1, false},
    {"", -1, false},
    {"GB", -1, false},
};

static void sizes_are_read_as_accelerate_reads_them(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        int64_t bytes = -1;
        bool is_bits = false;
        struct status error = {0};
        enum status_code code = accelerate_size_parse(sizes[i].text, &bytes, &is_bits, &error);
        assert_int_equal(code, sizes[i].bytes < 0 ? STATUS_INVALID : STATUS_OK);
        assert_int_equal(bytes, sizes[i].bytes);
        assert_int_equal(is_bits, sizes[i].is_bits);
    }
    struct status error = {0};
    int64_t bytes = 0;
    bool is_bits = false;
    accelerate_size_parse("5MBB", &bytes, &is_bits, &error);
    assert_string_equal(error.text, "`size` 5MBB is not in a valid format. Use an integer for bytes, or a string with "
                                    "an unit (like '5.0GB').");
    assert_int_equal(accelerate_size_parse("1e30GB", &bytes, &is_bits, &error), STATUS_OVERFLOW);
}

/* A module's buffers as dispatch counts them: 1,240 bytes in float32, 624 in float16, of which 8 are the int64
 * counter. */
static void buffers_of_a_model_are_summed(void **state)
{
    static const int64_t first[] = {10, 10}, second[] = {20, 10};
    const struct placement_budget budgets[] = {toy_budget("0", 4000)};
    struct toy_model toy;
    struct device_plan placement;
    (void)state;
    plain_model(&toy);
    toy_end(&toy);
    struct placement_request request = request_of(budgets, 1);
    builder_module(&toy.builder, 0, "more", "Buffers");
    toy_buffer(&toy, "first", 2, first, true);
    toy_buffer(&toy, "second", 2, second, true);
    assert_int_equal(device_plan_make(&toy.skeleton, &request, &placement, NULL), STATUS_OK);
    assert_int_equal(placement.shares[0].buffer_bits, 1240 * BITS_PER_BYTE);
    assert_int_equal(placement.shares[0].weight_bits, 196 * BITS_PER_BYTE);
    device_plan_release(&placement);
    request.width = storage_width_find("torch.float16");
    assert_int_equal(device_plan_make(&toy.skeleton, &request, &placement, NULL), STATUS_OK);
    assert_int_equal(placement.shares[0].buffer_bits, 624 * BITS_PER_BYTE);
    device_plan_release(&placement);
    toy_release(&toy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_gpu_keeps_room_for_the_largest_layer),
        cmocka_unit_test(second_gpu_keeps_no_room),
        cmocka_unit_test(tied_layers_stay_together),
        cmocka_unit_test(a_module_that_does_not_fit_is_split),
        cmocka_unit_test(a_class_that_is_never_split_goes_on),
        cmocka_unit_test(a_tied_weight_pulls_its_module),
        cmocka_unit_test(three_tied_weights_pull_theirs),
        cmocka_unit_test(two_groups_of_ties_pull_theirs),
        cmocka_unit_test(weight_and_bias_tied_to_one_module),
        cmocka_unit_test(what_fits_exactly_but_for_its_ties_is_split),
        cmocka_unit_test(buffers_of_the_cpu_that_fit_no_gpu_are_warned_of),
        cmocka_unit_test(a_fallback_fills_a_gpu_that_would_stay_empty),
        cmocka_unit_test(a_fallback_takes_tied_layers_together),
        cmocka_unit_test(a_fallback_counts_buffers),
        cmocka_unit_test(budgets_are_balanced),
        cmocka_unit_test(sizes_are_read_as_accelerate_reads_them),
        cmocka_unit_test(buffers_of_a_model_are_summed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
