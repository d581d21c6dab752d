/* Hub name: what names a repository of the hub, a revision of it and a file in it. */
#ifndef ASSAY_HUB_HUB_NAME_H
#define ASSAY_HUB_HUB_NAME_H

#include <stdbool.h>

enum { HUB_REPOSITORY_BYTES = 200, HUB_REVISION_BYTES = 200, HUB_FILE_BYTES = 512, HUB_COMMIT_BYTES = 65 };

struct hub_name {
    char repository[HUB_REPOSITORY_BYTES]; /* "OWNER/NAME", or "NAME" */
    char revision[HUB_REVISION_BYTES];     /* a branch, a tag, "refs/pr/1" or a commit; "main" where none was written */
    char file[HUB_FILE_BYTES];             /* "FILE.gguf", "FOLDER/FILE.safetensors"; "": none was written */
    bool has_owner;
    bool is_address; /* it was written with hf:// before it: nothing else was meant */
};

/* From [hf://][OWNER/]NAME[@REVISION][/FILE]. A repository's name is what huggingface_hub's validate_repo_id takes:
 * parts of 1 to 96 ASCII letters, digits, '-', '_' and '.', beginning and ending with a letter, a digit or '_', without
 * "--" and "..", not ending in ".git". A file needs an owner before it and ends in .gguf or .safetensors. False,
 * and *name untouched, where the text is nothing of that kind. */
bool hub_name_read(const char *text, struct hub_name *name);

/* Whether text is a path within a repository, or a revision: parts of printable ASCII between slashes, none of them
 * empty, "." or "..", none with a backslash. */
bool hub_path_is_plain(const char *text);

/* Whether text is a commit: 40 (or 64) hexadecimal digits. */
bool hub_commit_is_whole(const char *text);

#endif
