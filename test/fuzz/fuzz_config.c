/* Fuzz target: configuration files.  Whatever the bytes, the result is a valid configuration.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "src/runtime/config.h"
#include "test/fuzz/fuzz.h"

static bool valid(const tsr_config *c)
{
    return (unsigned)c->mode <= TSR_MODE_OFF && (unsigned)c->precision <= TSR_PRECISION_FP16 &&
           (unsigned)c->reorder <= TSR_REORDER_LOA && c->disabled <= TSR_DISABLE_ALL && (c->min_work == -1 || c->min_work >= 0) &&
           (c->device == TSR_DEVICE_LOCAL || (c->device >= 0 && c->device <= 255)) && c->verbose >= 0 && c->verbose <= 2 &&
           memchr(c->kernel, 0, sizeof c->kernel) && memchr(c->model, 0, sizeof c->model) && memchr(c->trace, 0, sizeof c->trace);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    tsr_config config;
    tsr_config_defaults(&config);
    int wrong = tsr_config_parse(&config, (const char *)data, size, "fuzz", true);
    if (wrong < 0 || !valid(&config)) {
        abort();
    }
    return 0;
}
