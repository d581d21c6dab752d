/* Checkpoint make: from a configuration to files. What the numbers are is initial_numbers.c's, how files are written
 * without leaving half of one checkpoint_write.c's. */
#include "harness/load/checkpoint_make.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "harness/base/clock.h"
#include "harness/base/size.h"
#include "harness/checkpoint/checkpoint_write.h"
#include "models/family/config_reading.h"
#include "models/find/initial_numbers.h"
#include "models/find/saved_config.h"

static const char index_name[] = "model.safetensors.index.json";

enum { CONFIG_BYTES_MAXIMUM = 4 * 1024 * 1024, BESIDE_FILES = 64 };

/* -- the draft */

static enum status_code texts_make(struct checkpoint_draft *draft, struct status *error)
{
    enum status_code code = STATUS_OK;
    if (draft->document != NULL) {
        code = json_write(draft->document, 2, &draft->config_text, error);
        text_append(&draft->config_text, "\n");
    }
    code = code == STATUS_OK ? text_status(&draft->config_text, "config.json", error) : code;
    if (code == STATUS_OK && draft->plan.file_count > 1) {
        code = planned_index_append(&draft->plan, draft->skeleton.parameter_count, &draft->index_text, error);
    }
    return code;
}

/* The configuration that will stand beside the tensors: the model's own, whatever the headers of a model file say. */
static enum status_code document_read(struct checkpoint_draft *draft, struct status *error)
{
    const struct checkpoint_recipe *recipe = &draft->recipe;
    if (recipe->config_path == NULL) {
        draft->config = *recipe->config;
        return STATUS_OK;
    }
    enum status_code code = json_parse_python_file(recipe->config_path, CONFIG_BYTES_MAXIMUM, &draft->document, error);
    if (code == STATUS_OK) {
        code = config_of_json(draft->document, recipe->config_path, recipe->typed, &draft->config, error);
    }
    if (code == STATUS_OK) {
        snprintf(draft->config.name, sizeof draft->config.name, "%s", recipe->name);
    }
    return code;
}

enum status_code checkpoint_draft_make(const struct checkpoint_recipe *recipe, struct checkpoint_draft *draft,
                                       struct status *error)
{
    *draft = (struct checkpoint_draft){.recipe = *recipe};
    enum status_code code = document_read(draft, error);
    if (code == STATUS_OK) {
        code = skeleton_build(&draft->config, recipe->head, &draft->skeleton, error);
    }
    if (code == STATUS_OK) {
        code = saved_layout_make(&draft->skeleton, recipe->precision, &draft->layout, error);
    }
    if (code == STATUS_OK && draft->document != NULL) {
        code = saved_config_make(draft->document, &draft->skeleton, recipe->precision, &draft->is_dequantized, error);
    }
    if (code == STATUS_OK) {
        code = checkpoint_plan_make(draft->layout.tensors, draft->layout.tensor_count, recipe->maximum_bytes,
                                    &draft->plan, error);
    }
    if (code == STATUS_OK && draft->config.is_timm && draft->plan.file_count > 1) {
        code = status_set(error, STATUS_INVALID,
                          "timm reads one file, and %d would be written; allow a larger one with --max-shard-size",
                          draft->plan.file_count);
    }
    code = code == STATUS_OK ? texts_make(draft, error) : code;
    if (code != STATUS_OK) {
        checkpoint_draft_release(draft);
    }
    return code;
}

void checkpoint_draft_release(struct checkpoint_draft *draft)
{
    text_release(&draft->config_text);
    text_release(&draft->index_text);
    checkpoint_plan_release(&draft->plan);
    saved_layout_release(&draft->layout);
    skeleton_release(&draft->skeleton);
    json_release(draft->document);
    draft->document = NULL;
}

/* -- its headers */

/* A file of the draft, or its index, of which the beginning alone is there: nobody reads tensors of it. */
struct drafted_source {
    struct byte_source base;
    struct text begin;
};

static enum status_code drafted_read(struct byte_source *source, int64_t offset, void *bytes, size_t count,
                                     struct status *error)
{
    const struct drafted_source *own = (const struct drafted_source *)source;
    if ((uint64_t)offset + count > own->begin.length) {
        return status_set(error, STATUS_INTERNAL, "%s: tensors of a draft are read", source->name);
    }
    memcpy(bytes, text_string(&own->begin) + offset, count);
    return STATUS_OK;
}

static void drafted_release(struct byte_source *source)
{
    text_release(&((struct drafted_source *)source)->begin);
    free(source);
}

static enum status_code drafted_open(const void *context, const char *name, struct byte_source **source,
                                     struct status *error)
{
    static const struct byte_source_table table = {.read = drafted_read, .release = drafted_release};
    const struct checkpoint_draft *draft = context;
    struct drafted_source *made = calloc(1, sizeof *made);
    if (made == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "the host has no memory for the headers of a draft");
    }
    made->base = (struct byte_source){.table = &table, .name = index_name};
    text_append(&made->begin, text_string(&draft->index_text));
    made->base.size_bytes = (int64_t)made->begin.length;
    for (int i = 0; i < draft->plan.file_count; i++) {
        const struct planned_file *file = &draft->plan.files[i];
        if (strcmp(file->name, name) == 0) {
            made->base.name = file->name;
            made->base.size_bytes = file->header_bytes + file->data_bytes;
            text_release(&made->begin);
            planned_header_append(&draft->plan, i, &made->begin);
        }
    }
    enum status_code code = text_status(&made->begin, "the headers of a draft", error);
    *source = &made->base;
    if (code != STATUS_OK) {
        drafted_release(&made->base);
    }
    return code;
}

enum status_code checkpoint_draft_headers(const struct checkpoint_draft *draft, struct checkpoint **headers,
                                          struct status *error)
{
    const struct checkpoint_place place = {.open = drafted_open, .context = draft};
    return checkpoint_read(&place, draft->plan.file_count > 1 ? index_name : draft->plan.files[0].name, headers, error);
}

/* -- its files */

/* The files that are open at the same time are as many as there are shards. */
static enum status_code open_files_allow(int count, struct status *error)
{
    struct rlimit limit;
    rlim_t wanted = (rlim_t)count + BESIDE_FILES;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) {
        return STATUS_OK;
    }
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    if (limit.rlim_cur < wanted || setrlimit(RLIMIT_NOFILE, &limit) != 0) {
        return status_set(error, STATUS_IO,
                          "%d files would be open at the same time, and this system allows %lld; allow larger "
                          "shards with --max-shard-size, or more files with ulimit -n",
                          count, (long long)limit.rlim_max);
    }
    return STATUS_OK;
}

/* Whether it fits, before anything is written. Zeros take no room to speak of. */
static enum status_code room_check(const struct checkpoint_draft *draft, const struct checkpoint_folder *folder,
                                   struct status *error)
{
    char needed[SIZE_TEXT_BYTES], there[SIZE_TEXT_BYTES];
    int64_t bytes = 0;
    bool fits =
        draft->recipe.is_zero ||
        (size_add(draft->plan.total_bytes, (int64_t)(draft->config_text.length + draft->index_text.length), &bytes) &&
         bytes <= folder->free_bytes);
    return fits ? STATUS_OK
                : status_set(error, STATUS_IO,
                             "%s: the checkpoint takes %s (%" PRId64 " bytes), and %s are free there; choose "
                             "a folder on another disk (--out, TMPDIR), or --zero, which takes no room",
                             folder->path, size_format(bytes, needed), bytes, size_format(folder->free_bytes, there));
}

static enum status_code folder_check(const struct checkpoint_draft *draft, const struct checkpoint_folder *folder,
                                     struct status *error)
{
    char own[PATH_MAX];
    snprintf(own, sizeof own, "%s", draft->recipe.config_path);
    char *slash = strrchr(own, '/');
    snprintf(slash != NULL ? slash : own, slash != NULL ? 1 : sizeof own, "%s", slash != NULL ? "" : ".");
    if (checkpoint_folder_is(folder, own[0] != '\0' ? own : "/")) {
        return status_set(error, STATUS_INVALID,
                          "--out %s is the folder of the model itself, whose config.json would be replaced; "
                          "choose another folder",
                          folder->path);
    }
    return room_check(draft, folder, error);
}

static enum status_code files_write(const struct checkpoint_draft *draft, const struct checkpoint_progress *progress,
                                    struct checkpoint_made *made, struct status *error)
{
    const struct initial_numbers numbers = {
        .skeleton = &draft->skeleton, .layout = &draft->layout, .seed = draft->recipe.seed};
    const struct checkpoint_text config = {"config.json", &draft->config_text};
    const struct checkpoint_writing writing = {.plan = &draft->plan,
                                               .folder = made->folder.path,
                                               .texts = &config,
                                               .text_count = 1,
                                               .index = draft->plan.file_count > 1 ? &draft->index_text : NULL,
                                               .is_zero = draft->recipe.is_zero,
                                               .fill = initial_numbers_fill,
                                               .context = &numbers,
                                               .progress = progress != NULL ? progress->tell : NULL,
                                               .progress_context = progress != NULL ? progress->context : NULL};
    enum status_code code = open_files_allow(checkpoint_write_open_files(&writing), error);
    if (code == STATUS_OK) {
        double begin = clock_seconds();
        code = checkpoint_write(&writing, error);
        made->seconds = clock_seconds() - begin;
    }
    return code;
}

enum status_code checkpoint_draft_write(const struct checkpoint_draft *draft, const char *path, bool is_forced,
                                        const struct checkpoint_progress *progress, struct checkpoint_made *made,
                                        struct status *error)
{
    enum status_code code = checkpoint_folder_open(path, &draft->plan, is_forced, &made->folder, error);
    if (code != STATUS_OK) {
        return code;
    }
    made->seconds = 0;
    code = folder_check(draft, &made->folder, error);
    if (code == STATUS_OK) {
        code = files_write(draft, progress, made, error);
    }
    if (code != STATUS_OK) {
        checkpoint_folder_undo(&made->folder);
    }
    return code;
}
