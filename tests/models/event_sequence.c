/* Event sequences: reading and comparing them. Which cases are compared is in the tests. */
#include "tests/models/event_sequence.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/base/json.h"

enum { IDENTITIES_MAXIMUM = 8192 };

void sequence_add(struct sequence *sequence, int64_t bytes, const char *label)
{
    if (bytes != 0) {
        assert_true(sequence->count < EVENTS_MAXIMUM);
        struct memory_event *event = &sequence->events[sequence->count++];
        event->bytes = bytes;
        snprintf(event->label, sizeof event->label, "%s", label);
    }
}

/* An integer that is assigned to a part of a tensor, and gone at once: beside a tensor of CUDA's it stays on the host,
 * on meta it does not. */
static bool is_number_assigned(const struct sequence *sequence, const struct memory_event *given_back)
{
    const struct memory_event *last = sequence->count > 0 ? &sequence->events[sequence->count - 1] : NULL;
    return last != NULL && given_back->bytes == (int64_t)sizeof(int64_t) && last->bytes == given_back->bytes &&
           strcmp(given_back->label, "scalar_tensor") == 0 && strcmp(last->label, given_back->label) == 0;
}

void sequence_of_recording(const char *path, const char *stage, struct sequence *sequence)
{
    static struct memory_event taken[IDENTITIES_MAXIMUM];
    FILE *file = fopen(path, "r");
    if (file == NULL) {
        fail_msg("%s cannot be read", path);
        return;
    }
    char *text = NULL;
    size_t capacity = 0;
    bool inside = false;
    sequence->count = 0;
    for (ssize_t length; (length = getline(&text, &capacity, file)) > 0;) {
        struct status error = {0};
        struct json *line = NULL;
        if (json_parse_text(path, text, (size_t)length, &line, &error) != STATUS_OK) {
            fail_msg("%s", error.text);
        }
        const char *kind = json_string_or(json_at(line, 0), "");
        int64_t id = json_integer_or(json_at(line, 1), 0);
        assert_true(id >= 0 && id < IDENTITIES_MAXIMUM);
        if (strcmp(kind, "stage") == 0) {
            inside = strcmp(json_string_or(json_at(line, 1), ""), stage) == 0;
            sequence->count = inside ? 0 : sequence->count;
        } else if (strcmp(kind, "alloc") == 0) {
            taken[id].bytes = json_integer_or(json_at(line, 2), 0);
            snprintf(taken[id].label, sizeof taken[id].label, "%s", json_string_or(json_at(line, 3), "?"));
            sequence_add(sequence, inside ? taken[id].bytes : 0, taken[id].label);
        } else if (inside && is_number_assigned(sequence, &taken[id])) {
            sequence->count--;
        } else if (inside) {
            sequence_add(sequence, -taken[id].bytes, taken[id].label);
        }
        json_release(line);
    }
    free(text);
    fclose(file);
}

static bool is_hidden(const struct storage *storage)
{
    static const char *const labels[] = {"embedding gradient, dense", "summands, as int64", "ids"};
    bool hidden = storage->category == CATEGORY_WORKSPACE || storage->is_scratch;
    for (size_t i = 0; i < sizeof labels / sizeof labels[0]; i++) {
        hidden = hidden || strcmp(storage->label, labels[i]) == 0;
    }
    return hidden;
}

void sequence_of_tape(const struct tape_view *view, enum stage stage, struct sequence *sequence)
{
    bool inside = false;
    sequence->count = 0;
    for (int i = 0; i < view->event_count; i++) {
        struct event event = view->events[i];
        if (event.kind == EVENT_STAGE) {
            inside = (enum stage)event.index == stage;
            sequence->count = inside ? 0 : sequence->count;
        } else if (inside && event.kind != EVENT_RUN) {
            const struct storage *storage = &view->storages[event.index];
            int64_t bytes = is_hidden(storage) ? 0 : event.kind == EVENT_ALLOC ? storage->bytes : -storage->bytes;
            sequence_add(sequence, bytes, storage->label);
        }
    }
}

void sequence_of_step(const struct tape_view *view, int step, struct sequence *sequence)
{
    int turn = -1;
    bool begun = false, is_forward = false;
    sequence->count = 0;
    for (int i = 0; i < view->event_count; i++) {
        struct event event = view->events[i];
        if (event.kind == EVENT_STAGE) {
            bool begins = event.index == STAGE_FORWARD && !is_forward;
            is_forward = event.index == STAGE_FORWARD;
            turn += begins;
        }
        if (event.kind == EVENT_RUN || event.kind == EVENT_STAGE || is_hidden(&view->storages[event.index])) {
            continue;
        }
        const struct storage *storage = &view->storages[event.index];
        begun = begun || (turn == step && event.kind == EVENT_ALLOC);
        if (turn > step && event.kind == EVENT_ALLOC) {
            return;
        }
        if (begun) {
            sequence_add(sequence, event.kind == EVENT_ALLOC ? storage->bytes : -storage->bytes, storage->label);
        }
    }
    fail_msg("a tape has no step behind step %d", step);
}

static int bytes_compare(const void *a, const void *b)
{
    int64_t left = ((const struct memory_event *)a)->bytes, right = ((const struct memory_event *)b)->bytes;
    return (left > right) - (left < right);
}

void sequence_sort_releases(struct sequence *sequence)
{
    for (int i = 0; i < sequence->count; i++) {
        int first = i;
        while (i < sequence->count && sequence->events[i].bytes < 0) {
            i++;
        }
        qsort(sequence->events + first, (size_t)(i - first), sizeof sequence->events[0], bytes_compare);
    }
}

bool sequence_difference(const struct sequence *tape, const struct sequence *recorded, char text[DIFFERENCE_BYTES])
{
    for (int i = 0; i < tape->count && i < recorded->count; i++) {
        const struct memory_event *ours = &tape->events[i], *theirs = &recorded->events[i];
        if (ours->bytes != theirs->bytes) {
            snprintf(text, DIFFERENCE_BYTES, "event %d is %lld bytes (%s), PyTorch's %lld (%s)", i,
                     (long long)ours->bytes, ours->label, (long long)theirs->bytes, theirs->label);
            return true;
        }
    }
    if (tape->count != recorded->count) {
        const struct sequence *longer = tape->count > recorded->count ? tape : recorded;
        int shorter_count = tape->count < recorded->count ? tape->count : recorded->count;
        snprintf(text, DIFFERENCE_BYTES, "%d events, PyTorch has %d; the first more is of %s", tape->count,
                 recorded->count, longer->events[shorter_count].label);
    }
    return tape->count != recorded->count;
}

void sequence_cut_end(struct sequence *sequence)
{
    while (sequence->count > 0 && sequence->events[sequence->count - 1].bytes < 0) {
        sequence->count--;
    }
}
