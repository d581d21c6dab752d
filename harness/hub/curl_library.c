/* libcurl: loading it and finding its functions. What is asked with them stands in hub_transfer.c. */
#include "harness/hub/curl_library.h"

#ifdef ASSAY_HAS_CURL

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>

#include "harness/base/library_symbol.h"

enum status_code curl_library_open(struct curl_library *library, struct status *error)
{
    struct curl_library found = {0};
    void *file = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (file == NULL) {
        return status_set(error, STATUS_IO,
                          "libcurl.so.4 cannot be loaded (%s); install it, on Debian and Ubuntu with apt-get install "
                          "libcurl4",
                          dlerror());
    }
    bool whole = symbol_find(file, "curl_easy_init", &found.easy_init) &&
                 symbol_find(file, "curl_easy_setopt", &found.easy_setopt) &&
                 symbol_find(file, "curl_easy_perform", &found.easy_perform) &&
                 symbol_find(file, "curl_easy_getinfo", &found.easy_getinfo) &&
                 symbol_find(file, "curl_easy_cleanup", &found.easy_cleanup) &&
                 symbol_find(file, "curl_easy_strerror", &found.easy_strerror) &&
                 symbol_find(file, "curl_slist_append", &found.slist_append) &&
                 symbol_find(file, "curl_slist_free_all", &found.slist_free_all) &&
                 symbol_find(file, "curl_url", &found.url) &&
                 symbol_find(file, "curl_url_cleanup", &found.url_cleanup) &&
                 symbol_find(file, "curl_url_set", &found.url_set) &&
                 symbol_find(file, "curl_url_get", &found.url_get) && symbol_find(file, "curl_free", &found.free);
    if (!whole) {
        return status_set(error, STATUS_IO, "libcurl.so.4 is older than 7.62; install a newer one");
    }
    *library = found;
    return STATUS_OK;
}

#endif
