#pragma once
#include "strata/asm/lint/code_p.h"
#include "strata/asm/lint/finding.h"

// Rules of single instructions, and of what follows s_clause.
namespace strata::lint {

void check_dual(isa::Arch arch, const Step& step, Findings& found);
void check_clause(Code& code, const Step& step, Findings& found);

}  // namespace strata::lint
