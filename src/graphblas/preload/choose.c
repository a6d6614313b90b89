/* The preloaded library: finds out which SuiteSparse:GraphBLAS the process has, and takes the door of its version.  Until it is loaded, and
 * of a version without a door, calls go where they would go without us.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/loaded.h"
#include "src/graphblas/intercept/library/library.h"
#include "tsr_names.h" /* generated */

extern void *tsr_slots[TSR_NAME_COUNT]; /* in trampolines.S */
void *tsr_choose(unsigned number);

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static tsr_symbols real, door, core;
static bool chosen;    /* the real library is known, and so is whether there is a door */
static bool has_door, has_core;

/* ---- files ---- */

static bool open_file(tsr_symbols *symbols, const char *folder, const char *relative, const char *name)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s%s", folder, relative, name) >= (int) sizeof path || access(path, F_OK) != 0)
        return false;
    /* Lazily: a process calls a third of the functions that are named there.  None is missing, for their version is looked for at once. */
    void *handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE);
    if (!handle)
        fprintf(stderr, "tessera: cannot load %s: %s\n", path, dlerror());
    return handle && tsr_symbols_open(symbols, handle);
}

/* Where this library is; NULL: not known. */
static const char *own_folder(void)
{
    static char folder[PATH_MAX];
    tsr_loaded own;
    if (*folder)
        return folder;
    if (!tsr_loaded_find(&own, tsr_slots) || !realpath(own.file, folder))
        return NULL;
    *strrchr(folder, '/') = '\0';
    return folder;
}

/* Beside this library, or in the folder `tessera` there. */
static bool open_beside(tsr_symbols *symbols, const char *name)
{
    const char *folder = own_folder();
    return folder && (open_file(symbols, folder, "tessera/", name) || open_file(symbols, folder, "", name));
}

#define DOOR "libtessera-door%d.so"
#define CORE "libtessera-core.so.0"

/* First by its path: the loader would look for what a door needs in thirteen folders before that. */
static bool open_core_beside(void)
{
    has_core = has_core || open_beside(&core, CORE);
    return has_core;
}

static bool open_door(tsr_symbols *symbols, int major)
{
    char name[64];
    snprintf(name, sizeof name, DOOR, major);
    (void) open_core_beside();
    return open_beside(symbols, name);
}

/* ---- choosing ---- */

static const int majors[] = {10, 9, 7};
enum { MAJORS = sizeof majors / sizeof *majors };

static bool any_door_opens(tsr_symbols *symbols)
{
    bool opened = false;
    for (size_t n = 0; n < MAJORS && !opened; n++)
        opened = open_door(symbols, majors[n]);
    return opened;
}

/* A door without the real library: it answers as its version would if nothing is there to forward to. */
static void *any_door(const char *name)
{
    void *found = NULL;
    for (size_t n = 0; n < MAJORS && !found; n++) {
        tsr_symbols other;
        if (open_door(&other, majors[n]))
            found = tsr_symbols_find(&other, name);
    }
    return found;
}

/* Beside this library; in a build folder only the doors know where it is. */
static bool open_core(void)
{
    tsr_symbols some;
    if (open_core_beside())
        return true;
    void *handle = any_door_opens(&some) ? dlopen(CORE, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    return handle && tsr_symbols_open(&core, handle);
}

static void *of_core(const char *name)
{
    has_core = has_core || open_core();
    return has_core ? tsr_symbols_find(&core, name) : NULL;
}

static bool has_a_door(int major)
{
    bool has = false;
    for (size_t n = 0; n < MAJORS; n++)
        has = has || majors[n] == major;
    return has;
}

/* By the core; on stderr where the core is missing as well. */
static void warn_of_missing_door(int major)
{
    void (*warn_once)(const char *, const char *, ...) = of_core("tsr_warn_once");
    const char *soname = real.soname ? real.soname : "it has no SONAME";
    const char *folder = own_folder();
    char text[2 * PATH_MAX + 256];
    if (has_a_door(major) && folder)
        snprintf(text, sizeof text, DOOR " for the SuiteSparse:GraphBLAS loaded (%s) is not, or cannot be loaded, in %s/tessera or %s: "
                 "everything is passed through; install again", major, soname, folder, folder);
    else
        snprintf(text, sizeof text, "there is no door for the SuiteSparse:GraphBLAS loaded (%s): everything is passed through", soname);
    if (warn_once)
        warn_once("graphblas-version", "%s", text);
    else
        fprintf(stderr, "tessera: %s\n", text);
}

static void take_door(void)
{
    const int major = tsr_library_major(&real);
    has_door = major && open_door(&door, major);
    if (!has_door) {
        warn_of_missing_door(major);
        return;
    }
    const tsr_symbols **told = tsr_symbols_find(&door, "tsr_door_library");
    *told = &real;
}

static bool is_graphblas(const char *name)
{
    return name[0] == 'G';
}

/* The function that is called from now on; *now: just this time. */
static void *find(const char *name, void **now)
{
    if (!chosen && tsr_library_find(&real)) {
        take_door();
        chosen = true;
    }
    void *function = has_door ? tsr_symbols_find(&door, name) : NULL;
    if (!function && !is_graphblas(name))
        function = of_core(name);
    if (!function && chosen && is_graphblas(name))
        function = tsr_symbols_find(&real, name);
    *now = function ? function : any_door(name);
    return function;
}

/* Called by a trampoline the first time. */
void *tsr_choose(unsigned number)
{
    void *now;
    pthread_mutex_lock(&mutex);
    void *function = find(tsr_names[number], &now);
    if (function)
        __atomic_store_n(&tsr_slots[number], function, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&mutex);
    if (!now) {
        fprintf(stderr, "tessera: %s is nowhere; install again\n", tsr_names[number]);
        abort();
    }
    return now;
}
