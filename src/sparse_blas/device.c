/* Device memory of the native door: whose it is, and what is copied from it.
 * SPDX-License-Identifier: Apache-2.0 */
#include "src/runtime/backends.h"
#include "src/runtime/config.h"
#include "src/sparse_blas/native.h"
#include "tessera/device.h"

const tsr_backend *tsr_native_find_device(void)
{
    const tsr_mode mode = tsr_config_get()->mode;
    const bool allowed = mode == TSR_MODE_AUTO || mode == TSR_MODE_GPU;
    const tsr_backend *gpu = allowed ? tsr_backend_gpu() : NULL;
    if (gpu && gpu->device) {
        return gpu;
    }
    if (allowed) {
        tsr_native_fail(TSR_NOT_SUPPORTED, "an array is in device memory, but there is no GPU that can be used");
    } else {
        tsr_native_fail(TSR_NOT_SUPPORTED, "an array is in device memory, but mode is %s", mode == TSR_MODE_CPU ? "cpu" : "off");
    }
    return NULL;
}

tsr_status tsr_native_download(void *host, const void *device, size_t bytes)
{
    const tsr_backend *gpu = tsr_native_find_device();
    if (!gpu) {
        return TSR_NOT_SUPPORTED;
    }
    const tsr_device_copy copy = {.device = (void *)(uintptr_t)device, .host = host, .device_pitch = bytes, .host_pitch = bytes,
                                  .width = bytes, .height = 1};
    tsr_status status = gpu->device->wait(device);
    if (status == TSR_OK) {
        status = gpu->device->copy(&copy);
    }
    return status == TSR_OK ? status : tsr_native_fail(TSR_INTERNAL_ERROR, "the device failed to copy %zu bytes from %p", bytes, device);
}

tsr_status tsr_native_check_pointer(const char *name, const void *p, tsr_memory_space memory)
{
    const tsr_backend *gpu = tsr_config_get()->check_pointers && p ? tsr_native_find_device() : NULL;
    if (!gpu || (gpu->device->which(p) != 0) == (memory == TSR_MEMORY_DEVICE)) {
        return TSR_OK;
    }
    return tsr_native_fail(TSR_INVALID_VALUE, "%s = %p is not in %s memory, as it says", name, p,
                           memory == TSR_MEMORY_DEVICE ? "device" : "host");
}

int tsr_native_which(const tsr_backend *gpu, const void *const *p, int count)
{
    int which = 0;
    for (int k = 0; k < count && which == 0; k++) {
        which = p[k] ? gpu->device->which(p[k]) : 0;
    }
    return which;
}

tsr_status tsr_native_check_which(const char *name, const void *p, int which)
{
    const tsr_backend *gpu = tsr_config_get()->check_pointers && p && which ? tsr_native_find_device() : NULL;
    const int found = gpu ? gpu->device->which(p) : which;
    if (found == which || found == 0) {
        return TSR_OK;
    }
    return tsr_native_fail(TSR_INVALID_VALUE, "%s = %p is on device %d, the plan is for device %d", name, p, found - 1, which - 1);
}
