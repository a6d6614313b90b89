/* A progress bar for work that may take longer than two seconds.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_PROGRESS_H
#define TSR_PROGRESS_H

#include <stdbool.h>

/* One bar, on stderr, only when that is a terminal, and only after two seconds. */
typedef struct tsr_progress {
    const char *what; /* static storage */
    double began, drawn; /* seconds */
    bool wanted, shown;
} tsr_progress;

void tsr_progress_begin(tsr_progress *bar, const char *what);

/* share: 0 to 1; more or less is cut off.  Cheap: it is drawn at most ten times a second. */
void tsr_progress_at(tsr_progress *bar, double share);

/* The bar's line is erased. */
void tsr_progress_end(tsr_progress *bar);

#endif
