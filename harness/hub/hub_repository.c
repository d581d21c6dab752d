/* Hub repository: where a file of it is looked for, and what an answer of the hub means. Reading in parts stands in
 * range_source.c, the network in hub_transfer.c. */
#include "harness/hub/hub_repository.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/base/json.h"

/* Our folder for an endpoint: caches of different hubs do not mix. "https://hub.example:8080/x" ->
 * "hub.example_8080_x". */
static void own_folder_set(struct hub_repository *repository)
{
    const char *host = strstr(repository->settings.endpoint, "://") + 3;
    char name[HUB_ENDPOINT_BYTES];
    snprintf(name, sizeof name, "%s", host);
    for (char *byte = name; *byte != '\0'; byte++) {
        *byte = isalnum((unsigned char)*byte) || *byte == '.' || *byte == '-' ? *byte : '_';
    }
    int length = snprintf(repository->own_folder, PATH_MAX, "%s/%s", repository->settings.own_folder, name);
    if (repository->settings.own_folder[0] == '\0' || length >= PATH_MAX) {
        repository->own_folder[0] = '\0';
    }
}

/* The commit as the caches know it. */
static void commit_look_up(struct hub_repository *repository)
{
    const struct hub_name *name = &repository->name;
    int64_t age_seconds = 0;
    if (hub_cache_commit(repository->settings.cache_folder, name->repository, name->revision, repository->commit,
                         NULL)) {
        return;
    }
    char *commit = repository->commit;
    if (hub_cache_commit(repository->own_folder, name->repository, name->revision, commit, &age_seconds)) {
        bool is_old = age_seconds < 0 || age_seconds > HUB_REVISION_AGE_SECONDS;
        if (is_old && repository->settings.offline == NULL) {
            memcpy(repository->old_commit, commit, HUB_COMMIT_BYTES);
            commit[0] = '\0';
        }
        return;
    }
    if (hub_commit_is_whole(name->revision)) {
        memcpy(commit, name->revision, strlen(name->revision) + 1); /* it is a whole commit, so it fits */
    }
}

enum status_code hub_repository_open(const struct hub_settings *settings, const struct hub_name *name,
                                     struct hub_repository **repository, struct status *error)
{
    struct hub_repository *opened = calloc(1, sizeof *opened);
    if (opened == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no host memory for the repository %s", name->repository);
    }
    opened->settings = *settings;
    opened->name = *name;
    own_folder_set(opened);
    commit_look_up(opened);
    *repository = opened;
    return STATUS_OK;
}

void hub_repository_close(struct hub_repository *repository)
{
    if (repository != NULL) {
        hub_transfer_close(repository->transfer);
        arena_release(&repository->arena);
        free(repository);
    }
}

bool hub_repository_is_cached(const struct hub_repository *repository)
{
    return hub_cache_knows(repository->settings.cache_folder, repository->name.repository) ||
           hub_cache_knows(repository->own_folder, repository->name.repository);
}

bool hub_repository_exists(const struct hub_repository *repository)
{
    return repository->exists || hub_repository_is_cached(repository);
}

struct hub_traffic hub_repository_traffic(const struct hub_repository *repository)
{
    return repository->transfer != NULL ? hub_transfer_traffic(repository->transfer) : (struct hub_traffic){0};
}

const char *hub_repository_commit(const struct hub_repository *repository)
{
    return repository->commit;
}

/* What an address may hold as it is, and '/' where it parts a path (RFC 3986, 3.3). */
static void escaped_append(struct text *text, const char *part, bool is_path)
{
    for (; *part != '\0'; part++) {
        unsigned char byte = (unsigned char)*part;
        if (isalnum(byte) || strchr("-._~", byte) != NULL || (is_path && byte == '/')) {
            text_append_bytes(text, part, 1);
        } else {
            text_format(text, "%%%02X", (unsigned)byte);
        }
    }
}

enum status_code repository_address(const struct hub_repository *repository, const char *file, struct text *address,
                                    struct status *error)
{
    text_format(address, "%s/%s/resolve/", repository->settings.endpoint, repository->name.repository);
    escaped_append(address, repository->commit[0] != '\0' ? repository->commit : repository->name.revision, false);
    text_append(address, "/");
    escaped_append(address, file, true);
    return !address->failed ? STATUS_OK : status_set(error, STATUS_OUT_OF_MEMORY, "no host memory for an address");
}

/* What someone who was refused can do. */
static const char *token_remedy(const struct hub_repository *repository)
{
    return repository->settings.token[0] != '\0' ? "use a token of an account that may read it (HF_TOKEN)"
                                                 : "set HF_TOKEN to a token of an account that may read it";
}

static enum status_code refusal_fail(const struct hub_repository *repository, const struct hub_response *response,
                                     const char *file, struct status *error)
{
    const char *endpoint = repository->settings.endpoint, *name = repository->name.repository;
    const char *code = response->error_code;
    if (strcmp(code, "GatedRepo") == 0) {
        return status_set(error, STATUS_INVALID,
                          "%s is gated at %s (%ld GatedRepo): ask for access on its page %s/%s and %s", name, endpoint,
                          response->status, endpoint, name, token_remedy(repository));
    }
    if (strcmp(code, "RevisionNotFound") == 0) {
        return status_set(error, STATUS_INVALID,
                          "%s has no revision '%s' at %s; its page %s/%s lists branches and tags", name,
                          repository->name.revision, endpoint, endpoint, name);
    }
    bool is_refused = response->status == 401 || response->status == 403;
    if (strcmp(code, "RepoNotFound") == 0 || (response->status == 401 && code[0] == '\0') ||
        (response->status == 404 && code[0] == '\0')) {
        return status_set(error, STATUS_INVALID,
                          "%s has no repository %s, or it is private (%ld %s): write its name as on its page, or %s",
                          endpoint, name, response->status, code[0] != '\0' ? code : "without a reason",
                          token_remedy(repository));
    }
    return status_set(error, is_refused ? STATUS_INVALID : STATUS_IO, "%s answers %ld%s%s%s%s for %s of %s%s%s",
                      endpoint, response->status, code[0] != '\0' ? " " : "", code,
                      response->error_message[0] != '\0' ? ": " : "", response->error_message, file, name,
                      is_refused ? "; " : "; try again later", is_refused ? token_remedy(repository) : "");
}

/* Takes the commit of an answer, once. */
static enum status_code commit_take(struct hub_repository *repository, const struct hub_response *response,
                                    struct status *error)
{
    if (repository->commit[0] != '\0') {
        return STATUS_OK;
    }
    if (response->commit[0] == '\0') {
        return status_set(error, STATUS_INVALID,
                          "%s does not answer as a hub does (no X-Repo-Commit for %s); check HF_ENDPOINT",
                          repository->settings.endpoint, repository->name.repository);
    }
    memcpy(repository->commit, response->commit, sizeof repository->commit);
    return STATUS_OK;
}

static enum status_code answer_judge(struct hub_repository *repository, const char *file,
                                     const struct hub_response *response, bool *absent, struct status *error)
{
    bool is_missing = response->status == 404 && strcmp(response->error_code, "EntryNotFound") == 0;
    bool is_empty = response->status == 416 && response->size == 0;
    if (response->status != 200 && response->status != 206 && !is_missing && !is_empty) {
        repository->exists =
            strcmp(response->error_code, "GatedRepo") == 0 || strcmp(response->error_code, "RevisionNotFound") == 0;
        return refusal_fail(repository, response, file, error);
    }
    enum status_code code = commit_take(repository, response, error);
    if (code == STATUS_OK) {
        repository->exists = true;
        *absent = is_missing;
    }
    return code;
}

/* What is known for longer than a moment is written down. That it cannot be is no reason to fail here: whoever needs a
 * file on disk will say so. */
static void answer_note(const struct hub_repository *repository, const char *file, bool absent)
{
    const struct hub_name *name = &repository->name;
    if (repository->own_folder[0] == '\0') {
        return;
    }
    if (absent) {
        hub_cache_keep_absence(repository->own_folder, name->repository, repository->commit, file, NULL);
    }
    if (!hub_commit_is_whole(name->revision)) {
        hub_cache_keep_commit(repository->own_folder, name->repository, name->revision, repository->commit, NULL);
    }
}

enum status_code repository_ask(struct hub_repository *repository, const char *file, struct hub_request *request,
                                struct hub_response *response, bool *absent, struct status *error)
{
    struct text address = {0};
    struct hub_response came = {0};
    bool is_absent = false, was_known = repository->commit[0] != '\0';
    enum status_code code = STATUS_OK;
    if (repository->transfer == NULL) {
        code = hub_transfer_open(&repository->settings, &repository->transfer, error);
    }
    if (code == STATUS_OK && request->address == NULL) {
        code = repository_address(repository, file, &address, error);
        request->address = text_string(&address);
    }
    if (code == STATUS_OK) {
        code = hub_transfer_get(repository->transfer, request, &came, error);
    }
    if (code == STATUS_OK) {
        code = answer_judge(repository, file, &came, &is_absent, error);
    }
    if (address.data != NULL) {
        request->address = NULL;
    }
    text_release(&address);
    if (code != STATUS_OK) {
        text_release(&came.bytes);
        return code;
    }
    if (is_absent || !was_known) {
        answer_note(repository, file, is_absent);
    }
    *response = came;
    *absent = is_absent;
    return STATUS_OK;
}

/* Where the file is in a cache. */
static enum hub_presence caches_look(const struct hub_repository *repository, const char *file, char path[PATH_MAX])
{
    const char *const folders[] = {repository->settings.cache_folder, repository->own_folder};
    enum hub_presence presence = HUB_PRESENCE_UNKNOWN;
    for (size_t i = 0; i < 2 && presence == HUB_PRESENCE_UNKNOWN && repository->commit[0] != '\0'; i++) {
        presence = hub_cache_file(folders[i], repository->name.repository, repository->commit, file, path);
    }
    return presence;
}

/* Where the hub cannot be reached, what it said long ago is better than nothing. */
static bool old_commit_take(struct hub_repository *repository)
{
    if (repository->commit[0] != '\0' || repository->old_commit[0] == '\0') {
        return false;
    }
    memcpy(repository->commit, repository->old_commit, sizeof repository->commit);
    return true;
}

void hub_repository_forget(struct hub_repository *repository)
{
    hub_cache_forget_heads(repository->own_folder, repository->name.repository, repository->commit);
}

/* A file that is cut or otherwise broken must not stay: it would be broken for ever. */
static enum status_code file_check(const struct hub_repository *repository, const char *file, const struct text *bytes,
                                   struct status *error)
{
    size_t length = strlen(file);
    if (length < 5 || strcmp(file + length - 5, ".json") != 0) {
        return STATUS_OK;
    }
    char name[HUB_REPOSITORY_BYTES + HUB_FILE_BYTES];
    struct json *document = NULL;
    snprintf(name, sizeof name, "%s/%s", repository->name.repository, file);
    enum status_code code = json_parse_text(name, text_string(bytes), bytes->length, &document, error);
    json_release(document);
    return code;
}

/* Transfers a small file into our own cache. */
static enum status_code file_transfer(struct hub_repository *repository, const char *file, int64_t maximum_bytes,
                                      struct status *error)
{
    struct hub_request request = {.count = maximum_bytes};
    struct hub_response response = {0};
    bool absent = false;
    enum status_code code = repository_ask(repository, file, &request, &response, &absent, error);
    if (code == STATUS_OK && !absent) {
        code = file_check(repository, file, &response.bytes, error);
    }
    if (code == STATUS_OK && !absent) {
        code = hub_cache_keep_file(repository->own_folder, repository->name.repository, repository->commit, file,
                                   &response.bytes, error);
    }
    text_release(&response.bytes);
    return code;
}

/* Makes the caches say whether the file is there, and where. */
static enum status_code file_settle(struct hub_repository *repository, const char *file, int64_t maximum_bytes,
                                    enum hub_presence *presence, char path[PATH_MAX], struct status *error)
{
    *presence = caches_look(repository, file, path);
    if (*presence != HUB_PRESENCE_UNKNOWN) {
        return STATUS_OK;
    }
    enum status_code code = file_transfer(repository, file, maximum_bytes, error);
    if (code == STATUS_OK || (code == STATUS_IO && old_commit_take(repository))) {
        *presence = caches_look(repository, file, path);
        code = *presence != HUB_PRESENCE_UNKNOWN ? STATUS_OK : code;
    }
    return code;
}

enum status_code hub_repository_path(struct hub_repository *repository, const char *file, int64_t maximum_bytes,
                                     const char **path, struct status *error)
{
    char found[PATH_MAX];
    enum hub_presence presence;
    enum status_code code = file_settle(repository, file, maximum_bytes, &presence, found, error);
    if (code != STATUS_OK) {
        return code;
    }
    const char *copy = NULL;
    if (presence == HUB_PRESENCE_HERE) {
        copy = arena_copy(&repository->arena, found);
        if (copy == NULL) {
            return status_set(error, STATUS_OUT_OF_MEMORY, "no host memory for a path");
        }
    }
    *path = copy;
    return STATUS_OK;
}

enum status_code hub_repository_source(struct hub_repository *repository, const char *file, struct byte_source **source,
                                       struct status *error)
{
    char path[PATH_MAX];
    enum hub_presence presence = caches_look(repository, file, path);
    if (presence == HUB_PRESENCE_ABSENT) {
        *source = NULL;
        return STATUS_OK;
    }
    if (presence == HUB_PRESENCE_HERE) {
        return file_source_open(path, source, error);
    }
    return range_source_open(repository, file, source, error);
}
