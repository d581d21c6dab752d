/* Kernel tree: a folder that stands for /, with files of /proc and of cgroups as a test wants them. Holds no test. */
#ifndef ASSAY_TESTS_DEVICE_KERNEL_TREE_H
#define ASSAY_TESTS_DEVICE_KERNEL_TREE_H

extern char kernel_tree_root[]; /* in /tmp; made by kernel_tree_make */

int kernel_tree_make(void **state); /* set-up and tear-down of a test */
int kernel_tree_remove(void **state);

/* Writes a file anew, in its old place where it exists; path: "proc/self/status". Its folders are made. */
void kernel_tree_write(const char *path, const char *content);

/* Fails the running test where the file has another content. */
void kernel_tree_expect(const char *path, const char *content);

#endif
