/* Suites written as text in a test. */
#ifndef ASSAY_TESTS_SUITE_SUITE_TEXT_H
#define ASSAY_TESTS_SUITE_SUITE_TEXT_H

#include "harness/suite/suite.h"

#define SUITE_CATALOGUE "models/catalogue"
#define SUITE_HEAD      "version: 1\nname: t\n"

/* The text as if it were a file "s.yaml". */
enum status_code suite_text_read(const char *text, struct suite *suite, struct status *error);

/* The same; a text with a mistake fails the test. */
struct suite suite_text_open(const char *text);

/* Its cases have these ids, in this order, and there are no others. */
void suite_ids_check(const struct suite *suite, const char *const *ids, int count);

#endif
