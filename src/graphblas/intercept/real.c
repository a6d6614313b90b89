/* Reaches the real SuiteSparse:GraphBLAS: resolves its functions when they are first called, compares versions.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/openmp.h"
#include "src/graphblas/intercept/door.h"
#include "src/graphblas/intercept/hooks.h"
#include "src/graphblas/intercept/library/library.h"
#include "src/runtime/config.h"
#include "src/runtime/warn.h"

typedef void *__attribute__((may_alias)) slot_t;

static pthread_mutex_t load_mutex = PTHREAD_MUTEX_INITIALIZER;
static tsr_symbols real_symbols;   /* filled under load_mutex */
static const tsr_symbols *library; /* of the real library: &real_symbols, once they are filled */
static bool compatible; /* set with `library` */
bool tsr_keeps_nothing;

/* ---- does it fit? ---- */

static int compare_name(const void *key, const void *name)
{
    return strcmp(key, name);
}

static bool is_wrapped(const char *name)
{
    return bsearch(name, tsr_real_names, TSR_REAL_COUNT, sizeof *tsr_real_names, compare_name) != NULL;
}

static bool is_graphblas(const char *name)
{
    return name[0] == 'G' && (name[1] == 'r' || name[1] == 'x') && name[2] == 'B' && name[3] == '_';
}

/* A GrB_ or GxB_ function that the library exports and this door lacks: calling it would change a matrix unseen. */
static const char *unwrapped_name(const tsr_symbols *symbols)
{
    const uint32_t count = tsr_symbols_count(symbols);
    for (uint32_t n = 0; n < count; n++) {
        const ElfW(Sym) *symbol = &symbols->entries[n];
        const char *name = symbols->strings + symbol->st_name;
        const bool function = ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF;
        if (function && is_graphblas(name) && !is_wrapped(name))
            return name;
    }
    return NULL;
}

/* ---- loading ---- */

static void warn_mismatch(const char *what)
{
    tsr_warn_once("graphblas-version", "built for SuiteSparse:GraphBLAS %d, the library loaded is another one (%s): "
                  "everything is passed through", GxB_IMPLEMENTATION_MAJOR, what);
}

static void load_locked(void)
{
    if (tsr_door_library)
        real_symbols = *tsr_door_library;
    else if (!tsr_library_find(&real_symbols))
        return;
    const int major = tsr_library_major(&real_symbols);
    const bool fits = !major || major == GxB_IMPLEMENTATION_MAJOR;
    if (!fits)
        warn_mismatch(real_symbols.soname);
    else
        (void) tsr_openmp_share(real_symbols.handle);
    __atomic_store_n(&compatible, fits, __ATOMIC_RELAXED);
    __atomic_store_n(&library, &real_symbols, __ATOMIC_RELEASE);
}

bool tsr_real_load(void)
{
    if (!__atomic_load_n(&library, __ATOMIC_ACQUIRE)) {
        pthread_mutex_lock(&load_mutex);
        if (!library)
            load_locked();
        pthread_mutex_unlock(&load_mutex);
    }
    return tsr_real_compatible();
}

bool tsr_real_compatible(void)
{
    return __atomic_load_n(&library, __ATOMIC_ACQUIRE) && __atomic_load_n(&compatible, __ATOMIC_RELAXED);
}

/* Which version is it, and is it another major one than ours? */
static bool ask_version(int version[16])
{
    return tsr_real.GxB_Global_Option_get(GxB_LIBRARY_VERSION, version) == GrB_SUCCESS && version[0] == GxB_IMPLEMENTATION_MAJOR;
}

/* A function that we do not know may change a matrix unseen: what we know is computed from what the host holds at that moment. */
static void keep_nothing(const int version[16], const char *unknown)
{
    tsr_warn_once("graphblas-newer", "SuiteSparse:GraphBLAS %d.%d.%d has functions that %d.%d.%d had not (%s): nothing is kept between two calls",
                  version[0], version[1], version[2], GxB_IMPLEMENTATION_MAJOR, GxB_IMPLEMENTATION_MINOR, GxB_IMPLEMENTATION_SUB, unknown);
    if (tsr_config_get()->mode != TSR_MODE_OFF)
        (void) tsr_config_set("mode", "cpu");
    __atomic_store_n(&tsr_keeps_nothing, true, __ATOMIC_RELAXED);
}

bool tsr_real_version_agrees(void)
{
    int version[16] = {0};
    if (!tsr_real_compatible())
        return false;
    if (!ask_version(version)) {
        __atomic_store_n(&compatible, false, __ATOMIC_RELAXED);
        warn_mismatch("it says so itself");
        return false;
    }
    const bool same = version[1] == GxB_IMPLEMENTATION_MINOR && version[2] == GxB_IMPLEMENTATION_SUB;
    const char *unknown = same ? NULL : unwrapped_name(&real_symbols);
    if (unknown)
        keep_nothing(version, unknown);
    return true;
}

void *tsr_real_symbol(const char *name)
{
    (void) tsr_real_load();
    const tsr_symbols *symbols = __atomic_load_n(&library, __ATOMIC_ACQUIRE);
    return symbols ? tsr_symbols_find(symbols, name) : NULL;
}

static void warn_missing(const char *name)
{
    if (__atomic_load_n(&library, __ATOMIC_ACQUIRE))
        tsr_warn_once(name, "the SuiteSparse:GraphBLAS loaded has no %s", name);
    else
        tsr_warn_once("graphblas-missing", "%s was called, but no SuiteSparse:GraphBLAS is loaded to forward to: "
                      "link the program with -lgraphblas", name);
}

bool tsr_real_resolve(void *slot, const char *name)
{
    void *symbol = tsr_real_symbol(name);
    if (symbol)
        __atomic_store_n((slot_t *) slot, symbol, __ATOMIC_RELEASE);
    else
        warn_missing(name);
    return symbol != NULL;
}
