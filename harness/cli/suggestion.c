/* Suggestion: two tables of words from other tools. They suggest an option and do not accept the word, so that scripts
 * have one spelling of it. */
#include "harness/cli/suggestion.h"

#include <stddef.h>
#include <string.h>

#include "harness/base/nearest.h"
#include "harness/case/workload.h"
#include "harness/tape/gpu_table.h"

struct synonym {
    const char *typed, *name;
};

static const struct synonym command_synonyms[] = {
    {"list", "models"},
    {"ls", "models"},
    {"catalogue", "models"},
    {"catalog", "models"},
    {"search", "models"},
    {"info", "models"},
    {"show", "models"},
    {"predict", "estimate"},
    {"memory", "estimate"},
    {"size", "estimate"},
    {"train", "estimate"},
    {"infer", "estimate"},
    {"generate", "estimate"},
    {"load", "estimate"},
    {"check", "fit"},
    {"max", "limit"},
    {"largest", "limit"},
    {"measure", "run"},
    {"bench", "run"},
    {"benchmark", "run"},
    {"test", "run"},
    {"diff", "compare"},
    {"gpu", "gpus"},
    {"devices", "hardware"},
    {"trace", "replay"},
    {"device-map", "place"},
    {"dispatch", "place"},
    {"disk-offload", "offload"},
    {NULL, NULL},
};

/* Those of transformers, PyTorch, vLLM, llama.cpp, torchrun, pytest and ctest; the first that a command has are
 * meant. */
static const struct synonym option_synonyms[] = {
    {"dtype", "precision"},
    {"dtype", "dtypes"},
    {"torch-dtype", "precision"},
    {"weights", "precision"},
    {"load-in-4bit", "precision"},
    {"load-in-8bit", "precision"},
    {"bf16", "precision"},
    {"fp16", "precision"},
    {"bs", "batch"},
    {"micro-batch-size", "batch"},
    {"samples", "batch"},
    {"context", "seq"},
    {"context-length", "seq"},
    {"ctx-size", "seq"},
    {"length", "seq"},
    {"max-length", "seq"},
    {"max-model-len", "seq"},
    {"max-seq-length", "seq"},
    {"prompt", "seq"},
    {"sequence-length", "seq"},
    {"tokens", "seq"},
    {"max-tokens", "new-tokens"},
    {"output-tokens", "new-tokens"},
    {"n-predict", "new-tokens"},
    {"attn", "attention"},
    {"attn-implementation", "attention"},
    {"kv-cache-dtype", "cache-dtype"},
    {"cache-type-k", "cache-dtype"},
    {"optim", "optimizer"},
    {"rank", "lora-rank"},
    {"lora-r", "lora-rank"},
    {"target-modules", "lora-targets"},
    {"quantization", "precision"},
    {"grad-checkpointing", "checkpointing"},
    {"activation-checkpointing", "checkpointing"},
    {"grad-accum", "accumulate"},
    {"gradient-accumulation-steps", "accumulate"},
    {"gpu", "on"},
    {"device", "on"},
    {"gpu", "device"},
    {"vram", "memory"},
    {"gpu-memory", "memory"},
    {"ram", "memory"},
    {"target", "for"},
    {"arch", "for"},
    {"dp", "data-parallel"},
    {"tp", "tensor-parallel"},
    {"pp", "pipeline-parallel"},
    {"ep", "expert-parallel"},
    {"zero-stage", "zero"},
    {"output", "out"},
    {"output-dir", "out"},
    {"output-directory", "out"},
    {"outdir", "out"},
    {"out", "output"},
    {"workers", "jobs"},
    {"exclude", "not"},
    {"skip", "not"},
    {"deselect", "not"},
    {"select", "filter"},
    {"only", "filter"},
    {"lf", "last-failed"},
    {"rerun-failed", "last-failed"},
    {"failed", "last-failed"},
    {"maxfail", "max-failures"},
    {"exitfirst", "max-failures"},
    {"fail-fast", "max-failures"},
    {"continue", "resume"},
    {"count", "repeat"},
    {"junitxml", "junit"},
    {"parallel", "jobs"},
    {NULL, NULL},
};

static int synonyms_find(const struct synonym *synonyms, const char *typed, const char *const *names,
                         const char *meant[NAMES_MEANT_MAXIMUM])
{
    int count = 0;
    for (; synonyms->typed != NULL; synonyms++) {
        for (size_t i = 0; names[i] != NULL && count < NAMES_MEANT_MAXIMUM; i++) {
            if (name_distance(synonyms->typed, typed) == 0 && strcmp(synonyms->name, names[i]) == 0) {
                meant[count++] = names[i];
            }
        }
    }
    return count;
}

static bool suggest(const struct synonym *synonyms, const char *typed, const char *const *names, const char *before,
                    struct text *text)
{
    const char *meant[NAMES_MEANT_MAXIMUM];
    int count = synonyms_find(synonyms, typed, names, meant);
    count = count > 0 ? count : names_meant(typed, names, meant);
    names_meant_append(meant, count, before, "", text);
    return count > 0;
}

bool command_suggest(const char *typed, const char *const *names, struct text *text)
{
    return suggest(command_synonyms, typed, names, "", text);
}

bool option_suggest(const char *typed, const char *const *names, struct text *text)
{
    return suggest(option_synonyms, typed, names, "--", text);
}

static bool has_option(const struct option_row *options, const char *name)
{
    while (options->name != NULL && strcmp(options->name, name) != 0) {
        options++;
    }
    return options->name != NULL;
}

bool operand_suggest(const char *word, const char *previous, const struct option_row *options, struct text *text)
{
    struct workload scratch = workload_default(MODE_LOAD);
    const struct gpu *gpu = NULL;
    bool is_number = word[strspn(word, "0123456789")] == '\0';
    bool follows_number = previous != NULL && *previous != '\0' && previous[strspn(previous, "0123456789,")] == '\0';
    if (is_number && follows_number) {
        text_format(text, "write lists with commas: %s,%s", previous, word);
    } else if (has_option(options, "mode") && workload_set(&scratch, "mode", word, NULL) == STATUS_OK) {
        text_format(text, "write --mode %s", mode_name(scratch.mode));
    } else if (has_option(options, "precision") && workload_set(&scratch, "precision", word, NULL) == STATUS_OK) {
        text_format(text, "write --precision %s", precision_name(scratch.precision));
    } else if (has_option(options, "on") && gpu_find(word, &gpu, NULL) == STATUS_OK) {
        text_format(text, "write --on \"%s\"", gpu->name);
    }
    return text->length > 0;
}
