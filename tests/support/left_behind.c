/* Left behind: a test program that ends well while a temporary file or folder of its own is still there has failed;
 * what a failed assertion did not come to remove is removed. Linked into every test program, whose calls of mkdtemp and
 * mkstemp come here first; nobody calls anything of it. What programs leave that a test starts is seen by
 * ci/run-tests.sh. */
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/scratch_folder.h"

char *mkdtemp(char *path);
int mkstemp(char *path);
int mkostemp(char *path, int flags);
int mkstemps(char *path, int suffix);

struct made {
    struct made *next;
    pid_t maker; /* a child has the list of its parent, whose files are none of its own */
    char path[];
};

static struct made *list;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;

static void made_note(const char *path)
{
    int cause = errno;
    size_t bytes = strlen(path) + 1;
    struct made *made = malloc(sizeof *made + bytes);
    if (made != NULL) {
        made->maker = getpid();
        memcpy(made->path, path, bytes);
        pthread_mutex_lock(&list_lock);
        made->next = list;
        list = made;
        pthread_mutex_unlock(&list_lock);
    }
    errno = cause;
}

/* The function of the C library that ours stands in front of. */
static void function_find(const char *name, void *function_pointer)
{
    void *symbol = dlsym(RTLD_NEXT, name);
    memcpy(function_pointer, &symbol, sizeof symbol);
}

char *mkdtemp(char *path)
{
    char *(*real)(char *path) = NULL;
    function_find("mkdtemp", &real);
    char *made = real(path);
    if (made != NULL) {
        made_note(path);
    }
    return made;
}

static int file_noted(int file, const char *path)
{
    if (file >= 0) {
        made_note(path);
    }
    return file;
}

int mkstemp(char *path)
{
    int (*real)(char *path) = NULL;
    function_find("mkstemp", &real);
    return file_noted(real(path), path);
}

int mkostemp(char *path, int flags)
{
    int (*real)(char *path, int flags) = NULL;
    function_find("mkostemp", &real);
    return file_noted(real(path, flags), path);
}

int mkstemps(char *path, int suffix)
{
    int (*real)(char *path, int suffix) = NULL;
    function_find("mkstemps", &real);
    return file_noted(real(path, suffix), path);
}

static void left_behind_remove(int status, void *context)
{
    struct stat facts;
    int count = 0;
    (void)context;
    while (list != NULL) {
        struct made *made = list;
        list = made->next;
        if (made->maker == getpid() && made->path[0] == '/' && lstat(made->path, &facts) == 0) {
            count++;
            if (status == 0) {
                fprintf(stderr, "left behind: %s\n", made->path);
            }
            scratch_folder_remove(made->path);
        }
        free(made);
    }
    if (count > 0 && status == 0) {
        fflush(NULL);
        _exit(1);
    }
}

/* Before main, so that it comes after everything else that is done at the end. */
__attribute__((constructor)) static void left_behind_watch(void)
{
    on_exit(left_behind_remove, NULL);
}
