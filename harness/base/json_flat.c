/* JSON, flat: how values are found in the array. Not the reader that fills it: that is json_scan.c. */
#include "harness/base/json_flat.h"

#include <endian.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

const struct json_flat *json_flat_of(const struct json *value)
{
    const struct json_flat *flat = (const struct json_flat *)(uintptr_t)value;
    return flat != NULL && flat->type >= FLAT_TYPES ? flat : NULL;
}

static bool is_kind(const struct json_flat *value, enum json_kind kind)
{
    return value != NULL && value->type == FLAT_TYPES + (int)kind;
}

/* Keys of records begin alike and end differently, or the other way round: their length and three of their bytes tell
 * most of them apart. */
uint32_t json_flat_hash(const char *key, size_t length)
{
    if (length == 0) {
        return 0;
    }
    const unsigned char *bytes = (const unsigned char *)key;
    return (uint32_t)bytes[0] | (uint32_t)bytes[length - 1] << 8 | (uint32_t)bytes[length / 2] << 16 |
           (uint32_t)(length & 0xFF) << 24;
}

/* Eight bytes at a time: a bit of `found` is the top bit of the first byte that is not plain. Bytes above it may be
 * marked wrongly, because subtractions borrow from them. */
size_t json_plain_bytes(const char *at, size_t length)
{
    const uint64_t ones = 0x0101010101010101u, tops = 0x8080808080808080u;
    size_t count = 0;
    for (uint64_t word; length - count >= sizeof word; count += sizeof word) {
        memcpy(&word, at + count, sizeof word);
        word = le64toh(word);
        uint64_t quote = word ^ ones * '"', backslash = word ^ ones * '\\';
        uint64_t marked =
            ((quote - ones) & ~quote) | ((backslash - ones) & ~backslash) | ((word - ones * 0x20) & ~word);
        uint64_t found = (marked | word | (word + ones)) & tops;
        if (found != 0) {
            return count + (size_t)__builtin_ctzll(found) / CHAR_BIT;
        }
    }
    while (count < length && at[count] >= 0x20 && at[count] < 0x7F && at[count] != '"' && at[count] != '\\') {
        count++;
    }
    return count;
}

const struct json_flat *json_flat_get(const struct json_flat *object, const char *key)
{
    if (!is_kind(object, JSON_KIND_OBJECT) || object->count == 0) {
        return NULL;
    }
    size_t length = strlen(key);
    uint32_t hash = json_flat_hash(key, length);
    if ((object->value.key_bits & json_flat_bit(hash)) == 0) {
        return NULL;
    }
    const struct json_flat *end = object + object->size, *member = object + object->first_guess;
    for (uint32_t i = 0; i < object->count; i++) {
        if (member->key_hash == hash && member->key_length == length && memcmp(member->key, key, length) == 0) {
            /* The array is its document's own and writable; that a guess is kept in it is seen by nobody. */
            ((struct json_flat *)(uintptr_t)object)->first_guess = (uint32_t)(member - object);
            return member;
        }
        member += member->size;
        member = member == end ? object + 1 : member;
    }
    return NULL;
}

const struct json_flat *json_flat_at(const struct json_flat *array, size_t index)
{
    if (!is_kind(array, JSON_KIND_ARRAY) || index >= array->count) {
        return NULL;
    }
    const struct json_flat *element = array + 1;
    if (array->size == array->count + 1) { /* a list of scalars, as those of a thousand ids are */
        return element + index;
    }
    for (size_t i = 0; i < index; i++) {
        element += element->size;
    }
    return element;
}

const char *json_flat_key_at(const struct json_flat *object, size_t index)
{
    const struct json_flat *member = object + 1;
    for (size_t i = 0; i < index; i++) {
        member += member->size;
    }
    return member->key;
}

const char *json_flat_key_after(const struct json_flat *object, const char *key)
{
    if (!is_kind(object, JSON_KIND_OBJECT) || object->count == 0) {
        return NULL;
    }
    const struct json_flat *end = object + object->size, *member = object + 1;
    while (key != NULL && member < end && member->key != key) { /* as a rule it is the document's own */
        member += member->size;
    }
    if (member == end) {
        member = object + 1;
        while (member < end && strcmp(member->key, key) != 0) {
            member += member->size;
        }
    }
    member += key != NULL && member < end ? member->size : 0;
    return member < end ? member->key : NULL;
}

double json_flat_real(const struct json_flat *value)
{
    char digits[512];
    size_t length = value->count < sizeof digits ? value->count : sizeof digits - 1;
    memcpy(digits, value->value.text, length);
    digits[length] = '\0';
    return strtod(digits, NULL);
}
