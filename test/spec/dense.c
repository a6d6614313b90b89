/* The dense mimic.
 * SPDX-License-Identifier: Apache-2.0 */
#include "dense.h"

#include <math.h>

static bool is_unsigned(int type)
{
    return type >= T_UINT8 && type <= T_UINT64;
}

static int64_t wrap(int type, int64_t i)
{
    switch (type) {
        case T_BOOL: return i != 0;
        case T_INT8: return (int8_t)i;
        case T_INT16: return (int16_t)i;
        case T_INT32: return (int32_t)i;
        case T_UINT8: return (uint8_t)i;
        case T_UINT16: return (uint16_t)i;
        case T_UINT32: return (uint32_t)i;
        default: return i;
    }
}

/* SuiteSparse's rule: NaN is 0, what is out of range is the nearest end. */
static int64_t saturate(int type, long double f)
{
    int bits = 8 * (int)type_size(type);
    long double highest = ldexpl(1, is_unsigned(type) ? bits : bits - 1), lowest = is_unsigned(type) ? 0 : -highest;
    if (isnan(f)) return 0;
    if (f >= highest) return is_unsigned(type) ? wrap(type, -1) : (int64_t)(((uint64_t)1 << (bits - 1)) - 1);
    if (f <= lowest) return is_unsigned(type) ? 0 : (int64_t)(~(uint64_t)0 << (bits - 1));
    return is_unsigned(type) ? (int64_t)(uint64_t)f : (int64_t)f;
}

static long double rounded_to(int type, long double f)
{
    return type == T_FP32 ? (long double)(float)f : (long double)(double)f;
}

cell cell_cast(cell x, int from, int to, bool rounded)
{
    if (from == to && !(rounded && is_float(to))) return x;
    if (is_float(to)) {
        if (!is_float(from)) x.f = from == T_UINT64 ? (long double)(uint64_t)x.i : (long double)x.i;
        if (rounded) x.f = rounded_to(to, x.f);
    } else if (is_float(from)) {
        x.i = to == T_BOOL ? x.f != 0 : saturate(to, x.f);
    } else {
        x.i = wrap(to, x.i);
    }
    return x;
}

static bool less(int type, cell x, cell y)
{
    return is_unsigned(type) ? (uint64_t)x.i < (uint64_t)y.i : x.i < y.i;
}

static int64_t integer_op(int op, int type, cell x, cell y)
{
    uint64_t a = (uint64_t)x.i, b = (uint64_t)y.i;
    switch (op) {
        case OP_TIMES: return (int64_t)(a * b);
        case OP_PLUS: return (int64_t)(a + b);
        case OP_MINUS: return type == T_BOOL ? x.i != y.i : (int64_t)(a - b);
        case OP_MIN: return less(type, y, x) ? y.i : x.i;
        case OP_MAX: return less(type, x, y) ? y.i : x.i;
        case OP_LAND: return x.i && y.i;
        case OP_LOR: return x.i || y.i;
        case OP_SECOND: return y.i;
        case OP_PAIR: return 1;
        default: return x.i;
    }
}

static long double float_op(int op, long double x, long double y)
{
    switch (op) {
        case OP_TIMES: return x * y;
        case OP_PLUS: return x + y;
        case OP_MINUS: return x - y;
        case OP_MIN: return fminl(x, y);
        case OP_MAX: return fmaxl(x, y);
        case OP_LAND: return x != 0 && y != 0;
        case OP_LOR: return x != 0 || y != 0;
        case OP_SECOND: return y;
        case OP_PAIR: return 1;
        default: return x;
    }
}

cell cell_op(int op, int type, cell x, cell y)
{
    cell z = {.there = true};
    if (is_float(type)) z.f = float_op(op, x.f, y.f);
    else z.i = wrap(type, integer_op(op, type, x, y));
    return z;
}

bool cell_equal(int type, cell x, cell y)
{
    if (x.there != y.there) return false;
    if (!x.there) return true;
    if (!is_float(type)) return x.i == y.i;
    long double a = rounded_to(type, x.f), b = rounded_to(type, y.f);
    return a == b || (isnan(a) && isnan(b));
}

/* ---- the product ---- */

static int monoid_op(int mon)
{
    static const int ops[] = {OP_PLUS, OP_MIN, OP_MAX, OP_FIRST, OP_LOR};
    return ops[mon];
}

static cell entry(const dense *A, bool transposed, int i, int j, int type)
{
    cell x = transposed ? A->at[j][i] : A->at[i][j];
    return cell_cast(x, A->type, type, true);
}

static cell inner_product(const product_case *p, int i, int j)
{
    int inner = p->t0 ? p->A->nrows : p->A->ncols;
    cell sum = {0};
    for (int k = 0; k < inner; k++) {
        cell a = entry(p->A, p->t0, i, k, p->type), b = entry(p->B, p->t1, k, j, p->type);
        if (!a.there || !b.there) continue;
        cell z = cell_op(p->op, p->type, a, b);
        sum = sum.there ? cell_op(monoid_op(p->mon), p->type, sum, z) : z;
    }
    return sum;
}

static cell accumulated(const product_case *p, int c_type, cell c, cell t)
{
    int x = p->accum_type;
    bool round = !p->unrounded;
    if (p->accum < 0 || (t.there && !c.there)) return cell_cast(t, p->type, c_type, round);
    if (!t.there) return c;
    cell z = cell_op(p->accum, x, cell_cast(c, c_type, x, round), cell_cast(t, p->type, x, round));
    return cell_cast(cell_cast(z, x, x, round), x, c_type, round);
}

static bool mask_lets(const product_case *p, int i, int j)
{
    if (!p->M) return !p->comp;
    cell m = p->M->at[i][j];
    bool in = m.there && (p->structural || cell_cast(m, p->M->type, T_BOOL, true).i);
    return in != p->comp;
}

void dense_multiply(dense *C, const product_case *p)
{
    for (int i = 0; i < C->nrows; i++)
        for (int j = 0; j < C->ncols; j++) {
            cell c = C->at[i][j];
            if (mask_lets(p, i, j)) C->at[i][j] = accumulated(p, C->type, c, inner_product(p, i, j));
            else if (p->replace) C->at[i][j] = (cell){0};
        }
}
