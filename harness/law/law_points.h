/* Law points: the cases of inference that laws are fitted to, out of records and tables of points, and how many were
 * left out for which reason.
 *
 * A case counts if it ran inference (mode infer or generate) to its end (ok or fail), undisturbed, on one device that
 * computes, in float32, float16 or bfloat16, without padding, beams and quantised caches, and if its model is found and
 * of a kind that a law has terms for, and if its figures can be: no peak below the weights, no footprint below the
 * allocated bytes. A case that was measured again counts again unless every figure is the same: two devices of a class,
 * two attempts. How far such figures lie apart is told, and law_points_check refuses what no law could hold for. */
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
    X(OTHER_NUMBERS, "under autocast")                                                                                 \
    X(OTHER_WAYS, "with padding, beams or a quantised cache")                                                          \
    X(OTHER_KIND, "of models with sizes beyond 63 bits")                                                               \
    X(NOT_FOUND, "of models that were not found")                                                                      \
    X(BEYOND, "with a name or a size that a table of points cannot hold")                                              \
    X(BELOW_WEIGHTS, "with a peak below the weights, which cannot be")                                                 \
    X(BELOW_ALLOCATED, "with a footprint below the allocated bytes, which cannot be")                                  \
    X(AGAIN, "the same as another case, figure for figure")

enum point_reason {
#define POINT_REASON_ENUM(name, words) POINT_##name,
    POINT_REASON_TABLE(POINT_REASON_ENUM)
#undef POINT_REASON_ENUM
        POINT_REASON_COUNT
};

/* The figures whose spread is told of cases that were measured more than once. */
enum point_spread { POINT_SPREAD_ALLOCATED, POINT_SPREAD_FOOTPRINT, POINT_SPREAD_COUNT };

/* The most by which allocated peaks of one case may differ: what the p99 of a law must not exceed either. */
#define POINT_SPREAD_MOST 0.05

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
    struct name_table devices;              /* "sm_90|NVIDIA H200": of the records that count */
    struct name_table words, keys, figures; /* keys: of cases; figures: of cases as they were measured */
    size_t room;
    struct law_case *cases; /* by number of keys */
    size_t case_room;
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
 * filter: a shell pattern of ids or tags; NULL: all; a table has no tags, and the id of a row is the one that its
 * words and numbers make (suite/identity.h), whatever a record of it said beside them. STATUS_INVALID with
 * "FILE:LINE: ..." for a table that is wrong; the errors of record_stream_next. *points begins as all zero, and is
 * released by the caller, also after an error. */
enum status_code law_points_read(const char *path, const char *filter, const struct point_places *places,
                                 struct law_points *points, struct status *error);

void law_points_release(struct law_points *points);

/* STATUS_INVALID: measurements of one case have allocated peaks that differ by more than POINT_SPREAD_MOST, with the
 * case and both peaks. */
enum status_code law_points_check(const struct law_points *points, struct status *error);

/* "2562 of 3100 cases count; left out: 12 load or train, 3 disturbed", and how far measurements of one case differ:
 * "; 6 cases were measured more than once, of which each measurement counts: allocated bytes differ by up to 0.00 %,
 * footprints by up to 0.18 % (gpt2, infer, bfloat16, batch 8, seq 512 on sm_90)"; and which devices a class is, if they
 * are several: "; sm_90 is NVIDIA H100 80GB HBM3 and NVIDIA H200". Tables have no devices. */
void law_points_append(struct text *text, const struct law_points *points);

/* The table: a line of names, then a line for each point; fields are parted by tabs, unknown bytes are "-". */
enum status_code points_table_write(const struct law_points *points, struct text *text, struct status *error);

/* ---- inside harness/law ---- */

/* Keeps the name of the device that a point of a class was measured on. STATUS_OUT_OF_MEMORY. */
enum status_code law_points_device(struct law_points *points, const char *target, const char *name,
                                   struct status *error);

/* Adds a point whose texts may go away, or counts why it is left out. STATUS_OUT_OF_MEMORY. */
enum status_code law_points_add(struct law_points *points, const struct law_point *point, struct status *error);

/* The numbers of a model by its name, looked for once. False: reason is what becomes of the case. */
bool law_points_model(struct law_points *points, const struct point_places *places, const char *model,
                      const char *attention, struct law_point *point, enum point_reason *reason);

struct line_source;

/* Whether bytes begin a table of points. */
bool points_table_begins(const char *bytes, size_t length);

/* Reads the lines of a table. */
enum status_code points_table_read(struct line_source *lines, const char *path, const char *filter,
                                   const struct point_places *places, struct law_points *points, struct status *error);

#endif
