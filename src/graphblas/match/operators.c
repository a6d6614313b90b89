/* Built-in types and operators, recognised by their handles.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "src/graphblas/match/operators.h"
#include "src/graphblas/match/own_operators.h"

#include <string.h>

/* ---- memory ---- */

/* A slot is the handle and the fact in one word, so that no lock is needed; addresses have 47 bits. */
enum { MEMO_SLOTS = 64, FACT_BITS = 17 };
static uint64_t memos[TSR_MEMO_COUNT][MEMO_SLOTS];

static uint64_t *memo_slot(tsr_memo memo, const void *handle)
{
    const uintptr_t address = (uintptr_t)handle;
    return &memos[memo][(address >> 4 ^ address >> 10) % MEMO_SLOTS];
}

bool tsr_memo_find(unsigned *fact, tsr_memo memo, const void *handle)
{
    const uint64_t word = __atomic_load_n(memo_slot(memo, handle), __ATOMIC_RELAXED);
    *fact = (unsigned)word & ((1U << FACT_BITS) - 1);
    return handle && word >> FACT_BITS == (uintptr_t)handle;
}

void tsr_memo_keep(tsr_memo memo, const void *handle, unsigned fact)
{
    const uint64_t address = (uintptr_t)handle;
    if (handle && address >> (64 - FACT_BITS) == 0 && fact >> FACT_BITS == 0)
        __atomic_store_n(memo_slot(memo, handle), address << FACT_BITS | fact, __ATOMIC_RELAXED);
}

void tsr_memo_forget(const void *handle)
{
    unsigned unused;
    tsr_own_forget(handle);
    for (int memo = 0; memo < TSR_MEMO_COUNT; memo++)
        if (tsr_memo_find(&unused, (tsr_memo)memo, handle))
            __atomic_store_n(memo_slot((tsr_memo)memo, handle), 0, __ATOMIC_RELAXED);
}

/* ---- names ---- */

static const char *const suffix[TSR_TYPE_COUNT] = {"BOOL",  "INT8",   "INT16",  "INT32", "INT64", "UINT8",
                                                   "UINT16", "UINT32", "UINT64", "FP32",  "FP64"};

/* Names are asked for one after the other until a handle is found, some .3 us each the first time: those of one kind only, and what programs have
 * most comes first. */
static const struct {
    const char *name; /* after "_" follows a type */
    int code;
    tsr_operator_kind kind;
} operators[] = {
    {"GrB_PLUS_", TSR_EWISE_PLUS, TSR_BINARY},
    {"GrB_TIMES_", TSR_EWISE_TIMES, TSR_BINARY},
    {"GrB_SECOND_", TSR_EWISE_SECOND, TSR_BINARY},
    {"GrB_FIRST_", TSR_EWISE_FIRST, TSR_BINARY},
    {"GxB_PAIR_", TSR_EWISE_PAIR, TSR_BINARY},
    {"GrB_ONEB_", TSR_EWISE_PAIR, TSR_BINARY},
    {"GxB_ANY_", TSR_OPERATOR_ANY, TSR_BINARY},
    {"GrB_MIN_", TSR_EWISE_MIN, TSR_BINARY},
    {"GrB_MAX_", TSR_EWISE_MAX, TSR_BINARY},
    {"GxB_LOR_", TSR_EWISE_LOR, TSR_BINARY},
    {"GxB_LAND_", TSR_EWISE_LAND, TSR_BINARY},
    {"GxB_LXOR_", TSR_EWISE_LXOR, TSR_BINARY},
    {"GrB_MINUS_", TSR_EWISE_MINUS, TSR_BINARY},
    {"GxB_RMINUS_", TSR_EWISE_RMINUS, TSR_BINARY},
    {"GrB_DIV_", TSR_EWISE_DIV, TSR_BINARY},
    {"GxB_RDIV_", TSR_EWISE_RDIV, TSR_BINARY},
    {"GxB_ISEQ_", TSR_EWISE_ISEQ, TSR_BINARY},
    {"GxB_ISNE_", TSR_EWISE_ISNE, TSR_BINARY},
    {"GxB_ISGT_", TSR_EWISE_ISGT, TSR_BINARY},
    {"GxB_ISLT_", TSR_EWISE_ISLT, TSR_BINARY},
    {"GxB_ISGE_", TSR_EWISE_ISGE, TSR_BINARY},
    {"GxB_ISLE_", TSR_EWISE_ISLE, TSR_BINARY},
    {"GrB_EQ_", TSR_EWISE_EQ, TSR_BINARY},
    {"GrB_NE_", TSR_EWISE_NE, TSR_BINARY},
    {"GrB_GT_", TSR_EWISE_GT, TSR_BINARY},
    {"GrB_LT_", TSR_EWISE_LT, TSR_BINARY},
    {"GrB_GE_", TSR_EWISE_GE, TSR_BINARY},
    {"GrB_LE_", TSR_EWISE_LE, TSR_BINARY},
    {"GxB_FIRSTI_", TSR_OPERATOR_FIRSTI, TSR_BINARY},
    {"GxB_FIRSTI1_", TSR_OPERATOR_FIRSTI1, TSR_BINARY},
    {"GxB_FIRSTJ_", TSR_OPERATOR_FIRSTJ, TSR_BINARY},
    {"GxB_FIRSTJ1_", TSR_OPERATOR_FIRSTJ1, TSR_BINARY},
    {"GxB_SECONDI_", TSR_OPERATOR_SECONDI, TSR_BINARY},
    {"GxB_SECONDI1_", TSR_OPERATOR_SECONDI1, TSR_BINARY},
    {"GxB_SECONDJ_", TSR_OPERATOR_SECONDJ, TSR_BINARY},
    {"GxB_SECONDJ1_", TSR_OPERATOR_SECONDJ1, TSR_BINARY},
    {"GxB_POW_", TSR_OPERATOR_POW, TSR_BINARY},
    {"GrB_IDENTITY_", TSR_EWISE_IDENTITY, TSR_UNARY},
    {"GrB_AINV_", TSR_EWISE_AINV, TSR_UNARY},
    {"GrB_MINV_", TSR_EWISE_MINV, TSR_UNARY},
    {"GrB_ABS_", TSR_EWISE_ABS, TSR_UNARY},
    {"GxB_LNOT_", TSR_EWISE_LNOT, TSR_UNARY},
    {"GxB_ONE_", TSR_EWISE_ONE, TSR_UNARY},
    {"GxB_SQRT_", TSR_EWISE_SQRT, TSR_UNARY},
    {"GrB_VALUEEQ_", TSR_EWISE_EQ, TSR_INDEX_UNARY},
    {"GrB_VALUENE_", TSR_EWISE_NE, TSR_INDEX_UNARY},
    {"GrB_VALUEGT_", TSR_EWISE_GT, TSR_INDEX_UNARY},
    {"GrB_VALUELT_", TSR_EWISE_LT, TSR_INDEX_UNARY},
    {"GrB_VALUEGE_", TSR_EWISE_GE, TSR_INDEX_UNARY},
    {"GrB_VALUELE_", TSR_EWISE_LE, TSR_INDEX_UNARY},
    {"GrB_TRIL", TSR_OPERATOR_TRIL, TSR_INDEX_UNARY},
    {"GrB_TRIU", TSR_OPERATOR_TRIU, TSR_INDEX_UNARY},
    {"GrB_DIAG", TSR_OPERATOR_DIAG, TSR_INDEX_UNARY},
    {"GrB_OFFDIAG", TSR_OPERATOR_OFFDIAG, TSR_INDEX_UNARY},
    {"GrB_ROWLE", TSR_OPERATOR_ROWLE, TSR_INDEX_UNARY},
    {"GrB_ROWGT", TSR_OPERATOR_ROWGT, TSR_INDEX_UNARY},
    {"GrB_COLLE", TSR_OPERATOR_COLLE, TSR_INDEX_UNARY},
    {"GrB_COLGT", TSR_OPERATOR_COLGT, TSR_INDEX_UNARY},
    {"GrB_ROWINDEX_", TSR_OPERATOR_ROWINDEX, TSR_INDEX_UNARY},
    {"GrB_COLINDEX_", TSR_OPERATOR_COLINDEX, TSR_INDEX_UNARY},
    {"GrB_DIAGINDEX_", TSR_OPERATOR_DIAGINDEX, TSR_INDEX_UNARY},
    {"GrB_LNOT", TSR_EWISE_LNOT, TSR_UNARY}, /* from here on only BOOL */
    {"GrB_LOR", TSR_EWISE_LOR, TSR_BINARY},
    {"GrB_LAND", TSR_EWISE_LAND, TSR_BINARY},
    {"GrB_LXOR", TSR_EWISE_LXOR, TSR_BINARY},
    {"GrB_LXNOR", TSR_EWISE_EQ, TSR_BINARY},
};
enum { BOOL_ONLY = 5, OPERATORS = sizeof operators / sizeof *operators };

/* NULL: never asked for.  Whoever asks gets the same. */
static const void *type_handles[TSR_TYPE_COUNT], *operator_handles[TSR_TYPE_COUNT][OPERATORS];
static const char absent[1];

/* SuiteSparse renames them too. */
static int on_bool(int code)
{
    switch (code) {
    case TSR_EWISE_AINV:
    case TSR_EWISE_ABS: return TSR_EWISE_IDENTITY;
    case TSR_EWISE_MINV: return TSR_EWISE_ONE;
    case TSR_EWISE_PLUS:
    case TSR_EWISE_MAX: return TSR_EWISE_LOR;
    case TSR_EWISE_TIMES:
    case TSR_EWISE_MIN: return TSR_EWISE_LAND;
    case TSR_EWISE_MINUS:
    case TSR_EWISE_RMINUS:
    case TSR_EWISE_ISNE: return TSR_EWISE_LXOR;
    case TSR_EWISE_DIV: return TSR_EWISE_FIRST;
    case TSR_EWISE_RDIV: return TSR_EWISE_SECOND;
    case TSR_EWISE_ISEQ: return TSR_EWISE_EQ;
    case TSR_EWISE_ISGT: return TSR_EWISE_GT;
    case TSR_EWISE_ISLT: return TSR_EWISE_LT;
    case TSR_EWISE_ISGE: return TSR_EWISE_GE;
    case TSR_EWISE_ISLE: return TSR_EWISE_LE;
    default: return code;
    }
}

/* The global variable of the real library holds the handle. */
static const void *handle_named(const void **kept, const char *start, tsr_type type)
{
    const void *handle = __atomic_load_n(kept, __ATOMIC_RELAXED);
    if (handle)
        return handle;
    char name[48], *end = stpcpy(name, start);
    if (end[-1] == '_')
        strcpy(end, suffix[type]);
    void *const *variable = tsr_real_symbol(name);
    handle = variable && *variable ? *variable : absent;
    __atomic_store_n(kept, handle, __ATOMIC_RELAXED);
    return handle;
}

static const void *handle_of(tsr_type type)
{
    return handle_named(&type_handles[type], "GrB_", type);
}

bool tsr_match_type(tsr_type *type, GrB_Type handle)
{
    /* what graphs have most comes first: a first look for a name is half a microsecond */
    static const unsigned char types[TSR_TYPE_COUNT] = {TSR_FP64, TSR_BOOL, TSR_INT64, TSR_FP32, TSR_INT32, TSR_UINT64, TSR_UINT32,
                                                        TSR_INT8, TSR_UINT8, TSR_INT16, TSR_UINT16};
    static _Thread_local const void *last;
    static _Thread_local tsr_type type_of_last;
    if (handle && handle == last) {
        *type = type_of_last;
        return true;
    }
    for (int t = 0; handle && t < TSR_TYPE_COUNT; t++)
        if (handle_of((tsr_type)types[t]) == handle) {
            last = handle;
            *type = type_of_last = (tsr_type)types[t];
            return true;
        }
    return false;
}

GrB_Semiring tsr_semiring_named(const char *start, tsr_type type)
{
    char name[48];
    strcpy(stpcpy(name, start), suffix[type]);
    void *const *variable = tsr_real_symbol(name);
    return variable ? (GrB_Semiring)*variable : NULL;
}

GrB_Type tsr_type_handle(tsr_type type)
{
    const void *handle = handle_of(type);
    return handle == absent ? NULL : (GrB_Type)(uintptr_t)handle;
}

bool tsr_match_operator(tsr_operator *op, tsr_operator_kind kind, const void *handle, GrB_Type first)
{
    tsr_type type;
    if (!handle || !tsr_match_type(&type, first))
        return false;
    const int count = type == TSR_BOOL ? OPERATORS : OPERATORS - BOOL_ONLY;
    for (int i = 0; i < count; i++)
        if (operators[i].kind == kind && handle_named(&operator_handles[type][i], operators[i].name, type) == handle) {
            *op = (tsr_operator){type == TSR_BOOL ? on_bool(operators[i].code) : operators[i].code, type};
            return true;
        }
    return false;
}
