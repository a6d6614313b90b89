/* On which device a test has its arrays.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TEST_DEVICE_NUMBER_H
#define TEST_DEVICE_NUMBER_H

#include <stdlib.h>

#include "tessera/device.h"

static int device_number; /* as tsr_backend_device.which counts; 0: the first one */

/* text: an argument of the program, or NULL.  False: there is no such device. */
static inline bool take_device_number(const tsr_backend_device *device, const char *text)
{
    void *p;
    device_number = text ? atoi(text) : 0;
    if (device->allocate(&p, 16, device_number) != TSR_OK) {
        return false;
    }
    const bool there = device_number == 0 || device->which(p) == device_number;
    device->release(p);
    return there;
}

#endif
