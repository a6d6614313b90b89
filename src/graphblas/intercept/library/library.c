/* Finds the real SuiteSparse:GraphBLAS among the loaded objects.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "src/graphblas/intercept/library/library.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

__attribute__((visibility("protected"))) const tsr_symbols *tsr_door_library; /* of each door its own, wherever it is loaded */

/* `mxm`: GrB_mxm must be this one; NULL: whichever. */
static bool is_real(const tsr_symbols *symbols, const void *mxm)
{
    const void *own = tsr_symbols_find(symbols, "GrB_mxm");
    return own && (!mxm || own == mxm) && !tsr_symbols_find(symbols, "tsr_door_library");
}

/* The loaded object of this name if it is the real library; its handle stays open. */
static bool open_if_real(tsr_symbols *symbols, const char *name, const void *mxm)
{
    void *handle = *name ? dlopen(name, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (handle && tsr_symbols_open(symbols, handle) && is_real(symbols, mxm))
        return true;
    if (handle)
        dlclose(handle);
    return false;
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

static bool open_first(tsr_symbols *symbols, const name_list *list, const void *mxm)
{
    for (size_t n = 0; n < list->count; n++)
        if (open_if_real(symbols, list->names[n], mxm))
            return true;
    return false;
}

/* Names first, dlopen afterwards: the loader's lock is held during the walk. */
bool tsr_library_find(tsr_symbols *symbols)
{
    name_list list = {0};
    const void *next = dlsym(RTLD_NEXT, "GrB_mxm");
    dl_iterate_phdr(collect_name, &list);
    const bool found = (next && open_first(symbols, &list, next)) || open_first(symbols, &list, NULL);
    for (size_t n = 0; n < list.count; n++)
        free(list.names[n]);
    free(list.names);
    return found;
}

/* What a major version brought, or had last. */
static int major_of_exports(const tsr_symbols *symbols)
{
    if (tsr_symbols_find(symbols, "GxB_Container_new"))
        return 10;
    if (tsr_symbols_find(symbols, "GxB_SelectOp_new"))
        return 7;
    return 0;
}

int tsr_library_major(const tsr_symbols *symbols)
{
    const char *dot = symbols->soname ? strstr(symbols->soname, ".so.") : NULL;
    return dot ? atoi(dot + 4) : major_of_exports(symbols);
}
