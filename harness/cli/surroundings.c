/* Surroundings: the tables. The variables that are only noted in records are harness/run/run_variables.c's. */
#include "harness/cli/surroundings.h"

#include <stddef.h>

static const struct surrounding variables[] = {
    {"ASSAY_DATA_DIR", "The folder of models, suites, plots and constants, in place of those beside the program. An "
                       "empty value counts as none."},
    {"ASSAY_PLUGIN_DIR", "The folder of libassay_cuda.so, in place of those beside the program and of the place of "
                         "installation."},
    {"ASSAY_HISTORY", "The file that assay history keeps, in place of results/history.db."},
    {"ASSAY_LOCK_DIR", "The folder of the locks of GPUs, in place of /run/lock and /tmp. All users of a GPU need the "
                       "same one."},
    {"ASSAY_CUDNN", "no: convolutions are computed without cuDNN, even where it is there."},
    {"ASSAY_SHARD_COUNT", "Of how many shards JOB_COMPLETION_INDEX counts one, for --shard auto."},
    {"SLURM_ARRAY_JOB_ID", "The Slurm array that started a shard: what its night is called, unless --night says it."},
    {"CI_PIPELINE_ID", "The same of GitLab."},
    {"GITHUB_RUN_ID", "The same of GitHub."},
    {"SLURM_ARRAY_TASK_ID", "The task of a Slurm array, for --shard auto; as the next four it is looked at only then."},
    {"SLURM_ARRAY_TASK_COUNT", "How many tasks the array has."},
    {"SLURM_ARRAY_TASK_MIN", "Its first task."},
    {"SLURM_ARRAY_TASK_MAX", "Its last task."},
    {"SLURM_ARRAY_TASK_STEP", "From one task to the next (default: 1)."},
    {"JOB_COMPLETION_INDEX", "The index of a pod of an Indexed Job of Kubernetes, for --shard auto."},
    {"CI_NODE_INDEX", "The number of a parallel job of GitLab, for --shard auto."},
    {"CI_NODE_TOTAL", "How many there are of it."},
    {"GITHUB_ACTIONS", "If it is set, --shard auto says what to write in a matrix of GitHub, which sets no variables."},
    {"COLUMNS", "The width of what is printed to something that is no terminal (default: 100)."},
    {"NO_COLOR", "Set to anything but the empty value: no colours and no moving line."},
    {"TERM", "dumb: no colours and no moving line."},
    {"TMPDIR", "The folder of files that live as long as the program (default: /tmp)."},
    {"PATH", "Where gnuplot and, for assay doctor, nvcc and the driver's programs are looked for."},
    {"HOME", "The folder in which .cache is, and which ~ stands for in the variables of Hugging Face."},
    {"XDG_CACHE_HOME", "The folder of caches (default: ~/.cache): huggingface for the models of the hub, assay/hub for "
                       "what this program has fetched of them."},
    {"HF_HOME", "The folder of Hugging Face's libraries (default: huggingface in the folder of caches)."},
    {"HF_HUB_CACHE", "The folder of downloaded models (default: hub in HF_HOME)."},
    {"HUGGINGFACE_HUB_CACHE", "The older name of HF_HUB_CACHE; counts if that is not set."},
    {"HF_ENDPOINT", "The address of the hub (default: https://huggingface.co)."},
    {"HF_TOKEN", "The token that the hub is shown, for models that are not open to all."},
    {"HUGGING_FACE_HUB_TOKEN", "The older name of HF_TOKEN; counts if that is not set."},
    {"HF_TOKEN_PATH", "The file of the token, if no variable has it (default: token in HF_HOME)."},
    {"HF_HUB_DISABLE_IMPLICIT_TOKEN", "1, ON, YES or TRUE: the hub is shown no token."},
    {"HF_HUB_OFFLINE", "1, ON, YES or TRUE: models come from the cache alone."},
    {"TRANSFORMERS_OFFLINE", "The older name of HF_HUB_OFFLINE; counts if that is not set."},
    {"HF_HUB_ETAG_TIMEOUT", "The most seconds that connecting to the hub may take (default: 10)."},
    {"HF_HUB_DOWNLOAD_TIMEOUT", "The most seconds that the hub may send nothing (default: 10)."},
    {"CUDA_HOME", "The folder of the CUDA toolkit, if its libraries are not where the system looks for them (default: "
                  "/usr/local/cuda)."},
    {"CUDA_VISIBLE_DEVICES", "The GPUs that CUDA shows to programs; cuda:0 is the first of them."},
    {"CUDA_MODULE_LOADING", "When the driver loads kernels, which decides what a context takes; assay doctor tells of "
                            "it."},
    {"OMP_WAIT_POLICY", "How threads wait for each other. If neither this nor GOMP_SPINCOUNT is set, those of this "
                        "program sleep."},
    {"GOMP_SPINCOUNT", "The same for GCC's OpenMP alone."},
    {"HWLOC_XMLFILE", "A topology that hwloc reads in place of this machine's."},
};

static const struct surrounding files[] = {
    {"PREFIX/share/assay", "The catalogue of models, suites, the scripts of plots and the constants of measured "
                           "devices, if they do not lie beside the program: those of a repository for build/assay, "
                           "../share/assay for one that was moved. Nothing is looked for in the current folder."},
    {"PREFIX/lib/assay/libassay_cuda.so", "The plug-in for NVIDIA GPUs, where one was built; else beside the program."},
    {"results/SUITE/records.jsonl", "The records of a run: one line for the run, and one for each case. docs/FORMAT.md "
                                    "has every field."},
    {"results/SUITE/report.html, report.md, plots/", "What was made of the records, and can be made of them again: "
                                                     "assay report."},
    {"/run/lock/assay-*.lock, /tmp/assay-*.lock", "The locks of GPUs. They stay behind; the kernel "
                                                  "knows which of them are held."},
    {"~/.cache/huggingface/hub", "Models of the hub, as Hugging Face's libraries keep them; only read."},
    {"~/.cache/assay/hub", "What this program has fetched of the hub."},
};

const struct surrounding *environment_variable_at(int index)
{
    return index >= 0 && (size_t)index < sizeof variables / sizeof variables[0] ? &variables[index] : NULL;
}

const struct surrounding *program_file_at(int index)
{
    return index >= 0 && (size_t)index < sizeof files / sizeof files[0] ? &files[index] : NULL;
}
