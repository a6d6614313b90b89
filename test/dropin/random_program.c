/* A random GraphBLAS program: `random_program --seed S --ops K [--long] [--large] [--chains] [--whole] [--iso]` prints one line per
 * operation.
 * Run plain and through Tessera it must print the same (differential.py).
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "program/program.h"

typedef struct arguments {
    uint64_t seed;
    int ops;
    bool full; /* print entries, not only their hash */
    bool large;
    bool chains; /* nothing else */
    bool whole;  /* also sorts, reshapes and the like (program/whole.c) */
    bool iso;
} arguments;

/* ---- an allocator whose blocks cannot be freed by any other ---- */

enum { HEADER = 64, MAGIC = 0x7E55E8A };

static long blocks;

static void *block_of(void *whole, size_t size)
{
    if (!whole) return NULL;
    ((size_t *)whole)[0] = MAGIC;
    ((size_t *)whole)[1] = size;
    __atomic_add_fetch(&blocks, 1, __ATOMIC_RELAXED);
    return (char *)whole + HEADER;
}

static void *own_malloc(size_t size)
{
    return block_of(malloc(size + HEADER), size);
}

static void *own_calloc(size_t n, size_t size)
{
    return block_of(calloc(1, n * size + HEADER), n * size);
}

static void own_free(void *block)
{
    if (!block) return;
    size_t *whole = (size_t *)((char *)block - HEADER);
    if (whole[0] != MAGIC) abort();
    whole[0] = 0;
    __atomic_sub_fetch(&blocks, 1, __ATOMIC_RELAXED);
    free(whole);
}

static void *own_realloc(void *block, size_t size)
{
    void *copy = own_malloc(size);
    if (!block || !copy) return copy;
    size_t old = ((size_t *)((char *)block - HEADER))[1];
    memcpy(copy, block, old < size ? old : size);
    own_free(block);
    return copy;
}

static void (*free_block)(void *) = free;

void free_by_program(void *block)
{
    free_block(block);
}

/* ---- running ---- */

static void (*const families[])(void) = {op_products,    op_products, op_products, op_products,   op_products,
                                         op_products,    op_products, op_products, op_elementwise, op_elementwise,
                                         op_elementwise, op_assign,   op_extract,  op_mutate,     op_mutate,
                                         op_mutate,      op_transfer, op_transfer, op_options,    op_iterate};

static void one_operation(void)
{
    int rare = rng_below(60);
    if (rare == 0) op_errors();
    else if (rare == 1) op_nested();
    else if (rare == 2) op_threads();
    else if (rare <= 4) op_any_products();
    else families[rng_below(20)]();
    pool_release();
}

static void start(const arguments *a)
{
    GrB_Mode mode = a->seed % 6 == 5 ? GrB_BLOCKING : GrB_NONBLOCKING;
    bool own = a->seed % 5 == 1;
    GrB_Info info = own ? GxB_init(mode, own_malloc, own_calloc, own_realloc, own_free) : GrB_init(mode);
    if (own) free_block = own_free;
    report_text("init", info);
    GxB_Global_Option_set(GxB_NTHREADS, 2);
    GxB_Global_Option_set(GxB_CHUNK, a->seed % 2 ? 64.0 : 65536.0);
    if (a->seed % 16 != 15) GxB_Global_Option_set(GxB_HYPER_SWITCH, GxB_NEVER_HYPER);
}

static void run(const arguments *a)
{
    rng_seed(a->seed);
    report_init(a->full);
    report_iso(a->iso);
    pool_make_iso(a->iso ? 40 : 0);
    start(a);
    operators_init();
    pool_init(a->large || a->seed % 8 == 7, a->seed % 4 == 3);
    for (int k = 0; k < a->ops; k++) {
        const bool whole = a->whole && rng_chance(20);
        (a->chains ? op_chains : whole ? op_whole : one_operation)();
        if (whole) pool_release();
    }
    report_pool();
    pool_free();
    operators_free();
    report_text("finalize", GrB_finalize());
    printf("blocks %ld\n", blocks);
}

static bool parse(int argc, char **argv, arguments *a)
{
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--long")) a->full = true;
        else if (!strcmp(argv[i], "--large")) a->large = true;
        else if (!strcmp(argv[i], "--chains")) a->chains = true;
        else if (!strcmp(argv[i], "--whole")) a->whole = true;
        else if (!strcmp(argv[i], "--iso")) a->iso = true;
        else if (i + 1 == argc) return false;
        else if (!strcmp(argv[i], "--seed")) a->seed = strtoull(argv[++i], NULL, 0);
        else if (!strcmp(argv[i], "--ops")) a->ops = atoi(argv[++i]);
        else return false;
    }
    return true;
}

int main(int argc, char **argv)
{
    arguments a = {.seed = 1, .ops = 100};
    if (!parse(argc, argv, &a)) {
        fprintf(stderr, "usage: random_program [--seed S] [--ops K] [--long] [--large] [--chains] [--whole] [--iso]\n");
        return 2;
    }
    run(&a);
    return 0;
}
