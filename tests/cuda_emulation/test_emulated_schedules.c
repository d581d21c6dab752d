/* EMULATED_SEED draws the order of blocks, warps and lanes and the size of the grid, each for itself, and the same
 * number draws the same. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/base/library_symbol.h"
#include "tests/cuda_emulation/planted/planted_races.h"

enum { LAUNCHES = 48, TURNS = PLANTED_BLOCKS * PLANTED_THREADS, WARP = 32 };

/* One launch: how many blocks ran, and whether within the first that did lanes and warps went forwards. */
struct seen {
    int blocks;
    bool lanes_forwards, warps_forwards;
};

static void launches_see(void (*turns_take)(int *), struct seen *seen)
{
    int turns[TURNS];
    for (int launch = 0; launch < LAUNCHES; launch++) {
        turns_take(turns);
        int first = -1;
        seen[launch].blocks = 0;
        for (int block = 0; block < PLANTED_BLOCKS; block++) {
            bool ran = turns[block * PLANTED_THREADS] > 0;
            first = ran && first < 0 ? block : first;
            seen[launch].blocks += ran;
        }
        const int *of_block = turns + first * PLANTED_THREADS;
        seen[launch].lanes_forwards = of_block[0] < of_block[1] && of_block[1] < of_block[2];
        seen[launch].warps_forwards = of_block[0] < of_block[WARP];
    }
}

static int child_write(const char *seed, int to)
{
    char path[PATH_MAX];
    struct seen seen[LAUNCHES] = {{0}};
    void (*turns_take)(int *) = NULL;
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 32);
    path[length > 0 ? length : 0] = '\0';
    snprintf(strrchr(path, '/'), 32, "/watched/libplanted.so");
    setenv("EMULATED_SEED", seed, 1);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL || !symbol_find(library, "planted_turns", &turns_take)) {
        return 1;
    }
    launches_see(turns_take, seen);
    return write(to, seen, sizeof seen) == (ssize_t)sizeof seen ? 0 : 1;
}

/* In a process of its own, which reads the seed once. */
static void launches_of(const char *seed, struct seen *seen)
{
    int ends[2], wait_status = 0;
    assert_int_equal(pipe(ends), 0);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        _exit(child_write(seed, ends[1]));
    }
    close(ends[1]);
    assert_int_equal(read(ends[0], seen, LAUNCHES * sizeof *seen), LAUNCHES * sizeof *seen);
    assert_int_equal(waitpid(pid, &wait_status, 0), pid);
    assert_int_equal(wait_status, 0);
    close(ends[0]);
}

static void a_seed_repeats_its_schedules(void **state)
{
    (void)state;
    struct seen first[LAUNCHES], again[LAUNCHES], other[LAUNCHES];
    launches_of("1", first);
    launches_of("1", again);
    launches_of("2", other);
    assert_memory_equal(first, again, sizeof first);
    assert_memory_not_equal(first, other, sizeof first);
}

static void each_part_is_drawn_for_itself(void **state)
{
    (void)state;
    struct seen seen[LAUNCHES];
    int of_blocks[PLANTED_BLOCKS + 1] = {0}, of_orders[2][2] = {{0}};
    launches_of("3", seen);
    for (int launch = 0; launch < LAUNCHES; launch++) {
        of_blocks[seen[launch].blocks]++;
        of_orders[seen[launch].lanes_forwards][seen[launch].warps_forwards]++;
    }
    assert_true(of_blocks[1] > 0 && of_blocks[3] > 0 && of_blocks[PLANTED_BLOCKS] > 0);
    assert_int_equal(of_blocks[1] + of_blocks[3] + of_blocks[PLANTED_BLOCKS], LAUNCHES);
    assert_true(of_orders[0][0] > 0 && of_orders[0][1] > 0 && of_orders[1][0] > 0 && of_orders[1][1] > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_seed_repeats_its_schedules),
        cmocka_unit_test(each_part_is_drawn_for_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
