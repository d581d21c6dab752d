/* Law points: the cases of inference that laws are fitted to and tested on, out of records and tables of points, and
 * how many were left out for which reason.
 *
 * A case counts if it ran inference (mode infer or generate) to its end (ok or fail), undisturbed, on one device that
 * computes, in float32, float16 or bfloat16, without padding, beams, quantised caches and kept outputs; if its model is
 * found and a law has terms for it; and if its figures can be: no peak below the weights, no footprint below the
 * allocated bytes. A case that its source has again with the same tensors counts once. */
#ifndef ASSAY_LAW_LAW_POINTS_H
#define ASSAY_LAW_LAW_POINTS_H

#include "harness/base/arena.h"
#include "harness/base/json.h"
#include "harness/base/name_table.h"
#include "harness/base/status.h"
#include "harness/base/text.h"
#include "harness/law/law_point.h"

/* X(NAME, words behind a count). */
#define POINT_REASON_TABLE(X)                                                                                          \
    X(COUNTED, "count")                                                                                                \
    X(OTHER_MODE, "load or train")                                                                                     \
    X(NOT_MEASURED, "not measured to the end, or without a peak")                                                      \
    X(DISTURBED, "disturbed")                                                                                          \
    X(PREDICTED, "predicted, not measured (meta)")                                                                     \
    X(PLACED, "on several devices, or a search")                                                                       \
    X(OTHER_NUMBERS, "under autocast or quantised")                                                                    \
    X(OTHER_WAYS, "with padding, beams, a quantised cache or kept outputs")                                            \
    X(NO_TERMS, "of models that a law has no terms for")                                                               \
    X(NOT_FOUND, "of models that were not found")                                                                      \
    X(BEYOND, "with a name or a size that a table of points cannot hold")                                              \
    X(BELOW_WEIGHTS, "with a peak below the weights, which cannot be")                                                 \
    X(BELOW_ALLOCATED, "with a footprint below the allocated bytes, which cannot be")                                  \
    X(AGAIN, "the same as another case of their source, figure for figure")

enum point_reason {
#define POINT_REASON_ENUM(name, words) POINT_##name,
    POINT_REASON_TABLE(POINT_REASON_ENUM)
#undef POINT_REASON_ENUM
        POINT_REASON_COUNT
};

/* What a point may have, of records as of tables, so that every point that is written can be read. */
enum {
    POINT_TEXT_BYTES_MAXIMUM = 4096, /* of a word; 1 at the least */
    POINT_BATCH_MAXIMUM = 1 << 24,   /* 1 at the least */
    POINT_TOKENS_MAXIMUM = 1 << 28   /* of a sequence, and of new ones */
};
#define POINT_NUMBER_MAXIMUM INT64_C(999999999999999999)

struct law_points {
    struct law_point *all; /* in the order in which they were read */
    int count;
    int64_t reasons[POINT_REASON_COUNT]; /* cases by what became of them */
    /* inside */
    struct arena arena;
    struct name_table words, own, all_figures; /* own: of figures of a source */
    size_t room;
    struct law_model *models; /* by number of words: looked up once */
    size_t model_room;
};

struct model; /* models/find/model.h */

/* Where models are looked for that records name. */
struct point_places {
    const char *catalogue_dir; /* models/catalogue */
    /* The file or folder that a path stands for which the current folder does not have; NULL: none. May be NULL. */
    const char *(*resource)(struct arena *arena, const char *path);
};

/* The model that a record names; arena keeps a path while it is read. An error of model_find, without its text. The
 * caller releases *model. */
enum status_code point_model_find(const struct point_places *places, const char *name, struct arena *arena,
                                  struct model *model);

/* Adds the cases of a file of records, or of a folder of them, or of a table of points (which its first line says).
 * filter: a shell pattern of ids or tags of records; NULL: all; a table has neither, and grep chooses its lines.
 * STATUS_INVALID with "FILE:LINE: ..." for a table that is wrong, or that a filter was given for; the errors of
 * record_stream_next. path outlives *points, which begins as all zero and is released by the caller, also after an
 * error. */
enum status_code law_points_read(const char *path, const char *filter, const struct point_places *places,
                                 struct law_points *points, struct status *error);

void law_points_release(struct law_points *points);

/* "2562 of 3100 cases count; left out: 12 load or train, 3 disturbed". */
void law_points_append(struct text *text, const struct law_points *points);

/* The table: a line of names, then a line for each point; fields are parted by tabs, unknown bytes are "-". */
enum status_code points_table_write(const struct law_points *points, struct text *text, struct status *error);

/* ---- inside harness/law ---- */

/* Whether the id of a case or one of its tags matches a shell pattern; NULL: each does. */
bool law_line_matches(const struct json *line, const char *filter);

/* Adds a point whose texts may go away, or counts why it is left out. STATUS_OUT_OF_MEMORY. */
enum status_code law_points_add(struct law_points *points, const struct law_point *point, struct status *error);

/* The numbers of a model by its name, looked for once. False: reason is what becomes of the case. */
bool law_points_model(struct law_points *points, const struct point_places *places, const char *model,
                      const char *attention, struct law_point *point, enum point_reason *reason);

struct line_source;

/* Whether bytes begin a table of points. */
bool points_table_begins(const char *bytes, size_t length);

/* Reads the lines of a table. */
enum status_code points_table_read(struct line_source *lines, const char *path, const struct point_places *places,
                                   struct law_points *points, struct status *error);

#endif
