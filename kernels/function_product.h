/* A sparse matrix times a full vector, multiplied by a function of the caller's: contract of the CPU and reference kernels.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_FUNCTION_PRODUCT_H
#define TSR_FUNCTION_PRODUCT_H

#include "kernels/kernels.h"
#include "tessera/values.h"

/* z: the product of x and y, written. */
typedef void tsr_multiply_function(void *z, const void *x, const void *y);

/* t[r] = the sum of multiply (entry, u[its index]) over vector r of `a`, one entry after the other; r is the name of the vector.  The function is
 * called once for each entry, by several threads at once. */
typedef struct tsr_function_product {
    tsr_multiply_function *multiply;
    bool swapped;      /* multiply (u[index], entry) */
    tsr_view a;        /* compressed, with values; names below `length` */
    const void *u;     /* a.vlen elements, or one for all */
    size_t u_step;     /* bytes from one to the next; 0: one for all */
    int64_t length;    /* of t */
    tsr_reduce_op add; /* plus, times, min or max of numbers; lor, land, lxor or eq of BOOL */
    tsr_type type;     /* of products and sums */
    int nthreads;
} tsr_function_product;

/* Is there a loop for its sums? */
bool tsr_cpu_function_product_takes(const tsr_function_product *product);
/* present[r]: vector r has entries; t[r] stands for something there alone.  Returns how many have. */
int64_t tsr_cpu_function_product(const tsr_function_product *product, int8_t *present, void *t);
int64_t tsr_ref_function_product(const tsr_function_product *product, int8_t *present, void *t);

#endif
