/* Dot products of contiguous vectors under every semiring: the inner part of SDDMM, one version per instruction set.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_SDDMM_DOTS_H
#define TSR_CPU_SDDMM_DOTS_H

#include "kernels/cpu/common/template.h"

/* out[j] = a[0] (x) b[j][0] (+) ... (+) a[k-1] (x) b[j][k-1] for j in [0, n); k >= 1.  Results do not depend on n. */
typedef void (*tsr_sddmm_dots)(void *out, const void *a, const void *const *b, int64_t n, int64_t k);

typedef struct tsr_sddmm_table {
    tsr_sddmm_dots dots[TSR_TYPE_COUNT][TSR_ADD_COUNT][TSR_MUL_COUNT];
} tsr_sddmm_table;

TSR_DECLARE_ISA(extern const tsr_sddmm_table, tsr_sddmm_table);

#endif
