/* Frontiers of several searches at once: pushed on the host, or on a device that has their matrix.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_FRONTIER_HISTORY_H
#define TSR_FRONTIER_HISTORY_H

#include <stdbool.h>
#include <stdint.h>

/* The first levels of a search are few entries, which the host pushes sooner than a device is asked.  Where a later level is computed on a
 * device nevertheless, what the host has made by then is sorted and uploaded, which may take longer than the device would have taken for all
 * of them.  So what the host's pushes and these uploads take longer than levels on the device is added up for each kind: when enough was lost,
 * searches of the kind begin on the device.  Levels that stay small (a grid's, a road network's) lose nothing on the host, and
 * stay.  Every so often a search that begins on the device is computed on the host once more, to see what that takes now. */

/* A level on the device takes so many times what its product is predicted to and ms more: other calls follow it, and its size is waited for (H200:
 * 1.0 ms of a uniform graph, predicted .6; .5 of a grid, predicted .12). */
#define TSR_FRONTIER_PRODUCT 2.0
#define TSR_FRONTIER_REST_MS 0.3
/* So many levels must have been lost; by one call, which may have been disturbed, no more than so many. */
#define TSR_FRONTIER_RISK 4.0
#define TSR_FRONTIER_MOST 3.0
/* As long as so many levels take searches begin on the device before one is tried on the host: many short searches, or one that should not be there.
 * Each time twice as long.  And: pushes that a trial lasts at most. */
#define TSR_FRONTIER_PAUSE 200.0
#define TSR_FRONTIER_DOUBLINGS 6
#define TSR_FRONTIER_TRIAL 16

/* Never 0. */
uint64_t tsr_frontier_kind(double entries, double rows_and_columns, double vectors);

/* One was pushed on the host in `ms`; the product alone is predicted to take `device_ms` on the device. */
void tsr_frontier_pushed(uint64_t kind, double ms, double device_ms);

/* One that the host had made was brought to the device for a level there, which took `ms`. */
void tsr_frontier_uploaded(uint64_t kind, double ms);

/* Are they pushed on the device? */
bool tsr_frontier_on_device(uint64_t kind);

/* A search begins on the device: its frontier was on the host. */
void tsr_frontier_begins(uint64_t kind, double now_ms);

void tsr_frontier_forget(void); /* everything (tests) */

#endif
