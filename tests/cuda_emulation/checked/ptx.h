/* PTX: the strings of harness/kernels/tensor_core.h, evaluated as the PTX ISA defines their instructions. The Makefile
 * makes `asm volatile("text" : "=r"(a) : "r"(b) : "memory")` into ptx_evaluate("text", ptx_of("=r", a), ptx_of("r", b),
 * "memory"), so that what is evaluated is what nvcc is given, text, operands and their order.
 *
 * Nothing here is taken from the stand-ins of the emulation, which are compared with it (ptx_compare.cu). */
#ifndef ASSAY_TESTS_CHECKED_PTX_H
#define ASSAY_TESTS_CHECKED_PTX_H

#include <stdint.h>
#include <string.h>

/* An operand as the compiler binds it. constraint "memory": none. */
struct ptx_operand {
    const char *constraint;
    void *place; /* where an output goes; NULL of an input */
    uint64_t bits;
    int bytes;

    ptx_operand(const char *clobber) : constraint(clobber), place(nullptr), bits(0), bytes(0)
    {
    }

    ptx_operand(const char *text, void *output, const void *value, int size)
        : constraint(text), place(output), bits(0), bytes(size)
    {
        memcpy(&bits, value, (size_t)size);
    }
};

template <typename type> ptx_operand ptx_of(const char *constraint, type &place)
{
    bool output = constraint[0] == '=' || constraint[0] == '+';
    return ptx_operand(constraint, output ? (void *)&place : nullptr, (const void *)&place, (int)sizeof place);
}

template <typename type> ptx_operand ptx_of(const char *constraint, const type &value)
{
    return ptx_operand(constraint, nullptr, &value, (int)sizeof value);
}

/* One statement for the lane that calls; a fault of the launch where the text, a constraint or an address is not what
 * the instruction takes. line: of the source, the same for a warp. */
void ptx_run(int line, const char *text, const ptx_operand *operands, int count);

template <typename... types> void ptx_run_with(int line, const char *text, types... operands)
{
    const ptx_operand list[] = {operands..., ptx_operand("memory")};
    ptx_run(line, text, list, (int)sizeof...(operands));
}

#define ptx_evaluate(...) ptx_run_with(__LINE__, __VA_ARGS__)

/* An address of shared memory as instructions take it: 32 bits. */
uint32_t ptx_shared_address(const void *place);
#define __cvta_generic_to_shared(place) ptx_shared_address(place)

#endif
