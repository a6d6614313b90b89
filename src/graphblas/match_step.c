/* Built-in operators of elementwise steps, recognised by their handles.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>

#include "src/graphblas/step.h"

enum { SLOTS = 2048, ANY = TSR_STEP_COUNT };

typedef struct entry {
    const void *handle;
    int op; /* tsr_step_op, or ANY */
    tsr_type type;
} entry;

static entry table[SLOTS]; /* unary, binary and selecting operators have different handles */
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const char *const suffix[TSR_TYPE_COUNT] = {"BOOL",  "INT8",   "INT16",  "INT32", "INT64", "UINT8",
                                                   "UINT16", "UINT32", "UINT64", "FP32",  "FP64"};

static const struct {
    const char *prefix;
    int op;
} names[] = {
    {"GrB_IDENTITY_", TSR_STEP_IDENTITY}, {"GrB_AINV_", TSR_STEP_AINV},     {"GrB_MINV_", TSR_STEP_MINV},
    {"GrB_ABS_", TSR_STEP_ABS},           {"GxB_LNOT_", TSR_STEP_LNOT},     {"GxB_ONE_", TSR_STEP_ONE},
    {"GxB_SQRT_", TSR_STEP_SQRT},         {"GrB_FIRST_", TSR_STEP_FIRST},   {"GrB_SECOND_", TSR_STEP_SECOND},
    {"GrB_ONEB_", TSR_STEP_PAIR},         {"GxB_PAIR_", TSR_STEP_PAIR},     {"GrB_PLUS_", TSR_STEP_PLUS},
    {"GrB_MINUS_", TSR_STEP_MINUS},       {"GxB_RMINUS_", TSR_STEP_RMINUS}, {"GrB_TIMES_", TSR_STEP_TIMES},
    {"GrB_DIV_", TSR_STEP_DIV},           {"GxB_RDIV_", TSR_STEP_RDIV},     {"GrB_MIN_", TSR_STEP_MIN},
    {"GrB_MAX_", TSR_STEP_MAX},           {"GxB_ISEQ_", TSR_STEP_ISEQ},     {"GxB_ISNE_", TSR_STEP_ISNE},
    {"GxB_ISGT_", TSR_STEP_ISGT},         {"GxB_ISLT_", TSR_STEP_ISLT},     {"GxB_ISGE_", TSR_STEP_ISGE},
    {"GxB_ISLE_", TSR_STEP_ISLE},         {"GxB_LOR_", TSR_STEP_LOR},       {"GxB_LAND_", TSR_STEP_LAND},
    {"GxB_LXOR_", TSR_STEP_LXOR},         {"GrB_EQ_", TSR_STEP_EQ},         {"GrB_NE_", TSR_STEP_NE},
    {"GrB_GT_", TSR_STEP_GT},             {"GrB_LT_", TSR_STEP_LT},         {"GrB_GE_", TSR_STEP_GE},
    {"GrB_LE_", TSR_STEP_LE},             {"GrB_VALUEEQ_", TSR_STEP_EQ},    {"GrB_VALUENE_", TSR_STEP_NE},
    {"GrB_VALUEGT_", TSR_STEP_GT},        {"GrB_VALUELT_", TSR_STEP_LT},    {"GrB_VALUEGE_", TSR_STEP_GE},
    {"GrB_VALUELE_", TSR_STEP_LE},        {"GxB_ANY_", ANY},
};

static const struct {
    const char *name;
    int op;
} bool_names[] = {{"GrB_LNOT", TSR_STEP_LNOT}, {"GrB_LOR", TSR_STEP_LOR}, {"GrB_LAND", TSR_STEP_LAND},
                  {"GrB_LXOR", TSR_STEP_LXOR}, {"GrB_LXNOR", TSR_STEP_EQ}};

static unsigned slot_of(const void *handle)
{
    return (unsigned)(((uintptr_t)handle >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 53) % SLOTS;
}

static entry *find(const void *handle)
{
    unsigned s = slot_of(handle);
    while (table[s].handle && table[s].handle != handle)
        s = (s + 1) % SLOTS;
    return &table[s];
}

static void add(const char *name, int op, tsr_type type)
{
    void *const *variable = tsr_real_symbol(name);
    if (!variable || !*variable)
        return;
    entry *e = find(*variable);
    if (!e->handle)
        *e = (entry){*variable, op, type};
}

static void build(void)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int t = 0; t < TSR_TYPE_COUNT; t++) {
            char name[48];
            snprintf(name, sizeof name, "%s%s", names[i].prefix, suffix[t]);
            add(name, names[i].op, (tsr_type)t);
        }
    for (size_t i = 0; i < sizeof bool_names / sizeof *bool_names; i++)
        add(bool_names[i].name, bool_names[i].op, TSR_BOOL);
}

/* SuiteSparse renames them too. */
static int on_bool(int op)
{
    switch (op) {
    case TSR_STEP_AINV:
    case TSR_STEP_ABS: return TSR_STEP_IDENTITY;
    case TSR_STEP_MINV: return TSR_STEP_ONE;
    case TSR_STEP_PLUS:
    case TSR_STEP_MAX: return TSR_STEP_LOR;
    case TSR_STEP_TIMES:
    case TSR_STEP_MIN: return TSR_STEP_LAND;
    case TSR_STEP_MINUS:
    case TSR_STEP_RMINUS:
    case TSR_STEP_ISNE: return TSR_STEP_LXOR;
    case TSR_STEP_DIV: return TSR_STEP_FIRST;
    case TSR_STEP_RDIV: return TSR_STEP_SECOND;
    case TSR_STEP_ISEQ: return TSR_STEP_EQ;
    case TSR_STEP_ISGT: return TSR_STEP_GT;
    case TSR_STEP_ISLT: return TSR_STEP_LT;
    case TSR_STEP_ISGE: return TSR_STEP_GE;
    case TSR_STEP_ISLE: return TSR_STEP_LE;
    default: return op;
    }
}

static bool match(int *op, tsr_type *type, const void *handle)
{
    pthread_once(&once, build);
    const entry *e = handle ? find(handle) : NULL;
    if (!e || !e->handle)
        return false;
    *type = e->type;
    *op = e->type == TSR_BOOL ? on_bool(e->op) : e->op;
    return true;
}

static bool match_step(tsr_step_op *op, tsr_type *type, const void *handle)
{
    int found;
    if (!match(&found, type, handle) || found == ANY)
        return false;
    *op = (tsr_step_op)found;
    return true;
}

bool tsr_match_unary(tsr_step_op *op, tsr_type *type, GrB_UnaryOp handle)
{
    return match_step(op, type, handle);
}

bool tsr_match_binary(tsr_step_op *op, tsr_type *type, GrB_BinaryOp handle)
{
    return match_step(op, type, handle);
}

bool tsr_match_select(tsr_step_op *op, tsr_type *type, GrB_IndexUnaryOp handle)
{
    return match_step(op, type, handle);
}

bool tsr_match_reduce(tsr_reduce_op *op, tsr_type *type, GrB_Monoid monoid)
{
    int found;
    GrB_BinaryOp handle;
    if (!monoid || tsr_real.GxB_Monoid_operator(&handle, monoid) != GrB_SUCCESS || !match(&found, type, handle))
        return false;
    switch (found) {
    case TSR_STEP_PLUS: *op = TSR_REDUCE_PLUS; return true;
    case TSR_STEP_TIMES: *op = TSR_REDUCE_TIMES; return true;
    case TSR_STEP_MIN: *op = TSR_REDUCE_MIN; return true;
    case TSR_STEP_MAX: *op = TSR_REDUCE_MAX; return true;
    case TSR_STEP_LOR: *op = TSR_REDUCE_LOR; return *type == TSR_BOOL;
    case TSR_STEP_LAND: *op = TSR_REDUCE_LAND; return *type == TSR_BOOL;
    case TSR_STEP_LXOR: *op = TSR_REDUCE_LXOR; return *type == TSR_BOOL;
    case TSR_STEP_EQ: *op = TSR_REDUCE_EQ; return *type == TSR_BOOL;
    default: return false;
    }
}

const char *tsr_step_name(tsr_step_op op)
{
    static const char *const text[TSR_STEP_COUNT] = {
        [TSR_STEP_IDENTITY] = "identity", [TSR_STEP_AINV] = "ainv", [TSR_STEP_MINV] = "minv", [TSR_STEP_ABS] = "abs",
        [TSR_STEP_LNOT] = "lnot", [TSR_STEP_ONE] = "one", [TSR_STEP_SQRT] = "sqrt", [TSR_STEP_FIRST] = "first",
        [TSR_STEP_SECOND] = "second", [TSR_STEP_PAIR] = "pair", [TSR_STEP_PLUS] = "plus", [TSR_STEP_MINUS] = "minus",
        [TSR_STEP_RMINUS] = "rminus", [TSR_STEP_TIMES] = "times", [TSR_STEP_DIV] = "div", [TSR_STEP_RDIV] = "rdiv",
        [TSR_STEP_MIN] = "min", [TSR_STEP_MAX] = "max", [TSR_STEP_ISEQ] = "iseq", [TSR_STEP_ISNE] = "isne",
        [TSR_STEP_ISGT] = "isgt", [TSR_STEP_ISLT] = "islt", [TSR_STEP_ISGE] = "isge", [TSR_STEP_ISLE] = "isle",
        [TSR_STEP_LOR] = "lor", [TSR_STEP_LAND] = "land", [TSR_STEP_LXOR] = "lxor", [TSR_STEP_EQ] = "eq",
        [TSR_STEP_NE] = "ne", [TSR_STEP_GT] = "gt", [TSR_STEP_LT] = "lt", [TSR_STEP_GE] = "ge", [TSR_STEP_LE] = "le"};
    return text[op];
}
