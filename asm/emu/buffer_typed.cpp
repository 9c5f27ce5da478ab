#include <algorithm>
#include <bit>

#include "strata/asm/emu/buffer_format_p.h"
#include "strata/asm/emu/buffer_resource_p.h"
#include "strata/asm/emu/scalar_p.h"

// buffer_load_format_x and its kin, tbuffer_load_format_x likewise: memory in a data format. buffer_ takes format and
// component selection from the V#, tbuffer_ has the format in the instruction and selects X, Y, Z, W. An element is in
// range as a whole or not at all.
namespace strata::emu {
namespace {

/// How registers hold the components of an instruction.
enum class Hold : uint8_t { dword, half, high_half };

/// What an Op says about it: count in neg_hi, Hold in omod_clamp, format in value[0].
int count_of(const Op* op) { return op->neg_hi; }
Hold hold_of(const Op* op) { return static_cast<Hold>(op->omod_clamp); }

BufferFormat format_of(const Op* op, const BufferResource& resource) {
    const uint32_t number = op->op_sel_hi & kInstructionFormat ? op->value[0] : resource.format;
    return resource.gfx9 ? gfx9_format(number) : unified_format(number);
}

struct Element {
    uint64_t bits[2] = {0, 0};
    uint32_t component(const BufferFormat& format, int i) const {
        uint32_t at = 0;
        for (int j = 0; j < i; ++j) at += format.bits[static_cast<size_t>(j)];
        const uint64_t word = bits[at / 64] >> at % 64;
        const uint32_t size = format.bits[static_cast<size_t>(i)];
        return size == 32 ? static_cast<uint32_t>(word) : static_cast<uint32_t>(word) & ((1u << size) - 1);
    }
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
bool write_bytes(Wave* wave, const Op* op, const BufferView& view, int lane, uint32_t from, uint32_t to,
                 const Element& element) {
    const auto* data = reinterpret_cast<const uint8_t*>(element.bits);
    for (uint32_t at = from; at < to; at += 4)
        if (!write_lane(wave, op, lane, view.address(lane, at), std::min(4u, to - at), data + at)) return false;
    return true;
}

/// Register bits of a component that the format has not: 0, or 1 for W and where the V# selects it.
uint32_t constant_component(bool one, const BufferFormat& format, Hold hold) {
    if (!one) return 0;
    return format.is_integer() ? 1 : hold == Hold::dword ? 0x3f800000 : 0x3c00;
}

/// The component of the format that goes to register component i: 0 to 3, -1 for zero, -2 for one.
int selected(const Op* op, const BufferResource& resource, int i) {
    if (op->op_sel_hi & kInstructionFormat) return i;
    const int select = resource.select >> 3 * i & 7;
    return select >= 4 ? select - 4 : select == 1 ? -2 : -1;
}

void put_component(Wave* wave, const Op* op, int lane, int i, uint32_t value) {
    uint32_t* rows = row_at(wave, op->dst);
    if (hold_of(op) == Hold::dword) {
        rows[i * wave->lanes + lane] = value;
        return;
    }
    const bool high = hold_of(op) == Hold::high_half || i % 2 == 1;
    uint32_t& place = rows[i / 2 * wave->lanes + lane];
    place = high ? (place & 0xffff) | value << 16 : (place & 0xffff0000) | (value & 0xffff);
}

bool load_typed(Wave* wave, const Op* op) {
    const BufferView view(wave, op);
    const BufferFormat format = format_of(op, view.resource());
    const Hold hold = hold_of(op);
    for (u64 left = wave->exec(); left; left &= left - 1) {
        const int lane = std::countr_zero(left);
        const bool inside = format.valid() && view.inside(lane, 0, format.bytes());
        Element element;
        if (inside && !read_element(wave, op, view, lane, format.bytes(), element)) return false;
        for (int i = 0; i < count_of(op); ++i) {
            const int from = selected(op, view.resource(), i);
            uint32_t value;
            if (from == -2) {
                value = constant_component(true, format, hold);
            } else if (from < 0 || !inside) {
                value = 0;
            } else if (from >= format.components()) {
                value = constant_component(from == 3, format, hold);
            } else {
                const uint32_t raw = element.component(format, from), bits = format.bits[static_cast<size_t>(from)];
                value = hold == Hold::dword ? component_to_register(raw, bits, format.numeric)
                                            : component_to_half(raw, bits, format.numeric);
            }
            put_component(wave, op, lane, i, value);
        }
    }
    return true;
}

uint32_t stored_component(Wave* wave, const Op* op, int lane, int i, const BufferFormat& format) {
    const uint32_t* rows = row_at(wave, op->src[2]);
    const uint32_t bits = format.bits[static_cast<size_t>(i)];
    if (hold_of(op) == Hold::dword) return component_from_register(rows[i * wave->lanes + lane], bits, format.numeric);
    const uint32_t pair = rows[i / 2 * wave->lanes + lane];
    const bool high = hold_of(op) == Hold::high_half || i % 2 == 1;
    return component_from_half(static_cast<uint16_t>(high ? pair >> 16 : pair), bits, format.numeric);
}

/// Writes the components that the instruction has. Those of 10, 11 or 2 bits share bytes with their neighbours: there
/// the whole element is written, with 0 for what is missing.
bool store_typed(Wave* wave, const Op* op) {
    const BufferView view(wave, op);
    const BufferFormat format = format_of(op, view.resource());
    if (!format.valid()) return true;
    const int count = std::min(count_of(op), format.components());
    const bool whole = format.bits[0] % 8 != 0;
    const uint32_t bytes = whole ? format.bytes() : static_cast<uint32_t>(count) * format.bits[0] / 8;
    for (u64 left = wave->exec(); left; left &= left - 1) {
        const int lane = std::countr_zero(left);
        if (!view.inside(lane, 0, format.bytes())) continue;
        Element element;
        for (int i = 0; i < count; ++i) element.set(format, i, stored_component(wave, op, lane, i, format));
        if (!write_bytes(wave, op, view, lane, 0, bytes, element)) return false;
    }
    return true;
}

const Op* typed_load(Wave* wave, const Op* op) {
    if (!load_typed(wave, op)) return nullptr;
    const int rows = hold_of(op) == Hold::dword ? count_of(op) : (count_of(op) + 1) / 2;
    if ((op->op_sel_hi & kStatus) && !clear_status(wave, op, rows)) return nullptr;
    STRATA_EMU_NEXT;
}
const Op* typed_store(Wave* wave, const Op* op) {
    if (!store_typed(wave, op)) return nullptr;
    STRATA_EMU_NEXT;
}

}  // namespace

Handler choose_typed_buffer(const Choice& choice) {
    std::string_view name = choice.name;
    const size_t at = name.find("format_");
    if (at == std::string_view::npos || name.find("_lds_") != std::string_view::npos) return nullptr;
    const std::string_view components = name.substr(at + 7);
    if (components.empty() || components.size() > 4 || !std::string_view("xyzw").starts_with(components))
        return nullptr;
    Op& op = choice.op;
    op.neg_hi = static_cast<uint8_t>(components.size());
    const bool high = name.find("_d16_hi_") != std::string_view::npos,
               half = name.find("_d16_") != std::string_view::npos;
    op.omod_clamp = static_cast<uint8_t>(high ? Hold::high_half : half ? Hold::half : Hold::dword);
    if (name.starts_with("tbuffer_")) {
        op.op_sel_hi |= kInstructionFormat;
        op.value[0] = choice.inst.buffer_format;
    }
    const bool store = name.find("_store_") != std::string_view::npos;
    if (store && choice.inst.tfe) return nullptr;
    return store ? typed_store : typed_load;
}

}  // namespace strata::emu
