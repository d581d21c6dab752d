/* Load fixture: opens what it needs in the order in which it is closed the other way round. */
#include "tests/load/load_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "harness/kernels/convert.h"
#include "models/find/config_file.h"
#include "tests/support/device_use.h"
#include "tests/support/scratch_folder.h"

void fixture_open(struct load_fixture *fixture, const char *model, int64_t vocab, struct files_request *files)
{
    char path[128];
    struct status error = {0};
    memset(fixture, 0, sizeof *fixture);
    fixture->disk.fails_at = -1;
    snprintf(path, sizeof path, "models/catalogue/%s/config.json", model);
    assert_int_equal(config_read(path, model, &fixture->config, NULL), STATUS_OK);
    fixture->config.vocab = vocab > 0 ? vocab : fixture->config.vocab;
    assert_int_equal(skeleton_build(&fixture->config, HEAD_BARE, &fixture->bare, NULL), STATUS_OK);
    assert_int_equal(skeleton_build(&fixture->config, HEAD_LM, &fixture->headed, NULL), STATUS_OK);
    snprintf(fixture->folder, sizeof fixture->folder, "/tmp/assay-load-XXXXXX");
    assert_non_null(mkdtemp(fixture->folder));
    files->skeleton = &fixture->headed;
    checkpoint_files_write(fixture->folder, files);
    char *chosen = NULL;
    if (load_file_choose(fixture->folder, &chosen, &error) != STATUS_OK ||
        load_files_open(chosen, &fixture->files, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    free(chosen);
    fixture->names = checkpoint_names_of(fixture->files.checkpoint, &fixture->bare, &fixture->headed);
}

static enum status_code kept_write(void *context, const struct stored_tensor *tensor, const void *bytes,
                                   struct status *error)
{
    struct kept_disk *disk = context;
    struct kept_tensor *kept = &disk->tensors[disk->count];
    if (disk->count == disk->fails_at) {
        return status_set(error, STATUS_IO, "the disk is full");
    }
    disk->count++;
    snprintf(kept->name, sizeof kept->name, "%s", tensor->label);
    kept->dtype = tensor->dtype;
    kept->bytes = tensor->bytes;
    kept->data = malloc((size_t)tensor->bytes);
    assert_non_null(kept->data);
    memcpy(kept->data, bytes, (size_t)tensor->bytes);
    return STATUS_OK;
}

void fixture_plan(struct load_fixture *fixture, const struct device_map *map, const struct storage_type *type,
                  const char *const *specs)
{
    struct status error = {0};
    const struct load_request request = {.checkpoint = fixture->files.checkpoint,
                                         .skeleton = &fixture->headed,
                                         .names = &fixture->names,
                                         .map = map,
                                         .type = type,
                                         .has_folder = true};
    if (load_plan_make(&request, &fixture->plan, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    fixture->store = (struct placed_store){.write = kept_write, .context = &fixture->disk};
    for (int i = 0; specs[i] != NULL; i++) {
        bool is_gpu = fixture->plan.places[i].device.kind == PLACEMENT_GPU;
        fixture->lanes[i].policy = is_gpu ? ALLOCATOR_CACHING : ALLOCATOR_PLAIN;
        if (strcmp(specs[i], "disk") == 0) {
            fixture->lanes[i].store = &fixture->store;
        } else {
            fixture->devices[i] = device_open_or_skip(specs[i]);
            fixture->lanes[i].device = fixture->devices[i];
        }
    }
}

void fixture_close(struct load_fixture *fixture)
{
    load_plan_release(&fixture->plan);
    load_files_release(&fixture->files);
    for (int i = 0; i < FIXTURE_PLACES; i++) {
        device_close(fixture->devices[i]);
    }
    for (int i = 0; i < fixture->disk.count; i++) {
        free(fixture->disk.tensors[i].data);
    }
    skeleton_release(&fixture->bare);
    skeleton_release(&fixture->headed);
    assert_int_equal(scratch_folder_remove(fixture->folder), 0);
}

double fixture_value(const struct load_fixture *fixture, const struct loaded *loaded, int target, int64_t index)
{
    const struct load_target *row = &fixture->plan.targets[target];
    const void *data = loaded_address(loaded, target);
    for (int i = 0; i < fixture->disk.count && data == NULL; i++) {
        const struct kept_tensor *kept = &fixture->disk.tensors[i];
        if (strcmp(kept->name, row->path) == 0) {
            assert_int_equal(kept->bytes, row->bytes);
            assert_int_equal(kept->dtype, row->type->dtype);
            data = kept->data;
        }
    }
    assert_non_null(data);
    return (double)float_load(data, row->type->dtype, index);
}
