#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "virtual_code.h"

namespace strata::codegen {
namespace {

using namespace test;

using PairLocal = EachArch;
INSTANTIATE_TEST_SUITE_P(Arch, PairLocal, testing::ValuesIn(isa::first_archs()), arch_name);

/// Accesses of local memory by one address, and what is left of them.
struct LocalCode : AddressedCode {
    explicit LocalCode(isa::Arch arch) : AddressedCode(arch), lanes(vector()), sum(vector()) {
        op("v_mul_f32", {lanes}, {item, item});
        copy(sum, item);
    }
    Place load(Place at, int offset, int dwords = 1) {
        const Place value = vector(dwords);
        op(dwords == 1 ? spelled("ds_load_b32", "ds_read_b32") : spelled("ds_load_b64", "ds_read_b64"), {value}, {at})
            .inst.offset = offset;
        return value;
    }
    void add(Place value) { op("v_add_f32", {sum}, {sum, value.part(0)}); }
    void write(Place at, int offset, Place value) {
        op(spelled("ds_store_b32", "ds_write_b32"), {}, {at, value}).inst.offset = offset;
    }
    void barrier() {
        if (function.family != isa::Family::rdna4) return void(op("s_barrier", {}, {}));
        op("s_barrier_signal", {}, {Constant{-1}});
        op("s_barrier_wait", {}, {});
    }
    /// "load 0 132, store 4" of what uses local memory, in order, after the pass.
    std::string after() {
        store(sum, address);
        end();
        EXPECT_TRUE(merge_lds(function));
        const auto valid = verify(function, Check::virtual_);
        EXPECT_TRUE(valid) << valid.error().message << to_string(function);
        std::string out;
        for (const Block& block : function.blocks)
            for (const Instruction& one : block.code) {
                if (one.pseudo != Pseudo::none || one.inst.row->format != isa::Format::DS) continue;
                const std::string_view name = one.inst.row->mnemonic;
                const bool two = name.find("2addr") != name.npos || name.find("read2") != name.npos ||
                                 name.find("write2") != name.npos;
                out += out.empty() ? "" : ", ";
                out += one.inst.row->flags & isa::kStore ? "store " : "load ";
                out += std::to_string(one.inst.offset) + (two ? " " + std::to_string(one.inst.offset1) : "");
            }
        return out;
    }
    size_t count(std::string_view mnemonic) const {
        size_t found = 0;
        for (const Block& block : function.blocks)
            for (const Instruction& one : block.code)
                found += one.pseudo == Pseudo::none && one.inst.row->mnemonic == mnemonic;
        return found;
    }
    Place lanes, sum;
};

TEST_P(PairLocal, LoadsByOneAddressAreOneInstructionWithAnOffsetEach) {
    LocalCode code(arch());
    const Place a = code.load(code.lanes, 0), b = code.load(code.lanes, 528), c = code.load(code.lanes, 8, 2);
    code.add(a);
    const Place d = code.load(code.lanes, 2040, 2), other = code.load(code.item, 4);
    for (Place value : {b, c, d, other}) code.add(value);
    EXPECT_EQ(code.after(), "load 0 132, load 1 255, load 4");
}

TEST_P(PairLocal, WhatIsOutOfReachInALoopHasAnAddressInFrontOfItThatPairsShare) {
    for (const bool in_loop : {false, true}) {
        LocalCode code(arch());
        const auto body = [&] {
            std::vector<Place> values;
            for (int offset : {4096, 4100, 5112, 4608, 9000}) values.push_back(code.load(code.lanes, offset));
            for (Place value : values) code.add(value);
        };
        in_loop ? code.loop(10, body) : body();
        EXPECT_EQ(code.after(), in_loop ? "load 0 1, load 254 128, load 9000"
                                        : "load 4096, load 4100, load 5112, load 4608, load 9000");
        EXPECT_EQ(code.count(code.spelled("v_add_nc_u32", "v_add_u32")), in_loop) << to_string(code.function);
        const auto adds = [&](const Instruction& one) {
            return one.pseudo == Pseudo::none && one.inst.row->mnemonic == code.spelled("v_add_nc_u32", "v_add_u32");
        };
        EXPECT_TRUE(std::ranges::none_of(code.function.blocks.back().code, adds));
        EXPECT_EQ(std::ranges::count_if(code.function.blocks[0].code, adds), in_loop);
    }
}

TEST_P(PairLocal, StoresByOneAddressAreOneInstructionAtThePlaceOfTheSecond) {
    LocalCode code(arch());
    code.write(code.lanes, 0, code.item);
    code.write(code.lanes, 8, code.item);
    code.add(code.load(code.lanes, 64));
    EXPECT_EQ(code.after(), "store 0 2, load 64");
}

TEST_P(PairLocal, NothingPassesWhatMayBeOfTheSameBytes) {
    const std::pair<std::function<void(LocalCode&)>, std::string> between[] = {
        {[](LocalCode& c) { c.add(c.load(c.item, 0)); }, "store 0, load 0, store 8"},
        {[](LocalCode& c) { c.write(c.item, 0, c.item); }, "store 0, store 0, store 8"},
        {[](LocalCode& c) { c.write(c.lanes, 0, c.lanes); }, "store 0, store 0 2"},
        {[](LocalCode& c) { c.barrier(); }, "store 0, store 8"},
        {[](LocalCode& c) { c.op("v_mul_f32", {c.lanes}, {c.item, c.item}); }, "store 0, store 8"},
        {[](LocalCode& c) { c.op("v_mul_f32", {c.sum}, {c.item, c.item}); }, "store 0, store 8"},
    };
    for (const auto& [what, left] : between) {
        LocalCode code(arch());
        code.write(code.lanes, 0, code.sum);
        what(code);
        code.write(code.lanes, 8, code.item);
        EXPECT_EQ(code.after(), left);
    }
}

TEST_P(PairLocal, LoadsOfRegistersThatOthersWriteTooStayAlone) {
    LocalCode code(arch());
    const Place a = code.load(code.lanes, 0), b = code.load(code.lanes, 4);
    code.add(a);
    code.add(b);
    code.copy(b, code.item);
    code.add(b);
    EXPECT_EQ(code.after(), "load 0, load 4");
}

}  // namespace
}  // namespace strata::codegen
