/* Transposition of dense arrays: tiles of one cache line by one cache line, turned in vector registers.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/base/split.h"

#include <string.h>

#define LINE 64       /* bytes: a tile is LINE / size elements on a side */
#define BLOCK_VECS 256 /* source vectors walked together: their pages stay in the TLB */

/* A source vector-major array, its transpose, and the piece of both that one thread turns. */
typedef struct piece {
    char *dst;
    const char *src;
    int64_t dst_ld, src_ld;                 /* elements */
    int64_t vec_begin, vec_end, begin, end; /* vectors, and places inside the vectors */
} piece;

/* out[] = the lanes of the registers in[] transposed, by log2(lanes) rounds of interleaving in[j] with in[j + half].
 * The square kernels below are the same code for each element size. */
#define INTERLEAVE_LOW_2 0, 2
#define INTERLEAVE_HIGH_2 1, 3
#define INTERLEAVE_LOW_4 0, 4, 1, 5
#define INTERLEAVE_HIGH_4 2, 6, 3, 7
#define INTERLEAVE_LOW_8 0, 8, 1, 9, 2, 10, 3, 11
#define INTERLEAVE_HIGH_8 4, 12, 5, 13, 6, 14, 7, 15
#define INTERLEAVE_LOW_16 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define INTERLEAVE_HIGH_16 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31

#define SQUARE(NAME, T, LANES, ROUNDS)                                                                          \
    typedef T NAME##_vec __attribute__((vector_size(16)));                                                      \
    static inline void NAME(T *restrict dst, int64_t dst_ld, const T *restrict src, int64_t src_ld)             \
    {                                                                                                           \
        NAME##_vec in[LANES], out[LANES];                                                                       \
        for (int j = 0; j < LANES; j++)                                                                         \
            memcpy(&in[j], src + j * src_ld, 16);                                                               \
        for (int round = 0; round < ROUNDS; round++) {                                                          \
            for (int j = 0; j < LANES / 2; j++) {                                                               \
                out[2 * j] = __builtin_shufflevector(in[j], in[j + LANES / 2], INTERLEAVE_LOW_##LANES);         \
                out[2 * j + 1] = __builtin_shufflevector(in[j], in[j + LANES / 2], INTERLEAVE_HIGH_##LANES);    \
            }                                                                                                   \
            memcpy(in, out, sizeof in);                                                                         \
        }                                                                                                       \
        for (int j = 0; j < LANES; j++)                                                                         \
            memcpy(dst + j * dst_ld, &in[j], 16);                                                               \
    }

SQUARE(square8, uint8_t, 16, 4)
SQUARE(square16, uint16_t, 8, 3)
SQUARE(square32, uint32_t, 4, 2)
SQUARE(square64, uint64_t, 2, 1)

/* One piece.  Full tiles go through a buffer, so that every line of src is read whole and every line of dst is written
 * whole even when their strides fall into one cache set; the rest goes element by element. */
#define FLIP(NAME, SQUARE_NAME, T)                                                                              \
    static void NAME##_tile(T *restrict dst, int64_t dst_ld, const T *restrict src, int64_t src_ld)             \
    {                                                                                                           \
        enum { EDGE = LINE / (int)sizeof(T), LANES = 16 / (int)sizeof(T) };                                     \
        T in[EDGE * EDGE] __attribute__((aligned(LINE))), out[EDGE * EDGE] __attribute__((aligned(LINE)));      \
        for (int v = 0; v < EDGE; v++) {                                                                        \
            __builtin_prefetch(src + v * src_ld + 2 * EDGE);                                                    \
            memcpy(in + v * EDGE, src + v * src_ld, LINE);                                                      \
        }                                                                                                       \
        for (int v = 0; v < EDGE; v += LANES)                                                                   \
            for (int e = 0; e < EDGE; e += LANES)                                                               \
                SQUARE_NAME(out + e * EDGE + v, EDGE, in + v * EDGE + e, EDGE);                                 \
        for (int e = 0; e < EDGE; e++)                                                                          \
            memcpy(dst + e * dst_ld, out + e * EDGE, LINE);                                                     \
    }                                                                                                           \
    static void NAME##_edge(const piece *w, int64_t v0, int64_t v1, int64_t e0, int64_t e1)                     \
    {                                                                                                           \
        const T *restrict src = (const T *)w->src;                                                              \
        T *restrict dst = (T *)w->dst;                                                                          \
        for (int64_t e = e0; e < e1; e++)                                                                       \
            for (int64_t v = v0; v < v1; v++)                                                                   \
                dst[e * w->dst_ld + v] = src[v * w->src_ld + e];                                                \
    }                                                                                                           \
    static void NAME(const piece *w)                                                                            \
    {                                                                                                           \
        enum { EDGE = LINE / (int)sizeof(T) };                                                                  \
        const T *src = (const T *)w->src;                                                                       \
        T *dst = (T *)w->dst;                                                                                   \
        for (int64_t block = w->vec_begin; block < w->vec_end; block += BLOCK_VECS) {                           \
            int64_t last = block + BLOCK_VECS < w->vec_end ? block + BLOCK_VECS : w->vec_end;                   \
            for (int64_t e = w->begin; e < w->end; e += EDGE) {                                                 \
                int64_t e_end = e + EDGE < w->end ? e + EDGE : w->end, v = block;                               \
                for (; e + EDGE <= w->end && v + EDGE <= last; v += EDGE)                                       \
                    NAME##_tile(dst + e * w->dst_ld + v, w->dst_ld, src + v * w->src_ld + e, w->src_ld);        \
                NAME##_edge(w, v, last, e, e_end);                                                              \
            }                                                                                                   \
        }                                                                                                       \
    }

FLIP(flip8, square8, uint8_t)
FLIP(flip16, square16, uint16_t)
FLIP(flip32, square32, uint32_t)
FLIP(flip64, square64, uint64_t)

static void flip_piece(const piece *w, size_t element_size)
{
    switch (element_size) {
    case 1: flip8(w); break;
    case 2: flip16(w); break;
    case 4: flip32(w); break;
    case 8: flip64(w); break;
    default: break;
    }
}

/* Cut points are multiples of a line of elements, so that only the last part has edges. */
static int64_t cut(int64_t n, int part, int nparts)
{
    if (part == nparts)
        return n;
    return tsr_part_begin(n, part, nparts) & ~(int64_t)(LINE - 1);
}

void tsr_dense_flip(void *dst, const void *src, int64_t src_nvec, int64_t src_vlen, int64_t src_ld, size_t element_size,
                    int nthreads)
{
    if (src_nvec <= 0 || src_vlen <= 0)
        return;
    int nparts = tsr_pass_threads(src_nvec * src_vlen, nthreads);
    bool by_place = src_vlen >= src_nvec;
#pragma omp parallel for num_threads(tsr_team(nparts)) schedule(static, 1) if (nparts > 1)
    for (int part = 0; part < nparts; part++) {
        piece w = {dst, src, src_nvec, src_ld, 0, src_nvec, 0, src_vlen};
        if (by_place) {
            w.begin = cut(src_vlen, part, nparts);
            w.end = cut(src_vlen, part + 1, nparts);
        } else {
            w.vec_begin = cut(src_nvec, part, nparts);
            w.vec_end = cut(src_nvec, part + 1, nparts);
        }
        flip_piece(&w, element_size);
    }
}
