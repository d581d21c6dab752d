/* Tries of batches in real children: whatever has no memory left makes the batch smaller, with as_accelerate only what
 * accelerate recognises; what fails for another reason, hangs or is interrupted ends the search and is told. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>

#include "tests/run/batch_scene.h"

/* Texts as the devices word them (cuda_device.c, cuda_status.c, host_memory.c). */
static const struct {
    enum refusal_source source;
    const char *call, *text, *label; /* label: of what asked, in the record */
    bool accelerate_reduces;
} SOURCES[] = {
    {REFUSAL_SEGMENT, "segment_alloc",
     "cuda:0: out of memory: 2097152 bytes (2.00 MiB) wanted, 0 bytes (0 B) held, 1.00 MiB " REFUSAL_WORDS_GPU
     "; choose a smaller case, or see who else uses the GPU",
     "transformer.wte.weight", true},
    {REFUSAL_SEGMENT, "segment_alloc", "host: out of memory: 3 bytes wanted, 2 bytes " REFUSAL_WORDS_BOUND "; raise it",
     "transformer.wte.weight", true},
    {REFUSAL_MACHINE, "segment_alloc", "host: out of memory: 3 bytes wanted, 2 bytes " REFUSAL_WORDS_MACHINE,
     "transformer.wte.weight", false},
    {REFUSAL_CGROUP, "segment_alloc", "host: out of memory: 3 bytes wanted, 2 bytes " REFUSAL_WORDS_CGROUP,
     "transformer.wte.weight", false},
    {REFUSAL_LIMIT, "segment_alloc",
     "host: out of memory: 3 bytes wanted, 2 bytes held, and " REFUSAL_WORDS_LIMIT " (Cannot allocate memory)",
     "transformer.wte.weight", true},
    {REFUSAL_CUBLAS, "MATMUL", "cuda:0: cublasCreate: CUBLAS_STATUS_ALLOC_FAILED", "MATMUL", false},
    {REFUSAL_CUBLAS, "MATMUL", "cuda:0: cublasCreate: CUBLAS_STATUS_NOT_INITIALIZED", "MATMUL", false},
    {REFUSAL_CUDA, "MATMUL", "cuda:0: MATMUL float32 [8, 4]: out of memory", "MATMUL", false},
    {REFUSAL_CUDA, "synchronize", "cuda:0: synchronisation: out of memory (cudaErrorMemoryAllocation)", NULL, false},
    {REFUSAL_PROGRAM, "MATMUL", "the host has no memory to note a segment", "MATMUL", false},
};

enum { SOURCE_COUNT = sizeof SOURCES / sizeof SOURCES[0] };

static struct batch_scene scene_of(int row, int64_t limit)
{
    return (struct batch_scene){
        .fault = {.limit = limit, .call = SOURCES[row].call, .code = STATUS_OUT_OF_MEMORY, .text = SOURCES[row].text}};
}

static void every_source_makes_the_batch_smaller(void **state)
{
    static const int64_t batches[] = {8, 7, 6, 5, 0};
    (void)state;
    for (int i = 0; i < SOURCE_COUNT; i++) {
        struct batch_scene scene = scene_of(i, 5);
        const struct batch_request request = {.policy = BATCH_NINE_TENTHS, .start = 8};
        batch_scene_run(&scene, NULL, "host", &request);
        batch_scene_expect(&scene, batches);
        const struct batch_cause *cause = &scene.record.tries[0].cause;
        assert_int_equal(scene.result.end, BATCH_END_FOUND);
        assert_int_equal(scene.result.found, 5);
        assert_int_equal(scene.told, 4);
        assert_int_equal(cause->outcome, BATCH_OUTCOME_MEMORY);
        assert_int_equal(cause->source, SOURCES[i].source);
        assert_int_equal(cause->accelerate_reduces, SOURCES[i].accelerate_reduces);
        assert_non_null(strstr(cause->reason, SOURCES[i].text));
        assert_int_equal(cause->label != NULL, SOURCES[i].label != NULL);
        if (cause->label != NULL) {
            assert_string_equal(cause->label, SOURCES[i].label);
        }
        assert_non_null(cause->stage);
        assert_int_equal(cause->wanted_bytes > 0, strcmp(SOURCES[i].call, "segment_alloc") == 0);
        assert_int_equal(scene.record.tries[3].cause.outcome, BATCH_OUTCOME_OK);
        assert_true(scene.result.step_seconds > 0);
        batch_scene_close(&scene);
    }
}

static void accelerate_ends_with_what_it_does_not_recognise(void **state)
{
    static const int64_t all[] = {4, 2, 1, 0}, first[] = {4, 0};
    (void)state;
    for (int i = 0; i < SOURCE_COUNT; i++) {
        struct batch_scene scene = scene_of(i, 0);
        const struct batch_request request = {.policy = BATCH_HALVE, .start = 4, .as_accelerate = true};
        batch_scene_run(&scene, NULL, "host", &request);
        bool reduces = SOURCES[i].accelerate_reduces;
        const char *error = batch_result_error(&scene.result, &scene.record);
        batch_scene_expect(&scene, reduces ? all : first);
        assert_int_equal(scene.result.end, reduces ? BATCH_END_ZERO : BATCH_END_RAISED);
        assert_int_equal(scene.result.found, 0);
        assert_non_null(strstr(error, reduces ? "No executable batch size found, reached zero." : SOURCES[i].text));
        batch_scene_close(&scene);
    }
}

/* A device that is lost at a batch above 5: what ran until then is told, and nothing smaller is tried. */
static void another_failure_is_no_reason_for_a_smaller_batch(void **state)
{
    static const int64_t batches[] = {4, 8, 0};
    struct batch_scene scene = {.fault = {.limit = 5,
                                          .call = "MATMUL",
                                          .code = STATUS_DEVICE,
                                          .text = "cuda:0: an illegal memory access was encountered"}};
    const struct batch_request request = {.policy = BATCH_BISECT, .start = 4};
    (void)state;
    batch_scene_run(&scene, NULL, "host", &request);
    batch_scene_expect(&scene, batches);
    assert_int_equal(scene.result.end, BATCH_END_FAILED);
    assert_int_equal(scene.result.found, 4);
    assert_non_null(strstr(batch_result_error(&scene.result, &scene.record), "an illegal memory access"));
    batch_scene_close(&scene);
}

static void a_child_that_hangs_or_is_killed_by_somebody_ends_it(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        struct batch_scene scene = {.fault = {.limit = 5, .hangs = i == 0, .kills = i == 1}};
        const struct batch_request request = {.policy = BATCH_NINE_TENTHS, .start = 8};
        batch_scene_run(&scene, NULL, "host", &request);
        assert_int_equal(scene.result.end, BATCH_END_FAILED);
        assert_int_equal(scene.result.try_count, 1);
        assert_string_equal(scene.record.tries[0].cause.word, i == 0 ? "timeout" : "error");
        batch_scene_close(&scene);
    }
}

/* The kernel's own killing cannot be had in a test: the words of the case line (case_line.c) are. */
static void what_the_kernel_kills_had_no_memory(void **state)
{
    struct json *line = json_object_new();
    (void)state;
    json_set(line, "status", json_string_new("oom"));
    json_set(
        line, "reason",
        json_string_new("the kernel killed the child " REFUSAL_WORDS_KILLED ": host or cgroup has no memory left"));
    struct batch_cause cause = batch_cause_read(line);
    assert_int_equal(cause.outcome, BATCH_OUTCOME_MEMORY);
    assert_int_equal(cause.source, REFUSAL_KILLED);
    assert_false(cause.accelerate_reduces);
    assert_null(cause.label);
    json_release(line);
}

static void an_interruption_ends_the_child_and_keeps_what_ran(void **state)
{
    static const int64_t batches[] = {2, 4, 0};
    struct batch_scene scene = {.fault = {.limit = 5, .signal = SIGINT}};
    const struct batch_request request = {.policy = BATCH_BISECT, .start = 2, .repeat = 3};
    (void)state;
    batch_scene_run(&scene, NULL, "host", &request);
    batch_scene_expect(&scene, batches);
    assert_int_equal(scene.result.end, BATCH_END_INTERRUPTED);
    assert_int_equal(scene.result.found, 4);
    assert_true(attempts_interrupted(scene.attempts));
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no child is left */
    assert_int_equal(errno, ECHILD);
    batch_scene_close(&scene);
}

static void the_batch_that_was_found_is_tried_so_often(void **state)
{
    static const int64_t batches[] = {6, 3, 4, 5, 0};
    struct batch_scene scene = scene_of(0, 5);
    const struct batch_request request = {.policy = BATCH_BISECT, .start = 6, .repeat = 3};
    (void)state;
    batch_scene_run(&scene, NULL, "host", &request);
    batch_scene_expect(&scene, batches);
    assert_int_equal(scene.record.count, 6);
    assert_true(scene.record.tries[5].is_repetition);
    assert_int_equal(scene.record.tries[5].batch, 5);
    assert_int_equal(scene.result.repeat_count, 3);
    assert_int_equal(scene.result.repeat_failed_count, 0);
    batch_scene_close(&scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_source_makes_the_batch_smaller),
        cmocka_unit_test(accelerate_ends_with_what_it_does_not_recognise),
        cmocka_unit_test(another_failure_is_no_reason_for_a_smaller_batch),
        cmocka_unit_test(a_child_that_hangs_or_is_killed_by_somebody_ends_it),
        cmocka_unit_test(what_the_kernel_kills_had_no_memory),
        cmocka_unit_test(an_interruption_ends_the_child_and_keeps_what_ran),
        cmocka_unit_test(the_batch_that_was_found_is_tried_so_often),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
