/* Products as the engine would send them to the plug-in, judged by the oracle.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_CUDA_PLUGIN_CASE_H
#define TEST_CUDA_PLUGIN_CASE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "test/cuda/plugin_start.h"
#include "test/kernels/compare.h"

/* How products are sent from now on. */
typedef struct sending {
    bool use_slot, pin_b, pin_c;
    bool b_is_value, c_may_stay, c_may_keep; /* operands and results that stay with the backend */
    const char *kernel;
    tsr_precision precision;
    tsr_reorder reorder;
    double expected_calls;
} sending;

extern sending how;
void plain(void); /* without any of that */

/* What became of the last product. */
typedef struct sent {
    const char *kernel;
    int64_t bytes_moved;
    int built, evicted;
    long calls; /* of the device, without those that pin */
} sent;

extern sent last;
extern int results_that_stayed; /* so far */

extern void *slot; /* that of A */
void release(void); /* what the slots hold */

tsr_status execute(const tsr_product *product, tsr_result *result);
tsr_status download_stays(tsr_result *result); /* result->stays to x and b */

/* Fails the test when the answer is wrong. */
verdict check_at(const test_case *c, const char *where);

int64_t places_of(const tsr_product *p); /* of the result */

/* Blocks add in another order than the oracle, and may round more often: they are judged where all sums are exact. */
bool by_blocks(const test_case *c);

/* ---- cases ---- */

/* `rounds` times each; body gets numbers of its own. */
void for_every_semiring(void (*body)(rng *r, tsr_op op, tsr_semiring s));

test_case make_case(rng *r, tsr_op op, tsr_semiring s, int size); /* without a jumbled mask, which is not taken */
test_case make_busy(rng *r, tsr_op op, tsr_semiring s, int size); /* with something to compute */
test_case make_masked(rng *r, tsr_op op);                         /* busy, of FP64 */
test_case make_plus_times(rng *r, tsr_type type, int size);       /* SpMM */
test_case make_sddmm(rng *r, int size);                           /* of FP32, which stencils may take */

/* 16 rows alike, one after the other or scattered: blocks pay sooner or later, or at once when many calls are expected.
 * Its arrays are static. */
test_case make_dense_windows(tsr_product *p, bool scattered);

/* ---- programs ---- */

/* start_plugin with kernels as slow as tests can be small: csr pays for entries, two others for nonzero vectors, twice as much each.
 * Third argument: a pattern of the tests' names. */
int start_plugin_with_model(int argc, char **argv);

#endif
