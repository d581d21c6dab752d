/* The inside of a repetition: for repetition.c, leap.c, rounds.c and section*.c alone. */
#ifndef ASSAY_REPLAY_REPETITION_INSIDE_H
#define ASSAY_REPLAY_REPETITION_INSIDE_H

#include "harness/base/arena.h"
#include "harness/replay/repetition.h"

/* Beyond it, sums are not supposed: they are checked request by request. */
#define REPETITION_SUPPOSED_BYTES (INT64_C(1) << 62)

/* An event of the body. own: the storage as a number of the body, also where the lap before took it. */
struct body_event {
    enum event_kind kind;
    int index, own;
};

/* Between two events of the large pool: what the small requests of a section change, and where their sum is highest. */
struct section_gap {
    int end;      /* the event behind it, counted from the section's first */
    bool is_some; /* there are small requests */
    int64_t bytes, bytes_highest, allocated_bytes, allocated_bytes_highest;
    int64_t categories[CATEGORY_COUNT], categories_highest[CATEGORY_COUNT];
    int64_t workspace_bytes;
};

/* Equal parts of the body, one behind the other: the layers of a model. */
struct section_run {
    int first, length, count; /* events: first + i * length begins section i */
    bool is_usable;           /* with the sizes of now */
    int depth;                /* what is alive where a section ends was taken in the last so many */
    int *tail;                /* small storages alive where section depth - 1 ends: the events that took them */
    int tail_count;
    struct storage_block *renamed; /* room for as many */
    bool grows;                    /* small storages of it have other bytes in every repetition */
    struct section_gap *gaps;      /* of one section */
    int gap_count;
};

enum { SECTION_PLACES = 8 };

struct section_place {
    int64_t at; /* the repetition, and the section of the run, whose end it is: those that are supposed note none */
    const struct section_run *run;
    int section;
    int64_t small_segment_changes;
    int64_t *positions; /* of the tail */
};

enum { ROUNDS = 16 }; /* that are remembered: the longest circle that is found is one shorter */

/* Where a repetition has left what is carried; in the small pool alone if the repetition is bare. */
struct round {
    int64_t at, stable_to; /* at 0: none */
    int64_t segment_changes;
    int64_t *positions;
};

struct repetition {
    struct replay *replay;
    const struct repeat *repeat;
    const struct storage *storages; /* of the body */
    const struct carry *carries;
    struct body_event *events;
    int event_count, alloc_count, token_count;
    int64_t *bytes; /* by storage of the body: in this repetition */
    bool *is_small;
    int *taken_at,
        *freed_at; /* by storage: the event; freed_at of the body itself, event_count where it is not freed in it */
    int *growing;  /* storages of the body whose bytes change */
    int growing_count;
    int64_t at; /* the repetition that is carried out */
    /* The last one in which small storages have the rounded sizes, and the pools, of now; the last in which they have
     * the pools. */
    int64_t stable_to, pools_to;
    struct round rounds[ROUNDS];
    bool is_bare; /* the small pool alone is carried out: what the large one does is known (leap.h) */
    struct section_run *runs;
    int run_count;
    struct section_place *places; /* where the last sections ended, in turn */
    /* -- while sections are supposed */
    const struct section_run *supposed; /* NULL: none are */
    int suppose_from;                   /* the last section that was made */
    int circle;                         /* sections of a round */
    int section, event_at;              /* that is carried out; its event, counted from the section's first */
    struct arena arena;
};

/* One event, made; while is_bare, as small_event_make. */
enum status_code body_event_make(struct repetition *repetition, const struct body_event *event, struct status *error);

/* One event of the small pool, without sums; of the large pool nothing. */
enum status_code small_event_make(struct repetition *repetition, const struct body_event *event, struct status *error);

/* The repetition of `at`. */
enum status_code body_run(struct repetition *repetition, struct status *error);

static inline struct storage_block *body_block(const struct repetition *repetition, const struct body_event *event)
{
    return &repetition->replay->blocks[event->index];
}

/* -- rounds (rounds.c) */
enum status_code rounds_open(struct repetition *repetition, struct status *error);
/* The repetition of `at` has ended: notes where, and returns how many repetitions ago one with the same rounded sizes
 * ended as this one has; 0: none is known. What lies between them happens again and again while sizes stay as they
 * are. */
int64_t rounds_note(struct repetition *repetition);

/* -- sections (section.c) */
/* Finds the runs of the body; once. */
enum status_code sections_find(struct repetition *repetition, struct status *error);
/* Storages have other rounded sizes, or are in other pools: what each run is then. */
void sections_look(struct repetition *repetition);
/* Storages have other sizes. */
void section_gaps_fill(const struct repetition *repetition, struct section_run *run);
/* Carries a run out. */
enum status_code sections_run(struct repetition *repetition, struct section_run *run, struct status *error);

#endif
