/* Random products for the kernel tests: edge-biased, reproducible from a seed.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_KERNELS_CASES_H
#define TEST_KERNELS_CASES_H

#include "kernels/kernels.h"

typedef struct rng {
    uint64_t state;
} rng;

uint64_t rng_next(rng *r);
int64_t rng_below(rng *r, int64_t bound);        /* [0, bound) */
bool rng_chance(rng *r, int percent);

/* x[at]: any bits, often none, all or the sign; zeros, infinities, NaN and the ends of FP32. */
void draw_odd_element(rng *r, tsr_type type, void *x, int64_t at);

/* How values are drawn. DYADIC: few bits, so that every sum is exact.  PLAIN: any finite value of moderate size. 
 * WILD: also
 * NaN, infinities and zeros of both signs. NAN: hardly anything else, so that many results have no number.
 * Integers are dyadic or use all bits. */
typedef enum draw { DRAW_DYADIC, DRAW_PLAIN, DRAW_WILD, DRAW_NAN } draw;

#define CASE_ARRAYS 24

typedef struct test_case {
    tsr_product product;
    draw draw;
    bool wants_flags; /* pass result->b */
    const void *c;    /* pass as result->c, without flags */
    bool c_iso, in_place;
    void *arrays[CASE_ARRAYS];
    size_t bytes[CASE_ARRAYS];
    int count;
} test_case;

/* size: 0 small (hundreds of places) … 2 large. */
void case_make(test_case *c, rng *r, tsr_op op, tsr_semiring semiring, int size);
/* SPMM of two full matrices. */
void case_make_full(test_case *c, rng *r, tsr_semiring semiring, int size);
/* Offsets of each sparse operand in 32 bits, or not. */
void case_narrow(test_case *c, rng *r);
/* … and C, which the product is joined to. */
void case_join(test_case *c, rng *r);
void case_free(test_case *c);

/* A hash of everything a kernel may read, to see that it wrote nothing there. */
uint64_t case_hash(const test_case *c);

/* One line with all that matters. */
void case_print(const test_case *c);

size_t type_size(tsr_type type);
const char *type_name(tsr_type type);
const char *add_name(tsr_add add);
const char *mul_name(tsr_mul mul);
const char *op_name(tsr_op op);

/* A power-law matrix by row with 64-bit or 32-bit indices, for measuring. */
void case_make_bench(test_case *c, rng *r, tsr_op op, tsr_semiring semiring, int scale, int64_t n, bool b_by_col);

#endif
