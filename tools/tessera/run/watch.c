/* What `tessera run --replace` preloads: says at exit that nothing was replaced, and why.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <errno.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct loaded {
    const char *folder; /* where the replacements are, up to the number of the version */
    bool replaced;
    char other[512];    /* a libgraphblas that is not one of ours */
} loaded;

static int find(struct dl_phdr_info *info, size_t size, void *data)
{
    loaded *l = data;
    const char *slash = strrchr(info->dlpi_name, '/'), *base = slash ? slash + 1 : info->dlpi_name;
    (void)size;
    if (strncmp(base, "libgraphblas", strlen("libgraphblas")) != 0) {
        return 0;
    }
    if (strncmp(info->dlpi_name, l->folder, strlen(l->folder)) == 0) {
        l->replaced = true;
    } else {
        snprintf(l->other, sizeof l->other, "%s", info->dlpi_name);
    }
    return 0;
}

/* Variables: TESSERA_WATCH=<process>:<folder>.  A process that was started by the watched one speaks only of a library that it has. */
__attribute__((destructor)) static void say(void)
{
    const char *watch = getenv("TESSERA_WATCH"), *colon = watch ? strchr(watch, ':') : NULL;
    loaded l = {.folder = colon ? colon + 1 : ""};
    if (!colon || dl_iterate_phdr(find, &l) != 0 || l.replaced) {
        return;
    }
    if (*l.other) {
        fprintf(stderr, "tessera: --replace changed nothing: %s loaded %s, which has another name or is found first\n",
                program_invocation_short_name, l.other);
    } else if (atol(watch) == (long)getpid()) {
        fprintf(stderr, "tessera: --replace changed nothing: %s loaded no libgraphblas\n", program_invocation_short_name);
    }
}
