/* Fuzz target: model files.  What is taken has finite numbers only, and its text is taken again.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>

#include "src/policy/model/model.h"
#include "test/fuzz/fuzz.h"

static bool valid(const tsr_model *m)
{
    const double *window = &m->window[0][0][0], *kernel = &m->kernel[0][0][0][0];
    for (size_t k = 0; k < sizeof m->window / sizeof *window; k++)
        if (!isfinite(window[k]))
            return false;
    for (size_t k = 0; k < sizeof m->kernel / sizeof *kernel; k++)
        if (!(isfinite(kernel[k]) && kernel[k] >= 0))
            return false;
    return m->arch > 0 && *m->device;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static char text[65536];
    static tsr_model model, again;
    if (tsr_model_parse(&model, (const char *)data, size))
        return 0;
    size_t length = tsr_model_print(text, sizeof text, &model);
    if (!valid(&model) || length >= sizeof text || tsr_model_parse(&again, text, length)) {
        abort();
    }
    return 0;
}
