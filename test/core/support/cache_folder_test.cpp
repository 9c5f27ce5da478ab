#include "strata/core/support/cache_folder_p.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <csignal>
#include <functional>

#include "cache_folders.h"
#include "strata/core/support/disk_cache.h"
#include "strata/core/support/hash.h"
#include "strata/core/support/temp_folder.h"

namespace strata {
namespace {

namespace fs = std::filesystem;
using test::Scratch, test::snapshot, test::write_text;

constexpr uid_t kNobody = 65534;

/// Calls in a child process: what `body` returns is its exit status.
int in_child(const std::function<int()>& body) {
    pid_t child = fork();
    if (child == 0) _exit(body());
    int status = -1;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

std::string stderr_of(const std::function<void()>& body) {
    testing::internal::CaptureStderr();
    body();
    return testing::internal::GetCapturedStderr();
}

/// Reads, writes and trims: nothing comes out of the cache, and files for others are right all the same.
void expect_unused(const std::string& folder) {
    DiskCache cache(folder, 1);
    EXPECT_EQ(cache.get(CacheKind::objects, "key"), std::nullopt);
    cache.put(CacheKind::objects, "key", "mine");
    EXPECT_EQ(cache.get(CacheKind::objects, "key"), std::nullopt);
    auto file = cache.put_file(CacheKind::precompiled_headers, "key", "header");
    ASSERT_TRUE(file);
    EXPECT_FALSE(file->starts_with(folder)) << *file;
    EXPECT_EQ(read_file(*file), "header");
    cache.trim();
}

/// A fault of a folder, and the words that name it.
struct Wrong {
    const char* name;
    const char* words;
    std::function<void(const std::string& folder, const std::string& outside)> make;
};

const Wrong kWrongs[] = {
    {"a link to a folder of the user", "is a link or no folder",
     [](const std::string& folder, const std::string& outside) {
         fs::remove_all(folder);
         fs::create_symlink(outside, folder);
     }},
    {"a link to itself", "is a link or no folder",
     [](const std::string& folder, const std::string&) {
         fs::remove_all(folder);
         fs::create_symlink(folder, folder);
     }},
    {"a file", "is a link or no folder",
     [](const std::string& folder, const std::string&) {
         fs::remove_all(folder);
         write_text(folder, "text");
     }},
    {"a FIFO", "is a link or no folder",
     [](const std::string& folder, const std::string&) {
         fs::remove_all(folder);
         ASSERT_EQ(mkfifo(folder.c_str(), 0600), 0);
     }},
    {"writable by all", "(chmod go-w ",
     [](const std::string& folder, const std::string&) { ASSERT_EQ(chmod(folder.c_str(), 0777), 0); }},
    {"writable by its group", "(chmod go-w ",
     [](const std::string& folder, const std::string&) { ASSERT_EQ(chmod(folder.c_str(), 0720), 0); }},
    {"of another user", "belongs to another user (id 65534)",
     [](const std::string& folder, const std::string&) { ASSERT_EQ(chown(folder.c_str(), kNobody, kNobody), 0); }},
};

TEST(CacheFolder, AFolderThatOthersCanHavePreparedIsNeitherReadNorWrittenNorTrimmedAndOneLineSaysSo) {
    for (const Wrong& wrong : kWrongs)
        for (const char* part : {"", "/v2", "/v2/objects"}) {
            if (std::string_view(wrong.name) == "of another user" && geteuid() != 0) continue;
            SCOPED_TRACE(fmt::format("{} {}", part, wrong.name));
            Scratch scratch;
            const std::string cache = scratch / "cache", outside = scratch / "outside";
            DiskCache(cache).put(CacheKind::objects, "key", "payload");
            ASSERT_EQ(DiskCache(cache).get(CacheKind::objects, "key"), "payload");
            fs::copy(cache, outside, fs::copy_options::recursive);
            if (std::string_view(part) == "/v2/objects") fs::remove_all(outside);
            write_text(outside + "/" + content_hash("key"), "of the user");
            write_text(outside + "/model.bin", "of the user");
            wrong.make(cache + part, outside);
            auto before = snapshot(outside);
            std::string told = stderr_of([&] {
                if (std::string_view(part) != "/v2/objects") return expect_unused(cache);
                DiskCache again(cache, 1);
                EXPECT_EQ(again.get(CacheKind::objects, "key"), std::nullopt);
                again.put(CacheKind::objects, "key", "mine");
                EXPECT_EQ(again.get(CacheKind::objects, "key"), std::nullopt);
                again.trim();
            });
            EXPECT_EQ(snapshot(outside), before);
            EXPECT_NE(told.find(wrong.words), std::string::npos) << told;
            EXPECT_NE(told.find("STRATA_CACHE_DIR"), std::string::npos) << told;
            EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1) << told;
        }
}

TEST(CacheFolder, AFolderBelowOneInWhichAnybodyMayRenameIsNotUsed) {
    Scratch scratch;
    fs::create_directory(scratch / "shared");
    ASSERT_EQ(chmod((scratch / "shared").c_str(), 0777), 0);
    std::string told = stderr_of([&] { expect_unused(scratch / "shared/deep/cache"); });
    EXPECT_NE(told.find(fmt::format("everybody may write to {}", scratch / "shared")), std::string::npos) << told;
    ASSERT_EQ(chmod((scratch / "shared").c_str(), 01777), 0);
    DiskCache cache(scratch / "shared/deep/cache");
    cache.put(CacheKind::objects, "key", "payload");
    EXPECT_EQ(cache.get(CacheKind::objects, "key"), "payload") << "nobody else may rename in a sticky folder";
}

TEST(CacheFolder, FoldersThatAreMadeAreForTheUserOnlyWhateverTheUmask) {
    Scratch scratch;
    const std::string cache = scratch / "a/b/cache";
    EXPECT_EQ(in_child([&] {
                  umask(0);
                  DiskCache(cache).put(CacheKind::objects, "key", "payload");
                  return 0;
              }),
              0);
    int seen = 0;
    for (const auto& entry : fs::recursive_directory_iterator(scratch.path())) {
        ++seen;
        EXPECT_EQ(static_cast<int>(entry.status().permissions()), entry.is_directory() ? 0700 : 0600) << entry.path();
    }
    EXPECT_EQ(seen, 7) << "a, b, cache, v2, its marker, objects, the entry";
}

TEST(CacheFolder, AFolderOfTheUserThatHasTheNameOfOursIsLeftAlone) {
    Scratch scratch;
    write_text(scratch / "data/v2/checkpoints/model1.bin", std::string(1 << 16, 'x'));
    write_text(scratch / "data/v2/objects/" + content_hash("key"), "of the user");
    auto before = snapshot(scratch / "data");
    std::string told = stderr_of([&] { expect_unused(scratch / "data"); });
    EXPECT_EQ(snapshot(scratch / "data"), before);
    EXPECT_NE(told.find("holds what is not Strata's"), std::string::npos) << told;
}

TEST(CacheFolder, TrimmingRemovesOnlyWhatACacheWrites) {
    Scratch scratch;
    const std::string folder = scratch / "cache", outside = scratch / "outside";
    DiskCache(scratch / "another").put(CacheKind::objects, "key", "the first put of a process trims");
    DiskCache cache(folder, 1);
    cache.put(CacheKind::objects, "key", std::string(10'000, 'x'));
    const std::string kind = folder + "/v2/objects/", hash = content_hash("other");
    write_text(outside + "/model.bin", "of the user");
    for (const char* name : {"notes.txt", "model.bin", "0123456789abcdef", "0123456789abcdef0123456789abcdeF",
                             "0123456789abcdef0123456789abcdef.bak", "0123456789abcdef0123456789abcdef.0.1.tmp"})
        write_text(kind + name, "of the user");
    write_text(folder + "/v2/checkpoints/" + hash, "of the user");
    write_text(folder + "/v2/" + hash, "of the user");
    fs::create_symlink(outside + "/model.bin", kind + hash);
    fs::create_directory_symlink(outside, folder + "/v2/schedules");
    write_text(outside + "/" + hash, "of the user");
    std::string stale = kind + hash + ".0123456789abcdef.tmp";
    write_text(stale, "half written");
    fs::last_write_time(stale, fs::file_time_type::clock::now() - std::chrono::hours(2));
    auto expected = snapshot(scratch.path());
    for (auto gone : {kind + content_hash("key"), stale}) ASSERT_EQ(expected.erase(gone), 1u) << gone;
    EXPECT_NE(stderr_of([&] { cache.trim(); }), "") << "of the link";
    auto after = snapshot(scratch.path());
    for (auto& [path, what] : expected)
        if (!fs::is_directory(path)) EXPECT_EQ(after[path], what) << path;
    EXPECT_EQ(after.size(), expected.size());
}

TEST(CacheFolder, FilesForOthersGoToTheFolderOfTheProcessWhenTheDiskIsFull) {
    Scratch scratch;
    fs::create_directory(scratch / "small");
    if (mount("tmpfs", (scratch / "small").c_str(), "tmpfs", 0, "size=64k,mode=0700") != 0)
        GTEST_SKIP() << "no folder of a size of its own can be mounted here";
    DiskCache cache(scratch / "small");
    std::string payload(1 << 20, 'x');
    cache.put(CacheKind::objects, "key", payload);
    EXPECT_EQ(cache.get(CacheKind::objects, "key"), std::nullopt);
    auto file = cache.put_file(CacheKind::precompiled_headers, "key", payload);
    EXPECT_TRUE(file && read_file(*file) == payload);
    EXPECT_EQ(cache.get_file(CacheKind::precompiled_headers, "key"), file);
    cache.put(CacheKind::objects, "small", "payload");
    EXPECT_EQ(cache.get(CacheKind::objects, "small"), "payload") << "nothing half written fills it";
    EXPECT_EQ(umount2((scratch / "small").c_str(), MNT_DETACH), 0);
}

TEST(CacheFolder, AFileSizeLimitMakesItEmpty) {
    Scratch scratch;
    EXPECT_EQ(in_child([&] {
                  signal(SIGXFSZ, SIG_IGN);
                  rlimit limit{1000, 1000};
                  setrlimit(RLIMIT_FSIZE, &limit);
                  DiskCache cache(scratch / "cache");
                  cache.put(CacheKind::objects, "key", std::string(4000, 'x'));
                  if (cache.get(CacheKind::objects, "key")) return 1;
                  if (cache.put_file(CacheKind::objects, "key", std::string(4000, 'x'))) return 2;
                  cache.put(CacheKind::objects, "short", "payload");
                  return cache.get(CacheKind::objects, "short") == "payload" ? 0 : 3;
              }),
              0);
}

/// The folders that children with this TMPDIR leave.
class TempFolders : public testing::Test {
  protected:
    int child(const std::function<int(const std::string&)>& body) const {
        return in_child([&] {
            setenv("TMPDIR", scratch_.path().c_str(), 1);
            auto made = process_temp_folder();
            return made ? body(*made) : 99;
        });
    }
    size_t count() const {
        return static_cast<size_t>(std::distance(fs::directory_iterator(scratch_.path()), fs::directory_iterator()));
    }
    Scratch scratch_;
};

TEST_F(TempFolders, AProcessRemovesItsOwnWhenItEnds) {
    EXPECT_EQ(child([](const std::string& folder) {
                  write_text(folder + "/deep/file", "text");
                  fs::create_symlink("/", folder + "/link");
                  std::exit(0);
                  return 1;
              }),
              0);
    EXPECT_EQ(count(), 0u);
}

TEST_F(TempFolders, TheNextProcessRemovesThoseOfKilledProcessesAndNoOthers) {
    auto killed = [](const std::string& folder) {
        write_text(folder + "/v2/objects/file", "text");
        return raise(SIGKILL);
    };
    EXPECT_EQ(child(killed), 1000 + SIGKILL);
    ASSERT_EQ(count(), 1u);
    write_text(scratch_ / "outside/file", "text");
    fs::create_directory(scratch_ / "strata-run-mydata");
    write_text(scratch_ / "strata-run-github/file", "no lock in it");
    write_text(scratch_ / "strata-run-longer-name/strata-lock", "");
    fs::create_directory_symlink(scratch_ / "outside", scratch_ / "strata-run-linked");
    fs::create_directory(scratch_ / "strata-run-shared");
    write_text(scratch_ / "strata-run-shared/strata-lock", "");
    chmod((scratch_ / "strata-run-shared").c_str(), 0777);
    EXPECT_EQ(child([&](const std::string& mine) {
                  // Neither does a sweep take the folder of a process that lives.
                  if (child([](const std::string&) { return 0; }) != 0) return 1;
                  return fs::exists(mine) ? 0 : 2;
              }),
              0);
    auto after = snapshot(scratch_.path());
    for (const char* kept :
         {"outside/file", "strata-run-mydata", "strata-run-github/file", "strata-run-longer-name/strata-lock",
          "strata-run-linked", "strata-run-shared/strata-lock"})
        EXPECT_EQ(after.count(scratch_ / kept), 1u) << kept;
    for (const auto& [path, what] : after) EXPECT_EQ(path.find("/v2"), path.npos) << "of the killed process: " << path;
}

TEST_F(TempFolders, OneThatIsCleanedAwayMeanwhileIsMadeAnew) {
    EXPECT_EQ(child([](const std::string& folder) {
                  fs::remove_all(folder);
                  auto again = process_temp_folder();
                  return again && fs::is_directory(*again) ? 0 : 1;
              }),
              0);
}

TEST_F(TempFolders, AForkedChildHasOneOfItsOwn) {
    EXPECT_EQ(child([&](const std::string& mine) {
                  return in_child([&] {
                      auto other = process_temp_folder();
                      return other && *other != mine ? 0 : 1;
                  });
              }),
              0);
}

TEST_F(TempFolders, WhereTheSetFolderIsNotUsableItIsInTmp) {
    EXPECT_EQ(in_child([&] {
                  setenv("TMPDIR", (scratch_ / "nowhere").c_str(), 1);
                  auto made = process_temp_folder();
                  return made && made->starts_with("/tmp/strata-run-") ? (fs::remove_all(*made), 0) : 1;
              }),
              0);
}

}  // namespace
}  // namespace strata
