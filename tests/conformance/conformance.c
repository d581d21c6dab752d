/* Conformance of one operation: passes over its plan, then what none of them has tried. */
#include "tests/conformance/conformance.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/sanitized.h"

enum { FAULTS_REPORTED = 4, TAPE_TRIALS = 4, WANTED_ATTEMPTS = 200 };

/* One pass, or one trial of it. */
struct pass {
    const char *name;
    enum mix mix;
    bool unaligned;
    enum dtype wanted[OPERATION_TENSORS_MAXIMUM];
};

struct conform {
    const struct conformance_request *request;
    struct conformance *conformance;
    struct contract contract;
    int variant_count;
    uint64_t trial_index;
};

static const struct pass pass_any = {.name = "any dtypes",
                                     .mix = MIX_ANY,
                                     .wanted = {DTYPE_COUNT, DTYPE_COUNT, DTYPE_COUNT, DTYPE_COUNT, DTYPE_COUNT,
                                                DTYPE_COUNT, DTYPE_COUNT, DTYPE_COUNT, DTYPE_COUNT, DTYPE_COUNT,
                                                DTYPE_COUNT, DTYPE_COUNT}};

static bool conform_is_over(const struct conform *conform)
{
    return conform->conformance->lost ||
           (conform->request->first_fault_only && !conformance_is_whole(conform->conformance));
}

/* After a fault: an illegal address, say, is an error of all that is asked of a GPU from then on. */
static void device_ask(struct conform *conform)
{
    struct device *device = conform->request->site->device;
    struct status error = {0};
    if (device->table->synchronize(device, &error) != STATUS_OK) {
        conform->conformance->lost = true;
        text_format(&conform->conformance->report, "the rest of it is untried, the device is lost: %s\n", error.text);
    }
}

static uint64_t trial_seed(const struct conform *conform)
{
    return conform->request->seed + (uint64_t)conform->request->opcode * 1000003u + conform->trial_index * 7919u;
}

static void trial_note(struct conform *conform, const struct trial *trial, const struct pass *pass, int variant,
                       const struct trial_outcome *outcome)
{
    struct conformance *conformance = conform->conformance;
    const struct operation_call *call = &trial->call;
    struct conformance_cell *cell = &conformance->cells[contract_class(&conform->contract, call)];
    int operands[OPERATION_TENSORS_MAXIMUM] = {0};
    contract_operands(&conform->contract, call, operands);
    for (int t = 0; t < call->tensor_count; t++) {
        enum dtype dtype = call->tensors[t].dtype;
        bool *tried = &conformance->tried[operands[t]][dtype];
        if (!*tried && !conform->contract.operands[operands[t]].takes[dtype]) {
            text_format(&conformance->report, "beyond the pattern: %s as tensor %d\n", dtype_name(dtype), operands[t]);
        }
        *tried = true;
    }
    cell->trial_count++;
    cell->error = fmax(cell->error, outcome->error);
    cell->share = fmax(cell->share, outcome->share);
    if (outcome->fault[0] != '\0' && cell->fault_count++ < FAULTS_REPORTED) {
        text_format(&conformance->report, "variant %d, %s%s: %s\n", variant, pass->name,
                    pass->unaligned ? ", unaligned" : "", outcome->fault);
        device_ask(conform);
    }
}

/* Plans variant and runs it where it is of that form, or form is NULL. False where there is no such variant. */
static bool variant_try(struct conform *conform, const struct pass *pass, int variant, const struct tape_call *form,
                        bool *ran)
{
    struct trial trial;
    struct trial_outcome outcome;
    trial_open(&trial, conform->request->opcode, pass->mix, trial_seed(conform));
    conform->trial_index++;
    trial.site = conform->request->site;
    trial.unaligned = pass->unaligned;
    memcpy(trial.wanted, pass->wanted, sizeof trial.wanted);
    bool there = conform->request->plan(&trial, variant);
    *ran = there && (form == NULL ||
                     (trial.call.tensor_count == form->tensor_count && trial.call.input_count == form->input_count));
    for (int t = 0; *ran && form != NULL && t < form->tensor_count; t++) {
        *ran = trial.call.tensors[t].dtype == form->dtypes[t];
    }
    if (*ran) {
        trial_measure(&trial, &outcome);
        trial_note(conform, &trial, pass, variant, &outcome);
    }
    trial_close(&trial);
    return there;
}

/* Every step-th variant from the first on. Returns how many variants there are, where step is 1. */
static int variants_walk(struct conform *conform, const struct pass *pass, int first, int step)
{
    int variant = first;
    bool ran;
    while (!conform_is_over(conform) && variant_try(conform, pass, variant, NULL, &ran)) {
        variant += step;
    }
    return variant;
}

/* Sanitizers look for what touches memory of others, which hardly hangs on the dtype: they see the first variant in
 * each floating dtype, every other one in one of them, and all of them in any dtypes. Without them each has all. */
static void uniform_dtype_try(struct conform *conform, struct pass *pass, int row)
{
    bool ran;
    if (IS_SANITIZED && row > 0 && !conform_is_over(conform)) {
        variant_try(conform, pass, 0, NULL, &ran);
    }
    variants_walk(conform, pass, IS_SANITIZED ? row : 0, IS_SANITIZED ? 3 : 1);
    pass->unaligned = true;
    int third = (int)(trial_seed(conform) % 3);
    variants_walk(conform, pass, IS_SANITIZED ? row + 3 * third : third, IS_SANITIZED ? 9 : 3);
}

/* One floating dtype for all tensors that may have it: every variant aligned, and a third of them not. */
static void uniform_dtypes_try(struct conform *conform)
{
    static const struct {
        enum mix mix;
        enum dtype dtype;
    } rows[] = {{MIX_FLOAT32, DTYPE_FLOAT32}, {MIX_FLOAT16, DTYPE_FLOAT16}, {MIX_BFLOAT16, DTYPE_BFLOAT16}};
    bool floating = contract_has_class(&conform->contract, DTYPE_FLOAT32);
    for (size_t i = 0; i < (floating ? sizeof rows / sizeof rows[0] : 0); i++) {
        struct pass pass = pass_any;
        pass.name = dtype_name(rows[i].dtype);
        pass.mix = rows[i].mix;
        uniform_dtype_try(conform, &pass, (int)i);
    }
}

static void random_dtypes_try(struct conform *conform)
{
    struct pass pass = pass_any;
    conform->variant_count = variants_walk(conform, &pass, 0, 1);
    pass.unaligned = true;
    variants_walk(conform, &pass, (int)(trial_seed(conform) % 3), 3);
}

static void call_describe_dtypes(const struct tape_call *call, char *text, size_t bytes)
{
    size_t length = 0;
    text[0] = '\0';
    for (int t = 0; t < call->tensor_count && length < bytes; t++) {
        length += (size_t)snprintf(text + length, bytes - length, "%s%s", t == call->input_count ? " -> " : " ",
                                   dtype_name(call->dtypes[t]));
    }
}

/* The dtypes that tapes give the operation, on a few variants each. A plan draws its optional operands, so one round
 * over its variants may miss a form. */
static void tape_dtypes_try(struct conform *conform)
{
    for (int i = 0; i < conform->request->calls->count && !conform_is_over(conform); i++) {
        const struct tape_call *form = &conform->request->calls->calls[i];
        if (form->opcode != conform->request->opcode) {
            continue;
        }
        struct pass pass = pass_any;
        char dtypes[200];
        int found = 0;
        bool single = true, ran;
        pass.name = "as on a tape";
        for (int t = 0; t < form->tensor_count; t++) {
            pass.wanted[t] = form->dtypes[t];
            single = single && form->dtypes[t] == DTYPE_FLOAT32;
        }
        pass.mix = single ? MIX_FLOAT32 : MIX_ANY;
        int first = (int)(trial_seed(conform) % (uint64_t)(conform->variant_count + 1));
        for (int k = 0; conform->variant_count > 0 && k < WANTED_ATTEMPTS && found < TAPE_TRIALS; k++) {
            variant_try(conform, &pass, (first + k) % conform->variant_count, form, &ran);
            found += ran;
        }
        if (found == 0) {
            call_describe_dtypes(form, dtypes, sizeof dtypes);
            text_format(&conform->conformance->report, "untested: the tape's%s\n", dtypes);
            conform->conformance->untested_count++;
        }
    }
}

/* What an operand may be and chance has not made it. */
static void operand_dtypes_try(struct conform *conform)
{
    for (int operand = 0; operand < conform->contract.operand_count; operand++) {
        for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
            const bool *tried = &conform->conformance->tried[operand][dtype];
            struct pass pass = pass_any;
            bool ran;
            pass.wanted[operand] = (enum dtype)dtype;
            bool wanted = conform->contract.operands[operand].takes[dtype];
            for (int k = 0; wanted && !*tried && k < WANTED_ATTEMPTS && !conform_is_over(conform); k++) {
                variant_try(conform, &pass, k % conform->variant_count, NULL, &ran);
            }
            if (wanted && !*tried && !conform_is_over(conform)) {
                text_format(&conform->conformance->report, "untested: %s as tensor %d\n", dtype_name((enum dtype)dtype),
                            operand);
                conform->conformance->untested_count++;
            }
        }
    }
}

static void classes_check(struct conform *conform)
{
    for (int class = 0; class < CLASS_COUNT; class ++) {
        bool tried = conform->conformance->cells[class].trial_count > 0;
        if (contract_has_class(&conform->contract, class) && !tried) {
            text_format(&conform->conformance->report, "untested: %s\n", class_name(class));
            conform->conformance->untested_count++;
        }
    }
}

void operation_conform(const struct conformance_request *request, struct conformance *conformance)
{
    struct conform conform = {.request = request, .conformance = conformance};
    *conformance = (struct conformance){.opcode = request->opcode};
    contract_of(request->opcode, &conform.contract);
    uniform_dtypes_try(&conform);
    random_dtypes_try(&conform);
    if (!conform_is_over(&conform)) {
        tape_dtypes_try(&conform);
        operand_dtypes_try(&conform);
    }
    if (!conform_is_over(&conform)) {
        classes_check(&conform);
    }
}

void conformance_release(struct conformance *conformance)
{
    text_release(&conformance->report);
}

bool conformance_is_whole(const struct conformance *conformance)
{
    int64_t faults = conformance->untested_count;
    for (int class = 0; class < CLASS_COUNT; class ++) {
        faults += conformance->cells[class].fault_count;
    }
    return faults == 0 && conformance->report.length == 0;
}
