/* Which results of elementwise calls are iso: those that are with SuiteSparse 7.4.0.
 * SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "src/graphblas/intercept/hooks.h"
#include "src/graphblas/handover/resident.h"
#include "src/graphblas/step.h"

/* The value of every entry, if there is only one. */
typedef struct constant {
    bool known;
    tsr_type type;
    uint64_t value;
} constant;

static constant constant_of(const tsr_inspected *seen)
{
    constant c = {.known = tsr_inspected_iso(seen), .type = seen->view.type};
    if (c.known && seen->value)
        c.value = tsr_device_array_about(seen->value)->one;
    else if (c.known)
        memcpy(&c.value, seen->view.x, tsr_type_size(c.type));
    if (seen->rule && !seen->rule->select)
        c.known = false;
    return c;
}

bool tsr_inspected_iso(const tsr_inspected *seen)
{
    return seen->value ? tsr_device_array_about(seen->value)->iso : seen->view.iso && seen->view.x;
}

static constant operand(const tsr_inspected *seen, const tsr_operand *scalar, tsr_type type)
{
    return seen->given ? constant_of(seen) : (constant){true, type, scalar->scalar};
}

uint64_t tsr_ewise_one(const tsr_ewise *step, tsr_type type, tsr_type x_type, uint64_t x, tsr_type y_type, uint64_t y)
{
    uint64_t z = 0;
    const tsr_host_ewise one = {.step = {.op = step->op, .type = step->type, .result = step->result, .count = 1},
                               .arrays = {.x = {&x, NULL}, .y = {&y, NULL}, .z = &z}, .type = type, .x_type = x_type, .y_type = y_type};
    tsr_engine_ewise(&one, 1);
    return z;
}

static bool full(const tsr_inspected *seen)
{
    return !seen->given || seen->view.format == TSR_FULL;
}

/* z = op (x, y) wherever there is an entry. */
static bool one_result(const tsr_ewise *s, const constant *x, const constant *y)
{
    switch (s->op) {
    case TSR_EWISE_ONE:
    case TSR_EWISE_PAIR: return true;
    case TSR_EWISE_FIRST: return x->known;
    case TSR_EWISE_SECOND: return y->known;
    default: return x->known && y->known;
    }
}

/* The entries kept are all the same: those equal to y, or of two values one. */
static bool selects_one(uint64_t *kept, const tsr_ewise *s, uint64_t y)
{
    const bool thunk = y & 0xff;
    *kept = y;
    if (s->op == TSR_EWISE_EQ)
        return true;
    if (s->type != TSR_BOOL) {
        const bool is_unsigned = s->type >= TSR_UINT8 && s->type <= TSR_UINT64;
        return is_unsigned && s->op == TSR_EWISE_LE && y == 0;
    }
    *kept = s->op == TSR_EWISE_GT || s->op == TSR_EWISE_GE || (s->op == TSR_EWISE_NE && !thunk);
    return s->op == TSR_EWISE_NE || (s->op == TSR_EWISE_GE || s->op == TSR_EWISE_LT ? thunk : !thunk);
}

/* T = op (x, y), in C's type. */
static bool t_is_iso(uint64_t *t, const tsr_ewise_plan *s)
{
    const tsr_ewise *step = &s->call.step;
    const constant x = operand(&s->x, &step->x, step->type), y = operand(&s->y, &step->y, step->type);
    uint64_t kept;
    *t = 0;
    if (step->select) {
        if (!x.known && !selects_one(&kept, step, y.value))
            return false;
        tsr_cast_values(t, s->type, x.known ? &x.value : &kept, step->type, 1, 1);
        return true;
    }
    const bool partial = step->unite && !(full(&s->x) && full(&s->y));
    if (!one_result(step, &x, &y) || (partial && !(x.known && y.known)))
        return false;
    *t = tsr_ewise_one(step, s->type, x.type, x.value, y.type, y.value);
    return !partial || (tsr_ewise_one(&(tsr_ewise){.type = s->type, .result = s->type}, s->type, x.type, x.value, x.type, 0) == *t &&
                        tsr_ewise_one(&(tsr_ewise){.type = s->type, .result = s->type}, s->type, y.type, y.value, y.type, 0) == *t);
}

/* ---- C<M> accum= T ---- */

/* Entries of C before; -1: nobody has counted those of a value. */
static int64_t entries(const tsr_inspected *c)
{
    return c->value ? tsr_value_known(c->value) : c->view.nvals;
}

/* As the host would hold it (resident.c). */
static bool few(const tsr_ewise_plan *s, const tsr_inspected *c)
{
    double bitmap_switch = 0;
    const int64_t count = entries(c);
    tsr_real.GxB_Matrix_Option_get_FP64(s->call.C, GxB_BITMAP_SWITCH, &bitmap_switch);
    return count >= 0 && (tsr_contents_control(s->call.C) & GxB_SPARSE) && (double)count <= bitmap_switch / 2 * (double)c->view.nvals;
}

static bool is_dense(const tsr_ewise_plan *s, const tsr_inspected *c)
{
    if (c->value)
        return !(tsr_device_array_is_sparse(c->value) || few(s, c));
    return !tsr_match_held_sparse(s->call.C) || tsr_form_waits(s->call.C);
}

/* C of one value, and T: does that stay so? */
static bool fits(const tsr_ewise_plan *s, const constant *c, uint64_t t)
{
    tsr_ewise accum = {.type = s->type, .result = s->type};
    if (!c->known || c->value != t)
        return false;
    return !s->call.accum || (tsr_match_binary(&accum.op, &accum.type, s->call.accum) &&
                              tsr_ewise_one(&accum, s->type, c->type, c->value, s->type, t) == t);
}

/* Is T masked as it is computed, so that it is all of C? */
static bool masks_t(const tsr_ewise_plan *s)
{
    return s->x.given && s->y.given;
}

static bool stays_iso(const tsr_ewise_plan *s, const tsr_inspected *old, uint64_t t)
{
    const tsr_ewise_call *call = &s->call;
    const constant c = constant_of(old);
    if (entries(old) != 0)
        return fits(s, &c, t) || (!call->accum && s->mod.replace && (!is_dense(s, old) || masks_t(s)));
    return !call->accum || (!old->value && old->view.iso) || !(call->assigns || is_dense(s, old));
}

static bool is_zero(const constant *c)
{
    return c->known && c->value == 0;
}

bool tsr_ewise_plan_iso(uint64_t *one, const tsr_ewise_plan *s)
{
    const tsr_ewise_call *call = &s->call;
    const constant m = constant_of(&s->m);
    const bool valued = s->m.given && !s->mod.mask_struct, none = !call->M || (valued && is_zero(&m) && s->mod.mask_comp);
    const bool structural = s->mod.mask_struct || (m.known && m.value != 0), all = structural && s->m.view.format == TSR_FULL;
    const bool blocked = s->m.given && (s->mod.mask_comp ? all : valued && is_zero(&m));
    const bool t = t_is_iso(one, s);
    if (!blocked && (!t || (none && !call->accum)))
        return t;
    if (call->assigns && !call->A && call->M == call->C && structural && !s->mod.mask_comp && !call->accum)
        return t;
    tsr_inspected old;
    bool iso = tsr_inspect_operand(&old, call->C);
    if (blocked) {
        const constant c = constant_of(&old);
        *one = c.value;
        iso = iso && c.known;
    } else {
        iso = iso && stays_iso(s, &old, *one);
    }
    tsr_inspected_release(&old);
    return iso;
}
