/* Settings hash: whether two readings of a suite would run and judge its cases alike. Internal to harness/suite. */
#ifndef ASSAY_SUITE_SETTINGS_HASH_H
#define ASSAY_SUITE_SETTINGS_HASH_H

#include "harness/suite/suite.h"

/* FNV-1a in hexadecimal, of everything in the suite but its name, description, comparison and the ids of its cases. */
void settings_hash_write(const struct suite *suite, char hash[17]);

#endif
