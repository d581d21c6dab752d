/* Sectors of device memory and rounds of the banks of shared memory, for each launch of the calls in access_counts.tsv:
 * exactly what stands there. test_checked_counts --table prints the table anew. Which accesses gcc makes one or repeats
 * is in the numbers, so they are held where gcc 12 made the plug-in; what nvcc does is not. */
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

#include "harness/base/text.h"
#include "tests/cuda_emulation/checked_plugin.h"
#include "tests/support/scratch_file.h"
#include "tests/support/whole_file.h"

enum { SEGMENT_BYTES = 16 << 20, ALIGNMENT = 512, CALLS_MAXIMUM = 40, CALL_BYTES = 400 };

#define TABLE "tests/cuda_emulation/access_counts.tsv"

#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ == 12
static const bool compiler_is_that_of_the_table = true;
#else
static const bool compiler_is_that_of_the_table = false;
#endif

/* The first three columns: "SOFTMAX", "float32:16x1024 > float32:16x1024" and "i0=1 f0=0.5" or "-". */
struct counted_call {
    char head[CALL_BYTES]; /* with tabs between */
    struct text expected;  /* its lines, without the head */
};

static struct {
    struct counted_call calls[CALLS_MAXIMUM];
    int call_count;
} table;

static enum dtype dtype_named(const char *name, size_t length)
{
    enum dtype dtype = DTYPE_COUNT;
    char text[32];
    snprintf(text, sizeof text, "%.*s", (int)length, name);
    if (!dtype_from_name(text, &dtype)) {
        fail_msg("no dtype %s", text);
    }
    return dtype;
}

static enum opcode opcode_named(const char *name, size_t length)
{
    for (int opcode = 0; opcode < OPCODE_COUNT; opcode++) {
        if (strlen(opcode_name((enum opcode)opcode)) == length &&
            strncmp(opcode_name((enum opcode)opcode), name, length) == 0) {
            return (enum opcode)opcode;
        }
    }
    fail_msg("no operation %.*s", (int)length, name);
    return OPCODE_COUNT;
}

/* Whole numbers, where a tensor has them: "<n" falls upon one below n after the other in no order, "/n" rises to n. */
static void integers_fill(unsigned char *image, const struct tensor *tensor, char how, int64_t limit)
{
    int64_t count = tensor_element_count(tensor);
    for (int64_t k = 0; k < count; k++) {
        int64_t value = how == '/' ? (k + 1) * limit / count : how == '<' ? k * 7919 % limit : 0;
        if (tensor->dtype == DTYPE_INT64) {
            ((int64_t *)(void *)image)[k] = value;
        } else if (tensor->dtype == DTYPE_INT32) {
            ((int32_t *)(void *)image)[k] = (int32_t)value;
        }
    }
}

/* "int64:64<1000": one tensor of the call, at the end of what is taken of the segment. "^" behind the sizes: the last
 * two dimensions have changed places in memory. */
static const char *tensor_read(const char *at, struct operation_call *call, unsigned char *image, int64_t *taken)
{
    struct tensor *tensor = &call->tensors[call->tensor_count++];
    const char *colon = strchr(at, ':');
    char *end = NULL;
    tensor->dtype = dtype_named(at, (size_t)(colon - at));
    at = colon;
    do {
        tensor->size[tensor->rank++] = strtoll(at + 1, &end, 10);
        at = end;
    } while (*at == 'x');
    int64_t step = 1;
    for (int d = tensor->rank - 1; d >= 0; d--) {
        tensor->stride[d] = step;
        step *= tensor->size[d];
    }
    if (*at == '^') {
        tensor->stride[tensor->rank - 2] = 1;
        tensor->stride[tensor->rank - 1] = tensor->size[tensor->rank - 2];
        at++;
    }
    tensor->data = image + *taken; /* of the host yet */
    if (*at == '<' || *at == '/') {
        char how = *at;
        integers_fill(image + *taken, tensor, how, strtoll(at + 1, &end, 10));
        at = end;
    }
    *taken += (step * dtype_bytes(tensor->dtype) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    return at;
}

static void call_read(const char *head, struct operation_call *call, unsigned char *image)
{
    int64_t taken = 0;
    const char *at = strchr(head, '\t');
    *call = (struct operation_call){.opcode = opcode_named(head, (size_t)(at - head))};
    for (at++; *at != '\t'; at += *at == ' ') {
        if (*at == '>') {
            call->input_count = call->tensor_count;
            at++;
        } else {
            at = tensor_read(at, call, image, &taken);
        }
    }
    assert_true(taken <= SEGMENT_BYTES);
    for (at++; *at == 'i' || *at == 'f'; at += *at == ' ') {
        char kind = *at;
        long place = at[1] - '0';
        char *end = NULL;
        if (kind == 'i') {
            call->attributes.i[place] = strtoll(at + 3, &end, 10);
        } else {
            call->attributes.f[place] = strtod(at + 3, &end);
        }
        at = end;
    }
}

/* In a process of its own, so that every kernel is launched for the first time. */
static void call_run(const char *head)
{
    struct device *device = NULL;
    unsigned char *segment = NULL, *image = calloc(1, SEGMENT_BYTES);
    struct operation_call call;
    struct status error = {0};
    assert_non_null(image);
    call_read(head, &call, image);
    checked_open("cuda:1", SEGMENT_BYTES, &device, &segment); /* with tensor cores */
    for (int t = 0; t < call.tensor_count; t++) {
        call.tensors[t].data = segment + ((unsigned char *)call.tensors[t].data - image);
    }
    enum status_code code = device->table->copy_from_host(device, segment, image, SEGMENT_BYTES, &error);
    assert_int_equal(truncate(scratch_file_path, 0), 0); /* what opening launched is not counted */
    code = code == STATUS_OK ? device->table->run(device, &call, &error) : code;
    code = code == STATUS_OK ? device->table->synchronize(device, &error) : code;
    if (code != STATUS_OK) {
        fprintf(stderr, "%s\n", error.text);
    }
    _exit(code == STATUS_OK ? 0 : 1);
}

/* One line for each launch. Released with free. */
static char *call_count(const struct counted_call *call)
{
    int status = 0;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setenv("EMULATED_COUNTS", scratch_file_path, 1);
        call_run(call->head);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    if (status != 0) {
        fail_msg("%s does not run", call->head);
    }
    return whole_file_read(scratch_file_path);
}

static void line_take(const char *line, size_t length)
{
    const char *end = line;
    for (int column = 0; column < 3; column++) {
        end = memchr(end, '\t', length - (size_t)(end - line));
        if (end == NULL) {
            fail_msg("a line of " TABLE " has too few columns: %.*s", (int)length, line);
        }
        end++;
    }
    size_t head = (size_t)(end - line);
    struct counted_call *last = table.call_count > 0 ? &table.calls[table.call_count - 1] : NULL;
    if (last == NULL || strncmp(last->head, line, head) != 0 || last->head[head] != '\0') {
        assert_true(table.call_count < CALLS_MAXIMUM && head < CALL_BYTES);
        last = &table.calls[table.call_count++];
        snprintf(last->head, CALL_BYTES, "%.*s", (int)head, line);
    }
    text_format(&last->expected, "%.*s\n", (int)(length - head), end);
}

static void table_read(void)
{
    char *whole = whole_file_read(TABLE);
    for (const char *line = whole; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        if (line[0] != '#') {
            line_take(line, length);
        }
        line += length + 1;
    }
    free(whole);
}

static int set_up(void **state)
{
    table_read();
    return scratch_file_make(state);
}

static int tear_down(void **state)
{
    for (int k = 0; k < table.call_count; k++) {
        text_release(&table.calls[k].expected);
    }
    return scratch_file_remove(state);
}

static void launches_ask_for_what_the_table_says(void **state)
{
    (void)state;
    int wrong = 0;
    if (!compiler_is_that_of_the_table) {
        print_message("the numbers of " TABLE " are those of gcc 12\n");
        skip();
    }
    assert_true(table.call_count >= 10);
    for (int k = 0; k < table.call_count; k++) {
        char *counted = call_count(&table.calls[k]);
        if (strcmp(counted, text_string(&table.calls[k].expected)) != 0) {
            print_error("%s\nasks for\n%sinstead of\n%s", table.calls[k].head, counted,
                        text_string(&table.calls[k].expected));
            wrong++;
        }
        free(counted);
    }
    assert_int_equal(wrong, 0);
}

static void table_print(void **state)
{
    (void)state;
    for (int k = 0; k < table.call_count; k++) {
        char *counted = call_count(&table.calls[k]);
        for (const char *line = counted; *line != '\0'; line += strcspn(line, "\n") + 1) {
            printf("%s%.*s\n", table.calls[k].head, (int)strcspn(line, "\n"), line);
        }
        free(counted);
    }
}

int main(int count, char **arguments)
{
    const struct CMUnitTest holds[] = {cmocka_unit_test(launches_ask_for_what_the_table_says)};
    const struct CMUnitTest prints[] = {cmocka_unit_test(table_print)};
    bool only_print = count == 2 && strcmp(arguments[1], "--table") == 0;
    return only_print ? cmocka_run_group_tests(prints, set_up, tear_down)
                      : cmocka_run_group_tests(holds, set_up, tear_down);
}
