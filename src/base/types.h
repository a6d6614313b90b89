/* Element types: sizes, names, casts, and arrays of them turned over.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_BASE_TYPES_H
#define TSR_BASE_TYPES_H

#include "tessera/backend.h"

/* Offset k of a list of uint32_t (narrow) or int64_t. */
static inline int64_t tsr_offset(const void *list, bool narrow, int64_t k)
{
    return narrow ? (int64_t)((const uint32_t *)list)[k] : ((const int64_t *)list)[k];
}

/* Offsets of either width, as a view has them. */
typedef struct tsr_offsets {
    const void *list;
    bool narrow;
} tsr_offsets;

static inline tsr_offsets tsr_offsets_of(const tsr_view *v)
{
    return (tsr_offsets){v->p, v->narrow_offsets};
}

static inline int64_t tsr_offset_at(tsr_offsets offsets, int64_t k)
{
    return tsr_offset(offsets.list, offsets.narrow, k);
}

static inline tsr_offsets tsr_offsets_wide(const int64_t *list)
{
    return (tsr_offsets){list, false};
}

/* The same from offset `first` on. */
static inline tsr_offsets tsr_offsets_from(tsr_offsets offsets, int64_t first)
{
    return (tsr_offsets){(const char *)offsets.list + first * (offsets.narrow ? 4 : 8), offsets.narrow};
}

/* Entries of vector k. */
static inline int64_t tsr_offsets_length(tsr_offsets offsets, int64_t k)
{
    return tsr_offset_at(offsets, k + 1) - tsr_offset_at(offsets, k);
}

/* Offset k will be read soon. */
static inline void tsr_offset_fetch(tsr_offsets offsets, int64_t k)
{
    __builtin_prefetch((const char *)offsets.list + k * (offsets.narrow ? 4 : 8));
}

/* Rows or columns: of how many vectors a matrix is held. */
static inline int64_t tsr_view_vectors(const tsr_view *v)
{
    return v->by_col ? v->ncols : v->nrows;
}

/* Where stored vector k of a compressed view begins; k = nvec: where the last one ends. */
static inline int64_t tsr_view_start(const tsr_view *v, int64_t k)
{
    return tsr_offset(v->p, v->narrow_offsets, k);
}

/* Bytes of one value. */
static inline size_t tsr_type_size(tsr_type type)
{
    static const uint8_t sizes[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, 2, 2, 8, 16};
    return sizes[type];
}

/* Of two numbers, real part first. */
static inline bool tsr_is_complex(tsr_type type)
{
    return type == TSR_FC32 || type == TSR_FC64;
}

const char *tsr_type_name(tsr_type type); /* "fp32", … */

/* dst[0..n) = (to) src[0..n) with the typecast rules of SuiteSparse:GraphBLAS (float to integer: NaN -> 0, saturating,
 * truncating; anything to bool: x != 0).  dst and src do not overlap.  nthreads >= 1. */
void tsr_cast_values(void *dst, tsr_type to, const void *src, tsr_type from, int64_t n, int nthreads);

/* dst (row-major if !dst_by_col, leading dimension = vector length) = src, a full or bitmap array of nrows x ncols held
 * the other way; element_size in {1,2,4,8}.  Cache blocked, threaded. */
void tsr_dense_flip(void *dst, const void *src, int64_t src_nvec, int64_t src_vlen, int64_t src_ld, size_t element_size,
                    int nthreads);

#endif
