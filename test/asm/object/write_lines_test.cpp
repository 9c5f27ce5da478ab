#include "dwarfdump.h"
#include "strata/asm/object/line_table.h"
#include "strata/asm/object/object_spec.h"

// The reference is llvm-dwarfdump's listing of the written object.
namespace strata::isa {
namespace {

KernelSpec kernel(std::string name, size_t words) {
    KernelSpec spec;
    spec.name = std::move(name);
    spec.code.assign(words, 0xbf800000);  // s_nop 0
    return spec;
}

/// Two kernels and a function, lines that go up and down, far jumps, three files and an unknown place.
ObjectSpec sample() {
    ObjectSpec object;
    object.kernels = {kernel("first", 300), kernel("bare", 4), kernel("second", 9)};
    object.kernels[0].lines = {{"a.py", "sub/b.py"},
                               {{0, 0, 10, 0}, {1, 0, 12, 3}, {2, 1, 70000, 3}, {4, 1, 2, 300}, {299, 0, 9, 0}}};
    object.kernels[2].lines = {{"c.s", "a.py"}, {{2, 1, 1, 0}, {3, 0, 64, 0}, {4, 0, 0, 0}, {5, 0, 128, 0}}};
    object.functions = {{"helper", {0xbf800000, 0xbf800000}, {{"c.s"}, {{0, 0, 5, 1}}}}};
    return object;
}

std::string at(const SourceLine& line) {
    return line.line ? line.file + ":" + std::to_string(line.line) + ":" + std::to_string(line.column) : "none";
}

TEST(write_code_object, GivesEachWordItsSourceLine) {
    CodeObject object = CodeObject::parse(write_code_object(Arch::gfx1100, sample()).value()).value();
    Result<LineTable> table = LineTable::read(object);
    ASSERT_TRUE(table) << table.error().message;
    auto line = [&](const char* name, uint64_t word) {
        for (const Symbol& symbol : object.symbols)
            if (symbol.name == name) return at(table->find(symbol.address + 4 * word));
        return std::string("no symbol");
    };
    EXPECT_EQ(line("first", 0), "a.py:10:0");
    EXPECT_EQ(line("first", 1), "a.py:12:3");
    EXPECT_EQ(line("first", 3), "sub/b.py:70000:3");
    EXPECT_EQ(line("first", 298), "sub/b.py:2:300");
    EXPECT_EQ(line("first", 299), "a.py:9:0");
    EXPECT_EQ(line("first", 300), "none");
    EXPECT_EQ(line("bare", 0), "none");
    EXPECT_EQ(line("second", 1), "none");
    EXPECT_EQ(line("second", 2), "a.py:1:0");
    EXPECT_EQ(line("second", 3), "c.s:64:0");
    EXPECT_EQ(line("second", 4), "none");
    EXPECT_EQ(line("second", 8), "c.s:128:0");
    EXPECT_EQ(line("second", 9), "none");
    EXPECT_EQ(line("helper", 1), "c.s:5:1");
}

TEST(write_code_object, WritesLineTablesThatDwarfdumpReads) {
    for (Arch arch : {Arch::gfx1100, Arch::gfx942}) {
        ObjectSpec spec = sample();
        for (KernelSpec& each : spec.kernels) each.wave_size = info(arch).wave_size;
        CodeObject object = CodeObject::parse(write_code_object(arch, spec).value()).value();
        std::map<uint64_t, std::string> rows = test::dwarfdump_lines(object.image);
        ASSERT_EQ(rows.size(), 5u + 4u + 1u + 3u);  // and an end for each of three
        LineTable table = LineTable::read(object).value();
        for (const auto& [address, want] : rows) {
            SourceLine got = table.find(address);
            EXPECT_EQ(got.line ? std::to_string(got.line) + ":" + std::to_string(got.column) : "none", want) << address;
        }
    }
}

TEST(write_code_object, RefusesLinesThatDoNotFitTheCode) {
    for (CodeLines::Row row : {CodeLines::Row{300, 0, 1, 0}, CodeLines::Row{299, 1, 1, 0}}) {
        ObjectSpec object;
        object.kernels = {kernel("k", 300)};
        object.kernels[0].lines = {{"a.s"}, {{0, 0, 1, 0}, row}};
        Result<Bytes> image = write_code_object(Arch::gfx1100, object);
        ASSERT_FALSE(image);
        EXPECT_NE(image.error().message.find("'k'"), std::string::npos);
    }
    ObjectSpec object;
    object.kernels = {kernel("k", 300)};
    object.kernels[0].lines = {{"a.s"}, {{5, 0, 1, 0}, {4, 0, 2, 0}}};
    EXPECT_FALSE(write_code_object(Arch::gfx1100, object));
}

}  // namespace
}  // namespace strata::isa
