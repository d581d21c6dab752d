/* Make scene: scripts in the place of nvcc and nvidia-smi, and make with them. */
#include "tests/ci/make_scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"

const char make_scene_nvcc[] =
    "[ \"$1\" != --version ] || { echo 'Cuda compilation tools, release 13.0, V13.0.88'; exit; }\n"
    "[ \"$1\" != --list-gpu-code ] || { printf 'sm_%s\\n' 75 80 86 89 90 100 120; exit; }\n"
    "while [ $# -gt 0 ]; do\n"
    "    case $1 in -o) echo built >\"$2\" ;; -gencode) printf '%s ' \"${2##*code=}\" ;; esac\n"
    "    shift\n"
    "done; echo";

static const char *const headers[] = {"cuda_runtime_api.h", "cublas_v2.h", "cublasLt.h"};

/* The toolkit as it is installed: bin/nvcc, and the headers that the plug-in includes, which are empty. */
static int toolkit_install(struct make_scene *scene)
{
    char bin[128], path[192];
    snprintf(scene->toolkit, sizeof scene->toolkit, "%s/toolkit", scene->folder);
    snprintf(bin, sizeof bin, "%s/bin", scene->toolkit);
    snprintf(path, sizeof path, "%s/include", scene->toolkit);
    if (mkdir(scene->toolkit, 0700) != 0 || mkdir(bin, 0700) != 0 || mkdir(path, 0700) != 0) {
        return 1;
    }
    script_write(bin, "nvcc", make_scene_nvcc);
    snprintf(scene->nvcc, sizeof scene->nvcc, "NVCC=%s/bin/nvcc", scene->toolkit);
    for (size_t i = 0; i < sizeof headers / sizeof headers[0]; i++) {
        snprintf(path, sizeof path, "%s/include/%s", scene->toolkit, headers[i]);
        FILE *file = fopen(path, "we");
        if (file == NULL || fclose(file) != 0) {
            return 1;
        }
    }
    return 0;
}

int make_scene_open(void **state)
{
    struct make_scene *scene = calloc(1, sizeof *scene);
    snprintf(scene->folder, sizeof scene->folder, "/tmp/assay-make-XXXXXX");
    if (mkdtemp(scene->folder) == NULL) {
        return 1;
    }
    snprintf(scene->path, sizeof scene->path, "PATH=%s:%s", scene->folder, getenv("PATH"));
    snprintf(scene->build, sizeof scene->build, "BUILD=%s/build", scene->folder);
    snprintf(scene->object, sizeof scene->object, "%s/build/cuda/harness/kernels/launch_rows.cu.o", scene->folder);
    *state = scene;
    return toolkit_install(scene);
}

int make_scene_close(void **state)
{
    struct make_scene *scene = *state;
    int code = scratch_folder_remove(scene->folder);
    free(scene);
    return code;
}

void make_gpu_insert(const struct make_scene *scene, const char *capability)
{
    char body[128];
    snprintf(body, sizeof body, "case $1 in -L) echo 'GPU 0: one' ;; *) echo '%s' ;; esac", capability);
    script_write(scene->folder, "nvidia-smi", body);
}

struct text make_run(const struct make_scene *scene, const char *visible, const char *const *words)
{
    static const char *const settings[] = {"MAKEFLAGS", "MFLAGS",    "MAKELEVEL",  "CC",   "CXX",
                                           "CUDA",      "CUDA_WISH", "CUDA_ARCHS", "NVCC", "VARIANT"};
    enum { SETTING_COUNT = sizeof settings / sizeof settings[0] };
    const char *all[2 * SETTING_COUNT + 16] = {"env"};
    const char *const environment[] = {scene->path, visible, NULL};
    size_t count = 1;
    for (size_t i = 0; i < SETTING_COUNT; i++) {
        all[count++] = "-u";
        all[count++] = settings[i];
    }
    const char *const make[] = {"make", "-s", scene->nvcc, scene->build};
    for (size_t i = 0; i < sizeof make / sizeof make[0]; i++) {
        all[count++] = make[i];
    }
    while (*words != NULL) {
        all[count++] = *words++;
    }
    struct command_result result = command_run(all, environment);
    if (result.exit_code != 0) {
        print_error("%s", text_string(&result.error));
    }
    assert_int_equal(result.exit_code, 0);
    text_release(&result.error);
    return result.output;
}

void make_expect(struct text output, const char *part, bool is_there)
{
    if ((strstr(text_string(&output), part) != NULL) != is_there) {
        print_error("%s '%s' in: %s\n", is_there ? "no" : "there is", part, text_string(&output));
        text_release(&output);
        fail();
    }
    text_release(&output);
}

void make_nvcc_replace(const struct make_scene *scene, const char *body)
{
    char bin[128];
    snprintf(bin, sizeof bin, "%s/bin", scene->toolkit);
    script_write(bin, "nvcc", body);
}
