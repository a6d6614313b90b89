/* SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ref/compressed.h"

#include <string.h>

#include "kernels/selection.h"

/* A place is compared as if it were a value. */
bool tsr_ref_stays(const tsr_ref_rows *a, const tsr_compressed_rule *rule, tsr_type type, const int8_t *flags, int64_t row, int64_t k)
{
    if (flags)
        return flags[k];
    const int64_t place = rule->by_vector * row + rule->by_index * (int64_t)a->i[k] + rule->offset;
    const tsr_selection by_value = {.a = {.type = rule->placed ? TSR_INT64 : type, .x = rule->placed ? (const void *)&place : a->x},
                                    .keep = rule->keep, .thunk = rule->placed ? 0 : rule->thunk};
    return tsr_ref_keeps(&by_value, 0, rule->placed ? 0 : k);
}

static void copy(tsr_ref_rows *out, int64_t at, const tsr_ref_rows *a, int64_t k, int64_t count)
{
    if (!out->i || count == 0)
        return;
    memcpy(out->i + at, a->i + k, (size_t)count * sizeof *out->i);
    if (a->size)
        memcpy((char *)out->x + (size_t)at * a->size, (const char *)a->x + (size_t)k * a->size, (size_t)count * a->size);
}

void tsr_ref_keep_entries(tsr_ref_rows *out, const tsr_ref_rows *a, const tsr_compressed_rule *rule, tsr_type type, const int8_t *flags)
{
    int64_t at = 0;
    out->p[0] = 0;
    for (int64_t row = 0; row < a->nrows; row++) {
        for (int64_t k = a->p[row]; k < a->p[row + 1]; k++)
            if (tsr_ref_stays(a, rule, type, flags, row, k))
                copy(out, at++, a, k, 1);
        out->p[row + 1] = at;
    }
}

void tsr_ref_take_rows(tsr_ref_rows *out, const tsr_ref_rows *a, const uint32_t *rows)
{
    out->p[0] = 0;
    for (int64_t r = 0; r < out->nrows; r++) {
        const int64_t first = a->p[rows[r]], count = a->p[rows[r] + 1] - first;
        copy(out, out->p[r], a, first, count);
        out->p[r + 1] = out->p[r] + count;
    }
}

void tsr_ref_join_entries(tsr_ref_rows *out, void *y, int8_t *x_present, int8_t *y_present, const tsr_ref_rows *a, const tsr_ref_rows *b, bool unite)
{
    int64_t at = 0;
    out->p[0] = 0;
    for (int64_t row = 0; row < a->nrows; row++) {
        int64_t k = a->p[row], l = b->p[row];
        while (k < a->p[row + 1] || l < b->p[row + 1]) {
            const bool of_a = k < a->p[row + 1] && (l == b->p[row + 1] || a->i[k] <= b->i[l]);
            const bool of_b = l < b->p[row + 1] && (k == a->p[row + 1] || b->i[l] <= a->i[k]);
            tsr_ref_rows seconds = {.i = out->i, .x = y};
            if (unite || (of_a && of_b)) {
                if (of_a)
                    copy(out, at, a, k, 1);
                if (of_b)
                    copy(&seconds, at, b, l, 1);
                x_present[at] = of_a;
                y_present[at++] = of_b;
            }
            k += of_a;
            l += of_b;
        }
        out->p[row + 1] = at;
    }
}
