/* Published figures: the lines of peers/published/figures.jsonl, and the same predicted again. */
#ifndef ASSAY_TESTS_PUBLISHED_PUBLISHED_FIGURES_H
#define ASSAY_TESTS_PUBLISHED_PUBLISHED_FIGURES_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/json.h"

enum published_change { PUBLISHED_SAME, PUBLISHED_BETTER, PUBLISHED_WORSE, PUBLISHED_CHANGE_COUNT };

/* What became of a prediction: nearer to the measurement, or further away. The other side of it at the same distance is
 * worse where it is below: too little is the worse error. */
enum published_change published_change(int64_t measured, int64_t stood, int64_t now);

/* The lines of a file, each a document; the caller releases the array. Fails the test where one is none. */
struct json *published_lines(const char *path);

/* Whether a figure is asked again: if a prediction of it stands; with the sanitizers, of training alone. */
bool published_is_asked(const struct json *figure);

/* The plans of all suites that the figures which are asked again name, by the name of the suite; the caller releases
 * them. Fails the test where a plan does. */
struct json *published_plans(const struct json *figures);

/* What the plan of its suite predicts for a figure now. Fails the test where the plan lacks the case or the figure. */
int64_t published_prediction(const struct json *plans, const struct json *figure);

#endif
