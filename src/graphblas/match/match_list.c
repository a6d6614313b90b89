/* Index lists as calls give them.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/graphblas/intercept/door.h"
#include "src/graphblas/match/match.h"

bool tsr_is_all(const GrB_Index *indices)
{
    static const GrB_Index *known;
    const GrB_Index *all = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (!all) {
        const GrB_Index *const *variable = tsr_real_symbol("GrB_ALL");
        all = variable ? *variable : NULL;
        __atomic_store_n(&known, all, __ATOMIC_RELAXED);
    }
    return indices && indices == all;
}

/* Places of begin : step : end in a list, and lengths that say so: those of every version. */
enum { BEGIN = 0, END = 1, STEP = 2 };
#define RANGE ((GrB_Index)INT64_MAX)
#define STRIDE ((GrB_Index)INT64_MAX - 1)
#define BACKWARDS ((GrB_Index)INT64_MAX - 2)

/* begin : step : end; false: not a list that is dealt with here. */
static bool read_colon(tsr_indices *s, const GrB_Index *list, int64_t step)
{
    const GrB_Index begin = list[BEGIN], end = list[END];
    if (begin > INT64_MAX / 2 || end > INT64_MAX / 2 || step == 0)
        return false;
    const int64_t span = step > 0 ? (int64_t)end - (int64_t)begin : (int64_t)begin - (int64_t)end;
    *s = (tsr_indices){.first = (int64_t)begin, .step = step, .count = span < 0 ? 0 : span / (step > 0 ? step : -step) + 1};
    return true;
}

bool tsr_match_list(tsr_indices *s, tsr_list l, int64_t all)
{
    if (!l.list)
        return false;
    *s = (tsr_indices){.step = 1, .count = all};
    if (tsr_is_all(l.list))
        return true;
    if (l.count == RANGE)
        return read_colon(s, l.list, 1);
    if (l.count == STRIDE || l.count == BACKWARDS) {
        const GrB_Index step = l.list[STEP];
        return step < INT64_MAX / 2 && read_colon(s, l.list, l.count == STRIDE ? (int64_t)step : -(int64_t)step);
    }
    *s = (tsr_indices){.list = l.list, .count = (int64_t)l.count};
    return l.count < (GrB_Index)INT64_MAX / 2;
}
