/* Draw the picture of a matrix.
 * SPDX-License-Identifier: Apache-2.0 */
#include "tools/tessera/inspect_plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tools/tessera/tool.h"

/* Cells of the spy picture along the longer side; bins of the window picture. */
enum { SPY = 360, SPARSITY_BINS = 96, COLUMN_BINS = 80, BORDER_POINTS = 400, BORDER_STEPS = 800 };

/* ---- the spy picture ---- */

typedef struct spy_cell {
    int64_t all, tensor; /* entries; those in windows for Tensor Cores */
} spy_cell;

typedef struct spy {
    int64_t rows, cols; /* cells */
    int64_t most;       /* entries of the fullest cell */
    spy_cell *cell;
} spy;

static bool count_cells(spy *s, const tsr_inspection *i, const tsr_mm_csr *a)
{
    int64_t longest = a->nrows > a->ncols ? a->nrows : a->ncols, cells = longest < SPY ? longest : SPY;
    s->rows = a->nrows > 0 ? (a->nrows * cells + longest - 1) / longest : 1;
    s->cols = a->ncols > 0 ? (a->ncols * cells + longest - 1) / longest : 1;
    s->most = 1;
    s->cell = calloc((size_t)(s->rows * s->cols), sizeof *s->cell);
    const int64_t stored = a->row ? a->nstored : a->nrows;
    const tsr_window *window = i->windows;
    for (int64_t r = 0, row, before = 0; s->cell && r < stored; r++, before = row) {
        row = a->row ? a->row[r] : r;
        window += r > 0 && row / TSR_INSPECT_HEIGHT != before / TSR_INSPECT_HEIGHT;
        bool tensor = tsr_route_window((double)window->nvals, (double)window->vectors) == TSR_WINDOW_TENSOR_CORES;
        spy_cell *line = s->cell + row * cells / longest * s->cols;
        for (int64_t k = a->p[r]; k < a->p[r + 1]; k++) {
            spy_cell *c = &line[a->i[k] * cells / longest];
            c->all++;
            c->tensor += tensor;
            s->most = c->all > s->most ? c->all : s->most;
        }
    }
    return s->cell != NULL;
}

/* Blue for CUDA cores, orange for Tensor Cores; paler where entries are few. */
static void print_cell(FILE *out, const spy *s, int64_t row, int64_t col)
{
    static const double blue[3] = {33, 102, 172}, orange[3] = {230, 119, 11};
    const spy_cell *c = &s->cell[row * s->cols + col];
    double strength = c->all == 0 ? 0 : s->most == 1 ? 1 : 0.3 + 0.7 * log((double)c->all) / log((double)s->most);
    double share = c->all == 0 ? 0 : (double)c->tensor / (double)c->all;
    fprintf(out, "%lld %lld", (long long)col, (long long)row);
    for (int k = 0; k < 3; k++) {
        fprintf(out, " %.0f", 255 - strength * (255 - (blue[k] + share * (orange[k] - blue[k]))));
    }
    fputc('\n', out);
}

static void plot_spy(const tsr_plot *plot, const spy *s, const tsr_inspection *i)
{
    fputs("$spy << EOD\n", plot->script);
    for (int64_t row = 0; row < s->rows; row++) {
        for (int64_t col = 0; col < s->cols; col++) {
            print_cell(plot->script, s, row, col);
        }
    }
    fprintf(plot->script,
            "EOD\nset title \"%lld x %lld, %lld entries\"\n"
            "set size ratio -1\nset xrange [-0.5:%lld.5]\nset yrange [%lld.5:-0.5]\nunset xtics\nunset ytics\n"
            "set xlabel 'orange: windows for Tensor Cores, blue: for CUDA cores'\n"
            "plot $spy using 1:2:3:4:5 with rgbimage notitle\n"
            "reset\n",
            (long long)i->nrows, (long long)i->ncols, (long long)i->nvals, (long long)(s->cols - 1), (long long)(s->rows - 1));
}

/* ---- the row windows ---- */

typedef struct bins {
    int64_t count[COLUMN_BINS][SPARSITY_BINS];
    double most_columns; /* the widest window, at least 2 */
} bins;

static void count_bins(bins *b, const tsr_inspection *i)
{
    memset(b, 0, sizeof *b);
    b->most_columns = 2;
    for (int64_t v = 0; v < i->nlisted; v++) {
        b->most_columns = fmax(b->most_columns, (double)i->windows[v].vectors);
    }
    for (int64_t v = 0; v < i->nlisted; v++) {
        double nvals = (double)i->windows[v].nvals, vectors = (double)i->windows[v].vectors;
        if (nvals > 0) {
            int y = (int)(log(vectors) / log(b->most_columns) * (COLUMN_BINS - 1) + 0.5);
            int x = (int)(tsr_window_sparsity(nvals, vectors) * (SPARSITY_BINS - 1) + 0.5);
            b->count[y][x]++;
        }
    }
}

static double bin_columns(const bins *b, double y)
{
    return pow(b->most_columns, y / (COLUMN_BINS - 1));
}

static void print_bins(FILE *out, const bins *b, tsr_window_route route)
{
    fprintf(out, "$route%d << EOD\n", route);
    for (int y = 0; y < COLUMN_BINS; y++) {
        for (int x = 0; x < SPARSITY_BINS; x++) {
            double vectors = bin_columns(b, y), sparsity = (double)x / (SPARSITY_BINS - 1);
            double nvals = (1 - sparsity) * TSR_INSPECT_HEIGHT * vectors;
            if (b->count[y][x] > 0 && tsr_route_window(nvals, vectors) == route) {
                fprintf(out, "%g %g %g\n", sparsity, vectors, 0.5 + 0.25 * log10((double)b->count[y][x]));
            }
        }
    }
    fputs("EOD\n", out);
}

/* For each number of columns the sparsity where the route changes. */
static void print_border(FILE *out, const bins *b)
{
    fputs("$border << EOD\n", out);
    for (int y = 0; y < BORDER_POINTS; y++) {
        double vectors = bin_columns(b, (double)y * (COLUMN_BINS - 1) / (BORDER_POINTS - 1));
        for (int x = 0; x < BORDER_STEPS; x++) {
            const double most = 1 - 1.0 / TSR_INSPECT_HEIGHT, full = TSR_INSPECT_HEIGHT * vectors; /* an entry in every vector */
            double here = most * x / BORDER_STEPS, next = most * (x + 1) / BORDER_STEPS;
            bool last = x + 1 == BORDER_STEPS;
            if (!last && tsr_route_window((1 - here) * full, vectors) != tsr_route_window((1 - next) * full, vectors)) {
                fprintf(out, "%g %g\n", (here + next) / 2, vectors);
            }
        }
    }
    fputs("EOD\n", out);
}

static void plot_windows(const tsr_plot *plot, const bins *b, const tsr_inspection *i)
{
    print_bins(plot->script, b, TSR_WINDOW_CUDA_CORES);
    print_bins(plot->script, b, TSR_WINDOW_TENSOR_CORES);
    print_border(plot->script, b);
    fprintf(plot->script,
            "set title \"%lld windows of %d rows\"\n"
            "set xlabel 'sparsity of the window'\nset ylabel 'nonzero columns'\nset logscale y\n"
            "set xrange [-0.02:0.9]\nset yrange [0.8:%g]\nset grid lc rgb '#dddddd'\n"
            "set key outside below center horizontal reverse Left samplen 2\n"
            "plot NaN with points pt 7 ps 1 lc rgb '" TSR_PLOT_TENSOR "' title 'Tensor Cores', "
            "NaN with points pt 7 ps 1 lc rgb '" TSR_PLOT_CUDA "' title 'CUDA cores', "
            "$route%d using 1:2:3 with points pt 7 ps variable lc rgb '" TSR_PLOT_TENSOR "' notitle, "
            "$route%d using 1:2:3 with points pt 7 ps variable lc rgb '" TSR_PLOT_CUDA "' notitle, "
            "$border using 1:2 with points pt 7 ps 0.3 lc rgb 'black' notitle, "
            "NaN with lines lw 3 lc rgb 'black' title 'border of the model'\n"
            "reset\n",
            (long long)i->nwindows, TSR_INSPECT_HEIGHT, 1.5 * b->most_columns, TSR_WINDOW_TENSOR_CORES, TSR_WINDOW_CUDA_CORES);
}

/* ---- degrees ---- */

static void plot_degrees(const tsr_plot *plot, const tsr_inspection *i)
{
    int classes = TSR_DEGREE_CLASSES;
    int64_t most = 1;
    while (classes > 1 && i->degrees[classes - 1] == 0) {
        classes--;
    }
    fputs("$degrees << EOD\n", plot->script);
    for (int k = 0; k < classes; k++) {
        int64_t first = k > 0 ? INT64_C(1) << (k - 1) : 0;
        fprintf(plot->script, "%d %lld %lld\n", k, (long long)first, (long long)i->degrees[k]);
        most = i->degrees[k] > most ? i->degrees[k] : most;
    }
    fprintf(plot->script,
            "EOD\nset title \"entries per row: mean %.1f, most %lld\"\n"
            "set xlabel 'entries per row, from'\nset ylabel 'rows'\nset logscale y\nset yrange [0.5:%g]\nset xrange [-0.7:%d.7]\n"
            "set style fill solid\nset boxwidth 0.8\nset grid ytics lc rgb '#dddddd'\nset xtics rotate by -45\n"
            "plot $degrees using 1:3:xtic(2) with boxes lc rgb '" TSR_PLOT_GREY "' notitle\n"
            "reset\n",
            i->mean_row, (long long)i->longest_row, 2.0 * (double)most, classes - 1);
}

int tsr_inspect_plot(const tsr_inspection *i, const tsr_mm_csr *a, const char *title, const char *path)
{
    static bins windows;
    spy picture;
    tsr_plot plot;
    if (!count_cells(&picture, i, a)) {
        return tsr_tool_fail(TSR_EXIT_BROKEN, "out of memory");
    }
    int code = tsr_plot_begin(&plot, path, 1500, 560);
    if (code == 0) {
        fputs("set multiplot layout 1,3 title ", plot.script);
        tsr_plot_text(&plot, title);
        fputs(" noenhanced\n", plot.script);
        plot_spy(&plot, &picture, i);
        count_bins(&windows, i);
        plot_windows(&plot, &windows, i);
        plot_degrees(&plot, i);
        fputs("unset multiplot\n", plot.script);
        code = tsr_plot_end(&plot);
    }
    free(picture.cell);
    return code;
}
