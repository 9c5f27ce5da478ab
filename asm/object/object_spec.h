#pragma once
#include <string>
#include <vector>

#include "strata/asm/object/code_object.h"

namespace strata::isa {

/// A device variable.
struct GlobalSpec {
    std::string name;
    Bytes bytes = {};       ///< the first of its initial contents; the rest is zero
    uint64_t size = 0;      ///< bytes; at least those given
    uint32_t align = 16;    ///< a power of two up to 4096
    bool constant = false;  ///< in read-only memory, unless it holds an address that the loader fills in
};

/// A function that kernels call. Its registers, LDS and scratch count in the specs of its callers.
struct FunctionSpec {
    std::string name;
    std::vector<uint32_t> code;
    CodeLines lines = {};
};

/// A field that holds the place of something else in the object.
struct ReferenceSpec {
    enum class Kind : uint8_t {
        address,        ///< eight bytes of a variable: the address of `target` + `addend`
        relative_low,   ///< four bytes of code: low half of `target` + `addend` - the field's own address
        relative_high,  ///< the high half; see add_pc_relative()
    };
    std::string holder;   ///< the variable, kernel or function that contains the field
    uint64_t offset = 0;  ///< of the field, in bytes
    std::string target;   ///< a variable, kernel (its first instruction) or function
    int64_t addend = 0;
    Kind kind = Kind::address;
};

/// Everything a code object can hold. All names differ.
struct ObjectSpec {
    int abi_version = 5;  ///< of the metadata: 4, 5 or 6
    std::vector<KernelSpec> kernels;
    std::vector<FunctionSpec> functions = {};
    std::vector<GlobalSpec> globals = {};
    std::vector<ReferenceSpec> references = {};

    /// The two references of an address made from the program counter:
    ///     s_getpc_b64 s[4:5]; s_add_u32 s4, s4, <literal>; s_addc_u32 s5, s5, <literal>
    /// `pc` is the byte offset that s_getpc_b64 gives: of the instruction after it. `low` and `high` are those of the
    /// literals.
    void add_pc_relative(std::string_view holder, uint64_t pc, uint64_t low, uint64_t high, std::string_view target,
                         int64_t addend = 0);
};

/// Writes a complete code object. Kernels and variables are in .dynsym and .symtab, functions in .symtab only.
Result<Bytes> write_code_object(Arch arch, const ObjectSpec& object);

}  // namespace strata::isa
