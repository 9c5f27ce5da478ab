#include "strata/asm/object/code_object.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "host_tools.h"
#include "strata/asm/object/features.h"

namespace strata::isa {
namespace {

const Bytes& sample(int version) {
    static std::array<Bytes, 7> cache;
    if (cache[version].empty())
        cache[version] = test::compile_hip(test::kHipSample, "-mcode-object-version=" + std::to_string(version));
    return cache[version];
}

class EveryVersion : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Metadata, EveryVersion, testing::Values(4, 5, 6));

TEST_P(EveryVersion, OfClangIsParsedWithItsKernelsAndArguments) {
    Result<CodeObject> object = CodeObject::parse(sample(GetParam()));
    ASSERT_TRUE(object) << object.error().message;
    EXPECT_EQ(object->abi_version, GetParam());
    EXPECT_EQ(object->arch, Arch::gfx1100);
    ASSERT_EQ(object->kernels.size(), 2u);
    const KernelInfo* saxpy = object->find("saxpy");
    ASSERT_NE(saxpy, nullptr);
    ASSERT_GE(saxpy->args.size(), 4u);
    EXPECT_EQ(saxpy->args[0].value_kind, "global_buffer");
    EXPECT_EQ(saxpy->args[1].offset, 8u);
    EXPECT_EQ(saxpy->args[3].offset, 20u);
    EXPECT_EQ(saxpy->args[3].value_kind, "by_value");
    if (GetParam() == 4) {  // the block size comes from the dispatch packet
        EXPECT_TRUE(saxpy->descriptor.dispatch_ptr());
    } else {
        ASSERT_GT(saxpy->args.size(), 4u);
        EXPECT_EQ(saxpy->args[4].value_kind, "hidden_block_count_x");
    }
    EXPECT_EQ(saxpy->wave_size, 32u);
    EXPECT_EQ(saxpy->lds, 0u);
    EXPECT_EQ(object->find("other")->lds, 256u);
    EXPECT_EQ(object->find("absent"), nullptr);
}

TEST_P(EveryVersion, OfClangGivesDescriptorsThatAgreeWithTheMetadata) {
    Result<CodeObject> object = CodeObject::parse(sample(GetParam()));
    ASSERT_TRUE(object) << object.error().message;
    for (const KernelInfo& kernel : object->kernels) {
        const KernelDescriptor& d = kernel.descriptor;
        EXPECT_EQ(d.group_segment_fixed_size, kernel.lds);
        EXPECT_EQ(d.private_segment_fixed_size, kernel.scratch);
        EXPECT_EQ(d.kernarg_size, kernel.kernarg_size);
        EXPECT_TRUE(d.wave32());
        EXPECT_TRUE(d.kernarg_ptr());
        EXPECT_TRUE(d.workgroup_id(0));
        EXPECT_EQ(d.float_mode(), 0xf0u);  // round to nearest, all denormals kept
        EXPECT_GE(d.vgprs(info(object->arch)), static_cast<int>(kernel.vgprs));
        EXPECT_LT(d.vgprs(info(object->arch)), static_cast<int>(kernel.vgprs) + 8);
        EXPECT_EQ(kernel.entry_address % 256, 0u);
    }
}

TEST_P(EveryVersion, OfClangGivesSegmentsSymbolsAndRelocations) {
    Result<CodeObject> object = CodeObject::parse(sample(GetParam()));
    ASSERT_TRUE(object) << object.error().message;
    EXPECT_EQ(std::ranges::count_if(object->segments, [](const Segment& s) { return s.executable; }), 1);
    auto symbol = [&](std::string_view name) {
        return *std::ranges::find_if(object->symbols, [&](const Symbol& s) { return s.name == name; });
    };
    EXPECT_EQ(symbol("zeroes").size, 400u);
    EXPECT_TRUE(symbol("saxpy").is_function);
    EXPECT_FALSE(symbol("counter").is_function);
    ASSERT_EQ(object->relocations.size(), 1u);
    EXPECT_EQ(object->relocations[0].address, symbol("pointer").address);
    EXPECT_EQ(object->relocations[0].addend, symbol("counter").address);
}

TEST_P(EveryVersion, CutAtAnyLengthIsAnErrorAndNoCrash) {
    const Bytes& whole = sample(GetParam());
    for (size_t length = 0; length < whole.size(); ++length) {
        Result<CodeObject> object = CodeObject::parse(Bytes(whole.begin(), whole.begin() + length));
        // The section headers' strings come last; everything the reader needs may be there a few bytes earlier.
        if (length < whole.size() - 256) {
            ASSERT_FALSE(object) << length;
        }
    }
}

TEST(code_object, DamagedAtRandomNeverCrashes) {
    std::mt19937 random(20);
    int accepted = 0;
    for (int round = 0; round < 6000; ++round) {
        Bytes image = sample(4 + round % 3);
        for (int hits = 1 + random() % 8; hits > 0; --hits) {
            // Half of the hits go to the headers, notes and symbols at the start, where the structure is.
            const size_t range = random() % 2 ? image.size() : 0x300;
            image[random() % range] = random() % 4 ? static_cast<uint8_t>(random()) : 0xff;
        }
        Result<CodeObject> object = CodeObject::parse(std::move(image));
        if (!object) {
            EXPECT_FALSE(object.error().message.empty());
            continue;
        }
        accepted++;
        for (const KernelInfo& kernel : object->kernels)
            for (const KernelArg& arg : kernel.args) ASSERT_LE(arg.offset + arg.size, kernel.kernarg_size);
        for (const Segment& segment : object->segments) ASSERT_LE(segment.bytes.size(), segment.memory_size);
    }
    EXPECT_GT(accepted, 100);
    EXPECT_LT(accepted, 6000);
}

TEST(code_object, OfAnUnknownMachineIsRefusedWithTheKnownOnesListed) {
    Bytes image = test::compile_hip(test::kHipSample, "", "gfx1030");
    Result<CodeObject> object = CodeObject::parse(image);
    ASSERT_FALSE(object);
    EXPECT_NE(object.error().message.find("gfx1100"), std::string::npos) << object.error().message;
    EXPECT_NE(object.error().message.find("gfx942"), std::string::npos) << object.error().message;
}

// Metadata spells targets in several ways ("amdgpu9.42-amd-amdhsa-unknown-gfx942"); e_flags tell.
TEST(code_object, OfAGenericTargetRunsOnTheDevicesThatAreOfIt) {
    const auto first_of = [](std::string_view name) {
        return std::ranges::find(generic_targets(), name, &GenericTarget::name)->arch;
    };
    for (const GenericTarget& target : generic_targets()) {
        Bytes image = sample(6);
        image[48] = static_cast<uint8_t>(target.elf_mach);  // e_flags: the machine, and the version of a generic one
        image[51] = 1;
        Result<CodeObject> object = CodeObject::parse(image);
        ASSERT_TRUE(object) << object.error().message;
        EXPECT_EQ(object->arch, first_of(target.name)) << target.name;
        for (const ArchInfo& arch : archs()) {
            const bool is_its = std::ranges::any_of(generic_targets(), [&](const GenericTarget& row) {
                return row.name == target.name && row.arch == arch.arch;
            });
            EXPECT_EQ(runs_on(*object, arch.arch), is_its) << target.name << " " << arch.name;
        }
    }
    for (const char* name : {"gfx11-generic", "gfx12-generic"}) {  // those that LLVM 19 knows
        Result<CodeObject> object =
            CodeObject::parse(test::compile_hip(test::kHipSample, "-mcode-object-version=6", name));
        ASSERT_TRUE(object) << object.error().message;
        EXPECT_EQ(object->arch, first_of(name)) << name;
    }
}

TEST(code_object, OfAnArchRunsOnItAlone) {
    const CodeObject object = CodeObject::parse(sample(5)).value();
    for (const ArchInfo& arch : archs()) EXPECT_EQ(runs_on(object, arch.arch), arch.arch == object.arch) << arch.name;
}

TEST(code_object, OfAnotherKindOfFileSaysWhatIsWrong) {
    Result<CodeObject> text = CodeObject::parse(Bytes{'h', 'e', 'l', 'l', 'o'});
    ASSERT_FALSE(text);
    EXPECT_NE(text.error().message.find("5 bytes"), std::string::npos) << text.error().message;
    Result<CodeObject> host = CodeObject::parse(test::read_file("/bin/true"));
    ASSERT_FALSE(host);
    EXPECT_NE(host.error().message.find("AMDGPU"), std::string::npos) << host.error().message;
}

TEST(code_object, ForWave64OnCdnaIsParsed) {
    Result<CodeObject> object = CodeObject::parse(test::compile_hip(test::kHipSample, "", "gfx942"));
    ASSERT_TRUE(object) << object.error().message;
    EXPECT_EQ(object->arch, Arch::gfx942);
    EXPECT_EQ(object->find("saxpy")->wave_size, 64u);
    EXPECT_FALSE(object->find("saxpy")->descriptor.wave32());
}

}  // namespace
}  // namespace strata::isa
