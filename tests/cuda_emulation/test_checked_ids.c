/* Ids that are none, below the first or beyond the last: a kernel, which cannot refuse them as the host does, reads and
 * writes nothing because of them but elements of its tensors. And columns that have no number in 32 bits: they are
 * refused before anything is launched. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "tests/cuda_emulation/checked_plugin.h"
#include "tests/kernels/trial_plan.h"
#include "tests/kernels/trial_site.h"

enum { VARIANTS_MAXIMUM = 200, ELEMENTS_MAXIMUM = 20000, WRONG_IDS = 2 };

/* Those that are so far off that nothing of a small tensor lies there. */
static const double wrong_ids[WRONG_IDS] = {-1048576.0, 1048576.0};

struct ids_of {
    enum opcode opcode;
    int tensor; /* which holds ids */
};

static const struct ids_of operations[] = {{OPCODE_GATHER, 1},
                                           {OPCODE_SCATTER, 1},
                                           {OPCODE_PLACE_IDS, 0},
                                           {OPCODE_EMBEDDING, 1},
                                           {OPCODE_EMBEDDING_BACKWARD, 1},
                                           {OPCODE_DEQUANTIZE, 2},
                                           {OPCODE_NLL_LOSS, 1},
                                           {OPCODE_NLL_LOSS_BACKWARD, 1},
                                           {OPCODE_CROSS_ENTROPY, 1}};

/* Every third id, the first among them, is wrong. False where there is no such variant. */
static bool variant_try(const struct trial_site *site, const struct ids_of *ids, int variant, double wrong)
{
    struct trial trial;
    struct status error = {0};
    trial_open(&trial, ids->opcode, MIX_FLOAT32, (uint64_t)variant + 1);
    bool has = trial_plan_for(ids->opcode)(&trial, variant);
    bool has_ids = has && ids->tensor < trial.call.input_count;
    int64_t count = has_ids ? tensor_element_count(&trial.call.tensors[ids->tensor]) : 0;
    assert_true(!has_ids || trial.call.tensors[ids->tensor].dtype == DTYPE_INT64);
    for (int64_t k = 0; k < count && count <= ELEMENTS_MAXIMUM; k += 3) {
        trial_set(&trial, ids->tensor, k, wrong);
    }
    if (has && count <= ELEMENTS_MAXIMUM && trial_site_run(site, &trial, &error) != STATUS_OK) {
        fail_msg("%s, variant %d, ids of %.0f: %s", opcode_name(ids->opcode), variant, wrong, error.text);
    }
    trial_close(&trial);
    return has;
}

static void wrong_ids_lead_nowhere(void **state)
{
    (void)state;
    struct device *device = NULL;
    struct trial_site site;
    struct status error = {0};
    checked_device_open("cuda:1", &device);
    if (trial_site_open(&site, device, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        for (int w = 0; w < WRONG_IDS; w++) {
            int variant = 0;
            while (variant < VARIANTS_MAXIMUM && variant_try(&site, &operations[i], variant, wrong_ids[w])) {
                variant++;
            }
            assert_true(variant > 0);
        }
    }
    trial_site_close(&site);
    device_close(device);
}

/* A row of 16 GiB, of which the device has the first 512 bytes: whoever read it would leave its memory. */
static void a_row_of_more_columns_than_have_numbers_is_refused(void **state)
{
    (void)state;
    enum { BYTES = 1024 };
    struct device *device = NULL;
    unsigned char *segment = NULL;
    struct status error = {0};
    checked_open("cuda:1", BYTES, &device, &segment);
    struct operation_call call = {
        .opcode = OPCODE_ARGMAX,
        .tensor_count = 2,
        .input_count = 1,
        .tensors = {{.data = segment,
                     .dtype = DTYPE_FLOAT32,
                     .rank = 2,
                     .size = {1, INT64_C(1) << 32},
                     .stride = {INT64_C(1) << 32, 1}},
                    {.data = segment + 512, .dtype = DTYPE_INT64, .rank = 1, .size = {1}, .stride = {1}}},
    };
    assert_int_equal(device->table->run(device, &call, &error), STATUS_DEVICE);
    assert_non_null(strstr(error.text, "a row has more than 4,294,967,295 elements"));
    checked_close(device, segment, BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_ids_lead_nowhere),
        cmocka_unit_test(a_row_of_more_columns_than_have_numbers_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
