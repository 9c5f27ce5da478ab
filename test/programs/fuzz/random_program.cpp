#include "random_program.h"

#include <fmt/format.h>

#include <utility>

#include "../harness/program.h"

namespace programs {
namespace {

struct Type {
    const char* name;
    int bits;
    bool real;
};
constexpr Type types[] = {{"int8_t", 8, false},    {"uint8_t", 8, false},   {"int16_t", 16, false},
                          {"uint16_t", 16, false}, {"int32_t", 32, false},  {"uint32_t", 32, false},
                          {"int64_t", 64, false},  {"uint64_t", 64, false}, {"half", 16, true},
                          {"float", 32, true},     {"double", 64, true}};
constexpr unsigned type_count = std::size(types), per_type = 2, u32 = 5, u64 = 7;

std::string variable(unsigned type, unsigned number) { return fmt::format("s.v{}_{}", type, number); }

/// Statements and expressions by a random walk; everything that has a choice asks `pick`.
class Generator {
  public:
    explicit Generator(uint64_t seed) : seed_(seed) {}

    RandomProgram program() {
        RandomProgram made;
        for (unsigned i = 0; i < 4; ++i) made.functions.push_back(function(i));
        unsigned segments = 1 + pick(4);
        in_function_ = false;
        for (unsigned i = 0; i < segments; ++i)
            made.segments.push_back({statements(2 + pick(5), 0), i + 1 < segments ? meeting() : Meeting{}});
        return made;
    }

  private:
    unsigned pick(unsigned below) { return static_cast<unsigned>(random_bits(seed_, ++drawn_) >> 33) % below; }

    /// Function i may call those before it and, with a depth that falls, itself.
    RandomProgram::Function function(unsigned i) {
        in_function_ = true;
        callable_ = i;
        std::vector<Statement> body = statements(1 + pick(3), 2);
        std::string again =
            pick(2) ? fmt::format("depth ? function{}(depth - 1, {}, b, s) : ", i, expression(u32, 1)) : "";
        RandomProgram::Function made{
            fmt::format("uint32_t function{}(uint32_t depth, uint32_t a, uint32_t b, State& s)", i),
            again + expression(u32, 2), std::move(body)};
        callable_ = i + 1;
        return made;
    }

    Meeting meeting() {
        auto kind = static_cast<Meeting::Kind>(1 + pick(5));
        return {kind, variable(pick(2) ? u32 : 4 + pick(2), pick(per_type)), pick(1000)};
    }

    std::vector<Statement> statements(unsigned count, int depth) {
        std::vector<Statement> made;
        for (unsigned i = 0; i < count; ++i) made.push_back(statement(depth));
        return made;
    }

    Statement statement(int depth) {
        unsigned kind = pick(depth < 3 ? 16 : 9);
        if (kind < 7) return assignment();
        if (kind == 7) return {fmt::format("s.array[{} & 7] = {};", expression(u32, 1), expression(u32, 2))};
        if (kind == 8)
            return loops_ ? Statement{fmt::format("if ({}) {};", condition(), pick(2) ? "break" : "continue")}
                          : assignment();
        if (kind == 9) return call();
        if (kind < 13) {
            Statement made{fmt::format("if ({}) {{", condition()), statements(1 + pick(3), depth + 1), "}"};
            if (pick(2)) made.body.push_back({"} else {"}), made.body.push_back(statement(depth + 1));
            return made;
        }
        if (kind == 13) return choice(depth);
        return loop(depth);
    }

    Statement assignment() {
        unsigned type = pick(type_count);
        return {
            fmt::format("{} = {};", variable(type, pick(per_type)), expression(type, 1 + static_cast<int>(pick(3))))};
    }
    Statement call() {
        if (callable_ == 0 || loops_ > (in_function_ ? 0 : 1)) return assignment();  // keeps the number of calls small
        std::string callee = fmt::format("function{}", pick(callable_));
        if (!in_function_ && pick(3) == 0) callee = fmt::format("table[{} & 3]", expression(u32, 1));
        return {fmt::format("{} = {}({}, {}, {}, s);", variable(u32, pick(per_type)), callee, pick(3),
                            expression(u32, 2), expression(u32, 1))};
    }
    Statement choice(int depth) {
        Statement made{fmt::format("switch ({} & 3) {{", expression(u32, 1)), {}, "}"};
        unsigned outer = std::exchange(loops_, 0);
        for (unsigned value = 0; value < 4; ++value)
            if (pick(4))
                made.body.push_back({fmt::format("case {}: {{", value), statements(1 + pick(2), depth + 1),
                                     pick(4) ? "} break;" : "}"});
        loops_ = outer;
        return made;
    }
    Statement loop(int depth) {
        std::string counter = fmt::format("k{}", drawn_);
        ++loops_;
        Statement made{fmt::format("for (uint32_t {0} = 0, n = {1} & {2}; {0} < n; ++{0}) {{", counter,
                                   expression(u32, 1), pick(2) ? 3 : 7),
                       statements(1 + pick(3), depth + 1), "}"};
        --loops_;
        made.body.push_back({fmt::format("s.v{}_0 += {};", u32, counter)});
        return made;
    }

    std::string condition() {
        unsigned type = pick(type_count);
        const char* compare[] = {"<", "<=", "==", "!=", ">", ">="};
        if (pick(4) == 0) return fmt::format("{} & 1", expression(u32, 2));
        return fmt::format("{} {} {}", expression(type, 1), compare[pick(6)], expression(type, 1));
    }

    std::string leaf(unsigned type) {
        const Type& t = types[type];
        if (pick(4)) return variable(type, pick(per_type));
        if (t.real)
            return fmt::format("({}){}", t.name,
                               std::array{"1.0f", "-0.5f", "3.1415927f", "0.0f", "-0.0f", "65504.0f", "1e-7f",
                                          "1e30f"}[pick(type == 8 ? 7 : 8)]);
        if (pick(3) == 0) return fmt::format("({}){}", t.name, pick(100));
        if (type == u32 && pick(2))
            return in_function_ ? std::array{"a", "b", "depth"}[pick(3)]
                                : std::array{"id", "in[id & 255]", "group"}[pick(3)];
        return fmt::format("({}){:#x}ull", t.name, random_bits(seed_, ++drawn_) >> pick(64));
    }

    std::string expression(unsigned type, int depth) {
        if (depth == 0 || pick(6) == 0) return leaf(type);
        if (pick(6) == 0) return conversion(type, depth);
        if (pick(8) == 0)
            return fmt::format("({} ? {} : {})", condition_of(depth), expression(type, depth - 1),
                               expression(type, depth - 1));
        return types[type].real ? real(type, depth) : integer(type, depth);
    }
    std::string condition_of(int depth) {
        unsigned type = pick(type_count);
        return fmt::format("{} {} {}", expression(type, depth - 1), pick(2) ? "<" : "==", leaf(type));
    }

    std::string integer(unsigned type, int depth) {
        if (type == u32 && pick(3) == 0) return special(depth);
        const char* operation[] = {"add",  "subtract", "multiply",  "divide", "remainder", "left",        "right",
                                   "both", "either",   "differing", "lesser", "greater",   "high_product"};
        bool wide = types[type].bits >= 32 && type % 2 == 1;
        return fmt::format("{}<{}>({}, {})", operation[pick(wide ? 13 : 12)], types[type].name,
                           expression(type, depth - 1), expression(type, depth - 1));
    }
    std::string special(int depth) {
        std::string x = expression(u32, depth - 1);
        switch (pick(9)) {
            case 0: return fmt::format("ones({})", expression(u64, depth - 1));
            case 1: return fmt::format("leading({})", expression(u64, depth - 1));
            case 2: return fmt::format("trailing({})", x);
            case 3: return fmt::format("turned({}, {})", x, leaf(u32));
            case 4: return fmt::format("swapped({})", x);
            case 5: return fmt::format("field({}, {}, {})", x, leaf(u32), leaf(u32));
            case 6: return fmt::format("s.array[{} & 7]", x);
            case 7: return in_function_ ? x : fmt::format("in[{} & 255]", x);
            default: return in_function_ ? x : shared(x);
        }
    }
    std::string shared(const std::string& at) {
        const char* loaded[] = {"uint8_t", "int8_t", "uint16_t", "int16_t", "uint32_t", "uint64_t"};
        return fmt::format("(uint32_t)load<{}>(shared, {})", loaded[pick(6)], at);
    }

    std::string real(unsigned type, int depth) {
        std::string x = expression(type, depth - 1);
        unsigned kind = pick(type == 8 ? 7 : 12);
        const char* two[] = {"plus", "minus", "times", "smaller", "bigger", "over"};
        if (kind < 6)
            return fmt::format("{}({}, {})", two[type == 8 ? kind % 5 : kind], x, expression(type, depth - 1));
        if (kind == 6) return fmt::format("size_of({})", x);
        const char* one[] = {"root", "rounded", "below", "whole"};
        if (kind < 11) return fmt::format("{}({})", one[kind - 7], x);
        return fmt::format("fused({}, {}, {})", x, leaf(type), expression(type, depth - 1));
    }

    std::string conversion(unsigned to, int depth) {
        unsigned from = pick(type_count);
        std::string x = expression(from, depth - 1);
        const Type &a = types[from], &b = types[to];
        if (b.real && pick(4) == 0)
            return fmt::format("as_{}({})", b.name, expression(to == 8 ? 3 : to == 9 ? u32 : u64, depth - 1));
        if (to == 8) return a.real || a.bits > 16 ? fmt::format("to_half((float){})", x) : fmt::format("(half){}", x);
        if (!b.real && a.real)
            return pick(2) ? fmt::format("to_integer<{}>({})", b.name, x) : fmt::format("({})bits_of({})", b.name, x);
        return fmt::format("({}){}", b.name, x);
    }

    uint64_t seed_, drawn_ = 0;
    unsigned loops_ = 0, callable_ = 0;
    bool in_function_ = true;
};

void print(const std::vector<Statement>& body, int depth, std::string& text) {
    for (const Statement& statement : body) {
        text.append(static_cast<size_t>(depth) * 4, ' ').append(statement.open).push_back('\n');
        print(statement.body, depth + 1, text);
        if (!statement.close.empty())
            text.append(static_cast<size_t>(depth) * 4, ' ').append(statement.close).push_back('\n');
    }
}

/// The text that host and device share: the state of a work-item, the functions, the segments.
std::string common_text(const RandomProgram& program) {
    std::string text = "struct State {\n    uint32_t array[8];\n";
    std::string
        first =
            "FN void begin(State& s, const uint32_t* in, uint32_t id) {\n    for (uint32_t k = 0; k < 8; ++k) "
            "s.array[k] = in[(id * 3 + k) & 255];\n",
        last =
            "FN void end(const State& s, uint64_t* out) {\n    for (uint32_t k = 0; k < 8; ++k) *out++ = s.array[k];\n";
    for (unsigned type = 0; type < type_count; ++type)
        for (unsigned i = 0; i < per_type; ++i) {
            text += fmt::format("    {} v{}_{};\n", types[type].name, type, i);
            first += types[type].real
                         ? fmt::format("    {} = ({})((float)(int32_t)in[(id + {}) & 255] * {});\n", variable(type, i),
                                       types[type].name, type * 5 + i, i ? "0x1p-30f" : "0x1p-20f")
                         : fmt::format("    {} = ({})(in[(id + {}) & 255] * 0x9e3779b97f4a7c15ull >> {});\n",
                                       variable(type, i), types[type].name, type * 5 + i, i * 30);
            last += fmt::format("    *out++ = bits_of({});\n", variable(type, i));
        }
    text += "};\n" + first + "}\n" + last + "}\n";
    for (const auto& function : program.functions) {
        text += fmt::format("__device__ NOINLINE {} {{\n", function.head);
        print(function.body, 1, text);
        text += fmt::format("    return {};\n}}\n", function.result);
    }
    text += "typedef uint32_t (*Function)(uint32_t, uint32_t, uint32_t, State&);\n";
    text += "__device__ const Function table[4] = {function0, function1, function2, function3};\n";
    for (size_t i = 0; i < program.segments.size(); ++i) {
        text += fmt::format(
            "FN void segment{}(State& s, const uint32_t* in, const uint32_t* shared, uint32_t id, uint32_t group) {{\n",
            i);
        print(program.segments[i].body, 1, text);
        text += "}\n";
    }
    return text;
}

std::string device_meeting(const Meeting& m) {
    switch (m.kind) {
        case Meeting::shuffle_xor:
            return fmt::format("    {0} = __shfl_xor({0}, {1}, 32);\n", m.variable, m.number % 32);
        case Meeting::shuffle_from:
            return fmt::format("    {0} = __shfl({0}, (int)(id * 5 + {1}) & 31, 32);\n", m.variable, m.number);
        case Meeting::vote: return fmt::format("    s.v{}_0 ^= ballot({} & 1);\n", u64, m.variable);
        case Meeting::publish:
            return fmt::format("    __syncthreads();\n    shared[threadIdx.x] = (uint32_t){};\n    __syncthreads();\n",
                               m.variable);
        case Meeting::atomic:
            return fmt::format(
                "    __syncthreads();\n    atomicAdd(&shared[(uint32_t){} % 128], threadIdx.x + {});\n    "
                "__syncthreads();\n",
                m.variable, m.number);
        case Meeting::none: break;
    }
    return "";
}

std::string host_meeting(const Meeting& m) {
    std::string own = m.variable, other = m.variable;
    own.replace(0, 1, "all[i]");
    other.replace(0, 1, "all[from]");
    const char* each = "        for (uint32_t i = 0; i < 128; ++i)";
    switch (m.kind) {
        case Meeting::shuffle_xor:
        case Meeting::shuffle_from:
            return fmt::format(
                "        uint32_t {0}[128];\n{1} {{ uint32_t from = {2}; {0}[i] = (uint32_t){3}; }}\n{1} {4} = "
                "{0}[i];\n",
                "moved", each,
                m.kind == Meeting::shuffle_xor ? fmt::format("i ^ {}", m.number % 32)
                                               : fmt::format("(i & ~31u) + ((i * 5 + {}) & 31)", m.number),
                other, own);
        case Meeting::vote:
            return fmt::format(
                "        for (uint32_t w = 0; w < 128; w += wave) {{\n            uint64_t vote = 0;\n            for "
                "(uint32_t i = w; i < w + wave; ++i) vote |= (uint64_t)({} & 1) << (i - w);\n            for (uint32_t "
                "i = w; i < w + wave; ++i) all[i].v{}_0 ^= vote;\n        }}\n",
                own, u64);
        case Meeting::publish: return fmt::format("{} shared[i] = (uint32_t){};\n", each, own);
        case Meeting::atomic: return fmt::format("{} shared[(uint32_t){} % 128] += i + {};\n", each, own, m.number);
        case Meeting::none: break;
    }
    return "";
}

}  // namespace

unsigned RandomProgram::results() { return 8 + type_count * per_type; }

std::string RandomProgram::device_text() const {
    std::string text = common_text(*this);
    text +=
        "extern \"C\" __global__ __launch_bounds__(128) void fuzz(const uint32_t* in, uint64_t* out) {\n"
        "    __shared__ uint32_t shared[128];\n"
        "    uint32_t group = blockIdx.x, id = group * 128 + threadIdx.x;\n"
        "    shared[threadIdx.x] = in[id & 255];\n"
        "    __syncthreads();\n"
        "    State s;\n"
        "    begin(s, in, id);\n";
    for (size_t i = 0; i < segments.size(); ++i)
        text += fmt::format("    segment{}(s, in, shared, id, group);\n", i) + device_meeting(segments[i].after);
    return text + fmt::format("    end(s, out + id * {});\n}}\n", results());
}

std::string RandomProgram::host_text() const {
    std::string text = common_text(*this);
    text +=
        "extern \"C\" void fuzz(const uint32_t* in, uint64_t* out, uint32_t groups, uint32_t wave) {\n"
        "    for (uint32_t group = 0; group < groups; ++group) {\n"
        "        State all[128];\n"
        "        uint32_t shared[128];\n"
        "        for (uint32_t i = 0; i < 128; ++i) shared[i] = in[(group * 128 + i) & 255], begin(all[i], in, group * "
        "128 + i);\n";
    for (size_t i = 0; i < segments.size(); ++i)
        text += fmt::format(
            "        for (uint32_t i = 0; i < 128; ++i) segment{}(all[i], in, shared, group * 128 + i, group);\n       "
            " {{\n{}        }}\n",
            i, host_meeting(segments[i].after));
    return text +
           fmt::format(
               "        for (uint32_t i = 0; i < 128; ++i) end(all[i], out + (group * 128 + i) * {});\n    }}\n}}\n",
               results());
}

RandomProgram make_random_program(uint64_t seed) { return Generator(seed).program(); }

}  // namespace programs
