/* Version, status texts, options.
 * SPDX-License-Identifier: Apache-2.0 */
#include <omp.h>
#include <stdatomic.h>

#include "src/runtime/config.h"
#include "src/runtime/paths.h"
#include "src/sparse_blas/native.h"

static atomic_int threads; /* 0: as OpenMP says */

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
    const tsr_status status = tsr_config_set(name, value);
    return status == TSR_OK ? status : tsr_native_fail(status, "option %s = %s is not one, or has no such value", name ? name : "NULL",
                                                       value ? value : "NULL");
}

tsr_status tsr_set_threads(int most)
{
    if (most < 0) {
        return tsr_native_fail(TSR_INVALID_VALUE, "threads = %d is negative", most);
    }
    atomic_store_explicit(&threads, most, memory_order_relaxed);
    return TSR_OK;
}

static _Thread_local bool alone;

void tsr_native_set_alone(bool is_alone)
{
    alone = is_alone;
}

int tsr_native_threads(void)
{
    if (alone) {
        return 1;
    }
    const int most = atomic_load_explicit(&threads, memory_order_relaxed);
    return most ? most : omp_get_max_threads();
}

tsr_semiring tsr_default_semiring(tsr_type type)
{
    if (type == TSR_BOOL) {
        return (tsr_semiring){type, TSR_ADD_LOR, TSR_MUL_AND};
    }
    return (tsr_semiring){type, TSR_ADD_PLUS, TSR_MUL_TIMES};
}
