/* Command examples: the table. */
#include "harness/cli/command_examples.h"

#include <stddef.h>

static const struct command_example examples[] = {
    {"doctor", "assay doctor", "What would run on this machine, and what is missing.", false},
    {"hardware", "assay hardware --json", "Processors, memory and GPUs as JSON, for a script.", false},
    {"gpus", "assay gpus", "The names that --on takes.", false},
    {"models", "assay models llama", "The models of the catalogue whose name or family has this word.", false},
    {"synth", "assay synth tiny-gpt2 --out checkpoint", "A checkpoint of random numbers.", false},
    {"weights", "assay weights checkpoint", "What a checkpoint stores.", false},
    {"load", "assay load checkpoint --device host --max-memory 0=1GB", "Loads it, with the host in place of the GPU.",
     false},
    {"offload", "assay offload checkpoint --to offloaded", "Weights as accelerate's disk_offload keeps them.", false},
    {"offload", "assay offload --check offloaded checkpoint", "Whether that folder still belongs to the model.", false},
    {"estimate", "assay estimate bert-base-cased", "The table of accelerate estimate-memory.", false},
    {"estimate", "assay estimate gpt2 --mode train --batch 8,16 --precision bf16 --on 'RTX 4090'",
     "What training takes with two batches on a GPU that is not here.", false},
    {"estimators", "assay estimators", "The rules that predict, each with its source.", false},
    {"fit", "assay fit gpt2 --mode train --batch 8 --on 'RTX 4090'", "Whether that runs; the exit code is the answer.",
     false},
    {"limit", "assay limit gpt2 --mode train --memory 24GiB --of batch", "The largest batch that fits.", false},
    {"factor", "assay factor gpt2 --batch 1,4,16 --seq 128,1024 --on 'RTX 4090'",
     "What to use in place of 1.2 x the weights, for six cases and for all of them.", false},
    {"batch", "assay batch tiny-gpt2 --mode train --seq 16 --device host:mem=64MiB",
     "The same by trying, as accelerate does.", false},
    {"place", "assay place gpt2 --max-memory 0=300MB,cpu=1GB", "accelerate's device_map for these budgets.", false},
    {"chain", "assay chain bert-base-uncased gpt2 --max-memory 0=1GB", "Two models in turn on one GPU.", false},
    {"explain", "assay explain gpt2 --mode train", "What every byte at the peak is for.", false},
    {"peaks", "assay peaks gpt2 --mode generate --over seq=1..64",
     "Which stage needs the most, and where that changes.", false},
    {"plan", "assay plan suites/quick.yaml", "The cases of a suite and what is predicted for each.", false},
    {"run", "assay run suites/quick.yaml --device host --filter 'timm/resnet50*/load/*' --out night",
     "Measures some cases on the host; records and report lie in the folder night.", false},
    {"report", "assay report night --format md --output night.md", "The same records as a page for a repository.",
     false},
    {"compare", "assay compare night night", "What differs between two results.", false},
    {"gate", "assay gate night --baseline night", "Whether a run may pass; the exit code is the answer.", false},
    {"history", "assay history import night --database history.db", "Keeps the figures of a night.", false},
    {"history", "assay history trend --database history.db", "Where a figure jumped or drifts.", false},
    {"merge",
     "for i in 1 2; do assay run suites/quick.yaml --device host --filter 'bert-base-cased/load/*' --shard $i/2 "
     "--out shards/$i; done; assay merge shards --out merged",
     "Two shards, which two machines could measure, and their results as one.", false},
    {"submit", "assay submit slurm suites/quick.yaml --shards 4 --out cluster --dry-run",
     "The scripts of four shards and their merging, as Slurm would get them.", false},
    {"calibrate", "assay calibrate night", "What a device takes besides tensors.", false},
    {"assumptions", "assay assumptions --device cuda:0", "Whether a GPU and its driver are as the figures assume.",
     true},
    {"replay", "assay replay snapshot.json --device 0",
     "Sends a history that PyTorch's memory snapshot has through the allocator again.", false},
    {"lock", "assay lock --device cuda:0 --name", "What the lock of a GPU is called.", true},
    {"completion", "eval \"$(assay completion bash)\"", "Completion in the bash that runs.", false},
    {"man", "assay man run", "The manual page of a command, for man -l - and mandoc.", false},
};

const struct command_example *command_example_at(int index)
{
    return index >= 0 && (size_t)index < sizeof examples / sizeof examples[0] ? &examples[index] : NULL;
}
