/* A load that goes wrong: what is said, that nothing is held afterwards, and that the checkpoint is as it was. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "harness/load/element_cast.h"
#include "tests/load/load_fixture.h"

#define GPU(number)                                                                                                    \
    {                                                                                                                  \
        PLACEMENT_GPU, number                                                                                          \
    }
#define CPU                                                                                                            \
    {                                                                                                                  \
        .kind = PLACEMENT_CPU                                                                                          \
    }
#define DISK                                                                                                           \
    {                                                                                                                  \
        .kind = PLACEMENT_DISK                                                                                         \
    }

static const char *const sharded[] = {"model.safetensors.index.json", NULL};
static struct device_map_entry entries[] = {
    {"", CPU}, {"model.layers.0", GPU(0)}, {"model.layers.1", GPU(1)}, {"lm_head", DISK}};
static const struct device_map map = {entries, 4};
static const char *const specs[] = {"host", "host", "host", "disk", NULL};

/* What happens to the files of a load after its first piece. */
struct mischief {
    struct load_fixture *fixture;
    const char *shard;
    void (*act)(const char *path);
    bool done, stops;
    int64_t seen_bytes;
};

static void mischief_progress(void *context, int64_t done_bytes, int64_t all_bytes)
{
    struct mischief *self = context;
    char path[256];
    assert_true(done_bytes <= all_bytes);
    self->seen_bytes = done_bytes;
    if (self->act != NULL && !self->done && done_bytes > 0) {
        snprintf(path, sizeof path, "%s/%s", self->fixture->folder, self->shard);
        self->act(path);
        self->done = true;
    }
}

static bool mischief_stops(void *context)
{
    const struct mischief *self = context;
    return self->stops && self->seen_bytes > 0;
}

static void fixture_ready(struct load_fixture *fixture, const char *const *places)
{
    struct files_request files = {.stored = "F32", .names = sharded, .shard_count = 3, .format = "pt"};
    fixture_open(fixture, "tiny-llama", 0, &files);
    fixture_plan(fixture, &map, storage_type_of(DTYPE_BFLOAT16), places);
}

/* Resident bytes would hide a leak of a few kilobytes; what the devices count does not. */
static void nothing_is_held(struct load_fixture *fixture)
{
    for (int i = 0; i < fixture->plan.place_count; i++) {
        struct device *device = fixture->devices[i];
        struct device_reading reading = {0};
        struct device_properties properties = {0};
        if (device == NULL) {
            continue;
        }
        assert_int_equal(device->table->read_memory(device, &reading, NULL), STATUS_OK);
        assert_int_equal(device->table->properties(device, &properties, NULL), STATUS_OK);
        if (properties.total_bytes <= 1 << 20) { /* bounded */
            assert_int_equal(reading.free_bytes, properties.total_bytes);
        }
    }
}

static void load_fails(struct load_fixture *fixture, const struct load_watch *watch, enum status_code expected,
                       const char *words)
{
    struct status error = {0};
    struct loaded *loaded = NULL;
    enum status_code code = load_run(&fixture->plan, &fixture->files, fixture->lanes, watch, &loaded, &error);
    assert_null(loaded);
    if (code != expected || strstr(error.text, words) == NULL) {
        fail_msg("code %d, and '%s' is not in: %s", (int)code, words, error.text);
    }
    nothing_is_held(fixture);
}

static void file_truncate(const char *path)
{
    struct stat facts;
    assert_int_equal(stat(path, &facts), 0);
    assert_int_equal(truncate(path, facts.st_size - 4096), 0);
}

static void file_remove(const char *path)
{
    assert_int_equal(unlink(path), 0);
}

static void file_replace_whole(const char *path)
{
    char other[300];
    snprintf(other, sizeof other, "%s.new", path);
    FILE *file = fopen(other, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(rename(other, path), 0);
}

static void file_overwrite(const char *path)
{
    int file = open(path, O_WRONLY);
    assert_true(file >= 0);
    struct stat facts;
    assert_int_equal(fstat(file, &facts), 0);
    assert_int_equal(pwrite(file, "12345678", 8, facts.st_size - 8), 8);
    const struct timespec times[2] = {facts.st_atim, {facts.st_mtim.tv_sec + 1, 0}}; /* clocks of files are coarse */
    assert_int_equal(futimens(file, times), 0);
    close(file);
}

/* A mapped file that becomes shorter ends the process with SIGBUS. */
static void a_shard_changes_while_it_is_loaded(void **state)
{
    static const struct {
        void (*act)(const char *path);
        const char *words;
    } rows[] = {{file_truncate, "model-00003-of-00003.safetensors: it has become shorter"},
                {file_remove, "model-00003-of-00003.safetensors: it was removed while it was read"},
                {file_replace_whole, "model-00003-of-00003.safetensors: it was replaced by another file"},
                {file_overwrite, "model-00003-of-00003.safetensors: it was written to while it was read"}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct load_fixture fixture;
        fixture_ready(&fixture, specs);
        struct mischief mischief = {
            .fixture = &fixture, .shard = "model-00003-of-00003.safetensors", .act = rows[i].act};
        const struct load_watch watch = {.progress = mischief_progress, .context = &mischief};
        load_fails(&fixture, &watch, STATUS_IO, rows[i].words);
        assert_true(mischief.done);
        fixture_close(&fixture);
    }
}

static void file_cut(const char *path)
{
    assert_int_equal(truncate(path, 1000), 0);
}

/* Tensors of 6,400,000 bytes, each read by several threads: what fails in one of them ends all, and is told once. */
static void long_tensors_fail_as_short_ones_do(void **state)
{
    enum { VOCAB = 50000 };
    static const char *const one[] = {"model.safetensors", NULL}, *const places[] = {"host", NULL};
    static struct device_map_entry cpu[] = {{"", CPU}}, disk[] = {{"", DISK}};
    static const char *const on_disk[] = {"disk", NULL};
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct load_fixture fixture;
        struct files_request files = {.stored = "F32", .names = one, .shard_count = 1, .format = "pt"};
        const struct device_map map_of_one = {i % 2 == 0 ? cpu : disk, 1};
        fixture_open(&fixture, "tiny-llama", VOCAB, &files);
        fixture_plan(&fixture, &map_of_one, i % 2 == 0 ? storage_type_of(DTYPE_BFLOAT16) : NULL,
                     i % 2 == 0 ? places : on_disk);
        struct mischief mischief = {
            .fixture = &fixture, .shard = "model.safetensors", .act = i < 2 ? file_cut : NULL, .stops = i >= 2};
        const struct load_watch watch = {.progress = mischief_progress, .stops = mischief_stops, .context = &mischief};
        load_fails(&fixture, &watch, i < 2 ? STATUS_IO : STATUS_UNAVAILABLE,
                   i < 2 ? "model.safetensors: it has become shorter while it was read" : "interrupted after ");
        fixture_close(&fixture);
    }
}

/* A source whose disk fails from some byte on. */
struct broken_source {
    struct byte_source base;
    struct byte_source *whole;
    int64_t breaks_at;
};

static enum status_code broken_read(struct byte_source *source, int64_t offset, void *bytes, size_t count,
                                    struct status *error)
{
    struct broken_source *self = (struct broken_source *)source;
    if (offset + (int64_t)count > self->breaks_at) {
        return status_set(error, STATUS_IO, "%s: cannot be read at byte %" PRId64 ": %s", source->name, offset,
                          strerror(EIO));
    }
    return byte_source_read(self->whole, offset, bytes, count, error);
}

static void broken_release(struct byte_source *source)
{
    (void)source;
}

static void a_read_fails(void **state)
{
    static const struct byte_source_table table = {.read = broken_read, .release = broken_release};
    struct load_fixture fixture;
    (void)state;
    fixture_ready(&fixture, specs);
    struct byte_source *whole = fixture.files.sources[1];
    struct broken_source broken = {.base = *whole, .whole = whole, .breaks_at = whole->size_bytes / 2};
    broken.base.table = &table;
    fixture.files.sources[1] = &broken.base;
    load_fails(&fixture, NULL, STATUS_IO, "Input/output error");
    fixture.files.sources[1] = whole;
    struct status error = {0};
    struct loaded *loaded = NULL;
    for (int i = 0; i < fixture.disk.count; i++) {
        free(fixture.disk.tensors[i].data);
    }
    fixture.disk.count = 0;
    assert_int_equal(load_run(&fixture.plan, &fixture.files, fixture.lanes, NULL, &loaded, &error), STATUS_OK);
    assert_int_equal(loaded_release(loaded, NULL), STATUS_OK);
    fixture_close(&fixture);
}

/* Nothing is read before it is known that the GPUs have room; the host's part comes after what goes to the disk. */
static void one_device_of_several_is_full(void **state)
{
    static const char *const small[] = {"host", "host:mem=1MiB", "host", "disk", NULL};
    static const char *const small_host[] = {"host", "host", "host:mem=4KiB", "disk", NULL};
    struct load_fixture fixture;
    (void)state;
    fixture_ready(&fixture, small);
    struct mischief mischief = {.fixture = &fixture};
    const struct load_watch watch = {.progress = mischief_progress, .context = &mischief};
    load_fails(&fixture, &watch, STATUS_OUT_OF_MEMORY, "device 1 of the map, which holds 0 of the ");
    assert_int_equal(mischief.seen_bytes, 0);
    assert_int_equal(fixture.disk.count, 0);
    fixture_close(&fixture);
    fixture_ready(&fixture, small_host);
    load_fails(&fixture, NULL, STATUS_OUT_OF_MEMORY, "device cpu of the map, which holds ");
    fixture_close(&fixture);
}

static void the_disk_is_full(void **state)
{
    struct load_fixture fixture;
    (void)state;
    fixture_ready(&fixture, specs);
    fixture.disk.fails_at = 0;
    load_fails(&fixture, NULL, STATUS_IO, "the disk is full");
    fixture_close(&fixture);
}

static void a_load_is_interrupted(void **state)
{
    struct load_fixture fixture;
    (void)state;
    fixture_ready(&fixture, specs);
    struct mischief mischief = {.fixture = &fixture, .stops = true};
    const struct load_watch watch = {.stops = mischief_stops, .progress = mischief_progress, .context = &mischief};
    load_fails(&fixture, &watch, STATUS_UNAVAILABLE, "the load was interrupted after ");
    assert_true(mischief.seen_bytes < fixture.plan.stored_bytes);
    assert_int_equal(load_files_check(&fixture.files, NULL), STATUS_OK);
    fixture_close(&fixture);
}

static void choice_refused(const char *folder, const char *const *names, const char *words)
{
    char path[128];
    struct status error = {0};
    char *chosen = NULL;
    for (int i = 0; names[i] != NULL; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        fclose(file);
    }
    assert_int_equal(load_file_choose(folder, &chosen, &error), STATUS_INVALID);
    if (strstr(error.text, words) == NULL) {
        fail_msg("'%s' is not in: %s", words, error.text);
    }
    for (int i = 0; names[i] != NULL; i++) {
        snprintf(path, sizeof path, "%s/%s", folder, names[i]);
        assert_int_equal(unlink(path), 0);
    }
}

static void a_folder_that_is_no_choice_is_told(void **state)
{
    char folder[] = "/tmp/assay-load-XXXXXX";
    (void)state;
    assert_non_null(mkdtemp(folder));
    choice_refused(folder, (const char *const[]){NULL}, "no model.safetensors and no file that ends in .index.json");
    choice_refused(folder, (const char *const[]){"model-00001-of-00002.safetensors", NULL},
                   "look like shards: put their index there");
    choice_refused(folder, (const char *const[]){"a.index.json", "b.index.json", NULL},
                   "2 files that end in .index.json");
    choice_refused(folder, (const char *const[]){"pytorch_model.bin", "model.safetensors", NULL}, "which is pickled");
    choice_refused(folder, (const char *const[]){"pytorch_model.bin.index.json", NULL}, "which is pickled");
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_shard_changes_while_it_is_loaded),
        cmocka_unit_test(long_tensors_fail_as_short_ones_do),
        cmocka_unit_test(a_read_fails),
        cmocka_unit_test(one_device_of_several_is_full),
        cmocka_unit_test(the_disk_is_full),
        cmocka_unit_test(a_load_is_interrupted),
        cmocka_unit_test(a_folder_that_is_no_choice_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
