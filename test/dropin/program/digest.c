/* What a program prints: one line per operation, the contents of an object as a hash of its sorted entries,
 * read in one of several ways that must agree.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program.h"

typedef struct entry {
    GrB_Index i, j;
    uint64_t bits;
} entry;

static bool full_output, iso_too;
static int looks = 45, errors = 10; /* percent of the reports that look at the object, or at its error */
static int line_number;

void report_init(bool full)
{
    full_output = full;
    line_number = 0;
}

void report_iso(bool iso)
{
    iso_too = iso;
}

void report_count(const object *o)
{
    GrB_Index n = 0;
    if (!iso_too) return;
    if (o->vector) GrB_Vector_nvals(&n, o->v);
    else GrB_Matrix_nvals(&n, o->m);
    printf("count=%llu\n", (unsigned long long)n);
}

void report_rarely(bool rarely)
{
    looks = rarely ? 8 : 45;
    errors = rarely ? 2 : 10;
}

static int compare_entries(const void *x, const void *y)
{
    const entry *a = x, *b = y;
    if (a->i != b->i) return a->i < b->i ? -1 : 1;
    return a->j < b->j ? -1 : a->j > b->j;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    return (hash ^ word) * 0x100000001B3u ^ (hash >> 29);
}

static uint64_t digest_entries(entry *e, int64_t n, bool values)
{
    uint64_t hash = 0xCBF29CE484222325u;
    qsort(e, (size_t)n, sizeof *e, compare_entries);
    for (int64_t k = 0; k < n; k++) {
        hash = mix(mix(hash, e[k].i), e[k].j);
        if (values) hash = mix(hash, e[k].bits);
        if (full_output)
            printf("        (%llu,%llu) %016llx\n", (unsigned long long)e[k].i, (unsigned long long)e[k].j,
                   values ? (unsigned long long)e[k].bits : 0);
    }
    return mix(hash, (uint64_t)n);
}

/* ---- ways of reading ---- */

static int64_t by_tuples(GrB_Matrix A, int type, int64_t n, entry *e)
{
    GrB_Index count = (GrB_Index)n;
    GrB_Index *I = malloc(((size_t)n + 1) * sizeof *I), *J = malloc(((size_t)n + 1) * sizeof *J);
    void *x = malloc(((size_t)n + 1) * type_size(type));
    GrB_Info info = mat_tuples(type, I, J, x, &count, A);
    for (int64_t k = 0; k < (int64_t)count && info == GrB_SUCCESS; k++)
        e[k] = (entry){I[k], J[k], value_bits(type, x, k)};
    free(I);
    free(J);
    free(x);
    return info == GrB_SUCCESS ? (int64_t)count : -info;
}

static int64_t by_element(GrB_Matrix A, int type, int nrows, int ncols, int64_t n, entry *e)
{
    int64_t k = 0;
    for (int i = 0; i < nrows; i++)
        for (int j = 0; j < ncols && k < n; j++) {
            any_value x = {.i = 0};
            if (mat_get(type, &x, A, (GrB_Index)i, (GrB_Index)j) != GrB_SUCCESS) continue;
            e[k++] = (entry){(GrB_Index)i, (GrB_Index)j, value_bits(type, &x, 0)};
        }
    return k;
}

static uint64_t iterator_value(GxB_Iterator it, int type)
{
    any_value x = {.i = 0};
    switch (type) {
#define X(N, T, C) case N: { C c = GxB_Iterator_get_##T(it); memcpy(&x, &c, sizeof c); break; }
        EACH_TYPE(X)
#undef X
        default: GxB_Iterator_get_UDT(it, &x);
    }
    return value_bits(type, &x, 0);
}

static int64_t by_iterator(GrB_Matrix A, int type, int64_t n, entry *e)
{
    GxB_Iterator it = NULL;
    int64_t k = 0;
    GxB_Iterator_new(&it);
    if (GxB_Matrix_Iterator_attach(it, A, NULL) == GrB_SUCCESS) {
        GrB_Info info = GxB_Matrix_Iterator_seek(it, 0);
        for (; info == GrB_SUCCESS && k < n; info = GxB_Matrix_Iterator_next(it), k++) {
            GxB_Matrix_Iterator_getIndex(it, &e[k].i, &e[k].j);
            e[k].bits = iterator_value(it, type);
        }
    }
    GxB_Iterator_free(&it);
    return k;
}

static int64_t by_blob(GrB_Matrix A, int type, int64_t n, entry *e)
{
    void *blob = NULL;
    GrB_Index size = 0;
    GrB_Matrix copy = NULL;
    GrB_Matrix_wait(A, GrB_MATERIALIZE); /* 7.4.0 tells too small a size while work is pending */
    GrB_Matrix_serializeSize(&size, A);
    blob = malloc(size + 1);
    GrB_Info info = GrB_Matrix_serialize(blob, &size, A);
    if (info == GrB_SUCCESS) info = GrB_Matrix_deserialize(&copy, type_handle(type), blob, size);
    int64_t count = info == GrB_SUCCESS ? by_tuples(copy, type, n, e) : -info;
    GrB_Matrix_free(&copy);
    free(blob);
    return count;
}

static int64_t by_export(GrB_Matrix A, int type, int64_t n, entry *e)
{
    GrB_Index np = 0, ni = 0, nx = 0;
    GrB_Matrix_exportSize(&np, &ni, &nx, GrB_COO_FORMAT, A);
    GrB_Index *J = malloc((np + 1) * sizeof *J), *I = malloc((ni + 1) * sizeof *I);
    void *x = malloc((nx + 1) * type_size(type));
    GrB_Info info = mat_export_copy(type, J, I, x, &np, &ni, &nx, GrB_COO_FORMAT, A);
    for (int64_t k = 0; k < (int64_t)nx && k < n && info == GrB_SUCCESS; k++)
        e[k] = (entry){I[k], J[k], value_bits(type, x, k)};
    free(I);
    free(J);
    free(x);
    return info == GrB_SUCCESS ? (int64_t)nx : -info;
}

static int64_t read_entries(GrB_Matrix A, int type, int nrows, int ncols, int64_t n, entry *e)
{
    int way = rng_below(8);
    if (way == 0 && nrows * ncols < 1200) return by_element(A, type, nrows, ncols, n, e);
    if (way == 1 || way == 2) return by_iterator(A, type, n, e);
    if (way == 3 && n > 0) return by_blob(A, type, n, e);
    if (way == 4) return by_export(A, type, n, e);
    return by_tuples(A, type, n, e);
}

uint64_t digest_matrix(GrB_Matrix A, int type, int nrows, int ncols, bool values)
{
    GrB_Index n = 0;
    GrB_Info info = GrB_Matrix_nvals(&n, A);
    if (info != GrB_SUCCESS) return (uint64_t)info;
    entry *e = calloc(n + 1, sizeof *e);
    int64_t count = read_entries(A, type, nrows, ncols, (int64_t)n, e);
    uint64_t hash = count == (int64_t)n ? digest_entries(e, count, values) : (uint64_t)count;
    free(e);
    return hash;
}

uint64_t digest_vector(GrB_Vector u, int type, bool values)
{
    GrB_Index n = 0;
    GrB_Info info = GrB_Vector_nvals(&n, u);
    if (info != GrB_SUCCESS) return (uint64_t)info;
    entry *e = calloc(n + 1, sizeof *e);
    GrB_Index *I = malloc((n + 1) * sizeof *I);
    void *x = malloc((n + 1) * type_size(type));
    info = vec_tuples(type, I, x, &n, u);
    for (GrB_Index k = 0; k < n && info == GrB_SUCCESS; k++) e[k] = (entry){I[k], 0, value_bits(type, x, (int64_t)k)};
    uint64_t hash = digest_entries(e, (int64_t)n, values);
    free(e);
    free(I);
    free(x);
    return hash;
}

/* ---- lines ---- */

static void print_error(const object *o)
{
    const char *text = "";
    if (o->vector) GrB_Vector_error(&text, o->v);
    else GrB_Matrix_error(&text, o->m);
    printf(" error=\"");
    for (int k = 0; text && text[k] && k < 300; k++) putchar(text[k] == '\n' ? '|' : text[k]);
    putchar('"');
}

/* An object with one entry or none may be either. */
static void print_iso(const object *o, GrB_Index n)
{
    bool iso = false;
    if (!iso_too || n < 2) return;
    if (o->vector) GxB_Vector_iso(&iso, o->v);
    else GxB_Matrix_iso(&iso, o->m);
    printf(" iso=%d", iso);
}

static void print_digest(const object *o)
{
    GrB_Index n = 0;
    if (o->vector) GrB_Vector_nvals(&n, o->v);
    else GrB_Matrix_nvals(&n, o->m);
    print_iso(o, n);
    uint64_t hash = o->vector ? digest_vector(o->v, o->type, true)
                              : digest_matrix(o->m, o->type, o->nrows, o->ncols, true);
    printf(" nvals=%llu hash=%016llx", (unsigned long long)n, (unsigned long long)hash);
}

void report_text(const char *name, GrB_Info info)
{
    printf("%d %s info=%d\n", ++line_number, name, (int)info);
    fflush(stdout);
}

void report(const char *name, GrB_Info info, object *out)
{
    printf("%d %s info=%d type=%d %dx%d", ++line_number, name, (int)info, out->type, out->nrows, out->ncols);
    if (info < 0 || rng_chance(errors)) print_error(out);
    if (info < 0) out->failed = true;
    if (rng_chance(looks)) print_digest(out);
    printf("\n");
    fflush(stdout);
}

void report_value(const char *name, GrB_Info info, int type, const void *x)
{
    uint64_t bits = info == GrB_SUCCESS ? value_bits(type, x, 0) : 0;
    printf("%d %s info=%d value=%016llx\n", ++line_number, name, (int)info, (unsigned long long)bits);
    fflush(stdout);
}

void report_structure(const char *name, GrB_Info info, GrB_Matrix C)
{
    GrB_Index n = 0, nrows = 0, ncols = 0;
    GrB_Matrix_nvals(&n, C);
    GrB_Matrix_nrows(&nrows, C);
    GrB_Matrix_ncols(&ncols, C);
    uint64_t hash = digest_matrix(C, T_FP64, (int)nrows, (int)ncols, false);
    printf("%d %s info=%d nvals=%llu structure=%016llx\n", ++line_number, name, (int)info, (unsigned long long)n,
           (unsigned long long)hash);
    fflush(stdout);
}

void report_pool(void)
{
    for (int i = 0; i < POOL_MATRICES; i++) {
        printf("matrix %d", i);
        print_digest(&the_pool.matrices[i]);
        printf("\n");
    }
    for (int i = 0; i < POOL_VECTORS; i++) {
        printf("vector %d", i);
        print_digest(&the_pool.vectors[i]);
        printf("\n");
    }
}
