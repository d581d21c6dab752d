/* Hub answer: which bytes of an answer are those that were asked for. A server that does not know ranges sends the file
 * from its beginning: what stands before the range is passed over, and the rest is not waited for. */
#include "harness/hub/hub_answer.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "harness/base/size.h"

enum { STATUS_OK_HTTP = 200, STATUS_PARTIAL = 206, ERROR_BODY_BYTES_MAXIMUM = 64 * 1024 };

void answer_begin(struct answer *answer, const struct hub_request *request, struct hub_response *response)
{
    *answer = (struct answer){.request = request,
                              .response = response,
                              .content_length = -1,
                              .range_first = -1,
                              .range_size = -1,
                              .linked_size = -1};
    response->bytes.length = 0;
    response->error_code[0] = '\0';
    response->error_message[0] = '\0';
}

/* A number at the beginning of text that stop ends; -1 if it is none. */
static int64_t number_read(const char *text, const char *stop, const char **after)
{
    char digits[24] = "";
    int64_t value = -1;
    size_t length = strcspn(text, stop);
    *after = text + length;
    if (length == 0 || length >= sizeof digits) {
        return -1;
    }
    memcpy(digits, text, length);
    return integer_parse(digits, 0, INT64_MAX, &value, NULL) == STATUS_OK ? value : -1;
}

/* "bytes 0-16383/548105171"; a star stands where the size is not known, or no bytes came. */
static void content_range_read(struct answer *answer, const char *value)
{
    const char *rest = value;
    if (strncasecmp(value, "bytes ", 6) != 0) {
        return;
    }
    answer->range_first = number_read(value + 6, "-", &rest);
    const char *slash = strchr(value, '/');
    if (slash != NULL) {
        answer->range_size = number_read(slash + 1, "", &rest);
    }
}

/* Printable ASCII only: it goes into messages. */
static void text_keep(const char *value, size_t capacity, char *kept)
{
    snprintf(kept, capacity, "%s", value);
    for (char *byte = kept; *byte != '\0'; byte++) {
        *byte = isprint((unsigned char)*byte) ? *byte : '?';
    }
}

static void field_take(struct answer *answer, const char *name, const char *value)
{
    struct hub_response *response = answer->response;
    const char *rest;
    if (strcasecmp(name, "content-length") == 0) {
        answer->content_length = number_read(value, "", &rest);
    } else if (strcasecmp(name, "content-range") == 0) {
        content_range_read(answer, value);
    } else if (strcasecmp(name, "x-linked-size") == 0) {
        answer->linked_size = number_read(value, "", &rest);
    } else if (strcasecmp(name, "x-repo-commit") == 0 && hub_commit_is_whole(value)) {
        text_keep(value, sizeof response->commit, response->commit);
    } else if (strcasecmp(name, "x-error-code") == 0) {
        text_keep(value, sizeof response->error_code, response->error_code);
    } else if (strcasecmp(name, "x-error-message") == 0) {
        text_keep(value, sizeof response->error_message, response->error_message);
    }
}

bool answer_header(struct answer *answer, const char *line, size_t length)
{
    char field[1024];
    answer->header_bytes += (int64_t)length;
    if (answer->header_bytes > HUB_HEADERS_BYTES_MAXIMUM) {
        answer->end = ANSWER_HEADERS_LONG;
        return false;
    }
    while (length > 0 && isspace((unsigned char)line[length - 1])) {
        length--;
    }
    if (length >= sizeof field) { /* none of those that are read is as long */
        return true;
    }
    memcpy(field, line, length);
    field[length] = '\0';
    char *colon = strchr(field, ':');
    if (colon != NULL) {
        *colon = '\0';
        field_take(answer, field, colon + 1 + strspn(colon + 1, " \t"));
    }
    return true;
}

static bool stop_with(struct answer *answer, enum answer_end end)
{
    answer->end = end;
    return false;
}

/* Bytes of a good answer: skip of them stand before the wanted ones. */
static bool bytes_take(struct answer *answer, int64_t skip, const char *block, size_t length)
{
    struct text *bytes = &answer->response->bytes;
    int64_t before = answer->body_bytes - (int64_t)length;
    if (before < skip) {
        size_t passed = skip - before < (int64_t)length ? (size_t)(skip - before) : length;
        block += passed;
        length -= passed;
    }
    size_t room = (size_t)answer->request->count - bytes->length;
    if (length > room && !answer->request->ranged) {
        return stop_with(answer, ANSWER_TOO_LONG);
    }
    text_append_bytes(bytes, block, length < room ? length : room);
    if (bytes->failed) {
        return stop_with(answer, ANSWER_NO_MEMORY);
    }
    return length <= room ? true : stop_with(answer, ANSWER_ENOUGH);
}

bool answer_body(struct answer *answer, long status, const char *block, size_t length)
{
    const struct hub_request *request = answer->request;
    answer->body_bytes += (int64_t)length;
    if (status == STATUS_PARTIAL) {
        return request->ranged && answer->range_first == request->first ? bytes_take(answer, 0, block, length)
                                                                        : stop_with(answer, ANSWER_WRONG_RANGE);
    }
    if (status != STATUS_OK_HTTP) { /* of a redirect or an error: nobody reads it */
        return answer->body_bytes <= ERROR_BODY_BYTES_MAXIMUM ? true : stop_with(answer, ANSWER_ENOUGH);
    }
    bool far = request->first > HUB_PART_BYTES_MAXIMUM - request->count;
    bool long_file = !request->ranged && answer->content_length > request->count;
    if (far || long_file) {
        return stop_with(answer, ANSWER_TOO_LONG);
    }
    return bytes_take(answer, request->first, block, length);
}

void answer_finish(struct answer *answer, long status)
{
    struct hub_response *response = answer->response;
    int64_t size = answer->range_size;
    if (status == STATUS_OK_HTTP) {
        size = answer->content_length;
        if (size < 0 && answer->end == ANSWER_OPEN) { /* it came whole, in chunks */
            size = answer->body_bytes;
        }
    }
    if (size >= 0) {
        response->size = size;
    } else if (answer->linked_size >= 0) {
        response->size = answer->linked_size;
    }
}
