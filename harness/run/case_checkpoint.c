/* Case checkpoint: made, loaded, read once more, and removed. The load itself is harness/load's, its places
 * harness/question's. */
#include "harness/run/case_checkpoint.h"

#include <errno.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/size_text.h"
#include "harness/load/checkpoint_make.h"
#include "harness/load/element_cast.h"
#include "models/config/head.h"
#include "models/find/model_config.h"
#include "models/workload/workload_tape.h"

struct checkpoint_case {
    struct placed_question question;
    struct placed_plan *placed;
    struct checkpoint_draft draft; /* without a config.json, then with one */
    bool is_drafted;
    char config_path[PATH_MAX];
    struct skeleton other; /* the model with the other head */
    struct checkpoint *headers;
    struct checkpoint_names names;
    struct load_files files;
    struct load_plan plan;
    char folder[PATH_MAX]; /* "": there is none */
    struct arena arena;
    struct placed_load_outcome predicted, measured;
    struct plain_transfer plain; /* of the same files; 0 seconds: none was made */
};

/* -- the draft and its prediction */

static enum status_code recipe_of(const struct placed_question *question, struct checkpoint_recipe *recipe,
                                  struct status *error)
{
    const struct workload *workload = question->workload;
    *recipe = (struct checkpoint_recipe){.config = question->config,
                                         .typed = question->config->name,
                                         .name = question->config->name,
                                         .head = question->skeleton->head,
                                         .precision = precision_dtype(workload->precision),
                                         .maximum_bytes = INT64_MAX};
    return strcmp(workload->checkpoint, "single") == 0
               ? STATUS_OK
               : size_parse_memory(workload->checkpoint, &recipe->maximum_bytes, error);
}

static enum status_code plan_make(struct checkpoint_case *one, const struct checkpoint *checkpoint,
                                  struct status *error)
{
    const struct placed_question *question = &one->question;
    const struct load_request request = {.checkpoint = checkpoint,
                                         .skeleton = question->skeleton,
                                         .names = &one->names,
                                         .map = &one->placed->map,
                                         .type = storage_type_of(one->draft.recipe.precision),
                                         .offload_buffers = question->offload_buffers,
                                         .has_folder = true};
    bool is_bare = question->skeleton->head == HEAD_BARE;
    one->names = checkpoint_names_of(checkpoint, is_bare ? question->skeleton : &one->other,
                                     is_bare ? &one->other : question->skeleton);
    return load_plan_make(&request, &one->plan, error);
}

static enum status_code load_predict_here(struct checkpoint_case *one, struct status *error)
{
    const struct placed_load load = {.placed = &one->placed->main.placed, .plan = &one->plan};
    enum status_code code = placed_load_predict(&load, &one->arena, &one->predicted, error);
    if (code == STATUS_OK) {
        one->placed->main.predicted = one->predicted.run;
    }
    return code;
}

static enum status_code draft_predict(struct checkpoint_case *one, struct status *error)
{
    struct checkpoint_recipe recipe;
    const struct placed_question *question = &one->question;
    enum head other = head_opposite(&question->config->model_heads, question->skeleton->head);
    enum status_code code = recipe_of(question, &recipe, error);
    code = code == STATUS_OK ? checkpoint_draft_make(&recipe, &one->draft, error) : code;
    one->is_drafted = code == STATUS_OK;
    if (code != STATUS_OK) {
        status_prefix(error, "checkpoint %s", question->workload->checkpoint);
    }
    code = code == STATUS_OK ? checkpoint_draft_headers(&one->draft, &one->headers, error) : code;
    code = code == STATUS_OK ? skeleton_build(question->config, other, &one->other, error) : code;
    code = code == STATUS_OK ? plan_make(one, one->headers, error) : code;
    return code == STATUS_OK ? load_predict_here(one, error) : code;
}

enum status_code checkpoint_case_open(const struct placed_question *question, struct placed_plan *plan,
                                      struct checkpoint_case **made, struct status *error)
{
    struct checkpoint_case *one = calloc(1, sizeof *one);
    if (one == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for a checkpoint");
    }
    one->question = *question;
    one->placed = plan;
    enum status_code code = draft_predict(one, error);
    if (code != STATUS_OK) {
        checkpoint_case_close(one);
        return code;
    }
    *made = one;
    return STATUS_OK;
}

/* -- the files */

static enum status_code folder_make(struct checkpoint_case *one, struct status *error)
{
    const char *wish = getenv("TMPDIR");
    const char *parent = wish != NULL && wish[0] != '\0' ? wish : "/tmp";
    int length = snprintf(one->folder, sizeof one->folder, "%s/assay-checkpoint-XXXXXX", parent);
    bool fits = length > 0 && length < (int)sizeof one->folder;
    if (!fits || mkdtemp(one->folder) == NULL) {
        int cause = fits ? errno : ENAMETOOLONG;
        one->folder[0] = '\0';
        return status_set(error, STATUS_IO,
                          "%s: no folder can be made for a checkpoint: %s; set TMPDIR to a folder with room", parent,
                          strerror(cause));
    }
    return STATUS_OK;
}

static void file_remove(const struct checkpoint_case *one, const char *name)
{
    char path[PATH_MAX + PLANNED_FILE_NAME_BYTES];
    snprintf(path, sizeof path, "%s/%s", one->folder, name);
    unlink(path);
}

static void folder_remove(struct checkpoint_case *one)
{
    if (one->folder[0] == '\0') {
        return;
    }
    for (int i = 0; one->is_drafted && i < one->draft.plan.file_count; i++) {
        file_remove(one, one->draft.plan.files[i].name);
    }
    file_remove(one, "model.safetensors.index.json");
    file_remove(one, "config.json");
    rmdir(one->folder);
    one->folder[0] = '\0';
}

static enum status_code files_write(struct checkpoint_case *one, const struct measuring *measuring,
                                    struct status *error)
{
    const struct model_places places = {.catalogue_dir = measuring->job->catalogue_dir,
                                        .folder = measuring->job->model_folder};
    struct checkpoint_recipe recipe = one->draft.recipe;
    struct checkpoint_made made;
    enum status_code code = model_config_path(&places, measuring->job->case_->identity.model, one->config_path, error);
    if (code != STATUS_OK) {
        return code;
    }
    recipe.config_path = one->config_path;
    recipe.typed = measuring->job->case_->identity.model;
    checkpoint_draft_release(&one->draft);
    code = checkpoint_draft_make(&recipe, &one->draft, error);
    one->is_drafted = code == STATUS_OK;
    code = code == STATUS_OK ? folder_make(one, error) : code;
    return code == STATUS_OK ? checkpoint_draft_write(&one->draft, one->folder, false, NULL, &made, error) : code;
}

/* By the headers as they lie on the disk. */
static enum status_code files_open(struct checkpoint_case *one, struct status *error)
{
    char *chosen = NULL;
    enum status_code code = load_file_choose(one->folder, &chosen, error);
    code = code == STATUS_OK ? load_files_open(chosen, &one->files, error) : code;
    free(chosen);
    if (code == STATUS_OK) {
        load_plan_release(&one->plan);
        one->plan = (struct load_plan){.place_count = 0};
        code = plan_make(one, one->files.checkpoint, error);
    }
    return code;
}

/* -- the load */

static enum status_code files_load(struct checkpoint_case *one, const struct placed_lanes *lanes,
                                   const struct replay_observer *observers, struct status *error)
{
    const struct placed_load load = {
        .placed = &one->placed->main.placed, .plan = &one->plan, .files = &one->files, .observers = observers};
    files_forget(&one->files.paths);
    enum status_code code = plain_read(&one->files.paths, NULL, &one->plain, error);
    if (code != STATUS_OK) {
        return code;
    }
    files_forget(&one->files.paths);
    malloc_trim(0); /* what the predictions used must not count as already there */
    return placed_load_run(&load, lanes, NULL, &one->arena, &one->measured, error);
}

enum status_code checkpoint_case_measure(struct checkpoint_case *one, const struct measuring *measuring,
                                         const struct placed_lanes *lanes, const struct replay_observer *observers,
                                         struct status *error)
{
    enum status_code code = STATUS_OK;
    if (strncmp(lanes->specs[0], "meta", 4) == 0) {
        one->measured = one->predicted;
    } else {
        code = files_write(one, measuring, error);
        code = code == STATUS_OK ? files_open(one, error) : code;
        code = code == STATUS_OK ? files_load(one, lanes, observers, error) : code;
        folder_remove(one);
    }
    if (code == STATUS_OK) {
        one->placed->main.measured = one->measured.run;
    }
    return code;
}

void checkpoint_case_close(struct checkpoint_case *one)
{
    if (one == NULL) {
        return;
    }
    folder_remove(one);
    load_plan_release(&one->plan);
    load_files_release(&one->files);
    checkpoint_release(one->headers);
    skeleton_release(&one->other);
    checkpoint_draft_release(&one->draft);
    arena_release(&one->arena);
    free(one);
}

/* -- what was moved */

/* The one place that files went to, or all of them. */
static const char *goal_name(const struct load_plan *plan, char name[DEVICE_TEXT_BYTES])
{
    const char *only = NULL;
    for (int i = 0; i < plan->place_count; i++) {
        if (plan->places[i].target_count > 0) {
            only = only == NULL ? placement_device_name(plan->places[i].device, name) : "all";
        }
    }
    return only != NULL ? only : "all";
}

static struct json *seconds_json(double seconds)
{
    return seconds > 0.0 ? json_real_new(seconds) : json_null_new();
}

static struct json *from_files_json(const struct checkpoint_case *one)
{
    const struct load_result *load = &one->measured.load;
    char name[DEVICE_TEXT_BYTES];
    bool has_plain = one->plain.seconds > 0.0;
    struct json *object = json_object_new();
    bool made = json_set(object, "from", json_string_new("file")) &&
                json_set(object, "to", json_string_new(goal_name(&one->plan, name))) &&
                json_set(object, "count", json_integer_new(one->plan.piece_count)) &&
                json_set(object, "bytes", json_integer_new(load->read_bytes)) &&
                json_set(object, "seconds", seconds_json(load->transfer_seconds)) &&
                json_set(object, "plain_bytes", has_plain ? json_integer_new(one->plain.bytes) : json_null_new()) &&
                json_set(object, "plain_seconds", has_plain ? json_real_new(one->plain.seconds) : json_null_new()) &&
                json_set(object, "plain", has_plain ? json_string_new("sequential read") : json_null_new());
    return json_made(object, made);
}

/* What was written to the offload folder, by way of the host. */
static struct json *to_disk_json(const struct checkpoint_case *one, int place)
{
    const struct load_result *load = &one->measured.load;
    struct json *object = json_object_new();
    bool made = json_set(object, "from", json_string_new("cpu")) && json_set(object, "to", json_string_new("disk")) &&
                json_set(object, "count", json_integer_new(one->plan.places[place].target_count)) &&
                json_set(object, "bytes", json_integer_new(load->shares[place].stored_bytes)) &&
                json_set(object, "seconds", seconds_json(load->store_seconds)) &&
                json_set(object, "plain_bytes", json_null_new()) &&
                json_set(object, "plain_seconds", json_null_new()) && json_set(object, "plain", json_null_new());
    return json_made(object, made);
}

struct json *checkpoint_transfers_json(const struct checkpoint_case *one)
{
    struct json *list = json_array_new();
    bool made = true;
    if (one->measured.is_loaded && one->measured.load.read_bytes > 0) {
        made = json_append(list, from_files_json(one));
        for (int i = 0; i < one->plan.place_count && made; i++) {
            bool is_disk = one->plan.places[i].device.kind == PLACEMENT_DISK && one->plan.places[i].bytes > 0;
            made = !is_disk || json_append(list, to_disk_json(one, i));
        }
    }
    return json_made(list, made);
}
