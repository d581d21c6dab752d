/* Fault plan: one fault of the emulated GPU, in the next process that opens it. Holds no test. */
#ifndef ASSAY_TESTS_CUDA_EMULATION_FAULT_PLAN_H
#define ASSAY_TESTS_CUDA_EMULATION_FAULT_PLAN_H

#include <stdbool.h>

/* call: "launch:40:700" as EMULATED_FAULT has it (emulated_runtime.cpp). The fault takes away the file in folder that
 * says that it has yet to happen. Fails the running test where it cannot be planned. */
void fault_plan(const char *folder, const char *call);

/* Fails the running test where the fault has not happened. */
void fault_unplan(void);

/* Whether it has happened; it will not any more. */
bool fault_withdraw(void);

#endif
