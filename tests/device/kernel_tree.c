/* Kernel tree: making and removing it. */
#include "tests/device/kernel_tree.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/scratch_folder.h"

static const char root_template[] = "/tmp/assay-kernel-XXXXXX";
char kernel_tree_root[sizeof root_template];

int kernel_tree_make(void **state)
{
    (void)state;
    memcpy(kernel_tree_root, root_template, sizeof root_template);
    return mkdtemp(kernel_tree_root) != NULL ? 0 : -1;
}

int kernel_tree_remove(void **state)
{
    (void)state;
    return scratch_folder_remove(kernel_tree_root);
}

static void path_make(const char *path, char full[PATH_MAX])
{
    snprintf(full, PATH_MAX, "%s/%s", kernel_tree_root, path);
    for (char *slash = full + strlen(kernel_tree_root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        mkdir(full, 0700);
        *slash = '/';
    }
}

/* Files stay the same files: who has one open sees what is new. */
void kernel_tree_write(const char *path, const char *content)
{
    char full[PATH_MAX];
    path_make(path, full);
    int file = open(full, O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(file >= 0);
    assert_int_equal(write(file, content, strlen(content)), (ssize_t)strlen(content));
    close(file);
}

void kernel_tree_expect(const char *path, const char *content)
{
    char full[PATH_MAX], found[256] = "";
    path_make(path, full);
    FILE *file = fopen(full, "re");
    assert_non_null(file);
    assert_true(fread(found, 1, sizeof found - 1, file) < sizeof found - 1);
    fclose(file);
    assert_string_equal(found, content);
}
