#define STRATA_EMU_VARIANT portable
#include "strata/asm/emu/memory_choose_p.inc"
