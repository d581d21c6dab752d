/* Orders of blocks, warps and lanes. Knows nothing of what runs in them. */
#include "tests/cuda_emulation/emulated/schedule.h"

#include <cstdlib>
#include <numeric>
#include <string>

namespace
{

enum { BLOCKS_OF_A_SHORT_GRID = 3 };

uint64_t drawn; /* the state of splitmix64 */

uint64_t draw(uint64_t count)
{
    uint64_t z = drawn += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return (z ^ z >> 31) % count;
}

const char *seed_text()
{
    static const char *const text = getenv("EMULATED_SEED");
    return text != nullptr && *text != '\0' ? text : nullptr;
}

struct order order_drawn()
{
    static const decltype(order::kind) kinds[] = {order::ORDER_FORWARDS, order::ORDER_BACKWARDS, order::ORDER_SHUFFLED};
    struct order order;
    order.kind = kinds[draw(3)];
    order.key = draw((uint64_t)1 << 32);
    return order;
}

struct schedule schedule_drawn(int64_t number)
{
    static const unsigned maxima[] = {0, 0, BLOCKS_OF_A_SHORT_GRID, 1};
    static const decltype(schedule::copies) copies[] = {schedule::COPIES_EARLY, schedule::COPIES_LATE,
                                                        schedule::COPIES_EITHER};
    struct schedule drawn_now;
    drawn = strtoull(seed_text(), nullptr, 10) * 1000003u + (uint64_t)number;
    drawn_now.blocks = order_drawn();
    drawn_now.warps = order_drawn();
    drawn_now.lanes = order_drawn();
    drawn_now.grid_maximum = maxima[draw(4)];
    drawn_now.copies = copies[draw(3)];
    drawn_now.warps_alternate = draw(2) == 0;
    return drawn_now;
}

} // namespace

struct schedule schedule_of(int64_t launch)
{
    static int64_t launches_of_all;
    launches_of_all++;
    if (seed_text() != nullptr) {
        return schedule_drawn(launches_of_all);
    }
    struct schedule schedule;
    schedule.blocks.kind = launch % 3 == 0   ? order::ORDER_FORWARDS
                           : launch % 3 == 1 ? order::ORDER_BACKWARDS
                                             : order::ORDER_SHUFFLED;
    schedule.blocks.key = 0;
    schedule.warps = schedule.lanes = schedule.blocks;
    schedule.grid_maximum = launch % 2 == 0 ? BLOCKS_OF_A_SHORT_GRID : 0;
    schedule.copies = launch / 2 % 2 == 0 ? schedule::COPIES_EARLY : schedule::COPIES_LATE;
    schedule.warps_alternate = false;
    return schedule;
}

const char *schedule_words(void)
{
    static const std::string words =
        seed_text() == nullptr ? std::string() : " (EMULATED_SEED=" + std::string(seed_text()) + ")";
    return words.c_str();
}

int64_t order_place(struct order order, int64_t k, int64_t count)
{
    if (order.kind == order::ORDER_FORWARDS || count == 1) {
        return k;
    }
    if (order.kind == order::ORDER_BACKWARDS) {
        return count - 1 - k;
    }
    int64_t step = 7919 + 2 * (int64_t)(order.key % 4096);
    while (std::gcd(step, count) != 1) {
        step += 2;
    }
    return (k * step + (int64_t)(order.key >> 12)) % count;
}

bool schedule_copy_is_early(const struct schedule *schedule)
{
    return schedule->copies == schedule::COPIES_EARLY || (schedule->copies == schedule::COPIES_EITHER && draw(2) == 0);
}
