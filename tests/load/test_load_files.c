/* Files of a checkpoint that are held open: the bytes of tensors as a stream, and what is said of files that are not
 * what they were. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/load/load_fixture.h"

enum { VOCAB = 50000 }; /* its two largest tensors have 6,400,000 bytes: several pieces, the last one short */

static const char *const sharded[] = {"model.safetensors.index.json", NULL};

static void scene_open(struct load_fixture *fixture)
{
    struct files_request files = {.stored = "F32", .names = sharded, .shard_count = 2, .format = "pt"};
    fixture_open(fixture, "tiny-llama", VOCAB, &files);
}

/* What a stream has given so far: elements of the parts, one part after the other. */
struct taken {
    const struct checkpoint_tensor *const *parts;
    int part, piece_count, stops_at;
    int64_t done_bytes; /* of the part */
};

static enum status_code values_take(void *context, const void *bytes, int64_t count, struct status *error)
{
    struct taken *taken = context;
    assert_true(count > 0 && count <= LOAD_STREAM_BYTES);
    if (++taken->piece_count == taken->stops_at) {
        return status_set(error, STATUS_UNAVAILABLE, "enough");
    }
    for (int64_t i = 0; i < count / 4; i++) {
        float value;
        memcpy(&value, (const char *)bytes + 4 * i, sizeof value);
        assert_true(value == (float)stored_value(taken->parts[taken->part]->name, taken->done_bytes / 4 + i));
    }
    taken->done_bytes += count;
    if (taken->done_bytes == taken->parts[taken->part]->bytes) {
        taken->part++;
        taken->done_bytes = 0;
    }
    return STATUS_OK;
}

static void a_stream_has_every_byte_of_its_parts(void **state)
{
    (void)state;
    struct load_fixture fixture;
    struct load_files files;
    struct status error = {0};
    scene_open(&fixture);
    const struct checkpoint *checkpoint = fixture.files.checkpoint;
    const struct checkpoint_tensor *parts[3] = {checkpoint_find(checkpoint, "model.norm.weight"),
                                                checkpoint_find(checkpoint, "lm_head.weight"),
                                                checkpoint_find(checkpoint, "model.embed_tokens.weight")};
    struct taken taken = {.parts = parts};
    assert_int_equal(load_files_hold(checkpoint, &files, &error), STATUS_OK);
    struct load_stream stream = {parts, 3, values_take, &taken};
    assert_int_equal(load_files_stream(&files, &stream, &error), STATUS_OK);
    assert_int_equal(taken.part, 3);
    taken = (struct taken){.parts = parts, .stops_at = 3};
    assert_int_equal(load_files_stream(&files, &stream, &error), STATUS_UNAVAILABLE);
    assert_int_equal(taken.piece_count, 3);
    assert_int_equal(load_files_check(&files, &error), STATUS_OK);
    load_files_release(&files);
    fixture_close(&fixture);
}

static void shard_path(const struct load_fixture *fixture, char path[256])
{
    snprintf(path, 256, "%s/model-00002-of-00002.safetensors", fixture->folder);
}

static void a_file_of_another_length_is_refused(void **state)
{
    (void)state;
    struct load_fixture fixture;
    struct load_files files = {0};
    struct status error = {0};
    char path[256];
    scene_open(&fixture);
    shard_path(&fixture, path);
    assert_int_equal(truncate(path, 1000), 0);
    assert_int_equal(load_files_hold(fixture.files.checkpoint, &files, &error), STATUS_IO);
    assert_non_null(strstr(error.text, "model-00002-of-00002.safetensors: it had "));
    assert_non_null(strstr(error.text, " and has 1000 now"));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(load_files_hold(fixture.files.checkpoint, &files, &error), STATUS_IO);
    assert_non_null(strstr(error.text, "model-00002-of-00002.safetensors: cannot be opened: No such file"));
    assert_null(files.opened);
    fixture_close(&fixture);
}

static enum status_code cut_take(void *context, const void *bytes, int64_t count, struct status *error)
{
    (void)bytes;
    (void)count;
    (void)error;
    assert_int_equal(truncate(context, 500), 0);
    return STATUS_OK;
}

static void a_file_that_is_cut_meanwhile_is_told(void **state)
{
    (void)state;
    struct load_fixture fixture;
    struct load_files files;
    struct status error = {0};
    char path[256];
    scene_open(&fixture);
    shard_path(&fixture, path);
    const struct checkpoint *checkpoint = fixture.files.checkpoint;
    const struct checkpoint_tensor *largest = NULL; /* of that shard */
    for (int i = 0; i < checkpoint->tensor_count; i++) {
        const struct checkpoint_tensor *tensor = &checkpoint->tensors[i];
        bool is_there = strcmp(checkpoint->files[tensor->file].name, path) == 0;
        largest = is_there && (largest == NULL || tensor->bytes > largest->bytes) ? tensor : largest;
    }
    assert_non_null(largest);
    assert_int_equal(load_files_hold(checkpoint, &files, &error), STATUS_OK);
    const struct load_stream stream = {&largest, 1, cut_take, path};
    assert_int_equal(load_files_stream(&files, &stream, &error), STATUS_IO);
    assert_non_null(strstr(error.text, "it has become shorter while it was read"));
    assert_int_equal(load_files_check(&files, &error), STATUS_IO);
    assert_non_null(strstr(error.text, "it was written to while it was read"));
    load_files_release(&files);
    fixture_close(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_stream_has_every_byte_of_its_parts),
        cmocka_unit_test(a_file_of_another_length_is_refused),
        cmocka_unit_test(a_file_that_is_cut_meanwhile_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
