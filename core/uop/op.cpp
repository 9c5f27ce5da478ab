#include "strata/core/uop/op.h"

#include "strata/core/uop/args.h"

namespace strata {
namespace {

consteval uint8_t flags(std::string_view letters) {
    uint8_t bits = 0;
    for (char c : letters)
        bits |= c == 'C' ? kCommutative : c == 'M' ? kMovement : c == 'E' ? kEffect : c == 'O' ? kOptional : 0;
    return bits;
}

consteval uint8_t flags_by_arity(int arity) { return arity == 1 ? kUnary : arity == 2 ? kBinary : kTernary; }

consteval uint8_t levels(std::string_view letters) {
    uint8_t bits = 0;
    for (char c : letters)
        bits |= static_cast<uint8_t>(c == 'T' ? Level::tensor : c == 'K' ? Level::kernel : Level::linear);
    return bits;
}

template <class A, class... All>
consteval size_t position(const std::variant<All...>*) {
    size_t i = 0;
    (void)((std::is_same_v<A, All> || (i++, false)) || ...);
    return i;
}
template <class A>
constexpr size_t carries = position<A>(static_cast<const Arg*>(nullptr));

constexpr OpInfo kInfos[] = {
#define OP(name, arity, letters, at, argument) \
    {#name, arity, flags(#letters), levels(#at), carries<argument>, TypeRule::args, 0},
#define ELEMENTWISE(name, arity, letters, rule, cost, ...) \
    {#name, arity, flags(#letters) | flags_by_arity(arity), levels("TKL"), carries<NoArg>, TypeRule::rule, cost},
#define MACHINE(name, arity, ...) {#name, arity, kMachine, levels("KL"), carries<NoArg>, TypeRule::args, 1},
#include "strata/core/uop/ops.def"
};

}  // namespace

const OpInfo& info(Op op) { return kInfos[static_cast<size_t>(op)]; }

}  // namespace strata
