/* SDDMM where no kernel is built: every product is declined.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/kernels.h"

tsr_status tsr_cpu_sddmm(const tsr_product *product, tsr_result *result)
{
    (void)product;
    (void)result;
    return TSR_DECLINED;
}
