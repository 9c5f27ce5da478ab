#define STRATA_EMU_VARIANT avx2
#include "strata/asm/emu/memory_choose_p.inc"
