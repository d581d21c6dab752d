/* What a plug-in full of mutants notes, read by who runs it: a file of a byte for each, in memory of both. */
#include "tests/mutants/reached.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/mutants/mutant.h"

bool reached_open(struct reached *reached, const char *path)
{
    int file = path != NULL ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;
    void *memory = MAP_FAILED;
    if (file >= 0 && ftruncate(file, MUTANTS_MAXIMUM) == 0) {
        memory = mmap(NULL, MUTANTS_MAXIMUM, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    if (file >= 0) {
        close(file);
    }
    reached->notes = (volatile unsigned char *)memory;
    return memory != MAP_FAILED;
}

void reached_close(struct reached *reached)
{
    munmap((void *)reached->notes, MUTANTS_MAXIMUM);
}

void reached_forget(struct reached *reached)
{
    memset((void *)reached->notes, 0, MUTANTS_MAXIMUM);
}

void reached_print(const struct reached *reached)
{
    for (int mutant = 0; mutant < MUTANTS_MAXIMUM; mutant++) {
        if (reached->notes[mutant] != 0) {
            printf(" %d", mutant);
        }
    }
    printf("\n");
}
