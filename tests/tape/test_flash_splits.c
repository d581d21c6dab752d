/* How flash attention divides columns: the rule against PyTorch's own kernel (peers/pytorch/flash_splits.txt, which the
 * compiled library of torch 2.11 answered for eight GPUs that were not there), what a tape takes, and a loop whose
 * columns grow. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/tape/build.h"
#include "harness/tape/flash_splits.h"
#include "harness/tape/tape_cursor.h"
#include "tests/tape/tape_changes.h"

static const char answers_path[] = "peers/pytorch/flash_splits.txt";

enum { COUNTS_MAXIMUM = 16, NUMBERS_MAXIMUM = 8 + COUNTS_MAXIMUM, TURNS = 3000, CHANGES_MAXIMUM = 16 * TURNS };

static int numbers_read(const char *text, int64_t numbers[NUMBERS_MAXIMUM])
{
    int count = 0;
    for (char *end = NULL; count < NUMBERS_MAXIMUM; text = end) {
        int64_t number = strtoll(text, &end, 10);
        if (end == text) {
            break;
        }
        numbers[count++] = number;
    }
    return count;
}

/* One line: batch heads groups rows columns width part_width parts... Returns how many are divided. */
static int line_check(const char *line, const int64_t *multiprocessors, int count)
{
    int64_t numbers[NUMBERS_MAXIMUM];
    assert_int_equal(numbers_read(line, numbers), 7 + count);
    struct flash_call call = {numbers[0], numbers[1], numbers[2], numbers[3], numbers[4], numbers[5]};
    int divided = 0;
    for (int i = 0; i < count; i++) {
        struct flash_splits splits = flash_splits_of((int)multiprocessors[i], false, &call);
        if (splits.parts != numbers[7 + i]) {
            fail_msg("%" PRId64 " multiprocessors: %" PRId64 " parts of %s", multiprocessors[i], splits.parts, line);
        }
        assert_int_equal(splits.heads * splits.rows, call.heads * call.rows);
        if (splits.parts > 1) {
            assert_int_equal(splits.width, numbers[6]);
            divided++;
        }
    }
    return divided;
}

static void parts_are_those_of_pytorch(void **state)
{
    (void)state;
    FILE *file = fopen(answers_path, "r");
    assert_non_null(file);
    int64_t multiprocessors[NUMBERS_MAXIMUM];
    int count = 0, lines = 0, divided = 0;
    char *line = NULL;
    size_t capacity = 0;
    while (getline(&line, &capacity, file) > 0) {
        if (line[0] == '#') {
            count = numbers_read(strchr(line, ':') + 1, multiprocessors);
            continue;
        }
        divided += line_check(line, multiprocessors, count);
        lines++;
    }
    free(line);
    fclose(file);
    print_message("%d calls on %d GPUs, %d divided\n", lines, count, divided);
    assert_in_range(count, 4, COUNTS_MAXIMUM);
    assert_true(lines > 500);
    assert_in_range(divided, 1000, lines * count - 1000);
}

static void gpt2_is_divided_on_132_multiprocessors(void **state)
{
    (void)state;
    struct flash_call call = {.batch = 1, .heads = 12, .groups = 12, .rows = 1024, .columns = 1024, .width = 64};
    assert_int_equal(flash_splits_of(132, false, &call).parts, 4);
    assert_int_equal(flash_splits_of(108, false, &call).parts, 1);
    assert_int_equal(flash_splits_of(132, true, &call).parts, 1);
    assert_int_equal(flash_splits_of(0, false, &call).parts, 1);
}

/* As many parts up to columns_alike, of every call; and it is not as short as the call itself throughout. */
static void parts_stay_as_many_as_long_as_it_says(void **state)
{
    (void)state;
    static const int64_t widths[] = {64, 128, 256};
    int64_t ahead = 0;
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        struct flash_call call = {.batch = 1, .heads = 14, .groups = 2, .rows = 1, .columns = 1, .width = widths[i]};
        while (call.columns < 9000) {
            struct flash_splits splits = flash_splits_of(108, false, &call);
            assert_true(splits.columns_alike >= call.columns);
            ahead += splits.columns_alike - call.columns;
            for (; call.columns <= splits.columns_alike && call.columns < 9000; call.columns++) {
                assert_int_equal(flash_splits_of(108, false, &call).parts, splits.parts);
            }
        }
    }
    assert_true(ahead > 3 * 4000);
}

/* -- on a tape */

struct attended {
    int64_t sums_bytes, parts_bytes; /* of storages with those labels; 0: none */
};

static struct tape *tape_open(const char *gpu, struct torch_habits habits, bool repeats, struct cycle_bounds *bounds)
{
    const struct target *target = NULL;
    struct tape *tape = NULL;
    assert_int_equal(target_find(gpu, &target, NULL), STATUS_OK);
    assert_int_equal(tape_new(target, &tape, NULL), STATUS_OK);
    tape_shape(tape, (struct tape_form){.repeats = repeats}, bounds);
    tape_torch(tape, habits);
    return tape;
}

static struct value *heads_of(struct tape *tape, int64_t heads, int64_t rows, int64_t width)
{
    int64_t size[] = {1, heads, rows, width};
    return tape_leaf(tape, CATEGORY_KV_CACHE, DTYPE_BFLOAT16, 4, size, false, "heads");
}

/* GPT-2's attention over so many rows. */
static struct attended attend(const char *gpu, struct torch_habits habits, double dropout)
{
    struct tape *tape = tape_open(gpu, habits, false, NULL);
    tape_training(tape, true);
    struct value *q = heads_of(tape, 12, 1024, 64), *k = heads_of(tape, 12, 1024, 64);
    struct attention_settings settings = {.scale = 0.125, .dropout = dropout, .causal = true};
    assert_non_null(tape_attention(tape, q, k, k, &settings));
    assert_int_equal(tape_finish(tape, NULL), STATUS_OK);
    struct tape_view view = tape_view(tape);
    struct attended found = {0};
    for (int i = 0; i < view.storage_count; i++) {
        const struct storage *storage = &view.storages[i];
        found.sums_bytes += strcmp(storage->label, "attention parts, log-sum-exp") == 0 ? storage->bytes : 0;
        found.parts_bytes += strcmp(storage->label, "attention parts") == 0 ? storage->bytes : 0;
    }
    tape_release(tape);
    return found;
}

static void a_tape_takes_the_parts_where_flash_divides(void **state)
{
    (void)state;
    struct torch_habits latest = {0}, flash = {.cudnn_attention_last = true};
    struct torch_habits once = {.cudnn_attention_last = true, .flash_counts_once = true};
    struct torch_habits undivided = {.cudnn_attention_last = true, .flash_undivided = true};
    struct attended taken = attend("H100", flash, 0.0);
    assert_int_equal(taken.sums_bytes, 196608);
    assert_int_equal(taken.parts_bytes, 12582912);
    assert_true(attend("RTX 4090", latest, 0.0).parts_bytes > 0);
    assert_int_equal(attend("H100", latest, 0.0).parts_bytes, 0); /* cuDNN's */
    assert_int_equal(attend("H100", flash, 0.1).parts_bytes, 0);
    assert_int_equal(attend("H100", once, 0.0).parts_bytes, 0);
    assert_int_equal(attend("H100", undivided, 0.0).parts_bytes, 0);
    assert_int_equal(attend("A100", latest, 0.0).parts_bytes, 0);
}

/* -- in a loop: one row that attends to a column more in each turn */

static struct tape *loop_tape(bool repeats, int *attempts)
{
    struct cycle_bounds bounds = {0};
    struct tape *tape = NULL;
    struct attention_settings settings = {.scale = 0.1};
    do {
        bounds.broken = false;
        (*attempts)++;
        tape_release(tape);
        tape = tape_open("A100", (struct torch_habits){0}, repeats, &bounds);
        tape_gradients(tape, false);
        struct tape_cycle cycle = tape_cycle_open(tape, 1);
        for (int64_t turn = 0; turn < TURNS; turn++) {
            int frame = tape_frame_open(tape);
            struct value *q = heads_of(tape, 32, 1, 128), *k = heads_of(tape, 8, turn + 1, 128);
            tape_attention(tape, q, k, k, &settings);
            tape_frame_close(tape, frame, NULL);
            turn += tape_cycle_turn(&cycle, TURNS - turn - 1);
        }
    } while (bounds.broken);
    assert_int_equal(tape_finish(tape, NULL), STATUS_OK);
    return tape;
}

static void a_loop_is_told_once_between_two_numbers_of_parts(void **state)
{
    (void)state;
    static int64_t recorded[CHANGES_MAXIMUM], brief[CHANGES_MAXIMUM];
    int once = 0, attempts = 0;
    struct tape *whole = loop_tape(false, &once), *tape = loop_tape(true, &attempts);
    int count = tape_changes(whole, recorded, CHANGES_MAXIMUM);
    assert_int_equal(tape_changes(tape, brief, CHANGES_MAXIMUM), count);
    assert_memory_equal(recorded, brief, (size_t)count * sizeof recorded[0]);
    assert_int_equal(attempts, 1);
    assert_true(tape_view(tape).storage_count * 10 < tape_view(whole).storage_count);
    tape_release(whole);
    tape_release(tape);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_are_those_of_pytorch),
        cmocka_unit_test(gpt2_is_divided_on_132_multiprocessors),
        cmocka_unit_test(parts_stay_as_many_as_long_as_it_says),
        cmocka_unit_test(a_tape_takes_the_parts_where_flash_divides),
        cmocka_unit_test(a_loop_is_told_once_between_two_numbers_of_parts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
