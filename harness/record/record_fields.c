/* Record fields: which members a line has and of which kind. Not how a line is checked (record_schema.c), nor what the
 * figures mean (docs/FORMAT.md). */
#include "harness/record/record_fields.h"

#include <stddef.h>

#include "harness/case/case_field.h"

#include "harness/record/level.h"

const struct field RECORD_RUN_FIELDS[] = {
    {"schema", KIND_OBJECT, true},
    {"schema.name", KIND_STRING, true},
    {"schema.major", KIND_INTEGER, true},
    {"schema.minor", KIND_INTEGER, true},
    {"run_id", KIND_STRING, true},
    {"started", KIND_STRING, true},
    {"tool", KIND_OBJECT, false},
    {"tool.revision", KIND_STRING | KIND_NULL, false},
    {"suite", KIND_OBJECT, true},
    {"suite.name", KIND_STRING, true},
    {"suite.path", KIND_STRING, true},
    {"suite.plan_hash", KIND_STRING, true},
    {"suite.case_count", KIND_INTEGER, true},
    {"suite.selected_count", KIND_INTEGER, true},
    {"suite.compare", KIND_OBJECT | KIND_NULL, false},
    {"suite.compare.*", KIND_OBJECT | KIND_STRING, false},
    {"suite.compare.*.bytes", KIND_INTEGER, false},
    {"suite.compare.*.fraction", KIND_NUMBER, false},
    {"devices", KIND_ARRAY, false},
    {"devices.#", KIND_OBJECT, false},
    {"devices.#.spec", KIND_STRING, true},
    {"devices.#.kind", KIND_STRING, true},
    {"devices.#.name", KIND_STRING | KIND_NULL, false},
    {"devices.#.threads", KIND_INTEGER | KIND_NULL, false},
    {"devices.#.driver", KIND_STRING | KIND_NULL, false},
    {"devices.#.runtime", KIND_STRING | KIND_NULL, false},
    {"devices.#.libraries", KIND_ARRAY | KIND_NULL, false},
    {"devices.#.libraries.#", KIND_STRING, false},
    {"device_lock", KIND_OBJECT | KIND_NULL, false},
    {"device_lock.shared", KIND_BOOLEAN, true},
    {"device_lock.paths", KIND_ARRAY, true},
    {"device_lock.paths.#", KIND_STRING, false},
    {"device_lock.note", KIND_STRING | KIND_NULL, true},
    {"hardware", KIND_OBJECT | KIND_NULL, false},
    {NULL, 0, false},
};

/* What the readings of device and process have in common (harness/run/reading_items.h). */
#define ITEM_FIELDS(path)                                                                                              \
    {path, KIND_OBJECT | KIND_NULL, false}, {path ".context_bytes", KIND_INTEGER | KIND_NULL, true},                   \
        {path ".kernel_bytes", KIND_INTEGER | KIND_NULL, true},                                                        \
        {path ".library_bytes", KIND_INTEGER | KIND_NULL, true},                                                       \
        {path ".workspace_bytes", KIND_INTEGER | KIND_NULL, true},                                                     \
        {path ".segment_bytes", KIND_INTEGER | KIND_NULL, true},                                                       \
        {path ".remainder_bytes", KIND_INTEGER | KIND_NULL, true},

/* The rows of one level: its figure at the end of a stage, and the highest where there is one. */
enum { FIELD_OPTIONAL = false, FIELD_REQUIRED = true };
#define LEVEL_FIELD(key, need)             {key, KIND_INTEGER | KIND_NULL, FIELD_##need},
#define LEVEL_FIELDS_END(path, stem, need) LEVEL_FIELD(path "." LEVEL_KEY(stem), need)
#define LEVEL_FIELDS_PEAK(path, stem, need)                                                                            \
    LEVEL_FIELDS_END(path, stem, need) LEVEL_FIELD(path "." LEVEL_PEAK_KEY(stem), need)
#define STAGE_LEVEL(name, stem, peak, words, need)   LEVEL_FIELDS_##peak("stages.*", stem, need)
#define PLACE_LEVEL(name, stem, peak, words, need)   LEVEL_FIELDS_##peak("places.#.stages.*", stem, need)
#define CONTEXT_LEVEL(name, stem, peak, words, need) LEVEL_FIELDS_END("context", stem, need)

/* The fields of a case but its model. */
#define IDENTITY_KIND_NAME   KIND_STRING
#define IDENTITY_KIND_COUNT  KIND_INTEGER
#define IDENTITY_KIND_SWITCH KIND_BOOLEAN
#define IDENTITY_KIND_TEXT   KIND_STRING
#define IDENTITY_FIELD(name, member, kind, record, ...)                                                                \
    {"identity." #member, IDENTITY_KIND_##kind | (RECORD_##record == RECORD_ALWAYS ? 0 : KIND_NULL),                   \
     RECORD_##record == RECORD_ALWAYS || RECORD_##record == RECORD_NULLABLE},

const struct field RECORD_CASE_FIELDS[] = {
    {"id", KIND_STRING, true},
    {"family", KIND_STRING | KIND_NULL, false},
    {"identity", KIND_OBJECT, true},
    {"identity.model", KIND_STRING, true},
    CASE_FIELD_TABLE(IDENTITY_FIELD) /* each row ends with a comma */
    {"status", KIND_STRING, true},
    {"reason", KIND_STRING | KIND_NULL, true},
    {"attempt", KIND_INTEGER, true},
    {"basis", KIND_STRING | KIND_NULL, false},
    {"duration_s", KIND_NUMBER | KIND_NULL, true},
    {"stages", KIND_OBJECT | KIND_NULL, true},
    {"stages.*", KIND_OBJECT, false},
    LEVEL_TABLE(STAGE_LEVEL) /* requested_bytes, requested_bytes_peak, allocated_bytes, ... */
    ITEM_FIELDS("stages.*.device_items"){"stages.*.device_items.baseline_bytes", KIND_INTEGER | KIND_NULL, false},
    ITEM_FIELDS("stages.*.process_items"){"stages.*.seconds", KIND_NUMBER | KIND_NULL, true},
    {"stages.*.categories_at_peak", KIND_OBJECT | KIND_NULL, true},
    {"stages.*.categories_at_peak.*", KIND_INTEGER | KIND_NULL, false},
    {"context", KIND_OBJECT | KIND_NULL, true},
    LEVEL_READING_TABLE(CONTEXT_LEVEL) LEVEL_NOTED_TABLE(CONTEXT_LEVEL) /* device_bytes, process_bytes, ... */
    {"context.baseline_bytes", KIND_INTEGER | KIND_NULL, false},
    {"validity", KIND_OBJECT | KIND_NULL, false},
    {"validity.valid", KIND_BOOLEAN, true},
    {"validity.reasons", KIND_ARRAY, true},
    {"validity.reasons.#", KIND_STRING, false},
    {"peak_stage", KIND_STRING | KIND_NULL, true},
    {"categories_at_peak", KIND_OBJECT | KIND_NULL, true},
    {"categories_at_peak.*", KIND_INTEGER | KIND_NULL, false},
    {"causes", KIND_OBJECT | KIND_NULL, true},
    {"causes.*", KIND_OBJECT | KIND_NULL, false},
    {"causes.*.rounding_bytes", KIND_INTEGER | KIND_NULL, true},
    {"causes.*.unsplit_remainder_bytes", KIND_INTEGER | KIND_NULL, true},
    {"causes.*.unsplit_remainder_count", KIND_INTEGER | KIND_NULL, true},
    {"causes.*.cached_bytes", KIND_INTEGER | KIND_NULL, true},
    {"saved_for_backward_bytes", KIND_INTEGER | KIND_NULL, true},
    {"attention_backend", KIND_STRING | KIND_NULL, false},
    {"loss", KIND_NUMBER | KIND_NULL, true},
    {"sequence_hash", KIND_STRING | KIND_NULL, true},
    {"oom", KIND_OBJECT | KIND_NULL, true},
    {"oom.wanted_bytes", KIND_INTEGER | KIND_NULL, true},
    {"oom.free_bytes", KIND_INTEGER | KIND_NULL, false},
    {"oom.held_bytes", KIND_INTEGER | KIND_NULL, true},
    {"oom.stage", KIND_STRING | KIND_NULL, true},
    {"oom.label", KIND_STRING | KIND_NULL, true},
    {"oom.place", KIND_STRING | KIND_NULL, false},
    {"constants", KIND_OBJECT | KIND_NULL, false},
    {"constants.path", KIND_STRING | KIND_NULL, true},
    {"constants.hash", KIND_STRING | KIND_NULL, true},
    {"constants.kind", KIND_STRING | KIND_NULL, true},
    {"constants.name", KIND_STRING | KIND_NULL, true},
    {"constants.driver", KIND_STRING | KIND_NULL, true},
    {"constants.revision", KIND_STRING | KIND_NULL, false},
    {"constants.calibrated", KIND_BOOLEAN, true},
    {"constants.mismatch", KIND_STRING | KIND_NULL, false},
    {"estimates", KIND_OBJECT | KIND_NULL, true},
    {"estimates.*", KIND_OBJECT | KIND_NULL, false},
    {"verdicts", KIND_ARRAY, true},
    {"verdicts.#", KIND_OBJECT, false},
    {"verdicts.#.estimator", KIND_STRING, true},
    {"verdicts.#.quantity", KIND_STRING, true},
    {"verdicts.#.predicted", KIND_INTEGER | KIND_NULL, true},
    {"verdicts.#.measured", KIND_INTEGER | KIND_NULL, true},
    {"verdicts.#.stage", KIND_STRING | KIND_NULL, false},
    {"verdicts.#.signed_error_bytes", KIND_INTEGER | KIND_NULL, true},
    {"verdicts.#.signed_error", KIND_NUMBER | KIND_NULL, true},
    {"verdicts.#.tolerance", KIND_OBJECT | KIND_NULL, true},
    {"verdicts.#.tolerance.bytes", KIND_INTEGER, false},
    {"verdicts.#.tolerance.fraction", KIND_NUMBER, false},
    {"verdicts.#.pass", KIND_BOOLEAN | KIND_NULL, true},
    {"verdicts.#.note", KIND_STRING | KIND_NULL, false},
    {"verdicts.#.place", KIND_STRING | KIND_NULL, false},
    {"proof", KIND_OBJECT | KIND_NULL, false},
    {"proof.granule_bytes", KIND_INTEGER | KIND_NULL, true},
    {"proof.least_bytes", KIND_INTEGER | KIND_NULL, true},
    {"proof.larger_run", KIND_BOOLEAN | KIND_NULL, true},
    {"proof.limits", KIND_ARRAY, true},
    {"proof.limits.#", KIND_OBJECT, false},
    {"proof.limits.#.estimator", KIND_STRING, true},
    {"proof.limits.#.quantity", KIND_STRING, true},
    {"proof.limits.#.bytes", KIND_INTEGER, true},
    {"proof.limits.#.predicted_runs", KIND_BOOLEAN, true},
    {"proof.limits.#.predicted_less_runs", KIND_BOOLEAN | KIND_NULL, true},
    {"proof.limits.#.runs", KIND_BOOLEAN | KIND_NULL, true},
    {"proof.limits.#.less_runs", KIND_BOOLEAN | KIND_NULL, true},
    {"proof.limits.#.pass", KIND_BOOLEAN | KIND_NULL, true},
    {"proof.limits.#.note", KIND_STRING | KIND_NULL, true},
    {"proof.note", KIND_STRING | KIND_NULL, true},
    {"proof.duration_s", KIND_NUMBER, true},
    {"proof.pass", KIND_BOOLEAN | KIND_NULL, true},
    {"places", KIND_ARRAY | KIND_NULL, false},
    {"places.#", KIND_OBJECT, false},
    {"places.#.place", KIND_STRING, true},
    {"places.#.spec", KIND_STRING | KIND_NULL, true},
    {"places.#.budget_bytes", KIND_INTEGER | KIND_NULL, true},
    {"places.#.placed_bytes", KIND_INTEGER | KIND_NULL, true},
    {"places.#.kept_bytes", KIND_INTEGER | KIND_NULL, true},
    {"places.#.needed_bytes", KIND_INTEGER | KIND_NULL, true},
    {"places.#.stages", KIND_OBJECT | KIND_NULL, true},
    {"places.#.stages.*", KIND_OBJECT, false},
    LEVEL_COUNTED_TABLE(PLACE_LEVEL) /* requested_bytes, requested_bytes_peak, allocated_bytes, ... */
    {"places.#.stages.*." LEVEL_PEAK_KEY(process), KIND_INTEGER | KIND_NULL, true},
    {"places.#.estimates", KIND_OBJECT | KIND_NULL, true},
    {"places.#.estimates.*", KIND_OBJECT | KIND_NULL, false},
    {"transfers", KIND_ARRAY | KIND_NULL, false},
    {"transfers.#", KIND_OBJECT, false},
    {"transfers.#.from", KIND_STRING, true},
    {"transfers.#.to", KIND_STRING, true},
    {"transfers.#.count", KIND_INTEGER | KIND_NULL, true},
    {"transfers.#.bytes", KIND_INTEGER, true},
    {"transfers.#.seconds", KIND_NUMBER | KIND_NULL, true},
    {"transfers.#.plain_bytes", KIND_INTEGER | KIND_NULL, true},
    {"transfers.#.plain_seconds", KIND_NUMBER | KIND_NULL, true},
    {"transfers.#.plain", KIND_STRING | KIND_NULL, true},
    {"placement", KIND_OBJECT | KIND_NULL, false},
    {"placement.strategy", KIND_STRING, true},
    {"placement.map", KIND_OBJECT | KIND_NULL, true},
    {"placement.map.*", KIND_STRING, false},
    {"placement.raised", KIND_STRING | KIND_NULL, true},
    {"placement.accelerate_runs", KIND_BOOLEAN | KIND_NULL, true},
    {"search", KIND_OBJECT | KIND_NULL, false},
    {"search.policy", KIND_STRING, true},
    {"search.start", KIND_INTEGER, true},
    {"search.end", KIND_STRING, true},
    {"search.found", KIND_INTEGER | KIND_NULL, true},
    {"search.predicted", KIND_INTEGER | KIND_NULL, true},
    {"search.error", KIND_STRING | KIND_NULL, true},
    {"search.tries", KIND_ARRAY, true},
    {"search.tries.#", KIND_OBJECT, false},
    {"search.tries.#.batch", KIND_INTEGER, true},
    {"search.tries.#.ended", KIND_STRING, true},
    {"search.tries.#.cause", KIND_STRING | KIND_NULL, true},
    {"search.tries.#.recognised", KIND_BOOLEAN | KIND_NULL, true},
    {"search.tries.#.stage", KIND_STRING | KIND_NULL, true},
    {"search.tries.#.label", KIND_STRING | KIND_NULL, true},
    {"search.tries.#.wanted_bytes", KIND_INTEGER | KIND_NULL, true},
    {"search.tries.#.predicted_runs", KIND_BOOLEAN | KIND_NULL, true},
    {"search.tries.#.seconds", KIND_NUMBER | KIND_NULL, true},
    {"search.tries.#.next", KIND_INTEGER | KIND_NULL, true},
    {"search.per_second", KIND_NUMBER | KIND_NULL, true},
    {"search.unit", KIND_STRING | KIND_NULL, true},
    {"search.best_per_second", KIND_NUMBER | KIND_NULL, true},
    {"search.duration_s", KIND_NUMBER | KIND_NULL, true},
    {"search.pass", KIND_BOOLEAN | KIND_NULL, true},
    {"search.note", KIND_STRING | KIND_NULL, false},
    {"device", KIND_OBJECT | KIND_NULL, true},
    {"device.kind", KIND_STRING, true},
    {"device.name", KIND_STRING | KIND_NULL, true},
    {"device.spec", KIND_STRING | KIND_NULL, true},
    {"device.target", KIND_STRING | KIND_NULL, true},
    {"device.total_bytes", KIND_INTEGER | KIND_NULL, true},
    {"device.threads", KIND_INTEGER | KIND_NULL, false},
    {"device.driver", KIND_STRING | KIND_NULL, true},
    {"device.runtime", KIND_STRING | KIND_NULL, true},
    {"device.pci_bus_id", KIND_STRING | KIND_NULL, true},
    {"device.uuid", KIND_STRING | KIND_NULL, true},
    {"device.shared", KIND_BOOLEAN, false},
    {NULL, 0, false},
};

const struct field RECORD_END_FIELDS[] = {
    {"finished", KIND_STRING, true},
    {"interrupted", KIND_BOOLEAN, true},
    {"counts", KIND_OBJECT, true},
    {"counts.*", KIND_INTEGER, false},
    {"outcome", KIND_STRING, true},
    {"reason", KIND_STRING | KIND_NULL, false},
    {NULL, 0, false},
};

const struct field RECORD_SELECTED_FIELDS[] = {
    {"ids", KIND_ARRAY, true},
    {"ids.#", KIND_STRING, false},
    {"attempts", KIND_ARRAY, true},
    {"attempts.#", KIND_INTEGER, false},
    {NULL, 0, false},
};
