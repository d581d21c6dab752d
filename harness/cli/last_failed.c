/* Last failed: figures of a folder to a choice. How a case stands is decided in harness/record. */
#include "harness/cli/last_failed.h"

#include <stdlib.h>
#include <string.h>

#include "harness/record/record.h"
#include "harness/report/run_figures.h"

static int absent_compare(const void *id, const void *absent)
{
    return strcmp(id, ((const struct absent_case *)absent)->id);
}

static bool case_is_absent(const struct run_figures *figures, const char *id)
{
    return figures->absent_count > 0 &&
           bsearch(id, figures->absent, (size_t)figures->absent_count, sizeof *figures->absent, absent_compare) != NULL;
}

/* Of attempts that are missing and that nobody can name, as after a kill before the selection was written, every case
 * may be one. */
static bool case_failed(const struct run_figures *figures, const char *id)
{
    const struct case_figures *found = run_figures_find(figures, id);
    return figures->unnamed_absent_count > 0 || case_is_absent(figures, id) ||
           (found != NULL && found->standing != STANDING_OK && found->standing != STANDING_SKIP);
}

enum status_code last_failed_choose(const char *folder, const struct suite *suite, struct case_choice *choice,
                                    struct status *error)
{
    struct run_figures figures = {0};
    if (!record_is_in(folder)) {
        return status_set(
            error, STATUS_INVALID,
            "run: --last-failed: %s has no results; run without it first, or name their folder with --out", folder);
    }
    enum status_code code = run_figures_read(folder, &figures, error);
    if (code == STATUS_OK) {
        for (int i = 0; i < suite->case_count; i++) {
            if (!case_failed(&figures, suite->cases[i].id)) {
                case_choice_drop(choice, i);
            }
        }
        case_choice_tell(choice, LAST_FAILED_WORDS);
    }
    run_figures_release(&figures);
    return code;
}
