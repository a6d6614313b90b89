/* One step with random operands.
 * SPDX-License-Identifier: Apache-2.0 */
#include "test/cuda/step_case.h"

static void draw_operand(step_case *c, int k, rng *r, tsr_type type, int percent_there, bool may_miss)
{
    if (may_miss && !rng_chance(r, percent_there))
        return;
    c->host[k] = new_host(type, c->step.count, rng_chance(r, 50));
    draw_host(&c->host[k], r);
}

void make_step(step_case *c, rng *r)
{
    *c = (step_case){.step = {.op = (tsr_ewise_op)rng_below(r, TSR_EWISE_COUNT), .type = (tsr_type)rng_below(r, TSR_TYPE_COUNT)}};
    tsr_ewise *s = &c->step;
    if (s->op == TSR_EWISE_SQRT)
        s->op = TSR_EWISE_ABS;
    s->count = draw_count(r);
    s->select = tsr_ewise_compares(s->op) && rng_chance(r, 50);
    s->result = tsr_ewise_compares(s->op) && !s->select ? TSR_BOOL : s->type;
    s->unite = !tsr_ewise_is_unary(s->op) && s->op <= TSR_EWISE_LXOR && rng_chance(r, 50);
    s->mask_type = (tsr_type)rng_below(r, TSR_TYPE_COUNT);
    s->mask_structural = rng_chance(r, 40);
    draw_operand(c, 0, r, s->type, 80, true);
    draw_operand(c, 1, r, s->type, 80, true);
    draw_operand(c, 2, r, s->result, 60, true);
    draw_operand(c, 3, r, s->mask_type, 50, true);
    s->accumulates = c->host[2].x && rng_chance(r, 50);
    s->accum = (tsr_ewise_op)(TSR_EWISE_FIRST + rng_below(r, TSR_EWISE_LXOR - TSR_EWISE_FIRST + 1));
    s->replace = c->host[3].x && rng_chance(r, 40);
    s->mask_complement = c->host[3].x && rng_chance(r, 40);
    tsr_value_store(s->type, &s->x.scalar, 0, (tsr_value){.bits = 1, .real = 1.5});
    tsr_value_store(s->type, &s->y.scalar, 0, (tsr_value){.bits = 1, .real = 0.5});
}

void compute_want(step_case *c)
{
    tsr_ewise s = c->step;
    tsr_ewise_arrays a = {.x = elements_of(&c->host[0]), .y = elements_of(&c->host[1]), .c = elements_of(&c->host[2]),
                         .mask = elements_of(&c->host[3])};
    if (s.mask_structural)
        a.mask.x = NULL;
    s.mask = c->host[3].x;
    c->want = new_host(s.result, s.count, true);
    a.z = c->want.x;
    a.z_present = c->want.b;
    tsr_ref_ewise(&s, &a);
}

void free_step(step_case *c)
{
    for (int k = 0; k < OPERANDS; k++)
        free_host(&c->host[k]);
    free_host(&c->want);
}

tsr_status run_step(const step_case *c, void **value)
{
    tsr_ewise s = c->step;
    void *there[OPERANDS] = {NULL};
    tsr_status status = TSR_OK;
    *value = NULL;
    for (int k = 0; k < OPERANDS && status == TSR_OK; k++)
        status = c->host[k].x ? upload(&c->host[k], &there[k]) : TSR_OK;
    s.x.value = there[0];
    s.y.value = there[1];
    s.c = there[2];
    s.mask = there[3];
    if (status == TSR_OK)
        status = arrays->step(&s, value);
    for (int k = 0; k < OPERANDS; k++)
        if (there[k])
            contents->drop(there[k]); /* what is queued has read them by then */
    return status;
}
