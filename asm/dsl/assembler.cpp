#include "strata/asm/dsl/assembler.h"

#include <algorithm>
#include <map>

#include "strata/asm/dsl/select_p.h"

namespace strata::isa {
namespace {

/// A branch whose distance is known once its label is bound.
struct Fixup {
    size_t word = 0;
    Label target;
    std::string mnemonic, file;
    int line = 0, column = 0;
};

struct LabelState {
    std::string name;
    std::optional<size_t> word;  ///< where it is bound
};

Error locate(Error error, std::string_view file, int line, int column) {
    if (file.empty() || !line) return error;
    const std::string place = column ? fmt::format("{}:{}:{}", file, line, column) : fmt::format("{}:{}", file, line);
    error.message = fmt::format("{}: {}", place, error.message);
    error.file = std::string(file);
    error.line = line;
    error.column = column;
    return error;
}

}  // namespace

struct Assembler::State {
    Machine machine;
    std::vector<uint32_t> code;
    std::vector<LabelState> labels;
    std::map<std::string, int, std::less<>> label_names;
    std::vector<Fixup> fixups;
    Bytes constants;
    std::vector<ConstantReference> references;
    std::vector<KernelArg> args;
    uint32_t kernarg_size = 0, lds = 0;
    int vgprs = 0, agprs = 0, sgprs = 0;
    CodeLines lines;
    std::optional<Error> error;

    void note_line(const Location& where);
    void fail(Error failure, const Location& where) {
        if (!error) error = locate(std::move(failure), where.file, where.line, where.column);
    }

    std::string label_name(Label label) const {
        const std::string& name = labels[static_cast<size_t>(label.id)].name;
        return name.empty() ? fmt::format("label {}", label.id) : fmt::format("label '{}'", name);
    }
    bool known(Label label) const { return label.id >= 0 && static_cast<size_t>(label.id) < labels.size(); }

    Result<void> append(const Result<Selected>& selected, const Location& where);
    Result<void> resolve(const Fixup& fixup, std::vector<uint32_t>& words) const;
    Result<std::vector<uint32_t>> resolved() const;
    uint32_t add_argument(const KernelArgument& argument, std::vector<KernelArg>& to, uint32_t& end) const;
};

/// Notes that the next word of code comes from `where`.
void Assembler::State::note_line(const Location& where) {
    const bool known = !where.file.empty() && where.line > 0;
    if (!known && lines.rows.empty()) return;
    CodeLines::Row row{static_cast<uint32_t>(code.size()), 0, 0, 0};
    if (known) {
        if (lines.rows.empty() || lines.files[lines.rows.back().file] != where.file) {
            const auto found = std::ranges::find(lines.files, where.file);
            row.file = static_cast<uint32_t>(found - lines.files.begin());
            if (found == lines.files.end()) lines.files.emplace_back(where.file);
        } else {
            row.file = lines.rows.back().file;
        }
        row.line = static_cast<uint32_t>(where.line);
        row.column = static_cast<uint32_t>(std::max(where.column, 0));
    }
    if (!lines.rows.empty()) {
        const CodeLines::Row& last = lines.rows.back();
        if (last.file == row.file && last.line == row.line && last.column == row.column) return;
    }
    lines.rows.push_back(row);
}

Result<void> Assembler::State::append(const Result<Selected>& selected, const Location& where) {
    if (!selected) return selected.error();
    const Inst& inst = selected->inst;
    STRATA_TRY(Encoded encoded, encode(machine.arch, inst));
    const std::span words(encoded.words.data(), static_cast<size_t>(encoded.count));
    if (selected->must_be_e32) {
        STRATA_TRY(Inst decoded, decode(machine.arch, words));
        if (decoded.encoding == Format::VOP3 || decoded.encoding == Format::VOP3SD)
            return make_error(ErrorKind::Assembly, "{}: the operands need the 64-bit encoding (_e64)",
                              inst.row->mnemonic);
    }
    if (const Label target = selected->target; target.id >= 0) {
        if (!known(target))
            return make_error(ErrorKind::Assembly, "{}: the label belongs to another assembler", inst.row->mnemonic);
        fixups.push_back(
            {code.size(), target, std::string(inst.row->mnemonic), std::string(where.file), where.line, where.column});
    }
    note_line(where);
    code.insert(code.end(), words.begin(), words.end());
    vgprs = std::max(vgprs, selected->vgprs);
    agprs = std::max(agprs, selected->agprs);
    sgprs = std::max(sgprs, selected->sgprs);
    return {};
}

/// simm16 of a branch counts words from the next instruction (RDNA3 ISA, "Branching").
Result<void> Assembler::State::resolve(const Fixup& fixup, std::vector<uint32_t>& words) const {
    const LabelState& label = labels[static_cast<size_t>(fixup.target.id)];
    auto failure = [&](std::string message) {
        return locate(make_error(ErrorKind::Assembly, "{}: {}", fixup.mnemonic, message), fixup.file, fixup.line,
                      fixup.column);
    };
    if (!label.word) return failure(label_name(fixup.target) + " is not bound");
    const auto distance = static_cast<int64_t>(*label.word) - static_cast<int64_t>(fixup.word + 1);
    if (distance != static_cast<int16_t>(distance))
        return failure(fmt::format("{} is {} words away; a branch reaches 32767", label_name(fixup.target), distance));
    words[fixup.word] = (words[fixup.word] & 0xffff0000u) | static_cast<uint16_t>(distance);
    return {};
}

uint32_t Assembler::State::add_argument(const KernelArgument& argument, std::vector<KernelArg>& to,
                                        uint32_t& end) const {
    uint32_t align = 1;
    while (align < 8 && align < argument.size) align *= 2;
    const uint32_t offset = (end + align - 1) & ~(align - 1);
    const bool pointer = argument.value_kind == "global_buffer";
    to.push_back({offset, argument.size, argument.value_kind, argument.name, pointer ? "global" : ""});
    end = offset + argument.size;
    return offset;
}

Assembler::Assembler(Arch arch, int wave_size) : state_(std::make_unique<State>()) {
    const ArchInfo& row = info(arch);
    if (wave_size != 0 && wave_size != row.wave_size && !(wave_size == 64 && row.has_wave64))
        user_error(ErrorKind::Usage, "{} has no waves of {} lanes", row.name, wave_size);
    state_->machine = {arch, wave_size ? wave_size : row.wave_size};
}
Assembler::~Assembler() = default;
Assembler::Assembler(Assembler&&) noexcept = default;
Assembler& Assembler::operator=(Assembler&&) noexcept = default;

Arch Assembler::arch() const { return state_->machine.arch; }
int Assembler::wave_size() const { return state_->machine.wave_size; }
size_t Assembler::size() const { return state_->code.size() * sizeof(uint32_t); }
const Error* Assembler::error() const { return state_->error ? &*state_->error : nullptr; }
void Assembler::fail(Error error, const Location& where) { state_->fail(std::move(error), where); }

Label Assembler::label(std::string_view name) {
    if (!name.empty())
        if (auto found = state_->label_names.find(name); found != state_->label_names.end()) return {found->second};
    const Label label{static_cast<int>(state_->labels.size())};
    state_->labels.push_back({std::string(name), {}});
    if (!name.empty()) state_->label_names.emplace(name, label.id);
    return label;
}

void Assembler::bind(Label label, const Location& where) {
    if (state_->error) return;
    if (!state_->known(label))
        return state_->fail(make_error(ErrorKind::Assembly, "bind: the label belongs to another assembler"), where);
    LabelState& entry = state_->labels[static_cast<size_t>(label.id)];
    if (entry.word)
        return state_->fail(make_error(ErrorKind::Assembly, "{} is bound twice", state_->label_name(label)), where);
    entry.word = state_->code.size();
}

void Assembler::emit(std::string_view mnemonic, std::span<const DynOperand> operands, const Modifiers& modifiers,
                     const Location& where) {
    if (state_->error) return;
    const auto done = state_->append(select(state_->machine, mnemonic, operands, modifiers), where);
    if (!done) state_->fail(done.error(), where);
}

void Assembler::emit(std::string_view mnemonic, std::initializer_list<DynOperand> operands, const Modifiers& modifiers,
                     const Location& where) {
    emit(mnemonic, std::span(operands.begin(), operands.size()), modifiers, where);
}

void Assembler::emit_dual(std::string_view x, std::span<const DynOperand> x_operands, std::string_view y,
                          std::span<const DynOperand> y_operands, const Location& where) {
    if (state_->error) return;
    const auto done = state_->append(select_dual(state_->machine, {x, x_operands}, {y, y_operands}), where);
    if (!done) state_->fail(done.error(), where);
}

uint32_t Assembler::add_argument(const KernelArgument& argument) {
    return state_->add_argument(argument, state_->args, state_->kernarg_size);
}

uint32_t Assembler::declare_lds(uint32_t bytes, uint32_t align) {
    const uint32_t offset = align > 1 ? (state_->lds + align - 1) / align * align : state_->lds;
    state_->lds = offset + bytes;
    return offset;
}

Constants Assembler::constants(std::span<const uint8_t> bytes, uint32_t align, const Location& where) {
    if (align == 0 || align > 256 || (align & (align - 1)))
        state_->fail(make_error(ErrorKind::Usage, "constants: the alignment {} is no power of two up to 256", align),
                     where);
    if (bytes.empty()) state_->fail(make_error(ErrorKind::Usage, "constants: there are no bytes"), where);
    if (state_->error) return {};
    Bytes& data = state_->constants;
    data.resize((data.size() + align - 1) / align * align);
    const Constants result{static_cast<uint32_t>(data.size())};
    data.insert(data.end(), bytes.begin(), bytes.end());
    return result;
}

/// s_getpc_b64 gives the address of the next instruction, from which both halves of the distance count.
void Assembler::address_of(Constants constants, const DynOperand& pair, const Location& where) {
    if (state_->error) return;
    if (pair.kind != DynOperand::Kind::scalar || pair.count != 2 || pair.index >= code::vcc_lo)
        return state_->fail(
            make_error(ErrorKind::Assembly, "address_of: {} is no pair of scalar registers", to_string(pair)), where);
    const bool rdna4 = info(arch()).family == Family::rdna4;
    const auto low = DynOperand::scalar(pair.index), high = DynOperand::scalar(pair.index + 1);
    constexpr uint32_t kPlaceholder = 0x7fffff00;  // no inline constant: a literal word
    emit("s_getpc_b64", {pair}, {}, where);
    const auto base = static_cast<uint32_t>(state_->code.size());
    emit(rdna4 ? "s_add_co_u32" : "s_add_u32", {low, low, kPlaceholder}, {}, where);
    const auto middle = static_cast<uint32_t>(state_->code.size());
    emit(rdna4 ? "s_add_co_ci_u32" : "s_addc_u32", {high, high, kPlaceholder}, {}, where);
    if (state_->error) return;
    for (const uint32_t word : {middle - 1, middle + 1})
        state_->references.push_back({word, constants.offset, static_cast<int32_t>((word - base) * 4), word > middle});
}

Result<std::vector<uint32_t>> Assembler::State::resolved() const {
    if (error) return *error;
    std::vector<uint32_t> words = code;
    for (const Fixup& fixup : fixups) STRATA_TRY_VOID(resolve(fixup, words));
    return words;
}

Result<std::vector<uint32_t>> Assembler::words() const {
    if (!state_->error && !state_->references.empty())
        return make_error(ErrorKind::Usage,
                          "the code refers to constants, which only a code object holds: use finish()");
    return state_->resolved();
}

namespace {

/// The hidden arguments of code object version 5 that tell a kernel its launch dimensions.
const KernelArgument hidden_arguments[] = {
    {"", "hidden_block_count_x", 4}, {"", "hidden_block_count_y", 4}, {"", "hidden_block_count_z", 4},
    {"", "hidden_group_size_x", 2},  {"", "hidden_group_size_y", 2},  {"", "hidden_group_size_z", 2},
    {"", "hidden_remainder_x", 2},   {"", "hidden_remainder_y", 2},   {"", "hidden_remainder_z", 2},
};

bool is_control(char c) { return static_cast<unsigned char>(c) < ' ' || c == 0x7F; }

}  // namespace

Result<KernelSpec> Assembler::kernel(const KernelOptions& options) const {
    KernelSpec spec;
    STRATA_TRY(spec.code, state_->resolved());
    spec.constants = state_->constants;
    spec.references = state_->references;
    if (options.grid_dims < 1 || options.grid_dims > 3)
        return make_error(ErrorKind::Usage, "kernel '{}': grid_dims is {}; allowed are 1 to 3", options.name,
                          options.grid_dims);
    if (options.name.empty() || std::ranges::any_of(options.name, is_control))
        return make_error(ErrorKind::Usage,
                          "kernel '{}': a kernel's name is one character or more, none of them a control character",
                          options.name);
    spec.name = options.name;
    spec.lines = state_->lines;
    spec.args = state_->args;
    spec.kernarg_size = state_->kernarg_size;
    for (const KernelArgument& argument : options.args) state_->add_argument(argument, spec.args, spec.kernarg_size);
    if (options.hidden_args) {
        spec.kernarg_size = (spec.kernarg_size + 7) & ~7u;
        for (const KernelArgument& argument : hidden_arguments)
            state_->add_argument(argument, spec.args, spec.kernarg_size);
    }
    spec.lds = state_->lds + options.lds;
    spec.scratch = options.scratch;
    // RDNA4 has the workgroup ids in TTMP9 and TTMP7.
    const bool ids_in_sgprs = info(arch()).family != Family::rdna4;
    const auto preset_sgprs = static_cast<uint32_t>(2 + (ids_in_sgprs ? options.grid_dims : 0));
    spec.agprs = std::max(static_cast<uint32_t>(state_->agprs), options.agprs);
    spec.vgprs = std::max({static_cast<uint32_t>(state_->vgprs), options.vgprs, 1u});
    spec.sgprs = std::max({static_cast<uint32_t>(state_->sgprs), options.sgprs, preset_sgprs});
    spec.wave_size = wave_size();
    const uint64_t block = uint64_t{options.block[0]} * options.block[1] * options.block[2];
    spec.max_block = static_cast<uint32_t>(std::min<uint64_t>(block, UINT32_MAX));
    spec.workitem_id_dims = options.block[2] > 1 ? 2 : options.block[1] > 1 ? 1 : 0;
    for (int dim = 0; dim < 3; ++dim) spec.workgroup_ids[dim] = dim < options.grid_dims;
    return spec;
}

Result<Bytes> Assembler::finish(const KernelOptions& options) const {
    STRATA_TRY(KernelSpec spec, kernel(options));
    return write_code_object(arch(), {&spec, 1});
}

}  // namespace strata::isa
