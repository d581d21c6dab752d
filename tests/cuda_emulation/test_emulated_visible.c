/* How many emulated GPUs there are, which of them CUDA_VISIBLE_DEVICES leaves and in which order, that ci/gpu-here.sh
 * says the same, and that NVML lists what CUDA does not show, without our taking one for the other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/device/device.h"
#include "tests/run/run_scene.h"
#include "tests/support/command_run.h"

#define FIRST  "GPU-00000000-0000-0000-0000-000000000001"
#define SECOND "GPU-00000000-0000-0000-0000-000000000002"
#define THIRD  "GPU-20000000-0000-0000-0000-000000000003"
#define FOURTH "GPU-30000000-0000-0000-0000-000000000004"
#define PART   "MIG-00000000-0000-0000-0000-000000000001"

#define ASKING "--asking"

enum { OTHER_PID = 77 };

/* visible: NULL, not set. seen: the buses of cuda:0, cuda:1 and so on. */
static const struct {
    const char *gpus, *visible, *nvml, *seen;
} rows[] = {
    {NULL, NULL, NULL, "01"},
    {"1", NULL, NULL, "0"},
    {"4", NULL, NULL, "0123"},
    {"0", NULL, NULL, ""},
    {"4", "2", NULL, "2"},
    {"4", "2,1", NULL, "21"},
    {"4", "0,2,-1,1", NULL, "02"},
    {"4", "-1", NULL, ""},
    {"4", "", NULL, ""},
    {"4", ",1", NULL, ""},
    {"4", "4", NULL, ""},
    {"4", "3,4,1", NULL, "3"},
    {"4", "1,x,2", NULL, "1"},
    {"4", " 1, 2", NULL, "12"},
    {"4", "1gpu,2", NULL, "12"},
    {"4", "1,2,1", NULL, ""},
    {"4", SECOND, NULL, "1"},
    {"4", THIRD "," FIRST, NULL, "20"},
    {"4", "GPU-3", NULL, "3"},
    {"4", "GPU-2," FIRST, NULL, "20"},
    {"4", "GPU-00000000", NULL, ""},
    {"1", "GPU-00000000", NULL, "0"},
    {"4", "GPU-3,GPU-0", NULL, "3"},
    {"4", "GPU-3,GPU-30", NULL, ""},
    {"4", "GPU-9", NULL, ""},
    {"4", "GPU-3,0", NULL, "3"},
    {"4", "0,GPU-3", NULL, "0"},
    {"4", PART, "mig=1", "0"},
    {"4", "MIG-" FIRST "/1/0", "mig=1", "0"},
    {"4", PART, "mig=0", ""},
    {"4", PART, NULL, ""},
    {"4", "MIG-0000", "mig=1", ""},
    {"4", PART ",1", "mig=1", "0"},
};

/* What is not set is none of ours, either. */
static void environment_set(const char *name, const char *value)
{
    assert_int_equal(value != NULL ? setenv(name, value, 1) : unsetenv(name), 0);
}

/* Of each device in turn its bus, told by the address and by the UUID. */
static int seen_is(const char *seen)
{
    char spec[16];
    int count = 0;
    struct device *device = NULL;
    struct status error = {0};
    struct device_properties properties;
    for (snprintf(spec, sizeof spec, "cuda:0"); device_open(spec, &device, &error) == STATUS_OK; count++) {
        if (device->table->properties(device, &properties, &error) != STATUS_OK ||
            properties.pci_bus_id[6] != seen[count] ||
            properties.uuid[strlen(properties.uuid) - 1] != seen[count] + 1) {
            fprintf(stderr, "%s is %s, %s\n", spec, properties.pci_bus_id, properties.uuid);
            return 1;
        }
        device_close(device);
        snprintf(spec, sizeof spec, "cuda:%d", count + 1);
    }
    bool told =
        strstr(error.text, count == 0 ? "look at nvidia-smi and CUDA_VISIBLE_DEVICES" : "there is no device") != NULL;
    if (!told || count != (int)strlen(seen)) {
        fprintf(stderr, "%d devices, then %s\n", count, error.text);
        return 2;
    }
    return 0;
}

static void child_returns_0(int (*body)(const char *text), const char *text, const char *what)
{
    int wait_status = 0;
    pid_t child = fork();
    if (child == 0) {
        _exit(body(text));
    }
    assert_true(child > 0 && waitpid(child, &wait_status, 0) == child);
    if (!WIFEXITED(wait_status) || WEXITSTATUS(wait_status) != 0) {
        fail_msg("%s ended with %d", what, wait_status);
    }
}

/* The driver lists what is there, with its instance. */
static void smi_write(const char *folder, int gpus)
{
    static const char *const lines[] = {"7.5, " FIRST, "9.0, " SECOND, "8.0, " THIRD, "12.0, " FOURTH};
    char body[1024];
    int used = snprintf(body, sizeof body,
                        "case $1 in\n-L)\necho 'GPU 0: one (UUID: %s)'\n"
                        "echo '  MIG 1g.5gb Device 0: (UUID: %s)'\n"
                        "echo '  MIG 1g.5gb Device 1: (UUID: MIG-%s/1/0)' ;;\n*)\n",
                        FIRST, PART, FIRST);
    for (int i = 0; i < gpus; i++) {
        used += snprintf(body + used, sizeof body - (size_t)used, "echo '%s'\n", lines[i]);
    }
    snprintf(body + used, sizeof body - (size_t)used, ";; esac");
    script_write(folder, "nvidia-smi", body);
}

/* Whether the script's lines are the capabilities of the buses seen, and no other. */
static void here_agrees(const struct scene *scene, const char *gpus, const char *visible, const char *seen)
{
    static const char *const capabilities[] = {"75\n", "90\n", "80\n", "120\n"};
    char path[4096];
    const char *const words[] = {"ci/gpu-here.sh", NULL};
    snprintf(path, sizeof path, "PATH=%s:%s", scene->folder, getenv("PATH"));
    const char *const environment[] = {path, "CUDA_DEVICE_ORDER=PCI_BUS_ID", NULL};
    smi_write(scene->folder, gpus != NULL ? gpus[0] - '0' : 2);
    struct command_result result = command_run(words, environment);
    for (int board = 0; board < 4; board++) {
        bool is_seen = strchr(seen, '0' + board) != NULL;
        if ((strstr(text_string(&result.output), capabilities[board]) != NULL) != is_seen) {
            fail_msg("%s of '%s': %s", is_seen ? "not all" : "too many", visible, text_string(&result.output));
        }
    }
    command_result_release(&result);
}

static void what_is_visible_is_what_cuda_says(void **state)
{
    const struct scene *scene = *state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        environment_set("EMULATED_GPUS", rows[i].gpus);
        environment_set("EMULATED_NVML", rows[i].nvml);
        environment_set("CUDA_VISIBLE_DEVICES", rows[i].visible);
        child_returns_0(seen_is, rows[i].seen, rows[i].visible != NULL ? rows[i].visible : "what is not set");
        bool in_doubt =
            rows[i].gpus != NULL && strcmp(rows[i].gpus, "0") == 0; /* a machine of this test may have one */
        bool divided = rows[i].visible == NULL || strncmp(rows[i].visible, "MIG", 3) != 0 || rows[i].seen[0] != '\0';
        if (!in_doubt && divided) {
            here_agrees(scene, rows[i].gpus, rows[i].visible, rows[i].seen);
        }
    }
}

/* In a mixture whose order is the runtime's, an index may be any of them. */
static void an_index_into_a_mixture_may_be_any(void **state)
{
    const struct scene *scene = *state;
    char path[4096];
    const char *const words[] = {"env", "-u", "CUDA_DEVICE_ORDER", "ci/gpu-here.sh", NULL};
    snprintf(path, sizeof path, "PATH=%s:%s", scene->folder, getenv("PATH"));
    const char *const environment[] = {path, "CUDA_VISIBLE_DEVICES=1", NULL};
    smi_write(scene->folder, 2);
    struct command_result result = command_run(words, environment);
    assert_string_equal(text_string(&result.output), "75\n90\n");
    command_result_release(&result);
}

/* Another process is on the second GPU alone; ours is the only one that this process sees. */
static int foreign_is(const char *wanted)
{
    struct device *device = NULL;
    struct device_reading reading;
    if (device_open("cuda:0", &device, NULL) != STATUS_OK ||
        device->table->read_memory(device, &reading, NULL) != STATUS_OK) {
        return 1;
    }
    device_close(device);
    return reading.disturbance.foreign_pid == (wanted[0] == 'y' ? OTHER_PID : 0) ? 0 : 2;
}

static void the_gpu_of_nvml_is_the_one_that_cuda_shows(void **state)
{
    (void)state;
    static const struct {
        const char *visible, *nvml, *foreign;
    } others[] = {{"0", "process=77:4096:1@2", "no"},
                  {"1", "process=77:4096:1@2", "yes"},
                  {"1,0", "process=77:4096:1@2", "yes"},
                  {SECOND, "busless process=77:4096:1@2", "yes"},
                  {FIRST, "busless process=77:4096:1@2", "no"}};
    environment_set("EMULATED_GPUS", "2");
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        environment_set("CUDA_VISIBLE_DEVICES", others[i].visible);
        environment_set("EMULATED_NVML", others[i].nvml);
        child_returns_0(foreign_is, others[i].foreign, others[i].visible);
    }
}

/* This program, begun anew where a machine's GPUs have been handed out. */
static void gpus_of_the_machine_hide_none_of_ours(void **state)
{
    (void)state;
    const char *const words[] = {"/proc/self/exe", ASKING, NULL};
    const char *const environment[] = {"CUDA_VISIBLE_DEVICES=7", "EMULATED_GPUS=2", NULL};
    struct command_result result = command_run(words, environment);
    assert_int_equal(result.exit_code, 0);
    command_result_release(&result);
}

static int visible_close(void **state)
{
    environment_set("EMULATED_GPUS", NULL);
    environment_set("EMULATED_NVML", NULL);
    environment_set("CUDA_VISIBLE_DEVICES", NULL);
    return scene_close(state);
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], ASKING) == 0) {
        return seen_is("01");
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_is_visible_is_what_cuda_says, scene_open, visible_close),
        cmocka_unit_test_setup_teardown(an_index_into_a_mixture_may_be_any, scene_open, visible_close),
        cmocka_unit_test(gpus_of_the_machine_hide_none_of_ours),
        cmocka_unit_test_setup_teardown(the_gpu_of_nvml_is_the_one_that_cuda_shows, scene_open, visible_close),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
