#include "strata/asm/object/line_table.h"

#include "dwarfdump.h"

// The reference is llvm-dwarfdump's listing of the same object.
namespace strata::isa {
namespace {

constexpr std::string_view kSource = R"(
#define KERNEL __attribute__((global))
#define DEVICE __attribute__((device))
DEVICE inline float twice(float x) {
    return x + x;
}
extern "C" KERNEL void first(float* y) {
    y[0] = twice(y[1]);
    if (y[2] > 3)
        y[3] = 4;
}
# 40 "elsewhere/other.hip"
extern "C" KERNEL void second(float* y) {
    for (int i = 0; i < 77; ++i)
        y[i] *= y[i + 1];
}
)";

CodeObject compiled(const std::string& options, const std::string& arch) {
    return CodeObject::parse(test::compile_hip(kSource, options, arch)).value();
}

TEST(LineTable, GivesTheLinesThatDwarfdumpGives) {
    for (const char* options :
         {"-g", "-gline-tables-only", "-gdwarf-4", "-gdwarf-3", "-gdwarf-2 -O1", "-g -O0", "-gdwarf64 -gdwarf-5"}) {
        CodeObject object = compiled(options, "gfx1100");
        std::map<uint64_t, std::string> rows = test::dwarfdump_lines(object.image);
        ASSERT_GT(rows.size(), 8u) << options;
        LineTable table = LineTable::read(object).value();
        for (const auto& [address, want] : rows) {
            SourceLine got = table.find(address);
            EXPECT_EQ(got.line ? std::to_string(got.line) + ":" + std::to_string(got.column) : "none", want)
                << options << " " << address;
        }
    }
}

TEST(LineTable, NamesTheFileOfEachAddress) {
    CodeObject object = compiled("-g", "gfx942");
    LineTable table = LineTable::read(object).value();
    EXPECT_TRUE(table.find(object.find("first")->entry_address).file.ends_with("k.hip"));
    SourceLine second = table.find(object.find("second")->entry_address);
    EXPECT_TRUE(second.file.ends_with("elsewhere/other.hip")) << second.file;
    EXPECT_GE(second.line, 40u);
    EXPECT_EQ(table.find(0).file, "");
    EXPECT_EQ(table.find(~0ull).file, "");
}

// Texts of strict mode, faults and profiles name a code's files.
TEST(LineTable, NamesFilesInUtf8) {
    std::string source(kSource);
    const std::string name = "elsewhere/other.hip";
    source.replace(source.find(name), name.size(), "else\xe9/other.hip");
    CodeObject object = CodeObject::parse(test::compile_hip(source, "-g", "gfx1100")).value();
    LineTable table = LineTable::read(object).value();
    const SourceLine second = table.find(object.find("second")->entry_address);
    EXPECT_TRUE(second.file.ends_with("else\\xe9/other.hip")) << second.file;
}

TEST(LineTable, IsEmptyWithoutDebugInformation) {
    LineTable table = LineTable::read(compiled("", "gfx1100")).value();
    EXPECT_TRUE(table.empty());
    EXPECT_EQ(table.find(0x1000).line, 0u);
}

TEST(LineTable, RefusesADamagedTableAndNeverCrashes) {
    CodeObject whole = compiled("-g", "gfx1100");
    const Bytes image = whole.image;
    size_t refused = 0;
    uint64_t state = 1;
    for (int turn = 0; turn < 4000; ++turn) {
        Bytes broken = image;
        for (int i = 0; i < 3; ++i) {
            state = state * 6364136223846793005ull + 1442695040888963407ull;
            // the debug sections lie in the last third of the file
            size_t at = image.size() / 2 + (state >> 33) % (image.size() / 2);
            broken[at] = static_cast<uint8_t>(state >> 24);
        }
        Result<CodeObject> object = CodeObject::parse(std::move(broken));
        if (!object) continue;
        Result<LineTable> table = LineTable::read(*object);
        refused += !table;
        if (table) table->find(object->kernels.empty() ? 0 : object->kernels[0].entry_address);
    }
    EXPECT_GT(refused, 0u);
}

}  // namespace
}  // namespace strata::isa
