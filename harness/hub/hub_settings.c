/* Hub settings: reading the environment. Nothing is opened here but the file of the token. */
#include "harness/hub/hub_settings.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "harness/base/regular_file.h"
#include "harness/base/size.h"
#include "harness/base/text.h"

/* NULL if the variable is not set or empty. */
static const char *variable(const char *name)
{
    const char *value = secure_getenv(name);
    return value != NULL && *value != '\0' ? value : NULL;
}

static bool is_true(const char *value)
{
    static const char *const words[] = {"1", "ON", "YES", "TRUE"};
    for (size_t i = 0; value != NULL && i < sizeof words / sizeof words[0]; i++) {
        if (strcasecmp(value, words[i]) == 0) {
            return true;
        }
    }
    return false;
}

static const char *home_folder(void)
{
    const char *home = variable("HOME");
    return home != NULL ? home : "";
}

/* Appends what $NAME or ${NAME} at the beginning of value stands for; how many bytes of value that was. One that is not
 * set stays as it is written. */
static size_t variable_expand(const char *value, struct text *text)
{
    bool braced = value[1] == '{';
    const char *name = value + (braced ? 2 : 1);
    size_t length = 0;
    while (isalnum((unsigned char)name[length]) || name[length] == '_') {
        length++;
    }
    char known[128] = "";
    bool whole = length > 0 && length < sizeof known && (!braced || name[length] == '}');
    if (whole) {
        memcpy(known, name, length);
    }
    const char *set = whole ? secure_getenv(known) : NULL;
    size_t taken = whole ? length + (braced ? 3 : 1) : 1;
    if (set != NULL) {
        text_append(text, set);
    } else {
        text_append_bytes(text, value, taken);
    }
    return taken;
}

/* folder with '~' and variables replaced, then suffix. */
static enum status_code path_expand(const char *variable_name, const char *folder, const char *suffix,
                                    char path[PATH_MAX], struct status *error)
{
    struct text text = {0};
    if (folder[0] == '~' && (folder[1] == '/' || folder[1] == '\0')) {
        text_append(&text, home_folder());
        folder++;
    }
    while (*folder != '\0') {
        size_t plain = strcspn(folder, "$");
        text_append_bytes(&text, folder, plain);
        folder += plain;
        folder += *folder == '$' ? variable_expand(folder, &text) : 0;
    }
    text_append(&text, suffix);
    bool fits = !text.failed && text.length < PATH_MAX;
    snprintf(path, PATH_MAX, "%s", fits ? text_string(&text) : "");
    text_release(&text);
    return fits ? STATUS_OK : status_set(error, STATUS_INVALID, "%s: the path is too long; shorten it", variable_name);
}

/* XDG_CACHE_HOME or ~/.cache, then suffix; "" where neither is known. */
static void cache_path(const char *suffix, char path[PATH_MAX])
{
    const char *cache = variable("XDG_CACHE_HOME");
    const char *home = home_folder();
    int length = cache != NULL ? snprintf(path, PATH_MAX, "%s/%s", cache, suffix)
                               : snprintf(path, PATH_MAX, "%s/.cache/%s", home, suffix);
    if (length >= PATH_MAX || (cache == NULL && *home == '\0')) {
        path[0] = '\0';
    }
}

/* Also where there is no cache folder to be had; then *path is "". */
static enum status_code hugging_face_home(char path[PATH_MAX], struct status *error)
{
    const char *home = variable("HF_HOME");
    if (home == NULL) {
        cache_path("huggingface", path);
        return STATUS_OK;
    }
    return path_expand("HF_HOME", home, "", path, error);
}

static enum status_code cache_folder_read(const char *home, struct hub_settings *settings, struct status *error)
{
    static const char *const names[] = {"HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *folder = variable(names[i]);
        if (folder != NULL) {
            return path_expand(names[i], folder, "", settings->cache_folder, error);
        }
    }
    if (*home == '\0') {
        return STATUS_OK;
    }
    return path_expand("HF_HOME", home, "/hub", settings->cache_folder, error);
}

static enum status_code endpoint_read(struct hub_settings *settings, struct status *error)
{
    const char *endpoint = variable("HF_ENDPOINT");
    endpoint = endpoint != NULL ? endpoint : "https://huggingface.co";
    size_t length = strlen(endpoint);
    while (length > 0 && endpoint[length - 1] == '/') {
        length--;
    }
    bool known = strncasecmp(endpoint, "https://", 8) == 0 || strncasecmp(endpoint, "http://", 7) == 0;
    if (!known || length >= HUB_ENDPOINT_BYTES || strpbrk(endpoint, " \t\r\n?#@\\") != NULL) {
        return status_set(error, STATUS_INVALID,
                          "HF_ENDPOINT: '%.100s' is not the address of a hub; write https://HOST or http://HOST",
                          endpoint);
    }
    memcpy(settings->endpoint, endpoint, length);
    settings->endpoint[length] = '\0';
    return STATUS_OK;
}

/* Without white space around it; line breaks within are left out, as huggingface_hub does. A token goes into a header,
 * so it may hold nothing that could end one. */
static enum status_code token_clean(const char *where, const char *value, struct hub_settings *settings,
                                    struct status *error)
{
    size_t length = 0;
    value += strspn(value, " \t\r\n\v\f");
    for (; *value != '\0'; value++) {
        unsigned char byte = (unsigned char)*value;
        if (byte == '\r' || byte == '\n') {
            continue;
        }
        if (length == HUB_TOKEN_BYTES - 1 || ((byte < ' ' || byte > '~') && byte != '\t')) {
            return status_set(error, STATUS_INVALID,
                              "%s: that is no token; a token is one line of letters and digits, \"hf_...\"", where);
        }
        settings->token[length++] = (char)byte;
    }
    while (length > 0 && isspace((unsigned char)settings->token[length - 1])) {
        length--;
    }
    settings->token[length] = '\0';
    return STATUS_OK;
}

/* A file that is not there or not readable is no token. */
static enum status_code token_file_read(const char *path, struct hub_settings *settings, struct status *error)
{
    char content[HUB_TOKEN_BYTES + 64] = "";
    struct stat facts;
    int file = regular_file_open(path, &facts);
    if (file < 0) {
        return STATUS_OK;
    }
    ssize_t count = read(file, content, sizeof content - 1);
    close(file);
    content[count > 0 ? count : 0] = '\0';
    return token_clean(path, content, settings, error);
}

static enum status_code token_read(const char *home, struct hub_settings *settings, struct status *error)
{
    static const char *const names[] = {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"};
    if (is_true(variable("HF_HUB_DISABLE_IMPLICIT_TOKEN"))) {
        return STATUS_OK;
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (variable(names[i]) != NULL) {
            return token_clean(names[i], variable(names[i]), settings, error);
        }
    }
    char path[PATH_MAX] = "";
    const char *chosen = variable("HF_TOKEN_PATH");
    enum status_code code =
        chosen != NULL || *home != '\0'
            ? path_expand("HF_TOKEN_PATH", chosen != NULL ? chosen : home, chosen != NULL ? "" : "/token", path, error)
            : STATUS_OK;
    return code == STATUS_OK && *path != '\0' ? token_file_read(path, settings, error) : code;
}

static enum status_code seconds_read(const char *name, long *seconds, struct status *error)
{
    int64_t value = *seconds;
    const char *text = variable(name);
    if (text != NULL && integer_parse(text, 1, HUB_SECONDS_MAXIMUM, &value, error) != STATUS_OK) {
        status_prefix(error, "%s", name);
        return STATUS_INVALID;
    }
    *seconds = (long)value;
    return STATUS_OK;
}

enum status_code hub_settings_read(struct hub_settings *settings, struct status *error)
{
    struct hub_settings read = {.connect_seconds = 10, .stall_seconds = 10, .retry_wait_milliseconds = 500};
    char home[PATH_MAX];
    enum status_code code = hugging_face_home(home, error);
    if (code == STATUS_OK) {
        code = cache_folder_read(home, &read, error);
    }
    if (code == STATUS_OK) {
        code = endpoint_read(&read, error);
    }
    if (code == STATUS_OK) {
        code = token_read(home, &read, error);
    }
    if (code == STATUS_OK) {
        code = seconds_read("HF_HUB_ETAG_TIMEOUT", &read.connect_seconds, error);
    }
    if (code == STATUS_OK) {
        code = seconds_read("HF_HUB_DOWNLOAD_TIMEOUT", &read.stall_seconds, error);
    }
    if (code != STATUS_OK) {
        return code;
    }
    cache_path("assay/hub", read.own_folder);
    /* The second counts only where the first is empty, as in huggingface_hub. */
    const char *chosen = variable("HF_HUB_OFFLINE") != NULL ? "HF_HUB_OFFLINE" : "TRANSFORMERS_OFFLINE";
    read.offline = is_true(variable(chosen)) ? chosen : NULL;
    *settings = read;
    return STATUS_OK;
}
