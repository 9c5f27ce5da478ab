// Picks the sections of prelude.hip (see its head for the form of a section) that a source uses. Most kernels need a
// tenth of it, and clang does not spend time on the rest.
#include "strata/codegen/toolchain/prelude.h"

#include <fmt/format.h>

#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "strata/codegen/render/math_library.h"
#include "strata/codegen/render/wave_functions.h"

namespace strata::codegen {

extern const char* const prelude_text;  // made from prelude.hip by CMake, as these from the files of their names
extern const char* const prelude_nvidia_text;
extern const char* const prelude_threads_text;
extern const char* const prelude_nvidia_user_text;
extern const char* const prelude_common_text;

namespace {

using Words = std::unordered_set<std::string_view>;

struct Section {
    std::vector<std::vector<std::string_view>> conditions;  ///< all must hold; one holds when any of its words is there
    bool ocml = false;
    std::string_view body;
};

constexpr std::string_view kMarker = "//@";

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    while (!text.empty()) {
        size_t end = std::min(text.find(separator), text.size());
        if (end > 0) parts.push_back(text.substr(0, end));
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    return parts;
}

std::vector<Section> read_sections(std::string_view text) {
    std::vector<Section> sections;
    for (size_t at = text.find("\n//@"); at != text.npos;) {
        std::string_view rest = text.substr(at + 1);
        size_t next = text.find("\n//@", at + 1);
        size_t line_end = rest.find('\n');
        Section section;
        std::string_view head = rest.substr(kMarker.size(), line_end - kMarker.size());
        section.body = text.substr(at + 1 + line_end + 1, next == text.npos ? next : next - (at + 1 + line_end));
        if (size_t colon = head.find(':'); colon != head.npos) {
            section.ocml = true;
            head = head.substr(0, colon);
        }
        for (std::string_view condition : split(head, '&'))
            if (auto words = split(condition, ' '); !words.empty()) section.conditions.push_back(words);
        sections.push_back(std::move(section));
        at = next;
    }
    return sections;
}

constexpr bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

void collect_words(std::string_view text, Words& words) {
    constexpr std::string_view maker = "make_";
    for (size_t at = 0; at < text.size();) {
        size_t start = at;
        while (at < text.size() && is_word(text[at])) ++at;
        if (at == start) {
            ++at;
            continue;
        }
        std::string_view word = text.substr(start, at - start);
        words.insert(word);
        if (word.starts_with(maker)) words.insert(word.substr(maker.size()));
    }
}

bool wanted(const Section& section, const Words& words) {
    for (const auto& condition : section.conditions) {
        bool holds = false;
        for (std::string_view word : condition) holds = holds || words.contains(word);
        if (!holds) return false;
    }
    return true;
}

constexpr std::string_view kAfterRuntimeHeader = R"(
#if defined(HIP_INCLUDE_HIP_HIP_RUNTIME_H) && HIP_VERSION_MAJOR < 6
#define STRATA_COORDINATE(name, call, i) \
    static __device__ __attribute__((always_inline)) unsigned get_##name() { return call(i); } \
    __declspec(property(get = get_##name)) unsigned name;
#define STRATA_COORDINATES(name, call) \
    struct strata_type_of_##name { \
        STRATA_COORDINATE(x, call, 0) STRATA_COORDINATE(y, call, 1) STRATA_COORDINATE(z, call, 2) \
        __device__ operator dim3() const { return dim3(x, y, z); } \
    }; \
    static const __device__ strata_type_of_##name strata_##name = {};
STRATA_COORDINATES(threadIdx, __ockl_get_local_id)
STRATA_COORDINATES(blockIdx, __ockl_get_group_id)
STRATA_COORDINATES(blockDim, __ockl_get_local_size)
STRATA_COORDINATES(gridDim, __ockl_get_num_groups)
#define threadIdx strata_threadIdx
#define blockIdx strata_blockIdx
#define blockDim strata_blockDim
#define gridDim strata_gridDim
#if !__has_builtin(__builtin_amdgcn_s_memrealtime)
static __device__ inline __attribute__((always_inline)) long long strata_wall_clock64() {
    return __builtin_readsteadycounter();
}
#define wall_clock64 strata_wall_clock64
#endif
#endif
)";

#define POLYNOMIAL(name, ...) inline constexpr double name[] = {__VA_ARGS__};
namespace polynomials {
#include "strata/codegen/decompose/polynomials.def"
}
#undef POLYNOMIAL

/// A section with a macro of v: a polynomial of polynomials.def in fmas.
std::string polynomial_section(std::string_view macro, std::span<const double> c, std::string_view suffix) {
    std::string sum = fmt::format("{:a}{}", c.back(), suffix);
    for (size_t i = c.size() - 1; i-- > 0;) sum = fmt::format("__builtin_fma{2}({0}, v, {1:a}{2})", sum, c[i], suffix);
    return fmt::format("//@ {0}\n#define {0}(v) {1}\n", macro, sum);
}

/// prelude.hip with a section for each function of the math library that an op is spelt with, and for what lanes do
/// together.
std::string all_sections() {
    std::string text = std::string(prelude_text) + prelude_threads_text + prelude_common_text + wave_functions();
    text.insert(text.find("//@ ncdf"), polynomial_section("STRATA_NCDF_F32", polynomials::ncdf_f32, "f") +
                                           polynomial_section("STRATA_NCDF_F64", polynomials::ncdf_f64, ""));
    for (const LibraryFunction& f : math_library())
        text += fmt::format("//@ {0} {0}f : ocml\nSTRATA_MATH{1}({0})\n", f.name, f.arity);
    return text;
}

/// The same of prelude_nvidia.hip: CUDA has the functions of float and double, those of half are made of these.
std::string all_sections_for_nvidia() {
    std::string text =
        std::string(prelude_nvidia_text) + prelude_nvidia_user_text + prelude_common_text + nvidia_wave_functions();
    for (const LibraryFunction& f : math_library())
        text += fmt::format("//@ {0} & half half2 half4 half8 half16\nSTRATA_MATH{1}({0})\n", f.name, f.arity);
    return text;
}

/// The sections of a text that a source needs.
Prelude pick(const std::vector<Section>& sections, std::string_view source) {
    Words words;
    collect_words(source, words);
    std::vector<bool> used(sections.size());
    for (size_t i = sections.size(); i-- > 0;) {
        used[i] = wanted(sections[i], words);
        // The first section, always there, needs no other.
        if (used[i] && i > 0) collect_words(sections[i].body, words);
    }
    Prelude prelude;
    for (size_t i = 0; i < sections.size(); ++i) {
        if (!used[i]) continue;
        prelude.text += sections[i].body;
        prelude.needs_ocml = prelude.needs_ocml || sections[i].ocml;
    }
    return prelude;
}

}  // namespace

Prelude prelude_after_runtime_header() { return {std::string(kAfterRuntimeHeader), true}; }

Prelude prelude_for(std::string_view source) {
    static const std::string text = all_sections();
    static const std::vector<Section> sections = read_sections(text);
    return pick(sections, source);
}

std::string nvidia_prelude_for(std::string_view source) {
    static const std::string text = all_sections_for_nvidia();
    static const std::vector<Section> sections = read_sections(text);
    return pick(sections, source).text;
}

}  // namespace strata::codegen
