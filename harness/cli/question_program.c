/* Question program: the lines. Which habits a program has is the register's matter (harness/case/program.h). */
#include "harness/cli/question_program.h"

#include "harness/base/size.h"
#include "harness/case/program.h"
#include "harness/cli/parallel_options.h"
#include "harness/question/trial.h"

/* False if the case is none without the habits, or nothing predicts it: then there is nothing to compare. */
static bool lean_peak(const struct question_case *question, int64_t *bytes)
{
    struct workload lean = program_leave(&question->identity.workload, question->fields_named);
    struct estimate_input input = question->input;
    struct skeleton skeleton = {0};
    struct trial trial;
    input.workload = &lean;
    input.memory_bytes = 0;
    bool is_case = workload_check(&lean, NULL) == STATUS_OK &&
                   model_skeleton(&question->model, &lean, &skeleton, NULL) == STATUS_OK;
    input.skeleton = &skeleton; /* of a program that has classes of its own, it is another */
    is_case = is_case && trial_run(&input, INT64_MAX, &trial, NULL) == STATUS_OK;
    skeleton_release(&skeleton);
    if (is_case) {
        *bytes = trial.unbounded.reserved_bytes_peak;
    }
    return is_case;
}

void question_program_lines(const struct question_case *question, struct text *text)
{
    const struct identity *identity = &question->identity;
    char size[SIZE_TEXT_BYTES];
    int64_t bytes = 0;
    program_line(&identity->workload, identity->fields, text);
    if (identity_has(identity, FIELD_PROGRAM) && identity->workload.program != PROGRAM_LEAN_LOOP &&
        !parallel_divides(question->input.parallel) && lean_peak(question, &bytes)) {
        text_format(text, "  --program lean-loop, which keeps nothing: %s reserved at the peak\n",
                    size_format(bytes, size));
    }
}
