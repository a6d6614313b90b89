/* Finding and loading backends.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_BACKENDS_H
#define TSR_BACKENDS_H

#include "tessera/backend.h"
#include "tessera/kernel_row.h"

/* The CPU backend, linked in; always there. */
const tsr_backend *tsr_backend_cpu(void);

/* The CUDA plug-in, dlopened at the first call from TESSERA_PLUGIN_DIR (ignored when setuid), or else the folder `tessera` beside the
 * library, or the install directory.  NULL when there is none, it scores 0, its api_version differs, it was switched off, or in a child
 * forked since.  Never unloaded. */
const tsr_backend *tsr_backend_gpu(void);

/* For the command, before the first call: beside this library, too. */
void tsr_backend_search_beside(const char *library);

/* Row k of the plug-in's table of kernels, as tsr_backend_kernel_fn; false also when there is no plug-in.  Asks for no device. */
bool tsr_backend_gpu_kernel(int k, tsr_kernel_row *row);

/* Is there a plug-in that would be loaded? */
bool tsr_backend_gpu_installed(void);

/* Was tsr_backend_gpu called already, so that it costs nothing now? */
bool tsr_backend_gpu_asked(void);

/* Is there a driver in this process already that we did not load? */
bool tsr_backend_gpu_in_use(void);

/* It is called beside the program, once: nobody waits, except for the program's end.  Without a plug-in that would be loaded, or a thread, it
 * is called at once. */
void tsr_backend_gpu_start(void);

/* Nothing of it is under way any more. */
void tsr_backend_gpu_await_start(void);

/* The same at the end of the program: what it has not begun yet it leaves out, and there is no GPU then. */
void tsr_backend_gpu_end_start(void);

/* Called before that, by the thread that asks for it, and once the GPU runs, by another one.  Set before anything is computed. */
void tsr_backend_around_start(void (*before)(void), void (*after)(void));

/* Was it not, and is there a plug-in that it would load?  A file is looked for, once. */
bool tsr_backend_gpu_unasked(void);

/* It failed: not used any more in this process, which one line on stderr says. */
void tsr_backend_gpu_off(void);

#endif
