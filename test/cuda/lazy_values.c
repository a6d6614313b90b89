/* Steps, reductions and dense products of values on the lazy device: the C twins.
 * SPDX-License-Identifier: Apache-2.0 */
#include "test/cuda/lazy_device.h"

#include <stdlib.h>
#include <string.h>

#include "backends/cuda/arrays/gemm.h"
#include "kernels/cuda/elementwise/fusion.h"
#include "kernels/cuda/common/list.h"
#include "kernels/cuda/elementwise/derive.h"
#include "kernels/cuda/elementwise/spread.h"
#include "kernels/ref/derive.h"
#include "kernels/ref/step.h"

typedef struct step_work {
    tsr_ewise step;
    tsr_ewise_arrays arrays;
} step_work;

static void run_step(const void *described)
{
    const step_work *w = described;
    tsr_ref_ewise(&w->step, &w->arrays);
}

tsr_status tsr_cuda_ewise(const tsr_ewise *step, const tsr_ewise_arrays *arrays, const tsr_cuda_device *device, void *stream)
{
    (void)device;
    if (step->op == TSR_EWISE_SQRT && !tsr_type_is_float(step->type))
        return TSR_DECLINED;
    return lazy_queue(run_step, &(step_work){*step, *arrays}, sizeof(step_work), stream);
}

/* ---- at listed places ---- */

typedef struct listing {
    tsr_cuda_list list;
    const int8_t *present;
    int64_t count;
} listing;

static void run_listing(const void *described)
{
    const listing *w = described;
    for (int64_t k = w->count - 1; k >= 0; k--) {
        if (w->present[k])
            w->list.places[w->list.head->length++] = (uint32_t)k;
    }
    if (w->list.head->length > w->list.most)
        lazy_fatal("a list is too long");
}

tsr_status tsr_cuda_list_present(const tsr_cuda_list *list, const int8_t *present, int64_t count, const tsr_cuda_device *device, void *stream)
{
    (void)device;
    return lazy_queue(run_listing, &(listing){*list, present, count}, sizeof(listing), stream);
}

void lazy_tell(const tsr_cuda_told *told, uint32_t present)
{
    const tsr_cuda_clearing *c = &told->clearing;
    for (uint32_t k = 0; c->x && k < c->list.head->length; k++) {
        memset((char *)c->x + (size_t)c->list.places[k] * (size_t)c->size, 0, (size_t)c->size);
        c->present[c->list.places[k]] = 0;
    }
    if (c->x)
        *c->head = (tsr_cuda_list_head){0};
    told->head->present = present;
    *told->slot = (uint64_t)told->ticket << 32 | present;
}

typedef struct listed_step {
    tsr_ewise step;
    tsr_ewise_arrays arrays;
    tsr_cuda_list list;
    tsr_cuda_told told;
} listed_step;

static void run_listed(const void *described)
{
    const listed_step *w = described;
    const uint32_t present = tsr_ref_ewise_listed(&w->step, &w->arrays, w->list.places, w->list.head->length);
    if (w->told.slot)
        lazy_tell(&w->told, present);
}

tsr_status tsr_cuda_ewise_listed(const tsr_ewise *step, const tsr_ewise_arrays *arrays, const tsr_cuda_list *list, const tsr_cuda_told *told,
                                 const tsr_cuda_device *device, void *stream)
{
    (void)device;
    if (step->op == TSR_EWISE_SQRT && !tsr_type_is_float(step->type))
        return TSR_DECLINED;
    return lazy_queue(run_listed, &(listed_step){*step, *arrays, *list, told ? *told : (tsr_cuda_told){0}}, sizeof(listed_step), stream);
}

typedef struct listed_reduction {
    uint64_t *answer;
    tsr_type type;
    tsr_reduce_op op;
    tsr_elements elements;
    tsr_cuda_list list;
} listed_reduction;

static void run_listed_reduction(const void *described)
{
    const listed_reduction *w = described;
    tsr_value value = {0};
    w->answer[2] = tsr_ref_reduce_listed(&value, w->type, w->op, &w->elements, w->list.places, w->list.head->length);
    w->answer[1] = 0;
    tsr_value_store(w->type, &w->answer[1], 0, value);
    w->answer[0] = 1;
}

tsr_status tsr_cuda_reduce_listed(uint64_t *answer, tsr_type type, tsr_reduce_op op, const tsr_elements *elements, const tsr_cuda_list *list,
                                  void *stream)
{
    if (!tsr_cuda_reduces_listed(type, op))
        return TSR_DECLINED;
    return lazy_queue(run_listed_reduction, &(listed_reduction){answer, type, op, *elements, *list}, sizeof(listed_reduction), stream);
}

typedef struct reduce_work {
    tsr_cuda_reduced *result;
    void *scratch;
    tsr_type type;
    tsr_reduce_op op;
    tsr_elements elements;
    int64_t count;
} reduce_work;

static void run_reduce(const void *described)
{
    const reduce_work *w = described;
    tsr_value value = {0};
    *(char *)w->scratch = 0;
    *w->result = (tsr_cuda_reduced){0, tsr_ref_reduce(&value, w->type, w->op, &w->elements, w->count)};
    tsr_value_store(w->type, &w->result->scalar, 0, value);
}

size_t tsr_cuda_reduce_bytes(int64_t count, const tsr_cuda_device *device)
{
    (void)device;
    return (size_t)count % 1000 + 1;
}

tsr_status tsr_cuda_reduce(tsr_cuda_reduced *result, void *scratch, tsr_type type, tsr_reduce_op op, const tsr_elements *e,
                           int64_t count, const tsr_cuda_device *device, void *stream)
{
    (void)device;
    if (op == TSR_REDUCE_EQ && type != TSR_BOOL)
        return TSR_DECLINED;
    return lazy_queue(run_reduce, &(reduce_work){result, scratch, type, op, *e, count}, sizeof(reduce_work), stream);
}

typedef struct chain_work {
    tsr_fusion chain;
    tsr_cuda_reduced *result; /* NULL: none */
    tsr_reduce_op op;
} chain_work;

/* What nobody looks at is poisoned. */
static void run_chain(const void *described)
{
    const chain_work *w = described;
    const tsr_fusion *c = &w->chain;
    const tsr_type type = c->step[0].type;
    for (int k = 0; k < c->n; k++)
        tsr_ref_ewise(&c->step[k], &c->arrays[k]);
    if (w->result) {
        tsr_value value = {0};
        const tsr_elements last = {c->arrays[c->n - 1].z, NULL};
        *w->result = (tsr_cuda_reduced){0, tsr_ref_reduce(&value, type, w->op, &last, c->step[0].count)};
        tsr_value_store(type, &w->result->scalar, 0, value);
    }
    for (int k = 0; k < c->n; k++)
        if (!c->wanted[k])
            memset(c->arrays[k].z, 0xA5, (size_t)c->step[k].count * (type == TSR_FP32 ? 4 : 8));
}

tsr_status tsr_cuda_fusion(const tsr_fusion *chain, const tsr_cuda_device *device, void *stream)
{
    (void)device;
    return lazy_queue(run_chain, &(chain_work){.chain = *chain}, sizeof(chain_work), stream);
}

tsr_status tsr_cuda_fusion_reduce(tsr_cuda_reduced *result, void *scratch, tsr_reduce_op op, const tsr_fusion *chain,
                                 const tsr_cuda_device *device, void *stream)
{
    (void)device;
    (void)scratch;
    return lazy_queue(run_chain, &(chain_work){*chain, result, op}, sizeof(chain_work), stream);
}

/* One of the functions of kernels/cuda/elementwise/derive.h. */
typedef struct derive_work {
    tsr_elements e;
    void *z;
    int8_t *z_present;
    void *scratch;
    tsr_sums sums;
    tsr_places places;
    tsr_indices listed;
    const uint32_t *list;
    tsr_type from, to;
    size_t size;
    int64_t vectors, length;
} derive_work;

/* The twins always write presence. */
static int8_t *presence_of(const derive_work *w, int64_t count)
{
    return w->z_present ? w->z_present : malloc((size_t)count + 1);
}

static void let_go(const derive_work *w, int8_t *present)
{
    if (!w->z_present)
        free(present);
}

static void run_sums(const void *described)
{
    const derive_work *w = described;
    int8_t *present = presence_of(w, w->sums.vectors);
    if (w->scratch)
        *(char *)w->scratch = 0;
    tsr_ref_sums(&w->sums, &w->e, w->z, present);
    let_go(w, present);
}

size_t tsr_cuda_sums_bytes(const tsr_sums *sums, const tsr_cuda_device *device)
{
    (void)device;
    return (size_t)sums->length % 3;
}

tsr_status tsr_cuda_sums(const tsr_sums *sums, const tsr_elements *e, void *z, int8_t *z_present, void *scratch,
                         const tsr_cuda_device *device, void *stream)
{
    (void)device;
    if (sums->op == TSR_REDUCE_EQ && sums->type != TSR_BOOL)
        return TSR_DECLINED;
    return lazy_queue(run_sums, &(derive_work){.e = *e, .z = z, .z_present = z_present, .scratch = scratch, .sums = *sums},
                      sizeof(derive_work), stream);
}

static void run_cast(const void *described)
{
    const derive_work *w = described;
    int8_t *present = presence_of(w, w->length);
    tsr_ref_cast_all(w->z, present, w->to, &w->e, w->from, w->length);
    let_go(w, present);
}

tsr_status tsr_cuda_cast(void *z, int8_t *z_present, tsr_type to, const tsr_elements *e, tsr_type from, int64_t count,
                         const tsr_cuda_device *device, void *stream)
{
    (void)device;
    return lazy_queue(run_cast, &(derive_work){.e = *e, .z = z, .z_present = z_present, .from = from, .to = to, .length = count},
                      sizeof(derive_work), stream);
}

static void run_turn(const void *described)
{
    const derive_work *w = described;
    int8_t *present = presence_of(w, w->vectors * w->length);
    tsr_ref_turn(w->z, present, &w->e, w->size, w->vectors, w->length);
    let_go(w, present);
}

tsr_status tsr_cuda_turn(void *z, int8_t *z_present, const tsr_elements *e, int size, int64_t vectors, int64_t length,
                         const tsr_cuda_device *device, void *stream)
{
    (void)device;
    return lazy_queue(run_turn, &(derive_work){.e = *e, .z = z, .z_present = z_present, .size = (size_t)size, .vectors = vectors,
                                               .length = length}, sizeof(derive_work), stream);
}

static void run_places(const void *described)
{
    const derive_work *w = described;
    int8_t *present = presence_of(w, w->places.vectors * w->places.length);
    tsr_ref_places(&w->places, &w->e, w->size, w->z, present);
    let_go(w, present);
}

tsr_status tsr_cuda_places(const tsr_places *places, const tsr_elements *e, int size, void *z, int8_t *z_present,
                           const tsr_cuda_device *device, void *stream)
{
    (void)device;
    return lazy_queue(run_places, &(derive_work){.e = *e, .z = z, .z_present = z_present, .places = *places, .size = (size_t)size},
                      sizeof(derive_work), stream);
}

/* As the reference takes them; what is allocated is the caller's. */
static tsr_indices wide(const derive_work *w, uint64_t **list)
{
    const tsr_indices *narrow = &w->listed;
    *list = w->list ? malloc((size_t)narrow->count * sizeof **list) : NULL;
    for (int64_t k = 0; *list && k < narrow->count; k++)
        (*list)[k] = w->list[k];
    return (tsr_indices){.list = *list, .first = narrow->first, .step = narrow->step, .count = narrow->count};
}

static void run_gather(const void *described)
{
    const derive_work *w = described;
    uint64_t *list;
    const tsr_indices from = wide(w, &list);
    int8_t *present = presence_of(w, from.count);
    tsr_ref_gather(&from, &w->e, w->size, w->z, present);
    let_go(w, present);
    free(list);
}

tsr_status tsr_cuda_gather_elements(const tsr_indices *from, const uint32_t *list, const tsr_elements *e, int size, void *z,
                                    int8_t *z_present, const tsr_cuda_device *device, void *stream)
{
    (void)device;
    return lazy_queue(run_gather, &(derive_work){.e = *e, .z = z, .z_present = z_present, .listed = *from, .list = list,
                                                 .size = (size_t)size}, sizeof(derive_work), stream);
}

static void run_scatter(const void *described)
{
    const derive_work *w = described;
    for (int64_t k = 0; k < w->listed.count; k++) {
        const int64_t to = w->list ? (int64_t)w->list[k] : tsr_index_at(&w->listed, k);
        if (w->e.present && !w->e.present[k])
            continue;
        memcpy((char *)w->z + (size_t)to * w->size, (const char *)w->e.x + (size_t)k * w->size, w->size);
        w->z_present[to] = 1;
    }
}

tsr_status tsr_cuda_scatter_elements(const tsr_indices *to, const uint32_t *list, const tsr_elements *e, int size, void *z,
                                     int8_t *z_present, const tsr_cuda_device *device, void *stream)
{
    (void)device;
    return lazy_queue(run_scatter, &(derive_work){.e = *e, .z = z, .z_present = z_present, .listed = *to, .list = list,
                                                  .size = (size_t)size}, sizeof(derive_work), stream);
}

typedef struct spread_work {
    void *x;
    int8_t *present;
    tsr_cuda_csr csr;
    size_t size;
    uint64_t iso;
} spread_work;

static void run_spread(const void *described)
{
    const spread_work *w = described;
    for (int64_t row = 0; row < w->csr.nrows; row++)
        for (int64_t e = w->csr.p[row]; e < w->csr.p[row + 1]; e++) {
            int64_t at = row * w->csr.ncols + w->csr.i[e];
            memcpy((char *)w->x + (size_t)at * w->size, w->csr.x ? (char *)w->csr.x + (size_t)e * w->size : (const char *)&w->iso, w->size);
            w->present[at] = 1;
        }
}

tsr_status tsr_cuda_spread(void *x, int8_t *present, const tsr_cuda_csr *csr, int size, uint64_t iso, const tsr_cuda_device *device,
                           void *stream)
{
    (void)device;
    return lazy_queue(run_spread, &(spread_work){x, present, *csr, (size_t)size, iso}, sizeof(spread_work), stream);
}

typedef struct presence_work {
    int8_t *present;
    int64_t *total;
    const int64_t *offsets;
    int64_t rows, columns;
    bool by_col;
} presence_work;

static void run_count(const void *described)
{
    const presence_work *w = described;
    *w->total = 0;
    for (int64_t k = 0; k < w->rows; k++)
        *w->total += w->present[k];
}

tsr_status tsr_cuda_count_ones(int64_t *total, const int8_t *present, int64_t count, const tsr_cuda_device *device, void *stream)
{
    (void)device;
    presence_work w = {.present = (int8_t *)(uintptr_t)present, .total = total, .rows = count};
    return lazy_queue(run_count, &w, sizeof w, stream);
}

static void run_mark(const void *described)
{
    const presence_work *w = described;
    for (int64_t row = 0; row < w->rows; row++)
        for (int64_t column = 0; column < w->columns; column++)
            w->present[w->by_col ? column * w->rows + row : row * w->columns + column] = w->offsets[row + 1] > w->offsets[row];
}

tsr_status tsr_cuda_mark_rows(int8_t *present, const int64_t *offsets, int64_t rows, int64_t columns, bool by_col,
                              const tsr_cuda_device *device, void *stream)
{
    (void)device;
    presence_work w = {.present = present, .offsets = offsets, .rows = rows, .columns = columns, .by_col = by_col};
    return lazy_queue(run_mark, &w, sizeof w, stream);
}

typedef struct gemm_work {
    tsr_dense_product product;
    const void *a, *b;
    void *c;
} gemm_work;

static tsr_value element(const gemm_work *w, const void *x, int64_t row, int64_t column, int64_t rows, int64_t columns, bool by_col)
{
    return tsr_value_load(w->product.type, x, by_col ? column * rows + row : row * columns + column);
}

static void run_gemm(const void *described)
{
    const gemm_work *w = described;
    const tsr_dense_product *p = &w->product;
    for (int64_t row = 0; row < p->m; row++)
        for (int64_t column = 0; column < p->n; column++) {
            tsr_value sum = {0};
            for (int64_t at = 0; at < p->k; at++)
                sum.real += element(w, w->a, row, at, p->m, p->k, p->a_by_col).real * element(w, w->b, at, column, p->k, p->n, p->b_by_col).real;
            tsr_value_store(p->type, w->c, p->c_by_col ? column * p->m + row : row * p->n + column, sum);
        }
}

tsr_status tsr_cuda_gemm(const tsr_dense_product *p, const void *a, const void *b, void *c, void *stream)
{
    if (!tsr_type_is_float(p->type))
        return TSR_DECLINED;
    return lazy_queue(run_gemm, &(gemm_work){*p, a, b, c}, sizeof(gemm_work), stream);
}
