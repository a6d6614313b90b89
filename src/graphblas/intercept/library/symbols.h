/* Symbols that one loaded object defines itself, found in its GNU hash table: many lookups when a process starts.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_SYMBOLS_H
#define TSR_SYMBOLS_H

#include <link.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct tsr_symbols {
    void *handle; /* of dlopen */
    const struct link_map *map;
    const ElfW(Sym) *entries;
    const char *strings;
    const uint32_t *gnu_hash; /* NULL: there is none */
    const char *soname;       /* NULL: none */
    bool versioned;           /* one name may stand for several symbols */
} tsr_symbols;

/* False: its dynamic section cannot be read. */
bool tsr_symbols_open(tsr_symbols *symbols, void *handle);

/* The address of what the object itself, not one of its dependencies, defines under this name; NULL: nothing. */
void *tsr_symbols_find(const tsr_symbols *symbols, const char *name);

/* Number of entries; 0: not known. */
uint32_t tsr_symbols_count(const tsr_symbols *symbols);

#endif
