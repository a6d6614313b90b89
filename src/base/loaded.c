/* Walks over the segments of the loaded objects.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "src/base/loaded.h"

#include <link.h>
#include <stddef.h>
#include <stdint.h>

typedef struct search {
    uintptr_t address;
    tsr_loaded *object;
} search;

static bool has(const struct dl_phdr_info *info, uintptr_t address)
{
    for (ElfW(Half) n = 0; n < info->dlpi_phnum; n++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[n];
        if (segment->p_type == PT_LOAD && address - (info->dlpi_addr + segment->p_vaddr) < segment->p_memsz)
            return true;
    }
    return false;
}

static int visit(struct dl_phdr_info *info, size_t size, void *data)
{
    const search *s = data;
    (void)size;
    if (!has(info, s->address))
        return 0;
    const bool program = !info->dlpi_name || !*info->dlpi_name;
    *s->object = (tsr_loaded){program ? "/proc/self/exe" : info->dlpi_name, info->dlpi_phdr};
    return 1;
}

bool tsr_loaded_find(tsr_loaded *object, const void *address)
{
    search s = {(uintptr_t)address, object};
    return dl_iterate_phdr(visit, &s) != 0;
}
