#include <algorithm>

#include "strata/asm/emu/machine/handler.h"
#include "strata/asm/emu/machine/operands.h"
#include "strata/asm/emu/machine/workgroup.h"
#include "strata/asm/emu/memory/atomic_lanes.h"

// Scalar memory (RDNA3, RDNA4 and CDNA3 ISA, "Scalar Memory Operations").
namespace strata::emu {
namespace {

using isa::Operand;

u64 signed_offset(const Op* op) {
    return static_cast<u64>(static_cast<i64>(static_cast<i32>(op->scalar_memory().offset)));
}
/// The offset register, or its constant.
u32 soffset(const Wave* wave, const Op* op) {
    const ScalarMemoryFields& fields = op->scalar_memory();
    return fields.constant_soffset ? fields.soffset : at<u32>(wave, fields.soffset);
}

/// Host address of a scalar access; nullptr after a fault.
uint8_t* scalar_place(Wave* wave, const Op* op, u64 address, u32 bytes, Access access) {
    Wave::Hit& hit = wave->hits[op->scalar_memory().hit];
    if (address >= hit.low && address <= hit.high - bytes) return reinterpret_cast<uint8_t*>(address + hit.bias);
    const u64 row = 4 * static_cast<u64>(wave->lanes), scratch = (u64{wave->scratch_size} + 3) / 4 * row;
    if (address - kScratchWindow < scratch && bytes <= scratch - (address - kScratchWindow))
        return wave->scratch + (address - kScratchWindow);
    if (!find_memory(wave, address, bytes, access != Access::load, hit)) {
        fail_global(wave, op, -1, address, bytes, access);
        return nullptr;
    }
    return reinterpret_cast<uint8_t*>(address + hit.bias);
}

/// Scratch instructions count their offset register in units of 64 bytes: a dword of every lane or lane pair.
template <u32 Scale>
u64 plain_address(const Wave* wave, const Op* op, u32 align) {
    return (at<u64>(wave, op->scalar_memory().base) + signed_offset(op) + u64{soffset(wave, op)} * Scale) &
           ~u64{align - 1};
}

/// Compilers load the aligned 4, 8, 16, 32 or 64 bytes around the bytes they need, as no page ends within them. (LLVM
/// widens three dwords to four, seven to eight.) Bytes beyond the allocation are 0. False: it is another case.
bool load_widened(Wave* wave, const Op* op, u64 address, u32 bytes) {
    Wave::Hit hit;
    if (address % bytes || find_memory(wave, address, bytes, false, hit)) return false;
    if (!find_memory(wave, address, 1, false, hit)) return false;
    char* const to = reinterpret_cast<char*>(wave) + op->scalar_memory().dst;
    memset(to, 0, bytes);
    memcpy(to, reinterpret_cast<const char*>(address + hit.bias), std::min<u64>(bytes, hit.high - address));
    return true;
}

template <int Dwords>
const Op* s_load(Wave* wave, const Op* op) {
    constexpr u32 bytes = 4 * Dwords;
    const u64 address = plain_address<1>(wave, op, 4);
    const Wave::Hit& hit = wave->hits[op->scalar_memory().hit];
    const uint8_t* from = reinterpret_cast<const uint8_t*>(address + hit.bias);
    if (address < hit.low || address > hit.high - bytes) [[unlikely]] {
        if (load_widened(wave, op, address, bytes)) STRATA_EMU_NEXT;
        from = scalar_place(wave, op, address, bytes, Access::load);
        if (!from) return nullptr;
    }
    memcpy(reinterpret_cast<char*>(wave) + op->scalar_memory().dst, from, bytes);
    STRATA_EMU_NEXT;
}

template <int Dwords>
const Op* s_scratch_load(Wave* wave, const Op* op) {
    const uint8_t* from = scalar_place(wave, op, plain_address<64>(wave, op, 4), 4 * Dwords, Access::load);
    if (!from) return nullptr;
    memcpy(reinterpret_cast<char*>(wave) + op->scalar_memory().dst, from, 4 * Dwords);
    STRATA_EMU_NEXT;
}

/// A byte or word, extended to the dword.
template <class T>
const Op* s_load_small(Wave* wave, const Op* op) {
    const uint8_t* from = scalar_place(wave, op, plain_address<1>(wave, op, sizeof(T)), sizeof(T), Access::load);
    if (!from) return nullptr;
    T value;
    memcpy(&value, from, sizeof value);
    put<u32>(wave, op->scalar_memory().dst, static_cast<u32>(static_cast<i32>(value)));
    STRATA_EMU_NEXT;
}

template <int Dwords, u32 Scale>
const Op* s_store(Wave* wave, const Op* op) {
    uint8_t* to = scalar_place(wave, op, plain_address<Scale>(wave, op, 4), 4 * Dwords, Access::store);
    if (!to) return nullptr;
    memcpy(to, reinterpret_cast<const char*>(wave) + op->scalar_memory().data, 4 * Dwords);
    STRATA_EMU_NEXT;
}

/// An access through a V#: what lies past num_records (bytes; a stride counts in strides) is cut off.
struct BufferAccess {
    u64 address;
    u32 usable;  ///< of the wanted bytes
    BufferAccess(const Wave* wave, const Op* op, u32 align, u32 bytes) {
        u32 v[4];
        memcpy(v, reinterpret_cast<const char*>(wave) + op->scalar_memory().base, sizeof v);
        const u32 stride = v[1] >> 16 & 0x3fff;
        const u64 size = stride ? u64{stride} * v[2] : v[2];
        const u64 offset = (signed_offset(op) + soffset(wave, op)) & ~u64{align - 1};
        address = (v[0] | u64{v[1] & 0xffff} << 32) + offset;
        usable = offset < size ? static_cast<u32>(std::min<u64>((size - offset) / align * align, bytes)) : 0;
    }
};

template <int Dwords>
const Op* s_buffer_load(Wave* wave, const Op* op) {
    const BufferAccess access(wave, op, 4, 4 * Dwords);
    u32 data[Dwords] = {};
    if (access.usable) {
        const uint8_t* from = scalar_place(wave, op, access.address, access.usable, Access::load);
        if (!from) return nullptr;
        memcpy(data, from, access.usable);
    }
    memcpy(reinterpret_cast<char*>(wave) + op->scalar_memory().dst, data, sizeof data);
    STRATA_EMU_NEXT;
}

template <class T>
const Op* s_buffer_load_small(Wave* wave, const Op* op) {
    const BufferAccess access(wave, op, sizeof(T), sizeof(T));
    T value{};
    if (access.usable) {
        const uint8_t* from = scalar_place(wave, op, access.address, sizeof(T), Access::load);
        if (!from) return nullptr;
        memcpy(&value, from, sizeof value);
    }
    put<u32>(wave, op->scalar_memory().dst, static_cast<u32>(static_cast<i32>(value)));
    STRATA_EMU_NEXT;
}

template <int Dwords>
const Op* s_buffer_store(Wave* wave, const Op* op) {
    const BufferAccess access(wave, op, 4, 4 * Dwords);
    if (access.usable) {
        uint8_t* to = scalar_place(wave, op, access.address, access.usable, Access::store);
        if (!to) return nullptr;
        memcpy(to, reinterpret_cast<const char*>(wave) + op->scalar_memory().data, access.usable);
    }
    STRATA_EMU_NEXT;
}

// Atomics: cmpswap has (data, comparand) in consecutive registers; the old value returns to where the data was.
template <class T, int Sources, bool Buffer, class Change>
bool s_atomic(Wave* wave, const Op* op, Change change) {
    u64 address = 0;
    bool inside = true;
    if constexpr (Buffer) {
        const BufferAccess access(wave, op, 4, sizeof(T));
        address = access.address;
        inside = access.usable == sizeof(T);
    } else {
        address = plain_address<1>(wave, op, 4);
    }
    T old{};
    if (inside) {
        if (address % sizeof(T) != 0) {
            fail_alignment(wave, op, -1, address, sizeof(T));
            return false;
        }
        uint8_t* place = scalar_place(wave, op, address, sizeof(T), Access::atomic);
        if (!place) return false;
        const T data = at<T>(wave, op->scalar_memory().data),
                second = Sources == 2 ? at<T>(wave, op->scalar_memory().data + sizeof(T)) : T{};
        old = exchange<T>(place, [&](T now) { return change(now, data, second); });
    }
    put<T>(wave, op->scalar_memory().dst, old);
    return true;
}

using f32 = float;
using f64 = double;

#define ATOMIC(name, T, operands, order, result)                                                             \
    template <bool Buffer>                                                                                   \
    const Op* name(Wave* wave, const Op* op) {                                                               \
        [[maybe_unused]] const DenormalRule<T> denormals;                                                    \
        auto change = [=]([[maybe_unused]] T old, [[maybe_unused]] T data, [[maybe_unused]] T second) -> T { \
            return result;                                                                                   \
        };                                                                                                   \
        if (!s_atomic<T, operands, Buffer>(wave, op, change)) return nullptr;                                \
        STRATA_EMU_NEXT;                                                                                     \
    }
#include "strata/asm/emu/memory/atomic.def"
#undef ATOMIC

struct AtomicRow {
    std::string_view name;
    Handler plain, buffer;
};
constexpr AtomicRow kAtomics[] = {
#define ATOMIC(name, T, operands, order, result) {#name, name<false>, name<true>},
#include "strata/asm/emu/memory/atomic.def"
#undef ATOMIC
};

constexpr NamedHandler kHandlers[] = {
    {"s_load_b32", s_load<1>},
    {"s_load_b64", s_load<2>},
    {"s_load_b96", s_load<3>},
    {"s_load_b128", s_load<4>},
    {"s_load_b256", s_load<8>},
    {"s_load_b512", s_load<16>},
    {"s_load_u8", s_load_small<uint8_t>},
    {"s_load_i8", s_load_small<int8_t>},
    {"s_load_u16", s_load_small<uint16_t>},
    {"s_load_i16", s_load_small<int16_t>},
    {"s_buffer_load_b32", s_buffer_load<1>},
    {"s_buffer_load_b64", s_buffer_load<2>},
    {"s_buffer_load_b96", s_buffer_load<3>},
    {"s_buffer_load_b128", s_buffer_load<4>},
    {"s_buffer_load_b256", s_buffer_load<8>},
    {"s_buffer_load_b512", s_buffer_load<16>},
    {"s_buffer_load_u8", s_buffer_load_small<uint8_t>},
    {"s_buffer_load_i8", s_buffer_load_small<int8_t>},
    {"s_buffer_load_u16", s_buffer_load_small<uint16_t>},
    {"s_buffer_load_i16", s_buffer_load_small<int16_t>},
    {"s_scratch_load_b32", s_scratch_load<1>},
    {"s_scratch_load_b64", s_scratch_load<2>},
    {"s_scratch_load_b128", s_scratch_load<4>},
    {"s_store_b32", s_store<1, 1>},
    {"s_store_b64", s_store<2, 1>},
    {"s_store_b128", s_store<4, 1>},
    {"s_scratch_store_b32", s_store<1, 64>},
    {"s_scratch_store_b64", s_store<2, 64>},
    {"s_scratch_store_b128", s_store<4, 64>},
    {"s_buffer_store_b32", s_buffer_store<1>},
    {"s_buffer_store_b64", s_buffer_store<2>},
    {"s_buffer_store_b128", s_buffer_store<4>},
    // Cache control, prefetches and address translation: nothing to do here.
    {"s_gl1_inv", nop},
    {"s_dcache_inv", nop},
    {"s_dcache_wb", nop},
    {"s_dcache_inv_vol", nop},
    {"s_dcache_wb_vol", nop},
    {"s_dcache_discard", nop},
    {"s_dcache_discard_x2", nop},
    {"s_atc_probe", nop},
    {"s_atc_probe_buffer", nop},
    {"s_prefetch_inst", nop},
    {"s_prefetch_inst_pc_rel", nop},
    {"s_prefetch_data", nop},
    {"s_prefetch_data_pc_rel", nop},
    {"s_buffer_prefetch_data", nop},
};

ScalarMemoryFields resolve(const Decoded& decoded) {
    const isa::Inst& inst = decoded.inst;
    auto place = [](const Operand& operand) {
        const bool scalar = operand.present() && operand.code < isa::code::inline_zero;
        return Wave::scalar_place(scalar ? operand.code : isa::code::null);
    };
    const Operand& soffset = inst.src[1];
    ScalarMemoryFields fields;
    fields.dst = destination_place(inst.dst[0], decoded.wave_size);
    fields.base = place(inst.src[0]);
    fields.data = place(inst.src[2]);
    fields.constant_soffset = soffset.present() && soffset.code >= isa::code::inline_zero;
    fields.soffset =
        fields.constant_soffset ? static_cast<uint32_t>(constant_value(soffset, inst.literal)) : place(soffset);
    fields.offset = static_cast<uint32_t>(inst.offset);
    fields.hit = decoded.hit;
    return fields;
}

/// The handler by its name, or nullptr.
Handler handler_of(std::string_view name) {
    for (std::string_view prefix : {"s_atomic_", "s_buffer_atomic_"}) {
        if (!name.starts_with(prefix)) continue;
        auto it = std::ranges::find(kAtomics, name.substr(prefix.size()), &AtomicRow::name);
        return it == std::end(kAtomics) ? nullptr : prefix.size() == 9 ? it->plain : it->buffer;
    }
    auto it = std::ranges::find(kHandlers, name, &NamedHandler::mnemonic);
    return it == std::end(kHandlers) ? nullptr : it->run;
}

}  // namespace

std::optional<Op> choose_smem(const Decoded& decoded) {
    const Handler run = handler_of(decoded.name);
    if (!run) return {};
    // A load to NULL is a prefetch: its dwords would not fit the trash.
    const bool load = !decoded.name.starts_with("s_atomic_") && !decoded.name.starts_with("s_buffer_atomic_");
    const bool to_null = decoded.inst.dst[0].present() && decoded.inst.dst[0].code == isa::code::null;
    return Op(load && to_null ? nop : run, resolve(decoded));
}

}  // namespace strata::emu
