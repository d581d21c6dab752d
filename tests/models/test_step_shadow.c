/* What a program does around its passes, against real PyTorch: each case of peers/pytorch/shadow_step_cases.py has the
 * peak and the end of every stage, those of the smallest models every event of the
 * backward pass and the step, in order. The programs ran on the meta
 * device (peers/pytorch/shadow_step.py): torch's own zero_grad(), clip_grad_norm_(), optimizers.
 *
 * What the passes themselves take is held by test_pytorch_shadow.c and test_pytorch_events.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "models/find/catalogue.h"
#include "tests/models/event_sequence.h"
#include "tests/models/shadow_lines.h"
#include "tests/support/device_use.h"
#include "tests/support/modelled.h"

enum { PATH_BYTES = 512, STEPS = 3 };

/* Sums that are divided or stacked on the way leave scalars of 4 bytes to the next line of Python. */
enum { SLACK_BYTES = 64 };

/* torch's smoothed loss masks rows that do not count; ours makes targets of them too, 8 bytes each, while it looks. */
enum { SMOOTHED_ROW_BYTES = 8 };

/* Of two micro-batches the second, as the tape's figures are. */
static const char *stage_words(const struct json *line, enum stage stage)
{
    bool is_second = stage != STAGE_STEP && json_integer_or(json_get(line, "accumulate"), 1) == 2;
    return !is_second ? stage_name(stage) : stage == STAGE_FORWARD ? "forward_1" : "backward_1";
}

static void stages_compare(const struct json *line, const struct tape_view *view)
{
    bool looks = strcmp(shadow_text(line, "label_smoothing"), "cross-entropy") == 0;
    int64_t rows = json_integer_or(json_get(line, "batch"), 0) * json_integer_or(json_get(line, "seq"), 1);
    int64_t slack_bytes = SLACK_BYTES + (looks ? SMOOTHED_ROW_BYTES * rows : 0);
    struct stage_figures figures;
    stage_figures_take(view, &figures);
    for (int stage = STAGE_FORWARD; stage <= STAGE_STEP; stage++) {
        const struct json *theirs = json_get(json_get(line, "stages"), stage_words(line, (enum stage)stage));
        int64_t peak = json_integer_or(json_get(theirs, "requested_bytes_peak"), -1);
        int64_t end = json_integer_or(json_get(theirs, "requested_bytes"), -1);
        if (llabs(figures.peak[stage] - peak) > slack_bytes || figures.end[stage] != end) {
            fail_msg("%s, %s: peak %lld, end %lld; PyTorch %lld and %lld", shadow_text(line, "id"),
                     stage_name((enum stage)stage), (long long)figures.peak[stage], (long long)figures.end[stage],
                     (long long)peak, (long long)end);
        }
    }
}

/* As shadow_truth.py names it. */
static void events_path(const char *id, char path[PATH_BYTES])
{
    static const char kept[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    int length = snprintf(path, PATH_BYTES, "peers/pytorch/events/");
    for (; *id != '\0' && length < PATH_BYTES - 8; id++) {
        bool stays = strchr(kept, *id) != NULL;
        if (stays || path[length - 1] != '_') {
            path[length++] = stays ? *id : '_';
        }
    }
    snprintf(path + length, (size_t)(PATH_BYTES - length), ".jsonl");
}

static int events_compared;

/* Casts of weights go when the gradient of their product is there, in the order of a hash table. */
static void events_compare(const struct json *line, const struct tape_view *view, bool is_autocast)
{
    static struct sequence ours, theirs;
    char path[PATH_BYTES], difference[DIFFERENCE_BYTES];
    events_path(shadow_text(line, "id"), path);
    if (access(path, R_OK) != 0) {
        return;
    }
    for (int stage = STAGE_BACKWARD; stage <= STAGE_STEP; stage++) {
        sequence_of_tape(view, (enum stage)stage, &ours);
        sequence_of_recording(path, stage_words(line, (enum stage)stage), &theirs);
        if (is_autocast && stage == STAGE_BACKWARD) {
            sequence_sort_releases(&ours);
            sequence_sort_releases(&theirs);
        }
        if (sequence_difference(&ours, &theirs, difference)) {
            fail_msg("%s, %s: %s", path, stage_name((enum stage)stage), difference);
        }
    }
    events_compared++;
}

static int paged_compared;

/* What bitsandbytes asked cudaMallocManaged for, and how much of it each step fetched. */
static void managed_compare(const struct json *line, const struct tape_view *view)
{
    const struct json *theirs = json_get(line, "managed");
    int64_t bytes = json_integer_or(json_get(theirs, "bytes"), 0);
    assert_int_equal(view->managed.bytes, bytes);
    assert_int_equal(view->managed.tensor_count, json_integer_or(json_get(theirs, "tensor_count"), 0));
    assert_int_equal(json_integer_or(json_get(theirs, "fetched_bytes"), 0), STEPS * bytes);
    assert_true(view->managed.pages_bytes >= bytes && view->managed.pages_bytes % MANAGED_PAGE_BYTES == 0);
    paged_compared += bytes > 0;
}

static bool line_check(const struct json *line)
{
    if (strcmp(shadow_text(line, "type"), "case") != 0) {
        return false;
    }
    struct modelled modelled = {0};
    struct workload workload = shadow_workload(line);
    modelled_require(&modelled, shadow_model(line), &workload, "sm_90");
    struct tape_view view = tape_view(modelled.tape);
    stages_compare(line, &view);
    events_compare(line, &view, workload_is_autocast(&workload));
    managed_compare(line, &view);
    modelled_close(&modelled);
    return true;
}

static void programs_are_pytorchs(void **state)
{
    (void)state;
    int checked = shadow_lines_each("peers/pytorch/shadow-step-torch-2.11.0-transformers-5.23.0.jsonl", line_check);
    print_message("%d cases, %d of them event by event\n", checked, events_compared);
    assert_true(checked >= 279 && events_compared >= 66);
}

/* torch's argument and the Trainer's LabelSmoother; each stage may be off by the numbers that it counts with. */
static void smoothed_losses_are_theirs(void **state)
{
    (void)state;
    events_compared = 0;
    int checked =
        shadow_lines_each("peers/pytorch/shadow-torch-2.11.0-transformers-5.23.0-label-smoothing.jsonl", line_check);
    print_message("%d cases, %d of them event by event\n", checked, events_compared);
    assert_true(checked >= 35 && events_compared >= 8);
}

/* States in managed memory are no storages of the tape; all others are in its sequence. */
static void optimizers_of_bitsandbytes_are_theirs(void **state)
{
    (void)state;
    events_compared = 0;
    int checked = shadow_lines_each(
        "peers/pytorch/shadow-step-torch-2.11.0-transformers-5.23.0-bitsandbytes-0.50.2.jsonl", line_check);
    print_message("%d cases, %d of them event by event, %d with managed memory\n", checked, events_compared,
                  paged_compared);
    assert_true(checked >= 48 && events_compared >= 14 && paged_compared >= 30);
}

/* bitsandbytes' get_state_buffer on the CPU: "Falling back to non-paged optimizer behavior". */
static void on_the_host_no_state_is_paged(void **state)
{
    (void)state;
    static const char *const targets[] = {"host", "sm_75", "sm_90"};
    struct workload workload = workload_default(MODE_TRAIN);
    workload.seq = 4;
    workload.optimizer = OPTIMIZER_PAGED_ADAMW_32BIT;
    for (int i = 0; i < 3; i++) {
        struct modelled modelled = {0};
        modelled_require(&modelled, "peers/pytorch/tiny/gpt2-wide/config.json", &workload, targets[i]);
        struct tape_view view = tape_view(modelled.tape);
        assert_int_equal(view.managed.tensor_count, i == 0 ? 0 : 10);
        assert_int_equal(view.managed.bytes, i == 0 ? 0 : 4556800);
        modelled_close(&modelled);
    }
}

/* Adafactor's arithmetic is not built: a device that computes refuses it, one that counts does not. */
static void what_is_predicted_alone_is_not_run(void **state)
{
    (void)state;
    struct modelled modelled = {0};
    struct workload workload = workload_default(MODE_TRAIN);
    struct replay_result result;
    struct status error = {0};
    workload.seq = 4;
    workload.optimizer = OPTIMIZER_PAGED_ADAMW_8BIT;
    modelled_require(&modelled, "tiny-gpt2", &workload, "host");
    assert_string_equal(tape_view(modelled.tape).not_run, "bitsandbytes' paged optimizers");
    modelled_close(&modelled);
    workload.optimizer = OPTIMIZER_ADAFACTOR_TORCH;
    modelled_require(&modelled, "tiny-gpt2", &workload, "host");
    struct tape_view view = tape_view(modelled.tape);
    struct device *host = device_open_or_skip("host");
    assert_int_equal(replay_run(&view, host, NULL, &result, &error), STATUS_INVALID);
    assert_string_equal(error.text,
                        "the arithmetic of torch.optim.Adafactor is not built, only what it takes: it can be "
                        "predicted (assay estimate, or --device meta) and not run");
    device_close(host);
    assert_true(replay_on(&view, "meta").requested_bytes_peak > 0);
    modelled_close(&modelled);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_are_pytorchs), cmocka_unit_test(smoothed_losses_are_theirs),
        cmocka_unit_test(optimizers_of_bitsandbytes_are_theirs), cmocka_unit_test(on_the_host_no_state_is_paged),
        cmocka_unit_test(what_is_predicted_alone_is_not_run)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
