/* Pages of cells, found by address. A page lives as long as the process. */
#include "tests/cuda_emulation/watched/shadow.h"

#include <unordered_map>

shadow_recent shadow_recent_pages[SHADOW_RECENT];

shadow_page *shadow_page_find(uintptr_t number)
{
    static std::unordered_map<uintptr_t, shadow_page *> pages;
    shadow_page *&found = pages[number];
    if (found == nullptr) {
        found = new shadow_page();
    }
    shadow_recent_pages[number % SHADOW_RECENT] = {number, found};
    return found;
}

void shadow_word_part(shadow_page *page, size_t word)
{
    if (page->bytes == nullptr) {
        page->bytes = new shadow_cell[SHADOW_PAGE_BYTES]();
    }
    for (size_t k = 0; k < SHADOW_WORD_BYTES; k++) {
        page->bytes[word * SHADOW_WORD_BYTES + k] = page->words[word];
    }
    page->apart.set(word);
}
