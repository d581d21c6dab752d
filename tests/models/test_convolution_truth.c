/* The rule of convolution_workspace.h against what cuDNN took on an H100: every convolution of the ResNets, forward and
 * backward, from the probe that is committed. How many rows the rule must explain is said by kind; what it leaves out
 * is in docs/pytorch-findings.md. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/tape/convolution_workspace.h"
#include "tests/models/shadow_lines.h"

static const char probe_path[] = "results/reference/nvidia-h100-80gb-hbm3/pytorch-2.11.0/probe.jsonl";

/* The allocator gives whole blocks of 512 bytes: what differs by less is mostly the same block. */
enum { BLOCK_BYTES = 512, PASS_COUNT = 3 };

static struct {
    int rows, blocks; /* measured, and as the rule says but for part of a block */
} found[2][PASS_COUNT];
static const struct target *target;

static int64_t number(const struct json *line, const char *key)
{
    int64_t value = json_integer_or(json_get(line, key), -1);
    assert_true(value >= 0);
    return value;
}

/* Sum of what was not held at the end among the rows of an array from `from` to before the next that was; *from moves
 * on. */
static int64_t scratch_bytes(const struct json *rows, size_t *from)
{
    int64_t bytes = 0;
    for (; *from < json_count(rows) && !json_boolean_or(json_at(json_at(rows, *from), 1), true); ++*from) {
        bytes += json_integer_or(json_at(json_at(rows, *from), 0), 0);
    }
    return bytes;
}

static void row_count(enum opcode opcode, const struct convolution_shape *shape, int64_t measured)
{
    int64_t bytes = convolution_workspace_bytes(target, opcode, shape);
    int halves = shape->dtype != DTYPE_FLOAT32;
    found[halves][opcode - OPCODE_CONVOLUTION].rows++;
    found[halves][opcode - OPCODE_CONVOLUTION].blocks += llabs(bytes - measured) <= BLOCK_BYTES;
}

/* Of one image cuDNN goes other ways (split summands, Winograd), which the rule does not follow. */
static bool line_check(const struct json *line)
{
    if (strcmp(shadow_text(line, "type"), "convolution") != 0 || number(line, "batch") == 1) {
        return false;
    }
    int64_t rows = number(line, "rows"), kernel = number(line, "kernel"), stride = number(line, "stride");
    int64_t padding = number(line, "padding"), result_rows = (rows + 2 * padding - kernel) / stride + 1;
    struct convolution_shape shape = {.images = number(line, "batch"),
                                      .channels = number(line, "channels"),
                                      .filters = number(line, "features"),
                                      .kernel = kernel,
                                      .stride = stride,
                                      .padding = padding,
                                      .image_rows = rows,
                                      .image_columns = rows,
                                      .rows = result_rows,
                                      .columns = result_rows,
                                      .tf32_allowed = true};
    shape.dtype = strcmp(shadow_text(line, "dtype"), "float32") == 0 ? DTYPE_FLOAT32 : DTYPE_BFLOAT16;
    const struct json *forward = json_get(line, "forward"), *backward = json_get(line, "backward");
    size_t at = 1; /* behind the result */
    row_count(OPCODE_CONVOLUTION, &shape, scratch_bytes(forward, &at));
    at = 1;
    if (shape.channels != 3) { /* images want no gradient */
        row_count(OPCODE_CONVOLUTION_BACKWARD_INPUT, &shape, scratch_bytes(backward, &at));
        at++;
    }
    row_count(OPCODE_CONVOLUTION_BACKWARD_WEIGHT, &shape, scratch_bytes(backward, &at));
    return true;
}

static void the_rule_explains_what_an_h100_took(void **state)
{
    (void)state;
    static const int least_percent[2][PASS_COUNT] = {{80, 90, 49}, {96, 98, 75}};
    assert_int_equal(target_find("sm_90", &target, NULL), STATUS_OK);
    assert_int_equal(shadow_lines_each(probe_path, line_check), 29 * 3 * 2);
    for (int halves = 0; halves < 2; halves++) {
        for (int pass = 0; pass < PASS_COUNT; pass++) {
            int rows = found[halves][pass].rows, blocks = found[halves][pass].blocks;
            print_message("%s %s: %d of %d to the block\n", halves ? "bfloat16" : "TF32",
                          opcode_name((enum opcode)(OPCODE_CONVOLUTION + pass)), blocks, rows);
            assert_true(blocks * 100 >= rows * least_percent[halves][pass]);
        }
    }
}

static int64_t bytes_of(const char *name, enum opcode opcode, struct convolution_shape shape)
{
    assert_int_equal(target_find(name, &target, NULL), STATUS_OK);
    return convolution_workspace_bytes(target, opcode, &shape);
}

/* The patches of ViT-Base: 1 and 32 images in bfloat16, as its histories have them, and none in float32 without
 * TF32. */
static void patches_are_laid_out_anew(void **state)
{
    (void)state;
    struct convolution_shape patches = {.images = 1,
                                        .channels = 3,
                                        .filters = 768,
                                        .kernel = 16,
                                        .stride = 16,
                                        .image_rows = 224,
                                        .image_columns = 224,
                                        .rows = 14,
                                        .columns = 14,
                                        .dtype = DTYPE_BFLOAT16};
    assert_int_equal(bytes_of("sm_90", OPCODE_CONVOLUTION, patches), 4249616);
    patches.images = 32;
    assert_int_equal(bytes_of("sm_90", OPCODE_CONVOLUTION, patches), 38469648);
    patches.dtype = DTYPE_FLOAT32;
    assert_int_equal(bytes_of("sm_90", OPCODE_CONVOLUTION, patches), 0);
    assert_int_equal(bytes_of("sm_90", OPCODE_CONVOLUTION_BACKWARD_WEIGHT, patches), 0);
    assert_int_equal(bytes_of("host", OPCODE_CONVOLUTION, patches), 0);
    assert_true(bytes_of("sm_80", OPCODE_CONVOLUTION, patches) > 0); /* our own formula: not measured */
}

static void sizes_beyond_63_bits_end_at_the_most(void **state)
{
    (void)state;
    struct convolution_shape vast = {.images = INT64_C(1) << 40,
                                     .channels = 1 << 20,
                                     .filters = 1 << 20,
                                     .kernel = 3,
                                     .stride = 1,
                                     .padding = 1,
                                     .image_rows = 64,
                                     .image_columns = 64,
                                     .rows = 64,
                                     .columns = 64,
                                     .dtype = DTYPE_BFLOAT16};
    assert_true(bytes_of("sm_90", OPCODE_CONVOLUTION, vast) == INT64_MAX);
    vast.kernel = 1;
    vast.padding = 0;
    assert_true(bytes_of("sm_90", OPCODE_CONVOLUTION_BACKWARD_WEIGHT, vast) == INT64_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_rule_explains_what_an_h100_took),
        cmocka_unit_test(patches_are_laid_out_anew),
        cmocka_unit_test(sizes_beyond_63_bits_end_at_the_most),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
