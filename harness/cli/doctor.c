/* Doctor: findings are kept here. Nothing is looked at. */
#include "harness/cli/doctor.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "harness/base/status.h"

const char *finding_state_word(enum finding_state state)
{
    static const char *const words[] = {
#define FINDING_STATE_WORD(name, word) word,
        FINDING_STATE_TABLE(FINDING_STATE_WORD)
#undef FINDING_STATE_WORD
    };
    return words[state];
}

void finding_add(struct doctor *doctor, enum finding_area area, enum finding_state state, const char *topic,
                 const char *seen, ...)
{
    char words[STATUS_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, seen);
    vsnprintf(words, sizeof words, seen, arguments);
    va_end(arguments);
    const char *kept = arena_copy(&doctor->arena, words);
    if (doctor->count < FINDINGS_MAXIMUM && kept != NULL) {
        doctor->findings[doctor->count++] =
            (struct finding){.area = area, .state = state, .topic = topic, .seen = kept};
    }
}

void remedy_set(struct doctor *doctor, const char *remedy, ...)
{
    char words[STATUS_TEXT_BYTES];
    va_list arguments;
    va_start(arguments, remedy);
    vsnprintf(words, sizeof words, remedy, arguments);
    va_end(arguments);
    if (doctor->count > 0) {
        doctor->findings[doctor->count - 1].remedy = arena_copy(&doctor->arena, words);
    }
}

void finding_of_status(struct doctor *doctor, enum finding_area area, enum finding_state state, const char *topic,
                       const char *words)
{
    const char *remedy = NULL;
    for (const char *at = strstr(words, "; "); at != NULL; at = strstr(at + 2, "; ")) {
        remedy = at;
    }
    int length = remedy != NULL ? (int)(remedy - words) : (int)strlen(words);
    finding_add(doctor, area, state, topic, "%.*s", length, words);
    if (remedy != NULL) {
        remedy_set(doctor, "%s", remedy + 2);
    }
}
