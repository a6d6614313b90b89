/* Native interface of sparse times sparse: C = op(A) (+).(.) op(B), C sparse.
 *
 *     tsr_spgemm_plan_create   how many entries C has (symbolic)
 *     tsr_spgemm_execute       the entries (numeric), into the caller's arrays, as often as wanted
 *     tsr_spgemm_execute_values  their values alone, in the same order
 *     tsr_spgemm_execute_device  entries, or values alone, into device memory, on a stream
 *     tsr_spgemm_plan_pattern  the caller keeps C's pattern: it need not be kept twice
 *     tsr_spgemm_execute_new   the same into a new matrix
 *
 * C has an entry wherever at least one pair of entries meets, also if the sum is zero.  Indices ascend in each vector.  The same operands
 * give the same bits, whatever the number of threads.  Conventions as in tessera/tessera.h.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESSERA_SPGEMM_H
#define TESSERA_SPGEMM_H

#include "tessera/tessera.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Flags of tsr_spgemm_plan_create */
enum {
    TSR_SPGEMM_TRANSPOSE_A = 1,
    TSR_SPGEMM_TRANSPOSE_B = 2,
    TSR_SPGEMM_BY_COLUMN = 4, /* C is held by columns; else by rows */
    TSR_SPGEMM_CONJUGATE_A = 8, /* op(A) has the conjugate values, with TSR_SPGEMM_TRANSPOSE_A the conjugate transpose; of real types the same */
    TSR_SPGEMM_CONJUGATE_B = 16
};

/* What is known of one product, opaque.  A plan that is executed a second time keeps C's pattern from then on (4 bytes an entry of the host's
 * memory; on a device also the operands, C, and up to 11 bytes a product as memory allows), so that later executions compute values only. */
typedef struct tsr_spgemm_plan tsr_spgemm_plan;

/* Finds out how many entries op(A) op(B) has.  Values are not read; those of another type than the semiring's are typecast when it is
 * executed.  *plan belongs to the caller: tsr_spgemm_plan_destroy.  a and b must outlive it.
 * TSR_INVALID_VALUE: null pointer, unknown enumerator or flag, a monoid that the type does not have.  TSR_DIMENSION_MISMATCH.
 * TSR_NOT_SUPPORTED: vectors of C longer than 2^32 - 1; complex numbers with another semiring than plus_times or an operand of another type.
 * TSR_OUT_OF_MEMORY. */
TSR_PUBLIC tsr_status tsr_spgemm_plan_create(tsr_spgemm_plan **plan, tsr_semiring semiring, const tsr_sparse *a, const tsr_sparse *b,
                                             unsigned flags);

/* Shape and number of entries of C; any of the pointers may be NULL.  TSR_INVALID_VALUE: plan is NULL. */
TSR_PUBLIC tsr_status tsr_spgemm_plan_size(const tsr_spgemm_plan *plan, int64_t *nrows, int64_t *ncols, int64_t *nvals);

/* Products that are formed: pairs of entries of A and B that meet.  0 for NULL. */
TSR_PUBLIC double tsr_spgemm_plan_work(const tsr_spgemm_plan *plan);

/* One line for people: the product, who computes it from and to host memory, and why.  Lives as long as the plan.  "" for NULL. */
TSR_PUBLIC const char *tsr_spgemm_plan_explain(const tsr_spgemm_plan *plan);

/* NULL allowed. */
TSR_PUBLIC void tsr_spgemm_plan_destroy(tsr_spgemm_plan *plan);

/* C in the caller's arrays, which overlap nothing of A and B: offsets (rows + 1, or columns + 1 by column), indices and values (of the
 * semiring's type) for as many entries as the plan says.  The operands are those of the plan; their values may have changed since.
 * TSR_INVALID_VALUE: null pointer, unknown enumerator, 32-bit offsets or indices for more entries, rows or columns than 2^32 - 1 (2^31 - 1
 * entries).  TSR_OUT_OF_MEMORY: the arrays are as they were, unless a device had begun to fill them.
 * A GPU computes it where that is expected to be faster, the way to it and C's way back counted (decided when the plan is made). */
TSR_PUBLIC tsr_status tsr_spgemm_execute(const tsr_spgemm_plan *plan, tsr_index_type index_type, void *offsets, void *indices,
                                         void *values);

/* The values of C alone, in the order of tsr_spgemm_execute, for as many entries as the plan says; values of the operands may have changed.  The
 * same errors.  Executions of one plan by several threads take turns. */
TSR_PUBLIC tsr_status tsr_spgemm_execute_values(const tsr_spgemm_plan *plan, void *values);

/* The same into device memory, by the GPU whose memory `values` is in, which computes whatever the plan chose for host memory; what it declines the CPU
 * computes, with copies both ways.  offsets and indices may both be NULL: values alone.  Values of operands in device memory are read as they are
 * when the stream comes to it: nobody need say that they have changed.  Where A and B are held by rows, indices ascend, types are the semiring's and
 * flags are 0 they are not copied to the host.  stream: as for tsr_execute.  The first executions wait for the device; from the third on (the
 * second, where the first was of values alone) the call only queues its work, but cannot be captured.
 * The errors of tsr_spgemm_execute.  TSR_NOT_SUPPORTED: no GPU that can be used.  TSR_INTERNAL_ERROR: the device failed. */
TSR_PUBLIC tsr_status tsr_spgemm_execute_device(const tsr_spgemm_plan *plan, tsr_index_type index_type, void *offsets, void *indices,
                                                void *values, void *stream);

/* C's pattern, as an execution of this plan or of one of the same operands gave it: later executions compute values only.  The arrays stay the
 * caller's and as they are as long as the plan lives.  TSR_INVALID_VALUE: null pointer, unknown enumerator, or not as many entries as the plan
 * says.  TSR_OUT_OF_MEMORY. */
TSR_PUBLIC tsr_status tsr_spgemm_plan_pattern(tsr_spgemm_plan *plan, tsr_index_type index_type, const void *offsets, const void *indices);

/* C as a new matrix with 64-bit indices, which belongs to the caller: tsr_sparse_destroy.  TSR_INVALID_VALUE: null pointer.
 * TSR_OUT_OF_MEMORY. */
TSR_PUBLIC tsr_status tsr_spgemm_execute_new(const tsr_spgemm_plan *plan, tsr_sparse **c);

#ifdef __cplusplus
}
#endif

#endif
