/* Hub name: the grammar of what people type. Whether there is such a repository is not known here. */
#include "harness/hub/hub_name.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum { PART_BYTES_MAXIMUM = 96 };

static bool is_word(char byte)
{
    return isalnum((unsigned char)byte) || byte == '_';
}

/* One part of a repository's name. */
static bool part_is_valid(const char *part, size_t length)
{
    if (length == 0 || length > PART_BYTES_MAXIMUM || !is_word(part[0]) || !is_word(part[length - 1])) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        bool doubled = (part[i] == '-' || part[i] == '.') && part[i + 1] == part[i];
        if (doubled || (!is_word(part[i]) && part[i] != '-' && part[i] != '.')) {
            return false;
        }
    }
    return true;
}

static bool ends_with(const char *text, const char *ending)
{
    size_t length = strlen(text), tail = strlen(ending);
    return length > tail && strcasecmp(text + length - tail, ending) == 0;
}

bool hub_path_is_plain(const char *text)
{
    while (true) {
        size_t length = strcspn(text, "/");
        bool dots = (length == 1 && text[0] == '.') || (length == 2 && text[0] == '.' && text[1] == '.');
        if (length == 0 || dots) {
            return false;
        }
        for (size_t i = 0; i < length; i++) {
            if (text[i] < ' ' || text[i] > '~' || text[i] == '\\') {
                return false;
            }
        }
        if (text[length] == '\0') {
            return true;
        }
        text += length + 1;
    }
}

bool hub_commit_is_whole(const char *text)
{
    size_t length = strspn(text, "0123456789abcdefABCDEF");
    return (length == 40 || length == 64) && text[length] == '\0';
}

/* How many bytes of text after '@' are the revision: all, or what stands before the file. References that are no branch
 * have two slashes in them: refs/pr/1. */
static size_t revision_length(const char *text, bool has_file)
{
    if (!has_file) {
        return strlen(text);
    }
    size_t length = strcspn(text, "/");
    for (int part = 0; part < 2 && strncmp(text, "refs/", 5) == 0 && text[length] == '/'; part++) {
        length += 1 + strcspn(text + length + 1, "/");
    }
    return length;
}

/* What follows the repository's name: [@REVISION][/FILE]. */
static bool rest_read(const char *rest, struct hub_name *name)
{
    bool has_file = ends_with(rest, ".gguf") || ends_with(rest, ".safetensors");
    const char *revision = "main";
    size_t length = 4;
    if (*rest == '@') {
        revision = rest + 1;
        length = revision_length(revision, has_file);
        rest = revision + length;
    }
    const char *file = *rest == '/' ? rest + 1 : rest;
    if (length == 0 || length >= HUB_REVISION_BYTES || strlen(file) >= HUB_FILE_BYTES ||
        (*rest == '/' && (!has_file || !name->has_owner || !hub_path_is_plain(file)))) {
        return false;
    }
    memcpy(name->revision, revision, length);
    name->revision[length] = '\0';
    snprintf(name->file, sizeof name->file, "%s", file);
    return hub_path_is_plain(name->revision);
}

bool hub_name_read(const char *text, struct hub_name *name)
{
    struct hub_name read = {.is_address = strncmp(text, "hf://", 5) == 0};
    text += read.is_address ? 5 : 0;
    size_t first = strcspn(text, "/@");
    size_t length = first;
    if (!part_is_valid(text, first)) {
        return false;
    }
    if (text[first] == '/') {
        size_t second = strcspn(text + first + 1, "/@");
        if (!part_is_valid(text + first + 1, second)) {
            return false;
        }
        length += 1 + second;
        read.has_owner = true;
    }
    memcpy(read.repository, text, length); /* two parts of at most 96 bytes fit */
    if (ends_with(read.repository, ".git") || !rest_read(text + length, &read)) {
        return false;
    }
    *name = read;
    return true;
}
