#include "strata/codegen/toolchain/options.h"

#include "../driver/fixtures.h"
#include "strata/core/process/subprocess.h"
#include "strata/core/support/file.h"

namespace strata::codegen {
namespace {

using isa::Arch;
using Words = std::vector<std::string>;

using Takes = OptionRow::Takes;

/// A value that clang takes after a word that ends in '='.
std::string value_for(std::string_view spelling) {
    for (auto [part, value] : {std::pair{"std", "c++17"},
                               {"contract", "on"},
                               {"denormal", "ieee"},
                               {"eval", "source"},
                               {"exception", "ignore"},
                               {"model", "fast"},
                               {"stream", "legacy"},
                               {"auto-var", "zero"},
                               {"visibility", "hidden"},
                               {"printf", "buffered"},
                               {"Rpass", ".*"},
                               {"-W", "all"}})
        if (spelling.find(part) != spelling.npos) return value;
    return "100";
}

/// The words of a row as a user writes them.
std::vector<Words> uses(const OptionRow& form) {
    const std::string word(form.spelling);
    if (form.takes == Takes::on_off) return {{word}, {word.substr(0, 2) + "no-" + word.substr(2)}};
    if (form.takes == Takes::joined) return {{word + value_for(word)}};
    if (form.takes == Takes::value) return {{word, "NAME"}, {word + "NAME"}};
    if (form.takes == Takes::path) return {{word, "/dev/null"}};
    if (form.takes == Takes::nothing) return {{word}};
    std::vector<Words> all;
    for (std::string_view name : llvm_options()) all.push_back({word, fmt::format("-{}=1", name)});
    return all;
}

TEST_F(CompileTest, EveryOptionOfTheTableIsTakenAndIsOneOfClangs) {
    Words command = {find_program("clang-19", "/usr/bin:/usr/lib/llvm-19/bin"),
                     "-x",
                     "hip",
                     "--cuda-device-only",
                     "--offload-arch=gfx1100",
                     "-nogpulib",
                     "-nogpuinc",
                     "-S",
                     "-o",
                     "-"};
    for (const OptionRow& form : option_rows())
        for (const Words& words : uses(form)) {
            EXPECT_TRUE(check_options(words)) << words[0];
            if (form.spelling == "-O4") continue;  // -O4 is -O3 with a remark
            command.insert(command.end(), words.begin(), words.end());
        }
    command.emplace_back("-");
    auto run = run_process(command, "int x;\n");
    ASSERT_TRUE(run);
    EXPECT_EQ(run->err.find("unknown"), std::string::npos) << run->err;
    EXPECT_EQ(run->err.find("unrecognized"), std::string::npos) << run->err;
}

/// Ways to run programs, to write or read files, or to take options from elsewhere.
const Words kRefused[] = {{"-fplugin=/tmp/evil.so"},
                          {"-fpass-plugin=/tmp/evil.so"},
                          {"-Xclang", "-load", "-Xclang", "/tmp/evil.so"},
                          {"-Xclang=-load"},
                          {"-Xarch_device", "-fplugin=/tmp/evil.so"},
                          {"-Xpreprocessor", "-MD"},
                          {"-Xassembler", "-I/"},
                          {"-Wp,-MD,/tmp/file"},
                          {"-Wa,-I,/"},
                          {"-Wl,-o,/tmp/file"},
                          {"-mllvm", "-exec-on-ir-change=/bin/sh"},
                          {"-mllvm", "-info-output-file=/tmp/file"},
                          {"-mllvm", "-amdgpu-module-splitting-log-dir=/tmp"},
                          {"-mllvm"},
                          {"-mllvm=-info-output-file=/tmp/file"},
                          {"@/tmp/options"},
                          {"-D", "@/tmp/options"},
                          {"-include", "@/tmp/options"},
                          {"--config=/tmp/file"},
                          {"--config", "/tmp/file"},
                          {"--config-user-dir=/tmp"},
                          {"-MD"},
                          {"-MF", "/tmp/file"},
                          {"-MMD"},
                          {"-o", "/tmp/file"},
                          {"-save-temps"},
                          {"-save-temps=obj"},
                          {"--save-temps"},
                          {"-ftime-trace=/tmp/file"},
                          {"-fsave-optimization-record"},
                          {"-foptimization-record-file=/tmp/file"},
                          {"-fproc-stat-report=/tmp/file"},
                          {"-fcrash-diagnostics-dir=/tmp"},
                          {"-fmodules"},
                          {"-fmodules-cache-path=/tmp"},
                          {"-fprofile-generate=/tmp"},
                          {"-fprofile-use=/tmp/file"},
                          {"-fsanitize-ignorelist=/etc/passwd"},
                          {"-gsplit-dwarf"},
                          {"-include-pch", "/tmp/file"},
                          {"-ivfsoverlay", "/tmp/file"},
                          {"--serialize-diagnostics", "/tmp/file"},
                          {"--rocm-path=/tmp"},
                          {"--hip-device-lib-path=/tmp"},
                          {"-B/tmp"},
                          {"--sysroot=/tmp"},
                          {"-emit-llvm"},
                          {"-x", "ir"},
                          {"/tmp/other.hip"},
                          {"-"},
                          {""},
                          {"-DX=1\n#include \"/etc/passwd\""},
                          {"-I"},
                          {"-D"}};

TEST_F(CompileTest, AnOptionOutsideTheTableIsAnErrorThatNamesItAndTheSetting) {
    for (const Words& words : kRefused)
        for (bool harmless_first : {false, true}) {
            HipSource source = scale_kernel(300);
            if (harmless_first) source.options = {"-O2", "-DN=4"};
            source.options.insert(source.options.end(), words.begin(), words.end());
            for (const Error& error :
                 {compile_hip(source, Arch::gfx1100).error(), compile_to_assembly(source, Arch::gfx1100).error()}) {
                EXPECT_EQ(error.kind, ErrorKind::Usage) << words[0];
                EXPECT_NE(error.message.find("compiler option '"), std::string::npos) << error.message;
                EXPECT_NE(error.message.find("STRATA_UNSAFE_OPTIONS=1"), std::string::npos) << error.message;
            }
        }
    EXPECT_NE(check_options({"-mllvm", "-exec-on-ir-change=sh"}).error().message.find("'-mllvm -exec-on-ir-change=sh'"),
              std::string::npos);
}

TEST_F(CompileTest, WithUnsafeOptionsEverythingIsPassedOnAndNothingIsKept) {
    Settings next = settings();
    next.unsafe_options = true;
    ScopedSettings scope(next);
    const std::string file = folder() + "/options";
    HipSource source{
        .text = "extern \"C\" __global__ void k(float* x) { *x = VALUE; }\n", .kernel = "k", .options = {"@" + file}};
    std::vector<uint8_t> last;
    for (const char* value : {"1.5f", "2.5f"})
        for (bool freestanding : {true, false}) {
            ASSERT_TRUE(write_file_atomically(file, fmt::format("-DVALUE={}\n", value)));
            source.freestanding = freestanding;
            auto compiled = compile_hip(source, Arch::gfx1100);
            ASSERT_TRUE(compiled) << compiled.error().message << compiled.error().log;
            EXPECT_FALSE(compiled->cached);
            std::vector<uint8_t> code(compiled->code_object().begin(), compiled->code_object().end());
            EXPECT_NE(code, last) << "options in a file that has changed";
            last = std::move(code);
        }
}

}  // namespace
}  // namespace strata::codegen
