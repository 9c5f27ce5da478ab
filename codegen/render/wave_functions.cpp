#include "strata/codegen/render/wave_functions.h"

#include <fmt/format.h>

#include "strata/codegen/render/expression_p.h"
#include "strata/codegen/target/cache_policies.h"
#include "strata/codegen/target/matrix_layouts.h"
#include "strata/codegen/target/target.h"

namespace strata::codegen {
namespace {

constexpr std::string_view kLanes = R"(//@ lane_xor
// The value of the lane whose number differs in the mask's bits.
// clang 19 would move v_permlanex16 into a branch that alone uses its result, where the other lanes do not run.
STRATA_FN int strata_stays_here(int x) {
    __asm__ volatile("" : "+v"(x));
    return x;
}
template <int mask, int control> STRATA_FN int strata_by_dpp(int x) {
    return __builtin_amdgcn_mov_dpp(x, control, 0xf, 0xf, true);
}
template <int mask, int> STRATA_FN int strata_by_other_row(int x) {
#if __has_builtin(__builtin_amdgcn_permlanex16)
    constexpr unsigned low = (mask & 15) * 0x11111111u ^ 0x76543210, high = (mask & 15) * 0x11111111u ^ 0xfedcba98;
    return strata_stays_here(__builtin_amdgcn_permlanex16(x, x, low, high, false, true));
#else
    return x;
#endif
}
template <int mask, int> STRATA_FN int strata_by_swizzle(int x) {
    return strata_stays_here(__builtin_amdgcn_ds_swizzle(x, (mask & 31) << 10 | 0x1f));
}
template <int mask, int> STRATA_FN int strata_by_permute(int x) {
    return strata_stays_here(__builtin_amdgcn_ds_bpermute((strata_lane() ^ mask) << 2, x));
}
template <int mask> STRATA_FN int strata_word_xor(int x);
template <int mask, class T> STRATA_FN T lane_xor(T value) {
    if constexpr (sizeof(T) == 1) {
        return __builtin_bit_cast(T, (uint8_t)strata_word_xor<mask>(__builtin_bit_cast(uint8_t, value)));
    } else if constexpr (sizeof(T) == 2) {
        return __builtin_bit_cast(T, (uint16_t)strata_word_xor<mask>(__builtin_bit_cast(uint16_t, value)));
    } else {
        auto words = __builtin_bit_cast(strata_words<T>, value);
        for (int& w : words.w) w = strata_word_xor<mask>(w);
        return __builtin_bit_cast(T, words);
    }
}
)";

constexpr std::string_view kSums = R"(//@ strata_matrix_stays_here
// clang 19 would move v_wmma, with what makes its operands, into a branch that alone uses its result, where the other lanes do
// not run: it knows v_mfma as convergent, not v_wmma.
template <class T> STRATA_FN void strata_matrix_stays_here(T& d) { __asm__("" : "+v"(d)); }
//@ strata_spread
// Sums of gfx11 that take 16 bits of a register each: the even elements of a vector.
template <class Wide, class T> STRATA_FN Wide strata_spread(T narrow) {
    Wide wide{};
    for (int i = 0; i < 8; ++i) wide[2 * i] = narrow[i];
    return wide;
}
template <class T, class Wide> STRATA_FN T strata_even(Wide wide) {
    T narrow;
    for (int i = 0; i < 8; ++i) narrow[i] = wide[2 * i];
    return narrow;
}
)";

char sign_of(DType type) { return type.is_unsigned() ? 'u' : 's'; }

/// f of the types of A and B and whether sums saturate, for each function of a row.
template <class F>
std::string each_variant(const MatrixShape& shape, F f) {
    std::string text = f(shape, shape.operand, shape.operand, false);
    if (!takes_signs(shape)) return text;
    for (const DType a : {shape.operand, dtypes::uint8})
        for (const DType b : {shape.operand, dtypes::uint8})
            for (const bool clamp : {false, true})
                if (!variant_of(a, b, clamp).empty()) text += f(shape, a, b, clamp);
    return text;
}

/// The type in which the builtin of a matrix instruction takes the elements of A or B that a lane has.
std::string factor_type(const MatrixShape& shape) {
    const int count = shape.operand_elements();
    if (shape.operand.bits() == 8)
        return count == 4 ? "int" : count == 16 ? "int4" : isa::is_cdna(*shape.family) ? "long" : "int2";
    const std::string_view element = shape.operand == dtypes::bfloat16 ? "short" : shape.operand.hip();
    return count == 1 ? std::string(element) : fmt::format("{}{}", element, count);
}

/// A function of a matrix instruction's name, where clang has its builtin: bfloat16 is short there, bytes are integers.
std::string matrix_section(const MatrixShape& shape, DType a, DType b, bool clamp) {
    const bool cdna = isa::is_cdna(*shape.family), bytes = shape.operand == dtypes::int8;
    const bool narrow = shape.accumulator.bits() == 16, spread = narrow && shape.family == isa::Family::rdna3;
    const int count = shape.operand_elements();
    const std::string sum = hip_type(shape.accumulator.vector(shape.accumulator_elements()));
    const std::string factor = factor_type(shape);
    auto as = [&](std::string_view x) { return fmt::format("__builtin_bit_cast({}, {})", factor, x); };
    std::string total = "c", result = "{}";
    if (narrow) {
        const std::string_view element = shape.accumulator == dtypes::bfloat16 ? "short" : "half";
        total = fmt::format("__builtin_bit_cast({}8, c)", element);
        if (spread) total = fmt::format("strata_spread<{}16>({})", element, total);
        if (spread) result = fmt::format("strata_even<{}8>({{}})", element);
        result = fmt::format("__builtin_bit_cast({}, {})", sum, result);
    }
    const std::string call = !cdna && bytes ? fmt::format("{}, {}, {}, {}, {}, {}", !a.is_unsigned(), as("a"),
                                                          !b.is_unsigned(), as("b"), total, clamp)
                                            : fmt::format("{}, {}, {}{}", as("a"), as("b"), total,
                                                          cdna     ? ", 0, 0, 0"
                                                          : spread ? ", false"
                                                                   : "");
    const std::string builtin = fmt::format("__builtin_amdgcn_{}", shape.builtin);
    const std::string product = fmt::format("{}({})", builtin, call),
                      of_product = fmt::format(fmt::runtime(result), "d");
    const std::string body =
        cdna ? fmt::format("return {};", fmt::format(fmt::runtime(result), product))
             : fmt::format("auto d = {}; strata_matrix_stays_here(d); return {};", product, of_product);
    return fmt::format("//@ {0}\n#if __has_builtin({1})\nSTRATA_FN {2} {0}({3} a, {4} b, {2} c) {{ {5} }}\n#endif\n",
                       std::string(shape.mnemonic) + variant_of(a, b, clamp), builtin, sum, hip_type(a.vector(count)),
                       hip_type(b.vector(count)), body);
}

/// The same of NVIDIA's: two instructions on the halves of B.
std::string mma_section(const MatrixShape& shape, DType a, DType b, bool clamp) {
    const std::string sum = hip_type(shape.accumulator.vector(shape.accumulator_elements()));
    const char place = shape.accumulator.is_float() ? 'f' : 'r';
    std::string instruction(shape.builtin);
    if (takes_signs(shape))
        instruction =
            fmt::format("m16n8k32.row.col{}.s32.{}8.{}8.s32", clamp ? ".satfinite" : "", sign_of(a), sign_of(b));
    std::string text = fmt::format(
        "//@ {0}\nSTRATA_FN {1} {0}({2} a, {3} b, {1} c) {{\n    const uint4 l = __builtin_bit_cast(uint4, a), "
        "r = __builtin_bit_cast(uint4, b);\n",
        std::string(shape.mnemonic) + variant_of(a, b, clamp), sum, hip_type(a.vector(shape.operand_elements())),
        hip_type(b.vector(shape.operand_elements())));
    for (int half : {0, 1})
        text += fmt::format(
            "    asm volatile(\"mma.sync.aligned.{0} {{%0, %1, %2, %3}}, {{%4, %5, %6, %7}}, {{%8, %9}}, {{%0, %1, %2, "
            "%3}};\"\n"
            "        : \"+{1}\"(c[{2}]), \"+{1}\"(c[{3}]), \"+{1}\"(c[{4}]), \"+{1}\"(c[{5}])\n"
            "        : \"r\"(l.x), \"r\"(l.y), \"r\"(l.z), \"r\"(l.w), \"r\"(r.{6}), \"r\"(r.{7}));\n",
            instruction, place, 2 * half, 2 * half + 1, 2 * half + 4, 2 * half + 5, "xz"[half], "yw"[half]);
    return text + "    return c;\n}\n";
}

/// Warpgroup products: all steps of a tile, A from local memory or from lanes. They are under way until
/// strata_products_end.
std::string group_section(const MatrixShape& shape) {
    const std::string sum = hip_type(shape.accumulator.vector(shape.accumulator_elements()));
    const int count = shape.accumulator_elements();
    std::string names, held;
    for (int i = 0; i < count; ++i) {
        names += fmt::format("{}%{}", i ? ", " : "", i);
        held += fmt::format("{}\"+f\"(c[{}])", i ? ", " : "", i);
    }
    const auto product = [&](std::string_view left, std::string_view first, std::string_view right, int operands) {
        return fmt::format(
            "#pragma unroll\n    for (int s = 0; s < steps; ++s)\n"
            "        asm volatile(\"{{\\n.reg .pred p;\\nsetp.eq.b32 p, 0, 0;\\nwgmma.mma_async.sync.aligned.{} "
            "{{{}}}, "
            "{}, %{}, p, 1, 1, {};\\n}}\"\n            : {}\n            : {}, "
            "\"l\"(strata_step_of_products<b_along_k, b_rows>(right, s)), {});\n"
            "    asm volatile(\"wgmma.commit_group.sync.aligned;\" ::: \"memory\");\n    return c;\n}}\n",
            shape.builtin, names, left, count + operands, right, held, first,
            operands == 1 ? "\"n\"(!a_along_k), \"n\"(!b_along_k)" : "\"n\"(!b_along_k)");
    };
    std::string text = fmt::format(
        "//@ {0}\ntemplate <int steps, bool a_along_k, int a_rows, bool b_along_k, int b_rows>\n"
        "STRATA_FN {1} {0}(const void* a, const void* b, {1} c) {{\n"
        "    const uint64_t left = strata_tile_of_products<a_along_k, a_rows>(a), right = "
        "strata_tile_of_products<b_along_k, b_rows>(b);\n"
        "    strata_products_begin(c);\n",
        shape.mnemonic, sum);
    text += product(fmt::format("%{}", count), "\"l\"(strata_step_of_products<a_along_k, a_rows>(left, s))",
                    fmt::format("%{}, %{}", count + 2, count + 3), 1);
    text += fmt::format(
        "template <int steps, bool, int, bool b_along_k, int b_rows>\n"
        "STRATA_FN {1} {0}(strata_held<{2}, 8 * steps> a, const void* b, {1} c) {{\n"
        "    const uint64_t right = strata_tile_of_products<b_along_k, b_rows>(b);\n"
        "#pragma unroll\n    for (unsigned& x : a.words) asm volatile(\"\" : \"+r\"(x)::\"memory\");\n"
        "    strata_products_begin(c);\n",
        shape.mnemonic, sum, hip_type(shape.operand));
    return text + product(fmt::format("{{%{}, %{}, %{}, %{}}}", count, count + 1, count + 2, count + 3),
                          "\"r\"(a.words[4 * s]), \"r\"(a.words[4 * s + 1]), \"r\"(a.words[4 * s + 2]), "
                          "\"r\"(a.words[4 * s + 3])",
                          fmt::format("%{}", count + 5), 4);
}

/// How a dword comes from another lane, by the rows of lane_xor.def.
std::string lane_section() {
    std::string text(kLanes);
    text += "template <int mask> STRATA_FN int strata_word_xor(int x) {\n";
    for (isa::Arch arch : {isa::Arch::gfx1100, isa::Arch::gfx942}) {
        const Target target = target_of(arch);
        text += isa::is_cdna(isa::info(arch).family) ? "#else\n" : "#if !defined(__GFX9__)\n";
        constexpr std::string_view names[] = {"dpp", "other_row", "swizzle", "permute"};
        for (int first = 1, next = 1; first < target.wave_size; first = next) {
            const LaneXor row = lane_xor(target, first);
            auto goes_on = [&](int mask) {
                const LaneXor other = lane_xor(target, mask);
                return other.path == row.path && other.control == (row.control ? row.control + mask - first : 0);
            };
            while (next < target.wave_size && goes_on(next)) ++next;
            text += fmt::format("    if constexpr (mask >= {0} && mask < {1}) return strata_by_{2}<mask, {3}>(x);\n",
                                first, next, names[static_cast<size_t>(row.path)],
                                row.control ? fmt::format("{} + mask", row.control - first) : "0");
        }
    }
    return text + "#endif\n}\n";
}

/// Vectors of what clang has none of.
std::string vector_section(DType type) {
    return fmt::format("//@ {0}\nstruct {0} {{ {1} lanes[{2}]; }};\n#define make_{0}(...) ({0}{{{{__VA_ARGS__}}}})\n",
                       hip_type(type), hip_type(type.element()), type.lanes);
}
std::string vector_sections(bool amd) {
    std::string text;
    for (const MatrixShape& shape : matrix_shapes())
        if (const DType factors = shape.operand.vector(shape.operand_elements());
            shape.family.has_value() == amd && shape.operand.is_float() && shape.operand.bits() == 8 &&
            text.find("//@ " + hip_type(factors) + "\n") == text.npos)
            text += vector_section(factors);
    return text;
}

}  // namespace

std::string variant_of(DType a, DType b, bool clamp) {
    const std::string signs = a.is_unsigned() || b.is_unsigned() ? fmt::format("_{}{}", sign_of(a), sign_of(b)) : "";
    return signs + (clamp ? "_clamp" : "");
}

std::string wave_functions() {
    std::string text = lane_section() + vector_sections(true) + std::string(kSums);
    for (const MatrixShape& shape : matrix_shapes())
        if (shape.family) text += each_variant(shape, matrix_section);
    return text;
}

std::string nvidia_wave_functions() {
    std::string text = vector_sections(false);
    for (size_t i = 0; i < cache_names().size(); ++i)
        text += fmt::format("//@ strata_load_{0} strata_store_{0}\nSTRATA_CACHED({0}, \"{1}\", \"{2}\")\n",
                            cache_names()[i], ptx_modifier(static_cast<CachePolicy>(i), false),
                            ptx_modifier(static_cast<CachePolicy>(i), true));
    for (const MatrixShape& shape : matrix_shapes()) {
        if (shape.family) continue;
        const DType sums = shape.accumulator.vector(shape.accumulator_elements());
        const auto add_vector = [&](DType type, std::string_view is, std::string_view made) {
            if (text.find(fmt::format("//@ {}\n", hip_type(type))) == text.npos)
                text += fmt::format("//@ {0}\ntypedef {3}<{1}, {2}> {0};\n#define make_{0}(...) ({4})\n",
                                    hip_type(type), hip_type(type.element()), type.lanes, is, made);
        };
        if (shape.by_warpgroups) {
            add_vector(sums, "strata_vector", fmt::format("{}{{{{__VA_ARGS__}}}}", hip_type(sums)));
            for (const int lanes : {32, 64}) {  // of four and eight steps
                const std::string element = hip_type(shape.operand);
                add_vector(shape.operand.vector(lanes), "strata_held",
                           fmt::format("strata_hold<{}, {}>(__VA_ARGS__)", element, lanes));
            }
        }
        text += shape.by_warpgroups ? group_section(shape) : each_variant(shape, mma_section);
    }
    return text;
}

}  // namespace strata::codegen
