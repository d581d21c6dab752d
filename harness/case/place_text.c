/* Place text: one value taken apart. Which map comes of it is planned elsewhere. */
#include "harness/case/place_text.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/size_text.h"
#include "harness/base/text.h"

enum { PLACE_TEXT_BYTES = 512 };

static const char BUFFERS_WORD[] = "offload-buffers";

static const char *const way_names[PLACE_WAY_COUNT] = {
#define PLACE_WAY_NAME(name, word) word,
    PLACE_WAY_TABLE(PLACE_WAY_NAME)
#undef PLACE_WAY_NAME
};

const char *place_way_name(enum place_way way)
{
    return way_names[way];
}

static bool has_budgets(enum place_way way)
{
    return way != PLACE_WAY_CPU_OFFLOAD && way != PLACE_WAY_DISK_OFFLOAD;
}

/* The way that a word of this length names; PLACE_WAY_COUNT if it names none. */
static enum place_way way_find(const char *word, size_t length)
{
    int way = 0;
    while (way < PLACE_WAY_COUNT && (strlen(way_names[way]) != length || strncmp(way_names[way], word, length) != 0)) {
        way++;
    }
    return (enum place_way)way;
}

/* "0" to "99", as a GPU is numbered, or the names of what is no GPU. */
static bool is_device(const char *name)
{
    size_t digits = strspn(name, "0123456789");
    bool is_number = digits > 0 && digits <= 2 && name[digits] == '\0' && (digits == 1 || name[0] != '0');
    return is_number || strcmp(name, "cpu") == 0 || strcmp(name, "disk") == 0;
}

static enum status_code budget_read(char *item, struct place_text *place, struct status *error)
{
    char *size = strchr(item, '=');
    if (size == NULL) {
        return status_set(error, STATUS_INVALID,
                          "place: '%s' is no DEVICE=SIZE; write budgets such as 0=300MB,cpu=1GB, or cpu-offload or "
                          "disk-offload alone",
                          item);
    }
    *size++ = '\0';
    if (!is_device(item)) {
        return status_set(error, STATUS_INVALID, "place: '%s' is no device; write 0, 1, ... for GPUs, or cpu or disk",
                          item);
    }
    for (int i = 0; i < place->budget_count; i++) {
        if (strcmp(place->budgets[i].name, item) == 0) {
            return status_set(error, STATUS_INVALID, "place: '%s' has two budgets; keep one", item);
        }
    }
    if (place->budget_count == PLACE_TEXT_BUDGETS_MAXIMUM) {
        return status_set(error, STATUS_INVALID, "place: more than %d devices; keep as many",
                          PLACE_TEXT_BUDGETS_MAXIMUM);
    }
    struct place_text_budget *budget = &place->budgets[place->budget_count++];
    snprintf(budget->name, sizeof budget->name, "%s", item);
    enum status_code code = size_parse_memory(size, &budget->bytes, error);
    if (code != STATUS_OK) {
        status_prefix(error, "place: %s", budget->name);
    }
    return code;
}

static enum status_code items_read(char *rest, struct place_text *place, struct status *error)
{
    enum status_code code = STATUS_OK;
    while (code == STATUS_OK && rest != NULL) {
        char *item = strsep(&rest, ",");
        if (strcmp(item, BUFFERS_WORD) == 0) {
            if (place->offload_buffers) {
                return status_set(error, STATUS_INVALID, "place: %s stands twice; keep one", BUFFERS_WORD);
            }
            place->offload_buffers = true;
        } else if (!has_budgets(place->way)) {
            return status_set(error, STATUS_INVALID, "place: %s has no budgets, so '%s' says nothing; leave it out",
                              way_names[place->way], item);
        } else {
            code = budget_read(item, place, error);
        }
    }
    bool has_gpu = false;
    for (int i = 0; i < place->budget_count; i++) {
        has_gpu = has_gpu || isdigit((unsigned char)place->budgets[i].name[0]);
    }
    if (code == STATUS_OK && place->budget_count > 0 && !has_gpu) { /* [0=1GB,cpu=1GB] is two texts to YAML */
        return status_set(
            error, STATUS_INVALID,
            "place: no GPU has a budget; write 0=300MB,cpu=1GB, in quotes inside a list or a map of YAML, "
            "or cpu-offload");
    }
    if (code == STATUS_OK && has_budgets(place->way) && place->budget_count == 0) {
        return status_set(error, STATUS_INVALID,
                          "place: no device has a budget; write budgets such as 0=300MB,cpu=1GB");
    }
    return code;
}

enum status_code place_text_parse(const char *text, struct place_text *place, struct status *error)
{
    char copy[PLACE_TEXT_BYTES];
    struct place_text made = {.way = PLACE_WAY_BALANCED};
    if (strlen(text) >= sizeof copy) {
        return status_set(error, STATUS_INVALID, "place: longer than %zu characters; name fewer devices",
                          sizeof copy - 1);
    }
    snprintf(copy, sizeof copy, "%s", text);
    char *rest = copy;
    size_t word = strcspn(copy, ":,"), length = strlen(copy);
    enum place_way way = way_find(copy, word);
    bool is_named = way != PLACE_WAY_COUNT;
    if (!is_named && copy[word] == ':') {
        return status_set(error, STATUS_INVALID,
                          "place: '%.*s' is no strategy; write balanced, balanced-low-0, sequential or exact",
                          (int)word, copy);
    }
    if (is_named && has_budgets(way) != (copy[word] == ':')) {
        return has_budgets(way)
                   ? status_set(error, STATUS_INVALID, "place: %s needs budgets; write %s:0=300MB,cpu=1GB",
                                way_names[way], way_names[way])
                   : status_set(error, STATUS_INVALID, "place: %s has no budgets; write %s alone, or %s,%s",
                                way_names[way], way_names[way], way_names[way], BUFFERS_WORD);
    }
    if (is_named) {
        made.way = way;
        rest = word < length ? copy + word + 1 : NULL;
    }
    enum status_code code = items_read(rest, &made, error);
    if (code == STATUS_OK && place != NULL) {
        *place = made;
    }
    return code;
}
