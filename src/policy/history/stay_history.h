/* Loops that move to a device with their contents, and back: a history for each kind of product and matrix.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_STAY_HISTORY_H
#define TSR_STAY_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

/* Priced alone, a product whose operands are on the host and whose result is downloaded may never pay, where a loop of such products
 * would, once its vectors are on the device.  So what products on the host take longer than they would on the device, with everything there,
 * is added up.  When that is what moving costs, and what finding out may cost, they move: the loop's vectors stay, and other calls follow
 * them.  Whether it was right is measured, from the start of one such product to the start of the next, whatever is called between them.
 * Intervals that stand out, in which the program did something else, count little. */

/* Measured intervals that are compared, and the first ones on the device, which are not: they move things. */
#define TSR_STAY_WINDOW 8
/* Intervals on the host that are known before a loop moves: of a program whose products take 50 ms each eight are most of a second. */
#define TSR_STAY_KNOWN 4
#define TSR_STAY_EXPECTED 2 /* … where loops are expected to stay */
#define TSR_STAY_MOVING 2
/* What a trial may cost beside the move, in intervals on the host.  A loop that returned tries again when it has lost so many times more. */
#define TSR_STAY_RISK 4.0
#define TSR_STAY_PATIENCE 10.0
/* A loop that is not clearly faster on the device returns to the host. */
#define TSR_STAY_BETTER 0.95

/* Are products of this kind (key, not 0) computed on the device, whatever one of them costs? */
bool tsr_stay_on_device(uint64_t key);

/* They were, and are on the host again: nothing that is still on the device draws them. */
bool tsr_stay_given_up(uint64_t key);

/* One of them starts, on the device or on the host. */
void tsr_stay_starts(uint64_t key, bool on_device, double now_ms);

/* One of them is computed on the host, which takes gain_ms longer (less than 0: shorter) than a device that has everything; to have it there
 * costs move_ms once. */
void tsr_stay_lost_time(uint64_t key, double gain_ms, double move_ms);

/* Searches in matrices of one size, be it A or its transpose, are computed on the device: what begins one goes there as well. */
void tsr_stay_set_searched(double entries, double rows_and_columns, bool on_device);
bool tsr_stay_is_searched(double entries, double rows_and_columns);

/* A frontier pushed on the host took gain_ms longer than it would there.  The next pull takes what pushes have lost into its loop's lost time,
 * which says when the search moves. */
void tsr_stay_lost_pushing(double entries, double rows_and_columns, double gain_ms);
double tsr_stay_take_pushed(double entries, double rows_and_columns);

/* Of all loops: has one stayed on the device for a window, has one returned? */
bool tsr_stay_has_settled(void);
bool tsr_stay_has_returned(void);

/* Loops stayed, and none returned, in an earlier run of the command: they move as soon as the move is paid, before what finding out may cost is.  They may return as ever. */
void tsr_stay_expect(void);

void tsr_stay_forget(void); /* everything (tests) */

#endif
