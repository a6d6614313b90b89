/* Sparse operands on the device, kept in the slots of the records, evicted least recently used.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_SPARSE_H
#define TSR_CUDA_SPARSE_H

#include "backends/cuda/device/context.h"
#include "backends/cuda/operands/order.h"
#include "backends/cuda/masked/masked_plans.h"
#include "backends/cuda/masked/stencil.h"
#include "backends/cuda/spmm/representations.h"

/* What tells the representations of one slot apart.  An iso operand and one whose values are not read are both patterns: the
 * value comes with the product. */
typedef struct tsr_cuda_key {
    bool transposed, pattern;
    tsr_type type;
} tsr_cuda_key;

typedef struct tsr_cuda_sparse tsr_cuda_sparse;
typedef struct tsr_cuda_cache_entry tsr_cuda_cache_entry;

/* A sparse operand of one product. */
typedef struct tsr_cuda_operand {
    tsr_view view;   /* by row, or turned on the device */
    void **slot;     /* NULL: nothing is kept */
    tsr_cuda_key key;
    bool work_lists; /* those of tsr_cuda_csr are needed */
    int nthreads;
} tsr_cuda_operand;

struct tsr_cuda_sparse {
    tsr_cuda_dead dead;                   /* once its slot is released */
    uint64_t number;                      /* never used again */
    tsr_cuda_key key;
    tsr_cuda_cache_entry *slot;                  /* NULL: of one product only */
    tsr_cuda_sparse *next;                /* in the slot */
    tsr_cuda_sparse *older, *newer;       /* by last use */
    int users;                            /* operands of the present product */
    tsr_cuda_csr csr;
    size_t bytes;                         /* reserved for the CSR */
    tsr_cuda_blocks *blocks;              /* list of block formats made of it */
    tsr_cuda_order order;                 /* of their rows */
    tsr_cuda_statistics account;             /* whether they would pay */
    int8_t *row_present;                  /* on the host, [nrows]: does the row have an entry?  NULL: not yet asked */
    int64_t rows_present;
    tsr_cuda_kept_plan *plans;            /* of masked products with this mask */
    tsr_cuda_stencil stencil;             /* of this mask */
};

/* A of SpMM and SpMV. */
tsr_cuda_operand tsr_cuda_operand_a(const tsr_product *product);

/* Is it there? */
bool tsr_cuda_sparse_held(const tsr_cuda_operand *operand);

/* The representation of an operand, found, made of its transpose that is there, or brought; tsr_cuda_sparse_leave when the product is
 * done, as often.  *moved grows by the bytes brought to the device.  TSR_DECLINED: too large for 32-bit indices or for the memory allowed,
 * or of another type. */
tsr_status tsr_cuda_sparse_use(tsr_cuda_sparse **out, const tsr_cuda_operand *operand, int64_t *moved);
tsr_cuda_sparse *tsr_cuda_sparse_again(tsr_cuda_sparse *a); /* for another operand of the same product */
void tsr_cuda_sparse_leave(tsr_cuda_sparse *a);

/* The arrays of a sparse or hypersparse view as they are, but for narrow indices and offsets for every vector: CSR of the matrix, or of its
 * transpose when it is held by column.  value_size 0: no values.  Queued on `compute`; delete what there is of them in any case. */
tsr_status tsr_cuda_csr_upload(tsr_cuda_csr *csr, const tsr_view *view, size_t value_size, int nthreads, int64_t *moved);
void tsr_cuda_csr_delete(tsr_cuda_csr *csr);

/* Fills row_present. */
tsr_status tsr_cuda_sparse_rows(tsr_cuda_sparse *a);

/* Free the representation that was not used for longest; false: none is left.  For tsr_cuda_start. */
bool tsr_cuda_evict_oldest(void);

/* A slot's content is not wanted any more.  Any thread, at any time: what cannot be freed at once is freed by the next product. */
void tsr_cuda_cache_entry_release(void *slot);

#endif
