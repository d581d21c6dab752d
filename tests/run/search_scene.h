/* Search scene: cases that look for their batch, and what their records say. For the tests of this folder. */
#ifndef ASSAY_TESTS_RUN_SEARCH_SCENE_H
#define ASSAY_TESTS_RUN_SEARCH_SCENE_H

#include "tests/run/run_scene.h"

/* A bound in which tiny-gpt2 infers 78 sequences of 64 tokens, and not 79. */
#define BOUNDED     "for: host, memory: 24MiB"
#define HALVE(rest) "  - {model: tiny-gpt2, mode: infer, seq: 64, batch: 150, " BOUNDED ", find_batch: halve" rest "}\n"
#define BISECT(rest)                                                                                                   \
    "  - {model: tiny-gpt2, mode: infer, seq: 64, batch: 50, " BOUNDED ", find_batch: bisect" rest "}\n"

enum { TRIES_WORDS_BYTES = 512 };

/* Runs the suite of the scene, and reads the records back. */
enum run_outcome search_measure(struct scene *scene, const struct case_runner *runner, const char *device);

const struct json *search_at(const struct scene *scene, int index); /* "search" of a case of the last run */

/* "256 refused, 128 ran", by a member of the tries: "ended", or one that is true where it runs. */
void tries_words(const struct json *of, const char *key, char words[TRIES_WORDS_BYTES]);
void tries_expect(const struct json *of, const char *wanted); /* by "ended" */

/* value: where kind is JSON_KIND_BOOLEAN. */
void pass_expect(const struct json *search, enum json_kind kind, bool value);

#endif
