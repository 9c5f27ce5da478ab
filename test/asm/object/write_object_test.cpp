#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "host_tools.h"
#include "strata/asm/object/line_table.h"
#include "strata/asm/object/object_spec.h"

namespace strata::isa {
namespace {

constexpr Arch kArchs[] = {Arch::gfx1100, Arch::gfx1201, Arch::gfx942, Arch::gfx90a};

KernelSpec kernel(std::string name, Arch arch = Arch::gfx1100) {
    KernelSpec spec;
    spec.name = std::move(name);
    spec.code.assign(8, 0xbf800000);  // s_nop 0
    spec.args = {{0, 8, "global_buffer", "", "global"}, {8, 4, "by_value"}};
    spec.kernarg_size = 12;
    spec.wave_size = info(arch).wave_size;
    return spec;
}

/// readelf's facts of an object: its ABI and flags, its target, and the names of all metadata fields.
struct Notes {
    std::string abi, flags, target, version;
    std::set<std::string> fields;
};

Notes notes_of(const Bytes& object) {
    test::TemporaryFolder folder;
    test::write_file(folder.file("k.co"), object);
    test::CommandResult readelf = test::run("llvm-readelf-19 -h --notes " + folder.file("k.co"));
    EXPECT_EQ(readelf.status, 0) << readelf.output;
    EXPECT_EQ(readelf.output.find("warning"), std::string::npos) << readelf.output;
    const std::string& text = readelf.output;
    auto line = [&](std::string_view key) {
        const size_t at = text.find(key);
        return at == text.npos ? std::string() : text.substr(at, text.find('\n', at) - at);
    };
    Notes notes{line("ABI Version:"), line("Flags:"), line("amdhsa.target:"), {}, {}};
    if (const size_t at = text.find("amdhsa.version:"); at != text.npos)
        notes.version = text.substr(at, text.find("\n...", at) - at);
    for (size_t at = text.find(" .", text.find("amdhsa.kernels:")); at != text.npos; at = text.find(" .", at + 1))
        notes.fields.insert(text.substr(at + 1, text.find(':', at) - at - 1));
    return notes;
}

TEST(write_code_object, WritesTheHeaderAndTheMetadataFieldsOfClangInEachVersion) {
    constexpr std::string_view kSource =
        "extern \"C\" __attribute__((global)) void k(int* p, int n) { p[0] = n; }\n"
        "extern \"C\" __attribute__((global)) void l(int* p, int n) { p[n] = n; }\n";
    for (const ArchInfo& row : archs())
        for (int version : {4, 5, 6}) {
            const Arch arch = row.arch;
            if (version != 5 && std::ranges::find(kArchs, arch) == std::end(kArchs)) continue;
            SCOPED_TRACE(std::string(info(arch).name) + " version " + std::to_string(version));
            const Bytes theirs = test::compile_hip(kSource, "-mcode-object-version=" + std::to_string(version),
                                                   std::string(info(arch).name));
            ObjectSpec spec{version, {kernel("k", arch), kernel("l", arch)}};
            Result<Bytes> ours = write_code_object(arch, spec);
            ASSERT_TRUE(ours) << ours.error().message;
            Notes a = notes_of(*ours), b = notes_of(theirs);
            b.fields.erase(".uniform_work_group_size");  // a promise of HIP's launches, not a property of code
            EXPECT_EQ(a.abi, b.abi);
            EXPECT_EQ(a.flags, b.flags);
            EXPECT_EQ(a.target, b.target);
            EXPECT_FALSE(a.version.empty());
            EXPECT_EQ(a.version, b.version);
            EXPECT_EQ(a.fields, b.fields);
            for (const Bytes& image : {*ours, theirs}) {
                Result<CodeObject> object = CodeObject::parse(image);
                ASSERT_TRUE(object) << object.error().message;
                EXPECT_EQ(object->abi_version, version);
                EXPECT_EQ(object->arch, arch);
                ASSERT_EQ(object->kernels.size(), 2u);
                ASSERT_GE(object->kernels[1].args.size(), 2u);
                EXPECT_EQ(object->kernels[1].args[0].value_kind, "global_buffer");
                EXPECT_EQ(object->kernels[1].args[1].offset, 8u);
            }
        }
}

TEST(write_code_object, KeepsHiddenArgumentsOfVersion5OutOfVersion4) {
    for (const char* kind : {"hidden_block_count_x", "hidden_remainder_z", "hidden_grid_dims"}) {
        KernelSpec spec = kernel("k");
        spec.args.push_back({8, 4, kind});
        Result<Bytes> image = write_code_object(Arch::gfx1100, ObjectSpec{4, {spec}});
        ASSERT_FALSE(image);
        EXPECT_NE(image.error().message.find(kind), std::string::npos) << image.error().message;
        EXPECT_TRUE(write_code_object(Arch::gfx1100, ObjectSpec{5, {spec}}));
        EXPECT_TRUE(write_code_object(Arch::gfx1100, ObjectSpec{6, {spec}}));
    }
    KernelSpec spec = kernel("k");
    spec.args.push_back({16, 8, "hidden_global_offset_x"});
    spec.kernarg_size = 24;
    EXPECT_TRUE(write_code_object(Arch::gfx1100, ObjectSpec{4, {spec}}));
    EXPECT_FALSE(write_code_object(Arch::gfx1100, ObjectSpec{3, {spec}}));
    EXPECT_FALSE(write_code_object(Arch::gfx1100, ObjectSpec{7, {spec}}));
}

/// Variables of every kind, a function, and references between all of them.
ObjectSpec sample(Arch arch = Arch::gfx1100) {
    ObjectSpec object;
    object.kernels = {kernel("first", arch), kernel("second", arch)};
    object.kernels[1].lines = {{"kernel.s"}, {{0, 0, 3, 0}, {4, 0, 7, 2}}};
    object.functions = {{"helper", {0xbf800000, 0xbf800000}}};
    object.globals = {{"counter", {5, 0, 0, 0}},
                      {"zeroes", {}, 4000, 64},
                      {"table", {}, 24, 8},
                      {"limits", {1, 2, 3}, 8, 4, true},
                      {"names", {9}, 16, 8, true}};
    object.references = {
        {"table", 0, "helper"}, {"table", 8, "counter", 2}, {"table", 16, "second"}, {"names", 8, "zeroes", 16}};
    object.add_pc_relative("second", 4, 8, 16, "limits", 3);
    return object;
}

class WrittenVariables : public ::testing::TestWithParam<Arch> {
  protected:
    CodeObject object = CodeObject::parse(write_code_object(GetParam(), sample(GetParam())).value()).value();

    const Symbol& symbol(std::string_view name) const {
        for (const Symbol& each : object.symbols)
            if (each.name == name) return each;
        ADD_FAILURE() << name;
        return object.symbols.at(0);
    }
    const Segment& segment(std::string_view name) const {
        for (const Segment& each : object.segments)
            if (symbol(name).address >= each.address && symbol(name).address < each.address + each.memory_size)
                return each;
        ADD_FAILURE() << name;
        return object.segments.at(0);
    }
    /// Bytes of the file; zeros after them, as when loaded.
    uint64_t load(std::string_view name, uint64_t offset, size_t size) const {
        uint64_t value = 0;
        const Segment& home = segment(name);
        for (size_t i = 0; i < size; ++i)
            if (const uint64_t at = symbol(name).address + offset + i - home.address; at < home.bytes.size())
                value |= uint64_t{home.bytes[at]} << 8 * i;
        return value;
    }
};

TEST_P(WrittenVariables, LieWhereTheirKindSays) {
    EXPECT_TRUE(segment("counter").writable);
    EXPECT_TRUE(segment("zeroes").writable);
    EXPECT_TRUE(segment("table").writable);
    EXPECT_FALSE(segment("limits").writable);
    EXPECT_TRUE(segment("names").writable) << "the loader fills in an address";
    EXPECT_TRUE(segment("helper").executable);
    EXPECT_EQ(symbol("zeroes").size, 4000u);
    EXPECT_EQ(symbol("zeroes").address % 64, 0u);
    EXPECT_GT(segment("zeroes").memory_size - segment("zeroes").bytes.size(), 3900u) << "zeroes take no file space";
    EXPECT_EQ(symbol("limits").size, 8u);
    EXPECT_EQ(load("counter", 0, 4), 5u);
    EXPECT_EQ(load("limits", 0, 8), 0x030201u);
    EXPECT_EQ(load("names", 0, 8), 9u);
}

TEST_P(WrittenVariables, AreRelocatedWhereTheyHoldAddresses) {
    std::map<uint64_t, uint64_t> got;
    for (const Relocation& relocation : object.relocations) got[relocation.address] = relocation.addend;
    const uint64_t table = symbol("table").address;
    EXPECT_EQ(got, (std::map<uint64_t, uint64_t>{{table, symbol("helper").address},
                                                 {table + 8, symbol("counter").address + 2},
                                                 {table + 16, object.find("second")->entry_address},
                                                 {symbol("names").address + 8, symbol("zeroes").address + 16}}));
}

TEST_P(WrittenVariables, AreReachedFromCodeThroughTheProgramCounter) {
    const uint64_t distance = load("second", 8, 4) | load("second", 16, 4) << 32;
    EXPECT_EQ(symbol("second").address + 4 + distance, symbol("limits").address + 3);
}

TEST_P(WrittenVariables, AreListedByReadelf) {
    test::TemporaryFolder folder;
    test::write_file(folder.file("k.co"), object.image);
    auto readelf = [&](const std::string& options) {
        test::CommandResult result = test::run("llvm-readelf-19 " + options + " " + folder.file("k.co"));
        EXPECT_EQ(result.status, 0) << result.output;
        EXPECT_EQ(result.output.find("warning"), std::string::npos) << result.output;
        return result.output;
    };
    (void)readelf("-a");
    const std::string dynamic = readelf("--dyn-syms --hash-symbols"), all = readelf("--symbols");
    for (const char* name : {"counter", "zeroes", "table", "limits", "names", "first.kd", "second"}) {
        EXPECT_NE(dynamic.find(std::string(" ") + name), std::string::npos) << name << "\n" << dynamic;
        EXPECT_NE(all.find(std::string(" ") + name), std::string::npos) << name;
    }
    EXPECT_EQ(dynamic.find(" helper"), std::string::npos) << dynamic;
    EXPECT_NE(all.find(" helper"), std::string::npos);
    const std::string relocations = readelf("-r");
    size_t count = 0;
    for (size_t at = relocations.find("R_AMDGPU_"); at != relocations.npos; at = relocations.find("R_AMDGPU_", at + 1))
        count += relocations.compare(at, 19, "R_AMDGPU_RELATIVE64") == 0;
    EXPECT_EQ(count, 4u) << relocations;
}

INSTANTIATE_TEST_SUITE_P(Archs, WrittenVariables, ::testing::ValuesIn(kArchs),
                         [](const auto& test) { return std::string(isa::info(test.param).name); });

TEST(write_code_object, RefusesVariablesAndReferencesThatCannotBe) {
    auto message = [](auto change) {
        ObjectSpec object = sample();
        change(object);
        Result<Bytes> image = write_code_object(Arch::gfx1100, object);
        return image ? std::string() : image.error().message;
    };
    using Kind = ReferenceSpec::Kind;
    auto expect = [&](std::string_view part, auto change) {
        EXPECT_NE(message(change).find(part), std::string::npos) << part << "\n" << message(change);
    };
    EXPECT_EQ(message([](ObjectSpec&) {}), "");
    expect("at least one kernel", [](ObjectSpec& o) { o.kernels.clear(); });
    expect("'first': the name is used twice", [](ObjectSpec& o) { o.globals[0].name = "first"; });
    expect("'first.kd': the name is used twice", [](ObjectSpec& o) { o.functions[0].name = "first.kd"; });
    expect("no bytes", [](ObjectSpec& o) { o.globals[1].size = 0; });
    expect("for a size of 2", [](ObjectSpec& o) { o.globals[0].size = 2; });
    expect("alignment 24", [](ObjectSpec& o) { o.globals[0].align = 24; });
    expect("alignment 8192", [](ObjectSpec& o) { o.globals[0].align = 8192; });
    expect("'helper': it has no code", [](ObjectSpec& o) { o.functions[0].code.clear(); });
    expect("'nowhere'", [](ObjectSpec& o) { o.references[0].target = "nowhere"; });
    expect("'nobody'", [](ObjectSpec& o) { o.references[0].holder = "nobody"; });
    expect("8 bytes at 24 of 24", [](ObjectSpec& o) { o.references[0].offset = 24; });
    expect("8 bytes at 4 of 24", [](ObjectSpec& o) { o.references[0].offset = 4; });
    expect("code cannot hold an address", [](ObjectSpec& o) { o.references[0].holder = "helper"; });
    expect("are for code", [](ObjectSpec& o) { o.references[0].kind = Kind::relative_low; });
    expect("descriptor", [](ObjectSpec& o) { o.references[0].holder = "first.kd"; });
}

TEST(write_code_object, WithVariablesAndLinesNeverCrashesTheReaderWhenDamaged) {
    const Bytes image = write_code_object(Arch::gfx1100, sample()).value();
    std::mt19937 random(5);
    size_t refused = 0;
    for (int round = 0; round < 3000; ++round) {
        Bytes damaged = image;
        for (int hits = 1 + random() % 6; hits > 0; --hits)
            damaged[random() % damaged.size()] = static_cast<uint8_t>(random());
        Result<CodeObject> object = CodeObject::parse(std::move(damaged));
        refused += !object || !LineTable::read(*object);
    }
    EXPECT_GT(refused, 0u);
}

}  // namespace
}  // namespace strata::isa
