// Less frequent vector-ALU families for one host instruction set.
#define STRATA_EMU_VARIANT avx2
#include "strata/asm/emu/valu_convert_p.inc"
#include "strata/asm/emu/valu_vopd_p.inc"
