/* Running one kernel on one case and judging what it wrote.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_KERNELS_COMPARE_H
#define TEST_KERNELS_COMPARE_H

#include "test/kernels/cases.h"

typedef tsr_status (*kernel_fn)(const tsr_product *product, tsr_result *result);

typedef enum verdict { VERDICT_OK, VERDICT_DECLINED, VERDICT_WRONG } verdict;

/* Run and compare against the oracle.  `why` tells what is wrong. */
verdict check_case(const test_case *c, kernel_fn kernel, char *why, size_t size);

#endif
