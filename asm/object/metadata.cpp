#include "strata/asm/object/metadata_p.h"

#include "strata/asm/object/amdgpu_elf_p.h"
#include "strata/asm/object/elf_view_p.h"
#include "strata/asm/object/msgpack_p.h"

namespace strata::isa {
namespace {

using elf::damaged;
using msgpack::Value;

// More than any launch could pass; a larger number marks a damaged file.
constexpr uint32_t kMaxKernargBytes = 1u << 20;

/// Takes fields of one map into C++ fields; the first that does not fit is remembered.
class FieldReader {
  public:
    FieldReader(const Value& map, std::string_view what) : map_(map), what_(what) {}

    template <class T>
    FieldReader& number(std::string_view key, T& field, uint64_t limit = UINT32_MAX) {
        const Value* value = find(key);
        if (!value) return *this;
        const bool fits =
            (value->is(Value::Kind::integer) || value->is(Value::Kind::boolean)) && value->number() <= limit;
        if (fits)
            field = static_cast<T>(value->number());
        else
            fail(key, "a number in range");
        return *this;
    }
    FieldReader& text(std::string_view key, std::string& field) {
        const Value* value = find(key);
        if (value && value->is(Value::Kind::string))
            field = value->text();
        else if (value)
            fail(key, "a string");
        return *this;
    }
    Result<void> done() { return error_.message.empty() ? Result<void>() : Result<void>(error_); }

  private:
    const Value* find(std::string_view key) const { return map_.find(key); }
    void fail(std::string_view key, std::string_view expected) {
        if (error_.message.empty()) error_ = damaged("metadata of {}: {} is not {}", what_, key, expected);
    }

    const Value& map_;
    std::string what_;
    Error error_;
};

Result<KernelArg> read_arg(const Value& map, const KernelInfo& kernel) {
    KernelArg arg;
    FieldReader fields(map, "an argument of '" + kernel.name + "'");
    fields.number(".offset", arg.offset).number(".size", arg.size).text(".value_kind", arg.value_kind);
    fields.text(".name", arg.name).text(".address_space", arg.address_space);
    fields.text(".access", arg.access).text(".actual_access", arg.access).text(".type_name", arg.type_name);
    bool restricted = false;
    fields.number(".is_const", arg.is_const, 1).number(".is_restrict", restricted, 1);
    STRATA_TRY_VOID(fields.done());
    const Value* const actual = map.find(".actual_access");
    arg.unaliased = restricted || (actual && (arg.access == "read_only" || arg.access == "write_only"));
    if (uint64_t{arg.offset} + arg.size > kernel.kernarg_size)
        return damaged("kernel '{}': argument at {} of {} bytes lies outside the kernarg segment of {} bytes",
                       kernel.name, arg.offset, arg.size, kernel.kernarg_size);
    return arg;
}

Result<KernelInfo> read_kernel(const Value& map) {
    KernelInfo kernel;
    std::string symbol;
    FieldReader names(map, "a kernel");
    STRATA_TRY_VOID(names.text(".name", kernel.name).text(".symbol", symbol).done());
    // The symbol decides: HIP and the loader find a kernel by it, and .name may be an unmangled spelling.
    if (symbol.ends_with(elf::kDescriptorSuffix))
        kernel.name = symbol.substr(0, symbol.size() - elf::kDescriptorSuffix.size());
    if (kernel.name.empty()) return damaged("metadata: a kernel has neither .name nor .symbol");
    FieldReader fields(map, "kernel '" + kernel.name + "'");
    fields.number(".kernarg_segment_size", kernel.kernarg_size, kMaxKernargBytes);
    fields.number(".kernarg_segment_align", kernel.kernarg_align, 1u << 16);
    fields.number(".group_segment_fixed_size", kernel.lds).number(".private_segment_fixed_size", kernel.scratch);
    fields.number(".vgpr_count", kernel.vgprs, 1024).number(".agpr_count", kernel.agprs, 1024);
    fields.number(".sgpr_count", kernel.sgprs, 1024).number(".wavefront_size", kernel.wave_size, 64);
    fields.number(".vgpr_spill_count", kernel.vgpr_spills).number(".sgpr_spill_count", kernel.sgpr_spills);
    fields.number(".max_flat_workgroup_size", kernel.max_block)
        .number(".uses_dynamic_stack", kernel.uses_dynamic_stack, 1);
    STRATA_TRY_VOID(fields.done());
    if (kernel.wave_size != 32 && kernel.wave_size != 64)
        return damaged("kernel '{}': wavefront size {}", kernel.name, kernel.wave_size);
    if (const Value* args = map.find(".args"))
        for (const Value& item : args->items()) {
            STRATA_TRY(KernelArg arg, read_arg(item, kernel));
            kernel.args.push_back(std::move(arg));
        }
    return kernel;
}

constexpr size_t align4(size_t size) { return (size + 3) & ~size_t{3}; }

}  // namespace

Result<Metadata> read_metadata(std::span<const uint8_t> bytes) {
    STRATA_TRY(Value root, msgpack::read(bytes));
    Metadata metadata;
    if (const Value* list = root.find("amdhsa.kernels"))
        for (const Value& item : list->items()) {
            STRATA_TRY(KernelInfo kernel, read_kernel(item));
            metadata.kernels.push_back(std::move(kernel));
        }
    if (const Value* list = root.find("amdhsa.printf"))
        for (const Value& item : list->items()) metadata.printf_formats.push_back(item.text());
    return metadata;
}

Bytes write_metadata(const ArchInfo& arch, std::span<const KernelSpec> kernels, int version) {
    const bool cdna = is_cdna(arch.family);
    Value list = Value::array();
    for (const KernelSpec& spec : kernels) {
        Value args = Value::array();
        for (const KernelArg& arg : spec.args) {
            Value fields = Value::map();
            if (!arg.access.empty()) fields.set(".actual_access", arg.access);
            if (!arg.address_space.empty()) fields.set(".address_space", arg.address_space);
            if (arg.is_const) fields.set(".is_const", true);
            if (arg.unaliased) fields.set(".is_restrict", true);
            if (!arg.name.empty()) fields.set(".name", arg.name);
            fields.set(".offset", arg.offset);
            fields.set(".size", arg.size);
            if (!arg.type_name.empty()) fields.set(".type_name", arg.type_name);
            fields.set(".value_kind", arg.value_kind);
            args.append(std::move(fields));
        }
        Value kernel = Value::map();
        kernel.set(".args", std::move(args));
        kernel.set(".group_segment_fixed_size", spec.lds);
        kernel.set(".kernarg_segment_align", 8);
        kernel.set(".kernarg_segment_size", spec.kernarg_size);
        kernel.set(".max_flat_workgroup_size", spec.max_block);
        kernel.set(".name", spec.name);
        kernel.set(".private_segment_fixed_size", spec.scratch);
        kernel.set(".sgpr_count", spec.sgprs);
        kernel.set(".sgpr_spill_count", 0);
        kernel.set(".symbol", spec.name + std::string(elf::kDescriptorSuffix));
        if (version >= 5) kernel.set(".uses_dynamic_stack", false);
        kernel.set(".vgpr_count", spec.all_vgprs());
        kernel.set(".vgpr_spill_count", 0);
        kernel.set(".wavefront_size", spec.wave_size);
        if (cdna) kernel.set(".agpr_count", spec.agprs);
        if (!cdna && version >= 5) kernel.set(".workgroup_processor_mode", 1);
        list.append(std::move(kernel));
    }
    Value map_version = Value::array();  // 1.1 in code object version 4, 1.2 in 5 and 6
    map_version.append(1);
    map_version.append(version >= 5 ? 2 : 1);
    Value root = Value::map();
    root.set("amdhsa.kernels", std::move(list));
    root.set("amdhsa.target", fmt::format("amdgcn-amd-amdhsa--{}", arch.name));
    root.set("amdhsa.version", std::move(map_version));
    return msgpack::write(root);
}

bool Note::is_metadata() const { return owner == elf::kNoteOwner && type == elf::kNoteMetadata; }

Result<std::vector<Note>> read_notes(std::span<const uint8_t> bytes) {
    std::vector<Note> notes;
    size_t at = 0;
    while (bytes.size() - at >= sizeof(Elf64_Nhdr)) {
        const auto head = elf::load<Elf64_Nhdr>(bytes, at);
        const size_t name_size = align4(head.n_namesz), left = bytes.size() - at - sizeof(head);
        if (name_size > left || align4(head.n_descsz) > left - name_size)
            return damaged("the note at byte {} of its section runs past the end", at);
        const size_t name_at = at + sizeof(head);
        Note note;
        note.owner = {reinterpret_cast<const char*>(bytes.data()) + name_at, head.n_namesz ? head.n_namesz - 1 : 0};
        note.type = head.n_type;
        note.description = bytes.subspan(name_at + name_size, head.n_descsz);
        notes.push_back(note);
        at = name_at + name_size + align4(head.n_descsz);
    }
    return notes;
}

Bytes write_metadata_note(std::span<const uint8_t> description) {
    const Elf64_Nhdr head{static_cast<Elf64_Word>(elf::kNoteOwner.size() + 1),
                          static_cast<Elf64_Word>(description.size()), elf::kNoteMetadata};
    const size_t name_size = align4(head.n_namesz);
    Bytes note(sizeof(head) + name_size + align4(description.size()));
    std::memcpy(note.data(), &head, sizeof(head));
    std::memcpy(note.data() + sizeof(head), elf::kNoteOwner.data(), elf::kNoteOwner.size());
    if (!description.empty())
        std::memcpy(note.data() + sizeof(head) + name_size, description.data(), description.size());
    return note;
}

}  // namespace strata::isa
