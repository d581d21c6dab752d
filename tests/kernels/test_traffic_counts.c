/* What the model says that kernels move is what was counted of them: tests/cuda_emulation/access_counts.tsv, which
 * test_checked_counts holds to what the emulated kernels ask for. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/model_case.h"

#define TABLE "tests/cuda_emulation/access_counts.tsv"

enum { LINE_BYTES = 1024, FIELDS = 12, COMPARED_LEAST = 10, EMULATED_PROCESSORS = 2 };

/* The columns of the table. */
enum field { OPERATION, TENSORS, ATTRIBUTES, KERNEL, BLOCKS, BLOCK_LANES, REQUESTS, SECTORS };

static bool opcode_find(const char *name, enum opcode *opcode)
{
    for (int k = 0; k < OPCODE_COUNT; k++) {
        if (strcmp(opcode_name((enum opcode)k), name) == 0) {
            *opcode = (enum opcode)k;
            return true;
        }
    }
    return false;
}

/* "float32:16x1024" and what may stand behind it, which says what it holds. */
static void tensor_parse(const char *word, struct operation_call *call)
{
    struct tensor *tensor = &call->tensors[call->tensor_count++];
    const char *at = strchr(word, ':');
    char name[32];
    int64_t stride = 1;
    snprintf(name, sizeof name, "%.*s", (int)(at - word), word);
    assert_true(dtype_from_name(name, &tensor->dtype));
    do {
        tensor->size[tensor->rank++] = strtoll(at + 1, (char **)&at, 10);
    } while (*at == 'x');
    for (int d = tensor->rank - 1; d >= 0; d--) {
        tensor->stride[d] = stride;
        stride *= tensor->size[d];
    }
    if (*at == '^') { /* the last two dimensions have changed places in memory */
        tensor->stride[tensor->rank - 2] = 1;
        tensor->stride[tensor->rank - 1] = tensor->size[tensor->rank - 2];
    }
}

static bool call_parse(char *const fields[FIELDS], struct operation_call *call)
{
    *call = (struct operation_call){.input_count = 0};
    char *rest = NULL;
    for (char *word = strtok_r(fields[TENSORS], " ", &rest); word != NULL; word = strtok_r(NULL, " ", &rest)) {
        if (strcmp(word, ">") == 0) {
            call->input_count = call->tensor_count;
        } else {
            tensor_parse(word, call);
        }
    }
    for (const char *at = strpbrk(fields[ATTRIBUTES], "if"); at != NULL; at = strpbrk(at + 1, "if")) {
        if (at[0] == 'i') {
            call->attributes.i[at[1] - '0'] = strtoll(at + 3, NULL, 10);
        } else {
            call->attributes.f[at[1] - '0'] = strtod(at + 3, NULL);
        }
    }
    return opcode_find(fields[OPERATION], &call->opcode);
}

/* The launch of the kernel that the line names, before the arguments of a template: of several the first from `first`
 * on. */
static const struct launch_traffic *launch_find(const struct traffic *traffic, int first, const char *kernel)
{
    for (int k = 0; k < traffic->count; k++) {
        const struct launch_traffic *launch = &traffic->launches[(first + k) % traffic->count];
        if (strncmp(launch->kernel, kernel, strlen(launch->kernel)) == 0) {
            return launch;
        }
    }
    return NULL;
}

/* Sectors within a tenth: what few lanes read of a row's sums or of ends of groups is not worth a formula. */
static void launch_compare(char *const fields[FIELDS], const struct launch_traffic *launch)
{
    double sectors = (launch->read_bytes + launch->written_bytes) / SECTOR_BYTES,
           counted = strtod(fields[SECTORS], NULL);
    if (launch->blocks != strtod(fields[BLOCKS], NULL) || launch->lanes != strtod(fields[BLOCK_LANES], NULL) ||
        fabs(sectors - counted) > counted / 10) {
        fail_msg("%s, %s: the model has %.0f blocks of %.0f lanes that move %.0f sectors; counted were %s of %s, %s",
                 fields[OPERATION], fields[KERNEL], launch->blocks, launch->lanes, sectors, fields[BLOCKS],
                 fields[BLOCK_LANES], fields[SECTORS]);
    }
}

/* Whether the line is of the same call as the one before it, which it replaces. */
static bool call_goes_on(char *const fields[FIELDS], char head[LINE_BYTES])
{
    char next[LINE_BYTES];
    snprintf(next, sizeof next, "%s %s %s", fields[OPERATION], fields[TENSORS], fields[ATTRIBUTES]);
    bool same = strcmp(head, next) == 0;
    memcpy(head, next, sizeof next);
    return same;
}

static void test_the_model_moves_what_was_counted(void **state)
{
    (void)state;
    char line[LINE_BYTES], head[LINE_BYTES] = "";
    int compared = 0, next = 0;
    struct model_device device = *model_device_find("sm_90"); /* what is counted on, but for its processors */
    device.processors = EMULATED_PROCESSORS;
    FILE *table = fopen(TABLE, "r");
    assert_non_null(table);
    while (fgets(line, sizeof line, table) != NULL) {
        char *fields[FIELDS], *rest = NULL;
        int count = 0;
        for (char *field = strtok_r(line, "\t\n", &rest); field != NULL && count < FIELDS;
             field = strtok_r(NULL, "\t\n", &rest)) {
            fields[count++] = field;
        }
        struct operation_call call;
        struct traffic traffic;
        next = count == FIELDS && call_goes_on(fields, head) ? next : 0;
        if (count < FIELDS || line[0] == '#' || !call_parse(fields, &call) ||
            !model_call_traffic(&call, &device, &traffic)) {
            continue;
        }
        const struct launch_traffic *launch = launch_find(&traffic, next, fields[KERNEL]);
        if (launch == NULL) {
            fail_msg("%s launches %s, of which the model knows nothing", fields[OPERATION], fields[KERNEL]);
            return;
        }
        launch_compare(fields, launch);
        next = (int)(launch - traffic.launches) + 1;
        compared++;
    }
    fclose(table);
    assert_true(compared >= COMPARED_LEAST);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_model_moves_what_was_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
