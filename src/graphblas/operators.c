/* Built-in types and operators, recognised by their handles.
 * SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE
#include "src/graphblas/operators.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { SLOTS = 2048 };

typedef struct entry {
    const void *handle;
    tsr_operator op;
} entry;

static entry table[SLOTS]; /* unary, binary and selecting operators have different handles */
static GrB_Type type_handles[TSR_TYPE_COUNT];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const char *const suffix[TSR_TYPE_COUNT] = {"BOOL",  "INT8",   "INT16",  "INT32", "INT64", "UINT8",
                                                   "UINT16", "UINT32", "UINT64", "FP32",  "FP64"};

static const struct {
    const char *prefix;
    int code;
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
    {"GrB_VALUELE_", TSR_STEP_LE},        {"GxB_ANY_", TSR_OPERATOR_ANY},
};

static const struct {
    const char *name;
    int code;
} bool_names[] = {{"GrB_LNOT", TSR_STEP_LNOT}, {"GrB_LOR", TSR_STEP_LOR}, {"GrB_LAND", TSR_STEP_LAND},
                  {"GrB_LXOR", TSR_STEP_LXOR}, {"GrB_LXNOR", TSR_STEP_EQ}};

static const char *const positional_names[] = {"FIRSTI", "FIRSTI1", "FIRSTJ", "FIRSTJ1", "SECONDI", "SECONDI1", "SECONDJ", "SECONDJ1"};

/* SuiteSparse renames them too. */
static int on_bool(int code)
{
    switch (code) {
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
    default: return code;
    }
}

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

/* The global variable `name` of the real library holds the handle; a name it lacks is skipped. */
static void add(const char *name, int code, tsr_type type)
{
    void *const *variable = tsr_real_symbol(name);
    if (!variable || !*variable)
        return;
    entry *e = find(*variable);
    if (!e->handle)
        *e = (entry){*variable, {type == TSR_BOOL ? on_bool(code) : code, type}};
}

static void add_positional(void)
{
    for (size_t i = 0; i < sizeof positional_names / sizeof *positional_names; i++)
        for (int bits = 32; bits <= 64; bits += 32) {
            char name[48];
            snprintf(name, sizeof name, "GxB_%s_INT%d", positional_names[i], bits);
            add(name, TSR_OPERATOR_POSITIONAL, TSR_INT64);
        }
}

static void add_types(void)
{
    for (int t = 0; t < TSR_TYPE_COUNT; t++) {
        char name[16];
        snprintf(name, sizeof name, "GrB_%s", suffix[t]);
        GrB_Type *variable = tsr_real_symbol(name);
        type_handles[t] = variable ? *variable : NULL;
    }
}

static void build(void)
{
    add_types();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int t = 0; t < TSR_TYPE_COUNT; t++) {
            char name[48];
            stpcpy(stpcpy(name, names[i].prefix), suffix[t]);
            add(name, names[i].code, (tsr_type)t);
        }
    for (size_t i = 0; i < sizeof bool_names / sizeof *bool_names; i++)
        add(bool_names[i].name, bool_names[i].code, TSR_BOOL);
    add_positional();
}

bool tsr_match_type(tsr_type *type, GrB_Type handle)
{
    pthread_once(&once, build);
    for (int t = 0; t < TSR_TYPE_COUNT; t++)
        if (type_handles[t] == handle) {
            *type = (tsr_type)t;
            return handle != NULL;
        }
    return false;
}

GrB_Type tsr_type_handle(tsr_type type)
{
    pthread_once(&once, build);
    return type_handles[type];
}

bool tsr_match_operator(tsr_operator *op, const void *handle)
{
    pthread_once(&once, build);
    const entry *e = handle ? find(handle) : NULL;
    if (!e || !e->handle)
        return false;
    *op = e->op;
    return true;
}
