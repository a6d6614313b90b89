/* Options, timed steps and saved answers of the example programs.
 * SPDX-License-Identifier: Apache-2.0 */
#include "program.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct command_line {
    program *p;
    const char *input;
} command_line;

static int positive(struct argp_state *state, const char *option, const char *text, int accepted)
{
    char *end;
    errno = 0;
    const long value = strtol(text, &end, 10);
    if (!accepted) argp_error(state, "this program has no %s", option);
    if (errno || *end || end == text || value < 1 || value > 1000000)
        argp_error(state, "%s: '%s' is not a count", option, text);
    return (int)value;
}

static const char *known_form(struct argp_state *state, const program *p, const char *text)
{
    for (int f = 0; p->form && p->forms[f]; f++)
        if (strcmp(p->forms[f], text) == 0) return p->forms[f];
    argp_error(state, "this program has no form '%s'", text);
    return NULL;
}

static FILE *open_save(struct argp_state *state, const char *path)
{
    FILE *file = fopen(path, "wb");
    if (!file) argp_failure(state, 1, errno, "%s", path);
    return file;
}

static error_t parse(int key, char *text, struct argp_state *state)
{
    command_line *c = state->input;
    program *p = c->p;
    switch (key) {
    case 'i': p->iterations = positive(state, "--iterations", text, p->iterations); return 0;
    case 'n': p->columns = positive(state, "--columns", text, p->columns); return 0;
    case 'k': p->k = positive(state, "--k", text, p->k); return 0;
    case 'f': p->form = known_form(state, p, text); return 0;
    case 's': p->save = open_save(state, text); return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0) argp_error(state, "one graph, please");
        c->input = text;
        return 0;
    default: return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp_option options[] = {
    {"iterations", 'i', "COUNT", 0, "repeat the iteration this often (pagerank, gcn)", 0},
    {"columns", 'n', "COUNT", 0, "columns of the dense operand (gcn, sddmm), sources (betweenness)", 0},
    {"k", 'k', "COUNT", 0, "the k of the k-truss", 0},
    {"form", 'f', "NAME", 0, "formulation (triangles)", 0},
    {"save", 's', "FILE", 0, "write every answer to FILE", 0},
    {0}};

void program_start(program *p, int argc, char **argv)
{
    command_line c = {.p = p, .input = "karate"};
    argp_err_exit_status = 2;
    argp_parse(&(struct argp){options, parse, "[karate | rmat:SCALE[:EDGE_FACTOR] | FILE.mtx[.gz]]", p->doc, 0, 0, 0},
               argc, argv, 0, 0, &c);
    setvbuf(stdout, NULL, _IOLBF, 0);
    TRY(GrB_init(GrB_NONBLOCKING));
    if (!graph_open(&p->g, c.input)) exit(1);
    printf("graph %s vertices %llu edges %llu\n", c.input, (unsigned long long)p->g.n, (unsigned long long)p->g.edges);
}

int program_end(program *p)
{
    graph_close(&p->g);
    const bool saved = !p->save || fclose(p->save) == 0;
    if (!saved) perror("--save");
    TRY(GrB_finalize());
    return saved ? 0 : 1;
}

double program_now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e3 * (double)t.tv_sec + 1e-6 * (double)t.tv_nsec;
}

void program_step(program *p)
{
    p->started = program_now_ms();
}

static void report(program *p, const char *name, double ms, double checksum, const double *values, GrB_Index count)
{
    printf("step %s %.3f checksum %.9g\n", name, ms, checksum);
    if (!p->save) return;
    const double header = (double)count;
    if (fwrite(&header, sizeof header, 1, p->save) != 1 || fwrite(values, sizeof *values, count, p->save) != count) {
        perror("--save");
        exit(1);
    }
}

/* Entries as FP64 in row-major order, each followed by its position, so that a moved entry shows as a difference. */
static void report_tuples(program *p, const char *name, double ms, GrB_Matrix A, GrB_Vector v)
{
    GrB_Index count = 0, width = 1;
    TRY(A ? GrB_Matrix_nvals(&count, A) : GrB_Vector_nvals(&count, v));
    if (A) TRY(GrB_Matrix_ncols(&width, A));
    GrB_Index *i = malloc((count + 1) * sizeof *i), *j = calloc(count + 1, sizeof *j);
    double *x = malloc((count + 1) * sizeof *x), *pairs = malloc((2 * count + 1) * sizeof *pairs), sum = 0;
    if (!i || !j || !x || !pairs) program_check(GrB_OUT_OF_MEMORY, name, __FILE__, __LINE__);
    TRY(A ? GrB_Matrix_extractTuples_FP64(i, j, x, &count, A) : GrB_Vector_extractTuples_FP64(i, x, &count, v));
    for (GrB_Index k = 0; k < count; k++) {
        sum += x[k];
        pairs[2 * k] = (double)(i[k] * width + j[k]);
        pairs[2 * k + 1] = x[k];
    }
    report(p, name, ms, sum, pairs, 2 * count);
    free(i);
    free(j);
    free(x);
    free(pairs);
}

void program_step_matrix(program *p, const char *name, GrB_Matrix answer)
{
    TRY(GrB_Matrix_wait(answer, GrB_MATERIALIZE));
    report_tuples(p, name, program_now_ms() - p->started, answer, NULL);
}

void program_step_vector(program *p, const char *name, GrB_Vector answer)
{
    TRY(GrB_Vector_wait(answer, GrB_MATERIALIZE));
    report_tuples(p, name, program_now_ms() - p->started, NULL, answer);
}

void program_step_value(program *p, const char *name, double answer)
{
    report(p, name, program_now_ms() - p->started, answer, (double[]){0, answer}, 2);
}

void program_check(GrB_Info info, const char *call, const char *file, int line)
{
    if (info == GrB_SUCCESS || info == GrB_NO_VALUE) return;
    fprintf(stderr, "%s:%d: GraphBLAS error %d in %s\n", file, line, (int)info, call);
    exit(1);
}
