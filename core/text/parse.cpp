// parse: kernels from their text.
#include "strata/core/text/parse.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <vector>

#include "strata/core/uop/op.h"
#include "strata/core/uop/uop.h"
#include "strata/core/uop/verify.h"

namespace strata {
namespace {

constexpr uint16_t kNowhere = 0xfffe;  // no device

template <class... Args>
Error wrong(fmt::format_string<Args...> text, Args&&... args) {
    return make_error(ErrorKind::Usage, text, std::forward<Args>(args)...);
}

/// Words of a line, and what is between.
class Words {
  public:
    explicit Words(std::string_view text) : left_(text) {}

    std::string_view next() {
        left_.remove_prefix(std::min(left_.find_first_not_of(' '), left_.size()));
        const size_t end = std::min(left_.find(' '), left_.size());
        const std::string_view word = left_.substr(0, end);
        left_.remove_prefix(end);
        return word;
    }
    std::string_view rest() {
        left_.remove_prefix(std::min(left_.find_first_not_of(' '), left_.size()));
        left_ = left_.substr(0, left_.find_last_not_of(' ') + 1);
        return std::exchange(left_, {});
    }

  private:
    std::string_view left_;
};

template <class T>
bool read(std::string_view text, T& to) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), to);
    return !text.empty() && error == std::errc() && end == text.data() + text.size();
}
/// A number after a word, as size=64.
template <class T>
bool read(std::string_view prefix, std::string_view text, T& to) {
    return text.starts_with(prefix) && read(text.substr(prefix.size()), to);
}

template <class Enum>
bool read_name(std::string_view text, std::span<const std::string_view> names, Enum& to) {
    for (size_t i = 0; i < names.size(); ++i)
        if (names[i] == text) return to = static_cast<Enum>(i), true;
    return false;
}

bool read_op(std::string_view name, Op& to) {
    for (int i = 0; i < kOpCount; ++i)
        if (info(static_cast<Op>(i)).name == name) return to = static_cast<Op>(i), true;
    return false;
}

// Each argument reads what text() of args.cpp writes; false where it is something else.
bool parse(Words& words, DType type, ConstArg& arg) {
    const std::string text(words.next());
    if (!type.is_float()) {
        uint64_t bits = 0;
        if (type == dtypes::uint64 && read(text, bits)) return arg.i = static_cast<int64_t>(bits), true;
        return read(text, arg.i) && wrap_to(type, arg.i) == arg.i;
    }
    char* end = nullptr;
    arg.f = std::strtod(text.c_str(), &end);
    return !text.empty() && !*end;
}
bool parse(Words& words, DType, IndexArg& arg) {
    const std::string_view text = words.next();
    return text.ends_with(']') && read("[", text.substr(0, text.size() - 1), arg.index);
}
bool parse(Words& words, DType, ParamArg& arg) {
    return read_name(words.next(), space_names(), arg.space) && read(words.next(), arg.slot) &&
           read("size=", words.next(), arg.size);
}
bool parse(Words& words, DType, VariableArg& arg) {
    return words.next() == "parameter" && read(words.next(), arg.slot);
}
bool parse(Words& words, DType, RangeArg& arg) {
    return read("r", words.next(), arg.id) && read(words.next(), arg.size) &&
           read_name(words.next(), axis_names(), arg.axis);
}
bool parse(Words& words, DType, SpecialArg& arg) {
    const std::string_view text = words.next();
    arg.thread = text.starts_with("thread");
    if (!arg.thread && !text.starts_with("block")) return false;
    const std::string_view dim = text.substr(arg.thread ? 6 : 5);
    arg.dim = dim.size() == 1 ? dim[0] - 'x' : -1;
    return arg.dim >= 0 && arg.dim < 3 && read(words.next(), arg.size);
}
/// "(3, 4)": numbers in parentheses, of which one has a comma after it where a shape is written.
template <class T>
bool parse_list(std::string_view text, std::vector<T>& to) {
    if (!text.starts_with('(') || !text.ends_with(')')) return false;
    text = text.substr(1, text.size() - 2);
    while (!text.empty()) {
        const size_t end = std::min(text.find(','), text.size());
        if (!read(text.substr(0, end), to.emplace_back())) return false;
        text.remove_prefix(std::min(end + 1, text.size()));
        text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    }
    return true;
}
bool parse_axes(std::string_view text, std::vector<int>& to) {
    return text.starts_with("axes=") && parse_list(text.substr(5), to);
}
bool parse(Words& words, DType, BufferArg& arg) {
    arg.device = kNowhere;
    return read("#", words.next(), arg.id) && read("size=", words.next(), arg.size);
}
bool parse(Words& words, DType, ShapeArg& arg) { return parse_list(words.rest(), arg.shape); }
bool parse(Words& words, DType, AxesArg& arg) { return parse_axes(words.rest(), arg.axes); }
bool parse(Words& words, DType, BoundsArg& arg) {
    std::string_view text = words.rest();
    while (!text.empty()) {
        const size_t end = std::min(text.find(')'), text.size() - 1) + 1;
        std::vector<int64_t> pair;
        if (!parse_list(text.substr(0, end), pair) || pair.size() != 2) return false;
        arg.bounds.emplace_back(pair[0], pair[1]);
        text.remove_prefix(std::min(text.find_first_not_of(' ', end), text.size()));
    }
    return true;
}
bool parse(Words& words, DType, TakeArg& arg) { return read("axis=", words.next(), arg.axis); }
bool parse(Words& words, DType, ReduceArg& arg) {
    return read_op(words.next(), arg.op) && parse_axes(words.rest(), arg.axes);
}
bool parse(Words& words, DType, SinkArg& arg) {
    std::string_view text = words.rest();
    const auto take_last = [&](std::string_view prefix, int& to) {
        const size_t space = text.rfind(' ');
        int number = 0;
        if (space == text.npos || !read(prefix, text.substr(space + 1), number)) return;
        to = number, text = text.substr(0, space);
    };
    take_last("registers=", arg.registers);
    take_last("waves=", arg.waves);
    return arg.name = text, true;
}
bool parse(Words& words, DType, MatrixArg& arg) {
    arg.name = words.next();
    const std::string_view more = words.rest();
    arg.clamp = more == "clamp";
    return !arg.name.empty() && (arg.clamp || more.empty());
}
bool parse(Words& words, DType, ForeignArg& arg) {
    arg.name = words.next();
    const std::string_view text = words.rest();
    if (text.size() < 2 || !text.starts_with('"') || !text.ends_with('"')) return false;
    if (arg.name == "asm") arg.name.clear();
    for (size_t i = 1; i + 1 < text.size(); ++i) {
        const bool escaped = text[i] == '\\';
        if (escaped && ++i + 1 == text.size()) return false;
        arg.text += escaped && text[i] == 'n' ? '\n' : text[i];
    }
    return true;
}
bool parse(Words& words, DType, CacheArg& arg) { return read_name(words.next(), cache_names(), arg.policy); }
bool parse(Words& words, DType, ScheduleArg& arg) {
    const std::string_view mask = words.next(), size = words.next(), number = words.next();
    if (!mask.ends_with(']') || !read("[", mask.substr(0, mask.size() - 1), arg.mask)) return false;
    return size.empty() || (read("size=", size, arg.size) && read("#", number, arg.number));
}
bool parse(Words& words, DType, ScopeArg& arg) { return read_name(words.next(), scope_names(), arg.scope); }
bool parse(Words& words, DType, AtomicArg& arg) {
    if (!read_name(words.next(), atomic_names(), arg.operation)) return false;
    if (!read_name(words.next(), scope_names(), arg.scope)) return false;
    const std::string_view number = words.next();
    return number.empty() || read("#", number, arg.number);
}
bool parse(Words&, DType, NoArg&) { return true; }
/// In this process alone.
bool parse(Words&, DType, CustomArg&) { return false; }

template <size_t i = 0>
bool parse_alternative(size_t wanted, Words& words, DType type, Arg& arg) {
    if constexpr (i < std::variant_size_v<Arg>) {
        if (i != wanted) return parse_alternative<i + 1>(wanted, words, type, arg);
        std::variant_alternative_t<i, Arg> made{};
        if (!parse(words, type, made)) return false;
        arg = std::move(made);
        return true;
    } else {
        return false;
    }
}

bool parse_argument(const OpInfo& row, Words words, DType type, Arg& arg) {
    if (row.is(kOptional) && Words(words).rest().empty()) return true;
    return parse_alternative(row.argument, words, type, arg) && words.rest().empty();
}

/// "float32x4".
bool read_type(std::string_view text, DType& type) {
    const auto named = [&](std::string_view name) {
        for (int i = 0; i <= static_cast<int>(Scalar::index); ++i) {
            const DType each{static_cast<Scalar>(i), 1};
            if (each.scalar != Scalar::none && each.name() == name) return type = each, true;
        }
        return false;
    };
    if (named(text)) return true;
    const size_t x = text.rfind('x');
    int lanes = 0;
    if (x == text.npos || !read(text.substr(x + 1), lanes) || lanes < 2 || lanes > 255) return false;
    if (!named(text.substr(0, x))) return false;
    type = type.vector(lanes);
    return true;
}

class TreeReader {
  public:
    explicit TreeReader(Level level) : level_(level) {}

    Result<std::vector<UOp>> run_all(std::string_view text) {
        STRATA_TRY_VOID(read_lines(text));
        const Result<void> valid = verify_tensors(nodes_);
        if (!valid) return make_error(ErrorKind::Usage, "the text is of no tensors: {}", valid.error().message);
        return std::move(nodes_);
    }

    Result<UOp> run(std::string_view text) {
        STRATA_TRY_VOID(read_lines(text));
        if (nodes_.empty()) return wrong("the text of a graph has a line a node, and this has none");
        const UOp root = nodes_.back();
        if (const Result<void> valid = verify_kernel(root); root.is(Op::sink) && !valid)
            return make_error(ErrorKind::Usage, "the text is of no kernel: {}", valid.error().message);
        return root;
    }

  private:
    Result<void> read_lines(std::string_view text) {
        while (!text.empty()) {
            const size_t end = std::min(text.find('\n'), text.size());
            ++line_;
            const std::string_view line = text.substr(0, end);
            if (line.find_first_not_of(" \r\t") != line.npos) STRATA_TRY_VOID(read_line(line));
            text.remove_prefix(std::min(end + 1, text.size()));
        }
        return {};
    }

    Result<void> read_line(std::string_view line) {
        const size_t equals = line.find(" = "), arrow = line.find("  <- ");
        size_t number = 0;
        if (equals == line.npos || !strata::read("%", line.substr(0, equals), number) || number != nodes_.size())
            return at("begins with %{} = , the number of its node", nodes_.size());
        Words words(line.substr(equals + 3, arrow == line.npos ? line.npos : arrow - equals - 3));
        Op op;
        const std::string_view name = words.next();
        if (!read_op(name, op)) return at("'{}' is no op", name);
        const OpInfo& row = info(op);
        constexpr auto kKernel = static_cast<uint8_t>(Level::kernel) | static_cast<uint8_t>(Level::linear);
        if (!(row.levels & (level_ == Level::tensor ? static_cast<int>(Level::tensor) : kKernel)))
            return level_ == Level::tensor ? at("{} is of kernels: a graph of tensors is read", name)
                                           : at("{} is of graphs of tensors: a kernel is read", name);
        DType type = dtypes::none;
        if (row.elementwise() || !row.is(kEffect)) {
            const std::string_view word = words.next();
            if (!read_type(word, type)) return at("'{}' is no type", word);
        }
        std::vector<UOp> sources;
        STRATA_TRY_VOID(read_sources(arrow == line.npos ? "" : line.substr(arrow + 5), sources));
        Arg arg;
        if (!parse_argument(row, words, type, arg)) return at("{} has another argument than that", name);
        if (row.arity >= 0 && sources.size() != static_cast<size_t>(row.arity))
            return at("{} takes {} sources, got {}", name, row.arity, sources.size());
        if (row.elementwise() && row.rule != TypeRule::args && !fits(row, type, sources))
            return at("the types of {} and its sources do not fit", name);
        nodes_.push_back(make(op, type, sources, std::move(arg)));
        return {};
    }

    static bool fits(const OpInfo& row, DType type, std::span<const UOp> sources) {
        for (UOp s : sources)
            if (s.dtype() != sources[0].dtype()) return false;
        return row.rule == TypeRule::cmp ? type.is_bool() && type.lanes == sources[0].dtype().lanes
                                         : type == sources[0].dtype();
    }

    Result<void> read_sources(std::string_view text, std::vector<UOp>& sources) const {
        while (!text.empty()) {
            const size_t end = std::min(text.find(", "), text.size());
            size_t number = 0;
            std::string_view word = text.substr(0, end);
            while (word.ends_with('\r') || word.ends_with(' ')) word.remove_suffix(1);
            if (!strata::read("%", word, number) || number >= nodes_.size())
                return at("the source '{}' is no node of a line before it", word);
            sources.push_back(nodes_[number]);
            text.remove_prefix(std::min(end + 2, text.size()));
        }
        return {};
    }

    template <class... Args>
    Error at(fmt::format_string<Args...> text, Args&&... args) const {
        return make_error(ErrorKind::Usage, "line {} of the graph: {}", line_,
                          fmt::format(text, std::forward<Args>(args)...));
    }

    const Level level_;
    std::vector<UOp> nodes_;
    int line_ = 0;
};

}  // namespace

Result<Arg> parse_arg(Op op, DType dtype, std::string_view text) {
    Words words(text);
    Arg arg;
    if (!parse_argument(info(op), words, dtype, arg)) return wrong("'{}' is no argument of {}", text, info(op).name);
    return arg;
}

Result<UOp> parse_tree(std::string_view text) { return TreeReader(Level::kernel).run(text); }

Result<std::vector<UOp>> parse_tensors(std::string_view text) {
    try {
        return TreeReader(Level::tensor).run_all(text);
    } catch (const Exception& e) {  // a shape that its node cannot have
        return make_error(ErrorKind::Usage, "the text is of no tensors: {}", e.what());
    }
}

UOp stand_in(uint64_t number, DType dtype, int64_t size) {
    return make(Op::buffer, dtype, {}, BufferArg{number, size, kNowhere});
}

}  // namespace strata
