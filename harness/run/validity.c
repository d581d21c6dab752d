/* Validity: one reading after the other, each against what was before it. */
#include "harness/run/validity.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "harness/base/size.h"

__attribute__((format(printf, 3, 4))) static void reason_note(struct validity *validity, enum disturbance disturbance,
                                                              const char *format, ...)
{
    char *reason = validity->reasons[disturbance];
    if (reason[0] != '\0') {
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, DISTURBANCE_TEXT_BYTES, format, arguments);
    va_end(arguments);
}

static void foreign_look(struct validity *validity, const char *stage, const struct device_disturbance *now)
{
    char number[32] = "", who[96], size[SIZE_TEXT_BYTES], held[96];
    if (validity->shared || !now->foreign_valid) {
        return;
    }
    if (now->foreign_count == 0) {
        if (now->foreign_gone_count > 0) {
            reason_note(validity, DISTURBANCE_FOREIGN,
                        "%d of the processes that were on the GPU before the context was made had left at the end of "
                        "stage %s",
                        now->foreign_gone_count, stage);
        }
        return;
    }
    if (now->foreign_pid >= 0) {
        snprintf(number, sizeof number, now->foreign_count == 1 ? " (%" PRId64 ")" : " (%" PRId64 " is one)",
                 now->foreign_pid);
    }
    if (now->foreign_count == 1) {
        snprintf(who, sizeof who, "another process%s", number);
    } else {
        snprintf(who, sizeof who, "%d other processes%s", now->foreign_count, number);
    }
    if (now->foreign_bytes < 0) {
        snprintf(held, sizeof held, "held bytes of the GPU, how many is not told,");
    } else {
        snprintf(held, sizeof held, "held %" PRId64 " bytes (%s) of the GPU", now->foreign_bytes,
                 size_format(now->foreign_bytes, size));
    }
    reason_note(validity, DISTURBANCE_FOREIGN, "%s %s at the end of stage %s", who, held, stage);
}

static void mode_look(struct validity *validity, enum disturbance disturbance, const char *name, const char *stage,
                      enum device_mode before, enum device_mode now)
{
    if (before != DEVICE_MODE_UNKNOWN && now != DEVICE_MODE_UNKNOWN && before != now) {
        reason_note(validity, disturbance, "%s was switched %s before the end of stage %s", name,
                    now == DEVICE_MODE_ON ? "on" : "off", stage);
    }
}

static void swap_look(struct validity *validity, const char *stage, const struct device_disturbance *before,
                      const struct device_disturbance *now)
{
    char size[SIZE_TEXT_BYTES];
    if (now->swap_valid && now->swap_bytes > 0) {
        reason_note(validity, DISTURBANCE_SWAP,
                    "%" PRId64 " bytes (%s) of the process were swapped out at the end of stage %s, and are missing in "
                    "what is resident",
                    now->swap_bytes, size_format(now->swap_bytes, size), stage);
    }
    if (before->swapped_out_valid && now->swapped_out_valid && now->swapped_out_bytes > before->swapped_out_bytes) {
        int64_t bytes = now->swapped_out_bytes - before->swapped_out_bytes;
        reason_note(validity, DISTURBANCE_SWAPPED_OUT,
                    "the machine swapped out %" PRId64 " bytes (%s) up to the end of stage %s, perhaps of this process",
                    bytes, size_format(bytes, size), stage);
    }
}

static void failure_look(struct validity *validity, enum disturbance disturbance, const char *name, const char *stage,
                         bool was_valid, bool is_valid)
{
    if (was_valid && !is_valid) {
        reason_note(validity, disturbance, "%s could not be read at the end of stage %s, as they were before", name,
                    stage);
    }
}

/* The last one that was told stays, for a change that comes to light later. */
static void mode_keep(enum device_mode *mode, enum device_mode before)
{
    *mode = *mode == DEVICE_MODE_UNKNOWN ? before : *mode;
}

void validity_add(struct validity *validity, enum stage stage, const struct device_reading *reading)
{
    const char *name = stage_name(stage);
    const struct device_disturbance *before = &validity->previous.disturbance, *now = &reading->disturbance;
    enum device_mode ecc_mode = before->ecc_mode, mig_mode = before->mig_mode;
    foreign_look(validity, name, now);
    mode_look(validity, DISTURBANCE_ECC, "ECC", name, before->ecc_mode, now->ecc_mode);
    mode_look(validity, DISTURBANCE_MIG, "MIG", name, before->mig_mode, now->mig_mode);
    swap_look(validity, name, before, now);
    failure_look(validity, DISTURBANCE_DEVICE_READING, "the bytes used on the device", name,
                 validity->previous.device_valid, reading->device_valid);
    failure_look(validity, DISTURBANCE_PROCESS_READING, "the bytes of the process", name,
                 validity->previous.process_valid, reading->process_valid);
    validity->previous = *reading;
    mode_keep(&validity->previous.disturbance.ecc_mode, ecc_mode);
    mode_keep(&validity->previous.disturbance.mig_mode, mig_mode);
    validity->reading_count++;
}

void validity_join(struct validity *validity, const struct validity *other, const char *name)
{
    for (int i = 0; i < DISTURBANCE_COUNT; i++) {
        if (other->reasons[i][0] != '\0') {
            reason_note(validity, (enum disturbance)i, "on %s: %s", name, other->reasons[i]);
        }
    }
    validity->reading_count += other->reading_count;
}

struct json *validity_json(const struct validity *validity)
{
    if (validity->reading_count == 0) {
        return json_null_new();
    }
    struct json *object = json_object_new(), *reasons = json_array_new();
    bool made = reasons != NULL, valid = true;
    for (int i = 0; made && i < DISTURBANCE_COUNT; i++) {
        if (validity->reasons[i][0] != '\0') {
            valid = false;
            made = json_append(reasons, json_string_new(validity->reasons[i]));
        }
    }
    bool judged = json_set(object, "valid", json_boolean_new(valid));
    bool told = json_set(object, "reasons", json_made(reasons, made));
    return json_made(object, judged && told);
}
