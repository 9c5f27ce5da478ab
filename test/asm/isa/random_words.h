#pragma once
#include <array>
#include <random>

#include "strata/asm/isa/table_p.h"

namespace strata::isa {

using Words = std::array<uint32_t, 3>;

/// Random words for a family's decoder. One in four is wholly random, one in four begins like a format, the others like
/// a row. Operand fields are random or valid codes; bits that a row does not read are mostly LLVM's.
class RandomWords {
  public:
    RandomWords(Family family, uint32_t seed) : family_(family), table_(table(family)), engine_(seed) {
        for (const Layout* layout : table_.layouts)
            if (layout) layouts_.push_back(layout);
    }

    Words next() {
        Words words = any();
        if (is_cdna(family_) && words[0] >> 31 == 0 && (words[0] & 511) == 249) words[1] = printable_sdwa(words);
        return words;
    }

  private:
    Words any() {
        Words words{random(), second_word(), random()};
        switch (random() % 4) {
            case 0: return words;
            case 1: {
                const Layout& layout = *layouts_[random() % layouts_.size()];
                words[0] = (words[0] & ~head(layout)) | layout.prefix;
                return words;
            }
            default: return like_row(words);
        }
    }

    /// LLVM's printer crashes on selections that do not exist.
    static uint32_t printable_sdwa(const Words& words) {
        uint32_t word = words[1];
        bool compares = words[0] >> 25 == 0x3e;
        for (uint32_t shift : {8, 16, 24})
            if ((word >> shift & 7) == 7 && !(compares && shift == 8)) word &= ~(1u << shift);
        if ((word >> 11 & 3) == 3 && !compares) word &= ~(1u << 11);
        return word;
    }

    uint32_t random() { return static_cast<uint32_t>(engine_()); }
    static uint32_t head(const Layout& layout) { return ~uint32_t{0} << (32 - layout.prefix_bits); }

    uint32_t second_word() {
        static constexpr uint32_t codes[] = {0, 1, 2, 4, 8, 106, 124, 125, 128, 193, 240, 250, 255, 256, 258, 260, 384};
        auto source = [&] { return random() % 3 ? codes[random() % std::size(codes)] : random() & 511; };
        return random() % 2 ? source() | source() << 9 | source() << 18 | (random() % 4 ? 0 : random() << 27)
                            : random();
    }

    Words like_row(Words words) {
        size_t number = random() % table_.rows.size();
        const Row& row = table_.rows[number];
        const Layout& layout = table_.layout(row.format);
        uint64_t both = words[0] | uint64_t{words[1]} << 32;
        if (random() % 8) both = (both & table_.bits[number].read()) | table_.bits[number].ones | layout.written;
        both = (both & ~(layout.op.mask() | head(layout))) | layout.prefix | layout.op.put(row.opcode);
        if (random() % 4 == 0) both = with_regular_source(layout, both);
        return {static_cast<uint32_t>(both), layout.words == 1 ? random_tail(both) : static_cast<uint32_t>(both >> 32),
                words[2]};
    }

    uint64_t with_regular_source(const Layout& layout, uint64_t both) {
        static constexpr uint32_t codes[] = {233, 234, 249, 250, 255};  // DPP, SDWA, literal
        const Field& source = layout.src[0];
        return source.bits == 9 ? (both & ~source.mask()) | source.put(codes[random() % std::size(codes)]) : both;
    }

    /// A DPP16 word is seldom valid by chance.
    uint32_t random_tail(uint64_t) {
        uint32_t word = random();
        return random() % 2 ? word & ~0x00090000u & ~(random() % 2 ? 0u : 0xff00u) : word;
    }

    Family family_;
    const FamilyTable& table_;
    std::mt19937 engine_;
    std::vector<const Layout*> layouts_;
};

}  // namespace strata::isa
