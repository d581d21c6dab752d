/* assay load --dispatch: a checkpoint is loaded and run where it lies, every device holds what was predicted, and what
 * a GPU holds is what was placed, what was brought, and the rest; what makes no sense is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/json.h"
#include "harness/checkpoint/offload_folder.h"
#include "tests/support/command_run.h"
#include "tests/support/scratch_folder.h"

enum { WORDS_MAXIMUM = 20 };

static char scratch[40], checkpoint[64], map_path[64], offload[64];

static struct command_result command(const char *name, const char *const *options)
{
    const char *words[WORDS_MAXIMUM] = {program_path(), name};
    for (int i = 0; options[i] != NULL; i++) {
        words[i + 2] = options[i];
    }
    return command_run(words, NULL);
}

#define COMMAND(name, ...) command(name, (const char *const[]){__VA_ARGS__, NULL})

static int scratch_make(void **state)
{
    (void)state;
    snprintf(scratch, sizeof scratch, "/tmp/assay-cli-dispatch-XXXXXX");
    assert_non_null(mkdtemp(scratch));
    snprintf(checkpoint, sizeof checkpoint, "%s/made", scratch);
    snprintf(map_path, sizeof map_path, "%s/map.json", scratch);
    snprintf(offload, sizeof offload, "%s/offload", scratch);
    FILE *file = fopen(map_path, "w");
    assert_non_null(file);
    fputs("{\"model.embed_tokens\": 0, \"model.layers.0\": \"cpu\", \"model.layers.1\": \"disk\", \"model.norm\": 0, "
          "\"model.rotary_emb\": 0, \"lm_head\": 1}",
          file);
    assert_int_equal(fclose(file), 0);
    struct command_result made =
        COMMAND("synth", "tiny-llama", "--precision", "bfloat16", "--max-shard-size", "20KB", "--out", checkpoint);
    assert_int_equal(made.exit_code, 0);
    command_result_release(&made);
    return 0;
}

static int scratch_remove(void **state)
{
    (void)state;
    return scratch_folder_remove(scratch);
}

static int64_t integer_in(const struct json *object, const char *key)
{
    return json_integer_or(json_get(object, key), -1);
}

static void every_device_holds_what_was_predicted(void **state)
{
    static const char *const names[] = {"0", "1", "cpu", "disk"}, *const levels[] = {"requested_bytes_peak",
                                                                                     "allocated_bytes_peak",
                                                                                     "reserved_bytes_peak"};
    struct offload_folder *folder = NULL;
    (void)state;
    struct command_result result = COMMAND("load", checkpoint, "--map", map_path, "--dispatch", "--device", "host",
                                           "--batch", "2", "--seq", "8", "--offload-folder", offload, "--json");
    struct json *document = command_document(&result);
    assert_int_equal(result.exit_code, 0);
    assert_true(json_boolean_or(json_get(document, "pass"), false));
    assert_int_equal(integer_in(document, "seq"), 8);
    const struct json *devices = json_get(document, "devices");
    assert_int_equal(json_count(devices), 4);
    for (size_t i = 0; i < 4; i++) {
        const struct json *device = json_at(devices, i), *is = json_get(device, "measured");
        assert_string_equal(json_string_or(json_get(device, "device"), ""), names[i]);
        assert_true(integer_in(device, "placed_bytes") > 0);
        for (int k = 0; k < 3; k++) {
            assert_int_equal(integer_in(is, levels[k]), integer_in(json_get(device, "predicted"), levels[k]));
        }
        assert_int_equal(integer_in(is, "requested_bytes_peak"), integer_in(device, "placed_bytes") +
                                                                     integer_in(device, "brought_bytes") +
                                                                     integer_in(device, "other_bytes"));
    }
    assert_true(integer_in(json_at(devices, 0), "brought_bytes") >
                0); /* the blocks of the cpu and the disk run there */
    const struct json *host = json_get(document, "host");
    assert_true(integer_in(host, "predicted_bytes_peak") >= integer_in(json_at(devices, 2), "placed_bytes"));
    assert_int_equal(offload_folder_open(offload, &folder, NULL), STATUS_OK);
    assert_int_equal(offload_folder_count(folder), 9);
    offload_folder_close(folder);
    json_release(document);
    command_result_release(&result);
}

static void people_read_it(void **state)
{
    (void)state;
    struct command_result result =
        COMMAND("load", checkpoint, "--map", map_path, "--dispatch", "--device", "host", "--seq", "8");
    const char *text = text_string(&result.output);
    assert_int_equal(result.exit_code, 0);
    assert_non_null(strstr(text, "llama (with head) in bfloat16, loaded and run forward: batch 1, seq 8\n"));
    assert_non_null(strstr(text, "device     placed    brought     others  predicted       peak   reserved\n"));
    assert_non_null(strstr(text, "as predicted\n"));
    assert_non_null(strstr(text, "host memory: "));
    command_result_release(&result);
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    struct command_result result = COMMAND("load", checkpoint, "--seq", "8");
    assert_int_equal(result.exit_code, 2);
    assert_non_null(strstr(text_string(&result.error), "load: --seq belongs to a forward pass; add --dispatch"));
    command_result_release(&result);
    result = COMMAND("load", checkpoint, "--dispatch", "--batch", "0");
    assert_int_equal(result.exit_code, 2);
    assert_non_null(strstr(text_string(&result.error), "assay: load: "));
    command_result_release(&result);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, scratch_make, scratch_remove)
    const struct CMUnitTest tests[] = {
        TEST(every_device_holds_what_was_predicted),
        TEST(people_read_it),
        TEST(what_makes_no_sense_is_refused),
    };
    return cmocka_run_group_tests_name("load_dispatch", tests, NULL, NULL);
}
