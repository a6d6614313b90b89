/* Typed GraphBLAS calls behind one integer: the eleven built-in types and the user-defined one.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "program.h"

static GrB_Type user_type;

bool is_float(int type)
{
    return type == T_FP32 || type == T_FP64;
}

size_t type_size(int type)
{
    static const size_t sizes[NKINDS] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 4, 8, sizeof(user_value)};
    return sizes[type];
}

GrB_Type type_handle(int type)
{
#define X(N, T, C) case N: return GrB_##T;
    switch (type) {
        EACH_TYPE(X)
    }
#undef X
    if (!user_type) GrB_Type_new(&user_type, sizeof(user_value));
    return user_type;
}

void value_put(int type, void *x, int64_t p, int v)
{
#define X(N, T, C) case N: ((C *)x)[p] = (C)(is_float(N) ? v / 2.0 : (N) == T_BOOL ? (v & 1) : v); return;
    switch (type) {
        EACH_TYPE(X)
    }
#undef X
    ((user_value *)x)[p] = (user_value){(uint32_t)v, (uint32_t)(3 - v)};
}

void *value_at(int type, void *x, int64_t p)
{
    return (char *)x + (size_t)p * type_size(type);
}

static uint64_t double_bits(double d)
{
    uint64_t bits = 0;
    if (isnan(d)) return 0x7FF8000000000000u;
    if (d != 0) memcpy(&bits, &d, sizeof d);
    return bits;
}

uint64_t value_bits(int type, const void *x, int64_t p)
{
#define X(N, T, C) case N: return is_float(N) ? double_bits((double)((const C *)x)[p]) : (uint64_t)((const C *)x)[p];
    switch (type) {
        EACH_TYPE(X)
    }
#undef X
    const user_value *u = (const user_value *)x + p;
    return (uint64_t)u->a << 32 | u->b;
}

GrB_Info mat_build(int type, GrB_Matrix C, const GrB_Index *I, const GrB_Index *J, const void *X_, GrB_Index n,
                   GrB_BinaryOp dup)
{
#define X(N, T, C_) case N: return GrB_Matrix_build_##T(C, I, J, X_, n, dup);
    switch (type) {
        EACH_TYPE(X)
    }
#undef X
    return GrB_Matrix_build_UDT(C, I, J, X_, n, dup);
}

GrB_Info vec_build(int type, GrB_Vector w, const GrB_Index *I, const void *X_, GrB_Index n, GrB_BinaryOp dup)
{
#define X(N, T, C) case N: return GrB_Vector_build_##T(w, I, X_, n, dup);
    switch (type) {
        EACH_TYPE(X)
    }
#undef X
    return GrB_Vector_build_UDT(w, I, X_, n, dup);
}

GrB_Info mat_set(int type, GrB_Matrix C, const void *x, GrB_Index i, GrB_Index j)
{
#define X(N, T, C_) case N: return GrB_Matrix_setElement_##T(C, *(const C_ *)x, i, j);
    switch (type) {
        EACH_TYPE(X)
    }
#undef X
    return GrB_Matrix_setElement_UDT(C, (void *)x, i, j);
}

GrB_Info vec_set(int type, GrB_Vector w, const void *x, GrB_Index i)
{
#define X(N, T, C) case N: return GrB_Vector_setElement_##T(w, *(const C *)x, i);
    switch (type) {
        EACH_TYPE(X)
    }
#undef X
    return GrB_Vector_setElement_UDT(w, (void *)x, i);
}

GrB_Info mat_get(int type, void *x, GrB_Matrix A, GrB_Index i, GrB_Index j)
{
#define X(N, T, C) case N: return GrB_Matrix_extractElement_##T(x, A, i, j);
    switch (type) {
        EACH_TYPE(X)
    }
#undef X
    return GrB_Matrix_extractElement_UDT(x, A, i, j);
}

GrB_Info vec_get(int type, void *x, GrB_Vector u, GrB_Index i)
{
#define X(N, T, C) case N: return GrB_Vector_extractElement_##T(x, u, i);
    switch (type) {
        EACH_TYPE(X)
    }
#undef X
    return GrB_Vector_extractElement_UDT(x, u, i);
}

GrB_Info mat_tuples(int type, GrB_Index *I, GrB_Index *J, void *X_, GrB_Index *n, GrB_Matrix A)
{
#define X(N, T, C) case N: return GrB_Matrix_extractTuples_##T(I, J, X_, n, A);
    switch (type) {
        EACH_TYPE(X)
    }
#undef X
    return GrB_Matrix_extractTuples_UDT(I, J, X_, n, A);
}

GrB_Info vec_tuples(int type, GrB_Index *I, void *X_, GrB_Index *n, GrB_Vector u)
{
#define X(N, T, C) case N: return GrB_Vector_extractTuples_##T(I, X_, n, u);
    switch (type) {
        EACH_TYPE(X)
    }
#undef X
    return GrB_Vector_extractTuples_UDT(I, X_, n, u);
}

GrB_Info mat_assign_value(int type, GrB_Matrix C, GrB_Matrix M, GrB_BinaryOp accum, const void *x, const GrB_Index *I,
                          GrB_Index ni, const GrB_Index *J, GrB_Index nj, GrB_Descriptor desc)
{
#define X(N, T, C_) case N: return GrB_Matrix_assign_##T(C, M, accum, *(const C_ *)x, I, ni, J, nj, desc);
    switch (type) {
        EACH_TYPE(X)
    }
#undef X
    return GrB_Matrix_assign_UDT(C, M, accum, (void *)x, I, ni, J, nj, desc);
}

GrB_Info mat_subassign_value(int type, GrB_Matrix C, GrB_Matrix M, GrB_BinaryOp accum, const void *x,
                             const GrB_Index *I, GrB_Index ni, const GrB_Index *J, GrB_Index nj, GrB_Descriptor desc)
{
#define X(N, T, C_) case N: return GxB_Matrix_subassign_##T(C, M, accum, *(const C_ *)x, I, ni, J, nj, desc);
    switch (type) {
        EACH_TYPE(X)
    }
#undef X
    return GxB_Matrix_subassign_UDT(C, M, accum, (void *)x, I, ni, J, nj, desc);
}

GrB_Info vec_assign_value(int type, GrB_Vector w, GrB_Vector m, GrB_BinaryOp accum, const void *x, const GrB_Index *I,
                          GrB_Index ni, GrB_Descriptor desc)
{
#define X(N, T, C) case N: return GrB_Vector_assign_##T(w, m, accum, *(const C *)x, I, ni, desc);
    switch (type) {
        EACH_TYPE(X)
    }
#undef X
    return GrB_Vector_assign_UDT(w, m, accum, (void *)x, I, ni, desc);
}

GrB_Info mat_bind2(int type, GrB_Matrix C, GrB_Matrix M, GrB_BinaryOp accum, GrB_BinaryOp op, GrB_Matrix A,
                   const void *y, GrB_Descriptor desc)
{
#define X(N, T, C_) case N: return GrB_Matrix_apply_BinaryOp2nd_##T(C, M, accum, op, A, *(const C_ *)y, desc);
    switch (type) {
        EACH_TYPE(X)
    }
#undef X
    return GrB_Matrix_apply_BinaryOp2nd_UDT(C, M, accum, op, A, (void *)y, desc);
}

GrB_Info vec_bind2(int type, GrB_Vector w, GrB_Vector m, GrB_BinaryOp accum, GrB_BinaryOp op, GrB_Vector u,
                   const void *y, GrB_Descriptor desc)
{
#define X(N, T, C) case N: return GrB_Vector_apply_BinaryOp2nd_##T(w, m, accum, op, u, *(const C *)y, desc);
    switch (type) {
        EACH_TYPE(X)
    }
#undef X
    return GrB_Vector_apply_BinaryOp2nd_UDT(w, m, accum, op, u, (void *)y, desc);
}

GrB_Info mat_apply_index(int type, GrB_Matrix C, GrB_Matrix M, GrB_BinaryOp accum, GrB_IndexUnaryOp op, GrB_Matrix A,
                         const void *y, GrB_Descriptor desc)
{
#define X(N, T, C_) case N: return GrB_Matrix_apply_IndexOp_##T(C, M, accum, op, A, *(const C_ *)y, desc);
    switch (type) {
        EACH_TYPE(X)
    }
#undef X
    return GrB_Matrix_apply_IndexOp_UDT(C, M, accum, op, A, (void *)y, desc);
}

GrB_Info vec_apply_index(int type, GrB_Vector w, GrB_Vector m, GrB_BinaryOp accum, GrB_IndexUnaryOp op, GrB_Vector u,
                         const void *y, GrB_Descriptor desc)
{
#define X(N, T, C_) case N: return GrB_Vector_apply_IndexOp_##T(w, m, accum, op, u, *(const C_ *)y, desc);
    switch (type) {
        EACH_TYPE(X)
    }
#undef X
    return GrB_Vector_apply_IndexOp_UDT(w, m, accum, op, u, (void *)y, desc);
}

GrB_Info mat_select(int type, GrB_Matrix C, GrB_Matrix M, GrB_BinaryOp accum, GrB_IndexUnaryOp op, GrB_Matrix A,
                    const void *y, GrB_Descriptor desc)
{
#define X(N, T, C_) case N: return GrB_Matrix_select_##T(C, M, accum, op, A, *(const C_ *)y, desc);
    switch (type) {
        EACH_TYPE(X)
    }
#undef X
    return GrB_Matrix_select_UDT(C, M, accum, op, A, (void *)y, desc);
}

GrB_Info vec_select(int type, GrB_Vector w, GrB_Vector m, GrB_BinaryOp accum, GrB_IndexUnaryOp op, GrB_Vector u,
                    const void *y, GrB_Descriptor desc)
{
#define X(N, T, C) case N: return GrB_Vector_select_##T(w, m, accum, op, u, *(const C *)y, desc);
    switch (type) {
        EACH_TYPE(X)
    }
#undef X
    return GrB_Vector_select_UDT(w, m, accum, op, u, (void *)y, desc);
}

GrB_Info mat_reduce_value(int type, void *x, GrB_BinaryOp accum, GrB_Monoid mon, GrB_Matrix A)
{
#define X(N, T, C) case N: return GrB_Matrix_reduce_##T(x, accum, mon, A, NULL);
    switch (type) {
        EACH_TYPE(X)
    }
#undef X
    return GrB_Matrix_reduce_UDT(x, accum, mon, A, NULL);
}

GrB_Info vec_reduce_value(int type, void *x, GrB_BinaryOp accum, GrB_Monoid mon, GrB_Vector u)
{
#define X(N, T, C) case N: return GrB_Vector_reduce_##T(x, accum, mon, u, NULL);
    switch (type) {
        EACH_TYPE(X)
    }
#undef X
    return GrB_Vector_reduce_UDT(x, accum, mon, u, NULL);
}

GrB_Info mat_export_copy(int type, GrB_Index *p, GrB_Index *i, void *x, GrB_Index *np, GrB_Index *ni, GrB_Index *nx,
                         GrB_Format format, GrB_Matrix A)
{
#define X(N, T, C) case N: return GrB_Matrix_export_##T(p, i, x, np, ni, nx, format, A);
    switch (type) {
        EACH_TYPE(X)
    }
#undef X
    return GrB_Matrix_export_UDT(p, i, x, np, ni, nx, format, A);
}

GrB_Info mat_import_copy(int type, GrB_Matrix *A, GrB_Index nrows, GrB_Index ncols, const GrB_Index *p,
                         const GrB_Index *i, const void *x, GrB_Index np, GrB_Index ni, GrB_Index nx, GrB_Format format)
{
    GrB_Type handle = type_handle(type);
#define X(N, T, C) case N: return GrB_Matrix_import_##T(A, handle, nrows, ncols, p, i, x, np, ni, nx, format);
    switch (type) {
        EACH_TYPE(X)
    }
#undef X
    return GrB_Matrix_import_UDT(A, handle, nrows, ncols, p, i, x, np, ni, nx, format);
}

GrB_Info scalar_set(int type, GrB_Scalar s, const void *x)
{
#define X(N, T, C) case N: return GrB_Scalar_setElement_##T(s, *(const C *)x);
    switch (type) {
        EACH_TYPE(X)
    }
#undef X
    return GrB_Scalar_setElement_UDT(s, (void *)x);
}

GrB_Info scalar_get(int type, void *x, GrB_Scalar s)
{
#define X(N, T, C) case N: return GrB_Scalar_extractElement_##T(x, s);
    switch (type) {
        EACH_TYPE(X)
    }
#undef X
    return GrB_Scalar_extractElement_UDT(x, s);
}
