/* Warnings on stderr.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_WARN_H
#define TSR_WARN_H

#include <stddef.h>

/* One message on stderr, prefix "tessera: ", at most once per `key` and process.  printf style. */
void tsr_warn_once(const char *key, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* In one call where the file takes that, so that lines of several processes do not mix.  Raises no signal; errno is the program's.
 * A file that does not block is waited for patience_ms.  0, or what is wrong. */
int tsr_write_all(int fd, const char *data, size_t n, int patience_ms);

#endif
