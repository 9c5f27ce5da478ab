#pragma once
#include <memory>
#include <vector>

#include "strata/core/uop/uop.h"

namespace strata {

/// The nodes that a variable of a pattern accepts.
enum class Accept : uint8_t { any, integer, boolean, floating, constant, int_constant };

/// A named capture. Its second use in a pattern matches only the same node.
struct Var {
    uint8_t slot;
    Accept accept = Accept::any;
    const char* name = "";
};
inline constexpr int kMaxVars = 16;

/// A shape of graph to look for, or to build: written with operators, `x * (c0 + 1)`. Numbers take the type of what
/// they stand beside; to match, a float constant must agree in sign of zero too.
class Pattern {
  public:
    enum class Kind : uint8_t { var, number, op };
    struct Tree {
        Kind kind;
        Op op{};
        Var var{};  ///< Kind::var, or the capture of an op's node when `captured`
        bool captured = false;
        bool any_sources = false;
        double number = 0;
        std::vector<Pattern> sources;
    };

    Pattern(Var v);
    Pattern(int number) : Pattern(static_cast<double>(number)) {}
    Pattern(double number);
    Pattern(Op op, std::vector<Pattern> sources);
    const Tree& tree() const { return *tree_; }

  private:
    friend Pattern as(Var, const Pattern&);
    friend Pattern any_sources(Op);
    std::shared_ptr<const Tree> tree_;
};

/// `pattern`, captured as `v`.
Pattern as(Var v, const Pattern& pattern);
/// A node of this op whatever its sources.
Pattern any_sources(Op op);

inline Pattern operator+(const Pattern& a, const Pattern& b) { return {Op::add, {a, b}}; }
inline Pattern operator-(const Pattern& a, const Pattern& b) { return {Op::sub, {a, b}}; }
inline Pattern operator*(const Pattern& a, const Pattern& b) { return {Op::mul, {a, b}}; }
inline Pattern operator/(const Pattern& a, const Pattern& b) { return {Op::idiv, {a, b}}; }
inline Pattern operator%(const Pattern& a, const Pattern& b) { return {Op::mod, {a, b}}; }
inline Pattern operator<(const Pattern& a, const Pattern& b) { return {Op::cmplt, {a, b}}; }
inline Pattern operator==(const Pattern& a, const Pattern& b) { return {Op::cmpeq, {a, b}}; }
inline Pattern operator!=(const Pattern& a, const Pattern& b) { return {Op::cmpne, {a, b}}; }
inline Pattern operator&(const Pattern& a, const Pattern& b) { return {Op::bit_and, {a, b}}; }
inline Pattern operator|(const Pattern& a, const Pattern& b) { return {Op::bit_or, {a, b}}; }
inline Pattern operator^(const Pattern& a, const Pattern& b) { return {Op::bit_xor, {a, b}}; }
inline Pattern operator!(const Pattern& a) { return {Op::logical_not, {a}}; }
inline Pattern operator-(const Pattern& a) { return {Op::neg, {a}}; }

/// The vocabulary of rule files: `using namespace strata::vocabulary;`
namespace vocabulary {
inline constexpr Var x{0, Accept::any, "x"}, y{1, Accept::any, "y"}, z{2, Accept::any, "z"};
inline constexpr Var i{3, Accept::integer, "i"}, j{4, Accept::integer, "j"}, k{5, Accept::integer, "k"};
inline constexpr Var p{6, Accept::boolean, "p"}, q{7, Accept::boolean, "q"}, r{8, Accept::boolean, "r"};
inline constexpr Var f{9, Accept::floating, "f"}, g{10, Accept::floating, "g"};
inline constexpr Var c{11, Accept::constant, "c"}, c0{12, Accept::constant, "c0"}, c1{13, Accept::constant, "c1"};
inline constexpr Var n{14, Accept::int_constant, "n"}, m{15, Accept::int_constant, "m"};

inline Pattern where(const Pattern& a, const Pattern& b, const Pattern& d) { return {Op::where, {a, b, d}}; }
inline Pattern max(const Pattern& a, const Pattern& b) { return {Op::max, {a, b}}; }
inline Pattern min(const Pattern& a, const Pattern& b) { return {Op::min, {a, b}}; }
inline Pattern fdiv(const Pattern& a, const Pattern& b) { return {Op::fdiv, {a, b}}; }
inline Pattern cast(const Pattern& a) { return {Op::cast, {a}}; }
}  // namespace vocabulary

}  // namespace strata
