/* OpenBLAS: loading and calling it. What is multiplied, and by how many threads, is decided in host_matmul.c. */
#include "harness/device/openblas.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "harness/base/library_symbol.h"

enum { ROW_MAJOR = 101, NOT_TRANSPOSED = 111, TRANSPOSED = 112 }; /* the values of the CBLAS standard */
enum { OPENBLAS_PARALLEL_PTHREAD = 1 };                           /* answer of openblas_get_parallel */

/* What OpenBLAS 0.3.21 and the OpenMP threads were seen to map: 175 MiB with one caller, 143 MiB for each more. */
#define OPENBLAS_LOAD_BYTES   ((size_t)48 << 20)
#define OPENBLAS_CALLER_BYTES ((size_t)146 << 20)

void openblas_sgemm(const struct openblas *openblas, const struct sgemm *product)
{
    openblas->sgemm(ROW_MAJOR, product->a_transposed ? TRANSPOSED : NOT_TRANSPOSED,
                    product->b_transposed ? TRANSPOSED : NOT_TRANSPOSED, product->m, product->n, product->k,
                    product->alpha, product->a, product->lda, product->b, product->ldb, product->beta, product->c,
                    product->ldc);
}

/* OpenBLAS spins for ever where it cannot map its buffers, so room for them is tried before it is asked. */
static enum status_code openblas_room_check(int thread_count, struct status *error)
{
    size_t bytes = OPENBLAS_LOAD_BYTES + (size_t)thread_count * OPENBLAS_CALLER_BYTES;
    void *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) {
        return status_set(error, STATUS_OUT_OF_MEMORY,
                          "host: OpenBLAS needs %zu MiB of address space for %d threads and the process may not map "
                          "them; raise ulimit -v and -d, or set OMP_NUM_THREADS lower",
                          bytes >> 20, thread_count);
    }
    munmap(room, bytes);
    return STATUS_OK;
}

/* The first two words of openblas_get_config: "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ...". */
static void openblas_version_read(struct openblas *openblas)
{
    char *(*get_config)(void) = NULL;
    const char *config = symbol_find(openblas->library, "openblas_get_config", &get_config) ? get_config() : "OpenBLAS";
    size_t length = strcspn(config, " ");
    if (config[length] == ' ') {
        length += 1 + strcspn(config + length + 1, " ");
    }
    length = length < sizeof openblas->version ? length : sizeof openblas->version - 1;
    memcpy(openblas->version, config, length);
    openblas->version[length] = '\0';
}

/* The largest product that a caller asks for at once, and the scratch memory of one thread for it. */
enum { WARM_UP_SIDE = 1024, WARM_UP_DEPTH = 512, WARM_UP_FLOATS = WARM_UP_SIDE * (WARM_UP_SIDE + WARM_UP_DEPTH) };

/* Every thread multiplies once at the same time, so that each one's buffer is mapped and touched now and is part of the
 * baseline, not of the case. */
static enum status_code openblas_warm_up(const struct openblas *openblas, int thread_count, struct status *error)
{
    size_t bytes = (size_t)thread_count * WARM_UP_FLOATS * sizeof(float);
    float *scratch = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (scratch == MAP_FAILED) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "host: no %zu MiB to warm up OpenBLAS on %d threads",
                          bytes >> 20, thread_count);
    }
#pragma omp parallel for num_threads(thread_count) schedule(static, 1)
    for (int i = 0; i < thread_count; i++) {
        float *factor = scratch + (ptrdiff_t)i * WARM_UP_FLOATS;
        const struct sgemm product = {.b_transposed = true,
                                      .m = WARM_UP_SIDE,
                                      .n = WARM_UP_SIDE,
                                      .k = WARM_UP_DEPTH,
                                      .alpha = 1.0f,
                                      .a = factor,
                                      .b = factor,
                                      .c = factor + WARM_UP_SIDE * WARM_UP_DEPTH,
                                      .lda = WARM_UP_DEPTH,
                                      .ldb = WARM_UP_DEPTH,
                                      .ldc = WARM_UP_SIDE};
        openblas_sgemm(openblas, &product);
    }
    munmap(scratch, bytes);
    return STATUS_OK;
}

static enum status_code openblas_load(struct openblas *openblas, struct status *error)
{
    /* Its own threads would stand beside ours and their stacks in the footprint. It looks once, while loading. */
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    openblas->library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (openblas->library == NULL) {
        return status_set(error, STATUS_UNAVAILABLE,
                          "host: libopenblas.so.0 cannot be loaded (%s); install it, on Debian and Ubuntu with "
                          "apt-get install libopenblas0-pthread",
                          dlerror());
    }
    if (!symbol_find(openblas->library, "cblas_sgemm", &openblas->sgemm)) {
        return status_set(error, STATUS_UNAVAILABLE,
                          "host: libopenblas.so.0 has no cblas_sgemm; install a build with CBLAS, on Debian and Ubuntu "
                          "libopenblas0-pthread");
    }
    int (*get_parallel)(void) = NULL;
    void (*set_num_threads)(int) = NULL;
    /* Where another part of the process loaded it first. The OpenMP build would change our own threads too, and
     * already runs on one thread inside a parallel region. */
    if (symbol_find(openblas->library, "openblas_get_parallel", &get_parallel) &&
        get_parallel() == OPENBLAS_PARALLEL_PTHREAD &&
        symbol_find(openblas->library, "openblas_set_num_threads", &set_num_threads)) {
        set_num_threads(1);
    }
    openblas_version_read(openblas);
    return STATUS_OK;
}

enum status_code openblas_open(int thread_count, struct openblas *openblas, struct status *error)
{
    struct openblas opened = {0};
    enum status_code code = openblas_room_check(thread_count, error);
    if (code == STATUS_OK) {
        code = openblas_load(&opened, error);
    }
    if (code == STATUS_OK) {
        code = openblas_warm_up(&opened, thread_count, error);
    }
    if (code == STATUS_OK) {
        *openblas = opened;
    } else {
        openblas_close(&opened);
    }
    return code;
}

/* The library stays mapped (RTLD_NODELETE): unloading a library whose threads and buffers may live on is not safe. */
void openblas_close(struct openblas *openblas)
{
    if (openblas->library != NULL) {
        dlclose(openblas->library);
    }
    *openblas = (struct openblas){0};
}
