/* Plug-ins for test_backends: FAKE_VERSION and FAKE_SCORE say what is wrong with this one; FAKE_NOTHING exports
 * nothing. SPDX-License-Identifier: Apache-2.0 */
#include "tessera/backend.h"

#ifndef FAKE_NOTHING
static bool supports(const tsr_product *product)
{
    return product->m == 1;
}

static tsr_status execute(const tsr_product *product, tsr_result *result)
{
    (void)product;
    result->nvals = 42;
    return TSR_OK;
}

static const char *kernel_name(const tsr_product *product)
{
    (void)product;
    return "fake_kernel";
}

TSR_PUBLIC const tsr_backend *tsr_backend_init(void);
TSR_PUBLIC int tsr_backend_score(void);

const tsr_backend *tsr_backend_init(void)
{
    static const tsr_backend backend = {FAKE_VERSION, "fake", supports, execute, kernel_name};
    return &backend;
}

int tsr_backend_score(void)
{
    return FAKE_SCORE;
}
#endif
