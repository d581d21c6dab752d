/* The choice of an attention kernel against PyTorch's own: peers/pytorch/attention_choice.txt, which the compiled
 * dispatcher of torch 2.11 answered for twelve kinds of GPU. */
#include <glob.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

#include "harness/base/json.h"
#include "harness/tape/attention_choice.h"
#include "harness/tape/target.h"

static const char answers_path[] = "peers/pytorch/attention_choice.txt";

enum { CAPABILITIES_MAXIMUM = 16 };

/* "# torch 2.11.0+cu130, cuDNN 9.19.0: 75 80 ..." */
static int capabilities_read(const char *line, int capabilities[CAPABILITIES_MAXIMUM])
{
    const char *at = strrchr(line, ':');
    assert_non_null(at);
    at++;
    int count = 0;
    for (char *end = NULL; count < CAPABILITIES_MAXIMUM; at = end) {
        long value = strtol(at, &end, 10);
        if (end == at) {
            break;
        }
        capabilities[count++] = (int)value;
    }
    return count;
}

/* The call of one line; the letters are left in choices. */
static struct attention_case case_read(const char *line, char choices[32])
{
    char dtype[16] = "", widths[32] = "";
    int flags[4] = {0};
    long long sizes[4] = {0};
    struct attention_case attention = {.heads = 4};
    int count = sscanf(line, "%15s %lld %31s %lld %lld %d %d %d %d %31s", dtype, &sizes[0], widths, &sizes[2],
                       &sizes[3], &flags[0], &flags[1], &flags[2], &flags[3], choices);
    if (count != 10 || !dtype_from_name(dtype, &attention.dtype)) {
        fail_msg("%s: '%s' is not a line of it", answers_path, line);
    }
    char *values = NULL;
    attention.groups = sizes[0];
    attention.broadcast = sizes[0] == 1;
    attention.width = strtol(widths, &values, 10);
    attention.value_width = *values == ':' ? strtol(values + 1, NULL, 10) : attention.width; /* "192:128" */
    attention.rows = sizes[2];
    attention.columns = sizes[3];
    attention.masked = flags[0] != 0;
    attention.mask_learns = flags[0] == 2;
    attention.dropped = flags[1] != 0;
    attention.causal = flags[2] != 0;
    attention.gradients = flags[3] != 0;
    return attention;
}

static void choices_are_those_of_the_dispatcher(void **state)
{
    (void)state;
    FILE *file = fopen(answers_path, "r");
    if (file == NULL) {
        fail_msg("%s cannot be read", answers_path);
        return;
    }
    int capabilities[CAPABILITIES_MAXIMUM], count = 0, checked = 0;
    int chosen[ATTENTION_BACKEND_SEVERAL] = {0};
    char *line = NULL;
    size_t capacity = 0;
    while (getline(&line, &capacity, file) > 0) {
        if (line[0] == '#') {
            count = capabilities_read(line, capabilities);
            continue;
        }
        char choices[32] = "";
        struct attention_case attention = case_read(line, choices);
        assert_int_equal(strlen(choices), count);
        for (int i = 0; i < count; i++) {
            enum attention_backend backend = attention_backend_of(capabilities[i], &attention);
            if (attention_backend_name(backend)[0] != choices[i]) {
                fail_msg("sm_%d: %s: chosen: %s", capabilities[i], line, attention_backend_name(backend));
            }
            chosen[backend]++;
            checked++;
        }
    }
    free(line);
    fclose(file);
    print_message("%d choices\n", checked);
    assert_true(checked > 30000);
    for (int i = ATTENTION_BACKEND_CUDNN; i <= ATTENTION_BACKEND_MATH; i++) {
        assert_true(chosen[i] > 0);
    }
}

static void every_target_has_its_answers(void **state)
{
    (void)state;
    FILE *file = fopen(answers_path, "r");
    assert_non_null(file);
    char *line = NULL;
    size_t capacity = 0;
    int capabilities[CAPABILITIES_MAXIMUM];
    assert_true(getline(&line, &capacity, file) > 0);
    int count = capabilities_read(line, capabilities);
    free(line);
    fclose(file);
    const struct target *target = NULL;
    for (int i = 0; (target = target_at(i)) != NULL; i++) {
        bool found = target->capability == 0;
        for (int k = 0; k < count; k++) {
            found = found || capabilities[k] == target->capability;
        }
        if (!found) {
            fail_msg("%s is not in %s", target->name, answers_path);
        }
    }
}

static void without_a_gpu_it_is_our_own(void **state)
{
    (void)state;
    struct attention_case attention = {
        .dtype = DTYPE_FLOAT32, .heads = 4, .groups = 2, .width = 8, .value_width = 8, .rows = 3, .columns = 3};
    assert_int_equal(attention_backend_of(0, &attention), ATTENTION_BACKEND_NATIVE);
    assert_string_equal(attention_backend_name(ATTENTION_BACKEND_NATIVE), "native");
    assert_null(attention_backend_name(ATTENTION_BACKEND_NONE));
}

/* What torch.ops.aten._fused_sdp_choice said on a GPU to the call of a probe's line: "CUDNN_ATTENTION". */
static void probed_choice_check(const struct json *line, int capability)
{
    const char *form = json_string_or(json_get(line, "form"), ""),
               *said = json_string_or(json_get(line, "backend"), "");
    int64_t seq = json_integer_or(json_get(line, "seq"), 0),
            width = json_integer_or(json_get(line, "head_dimension"), 0);
    struct attention_case attention = {.heads = json_integer_or(json_get(line, "heads"), 0),
                                       .groups = json_integer_or(json_get(line, "key_heads"), 0),
                                       .width = width,
                                       .value_width = width,
                                       .rows = seq,
                                       .columns = seq,
                                       .masked = strstr(form, "mask") != NULL,
                                       .causal = strstr(form, "causal") != NULL,
                                       .dropped = strstr(form, "dropout") != NULL,
                                       .gradients = strstr(form, "inference") == NULL};
    assert_true(dtype_from_name(json_string_or(json_get(line, "dtype"), ""), &attention.dtype));
    const char *ours = attention_backend_name(attention_backend_of(capability, &attention));
    if (strncasecmp(ours, said, strlen(ours)) != 0 || (said[strlen(ours)] != '_' && said[strlen(ours)] != '\0')) {
        fail_msg("sm_%d, %s, %s, %" PRId64 " heads of %" PRId64 ", %" PRId64 " rows: %s, chosen: %s", capability, form,
                 json_string_or(json_get(line, "dtype"), ""), attention.heads, width, seq, said, ours);
    }
}

/* The lines of a probe that ran on a GPU; how many calls of attention were among them. */
static int probe_check(const char *path)
{
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    char *text = NULL;
    size_t capacity = 0;
    int capability = 0, checked = 0;
    while (getline(&text, &capacity, file) > 0) {
        struct json *line = NULL;
        assert_int_equal(json_parse_text(path, text, strlen(text), &line, NULL), STATUS_OK);
        const char *type = json_string_or(json_get(line, "type"), "");
        int major = 0, minor = 0;
        if (strcmp(type, "run") == 0 && sscanf(json_string_or(json_get(json_get(line, "device"), "capability"), ""),
                                               "%d.%d", &major, &minor) == 2) {
            capability = 10 * major + minor;
        } else if (strcmp(type, "attention") == 0 && json_get(line, "error") == NULL) {
            assert_true(capability > 0);
            probed_choice_check(line, capability);
            checked++;
        }
        json_release(line);
    }
    free(text);
    fclose(file);
    return checked;
}

static void choices_are_those_that_gpus_made(void **state)
{
    (void)state;
    glob_t probes = {0};
    assert_int_equal(glob("results/reference/*/pytorch-*/probe.jsonl", 0, NULL, &probes), 0);
    for (size_t i = 0; i < probes.gl_pathc; i++) {
        assert_true(probe_check(probes.gl_pathv[i]) > 100);
    }
    globfree(&probes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(choices_are_those_of_the_dispatcher),
        cmocka_unit_test(choices_are_those_that_gpus_made),
        cmocka_unit_test(every_target_has_its_answers),
        cmocka_unit_test(without_a_gpu_it_is_our_own),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
