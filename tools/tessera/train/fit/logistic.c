/* Logistic regression by Newton's method.
 * SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "src/policy/model/model.h"
#include "tools/tessera/train/fit/solve.h"

enum { MOST_STEPS = 100 };

typedef struct problem {
    const double *x, *importance;
    const uint8_t *label;
    size_t count;
    int n;
    double ridge;
} problem;

static double importance_of(const problem *p, size_t at)
{
    return p->importance ? p->importance[at] : 1;
}

/* log(1 + exp(z)) without overflow. */
static double softplus(double z)
{
    return z > 0 ? z + log1p(exp(-z)) : log1p(exp(z));
}

/* What Newton makes small: minus the likelihood, plus the ridge. */
static double loss(const problem *p, const double *w)
{
    double sum = 0;
    for (int k = 0; k < p->n; k++)
        sum += p->ridge / 2 * w[k] * w[k];
    for (size_t at = 0; at < p->count; at++) {
        double z = 0;
        for (int k = 0; k < p->n; k++)
            z += w[k] * p->x[at * (size_t)p->n + (size_t)k];
        sum += importance_of(p, at) * softplus(p->label[at] ? -z : z);
    }
    return sum;
}

static void derivatives(const problem *p, const double *w, double *gradient, double *hessian)
{
    int n = p->n;
    memset(hessian, 0, (size_t)(n * n) * sizeof *hessian);
    for (int k = 0; k < n; k++) {
        gradient[k] = p->ridge * w[k];
        hessian[k * n + k] = p->ridge;
    }
    for (size_t at = 0; at < p->count; at++) {
        const double *x = p->x + at * (size_t)n;
        double q = tsr_logistic(w, x, n), how = importance_of(p, at);
        for (int k = 0; k < n; k++) {
            gradient[k] += how * (q - p->label[at]) * x[k];
            for (int j = 0; j < n; j++)
                hessian[k * n + j] += how * q * (1 - q) * x[k] * x[j];
        }
    }
}

/* One step, halved until the loss falls; *change: by how much it fell. */
static bool step(const problem *p, double *w, double *change)
{
    double gradient[TSR_MOST_UNKNOWNS], hessian[TSR_MOST_UNKNOWNS * TSR_MOST_UNKNOWNS], next[TSR_MOST_UNKNOWNS];
    double before = loss(p, w);
    derivatives(p, w, gradient, hessian);
    *change = 0;
    if (!isfinite(before) || !tsr_solve(hessian, gradient, p->n))
        return false;
    for (double share = 1; share > 1e-6; share /= 2) {
        for (int k = 0; k < p->n; k++)
            next[k] = w[k] - share * gradient[k];
        double after = loss(p, next);
        if (after < before) {
            memcpy(w, next, (size_t)p->n * sizeof *w);
            *change = before - after;
            return true;
        }
    }
    return true;
}

bool tsr_fit_logistic(double *w, const double *x, const uint8_t *label, const double *importance, size_t count, int n, double ridge)
{
    problem p = {.x = x, .importance = importance, .label = label, .count = count, .n = n, .ridge = ridge};
    double change = 1;
    bool good = n <= TSR_MOST_UNKNOWNS;
    memset(w, 0, (size_t)n * sizeof *w);
    for (int k = 0; k < MOST_STEPS && good && change > 0; k++) {
        good = step(&p, w, &change);
        if (change < 1e-10 * (1 + loss(&p, w)))
            change = 0;
    }
    good = good && change == 0;
    if (!good)
        memset(w, 0, (size_t)n * sizeof *w);
    return good;
}
