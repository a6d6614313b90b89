/* The kernels of the CPU, on arrays of the host.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_ENGINE_HOST_H
#define TSR_ENGINE_HOST_H

#include "kernels/complex.h"
#include "kernels/kernels.h"

/* TESSERA_KERNEL=ref: every routed product by the reference kernels, to check an answer. */
bool tsr_engine_by_reference(void);

/* Softmax of every row of x, values of FP32 or FP64 held by row: row r has x[p[r]..p[r+1]). */
void tsr_engine_softmax_rows(void *x, const int64_t *p, int64_t nrows, tsr_type type, int nthreads);

/* Attention of host arrays over the pattern s, by row (tessera/attention.h); columns: the pattern of its transpose, by row: gradients. */
tsr_status tsr_engine_attention(const tsr_view *s, const tsr_view *columns, const tsr_attention_operands *operands, int nthreads);

/* SpMM of host arrays with a B of 16-bit numbers (kernels/kernels.h). */
tsr_status tsr_engine_spmm_half(const tsr_half_spmm *product);
tsr_status tsr_engine_spmm_complex(const tsr_complex_spmm *product);

/* x[0..n) = c + x: the end of C += A*B where C and the product are full. */
void tsr_engine_add_to(void *x, tsr_type type, const void *c, bool iso, int64_t n, int nthreads);

/* One elementwise step on host arrays (kernels/kernels.h); how many entries are present then. */
int64_t tsr_engine_ewise(const tsr_host_ewise *step, int nthreads);

#endif
