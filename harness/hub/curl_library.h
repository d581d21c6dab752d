/* libcurl, opened when the first byte is wanted from a hub and not when the program starts: it and what it brings with
 * it would stand in the footprint of every process that measures. Internal to harness/hub. */
#ifndef ASSAY_HUB_CURL_LIBRARY_H
#define ASSAY_HUB_CURL_LIBRARY_H

#include "harness/base/status.h"

/* `make CURL=no`, or a machine without the header: a program that reads caches and asks no hub. */
#if !defined(ASSAY_WITHOUT_CURL) && __has_include(<curl/curl.h>)
#define ASSAY_HAS_CURL 1
#include <curl/curl.h>

struct curl_library {
    CURL *(*easy_init)(void);
    CURLcode (*easy_setopt)(CURL *handle, CURLoption option, ...);
    CURLcode (*easy_perform)(CURL *handle);
    CURLcode (*easy_getinfo)(CURL *handle, CURLINFO info, ...);
    void (*easy_cleanup)(CURL *handle);
    const char *(*easy_strerror)(CURLcode code);
    struct curl_slist *(*slist_append)(struct curl_slist *list, const char *line);
    void (*slist_free_all)(struct curl_slist *list);
    CURLU *(*url)(void);
    void (*url_cleanup)(CURLU *url);
    CURLUcode (*url_set)(CURLU *url, CURLUPart part, const char *text, unsigned int flags);
    CURLUcode (*url_get)(const CURLU *url, CURLUPart part, char **text, unsigned int flags);
    void (*free)(void *memory);
};

/* STATUS_IO, with the remedy, where it cannot be loaded. It stays mapped. */
enum status_code curl_library_open(struct curl_library *library, struct status *error);
#endif

#endif
