/* Hub settings: where models of the Hugging Face hub are looked for, as the environment says it to huggingface_hub
 * (2.4), so that who has set that up need not set up anything here. */
#ifndef ASSAY_HUB_HUB_SETTINGS_H
#define ASSAY_HUB_HUB_SETTINGS_H

#include <limits.h>
#include <stdbool.h>

#include "harness/base/status.h"

enum { HUB_ENDPOINT_BYTES = 256, HUB_TOKEN_BYTES = 1024 };

struct hub_settings {
    char endpoint[HUB_ENDPOINT_BYTES]; /* "https://huggingface.co": http or https, no slash at the end */
    char cache_folder[PATH_MAX];       /* huggingface_hub's, which is only read; "": none */
    char own_folder[PATH_MAX];         /* where what was transferred is kept; "": nowhere */
    char token[HUB_TOKEN_BYTES];       /* "": none */
    const char *offline;               /* the variable that forbids the network; NULL: it is allowed. Static */
    long connect_seconds;              /* how long a connection may take to stand */
    long stall_seconds;                /* how long a transfer may stay below HUB_STALL_BYTES_PER_SECOND */
    long retry_wait_milliseconds;      /* before the second attempt; twice as long before the third */
};

enum { HUB_STALL_BYTES_PER_SECOND = 1000, HUB_ATTEMPTS_MAXIMUM = 3, HUB_SECONDS_MAXIMUM = 3600 };

/* A request may take so many times stall_seconds, and what its bytes take at this speed besides; all requests about one
 * model together may take so many times stall_seconds: 10 minutes. */
enum { HUB_STALLS_OF_A_REQUEST = 3, HUB_SLOW_BYTES_PER_SECOND = 16 * 1024, HUB_STALLS_OF_ALL = 60 };

/* From the environment; an empty variable counts as not set:
 *   endpoint      HF_ENDPOINT, else https://huggingface.co
 *   cache_folder  HF_HUB_CACHE, else HUGGINGFACE_HUB_CACHE, else HF_HOME/hub
 *   own_folder    XDG_CACHE_HOME/assay/hub, else ~/.cache/assay/hub
 *   token         HF_TOKEN, else HUGGING_FACE_HUB_TOKEN, else the file HF_TOKEN_PATH, else the file HF_HOME/token; none
 *                 where HF_HUB_DISABLE_IMPLICIT_TOKEN is true
 *   offline       HF_HUB_OFFLINE, TRANSFORMERS_OFFLINE
 *   seconds       HF_HUB_ETAG_TIMEOUT for the connection, HF_HUB_DOWNLOAD_TIMEOUT for a transfer that stands; 10 each
 * HF_HOME is XDG_CACHE_HOME/huggingface, else ~/.cache/huggingface. True is 1, ON, YES or TRUE in any case. A '~' at
 * the beginning and $NAME or ${NAME} within the HF folders stand for what they stand for in Python's expanduser,
 * expandvars. STATUS_INVALID, naming the variable, where one cannot be used. */
enum status_code hub_settings_read(struct hub_settings *settings, struct status *error);

#endif
