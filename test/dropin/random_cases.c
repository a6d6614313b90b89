/* Random cases: `random_cases --seed S --ops K [--only N] [--iso] [--odd] [--finish]` prints a line for each of K cases: how its objects are
 * held, its one to three calls, and what they left.  Each case depends on the seed and its number alone; one that crashes is named, the rest goes on
 * in another process.  Run plain and through Tessera it must print the same (differential.py --cases).
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "program/case.h"

enum { SECONDS_PER_CASE = 60 };

typedef struct arguments {
    uint64_t seed;
    int cases, only; /* only < 0: all */
    bool iso;        /* is the result iso, and how is it held? */
    bool odd;        /* case_be_odd */
    bool finish;     /* nothing stays unfinished, as CHECK mode has it */
} arguments;

/* ---- what a call left ---- */

typedef struct entry {
    GrB_Index i, j;
    uint64_t bits;
} entry;

static int compare_entries(const void *x, const void *y)
{
    const entry *a = x, *b = y;
    if (a->i != b->i) return a->i < b->i ? -1 : 1;
    return a->j < b->j ? -1 : a->j > b->j;
}

static uint64_t hash_entries(entry *e, GrB_Index n)
{
    uint64_t hash = 0xCBF29CE484222325u;
    qsort(e, n, sizeof *e, compare_entries);
    for (GrB_Index k = 0; k < n; k++) {
        const uint64_t words[] = {e[k].i, e[k].j, e[k].bits};
        for (int w = 0; w < 3; w++) hash = (hash ^ words[w]) * 0x100000001B3u ^ (hash >> 29);
    }
    return hash;
}

static void print_entries(GrB_Matrix A, GrB_Vector v, int type)
{
    GrB_Index n = 0;
    if (v) GrB_Vector_nvals(&n, v);
    else GrB_Matrix_nvals(&n, A);
    GrB_Index *i = calloc(2 * n + 1, sizeof *i), *j = i + n;
    void *x = calloc(n + 1, type_size(type));
    entry *e = calloc(n + 1, sizeof *e);
    const GrB_Info info = v ? vec_tuples(type, i, x, &n, v) : mat_tuples(type, i, j, x, &n, A);
    for (GrB_Index k = 0; k < n; k++) e[k] = (entry){i[k], j[k], value_bits(type, x, (int64_t)k)};
    if (info != GrB_SUCCESS) printf(" broken");
    printf(" %d n=%llu %016llx", (int)info, (unsigned long long)n, (unsigned long long)hash_entries(e, n));
    free(i);
    free(x);
    free(e);
}

static void print_error(const case_object *o)
{
    const char *text = "";
    if (o->vector) GrB_Vector_error(&text, o->v);
    else GrB_Matrix_error(&text, o->m);
    printf(" error=\"");
    for (; text && *text; text++) putchar(*text == '\n' ? '|' : *text);
    putchar('"');
}

static void print_settings(const case_object *o)
{
    int control = -1, format = -1;
    double hyper = -1, bitmap = -1;
    if (o->vector) {
        GxB_Vector_Option_get(o->v, GxB_SPARSITY_CONTROL, &control);
        GxB_Vector_Option_get(o->v, GxB_FORMAT, &format);
        GxB_Vector_Option_get(o->v, GxB_BITMAP_SWITCH, &bitmap);
    } else {
        GxB_Matrix_Option_get(o->m, GxB_SPARSITY_CONTROL, &control);
        GxB_Matrix_Option_get(o->m, GxB_FORMAT, &format);
        GxB_Matrix_Option_get(o->m, GxB_HYPER_SWITCH, &hyper);
        GxB_Matrix_Option_get(o->m, GxB_BITMAP_SWITCH, &bitmap);
    }
    printf(" settings %d %d %g %g", control, format, hyper, bitmap);
}

static void print_type(const case_object *o)
{
    GrB_Type type = NULL;
    if (o->vector) GxB_Vector_type(&type, o->v);
    else GxB_Matrix_type(&type, o->m);
    if (type != type_handle(o->type)) printf(" another type");
}

/* Asked without finishing what is pending. An object with one entry or none may be either. */
static void print_iso(const case_object *o)
{
    GrB_Index n = 0;
    struct GB_Iterator_opaque it = {.header_size = sizeof it};
    const bool known = GB_Iterator_attach(&it, o->m, GxB_NO_FORMAT, NULL) == GrB_SUCCESS;
    GrB_Matrix_nvals(&n, o->m);
    if (known && n > 1) printf(" iso=%d", it.iso);
}

static int form_of(GrB_Matrix A)
{
    int form = -1;
    GxB_Matrix_Option_get(A, GxB_SPARSITY_STATUS, &form);
    return form;
}

/* The form that SuiteSparse gives these contents by their settings, had they been in another one. */
static int form_from(const case_object *o, int control, int another)
{
    GrB_Matrix A = NULL;
    double hyper = 0, bitmap = 0;
    if (GrB_Matrix_dup(&A, o->m) != GrB_SUCCESS) return 0;
    GxB_Matrix_Option_get(o->m, GxB_HYPER_SWITCH, &hyper);
    GxB_Matrix_Option_get(o->m, GxB_BITMAP_SWITCH, &bitmap);
    GxB_Matrix_Option_set(A, GxB_SPARSITY_CONTROL, another);
    GxB_Matrix_Option_set(A, GxB_HYPER_SWITCH, hyper);
    GxB_Matrix_Option_set(A, GxB_BITMAP_SWITCH, bitmap);
    GxB_Matrix_Option_set(A, GxB_SPARSITY_CONTROL, control);
    const int form = form_of(A);
    GrB_Matrix_free(&A);
    return form;
}

/* Hypersparse, sparse, bitmap or full, of a finished object, and all forms that its settings allow (differential.py --iso). */
static void print_form(const case_object *o)
{
    const int most = case_needs_lists(o->nrows, o->ncols) ? GxB_SPARSE : GxB_FULL;
    int control = GxB_AUTO_SPARSITY, allowed = 0;
    GxB_Matrix_Option_get(o->m, GxB_SPARSITY_CONTROL, &control);
    if (case_is_huge(o)) return;
    for (int another = GxB_HYPERSPARSE; another <= most; another *= 2) allowed |= form_from(o, control, another);
    printf(" form %d of %d", form_of(o->m), allowed);
}

static void print_transposed(const case_object *o)
{
    GrB_Matrix T = NULL;
    GrB_Matrix_new(&T, type_handle(o->type), (GrB_Index)o->ncols, (GrB_Index)o->nrows);
    printf(" transposed %d", (int)GrB_transpose(T, NULL, NULL, o->m, NULL));
    print_entries(T, NULL, o->type);
    GrB_Matrix_free(&T);
}

static void print_result(const case_object *o, const arguments *a)
{
    print_type(o);
    print_settings(o);
    if (a->iso) print_iso(o);
    if (a->iso) print_form(o);
    print_entries(o->vector ? NULL : o->m, o->vector ? o->v : NULL, o->type);
    print_settings(o);
    if (!o->vector) print_transposed(o);
}

/* ---- cases ---- */

static void print_objects(const one_case *c)
{
    printf(" | objects");
    for (int k = 0; k < c->count; k++) {
        const case_object *o = &c->objects[k];
        print_entries(o->vector ? NULL : o->m, o->vector ? o->v : NULL, o->type);
    }
}

static void run_case(const arguments *a, int number)
{
    one_case c;
    GrB_Info info = GrB_SUCCESS;
    rng_seed(a->seed * 1000003u + (uint64_t)number);
    rng_seed(rng_next()); /* neighbours would draw the same numbers, one later */
    printf("case %d", number);
    fflush(stdout); /* a crash is named behind its own number */
    case_begin(&c);
    for (int calls = 1 + rng_below(a->odd ? 6 : 3); calls > 0 && info == GrB_SUCCESS; calls--) {
        const case_object *o = case_call(&c, &info);
        if (!o) continue;
        printf(" => %d", (int)info);
        print_error(o);
        if (a->iso || a->finish) case_finish(o); /* ours leaves no zombies, which a later call may take for entries */
        if (calls == 1 || info != GrB_SUCCESS || rng_chance(50)) print_result(o, a);
    }
    if (info == GrB_SUCCESS) print_objects(&c);
    case_end(&c);
    printf("\n");
    fflush(stdout);
}

static void start(const arguments *a)
{
    if (a->finish) case_finish_always();
    if (a->odd) case_be_odd();
    GrB_init(a->seed % 7 == 6 ? GrB_BLOCKING : GrB_NONBLOCKING);
    GxB_Global_Option_set(GxB_NTHREADS, 2);
    GxB_Global_Option_set(GxB_CHUNK, a->seed % 2 ? 64.0 : 65536.0);
    operators_init();
}

/* Cases from *next on, which says where a crash happened. */
static void run_from(const arguments *a, volatile int *next)
{
    start(a);
    while (*next < a->cases) {
        alarm(SECONDS_PER_CASE);
        if (a->only < 0 || a->only == *next) run_case(a, *next);
        alarm(0);
        ++*next;
    }
    operators_free();
    exit(GrB_finalize() == GrB_SUCCESS ? 0 : 1);
}

/* One process after another. */
static void run(const arguments *a)
{
    volatile int *next = mmap(NULL, sizeof *next, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    while (*next < a->cases) {
        int status = 0;
        fflush(stdout);
        const pid_t child = fork();
        if (child == 0) run_from(a, next);
        waitpid(child, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
        printf(" crashed (%d)\n", status);
        ++*next;
    }
}

static bool parse(int argc, char **argv, arguments *a)
{
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--iso")) a->iso = true;
        else if (!strcmp(argv[i], "--odd")) a->odd = true;
        else if (!strcmp(argv[i], "--finish")) a->finish = true;
        else if (i + 1 == argc) return false;
        else if (!strcmp(argv[i], "--seed")) a->seed = strtoull(argv[++i], NULL, 0);
        else if (!strcmp(argv[i], "--ops")) a->cases = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--only")) a->only = atoi(argv[++i]);
        else return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    arguments a = {.seed = 1, .cases = 100, .only = -1};
    if (!parse(argc, argv, &a)) {
        fprintf(stderr, "usage: random_cases [--seed S] [--ops K] [--only N] [--iso] [--odd] [--finish]\n");
        return 2;
    }
    run(&a);
    return 0;
}
