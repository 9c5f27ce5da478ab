#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>

#include "host_tools.h"
#include "strata/asm/object/code_object.h"

namespace strata::isa {
namespace {

/// Assembles with clang to a relocatable object.
Bytes assemble_object(std::string_view text, const std::string& cpu = "gfx1100") {
    test::TemporaryFolder folder;
    test::write_file(folder.file("k.s"), text);
    test::CommandResult result = test::run("clang-19 -target amdgcn-amd-amdhsa -mcpu=" + cpu + " -c " +
                                           folder.file("k.s") + " -o " + folder.file("k.o"));
    EXPECT_EQ(result.status, 0) << result.output;
    return test::read_file(folder.file("k.o"));
}

/// The HIP sample as a relocatable object, with `options` for clang's code generation.
Bytes sample_object(const std::string& options) {
    Bytes text = test::compile_hip(test::kHipSample, "-S " + options);
    return assemble_object(std::string_view(reinterpret_cast<const char*>(text.data()), text.size()));
}

/// Instructions as llvm-objdump prints them, without addresses and without what follows the code.
std::vector<std::string> instructions(const Bytes& object) {
    test::TemporaryFolder folder;
    test::write_file(folder.file("k.co"), object);
    test::CommandResult result =
        test::run("llvm-objdump-19 -d --no-show-raw-insn --no-leading-addr " + folder.file("k.co"));
    EXPECT_EQ(result.status, 0) << result.output;
    std::vector<std::string> lines;
    std::istringstream stream(result.output);
    for (std::string line; std::getline(stream, line);) {
        line = line.substr(0, line.find("//"));
        while (!line.empty() && line.back() == ' ') line.pop_back();
        if (line.starts_with("\t") && line != "\ts_code_end") lines.push_back(line);
    }
    return lines;
}

const Symbol& symbol(const CodeObject& object, std::string_view name) {
    auto found = std::ranges::find(object.symbols, name, &Symbol::name);
    if (found == object.symbols.end()) throw std::runtime_error("no symbol " + std::string(name));
    return *found;
}

/// The 64-bit value that is loaded at `address` of the object.
uint64_t word64(const CodeObject& object, uint64_t address) {
    for (const Segment& segment : object.segments)
        if (address >= segment.address && address + 8 <= segment.address + segment.bytes.size()) {
            uint64_t value;
            std::memcpy(&value, segment.bytes.data() + (address - segment.address), 8);
            return value;
        }
    throw std::runtime_error("address is not loaded");
}

TEST(link_relocatable, MakesTheObjectThatLldMakesApartFromAddresses) {
    Bytes relocatable = sample_object("");
    Result<Bytes> ours = link_relocatable(relocatable);
    ASSERT_TRUE(ours) << ours.error().message;
    test::TemporaryFolder folder;
    test::write_file(folder.file("k.o"), relocatable);
    ASSERT_EQ(test::run("ld.lld-19 -shared " + folder.file("k.o") + " -o " + folder.file("k.co")).status, 0);
    Bytes theirs = test::read_file(folder.file("k.co"));

    Result<CodeObject> a = CodeObject::parse(*ours), b = CodeObject::parse(theirs);
    ASSERT_TRUE(a) << a.error().message;
    ASSERT_TRUE(b) << b.error().message;
    ASSERT_EQ(a->kernels.size(), b->kernels.size());
    for (const KernelInfo& kernel : a->kernels) {
        const KernelInfo* other = b->find(kernel.name);
        ASSERT_NE(other, nullptr);
        EXPECT_EQ(kernel.args.size(), other->args.size());
        EXPECT_EQ(kernel.vgprs, other->vgprs);
        EXPECT_EQ(kernel.descriptor.rsrc1, other->descriptor.rsrc1);
        EXPECT_EQ(kernel.descriptor.rsrc2, other->descriptor.rsrc2);
    }
    for (std::string_view name : {"counter", "zeroes", "pointer", "saxpy", "other"})
        EXPECT_EQ(symbol(*a, name).size, symbol(*b, name).size) << name;
    ASSERT_EQ(a->relocations.size(), b->relocations.size());
    EXPECT_EQ(a->relocations[0].address, symbol(*a, "pointer").address);
    EXPECT_EQ(a->relocations[0].addend, symbol(*a, "counter").address);

    std::vector<std::string> our_lines = instructions(*ours), their_lines = instructions(theirs);
    ASSERT_EQ(our_lines.size(), their_lines.size());
    int different = 0;  // only the distances to variables may differ
    for (size_t i = 0; i < our_lines.size(); ++i) {
        if (our_lines[i] == their_lines[i]) continue;
        different++;
        EXPECT_TRUE(our_lines[i].starts_with("\ts_add_u32 ")) << our_lines[i] << " / " << their_lines[i];
    }
    EXPECT_LE(different, 3);
}

TEST(link_relocatable, ResolvesRelativeReferencesToTheAddressOfTheSymbol) {
    Result<Bytes> linked = link_relocatable(assemble_object(R"(
        .text
        .globl code
        .p2align 8
        .type code,@function
code:   s_getpc_b64 s[0:1]
after:  s_add_u32 s0, s0, target@rel32@lo+4
        s_addc_u32 s1, s1, target@rel32@hi+12
        s_endpgm
        .data
        .globl target
        .p2align 3
target: .quad 42
    )"));
    ASSERT_TRUE(linked) << linked.error().message;
    Result<CodeObject> object = CodeObject::parse(*linked);
    ASSERT_TRUE(object) << object.error().message;
    const uint64_t code = symbol(*object, "code").address;
    // s_add_u32's literal is the second word after the four bytes of s_getpc; the program counter then is code + 4.
    const auto literal = static_cast<uint32_t>(word64(*object, code + 8));
    EXPECT_EQ(code + 4 + literal, symbol(*object, "target").address);
    EXPECT_EQ(word64(*object, symbol(*object, "target").address), 42u);
}

TEST(link_relocatable, MakesAGlobalOffsetTableAndRelocationsForAddresses) {
    Result<Bytes> linked = link_relocatable(assemble_object(R"(
        .text
        .globl code
        .p2align 8
code:   s_getpc_b64 s[0:1]
        s_add_u32 s0, s0, first@gotpcrel32@lo+4
        s_addc_u32 s1, s1, first@gotpcrel32@hi+12
        s_add_u32 s2, s0, second@gotpcrel32@lo+4
        s_endpgm
        .data
        .globl first
        .p2align 3
first:  .quad second + 16
        .bss
        .globl second
        .p2align 4
second: .zero 64
    )"));
    ASSERT_TRUE(linked) << linked.error().message;
    Result<CodeObject> object = CodeObject::parse(*linked);
    ASSERT_TRUE(object) << object.error().message;
    const uint64_t code = symbol(*object, "code").address, first = symbol(*object, "first").address,
                   second = symbol(*object, "second").address;
    const uint64_t slot = code + 4 + static_cast<uint32_t>(word64(*object, code + 8));
    EXPECT_EQ(word64(*object, slot), first);
    ASSERT_EQ(object->relocations.size(), 3u);  // two slots and the address in `first`
    auto addend_at = [&](uint64_t address) {
        auto found = std::ranges::find(object->relocations, address, &Relocation::address);
        return found == object->relocations.end() ? ~0ull : found->addend;
    };
    EXPECT_EQ(addend_at(slot), first);
    EXPECT_EQ(addend_at(first), second + 16);
    EXPECT_EQ(symbol(*object, "second").address % 16, 0u);
    EXPECT_EQ(object->segments.back().memory_size - object->segments.back().bytes.size(),
              64u + second - (object->segments.back().address + object->segments.back().bytes.size()));
}

TEST(link_relocatable, JoinsCodeSectionsAndResolvesBranchesBetweenThem) {
    Result<Bytes> linked = link_relocatable(assemble_object(R"(
        .text
        .globl code
        .p2align 8
code:   s_branch elsewhere
        .section .text.elsewhere,"ax",@progbits
        .globl elsewhere
        .p2align 8
elsewhere: s_endpgm
        s_nop 0
    )"));
    ASSERT_TRUE(linked) << linked.error().message;
    Result<CodeObject> object = CodeObject::parse(*linked);
    ASSERT_TRUE(object) << object.error().message;
    const uint64_t code = symbol(*object, "code").address, elsewhere = symbol(*object, "elsewhere").address;
    const auto words = static_cast<int16_t>(word64(*object, code));  // the low half of s_branch
    EXPECT_EQ(code + 4 + static_cast<uint64_t>(words * 4), elsewhere);
    EXPECT_EQ(static_cast<uint32_t>(word64(*object, elsewhere)), 0xbfb00000u);
    EXPECT_EQ(std::ranges::count_if(object->segments, [](const Segment& s) { return s.executable; }), 1);
}

TEST(link_relocatable, OfAnUndefinedSymbolNamesIt) {
    Result<Bytes> linked = link_relocatable(assemble_object("s_add_u32 s0, s0, elsewhere@rel32@lo+4\ns_endpgm\n"));
    ASSERT_FALSE(linked);
    EXPECT_NE(linked.error().message.find("'elsewhere'"), std::string::npos) << linked.error().message;
}

TEST(link_relocatable, RefusesAnAddressInReadOnlyData) {
    Result<Bytes> linked = link_relocatable(assemble_object(".rodata\n.quad there\n.data\nthere: .quad 0\n"));
    ASSERT_FALSE(linked);
    EXPECT_NE(linked.error().message.find(".data"), std::string::npos) << linked.error().message;
}

TEST(link_relocatable, KeepsDebugLinesReadable) {
    Result<Bytes> linked = link_relocatable(sample_object("-g"));
    ASSERT_TRUE(linked) << linked.error().message;
    test::TemporaryFolder folder;
    test::write_file(folder.file("k.co"), *linked);
    test::CommandResult result = test::run("llvm-dwarfdump-19 --debug-line " + folder.file("k.co"));
    EXPECT_EQ(result.status, 0);
    EXPECT_NE(result.output.find("k.hip"), std::string::npos) << result.output;
    EXPECT_EQ(result.output.find("error:"), std::string::npos) << result.output;
}

TEST(link_relocatable, OfDamagedObjectsNeverCrashes) {
    const Bytes whole = sample_object("-g");
    std::mt19937 random(21);
    int accepted = 0;
    for (size_t length = 0; length < whole.size(); length += 7) (void)link_relocatable(std::span(whole).first(length));
    for (int round = 0; round < 1500; ++round) {
        Bytes image = whole;
        for (int hits = 1 + random() % 8; hits > 0; --hits) {
            const size_t at = random() % 2 ? random() % image.size() : image.size() - 1 - random() % (32 * 64);
            image[at] = random() % 4 ? static_cast<uint8_t>(random()) : 0xff;
        }
        Result<Bytes> linked = link_relocatable(image);
        if (!linked) continue;
        accepted++;
        (void)CodeObject::parse(std::move(*linked));
    }
    EXPECT_GT(accepted, 10);
    EXPECT_LT(accepted, 1500);
}

}  // namespace
}  // namespace strata::isa
