#include "strata/core/uop/args.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>

#include "strata/core/support/hash.h"
#include "strata/core/uop/encode.h"
#include "strata/core/uop/uop.h"

namespace strata {
namespace {

// Each argument lists its parts once; hashing and comparing follow from the list.
auto parts(const NoArg&) { return std::tuple(); }
auto parts(const ConstArg& a) { return std::tuple(a.i, std::bit_cast<int64_t>(a.f)); }
auto parts(const BufferArg& a) { return std::tuple(a.id, a.size, a.device); }
auto parts(const ShapeArg& a) { return std::tie(a.shape); }
auto parts(const AxesArg& a) { return std::tie(a.axes); }
auto parts(const BoundsArg& a) { return std::tie(a.bounds); }
auto parts(const ReduceArg& a) { return std::tie(a.op, a.axes); }
auto parts(const TakeArg& a) { return std::tuple(a.axis); }
auto parts(const IndexArg& a) { return std::tuple(a.index); }
auto parts(const CustomArg& a) { return std::tuple(a.id); }
auto parts(const ParamArg& a) { return std::tuple(a.space, a.slot, a.size); }
auto parts(const VariableArg& a) { return std::tuple(a.slot); }
auto parts(const RangeArg& a) { return std::tuple(a.id, a.size, a.axis); }
auto parts(const SpecialArg& a) { return std::tuple(a.thread, a.dim, a.size); }
auto parts(const SinkArg& a) { return std::tie(a.name, a.waves, a.registers); }
auto parts(const ForeignArg& a) { return std::tie(a.name, a.text); }
auto parts(const MatrixArg& a) { return std::tie(a.name, a.clamp); }
auto parts(const AtomicArg& a) { return std::tuple(a.operation, a.scope, a.number); }
auto parts(const ScopeArg& a) { return std::tuple(a.scope); }
auto parts(const CacheArg& a) { return std::tuple(a.policy); }
auto parts(const ScheduleArg& a) { return std::tuple(a.mask, a.size, a.number); }

template <class T>
    requires(std::is_integral_v<T> || std::is_enum_v<T>)
uint64_t mix(uint64_t h, T value) {
    return hash_mix(h, static_cast<uint64_t>(value));
}
uint64_t mix(uint64_t h, const std::pair<int64_t, int64_t>& p) {
    return hash_mix(hash_mix(h, static_cast<uint64_t>(p.first)), static_cast<uint64_t>(p.second));
}
uint64_t mix(uint64_t h, const std::string& text) { return hash_mix(h, std::hash<std::string>{}(text)); }
template <class T>
uint64_t mix(uint64_t h, const std::vector<T>& values) {
    h = hash_mix(h, values.size());
    for (const T& v : values) h = mix(h, v);
    return h;
}

template <class T>
    requires(std::is_integral_v<T> || std::is_enum_v<T>)
void append(std::string& out, T value) {
    append_bytes(out, static_cast<uint64_t>(value));
}
void append(std::string& out, const std::pair<int64_t, int64_t>& p) { append(out, p.first), append(out, p.second); }
void append(std::string& out, const std::string& text) { append(out, text.size()), out += text; }
template <class T>
void append(std::string& out, const std::vector<T>& values) {
    append(out, values.size());
    for (const T& v : values) append(out, v);
}

constexpr std::string_view kAxes[] = {
#define AXIS(name) #name,
#include "strata/core/uop/axes.def"
};
constexpr std::string_view kSpaces[] = {
#define SPACE(name) #name,
#include "strata/core/uop/axes.def"
};
constexpr std::string_view kAtomics[] = {
#define ATOMIC(name, word) word,
#include "strata/core/uop/axes.def"
};
constexpr std::string_view kCaches[] = {
#define CACHE(name) #name,
#include "strata/core/uop/axes.def"
};
constexpr std::string_view kScopes[] = {
#define SCOPE(name) #name,
#include "strata/core/uop/axes.def"
};

std::string text(const NoArg&, DType) { return ""; }
std::string text(const ConstArg& a, DType t) {
    return t.is_float()          ? fmt::format("{}", a.f)
           : t == dtypes::uint64 ? fmt::format("{}", static_cast<uint64_t>(a.i))
                                 : fmt::format("{}", a.i);
}
std::string text(const BufferArg& a, DType) { return fmt::format("#{} size={}", a.id, a.size); }
std::string text(const ShapeArg& a, DType) { return to_string(a.shape); }
std::string text(const AxesArg& a, DType) { return fmt::format("axes=({})", fmt::join(a.axes, ", ")); }
std::string text(const BoundsArg& a, DType) {
    std::string out;
    for (auto [x, y] : a.bounds) out += fmt::format("{}({}, {})", out.empty() ? "" : " ", x, y);
    return out;
}
std::string text(const ReduceArg& a, DType) {
    return fmt::format("{} axes=({})", info(a.op).name, fmt::join(a.axes, ", "));
}
std::string text(const TakeArg& a, DType) { return fmt::format("axis={}", a.axis); }
std::string text(const IndexArg& a, DType) { return fmt::format("[{}]", a.index); }
std::string text(const CustomArg& a, DType) { return fmt::format("kernel {}", a.id); }
std::string text(const ParamArg& a, DType) {
    return fmt::format("{} {} size={}", kSpaces[int(a.space)], a.slot, a.size);
}
std::string text(const VariableArg& a, DType) { return fmt::format("parameter {}", a.slot); }
std::string text(const RangeArg& a, DType) { return fmt::format("r{} {} {}", a.id, a.size, kAxes[int(a.axis)]); }
std::string text(const SpecialArg& a, DType) {
    return fmt::format("{}{} {}", a.thread ? "thread" : "block", "xyz"[a.dim], a.size);
}
std::string text(const SinkArg& a, DType) {
    return a.name + (a.waves ? fmt::format(" waves={}", a.waves) : "") +
           (a.registers ? fmt::format(" registers={}", a.registers) : "");
}
/// On one line: its name or "asm", and the text in quotes with a backslash before what core/text would take apart.
std::string text(const ForeignArg& a, DType) {
    std::string line = (a.name.empty() ? "asm" : a.name) + " \"";
    for (const char c : a.text) {
        if (c == '\\' || c == '<') line += '\\';
        if (c == '\n')
            line += "\\n";
        else
            line += c;
    }
    return line + '"';
}
std::string text(const MatrixArg& a, DType) { return a.name + (a.clamp ? " clamp" : ""); }
std::string text(const AtomicArg& a, DType) {
    const std::string number = a.number ? fmt::format(" #{}", a.number) : "";
    return fmt::format("{} {}{}", kAtomics[int(a.operation)], kScopes[int(a.scope)], number);
}
std::string text(const ScopeArg& a, DType) { return std::string(kScopes[int(a.scope)]); }
std::string text(const CacheArg& a, DType) { return std::string(kCaches[int(a.policy)]); }
std::string text(const ScheduleArg& a, DType) {
    return a.size ? fmt::format("[{}] size={} #{}", a.mask, a.size, a.number) : fmt::format("[{}]", a.mask);
}

}  // namespace

std::span<const std::string_view> axis_names() { return kAxes; }
std::span<const std::string_view> space_names() { return kSpaces; }
std::span<const std::string_view> atomic_names() { return kAtomics; }
std::span<const std::string_view> scope_names() { return kScopes; }
std::span<const std::string_view> cache_names() { return kCaches; }

uint64_t hash(const Arg& arg) {
    return std::visit(
        [&](const auto& a) {
            return std::apply(
                [&](const auto&... p) {
                    uint64_t h = arg.index();
                    ((h = mix(h, p)), ...);
                    return h;
                },
                parts(a));
        },
        arg);
}

bool equal(const Arg& a, const Arg& b) {
    if (a.index() != b.index()) return false;
    return std::visit([&]<class A>(const A& held) { return parts(held) == parts(std::get<A>(b)); }, a);
}

void append_bytes(std::string& out, const Arg& arg) {
    append(out, arg.index());
    std::visit([&](const auto& a) { std::apply([&](const auto&... p) { (append(out, p), ...); }, parts(a)); }, arg);
}

std::string to_string(const Arg& arg, DType type) {
    return std::visit([&](const auto& a) { return text(a, type); }, arg);
}

}  // namespace strata
