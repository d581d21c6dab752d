/* File kind: one row for each, by its signature. What has none (UTF-16 without a mark, a model in safetensors, a page)
 * has a few lines of its own. No reader of any of these formats. */
#include "harness/base/file_kind.h"

#include <stdbool.h>
#include <string.h>
#include <strings.h>

struct signature {
    size_t offset;
    const char *bytes;
    size_t length;
    struct file_kind kind;
};

#define SIGNATURE(offset, bytes, words, remedy)                                                                        \
    {                                                                                                                  \
        offset, bytes, sizeof(bytes) - 1,                                                                              \
        {                                                                                                              \
            words, remedy                                                                                              \
        }                                                                                                              \
    }
#define UTF_16        "text in UTF-16"
#define UTF_16_REMEDY "save it as UTF-8, with iconv -f UTF-16 -t UTF-8"

static const struct signature SIGNATURES[] = {
    SIGNATURE(0, "\x1f\x8b", "compressed with gzip", "unpack it first, with gunzip"),
    SIGNATURE(0, "\x28\xb5\x2f\xfd", "compressed with zstd", "unpack it first, with unzstd"),
    SIGNATURE(0,
              "\xfd"
              "7zXZ",
              "compressed with xz", "unpack it first, with unxz"),
    SIGNATURE(0, "BZh", "compressed with bzip2", "unpack it first, with bunzip2"),
    SIGNATURE(0, "\x04\x22\x4d\x18", "compressed with lz4", "unpack it first, with unlz4"),
    SIGNATURE(0, "PK\x03\x04", "a zip archive", "unpack it first, with unzip"),
    SIGNATURE(257, "ustar", "a tar archive", "unpack it first, with tar -xf"),
    SIGNATURE(0, "version https://git-lfs.", "a pointer of Git LFS and not the file itself",
              "fetch the file, with git lfs pull"),
    SIGNATURE(0, "\xff\xfe", UTF_16, UTF_16_REMEDY),
    SIGNATURE(0, "\xfe\xff", UTF_16, UTF_16_REMEDY),
    SIGNATURE(0, "\x89PNG", "a PNG picture", NULL),
    SIGNATURE(0, "\xff\xd8\xff", "a JPEG picture", NULL),
    SIGNATURE(0, "%PDF-", "a PDF document", NULL),
    SIGNATURE(0,
              "\x7f"
              "ELF",
              "a program", NULL),
    SIGNATURE(0, "GGUF", "a model in GGUF", NULL),
    SIGNATURE(0, "\x89HDF", "an HDF5 file", NULL),
    SIGNATURE(0, "PAR1", "a Parquet file", NULL),
    SIGNATURE(0, "SQLite format 3", "an SQLite database", NULL),
};

static const struct file_kind UTF_16_KIND = {UTF_16, UTF_16_REMEDY};
static const struct file_kind SAFETENSORS = {"a model in safetensors", NULL};
static const struct file_kind HTML = {"an HTML page", NULL};
static const struct file_kind XML = {"XML, as JUnit reports and SVG pictures are", NULL};

static bool word_stands(const char *bytes, size_t length, const char *word)
{
    size_t word_length = strlen(word);
    return length >= word_length && strncasecmp(bytes, word, word_length) == 0;
}

/* The length of a header, in eight bytes, and the header, which is JSON. */
static bool is_safetensors(const char *bytes, size_t length)
{
    static const char upper[4] = {0};
    return length > 9 && memcmp(bytes + 4, upper, sizeof upper) == 0 && bytes[8] == '{' && strchr("\" }", bytes[9]);
}

/* Markup begins with a tag, behind a byte order mark and blanks. */
static const struct file_kind *markup_of(const char *bytes, size_t length)
{
    size_t at = length >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (at < length && strchr(" \t\r\n", bytes[at]) != NULL && bytes[at] != '\0') {
        at++;
    }
    if (word_stands(bytes + at, length - at, "<!doctype html") || word_stands(bytes + at, length - at, "<html")) {
        return &HTML;
    }
    return word_stands(bytes + at, length - at, "<?xml") || word_stands(bytes + at, length - at, "<svg") ||
                   word_stands(bytes + at, length - at, "<testsuite")
               ? &XML
               : NULL;
}

const struct file_kind *file_kind_of(const char *bytes, size_t length)
{
    length = length < FILE_KIND_BYTES ? length : FILE_KIND_BYTES;
    for (size_t i = 0; i < sizeof SIGNATURES / sizeof SIGNATURES[0]; i++) {
        const struct signature *row = &SIGNATURES[i];
        if (length >= row->offset + row->length && memcmp(bytes + row->offset, row->bytes, row->length) == 0) {
            return &row->kind;
        }
    }
    if (is_safetensors(bytes, length)) {
        return &SAFETENSORS;
    }
    if (length >= 4 && (bytes[0] == '\0') != (bytes[1] == '\0') && (bytes[0] == '\0') == (bytes[2] == '\0') &&
        (bytes[1] == '\0') == (bytes[3] == '\0')) {
        return &UTF_16_KIND;
    }
    return markup_of(bytes, length);
}
