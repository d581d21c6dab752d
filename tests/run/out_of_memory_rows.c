/* Out of memory rows: the figures are derived by hand from PyTorch's rules. tests/run/data/wide-gpt2.json has one
 * tensor that counts, its embedding of 60000 x 64 float32 (15,360,000 bytes: a segment of 16 MiB of its own), and small
 * ones that share segments of 2 MiB; the cuBLAS workspace of sm_75 (8,519,680 bytes) has one of 20 MiB. */
#include "tests/run/out_of_memory_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

enum { MIB = 1024 * 1024, EMBEDDING_BYTES = 60000 * 64 * 4 };

static const struct {
    const char *axes;
    int64_t bound_bytes;
    const char *stage, *label;
    int64_t wanted_bytes, held_bytes;
} ROWS[] = {
    {"mode: train", 1 * MIB, "load", "transformer.wte.weight", EMBEDDING_BYTES, 0},
    /* weights: 16 + 2 */
    {"mode: train", 18 * MIB, "forward", "cuBLAS workspace", 8519680, 18 * MIB},
    /* and the workspace's 20, logits and what is saved: 2 */
    {"mode: train", 44 * MIB, "backward", "linear weight gradient", EMBEDDING_BYTES, 40 * MIB},
    /* embedding, gradient, two moments: 4 of 16; workspace 20; small ones 2 */
    {"mode: train, optimizer: adam-single", 88 * MIB, "step", "SQUARE_ROOT", EMBEDDING_BYTES, 86 * MIB},
    /* as in forward; the second token's logits (60000 x 4) do not fit into the small segment any more */
    {"mode: generate, new_tokens: 2, seq: 1", 38 * MIB, "generate", "clone", 60000 * 4, 38 * MIB},
};

/* What PyTorch's allocator asks the driver for when nothing cached serves. */
static int64_t segment_bytes_of(int64_t bytes)
{
    return bytes <= MIB ? 2 * MIB : bytes < 10 * MIB ? 20 * MIB : (bytes + 2 * MIB - 1) / (2 * MIB) * (2 * MIB);
}

void out_of_memory_rows_check(struct scene *scene, const char *(*device_bound)(int64_t bytes))
{
    for (size_t i = 0; i < sizeof ROWS / sizeof ROWS[0]; i++) {
        char line[256];
        snprintf(line, sizeof line, "  - {model: tests/run/data/wide-gpt2.json, %s, for: sm_75%s}\n", ROWS[i].axes,
                 strstr(ROWS[i].axes, "seq:") != NULL ? "" : ", seq: 4");
        cases_set(scene, line);
        assert_int_equal(measure(scene, device_bound(ROWS[i].bound_bytes)), RUN_INCONCLUSIVE);
        const struct json *oom = json_get(case_at(scene, 0), "oom");
        const struct json *stages = json_get(case_at(scene, 0), "stages");
        int64_t free_bytes = ROWS[i].bound_bytes - ROWS[i].held_bytes;
        assert_string_equal(text_at(case_at(scene, 0), "status"), "oom");
        assert_string_equal(text_at(oom, "stage"), ROWS[i].stage);
        assert_string_equal(text_at(oom, "label"), ROWS[i].label);
        assert_int_equal(integer_at(oom, "wanted_bytes"), ROWS[i].wanted_bytes);
        assert_int_equal(integer_at(oom, "held_bytes"), ROWS[i].held_bytes);
        assert_int_equal(integer_at(oom, "free_bytes"), free_bytes);
        assert_true(segment_bytes_of(ROWS[i].wanted_bytes) > free_bytes); /* so it had to fail */
        bool loaded = strcmp(ROWS[i].stage, "load") != 0;
        assert_int_equal(json_kind(json_get(stages, "load")), loaded ? JSON_KIND_OBJECT : JSON_KIND_NULL);
        assert_int_equal(json_kind(json_get(case_at(scene, 0), "allocated_bytes_peak")), JSON_KIND_NULL);
    }
}
