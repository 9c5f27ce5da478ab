#pragma once
#include <cstddef>
#include <span>

#include "strata/asm/emu/machine/wave.h"

namespace strata::emu {

/// One table of choosers for each host vector width; chosen at run time.
struct HandlerSet {
    const char* name;  ///< "avx2", "avx512", "portable"
    Chooser valu;      ///< VOP1 VOP2 VOPC VOP3 VOP3SD VOP3P VOPD, with DPP
    Chooser matrix;    ///< WMMA SWMMAC MFMA SMFMAC
    Chooser memory;    ///< DS MUBUF MTBUF FLAT GLOBAL SCRATCH
    /// Makes one of as many ops at the start of a straight run as it can; returns how many these are (at least 1).
    size_t (*group)(Op* ops, size_t count);
    Handler (*plain)(const Op& op);  ///< of a grouped op: its handler before that
};
std::span<const HandlerSet> host_handlers();  ///< all sets this host runs, the widest last
const HandlerSet& handlers();  ///< the widest set this host runs; STRATA_EMU_SIMD=avx2|avx512|portable overrides

/// The op of an instruction with all but its index; none: it is not implemented.
std::optional<Op> make_op(const HandlerSet& set, const Decoded& decoded);
inline std::optional<Op> make_op(const Decoded& decoded) { return make_op(handlers(), decoded); }

}  // namespace strata::emu
