/* assay lock: the lock of a GPU for a script that measures with several programs. What a lock is, is said in
 * run/device_lock.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/base/clock.h"
#include "harness/cli/command.h"
#include "harness/cli/number_option.h"
#include "harness/cli/output.h"
#include "harness/device/device.h"
#include "harness/run/device_lock.h"
#include "harness/run/run.h"

enum { FILE_NONE = -1, FILE_FIRST = 3, FILE_LAST = 255, POLL_US = 200000 };

static const struct option_row options[] = {
    {"device", OPTION_VALUE, "D", "the GPU: cuda (default) or cuda:N"},
    {"fd", OPTION_VALUE, "N", "lock this descriptor, which is open on the file, and print nothing"},
    {"name", OPTION_FLAG, NULL, "print what the GPU is called in the name of the file, and make none"},
    {"wait-device", OPTION_VALUE, "SECONDS",
     "how long to wait for a GPU that another run has, also as 5m (default: 0)"},
    {"out", OPTION_VALUE, "DIR", "the folder of records that others are told of (default: the current one)"},
    {NULL, OPTION_FLAG, NULL, NULL},
};

/* The name of the lock. STATUS_UNAVAILABLE: there is nothing to lock, and the sentence says why. */
static enum status_code name_find(const char *spec, char name[DEVICE_LOCK_NAME_BYTES], struct status *error)
{
    struct device_identity identity;
    enum status_code code = device_identify(spec, &identity, error);
    if (code == STATUS_OK && strcmp(identity.kind, "cuda") != 0) {
        return status_set(error, STATUS_UNAVAILABLE, "lock: %s is no GPU, and only GPUs have locks", spec);
    }
    if (code == STATUS_OK && !device_lock_name(identity.uuid, identity.pci_bus_id, name)) {
        return status_set(error, STATUS_UNAVAILABLE, "lock: which GPU %s stands for could not be told", spec);
    }
    return code;
}

static enum status_code folder_find(const char **folder, struct status *error)
{
    const char *wish = secure_getenv("ASSAY_LOCK_DIR");
    *folder = wish != NULL && wish[0] != '\0' ? wish : device_lock_folder();
    return *folder != NULL ? STATUS_OK
                           : status_set(error, STATUS_UNAVAILABLE,
                                        "lock: neither /run/lock nor /tmp is a folder that everybody may write into; "
                                        "set ASSAY_LOCK_DIR to one");
}

/* Asks again until it is there or the time is over. */
static enum status_code lock_wait(const char *folder, const char *name, int file, const struct arguments *arguments,
                                  struct status *error)
{
    const char *out = arguments_value(arguments, "out");
    int seconds = 0;
    enum status_code code = seconds_option_read(arguments, "wait-device", RUN_WAIT_SECONDS_MAXIMUM, &seconds, error);
    if (code != STATUS_OK) {
        return code;
    }
    int64_t deadline_ns = clock_ns() + seconds * INT64_C(1000000000);
    for (bool told = false;; told = true) {
        char line[STATUS_LINE_BYTES];
        code = device_lock_hold(folder, name, file, out != NULL ? out : ".", error);
        if (code != STATUS_BUSY) {
            return code;
        }
        if (clock_ns() >= deadline_ns) {
            struct status cause = *error;
            return status_set(error, code, "%.900s; wait for it (--wait-device SECONDS)", status_line(&cause, line));
        }
        if (!told) {
            output_warning("assay: lock: waiting up to %d s: %s", seconds, status_line(error, line));
        }
        usleep(POLL_US);
    }
}

static enum status_code path_print(const char *folder, const char *name, struct status *error)
{
    char path[PATH_MAX];
    struct text text = {0};
    enum status_code code = device_lock_make(folder, name, path, error);
    if (code == STATUS_OK) {
        text_format(&text, "%s\n", path);
        code = output_text(&text, error);
    }
    text_release(&text);
    return code;
}

static enum status_code name_print(const char *name, struct status *error)
{
    struct text text = {0};
    text_format(&text, "%s\n", name);
    enum status_code code = output_text(&text, error);
    text_release(&text);
    return code;
}

/* This program becomes the command, which has the lock as long as it or anything that it starts runs. Returns on
 * failure alone. */
static enum status_code command_become(const struct arguments *arguments, const char *folder, const char *name,
                                       struct status *error)
{
    char path[PATH_MAX];
    size_t count = (size_t)arguments->operand_count;
    enum status_code code = device_lock_make(folder, name, path, error);
    int file = code == STATUS_OK ? open(path, O_RDWR) : FILE_NONE; /* not closed by exec: the lock goes with it */
    if (code == STATUS_OK && file < 0) {
        code = status_set(error, STATUS_IO, "lock: %s: cannot be opened: %s", path, strerror(errno));
    }
    code = code == STATUS_OK ? lock_wait(folder, name, file, arguments, error) : code;
    char **words = code == STATUS_OK ? calloc(count + 1, sizeof *words) : NULL;
    if (code != STATUS_OK || words == NULL) {
        return code == STATUS_OK ? status_set(error, STATUS_OUT_OF_MEMORY, "lock: the host has no memory left") : code;
    }
    for (size_t i = 0; i < count; i++) {
        words[i] = (char *)(uintptr_t)arguments->operands[i]; /* execvp changes none */
    }
    execvp(words[0], words);
    code = status_set(error, STATUS_INVALID, "lock: '%s' cannot be started: %s", words[0], strerror(errno));
    free(words);
    return code;
}

static enum status_code command_check(const struct arguments *arguments, struct status *error)
{
    static const char *const others[] = {"fd", "name"};
    for (size_t i = 0; i < sizeof others / sizeof others[0] && arguments->operand_count > 0; i++) {
        if (arguments_value(arguments, others[i]) != NULL) {
            return status_set(error, STATUS_INVALID,
                              "lock: --%s is for scripts, and a command holds its lock itself; "
                              "leave one out",
                              others[i]);
        }
    }
    return STATUS_OK;
}

static enum status_code lock_run(const struct arguments *arguments, enum exit_code *exit_code, struct status *error)
{
    const char *spec = arguments_value(arguments, "device");
    const char *folder = NULL;
    char name[DEVICE_LOCK_NAME_BYTES];
    int file = FILE_NONE;
    (void)exit_code;
    enum status_code code = number_option_read(arguments, "fd", FILE_FIRST, FILE_LAST, &file, error);
    code = code == STATUS_OK ? command_check(arguments, error) : code;
    if (code == STATUS_OK) {
        code = name_find(spec != NULL ? spec : "cuda", name, error);
    }
    if (code == STATUS_OK && arguments_value(arguments, "name") != NULL) {
        return name_print(name, error);
    }
    if (code == STATUS_OK) {
        code = folder_find(&folder, error);
    }
    if (code != STATUS_OK || arguments->operand_count > 0) {
        return code == STATUS_OK ? command_become(arguments, folder, name, error) : code;
    }
    return file == FILE_NONE ? path_print(folder, name, error) : lock_wait(folder, name, file, arguments, error);
}

const struct command command_lock = {
    .name = "lock",
    .operands = "[PROGRAM]",
    .summary = "hold a GPU's lock for a command or a whole script",
    .details =
        "With a program: takes the lock and becomes the program. All that it starts has the GPU, and others wait or\n"
        "are refused until the last of it has ended; the exit code is the program's.\n"
        "\n"
        "  assay lock --wait-device 5m -- python train.py\n"
        "\n"
        "Without one: prints the path of the file that is the lock of a GPU. A script opens it and locks its\n"
        "descriptor; all that it starts then has the GPU, and others wait or are refused until the last of them\n"
        "has ended:\n"
        "\n"
        "  lock=$(assay lock --device cuda:0) && exec 9<\"$lock\" &&\n"
        "      assay lock --device cuda:0 --fd 9 --wait-device 5m\n"
        "\n"
        "Exit code 5: another run has the GPU. 77: there is nothing to lock. To let go: exec 9<&-.\n",
    .options = options,
    .operand_minimum = 0,
    .operand_maximum = OPERAND_COUNT_MAXIMUM,
    .run = lock_run,
};
