#include "strata/codegen/toolchain/diagnostics.h"

#include <gtest/gtest.h>

namespace strata::codegen {
namespace {

Error error_of(std::string log) {
    return compile_error({.text = "text", .file_name = "a.hip"}, std::move(log), "otherwise");
}

TEST(Diagnostics, TheFirstErrorIsTheMessageAndWarningsBeforeItAreNot) {
    Error error = error_of(
        "a.hip:1:2: warning: careful [-Wx]\n    1 | x\nC:/odd:name.h:30:4: error: first\n   30 | code\n      | ^\n"
        "a.hip:5:1: note: here\na.hip:7:1: error: second\n1 warning and 2 errors generated.\n");
    EXPECT_EQ(error.message, "C:/odd:name.h:30:4: error: first\n   30 | code\n      | ^\n(1 more error)");
    EXPECT_EQ(error.file, "C:/odd:name.h");
    EXPECT_EQ(error.line, 30);
    EXPECT_EQ(error.column, 4);
    EXPECT_EQ(error.source, "text");
}

TEST(Diagnostics, FatalErrorsAndErrorsWithoutAPlaceAreFound) {
    Error missing =
        error_of("a.hip:3:10: fatal error: 'x.h' file not found\n    3 | #include \"x.h\"\n1 error generated.\n");
    EXPECT_EQ(missing.line, 3);
    EXPECT_EQ(missing.column, 10);
    EXPECT_EQ(missing.message, "a.hip:3:10: fatal error: 'x.h' file not found\n    3 | #include \"x.h\"");
    Error backend = error_of("fatal error: error in backend: Cannot select: x\nPLEASE submit a bug report\n");
    EXPECT_TRUE(backend.message.starts_with("fatal error: error in backend: Cannot select: x")) << backend.message;
    EXPECT_EQ(backend.line, 0);
    EXPECT_EQ(backend.file, "");
    Error option = error_of("clang: error: unknown argument: '-q'\n");
    EXPECT_EQ(option.message, "clang: error: unknown argument: '-q'");
    EXPECT_EQ(option.line, 0);
}

TEST(Diagnostics, ALogWithoutAnErrorKeepsItAndSaysWhatHappened) {
    Error error = error_of("Stack dump:\n0. x\n");
    EXPECT_EQ(error.message, "a.hip: otherwise");
    EXPECT_EQ(error.log, "Stack dump:\n0. x\n");
}

}  // namespace
}  // namespace strata::codegen
