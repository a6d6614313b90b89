/* What the configuration tells the trace.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_TRACE_CONFIG_H
#define TSR_TRACE_CONFIG_H

/* "trace" or "verbose" was set by the API: look at the configuration again before the next record. */
void tsr_trace_reconfigure(void);

#endif
