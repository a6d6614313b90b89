/* Operands, products and fingerprints of the benchmark.
 * SPDX-License-Identifier: Apache-2.0 */
#include "cases.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IF_OK(call) do { if (info == GrB_SUCCESS) info = (call); } while (0)

static const struct key {
    const char *name;
    size_t offset, size;
    const char *initial;
} keys[] = {
#define KEY(field, initial) {#field, offsetof(bench_spec, field), sizeof((bench_spec *)0)->field, initial}
    KEY(op, "spmm"),      KEY(type, "fp32"),   KEY(add, "plus"), KEY(mul, "times"),   KEY(n, "64"),
    KEY(a, "row"),        KEY(b, "row"),       KEY(c, "row"),    KEY(t, "none"),      KEY(dense, "full"),
    KEY(values, "typed"), KEY(finish, "none"), KEY(form, "lut"), KEY(order, "given"), KEY(first, "no"),
#undef KEY
};

static bool set_key(bench_spec *spec, const char *word)
{
    const char *equals = strchr(word, '=');
    for (size_t k = 0; equals && k < sizeof keys / sizeof keys[0]; k++) {
        const struct key *key = &keys[k];
        if (strlen(key->name) != (size_t)(equals - word) || strncmp(key->name, word, strlen(key->name)) != 0) continue;
        return snprintf((char *)spec + key->offset, key->size, "%s", equals + 1) < (int)key->size;
    }
    return false;
}

static bool parse_spec(bench_spec *spec, const char *text)
{
    char words[512];
    char *rest = NULL;
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
        snprintf((char *)spec + keys[k].offset, keys[k].size, "%s", keys[k].initial);
    if (snprintf(words, sizeof words, "%s", text) >= (int)sizeof words) return false;
    for (char *word = strtok_r(words, " \n", &rest); word; word = strtok_r(NULL, " \n", &rest))
        if (!set_key(spec, word)) {
            fprintf(stderr, "bench: '%s' is not a key=value of a case\n", word);
            return false;
        }
    return true;
}

static bool is(const char *a, const char *b)
{
    return strcmp(a, b) == 0;
}

/* The GraphBLAS object of a name such as GrB_PLUS_FP32, tried with both prefixes; NULL: there is none. */
static void *builtin(const char *format, const char *first, const char *second)
{
    char name[96], upper[64] = "";
    snprintf(upper, sizeof upper, format, first, second);
    for (char *s = upper; *s; s++) *s = (char)toupper((unsigned char)*s);
    for (int p = 0; p < 2; p++) {
        snprintf(name, sizeof name, "%s%s", p ? "GxB_" : "GrB_", upper);
        void **object = dlsym(RTLD_DEFAULT, name);
        if (object) return *object;
    }
    return NULL;
}

static GrB_Info make_semiring(bench_case *c)
{
    const bench_spec *s = &c->spec;
    c->type = builtin("%s", s->type, "");
    GrB_Monoid add = builtin("%s_monoid_%s", s->add, s->type);
    if (!add) add = builtin("%s_%s_monoid", s->add, s->type);
    GrB_BinaryOp mul = builtin("%s_%s", is(s->mul, "and") ? "land" : s->mul, s->type);
    if (!mul && is(s->mul, "and")) mul = builtin("land", "", "");
    c->accum = is(s->finish, "accum") ? builtin("plus_%s", s->type, "") : NULL;
    if (!c->type || !add || !mul) return GrB_NULL_POINTER;
    return GrB_Semiring_new(&c->semiring, add, mul);
}

static GrB_Info make_descriptor(bench_case *c)
{
    const bench_spec *s = &c->spec;
    GrB_Info info = GrB_Descriptor_new(&c->descriptor);
    if (is(s->t, "a") || is(s->t, "ab")) IF_OK(GrB_Descriptor_set(c->descriptor, GrB_INP0, GrB_TRAN));
    if (is(s->t, "b") || is(s->t, "ab")) IF_OK(GrB_Descriptor_set(c->descriptor, GrB_INP1, GrB_TRAN));
    IF_OK(GrB_Descriptor_set(c->descriptor, GrB_MASK, GrB_STRUCTURE));
    if (is(s->finish, "notmask")) IF_OK(GrB_Descriptor_set(c->descriptor, GrB_MASK, GrB_COMP));
    return info;
}

static bool integers(const char *type)
{
    return type[0] == 'i' || type[0] == 'u';
}

/* Small multiples of 1/8 (of 1 for integers), so that sums are exact in any order. */
static GrB_Info cast(GrB_Matrix *X, const GrB_Matrix from, const bench_case *c, const char *held)
{
    GrB_Index rows, columns;
    GrB_Info info = GrB_Matrix_nrows(&rows, from);
    IF_OK(GrB_Matrix_ncols(&columns, from));
    IF_OK(GrB_Matrix_new(X, c->type, rows, columns));
    IF_OK(GxB_Matrix_Option_set(*X, GxB_FORMAT, is(held, "col") ? GxB_BY_COL : GxB_BY_ROW));
    const float scale = integers(c->spec.type) ? 8 : 1;
    IF_OK(GrB_Matrix_apply_BinaryOp2nd_FP32(*X, NULL, NULL, GrB_TIMES_FP32, from, scale, NULL));
    IF_OK(GrB_Matrix_wait(*X, GrB_MATERIALIZE));
    return info;
}

/* A with values in {1/8 … 1}. */
static GrB_Info weigh(GrB_Matrix *W, const GrB_Matrix A)
{
    GrB_Index n, count = 0;
    GrB_Info info = GrB_Matrix_nrows(&n, A);
    IF_OK(GrB_Matrix_nvals(&count, A));
    GrB_Index *i = malloc((count + 1) * sizeof *i), *j = malloc((count + 1) * sizeof *j);
    bool *pattern = malloc(count + 1);
    float *x = malloc((count + 1) * sizeof *x);
    if (!i || !j || !pattern || !x) info = GrB_OUT_OF_MEMORY;
    IF_OK(GrB_Matrix_extractTuples_BOOL(i, j, pattern, &count, A));
    for (GrB_Index k = 0; info == GrB_SUCCESS && k < count; k++) x[k] = (float)(1 + graph_random(7, k) % 8) / 8;
    IF_OK(GrB_Matrix_new(W, GrB_FP32, n, n));
    IF_OK(GrB_Matrix_build_FP32(*W, i, j, x, count, GrB_FIRST_FP32));
    free(i);
    free(j);
    free(pattern);
    free(x);
    return info;
}

static GrB_Info make_sparse(GrB_Matrix *A, const GrB_Matrix from, const bench_case *c)
{
    const bool pattern = is(c->spec.values, "bool") || is(c->spec.type, "bool");
    GrB_Matrix weighted = NULL;
    GrB_Info info = GrB_SUCCESS;
    if (pattern) {
        info = GrB_Matrix_dup(A, from);
        IF_OK(GxB_Matrix_Option_set(*A, GxB_FORMAT, is(c->spec.a, "col") ? GxB_BY_COL : GxB_BY_ROW));
    } else {
        info = weigh(&weighted, from);
        IF_OK(cast(A, weighted, c, c->spec.a));
    }
    IF_OK(GrB_Matrix_wait(*A, GrB_MATERIALIZE));
    GrB_Matrix_free(&weighted);
    return info;
}

static GrB_Info make_dense(GrB_Matrix *B, GrB_Index rows, GrB_Index columns, uint64_t seed, const bench_case *c,
                           const char *held)
{
    GrB_Matrix values = NULL;
    GrB_Info info = graph_dense(&values, rows, columns, seed);
    const bool holes = is(c->spec.dense, "bitmap");
    if (holes) IF_OK(GrB_Matrix_select_FP32(values, NULL, NULL, GrB_VALUENE_FP32, values, 0, NULL));
    IF_OK(cast(B, values, c, held));
    IF_OK(GxB_Matrix_Option_set(*B, GxB_SPARSITY_CONTROL, holes ? GxB_BITMAP : GxB_FULL));
    IF_OK(GrB_Matrix_wait(*B, GrB_MATERIALIZE));
    GrB_Matrix_free(&values);
    return info;
}

/* A ninth of the entries stays. */
static GrB_Info make_thin(GrB_Matrix B)
{
    GrB_Info info = GxB_Matrix_Option_set(B, GxB_SPARSITY_CONTROL, GxB_SPARSE);
    IF_OK(GrB_Matrix_select_FP32(B, NULL, NULL, GrB_VALUEGT_FP32, B, 0.8F, NULL));
    IF_OK(GrB_Matrix_wait(B, GrB_MATERIALIZE));
    return info;
}

static GrB_Info make_vector(bench_case *c, GrB_Index n)
{
    GrB_Matrix column = NULL;
    GrB_Info info = make_dense(&column, n, 1, 11, c, "col");
    IF_OK(GrB_Vector_new(&c->u, c->type, n));
    IF_OK(GrB_Col_extract(c->u, NULL, NULL, column, GrB_ALL, n, 0, NULL));
    IF_OK(GxB_Vector_Option_set(c->u, GxB_SPARSITY_CONTROL, is(c->spec.dense, "bitmap") ? GxB_BITMAP : GxB_FULL));
    IF_OK(GrB_Vector_wait(c->u, GrB_MATERIALIZE));
    GrB_Matrix_free(&column);
    return info;
}

/* The masked forms: A, B and M out of the two triangles of the graph, one object where a program would name one. */
static GrB_Info make_masked(bench_case *c, const graph *g)
{
    const char *form = c->spec.form;
    GrB_Matrix S = NULL, L = NULL, U = NULL;
    GrB_Info info = is(c->spec.order, "degree") ? graph_sort_by_degree(&S, g) : GrB_Matrix_dup(&S, g->A);
    IF_OK(GrB_Matrix_new(&L, GrB_BOOL, g->n, g->n));
    IF_OK(GrB_Matrix_new(&U, GrB_BOOL, g->n, g->n));
    IF_OK(GrB_Matrix_select_INT64(L, NULL, NULL, GrB_TRIL, S, -1, NULL));
    IF_OK(GrB_Matrix_select_INT64(U, NULL, NULL, GrB_TRIU, S, 1, NULL));
    const bool whole = is(form, "burkhardt") || is(form, "ktruss"), upper = is(form, "uu") || is(form, "ult");
    IF_OK(make_sparse(&c->A, whole ? S : upper ? U : L, c));
    if (whole || is(form, "ll") || is(form, "uu"))
        c->B = c->A;
    else
        IF_OK(make_sparse(&c->B, upper ? L : U, c));
    if (is(form, "cohen"))
        IF_OK(GrB_Matrix_dup(&c->M, S));
    else
        c->M = c->A;
    if (is(form, "lut") || is(form, "ult") || is(form, "ktruss")) IF_OK(GrB_Descriptor_set(c->descriptor, GrB_INP1, GrB_TRAN));
    GrB_Matrix_free(&S);
    GrB_Matrix_free(&L);
    GrB_Matrix_free(&U);
    return info;
}

/* Y is held so that the descriptor t=b transposes it; else it is given as k x n. */
static GrB_Info make_sddmm(bench_case *c, const graph *g, GrB_Index width)
{
    const bool transposed = is(c->spec.t, "b");
    GrB_Info info = make_dense(&c->A, g->n, width, 3, c, c->spec.a);
    IF_OK(make_dense(&c->B, transposed ? g->n : width, transposed ? width : g->n, 4, c, c->spec.b));
    IF_OK(GrB_Matrix_dup(&c->M, g->A));
    return info;
}

static GrB_Info make_operands(bench_case *c, const graph *g)
{
    const bench_spec *s = &c->spec;
    const GrB_Index width = strtoul(s->n, NULL, 10);
    if (width == 0 || width > 4096) return GrB_INVALID_VALUE;
    if (is(s->op, "masked")) return make_masked(c, g);
    if (is(s->op, "sddmm")) return make_sddmm(c, g, width);
    GrB_Info info = make_sparse(&c->A, g->A, c);
    c->vectors = is(s->op, "mxv") || is(s->op, "vxm");
    if (c->vectors) {
        IF_OK(make_vector(c, g->n));
        return info;
    }
    const bool left = is(s->op, "dspmm"), tall = left == (is(s->t, left ? "a" : "b") || is(s->t, "ab"));
    if (!left && !is(s->op, "spmm")) return GrB_INVALID_VALUE;
    IF_OK(make_dense(&c->B, tall ? g->n : width, tall ? width : g->n, 5, c, s->b));
    if (is(s->dense, "sparse")) IF_OK(make_thin(c->B));
    if (is(s->finish, "mask") || is(s->finish, "notmask")) {
        IF_OK(make_dense(&c->M, left ? width : g->n, left ? g->n : width, 6, c, s->c));
        IF_OK(GrB_Matrix_select_FP32(c->M, NULL, NULL, GrB_VALUEGT_FP32, c->M, 0, NULL));
        IF_OK(GrB_Matrix_wait(c->M, GrB_MATERIALIZE));
    }
    return info;
}

bool bench_open(bench_case *c, const graph *g, const char *text)
{
    *c = (bench_case){0};
    if (!parse_spec(&c->spec, text)) return false;
    GrB_Info info = make_semiring(c);
    IF_OK(make_descriptor(c));
    IF_OK(make_operands(c, g));
    if (info == GrB_SUCCESS) return true;
    fprintf(stderr, "bench: GraphBLAS error %d while making '%s'\n", (int)info, text);
    bench_close(c);
    return false;
}

static GrB_Info new_result(bench_case *c, GrB_Index rows, GrB_Index columns)
{
    GrB_Info info = GrB_Matrix_new(&c->C, c->type, rows, columns);
    IF_OK(GxB_Matrix_Option_set(c->C, GxB_FORMAT, is(c->spec.c, "col") ? GxB_BY_COL : GxB_BY_ROW));
    if (is(c->spec.dense, "sparse")) IF_OK(GxB_Matrix_Option_set(c->C, GxB_SPARSITY_CONTROL, GxB_SPARSE));
    if (c->accum) IF_OK(GrB_Matrix_assign_FP32(c->C, NULL, NULL, 1, GrB_ALL, rows, GrB_ALL, columns, NULL));
    IF_OK(GrB_Matrix_wait(c->C, GrB_MATERIALIZE));
    return info;
}

static void free_operands(bench_case *c)
{
    if (c->M == c->A) c->M = NULL;
    if (c->B == c->A) c->B = NULL;
    GrB_Matrix_free(&c->A);
    GrB_Matrix_free(&c->B);
    GrB_Matrix_free(&c->M);
}

/* The same operands as new objects. */
static GrB_Info renew_operands(bench_case *c)
{
    GrB_Matrix A = NULL, B = NULL, M = NULL;
    GrB_Info info = GrB_Matrix_dup(&A, c->A);
    if (c->B == c->A)
        B = A;
    else if (c->B)
        IF_OK(GrB_Matrix_dup(&B, c->B));
    if (c->M == c->A)
        M = A;
    else if (c->M)
        IF_OK(GrB_Matrix_dup(&M, c->M));
    free_operands(c);
    c->A = A;
    c->B = B;
    c->M = M;
    return info;
}

GrB_Info bench_prepare(bench_case *c)
{
    GrB_Index n, rows, columns;
    const GrB_Index width = strtoul(c->spec.n, NULL, 10);
    if (c->accum && (c->C || c->w)) return GrB_SUCCESS;
    GrB_Matrix_free(&c->C);
    GrB_Vector_free(&c->w);
    GrB_Info info = is(c->spec.first, "yes") ? renew_operands(c) : GrB_SUCCESS;
    IF_OK(GrB_Matrix_nrows(&n, c->A));
    if (c->vectors) {
        IF_OK(GrB_Vector_new(&c->w, c->type, n));
        if (c->accum) IF_OK(GrB_Vector_assign_FP32(c->w, NULL, NULL, 1, GrB_ALL, n, NULL));
        return info;
    }
    const bool spmm = is(c->spec.op, "spmm"), dspmm = is(c->spec.op, "dspmm");
    rows = dspmm ? width : n;
    columns = spmm ? width : n;
    IF_OK(new_result(c, rows, columns));
    return info;
}

/* The result is finished and on the host, wherever it was computed: one of its entries is asked for. */
static GrB_Info read_result(const bench_case *c)
{
    GrB_Info info = c->vectors ? GrB_Vector_wait(c->w, GrB_MATERIALIZE) : GrB_Matrix_wait(c->C, GrB_MATERIALIZE);
    double entry;
    if (info == GrB_SUCCESS)
        info = c->vectors ? GrB_Vector_extractElement_FP64(&entry, c->w, 0) : GrB_Matrix_extractElement_FP64(&entry, c->C, 0, 0);
    return info == GrB_NO_VALUE ? GrB_SUCCESS : info;
}

GrB_Info bench_run(bench_case *c)
{
    GrB_Info info;
    if (is(c->spec.op, "mxv"))
        info = GrB_mxv(c->w, NULL, c->accum, c->semiring, c->A, c->u, c->descriptor);
    else if (is(c->spec.op, "vxm"))
        info = GrB_vxm(c->w, NULL, c->accum, c->semiring, c->u, c->A, c->descriptor);
    else if (is(c->spec.op, "dspmm"))
        info = GrB_mxm(c->C, c->M, c->accum, c->semiring, c->B, c->A, c->descriptor);
    else
        info = GrB_mxm(c->C, c->M, c->accum, c->semiring, c->A, c->B, c->descriptor);
    if (is(c->spec.finish, "reduce")) {
        IF_OK(GrB_Matrix_reduce_INT64(&c->total, NULL, GrB_PLUS_MONOID_INT64, c->C, NULL));
        return info;
    }
    IF_OK(read_result(c));
    return info;
}

static uint64_t mix(uint64_t position, uint64_t bits)
{
    return graph_random(position, bits);
}

/* Bits of value k, with -0.0 as 0.0. */
static uint64_t value_bits(const void *x, size_t size, bool floating, uint64_t k)
{
    uint64_t bits = 0;
    memcpy(&bits, (const char *)x + k * size, size);
    return floating && bits == (uint64_t)1 << (8 * size - 1) ? 0 : bits;
}

/* An order-independent sum over entries.  Which value the any monoid picks is free, so only its pattern counts. */
static uint64_t hash_dense(const bench_case *c, const void *x, const int8_t *b, uint64_t count, uint64_t *entries)
{
    size_t size;
    uint64_t hash = 0, present = 0;
    if (GxB_Type_size(&size, c->type) != GrB_SUCCESS) return 0;
    const bool floating = c->spec.type[0] == 'f', pattern = is(c->spec.add, "any") && !is(c->spec.mul, "pair");
#pragma omp parallel for reduction(+ : hash, present)
    for (uint64_t k = 0; k < count; k++) {
        if (b && !b[k]) continue;
        hash += mix(k, pattern ? 0 : value_bits(x, size, floating, k));
        present++;
    }
    *entries = present;
    return hash;
}

static GrB_Info hash_bitmap(bench_case *c, uint64_t *hash, uint64_t *entries)
{
    GrB_Index rows, columns, b_size, x_size, count;
    int8_t *b = NULL;
    void *x = NULL;
    GrB_Info info = GrB_Matrix_nrows(&rows, c->C);
    IF_OK(GrB_Matrix_ncols(&columns, c->C));
    IF_OK(GxB_Matrix_Option_set(c->C, GxB_FORMAT, GxB_BY_ROW));
    IF_OK(GxB_Matrix_unpack_BitmapR(c->C, &b, &x, &b_size, &x_size, NULL, &count, NULL));
    if (info == GrB_SUCCESS) *hash = hash_dense(c, x, b, rows * columns, entries);
    free(b);
    free(x);
    return info;
}

static GrB_Info hash_vector(bench_case *c, uint64_t *hash, uint64_t *entries)
{
    GrB_Index n, b_size, x_size, count;
    int8_t *b = NULL;
    void *x = NULL;
    GrB_Info info = GrB_Vector_size(&n, c->w);
    IF_OK(GxB_Vector_unpack_Bitmap(c->w, &b, &x, &b_size, &x_size, NULL, &count, NULL));
    if (info == GrB_SUCCESS) *hash = hash_dense(c, x, b, n, entries);
    free(b);
    free(x);
    return info;
}

/* Rows and columns go into the hash, values by their place among the row's entries in ascending order. */
static GrB_Info hash_sparse(bench_case *c, uint64_t *hash, uint64_t *entries)
{
    GrB_Index n, p_size, i_size, x_size, *p = NULL, *i = NULL;
    size_t size;
    void *x = NULL;
    uint64_t sum = 0;
    GrB_Info info = GrB_Matrix_nrows(&n, c->C);
    IF_OK(GxB_Type_size(&size, c->type));
    IF_OK(GxB_Matrix_Option_set(c->C, GxB_FORMAT, GxB_BY_ROW));
    IF_OK(GxB_Matrix_unpack_CSR(c->C, &p, &i, &x, &p_size, &i_size, &x_size, NULL, NULL, NULL));
    if (info == GrB_SUCCESS) {
        const bool floating = c->spec.type[0] == 'f';
#pragma omp parallel for reduction(+ : sum) schedule(dynamic, 1024)
        for (GrB_Index row = 0; row < n; row++)
            for (GrB_Index k = p[row]; k < p[row + 1]; k++)
                sum += mix(row * n + i[k], value_bits(x, size, floating, k));
        *hash = sum;
        *entries = p[n];
    }
    free(p);
    free(i);
    free(x);
    return info;
}

GrB_Info bench_fingerprint(bench_case *c, uint64_t *hash, uint64_t *entries)
{
    if (c->vectors) return hash_vector(c, hash, entries);
    if (!is(c->spec.op, "masked") && !is(c->spec.op, "sddmm")) return hash_bitmap(c, hash, entries);
    const GrB_Info info = hash_sparse(c, hash, entries);
    if (is(c->spec.finish, "reduce")) *hash += mix(1, (uint64_t)c->total);
    return info;
}

void bench_close(bench_case *c)
{
    free_operands(c);
    GrB_Matrix_free(&c->C);
    GrB_Vector_free(&c->u);
    GrB_Vector_free(&c->w);
    GrB_Semiring_free(&c->semiring);
    GrB_Descriptor_free(&c->descriptor);
}
