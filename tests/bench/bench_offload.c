/* Weights to the disk and back: an offload folder of accelerate, written and read, beside one plain file of the same
 * bytes that is written and read in order. Each run does all four, one after the other, and the ratios are of one run:
 * what else the disk does changes both sides. Both writers end with their bytes on the disk (fsync), and before it is
 * read, what was written is dropped from the page cache, as far as the file system does that. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/bytes_write.h"
#include "harness/base/clock.h"
#include "harness/base/wide_read.h"
#include "harness/checkpoint/offload_write.h"
#include "tests/bench/bench_parts.h"
#include "tests/support/scratch_folder.h"

enum { MATRICES = 32, VECTORS = 32, TENSORS = MATRICES + VECTORS, PATH_BYTES = 256 };
static const double ratio_least = 0.9;

struct disk_bench {
    char root[PATH_BYTES], folder[PATH_BYTES + 16], plain[PATH_BYTES + 16];
    char names[TENSORS][64];
    int64_t sizes[TENSORS]; /* a layer's matrix and its norm, in turn; bytes */
    int64_t total_bytes;
    unsigned char *bytes; /* of the largest tensor */
};

static enum status_code io_fault(const char *path, struct status *error)
{
    return status_set(error, STATUS_IO, "%s: %s", path, strerror(errno));
}

static enum status_code folder_write(const struct disk_bench *bench, struct status *error)
{
    struct offload_writer *writer = NULL;
    enum status_code code = offload_writer_open(bench->folder, OFFLOAD_KEEP, &writer, error);
    if (code != STATUS_OK) {
        return code;
    }
    for (int i = 0; i < TENSORS && code == STATUS_OK; i++) {
        const struct offload_tensor tensor = {
            .name = bench->names[i], .type = offload_type_named("uint8"), .rank = 1, .shape = &bench->sizes[i]};
        code = offload_writer_begin(writer, &tensor, error);
        code = code == STATUS_OK ? offload_writer_take(writer, bench->bytes, bench->sizes[i], error) : code;
        code = code == STATUS_OK ? offload_writer_end(writer, error) : code;
    }
    if (code != STATUS_OK) {
        offload_writer_abandon(writer);
        return code;
    }
    return offload_writer_finish(writer, error);
}

static enum status_code folder_read(const struct disk_bench *bench, struct status *error)
{
    struct offload_folder *folder = NULL;
    enum status_code code = offload_folder_open(bench->folder, &folder, error);
    for (int i = 0; i < TENSORS && code == STATUS_OK; i++) {
        struct offload_entry entry;
        struct byte_source *source = NULL;
        code = offload_entry_read(folder, bench->names[i], &entry, error);
        code = code == STATUS_OK ? offload_source_open(folder, &entry, &source, error) : code;
        offload_prefetch(folder, bench->names[i]);
        code = code == STATUS_OK ? wide_read(source, 0, bench->bytes, (size_t)entry.bytes, error) : code;
        byte_source_release(source);
    }
    offload_folder_close(folder);
    return code;
}

static enum status_code plain_write(const struct disk_bench *bench, struct status *error)
{
    int file = open(bench->plain, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    int cause = file < 0 ? errno : 0;
    for (int i = 0; i < TENSORS && cause == 0; i++) {
        cause = bytes_write(file, (const char *)bench->bytes, (size_t)bench->sizes[i]);
    }
    if (cause == 0 && fsync(file) != 0) {
        cause = errno;
    }
    if (file >= 0) {
        close(file);
    }
    errno = cause;
    return cause == 0 ? STATUS_OK : io_fault(bench->plain, error);
}

static enum status_code plain_read(const struct disk_bench *bench, struct status *error)
{
    int file = open(bench->plain, O_RDONLY | O_CLOEXEC);
    ssize_t got = file < 0 ? -1 : 1;
    for (int i = 0; i < TENSORS && got > 0; i++) { /* to where the other side puts them */
        for (int64_t done = 0; done < bench->sizes[i] && got > 0; done += got) {
            got = read(file, bench->bytes + done, (size_t)(bench->sizes[i] - done));
        }
    }
    enum status_code code = got <= 0 ? io_fault(bench->plain, error) : STATUS_OK;
    if (file >= 0) {
        close(file);
    }
    return code;
}

static void cache_drop(const char *path)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file >= 0) {
        posix_fadvise(file, 0, 0, POSIX_FADV_DONTNEED);
        close(file);
    }
}

static void caches_drop(const struct disk_bench *bench)
{
    char path[2 * PATH_BYTES];
    cache_drop(bench->plain);
    for (int i = 0; i < TENSORS; i++) {
        snprintf(path, sizeof path, "%s/%s.dat", bench->folder, bench->names[i]);
        cache_drop(path);
    }
}

typedef enum status_code disk_work(const struct disk_bench *bench, struct status *error);

/* MiB a second. */
static enum status_code rate_measure(const struct disk_bench *bench, disk_work *work, double *rate,
                                     struct status *error)
{
    double begin = clock_seconds();
    enum status_code code = work(bench, error);
    *rate = (double)bench->total_bytes / 1048576.0 / (clock_seconds() - begin);
    return code;
}

enum { FOLDER_WRITE, PLAIN_WRITE, FOLDER_READ, PLAIN_READ, WORKS };

static enum status_code run_measure(const struct disk_bench *bench, double rates[WORKS], struct status *error)
{
    static disk_work *const works[WORKS] = {folder_write, plain_write, folder_read, plain_read};
    enum status_code code = STATUS_OK;
    for (int i = 0; i < WORKS && code == STATUS_OK; i++) {
        if (i == FOLDER_READ) {
            caches_drop(bench);
        }
        code = rate_measure(bench, works[i], &rates[i], error);
    }
    if (code == STATUS_OK && (scratch_folder_remove(bench->folder) != 0 || unlink(bench->plain) != 0)) {
        code = io_fault(bench->folder, error);
    }
    return code;
}

static enum status_code bench_make(struct disk_bench *bench, bool quick, struct status *error)
{
    const char *place = getenv("TMPDIR");
    snprintf(bench->root, sizeof bench->root, "%s/assay-bench-XXXXXX",
             place != NULL && *place != '\0' ? place : "/tmp");
    if (mkdtemp(bench->root) == NULL) {
        return io_fault(bench->root, error);
    }
    snprintf(bench->folder, sizeof bench->folder, "%s/weights", bench->root);
    snprintf(bench->plain, sizeof bench->plain, "%s/plain", bench->root);
    for (int i = 0; i < TENSORS; i++) {
        snprintf(bench->names[i], sizeof bench->names[i], "model.layers.%d.%s", i / 2,
                 i % 2 == 0 ? "mlp.weight" : "norm.weight");
        bench->sizes[i] = i % 2 == 1 ? 16 << 10 : quick ? 64 << 10 : 8 << 20;
        bench->total_bytes += bench->sizes[i];
    }
    bench->bytes = malloc(8 << 20);
    if (bench->bytes == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no memory for a tensor");
    }
    for (size_t i = 0; i < 8 << 20; i++) {
        bench->bytes[i] = (unsigned char)(i * 2654435761U >> 13);
    }
    return STATUS_OK;
}

static void rows_print(struct bench_row rows[], int count, struct bench_tally *tally)
{
    for (int i = 0; i < count; i++) {
        bench_row_print(&rows[i], tally);
    }
}

void bench_offload(bool quick, struct bench_tally *tally)
{
    struct disk_bench *bench = calloc(1, sizeof *bench);
    struct status error = {.code = STATUS_OUT_OF_MEMORY, .text = "no memory"};
    struct bench_row rows[] = {
        bench_row_open("offload folder, write and fsync", "MiB/s"),
        bench_row_open("one plain file, write and fsync", "MiB/s"),
        bench_row_open("offload folder, read", "MiB/s"),
        bench_row_open("one plain file, read", "MiB/s"),
        bench_row_open("offload folder / plain file, write", "x"),
        bench_row_open("offload folder / plain file, read", "x"),
    };
    rows[WORKS].at_least = rows[WORKS + 1].at_least = ratio_least;
    enum status_code code = bench != NULL ? bench_make(bench, quick, &error) : STATUS_OUT_OF_MEMORY;
    for (int run = 0; run < BENCH_RUNS && code == STATUS_OK; run++) {
        double rates[WORKS] = {0};
        code = run_measure(bench, rates, &error);
        for (int i = 0; i < WORKS && code == STATUS_OK; i++) {
            bench_row_add(&rows[i], rates[i]);
        }
        if (code == STATUS_OK) {
            bench_row_add(&rows[WORKS], rates[FOLDER_WRITE] / rates[PLAIN_WRITE]);
            bench_row_add(&rows[WORKS + 1], rates[FOLDER_READ] / rates[PLAIN_READ]);
        }
    }
    if (code == STATUS_OK) {
        rows_print(rows, WORKS + 2, tally);
    } else {
        bench_row_fail("offload folder", &error, tally);
    }
    if (bench != NULL) {
        scratch_folder_remove(bench->root);
        free(bench->bytes);
    }
    free(bench);
}
