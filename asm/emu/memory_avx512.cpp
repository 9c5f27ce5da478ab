#define STRATA_EMU_VARIANT avx512
#include "strata/asm/emu/memory_choose_p.inc"
