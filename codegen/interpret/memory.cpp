// Memory of an interpreted kernel: bytes, bounds and shadows.
#include "strata/codegen/interpret/memory_p.h"

#include <fmt/format.h>

#include <cstring>

namespace strata::codegen {
namespace {

constexpr uint8_t kGarbage = 0xa5;  // what memory of blocks and threads holds at first

bool is_register(UOp memory) { return memory.as<ParamArg>().space == Space::reg; }

const char* name_of(Space space) {
    return space == Space::global ? "the tensor" : space == Space::local ? "local memory" : "registers";
}

}  // namespace

ConstArg decode(DType type, const uint8_t* from) {
    uint64_t bits = 0;
    std::memcpy(&bits, from, static_cast<size_t>(type.bytes()));
    if (type.is_float()) return {0, decode_scalar(type, bits)};
    return {wrap_to(type, static_cast<int64_t>(bits)), 0};
}

void encode(DType type, const ConstArg& value, uint8_t* to) {
    const uint64_t bits = type.is_float() ? encode_scalar(type, value.f) : static_cast<uint64_t>(value.i);
    std::memcpy(to, &bits, static_cast<size_t>(type.bytes()));
}

InterpretedMemory::InterpretedMemory(std::span<const InterpretedArgument> arguments, size_t threads)
    : arguments_(arguments), threads_(threads) {}

void InterpretedMemory::begin_block() { of_block_.clear(); }

void InterpretedMemory::all_before_are_done() {
    for (auto& [slot, area] : global_) area.shadow.forget_accesses();
    for (auto& [node, area] : of_block_) area.shadow.forget_accesses();
}

InterpretedMemory::Area& InterpretedMemory::area(const Run& run) {
    const ParamArg& arg = run.memory.as<ParamArg>();
    const auto bytes = static_cast<size_t>(run.memory.dtype().element().bytes());
    if (arg.space == Space::global) {
        if (const auto found = global_.find(arg.slot); found != global_.end()) return found->second;
        STRATA_CHECK(static_cast<size_t>(arg.slot) < arguments_.size(), "parameter {} is not given", arg.slot);
        const std::span<uint8_t> given = arguments_[static_cast<size_t>(arg.slot)].bytes;
        return global_.emplace(arg.slot, Area{{}, given, Shadow(given.size() / bytes, true)}).first->second;
    }
    if (const auto found = of_block_.find(run.memory.node()); found != of_block_.end()) return found->second;
    const size_t elements =
        static_cast<size_t>(arg.size * run.memory.dtype().lanes) * (is_register(run.memory) ? threads_ : 1);
    Area made{std::vector<uint8_t>(elements * bytes, kGarbage), {}, Shadow(elements, false)};
    Area& kept = of_block_.emplace(run.memory.node(), std::move(made)).first->second;
    kept.bytes = kept.own;
    return kept;
}

std::optional<Fault> InterpretedMemory::out_of_bounds(const char* does, const Run& run, const Area& area) const {
    const auto size =
        static_cast<int64_t>(is_register(run.memory) ? area.shadow.size() / threads_ : area.shadow.size());
    if (run.first >= 0 && run.first + run.lanes <= size) return {};
    return Fault{ErrorKind::MemoryFault, fmt::format("{} element {} of {}, which has {}", does,
                                                     run.first < 0 ? run.first : run.first + run.lanes - 1,
                                                     name_of(run.memory.as<ParamArg>().space), size)};
}

namespace {

size_t place(const InterpretedMemory::Run& run, size_t size, size_t threads) {
    return static_cast<size_t>(run.first) + (is_register(run.memory) ? run.thread * (size / threads) : 0);
}

}  // namespace

std::optional<Fault> InterpretedMemory::load(const Run& run, const Accessor& by, std::span<ConstArg> values) {
    Area& from = area(run);
    if (auto wrong = out_of_bounds("reads", run, from)) return wrong;
    const DType type = run.memory.dtype().element();
    const size_t at = place(run, from.shadow.size(), threads_);
    for (size_t i = 0; i < values.size(); ++i) {
        if (auto wrong = from.shadow.read(at + i, by)) return wrong;
        values[i] = decode(type, from.bytes.data() + (at + i) * static_cast<size_t>(type.bytes()));
    }
    return {};
}

std::optional<Fault> InterpretedMemory::store(const Run& run, const Accessor& by, std::span<const ConstArg> values) {
    Area& to = area(run);
    if (auto wrong = out_of_bounds("writes", run, to)) return wrong;
    const DType type = run.memory.dtype().element();
    const auto bytes = static_cast<size_t>(type.bytes());
    const size_t at = place(run, to.shadow.size(), threads_);
    for (size_t i = 0; i < values.size(); ++i) {
        uint8_t next[8];
        encode(type, values[i], next);
        uint8_t* element = to.bytes.data() + (at + i) * bytes;
        if (auto wrong = to.shadow.write(at + i, by, std::memcmp(next, element, bytes) == 0)) return wrong;
        std::memcpy(element, next, bytes);
    }
    return {};
}

std::optional<Fault> InterpretedMemory::begin_copy(const Run& run, const Accessor& by) {
    Area& to = area(run);
    if (auto wrong = out_of_bounds("copies to", run, to)) return wrong;
    const size_t at = place(run, to.shadow.size(), threads_);
    for (size_t i = 0; i < static_cast<size_t>(run.lanes); ++i)
        if (auto wrong = to.shadow.begin_copy(at + i, by)) return wrong;
    return {};
}

void InterpretedMemory::end_copy(const Run& run, const Accessor& by, std::span<const ConstArg> values) {
    Area& to = area(run);
    const DType type = run.memory.dtype().element();
    const size_t at = place(run, to.shadow.size(), threads_);
    for (size_t i = 0; i < values.size(); ++i) {
        to.shadow.end_copy(at + i, by);
        encode(type, values[i], to.bytes.data() + (at + i) * static_cast<size_t>(type.bytes()));
    }
}

std::optional<Fault> InterpretedMemory::update(const Run& run, const Accessor& by, ConstArg& old,
                                               const std::function<ConstArg(const ConstArg&)>& change) {
    Area& to = area(run);
    if (auto wrong = out_of_bounds("updates", run, to)) return wrong;
    const DType type = run.memory.dtype().element();
    const size_t at = place(run, to.shadow.size(), threads_);
    if (auto wrong = to.shadow.update(at, by)) return wrong;
    uint8_t* element = to.bytes.data() + at * static_cast<size_t>(type.bytes());
    old = decode(type, element);
    encode(type, change(old), element);
    return {};
}

}  // namespace strata::codegen
