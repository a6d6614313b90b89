/* One benchmark case: operands made from a description, one GraphBLAS product, a fingerprint of its result.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef BENCH_CASES_H
#define BENCH_CASES_H

#include "graph.h"

/* "key=value key=value …"; keys and defaults stand in cases.c. */
typedef struct bench_spec {
    char op[12]; /* spmm: C = A B · dspmm: C = B A · mxv, vxm · sddmm: C<A> = X Y' · masked: triangles, k-truss support
                  */
    char type[8];    /* bool int8 … fp64: of the semiring and its operands */
    char add[8];     /* plus min max any lor */
    char mul[8];     /* times first second pair plus and */
    char n[8];       /* columns of the dense operand */
    char a[8];       /* row, col: how the sparse operand is held */
    char b[8];       /* row, col: how the dense operand is held */
    char c[8];       /* row, col: how the result is to be held */
    char t[8];       /* none, a, b, ab: operands passed through a transposing descriptor */
    char dense[8];   /* full, bitmap: the dense operand; sparse: of spmm and dspmm, a ninth of the entries, C sparse */
    char values[8];  /* typed, bool: values of the sparse operand (bool: an iso pattern, typecast) */
    char finish[12]; /* none, accum (C += into a full C), mask, notmask (structural), reduce (C, INT64, is then summed up) */
    char form[12];   /* masked: lut ult ll uu burkhardt cohen ktruss */
    char order[8];   /* masked: given, degree (ascending) */
    char first[8];   /* no, yes: operands are new objects before every product, so that nothing made of them is kept */
} bench_spec;

typedef struct bench_case {
    bench_spec spec;
    bool vectors; /* u, w are used instead of B, C */
    GrB_Type type;
    GrB_Semiring semiring;
    GrB_BinaryOp accum;
    GrB_Descriptor descriptor;
    GrB_Matrix A, B, M, C; /* of A, B and M some may be one object */
    int64_t total;         /* what finish=reduce came to */
    GrB_Vector u, w;
} bench_case;

/* False: said why on stderr.  Every operand is a new object, so nothing about it is cached anywhere. */
bool bench_open(bench_case *c, const graph *g, const char *text);
/* Make the result object that the next bench_run writes (a new empty one unless accumulating); not timed. */
GrB_Info bench_prepare(bench_case *c);
/* The product, finished. */
GrB_Info bench_run(bench_case *c);
/* Equal results give equal numbers; takes the result apart.  *entries: how many it has. */
GrB_Info bench_fingerprint(bench_case *c, uint64_t *hash, uint64_t *entries);
void bench_close(bench_case *c);

#endif
