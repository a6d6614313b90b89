/* Sparse times sparse: who computes it.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include "src/base/types.h"
#include "src/engine/call/contents.h"
#include "src/engine/call/host.h"
#include "src/engine/call/start.h"
#include "src/engine/product/decide.h"
#include "src/engine/product/operands.h"
#include "src/engine/product/sparse_product.h"
#include "src/policy/history/history.h"
#include "src/policy/history/placement_history.h"
#include "src/policy/price/gpu_price.h"
#include "src/policy/price/sparse_product.h"
#include "src/runtime/backends.h"
#include "src/runtime/config.h"
#include "src/runtime/trace.h"

/* ---- the product ---- */

tsr_spgemm tsr_sparse_product_of(const tsr_call *call)
{
    const tsr_product *p = &call->product;
    const bool masked = call->given.M;
    return (tsr_spgemm){.sorted = true, .masked = masked, .mask_structural = p->mask_structural, .mask_complement = masked && call->mod.mask_comp,
                        .mask = masked ? p->mask : (tsr_view){0},
                        .semiring = p->semiring, .m = p->m, .n = p->n, .k = p->k, .a = p->a, .b = p->b, .pattern = call->one_value,
                        .c_by_col = p->c_by_col, .nthreads = p->nthreads};
}

tsr_product tsr_sparse_product_on_device(const tsr_spgemm *s)
{
    const tsr_semiring structure = {TSR_BOOL, TSR_ADD_ANY, TSR_MUL_PAIR}, semiring = s->pattern ? structure : s->semiring;
    tsr_product p = {.semiring = semiring, .m = s->m, .n = s->n, .k = s->k, .a = s->a, .b = s->b, .c_by_col = s->c_by_col,
                     .mask = s->mask, .mask_structural = s->mask_structural, .mask_complement = s->mask_complement,
                     .nthreads = s->nthreads};
    p.a.type = p.b.type = semiring.type;
    return p;
}

/* ---- how much there is to do ---- */

enum { SAMPLES = 512, SAMPLES_LEAST = 64, PRODUCTS_PER_SAMPLE = 256, SPANS = 64, COUNTED_ROWS = 16, COUNTED_PRODUCTS = 1 << 16 };

#define COUNTED_FROM_MS 100.0 /* what counting the entries of some rows takes is a hundredth of that at most */

/* Entries of line k of a matrix held by such lines. */
static double length_of(const tsr_view *b, int64_t k)
{
    if (b->format != TSR_HYPERSPARSE)
        return (double)(tsr_view_start(b, k + 1) - tsr_view_start(b, k));
    int64_t lo = 0, hi = b->nvec;
    while (lo < hi) {
        const int64_t mid = lo + (hi - lo) / 2;
        if (b->h[mid] < k)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < b->nvec && b->h[lo] == k ? (double)(tsr_view_start(b, lo + 1) - tsr_view_start(b, lo)) : 0;
}

static int64_t index_at(const tsr_view *v, int64_t e)
{
    return tsr_offset(v->i, v->index_size == 4, e);
}

/* Of A's entries; so few that looking at them costs little beside the product. */
static int64_t samples_of(double nvals, double average_work)
{
    const double worth = average_work / PRODUCTS_PER_SAMPLE, samples = worth < SAMPLES_LEAST ? SAMPLES_LEAST : worth < SAMPLES ? worth : SAMPLES;
    return (int64_t)(nvals < samples ? nvals : samples);
}

/* Products of C by row, from a few of A's entries.  An operand held by column will be flipped: then by averages. */
static double estimate_work(const tsr_spgemm *s)
{
    const tsr_view *a = &s->a, *b = &s->b;
    const double average = s->k > 0 ? (double)a->nvals * ((double)b->nvals / (double)s->k) : 0;
    const int64_t n = samples_of((double)a->nvals, average);
    double sum = 0;
    if (b->by_col || n == 0 || !a->p || !b->p) /* only a device has them */
        return average;
    for (int64_t q = 0; q < n; q++) {
        const int64_t e = (int64_t)((double)a->nvals / (double)n * ((double)q + 0.5));
        sum += a->by_col ? (double)b->nvals / (double)s->k : length_of(b, index_at(a, e));
    }
    return sum / (double)n * (double)a->nvals;
}

/* Columns that stored row v of A may have in C. */
static int64_t span_of(const tsr_view *a, const tsr_view *b, int64_t v)
{
    int64_t least = INT64_MAX, most = -1;
    for (int64_t e = tsr_view_start(a, v), end = tsr_view_start(a, v + 1); e < end; e++) {
        const int64_t k = index_at(a, e), begin = tsr_view_start(b, k), stop = tsr_view_start(b, k + 1);
        if (begin == stop)
            continue;
        const int64_t first = index_at(b, begin), last = index_at(b, stop - 1);
        least = first < least ? first : least;
        most = last > most ? last : most;
    }
    return most < 0 ? 0 : most - least + 1;
}

/* Can rows of the product be looked at one by one? */
static bool has_rows(const tsr_spgemm *s)
{
    const tsr_view *a = &s->a, *b = &s->b;
    return !a->by_col && !b->by_col && b->format != TSR_HYPERSPARSE && a->p && b->p && a->i && b->i && a->nvec > 0;
}

/* Of some rows: the average, 0 where it cannot be told, and whether most are like the row before. */
static void inspect_spans(tsr_sparse_product_features *f, const tsr_spgemm *s)
{
    const tsr_view *a = &s->a, *b = &s->b;
    const int64_t n = a->nvec < SPANS ? a->nvec : SPANS;
    int64_t before = 0, alike = 0;
    double sum = 0;
    if (!has_rows(s) || b->jumbled)
        return;
    for (int64_t q = 0; q < n; q++) {
        const int64_t span = span_of(a, b, (int64_t)((double)a->nvec / (double)n * ((double)q + 0.5)));
        sum += (double)span;
        alike += span > 0 && span == before;
        before = span;
    }
    f->span = sum / (double)n;
    f->alike = alike > n / 2;
}

static int64_t products_of(const tsr_spgemm *s, int64_t v)
{
    int64_t products = 0;
    for (int64_t e = tsr_view_start(&s->a, v); e < tsr_view_start(&s->a, v + 1); e++) {
        const int64_t k = index_at(&s->a, e);
        products += tsr_view_start(&s->b, k + 1) - tsr_view_start(&s->b, k);
    }
    return products;
}

/* Different columns of stored row v, whose bits in `seen` are turned over. */
static int64_t turn_columns(const tsr_spgemm *s, int64_t v, uint64_t *seen, bool on)
{
    int64_t turned = 0;
    for (int64_t e = tsr_view_start(&s->a, v); e < tsr_view_start(&s->a, v + 1); e++) {
        const int64_t k = index_at(&s->a, e);
        for (int64_t at = tsr_view_start(&s->b, k); at < tsr_view_start(&s->b, k + 1); at++) {
            const int64_t column = index_at(&s->b, at);
            const uint64_t bit = 1ull << column % 64;
            turned += !(seen[column / 64] & bit) == on;
            seen[column / 64] = on ? seen[column / 64] | bit : seen[column / 64] & ~bit;
        }
    }
    return turned;
}

/* Entries for each product, of some rows; 0 where it cannot be told. */
static double share_of_products(const tsr_spgemm *s)
{
    const int64_t n = s->a.nvec < COUNTED_ROWS ? s->a.nvec : COUNTED_ROWS;
    int64_t products = 0, entries = 0;
    uint64_t *seen = has_rows(s) ? calloc((size_t)s->n / 64 + 1, sizeof *seen) : NULL;
    for (int64_t q = 0; seen && q < n; q++) {
        const int64_t v = (int64_t)((double)s->a.nvec / (double)n * ((double)q + 0.5)), of_row = products_of(s, v);
        if (of_row > COUNTED_PRODUCTS)
            continue;
        products += of_row;
        entries += turn_columns(s, v, seen, true);
        turn_columns(s, v, seen, false);
    }
    free(seen);
    return products > 0 ? (double)entries / (double)products : 0;
}

/* No line of the left operand has two entries: C's lines are lines of the other one times a number, which SuiteSparse copies.  None of the
 * right one: C's lines are lines of the left one with other indices, which ours are sorted by. */
static bool lines_have_one(const tsr_view *a)
{
    int64_t k = 0;
    if (a->by_col || a->nvals > a->nvec || !a->p)
        return false;
    while (k < a->nvec && tsr_view_start(a, k + 1) - tsr_view_start(a, k) <= 1)
        k++;
    return k == a->nvec;
}

/* Of a bitmap or full mask. */
static double bytes_of_place(const tsr_spgemm *s)
{
    const bool bitmap = s->mask.format == TSR_BITMAP, valued = !s->mask_structural && !s->mask.iso;
    return (bitmap ? 1 : 0) + (valued ? (double)tsr_type_size(s->mask.type) : 0);
}

static tsr_sparse_product_features features_of(const tsr_spgemm *product)
{
    const tsr_spgemm s = tsr_spgemm_by_row(product);
    const int64_t of_mask = tsr_is_compressed(&s.mask) ? s.mask.nvals : 0; /* of another only places that C reaches are read */
    const double work = estimate_work(&s);
    const bool lists = !s.masked && work >= TSR_SPARSE_PRODUCT_LEAST; /* with fewer products nobody asks what they are like */
    tsr_sparse_product_features f = {.work = work, .columns = (double)s.n, .nvals = (double)(s.a.nvals + s.b.nvals + of_mask),
                                         .flipped = (double)((s.a.by_col ? s.a.nvals : 0) + (s.b.by_col ? s.b.nvals : 0) +
                                                             (s.mask.by_col ? s.mask.nvals : 0)),
                                         .places = (double)s.m * (double)s.n, .lines = 2 * (double)s.m + (double)s.k,
                                         .value_bytes = s.pattern ? 0 : (double)tsr_type_size(s.semiring.type), .copies = lists && lines_have_one(&s.a),
                                         .renames = lists && lines_have_one(&s.b), .sieved = s.masked && !tsr_is_compressed(&s.mask),
                                         .sieve_bytes = bytes_of_place(&s),
                                         .nthreads = s.nthreads};
    if (lists && tsr_sparse_product_asks_span(&f))
        inspect_spans(&f, &s);
    if (tsr_config_get()->mode == TSR_MODE_AUTO && tsr_sparse_product_suitesparse_ms(&f) >= COUNTED_FROM_MS)
        f.entries = f.work * share_of_products(&s);
    return f;
}

/* ---- the GPU ---- */

/* What is built of an operand that is about to be overwritten would be stale. */
static tsr_record *record_of(const tsr_call *call, const tsr_object *object, const void *handle)
{
    return handle == call->given.C && !object->compressed ? NULL : call->door->record(handle, true);
}

static void take_records(tsr_call *call)
{
    call->a.record = record_of(call, &call->a, call->a.handle);
    call->b.record = record_of(call, &call->b, call->b.handle);
    call->mask.record = call->given.M ? record_of(call, &call->mask, call->given.M) : NULL;
}

static uint64_t key_of(const tsr_spgemm *s)
{
    const uint64_t none = ~0ull; /* has no operation of tsr_op */
    const uint64_t parts[] = {none, (uint64_t)s->semiring.add, (uint64_t)s->semiring.mul, (uint64_t)s->semiring.type,
                              (uint64_t)s->m, (uint64_t)s->n, (uint64_t)s->k, (uint64_t)s->masked, (uint64_t)s->pattern};
    return tsr_history_key(parts, sizeof parts / sizeof *parts);
}

/* Nothing of it is left to do on the host. */
static bool may_be_compressed(const tsr_call *call)
{
    return !call->through_t && tsr_contents_possible() && call->door->may_be_compressed(call->given.C);
}

/* What became of such results says whether it is worth while. */
static bool stays(const tsr_call *call, const tsr_sparse_product_features *f)
{
    const tsr_config *config = tsr_config_get();
    const tsr_pull pull = {.elements = f->work, .least = config->min_work, .on_device = true, .forced = config->mode == TSR_MODE_GPU,
                           .key = call->remote.key};
    const tsr_backend *gpu = call->decision.backend;
    return gpu && gpu->compressed && may_be_compressed(call) && (tsr_has_compressed(call) || tsr_placement_pulls(&pull));
}

static bool gpu_is_wanted(double other, double gain, double expected_calls)
{
    const tsr_config *config = tsr_config_get();
    if (tsr_engine_by_reference() || config->mode == TSR_MODE_CPU)
        return false;
    if (config->mode == TSR_MODE_GPU || config->eager)
        return true;
    return other >= TSR_GPU_LEAST_MS && (tsr_backend_gpu_asked() || tsr_engine_starts_gpu(gain, expected_calls));
}

/* The GPU, if it may compute what takes `other` ms elsewhere. */
static const tsr_backend *gpu_for(const tsr_spgemm *s, const tsr_sparse_product_features *f, double other, double expected_calls)
{
    const tsr_product turned = tsr_sparse_product_on_device(s);
    const bool wanted = gpu_is_wanted(other, other - tsr_sparse_product_gpu_ms(f), expected_calls);
    const tsr_backend *gpu = wanted ? tsr_backend_gpu() : NULL;
    return gpu && gpu->sparse && gpu->sparse->supports(&turned) ? gpu : NULL;
}

static bool gpu_pays(const tsr_sparse_product_features *f, double other)
{
    return tsr_config_get()->mode == TSR_MODE_GPU || tsr_sparse_product_gpu_ms(f) < other * TSR_ROUTE_MARGIN;
}

/* Instead of what was decided. */
static void consider_gpu(tsr_call *call, const tsr_spgemm *s, tsr_sparse_product_features *f)
{
    tsr_decision *d = &call->decision;
    const double other = d->backend ? tsr_sparse_product_cpu_ms(f) : d->forward_ms;
    const tsr_backend *gpu = gpu_for(s, f, other, call->expected_calls);
    if (!gpu)
        return;
    take_records(call);
    f->held = tsr_operands_kept(call, gpu);
    if (!gpu_pays(f, other))
        return;
    d->backend = gpu;
    d->predicted_ms = tsr_sparse_product_gpu_ms(f);
    if (tsr_trace_wanted())
        snprintf(d->reason, sizeof d->reason, "%spredicted %.3g ms, host %.3g ms", tsr_config_get()->mode == TSR_MODE_GPU ? "forced; " : "",
                 d->predicted_ms, other);
}

/* Of contents that only a device has. */
static void decide_on_device(tsr_call *call, const tsr_spgemm *s)
{
    tsr_decision *d = &call->decision;
    const tsr_product turned = tsr_sparse_product_on_device(s);
    const tsr_backend *gpu = tsr_backend_gpu();
    if (!gpu || !gpu->sparse || !gpu->sparse->supports(&turned))
        return;
    take_records(call);
    d->backend = gpu;
    snprintf(d->reason, sizeof d->reason, "a sparse operand is on the device");
}

/* ---- the decision ---- */

void tsr_sparse_product_decide(tsr_call *call)
{
    tsr_decision *d = &call->decision;
    const tsr_spgemm s = tsr_sparse_product_of(call);
    tsr_sparse_product_features f = features_of(&s);
    const char *why = tsr_sparse_product_pays(&f);
    *d = (tsr_decision){.predicted_ms = -1, .forward_ms = tsr_sparse_product_suitesparse_ms(&f), .observed_ms = -1};
    if (tsr_config_get()->disabled & TSR_DISABLE_SPGEMM) {
        snprintf(d->reason, sizeof d->reason, "disabled");
        return;
    }
    call->remote.key = key_of(&s);
    if (tsr_has_compressed(call)) {
        decide_on_device(call, &s);
        call->remote.compressed = stays(call, &f);
        return;
    }
    if (!why || tsr_config_forces_cpu())
        d->backend = tsr_backend_cpu();
    snprintf(d->reason, sizeof d->reason, "%s", why ? why : "sparse times sparse");
    f.stays = may_be_compressed(call) && tsr_placement_stays(call->remote.key);
    consider_gpu(call, &s, &f);
    call->remote.compressed = d->backend != tsr_backend_cpu() && stays(call, &f);
}

const tsr_backend *tsr_engine_spgemm_device(const tsr_spgemm *s, const tsr_spgemm_size *size)
{
    tsr_sparse_product_features f = features_of(s);
    f.work = size->work;
    f.entries = (double)size->nvals;
    const double other = tsr_sparse_product_cpu_ms(&f);
    if (tsr_config_get()->disabled & TSR_DISABLE_SPGEMM)
        return NULL;
    const tsr_backend *gpu = gpu_for(s, &f, other, 0);
    return gpu && gpu_pays(&f, other) ? gpu : NULL;
}
