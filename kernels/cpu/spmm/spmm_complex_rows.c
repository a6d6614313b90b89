/* Rows of C = alpha A B + beta C of complex numbers.  Two sums for each vector of B's numbers, as they lie there: of B times A's real part, and of
 * B times A's imaginary part, whose halves change places at the end of a row.  Compiled once per instruction set.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/common/simd.h"
#include "kernels/cpu/spmm/spmm_complex.h"

enum { TILE = 4 }; /* vectors; two sums each */

/* Entries of a row: BODY for each, with its column k and its value x. */
#define EACH_ENTRY(type, index, BODY) \
    const tsr_view *a = p->a; \
    const index *i = a->i; \
    for (int64_t e = a->p[row]; e < a->p[row + 1]; e++) { \
        const int64_t k = (int64_t)i[e]; \
        const tsr_c_##type x = ((const tsr_c_##type *)a->x)[a->iso ? 0 : p->places ? p->places[e] : e]; \
        const real im = p->conjugate ? -x.im : x.im; \
        BODY \
    }

#define PUT(type, real_type) \
    static void put_##type(const tsr_complex_spmm *p, int64_t row, int64_t column, real_type re, real_type im) \
    { \
        tsr_c_##type *c = (tsr_c_##type *)p->c + row * p->c_row + column * p->c_column; \
        const tsr_c_##type alpha = { (real_type)p->alpha.re, (real_type)p->alpha.im }, sum = { re, im }; \
        const tsr_c_##type beta = { (real_type)p->beta.re, (real_type)p->beta.im }; \
        const bool reads = beta.re != 0 || beta.im != 0; \
        const tsr_c_##type term = alpha.re == 1 && alpha.im == 0 ? sum : tsr_mul_times_##type(alpha, sum); \
        *c = reads ? tsr_add_plus_##type(term, tsr_mul_times_##type(beta, *c)) : term; \
    }

/* Columns [first, first + width vectors) of a B by row. */
#define ROWS(type, part, index) \
    TSR_INLINE void tile_##type##_##index(const tsr_complex_spmm *p, int64_t row, int64_t first, const int width) \
    { \
        typedef tsr_c_##part real; \
        enum { LANES = TSR_VECTOR_BYTES / sizeof(real) }; \
        tsr_v_##part by_re[TILE], by_im[TILE]; \
        TSR_UNROLL(4) for (int w = 0; w < width; w++) by_re[w] = by_im[w] = tsr_splat_##part(0); \
        EACH_ENTRY(type, index, \
            const real *from = (const real *)((const tsr_c_##type *)p->b + k * p->b_row + first); \
            TSR_UNROLL(4) for (int w = 0; w < width; w++) { \
                const tsr_v_##part b = tsr_load_##part(from + w * LANES); \
                by_re[w] += tsr_splat_##part(x.re) * b; \
                by_im[w] += tsr_splat_##part(im) * b; \
            }) \
        for (int q = 0; q < width * LANES / 2; q++) { \
            const int w = 2 * q / LANES, at = 2 * q % LANES; \
            put_##type(p, row, first + q, by_re[w][at] - by_im[w][at + 1], by_re[w][at + 1] + by_im[w][at]); \
        } \
    } \
    static void single_##type##_##index(const tsr_complex_spmm *p, int64_t row, int64_t column) \
    { \
        typedef tsr_c_##part real; \
        const tsr_c_##type *from = (const tsr_c_##type *)p->b + column * p->b_column; \
        real rr = 0, ii = 0, ri = 0, ir = 0; \
        EACH_ENTRY(type, index, \
            const tsr_c_##type b = from[k * p->b_row]; \
            rr += x.re * b.re; \
            ii += im * b.im; \
            ri += x.re * b.im; \
            ir += im * b.re;) \
        put_##type(p, row, column, rr - ii, ri + ir); \
    } \
    static void rows_##type##_##index(const tsr_complex_job *job) \
    { \
        enum { COLUMNS = TSR_VECTOR_BYTES / sizeof(tsr_c_##type) }; \
        const tsr_complex_spmm *p = job->product; \
        for (int64_t row = job->begin; row < job->end; row++) { \
            int64_t column = 0; \
            for (; p->b_column == 1 && column + TILE * COLUMNS <= p->n; column += TILE * COLUMNS) \
                tile_##type##_##index(p, row, column, TILE); \
            for (; p->b_column == 1 && column + COLUMNS <= p->n; column += COLUMNS) \
                tile_##type##_##index(p, row, column, 1); \
            for (; column < p->n; column++) \
                single_##type##_##index(p, row, column); \
        } \
    }

#define BOTH_WIDTHS(type, part) \
    PUT(type, tsr_c_##part) \
    ROWS(type, part, uint32_t) \
    ROWS(type, part, int64_t) \
    static void rows_##type(const tsr_complex_job *job) \
    { \
        if (job->product->a->index_size == 4) \
            rows_##type##_uint32_t(job); \
        else \
            rows_##type##_int64_t(job); \
    }

BOTH_WIDTHS(fc32, fp32)
BOTH_WIDTHS(fc64, fp64)

const tsr_complex_table TSR_NAME(tsr_complex_table) = { rows_fc32, rows_fc64 };
