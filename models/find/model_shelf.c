/* Model shelf: rows of skeletons, each of a model that several rows may share. One lock for all: under it a row is
 * found or made. */
#include "models/find/model_shelf.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "models/workload/workload_tape.h"

/* Rows that nobody has taken and that are kept nevertheless. */
enum { ROWS_KEPT = 32 };

struct shelf_model {
    char *name;
    struct model model; /* skeletons point into it */
    struct skeleton bare;
    bool has_bare;
    int row_count;
};

/* What a skeleton depends on besides the model. runs: whether shapes that differ from the headers' are an error. */
struct shelf_key {
    bool runs;
    enum head head;
    int64_t lora_rank;
    enum lora_targets lora_targets;
};

struct shelf_row {
    struct shelf_model *model;
    struct shelf_key key;
    struct skeleton skeleton;
    int taken_count;
    struct shelf_row *next; /* used longer ago */
};

struct model_shelf {
    const struct model_places *places;
    pthread_mutex_t mutex;
    struct shelf_row *rows; /* the last used first */
};

enum status_code model_shelf_open(const struct model_places *places, struct model_shelf **shelf, struct status *error)
{
    struct model_shelf *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for a shelf of models");
    }
    made->places = places;
    pthread_mutex_init(&made->mutex, NULL);
    *shelf = made;
    return STATUS_OK;
}

static void shelf_model_release(struct shelf_model *model)
{
    if (model != NULL && model->row_count == 0) {
        skeleton_release(&model->bare);
        model_release(&model->model);
        free(model->name);
        free(model);
    }
}

static void row_release(struct shelf_row *row)
{
    if (row != NULL) {
        skeleton_release(&row->skeleton);
        row->model->row_count--;
        shelf_model_release(row->model);
        free(row);
    }
}

static struct shelf_key key_of(const struct workload *workload)
{
    struct shelf_key key = {.runs = workload->mode != MODE_LOAD, .head = workload_head(workload)};
    if (workload->lora_rank > 0) {
        key.lora_rank = workload->lora_rank;
        key.lora_targets = workload->lora_targets;
    }
    return key;
}

static bool key_equal(const struct shelf_key *a, const struct shelf_key *b)
{
    return a->runs == b->runs && a->head == b->head && a->lora_rank == b->lora_rank &&
           a->lora_targets == b->lora_targets;
}

static enum status_code shelf_model_new(const struct model_shelf *shelf, const char *name, struct shelf_model **model,
                                        struct status *error)
{
    struct shelf_model *made = calloc(1, sizeof *made);
    char *copy = strdup(name);
    enum status_code code = made == NULL || copy == NULL
                                ? status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for a model")
                                : model_find(shelf->places, name, &made->model, error);
    if (code != STATUS_OK) {
        free(copy);
        free(made);
        return code;
    }
    made->name = copy;
    made->has_bare = skeleton_build(&made->model.config, HEAD_BARE, &made->bare, NULL) == STATUS_OK;
    *model = made;
    return STATUS_OK;
}

/* model NULL: it is looked for. Where the row cannot be made a model without rows goes, too. */
static enum status_code row_new(struct model_shelf *shelf, struct shelf_model *model, const char *name,
                                const struct workload *workload, struct shelf_row **row, struct status *error)
{
    struct shelf_row *made = calloc(1, sizeof *made);
    enum status_code code =
        made == NULL ? status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for a skeleton") : STATUS_OK;
    if (code == STATUS_OK && model == NULL) {
        code = shelf_model_new(shelf, name, &model, error);
    }
    if (code == STATUS_OK) {
        code = model_skeleton(&model->model, workload, &made->skeleton, error);
    }
    if (code != STATUS_OK) {
        shelf_model_release(model);
        free(made);
        return code;
    }
    made->model = model;
    made->key = key_of(workload);
    model->row_count++;
    made->next = shelf->rows;
    shelf->rows = made;
    *row = made;
    return STATUS_OK;
}

/* Of those that nobody has, the ones beyond ROWS_KEPT go. */
static void rows_clear(struct model_shelf *shelf, int kept_count)
{
    int count = 0;
    for (struct shelf_row **link = &shelf->rows; *link != NULL;) {
        struct shelf_row *row = *link;
        if (row->taken_count == 0 && count++ >= kept_count) {
            *link = row->next;
            row_release(row);
        } else {
            link = &row->next;
        }
    }
}

/* NULL if there is none; it becomes the first. *model: of the name, if any row has it. */
static struct shelf_row *row_find(struct model_shelf *shelf, const char *name, const struct shelf_key *key,
                                  struct shelf_model **model)
{
    for (struct shelf_row **link = &shelf->rows; *link != NULL; link = &(*link)->next) {
        struct shelf_row *row = *link;
        if (strcmp(row->model->name, name) == 0) {
            *model = row->model;
            if (key_equal(&row->key, key)) {
                *link = row->next;
                row->next = shelf->rows;
                shelf->rows = row;
                return row;
            }
        }
    }
    return NULL;
}

enum status_code model_shelf_take(struct model_shelf *shelf, const char *name, const struct workload *workload,
                                  struct shelf_item *item, struct status *error)
{
    struct shelf_key key = key_of(workload);
    struct shelf_model *model = NULL;
    pthread_mutex_lock(&shelf->mutex);
    struct shelf_row *row = row_find(shelf, name, &key, &model);
    enum status_code code = row != NULL ? STATUS_OK : row_new(shelf, model, name, workload, &row, error);
    if (code == STATUS_OK) {
        row->taken_count++;
        *item = (struct shelf_item){.model = &row->model->model,
                                    .skeleton = &row->skeleton,
                                    .bare = row->model->has_bare ? &row->model->bare : NULL,
                                    .row = row};
        rows_clear(shelf, ROWS_KEPT);
    }
    pthread_mutex_unlock(&shelf->mutex);
    return code;
}

void model_shelf_give_back(struct model_shelf *shelf, const struct shelf_item *item)
{
    if (item->row != NULL) {
        pthread_mutex_lock(&shelf->mutex);
        item->row->taken_count--;
        pthread_mutex_unlock(&shelf->mutex);
    }
}

void model_shelf_close(struct model_shelf *shelf)
{
    if (shelf != NULL) {
        rows_clear(shelf, 0);
        pthread_mutex_destroy(&shelf->mutex);
        free(shelf);
    }
}
