#include "valu_model.h"

#include <string>
#include <unordered_map>

namespace strata::emu::rows {

Wide round_to(Wide x, int digits, int least, Wide largest, int direction) {
    if (x == 0 || !std::isfinite(x)) return x;
    int exponent;
    std::frexp(x, &exponent);
    const int unit = std::max(exponent - digits, least);
    const Wide scaled = std::ldexp(std::fabs(x), -unit), below = std::floor(scaled), rest = scaled - below;
    const bool negative = std::signbit(x);
    const bool away = direction == 1 ? !negative : direction == 2 ? negative : false;
    const bool up = direction == 0 ? rest > 0.5L || (rest == 0.5L && std::fmod(below, 2.0L) == 1) : away && rest > 0;
    const Wide result = std::ldexp(below + (up ? 1 : 0), unit);
    if (result <= largest) return std::copysign(result, x);
    return std::copysign(direction == 0 || away ? std::numeric_limits<Wide>::infinity() : largest, x);
}

uint32_t half_bits(Wide x, int direction) {
    if (std::isnan(x)) return 0x7e00;
    // A half once rounded is exact: the reference's encoder only lays out its bits.
    return reference::half_bits(round_to(x, 11, -24, 65504, direction));
}

void Lane::f16(Wide x) { raw_f16(half_bits(*this, x)); }

namespace {

std::unordered_map<std::string_view, void (*)(Lane&)> collect() {
    std::unordered_map<std::string_view, void (*)(Lane&)> all;
    const std::span<const Operation> tables[] = {integer_operations(), narrow_operations(), float_operations(),
                                                 half_operations(),    order_operations(),  convert_operations(),
                                                 packed_operations(),  dot_operations(),    byte_float_operations()};
    for (const auto& table : tables) {
        for (const Operation& row : table) {
            for (std::string_view rest = row.names; !rest.empty();) {
                const size_t end = std::min(rest.find(' '), rest.size());
                all.emplace(rest.substr(0, end), row.run);
                rest.remove_prefix(std::min(end + 1, rest.size()));
            }
        }
    }
    return all;
}

}  // namespace

Run model(std::string_view mnemonic) {
    static const auto known = collect();
    if (const auto at = known.find(mnemonic); at != known.end()) return at->second;
    // The halves of a VOPD instruction are the single instructions of that name.
    if (mnemonic.starts_with("v_dual_")) return model("v_" + std::string(mnemonic.substr(7)));
    return comparison(mnemonic);
}

}  // namespace strata::emu::rows
