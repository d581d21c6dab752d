/* Batch scene: tries of batches in real children, on a host whose calls fail above a batch as a device or a library
 * would say it. Holds no test. */
#ifndef ASSAY_TESTS_RUN_BATCH_SCENE_H
#define ASSAY_TESTS_RUN_BATCH_SCENE_H

#include "harness/question/batch_run.h"
#include "harness/run/attempts.h"

/* What goes wrong in the child of a batch above `limit`. */
struct batch_fault {
    int64_t limit;
    const char *call;      /* of device_fault_say; NULL: none fails */
    enum status_code code; /* that it answers, with this text */
    const char *text;
    int signal;        /* sent to the parent, and then the child waits; 0: none */
    bool hangs, kills; /* waits; ends itself by SIGKILL */
};

struct batch_scene {
    struct batch_fault fault;
    struct case_runner runner;
    struct suite_settings settings;
    struct identity identity;
    struct attempts *attempts;
    struct batch_record record;
    struct batch_result result;
    int told; /* tries that were told of */
};

/* Carries out a policy from a start, of tiny-gpt2, and keeps record and result in the scene; NULL: the scene's own
 * runner, which fails as scene->fault says. device: spec. */
void batch_scene_run(struct batch_scene *scene, const struct case_runner *runner, const char *device,
                     const struct batch_request *request);
void batch_scene_close(struct batch_scene *scene);

/* Fails the running test unless these batches were tried, ended by 0. */
void batch_scene_expect(const struct batch_scene *scene, const int64_t *batches);

#endif
