/* Cgroup: from /proc to the files that count and those that limit. Versions 1 and 2, alone or side by side; other
 * controllers are nobody's business here. */
#include "harness/device/cgroup.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "harness/device/kernel_file.h"

/* Where the memory of this process is counted. */
struct membership {
    bool is_unified;     /* version 2 */
    char path[PATH_MAX]; /* in the hierarchy; "" : in none */
};

/* Whether a list "cpu,memory" has the word. */
static bool list_has(const char *list, const char *word)
{
    size_t length = strlen(word);
    for (const char *item = list; item != NULL; item = strchr(item, ',')) {
        item += item[0] == ',' ? 1 : 0;
        if (strncmp(item, word, length) == 0 && (item[length] == ',' || item[length] == '\0')) {
            return true;
        }
    }
    return false;
}

/* Lines "4:memory:/a/b" and "0::/a/b". Where version 1 has the memory controller, version 2 has not. */
static bool membership_read(const char *root, struct membership *membership)
{
    char path[PATH_MAX];
    char *line = NULL;
    size_t capacity = 0;
    bool controlled = false;
    membership->path[0] = '\0';
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    FILE *file = fopen(path, "re");
    while (file != NULL && !controlled && getline(&line, &capacity, file) > 0) {
        char *controllers = strchr(line, ':');
        char *place = controllers != NULL ? strchr(controllers + 1, ':') : NULL;
        if (place == NULL) {
            continue;
        }
        *controllers++ = '\0';
        *place++ = '\0';
        place[strcspn(place, "\n")] = '\0';
        controlled = list_has(controllers, "memory");
        if ((controlled || strcmp(line, "0") == 0) && strlen(place) < sizeof membership->path) {
            memcpy(membership->path, place, strlen(place) + 1);
            membership->is_unified = !controlled;
        }
    }
    free(line);
    if (file != NULL) {
        fclose(file);
    }
    return membership->path[0] == '/';
}

/* Blanks and backslashes stand in mountinfo as "\040". */
static void octals_decode(char *text)
{
    char *to = text;
    for (const char *from = text; *from != '\0';) {
        unsigned code = 0;
        if (from[0] == '\\' && sscanf(from + 1, "%3o", &code) == 1 && strspn(from + 1, "01234567") >= 3) {
            *to++ = (char)code;
            from += 4;
        } else {
            *to++ = *from++;
        }
    }
    *to = '\0';
}

/* Folder of the membership, where a line "ID PARENT M:N ROOT POINT OPTIONS ... - TYPE SOURCE SUPEROPTIONS" mounts its
 * hierarchy and ROOT is at or above it. */
static bool mount_match(const char *root, char *line, const struct membership *membership, struct cgroup *cgroup)
{
    char top[PATH_MAX], point[PATH_MAX], type[32], options[1024] = "";
    char *second = strstr(line, " - ");
    _Static_assert(PATH_MAX == 4096, "the widths below");
    if (second == NULL || sscanf(line, "%*s %*s %*s %4095s %4095s", top, point) != 2 ||
        sscanf(second, " - %31s %*s %1023s", type, options) < 1 ||
        strcmp(type, membership->is_unified ? "cgroup2" : "cgroup") != 0 ||
        (!membership->is_unified && !list_has(options, "memory"))) {
        return false;
    }
    octals_decode(top);
    octals_decode(point);
    size_t length = strcmp(top, "/") == 0 ? 0 : strlen(top);
    const char *below = membership->path + length;
    if (strncmp(membership->path, top, length) != 0 || (*below != '/' && *below != '\0') ||
        strstr(below, "/..") != NULL) { /* outside what this process may see */
        return false;
    }
    below = strcmp(below, "/") == 0 ? "" : below;
    cgroup->top_folder_length = strlen(root) + strlen(point);
    return snprintf(cgroup->folder, PATH_MAX, "%s%s%s", root, point, below) < PATH_MAX;
}

static bool folder_find(const char *root, struct cgroup *cgroup)
{
    struct membership membership;
    char path[PATH_MAX];
    char *line = NULL;
    size_t capacity = 0;
    bool found = false;
    if (!membership_read(root, &membership)) {
        return false;
    }
    snprintf(path, sizeof path, "%s/proc/self/mountinfo", root);
    FILE *file = fopen(path, "re");
    while (file != NULL && !found && getline(&line, &capacity, file) > 0) {
        line[strcspn(line, "\n")] = '\0';
        found = mount_match(root, line, &membership, cgroup);
    }
    free(line);
    if (file != NULL) {
        fclose(file);
    }
    cgroup->is_unified = membership.is_unified;
    cgroup->folder[0] = found ? cgroup->folder[0] : '\0';
    return found;
}

/* Any write resets the peak that this file shows, from Linux 6.12 on; before it the write is refused. */
static bool unified_peak_reset(int file)
{
    struct statfs system;
    return file >= 0 && fstatfs(file, &system) == 0 && system.f_type == CGROUP2_SUPER_MAGIC &&
           pwrite(file, "0", 1, 0) == 1;
}

static bool peak_reset_refuse(int file)
{
    (void)file;
    return false;
}

static int file_open(const char *folder, const char *name, int flags)
{
    char path[PATH_MAX + 64];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return open(path, flags | O_CLOEXEC);
}

void cgroup_open(const char *root, struct cgroup *cgroup)
{
    *cgroup = (struct cgroup){.usage_file = -1, .peak_file = -1, .peak_reset = peak_reset_refuse};
    if (!folder_find(root, cgroup)) {
        return;
    }
    const char *folder = cgroup->folder;
    bool is_unified = cgroup->is_unified;
    cgroup->usage_file = file_open(folder, is_unified ? "memory.current" : "memory.usage_in_bytes", O_RDONLY);
    if (is_unified) {
        cgroup->peak_file = file_open(folder, "memory.peak", O_RDWR);
        cgroup->peak_reset = unified_peak_reset;
    }
    if (cgroup->peak_file < 0) {
        cgroup->peak_file = file_open(folder, is_unified ? "memory.peak" : "memory.max_usage_in_bytes", O_RDONLY);
    }
}

void cgroup_close(struct cgroup *cgroup)
{
    if (cgroup->usage_file >= 0) {
        close(cgroup->usage_file);
    }
    if (cgroup->peak_file >= 0) {
        close(cgroup->peak_file);
    }
    cgroup->usage_file = cgroup->peak_file = -1;
}

bool cgroup_usage_read(const struct cgroup *cgroup, int64_t *bytes)
{
    return kernel_number_read(cgroup->usage_file, bytes);
}

/* What one cgroup's limit leaves; INT64_MAX if it has none ("max", or in version 1 a number beyond all memory). */
static bool folder_room_read(const char *folder, bool is_unified, int64_t *bytes)
{
    char path[PATH_MAX + 64];
    int64_t limit = INT64_MAX, used = 0, inactive = 0, active = 0;
    int limit_file = file_open(folder, is_unified ? "memory.max" : "memory.limit_in_bytes", O_RDONLY);
    int used_file = file_open(folder, is_unified ? "memory.current" : "memory.usage_in_bytes", O_RDONLY);
    bool limited = kernel_number_read(limit_file, &limit);
    bool known = !limited || kernel_number_read(used_file, &used);
    if (limit_file >= 0) {
        close(limit_file);
    }
    if (used_file >= 0) {
        close(used_file);
    }
    if (limited && known) {
        snprintf(path, sizeof path, "%s/memory.stat", folder);
        kernel_count_read(path, is_unified ? "inactive_file" : "total_inactive_file", &inactive);
        kernel_count_read(path, is_unified ? "active_file" : "total_active_file", &active);
        int64_t kept = used - inactive - active; /* three figures of three moments */
        kept = kept > 0 ? kept : 0;
        limit = limit > kept ? limit - kept : 0;
    }
    *bytes = limit;
    return known;
}

bool cgroup_room_read(const struct cgroup *cgroup, int64_t *bytes)
{
    char folder[PATH_MAX];
    int64_t least = INT64_MAX;
    bool known = cgroup->folder[0] != '\0';
    memcpy(folder, cgroup->folder, sizeof folder);
    while (known && strlen(folder) >= cgroup->top_folder_length && strchr(folder, '/') != NULL) {
        int64_t room = INT64_MAX;
        known = folder_room_read(folder, cgroup->is_unified, &room);
        least = room < least ? room : least;
        *strrchr(folder, '/') = '\0';
    }
    if (known) {
        *bytes = least;
    }
    return known;
}

void cgroup_peak_begin(struct cgroup *cgroup)
{
    cgroup->peak_is_new = cgroup->peak_reset(cgroup->peak_file);
    cgroup->highest_known = kernel_number_read(cgroup->peak_file, &cgroup->highest_bytes);
}

bool cgroup_peak_read(const struct cgroup *cgroup, int64_t *bytes)
{
    int64_t highest = 0;
    if (!kernel_number_read(cgroup->peak_file, &highest) ||
        (!cgroup->peak_is_new && (!cgroup->highest_known || highest <= cgroup->highest_bytes))) {
        return false;
    }
    *bytes = highest;
    return true;
}
