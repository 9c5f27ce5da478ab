#include "strata/codegen/target/warpgroup_products.h"

#include <fmt/format.h>

#include <array>
#include <charconv>

namespace strata::codegen {

int64_t place_in(const SwizzledTile& tile, DType element, int64_t row, int64_t x) {
    const int64_t bytes = element.bits() / 8, line = kSwizzledRow / bytes, chunk = kSwizzledChunk / bytes;
    return x / line * tile.rows * line + row * line + ((x % line / chunk) ^ (row % kSwizzledRows)) * chunk + x % chunk;
}

std::string name_of(std::string_view mnemonic, const WarpgroupProduct& product) {
    return fmt::format("{}<{}, {:d}, {}, {:d}, {}>", mnemonic, product.steps, product.a.along_k, product.a.rows,
                       product.b.along_k, product.b.rows);
}

std::optional<WarpgroupProduct> warpgroup_product(UOp u) {
    if (!u.is(Op::wmma)) return {};
    const std::string_view name = u.as<MatrixArg>().name;
    std::array<int64_t, 5> numbers{};
    size_t at = name.find('<');
    if (at == name.npos) return {};
    for (int64_t& number : numbers) {
        const char* end = std::from_chars(name.data() + at + 1, name.data() + name.size(), number).ptr;
        at = static_cast<size_t>(end - name.data()) + (*end == ',');
    }
    return WarpgroupProduct{numbers[0], {numbers[1] != 0, numbers[2]}, {numbers[3] != 0, numbers[4]}};
}

}  // namespace strata::codegen
