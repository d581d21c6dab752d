/* Hash: the published values of FNV-1a, which ids and records hold. */
#include "harness/base/hash.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

/* The test vectors of the algorithm's authors. */
static const struct {
    const char *text;
    uint32_t narrow;
    uint64_t wide;
} vectors[] = {
    {"", UINT32_C(0x811c9dc5), UINT64_C(0xcbf29ce484222325)},
    {"a", UINT32_C(0xe40c292c), UINT64_C(0xaf63dc4c8601ec8c)},
    {"foobar", UINT32_C(0xbf9cf968), UINT64_C(0x85944171f73967e8)},
};

static void the_published_values_come_out(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        assert_true(hash_text(HASH_START, vectors[i].text) == vectors[i].wide);
        assert_true(hash_bytes(HASH_START, vectors[i].text, strlen(vectors[i].text)) == vectors[i].wide);
        assert_true(hash_text_32(vectors[i].text) == vectors[i].narrow);
    }
}

static void pieces_hash_as_the_whole(void **state)
{
    (void)state;
    assert_true(hash_text(hash_text(HASH_START, "foo"), "bar") == vectors[2].wide);
    assert_true(hash_bytes(HASH_START, "a\0b", 3) == hash_text(hash_bytes(HASH_START, "a", 2), "b"));
    assert_true(hash_bytes(HASH_START, "a", 2) != hash_text(HASH_START, "a"));
}

/* A char may be signed: bytes above 127 are not. */
static void a_byte_is_not_signed(void **state)
{
    (void)state;
    assert_true(hash_text(HASH_START, "\xff") == (HASH_START ^ 0xff) * UINT64_C(1099511628211));
    assert_true(hash_text_32("\xff") == (uint32_t)((2166136261u ^ 0xff) * 16777619u));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_published_values_come_out),
        cmocka_unit_test(pieces_hash_as_the_whole),
        cmocka_unit_test(a_byte_is_not_signed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
