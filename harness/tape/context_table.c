/* The context table: rows with their sources, and the ranges between them. No device is asked. */
#include "harness/tape/context_table.h"

#include <stddef.h>
#include <string.h>

#include "harness/tape/module_table.h"

#define GITHUB "https://github.com/"
#define OURS   "results/reference/nvidia-h100-80gb-hbm3/pytorch-2.11.0"

enum { THREAD_BYTES = 2048, CONTEXT_LOW_PERCENT = 94, CONTEXT_HIGH_PERCENT = 106, NEIGHBOUR_FACTOR = 4 };
enum { KERNELS_LOW_PERCENT = 95, KERNELS_LIKELY_PERCENT = 103, KERNELS_HIGH_PERCENT = 112 };
enum { HOPPER_HANDLE_MIB = 66, HANDLES_REST_MIB = 59, MOST_MORE_MIB = 128 };
enum { FIRST_KERNEL_THREAD_BYTES = 357, TRAINING_MOST_MIB = 220 };

#define MIB(count) ((int64_t)(count) << 20)
/* A figure that a message prints as "79.25 GiB", and how far the sum of two of them may be off. */
#define HUNDREDTHS(count) ((int64_t)(count) * ((int64_t)1 << 30) / 100)
#define ROUNDED           MIB(6)
#define ROUNDED_TWICE     MIB(11)

#define TOTAL(gpu, target, count, bytes, rounding, source)                                                             \
    {                                                                                                                  \
        gpu, target, count, CONTEXT_FIGURE_DRIVER, {.use = CONTEXT_LOAD}, bytes, rounding, "", source                  \
    }
#define BARE(gpu, target, count, bytes, software, source)                                                              \
    {                                                                                                                  \
        gpu, target, count, CONTEXT_FIGURE_BARE, {.use = CONTEXT_LOAD}, bytes, 0, software, source                     \
    }
/* Of torch.OutOfMemoryError: "this process has IN USE", of which ALLOCATED and what is "reserved but unallocated". */
#define MESSAGE(gpu, target, count, used, in_use, allocated, unallocated_mib, source)                                  \
    {                                                                                                                  \
        gpu, target, count, CONTEXT_FIGURE_PROCESS, {.use = used},                                                     \
            HUNDREDTHS((in_use) - (allocated)) - MIB(unallocated_mib), ROUNDED_TWICE, "PyTorch 2", GITHUB source       \
    }

#define EAGER(gpu, target, count, used, with_cudnn, release, bytes, rounding, source)                                  \
    {                                                                                                                  \
        gpu, target, count, CONTEXT_FIGURE_PROCESS,                                                                    \
            {.use = used, .is_eager = true, .convolves = with_cudnn, .torch_release = release}, bytes, rounding,       \
            "EAGER", source                                                                                            \
    }

static const struct context_row rows[] = {
    TOTAL("NVIDIA H100 80GB HBM3", "sm_90", 132, 85017493504, 0, OURS " (driver 580.159)"),
    TOTAL("NVIDIA H100 80GB HBM3", "sm_90", 132, HUNDREDTHS(7922), ROUNDED, GITHUB "vllm-project/vllm/pull/12126"),
    TOTAL("NVIDIA H100 80GB HBM3", "sm_90", 132, HUNDREDTHS(7911), ROUNDED, GITHUB "vllm-project/vllm/issues/27508"),
    TOTAL("NVIDIA A100-SXM4-80GB", "sm_80", 108, HUNDREDTHS(7925), ROUNDED, GITHUB "HiDream-ai/VAREdit/issues/6"),
    TOTAL("NVIDIA A100-SXM4-80GB", "sm_80", 108, HUNDREDTHS(7915), ROUNDED, GITHUB "vllm-project/vllm/issues/4408"),
    TOTAL("NVIDIA A100-SXM4-40GB", "sm_80", 108, 42474471424, 0, GITHUB "Stone-ResearchLife/xMem"),
    TOTAL("NVIDIA A100-SXM4-40GB", "sm_80", 108, HUNDREDTHS(3950), ROUNDED, GITHUB "TianheWu/CoSeR/issues/10"),
    TOTAL("NVIDIA A100-SXM4-40GB", "sm_80", 108, HUNDREDTHS(3945), ROUNDED, GITHUB "LianjiaTech/BELLE/issues/137"),
    TOTAL("NVIDIA A10", "sm_86", 72, HUNDREDTHS(2218), ROUNDED, GITHUB "OpenBMB/MiniCPM-V/issues/640"),
    TOTAL("NVIDIA RTX A4000", "sm_86", 48, HUNDREDTHS(1561), ROUNDED, GITHUB "DengKaiCQ/VGGT-Long/issues/6"),
    TOTAL("NVIDIA GeForce RTX 3060", "sm_86", 28, 12622168064, 0, GITHUB "Stone-ResearchLife/xMem"),
    TOTAL("NVIDIA L40", "sm_89", 142, HUNDREDTHS(4440), ROUNDED, GITHUB "QwenLM/Qwen3-VL/issues/2097"),
    TOTAL("NVIDIA L40S", "sm_89", 142, HUNDREDTHS(4452), ROUNDED,
          GITHUB "huggingface/sentence-transformers/issues/3214"),
    TOTAL("NVIDIA RTX 6000 Ada Generation", "sm_89", 142, 50865307648, 0, GITHUB "unslothai/unsloth-zoo/pull/1053"),
    TOTAL("NVIDIA GeForce RTX 4060", "sm_89", 24, 8318222336, 0, GITHUB "Stone-ResearchLife/xMem"),
    TOTAL("NVIDIA GeForce RTX 4090", "sm_89", 128, HUNDREDTHS(2364), ROUNDED,
          GITHUB "3DTopia/Phidias-Diffusion/issues/8"),
    TOTAL("NVIDIA GeForce RTX 4090", "sm_89", 128, HUNDREDTHS(2353), ROUNDED, GITHUB "lrzjason/T2ITrainer/issues/37"),
    TOTAL("Tesla T4", "sm_75", 40, HUNDREDTHS(1475), ROUNDED, GITHUB "hpcaitech/Open-Sora/issues/697"),
    TOTAL("Tesla T4", "sm_75", 40, HUNDREDTHS(1456), ROUNDED, GITHUB "Zheng-Chong/CatVTON/issues/133"),
    TOTAL("NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "sm_120", 188, MIB(97240), 0,
          GITHUB "ggml-org/llama.cpp/pull/22616"),
    TOTAL("NVIDIA GeForce RTX 5090", "sm_120", 170, HUNDREDTHS(3136), ROUNDED,
          GITHUB "TrajectoryCrafter/TrajectoryCrafter/issues/20"),

    BARE("NVIDIA H100 80GB HBM3", "sm_90", 132, 543162368, "PyTorch 2.11, CUDA 13.0, driver 580.159", OURS),
    BARE("NVIDIA RTX 6000 Ada Generation", "sm_89", 142, MIB(426), "PyTorch 2.10, CUDA 13.0",
         GITHUB "unslothai/unsloth-zoo/pull/1053"),
    BARE("NVIDIA GeForce RTX 3090", "sm_86", 82, MIB(256), "PyTorch 2.7.1, CUDA 12.8, driver 610.43",
         GITHUB "invoke-ai/InvokeAI/issues/9413"),
    BARE("NVIDIA TITAN V", "sm_70", 80, 334757888, "PyCUDA, 2019", GITHUB "pytorch/pytorch/issues/28394"),

    /* The highest of 136 inferences and of 57 trainings; of the process, as NVML says. */
    {"NVIDIA H100 80GB HBM3",
     "sm_90",
     132,
     CONTEXT_FIGURE_PROCESS,
     {.use = CONTEXT_INFERENCE},
     719323136,
     0,
     "PyTorch 2.11, CUDA 13.0, driver 580.159",
     OURS},
    {"NVIDIA H100 80GB HBM3",
     "sm_90",
     132,
     CONTEXT_FIGURE_PROCESS,
     {.use = CONTEXT_TRAINING},
     799014912,
     0,
     "PyTorch 2.11, CUDA 13.0, driver 580.159",
     OURS},
    MESSAGE("NVIDIA A100-SXM4-80GB", "sm_80", 108, CONTEXT_INFERENCE, 1654, 1594, 206, "HiDream-ai/VAREdit/issues/6"),
    MESSAGE("NVIDIA A100-SXM4-40GB", "sm_80", 108, CONTEXT_INFERENCE, 1425, 1287, 912, "TianheWu/CoSeR/issues/10"),
    MESSAGE("NVIDIA RTX A4000", "sm_86", 48, CONTEXT_INFERENCE, 1551, 1501, 302, "DengKaiCQ/VGGT-Long/issues/6"),
    MESSAGE("NVIDIA L40", "sm_89", 142, CONTEXT_INFERENCE, 1113, 1025, 395, "QwenLM/Qwen3-VL/issues/2097"),
    MESSAGE("NVIDIA L40S", "sm_89", 142, CONTEXT_TRAINING, 4447, 4389, 80,
            "huggingface/sentence-transformers/issues/3214"),
    MESSAGE("NVIDIA GeForce RTX 4060", "sm_89", 24, CONTEXT_INFERENCE, 746, 713, 223, "ESRSchao/EdgeRegNet/issues/2"),
    MESSAGE("NVIDIA GeForce RTX 4090", "sm_89", 128, CONTEXT_TRAINING, 2239, 2158, 350,
            "lrzjason/T2ITrainer/issues/37"),
    MESSAGE("NVIDIA GeForce RTX 4090", "sm_89", 128, CONTEXT_INFERENCE, 1456, 1386, 213,
            "3DTopia/Phidias-Diffusion/issues/8"),
    MESSAGE("Tesla T4", "sm_75", 40, CONTEXT_INFERENCE, 411, 372, 264, "Zheng-Chong/CatVTON/issues/133"),
    MESSAGE("NVIDIA GeForce RTX 5090", "sm_120", 170, CONTEXT_INFERENCE, 2689, 2595, 344,
            "TrajectoryCrafter/TrajectoryCrafter/issues/20"),
    MESSAGE("NVIDIA GeForce RTX 5090", "sm_120", 170, CONTEXT_INFERENCE, 3134, 3074, 19, "Wan-Video/Wan2.1/issues/465"),

    /* With CUDA_MODULE_LOADING=EAGER: one tensor, a step in bfloat16, a step with convolutions. */
    EAGER("NVIDIA H100 80GB HBM3", "sm_90", 132, CONTEXT_LOAD, false, 2011, 1312817152, 0, OURS),
    EAGER("NVIDIA H100 80GB HBM3", "sm_90", 132, CONTEXT_TRAINING, false, 2011, 1918894080, 0, OURS),
    EAGER("NVIDIA H100 80GB HBM3", "sm_90", 132, CONTEXT_TRAINING, true, 2011, 2151677952, 0, OURS),
    /* The least that 6,000 networks of linear layers took, 1,443 MiB, less a segment of 2 MiB and one of 20 for the two
     * workspaces of cuBLAS. */
    EAGER("NVIDIA A100-SXM4-40GB", "sm_80", 108, CONTEXT_TRAINING, false, 2004, MIB(1443 - 22), MIB(20),
          GITHUB "itu-rad/GPUMemNet"),
};

enum { ROW_COUNT = sizeof rows / sizeof rows[0] };

const struct context_row *context_row_at(int index)
{
    return index >= 0 && index < (int)ROW_COUNT ? &rows[index] : NULL;
}

struct byte_range byte_range_sum(struct byte_range first, struct byte_range second)
{
    return (struct byte_range){first.low_bytes + second.low_bytes, first.likely_bytes + second.likely_bytes,
                               first.high_bytes + second.high_bytes};
}

/* What the driver keeps, of one row. */
static int64_t kept_bytes(const struct context_row *row)
{
    const struct gpu *gpu = NULL;
    return gpu_find(row->gpu, &gpu, NULL) == STATUS_OK ? gpu_memory_bytes(gpu) - row->bytes : 0;
}

/* Whether a row of that GPU says something about one with so much memory. */
static bool is_neighbour(const struct context_row *row, int64_t memory_bytes)
{
    return row->bytes <= memory_bytes * NEIGHBOUR_FACTOR && memory_bytes <= row->bytes * NEIGHBOUR_FACTOR;
}

/* From the least to the most that the driver kept of this GPU; of one without a row, of those with a quarter to four
 * times its memory. It differs by driver: newer ones keep more. */
static struct byte_range driver_range(const struct gpu *gpu)
{
    struct byte_range found = {0};
    bool own = false;
    for (int pass = 0; pass < 2 && !own; pass++) {
        for (int i = 0; i < (int)ROW_COUNT; i++) {
            bool same = gpu != NULL && strcmp(rows[i].gpu, gpu->name) == 0;
            bool near = pass == 1 && (gpu == NULL || is_neighbour(&rows[i], gpu_memory_bytes(gpu)));
            if (rows[i].figure != CONTEXT_FIGURE_DRIVER || !(same || near)) {
                continue;
            }
            int64_t kept = kept_bytes(&rows[i]), low = kept - rows[i].rounding_bytes;
            bool first = found.high_bytes == 0;
            found.low_bytes = first || low < found.low_bytes ? low : found.low_bytes;
            found.high_bytes =
                kept + rows[i].rounding_bytes > found.high_bytes ? kept + rows[i].rounding_bytes : found.high_bytes;
            own = own || same;
        }
    }
    found.likely_bytes = found.low_bytes + (found.high_bytes - found.low_bytes) / 2;
    return found;
}

/* 2 KiB for each resident thread. NVIDIA documents the form (local memory of a thread, rounded, times the threads of
 * all multiprocessors: forums.developer.nvidia.com/t/39558), not the 2 KiB, which the rows show: they lie from 2 %
 * below to 4 % above. */
static struct byte_range threads_range(int64_t least, int64_t usual, int64_t most, int threads)
{
    return (struct byte_range){least * threads * THREAD_BYTES / 100 * CONTEXT_LOW_PERCENT,
                               usual * threads * THREAD_BYTES,
                               most * threads * THREAD_BYTES / 100 * CONTEXT_HIGH_PERCENT};
}

static struct byte_range context_range(const struct gpu *gpu, const struct target *target)
{
    int64_t least = target->multiprocessor_count, most = least;
    if (gpu != NULL && gpu->multiprocessor_count > 0) {
        int64_t count = gpu->multiprocessor_count;
        return threads_range(count, count, count, target->multiprocessor_threads);
    }
    for (int i = 0; gpu_at(i) != NULL; i++) {
        int64_t count = strcmp(gpu_at(i)->target, target->name) == 0 ? gpu_at(i)->multiprocessor_count : 0;
        least = count > 0 && count < least ? count : least;
        most = count > most ? count : most;
    }
    return threads_range(least, target->multiprocessor_count, most, target->multiprocessor_threads);
}

/* What is loaded beside the context. A load alone runs no kernel, or a few. PyTorch's first takes local memory
 * again, 357 bytes for each resident thread: an H100 takes 92 MiB there, 46 pages of 2 MiB for its 132 * 2,048
 * threads. By the same rule an A100 takes 75 MiB, where trainings measured by others show 81 to 83, and an RTX
 * 3060 15, where they show up to 18. On Hopper each handle of cuBLAS takes 66 MiB, and a training step has two
 * (the autograd engine's thread has its own). On the H100 82 programs of five trainers lie within 10 MiB of each
 * other in inference, and within 20 in training. The most is 128 MiB above what an H100 would show: the rows show
 * 50, and another library may bring kernels like PyTorch's. */
static struct byte_range libraries_range(struct byte_range context, const struct target *target, enum context_use use)
{
    static const int other_mib[][3] = {[CONTEXT_LOAD] = {0, 0, 128}, [CONTEXT_INFERENCE] = {0, 80, 208}};
    static const int hopper_mib[][3] = {
        [CONTEXT_LOAD] = {0, 0, 128}, [CONTEXT_INFERENCE] = {150, 166, 294}, [CONTEXT_TRAINING] = {214, 240, 368}};
    if (use == CONTEXT_TRAINING && target->capability != 90) {
        int64_t threads = context.likely_bytes / THREAD_BYTES;
        return (struct byte_range){0, threads * FIRST_KERNEL_THREAD_BYTES, MIB(TRAINING_MOST_MIB)};
    }
    const int *row = target->capability == 90 ? hopper_mib[use] : other_mib[use];
    return (struct byte_range){MIB(row[0]), MIB(row[1]), MIB(row[2])};
}

/* Kernels of so many bytes in files, in memory: the H100 shows from 98.7 to 103.4 %. */
static struct byte_range kernels_range(int64_t file_bytes)
{
    return (struct byte_range){file_bytes / 100 * KERNELS_LOW_PERCENT, file_bytes / 100 * KERNELS_LIKELY_PERCENT,
                               file_bytes / 100 * KERNELS_HIGH_PERCENT};
}

/* Handles, where all kernels are there already: on Hopper 66 MiB each. What a step of the H100 takes besides them and
 * besides the kernels of cuBLAS is 59 MiB. */
static struct byte_range handles_range(const struct target *target, enum context_use use)
{
    int handles = use == CONTEXT_LOAD ? 0 : use == CONTEXT_TRAINING ? 2 : 1;
    int bytes_mib = target->capability == 90 ? handles * HOPPER_HANDLE_MIB : 0;
    int rest_mib = use == CONTEXT_LOAD ? 0 : HANDLES_REST_MIB;
    return (struct byte_range){MIB(bytes_mib), MIB(bytes_mib + rest_mib), MIB(bytes_mib + rest_mib + MOST_MORE_MIB)};
}

/* Adds all kernels of the libraries that the program loads, in place of those that it runs. */
static void modules_add(const struct target *target, const struct context_program *program,
                        struct context_ranges *ranges)
{
    const struct module_row *row = module_row_of(program->torch_release, target->capability);
    bool runs = program->use != CONTEXT_LOAD;
    int64_t library_bytes = (runs ? row->product_bytes : 0) + (runs && program->convolves ? row->convolution_bytes : 0);
    ranges->context = byte_range_sum(ranges->context, kernels_range(row->context_bytes));
    ranges->libraries = byte_range_sum(handles_range(target, program->use), kernels_range(library_bytes));
}

struct context_ranges context_ranges_find(const struct gpu *gpu, const struct target *target,
                                          const struct context_program *program)
{
    if (target->capability == 0) {
        return (struct context_ranges){0};
    }
    struct context_ranges ranges = {.driver = driver_range(gpu), .context = context_range(gpu, target)};
    ranges.libraries = libraries_range(ranges.context, target, program->use);
    if (program->is_eager) {
        modules_add(target, program, &ranges);
    }
    return ranges;
}
