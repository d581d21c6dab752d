/* Fault plan: what EMULATED_FAULT says, and the file that goes with it. */
#include "tests/cuda_emulation/fault_plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void fault_plan(const char *folder, const char *call)
{
    char file[128], text[256];
    snprintf(file, sizeof file, "%s/fault", folder);
    int made = open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(made >= 0);
    close(made);
    snprintf(text, sizeof text, "%s:%s", call, file);
    assert_int_equal(setenv("EMULATED_FAULT", text, 1), 0);
}

bool fault_withdraw(void)
{
    const char *text = getenv("EMULATED_FAULT");
    assert_non_null(text);
    bool happened = unlink(strchr(text, '/')) != 0;
    assert_int_equal(unsetenv("EMULATED_FAULT"), 0);
    return happened;
}

void fault_unplan(void)
{
    char text[256];
    snprintf(text, sizeof text, "%s", getenv("EMULATED_FAULT"));
    if (!fault_withdraw()) {
        fail_msg("%s has not happened", text);
    }
}
