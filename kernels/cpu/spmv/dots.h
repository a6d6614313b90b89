/* What the dot products of SpMV share.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CPU_SPMV_DOTS_H
#define TSR_CPU_SPMV_DOTS_H

#include "kernels/cpu/common/template.h"

/* A sum with a full x begins with this.  Floating-point min and max begin at an infinity, which is not NaN, so that one comparison will do; a
 * sum that is still that infinity is NaN if all terms were. */
#define START_plus(type) tsr_identity_plus_##type()
#define START_min(type) (IS_FLOAT(type) ? (tsr_c_##type)START_FLOAT(type, 1) : tsr_identity_min_##type())
#define START_max(type) (IS_FLOAT(type) ? (tsr_c_##type)START_FLOAT(type, -1) : tsr_identity_max_##type())
#define START_lor(type) tsr_identity_lor_##type()
#define START_any(type) ((tsr_c_##type)0)
#define START_FLOAT(type, sign) (IS_FLOAT(type) ? (sign) * HUGE_VAL : 0)
#define IS_FLOAT(type) ((tsr_c_##type)0.5 != 0)
#define REPAIRS_plus(type) false
#define REPAIRS_min(type) IS_FLOAT(type)
#define REPAIRS_max(type) IS_FLOAT(type)
#define REPAIRS_lor(type) false
#define REPAIRS_any(type) false

#define FAST_plus(type, x, y) tsr_add_plus_##type(x, y)
#define FAST_min(type, x, y) ((y) < (x) ? (y) : (x))
#define FAST_max(type, x, y) ((y) > (x) ? (y) : (x))
#define FAST_lor(type, x, y) tsr_add_lor_##type(x, y)
#define FAST_any(type, x, y) ((void)(x), (y))

/* sum of TERM(type, mul, e) of [e, hi), four at a time: each addition waits for the one before. */
#define SUM_BY_FOUR(type, add, mul) \
    tsr_c_##type sum = START_##add(type), sum1 = sum, sum2 = sum, sum3 = sum; \
    for (; e + 4 <= hi; e += 4) { \
        const tsr_c_##type t0 = TERM(type, mul, e), t1 = TERM(type, mul, e + 1); \
        const tsr_c_##type t2 = TERM(type, mul, e + 2), t3 = TERM(type, mul, e + 3); \
        sum = FAST_##add(type, sum, t0); \
        sum1 = FAST_##add(type, sum1, t1); \
        sum2 = FAST_##add(type, sum2, t2); \
        sum3 = FAST_##add(type, sum3, t3); \
    } \
    for (; e < hi; e++) { \
        const tsr_c_##type term = TERM(type, mul, e); \
        sum = FAST_##add(type, sum, term); \
    } \
    sum = FAST_##add(type, sum, sum1); \
    sum2 = FAST_##add(type, sum2, sum3); \
    sum = FAST_##add(type, sum, sum2);

#endif
