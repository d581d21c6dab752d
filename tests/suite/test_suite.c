/* Suites: expansion, layers, settings, and every mistake with its place and its remedy. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/json.h"
#include "harness/base/text.h"
#include "harness/suite/suite.h"
#include "tests/suite/suite_text.h"
#include "tests/support/status_said.h"

static void lists_multiply_with_the_last_axis_fastest(void **state)
{
    (void)state;
    struct suite suite = suite_text_open(SUITE_HEAD "description: >\n  two\n  lines\ncases:\n"
                                                    "  - {model: gpt2, mode: infer, batch: [1, 8], seq: [128, 512]}\n");
    const char *ids[] = {"gpt2/infer/float32/b1/s128", "gpt2/infer/float32/b1/s512", "gpt2/infer/float32/b8/s128",
                         "gpt2/infer/float32/b8/s512"};
    suite_ids_check(&suite, ids, 4);
    assert_string_equal(suite.name, "t");
    assert_string_equal(suite.description, "two lines");
    assert_int_equal(suite.cases[3].identity.workload.batch, 8);
    assert_int_equal(suite.cases[3].identity.workload.seq, 512);
    assert_int_equal(suite.cases[3].line, 6 + 1);
    suite_release(&suite);
}

/* Of load, infer and train only the last has an optimizer, so its two values give one load, one infer, two trains. */
static void axes_that_say_nothing_do_not_multiply(void **state)
{
    (void)state;
    struct suite suite =
        suite_text_open(SUITE_HEAD "defaults: {optimizer: [adam-foreach, adamw-fused], seq: [64, 128]}\ncases:\n"
                                   "  - {model: tiny-bert, mode: [load, infer, train]}\n"
                                   "  - {model: tiny-resnet, mode: infer, batch: 2}\n");
    const char *ids[] = {
        "tiny-bert/load/float32",
        "tiny-bert/infer/float32/b1/s64",
        "tiny-bert/infer/float32/b1/s128",
        "tiny-bert/train/float32/b1/s64/adam-foreach",
        "tiny-bert/train/float32/b1/s64/adamw-fused",
        "tiny-bert/train/float32/b1/s128/adam-foreach",
        "tiny-bert/train/float32/b1/s128/adamw-fused",
        "tiny-resnet/infer/float32/b2",
    };
    suite_ids_check(&suite, ids, 8);
    assert_int_equal(suite.cases[7].identity.workload.seq, 0);
    suite_release(&suite);
}

static void exclude_drops_and_include_adds(void **state)
{
    (void)state;
    struct suite suite =
        suite_text_open(SUITE_HEAD "exclude:\n  - {seq: 512, batch: [8, 16]}\n"
                                   "cases:\n  - model: tiny-bert\n    mode: infer\n    batch: [1, 8]\n"
                                   "    seq: [128, 512]\n    exclude:\n      - {batch: 1, seq: 128, attention: sdpa}\n"
                                   "    include:\n      - {batch: 16}\n      - {batch: 1, seq: 32, attention: eager}\n"
                                   "include:\n  - {model: tiny-gpt2, mode: load}\n");
    const char *ids[] = {"tiny-bert/infer/float32/b1/s512",      "tiny-bert/infer/float32/b8/s128",
                         "tiny-bert/infer/float32/b16/s128",     "tiny-bert/infer/float32/b16/s512",
                         "tiny-bert/infer/float32/b1/s32/eager", "tiny-gpt2/load/float32"};
    suite_ids_check(&suite, ids, 6);
    suite_release(&suite);
}

/* What `assay compare` will allow between two results of the suite. */
static void a_suite_says_how_far_results_may_differ(void **state)
{
    (void)state;
    struct suite suite = suite_text_open(SUITE_HEAD "compare: {process: 2%, device: 8MiB, reserved: none}\n"
                                                    "cases:\n  - {model: tiny-gpt2, mode: load}\n");
    assert_int_equal(suite.compare.of[LEVEL_PROCESS].tolerance.kind, TOLERANCE_FRACTION);
    assert_int_equal(suite.compare.of[LEVEL_DEVICE].tolerance.bytes, 8 << 20);
    assert_int_equal(suite.compare.of[LEVEL_RESERVED].kind, LEVEL_RULE_NONE);
    assert_int_equal(suite.compare.of[LEVEL_ALLOCATED].kind, LEVEL_RULE_ABSENT);
    suite_release(&suite);
}

static void assert_near(double value, double wanted)
{
    assert_true(fabs(value - wanted) < 1e-12);
}

static void settings_come_from_the_innermost_layer(void **state)
{
    (void)state;
    struct suite suite = suite_text_open(
        SUITE_HEAD
        "tags: nightly\ntimeout_seconds: 30\nfor: sm_80\n"
        "tolerances: {replay: {allocated_bytes_peak: 0, process_bytes: 10%}, accelerate: {total_bytes: 1.5MiB}}\n"
        "defaults: {tags: [text], repeat: 2, mode: load}\n"
        "cases:\n  - {model: tiny-bert}\n"
        "  - {model: tiny-gpt2, tags: [big, text], timeout_seconds: 90, repeat: 1, device: meta, for: host,\n"
        "     tolerances: {replay: {process_bytes: 0.25%}}, expect: {allocated_bytes_peak: 4KiB, total_bytes: 7B}}\n");
    const struct suite_settings *first = suite.cases[0].settings, *second = suite.cases[1].settings;
    assert_near(first->timeout_seconds, 30);
    assert_near(second->timeout_seconds, 90);
    assert_int_equal(first->repeat, 2);
    assert_int_equal(second->repeat, 1);
    assert_null(first->device);
    assert_string_equal(second->device, "meta");
    assert_string_equal(first->target, "sm_80");
    assert_string_equal(second->target, "host");
    assert_int_equal(first->tag_count, 2);
    assert_int_equal(second->tag_count, 3);
    assert_near(suite_case_tolerance(&suite.cases[0], "replay", QUANTITY_PROCESS_BYTES)->fraction, 0.1);
    assert_near(suite_case_tolerance(&suite.cases[1], "replay", QUANTITY_PROCESS_BYTES)->fraction, 0.0025);
    const struct tolerance *exact = suite_case_tolerance(&suite.cases[1], "replay", QUANTITY_ALLOCATED_BYTES_PEAK);
    assert_int_equal(exact->kind, TOLERANCE_BYTES);
    assert_int_equal(exact->bytes, 0);
    assert_int_equal(suite_case_tolerance(&suite.cases[1], "accelerate", QUANTITY_TOTAL_BYTES)->bytes, 1572864);
    assert_null(suite_case_tolerance(&suite.cases[0], "anatomy", QUANTITY_TOTAL_BYTES));
    assert_int_equal(suite_case_tolerance(&suite.cases[1], "expected", QUANTITY_TOTAL_BYTES)->bytes, 0);
    assert_int_equal(second->expectation_count, 2);
    assert_int_equal(second->expectations[0].bytes, 4096);
    suite_release(&suite);
}

static void patterns_select_by_id_and_tag(void **state)
{
    (void)state;
    struct suite suite =
        suite_text_open(SUITE_HEAD "cases:\n  - {model: tiny-bert, mode: load, tags: [small, text]}\n");
    assert_true(suite_case_matches(&suite.cases[0], NULL));
    assert_true(suite_case_matches(&suite.cases[0], "tiny-bert/*"));
    assert_true(suite_case_matches(&suite.cases[0], "*float32"));
    assert_true(suite_case_matches(&suite.cases[0], "small"));
    assert_true(suite_case_matches(&suite.cases[0], "te?t"));
    assert_false(suite_case_matches(&suite.cases[0], "tiny-bert"));
    assert_false(suite_case_matches(&suite.cases[0], "*train*"));
    suite_release(&suite);
}

static void the_plan_hash_follows_the_cases_alone(void **state)
{
    (void)state;
    struct suite a =
        suite_text_open(SUITE_HEAD "cases:\n  - {model: tiny-bert, mode: load}\n  - {model: gpt2, mode: load}\n");
    struct suite b = suite_text_open(SUITE_HEAD "# comment\ncases:\n  - {mode: load, model: [tiny-bert, gpt2]}\n");
    struct suite c =
        suite_text_open(SUITE_HEAD "cases:\n  - {model: gpt2, mode: load}\n  - {model: tiny-bert, mode: load}\n");
    assert_int_equal(strlen(a.plan_hash), 16);
    assert_string_equal(a.plan_hash, b.plan_hash);
    assert_string_not_equal(a.plan_hash, c.plan_hash);
    suite_release(&a);
    suite_release(&b);
    suite_release(&c);
}

struct refusal {
    const char *text, *message;
};

#define CASE(rest) SUITE_HEAD "cases:\n  - {model: tiny-bert, mode: train, " rest "}\n"

static const struct refusal REFUSALS[] = {
    {"- 1\n", "s.yaml:1:1: a suite must be a map, not a list; write 'key: value' lines"},
    {"name: t\n", "s.yaml:1:1: the suite has no version; begin it with 'version: 1'"},
    {"version: 1\n", "s.yaml:1:1: the suite has no name; add 'name: quick' or another one"},
    {"version: 2\nname: t\n", "s.yaml:1:10: version: 2 is out of range; write 1, the only value"},
    {"version: \"1\"\nname: t\n", "s.yaml:1:10: version is the text '1'; write the number without quotes"},
    {"version: 1\nname: ~\n", "s.yaml:2:7: name is null; give a value or remove the key"},
    {"version: 1\nname:\n", "s.yaml:2:6: name is null; give a value or remove the key"},
    {"version: 1\nname: ''\n", "s.yaml:2:7: name is empty; give a value or remove the key"},
    {"version: 1\nname: ../../etc\n",
     "s.yaml:2:7: name: '../../etc' does not name a folder; write up to 64 letters, digits, '.', '_' or '-', without a "
     "'.' in front"},
    {"version: 1\nname: ..\n",
     "s.yaml:2:7: name: '..' does not name a folder; write up to 64 letters, digits, '.', '_' or '-', without a '.' in "
     "front"},
    {SUITE_HEAD, "s.yaml:1:1: the suite has no cases; add 'cases:' with '- ' items"},
    {SUITE_HEAD "cases: []\n", "s.yaml:3:8: cases is an empty list; give at least one item or remove it"},
    {SUITE_HEAD "cases: {}\n", "s.yaml:3:8: cases must be a list, not a map; write '- ' items"},
    {SUITE_HEAD "compare: {proces: 1%}\ncases: []\n",
     "s.yaml:3:11: unknown key 'proces' in compare; did you mean 'process'?"},
    {SUITE_HEAD "compare: {process: 4mb}\ncases: []\n",
     "s.yaml:3:20: process: '4mb' leaves open whether it counts in 1000s or in 1024s; write 4MB (1000s) or 4MiB "
     "(1024s), or a percentage such as 0.5%"},
    {SUITE_HEAD "compare: {process: 1e3%}\ncases: []\n",
     "s.yaml:3:20: process: '1e3%' is not a percentage below 1000; write one such as 0.5%"},
    {SUITE_HEAD "compare: 2%\ncases: []\n",
     "s.yaml:3:10: compare must be a map, not a single value; write 'key: value' lines"},
    {SUITE_HEAD "cases:\n  - gpt2\n", "s.yaml:4:5: a case must be a map, not a single value; write 'key: value' lines"},
    {SUITE_HEAD "case:\n  - {}\n", "s.yaml:3:1: unknown key 'case' in a suite; did you mean 'cases'?"},
    {SUITE_HEAD "cases:\n  - {mode: load}\n",
     "s.yaml:4:5: this case has no model; add 'model: bert-base-cased' or another one"},
    {SUITE_HEAD "cases:\n  - {model: gpt2}\n",
     "s.yaml:4:5: this case has no mode; add 'mode: load', 'infer' or 'train'"},
    {CASE("bacth: 8"), "s.yaml:4:37: unknown key 'bacth' in a case; did you mean 'batch'?"},
    {CASE("batch: 16abc"), "s.yaml:4:44: batch: '16abc' is not an integer; write digits alone, without 'abc'"},
    {CASE("batch: 1e3"), "s.yaml:4:44: batch: '1e3' is not an integer; write 1000"},
    {CASE("batch: 010"), "s.yaml:4:44: batch: '010' has a leading zero; write 10"},
    {CASE("batch: 4k"), "s.yaml:4:44: batch: '4k' is not an integer; write 4000 or 4096"},
    {CASE("batch: 4_096"), "s.yaml:4:44: batch: '4_096' is not an integer; write 4096"},
    {CASE("batch: 0"), "s.yaml:4:44: batch: 0 is out of range; write an integer from 1 to 1048576"},
    {CASE("batch: -1"), "s.yaml:4:44: batch: -1 is out of range; write an integer from 1 to 1048576"},
    {CASE("batch: 99999999999999999999"),
     "s.yaml:4:44: batch: '99999999999999999999' does not fit 63 bits; write at most 1048576"},
    {CASE("batch: null"), "s.yaml:4:44: batch is null; give a value or remove the key"},
    {CASE("batch: \"8\""), "s.yaml:4:44: batch is the text '8'; write it without quotes"},
    {CASE("batch: []"), "s.yaml:4:44: batch is an empty list; give at least one item or remove it"},
    {CASE("batch: [8, 8]"), "s.yaml:4:48: batch: '8' stands twice in this list; keep one"},
    {CASE("batch: [[8]]"), "s.yaml:4:45: batch must be a single value, not a list"},
    {CASE("batch: {a: 8}"), "s.yaml:4:44: batch must be a single value, not a map"},
    {CASE("checkpointing: yes"), "s.yaml:4:52: checkpointing: 'yes' is not known; write one of: false, true"},
    {CASE("checkpointing: \"true\""), "s.yaml:4:52: checkpointing is the text 'true'; write it without quotes"},
    {CASE("attention: flush"), "s.yaml:4:48: attention: 'flush' is not known; write one of: sdpa, eager, native"},
    {CASE("attention: \"a\\nb\""), "s.yaml:4:48: attention has a line break or control character in it; remove it"},
    {CASE("head: bare"), "s.yaml:4:5: head bare: training needs a loss; write head lm"},
    {CASE("timeout_seconds: 0"), "s.yaml:4:54: timeout_seconds: 0 is out of range; write an integer from 1 to 604800"},
    {CASE("repeat: 1.5"), "s.yaml:4:45: repeat: '1.5' is not an integer; write a whole number"},
    {CASE("tags: 'a b'"), "s.yaml:4:43: tags: 'a b' is not a tag; write up to 64 letters, digits, '.', '_' or '-'"},
    {CASE("tolerances: {replay: {allocated: 0}}"),
     "s.yaml:4:59: unknown key 'allocated' in tolerances of replay; did you mean 'allocated_bytes_peak'?"},
    {CASE("tolerances: {replay: {bytes: 0}}"),
     "s.yaml:4:59: unknown key 'bytes' in tolerances of replay; known are requested_bytes_peak, allocated_bytes_peak, "
     "reserved_bytes_peak, saved_for_backward_bytes, total_bytes, process_bytes, device_bytes, footprint_bytes"},
    {CASE("colour: red"), "s.yaml:4:37: unknown key 'colour' in a case; docs/FORMAT.md lists those that there are"},
    {CASE("batchsize: 8"), "s.yaml:4:37: unknown key 'batchsize' in a case; did you mean 'batch'?"},
    {CASE("batch_size: 8"), "s.yaml:4:37: unknown key 'batch_size' in a case; did you mean 'batch'?"},
    {CASE("tolerances: {replay: {total_bytes: 5 %}}"),
     "s.yaml:4:72: total_bytes: '5 %' is not a tolerance; write a percentage below 1000 such as 0.5% or a size such as "
     "1MiB"},
    {CASE("tolerances: {replay: {total_bytes: 05%}}"),
     "s.yaml:4:72: total_bytes: '05%' is not a tolerance; write a percentage below 1000 such as 0.5% or a size such as "
     "1MiB"},
    {CASE("tolerances: {replay: {total_bytes: 010}}"), "s.yaml:4:72: total_bytes: '010' has a leading zero; remove it"},
    {CASE("tolerances: {accelerate: {total_bytes: 5}}"),
     "s.yaml:4:76: total_bytes: '5' has no unit; write 5% for a percentage, or 5MiB, 5KiB, 5B for a size"},
    {CASE("tolerances: {accelerate: {total_bytes: 0.05}}"),
     "s.yaml:4:76: total_bytes: '0.05' has no unit; write 5% for that part of the measurement, or a size such as 1MiB"},
    {CASE("tolerances: {accelerate: {total_bytes: 2.5}}"),
     "s.yaml:4:76: total_bytes: '2.5' has no unit; write 2.5% for a percentage, or 2.5MiB for a size"},
    {CASE("expect: {allocated_bytes_peak: 413}"),
     "s.yaml:4:68: allocated_bytes_peak: '413' has no unit; write 413GiB, 413MiB or, if bytes are meant, 413B"},
    {CASE("tolerances: {replay: 5%}"),
     "s.yaml:4:58: tolerances of replay must be a map, not a single value; write 'key: value' lines"},
    {CASE("tolerances: 5%"), "s.yaml:4:49: tolerances must be a map; write 'replay: {allocated_bytes_peak: 0}'"},
    {CASE("expect: {allocated_bytes_peak: 9999999TiB}"),
     "s.yaml:4:68: allocated_bytes_peak: '9999999TiB' does not fit 63 bits; the largest size is 8388607TiB"},
    {SUITE_HEAD "cases:\n  - {model: tiny-bert, mode: load, optimizer: adam-fused}\n",
     "s.yaml:4:36: optimizer adam-fused: mode load does not train; leave the optimizer out, or write mode train"},
    {SUITE_HEAD "cases:\n  - {model: tiny-resnet, mode: infer, seq: 5}\n",
     "s.yaml:4:39: seq says nothing about any combination of this case (its mode or model has none); remove it"},
    {CASE("exclude: [{batch: 2}]"), "s.yaml:4:47: this exclude drops no combination; correct it or remove it"},
    {CASE("exclude: [{}]"), "s.yaml:4:47: an empty exclude would drop all; name an axis"},
    {CASE("exclude: [{tags: x}]"),
     "s.yaml:4:48: unknown key 'tags' in exclude; docs/FORMAT.md lists those that there are"},
    {CASE("exclude: [{batch: 1}]"),
     "s.yaml:1:1: the suite expands to nothing: every combination is excluded; shorten 'exclude'"},
    {SUITE_HEAD "cases:\n  - {model: gpt2, mode: load}\n  - {model: gpt2, mode: [infer, load]}\n",
     "s.yaml:5:5: case gpt2/load/float32 is there already, from line 4; remove it from one of the two"},
};

static void mistakes_say_where_they_are_and_what_is_right(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof REFUSALS / sizeof REFUSALS[0]; i++) {
        struct suite suite = {.path = "untouched"};
        struct status error = {0};
        enum status_code code = suite_text_read(REFUSALS[i].text, &suite, &error);
        if (strcmp(STATUS_SAID(&error), REFUSALS[i].message) != 0) {
            fail_msg("%s\n   gave: %s\n wanted: %s", REFUSALS[i].text, STATUS_SAID(&error), REFUSALS[i].message);
        }
        assert_true(code == STATUS_INVALID || code == STATUS_OVERFLOW);
        assert_int_equal(error.code, code);
        assert_string_equal(suite.path, "untouched");
    }
}

static void unknown_models_are_mistakes_of_the_suite(void **state)
{
    (void)state;
    struct suite suite;
    struct status error;
    assert_int_equal(
        suite_text_read(SUITE_HEAD "cases:\n  - {model: [gpt2, bert-bsae-cased], mode: load}\n", &suite, &error),
        STATUS_INVALID);
    assert_int_equal(strncmp(STATUS_SAID(&error), "s.yaml:4:20: ", strlen("s.yaml:4:20: ")), 0);
    assert_non_null(strstr(STATUS_SAID(&error), "bert-base-cased"));
}

/* 1000 x 1000 x 2 combinations: refused from their number alone. */
static void a_suite_of_more_than_a_million_cases_is_refused_before_it_is_built(void **state)
{
    (void)state;
    struct text text = {0};
    text_append(&text, SUITE_HEAD "cases:\n");
    for (int i = 0; i < 3; i++) {
        text_append(&text, "  - model: tiny-bert\n    mode: infer\n    attention: [sdpa, eager]\n    batch: [");
        int batches = i == 0 ? 500 : 1000;
        for (int n = 1; n <= batches; n++) {
            text_format(&text, "%s%d", n > 1 ? ", " : "", n);
        }
        text_append(&text, "]\n    seq: [");
        for (int n = 1; n <= 1000; n++) {
            text_format(&text, "%s%d", n > 1 ? ", " : "", n);
        }
        text_append(&text, "]\n");
    }
    struct suite suite;
    struct status error;
    assert_int_equal(suite_text_read(text_string(&text), &suite, &error), STATUS_INVALID);
    assert_string_equal(STATUS_SAID(&error),
                        "s.yaml:9:5: this case expands to more than 1000000 combinations; shorten its lists");
    text_release(&text);
}

/* 250 entries of 20 values over 900,000 combinations would be 4.5 billion comparisons. */
static void exclusions_of_huge_suites_are_bounded(void **state)
{
    (void)state;
    struct text text = {0};
    text_append(&text, SUITE_HEAD "cases:\n  - model: tiny-bert\n    mode: infer\n");
    for (int axis = 0; axis < 2; axis++) {
        text_append(&text, axis == 0 ? "    batch: [" : "    seq: [");
        for (int n = 1; n <= 900 + 100 * axis; n++) {
            text_format(&text, "%s%d", n > 1 ? ", " : "", n);
        }
        text_append(&text, "]\n");
    }
    text_append(&text, "    exclude:\n");
    for (int entry = 0; entry < 250; entry++) {
        text_append(&text, "      - {attention: eager, seq: [1");
        for (int n = 2; n <= 20; n++) {
            text_format(&text, ", %d", n);
        }
        text_append(&text, "]}\n");
    }
    struct suite suite;
    struct status error;
    assert_int_equal(suite_text_read(text_string(&text), &suite, &error), STATUS_INVALID);
    assert_string_equal(STATUS_SAID(&error),
                        "s.yaml:4:5: 900000 combinations against 6251 values of exclude are too many; "
                        "shorten the lists of one of them");
    text_release(&text);
}

static void a_suite_read_from_a_file_names_it(void **state)
{
    (void)state;
    struct suite suite;
    struct status error;
    assert_int_equal(suite_read("suites/absent.yaml", SUITE_CATALOGUE, &suite, &error), STATUS_INVALID);
    assert_int_equal(strncmp(STATUS_SAID(&error), "suites/absent.yaml: cannot be opened",
                             strlen("suites/absent.yaml: cannot be opened")),
                     0);
}

/* A cheap generator with fixed seeds: the same mutations everywhere. */
static uint32_t next_random(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static void mutate(char *text, size_t *length, size_t capacity, uint32_t *seed)
{
    static const char letters[] = "{}[]:,-&*!|>'\"%#\n\t 0123456789eabx~<?\\\xff";
    for (uint32_t edits = 1 + next_random(seed) % 4; edits > 0; edits--) {
        size_t at = next_random(seed) % (*length + 1);
        char letter = letters[next_random(seed) % (sizeof letters - 1)];
        uint32_t kind = next_random(seed) % 3;
        if (kind == 0 && *length + 1 < capacity) {
            memmove(text + at + 1, text + at, *length - at);
            text[at] = letter;
            (*length)++;
        } else if (kind == 1 && at < *length) {
            memmove(text + at, text + at + 1, *length - at - 1);
            (*length)--;
        } else if (at < *length) {
            text[at] = letter;
        }
    }
}

static void damaged_suites_give_cases_or_one_placed_line(void **state)
{
    (void)state;
    static const char seed_text[] =
        SUITE_HEAD "description: |\n  x\ntags: [a]\ntolerances: {replay: {process_bytes: 10%, total_bytes: 1MiB}}\n"
                   "defaults: &d {batch: [1, 2], repeat: 2}\nexclude:\n  - {batch: 2, seq: 8}\ncases:\n"
                   "  - {model: m, mode: [load, infer, train], seq: [8, 16], checkpointing: true, timeout_seconds: 5}\n"
                   "  - model: n\n    mode: infer\n    include: [{seq: 4, expect: {total_bytes: 77B}}]\n";
    char text[1024];
    struct suite whole;
    assert_int_equal(suite_read_text("s.yaml", seed_text, sizeof seed_text - 1, NULL, &whole, NULL), STATUS_OK);
    suite_release(&whole);
    int accepted = 0, refused = 0;
    for (uint32_t round = 0; round < 20000; round++) {
        uint32_t seed = round * 2654435761u + 1;
        size_t length = sizeof seed_text - 1;
        memcpy(text, seed_text, length);
        mutate(text, &length, sizeof text, &seed);
        struct suite suite;
        struct status error = {0};
        enum status_code code = suite_read_text("s.yaml", text, length, NULL, &suite, &error);
        if (code == STATUS_OK) {
            assert_true(suite.case_count > 0);
            suite_release(&suite);
            accepted++;
        } else {
            assert_true(code == STATUS_INVALID || code == STATUS_OVERFLOW);
            assert_int_equal(strncmp(STATUS_SAID(&error), "s.yaml:", strlen("s.yaml:")), 0);
            assert_null(strchr(STATUS_SAID(&error), '\n'));
            refused++;
        }
    }
    assert_true(accepted > 100); /* both ways are taken often, or the mutations test nothing */
    assert_true(refused > 5000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_multiply_with_the_last_axis_fastest),
        cmocka_unit_test(axes_that_say_nothing_do_not_multiply),
        cmocka_unit_test(exclude_drops_and_include_adds),
        cmocka_unit_test(a_suite_says_how_far_results_may_differ),
        cmocka_unit_test(settings_come_from_the_innermost_layer),
        cmocka_unit_test(patterns_select_by_id_and_tag),
        cmocka_unit_test(the_plan_hash_follows_the_cases_alone),
        cmocka_unit_test(mistakes_say_where_they_are_and_what_is_right),
        cmocka_unit_test(unknown_models_are_mistakes_of_the_suite),
        cmocka_unit_test(a_suite_of_more_than_a_million_cases_is_refused_before_it_is_built),
        cmocka_unit_test(exclusions_of_huge_suites_are_bounded),
        cmocka_unit_test(a_suite_read_from_a_file_names_it),
        cmocka_unit_test(damaged_suites_give_cases_or_one_placed_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
