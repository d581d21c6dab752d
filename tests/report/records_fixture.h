/* Records fixture: record files with plausible figures, made for tests of the report. Nothing here was measured. */
#ifndef ASSAY_TESTS_RECORDS_FIXTURE_H
#define ASSAY_TESTS_RECORDS_FIXTURE_H

enum records_kind {
    RECORDS_SMALL,   /* a load, a training step that fails a verdict, an out-of-memory case, a skipped one */
    RECORDS_LARGE,   /* 40 cases of ten models in three modes, one out of memory, one skipped */
    RECORDS_HOSTILE, /* names with every character that some format acts on */
    RECORDS_NULLS,   /* readings that could not be taken, predictions of another kind, zeros and a huge size */
    RECORDS_EMPTY    /* a run without cases */
};

/* Writes the records to path; the test fails where that is not possible. */
void records_fixture_write(const char *path, enum records_kind kind);

/* Appends one line. */
void records_fixture_append(const char *path, const char *line);

/* Appends a run line that selected so many cases, and a small case line; allocated_bytes is an integer or "null". */
void records_fixture_run(const char *path, int selected_count);
void records_fixture_case(const char *path, const char *id, const char *status, const char *allocated_bytes);
/* The same with an object of estimates and a list of verdicts, as JSON. */
void records_fixture_estimates(const char *path, const char *id, const char *status, const char *allocated_bytes,
                               const char *estimates, const char *verdicts);

/* The same in a mode of its own, without verdicts. */
void records_fixture_moded(const char *path, const char *id, const char *mode, const char *allocated_bytes,
                           const char *estimates);

/* A new empty folder under /tmp; the name is released by folder_fixture_remove, which empties it, too. */
char *folder_fixture_make(void);
void folder_fixture_remove(char *folder);

#endif
