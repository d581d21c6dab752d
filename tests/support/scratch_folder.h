/* A scratch folder of a test, and the end of one that it has made itself. Linked into every test program. */
#ifndef ASSAY_TESTS_SUPPORT_SCRATCH_FOLDER_H
#define ASSAY_TESTS_SUPPORT_SCRATCH_FOLDER_H

/* Removes a folder with all that is in it, links themselves and not what they point to. Not 0 where it was gone, or
 * something in it cannot be removed. */
int scratch_folder_remove(const char *folder);

/* For cmocka's set-up and tear-down of one test: *state is a scene with an empty folder of its own in /tmp. */
struct scratch_scene {
    char folder[64];
};
int scratch_scene_open(void **state);
int scratch_scene_close(void **state);

#endif
