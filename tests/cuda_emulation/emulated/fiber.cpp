/* Changes of stacks. Registers that a call may change are the caller's to keep, so that those which it may not are all
 * that is put aside; what rounds numbers is the same for all fibers. */
#include "tests/cuda_emulation/emulated/fiber.h"

#include <cstdint>

#ifdef __x86_64__

enum { KEPT_REGISTERS = 6 };

/* It goes on by a jump: a processor foresees where a `ret` leads from the calls before it, and here that is wrong. */
asm(R"(
    .text
    .p2align 4
    .hidden fiber_change_places
    .globl fiber_change_places
    .type fiber_change_places, @function
fiber_change_places:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    popq %rcx
    jmpq *%rcx
    .size fiber_change_places, .-fiber_change_places
)");

/* From the top of the stack: the registers that are taken from it, where it goes on, and where body would return to,
 * which is nowhere. A function begins with its return address at the end of a multiple of 16. */
void fiber_make(struct fiber *fiber, char *stack, size_t bytes, void (*body)())
{
    uintptr_t *top = (uintptr_t *)(stack + bytes) - (KEPT_REGISTERS + 2);
    for (int k = 0; k < KEPT_REGISTERS + 2; k++) {
        top[k] = k == KEPT_REGISTERS ? (uintptr_t)body : 0;
    }
    fiber->place = top;
}

#else

void fiber_make(struct fiber *fiber, char *stack, size_t bytes, void (*body)())
{
    getcontext(&fiber->context);
    fiber->context.uc_stack.ss_sp = stack;
    fiber->context.uc_stack.ss_size = bytes;
    fiber->context.uc_link = nullptr;
    makecontext(&fiber->context, body, 0);
    fiber->begun = false;
}

#endif
