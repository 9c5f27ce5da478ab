// async_copy: which asynchronous copies a chip has, and whether lanes fill local memory in their order.
#include "strata/codegen/target/async_copy.h"

#include <algorithm>

#include "strata/core/symbolic/symbolic.h"
#include "strata/core/uop/kernel.h"
#include "strata/core/uop/walk.h"

namespace strata::codegen {
namespace {

/// Ids of ranges that no kernel has.
constexpr int kWave = 1 << 20, kLane = kWave + 1;

/// The same sum in the index type, whose rules know that nothing wraps.
UOp as_index(UOp offset) {
    offset = skip_after(offset);
    if (offset.dtype().scalar == Scalar::index) return offset;
    if (offset.is_const()) return index_const(const_int(offset));
    switch (offset.op()) {
        case Op::special: return make(Op::special, dtypes::index, {}, offset.arg());
        case Op::add:
        case Op::sub:
        case Op::mul:
        case Op::idiv:
        case Op::mod: return make(offset.op(), dtypes::index, {as_index(offset.src(0)), as_index(offset.src(1))});
        case Op::cast:
            return offset.src(0).dtype().is_integer() ? as_index(offset.src(0)) : cast(offset, dtypes::index);
        default: return cast(offset, dtypes::index);
    }
}

/// The threads' indices of a block that an offset depends on, x first.
std::array<UOp, 3> thread_indices(UOp offset) {
    std::array<UOp, 3> found;
    for (UOp u : toposort(offset))
        if (u.is(Op::special) && u.as<SpecialArg>().thread) found[static_cast<size_t>(u.as<SpecialArg>().dim)] = u;
    return found;
}

}  // namespace

AsyncCopy async_copy_of(const Target& target) {
    if (!target.arch.is_amd()) return target.ahead == Ahead::copies ? AsyncCopy::cp_async : AsyncCopy::none;
    return isa::is_cdna(isa::info(target.arch).family) ? AsyncCopy::by_lanes : AsyncCopy::none;
}

bool has_async_copy(const Target& target, int bits) {
    const AsyncCopy kind = async_copy_of(target);
    if (kind == AsyncCopy::by_lanes) return bits == 8 * kBytesOfLane;
    return kind == AsyncCopy::cp_async && (bits == 32 || bits == 64 || bits == 128);
}

bool fills_by_lanes(UOp offset, int bytes_of_element, int wave_size) {
    offset = as_index(offset);
    const auto [x, y, z] = thread_indices(offset);
    if (!x || kBytesOfLane % bytes_of_element) return false;
    const int64_t size = x.as<SpecialArg>().size, waves = (size + wave_size - 1) / wave_size;
    if ((y || z) && size % wave_size) return false;
    const UOp wave = uop::range(waves, kWave, Axis::loop), lane = uop::range(wave_size, kLane, Axis::loop);
    const int64_t step = kBytesOfLane / bytes_of_element;
    const auto at = [&](UOp in_wave) { return substitute(offset, {{x, wave * wave_size + in_wave}}); };
    if (thread_indices(at(lane))[0]) return false;  // in what is no sum
    const UOp rest = simplify(at(lane) - lane * step);
    if (!depends_on(rest, lane)) return true;
    const UOp first = simplify(at(index_const(0)));
    for (int64_t i = 1; i < wave_size; ++i) {
        const UOp apart = simplify(at(index_const(i)) - first);
        if (!apart.is_const() || const_int(apart) != i * step) return false;
    }
    return true;
}

}  // namespace strata::codegen
