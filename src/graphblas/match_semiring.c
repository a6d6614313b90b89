/* Types, semirings and accumulators, recognised by their operators.
 * SPDX-License-Identifier: Apache-2.0 */
#include <pthread.h>
#include <stdio.h>

#include "src/graphblas/match.h"

/* What a built-in binary operator can be for us. */
typedef enum op_code { OP_PLUS, OP_TIMES, OP_MIN, OP_MAX, OP_ANY, OP_FIRST, OP_SECOND, OP_PAIR, OP_AND, OP_OR, OP_POSITIONAL } op_code;

typedef struct op_entry {
    const void *handle;
    op_code code;
    tsr_type type;
} op_entry;

#define OP_SLOTS 1024u

static op_entry op_table[OP_SLOTS];
static GrB_Type type_handles[TSR_TYPE_COUNT];
static pthread_once_t tables_once = PTHREAD_ONCE_INIT;

static const char *const suffix[TSR_TYPE_COUNT] = {"BOOL",  "INT8",   "INT16",  "INT32", "INT64", "UINT8",
                                                   "UINT16", "UINT32", "UINT64", "FP32",  "FP64"};

static unsigned slot_of(const void *handle)
{
    return (unsigned)(((uintptr_t)handle >> 4) * UINT64_C(0x9E3779B97F4A7C15) >> 54) % OP_SLOTS;
}

static const op_entry *find_op(const void *handle)
{
    for (unsigned s = slot_of(handle); op_table[s].handle; s = (s + 1) % OP_SLOTS)
        if (op_table[s].handle == handle)
            return &op_table[s];
    return NULL;
}

/* The global variable `name` of the real library holds the handle; a name it lacks is skipped. */
static void add_op(const char *name, op_code code, tsr_type type)
{
    void *const *variable = tsr_real_symbol(name);
    if (!variable || !*variable || find_op(*variable))
        return;
    unsigned s = slot_of(*variable);
    while (op_table[s].handle)
        s = (s + 1) % OP_SLOTS;
    op_table[s] = (op_entry){*variable, code, type};
}

static void add_typed_ops(void)
{
    static const struct {
        const char *prefix;
        op_code code;
    } ops[] = {
        {"GrB_PLUS_", OP_PLUS}, {"GrB_TIMES_", OP_TIMES}, {"GrB_MIN_", OP_MIN},   {"GrB_MAX_", OP_MAX},
        {"GxB_ANY_", OP_ANY},   {"GrB_FIRST_", OP_FIRST}, {"GrB_SECOND_", OP_SECOND}, {"GrB_ONEB_", OP_PAIR},
        {"GxB_PAIR_", OP_PAIR}, {"GxB_LAND_", OP_AND},    {"GxB_LOR_", OP_OR},
    };
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        for (int t = 0; t < TSR_TYPE_COUNT; t++) {
            char name[48];
            snprintf(name, sizeof name, "%s%s", ops[i].prefix, suffix[t]);
            add_op(name, ops[i].code, (tsr_type)t);
        }
}

static void add_positional_ops(void)
{
    static const char *const names[] = {"FIRSTI", "FIRSTI1", "FIRSTJ", "FIRSTJ1", "SECONDI", "SECONDI1", "SECONDJ", "SECONDJ1"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        for (int bits = 32; bits <= 64; bits += 32) {
            char name[48];
            snprintf(name, sizeof name, "GxB_%s_INT%d", names[i], bits);
            add_op(name, OP_POSITIONAL, TSR_INT64);
        }
}

static void build_tables(void)
{
    for (int t = 0; t < TSR_TYPE_COUNT; t++) {
        char name[16];
        snprintf(name, sizeof name, "GrB_%s", suffix[t]);
        GrB_Type *variable = tsr_real_symbol(name);
        type_handles[t] = variable ? *variable : NULL;
    }
    add_op("GrB_LAND", OP_AND, TSR_BOOL);
    add_op("GrB_LOR", OP_OR, TSR_BOOL);
    add_typed_ops();
    add_positional_ops();
}

bool tsr_match_type(tsr_type *type, GrB_Type handle)
{
    pthread_once(&tables_once, build_tables);
    for (int t = 0; t < TSR_TYPE_COUNT; t++)
        if (type_handles[t] == handle) {
            *type = (tsr_type)t;
            return handle != NULL;
        }
    return false;
}

GrB_Type tsr_type_handle(tsr_type type)
{
    pthread_once(&tables_once, build_tables);
    return type_handles[type];
}

/* On bool, plus and max are lor; min and times are land (SuiteSparse renames them too). */
static bool as_add(tsr_add *add, const op_entry *op)
{
    bool is_bool = op->type == TSR_BOOL;
    switch (op->code) {
    case OP_PLUS: *add = is_bool ? TSR_ADD_LOR : TSR_ADD_PLUS; return true;
    case OP_MAX: *add = is_bool ? TSR_ADD_LOR : TSR_ADD_MAX; return true;
    case OP_MIN: *add = TSR_ADD_MIN; return !is_bool;
    case OP_ANY: *add = TSR_ADD_ANY; return true;
    case OP_OR: *add = TSR_ADD_LOR; return is_bool;
    default: return false;
    }
}

static bool as_mul(tsr_mul *mul, const op_entry *op)
{
    bool is_bool = op->type == TSR_BOOL;
    switch (op->code) {
    case OP_TIMES: *mul = is_bool ? TSR_MUL_AND : TSR_MUL_TIMES; return true;
    case OP_MIN: *mul = TSR_MUL_AND; return is_bool;
    case OP_AND: *mul = TSR_MUL_AND; return true;
    case OP_FIRST: *mul = TSR_MUL_FIRST; return true;
    case OP_SECOND: *mul = TSR_MUL_SECOND; return true;
    case OP_PAIR: *mul = TSR_MUL_PAIR; return true;
    case OP_PLUS: *mul = TSR_MUL_PLUS; return !is_bool;
    default: return false;
    }
}

bool tsr_match_semiring(tsr_semiring *out, GrB_Semiring semiring)
{
    pthread_once(&tables_once, build_tables);
    GrB_Monoid monoid;
    GrB_BinaryOp add, mul;
    if (tsr_real.GxB_Semiring_add(&monoid, semiring) != GrB_SUCCESS ||
        tsr_real.GxB_Semiring_multiply(&mul, semiring) != GrB_SUCCESS ||
        tsr_real.GxB_Monoid_operator(&add, monoid) != GrB_SUCCESS)
        return false;
    const op_entry *a = find_op(add), *m = find_op(mul);
    if (!a || !m || a->type != m->type)
        return false;
    out->type = a->type;
    return as_add(&out->add, a) && as_mul(&out->mul, m);
}

bool tsr_match_plus(GrB_BinaryOp op, tsr_type type)
{
    pthread_once(&tables_once, build_tables);
    const op_entry *known = find_op(op);
    return known && known->code == OP_PLUS && known->type == type && type != TSR_BOOL;
}

bool tsr_match_accum(GrB_BinaryOp accum)
{
    pthread_once(&tables_once, build_tables);
    const op_entry *known = find_op(accum);
    if (known)
        return known->code != OP_POSITIONAL;
    GrB_Type z, x, y;
    tsr_type unused;
    return tsr_real.GxB_BinaryOp_ztype(&z, accum) == GrB_SUCCESS && tsr_match_type(&unused, z) &&
           tsr_real.GxB_BinaryOp_xtype(&x, accum) == GrB_SUCCESS && tsr_match_type(&unused, x) &&
           tsr_real.GxB_BinaryOp_ytype(&y, accum) == GrB_SUCCESS && tsr_match_type(&unused, y);
}
