/* Plot names: what the files of a figure are called. Nothing is drawn: the data of a plot has its name, too. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "harness/report/report.h"
#include "tests/report/records_fixture.h"
#include "tests/report/records_place.h"

static void case_append(const struct place *place, const char *id, const char *model, const char *mode, int seq)
{
    char line[2048];
    snprintf(line, sizeof line,
             "{\"type\":\"case\",\"id\":\"%s\",\"identity\":{\"model\":\"%s\",\"precision\":\"float32\",%s,\"batch\":1,"
             "\"seq\":%d,\"attention\":\"sdpa\",\"optimizer\":null,\"checkpointing\":null,\"accumulate\":null,"
             "\"head\":\"lm\"},\"status\":\"ok\",\"reason\":null,\"stages\":{},\"allocated_bytes_peak\":%d,"
             "\"categories_at_peak\":{\"weights\":1000},\"estimates\":null,\"verdicts\":[],\"duration_s\":null,"
             "\"device\":{\"kind\":\"host\",\"name\":\"x\",\"spec\":\"x\",\"target\":\"host\",\"total_bytes\":null,"
             "\"driver\":null,\"runtime\":null,\"pci_bus_id\":null,\"uuid\":null},\"oom\":null,\"attempt\":1,"
             "\"context\":null,\"peak_stage\":null,\"causes\":null,\"saved_for_backward_bytes\":null,\"loss\":null,"
             "\"sequence_hash\":null}\n",
             id, model, mode, seq, 1000 + seq);
    records_fixture_append(place->records, line);
}

/* A figure is found by its model; a letter that some file system or page acts on is a '-', and two models whose names
 * become one have two files. */
static void an_overhead_has_the_name_of_its_model(void **state)
{
    static const char infer[] = "\"mode\":\"infer\",\"logits\":\"all\"";
    static const char generate[] = "\"mode\":\"generate\",\"new_tokens\":4,\"logits\":\"last\"";
    static const struct {
        const char *model, *mode, *ids[2], *name;
    } rows[] = {{"../An-Owner/x-7B", infer, {"1", "2"}, "overhead-..-An-Owner-x-7B"},
                {"../an owner/x:7b", infer, {"3", "4"}, "overhead-..-an-owner-x-7b-2"},
                {"../an-owner/x-7b", infer, {"5", "6"}, "overhead-..-an-owner-x-7b-3"},
                {"gpt2", infer, {"7", "8"}, "overhead-gpt2"},
                {"gpt2", generate, {"9", "10"}, "overhead-gpt2-generate"}};
    enum { ROWS = sizeof rows / sizeof rows[0] };
    const struct place *place = *state;
    struct report *report = NULL;
    struct plot_set set = {.gnuplot_is_missing = true};
    struct text notes = {0};
    struct status error = {0};
    records_fixture_run(place->records, 2 * ROWS);
    for (int at = 0; at < ROWS; at++) {
        case_append(place, rows[at].ids[0], rows[at].model, rows[at].mode, 8);
        case_append(place, rows[at].ids[1], rows[at].model, rows[at].mode, 16);
    }
    char said[STATUS_LINE_BYTES];
    if (report_open(place->records, &report, &error) != STATUS_OK) {
        fail_msg("%s", status_line(&error, said));
    }
    const struct plot_place target = {.script_directory = "plots", .set = &set, .notes = &notes};
    assert_int_equal(report_plot(report, &target, &error), STATUS_OK);
    for (int at = 0; at < ROWS; at++) {
        int found = 0;
        while (found < set.count && strcmp(set.plots[found].name, rows[at].name) != 0) {
            found++;
        }
        if (found == set.count || set.plots[found].data.length == 0) {
            fail_msg("there is no %s", rows[at].name);
        }
    }
    plot_set_release(&set);
    text_release(&notes);
    report_release(report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_overhead_has_the_name_of_its_model, place_make, place_remove),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
