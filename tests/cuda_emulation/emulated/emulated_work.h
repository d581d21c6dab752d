/* What the emulated boards have to do: launches, products, memory to set. It is done at once, or under EMULATED_QUEUE
 * when somebody waits for it, as on a GPU, which then may not have begun; what fails there is told by the call that
 * waits. */
#ifndef ASSAY_TESTS_EMULATED_WORK_H
#define ASSAY_TESTS_EMULATED_WORK_H

#include <functional>

/* For the present board, whose memory is open to it. What it names of the host must live until it is done, so it takes
 * copies of arguments. */
void emulated_work_add(std::function<void()> work);

bool emulated_work_is_queued(void);

/* Whether anything is left to do on that board. */
bool emulated_work_is_left(int board);

/* Does it all, in its order. */
void emulated_work_finish(int board);
/* Nothing of it is ever done: the context is lost. */
void emulated_work_drop(void);

/* In emulated_runtime.cpp: whether a context is lost, after which no work is begun; and who is the present board while
 * its work is done. Returns who was. */
bool emulated_context_is_lost(void);
int emulated_board_enter(int board);

#endif
