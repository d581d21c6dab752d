/* A gate as JUnit XML, for CI servers that show tests: a test for the gate as a whole and one for each case. What
 * decides is a failure where it is a breach, else an error; what is only told stands in the output of its test. No page
 * is greener than the exit code. Times are those of no test, so they are 0. */
#include <string.h>

#include "harness/gate/gate_page.h"
#include "harness/gate/gate_words.h"
#include "harness/report/escape.h"

/* The element in a test; NULL: nothing, it passed. */
static const char *element_of(const struct gate_case *one)
{
    const bool is_skip = one->now != NULL && one->now->standing == STANDING_SKIP && !one->decides;
    return is_skip ? "skipped" : !one->decides ? NULL : one->verdict == GATE_BREACH ? "failure" : "error";
}

static void attribute_append(struct text *text, const char *name, const char *value)
{
    text_format(text, " %s=\"", name);
    xml_append(text, value);
    text_append(text, "\"");
}

/* element NULL: the words, if there are any, are the output of a test that passed. */
static void test_append(struct text *text, const char *class_name, const char *name, const char *element,
                        const char *type, const char *words)
{
    text_append(text, "    <testcase");
    attribute_append(text, "classname", class_name);
    attribute_append(text, "name", name);
    text_append(text, " time=\"0.000\">\n");
    if (element != NULL) {
        text_format(text, "      <%s", element);
        attribute_append(text, "message", words);
        if (strcmp(element, "skipped") != 0) {
            attribute_append(text, "type", type);
        }
        text_append(text, "/>\n");
    } else if (words[0] != '\0') {
        text_append(text, "      <system-out>");
        xml_append(text, type);
        text_append(text, ": ");
        xml_append(text, words);
        text_append(text, "</system-out>\n");
    }
    text_append(text, "    </testcase>\n");
}

static void case_append(struct text *text, const struct gate *gate, const struct gate_case *one)
{
    struct text words = {0};
    if (one->verdict > GATE_NEW) {
        gate_case_append(&words, gate, one);
    }
    test_append(text, "case", one->id, element_of(one), gate_verdict_word(one->verdict), text_string(&words));
    text->failed = text->failed || words.failed;
    text_release(&words);
}

/* Of the outcome itself, which may be of no case: a run that was cut short, a baseline that was refused. */
static const char *element_of_outcome(const struct gate *gate)
{
    return gate->outcome == RUN_PASS ? NULL : gate->outcome == RUN_FAIL ? "failure" : "error";
}

static void head_append(struct text *text, const struct gate *gate)
{
    int counts[] = {0, 0, 0}; /* failure, error, skipped */
    static const char *const elements[] = {"failure", "error", "skipped"};
    for (int at = -1; at < gate->case_count; at++) {
        const char *element = at < 0 ? element_of_outcome(gate) : element_of(&gate->cases[at]);
        for (int kind = 0; kind < 3 && element != NULL; kind++) {
            counts[kind] += strcmp(element, elements[kind]) == 0 ? 1 : 0;
        }
    }
    const char *suite = gate->run->environment[ENVIRONMENT_SUITE];
    char started[20] = "1970-01-01T00:00:00"; /* the schema wants one, without a zone */
    if (strlen(gate->run->started) >= sizeof started - 1) {
        memcpy(started, gate->run->started, sizeof started - 1);
    }
    text_append(text, "  <testsuite");
    attribute_append(text, "name", suite != NULL ? suite : "assay gate");
    text_format(text, " tests=\"%d\" failures=\"%d\" errors=\"%d\" skipped=\"%d\" time=\"0.000\"", gate->case_count + 1,
                counts[0], counts[1], counts[2]);
    attribute_append(text, "timestamp", started);
    const char *host = gate->run->environment[ENVIRONMENT_HOST];
    attribute_append(text, "hostname", host != NULL ? host : "unknown");
    text_append(text, " id=\"0\" package=\"assay.gate\">\n    <properties/>\n");
}

void gate_junit_write(const struct gate *gate, const struct text *table, struct text *text)
{
    (void)table;
    text_append(text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n");
    head_append(text, gate);
    test_append(text, "gate", "outcome", element_of_outcome(gate), run_outcome_verdict(gate->outcome), gate->why);
    for (int at = 0; at < gate->case_count; at++) {
        case_append(text, gate, &gate->cases[gate->order[at]]);
    }
    text_append(text, "    <system-out/>\n    <system-err/>\n  </testsuite>\n</testsuites>\n");
}
