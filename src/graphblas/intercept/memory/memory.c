/* Limits on memory: the machine, control groups, resource limits.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/intercept/memory/memory.h"

#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* "max", a file that is missing, anything else that is no number: no limit. */
static size_t number_in(const char *path)
{
    FILE *file = fopen(path, "re");
    unsigned long long bytes = 0;
    const bool read = file && fscanf(file, "%llu", &bytes) == 1;
    if (file)
        fclose(file);
    return read && bytes < SIZE_MAX ? (size_t) bytes : SIZE_MAX;
}

/* Of `group` ("/a/b") and all above it; in a container the outer part of its name is not there. */
static size_t limit_of(const char *root, const char *folder, char *group, const char *name)
{
    size_t limit = SIZE_MAX;
    for (;;) {
        char path[PATH_MAX];
        if (snprintf(path, sizeof path, "%s%s%s/%s", root, folder, group, name) < (int) sizeof path)
            limit = least(limit, number_in(path));
        char *slash = strrchr(group, '/');
        if (!slash)
            return limit;
        *slash = '\0';
    }
}

static bool names_memory(const char *controllers)
{
    for (const char *at = controllers; (at = strstr(at, "memory")); at++)
        if ((at == controllers || at[-1] == ',') && (at[6] == '\0' || at[6] == ','))
            return true;
    return false;
}

/* "number:controllers:/group" */
static size_t limit_of_line(const char *root, char *line)
{
    char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
    if (!group)
        return SIZE_MAX;
    *group++ = '\0';
    group[strcspn(group, "\n")] = '\0';
    if (controllers[1] == '\0')
        return limit_of(root, "", group, "memory.max");
    return names_memory(controllers + 1) ? limit_of(root, "/memory", group, "memory.limit_in_bytes") : SIZE_MAX;
}

size_t tsr_memory_of_groups(const char *groups, const char *root)
{
    size_t limit = SIZE_MAX;
    char line[PATH_MAX];
    FILE *file = fopen(groups, "re");
    while (file && fgets(line, sizeof line, file))
        limit = least(limit, limit_of_line(root, line));
    if (file)
        fclose(file);
    return limit;
}

static size_t most;

static void look_up(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    const size_t machine = pages > 0 && page > 0 ? (size_t) pages * (size_t) page : 0;
    most = least(machine, tsr_memory_of_groups("/proc/self/cgroup", "/sys/fs/cgroup"));
}

size_t tsr_memory_most(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, look_up);
    return most;
}

static bool is_limited(int resource)
{
    struct rlimit limit;
    return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

bool tsr_memory_is_limited(void)
{
    return is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA);
}
