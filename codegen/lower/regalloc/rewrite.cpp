#include "strata/codegen/lower/regalloc/rewrite_p.h"

#include <unordered_map>

#include "strata/codegen/machine/operands.h"
#include "strata/core/support/error.h"

namespace strata::codegen {
namespace {

namespace code = isa::code;

/// The moves of a family, looked up once.
struct Moves {
    explicit Moves(isa::Family family)
        : scalar(isa::find_row(family, "s_mov_b32")),
          scalar_pair(isa::find_row(family, "s_mov_b64")),
          vector(isa::find_row(family, "v_mov_b32")),
          vector_pair(isa::find_row(family, "v_mov_b64")),
          first_lane(isa::find_row(family, "v_readfirstlane_b32")),
          read(isa::find_row(family, "v_accvgpr_read_b32")),
          write(isa::find_row(family, "v_accvgpr_write_b32")),
          accumulation(isa::find_row(family, "v_accvgpr_mov_b32")) {}
    const isa::Row *scalar, *scalar_pair, *vector, *vector_pair, *first_lane, *read, *write, *accumulation;
};

class Resolver {
  public:
    explicit Resolver(MachineFunction& function) : function_(function), moves_(function.family) {}

    void run() {
        for (Block& block : function_.blocks) {
            std::vector<Instruction> out;
            out.reserve(block.code.size());
            for (Instruction& instruction : block.code) {
                if (is_copy(instruction)) {
                    copy(instruction, out);
                } else {
                    fill(instruction);
                    out.push_back(std::move(instruction));
                }
            }
            block.code = std::move(out);
        }
    }

  private:
    uint16_t code_of(Place place) const {
        return static_cast<uint16_t>(function_.registers[place.reg].place + place.first);
    }

    void fill(Instruction& instruction) {
        isa::Inst& inst = instruction.inst;
        bool wide = false;
        auto put = [&](Place place, isa::Operand& operand) {
            if (!place) return;
            operand.code = code_of(place);
            wide |= operand.type == isa::Type::lanes && operand.code != code::vcc_lo;
        };
        for (size_t i = 0; i < 2; ++i) put(instruction.dst[i], inst.dst[i]);
        for (size_t i = 0; i < 4; ++i) put(instruction.src[i], inst.src[i]);
        if (wide && isa::has_half_registers(inst.row->format) && !inst.sdwa.present) widen(inst);
    }

    /// The short form has its mask in VCC: any other is the long form's.
    void widen(isa::Inst& inst) {
        const isa::Row*& wide = wide_[inst.row];
        const bool two = inst.row->format == isa::Format::VOP2 && inst.dst[1].present();
        if (!wide)
            wide = isa::find_row(function_.family, inst.row->mnemonic, two ? isa::Format::VOP3SD : isa::Format::VOP3);
        if (wide) inst.row = wide;
    }

    void move(const Instruction& copy, const isa::Row* row, int part, std::vector<Instruction>& out) {
        const int dwords = isa::span_of(row->dst[0]);
        Instruction made = copy;
        made.pseudo = Pseudo::none;
        made.inst.row = row;
        made.inst.encoding = row->format;
        made.dst[0] = copy.dst[0].part(part, dwords);
        made.inst.dst[0] = {code_of(made.dst[0]), row->dst[0]};
        made.inst.src[0].type = row->src[0];
        if (copy.src[0]) {
            made.src[0] = copy.src[0].part(part, dwords);
            made.inst.src[0].code = code_of(made.src[0]);
        }
        out.push_back(std::move(made));
    }

    const isa::Row* single(Bank to, Bank from, bool constant) const {
        if (to == Bank::scalar) return constant || from == Bank::scalar ? moves_.scalar : moves_.first_lane;
        if (to == Bank::vector) return !constant && from == Bank::accumulation ? moves_.read : moves_.vector;
        return !constant && from == Bank::accumulation ? moves_.accumulation : moves_.write;
    }
    /// A move of two dwords at once: both pairs begin at even registers.
    const isa::Row* pair(Bank to, Bank from) const {
        if (to != from) return nullptr;
        return to == Bank::scalar ? moves_.scalar_pair : to == Bank::vector ? moves_.vector_pair : nullptr;
    }

    void copy(const Instruction& copy, std::vector<Instruction>& out) {
        const Place to = copy.dst[0], from = copy.src[0];
        const Bank to_bank = function_.bank(to);
        if (!from) return move(copy, single(to_bank, to_bank, true), 0, out);
        const Bank from_bank = function_.bank(from);
        const uint16_t to_code = code_of(to), from_code = code_of(from);
        if (to_code == from_code) return;
        const isa::Row* two = pair(to_bank, from_bank);
        const isa::Row* one = single(to_bank, from_bank, false);
        STRATA_CHECK(one && to.dwords == from.dwords, "a copy that no move makes: {}", to_string(function_, copy));
        // Towards the higher end where the destination begins inside the source, so that nothing is overwritten unread.
        const bool down = from_code < to_code && to_code < from_code + from.dwords;
        auto pairs_at = [&](int part) { return two && (to_code + part) % 2 == 0 && (from_code + part) % 2 == 0; };
        for (int done = 0; done < to.dwords;) {
            const bool wide = done + 2 <= to.dwords && pairs_at(down ? to.dwords - done - 2 : done);
            const int dwords = wide ? 2 : 1;
            move(copy, wide ? two : one, down ? to.dwords - done - dwords : done, out);
            done += dwords;
        }
    }

    MachineFunction& function_;
    Moves moves_;
    std::unordered_map<const isa::Row*, const isa::Row*> wide_;  // of a row that takes VCC, the one that takes any mask
};

}  // namespace

void resolve(MachineFunction& function) { Resolver(function).run(); }

}  // namespace strata::codegen
