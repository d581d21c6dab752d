/* Pickle: the machine that a pickle is a program for, without the instructions that reach out of it. It knows no
 * PyTorch. */
#include "harness/base/pickle.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/array.h"
#include "harness/base/pickle_codes.h"

enum { SCALAR = -1, MARK = -2 };

/* On the stack, and in the memo: a value (owned) and its container. */
struct item {
    struct json *json;
    int container; /* index, SCALAR, or MARK: no value */
};

struct container {
    bool is_open; /* it is on the stack, where it was made, and nowhere else: it may still change */
    int depth;
};

struct machine {
    const unsigned char *bytes;
    size_t length, at, code_at; /* what is read next, and where the instruction began */
    struct item *stack, *memo;
    struct container *containers;
    size_t stack_count, stack_capacity, memo_count, memo_capacity, container_count, container_capacity;
    size_t value_count;
    struct status *error;
};

__attribute__((format(printf, 2, 3))) static bool machine_fail(struct machine *machine, const char *format, ...)
{
    char words[STATUS_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(words, sizeof words, format, arguments);
    va_end(arguments);
    status_set(machine->error, STATUS_INVALID, "byte %zu: %s", machine->code_at, words);
    return false;
}

static bool memory_fail(struct machine *machine)
{
    status_set(machine->error, STATUS_OUT_OF_MEMORY, "the host has not enough memory to read it");
    return false;
}

/* -- bytes */

static const unsigned char *bytes_take(struct machine *machine, uint64_t count)
{
    if (count > machine->length - machine->at) {
        machine_fail(machine, "%" PRIu64 " bytes are announced and %zu are there; the file is cut short, write it anew",
                     count, machine->length - machine->at);
        return NULL;
    }
    const unsigned char *from = machine->bytes + machine->at;
    machine->at += (size_t)count;
    return from;
}

/* A number of 1 to 8 bytes, the lowest first. */
static bool number_take(struct machine *machine, int width, uint64_t *number)
{
    const unsigned char *bytes = bytes_take(machine, (uint64_t)width);
    *number = 0;
    for (int i = width - 1; bytes != NULL && i >= 0; i--) {
        *number = *number << 8 | bytes[i];
    }
    return bytes != NULL;
}

/* -- the stack */

static bool item_push(struct machine *machine, struct json *json, int container)
{
    struct item *stack = array_extend(machine->stack, machine->stack_count, &machine->stack_capacity, sizeof *stack);
    if ((json == NULL && container != MARK) || stack == NULL) {
        json_release(json);
        return memory_fail(machine);
    }
    machine->stack = stack;
    machine->stack[machine->stack_count++] = (struct item){json, container};
    return true;
}

/* A new value. */
static bool value_push(struct machine *machine, struct json *json, bool is_container)
{
    int container = SCALAR;
    if (++machine->value_count > PICKLE_VALUES_MAXIMUM) {
        json_release(json);
        return machine_fail(machine, "more than %d values; record fewer events", PICKLE_VALUES_MAXIMUM);
    }
    if (is_container) {
        struct container *containers = array_extend(machine->containers, machine->container_count,
                                                    &machine->container_capacity, sizeof *containers);
        if (containers == NULL) {
            json_release(json);
            return memory_fail(machine);
        }
        machine->containers = containers;
        container = (int)machine->container_count;
        containers[machine->container_count++] = (struct container){.is_open = true};
    }
    return item_push(machine, json, container);
}

/* Where the values behind the last mark begin; false if there is no mark. */
static bool mark_find(struct machine *machine, size_t *first)
{
    size_t at = machine->stack_count;
    while (at > 0 && machine->stack[at - 1].container != MARK) {
        at--;
    }
    *first = at;
    return at > 0 || machine_fail(machine, "it takes what was marked, and nothing is; the file is damaged");
}

static bool stack_has(struct machine *machine, size_t first, size_t count)
{
    bool has = machine->stack_count >= first + count;
    for (size_t i = first; i < machine->stack_count && has; i++) {
        has = machine->stack[i].container != MARK;
    }
    return has || machine_fail(machine, "it takes %zu values that are not there; the file is damaged", count);
}

static void stack_cut(struct machine *machine, size_t count)
{
    while (machine->stack_count > count) {
        struct item *item = &machine->stack[--machine->stack_count];
        if (item->container >= 0) {
            machine->containers[item->container].is_open = false;
        }
        json_release(item->json);
    }
}

/* -- containers */

/* The container below first, if it may take what lies from there on. */
static struct item *open_find(struct machine *machine, size_t first, enum json_kind kind)
{
    struct item *item = first > 0 ? &machine->stack[first - 1] : NULL;
    if (item == NULL || item->container < 0 || json_kind(item->json) != kind) {
        machine_fail(machine, "it adds to what is %s; the file is damaged",
                     item == NULL || item->json == NULL ? "not there" : json_kind_name(json_kind(item->json)));
        return NULL;
    }
    if (!machine->containers[item->container].is_open) {
        machine_fail(machine, "it changes a list or a dictionary after it was used, so that it may have itself in it; "
                              "plain data does not");
        return NULL;
    }
    return item;
}

static bool depth_raise(struct machine *machine, const struct item *parent, const struct item *child)
{
    struct container *into = &machine->containers[parent->container];
    int depth = child->container >= 0 ? machine->containers[child->container].depth + 1 : 0;
    into->depth = depth > into->depth ? depth : into->depth;
    return depth < PICKLE_DEPTH_MAXIMUM ||
           machine_fail(machine, "lists and dictionaries lie more than %d deep in each other", PICKLE_DEPTH_MAXIMUM);
}

/* Everything from first on goes into the list below it. */
static bool items_append(struct machine *machine, size_t first)
{
    struct item *list = open_find(machine, first, JSON_KIND_ARRAY);
    for (size_t i = first; list != NULL && i < machine->stack_count; i++) {
        if (!depth_raise(machine, list, &machine->stack[i])) {
            return false;
        }
        if (!json_append(list->json, json_share(machine->stack[i].json))) {
            return memory_fail(machine);
        }
    }
    stack_cut(machine, first);
    return list != NULL;
}

static bool member_set(struct machine *machine, const struct item *object, const struct item *key,
                       const struct item *value)
{
    char number[32];
    const char *name = json_string_or(key->json, NULL);
    if (name == NULL && json_kind(key->json) == JSON_KIND_INTEGER) {
        snprintf(number, sizeof number, "%" PRId64, json_integer_or(key->json, 0));
        name = number;
    }
    if (name == NULL) {
        return machine_fail(machine, "a key is %s; a text or an integer is one", json_kind_name(json_kind(key->json)));
    }
    return depth_raise(machine, object, value) &&
           (json_set(object->json, name, json_share(value->json)) || memory_fail(machine));
}

static bool members_set(struct machine *machine, size_t first)
{
    const struct item *object = open_find(machine, first, JSON_KIND_OBJECT);
    if (object == NULL) {
        return false;
    }
    if ((machine->stack_count - first) % 2 != 0) {
        return machine_fail(machine, "a key has no value; the file is damaged");
    }
    for (size_t i = first; i < machine->stack_count; i += 2) {
        if (!member_set(machine, object, &machine->stack[i], &machine->stack[i + 1])) {
            return false;
        }
    }
    stack_cut(machine, first);
    return true;
}

/* What lies from first on becomes one array in its place. */
static bool array_make(struct machine *machine, size_t first, bool is_marked)
{
    size_t begin = is_marked ? first - 1 : first, count = machine->stack_count - first;
    if (!value_push(machine, json_array_new(), true)) {
        return false;
    }
    struct item made = machine->stack[machine->stack_count - 1];
    for (size_t i = first; i < first + count; i++) {
        if (!depth_raise(machine, &made, &machine->stack[i])) {
            return false;
        }
        if (!json_append(made.json, json_share(machine->stack[i].json))) {
            return memory_fail(machine);
        }
    }
    machine->stack_count--;
    stack_cut(machine, begin);
    machine->containers[made.container].is_open = false;
    return item_push(machine, made.json, made.container);
}

/* -- the memo */

static bool memo_put(struct machine *machine, uint64_t index)
{
    if (!stack_has(machine, machine->stack_count > 0 ? machine->stack_count - 1 : 0, 1)) {
        return false;
    }
    if (index > machine->memo_count) {
        return machine_fail(machine, "it notes value %" PRIu64 " before value %zu; the file is damaged", index,
                            machine->memo_count);
    }
    struct item item = machine->stack[machine->stack_count - 1];
    if (index == machine->memo_count) {
        struct item *memo = array_extend(machine->memo, machine->memo_count, &machine->memo_capacity, sizeof *memo);
        if (memo == NULL) {
            return memory_fail(machine);
        }
        machine->memo = memo;
        machine->memo[machine->memo_count++] = (struct item){0};
    }
    json_release(machine->memo[index].json);
    machine->memo[index] = (struct item){json_share(item.json), item.container};
    return true;
}

static bool memo_get(struct machine *machine, uint64_t index)
{
    if (index >= machine->memo_count) {
        return machine_fail(machine, "value %" PRIu64 " was not noted; the file is damaged", index);
    }
    struct item item = machine->memo[index];
    if (item.container >= 0) { /* it may be anywhere now, in itself too if it changed any more */
        machine->containers[item.container].is_open = false;
    }
    return item_push(machine, json_share(item.json), item.container);
}

/* -- values */

/* A value of Python's that needs more bits than ours is refused. */
static bool long_push(struct machine *machine, uint64_t count)
{
    const unsigned char *bytes = bytes_take(machine, count);
    if (bytes == NULL) {
        return false;
    }
    unsigned char sign = count > 0 && bytes[count - 1] >= 0x80 ? 0xFF : 0;
    uint64_t number = sign == 0 ? 0 : UINT64_MAX;
    for (uint64_t i = count; i > 0; i--) {
        bool is_beyond = i > 8 ? bytes[i - 1] != sign : i == 8 && (bytes[7] >= 0x80) != (sign != 0);
        if (is_beyond) {
            return machine_fail(machine, "an integer does not fit 64 bits");
        }
        number = i > 8 ? number : number << 8 | bytes[i - 1];
    }
    return value_push(machine, json_integer_new((int64_t)number), false);
}

static bool real_push(struct machine *machine)
{
    const unsigned char *bytes = bytes_take(machine, 8);
    uint64_t bits = 0;
    double value = 0;
    for (int i = 0; bytes != NULL && i < 8; i++) { /* the highest first */
        bits = bits << 8 | bytes[i];
    }
    memcpy(&value, &bits, sizeof value);
    return bytes != NULL && value_push(machine, json_real_new(value), false);
}

static bool text_push(struct machine *machine, uint64_t count)
{
    const unsigned char *bytes = bytes_take(machine, count);
    char *copy = bytes != NULL ? malloc((size_t)count + 1) : NULL;
    if (copy == NULL) {
        return bytes != NULL && memory_fail(machine);
    }
    memcpy(copy, bytes, (size_t)count);
    copy[count] = '\0';
    bool pushed = value_push(machine, json_string_new(copy), false);
    free(copy);
    return pushed;
}

static bool count_step(struct machine *machine, const struct pickle_code *code)
{
    uint64_t count = 0;
    if (!number_take(machine, code->width, &count)) {
        return false;
    }
    switch (code->does) {
    case PICKLE_INTEGER: /* of 4 bytes it has a sign */
        return value_push(machine, json_integer_new(code->width == 4 ? (int32_t)(uint32_t)count : (int64_t)count),
                          false);
    case PICKLE_LONG:
        return long_push(machine, count);
    case PICKLE_TEXT:
        return text_push(machine, count);
    case PICKLE_BYTES:
        return bytes_take(machine, count) != NULL && value_push(machine, json_null_new(), false);
    case PICKLE_PUT:
        return memo_put(machine, count);
    case PICKLE_GET:
        return memo_get(machine, count);
    case PICKLE_PROTOCOL:
        return (count >= 2 && count <= 5) || machine_fail(machine, "protocol %" PRIu64 "; 2 to 5 are read", count);
    default: /* PICKLE_FRAME: how many bytes belong together says nothing of what they are */
        return true;
    }
}

static bool marked_step(struct machine *machine, const struct pickle_code *code)
{
    size_t first = 0;
    if (!mark_find(machine, &first)) {
        return false;
    }
    if (code->does == PICKLE_ARRAY) {
        return array_make(machine, first, true);
    }
    /* The mark goes, so that the values follow what they go into. */
    memmove(machine->stack + first - 1, machine->stack + first,
            (machine->stack_count - first) * sizeof *machine->stack);
    machine->stack_count--;
    return code->does == PICKLE_APPEND ? items_append(machine, first - 1) : members_set(machine, first - 1);
}

static bool counted_step(struct machine *machine, const struct pickle_code *code)
{
    size_t count = (size_t)code->width;
    size_t first = machine->stack_count >= count ? machine->stack_count - count : 0;
    return stack_has(machine, first, count) && (code->does == PICKLE_ARRAY    ? array_make(machine, first, false)
                                                : code->does == PICKLE_APPEND ? items_append(machine, first)
                                                                              : members_set(machine, first));
}

static bool constant_step(struct machine *machine, const struct pickle_code *code)
{
    switch (code->does) {
    case PICKLE_NULL:
        return value_push(machine, json_null_new(), false);
    case PICKLE_TRUE:
        return value_push(machine, json_boolean_new(true), false);
    case PICKLE_FALSE:
        return value_push(machine, json_boolean_new(false), false);
    case PICKLE_NEW_ARRAY:
        return value_push(machine, json_array_new(), true);
    case PICKLE_NEW_OBJECT:
        return value_push(machine, json_object_new(), true);
    case PICKLE_MARK:
        return item_push(machine, NULL, MARK);
    case PICKLE_REAL:
        return real_push(machine);
    case PICKLE_MEMOIZE:
        return memo_put(machine, machine->memo_count);
    default:
        return machine_fail(machine,
                            "%s, by which a pickle has Python run code; assay runs none, and a snapshot of "
                            "memory needs none: do not open this file with Python if you do not know it",
                            code->name);
    }
}

/* Up to the end, where one value is left. */
static bool program_run(struct machine *machine)
{
    while (machine->at < machine->length) {
        machine->code_at = machine->at;
        const struct pickle_code *code = pickle_code_find(machine->bytes[machine->at++]);
        if (code == NULL) {
            return machine_fail(machine, "no instruction of a pickle of protocols 2 to 5; the file is damaged");
        }
        if (code->does == PICKLE_STOP) {
            return stack_has(machine, 0, 1) &&
                   (machine->stack_count == 1 || machine_fail(machine, "values are left over; the file is damaged"));
        }
        bool made = code->form == PICKLE_FORM_COUNT    ? count_step(machine, code)
                    : code->form == PICKLE_FORM_MARKED ? marked_step(machine, code)
                    : code->form == PICKLE_FORM_LAST   ? counted_step(machine, code)
                                                       : constant_step(machine, code);
        if (!made) {
            return false;
        }
    }
    machine->code_at = machine->length;
    return machine_fail(machine, "it ends before its last instruction; the file is cut short, write it anew");
}

bool pickle_is(const char *bytes, size_t length)
{
    return length > 0 && (unsigned char)bytes[0] == 0x80;
}

enum status_code pickle_parse(const char *name, const char *bytes, size_t length, struct json **document,
                              struct status *error)
{
    struct status why = {0};
    struct machine machine = {.bytes = (const unsigned char *)bytes, .length = length, .error = &why};
    bool ran = program_run(&machine);
    if (ran) {
        *document = json_share(machine.stack[0].json);
    }
    stack_cut(&machine, 0);
    for (size_t i = 0; i < machine.memo_count; i++) {
        json_release(machine.memo[i].json);
    }
    free(machine.stack);
    free(machine.memo);
    free(machine.containers);
    return ran ? STATUS_OK : status_set(error, why.code, "%s: %s", name, why.text);
}
