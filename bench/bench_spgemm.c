/* Times one product of two sparse matrices: `bench_spgemm CASE THREADS CALLS [arrays]`, cases as in spgemm_matrices.h; CASE! is C<!A,struct> = A B, a step
 * of a search whose frontier is also what has been visited.  CASE!bitmap and CASE=bitmap: C<!V> and C<V>, V a bitmap of three places in ten,
 * structural; CASE!values, CASE=values: with values, half of them false.  Another + behind: C<...> += A B, where C was A, which is as large.  Prints one JSON object: of every
 * call its time, its processor time, processor time and time of the GrB_wait after it (which sorts what is jumbled), all in ms; entries and sum of C;
 * the most memory used, in MB, operands included.  arrays: the time ends when the program has C's arrays, which GraphBLAS hands out as it holds them.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "spgemm_matrices.h"

#define TRY(call) \
    do { \
        if ((call) != GrB_SUCCESS) { \
            fprintf(stderr, "bench_spgemm: %s failed\n", #call); \
            exit(1); \
        } \
    } while (0)

enum { MOST_CALLS = 64 };

static double clock_ms(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

typedef struct times {
    double wall[MOST_CALLS], cpu[MOST_CALLS], wait[MOST_CALLS], wait_wall[MOST_CALLS];
} times;

static double most_memory(void)
{
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)used.ru_maxrss / 1024;
}

/* C's arrays to the program and back; sorted or not. */
static void unpack(GrB_Matrix C)
{
    GrB_Index *p = NULL, *i = NULL, p_size = 0, i_size = 0, x_size = 0;
    void *x = NULL;
    bool iso = false, jumbled = false;
    TRY(GxB_Matrix_unpack_CSR(C, &p, &i, &x, &p_size, &i_size, &x_size, &iso, &jumbled, NULL));
    TRY(GxB_Matrix_pack_CSR(C, &p, &i, &x, p_size, i_size, x_size, iso, jumbled, NULL));
}

/* What is done beside the product. */
typedef struct modifiers {
    GrB_Matrix mask; /* or NULL */
    GrB_Descriptor desc;
    bool adds;
} modifiers;

/* A bitmap of places that are scattered evenly; of those of values every second is 0. */
static void draw_mask(GrB_Matrix *V, bool values, GrB_Index m, GrB_Index n)
{
    const GrB_Index places = m * n;
    int8_t *b = malloc(places);
    double *x = malloc((values ? places : 1) * sizeof *x);
    if (!b || !x)
        abort();
    GrB_Index nvals = 0;
    x[0] = 1;
    for (GrB_Index k = 0; k < places; k++) {
        const uint64_t bits = (k * 0x9E3779B97F4A7C15u) >> 32;
        nvals += (GrB_Index)(b[k] = bits % 10 < 3);
        if (values)
            x[k] = (double)(bits >> 16 & 1);
    }
    TRY(GrB_Matrix_new(V, GrB_FP64, m, n));
    TRY(GxB_Matrix_pack_BitmapR(*V, &b, (void **)&x, places, (values ? places : 1) * sizeof *x, !values, nvals, NULL));
}

/* As `text` says, which stands behind the case's name; A is the mask where no bitmap is wanted. */
static modifiers read_modifiers(const char *text, GrB_Matrix A, GrB_Matrix B)
{
    const bool hides = text[0] == '!', values = strstr(text, "values"), bitmap = values || strstr(text, "bitmap");
    modifiers how = {.mask = A, .adds = strchr(text, '+')};
    GrB_Index m, n;
    if (text[0] == '\0')
        return (modifiers){0};
    how.desc = values ? (hides ? GrB_DESC_C : NULL) : hides ? GrB_DESC_SC : GrB_DESC_S;
    TRY(GrB_Matrix_nrows(&m, A));
    TRY(GrB_Matrix_ncols(&n, B));
    if (bitmap)
        draw_mask(&how.mask, values, m, n);
    return how;
}

static void call(times *t, int k, bool arrays, const modifiers *how, GrB_Matrix A, GrB_Matrix B, GrB_Index *nvals, double *sum)
{
    GrB_Matrix C;
    GrB_Index m, n;
    TRY(GrB_Matrix_nrows(&m, A));
    TRY(GrB_Matrix_ncols(&n, B));
    TRY(how->adds ? GrB_Matrix_dup(&C, A) : GrB_Matrix_new(&C, GrB_FP64, m, n));
    const double wall = clock_ms(CLOCK_MONOTONIC), cpu = clock_ms(CLOCK_PROCESS_CPUTIME_ID);
    TRY(GrB_mxm(C, how->mask, how->adds ? GrB_PLUS_FP64 : NULL, GrB_PLUS_TIMES_SEMIRING_FP64, A, B, how->desc));
    if (arrays)
        unpack(C);
    const double done = clock_ms(CLOCK_PROCESS_CPUTIME_ID);
    const double returned = clock_ms(CLOCK_MONOTONIC);
    t->wall[k] = returned - wall;
    t->cpu[k] = done - cpu;
    TRY(GrB_Matrix_wait(C, GrB_MATERIALIZE));
    t->wait_wall[k] = clock_ms(CLOCK_MONOTONIC) - returned;
    t->wait[k] = clock_ms(CLOCK_PROCESS_CPUTIME_ID) - done;
    TRY(GrB_Matrix_nvals(nvals, C));
    *sum = 0;
    TRY(GrB_Matrix_reduce_FP64(sum, NULL, GrB_PLUS_MONOID_FP64, C, NULL));
    TRY(GrB_Matrix_free(&C));
}

static void print(const char *name, const double *x, int count)
{
    printf("\"%s\": [", name);
    for (int k = 0; k < count; k++)
        printf("%s%.3f", k ? ", " : "", x[k]);
    printf("], ");
}

int main(int argc, char **argv)
{
    static times t;
    GrB_Matrix A, B;
    GrB_Index nvals = 0, entries;
    double sum = 0;
    const bool arrays = argc == 5 && strcmp(argv[4], "arrays") == 0, valid = argc == 4 || arrays;
    const int threads = valid ? atoi(argv[2]) : 0, calls = valid ? atoi(argv[3]) : 0;
    if (threads < 1 || calls < 1 || calls > MOST_CALLS) {
        fprintf(stderr, "usage: bench_spgemm CASE THREADS CALLS [arrays]\n");
        return 2;
    }
    char *behind = argv[1] + strcspn(argv[1], "!="), suffix[16];
    snprintf(suffix, sizeof suffix, "%s", behind);
    *behind = '\0';
    TRY(GrB_init(GrB_NONBLOCKING));
    TRY(GxB_Global_Option_set(GxB_GLOBAL_NTHREADS, threads));
    TRY(bench_operands(&A, &B, argv[1]));
    TRY(GrB_Matrix_nvals(&entries, A));
    modifiers how = read_modifiers(suffix, A, B);
    const double before = most_memory();
    for (int k = 0; k < calls; k++)
        call(&t, k, arrays, &how, A, B, &nvals, &sum);
    printf("{");
    print("ms", t.wall, calls);
    print("cpu_ms", t.cpu, calls);
    print("wait_ms", t.wait, calls);
    print("wait_elapsed_ms", t.wait_wall, calls);
    printf("\"entries_a\": %llu, \"entries\": %llu, \"sum\": %.10g, \"operands_mb\": %.0f, \"peak_mb\": %.0f}\n", (unsigned long long)entries,
           (unsigned long long)nvals, sum, before, most_memory());
    if (how.mask != A)
        GrB_Matrix_free(&how.mask);
    if (B != A)
        GrB_Matrix_free(&B);
    GrB_Matrix_free(&A);
    return GrB_finalize() == GrB_SUCCESS ? 0 : 1;
}
