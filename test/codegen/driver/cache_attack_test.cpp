// Another user prepares a cache: its entry of compiler arguments makes clang write a file of the attacker's choice.
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstring>
#include <functional>

#include "fixtures.h"
#include "strata/codegen/driver/compile_p.h"
#include "strata/core/support/disk_cache.h"
#include "strata/core/support/file.h"

namespace strata::codegen {
namespace {

namespace fs = std::filesystem;

class CacheAttackTest : public CompileTest {
  protected:
    std::string in(std::string_view name) const { return fmt::format("{}/{}", folder(), name); }

    /// Compiles in a process of its own with that cache; whether the result is right.
    static bool victim_compiles(const std::string& cache) {
        pid_t child = fork();
        if (child == 0) {
            [[maybe_unused]] FILE* quiet = freopen("/dev/null", "w", stderr);
            Settings next = settings();
            next.cache_dir = cache;
            ScopedSettings scope(next);
            SearchPaths paths = SearchPaths::usual();
            paths.plugin.clear();
            HipSource source = scale_kernel(500);
            source.options = {"-DSTRATA_OF_THE_ATTACK"};  // what this process knows of clang's arguments is of others
            auto compiled = compile_hip(source, isa::Arch::gfx1100, paths);
            _exit(compiled && compiled->object->find("scale") ? 0 : 1);
        }
        int status = -1;
        EXPECT_EQ(waitpid(child, &status, 0), child);
        return status == 0;
    }

    /// A cache like that of a good run but for the arguments of clang.
    void plant(const std::string& cache) const {
        ASSERT_TRUE(victim_compiles(in("good")));
        std::string file;
        for (auto& entry : fs::directory_iterator(in("good/v2/clang_arguments"))) file = entry.path();
        const std::string entry = read_file(file).value();
        uint64_t sizes[2];  // after the 8 bytes that mark an entry: of key and payload, after 32 of checksum
        std::memcpy(sizes, entry.data() + 8, sizeof sizes);
        const std::string key = entry.substr(56, sizes[0]);
        std::string arguments = entry.substr(56 + sizes[0], sizes[1]);
        for (const std::string& word :
             {std::string("-dependency-file"), in("pwned"), std::string("-MT"), std::string("x")})
            arguments.append(word).push_back('\0');
        DiskCache(cache).put(CacheKind::clang_arguments, key, arguments);
    }
};

TEST_F(CacheAttackTest, WhatAnotherUserCanHavePreparedIsNotUsedAndTheKernelIsRight) {
    const std::string planted = in("planted"), cache = in("cache"), kind = "/v2/clang_arguments";
    plant(planted);
    struct Way {
        const char* name;
        bool works;
        std::function<void()> prepare;
    };
    const Way ways[] = {
        {"the user's own: what the others are measured by", true, [] {}},
        {"base is a link", false,
         [&] {
             fs::rename(cache, in("elsewhere"));
             fs::create_symlink(in("elsewhere"), cache);
         }},
        {"version is a link", false,
         [&] {
             fs::rename(cache + "/v2", in("elsewhere"));
             fs::create_symlink(in("elsewhere"), cache + "/v2");
         }},
        {"kind is a link", false,
         [&] {
             fs::rename(cache + kind, in("elsewhere"));
             fs::create_symlink(in("elsewhere"), cache + kind);
         }},
        {"entry is a link", false,
         [&] {
             for (auto& entry : fs::directory_iterator(cache + kind)) {
                 fs::rename(entry.path(), in("elsewhere"));
                 fs::create_symlink(in("elsewhere"), entry.path());
             }
         }},
        {"base is open to all", false, [&] { chmod(cache.c_str(), 0777); }},
        {"version is open to all", false, [&] { chmod((cache + "/v2").c_str(), 0777); }},
        {"kind is open to all", false, [&] { chmod((cache + kind).c_str(), 0777); }},
        {"base is another's", false, [&] { EXPECT_EQ(chown(cache.c_str(), 65534, 65534), 0); }},
        {"version is another's", false, [&] { EXPECT_EQ(chown((cache + "/v2").c_str(), 65534, 65534), 0); }},
        {"kind is another's", false, [&] { EXPECT_EQ(chown((cache + kind).c_str(), 65534, 65534), 0); }},
        {"entry is another's", false,
         [&] {
             for (auto& entry : fs::directory_iterator(cache + kind))
                 EXPECT_EQ(chown(entry.path().c_str(), 65534, 65534), 0);
         }},
    };
    for (const Way& way : ways) {
        if (std::string_view(way.name).find("another's") != std::string_view::npos && geteuid() != 0) continue;
        SCOPED_TRACE(way.name);
        for (const char* old : {"cache", "elsewhere", "pwned"}) fs::remove_all(in(old));
        fs::copy(planted, cache, fs::copy_options::recursive);
        way.prepare();
        EXPECT_TRUE(victim_compiles(cache));
        EXPECT_EQ(fs::exists(in("pwned")), way.works);
    }
}

}  // namespace
}  // namespace strata::codegen
