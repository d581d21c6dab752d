/* Records fixture: record files with plausible figures, made for tests of the report. Nothing here was measured. */
#ifndef ASSAY_TESTS_RECORDS_FIXTURE_H
#define ASSAY_TESTS_RECORDS_FIXTURE_H

enum records_kind {
    RECORDS_SMALL,   /* a load, a training step that fails a verdict, an out-of-memory case, a skipped one */
    RECORDS_LARGE,   /* 40 cases of ten models in three modes, one out of memory, one skipped */
    RECORDS_HOSTILE, /* names with every character that some format acts on */
    RECORDS_NULLS,   /* readings that could not be taken, members that are missing or of another kind */
    RECORDS_EMPTY    /* a run without cases */
};

/* Writes the records to path; the test fails where that is not possible. */
void records_fixture_write(const char *path, enum records_kind kind);

/* Appends one line. */
void records_fixture_append(const char *path, const char *line);

/* A new empty folder under /tmp; the name is released by folder_fixture_remove, which empties it, too. */
char *folder_fixture_make(void);
void folder_fixture_remove(char *folder);

#endif
