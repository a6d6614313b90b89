/* Native interface of attention over a sparse pattern, all heads at once, in one pass over the pattern:
 *
 *     O = softmax (scale Q K', at the entries of S only) V        for each head
 *
 *     tsr_attention_plan_create    checks shapes, prepares the device
 *     tsr_attention_execute        the outputs, and what backward needs
 *     tsr_attention_backward       gradients of Q, K and V
 *
 * Scores and weights are not stored, but for those of one head at a time where three calls are faster (FP32 in device memory, lse not wanted).
 * Sums are FP32, whatever the operands are.  Conventions as in tessera/tessera.h.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TESSERA_ATTENTION_H
#define TESSERA_ATTENTION_H

#include "tessera/tessera.h"

#ifdef __cplusplus
extern "C" {
#endif

/* rows x width numbers for each of `heads` heads, in the caller's memory.  Number (row, head, c) is at data[row * ld + head * head_stride + c]:
 * head_stride = width and ld = heads * width for rows x heads x width; head_stride = rows * width and ld = width for heads x rows x width.
 * K and V may have head_stride 0: all heads share theirs. */
typedef struct tsr_heads {
    void *data;
    tsr_type type; /* TSR_FP32, TSR_FP16 or TSR_BF16 */
    int64_t rows, heads, width;
    int64_t ld;          /* elements between the rows of one head, >= width */
    int64_t head_stride; /* elements between the heads of one row, >= 0 */
    tsr_memory_space memory;
} tsr_heads;

/* What is known of attention over one pattern, opaque.  Holds no values. */
typedef struct tsr_attention_plan tsr_attention_plan;

/* Flags of tsr_attention_plan_create */
enum {
    TSR_ATTENTION_BACKWARD = 1 /* tsr_attention_backward will be called: the pattern of S by columns is kept as well */
};

/* S (m x n, held by rows, in any memory): who attends to whom.  Its values are not looked at; entries of a row may be in any order.
 * q and o have m rows, k and v n; heads, width, type and memory are the same for all four.  Data is not read and may be NULL; the plan is
 * for the device whose memory o->data is in, else q->data.
 * *plan belongs to the caller: tsr_attention_plan_destroy.  s must outlive it.
 * TSR_INVALID_VALUE: null pointer, unknown flag, a type or memory that differs or is not among those above, heads < 1,
 * strides with which rows of o would overlap.  TSR_DIMENSION_MISMATCH.  TSR_NOT_SUPPORTED: S held by columns or of complex values, more than 2^32 - 2 rows or
 * columns, device memory without a GPU that can be used.  TSR_OUT_OF_MEMORY. */
TSR_PUBLIC tsr_status tsr_attention_plan_create(tsr_attention_plan **plan, tsr_sparse *s, const tsr_heads *q, const tsr_heads *k,
                                                const tsr_heads *v, const tsr_heads *o, unsigned flags);

/* Do executions only queue work on their stream?  True in device memory, but for what tsr_attention_plan_explain names. */
TSR_PUBLIC bool tsr_attention_plan_is_asynchronous(const tsr_attention_plan *plan);

/* One line for people: who computes it, and why.  Lives as long as the plan.  "" for NULL. */
TSR_PUBLIC const char *tsr_attention_plan_explain(const tsr_attention_plan *plan);

/* NULL allowed.  Waits for the device where the plan has an asynchronous execution. */
TSR_PUBLIC void tsr_attention_plan_destroy(tsr_attention_plan *plan);

/* The outputs.  Operands are like those of the plan (data and strides may differ); o overlaps none of the others.  A row of S without entries
 * gets zeros.  A row whose scores have NaN or +Inf, or are all -Inf, becomes NaN.
 * lse: where not NULL, m x heads numbers in the memory of o, written: log of the sum of exp (score) over the row, -Inf for an empty row;
 * tsr_attention_backward needs it.
 * stream: as for tsr_execute; where tsr_attention_plan_is_asynchronous the call returns at once and can be captured in a CUDA graph.
 * TSR_INVALID_VALUE: null pointer, operands not those of the plan, an overlap, a pointer that is not of the memory it claims (asked with
 * option "check_pointers").  TSR_NOT_SUPPORTED: a stream with host memory.  TSR_OUT_OF_MEMORY, TSR_INTERNAL_ERROR: contents of o and lse are
 * unspecified; inputs are untouched. */
TSR_PUBLIC tsr_status tsr_attention_execute(const tsr_attention_plan *plan, double scale, const tsr_heads *q, const tsr_heads *k,
                                            const tsr_heads *v, const tsr_heads *o, float *lse, void *stream);

/* Gradients of a loss with respect to Q, K and V, from that with respect to O.  q, k, v, o, lse and scale are those of an execution, which
 * wrote o and lse.  Of the others grad_o and grad_q are like q, grad_k and grad_v like k (the number of heads as well: where heads share K, theirs
 * are to be added up by the caller).  Each gradient that is written may be NULL: it is not computed.  Weights are computed again from lse, in one
 * pass over the rows of S and one over its columns; the same bits every time.
 * Rows that became NaN make NaN of what they touch.
 * The rest as for tsr_attention_execute.  TSR_NOT_SUPPORTED: a plan without TSR_ATTENTION_BACKWARD, too. */
TSR_PUBLIC tsr_status tsr_attention_backward(const tsr_attention_plan *plan, double scale, const tsr_heads *q, const tsr_heads *k,
                                             const tsr_heads *v, const tsr_heads *o, const float *lse, const tsr_heads *grad_o,
                                             const tsr_heads *grad_q, const tsr_heads *grad_k, const tsr_heads *grad_v, void *stream);

#ifdef __cplusplus
}
#endif

#endif
