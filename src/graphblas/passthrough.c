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
