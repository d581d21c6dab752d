/* nvidia-smi: started, and its lines taken apart. What they mean for a measurement is the caller's matter. */
#include "harness/hardware/nvidia_smi.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/program_run.h"

enum { OUTPUT_BYTES_MAXIMUM = 64 << 10, FIELD_COUNT = 9 };

static enum smi_mode mode_of(const char *word)
{
    return strcmp(word, "Enabled") == 0 ? SMI_MODE_ON : strcmp(word, "Disabled") == 0 ? SMI_MODE_OFF : SMI_MODE_UNKNOWN;
}

/* "81559"; -1 for "[N/A]" and the like. */
static int64_t number_of(const char *word)
{
    char *end = NULL;
    long long value = strtoll(word, &end, 10);
    return end != word && *end == '\0' && value >= 0 ? value : -1;
}

/* The fields of one line, in place; false if they are not as many as were asked for. */
static bool fields_split(char *line, char *fields[FIELD_COUNT])
{
    int count = 0;
    char *rest = line;
    while (rest != NULL && count < FIELD_COUNT) {
        fields[count++] = rest + strspn(rest, " ");
        rest = strchr(rest, ',');
        if (rest != NULL) {
            *rest++ = '\0';
        }
    }
    return count == FIELD_COUNT && rest == NULL;
}

static void line_take(char *line, struct nvidia_smi *smi)
{
    char *fields[FIELD_COUNT];
    if (smi->gpu_count == NVIDIA_SMI_GPUS_MAXIMUM || !fields_split(line, fields) || number_of(fields[0]) < 0) {
        return;
    }
    struct smi_gpu *gpu = &smi->gpus[smi->gpu_count++];
    gpu->index = (int)number_of(fields[0]);
    snprintf(gpu->uuid, sizeof gpu->uuid, "%s", fields[1]);
    snprintf(gpu->name, sizeof gpu->name, "%s", fields[2]);
    snprintf(gpu->driver, sizeof gpu->driver, "%s", fields[3]);
    snprintf(gpu->capability, sizeof gpu->capability, "%s", fields[4]);
    gpu->persistence = mode_of(fields[5]);
    snprintf(gpu->compute_mode, sizeof gpu->compute_mode, "%s", fields[6]);
    gpu->mig = mode_of(fields[7]);
    gpu->used_mib = number_of(fields[8]);
}

static void complaint_take(const struct program_outcome *outcome, struct nvidia_smi *smi)
{
    const char *words = outcome->output.data != NULL ? outcome->output.data : "";
    switch (outcome->end) {
    case PROGRAM_LATE:
        snprintf(smi->complaint, sizeof smi->complaint, "it did not answer within %d s", NVIDIA_SMI_SECONDS);
        break;
    case PROGRAM_EXITED:
        snprintf(smi->complaint, sizeof smi->complaint, "%.*s", (int)strcspn(words, "\n"), words);
        break;
    default:
        snprintf(smi->complaint, sizeof smi->complaint, "it could not be run");
        break;
    }
}

void nvidia_smi_ask(struct nvidia_smi *smi)
{
    static const char *const words[] = {"nvidia-smi",
                                        "--query-gpu=index,uuid,name,driver_version,compute_cap,persistence_mode,"
                                        "compute_mode,mig.mode.current,memory.used",
                                        "--format=csv,noheader,nounits", NULL};
    const struct program_request request = {.words = words,
                                            .timeout_seconds = NVIDIA_SMI_SECONDS,
                                            .own_group = true,
                                            .errors_joined = true,
                                            .excess_is_dropped = true,
                                            .output_bytes_maximum = OUTPUT_BYTES_MAXIMUM};
    struct program_outcome outcome;
    *smi = (struct nvidia_smi){0};
    program_run(&request, &outcome);
    smi->is_there = !(outcome.end == PROGRAM_NOT_STARTED && outcome.number == ENOENT);
    if (outcome.end != PROGRAM_EXITED || outcome.number != 0) {
        complaint_take(&outcome, smi);
        text_release(&outcome.output);
        return;
    }
    char *rest = outcome.output.data;
    for (char *line = strtok_r(rest, "\n", &rest); line != NULL; line = strtok_r(NULL, "\n", &rest)) {
        line_take(line, smi);
    }
    smi->answered = smi->gpu_count > 0;
    if (!smi->answered) {
        snprintf(smi->complaint, sizeof smi->complaint, "it lists no GPU");
    }
    text_release(&outcome.output);
}
