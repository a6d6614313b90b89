/* What a program's memory looks like. Prints "name value" lines.
 * usage: memory CASE
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include <GraphBLAS.h>
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif

static void check(GrB_Info info, const char *what)
{
    if (info != GrB_SUCCESS) {
        printf("%s gives %d\n", what, (int)info);
        exit(1);
    }
}
#define CHECK(call) check(call, #call)
#define MIB ((size_t)1 << 20)

/* Of a file of /proc/self, in MiB. */
static double read_mib(const char *file, const char *name)
{
    char line[200];
    long long kib = 0;
    FILE *f = fopen(file, "r");
    while (f && fgets(line, sizeof line, f))
        if (strncmp(line, name, strlen(name)) == 0)
            kib = atoll(line + strlen(name));
    if (f)
        fclose(f);
    return (double)kib / 1024;
}

static long page_faults(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_minflt;
}

static GrB_Matrix sparse(GrB_Index n, GrB_Index entries)
{
    GrB_Matrix a = NULL;
    GrB_Index *rows = malloc(entries * sizeof *rows), *columns = malloc(entries * sizeof *columns);
    double *values = malloc(entries * sizeof *values);
    if (!rows || !columns || !values)
        exit(1);
    for (GrB_Index k = 0; k < entries; k++) {
        rows[k] = k % n;
        columns[k] = (k * 7919 + k / n) % n;
        values[k] = (double)(k % 7);
    }
    CHECK(GrB_Matrix_new(&a, GrB_FP64, n, n));
    CHECK(GrB_Matrix_build_FP64(a, rows, columns, values, entries, GrB_PLUS_FP64));
    free(rows);
    free(columns);
    free(values);
    return a;
}

static GrB_Matrix dense(GrB_Index nrows, GrB_Index ncols)
{
    GrB_Matrix b = NULL;
    CHECK(GrB_Matrix_new(&b, GrB_FP64, nrows, ncols));
    CHECK(GrB_Matrix_assign_FP64(b, NULL, NULL, 2, GrB_ALL, nrows, GrB_ALL, ncols, NULL));
    CHECK(GrB_Matrix_setElement_FP64(b, 3, 1, 1));
    return b;
}

static GrB_Matrix product(GrB_Matrix a, GrB_Matrix b)
{
    GrB_Index nrows = 0, ncols = 0;
    GrB_Matrix c = NULL;
    CHECK(GrB_Matrix_nrows(&nrows, a));
    CHECK(GrB_Matrix_ncols(&ncols, b));
    CHECK(GrB_Matrix_new(&c, GrB_FP64, nrows, ncols));
    CHECK(GrB_mxm(c, NULL, NULL, GrB_PLUS_TIMES_SEMIRING_FP64, a, b, NULL));
    CHECK(GrB_Matrix_wait(c, GrB_MATERIALIZE));
    return c;
}

/* `count` copies alive together, then freed; matrices are products where b is. */
static void come_and_go(GrB_Matrix a, GrB_Matrix b, int count)
{
    GrB_Matrix *all = calloc((size_t)count, sizeof *all);
    for (int n = 0; all && n < count; n++) {
        if (b)
            all[n] = product(a, b);
        else
            CHECK(GrB_Matrix_dup(&all[n], a));
    }
    for (int n = 0; all && n < count; n++)
        CHECK(GrB_Matrix_free(&all[n]));
    free(all);
}

/* Nothing is multiplied. */
static void no_products(void)
{
    GrB_Matrix a = sparse(20000, 200000);
    for (int round = 0; round < 3; round++)
        come_and_go(a, NULL, 100);
    printf("rss %.0f\n", read_mib("/proc/self/status", "VmRSS:"));
    CHECK(GrB_Matrix_free(&a));
}

/* Many results, once. */
static void many_results(void)
{
    GrB_Matrix a = sparse(40000, 200000), b = dense(40000, 8);
    come_and_go(a, b, 150);
    printf("rss %.0f\n", read_mib("/proc/self/status", "VmRSS:"));
    CHECK(GrB_Matrix_free(&a));
    CHECK(GrB_Matrix_free(&b));
}

/* A product and some thousand elements. */
static void few(void)
{
    double sum = 0;
    GrB_Matrix a = sparse(400, 4000), b = dense(400, 8), c = NULL;
    for (GrB_Index k = 0; k < 3000; k++)
        CHECK(GrB_Matrix_setElement_FP64(a, 1, k % 400, k * 37 % 400));
    c = product(a, b);
    CHECK(GrB_Matrix_reduce_FP64(&sum, NULL, GrB_PLUS_MONOID_FP64, c, NULL));
    printf("sum %.0f\n", sum);
    CHECK(GrB_Matrix_free(&a));
    CHECK(GrB_Matrix_free(&b));
    CHECK(GrB_Matrix_free(&c));
}

/* Two thousand alive together. */
static void many_matrices(void)
{
    GrB_Matrix a = sparse(2000, 12000);
    come_and_go(a, NULL, 2000);
    printf("rss %.0f\n", read_mib("/proc/self/status", "VmRSS:"));
    CHECK(GrB_Matrix_free(&a));
}

static void limit_addresses(size_t bytes)
{
    const struct rlimit limit = {bytes, bytes};
    if (setrlimit(RLIMIT_AS, &limit) != 0)
        exit(1);
}

static void want(size_t bytes)
{
    void *own = malloc(bytes);
    printf("own %d\n", own != NULL);
    free(own);
}

/* Of 800 MiB GraphBLAS has 500, frees them, and the program wants as many. */
static void limited(void)
{
    GrB_Matrix a = sparse(100000, 200000), b = dense(100000, 64);
    limit_addresses((size_t)read_mib("/proc/self/status", "VmSize:") * MIB + 800 * MIB);
    for (int round = 0; round < 3; round++)
        come_and_go(a, b, 10);
    want(600 * MIB);
    CHECK(GrB_Matrix_free(&a));
    CHECK(GrB_Matrix_free(&b));
}

/* `ulimit -v 3600000`: 2 GB of matrices are freed, and the program wants 2 GB. */
static void limited_whole(void)
{
    limit_addresses((size_t)3600000 << 10);
    GrB_Matrix a = sparse(100000, 200000), b = dense(100000, 64);
    come_and_go(a, b, 40);
    come_and_go(b, NULL, 40);
    want((size_t)2000000000);
    CHECK(GrB_Matrix_free(&a));
    CHECK(GrB_Matrix_free(&b));
}

/* What each iteration makes and frees. */
static void loop(void)
{
    enum { ROUNDS = 20 };
    GrB_Matrix a = sparse(100000, 200000), b = dense(100000, 64);
    come_and_go(a, b, 1);
    const long before = page_faults();
    for (int round = 0; round < ROUNDS; round++)
        come_and_go(a, b, 1);
    printf("faults %ld\n", page_faults() - before);
    CHECK(GrB_Matrix_free(&a));
    CHECK(GrB_Matrix_free(&b));
}

static GrB_Matrix part(GrB_Matrix a, GrB_IndexUnaryOp op, int64_t bound)
{
    GrB_Matrix c = NULL;
    CHECK(GrB_Matrix_new(&c, GrB_FP64, 200000, 200000));
    CHECK(GrB_Matrix_select_INT64(c, NULL, NULL, op, a, bound, NULL));
    CHECK(GrB_Matrix_wait(c, GrB_MATERIALIZE));
    return c;
}

/* Halves of a pattern, made and freed.  Small blocks, which stay, lie behind each: the next half is to fit where the last one was. */
static void halves(void)
{
    enum { ROUNDS = 10, CRUMBS = 64 };
    void *crumbs[ROUNDS + 1][CRUMBS];
    long before = 0;
    mallopt(M_MMAP_THRESHOLD, 32 * MIB);
    mallopt(M_TRIM_THRESHOLD, 1024 * MIB);
    GrB_Matrix a = sparse(200000, 2100000);
    malloc_trim(0);
    for (int round = 0; round <= ROUNDS; round++) {
        GrB_Matrix lower = part(a, GrB_TRIL, -1);
        for (int k = 0; k < CRUMBS; k++)
            crumbs[round][k] = malloc(128);
        CHECK(GrB_Matrix_free(&lower));
        before = round == 0 ? page_faults() : before;
    }
    printf("faults %ld\n", page_faults() - before);
    CHECK(GrB_Matrix_free(&a));
    for (int k = 0; k < (ROUNDS + 1) * CRUMBS; k++)
        free(crumbs[k / CRUMBS][k % CRUMBS]);
}

static double huge_mib(void)
{
    return read_mib("/proc/self/smaps_rollup", "AnonHugePages:");
}

/* Those of a program that makes A B again and again: after `few` products, and after all.  Frees A and B. */
static void print_huge_pages(GrB_Matrix a, GrB_Matrix b, int few, int all)
{
    GrB_Matrix c = NULL;
    double early = 0;
    for (int round = 0; round < all; round++) {
        GrB_Matrix_free(&c);
        c = product(a, b);
        if (round < few)
            early = huge_mib();
    }
    printf("early %.0f late %.0f", early, huge_mib());
    CHECK(GrB_Matrix_free(&a));
    CHECK(GrB_Matrix_free(&b));
    CHECK(GrB_Matrix_free(&c));
}

/* A result of 51 MB that is used again: huge pages while that has not paid yet, and later. */
static void used_again(void)
{
    print_huge_pages(sparse(100000, 200000), dense(100000, 64), 24, 48);
    printf("\n");
}

/* Can this kernel make huge pages of 4 MiB that are there? */
static int collapses(void)
{
    char *memory = NULL;
    if (posix_memalign((void **)&memory, 2 * MIB, 4 * MIB) != 0)
        return 0;
    memset(memory, 1, 4 * MIB);
    const int done = madvise(memory, 4 * MIB, MADV_COLLAPSE) == 0;
    free(memory);
    return done;
}

/* An operand of 8 MB whose rows are read again and again: huge pages after the first product, and after others. */
static void gathered(void)
{
    const int can = collapses();
    GrB_Matrix a = sparse(65536, 2000000), b = dense(65536, 16), c = product(a, b);
    const double early = huge_mib();
    for (int round = 0; round < 6; round++) {
        GrB_Matrix_free(&c);
        c = product(a, b);
    }
    printf("early %.0f late %.0f can %d\n", early, huge_mib(), can);
    CHECK(GrB_Matrix_free(&a));
    CHECK(GrB_Matrix_free(&b));
    CHECK(GrB_Matrix_free(&c));
}

/* A result of 16 MB, which is a part of the heap, from an operand of 128 kB. */
static void heap_used_again(void)
{
    enum { ROWS = 131072, MIDDLE = 1000 };
    const int can = collapses();
    GrB_Matrix a = NULL, b = dense(MIDDLE, 16);
    CHECK(GrB_Matrix_new(&a, GrB_FP64, ROWS, MIDDLE));
    for (GrB_Index row = 0; row < ROWS; row++)
        CHECK(GrB_Matrix_setElement_FP64(a, 1, row, row % MIDDLE));
    print_huge_pages(a, b, 8, 40);
    printf(" can %d\n", can);
}

/* Large matrices that live for a moment, none of them a product of ours. */
static void short_lives(void)
{
    double huge = 0;
    GrB_Matrix a = sparse(200000, 3000000);
    for (int round = 0; round < 10; round++) {
        GrB_Matrix c = NULL, d = NULL;
        CHECK(GrB_Matrix_new(&c, GrB_FP64, 200000, 200000));
        CHECK(GrB_Matrix_dup(&d, a));
        CHECK(GrB_Matrix_apply(c, NULL, NULL, GrB_AINV_FP64, d, NULL));
        CHECK(GrB_Matrix_wait(c, GrB_MATERIALIZE));
        const double now = huge_mib();
        huge = now > huge ? now : huge;
        CHECK(GrB_Matrix_free(&c));
        CHECK(GrB_Matrix_free(&d));
    }
    printf("huge %.0f\n", huge);
    CHECK(GrB_Matrix_free(&a));
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } cases[] = {{"no_products", no_products}, {"many_results", many_results}, {"limited", limited}, {"loop", loop}, {"halves", halves},
                 {"limited_whole", limited_whole}, {"many_matrices", many_matrices},
                 {"short_lives", short_lives}, {"used_again", used_again}, {"heap_used_again", heap_used_again}, {"gathered", gathered}, {"few", few}};
    CHECK(GrB_init(GrB_NONBLOCKING));
    CHECK(GxB_Global_Option_set_INT32(GxB_GLOBAL_NTHREADS, 1));
    for (size_t n = 0; n < sizeof cases / sizeof *cases; n++)
        if (argc == 2 && strcmp(argv[1], cases[n].name) == 0)
            cases[n].run();
    CHECK(GrB_finalize());
    return 0;
}
