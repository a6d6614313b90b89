/* Rows of C = alpha A B + beta C with a B of 16-bit numbers, widened as they are loaded: half the bytes of FP32 are gathered.  Sums are FP32, one
 * entry after the other.  Compiled once per instruction set.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/common/numbers.h"
#include "kernels/cpu/spmm/spmm_half.h"

/* AHEAD: entries between a prefetch of a row of B and its use. */
enum { VECTORS = 8, LANES = TSR_VECTOR_BYTES / 4, AHEAD = 24, LINE = 64, PAST_BYTES = 16 << 20 };

/* `bytes` from `at` on, which seldom begin at a line. */
TSR_INLINE void prefetch(const void *at, const int bytes)
{
    for (int k = 0; k < bytes; k += LINE)
        __builtin_prefetch((const char *)at + k, 0, 3);
    __builtin_prefetch((const char *)at + bytes - 1, 0, 3);
}

/* One row: sum[] of `width` vectors, or of one of which `columns` are there. */
#define ROW(type, index) \
    TSR_INLINE void row_##type##_##index(tsr_v_fp32 *sum, const tsr_half_job *job, int64_t row, int64_t first, const int width, int64_t columns) \
    { \
        const tsr_half_spmm *p = job->product; \
        const tsr_view *a = p->a; \
        const tsr_c_##type *b = (const tsr_c_##type *)p->b + first; \
        const index *i = a->i; \
        const float *x = a->x, one = 1; \
        const int64_t step = x && !a->iso, last = a->nvals - 1; \
        x = x ? x : &one; \
        TSR_UNROLL(8) for (int w = 0; w < width; w++) sum[w] = tsr_splat_fp32(0); \
        for (int64_t e = a->p[row]; e < a->p[row + 1]; e++) { \
            const tsr_c_##type *from = b + (int64_t)i[e] * p->ldb, *next = b + (int64_t)i[e + AHEAD <= last ? e + AHEAD : e] * p->ldb; \
            tsr_c_##type tail[LANES] = { 0 }; \
            prefetch(next, width * LANES * 2); \
            if (columns < LANES) \
                from = memcpy(tail, from, (size_t)(columns < LANES ? columns : 0) * sizeof *tail); \
            const tsr_v_fp32 by = tsr_splat_fp32(x[e * step]); \
            TSR_UNROLL(8) for (int w = 0; w < width; w++) sum[w] += by * tsr_load_##type(from + w * LANES); \
        } \
    }

/* From column `skip` on. */
static void store(float *c, const tsr_v_fp32 *sum, int64_t skip, int64_t columns, const tsr_half_spmm *p)
{
    for (int64_t k = skip; k < columns; k++) {
        const float term = p->alpha * sum[k / LANES][k % LANES];
        c[k] = p->beta != 0 ? term + p->beta * c[k] : term;
    }
}

/* A C that is larger than caches passes by them, where it is aligned. */
TSR_INLINE void store_plain(float *c, const tsr_v_fp32 *sum, const int width, bool past)
{
#if defined(__AVX512BW__)
    if (past) {
        TSR_UNROLL(8) for (int w = 0; w < width; w++) _mm512_stream_ps(c + w * LANES, (__m512)sum[w]);
        return;
    }
#elif defined(__AVX2__)
    if (past) {
        TSR_UNROLL(8) for (int w = 0; w < width; w++) _mm256_stream_ps(c + w * LANES, (__m256)sum[w]);
        return;
    }
#endif
    (void)past;
    TSR_UNROLL(8) for (int w = 0; w < width; w++) tsr_store_fp32(c + w * LANES, sum[w]);
}

/* What passed by the caches is there for other threads. */
TSR_INLINE void settle(void)
{
#if defined(__AVX2__)
    _mm_sfence();
#endif
}

/* Columns of one width for all rows of a job; the first `skip` are not stored. */
#define TILE(type, index) \
    ROW(type, index) \
    TSR_INLINE void tile_##type##_##index(const tsr_half_job *job, int64_t first, const int width, int64_t columns, int64_t skip) \
    { \
        const tsr_half_spmm *p = job->product; \
        const bool plain = p->alpha == 1 && p->beta == 0 && columns >= LANES && skip == 0; \
        const bool aligned = ((uintptr_t)(p->c + first) | (uintptr_t)p->ldc * sizeof(float)) % TSR_VECTOR_BYTES == 0; \
        const bool past = aligned && (size_t)p->a->nrows * (size_t)p->ldc * sizeof(float) >= PAST_BYTES; \
        for (int64_t row = job->begin; row < job->end; row++) { \
            tsr_v_fp32 sum[VECTORS]; \
            float *c = p->c + row * p->ldc + first; \
            row_##type##_##index(sum, job, row, first, width, columns); \
            if (plain) \
                store_plain(c, sum, width, past); \
            else \
                store(c, sum, skip, columns, p); \
        } \
    } \
    static void tiles_##type##_##index(const tsr_half_job *job) \
    { \
        int64_t first = job->first; \
        const int64_t end = job->first + job->columns; \
        for (; first + 8 * LANES <= end; first += 8 * LANES) \
            tile_##type##_##index(job, first, 8, 8 * LANES, 0); \
        for (; first + 4 * LANES <= end; first += 4 * LANES) \
            tile_##type##_##index(job, first, 4, 4 * LANES, 0); \
        for (; first + 2 * LANES <= end; first += 2 * LANES) \
            tile_##type##_##index(job, first, 2, 2 * LANES, 0); \
        for (; first + LANES <= end; first += LANES) \
            tile_##type##_##index(job, first, 1, LANES, 0); \
        if (first < end && end >= LANES) /* the last vector of all, of which some is there already */ \
            tile_##type##_##index(job, end - LANES, 1, LANES, first - (end - LANES)); \
        else if (first < end) \
            tile_##type##_##index(job, first, 1, end - first, 0); \
        settle(); \
    }

#define TILES(type) \
    TILE(type, uint32_t) \
    TILE(type, int64_t) \
    static void tiles_##type(const tsr_half_job *job) \
    { \
        if (job->product->a->index_size == 4) \
            tiles_##type##_uint32_t(job); \
        else \
            tiles_##type##_int64_t(job); \
    }

TILES(fp16)
TILES(bf16)

const tsr_half_table TSR_NAME(tsr_half_table) = { VECTORS * LANES, tiles_fp16, tiles_bf16 };
