/* Fuzz target: the Matrix Market reader and what is built from its result.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include "test/fuzz/fuzz.h"
#include "tools/tessera/matrix/inspect.h"

static void check_range(const tsr_mm *m)
{
    for (int64_t k = 0; k < m->nvals; k++) {
        if (m->row[k] < 0 || m->row[k] >= m->nrows || m->col[k] < 0 || m->col[k] >= m->ncols) {
            abort();
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char error[160];
    tsr_mm m;
    tsr_mm_csr a;
    tsr_inspection in;
    if (!tsr_mm_parse(&m, (const char *)data, size, "fuzz", error, sizeof error)) {
        return 0;
    }
    check_range(&m);
    /* sizes that only cost time are left out: few rows are all stored, of very many those with entries */
    const int64_t few = 1 << 16, many = 1 << 28;
    if (((m.nrows < few && m.ncols < few) || m.nrows > many || m.ncols > many) && tsr_mm_to_rows(&a, &m, error, sizeof error)) {
        if (tsr_inspect(&in, &a, 1) != TSR_OK || in.nvals > m.nvals || in.statistics.blocks_16x8 > in.nvals) {
            abort();
        }
        tsr_inspection_free(&in);
        tsr_mm_csr_free(&a);
    }
    tsr_mm_free(&m);
    return 0;
}
