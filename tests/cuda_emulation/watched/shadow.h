/* Shadow: of every four bytes that lanes have touched, or of each byte where they were touched apart, the stamps that
 * decide whether the next access races. */
#ifndef ASSAY_TESTS_WATCHED_SHADOW_H
#define ASSAY_TESTS_WATCHED_SHADOW_H

#include <bitset>
#include <cstddef>

#include "tests/cuda_emulation/watched/stamp.h"

/* Of the reads since the last write those that an order with a later write can hang on: the last; the last by another
 * lane of the same warp; the last by another warp; the last by an earlier block. */
struct shadow_cell {
    stamp write, read, read_of_warp, read_of_block, read_of_grid;
};

enum { SHADOW_PAGE_BYTES = 4096, SHADOW_WORD_BYTES = 4, SHADOW_WORDS = SHADOW_PAGE_BYTES / SHADOW_WORD_BYTES };

struct shadow_page {
    shadow_cell words[SHADOW_WORDS];
    std::bitset<SHADOW_WORDS> apart;
    shadow_cell *bytes; /* SHADOW_PAGE_BYTES of them, of the words that are apart; NULL as long as none is */
};

/* Every access asks, so that those pages are kept at hand that were asked for last. */
enum { SHADOW_RECENT = 1024 };
struct shadow_recent {
    uintptr_t number;
    shadow_page *found; /* NULL: nothing is there yet */
};
extern shadow_recent shadow_recent_pages[SHADOW_RECENT];

shadow_page *shadow_page_find(uintptr_t number);
/* From now on each byte of that word has a cell of its own. */
void shadow_word_part(shadow_page *page, size_t word);

static inline shadow_page *shadow_page_of(uintptr_t number)
{
    const shadow_recent &entry = shadow_recent_pages[number % SHADOW_RECENT];
    return entry.number == number && entry.found != nullptr ? entry.found : shadow_page_find(number);
}

/* Calls visit for each cell of the bytes. */
template <typename visitor> inline void shadow_visit(const void *address, size_t bytes, const visitor &visit)
{
    uintptr_t at = (uintptr_t)address, end = at + bytes;
    while (at < end) {
        shadow_page *page = shadow_page_of(at / SHADOW_PAGE_BYTES);
        size_t word = at % SHADOW_PAGE_BYTES / SHADOW_WORD_BYTES;
        uintptr_t next = at / SHADOW_WORD_BYTES * SHADOW_WORD_BYTES + SHADOW_WORD_BYTES;
        bool whole = at % SHADOW_WORD_BYTES == 0 && next <= end;
        if (!page->apart.test(word)) {
            if (whole) {
                visit(&page->words[word]);
                at = next;
                continue;
            }
            shadow_word_part(page, word);
        }
        for (; at < end && at < next; at++) {
            visit(&page->bytes[at % SHADOW_PAGE_BYTES]);
        }
    }
}

#endif
