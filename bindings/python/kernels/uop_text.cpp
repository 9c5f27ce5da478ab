// Graphs of kernels as text: JSON and tree(), passes by name, and the reference before and after them.
#include <fmt/ranges.h>

#include <cstring>

#include "convert_p.h"
#include "front_end_p.h"
#include "kernels/places_p.h"
#include "kernels/uop_p.h"
#include "strata/codegen/driver/compile_kernel.h"
#include "strata/codegen/interpret/interpret.h"
#include "strata/codegen/linear/linear.h"
#include "strata/codegen/linear/opt.h"
#include "strata/core/text/parse.h"
#include "strata/core/uop/numbers.h"
#include "strata/core/uop/walk.h"
#include "strata/runtime/artifact.h"

namespace strata::python {
namespace {

/// An exception's type and message, without the frames that what() lists. Ctrl-C goes on.
std::string words_of(const py::error_already_set& error) {
    if (!error.matches(PyExc_Exception)) throw error;
    return fmt::format("{}: {}", error.type().attr("__name__").cast<std::string>(),
                       py::str(error.value()).cast<std::string>());
}

/// Sizes of the axes of blocks or threads that the kernel asks for.
std::array<int64_t, 3> sizes_of(std::span<const UOp> nodes, bool thread) {
    std::array<int64_t, 3> sizes{1, 1, 1};
    for (UOp u : nodes)
        if (u.is(Op::special) && u.as<SpecialArg>().thread == thread) {
            int64_t& size = sizes[static_cast<size_t>(u.as<SpecialArg>().dim)];
            size = std::max(size, u.as<SpecialArg>().size);
        }
    return sizes;
}

std::string type_name(DType type) {
    if (type.scalar == Scalar::none) return "none";
    return type.lanes > 1 ? fmt::format("{}x{}", type.name(), type.lanes) : std::string(type.name());
}

constexpr const char* kFormat = "strata graph";
constexpr int kVersion = 1;

py::dict described(UOp u, const UOpMap<size_t>& number) {
    py::dict node;
    py::list sources;
    for (UOp s : u.src()) sources.append(number.at(s));
    node["op"] = std::string(info(u.op()).name), node["dtype"] = type_name(u.dtype()), node["sources"] = sources;
    if (const std::string argument = to_string(u.arg(), u.dtype()); !argument.empty()) node["argument"] = argument;
    return node;
}

/// Memory is none of a graph's text: buffers are numbered as the graph first reads them.
std::vector<UOp> without_memory(std::span<const UOp> roots) {
    UOpMap<UOp> others;
    std::vector<UOp> out;
    for (UOp root : roots)
        for (UOp u : toposort(root))
            if (u.is(Op::buffer) && !others.contains(u))
                others[u] = stand_in(others.size(), u.dtype(), u.as<BufferArg>().size);
    for (UOp root : roots) out.push_back(substitute(root, others));
    return out;
}

py::dict to_dict(UOp root) {
    GraphScope scope;
    const std::vector<UOp> nodes = toposort(root);
    constexpr auto kKernel = static_cast<uint8_t>(Level::kernel) | static_cast<uint8_t>(Level::linear);
    if (std::ranges::any_of(nodes, [](UOp u) { return !(info(u.op()).levels & kKernel); }))
        return tensors_to_dict(without_memory(std::span(&root, 1)));
    const std::shared_ptr<const runtime::CustomKernel> kernel = kernel_with_places(root);
    UOpMap<size_t> number;
    py::list listed;
    for (UOp u : nodes) {
        py::dict node = described(u, number);
        if (const uint32_t place = kernel ? kernel->places.of_line[number.size()] : 0) {
            const isa::SourceLine& at = kernel->places.places[place - 1];
            node["line"] = fmt::format("{}:{}", at.file, at.line);
        }
        number[u] = number.size();
        listed.append(node);
    }
    py::dict whole, launch;
    launch["grid"] = sizes_of(nodes, false), launch["block"] = sizes_of(nodes, true);
    whole["format"] = kFormat, whole["version"] = kVersion, whole["launch"] = launch, whole["nodes"] = listed;
    return whole;
}

/// The nodes as lines of tree().
std::string lines_of(const py::dict& whole) {
    std::string lines;
    try {
        if (whole.contains("format") &&
            (whole["format"].cast<std::string>() != kFormat || whole["version"].cast<int>() > kVersion))
            user_error(ErrorKind::Usage, "this graph is of version {}, and this reader of {}: install a newer strata",
                       py::str(whole["version"]).cast<std::string>(), kVersion);
        size_t number = 0;
        for (const py::handle node : whole["nodes"]) {
            const py::dict given = py::reinterpret_borrow<py::dict>(node);
            const auto type = given["dtype"].cast<std::string>();
            lines += fmt::format("%{} = {}", number++, given["op"].cast<std::string>());
            if (type != "none") lines += " " + type;
            if (given.contains("argument")) lines += " " + given["argument"].cast<std::string>();
            std::string sources;
            for (const py::handle s : given["sources"])
                sources += fmt::format("{}%{}", sources.empty() ? "  <- " : ", ", s.cast<size_t>());
            lines += sources + "\n";
        }
    } catch (const py::error_already_set& e) {
        user_error(ErrorKind::Usage, "[from_dict] this is no graph as to_dict() writes it: {}", words_of(e));
    } catch (const py::cast_error&) {
        user_error(ErrorKind::Usage,
                   "[from_dict] this is no graph as to_dict() writes it: a node has op, dtype, sources, argument");
    }
    return lines;
}

UOp from_dict(const py::dict& whole) {
    GraphScope scope;
    if (!whole.contains("roots")) return parse_tree(lines_of(whole)).value();
    const std::vector<UOp> roots = tensors_of_dict(whole);
    if (roots.size() != 1) user_error(ErrorKind::Usage, "[from_dict] this graph has {} roots, not one", roots.size());
    return roots[0];
}

std::string to_json(UOp root) { return py::module_::import("json").attr("dumps")(to_dict(root)).cast<std::string>(); }

UOp from_json(const std::string& text) {
    py::object whole;
    try {
        whole = py::module_::import("json").attr("loads")(text);
    } catch (const py::error_already_set& e) {
        user_error(ErrorKind::Usage, "[from_json] this is no graph as UOp.to_json() writes it: {}", words_of(e));
    }
    if (!py::isinstance<py::dict>(whole))
        user_error(ErrorKind::Usage, "[from_json] this is no graph as UOp.to_json() writes it: it is no object");
    return from_dict(whole);
}

/// Runs a kernel over tensors of small whole numbers, and leaves their bytes; gives what is wrong with it.
std::string after(UOp sink, std::array<uint32_t, 3> grid, std::array<uint32_t, 3> block, int wave_size,
                  std::vector<std::vector<uint8_t>>& bytes) {
    const std::vector<UOp> nodes = toposort(sink);
    std::vector<codegen::InterpretedArgument> arguments;
    for (UOp u : nodes) {
        const bool is_tensor = u.is(Op::param) && u.as<ParamArg>().space == Space::global;
        if (!is_tensor && !u.is(Op::define_var)) continue;
        const auto slot = static_cast<size_t>(is_tensor ? u.as<ParamArg>().slot : u.as<VariableArg>().slot);
        if (arguments.size() <= slot) arguments.resize(slot + 1), bytes.resize(slot + 1);
        arguments[slot].type = u.dtype();
        if (!is_tensor) {
            arguments[slot].number = u.dtype().is_float() ? ConstArg{0, 2} : ConstArg{2, 0};
            continue;
        }
        const auto width = static_cast<size_t>(u.dtype().bytes());
        bytes[slot].resize(static_cast<size_t>(u.as<ParamArg>().size) * width);
        for (size_t i = 0; i < static_cast<size_t>(u.as<ParamArg>().size); ++i) {
            const auto value = static_cast<int64_t>((i * 37 + slot * 11) % 5);
            const uint64_t bits = u.dtype().is_float() ? encode_scalar(u.dtype(), static_cast<double>(value))
                                                       : static_cast<uint64_t>(u.dtype().is_bool() ? value % 2 : value);
            std::memcpy(bytes[slot].data() + i * width, &bits, width);
        }
    }
    for (size_t slot = 0; slot < arguments.size(); ++slot) arguments[slot].bytes = bytes[slot];
    const std::vector<UOp> ops = codegen::order(Scopes(sink)).value();
    const auto wrong = codegen::interpret(ops, {.grid = grid, .block = block, .wave_size = wave_size}, arguments);
    return wrong ? wrong->what : "";
}

void compare(const Handle& before, const Handle& later, std::array<uint32_t, 3> grid, int wave_size) {
    GraphScope scope;
    const std::array<int64_t, 3> sizes = sizes_of(toposort(before.get()), true);
    std::array<uint32_t, 3> block{};
    for (size_t i = 0; i < 3; ++i) block[i] = static_cast<uint32_t>(sizes[i]);
    for (UOp u : toposort(before.get()))
        if (u.is(Op::range) && range_arg(u).axis != Axis::loop && range_arg(u).axis != Axis::reduce)
            user_error(ErrorKind::Unsupported,
                       "the reference runs kernels whose blocks and threads are special nodes, as traced ones are, and "
                       "this has {}",
                       to_string(u));
    std::vector<std::vector<uint8_t>> first, second;
    const std::string wrong_before = after(before.get(), grid, block, wave_size, first),
                      wrong_after = after(later.get(), grid, block, wave_size, second);
    if (wrong_before != wrong_after)
        user_error(ErrorKind::Check, "the reference says of the graph before the passes: {}; after them: {}",
                   wrong_before.empty() ? "nothing is wrong" : wrong_before,
                   wrong_after.empty() ? "nothing is wrong" : wrong_after);
    for (size_t slot = 0; slot < first.size(); ++slot)
        if (first[slot] != second[slot])
            user_error(ErrorKind::Check, "the passes change what the kernel leaves in its parameter {}", slot);
}

template <class Passes>
py::list listed(const Passes& passes) {
    py::list out;
    for (const auto& pass : passes) out.append(py::make_tuple(std::string(pass.name), std::string(pass.invariant)));
    return out;
}

}  // namespace

py::dict tensors_to_dict(std::span<const UOp> roots) {
    UOpMap<size_t> number;
    py::list listed, last;
    for (UOp root : roots) {
        for (UOp u : toposort(root)) {
            if (number.contains(u)) continue;
            if (u.is(Op::custom)) user_error(ErrorKind::Unsupported, "a graph that runs a user's kernel has no text");
            listed.append(described(u, number));
            number[u] = number.size();
        }
        last.append(number.at(root));
    }
    py::dict whole;
    whole["format"] = kFormat, whole["version"] = kVersion, whole["nodes"] = listed, whole["roots"] = last;
    return whole;
}

std::vector<UOp> tensors_of_dict(const py::dict& whole) {
    const std::vector<UOp> nodes = parse_tensors(lines_of(whole)).value();
    std::vector<UOp> roots;
    for (const py::handle root : whole["roots"]) {
        const auto number = py::isinstance<py::int_>(root) ? root.cast<int64_t>() : -1;
        if (number < 0 || static_cast<size_t>(number) >= nodes.size())
            user_error(ErrorKind::Usage, "[from_dict] the root {} is no node", shown(root));
        roots.push_back(nodes[static_cast<size_t>(number)]);
    }
    return roots;
}

void bind_text(UOpClass& c, UOpModule& u) {
    c.def(
        "to_json", [](const Handle& h) { return to_json(h.get()); },
        "A kernel's graph as JSON: launch, and of each node op, dtype, sources, argument, line.");
    u.def(
        "from_json", [](const std::string& text) { return Handle(from_json(text)); }, py::arg("text"), py::pos_only(),
        "The graph that UOp.to_json() wrote. UsageError says what is wrong with another text.");
    u.def(
        "to_dict", [](const Handle& h) -> As<"dict[str, Any]"> { return to_dict(h.get()); }, py::arg("graph"),
        py::pos_only(),
        "A graph as values of JSON: format, version, and of each node op, dtype, sources, argument, sources before "
        "users. A\nkernel's has launch, a tensor's its roots. Numbers are exact. Buffers are numbered and have no "
        "memory. Raises\nUnsupported for a graph that runs a user's kernel.");
    u.def(
        "from_dict", [](const As<"dict[str, Any]">& graph) { return Handle(from_dict(graph)); }, py::arg("graph"),
        py::pos_only(), "The graph that to_dict() wrote. UsageError says what is wrong with another value.");
    u.def(
        "from_tree", [](const std::string& text) { return Handle(parse_tree(text).value()); }, py::arg("text"),
        py::pos_only(), "The kernel that UOp.tree() wrote. UsageError names the line that it cannot read.");
    u.def("_passes",
          [] { return py::make_tuple(listed(codegen::linear_passes()), listed(codegen::instruction_passes())); });
    u.def("_run_passes", [](const Handle& h, const std::vector<std::string>& names, const std::string& arch) {
        return Handle(codegen::run_passes(h.get(), names, runtime::target_named(arch)).value());
    });
    u.def("_lowered_until", [](const Handle& h, const std::string& pass, const std::string& arch) {
        const std::string name = h.get().is(Op::sink) ? h.get().as<SinkArg>().name : "";
        return codegen::instructions_after({h.get(), name.empty() ? "kernel" : name}, runtime::target_named(arch), pass)
            .value();
    });
    u.def("_compare", &compare);
}

}  // namespace strata::python
