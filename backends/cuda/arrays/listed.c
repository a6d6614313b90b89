/* SPDX-License-Identifier: Apache-2.0 */
#include "backends/cuda/arrays/listed.h"

#include "backends/cuda/arrays/answers.h"
#include "backends/cuda/arrays/cleared.h"
#include "backends/cuda/arrays/fusion.h"

/* A list is used where it names this part of all places at most; else all are looked at. */
#ifndef TSR_CUDA_LISTED_SHARE
#define TSR_CUDA_LISTED_SHARE 8
#endif

/* Bytes of a C that is copied where it may not be changed. */
#ifndef TSR_CUDA_COPY_LEAST
#define TSR_CUDA_COPY_LEAST (16 << 20)
#endif

/* Are lists made of operands that have none?  For tests, in which few vectors are pushed. */
#ifndef TSR_CUDA_LISTS_OPERANDS
#define TSR_CUDA_LISTS_OPERANDS 0
#endif

/* ---- lists ---- */

tsr_status tsr_cuda_listed_make(tsr_cuda_array *v)
{
    tsr_cuda_array *lister;
    if (v->lister || !v->present)
        return TSR_OK;
    if (v->nvals < 0 || v->nvals > TSR_CUDA_LISTED_MOST || v->count > UINT32_MAX)
        return TSR_DECLINED;
    tsr_status status = tsr_cuda_array_new_listed(&lister, 0, 1, v->nvals);
    if (status != TSR_OK)
        return status;
    status = tsr_cuda_list_present(&lister->list, v->present, v->count, &tsr_cuda->device, tsr_cuda->compute);
    if (status == TSR_OK)
        v->lister = lister;
    else
        tsr_cuda_array_let_go(lister);
    return status;
}

/* ---- steps ---- */

static void list_operand(void *operand)
{
    tsr_cuda_array *v = operand;
    if (v && v->present && tsr_cuda_fusion_run() == TSR_OK && tsr_cuda_array_count(v) == TSR_OK)
        (void)tsr_cuda_listed_make(v);
}

static void list_operands(const tsr_ewise *s)
{
    list_operand(s->x.value);
    list_operand(s->y.value);
    list_operand(s->mask);
}

static void take_shorter(tsr_cuda_array **best, const tsr_cuda_array *v)
{
    if (v && v->lister && (!*best || v->lister->list.most < (*best)->list.most))
        *best = v->lister;
}

/* The shortest list that has all places where something is present, or where C changes.  NULL: there is none. */
static tsr_cuda_array *find_lister(const tsr_ewise *s)
{
    const bool by_t = (!s->c || s->accumulates) && !s->unite; /* nothing happens where T has no entry */
    tsr_cuda_array *best = NULL;
    if (s->mask && !s->mask_complement)
        take_shorter(&best, s->mask);
    if (by_t)
        take_shorter(&best, s->x.value);
    if (by_t && !tsr_ewise_is_unary(s->op))
        take_shorter(&best, s->y.value);
    return best && best->list.most <= s->count / TSR_CUDA_LISTED_SHARE ? best : NULL;
}

/* What waits in a fusion may hold C as well, so it runs before. */
static bool may_change_c(const tsr_ewise *s, const tsr_ewise_arrays *a)
{
    tsr_cuda_array *c = s->c;
    return s->yields_c && !s->accumulates && !s->replace && s->x.value != c && s->y.value != c && s->mask != c && c->lister != c &&
           tsr_ewise_is_full(s, a) == !c->present && atomic_load(&c->contents.refs) == 1;
}

static tsr_status change_c(tsr_cuda_array **z, const tsr_ewise *s, tsr_ewise_arrays *a, const tsr_cuda_list *list)
{
    tsr_cuda_array *c = s->c;
    a->z = c->x;
    a->z_present = c->present;
    const tsr_status status = tsr_cuda_ewise_listed(s, a, list, NULL, &tsr_cuda->device, tsr_cuda->compute);
    if (status != TSR_OK)
        return status;
    tsr_cuda_array_let_go(c->lister);
    c->lister = NULL;
    c->ticket = 0;
    c->below = 0;
    c->nvals = c->present ? -1 : c->count;
    tsr_cuda_contents_again(&c->contents);
    *z = c;
    return TSR_OK;
}

/* Worth a copy of C: it is large, and read and written once instead of being looked at with all operands. */
static bool may_copy_c(const tsr_ewise *s, const tsr_ewise_arrays *a)
{
    const tsr_cuda_array *c = s->c;
    return !s->replace && tsr_ewise_is_full(s, a) == !c->present && c->bytes >= TSR_CUDA_COPY_LEAST && c->bytes <= INT32_MAX;
}

static tsr_status change_copy(tsr_cuda_array **z, const tsr_ewise *s, tsr_ewise_arrays *a, const tsr_cuda_list *list)
{
    const tsr_cuda_array *c = s->c;
    const size_t bytes = c->present ? (size_t)(c->present - (int8_t *)c->x) + (size_t)c->count : (size_t)c->count * c->size;
    tsr_status status = tsr_cuda_array_new(z, c->count, c->size, c->present);
    if (status != TSR_OK)
        return status;
    a->z = (*z)->x;
    a->z_present = (*z)->present;
    status = tsr_cuda_rows_on_device(a->z, bytes, c->x, bytes, bytes, 1, tsr_cuda->compute);
    if (status == TSR_OK)
        status = tsr_cuda_ewise_listed(s, a, list, NULL, &tsr_cuda->device, tsr_cuda->compute);
    if (status != TSR_OK) {
        tsr_cuda_array_free(*z);
        *z = NULL;
    }
    return status;
}

static tsr_status make_z(tsr_cuda_array **z, const tsr_ewise *s, tsr_ewise_arrays *a, tsr_cuda_array *lister)
{
    tsr_cuda_told told;
    tsr_status status = tsr_cuda_array_new_listed(z, s->count, tsr_type_size(s->result), 0);
    if (status != TSR_OK)
        return status;
    a->z = (*z)->x;
    a->z_present = (*z)->present;
    status = tsr_cuda_ask_count(&told, *z);
    if (status == TSR_OK)
        status = tsr_cuda_cleared_end(tsr_cuda_ewise_listed(s, a, &lister->list, &told, &tsr_cuda->device, tsr_cuda->compute));
    if (status != TSR_OK) {
        tsr_cuda_array_free(*z);
        *z = NULL;
        return status;
    }
    tsr_cuda_contents_again(&lister->contents);
    (*z)->lister = lister;
    return TSR_OK;
}

tsr_status tsr_cuda_listed_step(tsr_cuda_array **z, const tsr_ewise *s, const tsr_ewise_arrays *arrays)
{
    tsr_ewise_arrays a = *arrays;
    if (TSR_CUDA_LISTS_OPERANDS)
        list_operands(s);
    tsr_cuda_array *lister = find_lister(s);
    *z = NULL;
    if (!lister || (!s->c && tsr_ewise_is_full(s, arrays)))
        return TSR_DECLINED;
    const tsr_status status = tsr_cuda_fusion_run();
    if (status != TSR_OK)
        return status;
    if (!s->c)
        return make_z(z, s, &a, lister);
    if (may_change_c(s, arrays))
        return change_c(z, s, &a, &lister->list);
    return may_copy_c(s, arrays) ? change_copy(z, s, &a, &lister->list) : TSR_DECLINED;
}

/* ---- reductions ---- */

typedef struct reducing {
    const tsr_cuda_array *value;
    tsr_type type;
    tsr_reduce_op op;
} reducing;

static tsr_status queue_reduction(uint64_t *answer, int words, const void *arguments)
{
    const reducing *r = arguments;
    const tsr_elements e = tsr_cuda_elements(r->value);
    (void)words;
    return tsr_cuda_reduce_listed(answer, r->type, r->op, &e, &r->value->lister->list, tsr_cuda->compute);
}

tsr_status tsr_cuda_listed_reduce(tsr_cuda_reduced *result, tsr_type type, tsr_reduce_op op, const tsr_cuda_array *value)
{
    const reducing r = {value, type, op};
    if (!value->lister || value->lister->list.most > value->count / TSR_CUDA_LISTED_SHARE || !tsr_cuda_reduces_listed(type, op))
        return TSR_DECLINED;
    const tsr_status status = tsr_cuda_fusion_run();
    return status == TSR_OK ? tsr_cuda_answer_words((uint64_t *)result, sizeof *result / sizeof(uint64_t), queue_reduction, &r) : status;
}
