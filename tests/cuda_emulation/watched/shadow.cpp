/* Pages of cells, found by address. A page lives as long as the process. */
#include "tests/cuda_emulation/watched/shadow.h"

#include <bitset>
#include <unordered_map>

namespace
{

enum { PAGE_BYTES = 4096, WORD_BYTES = 4, WORDS = PAGE_BYTES / WORD_BYTES, RECENT = 1024 };

struct page {
    shadow_cell words[WORDS];
    std::bitset<WORDS> apart;
    shadow_cell *bytes; /* PAGE_BYTES of them, of the words that are apart; NULL as long as none is */
};

std::unordered_map<uintptr_t, page *> pages;

struct {
    uintptr_t number;
    page *found;
} recent[RECENT];

page *page_of(uintptr_t number)
{
    auto &entry = recent[number % RECENT];
    if (entry.found == nullptr || entry.number != number) {
        page *&found = pages[number];
        if (found == nullptr) {
            found = new page();
        }
        entry = {number, found};
    }
    return entry.found;
}

void word_part(page *page, size_t word)
{
    if (page->bytes == nullptr) {
        page->bytes = new shadow_cell[PAGE_BYTES]();
    }
    for (size_t k = 0; k < WORD_BYTES; k++) {
        page->bytes[word * WORD_BYTES + k] = page->words[word];
    }
    page->apart.set(word);
}

} // namespace

void shadow_visit(const void *address, size_t bytes, void (*visit)(shadow_cell *cell, void *data), void *data)
{
    uintptr_t at = (uintptr_t)address, end = at + bytes;
    while (at < end) {
        page *page = page_of(at / PAGE_BYTES);
        size_t word = at % PAGE_BYTES / WORD_BYTES;
        uintptr_t next = at / WORD_BYTES * WORD_BYTES + WORD_BYTES;
        bool whole = at % WORD_BYTES == 0 && next <= end;
        if (!page->apart.test(word)) {
            if (whole) {
                visit(&page->words[word], data);
                at = next;
                continue;
            }
            word_part(page, word);
        }
        for (; at < end && at < next; at++) {
            visit(&page->bytes[at % PAGE_BYTES], data);
        }
    }
}
