/* Ordered work: a ring of results, claimed in order, done in any order, taken in order. Not a pool: its threads end
 * with it. */
#include "harness/base/ordered_work.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { WORKERS_MAXIMUM = 16, STACK_BYTES = 8 << 20 };

struct crew {
    const struct ordered_work *work;
    pthread_mutex_t mutex;
    pthread_cond_t done, room; /* the next result is there; one was taken, or the end has come */
    unsigned char *results;    /* a ring of slot_count */
    bool *is_done;             /* by slot */
    int slot_count;
    int claimed, taken; /* items so far */
    bool ended;
};

static void *slot_result(const struct crew *crew, int index)
{
    return crew->results + (size_t)(index % crew->slot_count) * crew->work->result_bytes;
}

static void item_do(const struct ordered_work *work, int index, void *result)
{
    if (!work->is_filled) {
        memset(result, 0, work->result_bytes);
    }
    work->work(work->context, index, result);
}

/* False: there is nothing more to do. Called with the mutex held. */
static bool item_claim(struct crew *crew, int *index)
{
    while (!crew->ended && crew->claimed < crew->work->count && crew->claimed - crew->taken >= crew->slot_count) {
        pthread_cond_wait(&crew->room, &crew->mutex);
    }
    if (crew->ended || crew->claimed >= crew->work->count) {
        return false;
    }
    *index = crew->claimed++;
    return true;
}

static void *worker_run(void *argument)
{
    struct crew *crew = argument;
    int index;
    pthread_mutex_lock(&crew->mutex);
    while (item_claim(crew, &index)) {
        pthread_mutex_unlock(&crew->mutex);
        item_do(crew->work, index, slot_result(crew, index));
        pthread_mutex_lock(&crew->mutex);
        crew->is_done[index % crew->slot_count] = true;
        if (index == crew->taken) {
            pthread_cond_signal(&crew->done);
        }
    }
    pthread_mutex_unlock(&crew->mutex);
    return NULL;
}

static void results_take(struct crew *crew)
{
    const struct ordered_work *work = crew->work;
    bool wanted = true;
    pthread_mutex_lock(&crew->mutex);
    for (int i = 0; i < work->count && wanted; i++) {
        while (!crew->is_done[i % crew->slot_count]) {
            pthread_cond_wait(&crew->done, &crew->mutex);
        }
        pthread_mutex_unlock(&crew->mutex);
        wanted = work->take(work->context, i, slot_result(crew, i));
        pthread_mutex_lock(&crew->mutex);
        crew->is_done[i % crew->slot_count] = false;
        crew->taken++;
        pthread_cond_signal(&crew->room);
    }
    crew->ended = true;
    pthread_cond_broadcast(&crew->room);
    pthread_mutex_unlock(&crew->mutex);
}

static void results_drop(struct crew *crew)
{
    for (int i = crew->taken; i < crew->claimed && crew->work->drop != NULL; i++) {
        crew->work->drop(crew->work->context, slot_result(crew, i));
    }
}

/* Everything in this thread. */
static enum status_code items_do(const struct ordered_work *work, struct status *error)
{
    void *result = malloc(work->result_bytes);
    if (result == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has not enough memory for a result");
    }
    bool wanted = true;
    for (int i = 0; i < work->count && wanted; i++) {
        item_do(work, i, result);
        wanted = work->take(work->context, i, result);
    }
    free(result);
    return STATUS_OK;
}

/* How many could be started. Their stacks are as large as the first thread's usually is, whatever the limits say. */
static int workers_start(struct crew *crew, pthread_t *threads, int count)
{
    pthread_attr_t attributes;
    int started = 0;
    if (pthread_attr_init(&attributes) != 0) {
        return 0;
    }
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    while (started < count && pthread_create(&threads[started], &attributes, worker_run, crew) == 0) {
        started++;
    }
    pthread_attr_destroy(&attributes);
    return started;
}

enum status_code ordered_work_run(const struct ordered_work *work, struct status *error)
{
    pthread_t threads[WORKERS_MAXIMUM];
    int wanted = work->worker_count < WORKERS_MAXIMUM ? work->worker_count : WORKERS_MAXIMUM;
    struct crew crew = {.work = work,
                        .slot_count = (work->results_each > 0 ? work->results_each : ORDERED_RESULTS_EACH) * wanted,
                        .mutex = PTHREAD_MUTEX_INITIALIZER,
                        .done = PTHREAD_COND_INITIALIZER,
                        .room = PTHREAD_COND_INITIALIZER};
    crew.results = wanted > 0 ? calloc((size_t)crew.slot_count, work->result_bytes) : NULL;
    crew.is_done = wanted > 0 ? calloc((size_t)crew.slot_count, sizeof *crew.is_done) : NULL;
    bool has_room = crew.results != NULL && crew.is_done != NULL;
    int started = has_room ? workers_start(&crew, threads, wanted) : 0;
    enum status_code code = STATUS_OK;
    if (started > 0) {
        results_take(&crew);
    } else {
        code = items_do(work, error);
    }
    for (int i = 0; i < started; i++) {
        pthread_join(threads[i], NULL);
    }
    results_drop(&crew);
    free(crew.results);
    free(crew.is_done);
    return code;
}

int ordered_work_workers(int count)
{
    cpu_set_t processors;
    int usable = sched_getaffinity(0, sizeof processors, &processors) == 0 ? CPU_COUNT(&processors) : 1;
    usable = usable < WORKERS_MAXIMUM ? usable : WORKERS_MAXIMUM;
    usable = usable < count ? usable : count;
    return usable > 1 ? usable : 0;
}
