/* Loops of elementwise steps over a few hundred elements, one version per instruction set.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_EWISE_LOOPS_H
#define TSR_CPU_EWISE_LOOPS_H

#include "kernels/cpu/common/template.h"

/* Arrays are the same or do not overlap. */
typedef struct tsr_ewise_table {
    /* z = op (x, y), x and y of `type` (unary: y is not looked at); comparisons give bytes.  What is x or y itself is not copied: the
     * array that holds the result is returned. */
    const void *(*operate)(tsr_ewise_op op, tsr_type type, const void *x, const void *y, void *z, int64_t n);
    /* z = flags ? yes : no, elements of `size` bytes. */
    void (*pick)(size_t size, void *z, const uint8_t *flags, const void *yes, const void *no, int64_t n);
    /* flags = is any bit of the element set? */
    void (*truth)(size_t size, uint8_t *flags, const void *x, int64_t n);
} tsr_ewise_table;

TSR_DECLARE_ISA(extern const tsr_ewise_table, tsr_ewise_table);

#endif
