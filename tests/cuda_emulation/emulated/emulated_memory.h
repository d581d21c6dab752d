/* The memory of the emulated boards: the host's, taken and counted for each. Three words make it stricter than malloc,
 * whose ends sanitizers watch:
 *
 *   EMULATED_APART       memory is taken by pages, and while something runs on one board, nothing can be touched of the
 *                        others': SIGSEGV, as a GPU without peer access ends it by an illegal address
 *   EMULATED_ARENA       the same, and it is no memory of the host: nothing can be touched outside what runs there and
 *                        copies; what was freed is never taken again, and behind each end nothing can be touched
 *   EMULATED_ALIGNMENT=N what is taken begins at a multiple of N, a power of two, and of no larger one
 *   EMULATED_GRANULES=N  it is counted as drivers do: by granules of N times 2 MiB (of all that are known N is 1), of
 *                        which what has at most a half shares one
 */
#ifndef ASSAY_TESTS_EMULATED_MEMORY_H
#define ASSAY_TESTS_EMULATED_MEMORY_H

#include <stddef.h>

/* Whether EMULATED_ARENA is set: an address of the host is then no address of a board's memory. */
bool emulated_memory_is_closed(void);

/* Poisoned memory; NULL: there is none. */
void *emulated_memory_take(int board, size_t bytes);
/* What it would add to what is counted, and what is counted. */
size_t emulated_memory_growth(int board, size_t bytes);
size_t emulated_memory_taken_on(int board);

/* The board that has all of these bytes in one piece; -1: none has. */
int emulated_memory_board(const void *address, size_t bytes);

/* False where nothing begins there. */
bool emulated_memory_give_back(void *memory);

/* Around all that reads or writes a board's memory; the second ends what the first began. */
void emulated_memory_enter(int board);
void emulated_memory_leave(int board);

#endif
