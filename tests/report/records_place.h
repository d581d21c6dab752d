/* Records place: a folder of a test's own, and the name of the records in it. */
#ifndef ASSAY_TESTS_REPORT_RECORDS_PLACE_H
#define ASSAY_TESTS_REPORT_RECORDS_PLACE_H

struct place {
    char *folder;
    char records[128]; /* in the folder; there is no such file yet */
};

/* Setup and teardown of cmocka; *state is a struct place. */
int place_make(void **state);
int place_remove(void **state);

#endif
