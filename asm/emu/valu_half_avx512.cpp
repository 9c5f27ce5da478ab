// 16-bit, double and transcendental vector-ALU families for one host instruction set.
#define STRATA_EMU_VARIANT avx512
#include "strata/asm/emu/valu_double_p.inc"
#include "strata/asm/emu/valu_half_p.inc"
#include "strata/asm/emu/valu_trans_p.inc"
