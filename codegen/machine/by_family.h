#pragma once
#include "strata/asm/isa/family.h"

namespace strata::codegen {

/// A table of a family's rows, Table(family), made when it is first asked for: other families' tables of rows are not
/// built for it.
template <class Table, isa::Family family>
const Table& made_once() {
    static const Table table(family);
    return table;
}
template <class Table>
const Table& of_family(isa::Family family) {
    static constexpr const Table& (*all[])() = {
#define FAMILY(name, ...) made_once<Table, isa::Family::name>,
#include "strata/asm/isa/families.def"
#undef FAMILY
    };
    return all[static_cast<size_t>(family)]();
}

}  // namespace strata::codegen
