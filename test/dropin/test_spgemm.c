/* Sparse times sparse by SuiteSparse and by us, in one process: random products over semirings, types, masks, transposes and formats must have
 * the same entries; integers the same bits; floats at most twice as far from the exact value as SuiteSparse's.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <GraphBLAS.h>

#include "exact_product.h"
#include "tessera/tessera.h"
#include "test/seed.h"
#include "test/trace_routes.h"

#define TRY(call) \
    do { \
        const GrB_Info info_ = (call); \
        if (info_ != GrB_SUCCESS) { \
            printf("%s: %d\n", #call, (int)info_); \
            exit(1); \
        } \
    } while (0)

static uint64_t state;
static const char *mode = "cpu";
static bool rounds; /* values are sevenths */

static uint64_t draw(uint64_t n)
{
    return test_next(&state) % n;
}

/* ---- objects ---- */

/* Entries at random, with a full row now and then; hypersparse where it is tall. */
static GrB_Matrix draw_matrix(GrB_Index nrows, GrB_Index ncols, GrB_Type type, bool jumbled)
{
    GrB_Matrix A;
    TRY(GrB_Matrix_new(&A, type, nrows, ncols));
    TRY(GxB_Matrix_Option_set(A, GxB_FORMAT, draw(3) ? GxB_BY_ROW : GxB_BY_COL));
    TRY(GxB_Matrix_Option_set(A, GxB_SPARSITY_CONTROL, draw(3) ? GxB_SPARSE : GxB_HYPERSPARSE));
    const GrB_Index count = draw(nrows * 8 + 1);
    for (GrB_Index e = 0; e < count; e++)
        TRY(GrB_Matrix_setElement_FP64(A, ((double)draw(9) - 3) / (rounds ? 7 : 1), draw(nrows), draw(ncols)));
    for (GrB_Index j = 0; draw(4) == 0 && j < ncols; j++)
        TRY(GrB_Matrix_setElement_FP64(A, (double)draw(1000) / 7, nrows / 2, j));
    if (draw(4) == 0)
        TRY(GrB_Matrix_assign_INT64(A, A, NULL, 1, GrB_ALL, nrows, GrB_ALL, ncols, GrB_DESC_S));
    if (!jumbled)
        TRY(GrB_Matrix_wait(A, GrB_MATERIALIZE));
    return A;
}

/* Of the forms that masks have when they have many entries. */
static void make_dense(GrB_Matrix M, GrB_Index nrows, GrB_Index ncols)
{
    for (GrB_Index e = draw(nrows * ncols + 1); e > 0; e--)
        TRY(GrB_Matrix_setElement_INT64(M, (int64_t)draw(2), draw(nrows), draw(ncols)));
    if (draw(5) == 0)
        TRY(GrB_Matrix_assign_INT64(M, NULL, GrB_PLUS_INT64, (int64_t)draw(2), GrB_ALL, nrows, GrB_ALL, ncols, NULL));
    TRY(GxB_Matrix_Option_set(M, GxB_SPARSITY_CONTROL, GxB_BITMAP | GxB_FULL));
    TRY(GrB_Matrix_wait(M, GrB_MATERIALIZE));
}

typedef struct product {
    GrB_Matrix A, B, M, C;
    GrB_Semiring semiring;
    GrB_BinaryOp accum;
    GrB_Descriptor desc;
    const char *name;
    bool floats, any, selects; /* by a mask */
    bool ta, tb;
} product;

static void draw_product(product *p)
{
    const struct {
        GrB_Semiring semiring;
        const char *name;
        GrB_Type type;
    } known[] = {
        {GrB_PLUS_TIMES_SEMIRING_FP64, "plus_times_fp64", GrB_FP64}, {GrB_PLUS_TIMES_SEMIRING_FP32, "plus_times_fp32", GrB_FP32},
        {GrB_PLUS_TIMES_SEMIRING_INT64, "plus_times_int64", GrB_INT64}, {GrB_PLUS_TIMES_SEMIRING_INT8, "plus_times_int8", GrB_INT8},
        {GrB_PLUS_TIMES_SEMIRING_UINT32, "plus_times_uint32", GrB_UINT32}, {GxB_PLUS_PAIR_INT64, "plus_pair_int64", GrB_INT64},
        {GxB_PLUS_PAIR_INT16, "plus_pair_int16", GrB_INT16}, {GrB_MIN_PLUS_SEMIRING_FP64, "min_plus_fp64", GrB_FP64},
        {GrB_MIN_PLUS_SEMIRING_INT32, "min_plus_int32", GrB_INT32}, {GrB_MAX_FIRST_SEMIRING_INT64, "max_first_int64", GrB_INT64},
        {GrB_MIN_SECOND_SEMIRING_UINT8, "min_second_uint8", GrB_UINT8}, {GrB_LOR_LAND_SEMIRING_BOOL, "lor_land", GrB_BOOL},
        {GxB_LOR_FIRST_BOOL, "lor_first", GrB_BOOL}, {GxB_ANY_PAIR_BOOL, "any_pair_bool", GrB_BOOL},
        {GxB_ANY_PAIR_FP64, "any_pair_fp64", GrB_FP64}, {GxB_ANY_SECOND_INT64, "any_second_int64", GrB_INT64},
        {GxB_PLUS_FIRST_FP64, "plus_first_fp64", GrB_FP64}, {GxB_PLUS_SECOND_UINT64, "plus_second_uint64", GrB_UINT64},
        {GxB_MAX_PLUS_INT16, "max_plus_int16", GrB_INT16}, {GxB_MIN_TIMES_FP32, "min_times_fp32", GrB_FP32},
    };
    const GrB_Type types[] = {GrB_BOOL, GrB_INT8, GrB_INT64, GrB_UINT16, GrB_FP32, GrB_FP64};
    const GrB_Index sizes[] = {1, 2, 5, 17, 40, 64};
    const size_t which = draw(sizeof known / sizeof *known);
    const GrB_Index m = sizes[draw(6)], n = sizes[draw(6)], k = sizes[draw(6)];
    const bool dense_mask = draw(3) == 0, alike = dense_mask && draw(4); /* all held by one orientation: then ours takes it */
    const bool ta = !alike && draw(4) == 0, tb = !alike && draw(4) == 0, comp = draw(2), structure = draw(2), replace = draw(2), masked = draw(2);
    const GrB_Type in = draw(3) ? known[which].type : types[draw(6)];
    *p = (product){.semiring = known[which].semiring, .name = known[which].name, .ta = ta, .tb = tb};
    rounds = draw(2);
    p->floats = known[which].type == GrB_FP64 || known[which].type == GrB_FP32;
    p->any = strncmp(p->name, "any_s", 5) == 0;
    p->A = draw_matrix(ta ? k : m, ta ? m : k, in, draw(2));
    p->B = draw(5) == 0 && (tb ? n == k : k == n) && m == k && ta == tb ? p->A : draw_matrix(tb ? n : k, tb ? k : n, in, draw(2));
    p->M = masked ? draw_matrix(m, n, types[draw(6)], draw(2)) : NULL;
    p->selects = masked && !comp;
    if (masked && dense_mask)
        make_dense(p->M, m, n);
    p->accum = !rounds && draw(4) == 0 ? (p->floats ? GrB_PLUS_FP64 : GrB_PLUS_INT64) : NULL;
    p->C = draw_matrix(m, n, rounds || draw(4) ? known[which].type : types[draw(6)], false);
    if (draw(2))
        TRY(GrB_Matrix_clear(p->C));
    if (draw(2))
        TRY(GxB_Matrix_Option_set(p->C, GxB_SPARSITY_CONTROL, GxB_AUTO_SPARSITY));
    const GrB_Matrix all[] = {p->A, p->B, p->M, p->C};
    const int format = draw(2) ? GxB_BY_ROW : GxB_BY_COL;
    for (int o = 0; alike && o < 4; o++)
        if (all[o])
            TRY(GxB_Matrix_Option_set(all[o], GxB_FORMAT, format));
    TRY(GrB_Descriptor_new(&p->desc));
    if (ta)
        TRY(GrB_Descriptor_set(p->desc, GrB_INP0, GrB_TRAN));
    if (tb)
        TRY(GrB_Descriptor_set(p->desc, GrB_INP1, GrB_TRAN));
    if (masked && comp)
        TRY(GrB_Descriptor_set(p->desc, GrB_MASK, GrB_COMP));
    if (masked && structure)
        TRY(GrB_Descriptor_set(p->desc, GrB_MASK, GrB_STRUCTURE));
    if (replace)
        TRY(GrB_Descriptor_set(p->desc, GrB_OUTP, GrB_REPLACE));
}

/* ---- comparing ---- */

typedef struct entries {
    GrB_Index count, *i, *j;
    double *x;
    int64_t *bits;
    bool iso;
} entries;

static entries entries_of(GrB_Matrix C)
{
    entries e;
    TRY(GrB_Matrix_nvals(&e.count, C));
    e.i = malloc((e.count + 1) * sizeof *e.i);
    e.j = malloc((e.count + 1) * sizeof *e.j);
    e.x = malloc((e.count + 1) * sizeof *e.x);
    e.bits = malloc((e.count + 1) * sizeof *e.bits);
    TRY(GrB_Matrix_extractTuples_FP64(e.i, e.j, e.x, &e.count, C));
    TRY(GrB_Matrix_extractTuples_INT64(NULL, NULL, e.bits, &e.count, C));
    TRY(GxB_Matrix_iso(&e.iso, C));
    return e;
}

static void free_entries(entries *e)
{
    free(e->i);
    free(e->j);
    free(e->x);
    free(e->bits);
}

static bool near(double x, double y)
{
    return x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= 1e-6 * (fabs(x) + fabs(y));
}

static bool all_near(const entries *a, const entries *b)
{
    for (GrB_Index e = 0; e < a->count; e++)
        if (!near(a->x[e], b->x[e]))
            return false;
    return true;
}

/* Full operands, and masks that are not complemented, take other ways. */
static bool is_full(GrB_Matrix A)
{
    GrB_Index nrows, ncols, nvals;
    TRY(GrB_Matrix_nrows(&nrows, A));
    TRY(GrB_Matrix_ncols(&ncols, A));
    TRY(GrB_Matrix_nvals(&nvals, A));
    return nvals == nrows * ncols;
}

/* What a device computes of operands that are not sparse, too. */
static bool may_be_iso(const product *p)
{
    return p->selects || is_full(p->A) || is_full(p->B) || (p->M && strcmp(mode, "gpu") == 0);
}

/* ---- errors of floats ---- */

/* In shares of what was added up, of all results that may be rounded. */
static struct {
    long double ours, theirs;
    long entries, differ;
} errors;

/* Only products of sevenths are rounded; C has their type then, and what is no product is what C was. */
static bool same_floats(const product *p, const entries *got, const entries *want)
{
    static exact_product exact;
    const long double unit = strstr(p->name, "fp32") ? 0x1p-23L : 0x1p-52L;
    if (!rounds || !exact_multiply(&exact, p->name, p->A, p->ta, p->B, p->tb))
        return all_near(got, want);
    for (GrB_Index e = 0; e < got->count; e++) {
        const long double z = exact.value[got->i[e]][got->j[e]], size = exact.size[got->i[e]][got->j[e]];
        const long double ours = fabsl(got->x[e] - z), theirs = fabsl(want->x[e] - z);
        const bool found = exact.there[got->i[e]][got->j[e]];
        if (got->x[e] != want->x[e] && !(found && ours <= 2 * theirs + unit * size))
            return false;
        if (p->M || size == 0)
            continue;
        errors.ours += ours / size / unit;
        errors.theirs += theirs / size / unit;
        errors.entries++;
        errors.differ += got->x[e] != want->x[e];
    }
    return true;
}

static bool same(const product *p, const entries *a, const entries *b)
{
    bool ok = a->count == b->count && (a->iso == b->iso || a->count <= 1 || may_be_iso(p)) && memcmp(a->i, b->i, a->count * sizeof *a->i) == 0 &&
              memcmp(a->j, b->j, a->count * sizeof *a->j) == 0;
    if (!ok || p->any)
        return ok;
    return p->floats ? same_floats(p, a, b) : all_near(a, b) && memcmp(a->bits, b->bits, a->count * sizeof *a->bits) == 0;
}

static void set(const char *name, const char *value)
{
    if (tsr_set_option(name, value) != TSR_OK)
        exit(2);
}

static bool check(void)
{
    product p;
    GrB_Matrix C;
    set("mode", "off");
    draw_product(&p);
    TRY(GrB_Matrix_dup(&C, p.C));
    TRY(GrB_mxm(C, p.M, p.accum, p.semiring, p.A, p.B, p.desc));
    TRY(GrB_Matrix_wait(C, GrB_MATERIALIZE));
    set("mode", mode);
    TRY(GrB_mxm(p.C, p.M, p.accum, p.semiring, p.A, p.B, p.desc));
    TRY(GrB_Matrix_wait(p.C, GrB_MATERIALIZE));
    set("mode", "off");
    entries want = entries_of(C), got = entries_of(p.C);
    const bool ok = same(&p, &got, &want);
    if (!ok)
        printf("%s: %llu entries for %llu, iso %d for %d, masked %d, accum %d\n", p.name, (unsigned long long)got.count,
               (unsigned long long)want.count, got.iso, want.iso, p.M != NULL, p.accum != NULL);
    free_entries(&want);
    free_entries(&got);
    if (p.B != p.A)
        GrB_Matrix_free(&p.B);
    GrB_Matrix_free(&p.A);
    GrB_Matrix_free(&p.M);
    GrB_Matrix_free(&p.C);
    GrB_Matrix_free(&C);
    GrB_Descriptor_free(&p.desc);
    return ok;
}

/* TEST_MODE=gpu: a device must have computed some; without one the test is skipped if that is allowed. */
static int judge_routes(const char *trace, int cases)
{
    const int count = trace_routes(trace, "\"cuda:spgemm\"");
    printf("%d of %d on a device\n", count, cases);
    return count * 50 >= cases ? 0 : count == 0 && getenv("TEST_MAY_SKIP") ? 77 : 1;
}

int main(int argc, char **argv)
{
    char trace[64];
    snprintf(trace, sizeof trace, "/tmp/tessera-test-spgemm-%ld", (long)getpid());
    if (getenv("TEST_MODE")) {
        mode = getenv("TEST_MODE");
        setenv("TESSERA_TRACE", trace, 1);
    }
    const uint64_t seed = test_seed();
    const int cases = argc > 1 ? atoi(argv[1]) : 3000;
    set("min_work", "0");
    TRY(GrB_init(GrB_NONBLOCKING));
    for (int c = 0; c < cases; c++) {
        state = seed + (uint64_t)c * 1000003;
        if (!check()) {
            printf("case %d of seed %llu\n", c, (unsigned long long)seed);
            return 1;
        }
    }
    printf("%d products, seed %llu; %ld floats, %ld of them other ones: error %.4Lg, SuiteSparse's %.4Lg units\n", cases, (unsigned long long)seed,
           errors.entries, errors.differ, errors.ours / (errors.entries + 1), errors.theirs / (errors.entries + 1));
    if (errors.ours > 2 * errors.theirs || errors.entries < cases / 2)
        return 1;
    if (GrB_finalize() != GrB_SUCCESS)
        return 1;
    return getenv("TEST_MODE") ? judge_routes(trace, cases) : 0;
}
