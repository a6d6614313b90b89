/* A tile of C stays in vector registers while packed strips of A and B pass by (Goto and van de Geijn, Anatomy of High-Performance Matrix
 * Multiplication, 2008).  Compiled once per instruction set.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/gemm/gemm.h"
#include "kernels/cpu/common/simd.h"

/* Registers hold ROWS x 2 vectors of C, 2 of B and one element of A: 27 of 32, 15 of 16. */
#if TSR_VECTOR_BYTES == 64
#define ROWS 12
#else
#define ROWS 6
#endif
#define VECTORS 2

#define UNROLL TSR_UNROLL(12)

#define PACK(type) \
    TSR_INLINE void pack_##type(void *to, const tsr_gemm_strip *s, const int64_t full) \
    { \
        const tsr_c_##type *from = s->from; \
        tsr_c_##type *out = to; \
        for (int64_t l = 0; l < s->depth; l++, out += full) \
            for (int64_t w = 0; w < full; w++) \
                out[w] = w < s->width ? from[w * s->across + l * s->along] : 0; \
    } \
    static void pack_a_##type(void *to, const tsr_gemm_strip *s) { pack_##type(to, s, ROWS); } \
    static void pack_b_##type(void *to, const tsr_gemm_strip *s) { pack_##type(to, s, VECTORS * TSR_LANES(type)); }

/* One row of a tile that is not whole vectors side by side in C. */
#define STORE_ELEMENTS(type) \
    static void store_elements_##type(const tsr_gemm_tile *t, int64_t row, const tsr_c_##type *sum) \
    { \
        tsr_c_##type *c = (tsr_c_##type *)t->c + row * t->down; \
        for (int64_t j = 0; j < t->columns; j++) \
            c[j * t->across] = t->add ? c[j * t->across] + sum[j] : sum[j]; \
    }

#define STORE(type) \
    STORE_ELEMENTS(type) \
    TSR_INLINE void store_##type(const tsr_gemm_tile *t, int64_t row, const tsr_v_##type *sum) \
    { \
        tsr_c_##type *c = (tsr_c_##type *)t->c + row * t->down; \
        if (t->across != 1 || t->columns < VECTORS * TSR_LANES(type)) { \
            store_elements_##type(t, row, (const tsr_c_##type *)sum); \
            return; \
        } \
        for (int v = 0; v < VECTORS; v++, c += TSR_LANES(type)) \
            tsr_store_##type(c, t->add ? tsr_load_##type(c) + sum[v] : sum[v]); \
    }

/* Sums begin at -0.0, which changes no sum. */
#define MULTIPLY(type) \
    static void multiply_##type(const tsr_gemm_tile *t) \
    { \
        const tsr_c_##type *a = t->a, *b = t->b; \
        tsr_v_##type sum[ROWS][VECTORS]; \
        UNROLL for (int r = 0; r < ROWS; r++) \
            UNROLL for (int v = 0; v < VECTORS; v++) \
                sum[r][v] = tsr_splat_##type(tsr_identity_plus_##type()); \
        for (int64_t l = 0; l < t->depth; l++, a += ROWS, b += VECTORS * TSR_LANES(type)) { \
            const tsr_v_##type b0 = tsr_load_##type(b), b1 = tsr_load_##type(b + TSR_LANES(type)); \
            UNROLL for (int r = 0; r < ROWS; r++) { \
                const tsr_v_##type one = tsr_splat_##type(a[r]); \
                sum[r][0] += one * b0; \
                sum[r][1] += one * b1; \
            } \
        } \
        UNROLL for (int r = 0; r < ROWS; r++) \
            if (r < t->rows) \
                store_##type(t, r, sum[r]); \
    }

#define KERNEL(type) { ROWS, VECTORS * TSR_LANES(type), pack_a_##type, pack_b_##type, multiply_##type }

PACK(fp32)
PACK(fp64)
STORE(fp32)
STORE(fp64)
MULTIPLY(fp32)
MULTIPLY(fp64)

const tsr_gemm_table TSR_NAME(tsr_gemm_table) = { KERNEL(fp32), KERNEL(fp64) };
