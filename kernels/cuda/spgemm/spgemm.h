/* C<M> = A (+).(.) B of sparse matrices held by row on the device.  Rules of kernels/kernels.h; structure: an entry wherever a product was
 * formed and the mask lets it pass, zeros and NaN included; columns ascend.
 *
 * Every sum is formed in the order of A's entries, each product and each partial sum rounded by itself: floats have the bits of the plain loop
 * over a row, on every call, whichever kernel computes the row.  ANY: the last in that order.  Only where Tensor Cores form sums of products of reals
 * (nearly full C) is that order another one, the same on every call; the error is that of a loop, about.
 *
 * Two steps, so that the caller allocates C:
 *     count   finds nvals; rows are computed and stored as far as memory allows
 *     fill    brings them to their places, and computes the rest; called again, it writes values only
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_SPGEMM_H
#define TSR_CUDA_SPGEMM_H

#include "kernels/cuda/common/cuda_kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tsr_cuda_spgemm {
    tsr_semiring semiring;
    bool pattern;              /* only the structure is wanted: values are neither read nor written */
    const tsr_cuda_csr *a, *b; /* m x k and k x n, columns ascending; p, i, x and the sizes are used.  x == NULL: every value is the one below, or
                                * values are not read */
    uint64_t a_iso, b_iso;     /* its bits, in the semiring's type; of TSR_FC64 those of the real part, and the imaginary part is 0 */
    const tsr_cuda_csr *mask;  /* m x n, columns ascending; p, i and x are used.  Only these entries of C; NULL: all */
    int mask_size;             /* bytes of an element of mask->x: entries that are 0 do not count.  x NULL: all count */
    const uint32_t *mask_bits; /* or, in the place of `mask`, [m * mask_words] for a bitmap or full one: a bit for each column of a row, 1 where it counts */
    int64_t mask_words;        /* of a row: n bits at least */
    bool mask_complement;      /* all entries of C but these */
    tsr_precision precision;   /* arithmetic allowed for FP32 where C is nearly full */
    size_t memory;             /* most bytes to use for results before they are in C; 0: about as many as C will take */
    const tsr_cuda_device *device;
    void *stream;
} tsr_cuda_spgemm;

typedef struct tsr_cuda_spgemm_size {
    int64_t nvals;
    uint64_t products; /* pairs A(i,k), B(k,j) */
    size_t most_bytes; /* taken at one time beside operands and C, by count and the first fill */
    bool tiles;        /* computed by tiles on Tensor Cores */
} tsr_cuda_spgemm_size;

/* 1 and 0; others in tests, where few entries go the ways of more than 2^32: C may have so many times as many entries as it can have, and stored results
 * are counted from stored_before on. */
extern uint64_t tsr_cuda_spgemm_bound_times, tsr_cuda_spgemm_stored_before;

/* 0: tiles where they are expected to pay.  In tests and measurements 1: wherever they fit, 2: of values where operands are dense enough,
 * however small, -1: nowhere. */
extern int tsr_cuda_spgemm_tiles;
/* Streams beside the caller's on which kernels run; fewer in tests and measurements. */
extern int tsr_cuda_spgemm_sides;

/* What is known about one product; the arrays of A and B must stay. */
typedef struct tsr_cuda_spgemm_work tsr_cuda_spgemm_work;

/* Waits for the stream.  After a failure there is no work.  TSR_DECLINED: 2^32 - 1 rows or columns, or products no kernel here forms. */
tsr_status tsr_cuda_spgemm_count(tsr_cuda_spgemm_work **work, tsr_cuda_spgemm_size *size, const tsr_cuda_spgemm *product);
/* c: nrows, ncols, nvals, and arrays p [m+1], i [nvals], x [nvals] (not looked at with `pattern`) of the caller.  `product` may have other
 * values than `count` saw, in the same patterns: then again must be true.  again: c->p and c->i are as an earlier fill left them. */
tsr_status tsr_cuda_spgemm_fill(tsr_cuda_spgemm_work *work, const tsr_cuda_spgemm *product, tsr_cuda_csr *c, bool again);
/* After a fill of c: the place of every product is kept with the work, for fills again, which then take one pass.  8 bytes a product and 2.25 an
 * entry of C, and 4 more an entry while they are found: most_bytes at most; *bytes are taken afterwards.  Waits for the stream.  TSR_DECLINED: they
 * are more, or would not be faster; then, and after a failure, fills again work as before. */
tsr_status tsr_cuda_spgemm_keep(tsr_cuda_spgemm_work *work, size_t *bytes, const tsr_cuda_spgemm *product, const tsr_cuda_csr *c,
                                size_t most_bytes);
void tsr_cuda_spgemm_free(tsr_cuda_spgemm_work *work, void *stream);

/* Both, with arrays of C from tsr_cuda_malloc; the work is freed.  size may be NULL. */
tsr_status tsr_cuda_spgemm_whole(tsr_cuda_csr *c, tsr_cuda_spgemm_size *size, const tsr_cuda_spgemm *product);

#ifdef __cplusplus
}
#endif

#endif
