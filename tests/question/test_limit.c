/* Limits: the size found runs on a device of that many bytes and the next does not, on the meta device and on the host;
 * a scan of all sizes finds the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "harness/question/limit_range.h"
#include "models/workload/generate.h"
#include "tests/question/trial_scene.h"

struct limit_case {
    const char *model, *target;
    enum mode mode;
    enum precision precision;
    enum case_field field;
    int64_t batch, seq, new_tokens;
};

static const struct limit_case cases[] = {
    {"tiny-gpt2", "sm_90", MODE_TRAIN, PRECISION_FLOAT32, FIELD_BATCH, 1, 32, 0},
    {"tiny-gpt2", "host", MODE_INFER, PRECISION_BFLOAT16, FIELD_SEQ, 8, 1, 0},
    {"tiny-gpt2", "host", MODE_GENERATE, PRECISION_FLOAT32, FIELD_NEW_TOKENS, 64, 8, 1},
    {"tiny-bert", "sm_80", MODE_TRAIN, PRECISION_AMP_BFLOAT16, FIELD_BATCH, 1, 16, 0},
    {"tiny-bert", "host", MODE_INFER, PRECISION_FLOAT32, FIELD_BATCH, 1, 32, 0},
    {"tiny-qwen2", "sm_90", MODE_TRAIN, PRECISION_BFLOAT16, FIELD_SEQ, 4, 1, 0},
    {"tiny-llama", "host", MODE_GENERATE, PRECISION_BFLOAT16, FIELD_BATCH, 1, 16, 4},
    {"tiny-vit", "sm_90", MODE_TRAIN, PRECISION_FLOAT32, FIELD_BATCH, 1, 0, 0},
    {"tiny-resnet", "sm_90", MODE_INFER, PRECISION_FLOAT16, FIELD_BATCH, 1, 0, 0},
    {"tiny-resnet", "host", MODE_TRAIN, PRECISION_FLOAT32, FIELD_BATCH, 1, 0, 0},
    {"tiny-gpt2", "host", MODE_TRAIN, PRECISION_AMP_FLOAT16, FIELD_SEQ, 16, 1, 0},
    {"bert-base-cased", "sm_90", MODE_TRAIN, PRECISION_FLOAT32, FIELD_BATCH, 1, 128, 0},
    {"meta-llama/Llama-3.2-1B", "sm_90", MODE_INFER, PRECISION_INT4, FIELD_SEQ, 2, 1, 0},
};

enum { CASE_COUNT = sizeof cases / sizeof cases[0], RANGE_COUNT = 10 /* the tiny ones but one */ };

static void scene_of(const struct limit_case *row, struct trial_scene *scene)
{
    struct workload workload = workload_default(row->mode);
    workload.precision = row->precision;
    workload.batch = row->batch;
    workload.seq = row->seq;
    workload.new_tokens = row->new_tokens > 0 ? row->new_tokens : workload.new_tokens;
    trial_scene_open(scene, row->model, &workload, row->target);
}

static uint64_t random_next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return *state >> 33;
}

static void expect_exact(const struct trial_scene *scene, enum case_field field, int64_t memory_bytes,
                         const struct limit *limit)
{
    if (limit->size > 0) {
        assert_true(trial_scene_runs(scene, field, limit->size, "meta", memory_bytes));
        assert_true(limit->trial.bounded.reserved_bytes_peak <= memory_bytes);
        assert_int_equal(limit->next, limit->size + 1);
    }
    if (!limit->next_exists) {
        assert_non_null(strstr(limit->reason, "position"));
        return;
    }
    for (int i = 0; i < limit->neighbour_count; i++) {
        assert_false(trial_scene_runs(scene, field, limit->next + i, "meta", memory_bytes));
    }
    assert_true(limit->excluded_from > 0 || limit->neighbour_count == LIMIT_NEIGHBOURS || limit->size == 0);
    assert_true(limit->next_trial.unbounded.reserved_bytes_peak > memory_bytes);
}

/* Memory from what the smallest case needs to some four times that, the size of a segment's step included. */
static void the_size_found_runs_and_the_next_does_not(void **state)
{
    (void)state;
    uint64_t random = 20;
    for (int i = 0; i < CASE_COUNT; i++) {
        struct trial_scene scene;
        scene_of(&cases[i], &scene);
        int64_t least_bytes = trial_scene_reserved(&scene);
        for (int k = 0; k < 4; k++) {
            struct limit limit;
            int64_t memory_bytes = least_bytes + (int64_t)(random_next(&random) % (uint64_t)(3 * least_bytes));
            memory_bytes -=
                k == 0 ? memory_bytes - least_bytes + 1 : 0; /* less than the smallest reserves without a bound */
            assert_int_equal(limit_find(&scene.input, cases[i].field, memory_bytes, NULL, &limit, NULL), STATUS_OK);
            expect_exact(&scene, cases[i].field, memory_bytes, &limit);
        }
        trial_scene_close(&scene);
    }
}

/* The largest size that fits, each being replayed until many in a row do not. */
static int64_t size_scanned(const struct trial_scene *scene, enum case_field field, int64_t memory_bytes,
                            int64_t maximum)
{
    int64_t found = 0;
    for (int64_t size = 1, refused = 0; size <= maximum && refused < LIMIT_NEIGHBOURS; size++) {
        bool runs = trial_scene_runs(scene, field, size, "meta", memory_bytes);
        refused = runs ? 0 : refused + 1;
        found = runs ? size : found;
    }
    return found;
}

static void a_scan_of_all_sizes_finds_no_less(void **state)
{
    (void)state;
    for (int i = 0; i < 5; i++) {
        struct trial_scene scene;
        scene_of(&cases[i], &scene);
        int64_t least_bytes = trial_scene_reserved(&scene);
        for (int64_t k = 1; k <= 4; k++) {
            struct limit limit;
            int64_t memory_bytes = least_bytes + k * 7 * 1048576;
            int64_t maximum = limit_maximum(&scene.config, &scene.workload, cases[i].field);
            assert_int_equal(limit_find(&scene.input, cases[i].field, memory_bytes, NULL, &limit, NULL), STATUS_OK);
            assert_int_equal(limit.size, size_scanned(&scene, cases[i].field, memory_bytes, maximum));
        }
        trial_scene_close(&scene);
    }
}

/* resnet18 trains with a batch of 15 in 662 MiB, and not with one of 14, whose blocks leave other rests of segments:
 * the sizes above the first that is refused are looked at. */
static void a_larger_size_may_fit_where_a_smaller_does_not(void **state)
{
    (void)state;
    struct trial_scene scene;
    struct limit limit;
    struct workload workload = workload_default(MODE_TRAIN);
    workload.seq = 0;
    trial_scene_open(&scene, "timm/resnet18.a1_in1k", &workload, "sm_90");
    int64_t memory_bytes = INT64_C(662) * 1048576;
    assert_int_equal(limit_find(&scene.input, FIELD_BATCH, memory_bytes, NULL, &limit, NULL), STATUS_OK);
    assert_int_equal(limit.size, 15);
    assert_int_equal(limit.refused_below, 14);
    assert_false(trial_scene_runs(&scene, FIELD_BATCH, 14, "meta", memory_bytes));
    assert_true(trial_scene_runs(&scene, FIELD_BATCH, 15, "meta", memory_bytes));
    assert_int_equal(limit.size, size_scanned(&scene, FIELD_BATCH, memory_bytes, 100));
    assert_true(limit.excluded_from > 15 && limit.excluded_from == limit.next + limit.neighbour_count - 1);
    trial_scene_close(&scene);
}

static void the_host_agrees(void **state)
{
    (void)state;
    static const int rows[] = {4, 9, 2};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const struct limit_case *row = &cases[rows[i]];
        struct trial_scene scene;
        struct limit limit;
        scene_of(row, &scene);
        int64_t memory_bytes = trial_scene_reserved(&scene) + 6 * 1048576;
        assert_int_equal(limit_find(&scene.input, row->field, memory_bytes, NULL, &limit, NULL), STATUS_OK);
        assert_true(limit.size > 0);
        assert_true(trial_scene_runs(&scene, row->field, limit.size, "host", memory_bytes));
        if (limit.next_exists) {
            assert_false(trial_scene_runs(&scene, row->field, limit.next, "host", memory_bytes));
        }
        trial_scene_close(&scene);
    }
}

/* tiny-gpt2 has 64 positions: a prompt of 8 leaves 57 new tokens, the last of which is not read. */
static void a_model_bounds_what_memory_does_not(void **state)
{
    (void)state;
    struct trial_scene scene;
    struct limit limit;
    scene_of(&cases[2], &scene);
    assert_int_equal(limit_find(&scene.input, FIELD_NEW_TOKENS, INT64_C(1) << 40, NULL, &limit, NULL), STATUS_OK);
    assert_int_equal(limit.size, 57);
    assert_false(limit.next_exists);
    assert_string_equal(limit.reason, "the model has 64 positions");
    trial_scene_close(&scene);
}

static struct limit tokens_limit(const char *model, int64_t memory_bytes, struct trial_scene *scene)
{
    struct limit limit;
    struct workload workload = workload_default(MODE_GENERATE);
    workload.precision = PRECISION_BFLOAT16;
    workload.seq = 8;
    trial_scene_open(scene, model, &workload, "sm_90");
    assert_int_equal(limit_find(&scene->input, FIELD_NEW_TOKENS, memory_bytes, NULL, &limit, NULL), STATUS_OK);
    return limit;
}

/* Thousands of tokens: the positions of the model are the bound, or the memory; never the length of a tape. */
static void a_tape_bounds_no_tokens(void **state)
{
    (void)state;
    struct trial_scene scene;
    struct limit limit = tokens_limit("HuggingFaceTB/SmolLM2-135M", INT64_C(1) << 40, &scene);
    assert_int_equal(limit.size, scene.config.positions - 7);
    assert_true(limit.size > 4369); /* 131,072 passes through 30 layers */
    assert_false(limit.next_exists || limit.is_own_bound);
    trial_scene_close(&scene);
    limit = tokens_limit("HuggingFaceTB/SmolLM2-135M", INT64_C(500) << 20, &scene);
    assert_in_range(limit.size, 4369, scene.config.positions - 8);
    assert_int_equal(limit.excluded_from, limit.size + 1);
    for (int64_t more = 0; more < 2; more++) { /* too long to be recorded: trials, as all other sizes have */
        struct workload workload = limit_workload(scene.input.workload, FIELD_NEW_TOKENS, limit.size + more);
        struct estimate_input input = scene.input;
        struct trial trial;
        input.workload = &workload;
        assert_int_equal(trial_run(&input, INT64_C(500) << 20, &trial, NULL), STATUS_OK);
        assert_int_equal(trial.fits, more == 0);
        const struct trial *noted = more == 0 ? &limit.trial : &limit.next_trial;
        assert_int_equal(trial.wanted_bytes, noted->wanted_bytes);
        assert_int_equal(trial.held_bytes, noted->held_bytes);
        assert_string_equal(trial.label, noted->label);
        assert_int_equal(trial.bounded.reserved_bytes_peak, noted->bounded.reserved_bytes_peak);
    }
    trial_scene_close(&scene);
}

static enum fit_verdict verdict_at(const struct trial_scene *scene, const struct fit_device *device,
                                   enum case_field field, int64_t size)
{
    struct workload workload = limit_workload(scene->input.workload, field, size);
    struct estimate_input input = scene->input;
    struct fit fit;
    struct status error = {0};
    input.workload = &workload;
    if (fit_find(&input, device, &fit, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return fit.verdict;
}

static void look_count(void *context, enum case_field field, int64_t size)
{
    (void)field;
    (void)size;
    ++*(int *)context;
}

/* The work is counted, not timed: a bound says at which token it is refused, so each of the three searches takes its
 * whole replays, and where tensors end it a line finds the size. Bisecting took a hundred. */
static void a_range_of_tokens_takes_few_replays(void **state)
{
    (void)state;
    struct trial_scene scene;
    struct limit_range range;
    int looks = 0;
    const struct look_observer observer = {look_count, &looks};
    struct limit limit = tokens_limit("HuggingFaceTB/SmolLM2-135M", INT64_C(400) << 20, &scene);
    const struct fit_device device = {.memory_bytes = INT64_C(420) << 20,
                                      .overhead = {.low_bytes = 4 << 20, .high_bytes = 20 << 20},
                                      .doubt = {100, 60}};
    int64_t bytes = overhead_rest(device.memory_bytes, device.overhead.high_bytes);
    assert_int_equal(limit_find(&scene.input, FIELD_NEW_TOKENS, bytes, &observer, &limit, NULL), STATUS_OK);
    assert_int_equal(limit_range_find(&scene.input, &device, &limit, bytes, &observer, &range, NULL), STATUS_OK);
    assert_true(range.sure > 1000 && range.sure < limit.size && limit.size < range.possible);
    assert_in_range(looks, 5, 10);
    assert_int_equal(verdict_at(&scene, &device, FIELD_NEW_TOKENS, range.sure), FIT_YES);
    assert_int_equal(verdict_at(&scene, &device, FIELD_NEW_TOKENS, range.sure + 1), FIT_UNDECIDED);
    assert_int_equal(verdict_at(&scene, &device, FIELD_NEW_TOKENS, range.possible), FIT_UNDECIDED);
    assert_int_equal(verdict_at(&scene, &device, FIELD_NEW_TOKENS, range.possible + 1), FIT_NO);
    trial_scene_close(&scene);
}

/* A static cache is there from the first pass on: few sizes are replayed to their end, and what comes out is what whole
 * replays say. The beginning of a case that is refused is refused as the whole is. */
static void a_static_cache_is_judged_by_its_beginning(void **state)
{
    (void)state;
    static const int64_t memories[] = {INT64_C(400) << 20, INT64_C(461) << 20};
    struct trial_scene scene;
    struct workload workload = workload_default(MODE_GENERATE);
    workload.precision = PRECISION_BFLOAT16;
    workload.cache = CACHE_STATIC;
    workload.seq = 8;
    trial_scene_open(&scene, "HuggingFaceTB/SmolLM2-135M", &workload, "sm_90");
    for (size_t i = 0; i < sizeof memories / sizeof memories[0]; i++) {
        struct limit limit;
        assert_int_equal(limit_find(&scene.input, FIELD_NEW_TOKENS, memories[i], NULL, &limit, NULL), STATUS_OK);
        assert_in_range(limit.size, 4096, scene.config.positions - 8);
        assert_int_equal(limit.next, limit.size + 1);
        assert_in_range(limit.whole_count, 1, 4);
        for (int64_t more = 0; more < 2; more++) {
            struct workload changed = limit_workload(&workload, FIELD_NEW_TOKENS, limit.size + more);
            struct estimate_input input = scene.input;
            struct trial whole, beginning;
            input.workload = &changed;
            assert_int_equal(trial_run(&input, memories[i], &whole, NULL), STATUS_OK);
            assert_int_equal(trial_run_beginning(&input, memories[i], &beginning, NULL), STATUS_OK);
            assert_int_equal(whole.fits, more == 0);
            assert_int_equal(beginning.fits, more == 0);
            assert_string_equal(beginning.label, whole.label);
            assert_int_equal(beginning.wanted_bytes, whole.wanted_bytes);
            assert_int_equal(beginning.held_bytes, whole.held_bytes);
            assert_int_equal(limit.trial.bounded.alloc_count > 100 * LIMIT_NEIGHBOURS, 1); /* the whole of it */
        }
    }
    trial_scene_close(&scene);
}

/* Biases by distance have no last position: where memory does not end it, assay does, and says that it is not the
 * model. */
static void a_bound_of_its_own_is_called_that(void **state)
{
    (void)state;
    struct trial_scene scene;
    struct workload workload = workload_default(MODE_GENERATE);
    workload.precision = PRECISION_BFLOAT16;
    workload.seq = 8;
    trial_scene_open(&scene, "tiny-bloom", &workload, "sm_90");
    scene.config.positions = 0;
    scene.config.layers = 1 << 19; /* so that few tokens are many passes */
    workload.new_tokens = generate_tokens_maximum(&scene.config, true) + 1;
    struct status error = {0};
    assert_int_equal(generate_check(&scene.config, &workload, true, &error), STATUS_INVALID);
    assert_non_null(strstr(error.text, "more than assay replays, whatever the model allows; write at most 32"));
    trial_scene_close(&scene);
}

static void nothing_fits_and_says_so(void **state)
{
    (void)state;
    struct trial_scene scene;
    struct limit limit;
    scene_of(&cases[0], &scene);
    assert_int_equal(limit_find(&scene.input, FIELD_BATCH, 4096, NULL, &limit, NULL), STATUS_OK);
    assert_int_equal(limit.size, 0);
    assert_int_equal(limit.next, 1);
    assert_int_equal(limit.next_trial.stage, STAGE_LOAD);
    assert_int_equal(limit.next_trial.held_bytes, 0);
    trial_scene_close(&scene);
}

static void a_field_that_says_nothing_is_refused(void **state)
{
    (void)state;
    struct trial_scene scene;
    struct limit limit;
    struct status error = {0};
    scene_of(&cases[7], &scene);
    assert_int_equal(limit_find(&scene.input, FIELD_SEQ, 1 << 20, NULL, &limit, &error), STATUS_INVALID);
    assert_string_equal(error.text, "a case of tiny-vit in mode train has no seq; choose another");
    trial_scene_close(&scene);
}

/* What limit says surely fits, and may, is what fit says yes and not no to; one more is neither. */
static void the_sure_and_the_possible_size_are_those_of_fit(void **state)
{
    (void)state;
    static const struct doubt doubts[] = {{0, 0}, {50, 120}, {300, 550}};
    int differ = 0;
    for (size_t i = 0; i < RANGE_COUNT * sizeof doubts / sizeof doubts[0]; i++) {
        const struct limit_case *row = &cases[i % RANGE_COUNT];
        struct trial_scene scene;
        scene_of(row, &scene);
        const struct fit_device device = {.memory_bytes = INT64_C(256) << 20,
                                          .overhead = {.low_bytes = 1 << 20, .high_bytes = 9 << 20},
                                          .doubt = doubts[i / RANGE_COUNT]};
        struct limit limit;
        struct limit_range range;
        int64_t bytes = overhead_rest(device.memory_bytes, device.overhead.high_bytes);
        assert_int_equal(limit_find(&scene.input, row->field, bytes, NULL, &limit, NULL), STATUS_OK);
        assert_int_equal(limit_range_find(&scene.input, &device, &limit, bytes, NULL, &range, NULL), STATUS_OK);
        int64_t most = limit_maximum(scene.input.config, scene.input.workload, row->field);
        assert_true(range.sure > 0 && range.sure <= limit.size && limit.size <= range.possible);
        assert_int_equal(verdict_at(&scene, &device, row->field, range.sure), FIT_YES);
        assert_true(range.sure == most || verdict_at(&scene, &device, row->field, range.sure + 1) != FIT_YES);
        assert_true(verdict_at(&scene, &device, row->field, range.possible) != FIT_NO);
        assert_true(range.possible == most || verdict_at(&scene, &device, row->field, range.possible + 1) == FIT_NO);
        differ += range.sure < range.possible;
        trial_scene_close(&scene);
    }
    assert_true(differ >= RANGE_COUNT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_size_found_runs_and_the_next_does_not),
        cmocka_unit_test(a_scan_of_all_sizes_finds_no_less),
        cmocka_unit_test(a_larger_size_may_fit_where_a_smaller_does_not),
        cmocka_unit_test(the_sure_and_the_possible_size_are_those_of_fit),
        cmocka_unit_test(the_host_agrees),
        cmocka_unit_test(a_model_bounds_what_memory_does_not),
        cmocka_unit_test(a_tape_bounds_no_tokens),
        cmocka_unit_test(a_range_of_tokens_takes_few_replays),
        cmocka_unit_test(a_static_cache_is_judged_by_its_beginning),
        cmocka_unit_test(a_bound_of_its_own_is_called_that),
        cmocka_unit_test(nothing_fits_and_says_so),
        cmocka_unit_test(a_field_that_says_nothing_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
