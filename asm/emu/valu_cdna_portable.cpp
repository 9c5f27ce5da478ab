// CDNA's own vector-ALU families for one host instruction set.
#define STRATA_EMU_VARIANT portable
#include "strata/asm/emu/valu_cdna_p.inc"
#include "strata/asm/emu/valu_fp8_p.inc"
#include "strata/asm/emu/valu_packed32_p.inc"
