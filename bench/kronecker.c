/* Times of Kronecker products (bench/call_list.h).
 *     kronecker VERTICES DEGREE THREADS
 * SPDX-License-Identifier: Apache-2.0 */
#include "bench/call_list.h"

/* A: values of FP64; a list of many vectors.  S: 4 x 4 with 7 entries, like the seed of a graph.  L: 4 x 4, all of it.  E: identity, 4 x 4.
 * D, F: square, an entry at an eighth of the places; their product has some more than A. */
static GrB_Matrix A, S, L, E, D, F, of_A, of_D, bools;

static GrB_Matrix identity(GrB_Index n)
{
    GrB_Matrix out;
    must(GrB_Matrix_new(&out, GrB_FP64, n, n));
    for (GrB_Index k = 0; k < n; k++)
        must(GrB_Matrix_setElement_FP64(out, 1, k, k));
    must(GrB_Matrix_wait(out, GrB_MATERIALIZE));
    return out;
}

static GrB_Matrix result(GrB_Type type, GrB_Index n)
{
    GrB_Matrix out;
    must(GrB_Matrix_new(&out, type, n, n));
    return out;
}

static GrB_Info kron(GrB_Matrix C, GrB_BinaryOp op, GrB_Matrix X, GrB_Matrix Y) { return GrB_Matrix_kronecker_BinaryOp(C, NULL, NULL, op, X, Y, NULL); }
static GrB_Info seed(void) { return kron(of_A, GrB_TIMES_FP64, A, S); }
static GrB_Info by_seed(void) { return kron(of_A, GrB_TIMES_FP64, S, A); }
static GrB_Info dense(void) { return kron(of_A, GrB_TIMES_FP64, A, L); }
static GrB_Info blow_up(void) { return kron(of_A, GrB_TIMES_FP64, A, E); }
static GrB_Info copies(void) { return kron(of_A, GrB_TIMES_FP64, E, A); }
static GrB_Info integers(void) { return kron(of_A, GrB_TIMES_INT64, A, S); }
static GrB_Info pattern(void) { return kron(of_A, GrB_ONEB_FP64, A, S); }
static GrB_Info truths(void) { return kron(bools, GrB_LAND, A, S); }
static GrB_Info random_pair(void) { return kron(of_D, GrB_TIMES_FP64, D, F); }

static const call calls[] = {
    {"kron (A, seed)", seed}, {"kron (seed, A)", by_seed}, {"kron (A, full 4 x 4)", dense}, {"kron (A, I)", blow_up}, {"kron (I, A)", copies},
    {"kron (A, seed), INT64", integers}, {"kron (A, seed), iso", pattern}, {"kron (A, seed), BOOL", truths}, {"kron (D, F)", random_pair}};

int main(int argc, char **argv)
{
    const call_sizes sizes = start_calls(argc, argv);
    const GrB_Index n = sizes.vertices;
    GrB_Index side = 8;
    while (side * side / 8 * side * side / 8 < n * sizes.degree)
        side *= 2;
    A = random_matrix(n, n * sizes.degree);
    S = random_matrix(4, 9);
    L = random_matrix(4, 200);
    E = identity(4);
    D = random_matrix(side, side * side / 8);
    F = random_matrix(side, side * side / 8);
    of_A = result(GrB_FP64, 4 * n);
    of_D = result(GrB_FP64, side * side);
    bools = result(GrB_BOOL, 4 * n);
    time_calls(&sizes, calls, sizeof calls / sizeof *calls);
    return 0;
}
