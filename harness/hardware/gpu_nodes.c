/* GPU nodes: looking at names and at permissions. What a driver says of its GPUs is not asked here. */
#include "harness/hardware/gpu_nodes.h"

#include <dirent.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool is_there(const char *root, const char *path)
{
    char whole[PATH_MAX];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    return access(whole, F_OK) == 0;
}

/* Notes one that may not be opened. */
static void permission_look(const char *root, const char *path, struct gpu_nodes *nodes)
{
    char whole[PATH_MAX];
    snprintf(whole, sizeof whole, "%s%s", root, path);
    if (access(whole, R_OK | W_OK) == 0) {
        return;
    }
    if (nodes->closed_count++ == 0) {
        snprintf(nodes->closed, sizeof nodes->closed, "%s", path);
    }
}

/* "nvidia0", and no other name: "nvidiactl", "nvidia-uvm", "nvidia-caps". */
static bool is_gpu_name(const char *name)
{
    static const char word[] = "nvidia";
    const char *digits = name + sizeof word - 1;
    return strncmp(name, word, sizeof word - 1) == 0 && *digits != '\0' &&
           strspn(digits, "0123456789") == strlen(digits);
}

static void gpus_look(const char *root, struct gpu_nodes *nodes)
{
    char folder[PATH_MAX], path[sizeof nodes->closed];
    snprintf(folder, sizeof folder, "%s/dev", root);
    DIR *listed = opendir(folder);
    const struct dirent *entry = listed != NULL ? readdir(listed) : NULL;
    for (; entry != NULL; entry = readdir(listed)) {
        if (is_gpu_name(entry->d_name)) {
            snprintf(path, sizeof path, "/dev/%.40s", entry->d_name);
            nodes->gpu_count++;
            permission_look(root, path, nodes);
        }
    }
    if (listed != NULL) {
        closedir(listed);
    }
}

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.95.05  Tue ...": the first word that begins with a digit and has
 * a point. The open modules put more words before it. */
static void module_look(const char *root, struct gpu_nodes *nodes)
{
    char path[PATH_MAX], line[256] = "";
    snprintf(path, sizeof path, "%s/proc/driver/nvidia/version", root);
    FILE *file = fopen(path, "r");
    nodes->has_module = file != NULL;
    if (file == NULL) {
        return;
    }
    char *rest = fgets(line, sizeof line, file) != NULL ? line : NULL;
    for (char *word = strtok_r(rest, " \t\n", &rest); word != NULL; word = strtok_r(NULL, " \t\n", &rest)) {
        if (strspn(word, "0123456789.") == strlen(word) && strchr(word, '.') != NULL && word[0] != '.') {
            snprintf(nodes->module, sizeof nodes->module, "%.63s", word);
            break;
        }
    }
    fclose(file);
}

void gpu_nodes_read(const char *root, const char *visible, struct gpu_nodes *nodes)
{
    static const char control[] = "/dev/nvidiactl", uvm[] = "/dev/nvidia-uvm", wsl[] = "/dev/dxg",
                      wsl_driver[] = "/usr/lib/wsl/lib/libcuda.so.1";
    *nodes = (struct gpu_nodes){.is_wsl = is_there(root, wsl) && is_there(root, wsl_driver),
                                .has_control = is_there(root, control),
                                .has_uvm = is_there(root, uvm),
                                .is_hidden = visible != NULL && (*visible == '\0' || strncmp(visible, "-1", 2) == 0)};
    gpus_look(root, nodes);
    if (nodes->has_control) {
        permission_look(root, control, nodes);
    }
    if (nodes->has_uvm) {
        permission_look(root, uvm, nodes);
    }
    if (nodes->is_wsl) {
        permission_look(root, wsl, nodes);
        nodes->gpu_count = nodes->gpu_count > 0 ? nodes->gpu_count : 1;
    }
    module_look(root, nodes);
}

bool gpu_nodes_show_one(const struct gpu_nodes *nodes)
{
    return nodes->gpu_count > 0 && !nodes->is_hidden;
}
