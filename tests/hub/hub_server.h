/* Hub server: a small HTTP/1.1 server on loopback, in a thread of its own, that answers as a hub does, or as one that
 * is broken. It answers one connection after the other and closes each. */
#ifndef ASSAY_TESTS_HUB_SERVER_H
#define ASSAY_TESTS_HUB_SERVER_H

#include <stddef.h>
#include <stdint.h>

enum served_fault {
    SERVED_WELL,
    SERVED_WITHOUT_RANGES,  /* 200 and all of it, whatever was asked for */
    SERVED_WITHOUT_LENGTH,  /* in chunks, without ranges */
    SERVED_CUT,             /* closes after half of what it announces */
    SERVED_CUT_ONCE,        /* the same, but only the first time */
    SERVED_STALLING,        /* sends half, then nothing, and does not close */
    SERVED_DRIPPING,        /* sends 100 bytes 12 times a second */
    SERVED_HEADERS_ENDLESS, /* headers until nobody listens */
    SERVED_OTHER_RANGE,     /* 206 for bytes that were not asked for */
    SERVED_SHORT,           /* announces half of what it has, and that this is all */
    SERVED_BROKEN,          /* 500 */
    SERVED_BROKEN_ONCE      /* 500 the first time */
};

/* What stands at a path. */
struct served {
    const char *path;
    int status;          /* 0: 200, or 206 where a range was asked for */
    const char *headers; /* further lines, each ended by CR LF; NULL: none. "$PORT" stands for the server's port */
    const char *head;    /* the first bytes; the others are zero */
    size_t head_bytes;
    int64_t size_bytes;
    enum served_fault fault;
};

/* What was asked. */
struct asked {
    char path[512];
    char host[128];
    char authorization[128]; /* "" where it was not sent */
    char range[64];
};

enum { ASKED_MAXIMUM = 256 };

struct hub_server;

/* Fails the running test where it cannot be started. The rows are borrowed; an unknown path is 404 with
 * RepoNotFound. */
struct hub_server *hub_server_start(const struct served *rows, size_t count);
void hub_server_stop(struct hub_server *server);

int hub_server_port(const struct hub_server *server);

/* These wait until the client that is being served has gone: how many requests have come, one of them (static until the
 * server stops), and how many bytes of bodies were sent. */
int hub_server_asked_count(struct hub_server *server);
const struct asked *hub_server_asked(struct hub_server *server, int index);
int64_t hub_server_sent_bytes(struct hub_server *server);

#endif
