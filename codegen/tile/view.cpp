// view: which elements of which memory, and how they are accessed.
#include "strata/codegen/tile/view.h"

#include "strata/codegen/target/buffer_access.h"
#include "strata/codegen/tile/trace.h"
#include "strata/core/layout/layout_error.h"
#include "strata/core/symbolic/symbolic.h"

namespace strata::lang {
namespace {

int bits_of(DType type) { return type.bits() * type.lanes; }

const lo::Layout& base_of(const View::AnyLayout& layout) {
    if (const auto* composed = std::get_if<lo::ComposedLayout>(&layout)) return composed->base();
    return std::get<lo::Layout>(layout);
}

bool has_coordinates(const lo::Layout& layout) {
    bool found = false;
    lo::for_each_leaf(layout.stride(), [&](const lo::IntTuple& leaf) { found |= leaf.is_basis(); });
    return found;
}

bool is_known(const lo::IntTuple& t) {
    bool known = true;
    lo::for_each_leaf(t, [&](const lo::IntTuple& leaf) { known &= leaf.value().known(); });
    return known;
}

void check_fits(const lo::Layout& layout, int64_t size) {
    if (!is_known(layout.shape()) || !is_known(layout.stride())) return;
    lo::for_each_leaf(layout.stride(), [&](const lo::IntTuple& leaf) {
        if (leaf.known() < 0)
            lo::refuse("a view begins at its smallest index: the stride {} is negative", leaf.known());
    });
    if (const int64_t reach = lo::cosize(layout).value(); reach > size)
        lo::refuse("it reaches element {} of memory that has {}", reach - 1, size);
}

void check_coordinate(const lo::IntTuple& coordinate, const lo::IntTuple& shape) {
    if (coordinate.is_none()) return;
    if (coordinate.is_tuple() && shape.is_tuple() && coordinate.rank() == shape.rank()) {
        for (size_t i = 0; i < shape.rank(); ++i) check_coordinate(coordinate.mode(i), shape.mode(i));
        return;
    }
    if (!coordinate.is_integer()) return;
    const lo::Int size = lo::product(shape);
    if (!coordinate.integer().known() || !size.known()) return;
    if (const int64_t at = coordinate.known(); at < 0 || at >= size.value())
        user_error(ErrorKind::Usage, "the coordinate {} is outside of a mode of {} elements: 0 to {}", at,
                   lo::to_string(shape), size.value() - 1);
}

/// An unsigned type of `bits` bits.
DType word(int bits) {
    for (const DType type : {dtypes::uint8, dtypes::uint16, dtypes::uint32, dtypes::uint64})
        if (type.bits() == bits) return type;
    user_error(ErrorKind::DType, "no integer has {} bits", bits);
}

UOp bits_as(UOp value, DType type) { return value.dtype() == type ? value : bitcast(value, type); }

std::vector<UOp> lanes_of(UOp value) {
    std::vector<UOp> out;
    for (int i = 0; i < value.dtype().lanes; ++i) out.push_back(uop::lane(value, i));
    return out;
}

/// The same bits as scalars of another type, the lowest first.
std::vector<UOp> recast_values(std::span<const UOp> values, DType to) {
    const DType from = values[0].dtype();
    const int old_bits = from.bits(), new_bits = to.bits();
    std::vector<UOp> out;
    if (old_bits >= new_bits) {
        for (UOp value : values)
            for (int at = 0; at < old_bits; at += new_bits) {
                if (old_bits == new_bits) {
                    out.push_back(bits_as(value, to));
                    continue;
                }
                const UOp bits = bits_as(value, word(old_bits));
                const UOp low = at ? alu(Op::shr, {bits, constant_int(word(old_bits), at)}) : bits;
                out.push_back(bits_as(cast(low, word(new_bits)), to));
            }
        return out;
    }
    const DType wide = word(new_bits);
    for (size_t i = 0; i < values.size();) {
        UOp bits;
        for (int at = 0; at < new_bits; at += old_bits, ++i) {
            UOp one = cast(bits_as(values[i], word(old_bits)), wide);
            if (at) one = alu(Op::shl, {one, constant_int(wide, at)});
            bits = bits ? alu(Op::bit_or, {bits, one}) : one;
        }
        out.push_back(bits_as(bits, to));
    }
    return out;
}

}  // namespace

View::View(UOp memory, AnyLayout layout) : View(Root(memory), std::move(layout), memory.dtype()) {
    lo::operation(
        "View", [&] { check_fits(base(), std::get_if<lo::Layout>(&layout_) ? memory.as<ParamArg>().size : INT64_MAX); },
        base());
}

View View::coordinates(const lo::IntTuple& shape) { return {Root(), lo::make_identity_layout(shape), dtypes::none}; }

View View::registers(const lo::Layout& layout, DType type) {
    return {Trace::current("lang.registers").registers(lo::cosize(layout).value(), type), layout};
}

View View::registers_of(const lo::IntTuple& shape, DType type) { return registers(lo::Layout(shape), type); }

View View::shared(AnyLayout layout, DType type) {
    const auto* composed = std::get_if<lo::ComposedLayout>(&layout);
    const int64_t size = composed ? lo::cosize(*composed) : lo::cosize(std::get<lo::Layout>(layout)).value();
    return {Trace::current("lang.shared").shared(size, type), std::move(layout)};
}

const lo::Layout& View::base() const { return base_of(layout_); }

View View::with_layout(AnyLayout layout) const {
    View out = *this;
    out.layout_ = std::move(layout);
    if (has_coordinates(out.base()) != has_coordinates(base()) && !has_memory())
        lo::refuse("a view of coordinates needs strides that are basis elements");
    if (const auto* plain = std::get_if<lo::Layout>(&out.layout_); plain && has_memory() && offset_.is(0))
        lo::operation(
            "make_view",
            [&] { check_fits(*plain, memory().as<ParamArg>().size * memory().dtype().bits() / bits_of(dtype_)); },
            *plain);
    return out;
}

View View::with_base(const std::function<lo::Layout(const lo::Layout&)>& f) const {
    View out = *this;
    if (const auto* composed = std::get_if<lo::ComposedLayout>(&layout_))
        out.layout_ = composed->with_base(f(composed->base()));
    else
        out.layout_ = f(std::get<lo::Layout>(layout_));
    return out;
}

View View::part(const std::function<lo::Part(const lo::Layout&)>& f) const {
    View out = *this;
    lo::Part found = f(base());
    const auto* composed = std::get_if<lo::ComposedLayout>(&layout_);
    if (!composed) {
        out.layout_ = std::move(found.layout);
        out.offset_ = lo::coordinate_sum(offset_, found.offset);
        return out;
    }
    std::vector<lo::ComposedLayout::Stage> stages(composed->stages().begin(), composed->stages().end());
    stages.back().offset = lo::coordinate_sum(stages.back().offset, found.offset);
    out.layout_ = lo::ComposedLayout(std::move(stages), std::move(found.layout));
    return out;
}

View View::slice(const lo::IntTuple& coordinate) const {
    check_coordinate(coordinate, shape());
    return part([&](const lo::Layout& L) { return lo::slice_and_offset(L, coordinate); });
}

View View::bounded() const {
    if (!is_in(Space::global))
        user_error(ErrorKind::Usage,
                   "bounded takes a view of a tensor; memory of a block and registers have no end to meet");
    View out = *this;
    if (beyond_ == Beyond::nothing) out.beyond_ = Beyond::predicate;
    return out;
}

View View::through_descriptor() const {
    View out = bounded();
    out.beyond_ = Beyond::descriptor;
    return out;
}

View View::recast(DType type) const {
    if (!has_memory()) user_error(ErrorKind::Usage, "coordinates have no bits: recast takes a view of memory");
    for (const DType each : {type, dtype_})
        if (each.element() != memory().dtype() && each.is_bool())
            user_error(ErrorKind::DType, "recast of {} to {}: bool has no bits of its own", dtype_.name(), type.name());
    return lo::operation(
        "recast",
        [&] {
            View out = *this;
            const int from = bits_of(dtype_), to = bits_of(type);
            out.dtype_ = type;
            if (from == to) return out;
            out.layout_ =
                std::visit([&](const auto& L) -> AnyLayout { return lo::recast_layout(L, from, to); }, layout_);
            const lo::Int bits = offset_.integer() * lo::Int(from);
            if (!lo::surely_divides(to, bits))
                lo::refuse("it begins at element {}, which is not provably aligned to {} bits", lo::to_string(offset_),
                           to);
            out.offset_ = lo::floor_div(bits, to);
            const lo::Int held =
                (extent_ ? *extent_ : lo::Int(memory().as<ParamArg>().size)) * lo::Int(memory().dtype().bits());
            if (beyond_ != Beyond::nothing && !lo::surely_divides(to, held))
                lo::refuse("the {} bits of bounded memory are not provably whole elements of {} bits", to_string(held),
                           to);
            return out;
        },
        base());
}

bool has_vectors(DType type) { return !type.is_bool() && !(type.is_float() && type.bits() == 8); }

int View::widest(int most_bits) const {
    if (!has_memory() || is_in(Space::reg) || !has_vectors(dtype_)) return 1;  // registers are scalars
    for (int lanes = most_bits / dtype_.bits(); lanes > 1; lanes /= 2) {
        if (lanes & (lanes - 1)) continue;
        try {
            vectors(lanes);
            return lanes;
        } catch (const lo::LayoutError&) {
            continue;
        }
    }
    return 1;
}

lo::IntTuple View::index(const lo::IntTuple& coordinate) const {
    check_coordinate(coordinate, shape());
    const lo::IntTuple inside = std::visit([&](const auto& L) { return L(coordinate); }, layout_);
    return lo::coordinate_sum(offset_, inside);
}

View View::at(const lo::IntTuple& coordinate) const {
    if (!has_memory())
        user_error(ErrorKind::Usage, "a view of coordinates has no places in memory: v[c] is a coordinate");
    View out = *this;
    out.offset_ = index(coordinate);
    out.layout_ = lo::Layout(1);
    return out;
}

View View::with_cache(CachePolicy cache) const {
    View out = *this;
    out.cache_ = cache;
    return out;
}

View View::with_extent(lo::Int elements) const {
    View out = *this;
    out.extent_ = std::move(elements);
    return out;
}

UOp View::predicate_at(const lo::Int& index) const {
    if (beyond_ == Beyond::nothing) return {};
    const int64_t held = memory().dtype().bits(), own = bits_of(dtype_);
    const UOp at = index.uop();
    UOp inside;
    if (extent_) {
        inside = at < lo::floor_div(*extent_ * lo::Int(held), own).uop();
    } else if (const int64_t size = memory().as<ParamArg>().size * held / own; !proves_less(at, size)) {
        inside = at < index_const(size);
    }
    if (!proves_at_least(at, 0)) inside = uop::both(inside, index_const(-1) < at);
    return inside && beyond_ == Beyond::descriptor ? codegen::checked_by_descriptor(inside) : inside;
}

/// Where the memory has whole runs, the first element decides.
UOp View::predicate_of_run(const lo::Int& first, int lanes) const {
    const int64_t size = memory().as<ParamArg>().size;
    return predicate_at(extent_ || size % lanes ? first + lo::Int(lanes - 1) : first);
}

UOp View::load_run(const lo::Int& offset, int lanes, UOp predicate) const {
    const lo::Int first = offset_.integer() + offset;
    if (memory().dtype() != dtype_ || !has_vectors(dtype_)) {
        std::vector<UOp> values;
        for (int i = 0; i < lanes; ++i) values.push_back(load_at(first + lo::Int(i), predicate));
        return uop::vec(values);
    }
    return Trace::current("a load").load(memory(), first.uop(), uop::both(predicate, predicate_of_run(first, lanes)),
                                         lanes, cache_);
}

void View::store_run(const lo::Int& offset, UOp value, UOp predicate) const {
    const lo::Int first = offset_.integer() + offset;
    const int lanes = value.dtype().lanes;
    if (memory().dtype() != dtype_ || !has_vectors(dtype_)) {
        for (int i = 0; i < lanes; ++i) store_at(first + lo::Int(i), uop::lane(value, i), predicate);
        return;
    }
    Trace::current("a store").store(memory(), first.uop(), value, uop::both(predicate, predicate_of_run(first, lanes)),
                                    cache_);
}

UOp View::load_at(const lo::Int& index, UOp predicate) const {
    Trace& trace = Trace::current("a load");
    predicate = uop::both(predicate, predicate_at(index));
    const DType held = memory().dtype();
    const int parts = bits_of(dtype_) / held.bits();
    if (parts == 0) {
        const int within = held.bits() / bits_of(dtype_);
        const UOp whole = trace.load(memory(), lo::floor_div(index, within).uop(), predicate, 1, cache_);
        const UOp bits = bits_as(whole, word(held.bits()));
        const UOp at = strata::cast(lo::floor_mod(index, within).uop() * index_const(dtype_.bits()), bits.dtype());
        return bits_as(strata::cast(alu(Op::shr, {bits, at}), word(dtype_.bits())), dtype_);
    }
    const UOp first = (index * lo::Int(parts)).uop();
    std::vector<UOp> values;
    if (is_in(Space::reg)) {
        for (int i = 0; i < parts; ++i) values.push_back(trace.load(memory(), first + i, predicate));
    } else {
        const UOp all = trace.load(memory(), first, predicate, parts, cache_);
        if (held == dtype_.element()) return all;
        values = lanes_of(all);
    }
    return uop::vec(recast_values(values, dtype_.element()));
}

void View::store_at(const lo::Int& index, UOp value, UOp predicate) const {
    Trace& trace = Trace::current("a store");
    predicate = uop::both(predicate, predicate_at(index));
    const DType held = memory().dtype();
    const int parts = bits_of(dtype_) / held.bits();
    if (parts == 0)
        user_error(ErrorKind::Unsupported,
                   "a store of {} bits into memory of {}, whose elements have {}. Store whole elements, or declare the "
                   "memory with the narrow type and recast it for the wide one",
                   bits_of(dtype_), held.name(), held.bits());
    const UOp first = (index * lo::Int(parts)).uop();
    const std::vector<UOp> values = recast_values(lanes_of(value), held);
    if (!is_in(Space::reg))
        return trace.store(memory(), first, held == dtype_.element() ? value : uop::vec(values), predicate, cache_);
    for (int i = 0; i < parts; ++i) trace.store(memory(), first + i, values[static_cast<size_t>(i)], predicate);
}

std::pair<UOp, int> View::elements_at(const lo::Int& index) const {
    const int held = memory().dtype().bits(), parts = bits_of(dtype_) / held;
    if (!parts)
        user_error(ErrorKind::Unsupported,
                   "{} bits of memory that holds {}, whose elements have {}: copy whole elements", bits_of(dtype_),
                   memory().dtype().name(), held);
    return {(index * lo::Int(parts)).uop(), parts};
}

UOp View::load(const lo::IntTuple& coordinate, UOp predicate) const {
    if (!has_memory()) user_error(ErrorKind::Usage, "a view of coordinates has no memory: v[c] is a coordinate");
    return load_at(index(coordinate).integer(), predicate);
}

void View::store(const lo::IntTuple& coordinate, UOp value, UOp predicate) const {
    if (!has_memory()) user_error(ErrorKind::Usage, "a view of coordinates has no memory to store to");
    store_at(index(coordinate).integer(), value, predicate);
}

std::string to_string(const View& view) {
    constexpr std::string_view places[] = {"tensor", "local memory", "registers"};
    const std::string layout = std::visit([](const auto& L) { return lo::to_string(L); }, view.layout());
    if (!view.has_memory()) return "coordinates " + layout;
    const int place = view.is_in(Space::global) ? 0 : view.is_in(Space::local) ? 1 : 2;
    return fmt::format("{} {} in {}", view.dtype().name(), layout, places[place]);
}

}  // namespace strata::lang
