// Matrix instructions for one host instruction set.
#define STRATA_EMU_VARIANT avx512
#include "strata/asm/emu/valu_matrix_p.inc"
