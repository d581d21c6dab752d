/* Case line: the record of one attempt, from what the child sent and how it ended. Internal to harness/run. */
#ifndef ASSAY_RUN_CASE_LINE_H
#define ASSAY_RUN_CASE_LINE_H

#include "harness/run/child.h"

enum { CASE_REASON_BYTES = 512 };

/* How a child ended, before any verdict. */
struct case_ending {
    enum case_status status;
    char reason[CASE_REASON_BYTES]; /* "": none */
};

/* What a child that has ended sent, its members in one object, and how it ended; its own word counts only if it
 * ended well. The caller releases *fields, which is NULL if memory ran out. */
struct case_ending case_ending_read(const struct case_job *job, const struct child *child, struct json **fields);

/* The case line of a child that has ended, with its verdicts; status receives how the case ended. Whatever the child
 * sent or did not send, the line passes record_line_check. The caller releases *line. STATUS_OUT_OF_MEMORY. */
enum status_code case_line_make(const struct case_job *job, const struct child *child, struct json **line,
                                enum case_status *status, struct status *error);

/* Whether somebody killed the child or a signal that asks for an end came to it, as when all processes of a job are
 * ended at once: then the line says nothing about the case. */
bool case_went_down(const struct json *line);

#endif
