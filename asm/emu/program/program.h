#pragma once
#include <array>
#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "strata/asm/emu/machine/order.h"
#include "strata/asm/emu/machine/workgroup.h"

namespace strata::emu {

/// A piece of decoded code: what was reachable from some entry when it was asked for. Never moves once built.
struct Chunk {
    std::vector<Op> ops;
    std::vector<uint32_t> pcs;                ///< byte offset in the text of each instruction, by Op::index
    std::vector<isa::Inst> insts;             ///< by Op::index
    std::map<uint32_t, std::string> refused;  ///< by Op::index: why an instruction that may never run cannot
    size_t number = 0;                        ///< among the chunks of its program, below Program::kMaxChunks
    bool holds(const Op* op) const { return op >= ops.data() && op < ops.data() + ops.size(); }
};

struct Explored;

/// The code of one kernel: ops decoded by following the control flow from its entry.
class Program final : public Code {
  public:
    static constexpr int kMaxChunks = 256;

    /// `text` is the executable segment, at device address `address`. `vgprs` rows in all; where the arch has
    /// accumulation registers, those start at row `accum_offset`.
    Program(isa::Arch arch, int wave_size, int vgprs, int accum_offset, std::span<const uint8_t> text,
            uint64_t address);

    /// True if instructions like this one, with registers in place of other operands, can run.
    static bool executes(isa::Arch arch, int wave_size, const isa::Inst& inst);

    /// Decodes from byte offset `entry`. Error (Unsupported) names the instruction that cannot run and its offset.
    Result<const Op*> entry(uint64_t offset);
    /// The op at byte offset `offset`, decoding it now if need be.
    Result<const Op*> at(uint64_t offset);
    Result<const Op*> at_address(uint64_t address) override;
    const Op* plain(const Op* op) const override { return op; }

    /// Byte offset of an op's instruction, and the instruction itself (nullptr for glue between chunks).
    uint64_t pc(const Op* op) const;
    const isa::Inst* inst(const Op* op) const;
    const Chunk* chunk(const Op* op) const;
    std::vector<const Chunk*> chunks() const;
    /// "v_add_f32 v0, v1, v2", or the raw words where no printer is at hand.
    std::string disassembly(uint64_t offset) const;

    uint64_t address() const { return address_; }
    size_t size() const { return text_.size(); }
    int wave_size() const { return wave_size_; }
    int vgprs() const { return vgprs_; }
    int accum_offset() const { return accum_offset_; }
    /// True if MODE may tell vector instructions to add to register numbers, or to do nothing (gfx9).
    bool indexes_registers() const { return indexed_; }
    /// True if results may depend on the order of the workgroups. Code that jumps to a place not decoded yet may come
    /// to any instruction of the text. All of the text is checked once, when this is first called.
    Order order();
    isa::Arch arch() const { return arch_; }

  private:
    friend class ChunkBuilder;
    Result<const Op*> decode(uint64_t offset);
    Result<Explored> explore(uint64_t offset);
    Order order_in_text() const;
    Error refuse(uint64_t offset, const isa::Inst* inst, std::string_view why) const;
    std::span<const uint32_t> words(uint64_t offset) const;

    isa::Arch arch_;
    int wave_size_, vgprs_, accum_offset_;
    std::span<const uint8_t> text_;
    uint64_t address_;
    std::unique_ptr<std::atomic<const Op*>[]> at_;  ///< by dword of the text; nullptr: not decoded yet
    std::deque<std::unique_ptr<Chunk>> chunks_;
    std::atomic<int> chunk_count_{0};
    std::array<std::atomic<const Chunk*>, kMaxChunks> published_{};
    Order order_ = Order::free;  ///< of what is decoded; of all the text once that was looked at
    bool leaves_known_code_ = false, text_was_read_ = false;
    bool indexed_ = false;  ///< gfx9: vector instructions look at MODE's GPR_IDX_EN and VSKIP first
    std::mutex mutex_;
};

}  // namespace strata::emu
