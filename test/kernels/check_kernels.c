/* Every CPU kernel against the oracle: ops x types x semirings x instruction sets on random, edge-biased products.
 *   check_kernels [--seed=N] [--test=PREFIX] [--rounds=N] [--list] [--bench] [--scale=N]
 * A test is named op/type/add_mul/isa.  The seed is printed; with --seed and --test a failure repeats.
 * SPDX-License-Identifier: Apache-2.0 */
#include "backends/cpu/kernel_table.h"
#include "test/kernels/compare.h"
#include "test/seed.h"

#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct options {
    uint64_t seed;
    const char *test;
    int rounds, scale;
    bool list, bench;
} options;

typedef struct tally {
    long run, failed, declined;
} tally;

/* ---- names ---- */

static bool exists(tsr_semiring s)
{
    return s.type != TSR_BOOL || s.add == TSR_ADD_LOR || s.add == TSR_ADD_ANY;
}

static void make_name(char *name, size_t size, tsr_op op, tsr_semiring s)
{
    snprintf(name, size, "%s/%s/%s_%s/%s", op_name(op), type_name(s.type), add_name(s.add), mul_name(s.mul),
        tsr_isa_name(tsr_cpu_isa()));
}

static bool selected(const options *o, const char *name)
{
    return o->test == NULL || strncmp(name, o->test, strlen(o->test)) == 0;
}

/* Every test has a seed of its own, so that it does not depend on which others ran. */
static uint64_t seed_of(uint64_t seed, tsr_op op, tsr_semiring s)
{
    rng r = { seed ^ ((uint64_t)op << 48) ^ ((uint64_t)s.type << 40) ^ ((uint64_t)s.add << 32) ^ ((uint64_t)s.mul
        << 24) };
    return rng_next(&r);
}

/* ---- checking ---- */

static void report(const options *o, const char *name, int round, const test_case *c, const char *why)
{
    printf("FAIL %s round %d: %s\n", name, round, why);
    case_print(c);
    printf("  again: --seed=%llu --test=%s --rounds=%d\n", (unsigned long long)o->seed, name, round + 1);
}

static bool multiplies_full(tsr_op op, tsr_semiring s)
{
    return op == TSR_OP_SPMM && s.add == TSR_ADD_PLUS && s.mul == TSR_MUL_TIMES && (s.type == TSR_FP32 || s.type == TSR_FP64);
}

static void check(const options *o, tally *t, const char *name, tsr_op op, tsr_semiring s)
{
    rng r = { seed_of(o->seed, op, s) };
    for (int round = 0; round < o->rounds; round++) {
        test_case c;
        char why[200] = "";
        const int size = round % 4 == 3 ? 2 : round % 2;
        if (multiplies_full(op, s) && rng_chance(&r, 40))
            case_make_full(&c, &r, s, size);
        else
            case_make(&c, &r, op, s, size);
        if ((tsr_cpu_spmm_joins(&c.product) || tsr_cpu_spmv_joins(&c.product)) && rng_chance(&r, 50))
            case_join(&c, &r);
        case_narrow(&c, &r);
        verdict v = check_case(&c, tsr_cpu_execute, why, sizeof why);
        t->run++;
        t->declined += v == VERDICT_DECLINED;
        t->failed += v == VERDICT_WRONG;
        if (v == VERDICT_WRONG)
            report(o, name, round, &c, why);
        case_free(&c);
    }
}

/* ---- measuring ---- */

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double best_time(const test_case *c, kernel_fn kernel, tsr_result *result)
{
    double best = 1e30, end = now() + 0.5;
    for (int run = 0; run < 3 || now() < end; run++) {
        double start = now();
        if (kernel(&c->product, result) != TSR_OK)
            return -1;
        double took = now() - start;
        best = took < best ? took : best;
    }
    return best;
}

static void bench_one(const options *o, const char *name, tsr_op op, tsr_semiring s, int64_t n, bool by_col)
{
    rng r = { o->seed };
    test_case c;
    case_make_bench(&c, &r, op, s, o->scale, n, by_col);
    int64_t places = c.product.m * c.product.n;
    tsr_result result = { .x = malloc((size_t)places * 8), .b = malloc((size_t)places) };
    if (result.x == NULL || result.b == NULL)
        abort();
    memset(result.x, 0, (size_t)places * 8);
    double seconds = best_time(&c, tsr_cpu_execute, &result);
    printf("%-36s n %4lld %s  %9.3f ms  %7.2f Gop/s\n", name, (long long)n, by_col ? "by col" : "by row", 1e3 * seconds,
        2e-9 * (double)c.product.a.nvals * (double)n / seconds);
    fflush(stdout);
    free(result.x);
    free(result.b);
    case_free(&c);
}

static void bench(const options *o, const char *name, tsr_op op, tsr_semiring s)
{
    static const int64_t widths[] = { 4, 16, 64, 256 };
    if (op == TSR_OP_SPMV)
        bench_one(o, name, op, s, 1, false);
    for (int at = 0; op == TSR_OP_SPMM && at < 4; at++) {
        bench_one(o, name, op, s, widths[at], false);
        bench_one(o, name, op, s, widths[at], true);
    }
}

/* ---- all tests ---- */

static void one_test(const options *o, tally *t, tsr_op op, tsr_semiring s)
{
    char name[96];
    make_name(name, sizeof name, op, s);
    if (!exists(s) || !selected(o, name))
        return;
    if (o->list)
        puts(name);
    else if (o->bench)
        bench(o, name, op, s);
    else
        check(o, t, name, op, s);
}

static void all_tests(const options *o, tally *t)
{
    for (int op = 0; op < TSR_OP_COUNT; op++)
        for (int type = 0; type < TSR_TYPE_COUNT; type++)
            for (int add = 0; add < TSR_ADD_COUNT; add++)
                for (int mul = 0; mul < TSR_MUL_COUNT; mul++)
                    one_test(o, t, (tsr_op)op, (tsr_semiring){ (tsr_type)type, (tsr_add)add, (tsr_mul)mul });
}

/* ---- options ---- */

static const struct argp_option known[] = {
    { "seed", 's', "N", 0, "seed of all random products (default: TESSERA_TEST_SEED, else a fixed one)", 0 },
    { "test", 't', "PREFIX", 0, "only tests whose name begins so", 0 },
    { "rounds", 'r', "N", 0, "products per test (default 3; 40 with TESSERA_TEST_LONG=1)", 0 },
    { "list", 'l', NULL, 0, "print the names", 0 },
    { "bench", 'b', NULL, 0, "measure instead of checking", 0 },
    { "scale", 'n', "N", 0, "bench: 2^N rows (default 16)", 0 },
    { 0 },
};

static error_t take_option(int key, char *text, struct argp_state *state)
{
    options *o = state->input;
    switch (key) {
    case 's': o->seed = strtoull(text, NULL, 0); return 0;
    case 't': o->test = text; return 0;
    case 'r': o->rounds = atoi(text); return 0;
    case 'l': o->list = true; return 0;
    case 'b': o->bench = true; return 0;
    case 'n': o->scale = atoi(text); return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static bool wants_long(void)
{
    const char *text = getenv("TESSERA_TEST_LONG");
    return text != NULL && strcmp(text, "1") == 0;
}

int main(int argc, char **argv)
{
    const struct argp argp = { known, take_option, NULL, "Checks the CPU kernels against the oracle.", NULL, NULL,
        NULL };
    options o = { .seed = test_seed(), .rounds = wants_long() ? 40 : 3, .scale = 16 };
    tally t = { 0, 0, 0 };
    argp_parse(&argp, argc, argv, 0, NULL, &o);
    if (!o.list && !o.bench)
        printf("seed %llu\n", (unsigned long long)o.seed);
    tsr_cpu_gather_from(64);
    tsr_cpu_limit_isa(TSR_ISA_AVX512);
    tsr_isa best = tsr_cpu_isa();
    for (int isa = TSR_ISA_BASELINE; isa <= (int)best; isa++) {
        tsr_cpu_limit_isa((tsr_isa)isa);
        all_tests(&o, &t);
    }
    if (!o.list && !o.bench)
        printf("%ld products, %ld failed, %ld declined\n", t.run, t.failed, t.declined);
    return t.failed > 0 ? 1 : 0;
}
