/* Prototypes of the CPU and reference kernels, with their contracts.
 * Kernels know pointers and sizes only.  They allocate nothing but per-thread scratch (libc malloc), return
 * TSR_OUT_OF_MEMORY without having written anything that matters, and never read x at absent places of a bitmap into a result.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_KERNELS_H
#define TSR_KERNELS_H

#include "kernels/elements.h"
#include "kernels/product_kernels.h"
#include "tessera/backend.h"
#include "tessera/device.h"

/* Semantics shared by all kernels, equal to SuiteSparse:GraphBLAS 7.4:
 *  - integers wrap modulo 2^bits in the type of the semiring; bool results are 0 or 1.
 *  - FP min and max are fmin and fmax (a NaN loses against a number).
 *  - ANY takes the value of some entry: ours is the first in the order of the sparse operand (deterministic).
 *  - PLUS over floating point: order of summation is free but fixed for a given input, nthreads and CPU; accuracy at
 *    least that of adding one by one in the type itself.
 *  - an entry of C exists where at least one product was formed (NaN or zero values included).
 *  - all operands: type == semiring.type, or iso (x[0] of semiring.type), or pattern (x == NULL, only when mul ignores it).
 *  - a mask value is false when all its bits are zero (-0.0 is true).
 *  - LOR of a type other than bool yields 0 or 1, also where there is one term only.
 *  - 64-bit sizes everywhere; nrows, ncols, nvals may be 0; `a` may be sparse or hypersparse, by row or by column, jumbled or not.
 */

/* The oracle: obvious triple loops, one thread, every op, semiring, type, format and orientation of tsr_product. */
tsr_status tsr_ref_execute(const tsr_product *product, tsr_result *result);

/* Does it take result->c for this product?  Of SPMM: plus_times in FP32 and FP64, A by row, B full. */
bool tsr_cpu_spmm_joins(const tsr_product *product);
bool tsr_cpu_spmv_joins(const tsr_product *product);

/* C = alpha A B + beta C, plus_times of FP32 with a B of 16-bit numbers.  a: sparse by row, values FP32, iso or none (ones); b: a.ncols x n by row,
 * of b_type TSR_FP16 or TSR_BF16; c: a.nrows x n by row, not read if beta is 0.  Sums are FP32, one entry after the other. */
typedef struct tsr_half_spmm {
    const tsr_view *a;
    const void *b;
    tsr_type b_type;
    int64_t ldb, n;
    float *c;
    int64_t ldc;
    float alpha, beta;
    int nthreads;
} tsr_half_spmm;
tsr_status tsr_cpu_spmm_half(const tsr_half_spmm *product);

/* x[0..n) = c + x, c one value if iso; any type but bool, integers wrap. */
void tsr_cpu_add_to(void *x, tsr_type type, const void *c, bool iso, int64_t n, int nthreads);

/* One elementwise step over host arrays, with typecasts of operands and result.  step.type and step.result are those of the operator,
 * `type` that of C: of arrays.c, arrays.z and accum.  unite and select: x_type, y_type, step.type and step.result are the same.  Pointers
 * of step.x, step.y and step.c are not looked at.  z may be the array of an operand of C's type, z_present any presence; what
 * stands where nothing is present means nothing. */
typedef struct tsr_host_ewise {
    tsr_ewise step;
    tsr_ewise_arrays arrays;
    tsr_type x_type, y_type, type;
} tsr_host_ewise;

/* Returns how many entries are present.  The bits are those of one operator after the other. */
int64_t tsr_cpu_ewise(const tsr_host_ewise *step, int nthreads);

/* result[v] = the sum of vector v of a full array of the host, of sums->type; at least one element each.  Sums across vectors join in order,
 * those along one in eight parts.  False: the type has no such monoid, nothing is written. */
bool tsr_cpu_sums(const tsr_sums *sums, void *result, int nthreads);

/* The same of the entries of each vector of a sparse a, cast to sums->type first; `value`, `length` and `across` are not looked at.
 * present[v]: vector v has one.  Returns how many have; a negative number: no such monoid, nothing is written. */
int64_t tsr_cpu_list_sums(const tsr_sums *sums, const tsr_view *a, int8_t *present, void *result, int nthreads);

/* Softmax of every row of values held by row, FP32 or FP64, as tsr_cuda_softmax_rows: y = exp(x - m) / sum of exp(x - m), m the row's
 * largest value; sums in FP64.  Row r has x and y [p[r], p[r+1]); y may be x. */
void tsr_cpu_softmax_rows(void *y, const void *x, const int64_t *p, int64_t nrows, tsr_type type, int nthreads);

/* Attention (tessera/attention.h) of host arrays over the pattern s, sparse by row: one pass over a row's entries, sums and weights FP32.
 * TSR_OUT_OF_MEMORY: nothing usable was written.  tsr_ref_attention computes in FP64 and rounds once. */
tsr_status tsr_cpu_attention(const tsr_view *s, const tsr_attention_operands *operands, int nthreads);
tsr_status tsr_ref_attention(const tsr_view *s, const tsr_attention_operands *operands);
/* columns: the pattern of the transpose of s, by row. */
tsr_status tsr_cpu_attention_backward(const tsr_view *s, const tsr_view *columns, const tsr_attention_operands *operands, int nthreads);
tsr_status tsr_ref_attention_backward(const tsr_view *s, const tsr_attention_operands *operands);

/* Which instruction set the kernels use: the best the CPU has, or less when limited (tests, TESSERA_CPU_ISA). */
typedef enum tsr_isa { TSR_ISA_BASELINE, TSR_ISA_AVX2, TSR_ISA_AVX512 } tsr_isa;
tsr_isa tsr_cpu_isa(void);
void tsr_cpu_limit_isa(tsr_isa most);

/* From so many entries of A on an SpMV gathers by vectors.  Below, lists and vector are in the cache, where an AMD EPYC (Zen 5) is faster with
 * scalars.  Tests set less. */
void tsr_cpu_gather_from(int64_t entries);
const char *tsr_isa_name(tsr_isa isa);

#endif
