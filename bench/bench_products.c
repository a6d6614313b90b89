/* Times GraphBLAS products one by one, as told on standard input; bench/run.py drives a plain and a preloaded process
 * of it. SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cases.h"

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

/* Answer "ms t1 t2 …": `count` calls, each into a result made outside the time. */
static void run(bench_case *c, int count)
{
    printf("ms");
    for (int k = 0; k < count; k++) {
        GrB_Info info = bench_prepare(c);
        const double start = now_ms();
        if (info == GrB_SUCCESS) info = bench_run(c);
        const double ms = now_ms() - start;
        if (info != GrB_SUCCESS) {
            printf(" error %d", (int)info);
            break;
        }
        printf(" %.6f", ms);
    }
    printf("\n");
}

static void sum(bench_case *c)
{
    uint64_t hash = 0, entries = 0;
    const GrB_Info info = bench_fingerprint(c, &hash, &entries);
    if (info == GrB_SUCCESS)
        printf("sum %016llx entries %llu\n", (unsigned long long)hash, (unsigned long long)entries);
    else
        printf("error %d\n", (int)info);
}

/* "option NAME VALUE" for Tessera, where it is loaded; the program itself knows nothing of it. */
static bool set_option(char *text)
{
    int (*set)(const char *, const char *);
    void *symbol = dlsym(RTLD_DEFAULT, "tsr_set_option");
    char *value = strchr(text, ' ');
    memcpy(&set, &symbol, sizeof set);
    text[strcspn(text, "\n")] = '\0';
    if (!set || !value) return false;
    *value++ = '\0';
    return set(text, value) == 0;
}

static int serve(const graph *g)
{
    char line[512];
    bench_case c = {0};
    while (fgets(line, sizeof line, stdin)) {
        if (strncmp(line, "open ", 5) == 0) {
            bench_close(&c);
            printf("%s\n", bench_open(&c, g, line + 5) ? "ok" : "error");
        } else if (strncmp(line, "run ", 4) == 0 && c.A) {
            run(&c, atoi(line + 4));
        } else if (strcmp(line, "sum\n") == 0 && (c.C || c.w)) {
            sum(&c);
        } else if (strncmp(line, "option ", 7) == 0) {
            printf("%s\n", set_option(line + 7) ? "ok" : "no");
        } else {
            fprintf(stderr, "bench_products: cannot do '%s'\n", strtok(line, "\n"));
            return 2;
        }
        fflush(stdout);
    }
    bench_close(&c);
    return 0;
}

int main(int argc, char **argv)
{
    int threads = 0;
    graph g;
    if (argc < 2 || argc > 3) {
        fprintf(stderr, "usage: bench_products GRAPH [THREADS]; then lines 'open key=value …', 'run COUNT', 'sum', 'option NAME VALUE' on "
                        "standard input\n");
        return 2;
    }
    if (GrB_init(GrB_NONBLOCKING) != GrB_SUCCESS) return 1;
    if (argc == 3 && GxB_Global_Option_set(GxB_GLOBAL_NTHREADS, atoi(argv[2])) != GrB_SUCCESS) return 1;
    if (GxB_Global_Option_get(GxB_GLOBAL_NTHREADS, &threads) != GrB_SUCCESS || !graph_open(&g, argv[1])) return 1;
    printf("ready vertices %llu entries %llu threads %d\n", (unsigned long long)g.n, 2 * (unsigned long long)g.edges,
           threads);
    fflush(stdout);
    const int status = serve(&g);
    graph_close(&g);
    GrB_finalize();
    return status;
}
