/* Sparse operands on the device, kept in the slots of the records, evicted least recently used.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_CUDA_SPARSE_H
#define TSR_CUDA_SPARSE_H

#include "backends/cuda/operands/operand.h"

/* A of SpMM and SpMV. */
tsr_cuda_operand tsr_cuda_operand_a(const tsr_product *product);

/* Another one of type `type`; is_transposed: the view shows the transpose of the slot's matrix. */
tsr_cuda_operand tsr_cuda_operand_of(const tsr_view *view, bool reads, tsr_type type, void **slot, bool is_transposed, int nthreads);
/* The bits of an iso operand's value; of complex FP64 numbers those of its real part. */
uint64_t tsr_cuda_iso_value(const tsr_view *view);
/* Without slots, too: do they show the same arrays, and want the same of them? */
bool tsr_cuda_same_operand(const tsr_cuda_operand *x, const tsr_cuda_operand *y);

/* Is it there? */
bool tsr_cuda_sparse_held(const tsr_cuda_operand *operand);
/* What is there, with a user more; NULL: nothing. */
tsr_cuda_sparse *tsr_cuda_sparse_found(const tsr_cuda_operand *operand);

/* A representation of arrays that were computed here, in no slot, with one user; reserved afterwards.  csr is taken over, also by a failure. */
tsr_status tsr_cuda_sparse_adopt(tsr_cuda_sparse **out, tsr_cuda_csr *csr, tsr_cuda_key key);
/* Products find it in the slot from now on.  Of one that is in none. */
void tsr_cuda_sparse_keep(tsr_cuda_sparse *a, void **slot);
/* Other arrays with the same pattern, without values. */
tsr_status tsr_cuda_sparse_copy_pattern(tsr_cuda_csr *csr, const tsr_cuda_csr *from);
/* What one of that size takes. */
size_t tsr_cuda_sparse_bytes(int64_t nrows, int64_t ncols, int64_t nvals, size_t value_size);

/* The representation of an operand, found, made of its transpose that is on the device, or uploaded; tsr_cuda_sparse_leave when the product is
 * done, as often.  *moved grows by the bytes uploaded.  TSR_DECLINED: too large for 32-bit indices or for the memory allowed,
 * or of another type. */
tsr_status tsr_cuda_sparse_use(tsr_cuda_sparse **out, const tsr_cuda_operand *operand, int64_t *moved);
/* Other values of the same pattern, for a representation that is in no slot.  TSR_DECLINED: it is in one, the values are of another kind, or
 * they find no room.  After a failure its values are not defined. */
tsr_status tsr_cuda_sparse_renew(tsr_cuda_sparse *a, const tsr_cuda_operand *operand, int64_t *moved);
tsr_cuda_sparse *tsr_cuda_sparse_again(tsr_cuda_sparse *a); /* for another operand of the same product */
void tsr_cuda_sparse_leave(tsr_cuda_sparse *a);

/* Fills row_present, … */
tsr_status tsr_cuda_sparse_rows(tsr_cuda_sparse *a);
/* … or only rows_present, where 8 bytes are moved. */
tsr_status tsr_cuda_sparse_count_rows(tsr_cuda_sparse *a);

/* Free the representation that was not used for longest; false: none is left.  For tsr_cuda_start. */
bool tsr_cuda_evict_oldest(void);

/* A slot's content is not wanted any more.  Any thread, at any time: what cannot be freed at once is freed by the next product. */
void tsr_cuda_cache_entry_release(void *slot);

#endif
