// Addresses: what all lanes share goes into the scalar base, what differs into 32 bits a lane, constants into the
// instruction.
//
//   in1[r0 * 64 + t + 3], float32      global_load_b32 v2, v1, s[4:5] offset:12
//                                      v1 = t << 2, s[4:5] = in1 + (r0 << 8)
//   the same with 64 bits              what lanes share is a pair of scalars; 32 bits a lane, where they hold the rest
#include <algorithm>

#include "strata/codegen/machine/operands.h"
#include "strata/codegen/select/arithmetic/sums.h"
#include "strata/codegen/select/memory/address.h"

namespace strata::codegen {
namespace {

constexpr int64_t kTwo32 = int64_t{1} << 32;

bool is_wide(UOp u) { return u.dtype() == dtypes::int64; }
bool is_term(UOp u) {
    if (u.dtype().lanes != 1 || (u.dtype() != dtypes::int32 && !is_wide(u))) return false;
    if (u.is(Op::cast)) return is_wide(u) && u.src(0).dtype() == dtypes::int32;
    return u.is(Op::add) || (u.is(Op::mul) && u.src(1).is_const()) || (u.is(Op::sub) && u.src(1).is_const());
}
bool is_int32(const Offset::Part& part) {
    return part.low >= int_min(dtypes::int32) && part.high <= int_max(dtypes::int32);
}

}  // namespace

Addresses::Addresses(SelectionContext& context, const RegisterMemory& registers)
    : SelectionPart(context),
      registers_(registers),
      wide_(context),
      offsets_(context.regions),
      bases_(context.regions),
      products_(context.regions) {
    find();
    place_local_memory();
}

void Addresses::place_local_memory() {
    uint32_t next = 0;
    for (UOp u : program_.ops)
        if (u.is(Op::param) && u.as<ParamArg>().space == Space::local) {
            local_address_[u] = next;
            next += (static_cast<uint32_t>(u.as<ParamArg>().size * u.dtype().bytes()) + 15) / 16 * 16;
        }
}

/// The sums that offsets are made of are taken apart where they stand, so that loops find their parts done.
void Addresses::find() {
    std::vector<UOp> open;
    for (UOp u : program_.ops)
        if (u.is(Op::index)) open.push_back(skip_after(u.src(1)));
    while (!open.empty()) {
        const UOp u = open.back();
        open.pop_back();
        if (!is_term(u) || !in_addresses_.try_emplace(u, true).second) continue;
        for (UOp s : u.src()) open.push_back(skip_after(s));
    }
}

Offset::Part Addresses::sum(const Offset::Part& a, const Offset::Part& b, bool scalar) {
    if (!a.source) return b;
    if (!b.source) return a;
    if (a.wide)
        return {Source(wide_.sum(false, Value(*a.source), Value(*b.source))), a.low + b.low, a.high + b.high, true};
    const Place place = scalar ? code_.scalar("s_add_u32", {*a.source, *b.source})
                               : code_.vector("v_add_nc_u32", {*a.source, *b.source});
    return {Source::of(place), a.low + b.low, a.high + b.high};
}

Source Addresses::times(const Source& x, int64_t factor, bool scalar) {
    if (factor == 1) return x;
    const Numbers key{x.place.reg, x.place.first, factor, scalar, 0};
    if (const Source* known = products_.find(key)) return *known;
    const auto value = static_cast<uint32_t>(factor);
    const bool shifts = std::has_single_bit(value);
    const Source by = Source::of_number(shifts ? static_cast<uint32_t>(std::countr_zero(value)) : value);
    Place out;
    if (scalar)
        out = code_.scalar(pick(shifts, "s_lshl_b32", "s_mul_i32"), {x, by});
    else if (shifts)
        out = code_.vector("v_lshlrev_b32", {by, x});
    else
        out = code_.vector("v_mul_lo_u32", {x, by});
    if (!registers_.has(x.place)) products_.add(key, Source::of(out));
    return Source::of(out);
}

void Addresses::split_sum(UOp u) {
    if (in_addresses_.contains(u)) split(u);
}

/// A pair of scalar registers times a number.
Source Addresses::times_wide(const Source& x, int64_t factor) {
    if (factor == 1) return x;
    const auto value = static_cast<uint64_t>(factor);
    if (factor > 0 && std::has_single_bit(value))
        return Source::of(
            code_.scalar("s_lshl_b64", {x, Source::of_number(static_cast<uint64_t>(std::countr_zero(value)))}, 2));
    const Source by = Source::of_number(static_cast<uint32_t>(value)), above = Source::of_number(value >> 32);
    const Place out = function_.add(Bank::scalar, 2);
    const Source cross[] = {Source::of(code_.scalar("s_mul_i32", {dword(x, 1), by})),
                            Source::of(code_.scalar("s_mul_i32", {dword(x, 0), above}))};
    const Source full = Source::of(code_.scalar("s_mul_hi_u32", {dword(x, 0), by}));
    code_.scalar_to(out.part(0), "s_mul_i32", {dword(x, 0), by});
    code_.scalar_to(out.part(1), "s_add_u32", {Source::of(code_.scalar("s_add_u32", {full, cross[0]})), cross[1]});
    return Source::of(out);
}

Offset Addresses::sum(UOp u) {
    const Offset a = split(u.src(0)), b = split(u.src(1));
    const Bounds all = bounds(u);
    Offset out{sum(a.scalar, b.scalar, true), sum(a.vector, b.vector, false), a.constant + b.constant,
               a.fits && b.fits};
    // One register that holds all is not added up again.
    if (!out.constant && !out.scalar.source && !is_wide(u)) out.vector = {value(u), all.low, all.high};
    if (!out.constant && !out.vector.source && code_.is_scalar(value(u))) return whole(u);
    return out;
}

Offset Addresses::product(UOp u) {
    const Offset a = split(u.src(0));
    const int64_t k = const_int(u.src(1));
    const bool has_several = a.constant || (a.scalar.source && a.vector.source);
    const bool is_large = std::max(a.vector.high, -a.vector.low) >= kTwo32 || std::abs(k) > int_max(dtypes::int32);
    if (!has_several || !a.fits || is_large) return whole(u);
    const auto part = [&](const Offset::Part& p, bool scalar) {
        if (!p.source) return p;
        const Source by_k = p.wide ? times_wide(*p.source, k) : times(*p.source, k, scalar);
        return Offset::Part{by_k, std::min(p.low * k, p.high * k), std::max(p.low * k, p.high * k), p.wide};
    };
    return {part(a.scalar, true), part(a.vector, false), a.constant * k};
}

/// Of 32 bits to 64.
Offset Addresses::extended(UOp u) {
    Offset out = split(u.src(0));
    if (!is_int32(out.scalar) || (!out.constant && !out.vector.source)) return whole(u);
    if (!out.scalar.source) return out;
    const Source low = *out.scalar.source;
    const Place pair = function_.add(Bank::scalar, 2);
    code_.copy(pair.part(0), low);
    if (out.scalar.low < 0)
        code_.scalar_to(pair.part(1), "s_ashr_i32", {low, Source::of_number(31)});
    else
        code_.copy(pair.part(1), Source::of_number(0));
    out.scalar.source = Source::of(pair), out.scalar.wide = true;
    return out;
}

/// One that is taken apart no further.
Offset Addresses::whole(UOp u) {
    const Value& all = value(u);
    const Bounds within = bounds(u);
    if (all.number)
        return {.constant = is_wide(u) ? static_cast<int64_t>(*all.number) : static_cast<int32_t>(*all.number)};
    if (code_.is_scalar(all) && is_wide(u)) return {.scalar = {.source = all, .wide = true}};
    if (code_.is_scalar(all)) return {.scalar = {all, within.low, within.high}};
    if (!is_wide(u)) return {.vector = {all, within.low, within.high}};
    if (within.low < int_min(dtypes::int32) || within.high >= kTwo32) return {.fits = false};
    return {.vector = {dword(all, 0), within.low, within.high}};
}

const Offset& Addresses::split(UOp u) {
    u = skip_after(u);
    if (const Offset* known = offsets_.find(u)) return *known;
    Offset out;
    if (u.is_const()) {
        out.constant = const_int(u);
    } else if (!is_term(u)) {
        out = whole(u);
    } else if (u.is(Op::add)) {
        out = sum(u);
    } else if (u.is(Op::sub)) {
        out = split(u.src(0));
        out.constant -= const_int(u.src(1));
    } else {
        out = u.is(Op::cast) ? extended(u) : product(u);
    }
    return offsets_.add(u, out);
}

/// By how much an integer grows with each round of the innermost loop, if that is the same each time.
std::optional<int64_t> Addresses::slope(UOp u) {
    u = skip_after(u);
    const UOp range = context_.loops.back();
    if (u == range) return 1;
    if (u.is_const()) return 0;
    const std::optional<size_t> at = context_.position(u);
    if (!at) return {};
    if (*at < *context_.position(range)) return 0;
    if (const auto known = slopes_.find(u); known != slopes_.end()) return known->second;
    std::vector<int64_t> each;
    for (UOp s : u.src())
        if (const std::optional<int64_t> one = slope(s)) each.push_back(*one);
    std::optional<int64_t> made;
    if (each.size() < u.src().size() || u.is(Op::load))
        made = {};
    else if (u.is(Op::add))
        made = each[0] + each[1];
    else if (u.is(Op::sub))
        made = each[0] - each[1];
    else if (u.is(Op::mul) && u.src(1).is_const())
        made = each[0] * const_int(u.src(1));
    else if (is_term(u) && u.is(Op::cast))
        made = each[0];
    else if (std::ranges::all_of(each, [](int64_t one) { return one == 0; }))
        made = 0;
    return slopes_[u] = made;
}

/// Instruction::stride of an access. A lane that a predicate leaves out may have an address that wraps.
int32_t Addresses::stride(UOp index) {
    const int64_t size = memory_of(index).dtype().bytes();
    const Bounds all = bounds(index.src(1));
    if (context_.loops.empty() || is_once(context_.loops.back())) return Instruction::kUnsteady;
    if (index.src().size() > 2 && (all.low < 0 || all.high > (kTwo32 - 1) / size)) return Instruction::kUnsteady;
    const std::optional<int64_t> elements = slope(index.src(1));
    constexpr int64_t kMost = int64_t{1} << 24;
    return elements && std::abs(*elements) < kMost ? static_cast<int32_t>(*elements * size) : Instruction::kUnsteady;
}

bool Addresses::is_uniform(UOp index) {
    const UOp offset = skip_after(index.src(1));
    if (offset.dtype() != dtypes::int32 && !is_wide(offset)) return code_.is_scalar(value(offset));
    return split(offset).fits && !split(offset).vector.source;
}

/// The memory's pointer with scalar * size + beyond added.
Source Addresses::base_at(UOp memory, const Offset::Part& scalar, int64_t beyond, int64_t size) {
    const Source pointer = value(memory);
    if (!scalar.source && !beyond) return pointer;
    const Numbers key{pointer.place.reg, pointer.place.first,
                      scalar.source ? int64_t{scalar.source->place.reg} << 8 | scalar.source->place.first : -1, beyond,
                      size};
    if (const Source* known = bases_.find(key)) return *known;
    Source start = scalar.source && beyond ? base_at(memory, scalar, 0, size) : pointer;
    Source low = Source::of_number(0), high = Source::of_number(0);
    if (scalar.wide && !beyond) {
        const Source bytes = times_wide(*scalar.source, size);
        return bases_.add(key, Source(wide_.sum(false, Value(start), Value(bytes))));
    }
    const bool small = scalar.low >= 0 && scalar.high <= (kTwo32 - 1) / size;
    if (const std::optional<Mnemonic> name = small && scalar.source && !beyond ? shifted_add(size) : std::nullopt) {
        const Place out = function_.add(Bank::scalar, 2);
        code_.scalar_to(out.part(0), *name, {*scalar.source, dword(start, 0)});
        code_.scalar_to(out.part(1), "s_addc_u32", {dword(start, 1), high});
        return bases_.add(key, Source::of(out));
    }
    if (scalar.source && !beyond) {
        low = small ? times(*scalar.source, size, true)
                    : Source::of(
                          code_.scalar("s_mul_i32", {*scalar.source, Source::of_number(static_cast<uint64_t>(size))}));
        if (!small)
            high = Source::of(
                code_.scalar("s_mul_hi_i32", {*scalar.source, Source::of_number(static_cast<uint64_t>(size))}));
    }
    auto add = [&](const Source& a, const Source& b) {
        const Place out = function_.add(Bank::scalar, 2);
        code_.scalar_to(out.part(0), "s_add_u32", {dword(start, 0), a});
        code_.scalar_to(out.part(1), "s_addc_u32", {dword(start, 1), b});
        start = Source::of(out);
    };
    if (!beyond)
        add(low, high);
    else
        add(dword(Source::of_number(static_cast<uint64_t>(beyond)), 0),
            dword(Source::of_number(static_cast<uint64_t>(beyond)), 1));
    return bases_.add(key, start);
}

/// An offset of 64 bits, or one that 32 bits without sign do not hold.
Address Addresses::wide(UOp index, int64_t size) {
    Value offset = value(index.src(1));
    if (offset.number)
        return {.base = base_at(memory_of(index), {}, static_cast<int64_t>(*offset.number) * size, size),
                .lanes = Source::of_number(0)};
    const bool scalar = code_.is_scalar(offset);
    if (index.src(1).dtype().bits() == 32) {
        const Place wide = function_.add(scalar ? Bank::scalar : Bank::vector, 2);
        code_.copy(wide.part(0), offset);
        if (scalar)
            code_.scalar_to(wide.part(1), "s_ashr_i32", {offset, Source::of_number(31)});
        else
            code_.vector_to(wide.part(1), "v_ashrrev_i32", {Source::of_number(31), offset});
        offset = Source::of(wide);
    }
    Value bytes = offset;
    if (size > 1 && std::has_single_bit(static_cast<uint64_t>(size))) {
        const Source shift = Source::of_number(static_cast<uint64_t>(std::countr_zero(static_cast<uint64_t>(size))));
        bytes = scalar ? Source::of(code_.scalar("s_lshl_b64", {offset, shift}, 2))
                       : Source::of(code_.vector("v_lshlrev_b64", {shift, offset}, 2));
    }
    const Value address = wide_.sum(false, value(memory_of(index)), bytes);
    if (scalar) return {.base = address, .lanes = Source::of_number(0)};
    return {.base = {}, .lanes = address, .whole = true};
}

/// base + lanes + offset, where 32 bits without sign hold what differs between lanes.
std::optional<Address> Addresses::split_address(UOp index, isa::Format format) {
    const int64_t size = memory_of(index).dtype().bytes();
    const OffsetRange range = offset_range(function_.family, format);
    const Offset& parts = split(index.src(1));
    const Offset::Part& lanes = parts.vector;
    if (!parts.fits || (lanes.source && (lanes.low < 0 || lanes.high > (kTwo32 - 1) / size))) return {};
    // The part that the instruction cannot hold goes into a base that accesses of near offsets share.
    const int64_t constant = parts.constant * size, reach = range.high - range.low + 1;
    const int64_t near = ((constant - range.low) % reach + reach) % reach + range.low;
    return Address{.base = base_at(memory_of(index), parts.scalar, constant - near, size),
                   .lanes = lanes.source ? times(*lanes.source, size, false) : Source::of_number(0),
                   .offset = static_cast<int32_t>(near)};
}

Address Addresses::global(UOp index, isa::Format format) {
    const UOp memory = memory_of(index), offset = skip_after(index.src(1));
    const int64_t size = memory.dtype().bytes();
    if (offset.dtype() == dtypes::int32 || is_wide(offset))
        if (const std::optional<Address> made = split_address(index, format)) return *made;
    // A whole offset within the memory is right modulo 2^32, whatever its parts are.
    if (offset.dtype() == dtypes::int32 && memory.as<ParamArg>().size <= kTwo32 / size)
        return {.base = value(memory),
                .lanes = times(
                    code_.is_scalar(value(offset)) ? Source::of(code_.in_vector(value(offset))) : Source(value(offset)),
                    size, false)};
    return wide(index, size);
}

Address Addresses::local(UOp index) {
    const UOp memory = memory_of(index), offset = skip_after(index.src(1));
    const int64_t size = memory.dtype().bytes();
    Offset parts;
    if (offset.dtype() == dtypes::int32) {
        parts = split(offset);
    } else {
        const Source low = dword(value(offset), 0);
        (code_.is_scalar(low) ? parts.scalar : parts.vector) = {low, 0, 0};
    }
    int64_t constant = parts.constant * size + local_address_.at(memory);
    Source lanes = Source::of_number(0);
    if (parts.vector.source) lanes = times(*parts.vector.source, size, false);
    if (parts.scalar.source) {
        const Source scalar = times(*parts.scalar.source, size, true);
        lanes = parts.vector.source ? Source::of(code_.vector("v_add_nc_u32", {scalar, lanes})) : scalar;
    }
    const bool below = parts.vector.low + parts.scalar.low < 0;
    if (constant < 0 || constant > 65535 || (below && constant)) {
        const Source beyond = Source::of_number(static_cast<uint32_t>(constant));
        lanes = lanes.number ? beyond : Source::of(code_.vector("v_add_nc_u32", {beyond, lanes}));
        constant = 0;
    }
    return {.base = {}, .lanes = Source::of(code_.in_vector(lanes)), .offset = static_cast<int32_t>(constant)};
}

}  // namespace strata::codegen
