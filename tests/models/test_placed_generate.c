/* Generation over several devices against the real one: peers/placement/dispatch-generate-*.jsonl has what each device
 * held while transformers' generate() ran a model that accelerate had dispatched, and in forward passes with sdpa. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "models/config/family.h"
#include "tests/models/dispatch_lines.h"
#include "tests/models/shadow_lines.h"

static int line_minimum = 500;
static const char *lines_path =
    "peers/placement/dispatch-generate-torch-2.11.0-transformers-5.23.0-accelerate-1.15.0.jsonl";

static int differing, refused, theirs_alone;

/* A class that has eager attention alone is an error for transformers, where it is asked for sdpa; assay takes what it
 * has. */
static bool is_asked_for_sdpa_in_vain(const char *fault, const struct dispatch_model *model)
{
    return config_attends_eagerly(&model->config) && strncmp(fault, "ValueError: ", 12) == 0 &&
           strstr(fault, "does not support an attention implementation") != NULL;
}

static void difference_tell(const struct json *line, const char *what)
{
    struct text text = {0};
    assert_int_equal(json_write(line, 0, &text, NULL), STATUS_OK);
    print_error("%s\n  %s\n", text.data, what);
    text_release(&text);
    differing++;
}

/* The head of a model whose words stay on the host, tied to them and kept on the disk: in the first pass after
 * dispatch_model what is brought of it goes before its product, because the words are used, and in every later one
 * after it. Our tape has later ones: the one row of logits for each item comes beside it. */
static bool is_first_of_tied_head(const struct json *line, const struct dispatch_model *model, enum stage stage,
                                  int64_t more_bytes)
{
    const struct workload workload = dispatch_workload(line);
    const char *head = json_string_or(json_get(json_get(line, "map"), "lm_head"), "");
    return stage == STAGE_FORWARD && workload.mode == MODE_GENERATE && model->config.tied_head &&
           strcmp(head, "disk") == 0 && model->placement.main == CPU &&
           more_bytes == workload.batch * model->config.vocab * 4;
}

/* A number that PyTorch makes in the host's memory and copies to its device, int64: of a layer with a sliding window
 * what it counts, at its first pass; of Falcon the list by which it takes one head, in each. */
static bool is_number_on_its_way(const struct dispatch_model *model, enum stage stage, int place, int64_t more_bytes)
{
    bool counts = stage == STAGE_FORWARD && model->config.sliding_window > 0;
    bool lists = strcmp(model->config.family->name, "falcon") == 0;
    return place == CPU && (counts || lists) && more_bytes == 8;
}

/* On the host assay runs attention with its own kernel, which stores no scores. PyTorch's has none for heads whose keys
 * and values differ in width, nor for a mask of one item with keys that all heads share, and takes its math form there,
 * which is larger. */
static bool is_math_of_host(const struct dispatch_model *model, const struct workload *workload, int place,
                            int64_t more_bytes)
{
    const struct config *config = &model->config;
    bool lacks_kernel = config->latent > 0 || strcmp(config->family->name, "falcon") == 0;
    bool is_host = model->placement.main == CPU && place == CPU && workload->attention == ATTENTION_SDPA;
    return lacks_kernel && is_host && more_bytes > 0;
}

static void stage_compare(const struct json *line, const struct json *theirs, const struct dispatch_model *model,
                          enum stage stage)
{
    const struct tape_view tape = tape_view(model->tape), *view = &tape;
    const struct workload workload = dispatch_workload(line);
    struct place_figures ours = place_figures_take(view, stage);
    for (int place = 0; place < DISK; place++) {
        int64_t special = dispatch_bytes(json_get(line, "special"), place); /* said apart: held while generate() runs */
        int64_t end = dispatch_bytes(json_get(theirs, "end"), place) + (stage == STAGE_FORWARD ? special : 0);
        int64_t peak = dispatch_bytes(json_get(theirs, "peak"), place) + special;
        bool same = ours.peak[place] == peak || is_number_on_its_way(model, stage, place, peak - ours.peak[place]) ||
                    is_math_of_host(model, &workload, place, peak - ours.peak[place]) ||
                    (place == CPU && is_first_of_tied_head(line, model, stage, ours.peak[place] - peak));
        if (ours.end[place] != end || !same) {
            char what[160];
            snprintf(what, sizeof what, "%s %s: %lld at the end and %lld at most, the real one %lld and %lld",
                     stage_name(stage), dispatch_device(place), (long long)ours.end[place], (long long)ours.peak[place],
                     (long long)end, (long long)peak);
            difference_tell(line, what);
        }
    }
}

static bool line_check(const struct json *line)
{
    if (strcmp(shadow_text(line, "type"), "case") != 0) {
        return false;
    }
    struct status error = {0};
    struct dispatch_model model = {0};
    struct workload workload = dispatch_workload(line);
    const char *fault = json_string_or(json_get(line, "error"), NULL);
    enum status_code code = dispatch_model_place(line, &workload, &model, &error);
    if (fault != NULL) {
        bool is_theirs = code == STATUS_OK &&
                         (dispatch_fault_is_theirs(line, fault, &model) || is_asked_for_sdpa_in_vain(fault, &model));
        refused += code == STATUS_INVALID ? 1 : 0;
        theirs_alone += is_theirs ? 1 : 0;
        if (code != STATUS_INVALID && !is_theirs) {
            difference_tell(line, code == STATUS_OK ? "our tape runs" : error.text);
        }
    } else if (code != STATUS_OK) {
        difference_tell(line, error.text);
    } else {
        if (workload.mode == MODE_GENERATE) {
            stage_compare(line, json_get(line, "forward"), &model, STAGE_FORWARD);
            stage_compare(line, json_get(line, "generate"), &model, STAGE_GENERATE);
        } else {
            stage_compare(line, line, &model, STAGE_FORWARD);
        }
    }
    dispatch_model_release(&model);
    return true;
}

static void each_device_holds_what_it_holds_for_transformers(void **state)
{
    (void)state;
    differing = refused = theirs_alone = 0;
    int checked = shadow_lines_each(lines_path, line_check);
    print_message("%d lines checked, %d that neither runs, %d that fail for accelerate alone\n", checked, refused,
                  theirs_alone);
    assert_true(checked > line_minimum);
    assert_int_equal(differing, 0);
}

int main(int argc, char **argv)
{
    if (argc > 1) { /* lines of one's own: to look at one model */
        lines_path = argv[1];
        line_minimum = 0;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_device_holds_what_it_holds_for_transformers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
