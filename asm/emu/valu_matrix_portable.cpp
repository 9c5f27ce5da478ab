// Matrix instructions for one host instruction set.
#define STRATA_EMU_VARIANT portable
#include "strata/asm/emu/valu_matrix_p.inc"
