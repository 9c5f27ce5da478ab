#pragma once
#include <span>

#include "strata/asm/dsl/operand.h"

namespace strata::isa {

/// An instruction ready to encode, with what the assembler has to remember about it.
struct Selected {
    Inst inst;
    Label target;   ///< of a branch
    int vgprs = 0;  ///< registers up to the highest one named
    int agprs = 0;
    int sgprs = 0;  ///< the same for s0 to s105
    bool must_be_e32 = false;
};

/// The machine an instruction is for.
struct Machine {
    Arch arch = Arch::gfx1100;
    int wave_size = 32;
};

/// Matches operands in the order of LLVM's text to the fields of the mnemonic's row. Errors name mnemonic and operand.
Result<Selected> select(const Machine& machine, std::string_view mnemonic, std::span<const DynOperand> operands,
                        const Modifiers& modifiers);

/// The same for a row of image instructions of RDNA: data, addresses, descriptor and sampler.
Result<Selected> select_image(const Machine& machine, const Row& row, std::span<const DynOperand> operands,
                              const Modifiers& modifiers);

/// Both halves of a dual-issue instruction; mnemonics begin with "v_dual_".
struct Half {
    std::string_view mnemonic;
    std::span<const DynOperand> operands;
};
Result<Selected> select_dual(const Machine& machine, const Half& x, const Half& y);

}  // namespace strata::isa
