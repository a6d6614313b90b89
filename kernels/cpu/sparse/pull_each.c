/* Few dense vectors times the rows of a matrix, vector by vector: places that the mask lets pass are listed, and a loop without a branch sums up
 * the row of each.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/sparse/pull_each.h"

#include <math.h>
#include <string.h>

#include "kernels/cpu/common/chunks.h"
#include "kernels/cpu/sparse/gate.h"
#include "kernels/cpu/sparse/products.h"
#include "src/base/split.h"

/* As a macro, bool would be expanded before it is pasted into a name. */
#undef bool
typedef _Bool bool;

enum { LISTED = 512 /* places at a time */, PIECE = 1 << 12, RANGE = 1 << 16 };

/* One vector: u's element k is at [k & step], present where present[k & all] is set. */
typedef struct vector {
    const tsr_push *p;
    const void *u;
    const int8_t *present;
    int64_t step, all;
    int8_t *b;
    void *x;
} vector;

/* ---- sums ---- */

#define SELECT(bits)                                                                                                            \
    static inline __attribute__((always_inline)) void select_##bits(void *y, const void *none, uint##bits##_t here)             \
    {                                                                                                                           \
        uint##bits##_t of_y, of_none;                                                                                           \
        memcpy(&of_y, y, sizeof of_y);                                                                                          \
        memcpy(&of_none, none, sizeof of_none);                                                                                 \
        of_y = (uint##bits##_t)((of_y & here) | (of_none & (uint##bits##_t)~here));                                             \
        memcpy(y, &of_y, sizeof of_y);                                                                                          \
    }
SELECT(8)
SELECT(16)
SELECT(32)
SELECT(64)

/* y, or the identity where it is not present: by its bits, as a branch would be taken wrongly every other time. */
static inline __attribute__((always_inline)) void select(void *y, const void *none, bool present, size_t size)
{
    const uint64_t here = present ? UINT64_MAX : 0;
    switch (size) {
    case 1: select_8(y, none, (uint8_t)here); break;
    case 2: select_16(y, none, (uint16_t)here); break;
    case 4: select_32(y, none, (uint32_t)here); break;
    default: select_64(y, none, here);
    }
}

/* The next entry of a row joins one of two sums, so that it need not wait for the one before. */
#define TAKE(name, type, n, join)                                                                                               \
    {                                                                                                                           \
        const int64_t k = tsr_push_at(indices, e + (n), narrow);                                                                \
        const bool here = present[k & all] != 0;                                                                                \
        tsr_c_##type y = u[k & step];                                                                                           \
        const tsr_c_##type x = sum[n];                                                                                          \
        select(&y, &none, here, sizeof y);                                                                                      \
        sum[n] = (tsr_c_##type)(join);                                                                                          \
        found |= here;                                                                                                          \
    }

#define DOTS(name, type, join)                                                                                                  \
    static inline __attribute__((always_inline)) int64_t name##_dots_##type(const vector *v, const int64_t *restrict place, int64_t n, const bool narrow) \
    {                                                                                                                           \
        const void *restrict starts = v->p->starts, *restrict indices = v->p->a.i;                                              \
        const tsr_c_##type *restrict u = v->u, none = tsr_identity_##name##_##type();                                           \
        const int8_t *restrict present = v->present;                                                                            \
        const int64_t step = v->step, all = v->all;                                                                             \
        tsr_c_##type *restrict z = v->x;                                                                                        \
        int64_t total = 0;                                                                                                      \
        for (int64_t t = 0; t < n; t++) {                                                                                       \
            const int64_t j = place[t], stop = tsr_push_at(starts, j + 1, narrow);                                              \
            int64_t e = tsr_push_at(starts, j, narrow);                                                                         \
            tsr_c_##type sum[2] = {none, none};                                                                                 \
            bool found = false;                                                                                                 \
            for (; e + 1 < stop; e += 2) {                                                                                      \
                TAKE(name, type, 0, join)                                                                                       \
                TAKE(name, type, 1, join)                                                                                       \
            }                                                                                                                   \
            if (e < stop)                                                                                                       \
                TAKE(name, type, 0, join)                                                                                       \
            const tsr_c_##type x = sum[0], y = sum[1];                                                                          \
            z[j] = (tsr_c_##type)(join);                                                                                        \
            v->b[j] = found;                                                                                                    \
            total += found;                                                                                                     \
        }                                                                                                                       \
        return total;                                                                                                           \
    }                                                                                                                           \
    static int64_t name##_places_##type(const vector *v, const int64_t *place, int64_t n)                                       \
    {                                                                                                                           \
        return tsr_push_is_narrow(v->p) ? name##_dots_##type(v, place, n, true) : name##_dots_##type(v, place, n, false);       \
    }
TSR_FOR_MONOIDS(DOTS)

typedef int64_t dots_function(const vector *v, const int64_t *place, int64_t n);
#define OF_MONOID(name, type) name##_places_##type

static dots_function *find_dots(const tsr_push_semiring *s)
{
    TSR_RETURN_OF_MONOID(s->result, s->add, OF_MONOID)
    return NULL;
}

/* ---- places ---- */

typedef struct each {
    const tsr_push *p;
    dots_function *dots;
    bool listed;    /* a plain sparse mask says the places */
    int64_t pieces; /* of the vector with most */
    int8_t *b;
    char *x;
    int64_t total;
} each;

static int64_t length(const each *h, int64_t r)
{
    return h->listed ? h->p->mask->p[r + 1] - h->p->mask->p[r] : h->p->a.nvec;
}

/* Of a sparse mask's entries [first, last) of vector r. */
static int64_t list_entries(const tsr_push *p, int64_t r, int64_t first, int64_t last, int64_t *place)
{
    const tsr_view *m = p->mask;
    const bool valued = tsr_mask_has_values(p);
    const int64_t *i = m->i;
    int64_t count = 0;
    for (int64_t t = m->p[r] + first; t < m->p[r] + last; t++) {
        place[count] = i[t];
        count += !valued || tsr_is_true(m, t);
    }
    return count;
}

/* Are these eight bytes of a mask such that nothing passes?  Where it is not known they are looked at one by one. */
static inline bool none_open(const tsr_gate *gate, int64_t j)
{
    uint64_t eight;
    memcpy(&eight, gate->open + j, sizeof eight);
    return eight == (gate->closed ? UINT64_C(0x0101010101010101) : 0);
}

static int64_t list_gate(const tsr_gate *gate, int64_t first, int64_t last, int64_t *restrict place)
{
    const uint8_t *restrict open = gate->open;
    int64_t count = 0;
    for (int64_t j = first; j < last;) {
        const int64_t end = last - j < 8 ? last : j + 8;
        if (gate->all && end - j == 8 && none_open(gate, j)) {
            j = end;
            continue;
        }
        for (; j < end; j++) {
            place[count] = j;
            count += (open[j & gate->all] != 0) != gate->closed;
        }
    }
    return count;
}

static int64_t list_open(const tsr_push *p, int64_t r, int64_t first, int64_t last, int64_t *place)
{
    const tsr_view *m = p->mask;
    const tsr_gate gate = tsr_gate_of(p, r);
    int64_t count = 0;
    if (!gate.later)
        return list_gate(&gate, first, last, place);
    for (int64_t j = first; j < last; j++) {
        const int64_t at = r * m->ld + j;
        place[count] = j;
        count += ((!m->b || m->b[at]) && tsr_is_true(m, at)) != p->mask_complement;
    }
    return count;
}

static vector vector_of(const each *h, int64_t r)
{
    static const int8_t every = 1;
    const tsr_view *u = &h->p->u;
    const size_t size = tsr_type_size(h->p->semiring.result);
    const int64_t first = r * u->ld, to = r * h->p->a.nvec;
    return (vector){.p = h->p, .u = (const char *)u->x + (u->iso ? 0 : (size_t)first * size), .step = u->iso ? 0 : -1, .present = u->b ? u->b + first : &every,
                    .all = u->b ? -1 : 0, .b = h->b + to, .x = h->x + (size_t)to * size};
}

static void pull_piece(void *context, int64_t job)
{
    each *h = context;
    const int64_t r = job / h->pieces, begin = job % h->pieces * PIECE, most = length(h, r), end = begin + PIECE < most ? begin + PIECE : most;
    const vector v = vector_of(h, r);
    int64_t place[LISTED], total = 0;
    for (int64_t first = begin; first < end; first += LISTED) {
        const int64_t last = first + LISTED < end ? first + LISTED : end;
        const int64_t n = h->listed ? list_entries(h->p, r, first, last, place) : list_open(h->p, r, first, last, place);
        total += h->dots(&v, place, n);
    }
    __atomic_fetch_add(&h->total, total, __ATOMIC_RELAXED);
}

static void clear_range(void *context, int64_t first, int64_t last)
{
    const each *h = context;
    memset(h->b + first, 0, (size_t)(last - first));
}

/* ---- the call ---- */

int64_t tsr_pull_each(const tsr_push *p, int64_t work, int8_t *b, void *x)
{
    each h = {.p = p, .dots = find_dots(&p->semiring), .listed = tsr_is_listed(p), .b = b, .x = x};
    const int nthreads = tsr_chunk_threads((double)work, p->nthreads);
    int64_t most = 0;
    for (int64_t r = 0; r < p->u.nvec; r++)
        most = length(&h, r) > most ? length(&h, r) : most;
    h.pieces = (most + PIECE - 1) / PIECE;
    tsr_for_ranges(p->u.nvec * p->a.nvec, RANGE, nthreads, clear_range, &h);
    tsr_for_jobs(p->u.nvec * h.pieces, nthreads, pull_piece, &h);
    return h.total;
}
