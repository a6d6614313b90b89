/* Warnings on stderr, or to the program's log.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_WARN_H
#define TSR_WARN_H

#include <stddef.h>

/* One message, on stderr with the prefix "tessera: ", at most once per `key` and process.  printf style. */
void tsr_warn_once(const char *key, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Messages go to `log` instead, without prefix and newline, one at a time; NULL: stderr. */
void tsr_warn_set_log(void (*log)(void *context, const char *message), void *context);
void tsr_warn_log(const char *message); /* to the log only, if there is one */

/* In one call where the file takes that, so that lines of several processes do not mix.  Raises no signal; errno is the program's.
 * A file that does not block is waited for patience_ms.  0, or what is wrong. */
int tsr_write_all(int fd, const char *data, size_t n, int patience_ms);

#endif
