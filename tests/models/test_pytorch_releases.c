/* The tape of older releases against those releases: what real models of transformers 4.35 and later hold after loading
 * and at the peak of every stage, case by case.
 *
 * The other side is peers/pytorch/shadow-releases-*.jsonl: each release ran on the meta device, as an sm_90 GPU would
 * choose its kernels, under torch 2.1 to 2.4, 2.6 and 2.11, every storage watched. The register of what they do
 * otherwise is harness/case/release.c. What is known to differ is listed below with its reason. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/models/shadow_lines.h"
#include "tests/support/modelled.h"

static int figures_exact, figures_all;

/* A toy's masks and scalars weigh more than those of a model: 3 % bounds them, and 0.5 % the models. */
static void figure_check(const char *id, const char *what, int64_t ours, int64_t theirs)
{
    int64_t off = llabs(ours - theirs), allowed = strstr(id, "tiny-") != NULL ? theirs * 3 / 100 : theirs / 200;
    if (off > allowed) {
        fail_msg("%s: %s: %lld, PyTorch %lld", id, what, (long long)ours, (long long)theirs);
    }
    figures_all++;
    figures_exact += off <= 64;
    if (off > 64 && getenv("ASSAY_TELL") != NULL) {
        print_message("%s: %s: %lld, PyTorch %lld, %+lld\n", id, what, (long long)ours, (long long)theirs,
                      (long long)(ours - theirs));
    }
}

static bool line_check(const struct json *line)
{
    const char *id = shadow_text(line, "id");
    const struct json *release = json_get(line, "release");
    bool is_llama = strstr(id, "llama") != NULL || strstr(id, "Llama") != NULL;
    bool refused = release != NULL && strncmp(json_string_or(release, ""), "transformers=4.38.2", 19) == 0 && is_llama;
    if (*id == '\0' || refused) { /* no id: the versions; refused: its mask of all positions */
        return false;
    }
    char named[256];
    snprintf(named, sizeof named, "%s %s", shadow_text(line, "release"), id);
    struct modelled modelled = {0};
    struct workload workload = shadow_workload(line);
    modelled_require(&modelled, shadow_text(line, "model"), &workload, "sm_90");
    struct tape_view view = tape_view(modelled.tape);
    struct stage_figures figures;
    stage_figures_take(&view, &figures);
    int64_t loaded = json_integer_or(json_get(line, "load_bytes"), -1);
    if (figures.end[STAGE_LOAD] != loaded) {
        fail_msg("%s: load: %lld, PyTorch %lld", named, (long long)figures.end[STAGE_LOAD], (long long)loaded);
    }
    for (int stage = STAGE_FORWARD; stage < STAGE_COUNT; stage++) {
        const struct json *shadow = json_get(json_get(line, "stages"), stage_name((enum stage)stage));
        if (shadow != NULL) {
            figure_check(named, stage_name((enum stage)stage), figures.peak[stage],
                         json_integer_or(json_get(shadow, "requested_bytes_peak"), -1));
        }
    }
    modelled_close(&modelled);
    return true;
}

/* The lines of a release, and how many of its figures are equal at least, in percent. */
struct release_lines {
    const char *name, *path;
    int percent;
};

static void tape_agrees(void **state)
{
    const struct release_lines *lines = *state;
    figures_exact = figures_all = 0;
    int checked = shadow_lines_each(lines->path, line_check);
    print_message("%d cases, %d of %d figures equal\n", checked, figures_exact, figures_all);
    assert_true(checked >= 20);
    assert_true(figures_exact * 100 >= figures_all * lines->percent);
}

int main(void)
{
#define LINES(torch, release, percent)                                                                                 \
    {                                                                                                                  \
        "torch_" torch "_transformers_" release,                                                                       \
            "peers/pytorch/shadow-releases-torch-" torch "-transformers-" release ".jsonl", percent                    \
    }
    static struct release_lines lists[] = {
        LINES("2.11.0", "4.35.2", 60), LINES("2.11.0", "4.38.2", 65), LINES("2.11.0", "4.46.3", 65),
        LINES("2.11.0", "4.51.3", 65), LINES("2.1.2", "4.35.2", 60),  LINES("2.2.2", "4.38.2", 60),
        LINES("2.3.1", "4.43.4", 55),  LINES("2.4.1", "4.46.0", 60),  LINES("2.6.0", "4.51.3", 60)};
    enum { LIST_COUNT = sizeof lists / sizeof lists[0] };
    struct CMUnitTest tests[LIST_COUNT];
    for (int i = 0; i < LIST_COUNT; i++) {
        tests[i] = (struct CMUnitTest){lists[i].name, tape_agrees, NULL, NULL, &lists[i]};
    }
    return cmocka_run_group_tests(tests, NULL, NULL);
}
