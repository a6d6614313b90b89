/* The sums of the vectors of a full array: of each row, or of each column; and of the entries of each row of a sparse one.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/common/arrays.h"
#include "kernels/cpu/common/chunks.h"
#include "kernels/cpu/common/template.h"
#include "kernels/kernels.h"
#include "src/base/split.h"
#include "src/base/types.h"

#include <string.h>

/* As a macro, bool would be expanded before it is pasted into a name. */
#undef bool
typedef _Bool bool;

enum { CHUNK = 1024, PARTS = 8 }; /* sums that stay in the cache; independent parts of one sum */

/* Sums [first, last) of a call. */
typedef void sums_of(const tsr_sums *s, const void *values, void *result, int64_t first, int64_t last);

/* One sum. */
#define ONE_IN_ORDER(name, type, join)                                                                                           \
    static tsr_c_##type one_##name##_##type(const tsr_c_##type *restrict z, int64_t n)                                           \
    {                                                                                                                            \
        tsr_c_##type x = z[0];                                                                                                   \
        for (int64_t t = 1; t < n; t++) {                                                                                        \
            const tsr_c_##type y = z[t];                                                                                         \
            x = (tsr_c_##type)(join);                                                                                            \
        }                                                                                                                        \
        return x;                                                                                                                \
    }

/* Of floats in eight parts: in order, each would wait for the one before it. */
#define ONE_IN_PARTS(name, type, join)                                                                                           \
    static tsr_c_##type one_##name##_##type(const tsr_c_##type *restrict z, int64_t n)                                           \
    {                                                                                                                            \
        tsr_c_##type part[PARTS], x = z[0], y;                                                                                   \
        int64_t t = n < PARTS ? 1 : PARTS;                                                                                       \
        if (n >= PARTS) {                                                                                                        \
            for (int64_t k = 0; k < PARTS; k++)                                                                                  \
                part[k] = z[k];                                                                                                  \
            for (; t + PARTS <= n; t += PARTS)                                                                                   \
                for (int64_t k = 0; k < PARTS; k++) {                                                                            \
                    x = part[k], y = z[t + k];                                                                                   \
                    part[k] = (tsr_c_##type)(join);                                                                              \
                }                                                                                                                \
            x = part[0];                                                                                                         \
            for (int64_t k = 1; k < PARTS; k++) {                                                                                \
                y = part[k];                                                                                                     \
                x = (tsr_c_##type)(join);                                                                                        \
            }                                                                                                                    \
        }                                                                                                                        \
        for (; t < n; t++) {                                                                                                     \
            y = z[t];                                                                                                            \
            x = (tsr_c_##type)(join);                                                                                            \
        }                                                                                                                        \
        return x;                                                                                                          \
    }

#define SUMS(name, type, join)                                                                                                   \
    static void across_##name##_##type(const tsr_sums *s, const void *values, void *result, int64_t first, int64_t last)         \
    {                                                                                                                            \
        const tsr_c_##type *restrict z = (const tsr_c_##type *)values;                                                           \
        tsr_c_##type *restrict sums = result;                                                                                    \
        for (int64_t v = first; v < last; v++)                                                                                   \
            sums[v] = z[v];                                                                                                      \
        for (int64_t t = 1; t < s->length; t++)                                                                                  \
            for (int64_t v = first; v < last; v++) {                                                                             \
                const tsr_c_##type x = sums[v], y = z[t * s->vectors + v];                                                       \
                sums[v] = (tsr_c_##type)(join);                                                                                  \
            }                                                                                                                    \
    }                                                                                                                            \
    static void along_##name##_##type(const tsr_sums *s, const void *values, void *result, int64_t first, int64_t last)          \
    {                                                                                                                            \
        for (int64_t v = first; v < last; v++)                                                                                   \
            ((tsr_c_##type *)result)[v] = one_##name##_##type((const tsr_c_##type *)values + v * s->length, s->length);          \
    }                                                                                                                            \
    static void list_##name##_##type(const void *values, int64_t n, void *result, int64_t v)                                     \
    {                                                                                                                            \
        ((tsr_c_##type *)result)[v] = one_##name##_##type((const tsr_c_##type *)values, n);                                      \
    }
#define ONE_OF_INTEGERS(type, wide) TSR_MONOIDS_OF_NUMBERS(ONE_IN_ORDER, type)
#define ONE_OF_FLOATS(type, wide) TSR_MONOIDS_OF_NUMBERS(ONE_IN_PARTS, type)
TSR_FOR_INTEGERS(ONE_OF_INTEGERS)
TSR_FOR_FLOATS(ONE_OF_FLOATS)
TSR_MONOIDS_OF_BOOL(ONE_IN_ORDER)
TSR_FOR_MONOIDS(SUMS)

#define PICK_LIST(name, type) list_##name##_##type
#define PICK(name, type) (across ? across_##name##_##type : along_##name##_##type)

static sums_of *find(tsr_type type, tsr_reduce_op op, bool across)
{
    TSR_RETURN_OF_MONOID(type, op, PICK)
    return NULL;
}

bool tsr_cpu_sums(const tsr_sums *sums, void *result, int nthreads)
{
    sums_of *compute = find(sums->type, sums->op, sums->across);
    if (!compute)
        return false;
    const int64_t chunk = sums->across ? CHUNK : 1 + CHUNK / sums->length;
#pragma omp parallel for num_threads(tsr_team(nthreads)) schedule(static) if (nthreads > 1)
    for (int64_t first = 0; first < sums->vectors; first += chunk)
        compute(sums, sums->value, result, first, first + chunk < sums->vectors ? first + chunk : sums->vectors);
    return true;
}

/* ---- of sparse vectors ---- */

enum { PIECE = 2048, ROWS = 256 }; /* entries that are cast at once; rows that a thread takes at once */

/* result[v] = the sum of n >= 1 values. */
typedef void sum_of_list(const void *values, int64_t n, void *result, int64_t v);

static sum_of_list *find_list(tsr_type type, tsr_reduce_op op)
{
    TSR_RETURN_OF_MONOID(type, op, PICK_LIST)
    return NULL;
}

typedef struct list_sums {
    const tsr_view *a;
    tsr_type type;
    size_t size;
    sum_of_list *sum;
    int8_t *present;
    void *result;
    _Alignas(64) char one[PIECE * sizeof(uint64_t)]; /* of an iso matrix: its value, cast, over and over */
} list_sums;

/* Entries [first, first + n) as values of the sums. */
static const char *cast_entries(const list_sums *w, char *z, int64_t first, int64_t n)
{
    if (w->a->iso)
        return w->one;
    tsr_cast_values(z, w->type, (const char *)w->a->x + (size_t)first * tsr_type_size(w->a->type), w->a->type, n, 1);
    return z;
}

/* Of more entries than a piece has: the sum so far is the first value of the next piece. */
static void sum_long(const list_sums *w, char *z, int64_t v, int64_t first, int64_t last)
{
    char *const sum = (char *)w->result + (size_t)v * w->size;
    w->sum(cast_entries(w, z, first, PIECE), PIECE, w->result, v);
    for (int64_t e = first + PIECE; e < last; e += PIECE - 1) {
        const int64_t n = last - e < PIECE - 1 ? last - e : PIECE - 1;
        const char *values = cast_entries(w, z + w->size, e, n);
        memcpy(z, sum, w->size);
        if (w->a->iso)
            memcpy(z + w->size, values, (size_t)n * w->size);
        w->sum(z, n + 1, w->result, v);
    }
}

/* Rows from v on whose entries are one piece, at least one row: returns the row behind them. */
static int64_t sum_short(const list_sums *w, char *z, int64_t v, int64_t end)
{
    const int64_t first = tsr_view_start(w->a, v);
    int64_t next = v + 1;
    while (next < end && tsr_view_start(w->a, next + 1) - first <= PIECE)
        next++;
    const char *values = cast_entries(w, z, first, tsr_view_start(w->a, next) - first);
    for (; v < next; v++) {
        const int64_t begin = tsr_view_start(w->a, v), n = tsr_view_start(w->a, v + 1) - begin;
        w->present[v] = n > 0;
        if (n > 0)
            w->sum(values + (w->a->iso ? 0 : (size_t)(begin - first) * w->size), n, w->result, v);
    }
    return next;
}

static void sum_rows(void *context, int64_t first, int64_t last)
{
    const list_sums *w = context;
    _Alignas(64) char z[PIECE * sizeof(uint64_t)];
    for (int64_t v = first; v < last;) {
        const int64_t begin = tsr_view_start(w->a, v), end = tsr_view_start(w->a, v + 1);
        if (end - begin <= PIECE) {
            v = sum_short(w, z, v, last);
            continue;
        }
        sum_long(w, z, v, begin, end);
        w->present[v++] = 1;
    }
}

int64_t tsr_cpu_list_sums(const tsr_sums *sums, const tsr_view *a, int8_t *present, void *result, int nthreads)
{
    list_sums w = {.a = a, .type = sums->type, .size = tsr_type_size(sums->type), .sum = find_list(sums->type, sums->op), .present = present,
                   .result = result};
    int64_t count = 0;
    if (!w.sum)
        return -1;
    if (a->iso) {
        char one[sizeof(uint64_t)];
        tsr_cast_values(one, sums->type, a->x, a->type, 1, 1);
        tsr_fill(w.one, one, w.size, PIECE);
    }
    tsr_for_ranges(a->nvec, ROWS, nthreads, sum_rows, &w);
    for (int64_t v = 0; v < a->nvec; v++)
        count += present[v];
    return count;
}
