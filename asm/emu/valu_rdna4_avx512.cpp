// Vector-ALU operations new with RDNA4 for one host instruction set.
#define STRATA_EMU_VARIANT avx512
#include "strata/asm/emu/valu_rdna4_p.inc"
