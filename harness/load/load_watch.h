/* Load watch: who looks on while bytes are moved. */
#ifndef ASSAY_LOAD_LOAD_WATCH_H
#define ASSAY_LOAD_LOAD_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct load_watch {
    bool (*stops)(void *context); /* asked before each piece; true ends the work with STATUS_UNAVAILABLE */
    void (*progress)(void *context, int64_t done_bytes, int64_t all_bytes);
    void *context;
    int *full_place; /* of the plan: where memory ran out, if it did; NULL: nobody asks */
};

#endif
