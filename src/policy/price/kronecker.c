/* What Kronecker products take.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/policy/price/kronecker.h"

#include "src/base/split.h"

/* ns an entry, of an AMD EPYC with AVX-512: docs/host-calls.md. */
#define OURS 1.5
#define OUR_PATTERN 1.0
#define OTHER 5.0
#define OTHER_PATTERN 2.5

double tsr_kronecker_ms(double entries, bool values)
{
    return entries * (values ? OURS : OUR_PATTERN) * 1e-6;
}

double tsr_kronecker_other_ms(double entries, bool values, int nthreads)
{
    return entries * (values ? OTHER : OTHER_PATTERN) * 1e-6 / tsr_chunk_threads(entries, nthreads);
}
