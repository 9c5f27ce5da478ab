#pragma once
#include "memory_run.h"

// Checks of one row of FLAT, GLOBAL, SCRATCH and MUBUF: addresses of each form, then the model lane by lane.
namespace strata::emu::harness {

/// Sets the modifier that makes an atomic return and says whether it does.
inline bool choose_return(MemoryRun& m, const isa::Row& row, isa::Inst& inst) {
    if (!(row.flags & isa::kAtomic) || !row.dst_kind[0]) return false;
    // Some have only the returning form.
    const bool must = row.mnemonic.find("csub") != row.mnemonic.npos;
    if (!must && m.values.below(2)) return false;
    if (m.scalars.family() == isa::Family::rdna4)
        inst.th = 1;
    else
        inst.glc = true;
    return true;
}

/// L2 of RDNA3 and CDNA2 flushes the single-precision denormals of additions.
inline bool flushes(const MemoryRun& m) {
    const isa::Family family = m.scalars.family();
    return family == isa::Family::rdna3 || family == isa::Family::cdna2;
}

inline int second_row(const Access& a) { return MemoryRun::kData + std::max(1, a.bytes / 4); }

/// A signed immediate offset the form of the row takes.
inline int32_t any_offset(MemoryRun& m, isa::Format format) {
    const isa::Family family = m.scalars.family();
    const bool is_flat = format == isa::Format::FLAT;
    const int32_t high = family == isa::Family::rdna4 ? 0x7fffff : 4095;
    const int32_t low = family == isa::Family::rdna4 ? -0x800000 : is_flat ? 0 : -4096;
    const int32_t choices[] = {0, 4, is_flat && family != isa::Family::rdna4 ? 16 : -16, high, low};
    return choices[m.values.below(5)];
}

/// Where LDS takes a lane's dword: M0, which is 64 here, the immediate and four bytes a lane.
inline uint64_t local_place(const isa::Inst& inst, uint64_t lane) {
    return 64 + static_cast<uint64_t>(inst.offset) + 4 * lane;
}
inline std::string says(const isa::Inst& inst, const char* form, uint64_t seed) {
    return std::string(inst.row->mnemonic) + " with " + form + ", offset " + std::to_string(inst.offset) + ", seed " +
           std::to_string(seed);
}

/// A load to LDS: bytes and words are extended to the dword.
inline void load_to_local(const Access& a, Bytes memory, uint64_t at, Bytes local, uint64_t local_at) {
    uint64_t value = memory.get(at, a.bytes);
    if (a.is_signed && a.bytes < 4 && value >> (8 * a.bytes - 1)) value |= ~0ull << (8 * a.bytes);
    local.put(local_at, 4, static_cast<uint32_t>(value));
}

inline uint32_t alignment(const Access& a) { return static_cast<uint32_t>(std::min(a.bytes, 16)); }

/// The form that check_global chooses for a row.
struct GlobalForm {
    bool flat = false, with_base = false;
    std::vector<uint32_t> at;
    std::vector<bool> in_local;  ///< lanes whose address is in the shared aperture
};

/// Fills the address registers so that each lane's access is at form.at of memory or of LDS.
inline void set_addresses(MemoryRun& m, const GlobalForm& form, const Access& a, int32_t immediate) {
    const uint64_t base = MemoryRun::kMapped - static_cast<uint64_t>(int64_t{immediate});
    const uint64_t bias = form.with_base && m.values.below(2) ? 0x80000000u : 0;  // the register is unsigned
    if (a.thread_addresses) return m.set_pair(8, base);
    if (form.with_base) m.set_pair(8, base - bias);
    for (int lane = 0; lane < m.lanes(); ++lane) {
        const uint64_t offset = form.at[static_cast<size_t>(lane)];
        // The shared aperture's addresses have 0x00010000 above the byte in LDS (AMDGPUUsage, "Address spaces").
        const bool local = form.in_local[static_cast<size_t>(lane)];
        if (form.with_base)
            m.v(0, lane) = static_cast<uint32_t>(offset + bias);
        else
            m.set64(0, lane, local ? (uint64_t{0x00010000} << 32) + offset : base + offset);
    }
}

inline void check_global(isa::Arch arch, const isa::Row& row, Access a, uint64_t seed) {
    MemoryRun m(arch, seed);
    isa::Inst inst = m.scalars.make(row);
    const bool is_store = row.flags & isa::kStore, is_atomic = row.flags & isa::kAtomic;
    m.make_numbers(a.type, a.bytes, a.op == "min" || a.op == "max");
    a.returns = choose_return(m, row, inst);
    inst.offset = a.to_local ? static_cast<int32_t>(m.values.below(8) * 4) : any_offset(m, row.format);
    GlobalForm form{.flat = row.format == isa::Format::FLAT};
    form.with_base = !form.flat && m.values.below(2);
    const bool anywhere = a.kind == Access::load && !form.flat && m.values.below(2);
    form.at = m.offsets(static_cast<uint32_t>(a.bytes), anywhere ? 1 : alignment(a), MemoryRun::kBytes);
    for (size_t lane = 0; lane < form.at.size(); ++lane)
        form.in_local.push_back(form.flat && !inst.offset && seed & 1 && m.values.one_in(4));
    meet(m, a, form.at, m.memory, second_row(a));
    set_addresses(m, form, a, inst.offset);
    size_t i = 0;
    if (!a.thread_addresses) inst.src[i++] = vector(0, form.with_base ? isa::Type::u32 : isa::Type::b64);
    if (is_store || is_atomic) inst.src[i] = vector(MemoryRun::kData, row.src[i]), ++i;
    if (form.with_base || a.thread_addresses) inst.src[i] = scalar_pair(8, row.src[i]);
    if (row.dst_kind[0] && (!is_atomic || a.returns)) inst.dst[0] = vector(MemoryRun::kResult, row.dst[0]);
    m.wave.m0 = 64;
    Expected want{m.wave.vgpr, m.memory, m.local};
    for (int lane = 0; lane < m.lanes(); ++lane) {
        if (!m.active(lane)) continue;
        const uint64_t own = static_cast<uint64_t>(lane);
        const uint64_t offset = a.thread_addresses ? 4 * own : form.at[own];
        if (a.to_local) {
            load_to_local(a, Bytes(want.memory), offset, Bytes(want.local), local_place(inst, own));
            continue;
        }
        const bool local = form.in_local[own];
        perform(a, Bytes(local ? want.local : want.memory), offset, m.lane_of(want.registers, lane), MemoryRun::kResult,
                MemoryRun::kData, second_row(a), flushes(m) && !local);
    }
    m.compare({inst}, want.registers, want.memory, want.local, says(inst, form.with_base ? "saddr" : "vaddr", seed));
}

/// Private memory between two sets of instructions that store and load the lane's 64 bytes.
class PrivateRun {
  public:
    static constexpr int kStart = 64;  ///< so that a sum of registers stays above 0
    explicit PrivateRun(MemoryRun& m) : m_(m) {
        m.set_pair(40, m.wave.exec), m.set_pair(42, m.lanes() == 64 ? ~0ull : 0xffffffffull);
        m.wave.scratch = 256, m.wave.m0 = 64;
    }
    /// Runs all lanes before and after, the active ones at `inst`.
    std::vector<isa::Inst> around(const isa::Inst& inst) {
        const bool cdna = m_.scalars.cdna();
        std::vector<isa::Inst> code;
        for (int part = 0; part < 4; ++part)
            code.push_back(whole(cdna ? "scratch_store_dwordx4" : "scratch_store_b128", part));
        code.push_back(set_exec(40)), code.push_back(inst), code.push_back(set_exec(42));
        for (int part = 0; part < 4; ++part)
            code.push_back(whole(cdna ? "scratch_load_dwordx4" : "scratch_load_b128", part));
        return code;
    }

  private:
    isa::Inst whole(const char* name, int part) const {
        isa::Inst inst = m_.scalars.make(name);
        const isa::Row& row = *inst.row;
        inst.src[0] = vector(MemoryRun::kZero, isa::Type::u32);
        const bool store = row.flags & isa::kStore;
        (store ? inst.src[1] : inst.dst[0]) = vector(MemoryRun::kSpare + 4 * part, store ? row.src[1] : row.dst[0]);
        inst.offset = kStart + 16 * part;
        return inst;
    }
    isa::Inst set_exec(uint16_t from) const {
        const bool wide = m_.lanes() == 64;
        isa::Inst move = m_.scalars.make(wide ? "s_mov_b64" : "s_mov_b32");
        const isa::Type type = wide ? isa::Type::b64 : isa::Type::b32;
        move.dst[0] = {isa::code::exec_lo, type}, move.src[0] = {from, type};
        return move;
    }
    MemoryRun& m_;
};

inline void check_scratch(isa::Arch arch, const isa::Row& row, Access a, uint64_t seed) {
    MemoryRun m(arch, seed);
    PrivateRun around(m);
    const bool is_store = row.flags & isa::kStore, cdna2 = m.scalars.family() == isa::Family::cdna2;
    isa::Inst inst = m.scalars.make(row);
    const uint32_t form = m.values.below(cdna2 ? 2 : 3);  // CDNA2 adds only one register
    const bool with_vector = form != 1, with_scalar = form != 0;
    inst.offset = static_cast<int32_t>(m.values.below(3) * 16) - (cdna2 || a.to_local ? 0 : 16);
    const auto at = m.offsets(static_cast<uint32_t>(a.bytes), alignment(a), 64);
    const auto rest = static_cast<uint32_t>(PrivateRun::kStart - inst.offset);
    if (with_scalar) m.wave.sgpr[8] = with_vector ? 32 : at[0] + rest;
    for (int lane = 0; lane < m.lanes() && with_vector; ++lane)
        m.v(0, lane) = at[static_cast<size_t>(lane)] + rest - (with_scalar ? 32 : 0);
    if (with_vector) inst.src[0] = vector(0, isa::Type::u32);
    if (is_store) inst.src[1] = vector(MemoryRun::kData, row.src[1]);
    if (with_scalar) inst.src[is_store ? 2 : 1] = scalar_pair(8, isa::Type::u32);
    if (row.dst_kind[0]) inst.dst[0] = vector(MemoryRun::kResult, row.dst[0]);
    Expected want{m.wave.vgpr, m.memory, m.local};
    for (int lane = 0; lane < m.lanes(); ++lane) {
        if (!m.active(lane)) continue;
        const Lane registers = m.lane_of(want.registers, lane);
        std::vector<uint8_t> own(64);
        for (int k = 0; k < 16; ++k) memcpy(own.data() + 4 * k, &registers(MemoryRun::kSpare + k), 4);
        const uint64_t offset = at[with_vector ? static_cast<size_t>(lane) : 0];
        if (a.to_local)
            load_to_local(a, Bytes(own), offset, Bytes(want.local), local_place(inst, static_cast<uint64_t>(lane)));
        else
            perform(a, Bytes(own), offset, registers, MemoryRun::kResult, MemoryRun::kData, MemoryRun::kSecond);
        for (int k = 0; k < 16; ++k) memcpy(&registers(MemoryRun::kSpare + k), own.data() + 4 * k, 4);
    }
    m.wave.exec = m.lanes() == 64 ? ~0ull : 0xffffffffull;
    const char* const names[] = {"vaddr", "saddr", "vaddr and saddr"};
    m.compare(around.around(inst), want.registers, want.memory, want.local, says(inst, names[form], seed));
}

/// A descriptor, raw or of 16-byte records, and where it lets the lanes' accesses go.
struct BufferForm {
    bool offen = false, idxen = false;
    uint32_t stride = 0, records = 0, immediate = 0, soffset = 0;
    uint32_t end = 0;           ///< of a raw buffer: CDNA adds the scalar offset after the check (CDNA3 ISA 9.1.5)
    std::vector<uint32_t> at;   ///< offsets from the base
    std::vector<bool> allowed;  ///< whole accesses; in raw buffers wide ones are allowed dword by dword
};

inline BufferForm make_buffer(MemoryRun& m, uint32_t size, uint32_t align) {
    BufferForm f;
    f.offen = m.values.below(2), f.idxen = m.values.below(2);
    f.stride = f.idxen ? 16 : 0;
    f.records = f.stride ? 200 : 2048;
    f.immediate = m.values.below(3) * 16, f.soffset = m.values.below(3) * 32;
    f.end = f.records + (m.scalars.cdna() ? f.soffset : 0);
    f.at = m.offsets(size, std::max(4u, align), MemoryRun::kBytes - 512);
    m.set_pair(8, MemoryRun::kMapped | uint64_t{f.stride} << 48);
    m.wave.sgpr[10] = f.records, m.wave.sgpr[12] = f.soffset;
    // RDNA: OOB_SELECT checks the index (1) or the raw offset (3), the format is 32_UINT or the like.
    m.wave.sgpr[11] = m.scalars.cdna() ? 4u << 15 : (f.stride ? 1u : 3u) << 28 | 22u << 12;
    for (int lane = 0; lane < m.lanes(); ++lane) {
        uint32_t& at = f.at[static_cast<size_t>(lane)];
        if (f.stride && size == 12) at &= ~15u;  // within one record
        if (!f.offen) at = f.idxen ? at & ~15u : 0;
        const uint32_t index = f.idxen ? at / f.stride : 0, rest = f.idxen ? at % f.stride : at;
        m.v(0, lane) = f.idxen ? index : rest;
        if (f.idxen && f.offen) m.v(1, lane) = rest;
        at += f.immediate + f.soffset;
        f.allowed.push_back(f.stride ? index < f.records : at + size <= f.end);
    }
    return f;
}

inline void check_buffer(isa::Arch arch, const isa::Row& row, Access a, uint64_t seed) {
    MemoryRun m(arch, seed);
    const bool is_store = row.flags & isa::kStore, is_atomic = row.flags & isa::kAtomic;
    isa::Inst inst = m.scalars.make(row);
    m.make_numbers(a.type, a.bytes, a.op == "min" || a.op == "max");
    a.returns = choose_return(m, row, inst);
    const BufferForm f = make_buffer(m, static_cast<uint32_t>(a.bytes), alignment(a));
    meet(m, a, f.at, m.memory, second_row(a));
    inst.offen = f.offen, inst.idxen = f.idxen, inst.offset = static_cast<int32_t>(f.immediate);
    if (f.offen || f.idxen) inst.src[0] = vector(0, f.offen && f.idxen ? isa::Type::b64 : isa::Type::u32);
    inst.src[1] = scalar_pair(8, isa::Type::b128), inst.src[2] = scalar_pair(12, isa::Type::u32);
    if (is_store || is_atomic) inst.src[3] = vector(MemoryRun::kData, row.src[3]);
    const int result = is_atomic ? MemoryRun::kData : MemoryRun::kResult;
    if (row.dst_kind[0] && (!is_atomic || a.returns)) inst.dst[0] = vector(result, row.dst[0]);
    m.wave.m0 = 64;
    Expected want{m.wave.vgpr, m.memory, m.local};
    const bool by_dword = !f.stride && a.bytes > 4 && !is_atomic;
    for (int lane = 0; lane < m.lanes(); ++lane) {
        if (!m.active(lane)) continue;
        const auto own = static_cast<size_t>(lane);
        const Bytes seen(want.memory, by_dword ? f.end : f.allowed[own] ? MemoryRun::kBytes : 0);
        if (a.to_local)
            load_to_local(a, seen, f.at[own], Bytes(want.local), local_place(inst, own));
        else
            perform(a, seen, f.at[own], m.lane_of(want.registers, lane), result, MemoryRun::kData, second_row(a),
                    flushes(m));
    }
    const char* const names[] = {"off", "offen", "idxen", "idxen and offen"};
    m.compare({inst}, want.registers, want.memory, want.local, says(inst, names[f.offen + 2 * f.idxen], seed));
}

/// CDNA2 stores from LDS to a buffer whose index is the thread, which has no limit: four bytes a lane on both sides.
inline void store_from_local(isa::Arch arch, const isa::Row& row, uint64_t seed) {
    MemoryRun m(arch, seed);
    isa::Inst inst = m.scalars.make(row);
    inst.lds = true;
    const uint32_t soffset = m.values.below(16) * 16, records = 40;
    m.set_pair(8, MemoryRun::kMapped | uint64_t{4} << 48);
    m.wave.sgpr[10] = records, m.wave.sgpr[11] = 1u << 23, m.wave.sgpr[12] = soffset;  // ADD_TID_ENABLE
    inst.src[1] = scalar_pair(8, isa::Type::b128), inst.src[2] = scalar_pair(12, isa::Type::u32);
    m.wave.m0 = 64;
    Expected want{m.wave.vgpr, m.memory, m.local};
    for (uint32_t lane = 0; lane < 64; ++lane)
        if (m.active(static_cast<int>(lane)))
            Bytes(want.memory).put(soffset + 4 * lane, 4, Bytes(m.local).get(64 + 4 * lane, 4));
    m.compare({inst}, want.registers, want.memory, want.local, std::string(row.mnemonic));
}

}  // namespace strata::emu::harness
