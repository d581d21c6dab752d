/* Hub transfer: the one place that asks libcurl for something. What an answer holds is taken apart in hub_answer.c. */
#include "harness/hub/hub_transfer.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "harness/base/clock.h"
#include "harness/hub/curl_library.h"
#include "harness/hub/hub_answer.h"

static enum status_code offline_fail(const struct hub_settings *settings, struct status *error)
{
    return status_set(error, STATUS_IO, "%s forbids to ask %s; unset it, or bring the model into the cache first",
                      settings->offline, settings->endpoint);
}

#ifdef ASSAY_HAS_CURL

struct hub_transfer {
    const struct hub_settings *settings;
    struct curl_library library;
    CURL *handle;
    struct curl_slist *plain_headers, *token_headers;
    struct hub_traffic traffic;
    int64_t deadline_ms; /* of all requests together; 0: none was made */
};

/* A hub that sends a little now and then never stands still: a request has time for its bytes at a slow line's speed,
 * and all of them together have theirs. At least 1, because 0 would be no limit. */
static long time_left_ms(struct hub_transfer *transfer, const struct hub_request *request)
{
    int64_t stall_ms = transfer->settings->stall_seconds * 1000, now = clock_ns() / 1000000;
    int64_t bytes = request->first + request->count;
    int64_t own_ms = HUB_STALLS_OF_A_REQUEST * stall_ms + bytes * 1000 / HUB_SLOW_BYTES_PER_SECOND;
    if (transfer->deadline_ms == 0) {
        transfer->deadline_ms = now + HUB_STALLS_OF_ALL * stall_ms;
    }
    int64_t left_ms = transfer->deadline_ms - now;
    int64_t least_ms = own_ms < left_ms ? own_ms : left_ms;
    return least_ms > 1 ? (long)least_ms : 1;
}

/* One request under way: what the callbacks of libcurl need. */
struct exchange {
    struct hub_transfer *transfer;
    struct answer answer;
};

static size_t header_came(char *line, size_t size, size_t count, void *context)
{
    struct exchange *exchange = context;
    return answer_header(&exchange->answer, line, size * count) ? size * count : 0;
}

static size_t body_came(char *block, size_t size, size_t count, void *context)
{
    struct exchange *exchange = context;
    long status = 0;
    exchange->transfer->library.easy_getinfo(exchange->transfer->handle, CURLINFO_RESPONSE_CODE, &status);
    return answer_body(&exchange->answer, status, block, size * count) ? size * count : 0;
}

static enum status_code headers_make(struct hub_transfer *transfer, struct status *error)
{
    const struct curl_library *library = &transfer->library;
    char line[HUB_TOKEN_BYTES + 32];
    transfer->plain_headers = library->slist_append(NULL, "Accept-Encoding: identity");
    transfer->token_headers = library->slist_append(NULL, "Accept-Encoding: identity");
    bool made = transfer->plain_headers != NULL && transfer->token_headers != NULL;
    if (made && transfer->settings->token[0] != '\0') {
        snprintf(line, sizeof line, "Authorization: Bearer %s", transfer->settings->token);
        struct curl_slist *longer = library->slist_append(transfer->token_headers, line);
        made = longer != NULL;
    }
    return made ? STATUS_OK : status_set(error, STATUS_OUT_OF_MEMORY, "no host memory for a transfer");
}

/* What holds for every request. */
static bool handle_set_up(struct hub_transfer *transfer)
{
    const struct curl_library *library = &transfer->library;
    const struct hub_settings *settings = transfer->settings;
    CURL *handle = library->easy_init();
    transfer->handle = handle;
    return handle != NULL && library->easy_setopt(handle, CURLOPT_NOSIGNAL, 1L) == CURLE_OK &&
           library->easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L) == CURLE_OK &&
           library->easy_setopt(handle, CURLOPT_USERAGENT, "assay") == CURLE_OK &&
           library->easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, settings->connect_seconds) == CURLE_OK &&
           library->easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, (long)HUB_STALL_BYTES_PER_SECOND) == CURLE_OK &&
           library->easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, settings->stall_seconds) == CURLE_OK &&
           library->easy_setopt(handle, CURLOPT_HEADERFUNCTION, header_came) == CURLE_OK &&
           library->easy_setopt(handle, CURLOPT_WRITEFUNCTION, body_came) == CURLE_OK;
}

enum status_code hub_transfer_open(const struct hub_settings *settings, struct hub_transfer **transfer,
                                   struct status *error)
{
    if (settings->offline != NULL) {
        return offline_fail(settings, error);
    }
    struct hub_transfer *opened = calloc(1, sizeof *opened);
    if (opened == NULL) {
        return status_set(error, STATUS_OUT_OF_MEMORY, "no host memory for a transfer");
    }
    opened->settings = settings;
    enum status_code code = curl_library_open(&opened->library, error);
    if (code != STATUS_OK) {
        free(opened);
        return code;
    }
    code = headers_make(opened, error);
    if (code == STATUS_OK && !handle_set_up(opened)) {
        code = status_set(error, STATUS_IO, "libcurl cannot be set up for %s", settings->endpoint);
    }
    if (code != STATUS_OK) {
        hub_transfer_close(opened);
        return code;
    }
    *transfer = opened;
    return STATUS_OK;
}

void hub_transfer_close(struct hub_transfer *transfer)
{
    if (transfer == NULL) {
        return;
    }
    if (transfer->handle != NULL) {
        transfer->library.easy_cleanup(transfer->handle);
    }
    transfer->library.slist_free_all(transfer->plain_headers);
    transfer->library.slist_free_all(transfer->token_headers);
    free(transfer);
}

struct hub_traffic hub_transfer_traffic(const struct hub_transfer *transfer)
{
    return transfer->traffic;
}

/* The part of an address, in memory of libcurl; NULL if it has none. */
static char *address_part(const struct curl_library *library, const char *address, CURLUPart part)
{
    CURLU *url = library->url();
    char *text = NULL;
    if (url != NULL && library->url_set(url, CURLUPART_URL, address, 0) == CURLUE_OK &&
        library->url_get(url, part, &text, CURLU_DEFAULT_PORT) != CURLUE_OK) {
        text = NULL;
    }
    if (url != NULL) {
        library->url_cleanup(url);
    }
    return text;
}

static bool part_is_equal(const struct curl_library *library, const char *a, const char *b, CURLUPart part)
{
    char *of_a = address_part(library, a, part), *of_b = address_part(library, b, part);
    bool equal = of_a != NULL && of_b != NULL && strcasecmp(of_a, of_b) == 0;
    library->free(of_a);
    library->free(of_b);
    return equal;
}

/* Same scheme, host and port. */
static bool origin_is_equal(const struct curl_library *library, const char *a, const char *b)
{
    return part_is_equal(library, a, b, CURLUPART_SCHEME) && part_is_equal(library, a, b, CURLUPART_HOST) &&
           part_is_equal(library, a, b, CURLUPART_PORT);
}

/* https, or http where the endpoint itself is http. */
static bool address_is_allowed(const struct hub_transfer *transfer, const char *address)
{
    return part_is_equal(&transfer->library, address, "https://host", CURLUPART_SCHEME) ||
           (part_is_equal(&transfer->library, transfer->settings->endpoint, "http://host", CURLUPART_SCHEME) &&
            part_is_equal(&transfer->library, address, "http://host", CURLUPART_SCHEME));
}

static enum status_code answer_fail(const struct exchange *exchange, const char *address, CURLcode result,
                                    struct status *error)
{
    const struct hub_request *request = exchange->answer.request;
    switch (exchange->answer.end) {
    case ANSWER_TOO_LONG:
        return status_set(error, STATUS_INVALID, "%s is longer than the %" PRId64 " bytes that are taken of it",
                          address, request->ranged ? (int64_t)HUB_PART_BYTES_MAXIMUM : request->count);
    case ANSWER_HEADERS_LONG:
        return status_set(error, STATUS_INVALID, "%s: the answer has more than %d bytes of headers", address,
                          HUB_HEADERS_BYTES_MAXIMUM);
    case ANSWER_WRONG_RANGE:
        return status_set(error, STATUS_INVALID, "%s: the server sends other bytes than those asked for", address);
    case ANSWER_NO_MEMORY:
        return status_set(error, STATUS_OUT_OF_MEMORY, "no host memory for what %s sends", address);
    case ANSWER_OPEN:
    case ANSWER_ENOUGH:
        break;
    }
    if (result == CURLE_OPERATION_TIMEDOUT && exchange->answer.body_bytes + exchange->answer.header_bytes > 0) {
        return status_set(error, STATUS_IO,
                          "%.400s sends too slowly (%" PRId64
                          " bytes so far); check the network, or give it more time with "
                          "HF_HUB_DOWNLOAD_TIMEOUT (now %ld s)",
                          address, exchange->answer.body_bytes, exchange->transfer->settings->stall_seconds);
    }
    return status_set(
        error, STATUS_IO,
        "%.400s: %s; check the network, HF_ENDPOINT and the proxy, or let HF_HUB_OFFLINE=1 go by the caches", address,
        exchange->transfer->library.easy_strerror(result));
}

/* Whether another attempt may do better: the connection stood and broke. */
static bool result_may_pass(CURLcode result)
{
    return result == CURLE_PARTIAL_FILE || result == CURLE_RECV_ERROR || result == CURLE_SEND_ERROR ||
           result == CURLE_GOT_NOTHING;
}

/* One request to one address. result: libcurl's. */
static enum status_code address_get(struct hub_transfer *transfer, const char *address,
                                    const struct hub_request *request, struct hub_response *response, CURLcode *result,
                                    struct status *error)
{
    const struct curl_library *library = &transfer->library;
    CURL *handle = transfer->handle;
    struct exchange exchange = {.transfer = transfer};
    char range[64];
    bool trusted = origin_is_equal(library, address, transfer->settings->endpoint);
    snprintf(range, sizeof range, "%" PRId64 "-%" PRId64, request->first, request->first + request->count - 1);
    answer_begin(&exchange.answer, request, response);
    library->easy_setopt(handle, CURLOPT_URL, address);
    library->easy_setopt(handle, CURLOPT_RANGE, request->ranged ? range : NULL);
    library->easy_setopt(handle, CURLOPT_HTTPHEADER, trusted ? transfer->token_headers : transfer->plain_headers);
    library->easy_setopt(handle, CURLOPT_TIMEOUT_MS, time_left_ms(transfer, request));
    library->easy_setopt(handle, CURLOPT_HEADERDATA, &exchange);
    library->easy_setopt(handle, CURLOPT_WRITEDATA, &exchange);
    *result = library->easy_perform(handle);
    transfer->traffic.requests++;
    transfer->traffic.bytes += exchange.answer.header_bytes + exchange.answer.body_bytes;
    library->easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &response->status);
    if (*result != CURLE_OK && exchange.answer.end != ANSWER_ENOUGH) {
        return answer_fail(&exchange, address, *result, error);
    }
    answer_finish(&exchange.answer, response->status);
    *result = CURLE_OK;
    return STATUS_OK;
}

static bool status_is_redirect(long status)
{
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

/* The address and those it leads to, until one answers. response->address is the one under way. */
static enum status_code redirects_follow(struct hub_transfer *transfer, const struct hub_request *request,
                                         struct hub_response *response, CURLcode *result, struct status *error)
{
    snprintf(response->address, sizeof response->address, "%s", request->address);
    for (int hop = 0; hop <= HUB_REDIRECTS_MAXIMUM; hop++) {
        if (!address_is_allowed(transfer, response->address)) {
            return status_set(error, STATUS_INVALID, "%s leads to %.200s, which is not https", request->address,
                              response->address);
        }
        enum status_code code = address_get(transfer, response->address, request, response, result, error);
        if (code != STATUS_OK || !status_is_redirect(response->status)) {
            return code;
        }
        char *next = NULL;
        transfer->library.easy_getinfo(transfer->handle, CURLINFO_REDIRECT_URL, &next);
        if (next == NULL || strlen(next) >= HUB_ADDRESS_BYTES) {
            return status_set(error, STATUS_INVALID, "%.400s redirects to nowhere", response->address);
        }
        snprintf(response->address, sizeof response->address, "%s", next);
    }
    return status_set(error, STATUS_INVALID, "%s redirects more than %d times", request->address,
                      HUB_REDIRECTS_MAXIMUM);
}

static bool status_may_pass(long status)
{
    return status == 429 || status == 500 || status == 502 || status == 503 || status == 504;
}

static void wait_before(const struct hub_settings *settings, int attempt)
{
    long milliseconds = settings->retry_wait_milliseconds << (attempt - 1);
    const struct timespec wait = {.tv_sec = milliseconds / 1000, .tv_nsec = (milliseconds % 1000) * 1000000};
    nanosleep(&wait, NULL);
}

enum status_code hub_transfer_get(struct hub_transfer *transfer, const struct hub_request *request,
                                  struct hub_response *response, struct status *error)
{
    struct hub_response came = {0};
    enum status_code code = STATUS_OK;
    for (int attempt = 0; attempt < HUB_ATTEMPTS_MAXIMUM; attempt++) {
        CURLcode result = CURLE_OK;
        if (attempt > 0) {
            wait_before(transfer->settings, attempt);
        }
        text_release(&came.bytes);
        came = (struct hub_response){.size = -1};
        code = redirects_follow(transfer, request, &came, &result, error);
        if (!result_may_pass(result) && (code != STATUS_OK || !status_may_pass(came.status))) {
            break;
        }
    }
    if (code != STATUS_OK) {
        text_release(&came.bytes);
        return code;
    }
    *response = came;
    return STATUS_OK;
}

enum status_code hub_library_check(struct status *error)
{
    struct curl_library library;
    return curl_library_open(&library, error);
}

#else

static enum status_code library_missing(struct status *error)
{
    return status_set(error, STATUS_IO,
                      "this program was built without libcurl; install libcurl4-openssl-dev and build it again");
}

enum status_code hub_library_check(struct status *error)
{
    return library_missing(error);
}

enum status_code hub_transfer_open(const struct hub_settings *settings, struct hub_transfer **transfer,
                                   struct status *error)
{
    (void)transfer;
    if (settings->offline != NULL) {
        return offline_fail(settings, error);
    }
    return library_missing(error);
}

void hub_transfer_close(struct hub_transfer *transfer)
{
    (void)transfer;
}

enum status_code hub_transfer_get(struct hub_transfer *transfer, const struct hub_request *request,
                                  struct hub_response *response, struct status *error)
{
    (void)transfer;
    (void)request;
    (void)response;
    return status_set(error, STATUS_INTERNAL, "a transfer without libcurl");
}

struct hub_traffic hub_transfer_traffic(const struct hub_transfer *transfer)
{
    (void)transfer;
    return (struct hub_traffic){0};
}

#endif
