/* Which results of elementwise operations are iso: those that are with SuiteSparse 7.4.0.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "src/base/types.h"
#include "src/engine/call/contents.h"
#include "src/engine/call/host.h"
#include "src/engine/elementwise/elementwise.h"

/* The value of every entry, if there is only one. */
typedef struct constant {
    bool known;
    tsr_type type;
    uint64_t value;
} constant;

static constant constant_of(const tsr_object *object)
{
    constant c = {.known = tsr_object_iso(object), .type = object->view.type};
    if (c.known && object->array)
        c.value = tsr_device_array_about(object->array)->one;
    else if (c.known)
        memcpy(&c.value, object->view.x, tsr_type_size(c.type));
    else if (object->lone)
        c = (constant){true, object->view.type, object->one};
    if (object->rule && !object->rule->select)
        c.known = false;
    return c;
}

bool tsr_object_iso(const tsr_object *object)
{
    return object->array ? tsr_device_array_about(object->array)->iso : object->view.iso && object->view.x;
}

/* SuiteSparse takes one entry of an operand for one value, but not of a mask or of C. */
static constant constant_as_held(const tsr_object *object)
{
    constant m = constant_of(object);
    m.known &= !object->lone && !(object->array && tsr_device_array_about(object->array)->lone);
    return m;
}

/* By a list of places one entry may be taken more than once: SuiteSparse copies the values then. */
static constant operand(const tsr_elementwise *e, const tsr_object *object, const tsr_operand *scalar)
{
    if (!object->given)
        return (constant){true, e->step.type, scalar->scalar};
    return e->gathers ? constant_as_held(object) : constant_of(object);
}

uint64_t tsr_elementwise_one(const tsr_ewise *step, tsr_type type, tsr_type x_type, uint64_t x, tsr_type y_type, uint64_t y)
{
    uint64_t z = 0;
    const tsr_host_ewise one = {.step = {.op = step->op, .type = step->type, .result = step->result, .count = 1},
                               .arrays = {.x = {&x, NULL}, .y = {&y, NULL}, .z = &z}, .type = type, .x_type = x_type, .y_type = y_type};
    tsr_engine_ewise(&one, 1);
    return z;
}

/* How SuiteSparse holds what has every entry. */
static bool is_held(const tsr_elementwise *e, const tsr_object *object, unsigned forms)
{
    const bool absent = object->array && e->door->is_absent(object->handle);
    return object->view.format == TSR_FULL && (absent || !object->handle || (e->door->form(object->handle) & forms));
}

static bool full(const tsr_object *object)
{
    return !object->given || object->view.format == TSR_FULL;
}

/* z = op (x, y) wherever there is an entry. */
static bool one_result(const tsr_ewise *e, const constant *x, const constant *y)
{
    switch (e->op) {
    case TSR_EWISE_ONE:
    case TSR_EWISE_PAIR: return true;
    case TSR_EWISE_FIRST: return x->known;
    case TSR_EWISE_SECOND: return y->known;
    default: return x->known && y->known;
    }
}

/* The entries kept are all the same: those equal to y, or of two values one. */
bool tsr_elementwise_selects_one(uint64_t *kept, const tsr_ewise *e, uint64_t y)
{
    const bool thunk = y & 0xff;
    *kept = y;
    if (e->op == TSR_EWISE_EQ)
        return true;
    if (e->type != TSR_BOOL) {
        const bool is_unsigned = e->type >= TSR_UINT8 && e->type <= TSR_UINT64;
        return is_unsigned && e->op == TSR_EWISE_LE && y == 0;
    }
    *kept = e->op == TSR_EWISE_GT || e->op == TSR_EWISE_GE || (e->op == TSR_EWISE_NE && !thunk);
    return e->op == TSR_EWISE_NE || (e->op == TSR_EWISE_GE || e->op == TSR_EWISE_LT ? thunk : !thunk);
}

/* Of x of one value, a selection by value keeps all entries, or none: what is left is not iso then. */
static bool keeps(const tsr_ewise *e, const constant *x, const constant *y)
{
    const tsr_ewise compares = {.op = e->op, .type = e->type, .result = TSR_BOOL};
    return tsr_elementwise_one(&compares, TSR_BOOL, x->type, x->value, y->type, y->value) & 1;
}

/* Do entries of x alone and of y alone have the value of both, in T's type? */
static bool united_is_iso(const tsr_elementwise *e, const constant *x, const constant *y)
{
    const tsr_type type = e->step.result;
    const tsr_ewise alone = {.type = type, .result = type};
    if (!x->known || !y->known)
        return false;
    const uint64_t both = tsr_elementwise_one(&e->step, type, x->type, x->value, y->type, y->value);
    return tsr_elementwise_one(&alone, type, x->type, x->value, x->type, 0) == both &&
           tsr_elementwise_one(&alone, type, y->type, y->value, y->type, 0) == both;
}

/* T = op (x, y), in C's type. */
static bool t_is_iso(uint64_t *t, const tsr_elementwise *e)
{
    const tsr_ewise *step = &e->step;
    const constant x = operand(e, &e->x, &step->x), y = operand(e, &e->y, &step->y);
    uint64_t kept;
    *t = 0;
    if (step->select) {
        if (!x.known && (e->recast || !tsr_elementwise_selects_one(&kept, step, y.value)))
            return false;
        if (x.known && !e->recast && !keeps(step, &x, &y))
            return false;
        tsr_cast_values(t, e->type, x.known ? &x.value : &kept, step->type, 1, 1);
        return true;
    }
    const bool partial = step->unite && !(full(&e->x) && full(&e->y));
    if (!one_result(step, &x, &y) || (partial && !united_is_iso(e, &x, &y)))
        return false;
    *t = tsr_elementwise_one(step, e->type, x.type, x.value, y.type, y.value);
    return true;
}

/* ---- C<M> accum= T ---- */

/* Entries of C before; -1: nobody has counted those of an array. */
static int64_t entries(const tsr_object *c)
{
    return c->array ? tsr_value_known(c->array) : c->view.nvals;
}

static double places(const tsr_object *object)
{
    return (double)object->view.nrows * (double)object->view.ncols;
}

/* Entries; the device is asked at most once for those of an array.  -1: it does not answer. */
static double present(const tsr_object *object)
{
    int64_t nvals = object->view.nvals;
    if (object->view.format == TSR_FULL)
        return places(object);
    return object->array && tsr_device_array_nvals(object->array, &nvals) != TSR_OK ? -1 : (double)nvals;
}

/* Of as many as there are places, if nobody has counted: by its settings C may be in lists whatever it has. */
static bool few(const tsr_elementwise *e, const tsr_object *c)
{
    const int64_t count = entries(c);
    return e->door->holds_sparse(e->given.C, count >= 0 ? count : c->view.nvals, (double)c->view.nvals);
}

bool tsr_elementwise_clears_full(const tsr_elementwise *e)
{
    return e->door->form(e->given.C) == 1u << TSR_FULL && !e->door->may_be_bitmap(e->given.C);
}

/* How SuiteSparse holds it: what is on the host as it is there, what is not as it would get it. */
static bool is_dense(const tsr_elementwise *e, const tsr_object *c)
{
    const bool absent = c->array && e->door->is_absent(e->given.C);
    return absent ? !(tsr_device_array_is_sparse(c->array) || few(e, c)) : !tsr_held_in_lists(e->door, e->given.C);
}

bool tsr_elementwise_adds_to_itself(const tsr_elementwise *e)
{
    const tsr_arguments *given = &e->given;
    const tsr_view *c = &e->c.view;
    const bool itself = given->M == given->C || given->A == given->C || given->B == given->C;
    if (!given->accum || !itself || !e->c.given || !full(&e->c))
        return false;
    return e->door->makes_sparse(given->C, c->nvals, (double)c->nvals) || tsr_held_in_lists(e->door, given->C);
}

/* C of one value, and T: does that stay so? */
static bool fits(const tsr_elementwise *e, const constant *c, uint64_t t)
{
    tsr_ewise accum = {.type = e->type, .result = e->type};
    if (!c->known || c->value != t)
        return false;
    return !e->given.accum || (e->door->accumulator(&accum.op, &accum.type, e->given.accum) &&
                              tsr_elementwise_one(&accum, e->type, c->type, c->value, e->type, t) == t);
}

bool tsr_elementwise_masks(const tsr_ewise *e, tsr_listed x, tsr_listed y, tsr_listed m, bool complement)
{
    if (e->unite)
        return !(complement && m.lists && x.lists && y.lists);
    if (x.lists && y.lists)
        return !m.lists || (!complement && 8 * m.nvals < x.nvals + y.nvals);
    return !(x.lists || y.lists) || (m.lists && !complement && 2 * m.nvals < x.nvals + y.nvals);
}

static tsr_listed listed(const tsr_elementwise *e, const tsr_object *object)
{
    return (tsr_listed){tsr_held_in_lists(e->door, object->handle), (int64_t)present(object)};
}

/* One that names every place was put aside when the call was planned. */
static tsr_listed listed_mask(const tsr_elementwise *e)
{
    if (e->m.given || !e->given.M)
        return listed(e, &e->m);
    return (tsr_listed){tsr_held_in_lists(e->door, e->given.M), (int64_t)((double)e->nrows * (double)e->ncols)};
}

/* Is T masked as it is computed, so that it is all of C?  Not where it is computed turned. */
static bool masks_t(const tsr_elementwise *e)
{
    if (!e->x.given || !e->y.given)
        return e->masks_t;
    if (tsr_is_turned(e, &e->x) && tsr_is_turned(e, &e->y))
        return false;
    return tsr_elementwise_masks(&e->step, listed(e, &e->x), listed(e, &e->y), listed_mask(e), e->mod.mask_comp);
}

/* Is T computed under the mask, whoever lies how?  Also a list by a dense operand is under a dense mask, which SuiteSparse applies once more. */
static bool is_under_mask(const tsr_elementwise *e)
{
    if (!e->given.M || !e->x.given || !e->y.given)
        return false;
    const tsr_listed m = listed_mask(e);
    return (!e->step.unite && !m.lists) || tsr_elementwise_masks(&e->step, listed(e, &e->x), listed(e, &e->y), m, e->mod.mask_comp);
}

/* Does the mask let one entry of T pass?  That is one value. */
static bool passes_one(const tsr_elementwise *e)
{
    if (!e->m.given || e->mod.replace)
        return false;
    return (e->mod.mask_comp ? places(&e->m) - present(&e->m) : present(&e->m)) == 1;
}

/* Of how many entries at most is looked whether T has one alone?  Operands of more are not downloaded for that. */
enum { FEW_ENTRIES = 64 };

/* Places that the mask lets pass, at least and at most. */
static void count_passing(double *least, double *most, const tsr_elementwise *e)
{
    const double all = (double)e->nrows * (double)e->ncols, named = e->m.given ? present(&e->m) : all;
    *least = e->mod.mask_comp ? all - named : e->mod.mask_struct || !e->m.given ? named : 0;
    *most = !e->mod.mask_comp ? named : e->mod.mask_struct ? all - named : all;
}

/* A place may be listed more than once. */
static bool may_gather_one(const tsr_elementwise *e)
{
    return !full(&e->x) && present(&e->x) >= 1 && e->nrows <= FEW_ENTRIES;
}

/* May T = op (x, y) have one entry?  SuiteSparse takes that for one value. */
static bool may_have_one(const tsr_elementwise *e)
{
    if (e->gathers)
        return may_gather_one(e);
    if (e->of_product || e->scatters)
        return false;
    const double all = (double)e->nrows * (double)e->ncols;
    const double x = e->x.given ? present(&e->x) : all, y = e->y.given ? present(&e->y) : all;
    double least = e->step.unite ? fmax(x, y) : fmax(0, x + y - all), most = e->step.unite ? fmin(x + y, all) : fmin(x, y);
    if (e->step.select)
        least = 0;
    if (is_under_mask(e)) {
        double from, to;
        count_passing(&from, &to, e);
        least = fmax(0, least + from - all);
        most = fmin(most, to);
    }
    return least <= 1 && 1 <= most && most <= FEW_ENTRIES;
}

/* Could C stay of one value, whatever T is? */
static bool any_fits(const tsr_elementwise *e, const constant *c)
{
    return entries(&e->c) <= 0 || fits(e, c, c->value);
}

/* How SuiteSparse would hold an operand of one entry. */
static bool is_listed(const tsr_elementwise *e, const tsr_object *object)
{
    const bool absent = object->array && e->door->is_absent(object->handle);
    return absent ? e->door->holds_sparse(object->handle, 1, places(object)) : tsr_held_in_lists(e->door, object->handle);
}

/* What is assigned is A, masked or not: SuiteSparse asks no more than whether that has one value, or one entry unless it is a bitmap.  False: it
 * has one entry whose value is not to be had. */
static bool knows_assigned(tsr_elementwise *e)
{
    return !may_have_one(e) || !is_listed(e, &e->x) || tsr_object_find_lone(&e->x);
}

bool tsr_elementwise_may_leave_one(tsr_elementwise *e, bool t_full)
{
    uint64_t t;
    const constant c = constant_as_held(&e->c);
    if (!e->c.given || !c.known)
        return false;
    const bool t_iso = t_is_iso(&t, e), possible = any_fits(e, &c);
    if (e->assigns && !e->scatters && !e->of_product)
        return possible && !t_iso && !knows_assigned(e);
    const bool selects = e->step.select || (e->x.rule && e->x.rule->select);
    const bool leaves = e->given.accum ? selects : e->given.M && !is_dense(e, &e->c);
    const bool whole = t_full && !(e->given.M && (e->of_product || masks_t(e)));
    if (leaves && !whole)
        return !(t_iso && fits(e, &c, t));
    return possible && (passes_one(e) ? !(t_iso && fits(e, &c, t)) : !t_iso && may_have_one(e));
}

/* Does nothing stay of C?  What is not in a list of places does, whatever the descriptor says. */
static bool replaces(const tsr_elementwise *e)
{
    return !e->given.accum && e->mod.replace && !e->scatters;
}

static bool stays_iso(const tsr_elementwise *e, const tsr_object *old, uint64_t t)
{
    const tsr_arguments *given = &e->given;
    const constant c = constant_as_held(old);
    if (entries(old) != 0)
        return fits(e, &c, t) || (replaces(e) && (!is_dense(e, old) || masks_t(e) || tsr_elementwise_clears_full(e)));
    return !given->accum || tsr_object_iso(old) || !(e->assigns || is_dense(e, old));
}

static bool is_zero(const constant *c)
{
    return c->known && c->value == 0;
}

static bool is_plain(const tsr_elementwise *e, const tsr_object *object)
{
    return object->given && is_held(e, object, ~(1u << TSR_BITMAP)) && !tsr_object_iso(object) &&
           object->view.type == e->step.type;
}

/* Of a sum SuiteSparse turns one operand before the loop, but T behind it if both are turned; a product it computes otherwise. */
static bool is_turned(const tsr_elementwise *e)
{
    const bool x = tsr_is_turned(e, &e->x), y = tsr_is_turned(e, &e->y);
    return e->step.unite || e->full_only ? x && y : x || y;
}

/* C = op (A, B) of all entries: SuiteSparse's loop over three arrays knows of no operator whose result is iso. */
static bool is_loop(const tsr_elementwise *e)
{
    return !e->given.M && !e->given.accum && e->step.result == e->type && e->door->form(e->given.C) != 1u << TSR_BITMAP &&
           is_plain(e, &e->x) && is_plain(e, &e->y) && !is_turned(e);
}

/* A mask by structure that names every place.  A product takes it for none, however it is held, other calls only where it is full and
 * complemented; an assignment not even there.  Entries of an array are counted only where that matters: for a T or a C of one value. */
static bool names_all(const tsr_elementwise *e, bool t)
{
    if (e->of_product) {
        const bool matters = e->mod.mask_comp ? e->c.given && tsr_object_iso(&e->c) : t;
        return !e->m.given || (matters && present(&e->m) == places(&e->m));
    }
    return e->mod.mask_comp && !e->assigns && is_held(e, &e->m, 1u << TSR_FULL);
}

bool tsr_elementwise_passes_all(const tsr_elementwise *e)
{
    const constant m = constant_as_held(&e->m);
    return !e->given.M || (e->m.given && e->mod.mask_comp && !e->mod.mask_struct && is_zero(&m));
}

bool tsr_elementwise_iso(uint64_t *one, const tsr_elementwise *e)
{
    const tsr_arguments *given = &e->given;
    const constant m = constant_as_held(&e->m);
    const bool valued = e->m.given && !e->mod.mask_struct, zero = valued && is_zero(&m);
    const bool structural = e->mod.mask_struct || (m.known && m.value != 0);
    const bool t = !is_loop(e) && t_is_iso(one, e);
    const bool all = given->M && structural && names_all(e, t);
    const bool none = !given->M || (e->mod.mask_comp ? zero : all);
    const bool blocked = e->m.given && (e->mod.mask_comp ? all : zero);
    if (!blocked && (!t || (none && !given->accum && !e->scatters)))
        return t;
    if (e->assigns && !given->A && given->M == given->C && structural && !e->mod.mask_comp && !given->accum)
        return t;
    if (!blocked && replaces(e) && !e->door->is_absent(given->C) && tsr_held_in_lists(e->door, given->C))
        return t; /* C is cleared, and what is pending of it never finished */
    tsr_object old;
    bool iso = tsr_object_inspect(&old, e->door, given->C, false);
    if (blocked) {
        const constant c = constant_of(&old);
        *one = c.value;
        iso = iso && c.known;
    } else {
        iso = iso && stays_iso(e, &old, *one);
    }
    tsr_object_release(&old);
    return iso;
}
