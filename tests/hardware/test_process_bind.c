/* A process kept on some of the cores that it may run on, and on no others. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/hardware/process_bind.h"

/* The first cpu that this process may run on, and one that does not exist. */
static int first_allowed(void)
{
    cpu_set_t allowed;
    assert_int_equal(sched_getaffinity(0, sizeof allowed, &allowed), 0);
    int cpu = 0;
    while (!CPU_ISSET((size_t)cpu, &allowed)) {
        cpu++;
    }
    return cpu;
}

/* 0 if it is now bound to this one cpu alone. */
static int bound_child(int cpu)
{
    const int cpus[] = {cpu, -1, 1 << 20};
    cpu_set_t allowed;
    bool is_bound = process_bind(cpus, 3) && sched_getaffinity(0, sizeof allowed, &allowed) == 0;
    return is_bound && CPU_COUNT(&allowed) == 1 && CPU_ISSET((size_t)cpu, &allowed) ? 0 : 1;
}

/* 0 if nothing has changed. */
static int refused_child(void)
{
    const int cpus[] = {-1, 1 << 20};
    cpu_set_t before, after;
    bool is_read = sched_getaffinity(0, sizeof before, &before) == 0;
    bool is_bound = process_bind(cpus, 2) || process_bind(cpus, 0);
    is_read = is_read && sched_getaffinity(0, sizeof after, &after) == 0;
    return is_read && !is_bound && CPU_EQUAL(&before, &after) ? 0 : 1;
}

static void child_check(int (*child)(int), int cpu)
{
    int status = 1;
    pid_t process = fork();
    assert_true(process >= 0);
    if (process == 0) {
        _exit(child != NULL ? child(cpu) : refused_child());
    }
    assert_int_equal(waitpid(process, &status, 0), process);
    assert_int_equal(status, 0);
}

static void a_process_keeps_to_what_it_may_use_of_the_wish(void **state)
{
    (void)state;
    child_check(bound_child, first_allowed());
}

static void a_wish_for_none_of_them_changes_nothing(void **state)
{
    (void)state;
    child_check(NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_keeps_to_what_it_may_use_of_the_wish),
        cmocka_unit_test(a_wish_for_none_of_them_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
