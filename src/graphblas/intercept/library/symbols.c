/* https://flapenguin.me/elf-dt-gnu-hash and the ELF specification, "Dynamic Linking".
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "src/graphblas/intercept/library/symbols.h"

#include <dlfcn.h>
#include <string.h>

enum { WORD_BITS = 8 * sizeof(ElfW(Addr)) };

/* A GNU hash table: how many buckets, the first symbol that it names, a Bloom filter, buckets, and chains that end by an odd hash. */
typedef struct hash_table {
    uint32_t nbuckets, first, bloom_size, bloom_shift;
    const ElfW(Addr) *bloom;
    const uint32_t *buckets, *chain;
} hash_table;

static hash_table table_of(const tsr_symbols *s)
{
    const uint32_t *head = s->gnu_hash;
    const ElfW(Addr) *bloom = (const ElfW(Addr) *)(const void *)(head + 4);
    const uint32_t *buckets = (const uint32_t *)(const void *)(bloom + head[2]);
    return (hash_table){head[0], head[1], head[2], head[3], bloom, buckets, buckets + head[0]};
}

/* glibc has added the load address to these pointers, other loaders have not. */
static const void *relocated(const struct link_map *map, ElfW(Addr) value)
{
    return (const void *)(value < map->l_addr ? value + map->l_addr : value);
}

bool tsr_symbols_open(tsr_symbols *s, void *handle)
{
    struct link_map *map = NULL;
    *s = (tsr_symbols){.handle = handle};
    if (dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0)
        return false;
    s->map = map;
    ElfW(Xword) soname = 0;
    for (const ElfW(Dyn) *d = map->l_ld; d->d_tag != DT_NULL; d++) {
        switch (d->d_tag) {
        case DT_SYMTAB: s->entries = relocated(map, d->d_un.d_ptr); break;
        case DT_STRTAB: s->strings = relocated(map, d->d_un.d_ptr); break;
        case DT_GNU_HASH: s->gnu_hash = relocated(map, d->d_un.d_ptr); break;
        case DT_VERDEF: s->versioned = true; break;
        case DT_SONAME: soname = d->d_un.d_val; break;
        default: break;
        }
    }
    if (!s->entries || !s->strings)
        s->gnu_hash = NULL;
    if (s->strings && soname)
        s->soname = s->strings + soname;
    return true;
}

static uint32_t hash_of(const char *name)
{
    uint32_t h = 5381;
    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        h = h * 33 + *c;
    return h;
}

/* NULL: the object does not define it. */
static const ElfW(Sym) *look_up(const tsr_symbols *s, const char *name)
{
    const hash_table t = table_of(s);
    const uint32_t h = hash_of(name);
    const ElfW(Addr) one = 1, word = t.bloom[h / WORD_BITS % t.bloom_size];
    const ElfW(Addr) bits = one << h % WORD_BITS | one << (h >> t.bloom_shift) % WORD_BITS;
    uint32_t n = (word & bits) == bits ? t.buckets[h % t.nbuckets] : 0;
    if (n < t.first)
        return NULL;
    for (;; n++) {
        const uint32_t other = t.chain[n - t.first];
        const ElfW(Sym) *symbol = &s->entries[n];
        if ((other | 1) == (h | 1) && symbol->st_shndx != SHN_UNDEF && !strcmp(s->strings + symbol->st_name, name))
            return symbol;
        if (other & 1)
            return NULL;
    }
}

/* The loader's way, for what is not plain. */
static void *find_by_loader(const tsr_symbols *s, const char *name)
{
    void *symbol = dlsym(s->handle, name);
    Dl_info info;
    struct link_map *owner = NULL;
    bool own = symbol && dladdr1(symbol, &info, (void **)&owner, RTLD_DL_LINKMAP) && owner == s->map;
    return own ? symbol : NULL;
}

void *tsr_symbols_find(const tsr_symbols *s, const char *name)
{
    const ElfW(Sym) *symbol = s->gnu_hash ? look_up(s, name) : NULL;
    if (s->gnu_hash && !symbol)
        return NULL;
    const int type = symbol ? ELF64_ST_TYPE(symbol->st_info) : STT_NOTYPE;
    const bool plain = !s->versioned && (type == STT_FUNC || type == STT_OBJECT);
    return plain ? (void *)(s->map->l_addr + symbol->st_value) : find_by_loader(s, name);
}

uint32_t tsr_symbols_count(const tsr_symbols *s)
{
    if (!s->gnu_hash)
        return 0;
    const hash_table t = table_of(s);
    uint32_t last = 0;
    for (uint32_t n = 0; n < t.nbuckets; n++)
        last = t.buckets[n] > last ? t.buckets[n] : last;
    if (last < t.first)
        return t.first;
    while (!(t.chain[last - t.first] & 1))
        last++;
    return last + 1;
}
