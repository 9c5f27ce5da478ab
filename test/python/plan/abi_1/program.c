/* A program in C that selects an operation, runs it on an emulated GPU, and compares with its own loop. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <strata/strata.h>

#define ROWS 4
#define COLUMNS 64

static void check(strata_status status) {
    if (status == STRATA_OK) return;
    const strata_error* error = strata_last_error();
    fprintf(stderr, "%s: %s\n", strata_status_name(status), error->message);
    exit(1);
}

int main(int argc, char** argv) {
    strata_context* context;
    check(strata_open(STRATA_ABI, NULL, argc > 1 ? argv[1] : "emu:gfx1100", &context));

    /* The operation: its operands by name, and its attributes. */
    const int64_t shape[] = {ROWS, 2 * COLUMNS}, axis = 1;
    strata_desc* desc;
    check(strata_desc_create(context, "swiglu", &desc));
    check(strata_desc_tensor(desc, "x", STRATA_FLOAT32, 2, shape, NULL));
    check(strata_desc_ints(desc, "axis", &axis, 1));
    strata_preference preference = {sizeof preference, 0, 0, "asm", 0, 0};
    strata_plan* plan;
    check(strata_select(context, desc, &preference, &plan));
    strata_desc_destroy(desc);

    /* Memory for each operand, and for the workspace. */
    strata_tensor operands[2];
    for (uint32_t i = 0; i < strata_plan_operands(plan); ++i) {
        strata_operand operand = {sizeof operand, 0, NULL, 0, {0}};
        check(strata_plan_operand(plan, i, &operand));
        operands[i] = operand.like;
        check(strata_alloc(context, operand.like.bytes, &operands[i].data));
    }
    uint64_t workspace = 0, bytes = strata_plan_workspace(plan);
    if (bytes > 0) check(strata_alloc(context, bytes, &workspace));

    float x[ROWS][2 * COLUMNS], y[ROWS][COLUMNS];
    for (int i = 0; i < ROWS; ++i)
        for (int j = 0; j < 2 * COLUMNS; ++j) x[i][j] = (float)((i * 31 + j * 7) % 33 - 16) / 8;
    check(strata_upload(context, NULL, operands[0].data, x, sizeof x));
    check(strata_run(plan, NULL, workspace, bytes, operands, 2));
    check(strata_download(context, NULL, y, operands[1].data, sizeof y));

    double worst = 0;
    for (int i = 0; i < ROWS; ++i)
        for (int j = 0; j < COLUMNS; ++j) {
            const double a = x[i][j], b = x[i][COLUMNS + j];
            worst = fmax(worst, fabs(y[i][j] - a * b / (1 + exp(-b))));
        }
    printf("strata %s on %s: %u launch, error %s\n", strata_version(), strata_arch(context),
           (unsigned)strata_plan_launches(plan), worst < 1e-6 ? "below 1e-6" : "too large");
    strata_plan_destroy(plan);
    strata_close(context);
    return worst < 1e-6 ? 0 : 1;
}
