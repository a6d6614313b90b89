/* Calls that pick entries of host arrays.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_ENGINE_SELECTION_H
#define TSR_ENGINE_SELECTION_H

#include "src/engine/call/call.h"

/* C<M> accum= the entries of sparse A that compare with of.selection.thunk (keep and a.type, the thunk's, are set), those that
 * update.place keeps (update.placed), or those that of.selection.function does. */
extern const tsr_operation tsr_select_operation;

/* C<M> accum= A (I, J): of.extraction has both lists, in the order of A's vectors as it is held, transposed or not. */
extern const tsr_operation tsr_extract_operation;

/* w<m> accum= u (I) of a full u: of.extraction.places. */
extern const tsr_operation tsr_gather_operation;

/* w (I) accum= u, or a scalar: of.extraction.places, a list; call->one without u. */
extern const tsr_operation tsr_scatter_operation;

#endif
