/* Record lines: one of each type, with what it must have. */
#ifndef ASSAY_TESTS_RECORD_RECORD_LINES_H
#define ASSAY_TESTS_RECORD_RECORD_LINES_H

#define RUN_LINE                                                                                                       \
    "{\"type\": \"run\", \"schema\": {\"name\": \"assay-record\", \"major\": 1, \"minor\": 0}, \"run_id\": \"r1\", "   \
    "\"started\": \"2026-01-01T00:00:00Z\", \"suite\": {\"name\": \"t\", \"path\": \"t.yaml\", \"plan_hash\": "        \
    "\"00\", "                                                                                                         \
    "\"case_count\": 2, \"selected_count\": 2}}\n"
#define CASE_LINE(id)                                                                                                  \
    "{\"type\": \"case\", \"id\": \"" id "\", \"identity\": {\"model\": \"m\", \"mode\": \"load\", \"precision\": "    \
    "\"float32\", \"batch\": null, \"seq\": null, \"attention\": null, \"optimizer\": null, \"checkpointing\": null, " \
    "\"accumulate\": null, \"logits\": null, \"head\": \"bare\"}, \"status\": \"ok\", \"reason\": null, \"attempt\": " \
    "1, \"duration_s\": 0.25, \"stages\": {\"load\": {\"requested_bytes\": 4, \"requested_bytes_peak\": 4, "           \
    "\"allocated_bytes\": 512, \"allocated_bytes_peak\": 512, \"reserved_bytes\": 2097152, "                           \
    "\"reserved_bytes_peak\": 2097152, \"device_bytes\": null, \"process_bytes\": 7, \"process_bytes_peak\": null, "   \
    "\"seconds\": 0.1, \"categories_at_peak\": {\"weights\": 4}}}, \"context\": null, \"peak_stage\": \"load\", "      \
    "\"categories_at_peak\": {\"weights\": 4}, \"causes\": null, \"saved_for_backward_bytes\": null, \"loss\": null, " \
    "\"sequence_hash\": \"00000000000000ff\", \"oom\": null, \"estimates\": {\"replay\": null}, \"verdicts\": "        \
    "[{\"estimator\": \"replay\", \"quantity\": \"allocated_bytes_peak\", \"predicted\": 510, \"measured\": 512, "     \
    "\"signed_error_bytes\": -2, \"signed_error\": -0.00390625, \"tolerance\": {\"bytes\": 0}, \"pass\": false}], "    \
    "\"device\": null}\n"
#define END_LINE                                                                                                       \
    "{\"type\": \"end\", \"finished\": \"2026-01-01T00:00:01Z\", \"interrupted\": false, \"counts\": {\"ok\": 2}, "    \
    "\"outcome\": \"pass\"}\n"

#endif
