/* What the tests of CUDA-core kernels share: arrays on the device, operands of the random products of test/kernels in the form kernels
 * take, every semiring of every type, and the command line.
 *     --seed=N    one case of the second kind     --count=N    cases of the second kind     --semirings=N    cases per semiring
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_TEST_CUDA_SEMIRINGS_H
#define TSR_TEST_CUDA_SEMIRINGS_H

#include "kernels/cuda/common/cuda_kernels.h"
#include "test/cuda/emulator.h"
#include "test/kernels/compare.h"

extern tsr_cuda_device device;
extern rng layout; /* of operands on the device, and of how a product is computed */

/* ---- Memory; whatever fails ends the test ---- */

void *checked(void *p);
void must(tsr_status status, const char *what);
void *device_new(size_t bytes); /* filled with 0xA5 */
void *upload(const void *host, size_t bytes);
void download(void *host, const void *p, size_t bytes); /* waits */

/* ---- Operands ---- */

typedef struct entry {
    int64_t row, col, at; /* at: place in the view */
} entry;

entry *list_entries(const tsr_view *v, bool transposed); /* by row, then column; freed with free */
/* CSR of a list; values of `size` bytes from x at the entries' places (all from its first if iso), none if x is NULL. */
tsr_cuda_csr upload_rows(const entry *list, int64_t nvals, int64_t nrows, int64_t ncols, const void *x, bool iso, size_t size);
tsr_cuda_csr upload_view(const tsr_view *v, bool transposed, size_t size, bool with_values);
/* Row-major with leading dimension ld, `shift` elements into an allocation; 0xA5 elsewhere.  from: v->x, or v->b for its marks. */
void *upload_dense(const tsr_view *v, const void *from, bool iso, bool transposed, size_t size, int64_t ld, int64_t shift);
void free_csr(tsr_cuda_csr *a);
uint64_t first_value(const tsr_view *v, size_t size); /* bits of the value of an iso view; else 0 */
/* One value and mark per entry of the mask, in the order of its rows -> a tsr_result, in the order of the view. */
void download_entries(tsr_result *result, const tsr_view *mask, const void *x, const int8_t *present, size_t size);

/* ---- The test ---- */

typedef struct semiring_test {
    tsr_op ops[4];                                           /* one of them in each case */
    tsr_status (*run)(const tsr_product *p, tsr_result *result); /* the kernel, through host arrays */
    int (*before)(void);                                     /* what needs no seed; returns failures; may be NULL */
    bool (*other)(uint64_t seed);                            /* a case of the second kind */
    int count;                                               /* of these */
    const char *name;                                        /* theirs */
} semiring_test;

/* main: 77 without a device. */
int semiring_main(int argc, char **argv, const semiring_test *test);

#endif
