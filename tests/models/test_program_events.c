/* Programs, event by event: all that a training program takes and gives back in its third step, in order, beside the
 * tape of its row (harness/case/program.c). The other side are the programs themselves, which ran on the meta device
 * with tiny models (peers/pytorch/programs.py --events). test_program_shadow.c holds their peaks, and real models'.
 *
 * Left out: what a program brings to the device in each step, because the tape has one batch; scalars, which programs
 * take for averages, counts and checks that the tape has not; and the order of what goes between two allocations, which
 * leaves the allocator as it is. The script of PEFT has dropout in its adapters, which no row here says. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/models/event_sequence.h"
#include "tests/models/program_lines.h"
#include "tests/models/shadow_lines.h"
#include "tests/support/modelled.h"

enum { SCALAR_BYTES = 8, EVENTS_BEFORE = 8, CASES = 54 };

static const char cases_path[] = "peers/pytorch/programs-tiny-torch-2.11.0-transformers-5.23.0.jsonl";
static const char events_path[] = "peers/pytorch/program-events-torch-2.11.0-transformers-5.23.0.jsonl";

static struct sequence theirs, ours;

static bool is_left_out(const struct memory_event *event)
{
    return llabs(event->bytes) <= SCALAR_BYTES || strcmp(event->label, "to_device") == 0;
}

static void event_drop(struct sequence *sequence, int at)
{
    memmove(sequence->events + at, sequence->events + at + 1,
            (size_t)(sequence->count - at - 1) * sizeof sequence->events[0]);
    sequence->count--;
}

/* An allocation by this operator, of these bytes unless they are 0, that is given back at once, among the first
 * EVENTS_BEFORE. */
static void passing_drop(struct sequence *sequence, const char *label, int64_t bytes)
{
    for (int i = 0; i < EVENTS_BEFORE && i + 1 < sequence->count; i++) {
        const struct memory_event *taken = &sequence->events[i];
        if (strcmp(taken->label, label) == 0 && (bytes == 0 || taken->bytes == bytes) &&
            sequence->events[i + 1].bytes == -taken->bytes) {
            event_drop(sequence, i + 1);
            event_drop(sequence, i);
            return;
        }
    }
}

/* Of a model that is given a mask of ones: it is read as truths, and all are true. Without one, as the tape has it, the
 * model looks for sequences that are packed into one. */
static void mask_drop(const struct workload *workload)
{
    passing_drop(&theirs, "_to_copy", workload->batch * workload->seq);
    for (int i = ours.count - 1; i >= 0; i--) {
        bool counts_positions = llabs(ours.events[i].bytes) == 8 * workload->seq; /* either way */
        if (strcmp(ours.events[i].label, "mask") == 0 && !counts_positions) {
            event_drop(&ours, i);
        }
    }
}

static bool theirs_read(const struct json *line)
{
    const struct json *operators = json_get(line, "operators"), *events = json_get(line, "events");
    theirs.count = 0;
    for (size_t i = 0; i < json_count(events); i++) {
        const struct json *event = json_at(events, i);
        sequence_add(&theirs, json_integer_or(json_at(event, 0), 0),
                     json_string_or(json_at(operators, (size_t)json_integer_or(json_at(event, 1), 0)), "?"));
    }
    return theirs.count > 0;
}

static void sequence_trim(struct sequence *sequence)
{
    for (int i = sequence->count - 1; i >= 0; i--) {
        if (is_left_out(&sequence->events[i])) {
            event_drop(sequence, i);
        }
    }
}

static void ours_read(const struct json *line)
{
    struct modelled modelled = {0};
    struct workload workload = program_line_workload(line);
    modelled_require(&modelled, shadow_model(line), &workload, "sm_90");
    struct tape_view view = tape_view(modelled.tape);
    sequence_of_step(&view, 1, &ours);
    modelled_close(&modelled);
    sequence_trim(&ours);
    sequence_trim(&theirs);
    passing_drop(&theirs, "ne", 0); /* the Trainer counts the labels that are not -100 */
    bool is_masked = json_boolean_or(json_get(line, "mask"), false) || workload.program == PROGRAM_TRL_SFT;
    if (is_masked) {
        mask_drop(&workload);
    }
}

static const char *wanted_id;
static int compared_count, fault_count;

static bool case_compare(const struct json *line)
{
    char difference[DIFFERENCE_BYTES];
    if (strcmp(shadow_text(line, "id"), wanted_id) != 0 || strcmp(shadow_text(line, "type"), "case") != 0) {
        return false;
    }
    ours_read(line);
    sequence_sort_releases(&ours);
    sequence_sort_releases(&theirs);
    if (sequence_difference(&ours, &theirs, difference)) {
        print_message("%s: %s\n", wanted_id, difference);
        fault_count++;
    }
    return true;
}

static bool step_compare(const struct json *line)
{
    wanted_id = shadow_text(line, "id");
    bool trains = strstr(wanted_id, "/train/") != NULL, adapts = strncmp(wanted_id, "peft-script/", 12) == 0;
    if (!theirs_read(line) || !trains || adapts) {
        return false;
    }
    compared_count += shadow_lines_each(cases_path, case_compare);
    return true;
}

static void a_step_is_its_programs_event_by_event(void **state)
{
    (void)state;
    shadow_lines_each(events_path, step_compare);
    print_message("%d steps\n", compared_count);
    assert_int_equal(fault_count, 0);
    assert_true(compared_count >= CASES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_step_is_its_programs_event_by_event)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
