/* What `tessera run` preloads beside libtessera.so: programs that ask the handle of a libgraphblas for its functions (Julia, ctypes, cffi
 * in ABI mode) get those of libtessera.so, for preloading reaches only names that the loader binds.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#include "src/base/loaded.h"

typedef void *(*look_up)(void *handle, const char *name);

/* That of the C library; it has the version of the first glibc of an architecture, and from 2.34 on that one as well. */
static look_up real_dlsym(void)
{
    static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
    static look_up found;
    look_up real = __atomic_load_n(&found, __ATOMIC_RELAXED);
    for (size_t n = 0; !real && n < sizeof versions / sizeof *versions; n++)
        real = (look_up)dlvsym(RTLD_NEXT, "dlsym", versions[n]);
    __atomic_store_n(&found, real, __ATOMIC_RELAXED);
    return real;
}

static bool is_of(const void *function, const char *library)
{
    tsr_loaded object;
    if (!function || !tsr_loaded_find(&object, function))
        return false;
    const char *slash = strrchr(object.file, '/');
    return strncmp(slash ? slash + 1 : object.file, library, strlen(library)) == 0;
}

/* The function of libtessera.so in place of one of a libgraphblas.  NULL: the real one, or nothing, is the answer; no error is left behind. */
static void *instead(void *handle, const char *name)
{
    void *ours = is_of(real_dlsym()(handle, name), "libgraphblas") ? real_dlsym()(RTLD_DEFAULT, name) : NULL;
    if (!is_of(ours, "libtessera.so"))
        ours = NULL;
    dlerror();
    return ours;
}

static bool is_graphblas(const char *name)
{
    return strncmp(name, "GrB_", 4) == 0 || strncmp(name, "GxB_", 4) == 0 || strncmp(name, "GB_", 3) == 0;
}

/* The last call must be a jump: what RTLD_NEXT means depends on where the caller is.  meson.build has this file optimized so. */
__attribute__((visibility("default"))) void *dlsym(void *restrict handle, const char *restrict name)
{
    void *ours = handle != RTLD_NEXT && handle != RTLD_DEFAULT && is_graphblas(name) ? instead(handle, name) : NULL;
    return ours ? ours : real_dlsym()(handle, name);
}
