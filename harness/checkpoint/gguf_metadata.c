/* GGUF metadata: keys and values of all types. What is large (the words of a tokenizer) is walked over and not kept. */
#include "harness/checkpoint/gguf.h"

#include <inttypes.h>
#include <string.h>

enum value_type {
    VALUE_UINT8,
    VALUE_INT8,
    VALUE_UINT16,
    VALUE_INT16,
    VALUE_UINT32,
    VALUE_INT32,
    VALUE_FLOAT32,
    VALUE_BOOL,
    VALUE_TEXT,
    VALUE_ARRAY,
    VALUE_UINT64,
    VALUE_INT64,
    VALUE_FLOAT64,
    VALUE_TYPE_COUNT
};

/* least_bytes: of a value, whatever its length; 0: that is its size. */
static const struct {
    size_t bytes, least_bytes;
    bool is_integer, is_signed;
} value_types[VALUE_TYPE_COUNT] = {
    [VALUE_UINT8] = {1, 1, true, false},    [VALUE_INT8] = {1, 1, true, true},    [VALUE_UINT16] = {2, 2, true, false},
    [VALUE_INT16] = {2, 2, true, true},     [VALUE_UINT32] = {4, 4, true, false}, [VALUE_INT32] = {4, 4, true, true},
    [VALUE_FLOAT32] = {4, 4, false, false}, [VALUE_BOOL] = {1, 1, false, false},  [VALUE_TEXT] = {0, 8, false, false},
    [VALUE_ARRAY] = {0, 12, false, false},  [VALUE_UINT64] = {8, 8, true, false}, [VALUE_INT64] = {8, 8, true, true},
    [VALUE_FLOAT64] = {8, 8, false, false},
};

static enum value_type type_take(struct gguf *self)
{
    uint64_t type = gguf_number(self, 4, "a type");
    if (self->code == STATUS_OK && type >= VALUE_TYPE_COUNT) {
        gguf_fault(self, "a value of type %" PRIu64 ", and 12 is the last; fetch the file again", type);
    }
    return self->code == STATUS_OK ? (enum value_type)type : VALUE_UINT8;
}

/* False, and a fault where it is damaged, for one that does not fit 63 bits. */
static bool integer_take(struct gguf *self, enum value_type type, int64_t *integer)
{
    uint64_t bits = gguf_number(self, value_types[type].bytes, "a value");
    switch (type) {
    case VALUE_INT8:
        *integer = (int8_t)(uint8_t)bits;
        return true;
    case VALUE_INT16:
        *integer = (int16_t)(uint16_t)bits;
        return true;
    case VALUE_INT32:
        *integer = (int32_t)(uint32_t)bits;
        return true;
    default:
        memcpy(integer, &bits, sizeof bits);
        return value_types[type].is_signed || bits <= INT64_MAX;
    }
}

static double real_take(struct gguf *self, enum value_type type)
{
    uint64_t bits = gguf_number(self, value_types[type].bytes, "a value");
    if (type == VALUE_FLOAT64) {
        double real;
        memcpy(&real, &bits, sizeof real);
        return real;
    }
    uint32_t half = (uint32_t)bits;
    float real;
    memcpy(&real, &half, sizeof real);
    return (double)real;
}

/* The length of a text, which is not passed: all of it is before the end. */
static int64_t text_length(struct gguf *self)
{
    uint64_t length = gguf_number(self, 8, "the length of a text");
    if (self->code == STATUS_OK && length > (uint64_t)window_left(&self->window)) {
        gguf_fault(self, "a text of %" PRIu64 " bytes is claimed, but the file has %" PRId64 " more; fetch it again",
                   length, window_left(&self->window));
    }
    return self->code == STATUS_OK ? (int64_t)length : 0;
}

static void text_read(struct gguf *self, struct checkpoint_entry *entry)
{
    int64_t length = text_length(self);
    if (length > CHECKPOINT_TEXT_MAXIMUM) {
        entry->kind = CHECKPOINT_VALUE_LARGE;
        self->window.offset += length;
        return;
    }
    if (self->code == STATUS_OK) {
        self->code = window_take(&self->window, self->text, (size_t)length, self->builder->error);
    }
    self->text[self->code == STATUS_OK ? length : 0] = '\0';
    entry->kind = CHECKPOINT_VALUE_TEXT;
    entry->text = self->text;
}

/* The type and the length of an array, which has room for so many elements. */
static int64_t array_open(struct gguf *self, enum value_type *type)
{
    *type = type_take(self);
    uint64_t length = gguf_number(self, 8, "the length of an array");
    uint64_t room = (uint64_t)window_left(&self->window) / value_types[*type].least_bytes;
    if (self->code == STATUS_OK && length > room) {
        gguf_fault(self,
                   "an array of %" PRIu64 " elements is claimed, but there is room for %" PRIu64
                   "; fetch the file again",
                   length, room);
    }
    return self->code == STATUS_OK ? (int64_t)length : 0;
}

/* Walks over the elements of an array whose type and length have been taken. Arrays in it are opened one after another,
 * so that the depth of the walk is a list of what is left at each level. */
static void elements_skip(struct gguf *self, enum value_type type, int64_t count)
{
    int64_t left[GGUF_ARRAY_DEPTH_MAXIMUM] = {count};
    enum value_type types[GGUF_ARRAY_DEPTH_MAXIMUM] = {type};
    int depth = 1;
    while (depth > 0 && self->code == STATUS_OK) {
        int level = depth - 1;
        if (left[level] == 0) {
            depth--;
        } else if (types[level] == VALUE_TEXT) {
            left[level]--;
            self->window.offset += text_length(self);
        } else if (types[level] != VALUE_ARRAY) {
            self->window.offset += left[level] * (int64_t)value_types[types[level]].bytes;
            left[level] = 0;
        } else if (depth == GGUF_ARRAY_DEPTH_MAXIMUM) {
            gguf_fault(self, "arrays are nested more than %d deep; this is not the file that is meant",
                       GGUF_ARRAY_DEPTH_MAXIMUM);
        } else {
            left[level]--;
            left[depth] = array_open(self, &types[depth]);
            depth++;
        }
    }
}

static void array_read(struct gguf *self, struct checkpoint_entry *entry)
{
    enum value_type type;
    entry->kind = CHECKPOINT_VALUE_LIST;
    entry->count = array_open(self, &type);
    if (!value_types[type].is_integer || entry->count > CHECKPOINT_LIST_MAXIMUM) {
        elements_skip(self, type, entry->count);
        return;
    }
    bool fit = true;
    for (int64_t i = 0; i < entry->count; i++) {
        fit = integer_take(self, type, &self->integers[i]) && fit;
    }
    entry->integers = fit ? self->integers : NULL;
}

static void value_read(struct gguf *self, enum value_type type, struct checkpoint_entry *entry)
{
    if (value_types[type].is_integer) {
        bool fits = integer_take(self, type, &entry->integer);
        entry->kind = fits ? CHECKPOINT_VALUE_INTEGER : CHECKPOINT_VALUE_LARGE;
        return;
    }
    switch (type) {
    case VALUE_TEXT:
        text_read(self, entry);
        return;
    case VALUE_ARRAY:
        array_read(self, entry);
        return;
    case VALUE_BOOL:
        entry->kind = CHECKPOINT_VALUE_BOOLEAN;
        entry->integer = (int64_t)gguf_number(self, 1, "a value");
        if (self->code == STATUS_OK && entry->integer > 1) {
            gguf_fault(self, "a boolean of %" PRId64 "; fetch the file again", entry->integer);
        }
        return;
    default:
        entry->kind = CHECKPOINT_VALUE_REAL;
        entry->real = real_take(self, type);
    }
}

static void alignment_take(struct gguf *self, const struct checkpoint_entry *entry)
{
    bool is_power = entry->kind == CHECKPOINT_VALUE_INTEGER && entry->integer > 0 &&
                    (entry->integer & (entry->integer - 1)) == 0 && entry->integer <= UINT32_MAX;
    if (!is_power) {
        gguf_fault(self, "general.alignment is no power of two of 32 bits; fetch the file again");
        return;
    }
    self->alignment = entry->integer;
}

void gguf_entries(struct gguf *self)
{
    for (uint64_t i = 0; i < self->entry_count && self->code == STATUS_OK; i++) {
        struct checkpoint_entry entry = {.key = self->key, .file = self->file};
        gguf_text(self, self->key, sizeof self->key, "a key");
        if (self->code == STATUS_OK && self->key[0] == '\0') {
            gguf_fault(self, "a key has no characters; fetch the file again");
        }
        enum value_type type = type_take(self);
        if (self->code == STATUS_OK) {
            value_read(self, type, &entry);
        }
        if (self->code == STATUS_OK && strcmp(self->key, "general.alignment") == 0) {
            alignment_take(self, &entry);
        }
        if (self->code == STATUS_OK) {
            self->code = builder_entry(self->builder, &entry);
        }
    }
}
