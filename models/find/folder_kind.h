/* Kinds of folders that people take for models: adapters of PEFT, pipelines of diffusers, and the modules of
 * sentence-transformers where the model lies a folder deeper. Each is known by one file. */
#ifndef ASSAY_FIND_FOLDER_KIND_H
#define ASSAY_FIND_FOLDER_KIND_H

#include "harness/base/status.h"

/* The name of the file of each kind, in the order in which they are looked for; NULL past the end. */
const char *folder_kind_file(int kind);

/* STATUS_INVALID: what name is, by the file of its kind at path, and which model of it can be named instead. */
enum status_code folder_kind_refuse(int kind, const char *name, const char *path, struct status *error);

/* The same of a folder, or of such a file in it, that is on this machine. STATUS_OK if it is of none of these kinds. */
enum status_code folder_kind_check(const char *name, struct status *error);

#endif
