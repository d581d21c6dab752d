/* Device specs: what is accepted, and for what is not, the reason and the remedy. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "harness/device/device.h"
#include "harness/device/device_spec.h"

static void every_form_is_read(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        struct device_spec spec;
    } rows[] = {
        {"auto", {DEVICE_KIND_AUTO, 0, 0}},
        {"meta", {DEVICE_KIND_META, 0, 0}},
        {"meta:mem=80GiB", {DEVICE_KIND_META, INT64_C(85899345920), 0}},
        {"host", {DEVICE_KIND_HOST, 0, 0}},
        {"host:mem=512MiB", {DEVICE_KIND_HOST, 536870912, 0}},
        {"host:mem=1.5GiB", {DEVICE_KIND_HOST, 1610612736, 0}},
        {"host:mem=10GB", {DEVICE_KIND_HOST, 10000000000, 0}},
        {"cuda", {DEVICE_KIND_CUDA, 0, 0}},
        {"cuda:0", {DEVICE_KIND_CUDA, 0, 0}},
        {"cuda:7", {DEVICE_KIND_CUDA, 0, 7}},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct device_spec spec = {0};
        char words[DEVICE_SPEC_BYTES];
        assert_int_equal(device_spec_parse(rows[i].text, &spec, NULL), STATUS_OK);
        assert_int_equal(spec.kind, rows[i].spec.kind);
        assert_int_equal(spec.memory_bytes, rows[i].spec.memory_bytes);
        assert_int_equal(spec.index, rows[i].spec.index);
        assert_int_equal(device_spec_words(rows[i].text, words, NULL), STATUS_OK);
        assert_string_equal(words, rows[i].text);
    }
}

static void what_people_call_devices_becomes_what_records_keep(void **state)
{
    (void)state;
    static const char *const rows[][2] = {
        {"cpu", "host"}, {"CPU:mem=1GiB", "host:mem=1GiB"}, {"gpu", "cuda"}, {"GPU:1", "cuda:1"}, {"Meta", "meta"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char words[DEVICE_SPEC_BYTES];
        assert_int_equal(device_spec_words(rows[i][0], words, NULL), STATUS_OK);
        assert_string_equal(words, rows[i][1]);
    }
}

/* Whatever the register has is read back, takes a bound if it says so, and is named to those who write another word. */
static void every_kind_of_the_register_is_read_and_named(void **state)
{
    (void)state;
    struct status error = {0};
    assert_int_equal(device_spec_parse("abacus", &(struct device_spec){0}, &error), STATUS_INVALID);
    for (int kind = 0; kind < DEVICE_KIND_COUNT; kind++) {
        const char *word = device_kind_word((enum device_kind)kind);
        char bounded[DEVICE_SPEC_BYTES];
        struct device_spec spec = {0};
        assert_int_equal(device_spec_parse(word, &spec, NULL), STATUS_OK);
        assert_int_equal(spec.kind, kind);
        snprintf(bounded, sizeof bounded, "%s:mem=1MiB", word);
        assert_int_equal(device_spec_parse(bounded, &spec, NULL) == STATUS_OK,
                         device_kind_takes_bound((enum device_kind)kind));
        if (strstr(error.text, word) == NULL) {
            fail_msg("'%s' does not name %s", error.text, word);
        }
    }
}

static void everything_else_is_refused_with_the_remedy(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        const char *message;
    } rows[] = {
        {"", "device '' is not known; write auto, meta, host, host:mem=SIZE, cuda or cuda:N"},
        {"gpus", "device 'gpus' is not known; write auto, meta, host, host:mem=SIZE, cuda or cuda:N"},
        {"host:mem=24", "device 'host:mem=24': '24' has no unit; write 24GiB (1024s) or 24GB (1000s)"},
        {"hos", "device 'hos' is not known; write auto, meta, host, host:mem=SIZE, cuda or cuda:N"},
        {"cuda1", "device 'cuda1' is not known; write auto, meta, host, host:mem=SIZE, cuda or cuda:N"},
        {"meta:1", "device 'meta:1': meta takes mem=SIZE only; write meta:mem=512MiB"},
        {"meta:mem=0",
         "device 'meta:mem=0': a bound of 0 bytes holds nothing; write meta:mem=512MiB, or meta for no bound"},
        {"auto:", "device 'auto:': auto takes no options; write auto"},
        {"host:", "device 'host:': host takes mem=SIZE only; write host:mem=512MiB"},
        {"host:512MiB", "device 'host:512MiB': host takes mem=SIZE only; write host:mem=512MiB"},
        {"host:mem=0",
         "device 'host:mem=0': a bound of 0 bytes holds nothing; write host:mem=512MiB, or host for no bound"},
        {"cuda:", "device 'cuda:': '' is not a device number from 0 to 255; write cuda or cuda:0"},
        {"cuda:-1", "device 'cuda:-1': '-1' is not a device number from 0 to 255; write cuda or cuda:0"},
        {"cuda:01", "device 'cuda:01': '01' is not a device number from 0 to 255; write cuda or cuda:0"},
        {"cuda:1x", "device 'cuda:1x': '1x' is not a device number from 0 to 255; write cuda or cuda:0"},
        {"cuda:256", "device 'cuda:256': '256' is not a device number from 0 to 255; write cuda or cuda:0"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct status error = {0};
        struct device_spec spec;
        struct device *device = (struct device *)&error;
        assert_int_equal(device_spec_parse(rows[i].text, &spec, &error), STATUS_INVALID);
        assert_string_equal(error.text, rows[i].message);
        assert_int_equal(device_open(rows[i].text, &device, NULL), STATUS_INVALID);
        assert_ptr_equal(device, &error); /* outputs are written on success only */
    }
}

/* The text of a wrong size is that of size_parse, with the spec before it. */
static void a_wrong_size_says_where_it_stands(void **state)
{
    (void)state;
    static const char *const rows[] = {"host:mem=", "host:mem=512mib", "host:mem=-1", "host:mem=1e3", "host:mem=5 5"};
    struct device_spec spec;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct status error = {0};
        assert_int_equal(device_spec_parse(rows[i], &spec, &error), STATUS_INVALID);
        assert_memory_equal(error.text, "device 'host:mem=", 17);
    }
    assert_int_equal(device_spec_parse("host:mem=9999999999GiB", &spec, NULL), STATUS_OVERFLOW);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_form_is_read),
        cmocka_unit_test(what_people_call_devices_becomes_what_records_keep),
        cmocka_unit_test(every_kind_of_the_register_is_read_and_named),
        cmocka_unit_test(everything_else_is_refused_with_the_remedy),
        cmocka_unit_test(a_wrong_size_says_where_it_stands),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
