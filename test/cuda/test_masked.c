/* Masked products of sparse matrices against the oracle.
 *
 * First every semiring of every type on the random products of test/kernels (turned into rows of A, of B' and of the mask here;
 * jumbled operands are sorted on the way: the kernels want ascending rows), with a plan and without.  Then graphs: hubs, empty
 * rows and columns far apart, triangle counting in all its forms, plans that choose every form of set, entries in portions, two
 * runs of the same bits.
 * SPDX-License-Identifier: Apache-2.0 */
#include "kernels/ref/value.h"
#include "test/cuda/semirings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- Products of test/kernels ---- */

/* A plan of any kind, none, or the mask's entries in two portions. */
static tsr_status run(tsr_cuda_masked *q, rng *r)
{
    static const int variants[] = { 0, 0, 63000101, 63003001, 1070630, 101409, 63003030, 3080805, -1, -2, -2 };
    int64_t end = q->end, middle = rng_chance(r, 20) ? rng_below(r, end + 1) : end;
    char *x = q->x;
    int8_t *present = q->present;
    size_t size = type_size(q->semiring.type);
    for (int part = 0; part < 2; part++) {
        tsr_cuda_masked_plan plan;
        bool with_plan = rng_chance(r, 75), positions = tsr_cuda_masked_reads(q) || rng_chance(r, 20);
        q->begin = part ? middle : 0;
        q->end = part ? end : middle;
        q->x = x != NULL ? x + (size_t)q->begin * size : NULL;
        q->present = present != NULL ? present + q->begin : NULL;
        if (with_plan)
            must(tsr_cuda_make_masked_plan(&plan, q, positions, variants[rng_below(r, 11)]), "plan");
        tsr_status status = tsr_cuda_masked_dot(with_plan ? &plan : NULL, q);
        if (status == TSR_OK)
            status = tsr_cuda_wait(NULL);
        if (with_plan)
            tsr_cuda_free_masked_plan(&plan, NULL);
        if (status != TSR_OK)
            return status;
    }
    return TSR_OK;
}

static tsr_status run_product(const tsr_product *p, tsr_result *result)
{
    size_t size = type_size(p->semiring.type), mask_size = type_size(p->mask.type);
    tsr_cuda_csr a = upload_view(&p->a, false, size, !p->a.iso), b = upload_view(&p->b, true, size, !p->b.iso);
    tsr_cuda_csr mask = upload_view(&p->mask, false, mask_size, !p->mask_structural);
    int64_t n = p->mask.nvals;
    char *x = device_new((size_t)n * size);
    int8_t *present = device_new((size_t)n);
    tsr_cuda_masked q = { .semiring = p->semiring, .a = &a, .b = &b, .mask = &mask, .mask_size = (int)mask_size, .end = n,
        .a_iso = first_value(&p->a, size), .b_iso = first_value(&p->b, size), .x = x, .present = present, .device = &device };
    tsr_status status = run(&q, &layout);
    if (status == TSR_OK)
        download_entries(result, &p->mask, x, present, size);
    tsr_cuda_free(x, NULL);
    tsr_cuda_free(present, NULL);
    free_csr(&a);
    free_csr(&b);
    free_csr(&mask);
    return status;
}

/* ---- Graphs ---- */

/* The pattern of a matrix as marks; columns lie `spread` apart on the device. */
typedef struct marks {
    int64_t nrows, ncols;
    uint8_t *at;
} marks;

static marks new_marks(int64_t nrows, int64_t ncols)
{
    return (marks){ nrows, ncols, checked(calloc((size_t)(nrows * ncols) + 1, 1)) };
}

/* Few rows and columns have most entries. */
static int64_t draw_end(rng *r, int64_t n)
{
    return rng_chance(r, 60) ? rng_below(r, 1 + rng_below(r, 1 + n / 8)) * 7 % n : rng_below(r, n);
}

static marks draw_marks(rng *r, int64_t nrows, int64_t ncols, int64_t entries)
{
    marks m = new_marks(nrows, ncols);
    for (int64_t k = 0; k < entries && nrows > 0 && ncols > 0; k++)
        m.at[draw_end(r, nrows) * ncols + draw_end(r, ncols)] = 1;
    if (nrows > 0 && rng_chance(r, 30))
        memset(m.at + rng_below(r, nrows) * ncols, 1, (size_t)ncols);
    return m;
}

/* Symmetric without loops; then its part below (-1), above (1) the diagonal, or all (0). */
static marks part_of(const marks *graph, int part)
{
    marks m = new_marks(graph->nrows, graph->ncols);
    for (int64_t i = 0; i < m.nrows; i++)
        for (int64_t j = 0; j < m.ncols; j++)
            m.at[i * m.ncols + j] = i != j && (graph->at[i * m.ncols + j] || graph->at[j * m.ncols + i])
                && (part == 0 || (part < 0 ? j < i : j > i));
    return m;
}

static int64_t draw_value(rng *r)
{
    return rng_below(r, 7) - 3;
}

/* Values (small integers, so that every sum is exact) are drawn in the order of the entries. */
static tsr_cuda_csr upload_marks(const marks *m, int64_t spread, rng *r, tsr_type type, int64_t *values)
{
    entry *list = checked(malloc((size_t)(m->nrows * m->ncols + 1) * sizeof *list));
    int64_t n = 0;
    for (int64_t i = 0; i < m->nrows; i++)
        for (int64_t j = 0; j < m->ncols; j++)
            if (m->at[i * m->ncols + j]) {
                list[n] = (entry){ i, j * spread, n };
                if (r != NULL)
                    values[i * m->ncols + j] = draw_value(r);
                n++;
            }
    char *x = checked(malloc((size_t)n * 8 + 1));
    for (int64_t k = 0; k < n; k++) {
        int64_t value = r != NULL ? values[list[k].row * m->ncols + list[k].col / spread] : 0;
        if (type == TSR_FP32)
            ((float *)x)[k] = (float)value;
        else
            ((double *)x)[k] = (double)value;
    }
    tsr_cuda_csr a = upload_rows(list, n, m->nrows, (m->ncols - 1) * spread + 1, r != NULL ? x : NULL, false,
        type == TSR_FP32 ? 4 : 8);
    free(list);
    free(x);
    return a;
}

typedef struct graph_case {
    uint64_t seed;
    marks a, b, mask; /* b: B' */
    int64_t *a_values, *b_values, *mask_values;
    int64_t spread;
    tsr_semiring semiring;
    bool values, same, valued; /* same: B' is A, the same arrays; valued: the mask's values count */
} graph_case;

static void draw_graph(graph_case *t, rng *r)
{
    static const int parts[][3] = { { -1, 1, -1 }, { 1, -1, 1 }, { 0, 0, 0 }, { -1, -1, -1 }, { -1, -1, 0 }, { 1, 1, 1 } };
    int64_t n = 1 + rng_below(r, rng_chance(r, 20) ? 700 : 120), k = rng_below(r, 6);
    marks graph = draw_marks(r, n, n, n * rng_below(r, 14));
    t->a = part_of(&graph, parts[k][0]);
    t->b = part_of(&graph, parts[k][1]);
    t->mask = part_of(&graph, parts[k][2]);
    free(graph.at);
    t->same = parts[k][0] == parts[k][1] && !t->values && rng_chance(r, 60);
}

static void draw_any(graph_case *t, rng *r)
{
    int64_t m = rng_below(r, 90), n = rng_below(r, 90), k = 1 + rng_below(r, rng_chance(r, 30) ? 3000 : 200);
    t->same = !t->values && rng_chance(r, 30);
    n = t->same ? m : n;
    t->a = draw_marks(r, m, k, rng_below(r, 5000));
    t->b = draw_marks(r, n, k, rng_below(r, 5000));
    if (t->same)
        memcpy(t->b.at, t->a.at, (size_t)(m * k));
    t->mask = draw_marks(r, m, n, rng_below(r, 1000));
}

static void draw_case(graph_case *t, uint64_t seed, rng *r)
{
    static const tsr_semiring counts[] = { { TSR_INT64, TSR_ADD_PLUS, TSR_MUL_PAIR }, { TSR_UINT32, TSR_ADD_PLUS, TSR_MUL_PAIR },
        { TSR_INT8, TSR_ADD_PLUS, TSR_MUL_PAIR }, { TSR_FP64, TSR_ADD_PLUS, TSR_MUL_PAIR },
        { TSR_BOOL, TSR_ADD_LOR, TSR_MUL_PAIR } };
    memset(t, 0, sizeof *t);
    t->seed = seed;
    t->spread = rng_chance(r, 25) ? 1 + rng_below(r, 100000) : 1;
    t->values = rng_chance(r, 40);
    t->valued = rng_chance(r, 30);
    t->semiring = counts[rng_below(r, 5)];
    if (t->values)
        t->semiring = (tsr_semiring){ rng_chance(r, 50) ? TSR_FP32 : TSR_FP64, TSR_ADD_PLUS, TSR_MUL_TIMES };
    if (rng_chance(r, 50))
        draw_graph(t, r);
    else
        draw_any(t, r);
    t->a_values = checked(calloc((size_t)(t->a.nrows * t->a.ncols) + 1, sizeof *t->a_values));
    t->b_values = checked(calloc((size_t)(t->b.nrows * t->b.ncols) + 1, sizeof *t->b_values));
    t->mask_values = checked(calloc((size_t)(t->mask.nrows * t->mask.ncols) + 1, sizeof *t->mask_values));
}

static double read_number(tsr_type type, const void *x, int64_t at)
{
    tsr_value value = tsr_value_load(type, x, at);
    return tsr_type_is_float(type) ? (double)value.real : (double)(int64_t)value.bits;
}

/* What entry (i, j) should be; *products: how many. */
static double expect(const graph_case *t, int64_t i, int64_t j, int64_t *products)
{
    double sum = 0;
    const uint8_t *a = t->a.at + i * t->a.ncols, *b = t->b.at + j * t->b.ncols;
    *products = 0;
    for (int64_t k = 0; k < t->a.ncols; k++)
        if (a[k] && b[k]) {
            ++*products;
            sum += t->values ? (double)t->a_values[i * t->a.ncols + k] * (double)t->b_values[j * t->b.ncols + k] : 1;
        }
    if (t->semiring.type == TSR_INT8)
        sum = (int8_t)(uint8_t)(uint64_t)sum;
    return t->semiring.add == TSR_ADD_LOR ? *products > 0 : sum;
}

static bool judge(const graph_case *t, const void *x, const int8_t *present, uint64_t total)
{
    int64_t at = 0;
    uint64_t all = 0;
    for (int64_t i = 0; i < t->mask.nrows; i++)
        for (int64_t j = 0; j < t->mask.ncols; j++) {
            if (!t->mask.at[i * t->mask.ncols + j])
                continue;
            int64_t products;
            double wanted = expect(t, i, j, &products);
            if (t->valued && t->mask_values[i * t->mask.ncols + j] == 0)
                products = 0, wanted = 0;
            double out = read_number(t->semiring.type, x, at);
            all += (uint64_t)products;
            if (present[at] != (products > 0) || out != wanted) {
                printf("FAIL case %llu: entry %lld, %lld is %g (%d), not %g\n", (unsigned long long)t->seed, (long long)i,
                    (long long)j, out,
                    present[at], wanted);
                return false;
            }
            at++;
        }
    if (!t->values && total != all)
        printf("FAIL case %llu: %llu products, not %llu\n", (unsigned long long)t->seed, (unsigned long long)total,
        (unsigned long long)all);
    return t->values || total == all;
}

static bool test_graph(uint64_t seed)
{
    rng r = { seed };
    graph_case t;
    draw_case(&t, seed, &r);
    if (tsr_emulate_schedule)
        tsr_emulate_schedule((unsigned)(seed % 4), 0);
    tsr_cuda_csr a = upload_marks(&t.a, t.spread, t.values ? &r : NULL, t.semiring.type, t.a_values);
    tsr_cuda_csr b = upload_marks(&t.b, t.spread, t.values ? &r : NULL, t.semiring.type, t.b_values);
    tsr_cuda_csr mask = upload_marks(&t.mask, 1, t.valued ? &r : NULL, TSR_FP64, t.mask_values);
    size_t bytes = (size_t)mask.nvals * type_size(t.semiring.type), all = (size_t)mask.nvals;
    bool ok = true;
    char *first = checked(malloc(bytes + 1)), *x = checked(malloc(bytes + 1));
    int8_t *present = checked(malloc(all + 1));
    for (int again = 0; again < 2 && ok; again++) {
        uint64_t total = 0;
        tsr_cuda_masked q = { .semiring = t.semiring, .a = &a, .b = t.same ? &a : &b, .mask = &mask, .mask_size = 8,
            .end = mask.nvals, .x = device_new(bytes),
            .present = device_new(all), .products = t.values ? NULL : upload(&total, sizeof total), .device = &device };
        rng same = { seed + 17 };
        void *device_x = q.x, *device_present = q.present;
        must(run(&q, &same), "product");
        download(x, device_x, bytes);
        download(present, device_present, all);
        if (q.products != NULL)
            download(&total, q.products, sizeof total);
        ok = judge(&t, x, present, total);
        if (again == 0)
            memcpy(first, x, bytes);
        else if (memcmp(first, x, bytes) != 0)
            printf("FAIL case %llu: two runs differ\n", (unsigned long long)seed), ok = false;
        tsr_cuda_free(device_x, NULL);
        tsr_cuda_free(device_present, NULL);
        tsr_cuda_free(q.products, NULL);
    }
    if (!ok)
        printf("  A %lld x %lld, B' %lld rows, spread %lld, type %s%s\n", (long long)t.a.nrows, (long long)t.a.ncols,
        (long long)t.b.nrows,
            (long long)t.spread, type_name(t.semiring.type), t.values ? ", values" : "");
    free(first);
    free(x);
    free(present);
    free_csr(&a);
    free_csr(&b);
    free_csr(&mask);
    free(t.a.at);
    free(t.b.at);
    free(t.mask.at);
    free(t.a_values);
    free(t.b_values);
    free(t.mask_values);
    return ok;
}

/* When memory runs out nothing is left behind. */
static int test_memory(void)
{
    int64_t p[] = { 0, 2, 4, 6 };
    uint32_t i[] = { 1, 2, 0, 2, 0, 1 };
    if (!tsr_emulate_fail_malloc)
        return 0;
    tsr_cuda_csr a = { .nrows = 3, .ncols = 3, .nvals = 6 };
    a.p = upload(p, sizeof p);
    a.i = upload(i, sizeof i);
    int64_t *x = device_new(6 * sizeof *x);
    tsr_cuda_masked q = { .semiring = { TSR_INT64, TSR_ADD_PLUS, TSR_MUL_PAIR }, .a = &a, .b = &a, .mask = &a, .end = 6, .x = x,
        .device = &device };
    tsr_cuda_masked_plan plan;
    long live = tsr_emulate_live_blocks();
    int failed = 0;
    for (long k = 1; k <= 3; k++) {
        tsr_emulate_fail_malloc(k);
        failed += tsr_cuda_make_masked_plan(&plan, &q, false, 101) != TSR_OUT_OF_MEMORY || tsr_emulate_live_blocks() != live;
    }
    tsr_emulate_fail_malloc(1);
    failed += tsr_cuda_masked_dot(NULL, &q) != TSR_OUT_OF_MEMORY || tsr_emulate_live_blocks() != live;
    tsr_emulate_fail_malloc(0);
    if (failed)
        printf("FAIL: without memory\n");
    free_csr(&a);
    tsr_cuda_free(x, NULL);
    return failed;
}

int main(int argc, char **argv)
{
    const semiring_test test = { { TSR_OP_MASKED_DOT, TSR_OP_MASKED_DOT, TSR_OP_MASKED_DOT, TSR_OP_MASKED_DOT }, run_product, test_memory, test_graph, 200, "graphs" };
    return semiring_main(argc, argv, &test);
}
