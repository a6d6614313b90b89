/* x = c + x, element by element: the end of C += A*B with a full C, without a second array.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/common/chunks.h"
#include "kernels/cpu/common/template.h"

enum { GRAIN = 1 << 17 };

struct addition {
    void *x;
    const void *c;
    tsr_type type;
    bool iso;
};

#define ADD_RANGE(type, wide) \
    static void add_##type(const struct addition *s, int64_t first, int64_t last) \
    { \
        tsr_c_##type *x = s->x; \
        const tsr_c_##type *c = s->c; \
        const tsr_c_##type same = c[0]; \
        if (s->iso) \
            for (int64_t k = first; k < last; k++) \
                x[k] = tsr_add_plus_##type(same, x[k]); \
        else \
            for (int64_t k = first; k < last; k++) \
                x[k] = tsr_add_plus_##type(c[k], x[k]); \
    }
TSR_FOR_NUMBERS(ADD_RANGE)

static void add_range(void *context, int64_t first, int64_t last)
{
    static void (*const of_type[TSR_TYPE_COUNT])(const struct addition *, int64_t, int64_t) = {
        [TSR_INT8] = add_int8,     [TSR_INT16] = add_int16,   [TSR_INT32] = add_int32,   [TSR_INT64] = add_int64,
        [TSR_UINT8] = add_uint8,   [TSR_UINT16] = add_uint16, [TSR_UINT32] = add_uint32, [TSR_UINT64] = add_uint64,
        [TSR_FP32] = add_fp32,     [TSR_FP64] = add_fp64,
    };
    const struct addition *s = context;
    of_type[s->type](s, first, last);
}

void tsr_cpu_add_to(void *x, tsr_type type, const void *c, bool iso, int64_t n, int nthreads)
{
    struct addition s = { x, c, type, iso };
    tsr_for_ranges(n, GRAIN, nthreads, add_range, &s);
}
