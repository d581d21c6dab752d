/* Assumptions: the rows, and what each tolerates. The tolerances follow from the records of results/reference, 216
 * cases and 520 readings on an H100 and on an H200. docs/GPU.md says what was seen there. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/size.h"
#include "harness/report/assumptions_view.h"

/* A driver hands out memory in pages of 2 MiB, so that no figure of a device is closer than that. */
#define GRANULE_BYTES ((int64_t)2 << 20)

/* What the driver holds for a GPU that has a context, and lists under no process: 5.56 MiB in each of the 520 readings.
 * If NVML and CUDA counted different memory, it would be off by what a driver keeps for itself, hundreds of MiB. */
#define APART_BYTES_MAXIMUM ((int64_t)32 << 20)

/* What was loaded later than with the first launch of a form: 0, 2 or 4 MiB in 518 readings, and 18 MiB in two, of one
 * case. A handle of cuBLAS or its workspace, had it not been seen, would be 32 MiB and more. */
#define REMAINDER_BYTES_MAXIMUM ((int64_t)20 << 20)

/* Predicted less measured with constants that hold: 0, 2 or -2 MiB, and -16 MiB in two cases. */
#define CONSTANTS_BYTES_MAXIMUM ((int64_t)18 << 20)

/* 5.2 s on the H100. A part of `make gpu` may take 10 s for it. */
enum { START_MS_MAXIMUM = 10000 };

static enum assumption_verdict holds_if(bool holds)
{
    return holds ? ASSUMPTION_HOLDS : ASSUMPTION_OTHERWISE;
}

/* Of bytes of the whole device. Where NVML lists no process, as in a Linux of Windows, nobody who uses the GPU can be
 * seen, and what is off may be theirs. */
static enum assumption_verdict device_holds_if(const struct assumption_evidence *evidence, bool holds,
                                               struct text *seen)
{
    if (!holds && evidence->process.known_count == 0) {
        text_append(seen, "; NVML lists no process, so that others may have used the GPU unseen");
        return ASSUMPTION_OPEN;
    }
    return holds_if(holds);
}

/* within: bytes are within a tolerance of this file, which nobody has tried on a GPU of another class than those in
 * results/reference; one that is healthy may be beyond it. */
static enum assumption_verdict bytes_hold_if(const struct assumption_evidence *evidence, bool within, struct text *seen)
{
    if (!within && !evidence->class_is_measured) {
        text_append(seen, "; that is more than on other GPUs, and not judged: no GPU of this class is in "
                          "results/reference yet");
        return ASSUMPTION_NOTED;
    }
    return device_holds_if(evidence, within, seen);
}

static int64_t magnitude(int64_t value)
{
    return value < 0 ? -value : value;
}

/* "523.56 MiB" or "523.56 MiB to 525.56 MiB". */
static void spread_append(struct text *text, const struct figure_spread *spread)
{
    char low[SIZE_TEXT_BYTES], high[SIZE_TEXT_BYTES];
    text_append(text, size_format(spread->low, low));
    if (spread->high != spread->low) {
        text_format(text, " to %s", size_format(spread->high, high));
    }
}

/* Whether there is nothing to judge by; then *verdict says so, and seen has why. */
static bool is_wanting(const struct assumption_evidence *evidence, const struct figure_spread *spread,
                       const char *untold, struct text *seen, enum assumption_verdict *verdict)
{
    if (spread->known_count > 0) {
        return false;
    }
    bool disturbed = evidence->usable_count == 0 && evidence->disturbed_count + evidence->shared_count > 0;
    *verdict = evidence->usable_count == 0 && evidence->line_count > 0 ? ASSUMPTION_OPEN : ASSUMPTION_UNTOLD;
    text_append(seen, disturbed                     ? "every case was disturbed"
                      : evidence->usable_count == 0 ? "no case was measured"
                                                    : untold);
    return true;
}

/* ---- the run itself ---- */

static enum assumption_verdict cases_judge(const struct assumption_evidence *evidence, struct text *seen)
{
    if (evidence->line_count == 0) {
        text_append(seen, "no case ran on a GPU");
        return ASSUMPTION_UNTOLD;
    }
    text_format(seen, "%d of %d cases measured", evidence->line_count - evidence->broken_count, evidence->line_count);
    if (evidence->failed_count > 0) {
        text_format(seen, "; %d failed, the first: %s", evidence->failed_count, evidence->failed);
        return ASSUMPTION_OTHERWISE;
    }
    if (evidence->broken_count > 0) {
        text_format(seen, "; the first that was not: %s", evidence->broken);
        return ASSUMPTION_OPEN;
    }
    return ASSUMPTION_HOLDS;
}

static enum assumption_verdict alone_judge(const struct assumption_evidence *evidence, struct text *seen)
{
    if (evidence->line_count == 0) {
        text_append(seen, "no case ran on a GPU");
        return ASSUMPTION_UNTOLD;
    }
    if (evidence->disturbed_count > 0) {
        text_format(seen, "%d of %d cases disturbed, the first: %s", evidence->disturbed_count, evidence->line_count,
                    evidence->disturbed);
        return ASSUMPTION_OPEN;
    }
    if (evidence->shared_count > 0) {
        text_format(seen, "%d of %d cases shared the GPU by wish", evidence->shared_count, evidence->line_count);
        return ASSUMPTION_OPEN;
    }
    text_append(seen, "nothing disturbed the GPU that could be seen");
    return ASSUMPTION_HOLDS;
}

static enum assumption_verdict start_judge(const struct assumption_evidence *evidence, struct text *seen)
{
    enum assumption_verdict verdict;
    if (is_wanting(evidence, &evidence->start_ms, "no plain case came first", seen, &verdict)) {
        return verdict;
    }
    text_format(seen, "the first case took %.1f s, from the start of its process to its end",
                (double)evidence->start_ms.high / 1e3);
    return holds_if(evidence->start_ms.high <= START_MS_MAXIMUM);
}

/* ---- what driver and NVML count ---- */

static enum assumption_verdict baseline_judge(const struct assumption_evidence *evidence, struct text *seen)
{
    enum assumption_verdict verdict;
    if (evidence->baseline.known_count == 0 && evidence->baseline.unknown_count > 0 &&
        evidence->process.known_count > 0) {
        text_append(seen, "NVML lists the processes, but no free bytes that CUDA's total could hold");
        return ASSUMPTION_OTHERWISE;
    }
    if (is_wanting(evidence, &evidence->baseline, "nothing told the free bytes of this GPU before the context", seen,
                   &verdict)) {
        return verdict;
    }
    spread_append(seen, &evidence->baseline);
    text_append(seen, " used before the context, which took ");
    spread_append(seen, &evidence->context);
    text_format(seen, "; %d cases", evidence->context.known_count);
    bool counted = evidence->baseline.unknown_count == 0 && evidence->context.low > 0;
    return counted ? bytes_hold_if(evidence, evidence->context.widest <= GRANULE_BYTES, seen)
                   : device_holds_if(evidence, false, seen);
}

static enum assumption_verdict process_judge(const struct assumption_evidence *evidence, struct text *seen)
{
    enum assumption_verdict verdict;
    if (is_wanting(evidence, &evidence->process, "NVML lists no process with its bytes, as in many containers", seen,
                   &verdict)) {
        return verdict;
    }
    text_format(seen, "this process is listed at %d of %d readings, with ", evidence->process.known_count,
                evidence->process.known_count + evidence->process.unknown_count);
    spread_append(seen, &evidence->process);
    if (evidence->under_reserved_count > 0) {
        text_format(seen, "; %d of them under what its segments alone take", evidence->under_reserved_count);
    }
    return holds_if(evidence->under_reserved_count == 0 && evidence->process.unknown_count == 0);
}

static enum assumption_verdict apart_judge(const struct assumption_evidence *evidence, struct text *seen)
{
    enum assumption_verdict verdict;
    if (is_wanting(evidence, &evidence->apart, "not known without both", seen, &verdict)) {
        return verdict;
    }
    text_append(seen, "the device's bytes less the process's are ");
    spread_append(seen, &evidence->apart);
    text_format(seen, " at %d readings", evidence->apart.known_count);
    return bytes_hold_if(evidence,
                         evidence->apart.widest <= GRANULE_BYTES && evidence->apart.low >= -GRANULE_BYTES &&
                             evidence->apart.high <= APART_BYTES_MAXIMUM,
                         seen);
}

/* ---- what is loaded ---- */

static enum assumption_verdict loads_judge(const struct assumption_evidence *evidence, struct text *seen)
{
    enum assumption_verdict verdict;
    if (is_wanting(evidence, &evidence->remainder, "not known without a baseline", seen, &verdict)) {
        return verdict;
    }
    text_append(seen, "kernels took ");
    spread_append(seen, &evidence->kernel);
    text_append(seen, ", and ");
    spread_append(seen, &evidence->remainder);
    text_format(seen, " came unseen, at %d readings", evidence->remainder.known_count);
    if (evidence->kernel.unknown_count > 0) {
        text_format(seen, "; at %d memory became more while a kernel was loaded", evidence->kernel.unknown_count);
        return device_holds_if(evidence, false, seen);
    }
    return bytes_hold_if(
        evidence, evidence->remainder.low >= -GRANULE_BYTES && evidence->remainder.high <= REMAINDER_BYTES_MAXIMUM,
        seen);
}

static enum assumption_verdict library_judge(const struct assumption_evidence *evidence, struct text *seen)
{
    enum assumption_verdict verdict;
    if (is_wanting(evidence, &evidence->library, "no library took device memory", seen, &verdict)) {
        return verdict;
    }
    text_append(seen, "cuBLAS and cublasLt took ");
    spread_append(seen, &evidence->library);
    text_format(seen, " at %d readings", evidence->library.known_count);
    return holds_if(evidence->library.widest <= 2 * GRANULE_BYTES);
}

static enum assumption_verdict repeats_judge(const struct assumption_evidence *evidence, struct text *seen)
{
    char width[SIZE_TEXT_BYTES];
    if (evidence->repeated_count == 0) {
        text_append(seen, evidence->usable_count == 0 && evidence->line_count > 0 ? "no case was measured undisturbed"
                                                                                  : "no case was repeated");
        return evidence->usable_count == 0 && evidence->line_count > 0 ? ASSUMPTION_OPEN : ASSUMPTION_UNTOLD;
    }
    text_format(seen, "%d fresh processes of the same cases lie at most %s apart", evidence->repeated_count,
                size_format(evidence->repeated_widest, width));
    return bytes_hold_if(evidence, evidence->repeated_widest <= GRANULE_BYTES, seen);
}

static enum assumption_verdict constants_judge(const struct assumption_evidence *evidence, struct text *seen)
{
    const struct figure_spread *device = &evidence->device_error, *process = &evidence->process_error;
    enum assumption_verdict verdict;
    if (is_wanting(evidence, device->known_count > 0 ? device : process,
                   evidence->mismatch[0] != '\0' ? evidence->mismatch : "no constants of this GPU were used", seen,
                   &verdict)) {
        return verdict;
    }
    text_append(seen, "predicted less measured growth of the device is ");
    spread_append(seen, device->known_count > 0 ? device : process);
    text_format(seen, " in %d cases", device->known_count > 0 ? device->known_count : process->known_count);
    bool holds = true;
    for (int i = 0; i < 2; i++) {
        const struct figure_spread *error = i == 0 ? device : process;
        holds = holds && magnitude(error->low) <= CONSTANTS_BYTES_MAXIMUM &&
                magnitude(error->high) <= CONSTANTS_BYTES_MAXIMUM;
    }
    return bytes_hold_if(evidence, holds, seen);
}

/* ---- a full GPU ---- */

static enum assumption_verdict untried(const struct assumption_evidence *evidence, const char *words, struct text *seen)
{
    bool open = evidence->usable_count == 0 && evidence->line_count > 0;
    text_append(seen, open ? "no case was measured undisturbed" : words);
    return open ? ASSUMPTION_OPEN : ASSUMPTION_UNTOLD;
}

static enum assumption_verdict full_judge(const struct assumption_evidence *evidence, struct text *seen)
{
    const struct trial_sum *proof = &evidence->proof, *search = &evidence->search;
    int refused = proof->refused_count + search->refused_count, other = proof->other_count + search->other_count;
    if (refused + other == 0) {
        return untried(evidence, "nothing was refused", seen);
    }
    text_format(seen, "%d of %d tries ran or were refused for want of memory, %d were refused",
                proof->count + search->count - other, proof->count + search->count, refused);
    if (other > 0) {
        text_format(seen, "; %s", proof->other_count > 0 ? proof->first : search->first);
    }
    return device_holds_if(evidence, other == 0, seen);
}

static enum assumption_verdict trials_judge(const struct assumption_evidence *evidence, const struct trial_sum *sum,
                                            const char *what, struct text *seen)
{
    if (sum->count == 0) {
        return untried(evidence, what, seen);
    }
    text_format(seen, "%d of %d tries ended as predicted", sum->right_count, sum->count);
    if (sum->right_count < sum->count) {
        text_format(seen, "; %s", sum->first);
    }
    return device_holds_if(evidence, sum->right_count == sum->count, seen);
}

/* Another granule is no fault: what is predicted for 2 MiB is not judged there. */
static enum assumption_verdict ballast_judge(const struct assumption_evidence *evidence, struct text *seen)
{
    char taken[SIZE_TEXT_BYTES];
    if (evidence->has_other_granule && evidence->proof.count == 0) {
        text_format(seen,
                    "the driver took %s for a segment of 2 MiB, so that its granule is another one, and nothing "
                    "was tried; the least memory of a case holds for granules of 2 MiB",
                    size_format(evidence->taken_bytes, taken));
        return ASSUMPTION_NOTED;
    }
    return trials_judge(evidence, &evidence->proof, "no case was proved; assay run SUITE --prove", seen);
}

static enum assumption_verdict segments_judge(const struct assumption_evidence *evidence, struct text *seen)
{
    return trials_judge(evidence, &evidence->search,
                        "no batch was looked for; assay run suites/batch-size-gpu.yaml --filter gpu", seen);
}

/* ---- others ---- */

static enum assumption_verdict instance_judge(const struct assumption_evidence *evidence, struct text *seen)
{
    if (strncmp(evidence->uuid, "MIG", 3) != 0) {
        text_append(seen, "this is no instance of a divided GPU");
        return ASSUMPTION_UNTOLD;
    }
    text_format(seen, "CUDA told %s, and NVML its processes at %d of %d readings", evidence->uuid,
                evidence->process.known_count, evidence->process.known_count + evidence->process.unknown_count);
    return evidence->usable_count == 0 ? ASSUMPTION_OPEN : holds_if(evidence->process.known_count > 0);
}

static enum assumption_verdict conformance_judge(const struct assumption_evidence *evidence, struct text *seen)
{
    (void)evidence;
    text_append(seen, "not asked here: make gpu SLICE=tests, conformance.txt");
    return ASSUMPTION_UNTOLD;
}

static enum assumption_verdict torch_judge(const struct assumption_evidence *evidence, struct text *seen)
{
    (void)evidence;
    text_append(seen, "not asked here: make gpu SLICE=peers PYTHON=...");
    return ASSUMPTION_UNTOLD;
}

const struct assumption_row assumption_rows[] = {
    {"cases", "every case runs on this GPU and computes what was planned",
     "the reason of the case says what failed; assay doctor says what is missing; send the records", cases_judge, false,
     true},
    {"alone", "nobody else uses the GPU while it is measured",
     "stop what else runs on the GPU (nvidia-smi), or lend one without a display", alone_judge, false, true},
    {"start", "CUDA, cuBLAS from a cold disk and the first case take under 10 s",
     "give more time (make gpu, --seconds), or hold a client of the GPU open: nvidia-smi -pm 1", start_judge, true,
     false},
    {"baseline",
     "NVML's free bytes before the context and cudaMemGetInfo's afterwards count the same memory, and starting CUDA "
     "without a context takes none of it",
     "gpu_watch_baseline must take NVML's figures on both sides", baseline_judge, false, false},
    {"process", "NVML lists this process under our number, with the bytes of its context and its segments",
     "the figure is not ours (gpu_watch.c); in a container, run with the numbers of the host's processes (--pid=host)",
     process_judge, false, false},
    {"both", "the bytes of the device and those of the process grow alike",
     "memory is counted to the device that no process holds, or to another process (gpu_watch.c)", apart_judge, false,
     false},
    {"loads", "the first launch of each form loads its code, and cudaMemGetInfo sees it at once",
     "what is loaded later is in the remainder (load_meter.c); CUDA_MODULE_LOADING=EAGER loads all at the start",
     loads_judge, false, false},
    {"libraries", "what cuBLAS and cublasLt take belongs to their handles, whatever is computed",
     "they take a workspace that was not given to them (cublasSetWorkspace; preference_make in cuda_linear.c)",
     library_judge, true, false},
    {"repeats", "a fresh process of the same case takes the same bytes",
     "compare the attempts: assay report DIR --format json", repeats_judge, false, false},
    {"constants", "the constants of this kind of GPU, which were measured once, hold for it",
     "measure them anew: assay run suites/calibrate.yaml, assay calibrate", constants_judge, false, false},
    {"full", "a full GPU makes cuBLAS and launches say that memory is wanting, and nothing else",
     "the status that came belongs into cuda_status.c or cublas_failure_code", full_judge, false, false},
    {"ballast",
     "a GPU that was filled until 2 MiB are refused, and of which S bytes were given back, hands out S bytes in "
     "segments of whole 2 MiB, and no more; after a refused cudaMalloc other calls do not fail",
     "the driver keeps something of what is freed; a call that "
     "fails: context_is_lost in cuda_status.c",
     ballast_judge, false, false},
    {"segments", "what a GPU refuses a segment for is its memory less what was used besides segments",
     "a driver that keeps more than it tells; the first try that is off says how many bytes it wanted", segments_judge,
     false, false},
    {"instance", "in MIG mode CUDA tells the instance's own UUID, and NVML lists its processes to an ordinary user",
     "bytes of the process are unknown there, which is right; name the instance in CUDA_VISIBLE_DEVICES",
     instance_judge, true, false},
    {"sums", "NVIDIA's libraries sum products in float32 and round once",
     "NUMBERS.md, 11; preference_make in cuda_linear.c", conformance_judge, false, false},
    {"pytorch", "importing torch and transformers starts no CUDA in the parent", "PYTORCH_NVML_BASED_CUDA_CHECK=1",
     torch_judge, false, false},
    {NULL, NULL, NULL, NULL, false, false},
};

const char *assumption_verdict_word(enum assumption_verdict verdict)
{
    static const char *const words[] = {
#define ASSUMPTION_VERDICT_WORD(name, word) word,
        ASSUMPTION_VERDICT_TABLE(ASSUMPTION_VERDICT_WORD)
#undef ASSUMPTION_VERDICT_WORD
    };
    return words[verdict];
}

void assumption_rows_judge(struct assumptions *assumptions)
{
    for (const struct assumption_row *row = assumption_rows; row->name != NULL; row++) {
        int at = assumptions->row_count++;
        enum assumption_verdict verdict = row->judge(&assumptions->evidence, &assumptions->seen[at]);
        assumptions->verdicts[at] = verdict == ASSUMPTION_OTHERWISE && row->advises ? ASSUMPTION_NOTED : verdict;
    }
}

enum run_outcome assumptions_outcome(const struct assumptions *assumptions, struct text *reason)
{
    int counts[ASSUMPTION_UNTOLD + 1] = {0}, first[ASSUMPTION_UNTOLD + 1];
    for (int i = assumptions->row_count - 1; i >= 0; i--) {
        enum assumption_verdict verdict = assumptions->verdicts[i];
        counts[verdict]++;
        first[verdict] = i;
    }
    if (assumptions->evidence.line_count == 0) {
        text_format(reason, "SKIPPED: no case ran on a GPU, so there is nothing to ask%s%s",
                    assumptions->evidence.skipped[0] != '\0' ? "; " : "", assumptions->evidence.skipped);
        return RUN_SKIPPED;
    }
    enum assumption_verdict gravest = counts[ASSUMPTION_OTHERWISE] > 0 ? ASSUMPTION_OTHERWISE : ASSUMPTION_OPEN;
    if (counts[gravest] == 0) {
        return RUN_PASS;
    }
    text_format(reason, "%s: %d of %d assumptions %s %s, the first: %s: %s",
                gravest == ASSUMPTION_OTHERWISE             ? "FAIL"
                : assumptions->evidence.disturbed_count > 0 ? "DISTURBED"
                                                            : "INCONCLUSIVE",
                counts[gravest], assumptions->row_count, counts[gravest] == 1 ? "is" : "are",
                assumption_verdict_word(gravest), assumption_rows[first[gravest]].name,
                text_string(&assumptions->seen[first[gravest]]));
    return gravest == ASSUMPTION_OTHERWISE ? RUN_FAIL : RUN_INCONCLUSIVE;
}
