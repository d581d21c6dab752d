/* The corpora of the fuzzers, run once each without a fuzzer: what was found once is not found again. */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "tests/fuzz/fuzz.h"

/* The file in memory of exactly its size, so that a sanitizer sees what is read beyond it. */
static void file_run(const char *path, int (*target)(const uint8_t *data, size_t size))
{
    struct stat facts;
    assert_int_equal(stat(path, &facts), 0);
    size_t size = (size_t)facts.st_size;
    uint8_t *bytes = malloc(size > 0 ? size : 1);
    assert_non_null(bytes);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    assert_int_equal(fread(bytes, 1, size, file), size);
    fclose(file);
    assert_int_equal(target(bytes, size), 0);
    free(bytes);
}

static void corpus_run(const char *folder, int (*target)(const uint8_t *data, size_t size))
{
    char path[512];
    int count = 0;
    DIR *directory = opendir(folder);
    assert_non_null(directory);
    const struct dirent *entry;
    while ((entry = readdir(directory)) != NULL) {
        if (entry->d_name[0] != '.') {
            assert_in_range(snprintf(path, sizeof path, "%s/%s", folder, entry->d_name), 1, sizeof path - 1);
            file_run(path, target);
            count++;
        }
    }
    closedir(directory);
    assert_true(count >= 10);
}

static void configurations(void **state)
{
    (void)state;
    corpus_run("tests/fuzz/corpus/config", fuzz_config);
}

static void files_of_safetensors(void **state)
{
    (void)state;
    corpus_run("tests/fuzz/corpus/safetensors", fuzz_safetensors);
}

static void files_of_gguf(void **state)
{
    (void)state;
    corpus_run("tests/fuzz/corpus/gguf", fuzz_gguf);
}

static void suites(void **state)
{
    (void)state;
    corpus_run("tests/fuzz/corpus/yaml", fuzz_yaml);
}

static void texts_of_json(void **state)
{
    (void)state;
    corpus_run("tests/fuzz/corpus/json_scan", fuzz_json_scan);
}

static void files_of_records(void **state)
{
    (void)state;
    corpus_run("tests/fuzz/corpus/records", fuzz_records);
}

static void pickles(void **state)
{
    (void)state;
    corpus_run("tests/fuzz/corpus/pickle", fuzz_pickle);
}

static void indices_of_offload_folders(void **state)
{
    (void)state;
    corpus_run("tests/fuzz/corpus/offload", fuzz_offload);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(configurations), cmocka_unit_test(files_of_safetensors),
        cmocka_unit_test(files_of_gguf),  cmocka_unit_test(suites),
        cmocka_unit_test(texts_of_json),  cmocka_unit_test(files_of_records),
        cmocka_unit_test(pickles),        cmocka_unit_test(indices_of_offload_folders),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
