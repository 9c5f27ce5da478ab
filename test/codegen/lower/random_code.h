#pragma once
#include <random>

#include "machine_code.h"

// Random machine functions: straight code and loops over values of all sizes, changed in place and rematerialised.
namespace strata::codegen::test {

struct RandomShape {
    int steps = 120;  ///< instructions, about
    int scalars = 6;  ///< values of each kind that are alive at a time
    int vectors = 10;
    int tuples = 3;
    uint32_t threads = 64;
    int pairs = 0;  ///< of scalars, each loaded at once
};

class RandomCode {
  public:
    RandomCode(isa::Arch arch, unsigned seed, const RandomShape& shape)
        : code(arch, shape.threads), shape_(shape), random_(seed) {
        cdna_ = isa::is_cdna(code.function.family);
        begin();
        for (int left = shape.steps; left > 0;) left -= stretch(left, 0);
        end();
    }
    Code code;

  private:
    std::string_view wide_product() const {
        return code.function.family == isa::Family::rdna4 ? "v_mad_co_u64_u32" : "v_mad_u64_u32";
    }
    int pick(size_t below) { return static_cast<int>(random_() % below); }
    bool chance(int percent) { return pick(100) < percent; }
    Place any(const std::vector<Place>& pool) { return pool[static_cast<size_t>(pick(pool.size()))]; }

    void begin() {
        const Place kernarg = code.fixed(Bank::scalar, 2, 0), group = code.fixed(Bank::scalar, 1, cdna_ ? 2 : 15);
        const Place item = code.fixed(Bank::vector, 1, isa::code::vgpr0);
        address_ = code.vector(2);
        code.copy(address_.part(0), item);
        code.copy(address_.part(1), Constant{0x12345});
        pairs_ = {kernarg};
        code.function.all_lanes = code.mask();
        code.op("v_cmp_le_i32", {code.function.all_lanes}, {Constant{0}, item});
        for (int i = 0; i < shape_.pairs; ++i) pairs_.push_back(load_pair());
        for (int i = 0; i < shape_.scalars; ++i) {
            scalars_.push_back(code.scalar());
            code.op("s_mul_i32", {scalars_.back()}, {group, Constant{i}});
            masks_.push_back(code.mask());
            code.op("v_cmp_lt_i32", {masks_.back()}, {scalars_.back(), item});
        }
        for (int i = 0; i < shape_.vectors; ++i) {
            vectors_.push_back(code.vector());
            code.op("v_mul_lo_u32", {vectors_.back()}, {item, any(scalars_)});
        }
        for (int i = 0; i < shape_.tuples; ++i) {
            quads_.push_back(code.vector(4));
            load(quads_.back());
            doubles_.push_back(code.vector(2));
            code.op(wide_product(), {doubles_.back(), code.mask()}, {any(vectors_), any(vectors_), address_});
            matrices_.push_back(code.function.add(cdna_ ? Bank::accumulation : Bank::vector, cdna_ ? 4 : 8));
            for (int d = 0; d < matrices_.back().dwords; ++d) code.copy(matrices_.back().part(d), any(vectors_));
        }
    }

    void end() {
        for (const std::vector<Place>* pool : {&vectors_, &quads_, &doubles_, &matrices_})
            for (Place place : *pool) code.store(place, address_);
        for (const std::vector<Place>* pool : {&scalars_, &pairs_, &masks_})
            for (Place place : *pool)
                for (int d = 0; d < place.dwords; ++d) {
                    const Place value = code.vector();
                    code.copy(value, place.part(d));
                    code.store(value, address_);
                }
        const Place value = code.vector();
        code.copy(value, code.function.all_lanes.part(0));
        code.store(value, address_);
        code.end();
    }

    void load(Place to) {
        code.op(code.spelled("global_load_b128", "global_load_dwordx4"), {to}, {address_}).inst.offset = 16 * pick(8);
    }

    int stretch(int most, int depth) {
        const int steps = std::min(most, 3 + pick(20));
        if (depth < 3 && chance(40)) {
            int done = 0;
            code.loop(1 + pick(3), [&] {
                for (int i = pick(3); i >= 0; --i) done += stretch(std::max(1, (most - done) / 2), depth + 1);
            });
            return done + 4;
        }
        for (int i = 0; i < steps; ++i) step();
        return steps;
    }

    /// Where a result goes: over an old value, or to a register of its own that takes the place of one.
    Place result(std::vector<Place>& pool, Bank bank) {
        Place& place = pool[static_cast<size_t>(pick(pool.size()))];
        if (chance(60)) {
            place = code.function.add(bank, place.dwords);
            // Loops may come round to a reader that stands before the writer.
        }
        return place;
    }
    Place vector_result() { return result(vectors_, Bank::vector); }
    Argument scalar_or_vector() {
        if (chance(20)) return any(scalars_);
        if (chance(15)) return Constant{pick(64)};
        return any(vectors_);
    }
    void maybe_predicate(Instruction& instruction) {
        if (!chance(15)) return;
        instruction.predicate = any(masks_);
        instruction.keeps = true;
    }

    /// Registers that exist for the lanes of a predicate alone.
    void predicated_chain() {
        const Place mask = any(masks_), first = code.vector(), second = code.vector();
        code.op("v_add_f32", {first}, {any(vectors_), any(vectors_)}).predicate = mask;
        code.op("v_mul_f32", {second}, {first, any(vectors_)}).predicate = mask;
        Instruction& last = code.op("v_mul_f32", {any(vectors_)}, {first, second});
        last.predicate = mask;
        last.keeps = true;
    }

    void step() { chance(50) ? arithmetic() : other(); }

    void arithmetic() {
        switch (pick(11)) {
            case 0:
            case 1:
            case 2: {
                const Argument a = scalar_or_vector();
                const Place b = any(vectors_);
                code.op("v_add_f32", {vector_result()}, {a, b});
                break;
            }
            case 3: {
                const Argument a = scalar_or_vector();
                const Place b = any(vectors_), c = any(vectors_);
                code.op("v_fma_f32", {vector_result()}, {a, b, c});
                break;
            }
            case 4: code.op("v_fmac_f32", {any(vectors_)}, {scalar_or_vector(), any(vectors_)}).keeps = true; break;
            case 5: maybe_predicate(code.op("v_mul_f32", {any(vectors_)}, {scalar_or_vector(), any(vectors_)})); break;
            case 6: {
                const Argument a = scalar_or_vector();
                code.op("v_cmp_lt_f32", {result(masks_, Bank::scalar)}, {a, any(vectors_)});
                break;
            }
            case 7: {
                const Place a = any(vectors_), b = any(vectors_), mask = any(masks_);
                code.op("v_cndmask_b32", {vector_result()}, {a, b, mask});
                break;
            }
            case 8: {
                const Place a = any(scalars_), b = any(scalars_);
                code.op("s_mul_i32", {result(scalars_, Bank::scalar)}, {a, b});
                break;
            }
            case 9: {
                const Place a = any(scalars_), b = any(scalars_);
                code.op("s_and_b32", {result(scalars_, Bank::scalar)}, {a, b});
                code.op("s_cselect_b32", {any(scalars_)}, {any(scalars_), any(scalars_)});
                break;
            }
            case 10: predicated_chain(); break;
            default: code.op("v_mul_f32", {any(vectors_)}, {any(vectors_), any(vectors_)});
        }
    }

    void other() {
        switch (pick(10)) {
            case 0: load(result(quads_, Bank::vector)); break;
            case 1:
                maybe_predicate(
                    code.op("v_add_f32", {any(quads_).part(pick(4))}, {any(quads_).part(pick(4)), any(vectors_)}));
                break;
            case 2: code.store(any(quads_), address_); break;
            case 3: {
                const Place a = any(doubles_), b = any(doubles_);
                code.op("v_add_f64", {result(doubles_, Bank::vector)}, {a, b});
                break;
            }
            case 4: {
                const Place a = any(vectors_), b = any(vectors_), c = any(doubles_);
                code.op(wide_product(), {result(doubles_, Bank::vector), code.mask()}, {a, b, c});
                break;
            }
            case 5: copies(); break;
            case 6: matrix(); break;
            case 7: vcc(); break;
            case 8: scalar_load(); break;
            default: {
                const Place value = any(vectors_);
                code.op("v_readfirstlane_b32", {result(scalars_, Bank::scalar)}, {value});
            }
        }
    }

    void copies() {
        const Place quad = any(quads_), matrix = any(matrices_);
        switch (pick(6)) {
            case 0: code.copy(vector_result(), Constant{pick(2) ? 0x7654321 : 5}); break;
            case 1: code.copy(quad.part(pick(4)), any(vectors_)); break;
            case 2: code.copy(matrix.part(pick(4)), any(vectors_)); break;
            case 3: {
                const Place from = any(quads_);
                code.copy(result(quads_, Bank::vector), from);
                break;
            }
            case 4: {
                const Place from = matrix.part(pick(4));
                code.copy(vector_result(), from);
                break;
            }
            default: {
                const Place from = any(scalars_);
                code.copy(vector_result(), from);
            }
        }
    }

    /// Into a new register, or onto the accumulator where this is no factor.
    void matrix() {
        Place& slot = matrices_[static_cast<size_t>(pick(matrices_.size()))];
        const Place old = slot, a = any(matrices_), p = any(doubles_), q = any(doubles_), m = any(quads_);
        const isa::Family family = code.function.family;
        if (chance(50) || a == old) slot = code.function.add(code.function.bank(old), old.dwords);
        if (family == isa::Family::rdna3) code.op("v_wmma_f32_16x16x16_f16", {slot}, {a, a, old});
        if (family == isa::Family::rdna4) code.op("v_wmma_f32_16x16x16_f16", {slot}, {m, any(quads_), old});
        if (family == isa::Family::cdna3) code.op("v_mfma_f32_16x16x16_f16", {slot}, {p, q, old});
        if (family == isa::Family::cdna2) code.op("v_mfma_f32_16x16x16f16", {slot}, {p, q, old});
    }

    /// VCC by its name, between two instructions that may be anything but users of it.
    void vcc() {
        const Place a = any(vectors_), b = any(vectors_);
        const Fixed vcc{isa::code::vcc_lo};
        const Place scaled = vector_result();
        code.op("v_div_scale_f32", {scaled, vcc}, {a, b, a});
        const Place c = any(vectors_), d = any(vectors_);
        code.op("v_mul_f32", {vector_result()}, {c, d});
        const Place x = any(vectors_), y = any(vectors_);
        code.op("v_div_fmas_f32", {vector_result()}, {x, y, scaled});
    }

    Place load_pair() {
        Instruction& load = code.op(code.spelled("s_load_b64", "s_load_dwordx2"), {code.scalar(2)},
                                    {pairs_[0], Fixed{isa::code::null}});
        load.inst.src[1].type = isa::Type::u32;
        return load.dst[0];
    }

    void scalar_load() {
        const Place pair = load_pair();
        if (shape_.pairs > 0) pairs_[static_cast<size_t>(1 + pick(pairs_.size() - 1))] = pair;
        const Place a = any(scalars_);
        code.op("s_or_b32", {result(scalars_, Bank::scalar)}, {pair.part(0), a});
        code.op("s_xor_b32", {result(scalars_, Bank::scalar)}, {pair.part(1), a});
    }

    RandomShape shape_;
    std::mt19937 random_;
    bool cdna_;
    Place address_;
    std::vector<Place> scalars_, pairs_, masks_, vectors_, quads_, doubles_, matrices_;
};

}  // namespace strata::codegen::test
