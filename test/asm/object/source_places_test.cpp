#include "strata/asm/object/source_places.h"

#include <gtest/gtest.h>

namespace strata::isa {
namespace {

Bytes object_of(const char* file) {
    KernelSpec spec;
    spec.name = "k";
    spec.code = {0xbf800000, 0xbf800000, 0xbf800000, 0xbfb00000};  // s_nop, s_endpgm
    spec.lines.files = {file};
    spec.lines.rows = {
        {.word = 0, .file = 0, .line = 1}, {.word = 1, .file = 0, .line = 2}, {.word = 2, .file = 0, .line = 3}};
    return write_code_object(Arch::gfx1100, std::span(&spec, 1)).value();
}

SourcePlaces places() { return {"k.uops", {1, 0, 2}, {{"a.py", 7, 5, 9, "    x[i] = y"}, {"b.py", 9, 0, 0, ""}}}; }

SourceLine line_at(const Bytes& bytes, uint64_t word) {
    const CodeObject object = CodeObject::parse(bytes).value();
    return LineTable::read(object).value().find(object.kernels[0].entry_address + 4 * word);
}

TEST(SourcePlaces, LinesOfTheListingBecomePlaces) {
    const Bytes bytes = with_places(object_of("folder/k.uops"), places()).value();
    const SourceLine first = line_at(bytes, 0);
    EXPECT_EQ(first.file, "a.py");
    EXPECT_EQ(first.line, 7u);
    EXPECT_EQ(first.column, 5u);
    EXPECT_EQ(first.end_column, 9u);
    EXPECT_EQ(line_at(bytes, 1).line, 7u) << "without a place of its own: that before it";
    EXPECT_EQ(line_at(bytes, 2).file, "b.py");
}

TEST(SourcePlaces, OtherFilesKeepTheirLines) {
    const Bytes bytes = with_places(object_of("other.s"), places()).value();
    EXPECT_EQ(line_at(bytes, 0).file, "other.s");
    EXPECT_EQ(line_at(bytes, 1).line, 2u);
}

TEST(SourcePlaces, TheCodeStaysWhereItIs) {
    const Bytes plain = object_of("k.uops");
    const CodeObject before = CodeObject::parse(plain).value(),
                     after = CodeObject::parse(with_places(plain, places()).value()).value();
    ASSERT_EQ(before.segments.size(), after.segments.size());
    for (size_t i = 0; i < before.segments.size(); ++i) {
        EXPECT_EQ(before.segments[i].address, after.segments[i].address);
        // The first one has the header, which says where the sections are.
        EXPECT_EQ(before.segments[i].bytes.size(), after.segments[i].bytes.size());
        if (i > 0) EXPECT_TRUE(std::ranges::equal(before.segments[i].bytes, after.segments[i].bytes));
    }
    EXPECT_EQ(before.kernels[0].entry_address, after.kernels[0].entry_address);
}

TEST(SourcePlaces, ObjectsThatDifferInPlacesAloneAreTheSameToALoader) {
    const auto parsed = [](Bytes bytes) { return CodeObject::parse(std::move(bytes)).value(); };
    SourcePlaces others = places();
    others.places[0].file = "a_longer_name.py";
    const CodeObject plain = parsed(object_of("k.uops")), placed = parsed(with_places(plain.image, places()).value()),
                     elsewhere = parsed(with_places(plain.image, others).value());
    EXPECT_NE(placed.image, elsewhere.image);
    EXPECT_TRUE(same_but_for_places(plain, placed));
    EXPECT_TRUE(same_but_for_places(placed, elsewhere));
    Bytes changed = placed.image;
    for (size_t i = 0; i + 4 <= changed.size(); i += 4)
        if (changed[i + 3] == 0xbf && changed[i + 2] == 0xb0) changed[i] = 1;  // s_endpgm 1
    EXPECT_NE(changed, placed.image);
    EXPECT_FALSE(same_but_for_places(placed, parsed(changed)));
}

TEST(SourcePlaces, ADamagedSectionIsAnError) {
    SourcePlaces wrong = places();
    wrong.of_line[0] = 3;
    const CodeObject object = CodeObject::parse(with_places(object_of("k.uops"), wrong).value()).value();
    const Result<LineTable> lines = LineTable::read(object);
    ASSERT_FALSE(lines);
    EXPECT_NE(lines.error().message.find("names place 3 of 2"), std::string::npos) << lines.error().message;
    Bytes cut = with_places(object_of("k.uops"), places()).value();
    const std::string text = "    x[i] = y";
    const auto at = std::search(cut.begin(), cut.end(), text.begin(), text.end());
    ASSERT_NE(at, cut.end());
    std::fill(at, at + 40, uint8_t{1});  // no end of a text is left
    const Result<CodeObject> broken = CodeObject::parse(cut);
    if (broken) EXPECT_FALSE(LineTable::read(*broken));
    EXPECT_FALSE(with_places(Bytes{1, 2, 3}, places()));
}

TEST(Excerpt, PutsACaretUnderTheColumns) {
    EXPECT_EQ(excerpt({"a.py", 7, 5, 9, "    x[i] = y"}), "\n        x[i] = y\n        ^^^^");
    EXPECT_EQ(excerpt({"a.py", 7, 2, 0, "\tx = y"}), "\n    \tx = y\n    \t^") << "a tab stays one";
    EXPECT_EQ(excerpt({"a.py", 7, 3, 90, "x = y"}), "\n    x = y\n      ^^^") << "not beyond the line";
    EXPECT_EQ(excerpt({"a.py", 7, 0, 0, "x = y"}), "\n    x = y");
    EXPECT_EQ(excerpt({"a.py", 7, 1, 2, ""}), "");
}

}  // namespace
}  // namespace strata::isa
