/* Sections: carrying out the equal parts of a body. The first few are made; if one has ended as an earlier one did,
 * the small requests of the rest are supposed, gap by gap between the large ones. Which parts are equal is
 * section_find.c's. */
#include "harness/replay/repetition_inside.h"

static const struct body_event *section_event(const struct repetition *repetition, const struct section_run *run,
                                              int section, int event)
{
    return &repetition->events[run->first + section * run->length + event];
}

/* The storage at a place of the tail, as it is where a section ends. */
static struct storage_block *tail_block(const struct repetition *repetition, const struct section_run *run, int section,
                                        int place)
{
    int event = run->tail[place] + (section - run->depth + 1) * run->length;
    return body_block(repetition, &repetition->events[event]);
}

/* -- making good: the small pool alone, and the blocks alone; everything else is known already */

/* What lies where a section has ended lies there for another one: the storages change, the blocks stay. */
static void tail_rename(struct repetition *repetition, const struct section_run *run, int from, int to)
{
    struct storage_block *renamed = run->renamed;
    for (int i = 0; i < run->tail_count; i++) {
        renamed[i] = *tail_block(repetition, run, from, i);
        tail_block(repetition, run, from, i)->state = STORAGE_DEAD;
    }
    for (int i = 0; i < run->tail_count; i++) {
        *tail_block(repetition, run, to, i) = renamed[i];
    }
}

enum status_code repetition_make_good(struct repetition *repetition, struct status *error)
{
    const struct section_run *run = repetition->supposed;
    if (run == NULL) {
        return STATUS_OK;
    }
    struct replay *replay = repetition->replay;
    const struct allocator_counters before = *allocator_counters(replay->allocator);
    int64_t changes = replay->segment_changes;
    int whole = repetition->section - 1 - repetition->suppose_from;
    int made = whole % repetition->circle; /* what whole rounds leave: they end in the same places */
    int last = repetition->section - made - 1;
    enum status_code code = STATUS_OK;
    repetition->supposed = NULL;
    if (last != repetition->suppose_from) {
        tail_rename(repetition, run, repetition->suppose_from, last);
    }
    for (int i = 0; i < made * run->length && code == STATUS_OK; i++) {
        code = small_event_make(repetition, section_event(repetition, run, last + 1, i), error);
    }
    for (int i = 0; repetition->section < run->count && i < repetition->event_at && code == STATUS_OK; i++) {
        code = small_event_make(repetition, section_event(repetition, run, repetition->section, i), error);
    }
    allocator_suppose_end(replay->allocator, &before);
    if (code == STATUS_OK && changes != replay->segment_changes) {
        code = status_set(error, STATUS_INTERNAL, "what was supposed of a repetition takes segments");
    }
    return code;
}

/* -- circles */

static void place_note(struct repetition *repetition, const struct section_run *run, int section)
{
    struct section_place *place = &repetition->places[section % SECTION_PLACES];
    place->at = repetition->at;
    place->run = run;
    place->section = section;
    place->small_segment_changes = repetition->replay->small_segment_changes;
    for (int i = 0; i < run->tail_count; i++) {
        place->positions[i] = block_position(tail_block(repetition, run, section, i)->block);
    }
}

/* Whether the section that ended at `then` lies so far back in the same run, and left the same where this one did. */
static bool places_match(const struct section_place *now, const struct section_place *then, int back)
{
    bool match = then->at == now->at && then->run == now->run && then->section == now->section - back &&
                 then->small_segment_changes == now->small_segment_changes;
    for (int i = 0; match && i < now->run->tail_count; i++) {
        match = now->positions[i] == then->positions[i];
    }
    return match;
}

/* A section has been made. From its end on, is anything known? */
static void circle_look(struct repetition *repetition, const struct section_run *run, int section)
{
    int first = run->depth - 1; /* before it, what is alive is not all of sections */
    if (section < first || section + 1 == run->count ||
        ledger_bytes(&repetition->replay->ledger) > REPETITION_SUPPOSED_BYTES) {
        return;
    }
    place_note(repetition, run, section);
    for (int back = 1; back < SECTION_PLACES && section - back >= first; back++) {
        if (places_match(&repetition->places[section % SECTION_PLACES],
                         &repetition->places[(section - back) % SECTION_PLACES], back)) {
            repetition->supposed = run;
            repetition->suppose_from = section;
            repetition->circle = back;
            return;
        }
    }
}

/* -- carrying out */

static void gap_suppose(struct repetition *repetition, const struct section_gap *gap)
{
    struct replay *replay = repetition->replay;
    if (!gap->is_some) {
        return;
    }
    allocator_suppose(replay->allocator, gap->bytes_highest, gap->allocated_bytes_highest);
    allocator_suppose(replay->allocator, gap->bytes - gap->bytes_highest,
                      gap->allocated_bytes - gap->allocated_bytes_highest);
    ledger_change_all(&replay->ledger, gap->bytes, gap->categories, gap->bytes_highest, gap->categories_highest);
    replay->workspace_allocated_bytes += gap->workspace_bytes;
}

/* Gap by gap; *event: how far it has got. Where the device has refused memory meanwhile, the rest is to be made. */
static enum status_code section_suppose(struct repetition *repetition, const struct section_run *run, int *event,
                                        struct status *error)
{
    enum status_code code = STATUS_OK;
    *event = 0;
    for (int i = 0; i < run->gap_count && repetition->supposed != NULL && code == STATUS_OK; i++) {
        const struct section_gap *gap = &run->gaps[i];
        gap_suppose(repetition, gap);
        repetition->event_at = *event = gap->end;
        if (gap->end < run->length) {
            code = body_event_make(repetition, section_event(repetition, run, repetition->section, gap->end), error);
            *event = gap->end + 1;
        }
    }
    return code;
}

enum status_code sections_run(struct repetition *repetition, struct section_run *run, struct status *error)
{
    enum status_code code = STATUS_OK;
    repetition->supposed = NULL;
    if (run->grows && !repetition->is_bare) {
        section_gaps_fill(repetition, run);
    }
    for (int section = 0; section < run->count && code == STATUS_OK; section++) {
        int event = 0;
        repetition->section = section;
        if (repetition->supposed != NULL && repetition->is_bare) {
            break; /* no request lies between small ones */
        }
        if (repetition->supposed != NULL) {
            code = section_suppose(repetition, run, &event, error);
        }
        for (; event < run->length && code == STATUS_OK; event++) {
            code = body_event_make(repetition, section_event(repetition, run, section, event), error);
        }
        if (code == STATUS_OK && repetition->supposed == NULL) {
            circle_look(repetition, run, section);
        }
    }
    repetition->section = run->count;
    return code == STATUS_OK ? repetition_make_good(repetition, error) : code;
}
