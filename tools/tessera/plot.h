/* Pictures drawn by gnuplot, a program that is looked for when a picture is wanted.
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef TSR_PLOT_H
#define TSR_PLOT_H

#include <stdbool.h>
#include <stdio.h>

/* Colours used in every picture, as gnuplot writes them. */
#define TSR_PLOT_TENSOR "#e6770b"
#define TSR_PLOT_CUDA "#2166ac"
#define TSR_PLOT_GREY "#8a8a8a"

typedef struct tsr_plot {
    FILE *script; /* gnuplot commands go here; data as $NAME << EOD blocks */
    const char *path;
} tsr_plot;

/* Does the name end in .svg or .png? */
bool tsr_plot_name_ok(const char *path);

/* Is gnuplot here, and can the file be made?  To be asked before long work.  0, or an exit code after one line on stderr. */
int tsr_plot_check(const char *path);

/* Begin a picture of width x height pixels in `path` (static storage until the end; tsr_plot_name_ok).  0, or an exit code after
 * one line on stderr: no room for temporary files. */
int tsr_plot_begin(tsr_plot *plot, const char *path, int width, int height);

/* Draw and write it.  0, or an exit code after one line on stderr; the plot is freed always. */
int tsr_plot_end(tsr_plot *plot);

/* Text inside double quotes of a gnuplot string (enhanced mode is off in titles that need it). */
void tsr_plot_text(const tsr_plot *plot, const char *text);

#endif
