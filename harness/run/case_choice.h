/* Case choice: which cases of a suite a run takes, and how many attempts it makes at each. The options of a command
 * make a choice; further rules (which part of several machines, which cases failed before) then leave cases out. */
#ifndef ASSAY_RUN_CASE_CHOICE_H
#define ASSAY_RUN_CASE_CHOICE_H

#include "harness/base/status.h"
#include "harness/base/text.h"
#include "harness/suite/suite.h"

enum { CASE_ATTEMPTS_MAXIMUM = 1000 }; /* as of `repeat` in a suite */

/* Patterns are those of suite_case_matches, which see ids and tags. Borrowed. */
struct case_rules {
    const char *const *filters; /* a case that one of them matches is taken; none: all are */
    int filter_count;
    const char *const *nots; /* a case that one of them matches is left out all the same */
    int not_count;
    int repeat; /* attempts at each case, 1 to CASE_ATTEMPTS_MAXIMUM; 0: as many as the suite says */
};

struct case_choice {
    int *attempts;     /* by case of the suite; 0: it is left out */
    int suite_count;   /* cases of the suite */
    int case_count;    /* that are taken */
    int attempt_count; /* at all of them together */
    struct text words; /* what leaves cases out: "*b1, not train"; "": nothing does, it is the whole suite */
};

/* STATUS_INVALID: "no case of suites/x.yaml matches 'gpt3*'; assay plan suites/x.yaml --ids lists them": of a filter
 * that no case matches, and of filters that leave none. STATUS_OUT_OF_MEMORY. The caller releases *choice. */
enum status_code case_choice_make(const struct suite *suite, const struct case_rules *rules, struct case_choice *choice,
                                  struct status *error);

/* A choice that was made before: attempts by case of the suite, and what left cases out, in words. A list of 0 alone is
 * no error. STATUS_OUT_OF_MEMORY. The caller releases *choice. */
enum status_code case_choice_again(const struct suite *suite, const int *attempts, const char *words,
                                   struct case_choice *choice, struct status *error);

/* A further rule leaves this case of the suite out (nothing if it is out already). Whoever applies it says with
 * case_choice_tell what it is, once. A rule may leave none: then case_count is 0. */
void case_choice_drop(struct case_choice *choice, int index);
void case_choice_tell(struct case_choice *choice, const char *rule); /* "part 2 of 4" */

/* Attempts at this case of the suite; choice NULL: every case, as often as the suite says. */
int case_choice_attempts(const struct case_choice *choice, const struct suite *suite, int index);

void case_choice_release(struct case_choice *choice); /* all zero is accepted */

#endif
