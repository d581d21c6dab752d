/* Float8 products of tensor cores: the arithmetic of tensor_core_float8.c is an H100's, to the bit; with the bound that
 * the conformance test allows them (reference_float8.c) it passes, and products that are wrong in one way do not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "harness/kernels/convert.h"
#include "tests/conformance/conformance.h"
#include "tests/conformance/tensor_core_float8.h"

enum { TERMS = 160, SEEDS = 2 };

/* Elements that an NVIDIA H100 80GB HBM3 (driver 580.159.04, CUDA 13.0) left when the conformance test first ran on
 * one. */
static const struct {
    const char *a, *b; /* the factors' codes */
    float a_scale, b_scale, bias;
    enum dtype dtype;
    const char *left; /* as it was printed */
} examples[] = {
    {"fd6ec7ecd2f95f74785ee7f7775ae77a7b7d77ed7a79fbf4fc5ee1f9eefa6dfe7bfdee6dfbfafc78"
     "e976fbe1f97de472717b726a7172f069757d697bec73c27dfefaf7fcf27a7d6368f57b7c7cfcef70"
     "687d68f3f37c7d7afbeb7ce8d95bfd75687d7d71777df573fb7df5e47cf17eeefb73f7f1675d78f9"
     "e6f5ed7b7e7975d0f17d73fef770fe7bfc7a6e75fb6df861fc7a65e5dff66f7cfafdeeed7ef751f1",
     "e47ce25a5ef4fae7757168517df9f37a78f86c73f0767afb7c5afc7461f0f9f27c517cf1effc7e78"
     "e17c76797e6cedec7ae474f97df06cfc6e74fef4f0e2fde8fc787bf9fb717d78f961f1767b7d795b"
     "757aec7d72fb7972fdf5f9faf269fe407af3fcfdfaf8f97bf7777a7a796674f8eafa7a795a79ea79"
     "7efcfdf96ddff67beefa5f71f478fbfa69f3557dfdf4fc78e37568f471fb707b727bfcfc767b6266",
     0x1.a4cac20000000p-10f, 0x1.d1bdf20000000p-10f, 0x0.0p+0f, DTYPE_FLOAT32, "3.10650849"},
    {"fbfd69ebd872f8f97a7bee767ef278657af0f97dd97a796e7af8ecfa7777f26afbec7c7af07a697c"
     "7d637c79fdfd73637a79fe7dfafe747cdf7678f6e5cc72fcf4f93f746bf1ecfb7b6072faf1fbf16b"
     "ef79fcf96d70725be4617b7c50767b747c7b75f5f4f1ebf2796aef676ce875f87be1797ce57bfc73"
     "c9d37deefa5d7afae1586c7ae0eff1f4ef767767f569fcfc5cfa7afafcfd6e7af3f97afd686b70fa",
     "fcd270756a7b7bfb71437ae97571fd6673f26fee6c70f1647cf6fb6e75fb7d78fc7dfb6afc6e78fc"
     "6af6667a63e5797dd9687cfcebf2f4f8767ef8fd5dfe71f6ec6cfcfef06cfcf8fe7c7d6b7475f97a"
     "f478fd7cf5f2f3fc76f2eef776e97df0fb6edaf97155fb717c7d7bfd6f74746afc79cd74f7f7f5fb"
     "7b74f9fad064fa7e74fb6f7c7bfb7a5dfbfc67647afee36979f1e97af2f86af3fb6a716c6dee7dfd",
     0x1.432cee0000000p-10f, 0x1.bab0cc0000000p-10f, 0x0.0p+0f, DTYPE_FLOAT16, "-0.00922393799"},
    {"ef6afcfa6bfcec78f5fe79fd79747df87a71527d79796ffd62f9fcf6faf2fc755cf9dcf8f7eeef6d"
     "73f9fc7977ee7dfa77f1f0f8f476f87cfbfd7af97d78d96f77e6f6eaf5fd7475fcf671f7f2fbfdec"
     "6df67e76f2f7fd6af6f552687661f26af27ced7deefb7ef87df9f9f4f87276fde1f2775a7869fb79"
     "d7f6fd70fb7ce1e7fc79ecf97bea6ef3f4fdfeebe7fcefdafa7df0797a5bf4fef9786ef67b497c7d",
     "7df37277fcf97a7c696e7677f9e3f553f9e0f67df5647b7d7573706c7c7bf86be1f8f474faef63fc"
     "7c627867f15575586ff2fafbfb6b6af17b7dfdf478dcf9747be9f761f9faf2f9ec7afb65eb7bdefb"
     "6671fdf57bc4f9fafae372ee72fdf0747bfaf07de2f97df97b6f7af5797e7e64ea7a737df1de7ad8"
     "f2faf37bf57dfd71d5757578f669f4f7e27bf17c78f9f6f9fcf64d7cfbfcf369fd6ef073e7787b78",
     0x1.09d1180000000p-10f, 0x1.7d66ce0000000p-10f, -0x1.4c40000000000p-1f, DTYPE_FLOAT16, "0.040802002"},
    {"f9f9555e6aeb727376f07cf06d7afaf16b7e75eae9746a79f87af04f7ccb71fd79f9f67a7aec7b74"
     "7b7ef6f87df37cfcfdd27afc767d787c4b7cf07eead377fa6c7a79787d7df2fdbf7a677557797af0"
     "787968f6754879797d7c787a7adef078fc7afbfcfc71f168ef75db7c7b7dfafb7b72f542e27ae1f9"
     "f67a7af4f678f7f27df77dee75dcfcfbfd7b6efb7bfbe27b7c7d726efaf86276f5747a7df6717ef6",
     "76f3f67deb7bfb7d78e9767df1d7dc75fe7dfbf1f4fd79eb6b6dd97bf77cdcea7977f3f1faf4f47e"
     "fc7de7fdf1f5fd7e75e76279f273f4f7e86ffa67fa757e75ea7c78ebecf9fa6f7afdf56b3af1fafa"
     "fb727ef8537ded79ebfb7bf87262fafdf0fdfdf96af4ea74747dec7bf874fbfdf3f06b78f9f3f8ef"
     "76dc217e68757e716f78f863f3edfdfbf07e63fc7175f2f6f278f57e7cf07874feec7dfdf87ce57d",
     0x1.ceea2a0000000p-10f, 0x1.13a7540000000p-10f, 0x0.0p+0f, DTYPE_BFLOAT16, "0.0634765625"},
    {"7377f4fbe7f3e875e6e3f9e1647676edeceaf37465fc7ae3fcf1787b7cf4ed7bf468797167797872"
     "56fdfae17afa656b48f27670f9fcee7dd5ea77faf9657069f0647c6c65597d727272f0f5c4f37375"
     "f5fbf776fb7ded76f5f678c8eaf07e6e7c7061f8fa70d4fbfcfbe2fa7ce57c65ec7cf17af17cfd6d"
     "7d67fb79f16c73dde075fde8fe7e66fbf276ea74fafbfdf9fd6d72fbf46ce57d7c747c7afcf7fb7b",
     "edf9e17c78faf0fe48f66c7b76f1ec7df47c5d2ff8fafbfd7a78746e6ddf787961fef9f17e78faec"
     "7e7de85af558fe687adafc78f5fae3f75afd79cf7edcfdf24b6bfd7b79fd7b77fcef7b677e4a7bfd"
     "f871fb6af060f8f979d2fbfa7178f27cf279f874fdfa77f8fcf771eef87acff97756fcf97d70f27d"
     "74e9fef5edf3fe79e5edfafd74f4edf97bfaf67a7df77cfafa7deafbfc72fc72c3f16df76267f377",
     0x1.a57c980000000p-10f, 0x1.e3ee760000000p-10f, 0x1.0800000000000p-1f, DTYPE_BFLOAT16, "0.000162124634"},
    {"794f71786e716bf3f9e2fce8fbf77e796a7a76f67cddf3fcfc687bf77461df69757d7178f2ed7c5d"
     "fdf97874e8fe7b70f5fa7dea6875c97c7afa7ac761ec7bf8785ae8fc7b787d7c6d7566de60ea6275"
     "f3726be478f77679fd5e7d567c7bf7fef5737d7874fd6cedf9f975dd7c5b7be96a777dfaee75fad6"
     "f667f8f0f37dea7c72e17cf37c7dcffcf85958fa716c7b677a6d79e57d7cc07c6eb4e1f6eb7ddcfa",
     "74fb7779f37dfa78ec796fe8747771fbf67d75f9fd6c77ea6bf9ee6f7cfcf1fa7dfc77fe4e76f67d"
     "de797afaef6c6af07a73dbe97a786d6dfcfdf1697174f07af1e3fa7cf9e974dd7a5b747af1f86f79"
     "e9f1ef6d7a76fbebfb51db75f97d78fe6162e3f9f7f9f5d0eb6c7373747b78f8ecce7271fb7cf9be"
     "68ed7b79fcfefd7171f9faf569ee6cfbfe5afdfbf1fc7a78f1efddf16ef179fee8f67af1ece8f4fc",
     0x1.3007320000000p-10f, 0x1.821e920000000p-10f, 0x0.0p+0f, DTYPE_FLOAT16, "-0.0347595215"},
};

enum { EXAMPLE_COUNT = sizeof examples / sizeof examples[0] };

static void codes_read(const char *codes, float values[TERMS])
{
    for (int k = 0; k < TERMS; k++) {
        unsigned code = 0;
        assert_int_equal(sscanf(codes + (ptrdiff_t)2 * k, "%2x", &code), 1);
        values[k] = float_from_float8_e4m3((uint8_t)code);
    }
}

static bool example_is_left(int example, const struct float8_arithmetic *how)
{
    float a[TERMS], b[TERMS];
    uint64_t stored[1] = {0};
    char text[32];
    codes_read(examples[example].a, a);
    codes_read(examples[example].b, b);
    float sum = float8_sum(how, a, b, TERMS) * examples[example].a_scale * examples[example].b_scale;
    float_store(stored, examples[example].dtype, 0, sum + examples[example].bias);
    snprintf(text, sizeof text, "%.9g", (double)float_load(stored, examples[example].dtype, 0));
    return strcmp(text, examples[example].left) == 0;
}

static void what_an_h100_left_is_made(void **state)
{
    (void)state;
    for (int example = 0; example < EXAMPLE_COUNT; example++) {
        assert_true(example_is_left(example, &float8_hopper));
    }
}

static void no_other_arithmetic_makes_all_of_it(void **state)
{
    (void)state;
    static const int terms[] = {16, 32, 64}, bits[] = {11, 12, 13, 14, 15, 23}, runs[] = {0, 32, 64, 96, 128};
    int making = 0;
    for (int i = 0; i < 3 * 6 * 5; i++) {
        const struct float8_arithmetic how = {terms[i % 3], bits[i / 3 % 6], runs[i / 18]};
        int left = 0;
        for (int example = 0; example < EXAMPLE_COUNT; example++) {
            left += example_is_left(example, &how);
        }
        making += left == EXAMPLE_COUNT;
    }
    assert_int_equal(making, 1); /* Hopper's, which is one of these */
}

/* SCALED_MATMUL on a device with such tensor cores. float8_terms: what the test takes the device for. */
static bool product_conforms(const struct float8_arithmetic *how, enum float8_fault fault, int float8_terms,
                             uint64_t seed)
{
    static const struct tape_calls none;
    struct device *inner = NULL, *device = NULL;
    struct trial_site site;
    struct status error = {0};
    struct conformance conformance;
    if (device_open("host", &inner, &error) != STATUS_OK ||
        device_float8_wrap(inner, how, fault, &device, &error) != STATUS_OK ||
        trial_site_open(&site, device, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    site.float8_terms = float8_terms;
    const struct conformance_request request = {.site = &site,
                                                .opcode = OPCODE_SCALED_MATMUL,
                                                .plan = plan_scaled_matmul,
                                                .calls = &none,
                                                .seed = seed,
                                                .first_fault_only = true};
    operation_conform(&request, &conformance);
    bool whole = conformance_is_whole(&conformance);
    bool right = fault == FLOAT8_RIGHT && (how == &float8_hopper || how == &float8_ada) && float8_terms == how->terms;
    if (right && !whole) {
        print_message("%s", text_string(&conformance.report));
    }
    conformance_release(&conformance);
    trial_site_close(&site);
    device_close(device);
    return whole;
}

static void right_tensor_cores_conform(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        assert_true(product_conforms(&float8_hopper, FLOAT8_RIGHT, float8_hopper.terms, seed));
        assert_true(product_conforms(&float8_ada, FLOAT8_RIGHT, float8_ada.terms, seed));
    }
}

static void they_do_not_add_like_float32(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        assert_false(product_conforms(&float8_hopper, FLOAT8_RIGHT, 0, seed));
    }
}

static void wrong_products_are_found(void **state)
{
    (void)state;
    for (int fault = FLOAT8_RIGHT + 1; fault < FLOAT8_FAULT_COUNT; fault++) {
        for (uint64_t seed = 1; seed <= SEEDS; seed++) {
            if (product_conforms(&float8_hopper, (enum float8_fault)fault, float8_hopper.terms, seed)) {
                fail_msg("products of float8 that are wrong (%s) passed, seed %d",
                         float8_fault_name((enum float8_fault)fault), (int)seed);
            }
        }
    }
}

/* Fast accumulation, which neither we ask for nor PyTorch's _scaled_mm unless it is told to; and tensor cores of fewer
 * bits. */
static void coarser_sums_are_found(void **state)
{
    (void)state;
    struct float8_arithmetic fast = float8_hopper, coarse = float8_hopper;
    fast.run_terms = 0;
    coarse.fraction_bits = 10;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        assert_false(product_conforms(&fast, FLOAT8_RIGHT, float8_hopper.terms, seed));
        assert_false(product_conforms(&coarse, FLOAT8_RIGHT, float8_hopper.terms, seed));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_an_h100_left_is_made),  cmocka_unit_test(no_other_arithmetic_makes_all_of_it),
        cmocka_unit_test(right_tensor_cores_conform), cmocka_unit_test(they_do_not_add_like_float32),
        cmocka_unit_test(wrong_products_are_found),   cmocka_unit_test(coarser_sums_are_found),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
