/* The models of the build, one for each GPU that was measured.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "src/policy/model/model.h"

extern const tsr_model tsr_model_h200;

static const tsr_model *const models[] = {&tsr_model_h200};

const tsr_model *tsr_model_default(int arch)
{
    const tsr_model *nearest = models[0];
    for (size_t k = 1; k < sizeof models / sizeof *models; k++)
        if (abs(models[k]->arch - arch) < abs(nearest->arch - arch))
            nearest = models[k];
    return nearest;
}
