#include <algorithm>
#include <bit>

#include "strata/asm/emu/machine/handler.h"
#include "strata/asm/emu/memory/buffer_format.h"
#include "strata/asm/emu/memory/buffer_resource.h"

// buffer_load_format_x and its kin, tbuffer_load_format_x likewise: memory in a data format (RDNA3 and RDNA4 ISA 9.3,
// CDNA3 ISA 9.1.4). buffer_ takes format and component selection from the V#, tbuffer_ has the format in the
// instruction and selects X, Y, Z, W. An element is in range as a whole or not at all.
namespace strata::emu {
namespace {

int count_of(const Op* op) { return op->memory().buffer().components; }
Hold hold_of(const Op* op) { return op->memory().buffer().hold; }

BufferFormat format_of(const Op* op, const BufferResource& resource) {
    const BufferFields& buffer = op->memory().buffer();
    const uint32_t number = buffer.modes & kInstructionFormat ? buffer.format : resource.format;
    return resource.gfx9 ? gfx9_format(number) : unified_format(number);
}

struct Element {
    uint64_t bits[2] = {0, 0};
    void set(const BufferFormat& format, int i, uint32_t value) {
        uint32_t at = 0;
        for (int j = 0; j < i; ++j) at += format.bits[static_cast<size_t>(j)];
        bits[at / 64] |= uint64_t{value} << at % 64;
    }
};

/// Dword by dword, as swizzled elements may lie apart.
bool read_element(Wave* wave, const Op* op, const BufferView& view, int lane, uint32_t bytes, Element& element) {
    auto* to = reinterpret_cast<uint8_t*>(element.bits);
    for (uint32_t at = 0; at < bytes; at += 4)
        if (!read_lane(wave, op, lane, view.address(lane, at), std::min(4u, bytes - at), to + at)) return false;
    return true;
}
bool write_element(Wave* wave, const Op* op, const BufferView& view, int lane, uint32_t bytes, const Element& element) {
    const auto* data = reinterpret_cast<const uint8_t*>(element.bits);
    for (uint32_t at = 0; at < bytes; at += 4)
        if (!write_lane(wave, op, lane, view.address(lane, at), std::min(4u, bytes - at), data + at)) return false;
    return true;
}

/// Register bits of a one that the V# selects.
uint32_t one_of(const BufferFormat& format, Hold hold) {
    return format.is_integer() ? 1 : hold == Hold::dword ? 0x3f800000 : 0x3c00;
}

/// The component of the format that goes to register component i: 0 to 3, -1 for zero, -2 for one.
int selected(const Op* op, const BufferResource& resource, int i) {
    if (op->memory().buffer().modes & kInstructionFormat) return i;
    const int select = resource.select >> 3 * i & 7;
    return select >= 4 ? select - 4 : select == 1 ? -2 : -1;
}

void put_component(Wave* wave, const Op* op, int lane, int i, uint32_t value) {
    uint32_t* rows = row_at(wave, op->memory().dst);
    if (hold_of(op) == Hold::dword) {
        rows[i * wave->lanes + lane] = value;
        return;
    }
    const bool high = hold_of(op) == Hold::high_half || i % 2 == 1;
    uint32_t& place = rows[i / 2 * wave->lanes + lane];
    place = high ? (place & 0xffff) | value << 16 : (place & 0xffff0000) | (value & 0xffff);
}

/// One component of a load, whatever the lane.
class LoadedComponent {
  public:
    LoadedComponent(const Op* op, const BufferResource& resource, int i)
        : hold_(hold_of(op)), numeric_(format_of(op, resource).numeric) {
        const BufferFormat format = format_of(op, resource);
        const int from = selected(op, resource, i);
        if (from == -2) outside_ = one_of(format, hold_);
        if (from < 0 || from >= format.components()) return;
        for (int j = 0; j < from; ++j) at_ += format.bits[static_cast<size_t>(j)];
        bits_ = format.bits[static_cast<size_t>(from)];
        const bool whole = bits_ == 32 && (numeric_ == Numeric::sint || numeric_ == Numeric::real);
        as_it_is_ = hold_ == Hold::dword && (whole || numeric_ == Numeric::uint);
    }
    uint32_t value(const Element& element, bool inside) const {
        if (!inside || bits_ == 0) return outside_;
        const auto raw = static_cast<uint32_t>(element.bits[at_ / 64] >> at_ % 64) & (~0u >> (32 - bits_));
        if (as_it_is_) return raw;
        return hold_ == Hold::dword ? component_to_register(raw, bits_, numeric_)
                                    : component_to_half(raw, bits_, numeric_);
    }

  private:
    Hold hold_;
    Numeric numeric_;
    uint32_t at_ = 0, bits_ = 0;  ///< place in the element; 0 bits: `outside_` for all lanes
    uint32_t outside_ = 0;
    bool as_it_is_ = false;
};

/// The elements of the lanes of `inside`, whose addresses are given: at once where they lie in memory met before.
bool read_elements(Wave* wave, const Op* op, const BufferView& view, u64 inside, const u64* addresses, uint32_t bytes,
                   Element* elements) {
    for (; inside; inside &= inside - 1) {
        const int lane = std::countr_zero(inside);
        const Wave::Hit& hit = wave->hits[op->memory().hit];
        const u64 address = addresses[lane];
        if (view.resource().element == 0 && address >= hit.low && hit.high >= bytes && address <= hit.high - bytes)
            memcpy(elements[lane].bits, reinterpret_cast<const void*>(address + hit.bias), bytes);
        else if (!read_element(wave, op, view, lane, bytes, elements[lane]))
            return false;
    }
    return true;
}

bool load_typed(Wave* wave, const Op* op) {
    const BufferView view(wave, op);
    const BufferFormat format = format_of(op, view.resource());
    const u64 exec = wave->exec();
    u64 addresses[64];
    const u64 inside = format.valid() ? view.lanes(format.bytes(), addresses) & exec : 0;
    Element elements[64];
    if (!read_elements(wave, op, view, inside, addresses, format.bytes(), elements)) return false;
    for (int i = 0; i < count_of(op); ++i) {
        const LoadedComponent component(op, view.resource(), i);
        for (u64 left = exec; left; left &= left - 1) {
            const int lane = std::countr_zero(left);
            put_component(wave, op, lane, i, component.value(elements[lane], inside >> lane & 1));
        }
    }
    return true;
}

/// The bits that a store writes for the register component i.
uint32_t stored_component(Wave* wave, const Op* op, int lane, int i, uint32_t bits, Numeric numeric) {
    const uint32_t* rows = row_at(wave, op->memory().data);
    if (hold_of(op) == Hold::dword) return component_from_register(rows[i * wave->lanes + lane], bits, numeric);
    const uint32_t pair = rows[i / 2 * wave->lanes + lane];
    const bool high = hold_of(op) == Hold::high_half || i % 2 == 1;
    return component_from_half(static_cast<uint16_t>(high ? pair >> 16 : pair), bits, numeric);
}

/// The register component that a store puts into component i of the format: the first that a load would fill with it.
/// -1 stands for zero, also where the instruction has too few components (RDNA4: those get X).
int stored_from(const Op* op, const BufferResource& resource, int i) {
    for (int component = 0; component < 4; ++component) {
        if (selected(op, resource, component) != i) continue;
        return component < count_of(op) ? component : op->memory().buffer().fills_with_x ? 0 : -1;
    }
    return -1;
}

bool store_typed(Wave* wave, const Op* op) {
    const BufferView view(wave, op);
    const BufferFormat format = format_of(op, view.resource());
    if (!format.valid()) return true;
    int from[4];
    for (int i = 0; i < 4; ++i) from[i] = i < format.components() ? stored_from(op, view.resource(), i) : -1;
    u64 addresses[64];
    for (u64 left = view.lanes(format.bytes(), addresses) & wave->exec(); left; left &= left - 1) {
        const int lane = std::countr_zero(left);
        Element element;
        for (int i = 0; i < 4; ++i) {
            if (from[i] < 0) continue;
            const uint32_t bits = format.bits[static_cast<size_t>(i)];
            element.set(format, i, stored_component(wave, op, lane, from[i], bits, format.numeric));
        }
        if (!write_element(wave, op, view, lane, format.bytes(), element)) return false;
    }
    return true;
}

const Op* typed_load(Wave* wave, const Op* op) {
    if (!load_typed(wave, op)) return nullptr;
    const int rows = hold_of(op) == Hold::dword ? count_of(op) : (count_of(op) + 1) / 2;
    if ((op->memory().buffer().modes & kStatus) && !clear_status(wave, op, rows)) return nullptr;
    STRATA_EMU_NEXT;
}
const Op* typed_store(Wave* wave, const Op* op) {
    if (!store_typed(wave, op)) return nullptr;
    STRATA_EMU_NEXT;
}

}  // namespace

bool load_components(Wave* wave, const Op* op, const BufferView& view, int lane, std::span<uint32_t> values) {
    const uint32_t bytes = format_of(op, view.resource()).bytes();
    const bool inside = bytes != 0 && view.inside(lane, 0, bytes);
    Element element;
    if (inside && !read_element(wave, op, view, lane, bytes, element)) return false;
    for (size_t i = 0; i < values.size(); ++i)
        values[i] = LoadedComponent(op, view.resource(), static_cast<int>(i)).value(element, inside);
    return true;
}

std::optional<Op> choose_typed_buffer(const Decoded& decoded, MemoryFields fields) {
    const std::string_view name = decoded.name;
    auto has = [&](std::string_view part) { return name.find(part) != std::string_view::npos; };
    const size_t at = name.find("format_");
    if (at == std::string_view::npos || has("_lds_")) return {};
    const std::string_view components = name.substr(at + 7);
    if (components.empty() || components.size() > 4 || !std::string_view("xyzw").starts_with(components)) return {};
    const bool store = has("_store_");
    if (store && decoded.inst.tfe) return {};
    BufferFields& buffer = fields.buffer();
    buffer.components = static_cast<uint8_t>(components.size());
    buffer.hold = has("_d16_hi_") ? Hold::high_half : has("_d16_") ? Hold::half : Hold::dword;
    buffer.modes |= kFormatted;
    buffer.fills_with_x = decoded.family() == isa::Family::rdna4;
    if (name.starts_with("tbuffer_")) {
        buffer.modes |= kInstructionFormat;
        buffer.format = static_cast<uint8_t>(decoded.inst.buffer_format);
    }
    return Op(store ? typed_store : typed_load, fields);
}

}  // namespace strata::emu
