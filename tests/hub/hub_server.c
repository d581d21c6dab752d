/* Hub server: enough of HTTP for a client that is tested, and not a server for anybody else. */
#include "tests/hub/hub_server.h"

#include <arpa/inet.h>
#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>

#include <cmocka.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "harness/base/text.h"

enum { REQUEST_BYTES_MAXIMUM = 32 * 1024, BLOCK_BYTES = 16 * 1024 };

struct hub_server {
    const struct served *rows;
    size_t row_count;
    int listener, port;
    int wake[2]; /* the second is closed when the server is to stop */
    pthread_t thread;
    pthread_mutex_t serving; /* held while a client is served */
    int asked_count;
    int64_t sent_bytes;
    struct asked asked[ASKED_MAXIMUM];
};

struct range {
    bool asked;
    int64_t first, end;
};

static bool all_send(int socket, const char *bytes, size_t count)
{
    while (count > 0) {
        ssize_t sent = send(socket, bytes, count, MSG_NOSIGNAL);
        if (sent <= 0) {
            return false;
        }
        bytes += sent;
        count -= (size_t)sent;
    }
    return true;
}

static bool text_send(int socket, struct text *text)
{
    bool sent = all_send(socket, text_string(text), text->length);
    text_release(text);
    return sent;
}

/* Bytes of a row, until the client has gone. */
static bool body_send(struct hub_server *server, int socket, const struct served *row, int64_t first, int64_t end)
{
    static const struct timespec between_drips = {.tv_nsec = 80000000};
    bool chunked = row->fault == SERVED_WITHOUT_LENGTH;
    int64_t most = row->fault == SERVED_DRIPPING ? 100 : BLOCK_BYTES;
    while (first < end) {
        char block[BLOCK_BYTES] = {0};
        char line[32];
        size_t count = (size_t)(end - first < most ? end - first : most);
        if (row->fault == SERVED_DRIPPING) {
            nanosleep(&between_drips, NULL);
        }
        if (first < (int64_t)row->head_bytes) {
            size_t head = row->head_bytes - (size_t)first;
            memcpy(block, row->head + first, head < count ? head : count);
        }
        snprintf(line, sizeof line, "%zx\r\n", count);
        if ((chunked && !all_send(socket, line, strlen(line))) || !all_send(socket, block, count) ||
            (chunked && !all_send(socket, "\r\n", 2))) {
            return false;
        }
        server->sent_bytes += (int64_t)count;
        first += (int64_t)count;
    }
    return !chunked || all_send(socket, "0\r\n\r\n", 5);
}

/* Until the client goes, or the server is to stop. */
static void client_wait(const struct hub_server *server, int socket)
{
    char byte;
    struct pollfd polls[] = {{.fd = socket, .events = POLLIN}, {.fd = server->wake[0], .events = POLLIN}};
    while (poll(polls, 2, -1) > 0 && polls[1].revents == 0 && recv(socket, &byte, 1, 0) > 0) {
    }
}

static void headers_flood(int socket)
{
    static const char line[] = "X-More: ................................................................\r\n";
    while (all_send(socket, line, sizeof line - 1)) {
    }
}

static void headers_append(const struct hub_server *server, const char *headers, struct text *text)
{
    while (headers != NULL && *headers != '\0') {
        const char *port = strstr(headers, "$PORT");
        text_append_bytes(text, headers, port != NULL ? (size_t)(port - headers) : strlen(headers));
        if (port != NULL) {
            text_format(text, "%d", server->port);
        }
        headers = port != NULL ? port + 5 : NULL;
    }
}

static bool is_first_time(const struct hub_server *server, const struct served *row)
{
    int times = 0;
    for (int i = 0; i < server->asked_count; i++) {
        times += strcmp(server->asked[i].path, row->path) == 0;
    }
    return times == 1;
}

static void answer_begin(const struct hub_server *server, const struct served *row, int status, int64_t length,
                         struct text *text)
{
    text_format(text, "HTTP/1.1 %d Status\r\nConnection: close\r\n", status);
    if (row->fault == SERVED_WITHOUT_LENGTH) {
        text_append(text, "Transfer-Encoding: chunked\r\n");
    } else {
        text_format(text, "Content-Length: %" PRId64 "\r\n", length);
    }
    headers_append(server, row->headers, text);
}

/* All of it, or the range that was asked for, with the fault of the row. range lies within the file. */
static void bytes_serve(struct hub_server *server, int socket, const struct served *row, struct range range)
{
    struct text text = {0};
    int64_t shift = row->fault == SERVED_OTHER_RANGE ? 1 : 0;
    bool partial = range.asked && row->status == 0;
    bool is_cut = row->fault == SERVED_CUT || row->fault == SERVED_STALLING ||
                  (row->fault == SERVED_CUT_ONCE && is_first_time(server, row));
    int64_t end = is_cut ? range.first + (range.end - range.first) / 2 : range.end;
    answer_begin(server, row, row->status != 0 ? row->status : partial ? 206 : 200, range.end - range.first, &text);
    if (partial) {
        text_format(&text, "Content-Range: bytes %" PRId64 "-%" PRId64 "/%" PRId64 "\r\n", range.first + shift,
                    range.end - 1 + shift, row->size_bytes);
    }
    if (row->fault == SERVED_HEADERS_ENDLESS) {
        text_send(socket, &text);
        headers_flood(socket);
        return;
    }
    text_append(&text, "\r\n");
    if (text_send(socket, &text)) {
        body_send(server, socket, row, range.first, end);
    }
    if (row->fault == SERVED_STALLING) {
        client_wait(server, socket);
    }
}

static void row_serve(struct hub_server *server, int socket, const struct served *whole, struct range range)
{
    struct text text = {0};
    struct served shortened = *whole;
    const struct served *row = &shortened;
    shortened.size_bytes /= whole->fault == SERVED_SHORT ? 2 : 1;
    bool broken = row->fault == SERVED_BROKEN || (row->fault == SERVED_BROKEN_ONCE && is_first_time(server, row));
    range.asked = range.asked && row->fault != SERVED_WITHOUT_RANGES && row->fault != SERVED_WITHOUT_LENGTH;
    if (!range.asked) {
        range.first = 0;
        range.end = row->size_bytes;
    }
    range.end = range.end < row->size_bytes ? range.end : row->size_bytes;
    if (broken) {
        answer_begin(server, row, 500, 0, &text);
        text_append(&text, "\r\n");
        text_send(socket, &text);
    } else if (range.asked && row->status == 0 && range.first >= row->size_bytes) {
        answer_begin(server, row, 416, 0, &text);
        text_format(&text, "Content-Range: bytes */%" PRId64 "\r\n\r\n", row->size_bytes);
        text_send(socket, &text);
    } else {
        bytes_serve(server, socket, row, range);
    }
}

/* The value of a header of the request; "" where it is not there. */
static void header_copy(const char *request, const char *name, char *value, size_t capacity)
{
    size_t length = strlen(name);
    value[0] = '\0';
    for (const char *line = strstr(request, "\r\n"); line != NULL; line = strstr(line + 2, "\r\n")) {
        if (strncasecmp(line + 2, name, length) == 0 && line[2 + length] == ':') {
            const char *begin = line + 3 + length + strspn(line + 3 + length, " ");
            snprintf(value, capacity, "%.*s", (int)strcspn(begin, "\r"), begin);
            return;
        }
    }
}

static void request_answer(struct hub_server *server, int socket, const char *request)
{
    static const struct served unknown = {.path = "", .status = 404, .headers = "X-Error-Code: RepoNotFound\r\n"};
    struct range range = {0};
    const struct served *row = &unknown;
    assert(server->asked_count < ASKED_MAXIMUM);
    struct asked *asked = &server->asked[server->asked_count++];
    const char *path = strchr(request, ' ');
    path = path != NULL ? path + 1 : "";
    snprintf(asked->path, sizeof asked->path, "%.*s", (int)strcspn(path, " "), path);
    header_copy(request, "Host", asked->host, sizeof asked->host);
    header_copy(request, "Authorization", asked->authorization, sizeof asked->authorization);
    header_copy(request, "Range", asked->range, sizeof asked->range);
    range.asked = sscanf(asked->range, "bytes=%" SCNd64 "-%" SCNd64, &range.first, &range.end) == 2;
    range.end++;
    for (size_t i = 0; i < server->row_count; i++) {
        row = strcmp(server->rows[i].path, asked->path) == 0 ? &server->rows[i] : row;
    }
    row_serve(server, socket, row, range);
}

static void client_serve(struct hub_server *server, int socket)
{
    char request[REQUEST_BYTES_MAXIMUM + 1];
    size_t length = 0;
    while (length < REQUEST_BYTES_MAXIMUM) {
        ssize_t count = recv(socket, request + length, REQUEST_BYTES_MAXIMUM - length, 0);
        if (count <= 0) {
            return;
        }
        length += (size_t)count;
        request[length] = '\0';
        if (strstr(request, "\r\n\r\n") != NULL) {
            request_answer(server, socket, request);
            return;
        }
    }
}

static void *server_run(void *context)
{
    struct hub_server *server = context;
    struct pollfd polls[] = {{.fd = server->listener, .events = POLLIN}, {.fd = server->wake[0], .events = POLLIN}};
    while (poll(polls, 2, -1) > 0 && polls[1].revents == 0) {
        int socket = accept(server->listener, NULL, NULL);
        if (socket >= 0) {
            pthread_mutex_lock(&server->serving);
            client_serve(server, socket);
            pthread_mutex_unlock(&server->serving);
            close(socket);
        }
    }
    return NULL;
}

struct hub_server *hub_server_start(const struct served *rows, size_t count)
{
    struct hub_server *server = calloc(1, sizeof *server);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    assert_non_null(server);
    server->rows = rows;
    server->row_count = count;
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(server->listener >= 0);
    assert_int_equal(bind(server->listener, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(server->listener, 16), 0);
    assert_int_equal(getsockname(server->listener, (struct sockaddr *)&address, &length), 0);
    server->port = ntohs(address.sin_port);
    assert_int_equal(pipe2(server->wake, O_CLOEXEC), 0);
    assert_int_equal(pthread_mutex_init(&server->serving, NULL), 0);
    assert_int_equal(pthread_create(&server->thread, NULL, server_run, server), 0);
    return server;
}

void hub_server_stop(struct hub_server *server)
{
    close(server->wake[1]);
    pthread_join(server->thread, NULL);
    pthread_mutex_destroy(&server->serving);
    close(server->wake[0]);
    close(server->listener);
    free(server);
}

int hub_server_port(const struct hub_server *server)
{
    return server->port;
}

int hub_server_asked_count(struct hub_server *server)
{
    pthread_mutex_lock(&server->serving);
    int count = server->asked_count;
    pthread_mutex_unlock(&server->serving);
    return count;
}

const struct asked *hub_server_asked(struct hub_server *server, int index)
{
    assert_in_range(index, 0, hub_server_asked_count(server) - 1);
    return &server->asked[index];
}

int64_t hub_server_sent_bytes(struct hub_server *server)
{
    pthread_mutex_lock(&server->serving);
    int64_t bytes = server->sent_bytes;
    pthread_mutex_unlock(&server->serving);
    return bytes;
}
