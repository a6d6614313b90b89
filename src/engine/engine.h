/* One call: match -> decide -> run -> settle -> report.  Every door calls this.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_ENGINE_H
#define TSR_ENGINE_H

#include "src/engine/call/call.h"
#include "src/engine/product/decide.h"

/* Computes a call that came through `door`, or has it computed by the door's library.  true: done, *info is the result; false: nothing has
 * been done, forward it. */
bool tsr_engine_call(const tsr_door *door, const tsr_arguments *given, int *info);

/* Has a device compute a product although its operands may all be on the host, if that is predicted to pay.  false: nothing has been done, and
 * the call may still be computed otherwise. */
bool tsr_engine_call_on_device(const tsr_door *door, const tsr_arguments *given, int *info);

/* Runs a call whose operation and operands are matched.  true: done; false: nothing has been done, call->why may say why.  What the call holds
 * is released. */
bool tsr_engine_run(tsr_call *call);

/* The door's library does the call, timed, where the trace wants to know; false: it is the wrapper's, nobody does, or contents are lost. */
bool tsr_engine_forward(const tsr_door *door, const tsr_arguments *given, const char *reason, int *info);

/* The same of a push: always timed, and what is lost without the GPU is found out.  False: contents are lost. */
bool tsr_engine_forward_push(const tsr_door *door, const tsr_arguments *given, const tsr_frontier *f, const char *reason, int *info);

#endif
