/* The kernels of the CPU, and those of reference.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/engine/call/host.h"

#include <string.h>

#include "src/runtime/backends.h"
#include "src/runtime/config.h"

bool tsr_engine_by_reference(void)
{
    return strcmp(tsr_config_get()->kernel, "ref") == 0;
}

void tsr_engine_add_to(void *x, tsr_type type, const void *c, bool iso, int64_t n, int nthreads)
{
    tsr_backend_cpu()->host->add_to(x, type, c, iso, n, nthreads);
}

int64_t tsr_engine_ewise(const tsr_host_ewise *step, int nthreads)
{
    return tsr_backend_cpu()->host->ewise(step, nthreads);
}

void tsr_engine_softmax_rows(void *x, const int64_t *p, int64_t nrows, tsr_type type, int nthreads)
{
    tsr_backend_cpu()->host->softmax_rows(x, x, p, nrows, type, nthreads);
}

tsr_status tsr_engine_attention(const tsr_view *s, const tsr_view *columns, const tsr_attention_operands *operands, int nthreads)
{
    const tsr_backend_host *host = tsr_backend_cpu()->host;
    return columns ? host->attention_backward(s, columns, operands, nthreads) : host->attention(s, operands, nthreads);
}

tsr_status tsr_engine_spmm_half(const tsr_half_spmm *product)
{
    return tsr_backend_cpu()->host->spmm_half(product);
}

tsr_status tsr_engine_spmm_complex(const tsr_complex_spmm *product)
{
    return tsr_engine_by_reference() ? tsr_ref_spmm_complex(product) : tsr_backend_cpu()->host->spmm_complex(product);
}
