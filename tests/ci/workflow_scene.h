/* Workflow scene: somebody's repository with a suite, its remote, and an assay that can be told to fail. The shell
 * that the workflows and recipes consist of is taken out of their files and run in it. */
#ifndef ASSAY_TESTS_CI_WORKFLOW_SCENE_H
#define ASSAY_TESTS_CI_WORKFLOW_SCENE_H

#include "tests/support/scratch_folder.h"

/* In the scene's folder: origin.git; work, a clone with suite.yaml, which has a model of its own in mine/config.json;
 * and bin/assay. Its doctor ends with the code that the file "ill" has, or with 0. A run of it measures nothing and
 * ends with the code that the file "fail" has (in a folder "old": "fail-old"), with 0 if that is empty; else its
 * records are changed as the file "edit" says, a script of sed. The file "device" has the words that stand for
 * --device cuda:0 --need-gpu: the host. */
void workflow_scene_make(const struct scratch_scene *scene);

/* Runs a line of bash in the scene's folder. $1: assay's repository, $2: the scene's folder, $3: the program.
 * bin/assay is the assay of it. Fails the running test unless it ends so, and prints these words. */
void workflow_expect(const struct scratch_scene *scene, const char *line, int exit_code, const char *said);

#endif
