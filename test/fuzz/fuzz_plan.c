/* Fuzz target: files of plans.  As they are, and with the check sum put right, so that numbers out of nowhere reach the plan of a small matrix.
 * What is taken is printed again to the same bytes.
 * SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "src/sparse_blas/native.h"
#include "src/sparse_blas/plan_file.h"
#include "test/fuzz/fuzz.h"

static tsr_sparse *matrix(void)
{
    static const int64_t offsets[] = {0, 2, 2, 3}, indices[] = {0, 2, 1};
    static const float values[] = {1, 2, 3};
    static const tsr_arrays arrays = {.index_type = TSR_INDEX_64, .offsets = offsets, .indices = indices, .type = TSR_FP32, .values = values};
    tsr_sparse *a = NULL;
    if (tsr_sparse_create_csr(&a, 3, 3, &arrays, 0) != TSR_OK) {
        abort();
    }
    return a;
}

/* A plan that is made of it can be executed, if only with operands that are not its own. */
static void load(tsr_sparse *a, const unsigned char *bytes, size_t size)
{
    float c[9];
    const tsr_dense other = {.data = c, .type = TSR_FP32, .nrows = 3, .ncols = 3, .ld = 3};
    tsr_plan *plan = NULL;
    if (tsr_native_load(&plan, a, bytes, size) == TSR_OK) {
        tsr_execute(plan, 1, a, &other, 0, &other, NULL);
        tsr_plan_destroy(plan);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static tsr_sparse *a;
    unsigned char bytes[TSR_PLAN_FILE_BYTES];
    tsr_saved_plan saved, mended;
    const char *why;
    a = a ? a : matrix();
    load(a, data, size);
    if (tsr_plan_file_parse(&saved, data, size, &why) == TSR_OK) {
        tsr_plan_file_print(bytes, &saved);
        if (memcmp(bytes, data, sizeof bytes) != 0) {
            abort();
        }
    }
    memset(&mended, 0, sizeof mended);
    memcpy(&mended, data, size < sizeof mended ? size : sizeof mended);
    mended.kernel[sizeof mended.kernel - 1] = '\0';
    tsr_plan_file_print(bytes, &mended);
    load(a, bytes, sizeof bytes);
    return 0;
}
