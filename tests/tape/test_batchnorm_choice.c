/* The choice of a batch normalisation against PyTorch's own: peers/pytorch/batchnorm_choice.txt, which the compiled
 * dispatcher of torch 2.11 answered. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/tape/batchnorm_choice.h"

static const char answers_path[] = "peers/pytorch/batchnorm_choice.txt";

/* One line; whether it is of a GPU, the operator and the number of statistics are left in the other arguments. */
static struct batchnorm_case case_read(const char *line, bool *on_gpu, char operator[32], int *statistics)
{
    char device[8] = "", dtype[16] = "", weights[16] = "", shape[64] = "";
    int training = 0;
    struct batchnorm_case batchnorm = {.element_count = 1};
    int count = sscanf(line, "%7s %15s %15s %d %63[0-9x]: %31s %d", device, dtype, weights, &training, shape, operator,
                       statistics);
    if (count != 7 || !dtype_from_name(dtype, &batchnorm.dtype) || !dtype_from_name(weights, &batchnorm.weight_dtype)) {
        fail_msg("%s: '%s' is not a line of it", answers_path, line);
    }
    for (char *at = shape; *at != '\0'; at += *at == 'x') {
        int64_t size = strtoll(at, &at, 10);
        batchnorm.batch = batchnorm.rank++ == 0 ? size : batchnorm.batch;
        batchnorm.element_count *= size;
    }
    batchnorm.training = training == 1;
    *on_gpu = strcmp(device, "cuda") == 0;
    return batchnorm;
}

static void choices_are_those_of_the_dispatcher(void **state)
{
    (void)state;
    char line[256];
    int line_count = 0, cudnn_count = 0, silent_count = 0;
    FILE *answers = fopen(answers_path, "r");
    assert_non_null(answers);
    while (fgets(line, sizeof line, answers) != NULL) {
        bool on_gpu = false;
        char operator[32] = "";
        int statistics = -1;
        if (line[0] == '#') {
            continue;
        }
        struct batchnorm_case batchnorm = case_read(line, &on_gpu, operator, & statistics);
        bool cudnn = on_gpu && batchnorm_takes_cudnn(&batchnorm);
        int made = batchnorm_makes_statistics(on_gpu ? 90 : 0, &batchnorm) ? 2 : 0;
        if (strcmp(operator, cudnn ? "cudnn_batch_norm" : "native_batch_norm") != 0 || made != statistics) {
            fail_msg("ours %s %d: %s", cudnn ? "cudnn" : "native", made, line);
        }
        line_count++;
        cudnn_count += cudnn;
        silent_count += made == 0;
    }
    fclose(answers);
    assert_true(line_count >= 100 && cudnn_count >= 20 && silent_count >= 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(choices_are_those_of_the_dispatcher),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
