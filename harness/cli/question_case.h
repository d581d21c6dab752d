/* Question case: the model, the workload and the device that a question is about, from the options of a command. */
#ifndef ASSAY_CLI_QUESTION_CASE_H
#define ASSAY_CLI_QUESTION_CASE_H

#include "harness/base/arena.h"
#include "harness/base/json.h"
#include "harness/base/text.h"
#include "harness/cli/case_precision.h"
#include "harness/cli/command.h"
#include "harness/estimate/estimate.h"
#include "harness/question/bounds.h"
#include "harness/question/overhead.h"
#include "harness/suite/identity.h"
#include "harness/tape/gpu_table.h"
#include "models/find/model.h"

/* The rows of options by which a device is named. */
#define QUESTION_DEVICE_ROWS                                                                                           \
    {"on", OPTION_VALUE, "GPU", "a GPU by its name: \"NVIDIA H200\", \"RTX 4090\", \"A100 80GB\""},                    \
        {"memory", OPTION_VALUE, "SIZE", "instead of a GPU: what tensors may take, as 24GiB (1024s) or 24GB (1000s)"}, \
        {"overhead", OPTION_VALUE, "SIZE", "what context and libraries take of it, or published: a range"},            \
    {                                                                                                                  \
        "constants", OPTION_VALUE, "DEVICE", "the overhead measured on a device of results/reference, or a file"       \
    }

/* Stays where it is while it is open: input points into it. */
struct question_case {
    struct arena arena;
    struct model model;
    struct skeleton skeleton;
    struct identity identity;
    uint64_t fields_named; /* by options */
    struct constants constants;
    struct estimate_input input;
    const struct gpu *gpu;    /* --on; NULL: not given */
    const struct gpu *named;  /* --on, or --for if that is a GPU: whose context is predicted; NULL: neither */
    const char *memory_typed; /* --memory; NULL: not given */
    int64_t memory_bytes;     /* of either; 0: neither was given */
    struct overhead overhead; /* of that memory */
    struct precision_choice precision;
    struct text notes; /* model_notes.h */
};

/* Reads operand 0, the case options, and those of --on, --memory, --overhead, --constants and --for that the command
 * has. On failure nothing is open. */
enum status_code question_case_open(const struct arguments *arguments, struct question_case *question,
                                    struct status *error);
/* The device alone, of a question that begins as all zero: gpu, memory, overhead, constants and target. */
enum status_code question_device_read(const struct arguments *arguments, struct question_case *question,
                                      struct status *error);

/* The same model and device with the case options of other arguments. After an error the case is closed by
 * question_case_close all the same. */
enum status_code question_case_vary(const struct arguments *arguments, struct question_case *question,
                                    struct status *error);
void question_case_close(struct question_case *question);

/* Notes that the case, as it stands now, has longer sequences than the model was made for (workload_notes_give). */
void question_positions_note(const struct arguments *arguments, struct question_case *question);

/* STATUS_INVALID if neither --on nor --memory was given. */
enum status_code question_case_needs_memory(const struct arguments *arguments, const struct question_case *question,
                                            struct status *error);

/* What segments may take: the memory less the most that context and libraries take of it; 0 if no device is
 * named. */
int64_t question_segment_bytes(const struct question_case *question);

/* "up to 937.00 MiB taken off for context and libraries, published for other GPUs", or that nothing is, and which
 * option does that. It belongs into the line of an answer, because the answer depends on it. */
void question_taken_words(const struct question_case *question, struct text *text);

/* Its id without the habits that a line of the program says beside it: "gpt2/train/float32/b8/s512/adamw-foreach". */
void question_case_name(const struct question_case *question, struct text *text);

/* "gpt2/train/..., predicted for sm_90", a line, and those of the precision and the program. */
void question_case_heading(const struct question_case *question, struct text *text);

/* One line of what bounds an answer, "on NVIDIA L4 with 21.58 GiB for segments: ... taken off ..."; nothing without a
 * device. */
void question_bound_line(const struct question_case *question, struct text *text);

/* Lines for people: the memory and what it loses to the overhead. */
void question_memory_lines(const struct question_case *question, struct text *text);

/* Sets "id", "case", "program" (its name, null in a mode that has none), "target", "precision", "notes", "device"
 * and, if one was given, "memory_bytes" and "overhead". False if memory ran out. */
bool question_case_set(const struct question_case *question, struct json *document);

/* What its bounds are about. */
struct bounds_device question_bounds_device(const struct question_case *question);

/* One line: a label, a size for people, and its bytes. */
void question_size_line(struct text *text, const char *label, int64_t bytes);

#endif
