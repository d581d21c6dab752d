/* Night recipes: the workflow for GitHub, the job for GitLab, the lines for elsewhere. Their own shell is carried out
 * in a workflow scene, on the host in place of the GPU. */
#ifndef ASSAY_TESTS_CI_NIGHT_RECIPES_H
#define ASSAY_TESTS_CI_NIGHT_RECIPES_H

#include "tests/ci/workflow_scene.h"

/* The lines for elsewhere are run by a shell that goes on after an error, and by one that does not. */
enum { GITHUB, GITLAB, ELSEWHERE_PLAIN, ELSEWHERE_ERREXIT, RECIPE_COUNT };

/* Lines for workflow_expect that make the scene's assay measure ten times as much, and call a case that was measured
 * an error; and one that ends that. */
#define WORSE     "echo 's/(\"allocated_bytes_peak\": ?[0-9]+)/\\10/g' >edit"
#define BROKEN    "echo '0,/\"status\": ?\"ok\"/s//\"status\": \"error\"/' >edit"
#define AS_IT_WAS "rm edit"

/* One night. accept: the reason of whoever accepts it; "": nobody does. */
void night_expect(const struct scratch_scene *scene, int recipe, const char *accept, int exit_code, const char *said);

/* The first one, green. Only GitLab's cache may be lost, so that somebody has to say there that it is the first. */
void first_night_expect(const struct scratch_scene *scene, int recipe);

/* What `assay history show` prints of the recipe's history. */
void history_expect(const struct scratch_scene *scene, int recipe, const char *said);

#endif
