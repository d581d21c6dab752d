/* Fibers: calls that wait in the middle, each on a stack of its own, all in one thread. Emulated kernels change between
 * them some hundred million times in a run of the tests, so that on x86-64 a change is a dozen instructions. */
#ifndef ASSAY_TESTS_CUDA_FIBER_H
#define ASSAY_TESTS_CUDA_FIBER_H

#include <csetjmp>
#include <cstddef>
#include <ucontext.h>

#ifdef __x86_64__
struct fiber {
    void *place; /* the top of its stack, where it waits */
};
#else
struct fiber {
    jmp_buf place; /* once it has begun */
    ucontext_t context;
    bool begun;
};
#endif

/* The fiber calls body, which must not return, when it is changed to for the first time. stack: the caller's; its end
 * is a multiple of 16. */
void fiber_make(struct fiber *fiber, char *stack, size_t bytes, void (*body)());

/* Returns when somebody changes to `from`. */
static inline void fiber_change(struct fiber *from, struct fiber *to);

#ifdef __x86_64__

/* Puts the place of what runs into *from. */
extern "C" void fiber_change_places(void **from, void *to);

static inline void fiber_change(struct fiber *from, struct fiber *to)
{
    fiber_change_places(&from->place, to->place);
}

#else

static inline void fiber_change(struct fiber *from, struct fiber *to)
{
    from->begun = true;
    if (_setjmp(from->place) == 0) {
        if (to->begun) {
            _longjmp(to->place, 1);
        }
        setcontext(&to->context);
    }
}

#endif

#endif
