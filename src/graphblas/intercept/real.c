/* Reaches the real SuiteSparse:GraphBLAS: finds it among the loaded objects, resolves its functions when they are first called,
 * compares versions.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "src/graphblas/intercept/door.h"
#include "src/graphblas/intercept/hooks.h"
#include "src/graphblas/intercept/symbols.h"
#include "src/runtime/trace.h"
#include "src/runtime/warn.h"

typedef void *__attribute__((may_alias)) slot_t;

/* Every copy of the door exports this: a second copy (preloaded and replaced at once) is not the real library. */
TSR_WRAPPER extern const char tsr_door_mark[];
const char tsr_door_mark[] = "tessera";

static pthread_mutex_t load_mutex = PTHREAD_MUTEX_INITIALIZER;
static tsr_symbols real_symbols;   /* filled under load_mutex */
static const tsr_symbols *library; /* of the real library: &real_symbols, once they are filled */
static bool compatible; /* set with `library` */

/* ---- finding it ---- */

/* `mxm`: GrB_mxm must be this one; NULL: whichever. */
static bool is_real(const tsr_symbols *symbols, const void *mxm)
{
    const void *own = tsr_symbols_find(symbols, "GrB_mxm");
    return own && (!mxm || own == mxm) && !tsr_symbols_find(symbols, "tsr_door_mark");
}

/* A handle of the loaded object of this name if it is the real library. */
static void *open_if_real(const char *name, const void *mxm)
{
    tsr_symbols symbols;
    void *handle = *name ? dlopen(name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (handle && !(tsr_symbols_open(&symbols, handle) && is_real(&symbols, mxm))) {
        dlclose(handle);
        handle = NULL;
    }
    return handle;
}

typedef struct name_list {
    char **names;
    size_t count, room;
} name_list;

static int collect_name(struct dl_phdr_info *info, size_t size, void *data)
{
    name_list *list = data;
    (void) size;
    if (list->count == list->room) {
        const size_t room = list->room ? 2 * list->room : 64;
        char **names = realloc(list->names, room * sizeof *names);
        if (!names)
            return 1;
        list->names = names;
        list->room = room;
    }
    char *name = strdup(info->dlpi_name ? info->dlpi_name : "");
    if (!name)
        return 1;
    list->names[list->count++] = name;
    return 0;
}

static void *open_first(const name_list *list, const void *mxm)
{
    void *found = NULL;
    for (size_t n = 0; n < list->count && !found; n++)
        found = open_if_real(list->names[n], mxm);
    return found;
}

/* The one that comes after this object, or else any.  Names first, dlopen afterwards: the loader's lock is held during the walk. */
static void *find_library(void)
{
    name_list list = {0};
    const void *next = dlsym(RTLD_NEXT, "GrB_mxm");
    dl_iterate_phdr(collect_name, &list);
    void *found = next ? open_first(&list, next) : NULL;
    if (!found)
        found = open_first(&list, NULL);
    for (size_t n = 0; n < list.count; n++)
        free(list.names[n]);
    free(list.names);
    return found;
}

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

/* Major version by the SONAME ("libgraphblas.so.7", "libgraphblas-1a2b.so.7.4.0"); 0 where it does not say. */
static int soname_major(const char *soname)
{
    const char *dot = soname ? strstr(soname, ".so.") : NULL;
    return dot ? atoi(dot + 4) : 0;
}

/* ---- loading ---- */

static void warn_mismatch(const char *what)
{
    tsr_warn_once("graphblas-version", "built for SuiteSparse:GraphBLAS %d, the library loaded is another one (%s): "
                  "everything is passed through", GxB_IMPLEMENTATION_MAJOR, what);
}

static void load_locked(void)
{
    void *handle = find_library();
    if (!handle || !tsr_symbols_open(&real_symbols, handle))
        return;
    const int major = soname_major(real_symbols.soname);
    const bool fits = !major || major == GxB_IMPLEMENTATION_MAJOR;
    if (!fits)
        warn_mismatch(real_symbols.soname);
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

/* NULL: nothing is wrong.  The very version of the header has its functions. */
static const char *find_mismatch(void)
{
    int version[16] = {0};
    if (tsr_real.GxB_Global_Option_get(GxB_LIBRARY_VERSION, version) != GrB_SUCCESS || version[0] != GxB_IMPLEMENTATION_MAJOR)
        return "it says so itself";
    if (version[1] == GxB_IMPLEMENTATION_MINOR && version[2] == GxB_IMPLEMENTATION_SUB)
        return NULL;
    return unwrapped_name(&real_symbols);
}

bool tsr_real_version_agrees(void)
{
    const char *mismatch = tsr_real_compatible() ? find_mismatch() : NULL;
    if (mismatch) {
        __atomic_store_n(&compatible, false, __ATOMIC_RELAXED);
        warn_mismatch(mismatch);
    }
    return tsr_real_compatible();
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
