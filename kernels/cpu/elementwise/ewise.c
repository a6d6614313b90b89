/* Elementwise steps over host arrays: all that a step says for one block of elements after the other, so that what lies between its
 * parts stays in the cache.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/cpu/common/chunks.h"
#include "kernels/cpu/elementwise/ewise_loops.h"
#include "src/format/sparse/format.h"

#include <stdatomic.h>
#include <string.h>

enum { BLOCK = 512, GRAIN = 64 * BLOCK, WIDEST = 8, LINE = 64 };

typedef struct block_buffer {
    _Alignas(64) char bytes[BLOCK * WIDEST];
} block_buffer;

typedef struct step_job {
    const tsr_host_ewise *h;
    tsr_ewise_table loops;
    size_t size;                 /* of an element of C */
    bool plain, masked, keeps;   /* no presence, no mask; a mask; what the mask leaves out stays */
    bool in_place;               /* ... and is where it belongs */
    bool counts;                 /* what is present must be known */
    block_buffer x, y;           /* scalars, as often as a block has elements */
    atomic_llong present;
} step_job;

/* What one thread holds of a block, from element `first` on. */
typedef struct step_block {
    step_job *job;
    int64_t first, n;
    block_buffer x, y, z, t, u, v;
    uint8_t flags[BLOCK], pass[BLOCK]; /* present (where that counts); let through by the mask */
} step_block;

static const uint8_t ones[BLOCK] = { [0 ... BLOCK - 1] = 1 };

static const void *at(const void *x, size_t size, int64_t k)
{
    return (const char *)x + (size_t)k * size;
}

static void repeat(block_buffer *buffer, size_t size, uint64_t scalar)
{
    for (int k = 0; k < BLOCK; k++)
        memcpy(buffer->bytes + (size_t)k * size, &scalar, size);
}

/* An operand in the type of the operator. */
static const void *load(const step_block *b, const tsr_elements *e, tsr_type from, const block_buffer *scalars, block_buffer *cast)
{
    const tsr_host_ewise *h = b->job->h;
    if (!e->x)
        return scalars->bytes;
    const void *x = at(e->x, tsr_type_size(from), b->first);
    if (from == h->step.type)
        return x;
    tsr_cast_values(cast->bytes, h->step.type, x, from, b->n, 1);
    return cast->bytes;
}

static const uint8_t *presence(const step_block *b, const tsr_elements *e)
{
    return e->present ? at(e->present, 1, b->first) : NULL;
}

static void join(uint8_t *flags, const uint8_t *also, int64_t n)
{
    if (also == NULL)
        return;
    for (int64_t k = 0; k < n; k++)
        flags[k] &= also[k];
}

static void unite_flags(uint8_t *flags, const uint8_t *some, const uint8_t *others, int64_t n)
{
    if (others == NULL)
        memset(flags, 1, (size_t)n);
    else
        for (int64_t k = 0; k < n; k++)
            flags[k] = some[k] | others[k];
}

/* The result in C's type; *to is where it may be left. */
static const void *convert(const step_block *b, const void *z, void *to)
{
    const tsr_host_ewise *h = b->job->h;
    if (h->step.result == h->type)
        return z;
    tsr_cast_values(to, h->type, z, h->step.result, b->n, 1);
    return to;
}

/* ---- every element present, no mask ---- */

static void run_plain(step_block *b)
{
    const step_job *j = b->job;
    const tsr_host_ewise *h = j->h;
    const tsr_ewise *s = &h->step;
    char *to = (char *)h->arrays.z + (size_t)b->first * j->size;
    const void *x = load(b, &h->arrays.x, h->x_type, &j->x, &b->x), *y = load(b, &h->arrays.y, h->y_type, &j->y, &b->y);
    const bool direct = !s->accumulates && s->result == h->type;
    const void *z = j->loops.operate(s->op, s->type, x, y, direct ? to : b->z.bytes, b->n);
    z = convert(b, z, s->accumulates ? b->t.bytes : to);
    if (s->accumulates)
        z = j->loops.operate(s->accum, h->type, at(h->arrays.c.x, j->size, b->first), z, to, b->n);
    if (z != to)
        memcpy(to, z, (size_t)b->n * j->size);
}

/* ---- in general ---- */

/* b->pass; false: nothing passes. */
static bool read_mask(step_block *b)
{
    const tsr_host_ewise *h = b->job->h;
    const tsr_ewise *s = &h->step;
    const tsr_elements *m = &h->arrays.mask;
    if (m->x && !s->mask_structural)
        b->job->loops.truth(tsr_type_size(s->mask_type), b->pass, at(m->x, tsr_type_size(s->mask_type), b->first), b->n);
    else
        memset(b->pass, 1, (size_t)b->n);
    join(b->pass, presence(b, m), b->n);
    uint8_t any = 0;
    for (int64_t k = 0; k < b->n; k++)
        any |= b->pass[k] ^= s->mask_complement;
    return any;
}

/* One of x and y, where only that is present. */
static const void *unite(step_block *b, const void *x, const void *y, const void *z, const uint8_t *xp, const uint8_t *yp)
{
    const step_job *j = b->job;
    const size_t size = tsr_type_size(j->h->step.type);
    memset(b->flags, 1, (size_t)b->n);
    if (!xp && !yp)
        return z;
    if (!xp || !yp) {
        j->loops.pick(size, b->z.bytes, xp ? xp : yp, z, xp ? y : x, b->n);
        return b->z.bytes;
    }
    unite_flags(b->flags, xp, yp, b->n);
    j->loops.pick(size, b->t.bytes, xp, x, y, b->n);
    j->loops.pick(size, b->z.bytes, xp, z, b->t.bytes, b->n);
    j->loops.pick(size, b->z.bytes, yp, b->z.bytes, b->t.bytes, b->n);
    return b->z.bytes;
}

/* T = op (x, y) in C's type, and b->flags. */
static const void *compute(step_block *b)
{
    const step_job *j = b->job;
    const tsr_host_ewise *h = j->h;
    const tsr_ewise *s = &h->step;
    const void *x = load(b, &h->arrays.x, h->x_type, &j->x, &b->x), *y = load(b, &h->arrays.y, h->y_type, &j->y, &b->y);
    const uint8_t *xp = presence(b, &h->arrays.x), *yp = tsr_ewise_is_unary(s->op) ? NULL : presence(b, &h->arrays.y);
    const void *z = j->loops.operate(s->op, s->type, x, y, b->z.bytes, b->n);
    if (s->unite)
        z = unite(b, x, y, z, xp, yp);
    if (j->counts && !s->unite)
        memset(b->flags, 1, (size_t)b->n);
    if (s->unite || !j->counts)
        return convert(b, z, b->t.bytes);
    join(b->flags, xp, b->n);
    join(b->flags, yp, b->n);
    if (!s->select)
        return convert(b, z, b->t.bytes);
    join(b->flags, z, b->n);
    return convert(b, x, b->t.bytes);
}

/* C accum T: where both are present; else the one that is. */
static const void *accumulate(step_block *b, const void *c, const uint8_t *cp, const void *z)
{
    const step_job *j = b->job;
    const void *both = j->loops.operate(j->h->step.accum, j->h->type, c, z, b->u.bytes, b->n);
    if (cp) {
        j->loops.pick(j->size, b->v.bytes, cp, both, z, b->n);
        both = b->v.bytes;
    }
    if (!j->counts)
        return both;
    j->loops.pick(j->size, b->u.bytes, b->flags, both, c, b->n);
    unite_flags(b->flags, b->flags, cp, b->n);
    return b->u.bytes;
}

/* Elsewhere C stays as it is, or nothing is present. */
static const void *apply_mask(step_block *b, const void *c, const uint8_t *cp, const void *z, void *to)
{
    const step_job *j = b->job;
    if (!j->keeps) {
        join(b->flags, b->pass, b->n);
        return z;
    }
    if (j->counts)
        j->loops.pick(1, b->flags, b->pass, b->flags, cp ? cp : ones, b->n);
    j->loops.pick(j->size, to, b->pass, z, c, b->n);
    return to;
}

static void count(step_block *b, const uint8_t *marks)
{
    int64_t present = 0;
    for (int64_t k = 0; k < b->n; k++)
        present += marks[k];
    atomic_fetch_add_explicit(&b->job->present, present, memory_order_relaxed);
}

/* What is not present is 0. */
static void store(step_block *b, const void *z, char *to)
{
    static const block_buffer zeros;
    const step_job *j = b->job;
    int8_t *marks = j->h->arrays.z_present;
    if (!marks) {
        if (z != to)
            memcpy(to, z, (size_t)b->n * j->size);
        return;
    }
    j->loops.pick(j->size, to, b->flags, z, zeros.bytes, b->n);
    memcpy(marks + b->first, b->flags, (size_t)b->n);
    count(b, b->flags);
}

static void run_general(step_block *b)
{
    const step_job *j = b->job;
    const tsr_elements *old = &j->h->arrays.c;
    char *to = (char *)j->h->arrays.z + (size_t)b->first * j->size;
    const bool passes = !j->masked || read_mask(b);
    const uint8_t *cp = presence(b, old);
    if (!passes && j->in_place) {
        if (cp)
            count(b, cp);
        return;
    }
    const void *c = old->x ? at(old->x, j->size, b->first) : NULL, *z = compute(b);
    if (j->h->step.accumulates && c)
        z = accumulate(b, c, cp, z);
    if (j->masked)
        z = apply_mask(b, c, cp, z, to);
    store(b, z, to);
}

/* Elements of C between the start of a cache line and element k: all blocks but the first begin at a line, since stores across two lines
 * take 1.2 times as long. */
static int64_t behind_line(const step_job *j, int64_t k)
{
    const uintptr_t to = (uintptr_t)j->h->arrays.z + (size_t)k * j->size;
    return (int64_t)(to % LINE / j->size);
}

static void run_range(void *context, int64_t first, int64_t last)
{
    step_job *j = context;
    step_block b;
    b.job = j;
    for (b.first = first; b.first < last; b.first += b.n) {
        const int64_t whole = BLOCK - behind_line(j, b.first);
        b.n = last - b.first < whole ? last - b.first : whole;
        (j->plain ? run_plain : run_general)(&b);
    }
}

int64_t tsr_cpu_ewise(const tsr_host_ewise *h, int nthreads)
{
    const tsr_ewise *s = &h->step;
    const tsr_ewise_arrays *a = &h->arrays;
    step_job j; /* but for its buffers, which a step of one element would take longer to clear than to compute */
    j.h = h;
    j.loops = TSR_PICK_ISA(tsr_ewise_table);
    j.size = tsr_type_size(h->type);
    j.masked = tsr_ewise_masked(s, a);
    atomic_init(&j.present, 0);
    const bool partial = a->x.present || (a->y.present && !tsr_ewise_is_unary(s->op)) || (s->accumulates && a->c.present);
    j.plain = !j.masked && !partial && !s->select && !a->z_present;
    j.keeps = j.masked && a->c.x && !s->replace;
    j.counts = a->z_present || a->x.present || a->y.present || s->select;
    j.in_place = j.keeps && a->z == a->c.x && a->z_present == a->c.present;
    if (!a->x.x)
        repeat(&j.x, tsr_type_size(s->type), s->x.scalar);
    if (!a->y.x)
        repeat(&j.y, tsr_type_size(s->type), s->y.scalar);
    tsr_for_ranges(s->count, GRAIN, nthreads, run_range, &j);
    return a->z_present ? (int64_t)atomic_load(&j.present) : s->count;
}
