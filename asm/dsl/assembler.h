#pragma once
#include <algorithm>
#include <array>
#include <initializer_list>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "strata/asm/dsl/operand.h"
#include "strata/asm/object/code_object.h"

namespace strata::isa {

/// A place in the program that writes assembly; errors point to it.
struct Location {
    std::string_view file;
    int line = 0, column = 0;

    Location() = default;
    Location(std::string_view file, int line, int column = 0) : file(file), line(line), column(column) {}
    Location(const std::source_location& where)
        : file(where.file_name()), line(static_cast<int>(where.line())), column(static_cast<int>(where.column())) {}
};

/// One kernel argument; its offset is the assembler's business.
struct KernelArgument {
    std::string name;
    std::string value_kind = "global_buffer";  ///< or "by_value", or a hidden kind
    uint32_t size = 8;                         ///< bytes, also the alignment (at most 8)
};

/// Constant data of a kernel, made by Assembler::constants().
struct Constants {
    uint32_t offset = 0;
};

/// Facts of a kernel that its code does not show. Register counts are at least what the code names.
struct KernelOptions {
    std::string name;
    std::vector<KernelArgument> args = {};         ///< after those of add_argument()
    bool hidden_args = false;                      ///< append block counts, block sizes and remainders
    std::array<uint32_t, 3> block = {1024, 1, 1};  ///< largest block that is launched
    int grid_dims = 1;     ///< workgroup ids wanted: x in s2, y in s3, z in s4 (RDNA4: ttmp9, ttmp7)
    uint32_t lds = 0;      ///< bytes, besides declare_lds()
    uint32_t scratch = 0;  ///< bytes a lane; gfx90a: see KernelSpec
    uint32_t vgprs = 0, agprs = 0, sgprs = 0;  ///< lower bounds (for registers reached through an index)
};

/// Writes machine code by mnemonic and operand: the core under the typed assembler and the Python one.
/// An instruction is emitted whole or not at all. The first error is kept, with its location; finish() returns it.
/// The code starts with the kernel argument pointer in s[0:1], the workgroup id x in s2 (RDNA4: ttmp9) and the
/// work-item id in v0.
class Assembler {
  public:
    /// wave_size 0 is the arch's default. Throws a Usage Exception when the arch has no such waves.
    explicit Assembler(Arch arch, int wave_size = 0);
    ~Assembler();
    Assembler(Assembler&&) noexcept;
    Assembler& operator=(Assembler&&) noexcept;

    Arch arch() const;
    int wave_size() const;
    size_t size() const;  ///< bytes of code so far

    /// A label, to be bound before finish(). The same name gives the same label; without a name each call gives a new
    /// one.
    Label label(std::string_view name = {});
    void bind(Label label, const Location& where = std::source_location::current());

    void emit(std::string_view mnemonic, std::span<const DynOperand> operands, const Modifiers& modifiers = {},
              const Location& where = std::source_location::current());
    void emit(std::string_view mnemonic, std::initializer_list<DynOperand> operands, const Modifiers& modifiers = {},
              const Location& where = std::source_location::current());
    /// Two operations in one instruction (VOPD); mnemonics begin with "v_dual_".
    void emit_dual(std::string_view x, std::span<const DynOperand> x_operands, std::string_view y,
                   std::span<const DynOperand> y_operands, const Location& where = std::source_location::current());
    /// One line in LLVM syntax: an instruction, "label:", or both; ";" and "//" begin a comment.
    void emit_line(std::string_view line, const Location& where = std::source_location::current());
    /// An operand in LLVM's spelling; other names are labels.
    Result<DynOperand> operand(std::string_view text);

    /// Adds a kernel argument; returns its offset from the pointer in s[0:1].
    uint32_t add_argument(const KernelArgument& argument);
    /// Reserves LDS; returns its address in bytes.
    uint32_t declare_lds(uint32_t bytes, uint32_t align = 16);

    /// Adds read-only data that lies beside the code; `align` is a power of two, at most 256.
    Constants constants(std::span<const uint8_t> bytes, uint32_t align = 16,
                        const Location& where = std::source_location::current());
    template <class T>
        requires std::is_trivially_copyable_v<T>
    Constants constants(std::span<const T> values, const Location& where = std::source_location::current()) {
        return constants({reinterpret_cast<const uint8_t*>(values.data()), values.size_bytes()},
                         std::max<uint32_t>(16, alignof(T)), where);
    }
    /// Puts the address of constants into a pair of scalar registers: three instructions, which change SCC.
    void address_of(Constants constants, const DynOperand& pair,
                    const Location& where = std::source_location::current());

    const Error* error() const;  ///< the first error, or nullptr
    /// Records an error of a layer above as if an instruction had failed.
    void fail(Error error, const Location& where = std::source_location::current());

    /// The code with all branches resolved. Error when it refers to constants: only finish() places them.
    Result<std::vector<uint32_t>> words() const;
    /// The kernel's description for the writer: resources come from the code.
    Result<KernelSpec> kernel(const KernelOptions& options) const;
    /// A complete code object with this kernel.
    Result<Bytes> finish(const KernelOptions& options) const;

  private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace strata::isa
