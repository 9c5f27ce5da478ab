#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "strata/asm/isa/arch.h"
#include "strata/core/support/result.h"

namespace strata::isa {

using Bytes = std::vector<uint8_t>;

/// The 64-byte kernel descriptor (LLVM AMDGPUUsage, "Code Object V3 Kernel Descriptor"), fields decoded.
struct KernelDescriptor {
    uint32_t group_segment_fixed_size = 0;    ///< LDS bytes
    uint32_t private_segment_fixed_size = 0;  ///< scratch bytes a lane
    uint32_t kernarg_size = 0;
    int64_t code_entry_offset = 0;  ///< entry - descriptor address
    uint32_t rsrc1 = 0, rsrc2 = 0, rsrc3 = 0;
    uint16_t properties = 0;  ///< kernel_code_properties
    uint16_t kernarg_preload = 0;

    bool wave32() const { return properties >> 10 & 1; }
    bool dynamic_stack() const { return properties >> 11 & 1; }
    // user SGPRs, in the order they are packed
    bool private_segment_buffer() const { return properties & 1; }
    bool dispatch_ptr() const { return properties >> 1 & 1; }
    bool queue_ptr() const { return properties >> 2 & 1; }
    bool kernarg_ptr() const { return properties >> 3 & 1; }
    bool dispatch_id() const { return properties >> 4 & 1; }
    bool flat_scratch_init() const { return properties >> 5 & 1; }
    bool private_segment_size() const { return properties >> 6 & 1; }
    int user_sgprs() const { return rsrc2 >> 1 & 31; }
    bool workgroup_id(int dim) const { return rsrc2 >> (7 + dim) & 1; }
    bool workgroup_info() const { return rsrc2 >> 10 & 1; }
    int workitem_id_dims() const { return rsrc2 >> 11 & 3; }    ///< 0: x, 1: x y, 2: x y z
    uint32_t float_mode() const { return rsrc1 >> 12 & 0xff; }  ///< initial MODE[7:0]
    bool dx10_clamp() const { return rsrc1 >> 21 & 1; }
    bool ieee_mode() const { return rsrc1 >> 23 & 1; }
    int accum_offset() const { return static_cast<int>((rsrc3 & 63) + 1) * 4; }  ///< CDNA: row of register a0
    int wave_size(const ArchInfo& arch) const;  ///< lanes; what counts, whatever the metadata says
    int vgprs(const ArchInfo& arch) const;      ///< allocated, from the granulated count
    int sgprs(const ArchInfo& arch) const;      ///< the same; 0 where every wave has as many as there are (RDNA)
};

/// Registers a step of GRANULATED_WORKITEM_VGPR_COUNT stands for (AMDGPUUsage; differs from the allocation granule).
int vgpr_encoding_granule(const ArchInfo& arch, int wave_size);

std::array<uint8_t, 64> encode(const KernelDescriptor& descriptor);
KernelDescriptor decode_descriptor(std::span<const uint8_t, 64> bytes);

/// One kernel argument of the metadata note. `value_kind` is the note's spelling: "by_value", "global_buffer",
/// "hidden_block_count_x", "hidden_remainder_z", ...
struct KernelArg {
    uint32_t offset = 0, size = 0;
    std::string value_kind;
    std::string name = {};
    std::string address_space = {};
    std::string access = {};  ///< "read_only", "write_only", "read_write": .actual_access, else .access; "" = not said
    std::string type_name = {};
    bool is_const = false;  ///< what it points to
    /// No other pointer leads to memory that is reached by it, if that is written: .is_restrict, or an .actual_access
    /// that LLVM gives such pointers alone.
    bool unaliased = false;
};

struct KernelInfo {
    std::string name;  ///< without ".kd"
    KernelDescriptor descriptor;
    uint64_t descriptor_address = 0, entry_address = 0;  ///< in the object's own address space
    std::vector<KernelArg> args;
    uint32_t kernarg_size = 0, kernarg_align = 8;
    uint32_t lds = 0, scratch = 0;  ///< bytes a workgroup; bytes a lane
    uint32_t vgprs = 0, agprs = 0, sgprs = 0, wave_size = 32;
    uint32_t vgpr_spills = 0, sgpr_spills = 0;
    uint32_t max_block = 1024;  ///< .max_flat_workgroup_size
    bool uses_dynamic_stack = false;
};

/// A loadable segment: `memory_size` bytes at `address`, the first `bytes.size()` of them given, the rest zero.
struct Segment {
    uint64_t address = 0, memory_size = 0;
    std::span<const uint8_t> bytes;
    bool writable = false, executable = false;
};

struct Symbol {
    std::string name;
    uint64_t address = 0, size = 0;
    bool is_function = false;
};

/// A dynamic relocation that the loader applies: *(u64*)(base + address) = base + addend.
struct Relocation {
    uint64_t address = 0, addend = 0;
};

/// A parsed code object. Spans point into `image`, which the object owns.
class CodeObject {
  public:
    CodeObject() = default;
    CodeObject(CodeObject&&) = default;  // move only: spans of a copy would point into the original
    CodeObject& operator=(CodeObject&&) = default;

    /// Reads metadata versions 4, 5 and 6, and linked files for NVIDIA's chips. Every offset and size is checked; a
    /// damaged file is an Error that says where.
    static Result<CodeObject> parse(Bytes image);

    Arch arch = Arch::gfx1100;  ///< means nothing where for_nvidia
    bool for_nvidia = false;  ///< code of NVIDIA's chips: kernels, parameters and variables are known, and no segments
    int abi_version = 0;      ///< metadata version: 4, 5 or 6
    std::vector<KernelInfo> kernels;
    std::vector<Segment> segments;
    std::vector<Symbol> symbols;
    std::vector<Relocation> relocations;
    std::vector<std::string> printf_formats;  ///< rows of amdhsa.printf
    Bytes image;

    const KernelInfo* find(std::string_view kernel) const;  ///< nullptr when absent
    const Segment* code_at(uint64_t address) const;         ///< the executable one that holds it; nullptr: none
    /// The same; Launch error that lists those there are.
    Result<const KernelInfo*> kernel(std::string_view name) const;
};

/// Where code comes from: rows in the order of their words, each valid up to the next one.
struct CodeLines {
    struct Row {
        uint32_t word = 0;              ///< of the code
        uint32_t file = 0;              ///< index into files
        uint32_t line = 0, column = 0;  ///< from 1; 0 is unknown
    };
    std::vector<std::string> files;
    std::vector<Row> rows;
};

/// A word of a kernel's code that takes half of the distance to one of its constants: from the word on, plus `addend`.
struct ConstantReference {
    uint32_t word = 0, offset = 0;  ///< of the code; bytes into the constants
    int32_t addend = 0;
    bool high = false;  ///< the upper 32 bits
};

/// The description of one kernel for the writer; counts are exact, the writer rounds them to granules.
struct KernelSpec {
    std::string name;
    std::vector<uint32_t> code;  ///< words; the writer places them at a 256-byte boundary
    Bytes constants;             ///< read-only data beside the code, at a 256-byte boundary
    std::vector<ConstantReference> references;
    std::vector<KernelArg> args;  ///< user arguments, then hidden ones if the kernel wants them
    uint32_t kernarg_size = 0;
    /// Scratch on CDNA2: the kernel finds the base in s[2:3] after the argument pointer, then the workgroup ids, then
    /// the wave's offset. It adds both into flat_scratch before its first access.
    uint32_t lds = 0, scratch = 0, vgprs = 1, agprs = 0, sgprs = 1;
    int wave_size = 32;
    int workitem_id_dims = 0;  ///< 0: x only, 1: x y, 2: x y z
    std::array<bool, 3> workgroup_ids = {true, false, false};
    bool dispatch_ptr = false;
    uint32_t user_sgprs =
        0;  ///< the least number of scalars before the workgroup ids; a scalar without use has any value
    uint32_t max_block = 1024;
    CodeLines lines = {};  ///< go to .debug_line, so that a fault names its source

    /// CDNA: the row of a0 in the file that both kinds of vector registers share.
    uint32_t accum_offset() const { return vgprs ? (vgprs + 3) / 4 * 4 : 4; }
    /// Rows of the file that the kernel needs.
    uint32_t all_vgprs() const { return agprs ? accum_offset() + agprs : vgprs ? vgprs : 1; }
};

/// Writes a complete code object (metadata v5, .symtab, .dynsym, section headers, note, descriptors). For more than
/// kernels see object_spec.h.
Result<Bytes> write_code_object(Arch arch, std::span<const KernelSpec> kernels);

/// Links one relocatable object made by LLVM (ET_REL) into a loadable code object.
Result<Bytes> link_relocatable(std::span<const uint8_t> object);

/// The bytes of .text of a relocatable object that refers to nothing outside itself, up to `end_symbol` if it has one.
Result<Bytes> code_of_relocatable(std::span<const uint8_t> object, std::string_view end_symbol = {});

}  // namespace strata::isa
