// The vector-ALU handlers for one host instruction set.
#define STRATA_EMU_VARIANT portable
#include "strata/asm/emu/valu_run_p.inc"
// families
#include "strata/asm/emu/valu_compare_p.inc"
#include "strata/asm/emu/valu_cross_p.inc"
#include "strata/asm/emu/valu_float_p.inc"
#include "strata/asm/emu/valu_int_p.inc"
#include "strata/asm/emu/valu_p.inc"
