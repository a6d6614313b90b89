/* The page of `tessera run --report`.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_REPORT_H
#define TSR_REPORT_H

#include "tools/tessera/run/report_data.h"

/* Run the program, signals passed on to it, and write the page when it has ended.  The exit code: the program's (128 + its signal), or of
 * what went wrong here, after one line on stderr. */
int tsr_report_run(char **program, const char *path);

/* Write the page of these records.  0, or an exit code after one line on stderr. */
int tsr_report_write(const char *path, const tsr_report *report, const char *program);

#endif
