/* Crafted machines, this machine, and files that are no machines. */
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

#include "harness/hardware/hardware.h"

#define GIB ((int64_t)1 << 30)

static struct hardware machine(const char *path, struct arena *arena)
{
    struct hardware hardware;
    struct status error = {0};
    if (hardware_read(path, arena, &hardware, &error) != STATUS_OK) {
        fail_msg("%s", error.text);
    }
    return hardware;
}

static void four_gpus_have_memory_uuid_and_near_cores(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct hardware hardware = machine("tests/hardware/hwloc-4gpu.xml", &arena);
    static const char *const bus_ids[] = {"0000:12:00.0", "0000:13:00.0", "0000:52:00.0", "0000:53:00.0"};
    assert_false(hardware.this_system);
    assert_int_equal(hardware.memory_bytes, 512 * GIB);
    assert_string_equal(hardware.memory_source, "topology");
    assert_null(hardware.host);
    assert_int_equal(hardware.package_count, 2);
    assert_int_equal(hardware.core_count, 8);
    assert_int_equal(hardware.numa_count, 2);
    assert_int_equal(hardware.numa[1].memory_bytes, 256 * GIB);
    assert_string_equal(hardware.numa[1].cpus.list, "4-7");
    assert_int_equal(hardware.gpu_count, 4);
    for (int i = 0; i < 4; i++) {
        const struct hardware_gpu *gpu = &hardware.gpus[i];
        char uuid[32];
        snprintf(uuid, sizeof uuid, "GPU-0000-%d", i);
        assert_string_equal(gpu->pci_bus_id, bus_ids[i]);
        assert_string_equal(gpu->pci_id, "10de:2330");
        assert_string_equal(gpu->vendor, "NVIDIA");
        assert_string_equal(gpu->model, "NVIDIA H100 80GB HBM3");
        assert_string_equal(gpu->uuid, uuid);
        assert_int_equal(gpu->memory_bytes, INT64_C(83034112) * 1024);
        assert_int_equal(gpu->link_bytes_per_second, INT64_C(31508000000));
        assert_int_equal(gpu->numa_node, i / 2);
        assert_string_equal(gpu->cpus.list, i < 2 ? "0-3" : "4-7");
        assert_int_equal(gpu->cpus.count, 4);
        assert_int_equal(gpu->cpus.numbers[3], i < 2 ? 3 : 7);
    }
    arena_release(&arena);
}

static void eight_gpus_are_found_where_only_nvml_tells_of_them(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct hardware hardware = machine("tests/hardware/hwloc-8gpu.xml", &arena);
    assert_string_equal(hardware.host, "hgx-8");
    assert_string_equal(hardware.kernel, "Linux 6.8.0-60-generic");
    assert_string_equal(hardware.cpu_model, "Intel(R) Xeon(R) Platinum 8480C");
    assert_int_equal(hardware.core_count, 8);
    assert_int_equal(hardware.pu_count, 16);
    assert_int_equal(hardware.cache_count, 2);
    assert_int_equal(hardware.caches[0].level, 2);
    assert_int_equal(hardware.caches[1].count, 2);
    assert_int_equal(hardware.caches[1].total_bytes, 2 * 110100480);
    assert_string_equal(hardware.caches[1].type, "unified");
    assert_int_equal(hardware.gpu_count, 8); /* neither the video chip nor the switch */
    for (int i = 0; i < 8; i++) {
        assert_string_equal(hardware.gpus[i].model, "NVIDIA H100 80GB HBM3");
        assert_int_equal(hardware.gpus[i].memory_bytes, HARDWARE_UNKNOWN);
        assert_int_equal(hardware.gpus[i].numa_node, i / 4);
        assert_string_equal(hardware.gpus[i].cpus.list, i < 4 ? "0-3,8-11" : "4-7,12-15");
    }
    assert_string_equal(hardware.gpus[5].uuid, "GPU-5b1e0a00-0000-4000-8000-000000000005");
    assert_int_equal(hardware.gpus[4].cpus.numbers[4], 12);
    arena_release(&arena);
}

static void every_maker_is_known_and_places_may_be_unknown(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct hardware hardware = machine("tests/hardware/hwloc-mixed.xml", &arena);
    static const char *const vendors[] = {"Intel", "AMD", "NVIDIA", "NVIDIA"};
    assert_int_equal(hardware.gpu_count, 4);
    for (int i = 0; i < 4; i++) {
        assert_string_equal(hardware.gpus[i].vendor, vendors[i]);
        assert_int_equal(hardware.gpus[i].numa_node, HARDWARE_UNKNOWN);
        assert_string_equal(hardware.gpus[i].cpus.list, "0-1");
    }
    assert_string_equal(hardware.gpus[0].model, "AlderLake-S GT1");
    assert_int_equal(hardware.gpus[0].link_bytes_per_second, HARDWARE_UNKNOWN);
    assert_string_equal(hardware.gpus[1].model, "AMD Instinct MI210");
    assert_int_equal(hardware.gpus[1].memory_bytes, INT64_C(67092480) * 1024);
    assert_null(hardware.gpus[2].model);
    assert_int_equal(hardware.gpus[2].memory_bytes, HARDWARE_UNKNOWN); /* the file says "oops" */
    assert_null(hardware.gpus[3].pci_bus_id);
    assert_int_equal(hardware.gpus[3].memory_bytes, 120 * GIB);
    arena_release(&arena);
}

static void gpus_are_found_by_any_spelling_of_the_bus_id(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct hardware hardware = machine("tests/hardware/hwloc-8gpu.xml", &arena);
    assert_ptr_equal(hardware_find_gpu(&hardware, "0000:9d:00.0"), &hardware.gpus[4]);
    assert_ptr_equal(hardware_find_gpu(&hardware, "00000000:9D:00.0"), &hardware.gpus[4]);
    assert_ptr_equal(hardware_find_gpu(&hardware, "9d:00.0"), &hardware.gpus[4]);
    assert_null(hardware_find_gpu(&hardware, "0001:9d:00.0"));
    assert_null(hardware_find_gpu(&hardware, "0000:9d:00.1"));
    assert_null(hardware_find_gpu(&hardware, "0000:9d:00.0x"));
    assert_null(hardware_find_gpu(&hardware, ""));
    hardware = machine("tests/hardware/hwloc-mixed.xml", &arena);
    assert_null(hardware_find_gpu(&hardware, "9d:00.0"));
    arena_release(&arena);
}

static void this_machine_has_the_memory_that_proc_tells(void **state)
{
    (void)state;
    if (getenv("HWLOC_XMLFILE") != NULL || getenv("HWLOC_SYNTHETIC") != NULL) {
        skip();
    }
    struct arena arena = {0};
    struct hardware hardware = machine(NULL, &arena);
    long long kibibytes = 0;
    FILE *file = fopen("/proc/meminfo", "r");
    assert_non_null(file);
    assert_int_equal(fscanf(file, "MemTotal: %lld", &kibibytes), 1); /* the first line */
    fclose(file);
    assert_true(hardware.this_system);
    assert_string_equal(hardware.source, "this machine");
    assert_string_equal(hardware.memory_source, "/proc/meminfo");
    assert_int_equal(hardware.memory_bytes, kibibytes * 1024);
    assert_true(hardware.pu_count >= 1);
    assert_non_null(hardware.host);
    assert_int_equal(strncmp(hardware.kernel, "Linux ", 6), 0);
    arena_release(&arena);
}

static void the_environment_names_a_file_and_is_left_alone(void **state)
{
    (void)state;
    struct arena arena = {0};
    const char *before = getenv("HWLOC_XMLFILE");
    char *kept = before != NULL ? strdup(before) : NULL;
    assert_int_equal(setenv("HWLOC_XMLFILE", "tests/hardware/hwloc-no-gpu.xml", 1), 0);
    struct hardware hardware = machine(NULL, &arena);
    assert_false(hardware.this_system);
    assert_string_equal(hardware.source, "tests/hardware/hwloc-no-gpu.xml");
    assert_int_equal(hardware.gpu_count, 0);
    assert_int_equal(hardware.memory_bytes, 8 * GIB);
    assert_string_equal(getenv("HWLOC_XMLFILE"), "tests/hardware/hwloc-no-gpu.xml");
    assert_null(getenv("HWLOC_COMPONENTS"));
    struct status error = {0};
    assert_int_equal(setenv("HWLOC_XMLFILE", "tests/hardware/absent.xml", 1), 0);
    assert_int_equal(hardware_read(NULL, &arena, &hardware, &error), STATUS_IO);
    assert_string_equal(error.text, "tests/hardware/absent.xml: No such file or directory");
    assert_int_equal(kept != NULL ? setenv("HWLOC_XMLFILE", kept, 1) : unsetenv("HWLOC_XMLFILE"), 0);
    free(kept);
    arena_release(&arena);
}

/* What reading a file with this content answers. In a child, so that a crash is seen, and because hwloc itself forgets
 * memory when it refuses a file. */
static enum status_code content_answers(const char *content, size_t length)
{
    char path[] = "/tmp/assay-topology-XXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(write(file, content, length), length);
    close(file);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        struct arena arena = {0};
        struct hardware hardware;
        _exit((int)hardware_read(path, &arena, &hardware, NULL));
    }
    int outcome = 0;
    assert_int_equal(waitpid(child, &outcome, 0), child);
    unlink(path);
    assert_true(WIFEXITED(outcome));
    return (enum status_code)WEXITSTATUS(outcome);
}

static void broken_files_are_errors(void **state)
{
    (void)state;
    static char content[32 * 1024];
    FILE *file = fopen("tests/hardware/hwloc-4gpu.xml", "r");
    assert_non_null(file);
    size_t length = fread(content, 1, sizeof content, file);
    fclose(file);
    assert_true(length > 4000 && length < sizeof content);
    assert_int_equal(content_answers(content, length), STATUS_OK);
    for (size_t cut = 0; cut + 16 < length; cut += 211) {
        assert_int_equal(content_answers(content, cut), STATUS_INVALID);
    }
    static const char *const others[] = {
        "{}",
        "<?xml version=\"1.0\"?>\n<topology version=\"3.0\">\n</topology>\n",
        ("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n"
         "<topology version=\"2.0\">\n</topology>\n"),
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        assert_int_equal(content_answers(others[i], strlen(others[i])), STATUS_INVALID);
    }
}

static void json_holds_every_field_and_null_for_unknowns(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct hardware hardware = machine("tests/hardware/hwloc-8gpu.xml", &arena);
    struct json *object = hardware_to_json(&hardware);
    const struct json *gpu = json_at(json_get(object, "gpus"), 7);
    assert_int_equal(json_count(object), 13);
    assert_int_equal(json_integer_or(json_get(object, "pu_count"), 0), 16);
    assert_false(json_boolean_or(json_get(object, "this_system"), true));
    assert_string_equal(json_string_or(json_get(json_at(json_get(object, "numa"), 1), "cores"), ""), "4-7,12-15");
    assert_int_equal(json_count(json_get(object, "caches")), 2);
    assert_int_equal(json_count(gpu), 9);
    assert_string_equal(json_string_or(json_get(gpu, "pci_bus_id"), ""), "0000:df:00.0");
    assert_non_null(json_get(gpu, "memory_bytes"));
    assert_int_equal(json_kind(json_get(gpu, "memory_bytes")), JSON_KIND_NULL);
    assert_int_equal(json_integer_or(json_get(gpu, "link_bytes_per_second"), 0), INT64_C(63015000000));
    json_release(object);
    arena_release(&arena);
}

static void lines_fit_80_columns(void **state)
{
    (void)state;
    static const char *const files[] = {"tests/hardware/hwloc-4gpu.xml", "tests/hardware/hwloc-8gpu.xml",
                                        "tests/hardware/hwloc-mixed.xml", "tests/hardware/hwloc-no-gpu.xml", NULL};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        struct arena arena = {0};
        struct text text = {0};
        struct hardware hardware = machine(files[i], &arena);
        hardware.cpu_model =
            "A processor\nwhose-name-has-no-space-where-it-could-be-broken-into-lines-that-fit-the-width-of-it";
        hardware_to_text(&hardware, &text);
        assert_false(text.failed);
        assert_null(strstr(text_string(&text), "A processor\n"));
        for (const char *line = text_string(&text); *line != '\0'; line = strchr(line, '\n') + 1) {
            assert_true(strcspn(line, "\n") <= 80);
        }
        text_release(&text);
        arena_release(&arena);
    }
}

static void text_reads_as_expected(void **state)
{
    (void)state;
    struct arena arena = {0};
    struct text text = {0};
    struct hardware hardware = machine("tests/hardware/hwloc-mixed.xml", &arena);
    hardware_to_text(&hardware, &text);
    assert_string_equal(text_string(&text), "host      unknown host, unknown kernel; not this machine,\n"
                                            "          but tests/hardware/hwloc-mixed.xml\n"
                                            "cpu       unknown processor; 2 packages, 2 cores, 2 hardware threads\n"
                                            "memory    8.00 GiB, from the topology\n"
                                            "numa 0    4.00 GiB, cores 0\n"
                                            "numa 1    4.00 GiB, cores 1\n"
                                            "gpu 0     Intel AlderLake-S GT1 at 0000:00:02.0, near cores 0-1\n"
                                            "gpu 1     AMD Instinct MI210 at 0000:03:00.0, 63.98 GiB, link 31.5 GB/s,\n"
                                            "          near cores 0-1, 0x1234abcd\n"
                                            "gpu 2     NVIDIA 10de:20b5 at 0000:05:00.0, near cores 0-1\n"
                                            "gpu 3     NVIDIA GB10 at no PCI bus, 120.00 GiB, near cores 0-1\n");
    text_release(&text);
    arena_release(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_gpus_have_memory_uuid_and_near_cores),
        cmocka_unit_test(eight_gpus_are_found_where_only_nvml_tells_of_them),
        cmocka_unit_test(every_maker_is_known_and_places_may_be_unknown),
        cmocka_unit_test(gpus_are_found_by_any_spelling_of_the_bus_id),
        cmocka_unit_test(this_machine_has_the_memory_that_proc_tells),
        cmocka_unit_test(the_environment_names_a_file_and_is_left_alone),
        cmocka_unit_test(broken_files_are_errors),
        cmocka_unit_test(json_holds_every_field_and_null_for_unknowns),
        cmocka_unit_test(lines_fit_80_columns),
        cmocka_unit_test(text_reads_as_expected),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
