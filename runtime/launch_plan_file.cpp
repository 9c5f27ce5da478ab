// Launch plans on disk: what a process makes of a structure, with the machine code, is what another reads.
#include <cstring>

#include "strata/core/uop/encode.h"
#include "strata/runtime/context_p.h"
#include "strata/runtime/launch_plan.h"

namespace strata::runtime {

namespace {

constexpr uint64_t kMany = uint64_t{1} << 32;  // more of anything is no plan

class Writer {
  public:
    void number(uint64_t value) { append_bytes(bytes, value); }
    void text(std::string_view value) { number(value.size()), bytes += value; }
    void type(DType value) { number(static_cast<uint64_t>(value.scalar) << 8 | value.lanes); }
    template <class List, class Write>
    void list(const List& values, Write write) {
        number(values.size());
        for (const auto& value : values) write(value);
    }
    std::string bytes;
};

/// Reads what a Writer wrote; of anything else it is not done() at the end.
class Reader {
  public:
    explicit Reader(std::string_view bytes) : rest_(bytes) {}
    uint64_t number() {
        uint64_t value = 0;
        if (rest_.size() < sizeof value) return bad();
        std::memcpy(&value, rest_.data(), sizeof value);
        rest_.remove_prefix(sizeof value);
        return value;
    }
    uint64_t below(uint64_t limit) {
        const uint64_t value = number();
        return value < limit ? value : bad();
    }
    uint32_t word() { return static_cast<uint32_t>(below(kMany)); }
    std::string_view text() {
        const uint64_t size = number();
        if (size > rest_.size()) return bad(), std::string_view();
        const std::string_view value = rest_.substr(0, size);
        rest_.remove_prefix(size);
        return value;
    }
    DType type() {
        const uint64_t value = below(static_cast<uint64_t>(Scalar::index) << 8);
        return {static_cast<Scalar>(value >> 8), static_cast<int>(value & 0xff)};
    }
    /// As many as were written, each by `read()`.
    template <class Read>
    void list(Read read) {
        for (uint64_t left = number(); left > 0 && good_; --left) read();
    }
    void check(bool holds) {
        if (!holds) bad();
    }
    bool done() const { return good_ && rest_.empty(); }

  private:
    uint64_t bad() {
        good_ = false;
        rest_ = {};
        return 0;
    }
    std::string_view rest_;
    bool good_ = true;
};

void write(Writer& w, const Arg& arg) {
    if (const auto* shape = std::get_if<ShapeArg>(&arg))
        return w.list(shape->shape, [&](int64_t n) { w.number(static_cast<uint64_t>(n)); });
    if (const auto* axes = std::get_if<AxesArg>(&arg))
        return w.list(axes->axes, [&](int axis) { w.number(static_cast<uint64_t>(axis)); });
    w.list(std::get<BoundsArg>(arg).bounds, [&](const std::pair<int64_t, int64_t>& bound) {
        w.number(static_cast<uint64_t>(bound.first)), w.number(static_cast<uint64_t>(bound.second));
    });
}

Arg read_movement(Reader& r, Op op) {
    const size_t kind = info(op).argument;
    if (kind == Arg(ShapeArg{}).index()) {
        ShapeArg arg;
        r.list([&] { arg.shape.push_back(static_cast<int64_t>(r.number())); });
        return arg;
    }
    if (kind == Arg(AxesArg{}).index()) {
        AxesArg arg;
        r.list([&] { arg.axes.push_back(static_cast<int>(r.number())); });
        return arg;
    }
    BoundsArg arg;
    r.list([&] {
        const auto first = static_cast<int64_t>(r.number());
        arg.bounds.emplace_back(first, static_cast<int64_t>(r.number()));
    });
    return arg;
}

template <class Movements>
void read_movements(Reader& r, Movements& movements) {
    r.list([&] {
        const Op op = static_cast<Op>(r.below(kOpCount));
        r.check(info(op).is(kMovement));
        movements.push_back({op, read_movement(r, op)});
    });
}

void write(Writer& w, const executable::Code& code) {
    const isa::Bytes& image = code.code_object();
    w.text({reinterpret_cast<const char*>(image.data()), image.size()});
    w.text(code.entry), w.text(code.text), w.text(code.assembly), w.text(code.schedule);
    for (const auto& sizes : {code.grid, code.block})
        for (uint32_t size : sizes) w.number(size);
    w.number(code.dynamic_lds), w.number(code.flops);
    w.list(code.places, [&](const executable::ParameterPlace& place) {
        w.number(static_cast<uint64_t>(place.slot)), w.number(place.offset), w.number(place.bytes);
        w.number(place.number.has_value());
        if (place.number) w.type(*place.number);
        w.number(place.counter);
    });
}

std::optional<executable::Code> read_compiled(Reader& r) {
    executable::Code code;
    const std::string_view image = r.text();
    code.entry = r.text(), code.text = r.text(), code.assembly = r.text();
    code.schedule = r.text();
    for (auto* sizes : {&code.grid, &code.block})
        for (uint32_t& size : *sizes) size = r.word();
    code.dynamic_lds = r.word(), code.flops = r.number();
    r.list([&] {
        executable::ParameterPlace place{static_cast<int>(r.word()), r.word(), r.word()};
        if (r.below(2)) place.number = r.type();
        place.counter = r.below(2) != 0;
        code.places.push_back(place);
    });
    auto object = isa::CodeObject::parse(isa::Bytes(image.begin(), image.end()));
    if (!object || !object->find(code.entry)) return std::nullopt;
    code.object = std::make_shared<const isa::CodeObject>(*std::move(object));
    code.cached = true;
    code.route = "disk cache";
    return code;
}

/// The one that is loaded already, where another plan has it.
std::pair<UOp, std::shared_ptr<Program>> loaded(Device& device, executable::Code code) {
    const isa::Bytes& image = code.code_object();
    const std::string_view bytes(reinterpret_cast<const char*>(image.data()), image.size());
    const auto number = static_cast<int64_t>(std::hash<std::string_view>{}(bytes));
    const UOp key = make(Op::constant, dtypes::int64, {}, ConstArg{number, 0});
    std::shared_ptr<Program> known = context().programs.find(key, device);
    if (known && known->code.code_object() == image && known->code.grid == code.grid &&
        known->code.block == code.block && known->code.places == code.places)
        return {key, known};
    std::shared_ptr<Program> program = Program::load(device, std::move(code));
    context().programs.add(key, device, program, known);
    return {key, program};
}

}  // namespace

std::string LaunchPlan::to_bytes(const Loaded& programs) const {
    Writer w;
    w.list(programs, [&](const auto& program) { write(w, program->code); });
    w.list(memory_, [&](const Memory& m) {
        w.type(m.dtype), w.number(static_cast<uint64_t>(m.size)), w.number(m.result), w.number(m.place);
        w.number(m.heir);
    });
    w.number(places_);
    const auto write_view = [&](const View& view) {
        w.number(view.memory);
        w.list(view.movements, [&](const Movement& m) { w.number(static_cast<uint64_t>(m.op)), write(w, m.arg); });
    };
    w.list(steps_, [&](const Step& step) {
        w.number(step.kernel), w.number(step.call), w.number(step.bytes);
        w.list(step.held, write_view);
        w.list(step.memory, [&](uint32_t at) { w.number(at); });
        w.list(step.freed, [&](uint32_t place) { w.number(place); });
        w.list(step.numbers,
               [&](const LaunchNumber& n) { w.number(static_cast<uint64_t>(n.place + 1)), w.number(n.bits); });
    });
    w.list(roots_, write_view);
    return std::move(w.bytes);
}

std::shared_ptr<const LaunchPlan> LaunchPlan::of_bytes(std::string_view bytes, Device& device, Extent extent,
                                                       Loaded& programs) {
    Reader r(bytes);
    std::vector<executable::Code> codes;
    r.list([&] {
        std::optional<executable::Code> code = read_compiled(r);
        r.check(code.has_value());
        if (code) codes.push_back(*std::move(code));
    });
    std::shared_ptr<LaunchPlan> plan(new LaunchPlan(extent.inputs));
    r.list([&] {
        Memory m{.dtype = r.type(), .size = static_cast<int64_t>(r.number())};
        m.result = r.below(2), m.place = r.word(), m.heir = r.word();
        plan->memory_.push_back(m);
    });
    const size_t positions = extent.inputs + plan->memory_.size();
    plan->places_ = r.word();
    for (size_t i = 0; i < plan->memory_.size(); ++i) {
        const Memory& m = plan->memory_[i];
        r.check(m.size >= 0 && (m.place == kNoPlace || m.place < plan->places_));
        r.check(m.heir == kNoPlace || (m.heir > i && m.heir < plan->memory_.size()));
    }
    const auto is_kept = [&](uint32_t at) { return at < extent.inputs || plan->memory_[at - extent.inputs].result; };
    const auto read_view = [&] {
        View view{r.word(), {}};
        read_movements(r, view.movements);
        r.check(view.memory == kNoPlace || (view.memory < positions && is_kept(view.memory)));
        return view;
    };
    r.list([&] {
        Step step{.kernel = r.word(), .memory = {}, .numbers = {}, .freed = {}, .call = r.word()};
        step.bytes = r.number();
        r.list([&] { step.held.push_back(read_view()); });
        r.list([&] { step.memory.push_back(static_cast<uint32_t>(r.below(positions))); });
        r.list([&] { step.freed.push_back(static_cast<uint32_t>(r.below(plan->places_))); });
        r.list([&] {
            const int place = static_cast<int>(r.below(extent.numbers + 1)) - 1;
            step.numbers.push_back({place, r.number()});
        });
        if (step.kernel == kCall)
            r.check(step.call < extent.calls.size() && step.memory.size() == extent.calls[step.call] &&
                    step.held.size() == step.memory.size());
        else
            r.check(step.kernel == kCopy ? step.memory.size() == 2 : step.kernel < codes.size());
        plan->steps_.push_back(std::move(step));
    });
    r.list([&] {
        plan->roots_.push_back(read_view());
        r.check(plan->roots_.back().memory != kNoPlace);
    });
    if (!r.done()) return nullptr;
    for (uint32_t i = 0; i < plan->memory_.size(); ++i)
        if (plan->memory_[i].place == kNoPlace && !plan->memory_[plan->last_heir(i)].result) return nullptr;
    for (executable::Code& code : codes) {
        auto [key, program] = loaded(device, std::move(code));
        plan->kernels_.push_back({key, program});
        programs.push_back(std::move(program));
    }
    return plan;
}

}  // namespace strata::runtime
