// Executables as bytes: what one process compiles, another runs.
#include "strata/executable/file.h"

#include "strata/executable/bytes.h"
#include "strata/executable/memory.h"

namespace strata::executable {
namespace {

constexpr uint64_t kFormat = 0x5354'5241'5441'0003;  // "STRATA", and the version: another one for other fields

std::string_view as_text(const isa::Bytes& image) {
    return {reinterpret_cast<const char*>(image.data()), image.size()};
}

// One list of fields, which both directions visit, so that they cannot differ.
struct Writing {
    Writer& to;
    template <class Number>
    void word(const Number& value) {
        to.number(static_cast<uint64_t>(static_cast<std::make_unsigned_t<Number>>(value)));
    }
    void flag(const bool& value) { to.number(value); }
    void text(const std::string& value) { to.text(value); }
    void type(const DType& value) { to.type(value); }
    void type_or_none(const DType& value) {
        flag(value != DType());
        if (value != DType()) to.type(value);
    }
    void maybe(const std::optional<DType>& value) {
        to.number(value.has_value());
        if (value) to.type(*value);
    }
    template <class Enum>
    void one_of(const Enum& value, Enum) {
        to.number(static_cast<uint64_t>(value));
    }
    template <class Item, class Visit>
    void list(const std::vector<Item>& items, Visit visit) {
        to.list(items, visit);
    }
};

struct Reading {
    Reader& from;
    template <class Number>
    void word(Number& value) {
        const uint64_t read = from.number();
        value = static_cast<Number>(read);
        from.check(static_cast<uint64_t>(static_cast<std::make_unsigned_t<Number>>(value)) == read);
    }
    void flag(bool& value) { value = from.flag(); }
    void text(std::string& value) { value = from.text(); }
    void type(DType& value) { value = from.type(); }
    void type_or_none(DType& value) {
        if (from.flag()) value = from.type();
    }
    void maybe(std::optional<DType>& value) {
        if (from.flag()) value = from.type();
    }
    template <class Enum>
    void one_of(Enum& value, Enum last) {
        value = static_cast<Enum>(from.below(static_cast<uint64_t>(last) + 1));
    }
    template <class Item, class Visit>
    void list(std::vector<Item>& items, Visit visit) {
        from.list([&] { visit(items.emplace_back()); });
    }
};

void visit_parameter(auto& io, auto& p) {
    io.one_of(p.kind, Parameter::Kind::other), io.word(p.offset), io.word(p.size), io.text(p.name), io.text(p.type);
    io.type_or_none(p.dtype), io.maybe(p.pointee), io.flag(p.writable), io.flag(p.is_described),
        io.flag(p.may_be_number);
}

/// But for the object.
void visit_code(auto& io, auto& code) {
    io.text(code.entry), io.text(code.text), io.text(code.assembly), io.text(code.schedule), io.text(code.route);
    for (auto* sizes : {&code.grid, &code.block})
        for (auto& size : *sizes) io.word(size);
    io.word(code.dynamic_lds), io.word(code.flops);
    io.list(code.places, [&](auto& place) {
        io.word(place.slot), io.word(place.offset), io.word(place.bytes), io.maybe(place.number),
            io.flag(place.counter);
    });
    io.list(code.buffers, [&](auto& b) { io.text(b.name), io.type(b.dtype), io.word(b.elements); });
    io.list(code.parameters, [&](auto& p) { visit_parameter(io, p); });
}

/// But for the kernels.
void visit_steps(auto& io, auto& exe) {
    io.text(exe.arch), io.word(exe.devices), io.word(exe.inputs), io.word(exe.numbers), io.word(exe.places);
    io.list(exe.operands, [&](auto& o) {
        io.type(o.dtype), io.word(o.elements), io.one_of(o.role, Role::result), io.word(o.place), io.word(o.heir),
            io.flag(o.donated);
    });
    io.list(exe.steps, [&](auto& step) {
        io.word(step.device), io.word(step.kernel), io.word(step.call), io.word(step.bytes);
        io.list(step.operands, [&](auto& at) { io.word(at); });
        io.list(step.numbers, [&](auto& n) { io.word(n.place), io.word(n.bits); });
        io.list(step.in_place, [&](auto& pair) { io.word(pair.output), io.word(pair.input); });
        io.list(step.freed, [&](auto& place) { io.word(place); });
    });
    io.list(exe.results, [&](auto& at) { io.word(at); });
    io.list(exe.names, [&](auto& name) { io.text(name); });
    io.list(exe.origins, [&](auto& origin) { io.text(origin.value), io.text(origin.why); });
    io.list(exe.provenance, [&](auto& p) {
        io.text(p.result), io.word(p.read), io.word(p.written), io.text(p.why);
        io.list(p.operations, [&](auto& op) { io.text(op.first), io.word(op.second); });
    });
}

/// True if a launch writes each parameter into the bytes that bytes_of() counts.
bool fit(const std::vector<ParameterPlace>& places) {
    uint32_t end = 0;
    for (const ParameterPlace& place : places) {
        if (place.slot < 0 || place.bytes == 0 || place.bytes > sizeof(uint64_t) || place.offset < end) return false;
        if (place.offset > (1u << 20)) return false;  // no launch has as many arguments
        end = place.offset + place.bytes;
    }
    return true;
}

std::shared_ptr<const Code> read_code(Reader& r) {
    Code code;
    Reading io{r};
    visit_code(io, code);
    const std::string_view image = r.text();
    if (!r.good()) return nullptr;
    auto object = isa::CodeObject::parse(isa::Bytes(image.begin(), image.end()));
    r.check(object && object->find(code.entry) && fit(code.places));
    if (!r.good()) return nullptr;
    code.object = std::make_shared<const isa::CodeObject>(*std::move(object));
    return std::make_shared<const Code>(std::move(code));
}

bool is_donor(const Executable& exe, const Operand& input) {
    if (!input.donated || input.heir < exe.inputs || input.heir >= exe.operands.size()) return false;
    const Operand& result = exe.operands[input.heir];
    return result.role == Role::result && result.dtype == input.dtype && result.elements == input.elements;
}

bool is_sound(const Executable& exe, const Operand& operand, size_t at) {
    const bool is_input = at < exe.inputs;
    if (is_input != (operand.role == Role::input) || operand.elements < 0) return false;
    if (is_input && (operand.place != kNone || (operand.heir != kNone && !is_donor(exe, operand)))) return false;
    if (!is_input && operand.donated) return false;
    if (operand.place != kNone && operand.place >= exe.places) return false;
    return operand.heir == kNone || (operand.heir > at && operand.heir < exe.operands.size());
}

bool is_sound(const Executable& exe, const Step& step) {
    const auto is_slot = [&](int slot) { return slot >= 0 && static_cast<size_t>(slot) < step.operands.size(); };
    if (step.device >= exe.devices || (step.kernel != kNone && step.kernel >= exe.kernels.size())) return false;
    if (step.is_copy() && step.operands.size() != 2) return false;
    for (uint32_t at : step.operands)
        if (at >= exe.operands.size()) return false;
    for (const Number& number : step.numbers)
        if (number.place < -1 || (number.place >= 0 && static_cast<size_t>(number.place) >= exe.numbers)) return false;
    for (const InPlace& pair : step.in_place)
        if (!is_slot(pair.output) || !is_slot(pair.input)) return false;
    for (uint32_t place : step.freed)
        if (place >= exe.places) return false;
    return true;
}

bool is_sound(const Executable& exe) {
    if (exe.inputs > exe.operands.size() || exe.places > exe.operands.size()) return false;
    for (size_t at = 0; at < exe.operands.size(); ++at)
        if (!is_sound(exe, exe.operands[at], at)) return false;
    for (size_t at = exe.inputs; at < exe.operands.size(); ++at)  // has memory
        if (exe.operands[at].role == Role::workspace && exe.operands[at].place == kNone &&
            exe.operands[last_heir(exe, static_cast<uint32_t>(at))].role != Role::result)
            return false;
    if (!exe.names.empty() && exe.names.size() != exe.operands.size()) return false;
    for (const Step& step : exe.steps)
        if (!is_sound(exe, step)) return false;
    for (uint32_t at : exe.results)
        if (at >= exe.operands.size() || exe.operands[at].role == Role::workspace) return false;
    return true;
}

}  // namespace

std::string to_bytes(const Executable& exe) {
    Writer w;
    Writing io{w};
    w.number(kFormat);
    visit_steps(io, exe);
    w.list(exe.kernels, [&](const Kernel& kernel) {
        w.text(kernel.name), w.number(kernel.code != nullptr);
        if (!kernel.code) return;
        visit_code(io, *kernel.code);
        w.text(as_text(kernel.code->code_object()));
    });
    return std::move(w.bytes);
}

std::optional<Executable> of_bytes(std::string_view bytes) {
    Reader r(bytes);
    Reading io{r};
    Executable exe;
    r.check(r.number() == kFormat);
    if (!r.good()) return std::nullopt;
    visit_steps(io, exe);
    r.list([&] {
        Kernel& kernel = exe.kernels.emplace_back();
        kernel.name = r.text();
        if (r.flag()) kernel.code = read_code(r);
    });
    if (!r.done() || !is_sound(exe)) return std::nullopt;
    return exe;
}

}  // namespace strata::executable
