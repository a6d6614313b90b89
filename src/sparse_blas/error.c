/* What was wrong with a call, in words.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stdio.h>

#include "src/base/types.h"
#include "src/runtime/warn.h"
#include "src/sparse_blas/native.h"

static _Thread_local char last[512];

const char *tsr_last_error(void)
{
    return last;
}

void tsr_set_log(tsr_log_function log, void *context)
{
    tsr_warn_set_log(log, context);
}

tsr_status tsr_native_fail(tsr_status status, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(last, sizeof last, format, args);
    va_end(args);
    tsr_warn_log(last);
    return status;
}

tsr_status tsr_native_null(const char *name)
{
    return tsr_native_fail(TSR_INVALID_VALUE, "%s is NULL", name);
}

tsr_status tsr_native_no_memory(void)
{
    return tsr_native_fail(TSR_OUT_OF_MEMORY, "there is no memory");
}

tsr_status tsr_native_check_type(const char *name, tsr_type type)
{
    return tsr_is_complex(type) ? TSR_OK : tsr_native_check_range(name, type, 0, TSR_TYPE_COUNT - 1);
}

tsr_status tsr_native_check_range(const char *name, int64_t value, int64_t least, int64_t most)
{
    if (value >= least && value <= most) {
        return TSR_OK;
    }
    return tsr_native_fail(TSR_INVALID_VALUE, "%s = %lld is not in %lld to %lld", name, (long long)value, (long long)least, (long long)most);
}
