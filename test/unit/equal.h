/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_EQUAL_H
#define TSR_EQUAL_H

/* An array that begins with these values. */
#define EQUAL(array, ...)                                   \
    do {                                                    \
        const __typeof__(*(array)) want_[] = {__VA_ARGS__}; \
        assert_memory_equal(array, want_, sizeof want_);    \
    } while (0)

#endif
