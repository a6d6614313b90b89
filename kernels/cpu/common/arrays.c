/* Arrays of values: sizes, constants, scratch.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "kernels/cpu/common/arrays.h"

#include <stdlib.h>
#include <string.h>
#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

#define HUGE_PAGE ((size_t)2 << 20)

#define FILL(bits) \
    { \
        uint##bits##_t v; \
        memcpy(&v, value, sizeof v); \
        for (int64_t j = 0; j < n; j++) \
            ((uint##bits##_t *)dst)[j] = v; \
        break; \
    }

void tsr_fill(void *dst, const void *value, size_t size, int64_t n)
{
    switch (size) {
    case 1: memset(dst, *(const uint8_t *)value, (size_t)n); break;
    case 2: FILL(16)
    case 4: FILL(32)
    default: FILL(64)
    }
}

bool tsr_is_trivial(const tsr_product *product, tsr_result *result)
{
    if (product->m > 0 && product->n > 0 && product->a.nvals > 0)
        return false;
    size_t places = (size_t)product->m * (size_t)product->n;
    result->nvals = 0;
    if (places > 0)
        memset(result->x, 0, places * tsr_type_size(product->semiring.type));
    if (places > 0 && result->b != NULL)
        memset(result->b, 0, places);
    return true;
}

void *tsr_scratch(size_t bytes)
{
    if (bytes < TSR_SCRATCH_HUGE)
        return malloc(bytes > 0 ? bytes : 1);
    void *block = NULL;
    if (posix_memalign(&block, HUGE_PAGE, bytes) != 0)
        return NULL;
#if defined(__linux__)
    madvise(block, bytes, MADV_HUGEPAGE);
#endif
    return block;
}

#ifdef MADV_POPULATE_WRITE
/* Memory that was used before has its pages mostly all or none. */
static bool was_touched(char *page, size_t page_bytes)
{
    unsigned char in_core = 0;
    return mincore(page, page_bytes, &in_core) != 0 || (in_core & 1);
}
#endif

void tsr_populate(void *block, size_t bytes, int nthreads)
{
#ifdef MADV_POPULATE_WRITE
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const uintptr_t begin = ((uintptr_t)block + page - 1) & ~(uintptr_t)(page - 1), end = ((uintptr_t)block + bytes) & ~(uintptr_t)(page - 1);
    if (nthreads <= TSR_POPULATE_THREADS && end >= begin + TSR_POPULATE_LEAST && !was_touched((char *)(end - page), page))
        (void)madvise((void *)begin, end - begin, MADV_POPULATE_WRITE);
#else
    (void)block;
    (void)bytes;
    (void)nthreads;
#endif
}
