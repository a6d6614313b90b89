/* Pictures: SVG that follows the reader's light or dark theme; PNG of the light one by rsvg-convert.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_PLOT_H
#define TSR_PLOT_H

#include <stdbool.h>
#include <stdio.h>

typedef struct tsr_plot {
    FILE *svg; /* elements may be written here directly; classes as below */
    const char *path;
} tsr_plot;

/* Classes of shapes: "plain" (SuiteSparse and other peers), "ours" (our CPU kernels, CUDA cores), "device" (the GPU, Tensor Cores), "mark"
 * (lines and points that stand out), "grid" (lines that do not).  Of text: "title", "soft", "number" (ends at x), "good", "bad"; "" is plain text. */

/* Does the name end in .svg or .png? */
bool tsr_plot_name_ok(const char *path);

/* Is what draws here, and can the file be made?  To be asked before long work.  0, or an exit code after one line on stderr. */
int tsr_plot_check(const char *path);

/* Begin a picture of width x height pixels in `path` (static storage until the end; tsr_plot_name_ok).  `title` is read out by screen
 * readers.  0, or an exit code after one line on stderr: no room for temporary files. */
int tsr_plot_begin(tsr_plot *plot, const char *path, double width, double height, const char *title);

/* Write it.  0, or an exit code after one line on stderr; the plot is freed always. */
int tsr_plot_end(tsr_plot *plot);

/* Text that begins at x ("number": ends there), its base line at y. */
void tsr_plot_text(const tsr_plot *plot, double x, double y, const char *class, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
void tsr_plot_bar(const tsr_plot *plot, double x, double y, double width, double height, const char *class);
void tsr_plot_line(const tsr_plot *plot, double x1, double y1, double x2, double y2, const char *class);
void tsr_plot_dot(const tsr_plot *plot, double x, double y, double radius, const char *class);

/* "1,234,567" into `text`, which is returned. */
const char *tsr_plot_count(char text[32], long long number);
/* The last part of a path. */
const char *tsr_plot_name(const char *path);

#endif
