/* Records place: made before a test and removed behind it. What is in the records is written by records_fixture.c. */
#include "tests/report/records_place.h"

#include <stdio.h>

#include "tests/report/records_fixture.h"

int place_make(void **state)
{
    static struct place place;
    place.folder = folder_fixture_make();
    snprintf(place.records, sizeof place.records, "%s/records.jsonl", place.folder);
    *state = &place;
    return 0;
}

int place_remove(void **state)
{
    struct place *place = *state;
    folder_fixture_remove(place->folder);
    return 0;
}
