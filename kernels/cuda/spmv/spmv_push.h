/* w = A u from the entries of u alone (kernels/cuda/spmv/spmv_push.cu).
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_PUSH_H
#define TSR_CUDA_PUSH_H

#include "kernels/cuda/common/list.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Columns of A are walked where u has entries; products join in w in any order. */
typedef struct tsr_cuda_push {
    tsr_semiring semiring;
    const tsr_cuda_csr *columns; /* A' by row; its columns may be in any order.  Work lists are not used */
    const void *u;               /* [columns->nrows] of the semiring's type; NULL: not read */
    const int8_t *u_present;     /* the same number, 0/1; NULL: all are present */
    uint64_t iso;                /* as tsr_cuda_csr_spmm's */
    void *w;                     /* [columns->ncols], 0 where there is no product; aligned to its type */
    int8_t *w_present;           /* written 0/1 */
    const tsr_cuda_device *device;
    void *stream;
} tsr_cuda_push;

/* Is the result the same in any order: any_pair and lor of all types; min and max, and plus of integers, of 4 and 8 bytes? */
static inline bool tsr_cuda_push_takes(tsr_semiring s)
{
    const bool real = s.type == TSR_FP32 || s.type == TSR_FP64;
    const bool narrow = s.type == TSR_BOOL || s.type == TSR_INT8 || s.type == TSR_UINT8 || s.type == TSR_INT16 || s.type == TSR_UINT16;
    switch (s.add) {
    case TSR_ADD_ANY: return s.mul == TSR_MUL_PAIR;
    case TSR_ADD_LOR: return true;
    case TSR_ADD_PLUS: return !real && !narrow;
    default: return !narrow;
    }
}

/* What there is to walk: pieces of columns, and their entries. */
typedef struct tsr_cuda_push_work {
    uint64_t pieces, entries;
} tsr_cuda_push_work;

/* *work and pieces (device; tsr_cuda_push_bytes, of any u with this A) are written.  Of push only columns, u_present, device and stream
 * are used. */
size_t tsr_cuda_push_bytes(const tsr_cuda_csr *columns);
tsr_status tsr_cuda_push_list(tsr_cuda_push_work *work, void *pieces, const tsr_cuda_push *push);

/* A column of so many entries has this many pieces. */
uint64_t tsr_cuda_push_pieces(uint64_t entries);

/* work: as counted, on the device; most: pieces, at most, 0 if there is none.  pieces and work NULL: a thread walks a whole column, which is to have few
 * entries; most: any number but 0.  TSR_DECLINED: not a semiring of these. */
tsr_status tsr_cuda_push_run(const tsr_cuda_push *push, const void *pieces, const tsr_cuda_push_work *work, uint64_t most);

/* The same in one kernel from a list of u's places (`from`); u_present: given.  w and w_present are 0 before, and w_present has room for whole words of
 * 4 bytes.  `to` becomes the list of what is present, its head 0 before; told: of to's head.  longest: entries of a column of A, at most. */
tsr_status tsr_cuda_push_listed(const tsr_cuda_push *push, const tsr_cuda_list *from, int64_t longest, const tsr_cuda_list *to,
                                const tsr_cuda_told *told);

#ifdef __cplusplus
}
#endif

#endif
