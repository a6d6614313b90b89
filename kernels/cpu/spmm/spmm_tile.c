/* Gather kernels: a tile of one row of C stays in vector registers while the entries of that row of A pass by.
 * Compiled once per instruction set.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/common/simd.h"
#include "kernels/cpu/spmm/spmm_kernels.h"

/* Entries between a prefetch and its use: of rows of B, and of A itself where it is most of what is read.  Beside wider tiles, that ask for
 * many lines of B, it only gets in their way. */
#define AHEAD 12
#define FAR_AHEAD 128
#define LINE 64

#define UNROLL TSR_UNROLL(8)

/* sum (+) a (x) b in one expression, so that plus_times becomes a fused multiply-add. */
#define STEP_plus_times(type, sum, a, b) ((sum) + (a) * (b))
#define STEP_plus_second(type, sum, a, b) ((sum) + (b))
#define STEP_plus_plus(type, sum, a, b) ((sum) + ((a) + (b)))
#define STEP_min_times(type, sum, a, b) tsr_fast_min_##type(sum, (a) * (b))
#define STEP_min_second(type, sum, a, b) tsr_fast_min_##type(sum, b)
#define STEP_min_plus(type, sum, a, b) tsr_fast_min_##type(sum, (a) + (b))
#define STEP_max_times(type, sum, a, b) tsr_fast_max_##type(sum, (a) * (b))
#define STEP_max_second(type, sum, a, b) tsr_fast_max_##type(sum, b)
#define STEP_max_plus(type, sum, a, b) tsr_fast_max_##type(sum, (a) + (b))
#define STEP_lor_and(type, sum, a, b) tsr_vadd_lor_##type(sum, tsr_vmul_and_##type(a, b))
#define STEP_lor_second(type, sum, a, b) tsr_vadd_lor_##type(sum, b)

/* Partial sums of a tile joined. */
#define JOIN_plus(type, x, y) ((x) + (y))
#define JOIN_min(type, x, y) tsr_fast_min_##type(x, y)
#define JOIN_max(type, x, y) tsr_fast_max_##type(x, y)
#define JOIN_lor(type, x, y) tsr_vadd_lor_##type(x, y)

#define FAST_INTEGER(type, bits) \
    TSR_INLINE tsr_v_##type tsr_fast_min_##type(tsr_v_##type x, tsr_v_##type y) { return tsr_vadd_min_##type(x, y); } \
    TSR_INLINE tsr_v_##type tsr_fast_max_##type(tsr_v_##type x, tsr_v_##type y) { return tsr_vadd_max_##type(x, y); }
TSR_FOR_VECTOR_INTEGERS(FAST_INTEGER)

/* Where the sum of a tile begins.  For floats min and max begin at an infinity, which is not NaN, so that the single
 * instruction will do; a result that is still that infinity is looked at again (repair). */
#define START_INTEGER(type, bits) \
    TSR_INLINE tsr_c_##type start_plus_##type(void) { return 0; } \
    TSR_INLINE tsr_c_##type start_lor_##type(void) { return 0; } \
    TSR_INLINE tsr_c_##type start_min_##type(void) { return tsr_identity_min_##type(); } \
    TSR_INLINE tsr_c_##type start_max_##type(void) { return tsr_identity_max_##type(); }
#define START_FLOAT(type, bits) \
    TSR_INLINE tsr_c_##type start_plus_##type(void) { return tsr_identity_plus_##type(); } \
    TSR_INLINE tsr_c_##type start_min_##type(void) { return (tsr_c_##type)INFINITY; } \
    TSR_INLINE tsr_c_##type start_max_##type(void) { return -(tsr_c_##type)INFINITY; }
TSR_FOR_VECTOR_INTEGERS(START_INTEGER)
TSR_FOR_VECTOR_FLOATS(START_FLOAT)

#define NEEDS_REPAIR_plus(type) false
#define NEEDS_REPAIR_lor(type) false
#define NEEDS_REPAIR_min(type) ((tsr_c_##type)0.5 != 0)
#define NEEDS_REPAIR_max(type) ((tsr_c_##type)0.5 != 0)

TSR_INLINE void prefetch_row(const void *row, int64_t bytes)
{
    for (int64_t at = 0; at < bytes; at += LINE)
        __builtin_prefetch((const char *)row + at, 0, 3);
}

/* Row of B at k as a narrow tile may read it. */
#define NARROW_ROW(type) \
    TSR_INLINE const tsr_c_##type *narrow_row_##type(const tsr_tile_job *job, int64_t k) \
    { \
        const tsr_c_##type *inside = (const tsr_c_##type *)job->b + k * job->ldb; \
        const tsr_c_##type *beyond = (const tsr_c_##type *)job->tail + (k - job->safe_row - 1) * TSR_LANES(type); \
        return k <= job->safe_row ? inside : beyond; \
    }

/* A tile's sums added to the values that are joined to them. */
#define ADD_JOINED(type, from, sum, width, narrow, columns) \
    do { \
        UNROLL for (int w = 0; w < (width); w++) \
        { \
            tsr_v_##type old = tsr_splat_##type(0); \
            if (narrow) \
                memcpy(&old, from, (size_t)(columns) * sizeof(tsr_c_##type)); \
            else \
                old = tsr_load_##type((from) + w * TSR_LANES(type)); \
            (sum)[w] = JOIN_plus(type, old, (sum)[w]); \
        } \
    } while (0)

#define TAKES_JOINED_plus true
#define TAKES_JOINED_min false
#define TAKES_JOINED_max false
#define TAKES_JOINED_lor false

/* A value still at +-infinity is NaN if every term was. */
#define REPAIR(type, add, mul, index) \
    static __attribute__((noinline)) void TSR_PASTE5(repair, add, mul, type, index)( \
        const tsr_tile_job *job, int64_t lo, int64_t hi, tsr_c_##type *out) \
    { \
        const index *i = job->i; \
        const tsr_c_##type *a = job->a, *b = job->b; \
        for (int64_t j = 0; j < job->columns; j++) { \
            bool all_nan = out[j] == start_##add##_##type(); \
            for (int64_t e = lo; all_nan && e < hi; e++) { \
                tsr_c_##type term = tsr_mul_##mul##_##type(a[e * job->a_step], b[(int64_t)i[e] * job->ldb + j]); \
                all_nan = term != term; \
            } \
            if (all_nan) \
                out[j] = tsr_identity_##add##_##type(); \
        } \
    }

#define STORE_TILE(type, out, sum, width, narrow, columns) \
    do { \
        UNROLL for (int w = 0; w < (width); w++) \
        { \
            if (narrow) \
                memcpy(out, &(sum)[w], (size_t)(columns) * sizeof(tsr_c_##type)); \
            else \
                tsr_store_##type((out) + w * TSR_LANES(type), (sum)[w]); \
        } \
    } while (0)

/* ahead: of a tile of one or two vectors, known for several entries at once.  Wider ones find the next entry for each: 5 % less time (Zen 5). */
#define TAKE_ENTRY(type, add, mul, entry, ahead, sums) \
    do { \
        const int64_t at = (entry), last = job->last_entry; \
        const int64_t next = width <= 2 ? at + (ahead) : at + AHEAD < last ? at + AHEAD : last; \
        prefetch_row(b + (int64_t)i[next] * ldb, width * TSR_VECTOR_BYTES); \
        const int64_t k = (int64_t)i[at]; \
        const tsr_c_##type *row = narrow ? narrow_row_##type(job, k) : b + k * ldb; \
        const tsr_v_##type va __attribute__((unused)) = tsr_splat_##type(a[at * a_step]); \
        UNROLL for (int w = 0; w < width; w++) \
            (sums)[w] = STEP_##add##_##mul(type, (sums)[w], va, tsr_load_##type(row + w * TSR_LANES(type))); \
    } while (0)

#define TILE_BODY(type, add, mul, index) \
    REPAIR(type, add, mul, index) \
    TSR_INLINE void TSR_PASTE5(tile, add, mul, type, index)(const tsr_tile_job *job, const int width, \
        const bool narrow) \
    { \
        const index *i = job->i; \
        const tsr_c_##type *a = job->a, *b = job->b; \
        const int64_t a_step = job->a_step, ldb = job->ldb; \
        const tsr_c_##type *joined __attribute__((unused)) = job->joined; \
        const int unroll = width == 1 ? 4 : width == 2 ? 2 : 1; \
        const tsr_offsets p = job->p; \
        int64_t hi = tsr_offset_at(p, job->first); \
        for (int64_t r = job->first; r < job->last; r++) { \
            const int64_t lo = hi; \
            hi = tsr_offset_at(p, r + 1); \
            tsr_v_##type sum[8]; \
            UNROLL for (int w = 0; w < width * unroll; w++) sum[w] = tsr_splat_##type(start_##add##_##type()); \
            int64_t e = lo; \
            for (; e + unroll <= hi; e += unroll) { \
                if (width == 1) { \
                    __builtin_prefetch(i + e + FAR_AHEAD, 0, 3); \
                    __builtin_prefetch(a + (e + FAR_AHEAD) * a_step, 0, 3); \
                } \
                const int64_t ahead = e + unroll + AHEAD <= job->last_entry ? AHEAD : 0; \
                UNROLL for (int u = 0; u < unroll; u++) \
                    TAKE_ENTRY(type, add, mul, e + u, ahead, sum + u * width); \
            } \
            for (; e < hi; e++) \
                TAKE_ENTRY(type, add, mul, e, e + AHEAD <= job->last_entry ? AHEAD : 0, sum); \
            UNROLL for (int w = width; w < width * unroll; w++) \
                sum[w % width] = JOIN_##add(type, sum[w % width], sum[w]); \
            tsr_c_##type *out = (tsr_c_##type *)job->c + (job->h != NULL ? job->h[r] : r) * job->ldc; \
            if (TAKES_JOINED_##add && joined != NULL) \
                ADD_JOINED(type, joined + r * job->ldj, sum, width, narrow, job->columns); \
            STORE_TILE(type, out, sum, width, narrow, job->columns); \
            if (NEEDS_REPAIR_##add(type)) { \
                int bad = 0; \
                for (int64_t j = 0; j < job->columns; j++) \
                    bad |= out[j] == start_##add##_##type(); \
                if (bad) \
                    TSR_PASTE5(repair, add, mul, type, index)(job, lo, hi, out); \
            } \
        } \
    } \
    static void TSR_PASTE5(tile1, add, mul, type, index)(const tsr_tile_job *job) \
    { TSR_PASTE5(tile, add, mul, type, index)(job, 1, false); } \
    static void TSR_PASTE5(tile2, add, mul, type, index)(const tsr_tile_job *job) \
    { TSR_PASTE5(tile, add, mul, type, index)(job, 2, false); } \
    static void TSR_PASTE5(tile4, add, mul, type, index)(const tsr_tile_job *job) \
    { TSR_PASTE5(tile, add, mul, type, index)(job, 4, false); } \
    static void TSR_PASTE5(tile8, add, mul, type, index)(const tsr_tile_job *job) \
    { TSR_PASTE5(tile, add, mul, type, index)(job, 8, false); } \
    static void TSR_PASTE5(tile_narrow, add, mul, type, index)(const tsr_tile_job *job) \
    { TSR_PASTE5(tile, add, mul, type, index)(job, 1, true); }

#define TILES(type, add, mul) TILE_BODY(type, add, mul, uint32_t) TILE_BODY(type, add, mul, int64_t)

#define FILL(type, add, mul, index) \
    fn[TSR_TILE_1] = TSR_PASTE5(tile1, add, mul, type, index); \
    fn[TSR_TILE_2] = TSR_PASTE5(tile2, add, mul, type, index); \
    fn[TSR_TILE_4] = TSR_PASTE5(tile4, add, mul, type, index); \
    fn[TSR_TILE_8] = TSR_PASTE5(tile8, add, mul, type, index); \
    fn[TSR_TILE_NARROW] = TSR_PASTE5(tile_narrow, add, mul, type, index);

/* The semirings that have tiles of their own: F(enumerator of type, type, enumerator of add, add, …) */
#define FOR_MULS(F, TYPE, type, ADD, add) \
    F(TYPE, type, ADD, add, TIMES, times) F(TYPE, type, ADD, add, SECOND, second) F(TYPE, type, ADD, add, PLUS, plus)
#define FOR_ORDERED(F, TYPE, type) FOR_MULS(F, TYPE, type, MIN, min) FOR_MULS(F, TYPE, type, MAX, max)
#define FOR_ALL(F) \
    FOR_MULS(F, UINT32, uint32, PLUS, plus) FOR_MULS(F, UINT64, uint64, PLUS, plus) \
    FOR_MULS(F, FP32, fp32, PLUS, plus) FOR_MULS(F, FP64, fp64, PLUS, plus) \
    FOR_ORDERED(F, INT32, int32) FOR_ORDERED(F, INT64, int64) FOR_ORDERED(F, UINT32, uint32) \
    FOR_ORDERED(F, UINT64, uint64) FOR_ORDERED(F, FP32, fp32) FOR_ORDERED(F, FP64, fp64) \
    F(UINT8, uint8, LOR, lor, AND, and) F(UINT8, uint8, LOR, lor, SECOND, second)

NARROW_ROW(uint8)
NARROW_ROW(int32)
NARROW_ROW(int64)
NARROW_ROW(uint32)
NARROW_ROW(uint64)
NARROW_ROW(fp32)
NARROW_ROW(fp64)

#define DEFINE_TILES(TYPE, type, ADD, add, MUL, mul) TILES(type, add, mul)
FOR_ALL(DEFINE_TILES)

#define CASE(TYPE, type, ADD, add, MUL, mul) \
    case TSR_SEMIRING(TSR_##TYPE, TSR_ADD_##ADD, TSR_MUL_##MUL): \
        if (index_size == 4) { \
            FILL(type, add, mul, uint32_t) \
        } else { \
            FILL(type, add, mul, int64_t) \
        } \
        return true;

static bool find_tiles(tsr_tile_fn fn[TSR_TILE_WIDTHS], tsr_semiring s, int index_size)
{
    switch (TSR_SEMIRING(s.type, s.add, s.mul)) {
    FOR_ALL(CASE)
    default: return false;
    }
}

tsr_entries_fn TSR_NAME(tsr_find_entries)(tsr_semiring semiring, bool flags);

const tsr_spmm_table TSR_NAME(tsr_spmm_table) = { TSR_VECTOR_BYTES, find_tiles, TSR_NAME(tsr_find_entries) };
