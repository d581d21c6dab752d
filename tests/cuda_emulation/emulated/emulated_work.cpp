/* The work of the emulated boards, one queue for each: its default stream. */
#include "tests/cuda_emulation/emulated/emulated_work.h"

#include <cstdlib>
#include <deque>
#include <utility>

#include "tests/cuda_emulation/emulated/emulated_devices.h"
#include "tests/cuda_emulation/emulated/emulated_memory.h"
#include "tests/cuda_emulation/emulated/emulation.h"

namespace
{

std::deque<std::function<void()>> queues[EMULATED_BOARDS_MAXIMUM];

void work_do(int board, const std::function<void()> &work)
{
    emulated_memory_enter(board);
    work();
    emulated_memory_leave(board);
}

} // namespace

bool emulated_work_is_queued(void)
{
    static const bool queued = getenv("EMULATED_QUEUE") != nullptr;
    return queued;
}

void emulated_work_add(std::function<void()> work)
{
    if (emulated_work_is_queued()) {
        queues[emulated_device()].push_back(std::move(work));
    } else {
        work_do(emulated_device(), work);
    }
}

bool emulated_work_is_left(int board)
{
    return !queues[board].empty();
}

void emulated_work_finish(int board)
{
    int before = emulated_board_enter(board);
    while (!queues[board].empty() && !emulated_context_is_lost()) {
        std::function<void()> work = std::move(queues[board].front());
        queues[board].pop_front();
        work_do(board, work);
    }
    emulated_board_enter(before);
}

void emulated_work_drop(void)
{
    for (auto &queue : queues) {
        queue.clear();
    }
}
