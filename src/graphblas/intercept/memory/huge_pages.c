/* Huge pages for memory that lies in small ones.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "src/graphblas/intercept/memory/huge_pages.h"

#include <stdint.h>
#include <sys/mman.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif

#define HUGE_PAGE ((size_t)2 << 20)

static bool advise(const void *block, size_t bytes, int advice)
{
    const uintptr_t begin = ((uintptr_t)block + HUGE_PAGE - 1) & ~(HUGE_PAGE - 1), end = ((uintptr_t)block + bytes) & ~(HUGE_PAGE - 1);
    return end <= begin || madvise((void *)begin, end - begin, advice) == 0;
}

void tsr_huge_advise(void *block, size_t bytes, int advice)
{
    (void)advise(block, bytes, advice);
}

void tsr_huge_move(void *block, size_t bytes)
{
    (void)advise(block, bytes, MADV_DONTNEED);
    (void)advise(block, bytes, MADV_HUGEPAGE);
}

bool tsr_huge_collapse(const void *block, size_t bytes)
{
    return advise(block, bytes, MADV_COLLAPSE);
}
