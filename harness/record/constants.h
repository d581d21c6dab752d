/* Constants: what a class of devices takes besides the segments of the allocator, and no formula gives: the context,
 * and what libraries and kernels come to hold while they run. Measured on at most ten named cases (`assay calibrate`),
 * kept under results/reference/, read here. The file is described in docs/FORMAT.md, section "Constants".
 *
 * Worked number: a context of 17,555,456 bytes, 692,224,000 bytes of segments and a growth of 1,187,840 bytes make a
 * footprint of 710,967,296 bytes. */
#ifndef ASSAY_RECORD_CONSTANTS_H
#define ASSAY_RECORD_CONSTANTS_H

#include <stdbool.h>
#include <stdint.h>

#include "harness/base/json.h"
#include "harness/base/status.h"
#include "harness/base/text.h"

#define CONSTANTS_SCHEMA_NAME "assay-constants"
enum { CONSTANTS_SCHEMA_MAJOR = 1, CONSTANTS_SCHEMA_MINOR = 0 };

enum {
    CONSTANTS_CASES_MAXIMUM = 10,
    CONSTANTS_MODES_MAXIMUM = 8,
    CONSTANTS_NAME_BYTES = 128,
    CONSTANTS_ID_BYTES = 256,
    CONSTANTS_PATH_BYTES = 1024,
    CONSTANTS_HASH_BYTES = 17
};

/* No figure of a file is beyond this on either side of 0. */
#define CONSTANTS_BYTES_MAXIMUM (INT64_C(1) << 60)

/* Readings in bytes; a growth may be negative. The median of an even number is the mean of the two in the middle,
 * rounded towards the smaller one. */
struct constants_spread {
    bool known; /* false: nobody measured it; the rest is then 0 */
    int64_t median, minimum, maximum, count;
};

/* Process: the driver's figure for this process, on the host its resident set. Device: what is used on the whole
 * device. */
struct constants_levels {
    struct constants_spread process, device;
};

struct constants_growth {
    char mode[16]; /* as in records: "load", "infer", ... */
    struct constants_levels levels;
};

struct constants_device {
    char kind[CONSTANTS_NAME_BYTES], name[CONSTANTS_NAME_BYTES];      /* what the constants hold for; name "": none */
    int64_t thread_count;                                             /* of a host, which have buffers each; 0: a GPU */
    char target[CONSTANTS_NAME_BYTES];                                /* row of tape/target.h */
    char driver[CONSTANTS_NAME_BYTES], runtime[CONSTANTS_NAME_BYTES]; /* they were measured under; "": none */
};

struct constants {
    struct constants_device device;
    char tool_version[CONSTANTS_NAME_BYTES];
    char tool_revision[CONSTANTS_NAME_BYTES]; /* of the sources of that version; "": unknown, or several */
    struct constants_levels context;          /* device: less what was used before the context was made */
    struct constants_growth growth[CONSTANTS_MODES_MAXIMUM];
    int growth_count;
    char cases[CONSTANTS_CASES_MAXIMUM][CONSTANTS_ID_BYTES]; /* ids of the cases that calibrated them, sorted */
    int case_count;
    /* Of the file that was read, "" where none was: its path as it was opened; the FNV-1a of its content, 64 bits in
     * hexadecimal, whatever its white space. */
    char path[CONSTANTS_PATH_BYTES], hash[CONSTANTS_HASH_BYTES];
};

/* Of a mode; NULL where no case of it calibrated. */
const struct constants_levels *constants_growth_of(const struct constants *constants, const char *mode);

/* Whether the case of this id calibrated them, and so cannot judge them. */
bool constants_have_case(const struct constants *constants, const char *id);

/* Whether they were measured on a device of this kind and name, with as many threads. */
bool constants_are_of(const struct constants *constants, const char *kind, const char *name, int64_t thread_count);

/* What a device runs under, which constants are held against. NULL or "": unknown. */
struct constants_place {
    const char *driver, *runtime, *tool_version;
};

/* What a device of that kind calls the software below it: "kernel" of a host, else "driver". */
const char *driver_word(const char *kind);

/* Appends "the constants were measured under driver 570.124.06, not 580.65.06, and program 0.1.0, not 0.2.0", where a
 * driver, a runtime or a program is another one, or is known on one side alone: then a context and the libraries in it
 * may have another size, and nothing should be judged by them. False, and nothing appended, where there is no such
 * thing. */
bool constants_mismatch_append(struct text *text, const struct constants *constants,
                               const struct constants_place *place);

/* Appends "the constants were measured by revision 4692a72 of program 0.1.0, and this is a35b9e5", where both are known
 * and not equal. They are judged all the same: docs/FORMAT.md, Constants. False, and nothing appended, where it is not
 * so. */
bool constants_revision_append(struct text *text, const struct constants *constants, const char *revision);

/* "cuda 'NVIDIA H200'", "host 'a CPU' with 2 threads". Returns words. */
enum { CONSTANTS_WORDS_BYTES = 320 };
const char *constants_device_words(const char *kind, const char *name, int64_t thread_count,
                                   char words[CONSTANTS_WORDS_BYTES]);

/* "cuda 'NVIDIA H200', measured under driver 570.124.06, runtime CUDA 12.8, program 0.1.0 (PATH)": what constants that
 * were read are of. */
void constants_origin_append(struct text *text, const struct constants *constants);

/* {"path", "hash", "kind", "name", "threads", "driver", "runtime", "program", "revision"}, null where not known. NULL
 * where memory ran out. */
struct json *constants_origin_json(const struct constants *constants);

/* The folder of a class of devices under results/reference: kind and name in lower case, everything but letters and
 * digits a dash; a GPU by its name alone. cuda, "NVIDIA H200" gives "nvidia-h200"; host, "Intel(R) Xeon(R) Processor"
 * gives "host-intel-r-xeon-r-processor". Returns slug. */
const char *device_slug(const char *kind, const char *name, char slug[CONSTANTS_NAME_BYTES]);

/* Whether folder (results/reference) has records of this class of devices, whether or not it has constants of it. By
 * name and not by architecture: what a driver keeps depends on memory, multiprocessors and MIG's share of them, too. */
bool device_class_is_measured(const char *folder, const char *kind, const char *name);

/* The note of a verdict on a figure of the driver that is beyond its tolerance, and that nobody asked to be judged by
 * it (--note-calibrated). */
#define CONSTANTS_NOTED "beyond calibrated-gpu, and not judged: --note-calibrated"

/* The document of a constants file. NULL where memory ran out. */
struct json *constants_to_json(const struct constants *constants);

/* Reads a file of at most 1 MiB. STATUS_IO: it cannot be read. STATUS_INVALID: "FILE:LINE:COLUMN: what is wrong; what
 * would be right" for another schema or a newer major version, a member of another kind, a spread out of order, more
 * cases or modes than there may be, a figure beyond 2^60 bytes. Members that it does not know are left alone. */
enum status_code constants_read(const char *path, struct constants *constants, struct status *error);

/* Those of a device, out of folder/SLUG/constants.json. *found is false, which is no error, where there is no such file
 * or it is of another device. */
enum status_code constants_find(const char *folder, const char *kind, const char *name, int64_t thread_count,
                                struct constants *constants, bool *found, struct status *error);

#endif
