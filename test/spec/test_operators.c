/* The operators and typecasts of the oracle (kernels/ref) against those of the real library, on all pairs of odd values, for every type.
 * SPDX-License-Identifier: Apache-2.0 */
#include <GraphBLAS.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/ref/derive.h"
#include "kernels/ref/step.h"

enum { VALUES = 12, PAIRS = VALUES * VALUES };

/* In the order of tsr_ewise_op. */
#define UNARY(T) GrB_IDENTITY_##T, GrB_AINV_##T, GrB_MINV_##T, GrB_ABS_##T, GxB_LNOT_##T, GxB_ONE_##T
#define BINARY(T)                                                                                                                \
    GrB_FIRST_##T, GrB_SECOND_##T, GrB_ONEB_##T, GrB_PLUS_##T, GrB_MINUS_##T, GxB_RMINUS_##T, GrB_TIMES_##T, GrB_DIV_##T,          \
        GxB_RDIV_##T, GrB_MIN_##T, GrB_MAX_##T, GxB_ISEQ_##T, GxB_ISNE_##T, GxB_ISGT_##T, GxB_ISLT_##T, GxB_ISGE_##T,              \
        GxB_ISLE_##T, GxB_LOR_##T, GxB_LAND_##T, GxB_LXOR_##T, GrB_EQ_##T, GrB_NE_##T, GrB_GT_##T, GrB_LT_##T, GrB_GE_##T, GrB_LE_##T
#define TYPES(X) X(BOOL) X(INT8) X(INT16) X(INT32) X(INT64) X(UINT8) X(UINT16) X(UINT32) X(UINT64) X(FP32) X(FP64)

enum { UNARIES = TSR_EWISE_SQRT, BINARIES = TSR_EWISE_COUNT - TSR_EWISE_FIRST };

typedef struct library {
    tsr_type type;
    GrB_Type handle;
    GrB_UnaryOp unary[UNARIES + 1];
    GrB_BinaryOp binary[BINARIES];
} library;

static const size_t sizes[TSR_TYPE_COUNT] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8};

static void must(GrB_Info info, const char *what)
{
    if (info != GrB_SUCCESS) {
        printf("%s: %d\n", what, (int)info);
        exit(1);
    }
}

static tsr_value odd_value(tsr_type type, int k)
{
    static const double reals[VALUES] = {0.0, -0.0, 1.0, -1.0, INFINITY, -INFINITY, NAN, 1e-42, 3e38, 0.3, -7.5, 2.0};
    static const uint64_t low[VALUES] = {0, 1, 2, 3, 5, 7, 100, 77, 13};
    uint64_t bits = low[k], top = UINT64_C(1) << (8 * sizes[type] - 1);
    if (k >= 9)
        bits = k == 9 ? UINT64_MAX : k == 10 ? top : top - 1;
    return (tsr_value){.bits = type == TSR_BOOL ? (uint64_t)(k % 2) : bits, .real = reals[k]};
}

/* Full vector of the first (second) of each pair. */
static GrB_Vector new_vector(const library *l, bool second, void *copy)
{
    GrB_Vector v;
    size_t bytes = PAIRS * sizes[l->type];
    void *x = malloc(bytes);
    for (int k = 0; k < PAIRS; k++)
        tsr_value_store(l->type, x, k, odd_value(l->type, second ? k % VALUES : k / VALUES));
    memcpy(copy, x, bytes);
    must(GrB_Vector_new(&v, l->handle, PAIRS), "new");
    must(GxB_Vector_pack_Full(v, &x, bytes, false, NULL), "pack");
    return v;
}

static int compare(const library *l, int op, GrB_Vector z, const void *x, const void *y)
{
    tsr_type result = tsr_ewise_compares((tsr_ewise_op)op) ? TSR_BOOL : l->type;
    void *got = NULL;
    GrB_Index bytes;
    bool iso;
    int failures = 0;
    must(GxB_Vector_unpack_Full(z, &got, &bytes, &iso, NULL), "unpack");
    for (int k = 0; k < PAIRS; k++) {
        tsr_value p = tsr_value_load(l->type, x, k), q = tsr_value_load(l->type, y, k);
        tsr_value want = tsr_value_load(result, got, iso ? 0 : k), have = tsr_ref_operator((tsr_ewise_op)op, l->type, p, q);
        bool same_sign = signbit(want.real) == signbit(have.real) || isnan(want.real);
        if (tsr_value_same(want, have) && same_sign)
            continue;
        printf("type %d, operator %d (%llx %Lg, %llx %Lg): %llx %Lg for %llx %Lg\n", (int)l->type, op, (unsigned long long)p.bits, p.real,
               (unsigned long long)q.bits, q.real, (unsigned long long)have.bits, have.real, (unsigned long long)want.bits, want.real);
        failures++;
    }
    free(got);
    return failures;
}

static int check_type(const library *l)
{
    char x[PAIRS * 8], y[PAIRS * 8];
    GrB_Vector u = new_vector(l, false, x), v = new_vector(l, true, y);
    int failures = 0;
    for (int op = 0; op < TSR_EWISE_COUNT; op++) {
        GrB_Vector z;
        if (op == TSR_EWISE_SQRT && !l->unary[op])
            continue;
        must(GrB_Vector_new(&z, tsr_ewise_compares((tsr_ewise_op)op) ? GrB_BOOL : l->handle, PAIRS), "new");
        if (tsr_ewise_is_unary((tsr_ewise_op)op))
            must(GrB_Vector_apply(z, NULL, NULL, l->unary[op], u, NULL), "apply");
        else
            must(GrB_Vector_eWiseMult_BinaryOp(z, NULL, NULL, l->binary[op - TSR_EWISE_FIRST], u, v, NULL), "eWiseMult");
        failures += compare(l, op, z, x, y);
        GrB_Vector_free(&z);
    }
    GrB_Vector_free(&u);
    GrB_Vector_free(&v);
    return failures;
}

/* The ends of integer types, and what lies beside them. */
static tsr_value edge_value(tsr_type type, int k)
{
    static const int powers[] = {7, 8, 15, 16, 31, 32, 53, 63, 64};
    const double edge = ldexp(1, powers[k / 8 % 9]);
    const double beside[] = {edge, -edge, edge - 1, 1 - edge, edge + 1, -edge - 1, edge - 0.5, 0.5 - edge};
    tsr_value v = odd_value(type, k % VALUES);
    return k < PAIRS / 2 ? (tsr_value){.bits = v.bits << k % 64, .real = beside[k % 8]} : v;
}

static int check_cast(const library *from, const library *to)
{
    const size_t bytes = PAIRS * sizes[from->type];
    void *x = malloc(bytes), *got = NULL;
    char copy[PAIRS * 8];
    GrB_Vector u, z;
    GrB_Index got_bytes;
    bool iso;
    int failures = 0;
    for (int k = 0; k < PAIRS; k++)
        tsr_value_store(from->type, x, k, edge_value(from->type, k));
    memcpy(copy, x, bytes);
    must(GrB_Vector_new(&u, from->handle, PAIRS), "new");
    must(GrB_Vector_new(&z, to->handle, PAIRS), "new");
    must(GxB_Vector_pack_Full(u, &x, bytes, false, NULL), "pack");
    must(GrB_Vector_assign(z, NULL, NULL, u, GrB_ALL, PAIRS, NULL), "assign");
    must(GxB_Vector_unpack_Full(z, &got, &got_bytes, &iso, NULL), "unpack");
    for (int k = 0; k < PAIRS; k++) {
        uint64_t have = 0, want = 0;
        tsr_value value = tsr_value_load(from->type, copy, k);
        tsr_value_store(to->type, &have, 0, tsr_ref_cast(to->type, from->type, value));
        memcpy(&want, (char *)got + (iso ? 0 : (size_t)k * sizes[to->type]), sizes[to->type]);
        if (have == want || (tsr_type_is_float(to->type) && isnan(value.real)))
            continue;
        printf("type %d to %d (%llx %Lg): %llx for %llx\n", (int)from->type, (int)to->type, (unsigned long long)value.bits, value.real,
               (unsigned long long)have, (unsigned long long)want);
        failures++;
    }
    free(got);
    GrB_Vector_free(&u);
    GrB_Vector_free(&z);
    return failures;
}

int main(void)
{
    must(GrB_init(GrB_NONBLOCKING), "init");
#define LIBRARY(T) {TSR_##T, GrB_##T, {UNARY(T)}, {BINARY(T)}},
    library libraries[] = {TYPES(LIBRARY)};
    libraries[TSR_FP32].unary[TSR_EWISE_SQRT] = GxB_SQRT_FP32;
    libraries[TSR_FP64].unary[TSR_EWISE_SQRT] = GxB_SQRT_FP64;
    int failures = 0;
    for (size_t k = 0; k < sizeof libraries / sizeof *libraries; k++)
        failures += check_type(&libraries[k]);
    for (size_t k = 0; k < TSR_TYPE_COUNT * TSR_TYPE_COUNT; k++)
        failures += check_cast(&libraries[k / TSR_TYPE_COUNT], &libraries[k % TSR_TYPE_COUNT]);
    GrB_finalize();
    printf("%d differences\n", failures);
    return failures != 0;
}
