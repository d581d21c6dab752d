/* Lines of peers/pytorch/programs.py as cases. What the case says of the loop is in the words of torch. */
#include "tests/models/program_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "harness/case/program.h"
#include "harness/case/share.h"
#include "tests/models/shadow_lines.h"

/* What the case says of the loop, in the words of torch. */
static const struct {
    const char *theirs, *ours;
} words[] = {{"adamw", "adamw-foreach"},
             {"adam", "adam-foreach"},
             {"default", "foreach"},
             {"adafactor", "adafactor-transformers"}};

static const char *word_of(const char *theirs)
{
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strcmp(words[i].theirs, theirs) == 0) {
            return words[i].ours;
        }
    }
    return theirs;
}

static void said_take(const struct json *line, const char *key, struct workload *workload)
{
    const char *text = json_string_or(json_get(line, key), NULL);
    if (text != NULL) {
        assert_int_equal(workload_set(workload, key, word_of(text), NULL), STATUS_OK);
    }
}

struct workload program_line_workload(const struct json *line)
{
    struct workload workload = workload_default(MODE_LOAD);
    const char *program = shadow_text(line, "program");
    assert_int_equal(workload_set(&workload, "mode", shadow_text(line, "mode"), NULL), STATUS_OK);
    workload = workload_default(workload.mode);
    assert_int_equal(workload_set(&workload, "program", program, NULL), STATUS_OK);
    workload.release = json_string_or(json_get(line, "release"), NULL); /* borrowed of the line */
    program_apply(workload.program, &workload);
    said_take(line, "precision", &workload);
    said_take(line, "optimizer", &workload);
    said_take(line, "clip_grad", &workload);
    said_take(line, "loss", &workload);
    workload.batch = json_integer_or(json_get(line, "batch"), 1);
    workload.seq = json_integer_or(json_get(line, "seq"), 0);
    workload.checkpointing = json_boolean_or(json_get(line, "checkpointing"), false);
    workload.accumulate = json_integer_or(json_get(line, "accumulate"), 1);
    workload.label_smoothing = json_real_or(json_get(line, "label_smoothing_factor"), 0.0) > 0.0
                                   ? LABEL_SMOOTHING_TRAINER
                                   : LABEL_SMOOTHING_NONE;
    workload.lora_rank = json_integer_or(json_get(line, "lora_rank"), 0);
    if (strcmp(program, "plain-loop") == 0 || strcmp(program, "peft-script") == 0) {
        workload.lora_dropout = json_get(line, "lora_dropout") != NULL
                                    ? share_millionths(json_real_or(json_get(line, "lora_dropout"), 0.0))
                                    : workload.lora_dropout;
        said_take(line, "outputs", &workload);
        said_take(line, "zero_grad", &workload);
        if (!json_boolean_or(json_get(line, "set_to_none"), true)) {
            workload.zero_grad_to = ZERO_GRAD_TO_ZEROS;
        }
        workload.use_cache = workload.seq > 0 && json_boolean_or(json_get(line, "use_cache"), true);
    }
    return workload;
}
