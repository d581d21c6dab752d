/* Program: a name for the habits of a program that people run. Its row says which value each field has that nobody
 * names.
 *
 * A program says how a loop treats what a model gives it: whether outputs and caches live on, when gradients go,
 * which optimizer steps. It is a field of the case like others (case_field.h); the values that follow from it are
 * written out in the identity, so that a record means the same when a row changes. */
#ifndef ASSAY_CASE_PROGRAM_H
#define ASSAY_CASE_PROGRAM_H

#include "harness/base/json.h"
#include "harness/base/text.h"
#include "harness/case/workload.h"

enum { PROGRAM_SETTINGS_MAXIMUM = 14 };

struct program_setting {
    const char *value; /* as a suite spells it; NULL: there is no such setting */
    enum case_field field;
    bool is_fixed;      /* the program itself has no other; else it is a default, which a case may change */
    const char *source; /* where this is read: "transformers 5.23, trainer.py, _run_epoch" */
};

struct program_row {
    const char *what; /* a line for people */
    unsigned modes;   /* those that it has: IN_TRAIN, ... */
    struct program_setting settings[PROGRAM_SETTINGS_MAXIMUM];
};

const struct program_row *program_row(enum program program);

/* The program that people write, for who asks about a case and names none: the loop of the documentation where it has
 * the mode, else lean-loop, which has no habits. Suites do not ask: theirs is lean-loop, whatever is usual. */
enum program program_of_questions(enum mode mode);

/* The same case as lean-loop, which keeps nothing from pass to pass: fields that the program of the workload has set
 * are the usual ones again, but for those of fields_named. */
struct workload program_leave(const struct workload *workload, uint64_t fields_named);

/* Gives the fields of the program's settings their values, as far as the mode of the workload has them, and as the
 * program has them in the releases of the workload. Called after mode and release are known and before what else a user
 * names, which wins. */
void program_apply(enum program program, struct workload *workload);

/* Takes back what the program has said of fields that say nothing about the case (caches of an encoder); what
 * somebody else has said stays. */
void program_take_back(struct workload *workload, uint64_t fields_said);

/* Whether the program has the mode, and all that is fixed is as it has it. STATUS_INVALID with the remedy. */
enum status_code program_check(const struct workload *workload, struct status *error);

/* Whether a program says something about this field in its row: whether it is a habit. */
bool program_is_habit(enum case_field field);

/* Whether the program itself has one value of this field and no other. */
bool program_fixes(enum program program, enum case_field field);

/* A line that names the program of a case and its habits: "program plain-loop, the default: use_cache true, outputs
 * kept", the default being that of questions.
 * Nothing for a mode that has no program. */
void program_line(const struct workload *workload, uint64_t fields_said, struct text *text);

/* The name of the program of a case; null in a mode that has none. */
struct json *program_json(const struct workload *workload, uint64_t fields_said);

#endif
