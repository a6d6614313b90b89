/* A push of all vectors together, where A has many entries for them: how rows are laid, cut into parts, dealt, and results listed.
 * Every place sums its products in the order of A's rows, however many threads there are.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kernels/cpu/common/chunks.h"
#include "kernels/cpu/sparse/bits.h"
#include "kernels/cpu/sparse/joint.h"
#include "kernels/cpu/sparse/lane.h"
#include "kernels/cpu/sparse/open.h"
#include "src/base/split.h"
#include "src/base/types.h"

enum {
    MOST = 8,               /* vectors */
    WORK_OF_PLACE = 8,      /* multiply-adds for each place of the operands that pay for looking at all of them … */
    WORK_OF_THREADS = 2,    /* … and where there are more threads than vectors */
    BUCKET_BYTES = 1 << 19, /* of sums, for the L2 cache */
    BUCKET_SHIFT_LEAST = 10,
    BUCKETS_OF_THREAD = 4,
    BUCKETS_MOST = 1024,
    DEALT = 1 << 22         /* contributions that wait at one time, of all threads */
};

/* ---- what it takes ---- */

/* Integers of one width are added up alike. */
static tsr_type sums_of(tsr_type type)
{
    switch (type) {
    case TSR_INT32:
    case TSR_UINT32: return TSR_UINT32;
    case TSR_INT64:
    case TSR_UINT64: return TSR_UINT64;
    default: return type;
    }
}

static bool multiplies(const tsr_push_semiring *s)
{
    const bool known = s->mul == TSR_EWISE_TIMES || s->mul == TSR_EWISE_FIRST || s->mul == TSR_EWISE_SECOND || s->mul == TSR_EWISE_PAIR;
    const tsr_type type = sums_of(s->type);
    return s->add == TSR_REDUCE_PLUS && s->factor == TSR_FACTOR_VALUES && known && s->type == s->result &&
           (type == TSR_FP32 || type == TSR_FP64 || type == TSR_UINT32 || type == TSR_UINT64);
}

/* For less work SuiteSparse has one as well. */
static int threads_of(const tsr_push *p, int64_t work)
{
    return work < TSR_THREAD_WORK ? 1 : p->nthreads < TSR_FEW ? p->nthreads : TSR_FEW;
}

static bool sums_jointly(const tsr_push *p, int64_t work)
{
    const int64_t places = p->u.vlen + p->a.vlen;
    const bool many_threads = threads_of(p, work) > p->u.nvec, alone = p->u.nvec > 1 && p->mask;
    return !p->pattern && p->u.nvec <= MOST && (many_threads || alone) && multiplies(&p->semiring) && p->u.vlen <= INT32_MAX &&
           work / (many_threads ? WORK_OF_THREADS : WORK_OF_PLACE) >= places;
}

bool tsr_push_is_joint(const tsr_push *p, int64_t work)
{
    return tsr_push_has_bits(p, work) || sums_jointly(p, work);
}

/* ---- memory ---- */

typedef struct joint_push {
    tsr_joint w;
    uint32_t *row;       /* of each row of A that is named: its number in w.k */
    tsr_dealt *parts;    /* one for each thread */
    int64_t nparts;      /* in use */
    int nthreads;
    tsr_joint_sum *sum;
    int64_t share;       /* contributions of a part, but for those of a single row */
    int64_t blocks;      /* that a part may fill */
    tsr_scratch *s;      /* its lists are those of the result, vector r from … on */
    int64_t first[MOST + 1];
    tsr_few *result;
} joint_push;

/* More threads take turns with more buckets. */
static void set_buckets(joint_push *h)
{
    tsr_joint *w = &h->w;
    const int64_t n = w->p->a.vlen, bytes = w->lanes * (int64_t)tsr_type_size(w->type);
    const int64_t wanted = h->nthreads > 1 ? (int64_t)h->nthreads * BUCKETS_OF_THREAD : 1;
    for (w->shift = BUCKET_SHIFT_LEAST; bytes << (w->shift + 1) <= BUCKET_BYTES; w->shift++)
        ;
    while (w->shift > BUCKET_SHIFT_LEAST && n >> w->shift < wanted)
        w->shift--;
    while (n >> w->shift >= BUCKETS_MOST)
        w->shift++;
    w->buckets = (n >> w->shift) + 1;
}

/* Memory is the same for all calls on a matrix, so that the thread keeps it; what is not used is not touched. */
static void set_parts(joint_push *h, int64_t work)
{
    const int64_t n = h->w.p->a.vlen, each = DEALT / h->nthreads, needed = work / h->nthreads + 1;
    const int64_t of_block = TSR_JOINT_BLOCK / tsr_joint_step(h->w.with_a) - 1;
    h->share = needed < each ? needed : each;
    h->blocks = (each > n ? each : n) / of_block + h->w.buckets + 1;
}

/* Takes `bytes` from base + *used on, at a cache line; base NULL: only their end is of interest. */
static void *take(char *base, int64_t *used, int64_t bytes)
{
    void *at = base ? base + *used : NULL;
    *used += (bytes + 63) / 64 * 64;
    return at;
}

static int64_t lay_out(joint_push *h, char *base)
{
    tsr_joint *w = &h->w;
    const int64_t n = w->p->a.vlen, k = w->p->u.vlen, value = w->lanes * (int64_t)tsr_type_size(w->type);
    int64_t used = 0;
    for (int t = 0; t < h->nthreads; t++) {
        char *arena = take(base, &used, h->blocks * TSR_JOINT_BLOCK);
        if (base)
            h->parts[t].arena = arena;
    }
    h->w.sums = take(base, &used, n * value);
    h->w.u = take(base, &used, k * value);
    h->w.k = take(base, &used, (k + 1) * (int64_t)sizeof *w->k);
    h->row = take(base, &used, k * (int64_t)sizeof *h->row);
    h->w.present = take(base, &used, k);
    h->w.open = take(base, &used, n);
    h->w.found = take(base, &used, n);
    for (int t = 0; t < h->nthreads; t++) {
        char **ends = take(base, &used, w->buckets * (int64_t)sizeof *ends);
        if (base)
            h->parts[t].ends = ends;
    }
    return used;
}

static bool reserve(joint_push *h)
{
    char *base = tsr_scratch_block(lay_out(h, NULL));
    if (base)
        lay_out(h, base);
    return base;
}

/* ---- vectors side by side ---- */

static void find_rows(joint_push *h)
{
    tsr_joint *w = &h->w;
    const tsr_view *u = &w->p->u;
    uint8_t *restrict present = w->present;
    memset(present, 0, (size_t)u->vlen);
    for (int64_t r = 0; r < u->nvec; r++)
        for (int64_t t = u->p[r]; t < u->p[r + 1]; t++)
            present[((const int64_t *)u->i)[t]] |= (uint8_t)(1U << r);
    int64_t *restrict k = w->k, count = 0;
    uint32_t *restrict row = h->row;
    for (int64_t i = 0; i < u->vlen; i++) {
        k[count] = i;
        row[i] = (uint32_t)count;
        count += present[i] != 0;
    }
    w->count = count;
}

/* What U gives to a product: its value, or 1; times that of A where this is one for all. */
#define LAY(type, identity)                                                                                            \
    static void lay_##type(const joint_push *h)                                                                        \
    {                                                                                                                  \
        const tsr_push *p = h->w.p;                                                                                    \
        const tsr_push_semiring *s = &p->semiring;                                                                     \
        const tsr_c_##type one = 1, *restrict x = tsr_push_reads_u(s) ? p->u.x : &one;                                 \
        const tsr_c_##type factor = tsr_push_reads_a(s) && p->a.iso ? *(const tsr_c_##type *)p->a.x : 1;               \
        const int64_t *restrict i = p->u.i, lanes = h->w.lanes, step = tsr_push_reads_u(s) && !p->u.iso ? -1 : 0;      \
        tsr_c_##type *restrict u = h->w.u;                                                                             \
        for (int64_t t = 0; t < h->w.count * lanes; t++)                                                               \
            u[t] = identity;                                                                                           \
        for (int64_t r = 0; r < p->u.nvec; r++)                                                                        \
            for (int64_t t = p->u.p[r]; t < p->u.p[r + 1]; t++)                                                        \
                u[h->row[i[t]] * lanes + r] = x[t & step] * factor;                                                    \
    }                                                                                                                  \
    static void clear_##type(const tsr_joint *w, int64_t first, int64_t last)                                          \
    {                                                                                                                  \
        tsr_c_##type *restrict sums = w->sums;                                                                         \
        for (int64_t t = first * w->lanes; t < last * w->lanes; t++)                                                   \
            sums[t] = identity;                                                                                        \
    }
LAY(fp32, -0.0F)
LAY(fp64, -0.0)
LAY(uint32, 0)
LAY(uint64, 0)

#define BY_TYPE(name, ...)                                \
    switch (h->w.type) {                                  \
    case TSR_FP32: name##_fp32(__VA_ARGS__); break;       \
    case TSR_FP64: name##_fp64(__VA_ARGS__); break;       \
    case TSR_UINT32: name##_uint32(__VA_ARGS__); break;   \
    default: name##_uint64(__VA_ARGS__);                  \
    }

static void lay(const joint_push *h)
{
    BY_TYPE(lay, h)
}

/* ---- contributions ---- */

static inline bool is_full(const char *at)
{
    return ((uintptr_t)at & (TSR_JOINT_BLOCK - 1)) == 0;
}

/* The block that ends at `at` is followed by a new one. */
static char *continue_list(tsr_dealt *dealt, char *at, int64_t step)
{
    char *block = dealt->next;
    dealt->next += TSR_JOINT_BLOCK;
    memcpy(at - TSR_JOINT_BLOCK, &block, sizeof block);
    return block + step;
}

/* size: of a value of A; 0: none. */
static inline __attribute__((always_inline)) void deal_rows(const tsr_joint *w, tsr_dealt *dealt, const bool narrow, const size_t size)
{
    const tsr_push *p = w->p;
    const void *restrict starts = p->starts, *restrict indices = p->a.i;
    const char *restrict x = p->a.x;
    const uint8_t *restrict open = w->open;
    char **restrict ends = dealt->ends;
    const int64_t step = tsr_joint_step(size > 0);
    const uint64_t low = (UINT64_C(1) << w->shift) - 1;
    for (int64_t t = dealt->begin; t < dealt->end; t++) {
        const int64_t k = w->k[t], stop = tsr_push_at(starts, k + 1, narrow);
        const uint64_t here = w->present[k], row = (uint64_t)t << TSR_JOINT_ROW;
        tsr_ask_ahead(p, w->k, t, dealt->end);
        for (int64_t e = tsr_push_at(starts, k, narrow); e < stop; e++) {
            const int64_t j = tsr_push_at(indices, e, narrow);
            const uint64_t bits = open[j] & here, it = row | bits << TSR_JOINT_BITS | ((uint64_t)j & low);
            char *at = ends[j >> w->shift];
            memcpy(at, &it, sizeof it);
            if (size)
                memcpy(at + 8, x + (size_t)e * size, size);
            at += bits ? step : 0;
            if (__builtin_expect(is_full(at), 0))
                at = continue_list(dealt, at, step);
            ends[j >> w->shift] = at;
        }
    }
}

static void deal(void *context, int64_t part)
{
    const joint_push *h = context;
    const tsr_joint *w = &h->w;
    tsr_dealt *dealt = &h->parts[part];
    const bool narrow = tsr_push_is_narrow(w->p);
    const size_t size = w->with_a ? tsr_type_size(w->type) : 0;
    for (int64_t b = 0; b < w->buckets; b++)
        dealt->ends[b] = dealt->arena + b * TSR_JOINT_BLOCK + tsr_joint_step(w->with_a);
    dealt->next = dealt->arena + w->buckets * TSR_JOINT_BLOCK;
    if (size == 0)
        narrow ? deal_rows(w, dealt, true, 0) : deal_rows(w, dealt, false, 0);
    else if (size == 4)
        narrow ? deal_rows(w, dealt, true, 4) : deal_rows(w, dealt, false, 4);
    else
        narrow ? deal_rows(w, dealt, true, 8) : deal_rows(w, dealt, false, 8);
}

/* Parts from row t on.  Returns the first row behind them. */
static int64_t cut(joint_push *h, int64_t t)
{
    const tsr_joint *w = &h->w;
    for (h->nparts = 0; h->nparts < h->nthreads && t < w->count; h->nparts++) {
        tsr_dealt *part = &h->parts[h->nparts];
        part->begin = t;
        for (int64_t work = 0; t < w->count; t++) {
            work += tsr_push_start(w->p, w->k[t] + 1) - tsr_push_start(w->p, w->k[t]);
            if (work > h->share && t > part->begin)
                break;
        }
        part->end = t;
    }
    return t;
}

static void clear(void *context, int64_t bucket)
{
    const joint_push *h = context;
    const int64_t n = h->w.p->a.vlen, first = bucket << h->w.shift, last = first + (INT64_C(1) << h->w.shift);
    BY_TYPE(clear, &h->w, first, last < n ? last : n)
}

static void sum(void *context, int64_t bucket)
{
    const joint_push *h = context;
    if (h->parts[0].begin == 0)
        clear(context, bucket);
    for (int64_t part = 0; part < h->nparts; part++)
        h->sum(&h->w, bucket, &h->parts[part]);
}

static void sum_rows(joint_push *h)
{
    memset(h->w.found, 0, (size_t)h->w.p->a.vlen);
    for (int64_t t = 0; t < h->w.count;) {
        t = cut(h, t);
        tsr_for_jobs(h->nparts, h->nthreads, deal, h);
        tsr_for_jobs(h->w.buckets, h->nthreads, sum, h);
    }
}

/* ---- results ---- */

#define LIST(bits)                                                                                            \
    static void list_##bits(const tsr_joint *w, int64_t r, int64_t *restrict i, uint##bits##_t *restrict x)   \
    {                                                                                                         \
        const uint##bits##_t *restrict sums = w->sums;                                                        \
        int64_t count = 0;                                                                                    \
        for (int64_t j = 0; j < w->p->a.vlen; j++) {                                                          \
            i[count] = j;                                                                                     \
            x[count] = sums[j * w->lanes + r];                                                                \
            count += w->found[j] >> r & 1;                                                                    \
        }                                                                                                     \
    }
LIST(32)
LIST(64)

static void list(void *context, int64_t r)
{
    joint_push *h = context;
    const int64_t first = h->first[r];
    const bool wide = tsr_type_size(h->w.type) == 8;
    if (wide)
        list_64(&h->w, r, h->s->i + first, (uint64_t *)h->s->x + first);
    else
        list_32(&h->w, r, h->s->i + first, (uint32_t *)h->s->x + first);
    const int64_t count = h->first[r + 1] - first - 1; /* one more was written over */
    h->result->vectors[r] = (tsr_few_vector){.i = h->s->i + first, .x = (char *)h->s->x + first * (wide ? 8 : 4), .count = count, .sorted = true};
}

static int64_t count_found(const tsr_joint *w, int64_t r)
{
    int64_t count = 0;
    for (int64_t j = 0; j < w->p->a.vlen; j++)
        count += w->found[j] >> r & 1;
    return count;
}

tsr_status tsr_push_joint(const tsr_push *p, int64_t work, tsr_few *result)
{
    tsr_dealt parts[TSR_FEW];
    joint_push h = {.w = {.p = p, .type = sums_of(p->semiring.type), .lanes = p->u.nvec == 1 ? 1 : p->u.nvec <= 4 ? 4 : MOST,
                          .with_a = tsr_push_reads_a(&p->semiring) && !p->a.iso},
                    .nthreads = threads_of(p, work), .parts = parts, .result = result};
    set_buckets(&h);
    set_parts(&h, work);
    if (!reserve(&h))
        return TSR_OUT_OF_MEMORY;
    h.sum = TSR_PICK_ISA(tsr_joint_sums)(&h.w);
    find_rows(&h);
    lay(&h);
    tsr_open_places(h.w.open, p, p->a.vlen);
    sum_rows(&h);
    for (int64_t r = 0; r < p->u.nvec; r++)
        h.first[r + 1] = h.first[r] + count_found(&h.w, r) + 1;
    h.s = tsr_scratch_get(0, h.first[p->u.nvec]);
    if (!h.s)
        return TSR_OUT_OF_MEMORY;
    tsr_for_jobs(p->u.nvec, h.nthreads, list, &h);
    return TSR_OK;
}
