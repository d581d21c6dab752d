/* Which mutant the plug-in is, and the notes of those that would have mattered: a byte each in the file that
 * MUTANTS_REACHED names, which who runs the plug-in has made of MUTANTS_MAXIMUM bytes. */
#include "tests/mutants/mutant.h"

#include <cstdlib>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

namespace
{

volatile unsigned char nobody_reads[MUTANTS_MAXIMUM];

volatile unsigned char *notes_open()
{
    const char *path = getenv("MUTANTS_REACHED");
    int file = path != nullptr ? open(path, O_RDWR) : -1;
    if (file < 0) {
        return nobody_reads;
    }
    void *memory = mmap(nullptr, MUTANTS_MAXIMUM, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    return memory != MAP_FAILED ? (volatile unsigned char *)memory : nobody_reads;
}

int number_read()
{
    const char *text = getenv("MUTANT");
    return text != nullptr ? atoi(text) : -1;
}

volatile unsigned char *const notes = notes_open();
const int present = number_read();

} // namespace

extern "C" bool mutant_lacks(int mutant)
{
    notes[mutant] = 1;
    return mutant == present;
}

extern "C" bool mutant_decides(int mutant, bool value, bool instead)
{
    if (value != instead) {
        notes[mutant] = 1;
    }
    return mutant == present ? instead : value;
}
