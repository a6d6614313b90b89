/* Version, status texts, options.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/runtime/config.h"
#include "src/runtime/paths.h"

const char *tsr_status_string(tsr_status status)
{
    switch (status) {
    case TSR_OK: return "success";
    case TSR_INVALID_VALUE: return "invalid value";
    case TSR_DIMENSION_MISMATCH: return "dimensions do not fit together";
    case TSR_OUT_OF_MEMORY: return "out of memory";
    case TSR_NOT_SUPPORTED: return "not supported";
    case TSR_IO_ERROR: return "input or output error";
    case TSR_INTERNAL_ERROR: return "internal error";
    }
    return "unknown status";
}

const char *tsr_version(void)
{
    return TSR_VERSION_TEXT;
}

tsr_status tsr_set_option(const char *name, const char *value)
{
    return tsr_config_set(name, value);
}

tsr_semiring tsr_default_semiring(tsr_type type)
{
    if (type == TSR_BOOL) {
        return (tsr_semiring){type, TSR_ADD_LOR, TSR_MUL_AND};
    }
    return (tsr_semiring){type, TSR_ADD_PLUS, TSR_MUL_TIMES};
}
