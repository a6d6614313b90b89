/* Until the CPU backend is linked in: one that declines everything.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/registry/backends.h"

static bool supports_nothing(const tsr_product *product)
{
    (void) product;
    return false;
}

__attribute__((weak)) const tsr_backend *tsr_backend_cpu(void)
{
    static const tsr_backend none = {TSR_BACKEND_API_VERSION, "none", supports_nothing, NULL, NULL};
    return &none;
}

tsr_status tsr_cpu_sddmm(const tsr_product *product, tsr_result *result);
__attribute__((weak)) tsr_status tsr_cpu_sddmm(const tsr_product *product, tsr_result *result)
{
    (void) product, (void) result;
    return TSR_DECLINED;
}
